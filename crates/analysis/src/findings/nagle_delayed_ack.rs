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

use super::Rule;
use super::under_way::{Said, UnderWay};
use crate::facts::Facts;
use crate::results::Finding;
use model::{Direction, TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "nagle-delayed-ack",
    title: "small segments wait for a delayed acknowledgement",
    source: include_str!("nagle_delayed_ack.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let class = TimeClass::NagleDelayedAck;
    // Where nothing small is held back, it is another finding's.
    let held = |d: Direction| facts.under_way(d, class) - facts.account.delayed_ack_ns[d.index()];
    let waits = UnderWay::most(facts, class, held)?;
    let cost = held(waits.direction);
    if !facts.holds_up(cost) {
        return None;
    }
    let count = waits.count;
    let each = cost / count.max(1) as i64;
    let (holds, delays) = waits.words();
    Some(waits.finding(
        &RULE,
        Said {
            title: format!(
                "The {holds} holds back small segments, the {delays} delays acknowledgements"
            ),
            side: waits.sender(),
            cost_ns: Some(cost),
            confidence: 0.9,
            numbers: &[("waits", count as i64), ("wait_mean_ns", each)],
            shows: "the segment before the wait and the one that ended it",
            why: format!(
                "{count} times a small segment of the {holds} left only after a bare acknowledgement of everything before it, {} later on average.",
                format_duration(each)
            ),
            remedy: format!(
                "write each message in one piece at the {holds}, or set TCP_NODELAY there"
            ),
        },
    ))
}
