//! # What it says
//! ARP packets say what cannot be: a sender whose hardware address is everybody's
//! or a group's, an answer for nobody's address, or one to another target than its
//! frame goes to, lengths that are not those of Ethernet and IPv4.
//!
//! # Why it costs time
//! Hosts ignore them or, what is worse, believe them: packets for that address then
//! go to all ports or to nobody. No time is charged for it.
//!
//! # How sure
//! Certain that the packets are as they are said to be. Whether one was believed
//! ARP does not tell.
//!
//! # What to check next
//! The switch's table of addresses names the port of the frame's source. Broken
//! firmware, a generator of test traffic and somebody who listens in (sniffers
//! that ask with false addresses, poisoned tables) look alike.
//!
//! # When it is wrong
//! Tools that search for hosts by odd packets do so on purpose. Clusters that
//! answer with a group's address (Microsoft NLB) and frames whose source differs
//! from the sender in them (bonds, proxies) are counted by info, not reported.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::health::{Health, InvalidArps};
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};
use model::ArpFault;

pub(super) const ENTRY: Entry = Entry {
    code: "invalid-arp",
    title: "ARP packets that say what cannot be",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.9, 0.9],
    page: page!("invalid_arp.rs"),
    check,
};

/// What a fault is, in words.
fn fault_text(fault: ArpFault) -> &'static str {
    match fault {
        ArpFault::Lengths => "lengths of addresses that are not Ethernet's and IPv4's",
        ArpFault::Operation => "neither question nor answer",
        ArpFault::SenderHardware => "a sender with everybody's, a group's or no hardware address",
        ArpFault::SenderAddress => "a sender with an address that no host has",
        ArpFault::TargetHardware => {
            "an answer whose target has another hardware address than its frame goes to"
        }
        ArpFault::OtherSource => "a frame from another hardware address than its sender's",
    }
}

fn broken(health: &Health) -> impl Iterator<Item = (ArpFault, &InvalidArps)> {
    let all = health.invalid_arps.iter().map(|(f, a)| (*f, a));
    all.filter(|(f, _)| f.is_never_meant())
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let count = |h: &Health| broken(h).map(|(_, a)| a.count).sum::<u64>();
    let (capture, health) = facts
        .healths()
        .max_by_key(|(i, h)| (count(h), usize::MAX - i))?;
    let (fault, most) = broken(health).max_by_key(|(_, a)| a.count)?;
    let shown = broken(health).flat_map(|(_, a)| a.shown.iter().copied());
    let shown: Vec<_> = shown.collect();
    let total = count(health);
    let kinds: Vec<Text> = broken(health)
        .map(|(f, a)| text!("{n}: {fault}", n = a.count, fault = fault_text(f)))
        .collect();
    let others = health.invalid_arps.get(&ArpFault::OtherSource);
    Some(Finding {
        title: match total {
            1 => "An ARP packet says what cannot be".into(),
            n => text!("{n} ARP packets say what cannot be", n = n),
        },
        first: shown.iter().map(|m| m.time).min(),
        last: shown.iter().map(|m| m.time).max(),
        facts: numbers([
            ("packets", whole(total)),
            ("kinds", whole(kinds.len() as u64)),
            ("other_source", whole(others.map_or(0, |a| a.count))),
        ]),
        evidence: evidence::of_packets(
            facts,
            shown.iter().map(|m| (capture, m.packet)),
            "the first of each kind",
        ),
        why: text!(
            "{kinds}. The first with {fault} came from {source}.",
            kinds = Value::List(kinds, "; "),
            fault = fault_text(fault),
            source = most.source,
        ),
        remedy: vec![
            "find the port of the frames' source in the switch's table of addresses".into(),
            "let the switches check ARP (dynamic ARP inspection)".into(),
        ],
        ..Rule::InvalidArp.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, mark};
    use super::*;

    fn faults(faults: &[(ArpFault, u64)]) -> Option<Finding> {
        found(Rule::InvalidArp, |f| {
            let arps = |count| InvalidArps {
                count,
                shown: vec![mark(1)],
                source: [2, 0, 0, 0, 0, 5],
            };
            f.health[0].invalid_arps = faults.iter().map(|(k, n)| (*k, arps(*n))).collect();
        })
    }

    #[test]
    fn packets_that_say_what_cannot_be_are_counted_by_fault() {
        let f = faults(&[(ArpFault::Lengths, 2), (ArpFault::Operation, 3)]).unwrap();
        assert_eq!(f.title.to_string(), "5 ARP packets say what cannot be");
        let why = f.why.to_string();
        assert!(
            why.contains("; 3: neither question nor answer. The first with"),
            "{why}"
        );
        assert!(why.ends_with("came from 02:00:00:00:00:05."), "{why}");
    }

    #[test]
    fn a_frame_that_another_interface_sends_may_be_meant() {
        assert!(faults(&[(ArpFault::OtherSource, 9)]).is_none());
        assert!(faults(&[]).is_none());
    }

    #[test]
    fn one_is_enough() {
        let title = faults(&[(ArpFault::Lengths, 1)]).unwrap().title.to_string();
        assert_eq!(title, "An ARP packet says what cannot be");
    }
}
