//! Statements into what their clients do too often, and the round trips that could be spared.
//!
//! A habit is only a habit in numbers ([`MANY`]). What it costs is round trips on the path: what the
//! server would save is not known, and not counted.

use super::result::{SqlResult, StatementResult};
use crate::rounds::ROUND_BYTES;
use crate::work::{work_of_op, work_of_statement};
use ledger::{Cause, Share};
use model::sql::op;

/// Fewer than this are a beginning.
const MANY: u64 = 50;

/// Rows of a fetch that nobody would call small, and into how many such fetches rows would fit.
const LARGE_FETCH: u64 = 500;
const GOOD_FETCH: u64 = 1_000;

/// Commits of a session that are more than its work as a whole.
const EACH_SESSION: u64 = 10;

/// Executions or commits that would go in one batch.
const BATCH: u64 = 100;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pattern {
    /// Fetches that bring one row each.
    RowByRow,
    /// Fetches that bring all they asked for, which is little.
    SmallFetch,
    /// The same statement again and again, for a row each time: a loop that could be a join.
    OneByOne,
    /// A commit for each change.
    CommitEach,
}

/// What a client does with a statement.
#[derive(Clone, Copy, Debug)]
pub struct Habit<'a> {
    pub statement: &'a StatementResult,
    pub pattern: Pattern,
    /// Round trips that it takes, and those that would do.
    pub trips: u64,
    pub needed: u64,
    /// The path's part of those that could be spared.
    pub saved_ns: i64,
}

/// Cursors of a statement: its executions, where it was seen to be executed.
fn cursors(s: &StatementResult) -> u64 {
    s.executions.clamp(1, s.fetches.max(1))
}

fn fetches_at(s: &StatementResult, size: u64) -> u64 {
    let each = s.rows.div_ceil(cursors(s)).div_ceil(size).max(1);
    cursors(s).saturating_mul(each)
}

impl<'a> Habit<'a> {
    fn new(statement: &'a StatementResult, pattern: Pattern, trips: u64, needed: u64) -> Self {
        let spared = i64::try_from(trips.saturating_sub(needed)).unwrap_or(i64::MAX);
        Habit {
            statement,
            pattern,
            trips,
            needed,
            saved_ns: statement.trip_ns().saturating_mul(spared),
        }
    }

    /// Of a statement among so many `changes` in so many sessions.
    fn of(s: &'a StatementResult, changes: u64, sessions: u64) -> Option<Habit<'a>> {
        if s.fetches >= MANY {
            // Wide rows fill a round trip sooner.
            let rounds = s.response_bytes.div_ceil(ROUND_BYTES);
            let needed = fetches_at(s, GOOD_FETCH).max(rounds);
            let full = s.full_fetches * 10 >= s.fetches * 8;
            if s.rows_hidden > 0 {
                // Nobody knows how full they were.
                return None;
            }
            let one_each = s.rows <= s.fetches + cursors(s) && s.rows * 2 >= s.fetches;
            if one_each && needed < s.fetches {
                return Some(Habit::new(s, Pattern::RowByRow, s.fetches, needed));
            }
            if full && s.rows_asked < LARGE_FETCH && needed < s.fetches {
                return Some(Habit::new(s, Pattern::SmallFetch, s.fetches, needed));
            }
            return None;
        }
        if s.op.as_deref() == Some(op::COMMIT.as_str()) || is_commit(s) {
            // One for each session is no habit of anybody.
            let many = s.calls >= MANY.max(sessions.saturating_mul(EACH_SESSION));
            let each = many && changes > 0 && changes <= s.calls + s.calls / 2;
            let needed = s.calls.div_ceil(BATCH);
            return each.then(|| Habit::new(s, Pattern::CommitEach, s.calls, needed));
        }
        // Who has many rows changed by one request, or sends as much as a round trip carries, asks for much at a time.
        let little = s.rows.max(s.affected) <= s.executions + s.executions / 2;
        // Who pauses for longer than one usually takes asks by the clock or works on what he has: fewer would spare little of
        // his time, and that a few wait for something makes no loop of the others.
        let pause_ns = s.think_ns / i64::try_from(s.thinks.max(1)).unwrap_or(i64::MAX);
        let at_once = pause_ns <= s.times.p50_ns;
        let loops = s.thinks >= MANY && s.thinks * 10 >= s.executions * 8 && at_once;
        let again = s.statement.is_some() && s.executions >= MANY && little && loops;
        let bytes = s.request_bytes.saturating_add(s.response_bytes);
        let needed = s
            .executions
            .div_ceil(BATCH)
            .max(bytes.div_ceil(ROUND_BYTES));
        (again && needed < s.executions)
            .then(|| Habit::new(s, Pattern::OneByOne, s.executions, needed))
    }
}

fn is_commit(s: &StatementResult) -> bool {
    let text = s.statement.as_ref().map(|s| &*s.normal);
    text.is_some_and(|t| t == "commit" || t == "end" || t.starts_with("commit "))
}

/// The habits that a profile shows, the most expensive first.
#[must_use]
pub fn habits(profile: &SqlResult) -> Vec<Habit<'_>> {
    // An array of rows in one execution is so many changes.
    let changed = profile.statements.iter().filter(|s| s.affected > 0);
    let changes = changed.map(|s| s.executions.max(s.affected));
    let changes = changes.fold(0, u64::saturating_add);
    let sessions = profile.sessions.len() as u64;
    let mut all: Vec<Habit<'_>> = profile
        .statements
        .iter()
        .filter_map(|s| Habit::of(s, changes, sessions))
        .collect();
    // Stable: equal ones stay in the profile's order.
    all.sort_by_key(|h| std::cmp::Reverse(h.saved_ns));
    all
}

