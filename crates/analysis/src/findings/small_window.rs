//! # What it says
//! The receiver reads everything at once, but the window it offers is smaller than
//! what the path can hold: the sender waits for acknowledgements with a full
//! window.
//!
//! # Why it costs time
//! One window per round trip is all that can pass: 64 KiB over 20 ms are 26 Mbit/s,
//! whatever the line can do.
//!
//! # How sure
//! A wait counts only if its end was an acknowledgement that moved the window, and
//! what left then did not fit before.
//!
//! # What to check next
//! SO_RCVBUF set by the application (it switches autotuning off), tcp_rmem, window
//! scaling (RFC 7323) switched off or removed by a device on the way.
//!
//! # When it is wrong
//! Early in a connection windows grow by autotuning; short transfers may end
//! before.

use super::receive_window_limited::window_ns;
use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding};
use crate::streams::{DIRECTIONS, receiver, word};
use model::{TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "small-window",
    title: "the receive window is too small for the path",
    source: include_str!("small_window.rs"),
    check,
};

const CLASS: TimeClass = TimeClass::SmallWindow;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let d = DIRECTIONS
        .into_iter()
        .max_by_key(|d| window_ns(facts, *d))?;
    let cost = window_ns(facts, d);
    let small = facts.under_way(d, CLASS);
    if !facts.holds_up(cost) || small <= cost - small {
        return None;
    }
    let longest = facts.streams.longest(d, CLASS);
    let worst = &longest.first()?.connection.directions[d.index()].account;
    let window = worst.window_max_bytes.unwrap_or(0);
    let who = word(receiver(d));
    Some(Finding {
        code: RULE.code,
        title: format!("The {who}'s receive window is too small for this path"),
        side: receiver(d),
        cost_ns: Some(cost),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.85,
        first: longest.iter().map(|l| l.wait.first.time).min(),
        last: longest.iter().map(|l| l.wait.last.time).max(),
        facts: vec![
            Fact {
                name: "window_max_bytes",
                value: window as i64,
            },
            Fact {
                name: "round_trip_p50_ns",
                value: worst.rtt.p50_ns,
            },
        ],
        evidence: evidence::of_waits(
            facts,
            d,
            CLASS,
            "a full window and the segment that left when it moved",
        ),
        why: format!(
            "The {who} offers {window} bytes at most, and a round trip takes {}: more cannot be under way.",
            format_duration(worst.rtt.p50_ns)
        ),
        remedy: vec![format!(
            "let the {who}'s receive buffer grow: no SO_RCVBUF in the application, larger tcp_rmem, window scaling on"
        )],
    })
}
