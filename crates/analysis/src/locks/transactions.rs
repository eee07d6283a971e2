//! What sessions of a database have of tables until they commit, and how it ended.

use super::WOKEN_NS;
use super::tables::{Access, Touched, wanted_table};
use crate::broken_off::{self, Why};
use crate::work::statement_of;
use model::{Call, ConnectionId, Mark, Protocol, Time, limits};

/// A statement that changed a table, or what it is, and when that was answered: at no time, if never.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) connection: ConnectionId,
    pub(super) touched: Touched,
    pub(super) asked: Time,
    pub(super) said: Time,
    /// It ended with an error.
    pub(super) is_refused: bool,
    /// That it waited is told of its transaction.
    pub(super) is_counted: bool,
}

/// A session of a database.
pub(super) struct Session {
    /// When its last answer had passed.
    pub(super) answered: Time,
    /// Where its tables are; 0 where it is not known.
    pub(super) database: u64,
    /// It said BEGIN, and nothing since that ends it.
    pub(super) has_begun: bool,
    /// When it asked for what was never answered.
    pub(super) asks: Option<Time>,
    pub(super) open: Option<Transaction>,
}

/// A transaction that has something.
#[derive(Clone, Default)]
pub(super) struct Transaction {
    /// What it has, and since when it has it so.
    has: Vec<(Touched, Time)>,
    /// Since when it has anything, and how long its client has thought since then, or it waited for what others held.
    since: Time,
    pub(super) thought_ns: i64,
    /// Its client said that it begins one: else each statement may have been one of its own.
    pub(super) is_said: bool,
    /// How long the server has worked on nothing for it since then: what its client thought, and what its statements
    /// took on their way, as far as they pass behind the place of the capture.
    pub(super) paused_ns: i64,
}

/// A transaction that is over, or was broken off.
pub(super) struct Ended {
    pub(super) connection: ConnectionId,
    pub(super) transaction: Transaction,
    /// When the server was told to end it, and when it said that it had.
    pub(super) asked: Mark,
    pub(super) said: Time,
    /// It was broken out of a deadlock.
    pub(super) is_deadlock: bool,
}

impl Session {
    /// That has changed this by a statement that was answered at `answered`, if any.
    pub(super) fn new(answered: Time, changed: Option<Touched>, has_begun: bool) -> Session {
        Session {
            answered,
            database: changed.map_or(0, |touched| touched.database),
            has_begun,
            asks: None,
            open: changed.map(|touched| Transaction::new(answered, touched, false)),
        }
    }

    /// Its transaction, with what its client has thought since its last answer, until its connection ended.
    pub(super) fn until(self, end: Time) -> Option<Transaction> {
        let mut open = self.open?;
        let thought_ns = (self.asks.unwrap_or(end) - self.answered).max(0);
        open.add(thought_ns, thought_ns);
        Some(open)
    }

    /// What it has is not known any more, nor that it is in a transaction.
    pub(super) fn is_unsure(&mut self) {
        self.has_begun = false;
        if let Some(open) = &mut self.open {
            open.is_said = false;
        }
    }

    /// Since when it keeps others from this in a transaction that was begun in so many words, and until when nothing was
    /// asked for that.
    pub(super) fn keeps(&self, wanted: Touched) -> Option<(Time, Time)> {
        let open = self.open.as_ref().filter(|open| open.is_said)?;
        Some((open.keeps(wanted)?, self.asks.unwrap_or(Time::MAX)))
    }
}

impl Change {
    pub(super) fn new(call: &Call, touched: Touched, asked: Time, said: Time) -> Change {
        Change {
            connection: call.connection,
            touched,
            asked,
            said,
            is_refused: call.outcome.is_error(),
            is_counted: false,
        }
    }

    /// Whether others wait for it until it is answered: whoever wants the table is behind whoever changes what it is.
    pub(super) fn is_ahead_of(&self, connection: ConnectionId, wanted: Touched) -> bool {
        let is_one = self.touched.access == Access::Defines;
        is_one && self.connection != connection && self.touched.table == wanted.table
    }

    /// How long it took.
    pub(super) fn ns(&self) -> i64 {
        (self.said - self.asked).max(0)
    }
}

impl Ended {
    /// Whether this one of another session was answered as it was broken off, when it had waited itself.
    pub(super) fn lets_go(&self, change: &Change) -> bool {
        self.is_deadlock
            && self.connection != change.connection
            && self.transaction.keeps(change.touched).is_some()
            && change.asked < self.asked.time
            && (0..=WOKEN_NS).contains(&(change.said - self.asked.time))
    }

    /// How long the server worked for it, or may have.
    pub(super) fn worked_ns(&self) -> i64 {
        let life = self.asked.time - self.transaction.since;
        life.saturating_sub(self.transaction.thought_ns).max(0)
    }
}

impl Transaction {
    pub(super) fn new(since: Time, touched: Touched, is_said: bool) -> Transaction {
        Transaction {
            has: vec![(touched, since)],
            since,
            is_said,
            ..Transaction::default()
        }
    }

    /// One of which all that the server did not work is known.
    pub(super) fn of(
        since: Time,
        touched: Touched,
        thought_ns: i64,
        paused_ns: i64,
    ) -> Transaction {
        Transaction {
            thought_ns,
            paused_ns,
            ..Transaction::new(since, touched, false)
        }
    }

    /// The server worked on nothing for it for so long: for certain, and with ways of statements.
    pub(super) fn add(&mut self, thought_ns: i64, paused_ns: i64) {
        self.thought_ns = self.thought_ns.saturating_add(thought_ns);
        self.paused_ns = self.paused_ns.saturating_add(paused_ns);
    }

    /// It has this too.
    pub(super) fn touches(&mut self, touched: Touched, at: Time) {
        let has_it = self.has.iter().any(|(has, _)| *has == touched);
        if !has_it && self.has.len() < limits::LOCK_TABLES_EACH {
            self.has.push((touched, at));
        }
    }

    /// Since when it keeps others from this, if it does.
    pub(super) fn keeps(&self, wanted: Touched) -> Option<Time> {
        let has = self.has.iter().filter(|(has, _)| has.keeps(wanted));
        has.map(|(_, since)| *since).min()
    }
}

/// Whether the error that it was answered with ends what its transaction has done. Of PostgreSQL each does; InnoDB rolls back
/// whom it breaks out of a deadlock.
pub(super) fn ends_its_transaction(call: &Call) -> bool {
    match call.protocol {
        Protocol::Pgsql => call.outcome.is_error(),
        Protocol::Mysql => is_of_deadlock(call),
        _ => false,
    }
}

/// Whether the server says that it was broken out of a deadlock.
pub(super) fn is_of_deadlock(call: &Call) -> bool {
    matches!(broken_off::why(call), Some((Why::Deadlock, _)))
}

/// Whether it may have ended its transaction beside what it did: several statements in one, or one that commits by itself
/// what changes a table.
pub(super) fn may_end_it(call: &Call) -> bool {
    let Some(statement) = statement_of(call) else {
        return false;
    };
    let normal = statement.normal.trim_end().trim_end_matches(';');
    let commits = || matches!(wanted_table(normal), Some((_, Access::Defines)));
    normal.contains(';') || call.protocol != Protocol::Pgsql && commits()
}
