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
    sure: [0.9, 0.9],
    page: page!("arp_storm.rs"),
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

#[cfg(test)]
mod tests {
    use super::super::testing::{arp, found};
    use super::*;

    /// Questions of one host, so many milliseconds apart, for so many addresses.
    fn asks(questions: u32, apart: u32, targets: u32) -> Option<Finding> {
        found(Rule::ArpStorm, |f| {
            for n in 0..questions {
                let target = 100 + (n % targets) as u8;
                f.health[0].arp(&arp(1 + n * apart, 1, (7, 7), target));
            }
        })
    }

    #[test]
    fn a_host_that_asks_for_very_many_addresses_searches() {
        let f = asks(150, 1, 150).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, None));
        assert_eq!(
            f.title.to_string(),
            "10.0.0.7 (02:00:00:00:00:07) searches the network"
        );
        let why = f.why.to_string();
        assert!(
            why.contains("150 times for 150 different addresses from 10.0.0.100"),
            "{why}"
        );
    }

    #[test]
    fn few_questions_are_no_storm_however_fast() {
        assert!(asks(99, 1, 99).is_none());
    }

    #[test]
    fn a_hundred_in_ten_seconds_are_one() {
        assert!(asks(100, 101, 100).is_some());
        assert!(asks(100, 102, 100).is_none());
    }

    #[test]
    fn the_same_question_very_often_is_a_loop() {
        let title = asks(101, 1, 10).unwrap().title.to_string();
        assert!(
            title.ends_with("repeats its questions without end"),
            "{title}"
        );
        assert!(
            asks(100, 1, 10)
                .unwrap()
                .title
                .to_string()
                .ends_with("searches the network")
        );
    }
}
