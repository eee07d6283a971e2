//! # What it says
//! In the middle of a message the sending application did not write, though TCP
//! could have sent at once: neither window nor path nor loss held it up.
//!
//! # Why it costs time
//! The receiver cannot finish what it has half of.
//!
//! # How sure
//! Pauses count that end by themselves: nothing that came released the next
//! segment, and there was room in the window. With a capture far from the sender
//! only pauses after the last, small segment of a write count. Said of messages of
//! ten segments or more on average: a pause between smaller writes may lie between
//! two messages.
//!
//! # What to check next
//! What the sending process does between its writes: reading a disk, computing,
//! waiting for a lock or for its processor.
//!
//! # When it is wrong
//! A congestion window that happens to be full at each end of a write looks the
//! same from outside.

use super::Rule;
use super::under_way::{Said, UnderWay};
use crate::facts::{Basis, Facts};
use crate::results::Finding;
use model::{Direction, TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "sender-application-limited",
    title: "the sending application pauses within its messages",
    source: include_str!("sender_application_limited.rs"),
    check,
};

/// A pause between smaller writes lies between two messages, not within one: ten segments, which a round
/// trip carries (RFC 6928).
const MESSAGE_BYTES: u64 = 10 * 1_460;

/// Of a turn, in this direction, on average; of a stream that nobody answers, between pauses.
fn message_bytes(facts: &Facts<'_>, d: Direction, pauses: u64) -> u64 {
    let connections = facts.streams.connections.iter();
    let bytes = connections.map(|c| c.directions[d.index()].counts.payload_bytes);
    let messages = match facts.account.basis {
        Basis::Streams => pauses,
        _ => facts.account.calls,
    };
    bytes.fold(0, u64::saturating_add) / messages.max(1)
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let (pauses, cost) = UnderWay::guilty(facts, TimeClass::SenderApplication)?;
    if message_bytes(facts, pauses.direction, pauses.count) < MESSAGE_BYTES {
        return None;
    }
    let count = pauses.count;
    let each = cost / count.max(1) as i64;
    let (who, _) = pauses.words();
    Some(pauses.finding(
        &RULE,
        Said {
            title: format!("The {who}'s application pauses between its writes"),
            side: pauses.sender(),
            cost_ns: Some(cost),
            confidence: 0.8,
            numbers: &[("pauses", count as i64), ("pause_mean_ns", each)],
            shows: "the segments before and after the longest pauses",
            why: format!(
                "{count} times the {who} had room to send and did not, for {} on average.",
                format_duration(each)
            ),
            remedy: format!("look at what the sending process on the {who} does between writes"),
        },
    ))
}
