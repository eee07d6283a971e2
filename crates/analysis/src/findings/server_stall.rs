//! # What it says
//! For a while the server answered nobody: calls were outstanding on it, more kept
//! arriving, nothing was lost, and no reply left, for many times its usual wait.
//!
//! # Why it costs time
//! Every call outstanding in that time waits until the end of it. The cost is the
//! part of their waits that lies in such silences.
//!
//! # How sure
//! High with a capture at the server: requests are seen to arrive and no reply is
//! seen to leave. A single slow call among fast ones is not a stall. From elsewhere
//! only what lies behind the acknowledgement of the requests is the server's: a
//! host whose process stands still acknowledges what comes, within 40 ms as a rule.
//! While nothing is acknowledged for longer, they may not have come.
//!
//! # What to check next
//! What stopped the server as a whole: a frozen process or virtual machine, a
//! garbage collection, a cache flush, a fail-over of its storage, a snapshot.
//!
//! # When it is wrong
//! A server that was asked for only one slow thing several times over looks like
//! one that stands still.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::concurrency::{Scope, Silence};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "server-stall",
    title: "the server answered nobody for a while",
    side: Some(Side::Server),
    of: Of::Calls,
    sure: [0.9, 0.6],
    page: page!("server_stall.rs"),
    check,
};

/// Silences whose times are said.
const NAMED: usize = 5;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    // A stall shows in few calls and in elapsed time, so a twentieth of the time is enough to say it.
    if a.stall_ns.saturating_mul(20) < a.total_ns || a.stall_ns < facts.thresholds.tail_ns {
        return None;
    }
    let capture = facts.at_server().unwrap_or(&facts.captures[0]);
    let usual = capture.usual_wait_ns.max(1);
    let levels = capture
        .concurrency
        .levels()
        .filter(|(s, _)| matches!(s, Scope::Server(_)));
    let mut silences: Vec<_> = levels
        .flat_map(|(_, l)| {
            l.silences.iter().filter(|s| {
                s.last - s.first >= crate::capture_facts::STALL_WAITS.saturating_mul(usual)
            })
        })
        .collect();
    silences.sort_by_key(|s| s.first);
    let longest = silences.iter().map(|s| s.last - s.first).max()?;
    let elapsed = silences
        .iter()
        .fold(0i64, |sum, s| sum.saturating_add(s.last - s.first));
    let begun = facts.results.get(capture.index).and_then(|c| c.first);
    let since = |s: &Silence| Some(text!("{at}", at = Value::Duration(s.first - begun?)));
    let mut times: Vec<Text> = silences
        .iter()
        .take(NAMED)
        .filter_map(|s| since(s))
        .collect();
    if silences.len() > NAMED {
        times.push("…".into());
    }
    let why = text!(
        "{n} time{n||s} the server sent no reply for up to {longest} while requests kept arriving; its usual wait is {usual}.{when}",
        when = match times.is_empty() {
            true => Text::default(),
            false => text!(
                " {n|It|They} began {times} after the capture did.",
                n = silences.len(),
                times = Text::list(times, ", "),
            ),
        },
        n = silences.len(),
        longest = Value::Duration(longest),
        usual = Value::Duration(usual),
    );
    Some(Finding {
        title: "The server stood still".into(),
        cost_ns: Some(a.stall_ns),
        elapsed_cost_ns: Some(elapsed),
        first: silences.first().map(|s| s.first),
        last: silences.last().map(|s| s.last),
        facts: numbers([("stalls", silences.len() as i64), ("longest_ns", longest), ("usual_wait_ns", usual)]),
        evidence: evidence::of_calls(facts, facts.worst.stall, "requests that waited through a stall, and their replies"),
        why,
        remedy: vec![
            "look in the server's logs at these times: paused process or VM, garbage collection, cache flush, storage fail-over".into(),
        ],
        ..Rule::ServerStall.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, end, found};
    use super::*;
    use model::{Change, ConnectionId, Outstanding, Time};

    /// A server that answers five calls at once, after so long.
    fn silence(ns: i64, waited_ns: i64) -> Option<Finding> {
        found(Rule::ServerStall, |f| {
            f.account.stall_ns = waited_ns;
            f.captures[1].usual_wait_ns = MS;
            let calls = [0, ns].into_iter().zip([Change::Sent, Change::Settled]);
            for (at, change) in calls {
                for id in 0..5 {
                    f.captures[1].outstanding(&Outstanding {
                        order: 0,
                        time: Time(at + i64::from(id)),
                        connection: ConnectionId(1),
                        client: end(1, 40_000),
                        server: end(2, 2_049),
                        id,
                        change,
                    });
                }
            }
        })
    }

    #[test]
    fn a_server_that_answers_nobody_for_a_while_stands_still() {
        let f = silence(2_000 * MS, 4_000 * MS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(4_000 * MS)));
        let why = f.why.to_string();
        assert!(
            why.starts_with("1 time the server sent no reply for up to 2.00 s"),
            "{why}"
        );
    }

    #[test]
    fn a_server_that_answers_as_usual_does_not() {
        assert!(silence(MS, 4_000 * MS).is_none());
    }

    #[test]
    fn a_twentieth_of_the_time_and_50_ms_are_enough() {
        assert!(silence(50 * MS, TOTAL_NS).is_some());
        assert!(silence(50 * MS - 1, TOTAL_NS).is_none());
        assert!(silence(2_000 * MS, TOTAL_NS / 20).is_some());
        assert!(silence(2_000 * MS, TOTAL_NS / 20 - 1).is_none());
    }
}
