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

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::neighbours::hardware_text;
use crate::results::{Fact, Finding, Side};

pub(super) const RULE: Rule = Rule {
    code: "duplicate-address",
    title: "two hosts answer for one IP address",
    source: include_str!("duplicate_address.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let seen = facts.healths().map(|(i, h)| (i, h.neighbours.conflicts()));
    let (capture, conflicts) = seen.max_by_key(|(c, found)| (found.len(), usize::MAX - c))?;
    let worst = conflicts
        .iter()
        .max_by_key(|c| (c.moves, std::cmp::Reverse(c.address)))?;
    let [first, second] = worst.holders.map(hardware_text);
    let more = match conflicts.len() {
        1 => String::new(),
        n => format!(" So it is with {n} addresses."),
    };
    let fact = |name, value| Fact { name, value };
    Some(Finding {
        code: RULE.code,
        title: format!("{} is held by two hosts", worst.address),
        side: Side::Network,
        cost_ns: None,
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.85,
        first: conflicts.iter().map(|c| c.packets[0].time).min(),
        last: conflicts.iter().map(|c| c.last).max(),
        facts: vec![
            fact("addresses", conflicts.len() as i64),
            fact("moves", i64::try_from(worst.moves).unwrap_or(i64::MAX)),
        ],
        evidence: evidence::of_packets(
            facts,
            worst.packets.iter().map(|m| (capture, m.packet)),
            "the one, the other, and the first again",
        ),
        why: format!(
            "{} is said to be at {first}, then at {second}, and at {first} again; it went from one to \
             another {} times.{more}",
            worst.address, worst.moves
        ),
        remedy: vec![
            format!("find both in the switch's table of addresses: {first} and {second}"),
            "give one of them another address, or take it off the network".into(),
        ],
    })
}
