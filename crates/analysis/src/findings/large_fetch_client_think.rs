//! # What it says
//! Between one fetch of a statement and the next the client takes longer than it
//! waits for the database: it digests what it fetched.
//!
//! # Why it costs time
//! The server and the network stand idle meanwhile. The time lies between calls and
//! is part of none, so it is given as elapsed time and charged to nobody.
//!
//! # How sure
//! The pauses are measured between the last byte of one response and the first of
//! the next request on the same connection, with nothing else outstanding. Said
//! where there are ten or more, 2 ms each on average, longer together than the
//! calls.
//!
//! # What to check next
//! What the client does with rows: one thread that fetches and computes, output to
//! a slow terminal or disk, a fetch size so large that each batch takes long.
//!
//! # When it is wrong
//! A user who pages through a result thinks too.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "large-fetch-client-think",
    title: "the client digests rows for longer than it waits for them",
    side: Some(Side::Client),
    of: Of::Application,
    sure: [0.8, 0.8],
    page: page!("large_fetch_client_think.rs"),
    check,
};

const MANY: u64 = 10;
const LONG_NS: i64 = 2_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let digesting = facts.sql?.statements.iter().filter(|s| {
        let mean = s.think_ns / s.thinks.max(1) as i64;
        let fetching = s.fetches >= MANY && s.thinks >= MANY && s.rows > s.fetches;
        fetching && mean >= LONG_NS && s.think_ns > s.times.total_ns
    });
    let s = digesting.max_by_key(|s| s.think_ns)?;
    let mean = s.think_ns / s.thinks.max(1) as i64;
    let rows = s.rows / s.row_trips.max(1);
    Some(Finding {
        title: "The client digests what it fetches".into(),
        elapsed_cost_ns: Some(s.think_ns),
        first: s.first,
        last: s.last,
        facts: numbers([("think_ns", s.think_ns), ("think_mean_ns", mean), ("fetches", s.fetches as i64), ("rows_per_fetch_mean", rows as i64)]),
        evidence: evidence::of_statement(
            facts,
            facts.sql_capture(),
            s,
            "the slowest call of this statement",
        ),
        why: text!(
            "After {thinks} of its calls the client takes {mean} on average before it asks for more, {all} in all, beside {calls} in the calls. {statement}",
            thinks = s.thinks,
            mean = Value::Duration(mean),
            all = Value::Duration(s.think_ns),
            calls = Value::Duration(s.times.total_ns),
            statement = evidence::named(s),
        ),
        remedy: vec![
            "let the client fetch ahead while it computes, or find what it waits for with these rows".into(),
        ],
        ..Rule::LargeFetchClientThink.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, found, session, statement};
    use super::*;
    use model::SqlSession;

    fn digests(fetches: u64, think_ns: i64, calls_ns: i64) -> Option<Finding> {
        found(Rule::LargeFetchClientThink, |f| {
            let mut fetched = statement();
            (fetched.fetches, fetched.thinks, fetched.rows) = (fetches, fetches, fetches * 500);
            (fetched.think_ns, fetched.times.total_ns) = (think_ns, calls_ns);
            f.profile(fetched, session(SqlSession::default()));
        })
    }

    #[test]
    fn who_digests_longer_than_it_waits_is_told_without_cost() {
        let f = digests(20, 1_000 * MS, 200 * MS).unwrap();
        assert_eq!((f.cost_ns, f.elapsed_cost_ns), (None, Some(1_000 * MS)));
        assert!(
            f.why
                .to_string()
                .starts_with("After 20 of its calls the client takes 50.0 ms")
        );
    }

    #[test]
    fn who_waits_longer_than_it_digests_is_not() {
        assert!(digests(20, 1_000 * MS, 1_000 * MS).is_none());
    }

    #[test]
    fn ten_fetches_and_two_milliseconds_each_are_enough() {
        assert!(digests(MANY, 20 * MS, MS).is_some());
        assert!(digests(MANY - 1, 20 * MS, MS).is_none());
        assert!(digests(MANY, 20 * MS - 1, MS).is_none());
    }
}
