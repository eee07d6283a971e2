//! # What it says
//! The server holds calls far longer than its own timing of their operations says:
//! they wait in it, in front of the operation or behind it.
//!
//! # Why it costs time
//! A request that has arrived waits until a worker takes it: for a thread, a lock,
//! a processor, another request of its session. Storage that is measured inside
//! the operation looks fast meanwhile. The cost is what calls spend in the server
//! beyond their operations, as far as no other finding has it:
//! server-concurrency-cap has what a limited number of workers explains,
//! server-stall what the server stood still for.
//!
//! # How sure
//! Only said with the server's own times (--server-app) and a capture at the
//! server. Exact call by call where op and offset, or the client's port, say whose
//! an operation is. By time alone only the sum is known, and of a distribution its
//! bounds: it has no cost of its own. Only if calls that are slow spend at least
//! half of their time so; with a distribution, if they must even where the longest
//! operations are all theirs.
//!
//! # What to check next
//! Threads and their queue (Linux: /proc/net/rpc/nfsd, nfsd's pool_stats; Ganesha:
//! its worker threads), run queue and CPU pressure of the server at these times,
//! and locks around the operation.
//!
//! # When it is wrong
//! When the server's log starts later than it claims, such as behind a queue of
//! its own that is meant to be in it, or times a part of the operation only. When
//! the capture was taken in front of the server, the way to it is counted as well.

use super::{Entry, Of, Rule, evidence, numbers, pressed, whole};
use crate::app::{ComparedBy, ServerFacts};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "server-queue",
    title: "calls wait in the server, outside of the operation that it times",
    side: Some(Side::Server),
    of: Of::Calls,
    sure: [0.9, 0.8],
    page: page!("server_queue.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let server = facts.server_app?;
    facts.at_server()?;
    let a = &facts.account;
    let own_ns = a.server_ns() - a.stall_ns;
    let is_exact = matches!(server.by, ComparedBy::Offset | ComparedBy::Connection);
    let waited_ns = match is_exact {
        true => a.queue_ns + a.dispatch_ns,
        false => server.beyond_total_ns.min(own_ns),
    };
    let guilty = facts.is_guilty_of(waited_ns, a.server_ns(), facts.server_part());
    let is_most = waited_ns >= own_ns / 2;
    // What is so on average may be so of other calls than the slow ones.
    let is_of_slow = server.slow_took_ns > 0 && server.slow_beyond_ns >= server.slow_took_ns / 2;
    if !guilty || !is_most || !is_of_slow {
        return None;
    }
    let capped = Rule::ServerConcurrencyCap.check(facts).is_some();
    let cost_ns = (is_exact && !capped).then_some(a.dispatch_ns);
    let held = a.server_ns() / a.calls.max(1) as i64;
    let share = waited_ns.saturating_mul(100) / a.server_ns().max(1);
    Some(Finding {
        title: "Calls wait in the server, outside of its operations".into(),
        cost_ns,
        first: facts.worst.server.first,
        last: facts.worst.server.last,
        facts: numbers([
            ("server_mean_ns", held),
            ("operation_mean_ns", server.operation_mean_ns),
            ("waited_ns", waited_ns),
            ("per_cent_of_server", share),
            ("operations", whole(server.operations)),
        ]),
        evidence: evidence::of_calls(
            facts,
            facts.worst.server,
            "request and reply of the longest waits",
        ),
        why: text!(
            "Of {held} for which the server holds a call, its own operation takes {operation} on average: {share} of the server's time passes outside of it{sides} ({basis}).{threads}{cost}",
            held = Value::Duration(held),
            operation = server.own(),
            share = Value::Percent(share),
            sides = sides(server),
            basis = server.basis.clone(),
            threads = pressed::threads(facts).map_or_else(Text::default, |t| t.said),
            cost = match (is_exact, capped) {
                (_, true) => " Server-concurrency-cap has its cost.",
                (false, _) => " No single call's is known: it has no cost of its own.",
                _ => "",
            },
        ),
        remedy: vec![
            "look at what hands requests to the operation: the server's threads and their queue, its run queue and CPU, locks".into(),
            "the storage below the operation is not what these calls wait for".into(),
        ],
        ..Rule::ServerQueue.finding()
    })
}

