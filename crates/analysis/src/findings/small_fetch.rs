//! # What it says
//! A statement's rows are fetched a few at a time: every fetch brings as many rows
//! as it asked for, and asks for few.
//!
//! # Why it costs time
//! Each fetch crosses the path to the server and back. The cost is the path's part
//! of the fetches that 1,000 rows at a time would have spared, or as many as a
//! round trip carries at once (ten segments, 14.6 kB).
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
//! Where the client wants the first rows soon and then stops.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::sql::habits::{Pattern, habits};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "small-fetch",
    title: "rows are fetched a few at a time",
    side: Some(Side::Client),
    of: Of::Calls,
    sure: [0.9, 0.7],
    page: page!("small_fetch.rs"),
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
        title: "The client fetches few rows at a time".into(),
        cost_ns: Some(cost),
        first: s.first,
        last: s.last,
        facts: numbers([("fetches", worst.trips as i64), ("fetches_needed", worst.needed as i64), ("rows_asked", s.rows_asked as i64), ("rows", s.rows as i64), ("round_trip_ns", trip)]),
        evidence: evidence::of_statement(facts, capture, s, "the slowest call of this statement"),
        why: text!(
            "{fetches} fetches of {asked} rows at most bring {rows} rows; {needed} would do, of 1,000 rows or 14.6 kB each, and each waits {trip} for the path. {statement}",
            fetches = worst.trips,
            asked = s.rows_asked,
            rows = s.rows,
            needed = worst.needed,
            trip = Value::Duration(trip),
            statement = evidence::named(s),
        ),
        remedy: vec![
            "raise the fetch or array size of this client (slowside whatif --fetch-size 500 predicts the effect)".into(),
        ],
        ..Rule::SmallFetch.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found, session, statement};
    use super::*;
    use crate::sql::StatementResult;
    use model::SqlSession;

    /// Fetches of so many rows each, and what larger ones would spare.
    fn fetches(fetches: u64, rows: u64, cost_ns: i64) -> Option<Finding> {
        found(Rule::SmallFetch, |f| {
            let fetched = StatementResult {
                executions: 1,
                fetches,
                rows: fetches * rows,
                rows_asked: rows,
                full_fetches: fetches,
                round_trips: fetches,
                network_ns: Some(cost_ns),
                ..statement()
            };
            f.profile(fetched, session(SqlSession::default()));
            f.account.small_fetch_ns = cost_ns;
        })
    }

    #[test]
    fn rows_a_few_at_a_time_are_the_client_s_with_the_statement() {
        let f = fetches(100, 15, TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.why.to_string(),
            "100 fetches of 15 rows at most bring 1500 rows; 2 would do, of 1,000 rows or 14.6 kB \
             each, and each waits 50.0 ms for the path. Statement 0000000000000e3b: “select * from emp”"
        );
    }

    #[test]
    fn large_fetches_are_as_they_should_be() {
        assert!(fetches(100, 500, TOTAL_NS / 2).is_none());
    }

    #[test]
    fn fifty_fetches_and_a_quarter_of_the_time_are_enough() {
        assert!(fetches(50, 499, TOTAL_NS / 4).is_some());
        assert!(fetches(49, 499, TOTAL_NS / 4).is_none());
        assert!(fetches(50, 499, TOTAL_NS / 4 - 1).is_none());
    }
}
