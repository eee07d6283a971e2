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

use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers};
use crate::facts::Facts;
use crate::results::Finding;
use crate::text::{Value, text};
use model::{Direction, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "nagle-delayed-ack",
    title: "small segments wait for a delayed acknowledgement",
    side: None,
    of: Of::Bytes,
    sure: [0.9, 0.9],
    page: page!("nagle_delayed_ack.rs"),
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
    let (holds, delays) = (waits.sender(), waits.receiver());
    Some(Finding {
        title: text!(
            "The {holds} holds back small segments, the {delays} delays acknowledgements",
            holds = holds,
            delays = delays,
        ),
        side: waits.sender(),
        cost_ns: Some(cost),
        facts: numbers([("waits", count as i64), ("wait_mean_ns", each)]),
        why: text!(
            "{times} time{times||s} a small segment of the {holds} left only after a bare acknowledgement of everything before it, {each} later on average.",
            times = count,
            holds = holds,
            each = Value::Duration(each),
        ),
        remedy: vec![text!(
            "write each message in one piece at the {holds}, or set TCP_NODELAY there",
            holds = holds,
        )],
        ..waits.finding(
            Rule::NagleDelayedAck,
            "the segment before the wait and the one that ended it",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::results::Side;
    use model::EpisodeKind;

    fn held(kind: EpisodeKind, ns: i64) -> Option<Finding> {
        found(Rule::NagleDelayedAck, |f| {
            f.held(Direction::ToServer, kind, 50, ns)
        })
    }

    #[test]
    fn small_segments_that_wait_for_a_timer_are_their_sender_s() {
        let f = held(EpisodeKind::NagleDelayedAck, TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert!(f.why.to_string().ends_with("100 ms later on average."));
    }

    #[test]
    fn where_nothing_small_is_held_back_it_is_another_finding_s() {
        assert!(held(EpisodeKind::DelayedAck, TOTAL_NS / 2).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(held(EpisodeKind::NagleDelayedAck, TOTAL_NS / 4).is_some());
        assert!(held(EpisodeKind::NagleDelayedAck, TOTAL_NS / 4 - 1).is_none());
    }
}
