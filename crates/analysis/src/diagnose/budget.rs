//! Sums of calls' parts into what a mean call is made of: client, network out, server, network back.

use super::Diagnoser;
use super::seen::Seen;
use crate::app::AppFacts;
use crate::facts::{Account, Basis};
use crate::results::Budget;
use model::{Direction, TimeClass};

impl Diagnoser {
    /// The mean of calls' parts, as far as the captures show them.
    pub(super) fn budget(&self, seen: &Seen, account: &Account, app: Option<&AppFacts>) -> Budget {
        let calls = account.calls.max(1) as i64;
        let server_ns = (account.server_ns() + account.event_ns + account.lock_ns) / calls;
        let under_way = under_way(account);
        let waited_ns = account.queue_ns + account.dispatch_ns;
        let shared = Budget {
            client_host_ns: app.map(|a| a.host_mean_ns),
            server_queue_ns: (waited_ns > 0).then(|| waited_ns / calls),
            server_lock_ns: (account.lock_ns > 0).then(|| account.lock_ns / calls),
            ..Budget::default()
        };
        match (seen.basis, &seen.clock, seen.ways) {
            (Basis::Matched, None, _) if account.calls == 0 => Budget::default(),
            // The clocks say nothing of the ways, which are known together; or one of these does not end at its host.
            (Basis::Matched, clock, ways)
                if clock.is_none() && ways.is_none() || seen.is_on_the_way() =>
            {
                Budget {
                    calls: account.calls,
                    server_ns: Some(server_ns),
                    // Where it passes, whosever trips they are.
                    network_least_ns: Some(
                        (account.network_ns() - account.path_ns + account.path_total_ns()) / calls,
                    ),
                    ..shared
                }
            }
            // A clock was set: of calls within one alignment the ways are known.
            (Basis::Matched, None, Some((calls, [out, server, back]))) => Budget {
                calls,
                network_out_ns: Some(out),
                server_ns: Some(server),
                network_back_ns: Some(back),
                ..shared
            },
            (Basis::Matched, Some(clock), _) => {
                let [out, server, back] = self.matched.budget(clock);
                let divided = self.matched.divided();
                // What lies within the parts is of all that was divided: calls that one capture alone has among them.
                let within = match account.calls == divided {
                    true => Budget {
                        server_held_ns: account
                            .answering_ns()
                            .map(|ns| (server - ns / calls).max(0)),
                        under_way,
                        ..shared
                    },
                    false => Budget {
                        client_host_ns: shared.client_host_ns,
                        ..Budget::default()
                    },
                };
                Budget {
                    calls: divided,
                    network_out_ns: Some(out),
                    server_ns: Some(server),
                    network_back_ns: Some(back),
                    ..within
                }
            }
            (basis, ..) => {
                let is_at_server = basis == Basis::Server && account.basis == basis;
                let least_ns = account.path_total_ns() / calls;
                let shown = is_at_server && under_way.is_empty() && least_ns > 0;
                Budget {
                    calls: account.calls,
                    server_ns: (basis == Basis::Server).then_some(server_ns),
                    network_least_ns: shown.then_some(least_ns),
                    under_way,
                    ..shared
                }
            }
        }
    }
}

/// What messages waited for under way, per call, where there is something to tell.
fn under_way(account: &Account) -> Vec<(Direction, TimeClass, i64)> {
    let calls = account.calls.max(1) as i64;
    let of = |d: Direction| {
        let classes = account.under_way[d.index()].iter();
        classes
            .filter(|(_, ns)| **ns > 0)
            .map(move |(class, ns)| (d, class, ns / calls))
    };
    Direction::BOTH.into_iter().flat_map(of).collect()
}
