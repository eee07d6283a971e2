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
//! capture at the sender. Of calls seen in both captures it counts how long a
//! message took to leave and to arrive: where most arrive twice as slowly as they
//! left, all at one rate, that is the rate of a link. It is charged with the bytes'
//! time on it and, if it was busy half of the time, with the queue before it.
//!
//! # What to check next
//! The utilization of every link on the way at that time; rate limits and policers
//! (virtual machines and clouds have them); whose traffic shares the link.
//!
//! # When it is wrong
//! A receiver that becomes slow to acknowledge stretches round trips as well.

use super::under_way::{Said, UnderWay};
use super::{Rule, evidence};
use crate::diagnose::Kind;
use crate::facts::Facts;
use crate::narrowest::Link;
use crate::results::{Fact, Finding, Side};
use crate::streams::{DIRECTIONS, receiver, sender, word};
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

const REMEDY: &str = "find the link that is full at that time, or the limit set on it (policer, virtual machine, cloud), and who shares it";

fn check(facts: &Facts<'_>) -> Option<Finding> {
    match facts.kind {
        Kind::Turns => of_streams(facts),
        Kind::Calls => of_calls(facts),
    }
}

/// What the connections' accounts say of plain streams.
fn of_streams(facts: &Facts<'_>) -> Option<Finding> {
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
            remedy: REMEDY.into(),
        },
    ))
}

/// What the messages of matched calls say.
fn of_calls(facts: &Facts<'_>) -> Option<Finding> {
    let of = |link: &Link| facts.under_way(link.direction, CLASS);
    let cost = facts.links.iter().map(of).sum();
    let worst: &Link = facts.links.iter().max_by_key(|link| of(link))?;
    if !facts.holds_up(cost) {
        return None;
    }
    let slowest = facts.matched?.narrowest[worst.direction.index()].slowest();
    let (from, to) = (sender(worst.direction), receiver(worst.direction));
    let busy = worst.busy_ns.saturating_mul(100) / worst.elapsed_ns.max(1);
    Some(Finding {
        code: RULE.code,
        title: "A link on the way is full".into(),
        side: Side::Network,
        cost_ns: Some(cost),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.85,
        first: slowest.first,
        last: slowest.last,
        facts: vec![
            Fact {
                name: "link_bps",
                value: worst.rate_bps,
            },
            Fact {
                name: "link_busy_ns",
                value: worst.busy_ns,
            },
        ],
        evidence: evidence::of_calls(
            facts,
            slowest,
            "the first and the last packet of messages that passed slowest",
        ),
        why: format!(
            "What the {} sends at once reaches the {} at {:.1} Mbit/s, message after message: the rate of a link, which the connections kept busy {busy} % of the time.",
            word(from),
            word(to),
            worst.rate_bps as f64 / 1e6,
        ),
        remedy: vec![REMEDY.into()],
    })
}
