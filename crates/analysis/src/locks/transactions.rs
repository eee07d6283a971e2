//! What sessions of a database have changed and not yet committed, and how it ended.

use super::WOKEN_NS;
use crate::broken_off::{self, Why};
use model::{Call, ConnectionId, Mark, Protocol, Time, limits};

/// A statement that changed a table, and was answered.
#[derive(Clone, Copy)]
pub(super) struct Change {
    pub(super) connection: ConnectionId,
    pub(super) table: u64,
    pub(super) asked: Time,
    pub(super) said: Time,
}

/// A session of a database.
pub(super) struct Session {
    /// When its last answer had passed.
    pub(super) answered: Time,
    /// It said BEGIN, and nothing since that ends it.
    pub(super) has_begun: bool,
    /// When it asked for what was never answered.
    pub(super) asks: Option<Time>,
    pub(super) open: Option<Transaction>,
}

/// A transaction that has changed something.
#[derive(Clone, Default)]
pub(super) struct Transaction {
    pub(super) tables: Vec<u64>,
    /// Since when it holds something, and how long its client has thought since then, or it waited for what others held.
    pub(super) since: Time,
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
    /// It was broken off as it waited for others.
    pub(super) has_waited: bool,
}

impl Session {
    /// That has changed this table by a statement that was answered at `answered`, if any.
    pub(super) fn new(answered: Time, table: Option<u64>, has_begun: bool) -> Session {
        Session {
            answered,
            has_begun,
            asks: None,
            open: table.map(|table| Transaction::new(answered, table, false)),
        }
    }

    /// Since when it holds this table in a transaction that was begun in so many words, and until when nothing was asked for that.
    pub(super) fn holds(&self, table: u64) -> Option<(Time, Time)> {
        let open = self.open.as_ref().filter(|open| open.is_said)?;
        let until = self.asks.unwrap_or(Time::MAX);
        open.tables.contains(&table).then_some((open.since, until))
    }
}

impl Change {
    /// How long it took.
    pub(super) fn ns(&self) -> i64 {
        (self.said - self.asked).max(0)
    }
}

impl Ended {
    /// Whether this one of another session was answered as it was broken off, when it had waited itself.
    pub(super) fn lets_go(&self, change: &Change) -> bool {
        self.has_waited
            && self.connection != change.connection
            && self.transaction.tables.contains(&change.table)
            && change.asked < self.asked.time
            && (0..=WOKEN_NS).contains(&(change.said - self.asked.time))
    }

    /// How long the server worked for it, or may have.
    pub(super) fn worked_ns(&self) -> i64 {
        self.asked.time - self.transaction.since - self.transaction.thought_ns
    }
}

impl Transaction {
    pub(super) fn new(since: Time, table: u64, is_said: bool) -> Transaction {
        Transaction {
            tables: vec![table],
            since,
            is_said,
            ..Transaction::default()
        }
    }

    /// The server worked on nothing for it for so long: for certain, and with ways of statements.
    pub(super) fn add(&mut self, thought_ns: i64, paused_ns: i64) {
        self.thought_ns = self.thought_ns.saturating_add(thought_ns);
        self.paused_ns = self.paused_ns.saturating_add(paused_ns);
    }

    pub(super) fn changes(&mut self, table: u64) {
        if !self.tables.contains(&table) && self.tables.len() < limits::LOCK_TABLES_EACH {
            self.tables.push(table);
        }
    }
}

/// Whether the error that it was answered with ends what its transaction has done. Of PostgreSQL each does; InnoDB rolls back
/// whom it breaks out of a deadlock.
pub(super) fn ends_its_transaction(call: &Call) -> bool {
    match call.protocol {
        Protocol::Pgsql => call.outcome.is_error(),
        Protocol::Mysql => matches!(broken_off::why(call), Some((Why::Deadlock, _))),
        _ => false,
    }
}
