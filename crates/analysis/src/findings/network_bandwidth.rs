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

use super::Rule;
use super::under_way::{Said, UnderWay};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::streams::DIRECTIONS;
use model::{TimeClass, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "network-bandwidth",
    title: "a link on the way is full",
    source: include_str!("network_bandwidth.rs"),
    check,
};

pub(super) const CLASS: TimeClass = TimeClass::Bandwidth;
pub(super) const SHOWS: &str =
    "the beginning and the end of the longest stretch in which packets queued";

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let waits = UnderWay::most(facts, CLASS, |d| facts.under_way(d, CLASS))?;
    let each = DIRECTIONS.into_iter();
    let cost = each.map(|d| facts.under_way(d, CLASS)).sum();
    if !facts.holds_up(cost) {
        return None;
    }
    let (rate, round_trips) = (waits.goodput_bps, waits.round_trips);
    Some(waits.finding(
        &RULE,
        Said {
            title: "A link on the way is full".into(),
            side: Side::Network,
            cost_ns: Some(cost),
            confidence: 0.85,
            numbers: &[
                ("goodput_bps", i64::try_from(rate).unwrap_or(i64::MAX)),
                ("round_trip_min_ns", round_trips.min_ns),
                ("round_trip_p50_ns", round_trips.p50_ns),
            ],
            shows: SHOWS,
            why: format!(
                "The sender was held back by the path alone, {:.1} Mbit/s passed, and round trips took {} instead of {}.",
                rate as f64 / 1e6,
                format_duration(round_trips.p50_ns),
                format_duration(round_trips.min_ns)
            ),
            remedy: "find the link that is full at that time, or the limit set on it (policer, virtual machine, cloud), and who shares it".into(),
        },
    ))
}
