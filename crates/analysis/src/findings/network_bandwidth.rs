//! # What it says
//! A link on the way is full: the sender sends as acknowledgements come, and round
//! trips are longer than the path needs because packets queue before that link.
//!
//! # Why it costs time
//! Bytes pass at the rate of the slowest link, or of what others leave of it.
//!
//! # How sure
//! Time counts in which each segment was released by an acknowledgement, the window
//! had room, and round trips were a quarter and 2 ms above the shortest. It needs a
//! capture at the sender.
//!
//! # What to check next
//! The utilization of every link on the way at that time; rate limits and policers
//! (virtual machines and clouds have them); whose traffic shares the link.
//!
//! # When it is wrong
//! A receiver that becomes slow to acknowledge stretches round trips as well.

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding, Side};
use crate::streams::DIRECTIONS;
use model::{TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "network-bandwidth",
    title: "a link on the way is full",
    source: include_str!("network_bandwidth.rs"),
    check,
};

pub(super) const CLASS: TimeClass = TimeClass::Bandwidth;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let d = DIRECTIONS
        .into_iter()
        .max_by_key(|d| facts.under_way(*d, CLASS))?;
    let cost = DIRECTIONS
        .into_iter()
        .map(|d| facts.under_way(d, CLASS))
        .sum();
    if !facts.holds_up(cost) {
        return None;
    }
    let longest = facts.streams.longest(d, CLASS);
    let worst = &longest.first()?.connection.directions[d.index()];
    let rate = worst.goodput_bps.unwrap_or(0);
    Some(Finding {
        code: RULE.code,
        title: "A link on the way is full".into(),
        side: Side::Network,
        cost_ns: Some(cost),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.85,
        first: longest.iter().map(|l| l.wait.first.time).min(),
        last: longest.iter().map(|l| l.wait.last.time).max(),
        facts: vec![
            Fact { name: "goodput_bps", value: i64::try_from(rate).unwrap_or(i64::MAX) },
            Fact { name: "round_trip_min_ns", value: worst.account.rtt.min_ns },
            Fact { name: "round_trip_p50_ns", value: worst.account.rtt.p50_ns },
        ],
        evidence: evidence::of_waits(facts, d, CLASS, "the beginning and the end of the longest stretch in which packets queued"),
        why: format!(
            "The sender was held back by the path alone, {:.1} Mbit/s passed, and round trips took {} instead of {}.",
            rate as f64 / 1e6,
            format_duration(worst.account.rtt.p50_ns),
            format_duration(worst.account.rtt.min_ns)
        ),
        remedy: vec!["find the link that is full at that time, or the limit set on it (policer, virtual machine, cloud), and who shares it".into()],
    })
}
