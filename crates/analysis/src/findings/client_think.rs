//! # What it says
//! For most of the time the client had no call under way: it had the answer to its
//! last one and had not sent the next. That is its think time, and nobody else's.
//!
//! # Why it costs time
//! It need not: work that is paced, or people who read, pause by nature. But a job
//! that takes too long although each of its calls is fast spends its time here,
//! and neither server nor network can shorten it. Oracle's own traces call it
//! "SQL*Net message from client".
//!
//! # How sure
//! Said of connections that have one call at a time, where the pauses are half of
//! their life or more, and twenty at least. Pauses of ten seconds and more are
//! idleness and left out. It never decides who is to blame.
//!
//! # What to check next
//! What the client's process does between its calls: a profile of it, its
//! processor, other servers that it asks meanwhile (a capture without a filter
//! shows those).
//!
//! # When it is wrong
//! Seen from the server, the pauses hold the way of the answer and of the next
//! request; the path's mean round trip is taken off, and a path that varies leaves
//! a rest. On connections shared by many users pauses are nobody's.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "client-think",
    title: "most of the time no call is under way",
    side: Some(Side::Client),
    of: Of::Application,
    sure: [0.9, 0.9],
    page: page!("client_think.rs"),
    check,
};

const AT_LEAST: u64 = 20;
const WORTH_NS: i64 = 1_000_000_000;
/// Calls that overlap others, in a hundred of all.
const OVERLAPPING_PER_CENT: u64 = 5;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let capture = facts.at_client().or(facts.captures.first())?;
    let think = &capture.think;
    let count = think.pauses.count();
    let path = match facts.client {
        Some(_) => 0,
        None => capture.path_to_client_ns()?,
    };
    let ns = think.pauses.total_ns() - path.saturating_mul(count as i64);
    let overlaps = think.overlapping * 100 > (think.overlapping + count) * OVERLAPPING_PER_CENT;
    if count < AT_LEAST || ns < WORTH_NS || ns < think.calls_ns || overlaps {
        return None;
    }
    let share = (ns as f64 / (ns + think.calls_ns).max(1) as f64 * 100.0).round();
    Some(Finding {
        title: "The client thinks between its calls".into(),
        first: think.longest.first,
        last: think.longest.last,
        facts: numbers([("think_ns", ns), ("pauses", count as i64), ("pause_p50_ns", think.pauses.quantile(0.5))]),
        evidence: evidence::of_calls(facts, &think.longest, "the end of an answer and the next request, of the longest pauses"),
        why: text!(
            "{all} of the time of connections with one call at a time ({share}) passed between an answer and the next request, {each} at a time ({count} pauses).",
            all = Value::Duration(ns),
            share = Value::Percent(share as i64),
            each = Value::Duration(ns / count.max(1) as i64),
            count = count,
        ),
        remedy: vec!["nothing, if the work comes at its own pace; else look at what the client does between its calls".into()],
        ..Rule::ClientThink.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, found};
    use super::*;

    fn thinks(pauses: u64, each_ns: i64, calls_ns: i64) -> Option<Finding> {
        found(Rule::ClientThink, |f| {
            let think = &mut f.captures[0].think;
            (0..pauses).for_each(|_| think.pauses.add(each_ns));
            think.calls_ns = calls_ns;
        })
    }

    #[test]
    fn long_pauses_between_calls_are_thinking_and_cost_nothing() {
        let f = thinks(100, 90 * MS, 1_000 * MS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, None));
        let why = f.why.to_string();
        assert!(
            why.starts_with("9.00 s of the time") && why.contains("(90 %)"),
            "{why}"
        );
    }

    #[test]
    fn who_waits_for_longer_than_it_thinks_does_not() {
        assert!(thinks(100, 90 * MS, 9_001 * MS).is_none());
    }

    #[test]
    fn twenty_pauses_and_a_second_are_enough() {
        assert!(thinks(20, 50 * MS, 0).is_some());
        assert!(thinks(19, 100 * MS, 0).is_none());
        assert!(thinks(20, 50 * MS - 1, 0).is_none());
    }
}
