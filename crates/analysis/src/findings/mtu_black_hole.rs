//! # What it says
//! Large packets never arrive while small ones do: something on the way drops what
//! is too big for it and does not say so (an MTU black hole).
//!
//! # Why it costs time
//! The sender sends the same segment again and again, waiting twice as long each
//! time, until somebody gives up. Opening the connection and small requests work.
//!
//! # How sure
//! A full-sized segment was sent again three times or more and never acknowledged,
//! while packets of the other side kept coming, and none as large had been lost on
//! that connection and arrived when it was sent again: that is loss by chance. From
//! the receiver's end alone no such segment is seen: there the sender's numbers
//! tell of bytes that it had sent and that never came, seconds after it could have
//! sent them. Whether it sent them at once, and whether its own host dropped them,
//! only its end shows: no side is named.
//!
//! # What to check next
//! ping with that size and don't-fragment (ping -M do -s 1472), tunnels and VPNs on
//! the way, firewalls that drop ICMP "fragmentation needed" (RFC 1191, RFC 8899).
//!
//! # When it is wrong
//! A receiver that stopped in a way that only its acknowledgements of data stop.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Finding, Side};
use crate::streams::sender;
use crate::text::{Value, text};
use model::{Direction, Stuck, Vanished};

pub(super) const ENTRY: Entry = Entry {
    code: "mtu-black-hole",
    title: "large packets vanish on the way",
    side: None,
    of: Of::Network,
    sure: [0.85, 0.85],
    page: page!("mtu_black_hole.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    in_vain(facts).or_else(|| unseen(facts))
}

/// Told where they vanish, by their receiver's capture.
fn unseen(facts: &Facts<'_>) -> Option<Finding> {
    let vanished: Vec<_> = facts.streams.vanished().collect();
    let waited = |v: &Vanished| v.told.time - v.since;
    let (connection, d, worst) = vanished.iter().max_by_key(|(.., v)| waited(v))?;
    let end = match d {
        Direction::ToServer => connection.ends.last(),
        Direction::ToClient => connection.ends.first(),
    };
    let lasted_ns = vanished.iter().map(|(.., v)| waited(v)).sum::<i64>();
    Some(Finding {
        title: "Large packets vanish on the way, small ones arrive".into(),
        side: Side::Undetermined,
        fatal: true,
        first: vanished.iter().map(|(.., v)| v.since).min(),
        last: vanished.iter().map(|(.., v)| v.told.time).max(),
        facts: numbers([
            ("unseen_bytes", worst.bytes as i64),
            ("connections", vanished.len() as i64),
            ("lasted_ns", lasted_ns),
        ]),
        evidence: evidence::of_packets(
            facts,
            end.map(|(capture, ..)| (*capture, worst.told.packet)).into_iter(),
            "the packet that tells of bytes that never came",
        ),
        why: text!(
            "The {sender} had sent {bytes} that never came and were never acknowledged: its next packet, {time} after \
             the one before, counts them.",
            sender = sender(*d),
            bytes = Value::Bytes(worst.bytes),
            time = Value::Duration(waited(worst)),
        ),
        remedy: vec![
            "capture at their sender too: it shows whether they are sent again and again; find the link with the small \
             MTU (tunnel, VPN) between the two"
                .into(),
        ],
        ..Rule::MtuBlackHole.finding()
    })
}

fn in_vain(facts: &Facts<'_>) -> Option<Finding> {
    let mut stuck: Vec<(&ConnectionResult, Direction, Stuck)> = facts.streams.stuck().collect();
    let lasted = Stuck::lasted_ns;
    stuck.sort_by_key(|(c, _, s)| (std::cmp::Reverse(lasted(s)), c.number));
    let (_, _, worst) = stuck.first()?;
    let lasted_ns = stuck.iter().map(|(.., s)| lasted(s)).sum::<i64>();
    Some(Finding {
        title: "Large packets vanish on the way, small ones arrive".into(),
        side: Side::Network,
        // It ended the work: no time would have been enough.
        fatal: true,
        first: stuck.iter().map(|(.., s)| s.first.time).min(),
        last: stuck.iter().map(|(.., s)| s.last.time).max(),
        facts: numbers([("segment_bytes", worst.bytes as i64), ("times", worst.times as i64), ("connections", stuck.len() as i64), ("lasted_ns", lasted_ns)]),
        evidence: evidence::of_stuck(facts, &stuck, "the segment that never arrived, sent again for the first and the last time"),
        why: text!(
            "A segment of {bytes} was sent again {times} time{times||s} over {time} and never acknowledged, though the other side was heard.",
            bytes = Value::Bytes(worst.bytes),
            times = worst.times,
            time = Value::Duration(lasted(worst)),
        ),
        remedy: vec!["find the link with the small MTU (tunnel, VPN) and let ICMP \"fragmentation needed\" pass, or clamp the MSS there".into()],
        ..Rule::MtuBlackHole.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{connection, found, mark};
    use super::*;

    fn sent_in_vain(bytes: u64, receiver_heard: bool) -> Option<Finding> {
        told(bytes, receiver_heard, false)
    }

    fn told(bytes: u64, receiver_heard: bool, others_arrived: bool) -> Option<Finding> {
        found(Rule::MtuBlackHole, |f| {
            let mut c = connection();
            c.directions[1].counts.stuck = Some(Stuck {
                bytes,
                times: 7,
                first: mark(100),
                last: mark(600),
                receiver_heard,
                others_arrived,
            });
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn a_large_segment_that_never_arrives_ends_the_work() {
        let f = sent_in_vain(1_448, true).unwrap();
        assert_eq!((f.fatal, f.cost_ns), (true, None));
        assert!(
            f.why
                .to_string()
                .starts_with("A segment of 1,448 bytes was sent again 7 times")
        );
    }

    #[test]
    fn what_others_of_its_size_got_through_with_at_another_try_is_lost_by_chance() {
        assert!(told(1_448, true, true).is_none());
    }

    fn counted(bytes: u64, told_ms: u32) -> Option<Finding> {
        of_connection((100, None), bytes, told_ms)
    }

    fn of_connection(
        (asked, offered): (u64, Option<u64>),
        bytes: u64,
        told_ms: u32,
    ) -> Option<Finding> {
        found(Rule::MtuBlackHole, |f| {
            let mut c = connection();
            c.directions[1].account.vanished = Some(Vanished {
                bytes,
                since: mark(100).time,
                told: mark(told_ms),
            });
            c.directions[0].counts.payload_bytes = asked;
            c.directions[1].account.window_max_bytes = offered;
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn bytes_that_are_counted_and_never_came_name_no_side() {
        let f = counted(20_000, 2_100).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Undetermined, true));
        // An odd number where nobody has said anything, a loss that would have been mended, and what fits through
        // every link.
        assert!(of_connection((0, None), 20_000, 2_100).is_none());
        assert!(of_connection((0, Some(19_999)), 20_000, 2_100).is_none());
        assert!(counted(20_000, 2_099).is_none());
        assert!(counted(1_199, 2_100).is_none());
    }

    #[test]
    fn nothing_need_have_come_where_the_window_was_open_for_what_is_counted() {
        let f = of_connection((0, Some(20_000)), 20_000, 2_100).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Undetermined, true));
    }

    #[test]
    fn where_the_receiver_is_silent_the_path_is_down() {
        assert!(sent_in_vain(1_448, false).is_none());
    }

    #[test]
    fn what_fits_through_every_link_is_no_sign_of_a_small_one() {
        assert!(sent_in_vain(1_200, true).is_some());
        assert!(sent_in_vain(1_199, true).is_none());
    }
}
