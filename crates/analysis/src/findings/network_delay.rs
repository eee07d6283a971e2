//! # What it says
//! The path between client and server takes the time: distance, queues in devices,
//! or a detour, with nothing lost.
//!
//! # Why it costs time
//! Every call crosses the path twice. The cost is the client's response time minus
//! the server's, summed over calls, without what loss, outages and the sender's TCP
//! explain.
//!
//! # How sure
//! With captures of both ends the sum of both directions is exact and needs no
//! clock. How it divides between them depends on the clocks, and is only as good as
//! the bound that is printed. From the client alone the path's round trip is
//! measured on acknowledgements, an estimate. From the server alone handshakes show
//! what the path to the client takes at least, if it did not become shorter. From
//! any place, what came later than else by its sender's own time stamps (RFC 7323)
//! was on its way for as long as that. Where calls would be fast but for losses,
//! a path that is always there is not told.
//!
//! # What to check next
//! The round trip of an idle moment (ping, TCP connect time) against this figure:
//! equal means distance, much more means a queue or a device in between. Whether it
//! changed at some time (slowside ops --by time=10s).
//!
//! # When it is wrong
//! The captures' own hosts belong to the path as far as their capture points leave
//! them out: packets that wait in a host's receive queue or virtual switch count as
//! network.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::{Basis, Facts};
use crate::results::{Finding, Side};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "network-delay",
    title: "the path between client and server",
    side: Some(Side::Network),
    of: Of::Calls,
    sure: [0.95, 0.6],
    page: page!("network_delay.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    if !facts.is_guilty(a.path_ns, facts.network_part()) || facts.are_fast_but_for_losses() {
        return None;
    }
    let mean = a.path_ns / a.calls.max(1) as i64;
    let share = a.path_ns.saturating_mul(100) / a.total_ns.max(1);
    let share = Value::Percent(share);
    let shortest = |ns| numbers([("network_mean_ns", mean), ("round_trip_min_ns", ns)]);
    let (known, why) = match (a.basis, facts.path) {
        (Basis::Matched, _) => (
            numbers([("network_mean_ns", mean)]),
            text!(
                "A call takes {mean} longer at the client than at the server, {share} of its response time{losses}.",
                mean = Value::Duration(mean),
                share = share,
                losses = match a.loss_ns + a.outage_ns {
                    1.. => ", beyond what losses explain",
                    _ => "; nothing was lost on the way",
                },
            ),
        ),
        (Basis::Server, Some(path)) => (
            shortest(path.min_ns),
            text!(
                "The path to the client and back takes {least} at least, as handshakes show: {share} of what a client waits for a call. This capture was taken at the server, whose calls do not show it.",
                least = Value::Duration(path.min_ns),
                share = share,
            ),
        ),
        (_, Some(path)) => (
            shortest(path.min_ns),
            text!(
                "The path to the server and back takes {path}. That is {mean} of each call, {share} of its time: an estimate.",
                path = path.words(),
                mean = Value::Duration(mean),
                share = share,
            ),
        ),
        (_, None) => return None,
    };
    // Of one capture's slowest calls nobody knows whether it was the path that made them so.
    let shows = match a.basis {
        Basis::Matched => "request and reply of the calls that crossed slowest",
        _ => "request and reply of the slowest calls, each with the path in it",
    };
    Some(Finding {
        title: "The network takes the time".into(),
        cost_ns: Some(a.path_ns),
        first: facts.worst.network.first,
        last: facts.worst.network.last,
        facts: known,
        evidence: evidence::of_calls(facts, facts.worst.network, shows),
        why,
        remedy: vec![
            "compare with the round trip of an idle moment: the same is distance, more is a queue or device on the way".into(),
            "fewer, larger or more parallel calls hide distance; they do not hide a queue".into(),
        ],
        ..Rule::NetworkDelay.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Fixture, MS, TOTAL_NS, alike, found};
    use super::*;
    use crate::path::PathEstimate;
    use crate::results::Vantage;

    fn path(ns: i64) -> Option<Finding> {
        found(Rule::NetworkDelay, |f| f.account.path_ns = ns)
    }

    #[test]
    fn what_the_path_takes_is_the_network_s() {
        let f = path(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.why.to_string(),
            "A call takes 50.0 ms longer at the client than at the server, 50 % of its response \
             time; nothing was lost on the way."
        );
    }

    #[test]
    fn one_capture_needs_an_estimate_of_the_path() {
        let mut f = Fixture::alone(Vantage::Client);
        f.account.path_ns = TOTAL_NS / 2;
        assert!(f.finds(Rule::NetworkDelay).is_none());
        f.path = Some(PathEstimate {
            min_ns: 45_000_000,
            mean_ns: 50_000_000,
            most_ns: 55_000_000,
            samples: 9,
            by_calls: false,
            by_answer: false,
        });
        let found = f.finds(Rule::NetworkDelay).unwrap();
        assert!(found.confidence < 0.9 && found.why.to_string().ends_with("an estimate."));
    }

    /// Of clients without a capture the server's has the calls, and their path is not in what they take there.
    #[test]
    fn calls_of_other_clients_are_slow_by_what_their_path_takes_at_least() {
        let of = |others: bool, path_ms: i64| {
            found(Rule::NetworkDelay, |f| {
                let calls = f.account.calls as i64;
                f.captures[0].response = alike(MS);
                f.matched.as_mut().expect("a pair").client = alike(MS);
                f.others = others.then(|| [alike(MS), alike(MS)]);
                f.account.path_ns = calls * path_ms * MS;
                f.account.total_ns = f.account.path_ns + calls * MS / 2;
                f.account.sums.total = ledger::Bounds::exactly(f.account.total_ns);
            })
        };
        assert!(of(true, 2).is_some());
        assert!(of(true, 1).is_none());
        assert!(of(false, 2).is_none());
    }

    #[test]
    fn a_path_that_is_fast_enough_is_not_told_where_a_few_calls_wait_for_what_was_lost() {
        let of = |path_ms: i64| {
            found(Rule::NetworkDelay, |f| {
                let calls = f.account.calls as i64;
                f.account.path_ns = calls * path_ms * MS;
                f.account.loss_ns = f.account.total_ns - f.account.path_ns;
            })
        };
        assert!(of(1).is_none());
        let slow = of(40).expect("slow by itself");
        assert!(slow.why.to_string().contains("beyond what losses explain"));
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(path(TOTAL_NS / 4).is_some());
        assert!(path(TOTAL_NS / 4 - 1).is_none());
    }
}
