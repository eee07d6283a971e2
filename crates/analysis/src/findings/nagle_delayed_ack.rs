//! # What it says
//! One host holds small segments back until what it sent before is acknowledged
//! (Nagle's algorithm, RFC 896), and the other takes its time with that
//! acknowledgement (RFC 1122 allows half a second; 40 ms and 200 ms are usual).
//!
//! # Why it costs time
//! Each waits for the other, and only a timer ends it. It happens to messages that
//! are written in two pieces: the first leaves at once, the second is held.
//!
//! # How sure
//! Only waits count that end with an acknowledgement without data, of everything
//! sent, followed at once by a small segment. A delayed acknowledgement that nobody
//! waits for costs nothing and does not count.
//!
//! # What to check next
//! TCP_NODELAY at the sender, or writing each message in one piece; both hosts'
//! settings of delayed acknowledgements matter less.
//!
//! # When it is wrong
//! An application that by chance writes again just as the acknowledgement comes.

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding};
use crate::streams::{DIRECTIONS, receiver, sender, word};
use model::{TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "nagle-delayed-ack",
    title: "small segments wait for a delayed acknowledgement",
    source: include_str!("nagle_delayed_ack.rs"),
    check,
};

const CLASS: TimeClass = TimeClass::NagleDelayedAck;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let d = DIRECTIONS
        .into_iter()
        .max_by_key(|d| facts.under_way(*d, CLASS))?;
    let cost = facts.under_way(d, CLASS);
    if !facts.holds_up(cost) {
        return None;
    }
    let longest = facts.streams.longest(d, CLASS);
    let waits: u64 = longest
        .iter()
        .map(|l| u64::from(l.connection.directions[d.index()].account.stretches[CLASS]))
        .sum();
    let each = cost / waits.max(1) as i64;
    let (holds, delays) = (word(sender(d)), word(receiver(d)));
    Some(Finding {
        code: RULE.code,
        title: format!(
            "The {holds} holds back small segments, the {delays} delays acknowledgements"
        ),
        side: sender(d),
        cost_ns: Some(cost),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.9,
        first: longest.iter().map(|l| l.wait.first.time).min(),
        last: longest.iter().map(|l| l.wait.last.time).max(),
        facts: vec![
            Fact {
                name: "waits",
                value: waits as i64,
            },
            Fact {
                name: "wait_mean_ns",
                value: each,
            },
        ],
        evidence: evidence::of_waits(
            facts,
            d,
            CLASS,
            "the segment before the wait and the one that ended it",
        ),
        why: format!(
            "{waits} times a small segment of the {holds} left only after a bare acknowledgement of everything before it, {} later on average.",
            format_duration(each)
        ),
        remedy: vec![format!(
            "write each message in one piece at the {holds}, or set TCP_NODELAY there"
        )],
    })
}
