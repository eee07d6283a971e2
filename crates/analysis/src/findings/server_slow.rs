//! # What it says
//! The server itself takes the time: between the last byte of the request and the
//! first byte of its reply, with nothing lost, nothing queued behind a limit of its
//! own and its TCP free to send.
//!
//! # Why it costs time
//! A reply cannot leave before the server has done the work: storage, locks, CPU.
//! The cost is that time, summed over calls.
//!
//! # How sure
//! With a capture at the server the time is measured to the nanosecond. From the
//! client alone it is what remains after the path's round trip, and only said when
//! it is most of the response time and many times the path.
//!
//! # What to check next
//! The server's storage latency (iostat, DTrace, array statistics), CPU and locks
//! at the times of the calls shown. Compare operations: slow READs with fast
//! GETATTRs point to storage, all slow to CPU or scheduling. Where clients asked
//! again over TCP (the same XID), the server may have dropped the first request:
//! its log, its threads and memory then, and the client's limit (`timeo`).
//!
//! # When it is wrong
//! A capture taken in front of the server (load balancer, hypervisor) counts what
//! lies behind it as the server. Replies that wait in the server's host before its
//! own capture sees them count as server time, which is right for its owner and
//! surprising for its storage team. Turns of an unknown protocol may have waited
//! for an event and not for the server (long polls, agents that fetch orders).

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::{Basis, Facts};
use crate::locks::LockWaits;
use crate::results::{Finding, Side};
use crate::sql::StatementResult;
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "server-slow",
    title: "the server's own time",
    side: Some(Side::Server),
    of: Of::Calls,
    sure: [0.95, 0.6],
    page: page!("server_slow.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let guilty = facts.is_guilty_of(a.service_ns, a.server_ns(), facts.server_part());
    if !guilty || facts.are_few_turns() {
        return None;
    }
    let mean = a.service_ns / a.calls.max(1) as i64;
    let share = a.service_ns.saturating_mul(100) / a.total_ns.max(1);
    let measured = matches!(a.basis, Basis::Matched | Basis::Server);
    let again = asked_again(facts);
    let why = text!(
        "Of {calls,} call{calls||s} the server holds each for {mean} on average, {share} of the response time{estimate}.{again}{statement}{locks}",
        calls = a.calls,
        mean = Value::Duration(mean),
        share = Value::Percent(share),
        estimate = if measured {
            ""
        } else {
            " (what the path's round trip leaves of it, an estimate)"
        },
        again = again.map_or(Text::default(), |(calls, ns)| text!(
            " {calls,} that {calls|was|were} asked again (the same XID) before {calls|it was|they were} answered took {time}: the server left the first without an answer, or took longer than the client waits for one.",
            calls = calls,
            time = Value::Duration(ns),
        )),
        statement = statement(facts),
        locks = locks(facts),
    );
    Some(Finding {
        title: "The server is slow".into(),
        cost_ns: Some(a.service_ns),
        first: facts.worst.server.first,
        last: facts.worst.server.last,
        facts: numbers([("service_mean_ns", mean), ("calls", a.calls as i64)]),
        evidence: evidence::of_calls(
            facts,
            facts.worst.server,
            "request and reply of the longest waits",
        ),
        why,
        remedy: vec![
            "look at the server's storage latency, CPU and locks at the times of these calls"
                .into(),
            match (facts.sql, most_of(facts)) {
                (Some(_), Some(StatementResult { statement: None, op: Some(_), .. })) => "look at what the server does when clients connect and log on, or between statements (slowside sql lists all); a pool spares logons",
                _ if again.is_some() => "see whether the server drops requests (its log, its threads, its memory then), and how long clients wait until they ask again (timeo)",
                _ if lock_waits(facts).is_some() => "hold locks for fewer round trips: change last what all change, or send the transaction as one request (a function, a batch, a pipeline)",
                (Some(_), _) => "look at the statement's plan and what it waits for (slowside sql lists all)",
                (None, _) => "compare operations (slowside ops): slow READs beside fast GETATTRs point to storage",
            }
            .into(),
        ],
        ..Rule::ServerSlow.finding()
    })
}

fn server(s: &StatementResult) -> i64 {
    s.server_ns.unwrap_or_else(|| s.wait_ns())
}

/// The statement, or operation without one, that has most of the server's time, where databases speak.
fn most_of<'a>(facts: &Facts<'a>) -> Option<&'a StatementResult> {
    let all = facts.sql?.statements.iter();
    all.max_by_key(|s| server(s))
}

