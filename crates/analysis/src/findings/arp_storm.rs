//! # What it says
//! A host asks by ARP for a hundred addresses or more within ten seconds.
//!
//! # Why it costs time
//! Every host of the link must look at every question. A few per second harm
//! nobody; thousands take the processors of switches and small devices, and where
//! the same question goes round in a circle, all other packets do too.
//!
//! # How sure
//! The questions were counted. What for is a guess from what was asked: many
//! different addresses are a search (a scanner, a worm, or a router whose network
//! is searched from outside), the same again and again is a loop, or a host that
//! cannot find its gateway.
//!
//! # What to check next
//! Who has the hardware address, and what runs there. For a loop: the switches'
//! spanning tree, and ports that were joined by a cable.
//!
//! # When it is wrong
//! Monitoring and inventory search networks on purpose. On the mirror of a trunk
//! each VLAN has its own questions, and a large network's router asks often.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::neighbours::STORM_QUESTIONS;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "arp-storm",
    title: "a host asks for very many addresses",
    side: Some(Side::Network),
    of: Of::Network,
    source: include_str!("arp_storm.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let seen = facts.healths().map(|(i, h)| (i, h.neighbours.storms()));
    let (capture, askers) =
        seen.max_by_key(|(c, found)| (found.first().map(|a| a.questions), usize::MAX - c))?;
    let asker = *askers.first()?;
    let (shortest_ns, busiest) = asker.storm()?;
    let (address, hardware) = (asker.address, asker.hardware);
    let targets = asker.targets();
    let asked = match asker.range() {
        Some((low, high)) if targets > 1 => {
            text!(
                "for {n} different addresses from {low} to {high}",
                n = targets,
                low = low,
                high = high
            )
        }
        Some((only, _)) => text!("for {only} again and again", only = only),
        None => Text::default(),
    };
    // The same question this often is not a host's asking.
    let repeats = (targets as u64).saturating_mul(10) < asker.questions;
    let others = match askers.len() {
        1 => Text::default(),
        n => text!(" {n} more hosts ask as much.", n = n - 1),
    };
    Some(Finding {
        title: match repeats {
            true => text!(
                "{address} ({hardware}) repeats its questions without end",
                address = address,
                hardware = hardware
            ),
            false => text!(
                "{address} ({hardware}) searches the network",
                address = address,
                hardware = hardware
            ),
        },
        confidence: 0.9,
        first: Some(asker.first.time),
        last: Some(asker.last.time),
        facts: numbers([
            ("questions", whole(asker.questions)),
            ("targets", targets as i64),
            ("busiest_ns", shortest_ns),
            ("hosts", askers.len() as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            busiest.iter().map(|m| (capture, m.packet)),
            "first and last of its busiest hundred questions",
        ),
        why: text!(
            "{address} ({hardware}) asks {questions,} times {asked}, {busiest} times within {time} where it is busiest.{others}",
            address = address,
            hardware = hardware,
            questions = asker.questions,
            asked = asked,
            busiest = STORM_QUESTIONS,
            time = Value::Duration(shortest_ns),
            others = others,
        ),
        remedy: match repeats {
            true => vec![
                "look for a loop: spanning tree, and ports joined by a cable".into(),
                "limit broadcasts on the switches (storm control)".into(),
            ],
            false => vec![
                "find out what runs on that host; behind a router, who searches from outside"
                    .into(),
                "limit broadcasts on the switches (storm control)".into(),
            ],
        },
        ..Rule::ArpStorm.finding()
    })
}
