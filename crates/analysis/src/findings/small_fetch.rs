//! # What it says
//! A statement's rows are fetched a few at a time: every fetch brings as many rows
//! as it asked for, and asks for few.
//!
//! # Why it costs time
//! Each fetch crosses the path to the server and back. The cost is the path's part
//! of the fetches that 1,000 rows at a time would have spared.
//!
//! # How sure
//! Rows asked for and rows returned are read off the wire, the fetches counted. The
//! path is measured with captures of both ends; from the client alone it is an
//! estimate. Said of statements with 50 or more fetches that ask for less than 500
//! rows and come back full. Row by row it is called chatty.
//!
//! # What to check next
//! The array or fetch size of the client: JDBC setFetchSize (Oracle's default is
//! 10), SQL*Plus ARRAYSIZE (15), OCI prefetch, cursors of PostgreSQL and MySQL.
//! slowside whatif --fetch-size predicts what another one gives.
//!
//! # When it is wrong
//! Where the client wants the first rows soon and then stops. Very wide rows fill
//! the path however many are fetched at once.

use super::{Rule, evidence};
use crate::facts::{Basis, Facts};
use crate::results::{Fact, Finding, Side};
use crate::sql::habits::{Pattern, habits};
use model::format_duration;

pub(super) const RULE: Rule = Rule {
    code: "small-fetch",
    title: "rows are fetched a few at a time",
    source: include_str!("small_fetch.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let profile = facts.sql?;
    let cost = facts.account.small_fetch_ns;
    if !facts.is_guilty(cost, facts.network_part()) {
        return None;
    }
    let all = habits(profile);
    let worst = all.iter().find(|h| h.pattern == Pattern::SmallFetch)?;
    let s = worst.statement;
    let trip = worst.saved_ns / (worst.trips - worst.needed).max(1) as i64;
    let capture = facts.sql_capture();
    Some(Finding {
        code: RULE.code,
        title: "The client fetches few rows at a time".into(),
        side: Side::Client,
        cost_ns: Some(cost),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: match facts.account.basis {
            Basis::Matched => 0.9,
            _ => 0.7,
        },
        first: s.first,
        last: s.last,
        facts: vec![
            Fact { name: "fetches", value: worst.trips as i64 },
            Fact { name: "fetches_needed", value: worst.needed as i64 },
            Fact { name: "rows_asked", value: s.rows_asked as i64 },
            Fact { name: "rows", value: s.rows as i64 },
            Fact { name: "round_trip_ns", value: trip },
        ],
        evidence: evidence::of_statement(facts, capture, s, "the slowest call of this statement"),
        why: format!(
            "{} fetches of {} rows at most bring {} rows; {} would do at 1,000 rows each, and each waits {} for the path. {}",
            worst.trips,
            s.rows_asked,
            s.rows,
            worst.needed,
            format_duration(trip),
            evidence::named(s)
        ),
        remedy: vec![
            "raise the fetch or array size of this client (slowside whatif --fetch-size 500 predicts the effect)".into(),
        ],
    })
}
