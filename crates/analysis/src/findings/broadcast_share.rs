//! # What it says
//! A thousand broadcasts or more come within a second, and they are a tenth or
//! more of all packets.
//!
//! # Why it costs time
//! Every host of the link interrupts its work for every broadcast, and every port
//! carries it. Thousands a second keep small devices and switches' processors
//! busy, and slow ports full. No time is charged for it.
//!
//! # How sure
//! The frames were counted. Whether a host suffers from them its own processor
//! tells, not the capture.
//!
//! # What to check next
//! Who sends most of them, and what (below, and slowside info). The same frame
//! again and again is a loop. Limit broadcasts on the switches (storm control),
//! and divide what has grown too large into VLANs.
//!
//! # When it is wrong
//! On the mirror of a trunk the broadcasts of all VLANs come together; no host
//! sees all of them. Where most of them are questions of ARP, arp-storm names who
//! asks, and this is silent.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::health::Floods;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "broadcast-share",
    title: "much of the traffic goes to everybody",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.8, 0.8],
    page: page!("broadcast_share.rs"),
    check,
};

/// Broadcasts within a second of the clock.
const A_SECOND: u64 = 1_000;
/// Broadcasts among all packets.
const PER_CENT: u64 = 10;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let packets = |i: usize| facts.results.get(i).map_or(0, |r| r.packets);
    let worth = |(i, f): &(usize, &Floods)| {
        let many = f.busiest().is_some_and(|(n, _)| n >= A_SECOND);
        many && f.broadcast.packets * 100 >= packets(*i) * PER_CENT
            && f.arp * 2 < f.broadcast.packets
    };
    let seen = facts.healths().map(|(i, h)| (i, &h.floods));
    let (capture, floods) = seen
        .filter(worth)
        .max_by_key(|(i, f)| (f.broadcast.packets, usize::MAX - i))?;
    let (most, ends) = floods.busiest()?;
    let sender = *floods.senders().first()?;
    let all = packets(capture).max(1);
    let share = floods.broadcast.packets as f64 * 100.0 / all as f64;
    Some(Finding {
        title: text!(
            "{share} of all packets go to everybody",
            share = Value::Percent(share.round_ties_even() as i64)
        ),
        first: Some(sender.first.time),
        last: Some(sender.last.time),
        facts: numbers([
            ("broadcasts", whole(floods.broadcast.packets)),
            ("broadcast_bytes", whole(floods.broadcast.bytes)),
            ("most_in_a_second", whole(most)),
            ("of_one_sender", whole(sender.broadcast.packets)),
        ]),
        evidence: evidence::of_packets(
            facts,
            ends.iter().map(|m| (capture, m.packet)),
            "first and last of the busiest second",
        ),
        why: text!(
            "{broadcasts} of {all} packets are broadcasts, {most} in the busiest second. {sender} sends {own} of them{kind}.",
            broadcasts = floods.broadcast.packets,
            all = all,
            most = most,
            sender = sender.hardware,
            own = sender.broadcast.packets,
            kind = sender.holds().map_or(Text::default(), |k| text!(
                ", mostly {k}",
                k = k.to_string()
            )),
        ),
        remedy: vec![
            "look for a loop: spanning tree, and ports joined by a cable".into(),
            "limit broadcasts on the switches (storm control), or divide the network".into(),
        ],
        ..Rule::BroadcastShare.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;
    use model::{Cast, Flooded, NoticeKind, SightKind};

    /// So many broadcasts in one second among so many packets.
    fn broadcasts(count: u64, packets: u64, holds: SightKind) -> Option<Finding> {
        found(Rule::BroadcastShare, |f| {
            f.results[0].packets = packets;
            for n in 0..count {
                let flooded = NoticeKind::Flooded(Flooded {
                    cast: Cast::Broadcast,
                    source: [2, 0, 0, 0, 0, 1],
                    holds,
                    bytes: 60,
                });
                f.notice(1 + n as u32 / 10, flooded);
            }
        })
    }

    #[test]
    fn what_goes_to_everybody_is_told_with_its_sender() {
        let f = broadcasts(2_000, 4_000, SightKind::Udp).unwrap();
        assert_eq!(f.title.to_string(), "50 % of all packets go to everybody");
        let why = f.why.to_string();
        assert!(
            why.contains("02:00:00:00:00:01 sends 2000 of them, mostly"),
            "{why}"
        );
    }

    #[test]
    fn questions_for_addresses_have_a_finding_of_their_own() {
        assert!(broadcasts(2_000, 4_000, SightKind::Arp).is_none());
    }

    #[test]
    fn a_thousand_in_a_second_and_a_tenth_of_all_are_enough() {
        assert!(broadcasts(1_000, 10_000, SightKind::Udp).is_some());
        assert!(broadcasts(999, 999, SightKind::Udp).is_none());
        assert!(broadcasts(1_000, 10_001, SightKind::Udp).is_none());
    }
}
