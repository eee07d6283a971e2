//! # What it says
//! The client's TCP holds small segments back until everything before them is
//! acknowledged (Nagle's algorithm, RFC 896): requests leave in step with the
//! acknowledgements of earlier ones, not when the application writes them.
//!
//! # Why it costs time
//! A held segment waits for up to a round trip. What is visible on the wire is a
//! request whose end leaves only after an acknowledgement; requests that wait whole
//! are held before their first byte and cost the application more than this figure.
//!
//! # How sure
//! A sender without Nagle's algorithm sends small segments while others are
//! unacknowledged; one with it practically never does. Both are counted.
//!
//! # What to check next
//! TCP_NODELAY in the client (kernel NFS clients set it; user-space ones may not),
//! and whether it writes a request in one piece.
//!
//! # When it is wrong
//! A client that by itself sends one request at a time never has two small segments
//! under way; then every request follows a reply, not a bare acknowledgement, and
//! this is not said.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use model::Direction;

pub(super) const ENTRY: Entry = Entry {
    code: "nagle",
    title: "small segments held back for an acknowledgement",
    side: Some(Side::Client),
    of: Of::Calls,
    sure: [0.8, 0.8],
    page: page!("nagle.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let capture = facts.at_client()?;
    let a = &facts.account;
    let to_server = Direction::ToServer.index();
    let released = capture.tcp.small_released_by_ack[to_server];
    let early = capture.tcp.small_while_unacknowledged[to_server];
    if released < 20
        || early * 20 > released
        || a.nagle_ns.saturating_mul(50) < a.total_ns
        || !facts.is_slow(facts.response())
    {
        return None;
    }
    let held = facts.worst.held.count.max(1);
    Some(Finding {
        title: "The client's TCP holds small segments back".into(),
        cost_ns: Some(a.nagle_ns),
        first: facts.worst.held.first,
        last: facts.worst.held.last,
        facts: numbers([
            ("released_by_ack", released as i64),
            ("sent_unacknowledged", early as i64),
            ("held_mean_ns", a.nagle_ns / held as i64),
        ]),
        evidence: evidence::of_calls(
            facts,
            facts.worst.held,
            "requests whose end left only after an acknowledgement",
        ),
        why: text!(
            "{released} small segments left just after an acknowledgement and {early} while one was outstanding; {held} requests were held for {each} on average.",
            released = released,
            early = early,
            held = held,
            each = Value::Duration(a.nagle_ns / held as i64),
        ),
        remedy: vec!["set TCP_NODELAY in the client, or write each request in one piece".into()],
        ..Rule::Nagle.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;

    fn released(by_acks: u64, early: u64, ns: i64) -> Option<Finding> {
        found(Rule::Nagle, |f| {
            let tcp = &mut f.captures[0].tcp;
            tcp.small_released_by_ack[0] = by_acks;
            tcp.small_while_unacknowledged[0] = early;
            f.account.nagle_ns = ns;
        })
    }

    #[test]
    fn small_segments_that_leave_on_acknowledgements_are_held_back() {
        let f = released(200, 0, TOTAL_NS / 4).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 4)));
        assert!(
            f.why
                .to_string()
                .starts_with("200 small segments left just after")
        );
    }

    #[test]
    fn a_sender_that_does_not_wait_for_them_is_not() {
        assert!(released(200, 11, TOTAL_NS / 4).is_none());
    }

    #[test]
    fn twenty_of_them_and_a_fiftieth_of_the_time_are_enough() {
        assert!(released(20, 1, TOTAL_NS / 50).is_some());
        assert!(released(19, 0, TOTAL_NS / 50).is_none());
        assert!(released(20, 0, TOTAL_NS / 50 - 1).is_none());
    }
}
