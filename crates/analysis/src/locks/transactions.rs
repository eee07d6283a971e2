//! What sessions of a database have of tables until they commit, and how it ended.

use super::WOKEN_NS;
use super::tables::Touched;
use crate::broken_off::{self, Why};
use model::{Call, ConnectionId, Mark, Protocol, Time, limits};

/// A statement that changes what a table is, and when that was answered: at no time, if never.
#[derive(Clone, Copy)]
pub(super) struct Definition {
    pub(super) connection: ConnectionId,
    pub(super) touched: Touched,
    pub(super) asked: Time,
    pub(super) said: Time,
}

/// A session of a database.
pub(super) struct Session {
    /// When its last answer had passed.
    pub(super) answered: Time,
    /// Where its tables are; 0 where it is not known.
    pub(super) database: u64,
    /// It said BEGIN, and nothing since that ends it.
    pub(super) has_begun: bool,
    /// It has ended what it had not begun: it is in a transaction whenever it has changed something.
    pub(super) begins_by_itself: bool,
    /// When it asked for what was never answered.
    pub(super) asks: Option<Time>,
    pub(super) open: Option<Transaction>,
}

/// What a transaction has of a table: when it asked for that, and since when it has it.
#[derive(Clone, Copy)]
struct Has {
    touched: Touched,
    asked: Time,
    since: Time,
}

/// A transaction that has something.
#[derive(Clone, Default)]
pub(super) struct Transaction {
    has: Vec<Has>,
    /// How long its client has thought since it has anything; and how long it waited for what others held, as its server says.
    pub(super) thought_ns: i64,
    pub(super) waited_ns: i64,
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
}

impl Session {
    /// That has changed this by a statement that was answered at `answered`, if any.
    pub(super) fn new(
        [asked, answered]: [Time; 2],
        changed: Option<Touched>,
        has_begun: bool,
    ) -> Session {
        Session {
            answered,
            database: changed.map_or(0, |touched| touched.database),
            has_begun,
            begins_by_itself: false,
            asks: None,
            open: changed.map(|touched| Transaction::new([asked, answered], touched, false)),
        }
    }

    /// Its transaction, with what its client has thought since its last answer, until its connection ended.
    pub(super) fn until(self, end: Time) -> Option<Transaction> {
        let mut open = self.open?;
        let thought_ns = (self.asks.unwrap_or(end) - self.answered).max(0);
        open.add(thought_ns, thought_ns);
        Some(open)
    }

    /// Since when it keeps others from this, and until when nothing was asked for that. Where each statement may have been a
    /// transaction of its own nothing is known to be kept.
    pub(super) fn keeps(&self, wanted: Touched) -> Option<(Time, Time)> {
        let open = self.open.as_ref();
        let open = open.filter(|open| open.is_said || self.begins_by_itself)?;
        Some((open.keeps(wanted)?, self.asks.unwrap_or(Time::MAX)))
    }
}

impl Definition {
    /// Whether others wait behind it: whoever wants the table is behind whoever changes what it is.
    pub(super) fn is_ahead_of(&self, connection: ConnectionId, wanted: Touched) -> bool {
        self.connection != connection && self.touched.keeps(wanted)
    }
}

impl Transaction {
    pub(super) fn new([asked, since]: [Time; 2], touched: Touched, is_said: bool) -> Transaction {
        let has = Has {
            touched,
            asked,
            since,
        };
        Transaction {
            has: vec![has],
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
            ..Transaction::new([since; 2], touched, false)
        }
    }

    /// The server worked on nothing for it for so long: for certain, and with ways of statements.
    pub(super) fn add(&mut self, thought_ns: i64, paused_ns: i64) {
        self.thought_ns = self.thought_ns.saturating_add(thought_ns);
        self.paused_ns = self.paused_ns.saturating_add(paused_ns);
    }

    /// While nothing was worked for it, or may have been.
    pub(super) fn idle_ns(&self) -> i64 {
        self.thought_ns.saturating_add(self.waited_ns)
    }

    /// It has this too.
    pub(super) fn touches(&mut self, touched: Touched, [asked, since]: [Time; 2]) {
        let has_it = self.has.iter().any(|has| has.touched == touched);
        if !has_it && self.has.len() < limits::LOCK_TABLES_EACH {
            self.has.push(Has {
                touched,
                asked,
                since,
            });
        }
    }

    /// Since when it keeps others from this, if it does.
    pub(super) fn keeps(&self, wanted: Touched) -> Option<Time> {
        self.keeps_in_turn(wanted, Time::MAX)
    }

    /// The same of somebody who asked then: what was asked for later was had later, if others had to wait for it at all.
    pub(super) fn keeps_in_turn(&self, wanted: Touched, asked: Time) -> Option<Time> {
        let keeps = |has: &&Has| has.touched.keeps(wanted) && has.asked - asked <= WOKEN_NS;
        let has = self.has.iter().filter(keeps);
        has.map(|has| has.since).min()
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
