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
//! what left then did not fit before. Nothing is said where round trips took twice
//! as long as the path does: what fills the window then stands before a line that
//! is full, or waits for its reader, and in a larger one more would.
//!
//! # What to check next
//! SO_RCVBUF set by the application (it switches autotuning off), tcp_rmem, window
//! scaling (RFC 7323) switched off or removed by a device on the way.
//!
//! # When it is wrong
//! Early in a connection windows grow by autotuning; short transfers may end
//! before.

use super::receive_window_limited::window_ns;
use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers, window_scaling_off};
use crate::facts::Facts;
use crate::results::Finding;
use crate::text::{Value, text};
use model::TimeClass;

pub(super) const ENTRY: Entry = Entry {
    code: "small-window",
    title: "the receive window is too small for the path",
    side: None,
    of: Of::Bytes,
    sure: [0.85, 0.85],
    page: page!("small_window.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let class = TimeClass::SmallWindow;
    let waits = UnderWay::most(facts, class, |d| window_ns(facts, d))?;
    let cost = window_ns(facts, waits.direction);
    let small = facts.under_way(waits.direction, class);
    if !facts.holds_up(cost) || small <= cost - small || waits.is_queueing() {
        return None;
    }
    if window_scaling_off::refuser(facts, &waits).is_some() {
        return None;
    }
    let window = waits.window_bytes;
    let (_, round_trip) = waits.round_trip;
    let who = waits.receiver();
    Some(Finding {
        title: text!(
            "The {who}'s receive window is too small for this path",
            who = who
        ),
        side: waits.receiver(),
        cost_ns: Some(cost),
        facts: numbers([("window_max_bytes", window as i64), waits.round_trip]),
        why: text!(
            "The {who} offers {window} at most, and a round trip takes {trip}: more cannot be under way.",
            who = who,
            window = Value::Bytes(window),
            trip = Value::Duration(round_trip),
        ),
        remedy: vec![text!(
            "let the {who}'s receive buffer grow: no SO_RCVBUF in the application, larger tcp_rmem, window scaling on",
            who = who,
        )],
        ..waits.finding(
            Rule::SmallWindow,
            "a full window and the segment that left when it moved",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::results::Side;
    use model::{Direction, EpisodeKind};

    fn window(small_ns: i64, closed_ns: i64) -> Option<Finding> {
        found(Rule::SmallWindow, |f| {
            f.held(Direction::ToClient, EpisodeKind::SmallWindow, 10, small_ns);
            f.held(Direction::ToClient, EpisodeKind::ZeroWindow, 10, closed_ns);
            f.captures[1].episodes[1][EpisodeKind::SmallWindow].window = 16_384;
            f.captures[1].tcp.ack_rtt_min_ns[1] = Some(20_000_000);
        })
    }

    #[test]
    fn a_small_window_is_its_receiver_s() {
        let f = window(TOTAL_NS / 2, 0).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.why.to_string(),
            "The client offers 16,384 bytes at most, and a round trip takes 20.0 ms: more cannot be \
             under way."
        );
    }

    #[test]
    fn a_window_that_is_rather_closed_is_another_finding_s() {
        assert!(window(TOTAL_NS / 4, TOTAL_NS / 4).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(window(TOTAL_NS / 4, 0).is_some());
        assert!(window(TOTAL_NS / 4 - 1, 0).is_none());
    }
}