impl Habit<'_> {
    /// What its calls work on, as a [number](crate::work::work_of).
    #[must_use]
    pub fn work(&self) -> u64 {
        match (&self.statement.statement, &self.statement.op) {
            (Some(statement), _) => work_of_statement(statement.id),
            (None, op) => work_of_op(op.as_deref().unwrap_or_default()),
        }
    }

    /// What it is charged to.
    #[must_use]
    pub fn cause(&self) -> Cause {
        match self.pattern {
            Pattern::SmallFetch => Cause::SmallFetch,
            _ => Cause::Chatty,
        }
    }

    /// What of their path it could spare.
    #[must_use]
    pub fn spared(&self, is_sure: bool) -> Share {
        let all = self.statement.round_trips.max(self.trips);
        Share {
            cause: self.cause(),
            trips: self.trips - self.needed,
            of: all,
            is_sure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Summary;
    use model::{Found, Protocol, Statement};
    use std::sync::Arc;

    fn line(calls: u64, fetches: u64, rows: u64) -> StatementResult {
        StatementResult {
            protocol: Protocol::Tns,
            statement: None,
            op: None,
            keys: Vec::new(),
            times: Summary::default(),
            waits: Summary::default(),
            waits_p10_ns: 0,
            calls,
            executions: calls - fetches,
            fetches,
            rows,
            rows_hidden: 0,
            row_trips: calls,
            rows_asked: 0,
            full_fetches: 0,
            affected: 0,
            errors: 0,
            codes: Vec::new(),
            incomplete: 0,
            request_bytes: 0,
            response_bytes: 0,
            round_trips: calls,
            server_ns: Some(0),
            network_ns: Some(1_000 * calls as i64),
            unknown_ns: 0,
            transfer_ns: 0,
            client_ns: 0,
            think_ns: 0,
            thinks: 0,
            worst: None,
            first: None,
            last: None,
        }
    }

    #[test]
    fn row_by_row_and_small_fetches_are_told_apart() {
        let one = line(301, 300, 300);
        let h = Habit::of(&one, 0, 1).expect("a habit");
        assert_eq!((h.pattern, h.trips, h.needed), (Pattern::RowByRow, 300, 1));
        assert_eq!(h.saved_ns, 299_000);
        let mut small = line(101, 100, 1_500);
        small.rows_asked = 15;
        small.full_fetches = 99;
        let h = Habit::of(&small, 0, 1).expect("a habit");
        assert_eq!((h.pattern, h.needed), (Pattern::SmallFetch, 2));
        // Whose fetches come back half empty has no more to fetch.
        small.full_fetches = 20;
        assert!(Habit::of(&small, 0, 1).is_none());
        small.full_fetches = 100;
        small.rows_asked = 1_000;
        assert!(Habit::of(&small, 0, 1).is_none());
    }

    #[test]
    fn a_loop_is_of_executions_that_are_little() {
        let of = |executions, affected, bytes| {
            let mut line = line(executions, 0, 0);
            line.statement = Some(Arc::new(Statement {
                id: 1,
                normal: "insert".into(),
                text: "insert".into(),
                truncated: false,
                found: Found::Structured,
            }));
            (line.thinks, line.affected, line.request_bytes) = (executions, affected, bytes);
            Habit::of(&line, 0, 1).map(|h| (h.pattern, h.needed))
        };
        assert_eq!(of(200, 200, 20_000), Some((Pattern::OneByOne, 2)));
        assert_eq!(of(200, 200, 200_000), Some((Pattern::OneByOne, 14)));
        assert_eq!(of(200, 40_000, 20_000), None, "an array each");
        assert_eq!(of(200, 200, 4_000_000), None, "a round trip is full");
    }

    #[test]
    fn a_commit_for_each_change_is_a_habit_and_few_are_not() {
        let mut commits = line(200, 0, 0);
        commits.op = Some("COMMIT".into());
        let h = Habit::of(&commits, 200, 1).expect("a habit");
        assert_eq!((h.pattern, h.needed), (Pattern::CommitEach, 2));
        assert!(Habit::of(&commits, 2_000, 1).is_none());
        // A hundred sessions with two each.
        assert!(Habit::of(&commits, 200, 100).is_none());
        assert!(Habit::of(&commits, 0, 1).is_none());
    }
}
