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

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::health::Floods;
use crate::neighbours::hardware_text;
use crate::results::{Fact, Finding, Side};

pub(super) const RULE: Rule = Rule {
    code: "broadcast-share",
    title: "much of the traffic goes to everybody",
    source: include_str!("broadcast_share.rs"),
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
    let fact = |name, value: u64| Fact {
        name,
        value: i64::try_from(value).unwrap_or(i64::MAX),
    };
    let share = floods.broadcast.packets as f64 * 100.0 / all as f64;
    Some(Finding {
        code: RULE.code,
        title: format!("{share:.0} % of all packets go to everybody"),
        side: Side::Network,
        cost_ns: None,
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.8,
        first: Some(sender.first.time),
        last: Some(sender.last.time),
        facts: vec![
            fact("broadcasts", floods.broadcast.packets),
            fact("broadcast_bytes", floods.broadcast.bytes),
            fact("most_in_a_second", most),
            fact("of_one_sender", sender.broadcast.packets),
        ],
        evidence: evidence::of_packets(
            facts,
            ends.iter().map(|m| (capture, m.packet)),
            "first and last of the busiest second",
        ),
        why: format!(
            "{} of {all} packets are broadcasts, {most} in the busiest second. {} sends {} of them{}.",
            floods.broadcast.packets,
            hardware_text(sender.hardware),
            sender.broadcast.packets,
            sender
                .holds()
                .map_or(String::new(), |k| format!(", mostly {k}"))
        ),
        remedy: vec![
            "look for a loop: spanning tree, and ports joined by a cable".into(),
            "limit broadcasts on the switches (storm control), or divide the network".into(),
        ],
    })
}
