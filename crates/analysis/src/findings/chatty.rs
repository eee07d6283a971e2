//! # What it says
//! The client asks for little at a time: many small requests, one after another,
//! each of which waits for the answer to the one before.
//!
//! # Why it costs time
//! Every turn crosses the path to the server and back, however little it carries.
//! The cost is the path's part of the turns that could be spared if each carried
//! what a round trip can carry at once (ten segments). network-delay keeps the
//! rest.
//!
//! # How sure
//! With captures of both ends the path's part is measured, and the turns are
//! counted. Said of connections with 50 or more of them, one at a time, two
//! segments or less each, that spend at least half of their life on the path, where
//! half a second or more could be spared. That the work could be done in fewer
//! turns only the application's owner knows.
//!
//! Of databases the statements tell more: rows fetched one by one, one statement in
//! a loop, a commit for each change, 50 times or more. From one capture alone the
//! path counts with what it takes at least.
//!
//! # What to check next
//! What the client asks for row by row: the fetch or array size and prefetch of
//! database clients, statements that could be sent as a batch, lookups in a loop.
//!
//! # When it is wrong
//! Where each request needs the answer to the last one (a walk through pointers, a
//! transaction with decisions between its steps) only a shorter path helps.

use super::{Rule, evidence};
use crate::facts::{Basis, Facts};
use crate::results::{Fact, Finding, Side};
use crate::sql::habits::{self, Pattern};
use model::format_duration;

pub(super) const RULE: Rule = Rule {
    code: "chatty",
    title: "many small requests, one after another",
    source: include_str!("chatty.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    if let Some(found) = by_statements(facts) {
        return Some(found);
    }
    let [chatter, _] = a.chatter;
    if chatter.calls == 0 || !facts.is_guilty(a.chatty_ns, facts.network_part()) {
        return None;
    }
    let trip = a.chatty_ns / (chatter.calls - chatter.needed).max(1) as i64;
    let each = chatter.bytes / chatter.calls.max(1);
    Some(Finding {
        code: RULE.code,
        title: "The client asks for little at a time".into(),
        side: Side::Client,
        cost_ns: Some(a.chatty_ns),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.8,
        first: facts.worst.network.first,
        last: facts.worst.network.last,
        facts: vec![
            Fact { name: "turns", value: chatter.calls as i64 },
            Fact { name: "turns_needed", value: chatter.needed as i64 },
            Fact { name: "bytes_mean", value: each as i64 },
            Fact { name: "round_trip_ns", value: trip },
        ],
        evidence: evidence::of_calls(facts, facts.worst.network, "request and response of turns that crossed the path for little"),
        why: format!(
            "{} turns of {each} bytes on average, one after another, each wait {} for the path; what they carry fits into {}.{}",
            chatter.calls,
            format_duration(trip),
            chatter.needed,
            told(facts)
        ),
        remedy: vec![
            "ask for more per turn: a larger fetch or array size, prefetch, batched statements, one query in place of a loop of lookups".into(),
            "where that cannot be, move the client nearer to the server".into(),
        ],
    })
}

/// What the client of a database does, where its statements show it.
fn told(facts: &Facts<'_>) -> String {
    let Some(profile) = facts.sql else {
        return String::new();
    };
    let all = habits::habits(profile);
    all.iter()
        .find(|h| h.pattern != Pattern::SmallFetch)
        .map_or_else(String::new, |h| {
            let what = match h.pattern {
                Pattern::RowByRow | Pattern::SmallFetch => "fetches bring a row each",
                Pattern::OneByOne => "executions of one statement are a loop",
                Pattern::CommitEach => "commits are one for each change",
            };
            format!(" {} {what}. {}", h.trips, evidence::named(h.statement))
        })
}

/// The statements of a database say what was asked too often.
fn by_statements(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let all = habits::habits(facts.sql?);
    let worst = all.iter().find(|h| h.pattern != Pattern::SmallFetch)?;
    if !facts.is_guilty(a.chatty_ns, facts.network_part()) {
        return None;
    }
    let s = worst.statement;
    let measured = a.basis == Basis::Matched;
    let trip = worst.saved_ns / (worst.trips - worst.needed).max(1) as i64;
    Some(Finding {
        code: RULE.code,
        title: "The client asks for little at a time".into(),
        side: Side::Client,
        cost_ns: Some(a.chatty_ns),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: match measured {
            true => 0.8,
            false => 0.6,
        },
        first: s.first,
        last: s.last,
        facts: vec![
            Fact { name: "turns", value: worst.trips as i64 },
            Fact { name: "turns_needed", value: worst.needed as i64 },
            Fact { name: "round_trip_ns", value: trip },
        ],
        evidence: evidence::of_statement(
            facts,
            facts.sql_capture(),
            s,
            "the slowest call of this statement",
        ),
        why: format!(
            "Of {} round trips {} would do; each waits {} for the path{}.{}",
            worst.trips,
            worst.needed,
            format_duration(trip),
            if measured { "" } else { ", an estimate" },
            told(facts)
        ),
        remedy: vec![
            "ask for more per turn: a larger fetch or array size, prefetch, batched statements, one query in place of a loop of lookups, a commit for many changes".into(),
        ],
    })
}
