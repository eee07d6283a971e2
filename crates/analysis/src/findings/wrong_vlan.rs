//! # What it says
//! Packets from one card to another carry tags of different VLANs, or one host
//! sends in one VLAN and the other answers in another: a port may be in the wrong
//! VLAN.
//!
//! # Why it costs time
//! Bridges learn addresses in each VLAN by itself. Where the two directions differ,
//! a bridge never learns where a host is and sends its packets to all ports; where
//! a filter stands between the VLANs, some never arrive. No time is charged for it.
//!
//! # How sure
//! A hint. Behind a router a packet has other hardware addresses, so both sides of
//! a router in one capture are not taken for it, nor cards that speak for several
//! hosts, nor what two routers send each other.
//!
//! # What to check next
//! The VLAN of the ports of both hosts, and the native (untagged) VLAN at both ends
//! of the trunks between them.
//!
//! # When it is wrong
//! Bridges between VLANs on purpose (transparent firewalls, private VLANs).

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::health::{Hint, HintKind};
use crate::results::{Finding, Side};
use crate::text::{Text, text};

pub(super) const ENTRY: Entry = Entry {
    code: "wrong-vlan",
    title: "a host seems to be in the wrong VLAN",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.5, 0.5],
    page: page!("wrong_vlan.rs"),
    check,
};

/// What it is, in a sentence.
#[must_use]
pub fn hint_text(hint: &Hint) -> Text {
    let [a, b] = hint.hosts;
    let [from, to] = hint.hardware;
    let [first, second] = hint.vlans;
    match hint.kind {
        HintKind::Several => text!(
            "Packets of {a} ({from}) to {b} ({to}) are in VLAN {first} and in VLAN {second}.",
            a = a,
            from = from,
            b = b,
            to = to,
            first = first,
            second = second,
        ),
        HintKind::EachItsOwn => text!(
            "{a} ({from}) sends to {b} ({to}) in VLAN {first}, and {b} answers in VLAN {second}.",
            a = a,
            from = from,
            b = b,
            to = to,
            first = first,
            second = second,
        ),
    }
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let seen = facts.healths().map(|(i, h)| (i, h.tags.hints()));
    let (capture, hints) = seen.max_by_key(|(i, hints)| (hints.len(), usize::MAX - i))?;
    let worst = hints.first()?;
    let more = match hints.len() {
        1 => Text::default(),
        n => text!(" So it is with {n} pairs of hosts.", n = n),
    };
    let times = || hints.iter().flat_map(|h| h.packets).map(|m| m.time);
    Some(Finding {
        title: match worst.kind {
            HintKind::Several => "The same hosts' packets are in several VLANs".into(),
            HintKind::EachItsOwn => "Two hosts speak to each other in two VLANs".into(),
        },
        first: times().min(),
        last: times().max(),
        facts: numbers([("pairs", hints.len() as i64)]),
        evidence: evidence::of_packets(
            facts,
            hints
                .iter()
                .take(3)
                .flat_map(|h| h.packets)
                .map(|m| (capture, m.packet)),
            "a packet in each VLAN",
        ),
        why: text!("{hint}{more}", hint = hint_text(worst), more = more),
        remedy: vec![
            "check the VLAN of both hosts' ports, and the native VLAN at both ends of trunks"
                .into(),
        ],
        ..Rule::WrongVlan.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;
    use model::{NoticeKind, Tagged};

    /// Packets in these VLANs, from one host to another.
    fn tagged(packets: &[(u16, [u8; 2])], routed: bool) -> Option<Finding> {
        found(Rule::WrongVlan, |f| {
            for (n, (vlan, hosts)) in (1..).zip(packets) {
                let packet = NoticeKind::Tagged(Tagged {
                    vlans: [Some(*vlan), None],
                    hosts: hosts.map(|n| [10, 0, 0, n].into()),
                    hardware: hosts.map(|n| [2, 0, 0, 0, 0, n]),
                    routed,
                });
                f.notice(n, packet);
            }
        })
    }

    #[test]
    fn the_same_hosts_in_two_vlans_are_a_hint() {
        let f = tagged(&[(10, [1, 2]), (20, [1, 2])], false).unwrap();
        assert_eq!(
            f.why.to_string(),
            "Packets of 10.0.0.1 (02:00:00:00:00:01) to 10.0.0.2 (02:00:00:00:00:02) are in VLAN 10 \
             and in VLAN 20."
        );
    }

    #[test]
    fn one_vlan_there_and_another_back_are_another() {
        let f = tagged(&[(10, [1, 2]), (20, [2, 1])], false).unwrap();
        assert_eq!(
            f.title.to_string(),
            "Two hosts speak to each other in two VLANs"
        );
    }

    #[test]
    fn one_vlan_and_what_routers_send_on_are_none() {
        assert!(tagged(&[(10, [1, 2]), (10, [2, 1])], false).is_none());
        assert!(tagged(&[(10, [1, 2]), (20, [2, 1])], true).is_none());
    }
}
