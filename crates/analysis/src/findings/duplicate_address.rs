//! # What it says
//! Two hosts answer for one IP address.
//!
//! # Why it costs time
//! Who asks for the address gets the hardware address of the one or of the other.
//! Packets for the wrong one are answered by resets or not at all, connections
//! hang and come back, and it changes whenever somebody asks anew. How much that
//! costs cannot be told from ARP: look at what else is found.
//!
//! # How sure
//! An address that only moves may have been taken over by a cluster's other node,
//! by a new card or with a lease. Here the first holder spoke again after the
//! second had: both are there.
//!
//! # What to check next
//! The first three bytes of a hardware address name its maker; the switch's table
//! of addresses names the port. Look for a device that was thought to be gone, for
//! a static address inside a range that DHCP hands out, for a copied machine.
//!
//! # When it is wrong
//! Bonds that balance by answering with several cards (balance-alb), hosts with
//! several cards in one network that all answer (arp_ignore 0), proxies that
//! answer for others, and captures of several VLANs that use the same addresses.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, text};

pub(super) const ENTRY: Entry = Entry {
    code: "duplicate-address",
    title: "two hosts answer for one IP address",
    side: Some(Side::Network),
    of: Of::Network,
    source: include_str!("duplicate_address.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let seen = facts.healths().map(|(i, h)| (i, h.neighbours.conflicts()));
    let (capture, conflicts) = seen.max_by_key(|(c, found)| (found.len(), usize::MAX - c))?;
    let worst = conflicts
        .iter()
        .max_by_key(|c| (c.moves, std::cmp::Reverse(c.address)))?;
    let [first, second] = worst.holders;
    let more = match conflicts.len() {
        1 => Text::default(),
        n => text!(" So it is with {n} addresses.", n = n),
    };
    Some(Finding {
        title: text!("{address} is held by two hosts", address = worst.address),
        confidence: 0.85,
        first: conflicts.iter().map(|c| c.packets[0].time).min(),
        last: conflicts.iter().map(|c| c.last).max(),
        facts: numbers([
            ("addresses", conflicts.len() as i64),
            ("moves", whole(worst.moves)),
        ]),
        evidence: evidence::of_packets(
            facts,
            worst.packets.iter().map(|m| (capture, m.packet)),
            "the one, the other, and the first again",
        ),
        why: text!(
            "{address} is said to be at {first}, then at {second}, and at {first} again; it went from one to \
             another {moves} times.{more}",
            address = worst.address,
            first = first,
            second = second,
            moves = worst.moves,
            more = more,
        ),
        remedy: vec![
            text!(
                "find both in the switch's table of addresses: {first} and {second}",
                first = first,
                second = second
            ),
            "give one of them another address, or take it off the network".into(),
        ],
        ..Rule::DuplicateAddress.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arp, found};
    use super::*;

    /// Who answers for one address, packet by packet.
    fn answers(holders: &[u8]) -> Option<Finding> {
        found(Rule::DuplicateAddress, |f| {
            for (n, holder) in (1..).zip(holders) {
                f.health[0].arp(&arp(n, 2, (7, *holder), 9));
            }
        })
    }

    #[test]
    fn two_that_answer_for_one_address_are_both_named() {
        let f = answers(&[1, 2, 1, 2]).unwrap();
        assert_eq!(f.title.to_string(), "10.0.0.7 is held by two hosts");
        let remedy = f.remedy[0].to_string();
        assert!(
            remedy.contains("02:00:00:00:00:01 and 02:00:00:00:00:02"),
            "{remedy}"
        );
    }

    #[test]
    fn one_that_answers_for_itself_is_no_conflict() {
        assert!(answers(&[1, 1, 1, 1]).is_none());
    }

    #[test]
    fn an_address_that_moved_once_is_none_until_it_comes_back() {
        assert!(answers(&[1, 1, 2, 2]).is_none());
        assert!(answers(&[1, 1, 2, 1]).is_some());
    }
}
