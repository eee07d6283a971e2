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

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding, Side};
use model::{Direction, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "nagle",
    title: "small segments held back for an acknowledgement",
    source: include_str!("nagle.rs"),
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
        code: RULE.code,
        title: "The client's TCP holds small segments back".into(),
        side: Side::Client,
        cost_ns: Some(a.nagle_ns),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.8,
        first: facts.worst.held.first,
        last: facts.worst.held.last,
        facts: vec![
            Fact {
                name: "released_by_ack",
                value: released as i64,
            },
            Fact {
                name: "sent_unacknowledged",
                value: early as i64,
            },
            Fact {
                name: "held_mean_ns",
                value: a.nagle_ns / held as i64,
            },
        ],
        evidence: evidence::of_calls(
            facts,
            facts.worst.held,
            "requests whose end left only after an acknowledgement",
        ),
        why: format!(
            "{released} small segments left just after an acknowledgement and {early} while one was outstanding; {held} requests were held for {} on average.",
            format_duration(a.nagle_ns / held as i64)
        ),
        remedy: vec!["set TCP_NODELAY in the client, or write each request in one piece".into()],
    })
}
