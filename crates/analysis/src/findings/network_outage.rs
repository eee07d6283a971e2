//! # What it says
//! For a while nothing got through: a sender's retransmission timer ran out again
//! and again, and no answer came.
//!
//! # Why it costs time
//! Every call outstanding waits until the path is back and the sender's timer,
//! which doubles each time, runs out once more. The cost is the network time of
//! these calls beyond what the path usually takes.
//!
//! # How sure
//! High with both captures. With one, it is said of calls that were being sent
//! again while nothing came from the other side.
//!
//! # What to check next
//! Events at that time: link flaps, spanning tree, routing changes, firewall
//! fail-over, a migrated virtual machine.
//!
//! # When it is wrong
//! A host that was down or frozen hard enough not to acknowledge looks like a path
//! that was.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::{Facts, outages};
use crate::results::{Finding, Side};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "network-outage",
    title: "nothing got through for a while",
    side: Some(Side::Network),
    of: Of::Calls,
    sure: [0.9, 0.5],
    page: page!("network_outage.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    if a.outage_ns < 500_000_000
        || facts.worst.outage.count == 0
        || a.outage_ns.saturating_mul(20) < a.total_ns
    {
        return None;
    }
    let (count, longest) = facts.captures.iter().map(outages).max_by_key(|o| o.1)?;
    let calls = facts.worst.outage.count;
    Some(Finding {
        title: "The path was interrupted".into(),
        cost_ns: Some(a.outage_ns),
        elapsed_cost_ns: Some(longest),
        first: facts.worst.outage.first,
        last: facts.worst.outage.last,
        facts: numbers([("recoveries", count as i64), ("longest_ns", longest), ("calls_delayed", calls as i64)]),
        evidence: evidence::of_calls(facts, facts.worst.outage, "calls that waited through it"),
        why: text!(
            "Retransmissions went unanswered for up to {longest}; {calls,} call{calls||s} waited through it.",
            longest = Value::Duration(longest),
            calls = calls,
        ),
        remedy: vec!["look for events on the path at that time: link flap, spanning tree, routing, firewall fail-over, VM migration".into()],
        ..Rule::NetworkOutage.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, found};
    use super::*;

    fn interrupted(ns: i64, calls: u64) -> Option<Finding> {
        found(Rule::NetworkOutage, |f| {
            f.account.outage_ns = ns;
            f.worst.count = calls;
        })
    }

    #[test]
    fn calls_that_waited_through_it_are_its_cost() {
        let f = interrupted(4_000 * MS, 4).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, Some(4_000 * MS)));
        assert!(f.why.to_string().ends_with("4 calls waited through it."));
    }

    #[test]
    fn an_outage_that_nobody_waited_through_is_not_told() {
        assert!(interrupted(4_000 * MS, 0).is_none());
    }

    #[test]
    fn half_a_second_of_ten_is_enough() {
        assert!(interrupted(500 * MS, 1).is_some());
        assert!(interrupted(500 * MS - 1, 1).is_none());
    }
}
