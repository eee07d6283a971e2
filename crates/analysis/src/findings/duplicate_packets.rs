//! # What it says
//! Packets are in the capture more than once, with the same IP identification:
//! they were sent once. Either the capture took them at two places (a mirror port
//! that copies at ingress and egress, a bond and its ports, all interfaces of a
//! host), or the network carries them round in a circle.
//!
//! # Why it costs time
//! Copies that the capture made cost nothing but room: they are taken out before
//! anything is measured. Packets in a circle of routers do not arrive; what they
//! cost is under network-loss.
//!
//! # How sure
//! A host that sends again gives the packet a new identification. Copies with a
//! lower time to live were taken behind a router; one packet that comes again and
//! again, lower each time, goes round.
//!
//! # What to check next
//! How the capture was taken (tcpdump -i any, both directions of a mirror
//! session). For a circle: the routes of the routers whose addresses traceroute
//! repeats.
//!
//! # When it is wrong
//! Hosts that number all their packets alike, where the same is sent again within
//! a millisecond for a reason that the capture does not show.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::text;

pub(super) const ENTRY: Entry = Entry {
    code: "duplicate-packets",
    title: "packets are in the capture more than once",
    side: None,
    of: Of::Network,
    sure: [0.9, 0.9],
    page: page!("duplicate_packets.rs"),
    check,
};

/// Fewer are not worth a word.
const AT_LEAST: u64 = 20;
const PER_CENT: u64 = 1;
/// Packets that go round are never few for long, but one may be a coincidence.
const LOOPED: u64 = 3;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let worst = facts
        .captures
        .iter()
        .max_by_key(|c| c.tcp.duplicate_packets)?;
    let t = &worst.tcp;
    let copies = t.duplicate_packets;
    let looped = t.looped_packets >= LOOPED;
    let many = copies >= AT_LEAST && copies * 100 >= (t.packets + copies) * PER_CENT;
    if !looped && !many {
        return None;
    }
    let (title, side, why, remedy) = if looped {
        (
            text!("Packets go round in a circle of routers"),
            Side::Network,
            text!(
                "{looped} packets passed again and again with the same identification and less time to live each time.",
                looped = t.looped_packets,
            ),
            "find the routers that send these addresses to each other (traceroute repeats them)",
        )
    } else {
        let behind = match t.duplicates_routed * 2 > copies {
            true => ", most with less time to live: the two places lie on either side of a router",
            false => "",
        };
        (
            text!("The capture holds packets twice"),
            Side::Undetermined,
            text!(
                "{copies} copies beside {packets} packets, with the same identification, sequence and time stamps{behind}. They were taken out; no figure counts them.",
                copies = copies,
                packets = t.packets,
                behind = behind,
            ),
            "none is needed; to keep captures small, capture at one place (one interface, one direction of a mirror)",
        )
    };
    Some(Finding {
        title,
        side,
        first: None,
        last: None,
        facts: numbers([
            ("copies", copies as i64),
            ("routed", t.duplicates_routed as i64),
            ("looped", t.looped_packets as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            t.first_duplicates
                .iter()
                .map(|packet| (worst.index, *packet)),
            "packets and their copies",
        ),
        why,
        remedy: vec![remedy.into()],
        ..Rule::DuplicatePackets.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    fn copies(copies: u64, packets: u64, looped: u64) -> Option<Finding> {
        found(Rule::DuplicatePackets, |f| {
            let tcp = &mut f.captures[0].tcp;
            (tcp.duplicate_packets, tcp.packets, tcp.looped_packets) = (copies, packets, looped);
        })
    }

    #[test]
    fn many_copies_are_the_captures() {
        let f = copies(500, 500, 0).unwrap();
        assert_eq!(f.side, Side::Undetermined);
        assert!(
            f.why
                .to_string()
                .starts_with("500 copies beside 500 packets")
        );
    }

    #[test]
    fn packets_in_a_circle_are_the_network_s() {
        assert_eq!(copies(3, 10_000, 3).unwrap().side, Side::Network);
        assert!(copies(2, 10_000, 2).is_none());
    }

    #[test]
    fn twenty_copies_and_a_hundredth_are_enough() {
        assert!(copies(20, 1_980, 0).is_some());
        assert!(copies(19, 0, 0).is_none());
        assert!(copies(20, 1_981, 0).is_none());
    }
}
