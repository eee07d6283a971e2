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
//! only pauses after the last, small segment of a write count.
//!
//! # What to check next
//! What the sending process does between its writes: reading a disk, computing,
//! waiting for a lock or for its processor.
//!
//! # When it is wrong
//! A congestion window that happens to be full at each end of a write looks the
//! same from outside.

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding};
use crate::streams::{DIRECTIONS, sender, word};
use model::{TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "sender-application-limited",
    title: "the sending application pauses within its messages",
    source: include_str!("sender_application_limited.rs"),
    check,
};

const CLASS: TimeClass = TimeClass::SenderApplication;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let d = DIRECTIONS
        .into_iter()
        .max_by_key(|d| facts.under_way(*d, CLASS))?;
    let cost = facts.under_way(d, CLASS);
    if !facts.holds_up(cost) {
        return None;
    }
    let longest = facts.streams.longest(d, CLASS);
    let pauses: u64 = longest
        .iter()
        .map(|l| u64::from(l.connection.directions[d.index()].account.stretches[CLASS]))
        .sum();
    let each = cost / pauses.max(1) as i64;
    let who = word(sender(d));
    Some(Finding {
        code: RULE.code,
        title: format!("The {who}'s application pauses between its writes"),
        side: sender(d),
        cost_ns: Some(cost),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.8,
        first: longest.iter().map(|l| l.wait.first.time).min(),
        last: longest.iter().map(|l| l.wait.last.time).max(),
        facts: vec![
            Fact {
                name: "pauses",
                value: pauses as i64,
            },
            Fact {
                name: "pause_mean_ns",
                value: each,
            },
        ],
        evidence: evidence::of_waits(
            facts,
            d,
            CLASS,
            "the segments before and after the longest pauses",
        ),
        why: format!(
            "{pauses} times the {who} had room to send and did not, for {} on average.",
            format_duration(each)
        ),
        remedy: vec![format!(
            "look at what the sending process on the {who} does between writes"
        )],
    })
}
