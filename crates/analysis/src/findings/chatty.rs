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

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::{Basis, Facts};
use crate::results::{Finding, Side};
use crate::sql::habits::{self, Pattern};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "chatty",
    title: "many small requests, one after another",
    side: Some(Side::Client),
    of: Of::Calls,
    sure: [0.8, 0.6],
    page: page!("chatty.rs"),
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
        title: "The client asks for little at a time".into(),
        cost_ns: Some(a.chatty_ns),
        first: facts.worst.network.first,
        last: facts.worst.network.last,
        facts: numbers([("turns", chatter.calls as i64), ("turns_needed", chatter.needed as i64), ("bytes_mean", each as i64), ("round_trip_ns", trip)]),
        evidence: evidence::of_calls(facts, facts.worst.network, "request and response of turns that crossed the path for little"),
        why: text!(
            "{turns} turns of {each} on average, one after another, each wait {trip} for the path; what they carry fits into {needed}.{habit}",
            turns = chatter.calls,
            each = Value::Bytes(each),
            trip = Value::Duration(trip),
            needed = chatter.needed,
            habit = habit(facts),
        ),
        remedy: vec![
            "ask for more per turn: a larger fetch or array size, prefetch, batched statements, one query in place of a loop of lookups".into(),
            "where that cannot be, move the client nearer to the server".into(),
        ],
        ..Rule::Chatty.finding()
    })
}

/// What the client of a database does, where its statements show it.
fn habit(facts: &Facts<'_>) -> Text {
    let Some(profile) = facts.sql else {
        return Text::default();
    };
    let all = habits::habits(profile);
    all.iter()
        .find(|h| h.pattern != Pattern::SmallFetch)
        .map_or_else(Text::default, |h| {
            let what = match h.pattern {
                Pattern::RowByRow | Pattern::SmallFetch => "fetches bring a row each",
                Pattern::OneByOne => "executions of one statement are a loop",
                Pattern::CommitEach => "commits are one for each change",
            };
            text!(
                " {trips} {what}. {statement}",
                trips = h.trips,
                what = what,
                statement = evidence::named(h.statement)
            )
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
        title: "The client asks for little at a time".into(),
        cost_ns: Some(a.chatty_ns),
        first: s.first,
        last: s.last,
        facts: numbers([("turns", worst.trips as i64), ("turns_needed", worst.needed as i64), ("round_trip_ns", trip)]),
        evidence: evidence::of_statement(
            facts,
            facts.sql_capture(),
            s,
            "the slowest call of this statement",
        ),
        why: text!(
            "Of {trips} round trips {needed} would do; each waits {trip} for the path{estimate}.{habit}",
            trips = worst.trips,
            needed = worst.needed,
            trip = Value::Duration(trip),
            estimate = if measured { "" } else { ", an estimate" },
            habit = habit(facts),
        ),
        remedy: vec![
            "ask for more per turn: a larger fetch or array size, prefetch, batched statements, one query in place of a loop of lookups, a commit for many changes".into(),
        ],
        ..Rule::Chatty.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::rounds::Chatter;

    fn turns(calls: u64, spared_ns: i64) -> Option<Finding> {
        found(Rule::Chatty, |f| {
            f.account.chatty_ns = spared_ns;
            f.account.chatter[0] = Chatter {
                calls,
                needed: calls / 50,
                bytes: calls * 64,
                ..Chatter::default()
            };
        })
    }

    #[test]
    fn many_turns_for_little_cost_what_fewer_would_spare() {
        let f = turns(500, TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert!(
            f.why
                .to_string()
                .starts_with("500 turns of 64 bytes on average")
        );
    }

    #[test]
    fn without_such_turns_nobody_is_chatty() {
        assert!(turns(0, TOTAL_NS / 2).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(turns(500, TOTAL_NS / 4).is_some());
        assert!(turns(500, TOTAL_NS / 4 - 1).is_none());
    }
}
