//! # What it says
//! One host acknowledges so rarely, or so late, that the other stops: it has sent
//! all it may, or all it wants to send before it hears, and a timer at the
//! receiver decides when it goes on.
//!
//! # Why it costs time
//! A receiver acknowledges every second segment at once, any other by a timer (RFC
//! 1122: up to half a second; 40 ms and 200 ms are usual). Settings and network
//! cards change "every second" into every n-th. What ends on the odd one waits for
//! the timer, each time.
//!
//! # How sure
//! Only waits count in which the receiver was silent although everything had come,
//! then acknowledged all of it without data, much later than it otherwise does,
//! and in which the sender went on as soon after that as it can. Where it often
//! went on without such an acknowledgement, this is not said; nor where a small
//! segment was held back (nagle-delayed-ack), or a window.
//!
//! # What to check next
//! The receiver's setting (Windows: TcpAckFrequency, TcpDelAckTicks; Solaris:
//! _deferred_acks_max, _deferred_ack_interval) and its network card's; at the
//! sender whether it waits for acknowledgements by itself (a small socket buffer),
//! or its congestion window starts anew after each pause.
//!
//! # When it is wrong
//! An application that by chance writes again just as the timer runs out. A sender
//! that waits for each acknowledgement is as much to blame as the receiver.

use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers};
use crate::facts::Facts;
use crate::results::Finding;
use crate::text::{Value, text};
use model::{Direction, EpisodeKind};

pub(super) const ENTRY: Entry = Entry {
    code: "ack-frequency",
    title: "the sender waits for late acknowledgements",
    side: None,
    of: Of::Bytes,
    sure: [0.8, 0.8],
    page: page!("ack_frequency.rs"),
    check,
};

/// Fewer may be chance.
const AT_LEAST: u64 = 10;
/// What timers of acknowledgements are set to.
const TIMERS_NS: std::ops::RangeInclusive<i64> = 10_000_000..=600_000_000;
/// A sender that waits for them hardly ever does not.
const EXCEPTIONS_PER_CENT: u64 = 20;

/// Whether segments that waited may have been small ones, which Nagle's algorithm holds back: no handshake tells
/// the size of full ones, and most are below what any path carries.
fn may_be_small(facts: &Facts<'_>, d: Direction) -> bool {
    let [mut little, mut larger] = [0u64; 2];
    for c in &facts.streams.connections {
        let account = &c.direction(d).account;
        if account.mss.is_none() {
            let [a, b, c, rest @ ..] = account.segment_sizes.0;
            little += a + b + c;
            larger += rest.iter().sum::<u64>();
        }
    }
    little > 0 && little >= larger
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let ns = facts.account.delayed_ack_ns;
    let d = Direction::BOTH.into_iter().max_by_key(|d| ns[d.index()])?;
    let cost = ns[d.index()];
    let tcp = &facts.at_sender(d).tcp;
    let (awaited, ignored) = (
        tcp.late_acks_awaited[d.index()],
        tcp.late_acks_ignored[d.index()],
    );
    if !facts.holds_up(cost) || awaited < AT_LEAST || ignored * 100 > awaited * EXCEPTIONS_PER_CENT
    {
        return None;
    }
    if may_be_small(facts, d) {
        return None;
    }
    let waits = UnderWay::of_episodes(facts, d, &[EpisodeKind::DelayedAck])?;
    let each = waits.ns / waits.count.max(1) as i64;
    if !TIMERS_NS.contains(&each) {
        return None;
    }
    let (waiter, delays) = (waits.sender(), waits.receiver());
    Some(Finding {
        title: text!(
            "The {waiter} waits for acknowledgements that the {delays} delays",
            waiter = waiter,
            delays = delays
        ),
        side: waits.receiver(),
        cost_ns: Some(cost),
        facts: numbers([
            ("waits", waits.count as i64),
            ("wait_mean_ns", each),
            ("not_awaited", ignored as i64),
        ]),
        why: text!(
            "{times} time{times||s} the {delays} acknowledged what had come only after {each} on average, and the {waiter} sent nothing before and more at once after that; {ignored} times it did not wait.",
            times = waits.count,
            delays = delays,
            each = Value::Duration(each),
            waiter = waiter,
            ignored = ignored,
        ),
        remedy: vec![text!(
            "look for what delays acknowledgements on the {delays} (every n-th segment only, a long timer), and why the {waiter} stops until it has them (a small send buffer)",
            delays = delays,
            waiter = waiter,
        )],
        ..waits.finding(
            Rule::AckFrequency,
            "the last segment before the wait and the one that left after the acknowledgement",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::results::Side;

    fn waits(times: u64, ns: i64, not_awaited: u64) -> Option<Finding> {
        found(Rule::AckFrequency, |f| {
            f.held(Direction::ToServer, EpisodeKind::DelayedAck, times, ns);
            f.captures[0].tcp.late_acks_awaited[0] = times;
            f.captures[0].tcp.late_acks_ignored[0] = not_awaited;
        })
    }

    #[test]
    fn who_waits_for_late_acknowledgements_waits_for_their_sender() {
        let f = waits(100, TOTAL_NS / 2, 0).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(TOTAL_NS / 2)));
        assert!(
            f.why
                .to_string()
                .contains("100 times the server acknowledged")
        );
    }

    #[test]
    fn who_sends_on_without_them_or_waits_for_no_timer_does_not() {
        assert!(waits(100, TOTAL_NS / 2, 21).is_none());
        assert!(waits(10_000, TOTAL_NS / 2, 0).is_none());
    }

    #[test]
    fn ten_waits_that_are_a_quarter_of_the_time_are_enough() {
        assert!(waits(10, TOTAL_NS / 4, 2).is_some());
        assert!(waits(9, TOTAL_NS / 4, 0).is_none());
        assert!(waits(10, TOTAL_NS / 4 - 1, 0).is_none());
    }
}