/// What has most of the server's time, and whether it waits as one does for a lock.
fn statement(facts: &Facts<'_>) -> Text {
    let (Some(profile), Some(top)) = (facts.sql, most_of(facts)) else {
        return Text::default();
    };
    let share = server(top).saturating_mul(100) / facts.account.service_ns.max(1);
    if !(10..=105).contains(&share) {
        // Calls that were never answered have most, which no statement's times have; or statements are of calls that are
        // not judged.
        return Text::default();
    }
    // A tenth of the time, or it is not worth a word.
    let worth = profile
        .statements
        .iter()
        .filter(|s| server(s) >= facts.account.service_ns / 10);
    let faces = worth.filter_map(|s| Some((s, s.two_faces()?)));
    let faces = faces.max_by_key(|(s, _)| server(s));
    text!(
        " {share} of it is {whose}, {calls} call{calls||s}.{statement}{faces}",
        share = Value::Percent(share.min(100)),
        whose = match (&top.statement, &top.op) {
            (None, Some(op)) => text!("no statement's but {op}", op = op.clone()),
            _ => "one statement's".into(),
        },
        calls = top.calls,
        statement = match &top.statement {
            Some(_) => text!(" {statement}", statement = evidence::named(top)),
            None => Text::default(),
        },
        faces = faces.map_or(Text::default(), |(s, (fast, slow))| text!(
            " One in ten calls takes {fast} or less, one in ten {slow} or more, as with statements that wait for locks.{which}",
            fast = Value::Duration(fast),
            slow = Value::Duration(slow),
            which = match std::ptr::eq(s, top) {
                true => Text::default(),
                false => text!(" {statement}", statement = evidence::named(s)),
            },
        )),
    )
}

/// Calls that clients sent again before they were answered, if they have half of the server's time.
fn asked_again(facts: &Facts<'_>) -> Option<(u64, i64)> {
    let seen = facts.at_server().or(facts.at_client());
    let seen = seen.or(facts.captures.first())?.asked_again;
    (seen.0 > 0 && seen.1 >= facts.account.service_ns / 2).then_some(seen)
}

/// Calls that waited for locks on which nothing was worked.
fn locks(facts: &Facts<'_>) -> Text {
    let Some(waits) = lock_waits(facts) else {
        return Text::default();
    };
    text!(
        " {calls} call{calls||s} for a table that an open transaction of another session had changed {calls|was|were} answered \
         as that one ended: of {waited} in which they waited, the server worked on nothing for those who held the locks in \
         up to {paused}, as their next statement was on its way or not yet sent.",
        calls = waits.calls,
        waited = Value::Duration(waits.waited_ns),
        paused = Value::Duration(waits.paused_ns),
    )
}

/// What waited for locks of other sessions' transactions on which nothing was worked, if that may be half of the server's
/// time.
fn lock_waits(facts: &Facts<'_>) -> Option<LockWaits> {
    let waits = facts.worst.lock_waits;
    let is_worth = waits.paused_ns > 0 && waits.paused_ns >= facts.account.service_ns / 2;
    // Of files there is no transaction.
    (is_worth && !waits.are_files()).then_some(waits)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CALLS, TOTAL_NS, found};
    use super::*;

    fn held(ns: i64, calls: u64) -> Option<Finding> {
        found(Rule::ServerSlow, |f| {
            f.account.service_ns = ns;
            f.account.calls = calls;
        })
    }

    #[test]
    fn what_the_server_holds_is_its_own() {
        let f = held(TOTAL_NS / 2, CALLS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.why.to_string(),
            "Of 100 calls the server holds each for 50.0 ms on average, 50 % of the response time."
        );
    }

    #[test]
    fn a_server_that_answers_at_once_is_not_slow() {
        assert!(held(0, CALLS).is_none());
    }

    #[test]
    fn calls_that_were_asked_again_are_said_from_half_of_the_time_on() {
        let told = |ns| {
            let found = found(Rule::ServerSlow, |f| {
                f.account.service_ns = TOTAL_NS / 2;
                f.captures[1].asked_again = (3, ns);
            });
            let f = found.unwrap();
            (f.why.to_string(), f.remedy[1].to_string())
        };
        let (why, remedy) = told(TOTAL_NS / 4);
        assert!(
            why.contains(
                " 3 that were asked again (the same XID) before they were answered took 2.50 s: "
            ),
            "{why}"
        );
        assert!(remedy.starts_with("see whether the server drops requests"));
        let (why, remedy) = told(TOTAL_NS / 4 - 1);
        assert!(!why.contains("asked again") && !remedy.contains("drops"));
    }

    #[test]
    fn locks_that_are_held_while_nothing_is_worked_are_said_from_half_of_the_time_on() {
        let told = |paused_ns| {
            let found = found(Rule::ServerSlow, |f| {
                f.account.service_ns = TOTAL_NS / 2;
                f.lock_waits = LockWaits {
                    calls: 90,
                    waited_ns: TOTAL_NS / 2,
                    paused_ns,
                    ..LockWaits::default()
                };
            });
            let f = found.unwrap();
            (f.why.to_string(), f.remedy[1].to_string())
        };
        let (why, remedy) = told(TOTAL_NS / 4);
        assert!(why.ends_with(
            " 90 calls for a table that an open transaction of another session had changed were answered as that one ended: \
             of 5.00 s in which they waited, the server worked on nothing for those who held the locks in up to 2.50 s, as \
             their next statement was on its way or not yet sent."
        ));
        assert!(remedy.starts_with("hold locks for fewer round trips"));
        let (why, remedy) = told(TOTAL_NS / 4 - 1);
        assert!(!why.contains("another session") && !remedy.contains("locks"));
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(held(TOTAL_NS / 4, CALLS).is_some());
        assert!(held(TOTAL_NS / 4 - 1, CALLS).is_none());
    }
}
