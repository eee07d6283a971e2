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
//! while packets of the other side kept coming.
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
use crate::text::{Value, text};

use model::{Direction, Stuck};

pub(super) const ENTRY: Entry = Entry {
    code: "mtu-black-hole",
    title: "large packets vanish on the way",
    side: Some(Side::Network),
    of: Of::Network,
    source: include_str!("mtu_black_hole.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let mut stuck: Vec<(&ConnectionResult, Direction, Stuck)> = facts.streams.stuck().collect();
    let lasted = Stuck::lasted_ns;
    stuck.sort_by_key(|(c, _, s)| (std::cmp::Reverse(lasted(s)), c.number));
    let (_, _, worst) = stuck.first()?;
    let lasted_ns = stuck.iter().map(|(.., s)| lasted(s)).sum::<i64>();
    Some(Finding {
        title: "Large packets vanish on the way, small ones arrive".into(),
        // It ended the work: no time would have been enough.
        fatal: true,
        confidence: 0.85,
        first: stuck.iter().map(|(.., s)| s.first.time).min(),
        last: stuck.iter().map(|(.., s)| s.last.time).max(),
        facts: numbers([("segment_bytes", worst.bytes as i64), ("times", worst.times as i64), ("connections", stuck.len() as i64), ("lasted_ns", lasted_ns)]),
        evidence: evidence::of_stuck(facts, &stuck, "the segment that never arrived, sent again for the first and the last time"),
        why: text!(
            "A segment of {bytes} was sent again {times} times over {time} and never acknowledged, though the other side was heard.",
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

    fn in_vain(bytes: u64, receiver_heard: bool) -> Option<Finding> {
        found(Rule::MtuBlackHole, |f| {
            let mut c = connection();
            c.directions[1].account.stuck = Some(Stuck {
                bytes,
                times: 7,
                first: mark(100),
                last: mark(600),
                receiver_heard,
            });
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn a_large_segment_that_never_arrives_ends_the_work() {
        let f = in_vain(1_448, true).unwrap();
        assert_eq!((f.fatal, f.cost_ns), (true, None));
        assert!(
            f.why
                .to_string()
                .starts_with("A segment of 1448 bytes was sent again 7 times")
        );
    }

    #[test]
    fn where_the_receiver_is_silent_the_path_is_down() {
        assert!(in_vain(1_448, false).is_none());
    }

    #[test]
    fn what_fits_through_every_link_is_no_sign_of_a_small_one() {
        assert!(in_vain(1_200, true).is_some());
        assert!(in_vain(1_199, true).is_none());
    }
}
