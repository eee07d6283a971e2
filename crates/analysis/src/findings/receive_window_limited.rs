//! # What it says
//! The receiving application does not read as fast as data comes: its receive
//! buffer fills, and the window it offers closes or stops moving.
//!
//! # Why it costs time
//! TCP may not send beyond the window. The sender had data and sent it the moment
//! the window opened; until then everything behind waited.
//!
//! # How sure
//! A wait counts only if its end was an enlargement of the window and what left
//! then did not fit before. The window's scale must be known from the handshake,
//! except for windows of zero. Beside the receiver a window that is full, and is
//! acknowledged several times later than it could be, waits for nothing else.
//!
//! # What to check next
//! What the receiving process does instead of reading (CPU, disk, locks); its
//! socket buffer (SO_RCVBUF, tcp_rmem) only if it reads in large, rare gulps.
//!
//! # When it is wrong
//! A proxy or load balancer that ends the connection is itself the receiver: the
//! application behind it may be innocent, or the next connection may be the limit.

use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers};
use crate::facts::Facts;
use crate::results::Finding;
use crate::text::{Value, text};
use model::{Direction, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "receive-window-limited",
    title: "the receiver reads too slowly: its window closes",
    side: None,
    of: Of::Bytes,
    sure: [0.9, 0.9],
    page: page!("receive_window_limited.rs"),
    check,
};

/// Time in which the window was the limit, whether or not it moved.
pub(super) fn window_ns(facts: &Facts<'_>, d: Direction) -> i64 {
    facts.under_way(d, TimeClass::ReceiverApplication) + facts.under_way(d, TimeClass::SmallWindow)
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let class = TimeClass::ReceiverApplication;
    let most = |class| UnderWay::most(facts, class, |d| window_ns(facts, d));
    let full = || most(TimeClass::SmallWindow);
    // Of connections it may only be known that their windows were full.
    let waits = most(class).or_else(full)?;
    let cost = window_ns(facts, waits.direction);
    let reading = match full().is_some_and(|waits| waits.is_acknowledged_late()) {
        true => cost,
        false => facts.under_way(waits.direction, class),
    };
    if !facts.holds_up(cost) || reading < cost - reading {
        return None;
    }
    let zero_ns = waits.zero_window_ns;
    let (sender, reader) = (waits.sender(), waits.receiver());
    Some(Finding {
        title: text!(
            "The {reader}'s application does not read fast enough",
            reader = reader
        ),
        side: waits.receiver(),
        cost_ns: Some(cost),
        facts: numbers([("zero_window_ns", zero_ns), ("window_limited_ns", cost)]),
        why: text!(
            "Calls waited {all} in all while the {sender} had data and the {reader}'s window no room for it; {closed} of that it was closed altogether.",
            all = Value::Duration(cost),
            sender = sender,
            reader = reader,
            closed = Value::Duration(zero_ns.min(cost)),
        ),
        remedy: vec![text!(
            "look at what the receiving process on the {reader} does instead of reading its socket",
            reader = reader,
        )],
        ..waits.finding(
            Rule::ReceiveWindowLimited,
            "from when the window was full to the segment that left when it opened",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::results::Side;
    use model::EpisodeKind;

    fn window(closed_ns: i64, small_ns: i64) -> Option<Finding> {
        found(Rule::ReceiveWindowLimited, |f| {
            f.held(Direction::ToClient, EpisodeKind::ZeroWindow, 10, closed_ns);
            f.held(Direction::ToClient, EpisodeKind::SmallWindow, 10, small_ns);
        })
    }

    #[test]
    fn a_closed_window_is_the_receiver_s() {
        let f = window(TOTAL_NS / 2, 0).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        let why = f.why.to_string();
        assert!(
            why.contains("the server had data and the client's window"),
            "{why}"
        );
    }

    #[test]
    fn a_window_that_is_only_small_is_another_finding_s() {
        assert!(window(TOTAL_NS / 8, TOTAL_NS / 4).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(window(TOTAL_NS / 8, TOTAL_NS / 8).is_some());
        assert!(window(TOTAL_NS / 4 - 1, 0).is_none());
    }
}