/// Where it passes, as far as that is known.
fn sides(server: &ServerFacts) -> Text {
    let both = server.before_mean_ns.zip(server.behind_mean_ns);
    both.map_or(Text::default(), |(before, behind)| {
        text!(
            ", {before} before it begins and {behind} after it ended",
            before = Value::Duration(before),
            behind = Value::Duration(behind),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CALLS, Fixture, MS, TOTAL_NS, end, found};
    use super::*;
    use crate::concurrency::ServerCap;
    use crate::results::Vantage;

    fn timed(by: ComparedBy) -> ServerFacts {
        ServerFacts {
            operations: CALLS,
            matched: CALLS,
            operation_mean_ns: 5 * MS,
            beyond_mean_ns: 45 * MS,
            beyond_total_ns: 4_500 * MS,
            before_mean_ns: Some(44 * MS),
            behind_mean_ns: Some(MS),
            slow_took_ns: 5_000 * MS,
            slow_beyond_ns: 4_500 * MS,
            bounds: None,
            by,
            basis: "a log".into(),
        }
    }

    /// Half of the calls' time is the server's, so much of it outside of operations.
    fn waits(f: &mut Fixture, dispatch_ns: i64) {
        f.account.service_ns = TOTAL_NS / 2 - dispatch_ns;
        f.account.dispatch_ns = dispatch_ns;
        f.server_app = Some(timed(ComparedBy::Offset));
    }

    #[test]
    fn what_calls_wait_outside_of_operations_is_the_server_s() {
        let f = found(Rule::ServerQueue, |f| waits(f, TOTAL_NS / 2 - 500 * MS)).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(4_500 * MS)));
        assert_eq!(
            f.why.to_string(),
            "Of 50.0 ms for which the server holds a call, its own operation takes 5.00 ms on average: 90 % of the server's time passes outside of it, 44.0 ms before it begins and 1.00 ms after it ended (a log)."
        );
    }

    #[test]
    fn half_of_the_server_s_time_is_enough() {
        assert!(found(Rule::ServerQueue, |f| waits(f, TOTAL_NS / 4)).is_some());
        assert!(found(Rule::ServerQueue, |f| waits(f, TOTAL_NS / 4 - 1)).is_none());
    }

    #[test]
    fn where_the_operation_takes_the_time_there_is_no_queue() {
        assert!(found(Rule::ServerQueue, |f| waits(f, 0)).is_none());
        assert!(found(Rule::ServerSlow, |f| waits(f, 0)).is_some());
    }

    /// Calls wait, but those that are slow are slow for their operations.
    #[test]
    fn what_does_not_overlap_the_slow_calls_is_not_said() {
        let of = |slow_beyond_ns| {
            found(Rule::ServerQueue, |f| {
                waits(f, TOTAL_NS / 4);
                let server = f.server_app.as_mut().unwrap();
                server.slow_beyond_ns = slow_beyond_ns;
            })
        };
        assert!(of(2_500 * MS).is_some());
        assert!(of(2_500 * MS - 1).is_none());
    }

    #[test]
    fn without_the_server_s_own_times_or_its_capture_nothing_is_known() {
        let none = found(Rule::ServerQueue, |f| {
            waits(f, TOTAL_NS / 2);
            f.server_app = None;
        });
        assert!(none.is_none());
        let mut alone = Fixture::alone(Vantage::Client);
        waits(&mut alone, TOTAL_NS / 2);
        assert!(alone.finds(Rule::ServerQueue).is_none());
    }

    #[test]
    fn by_time_alone_it_has_no_cost_of_its_own() {
        let f = found(Rule::ServerQueue, |f| {
            waits(f, 0);
            f.server_app = Some(timed(ComparedBy::Time));
        });
        let f = f.unwrap();
        assert_eq!(f.cost_ns, None);
        assert!(f.why.to_string().ends_with("it has no cost of its own."));
    }

    #[test]
    fn what_a_limited_number_of_workers_explains_is_charged_once() {
        let f = found(Rule::ServerQueue, |f| {
            waits(f, 0);
            f.account.service_ns = 500 * MS;
            f.account.queue_ns = TOTAL_NS / 2 - 500 * MS;
            let cap = ServerCap {
                cap: 3.9,
                service_ns: 4 * MS,
                queue_ns: f.account.queue_ns,
                calls: CALLS,
                busy_level: 32.0,
                busy_wait_ns: 33 * MS,
                sure: true,
            };
            f.account.cap = Some((cap, end(2, 2_049)));
        });
        let f = f.unwrap();
        assert_eq!(f.cost_ns, None);
        assert!(
            f.why
                .to_string()
                .ends_with("Server-concurrency-cap has its cost.")
        );
    }

    #[test]
    fn a_server_that_stands_still_does_not_queue() {
        let none = found(Rule::ServerQueue, |f| {
            waits(f, 10 * MS);
            f.account.service_ns = 10 * MS;
            f.account.stall_ns = TOTAL_NS / 2;
        });
        assert!(none.is_none());
    }
}
