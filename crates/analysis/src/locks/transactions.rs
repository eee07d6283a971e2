//! What sessions of a database have of tables until they commit, and how it ended.

use super::WOKEN_NS;
use super::tables::{Access, Asks, Touched};
use crate::broken_off::{self, Why};
use crate::session_locks::SessionLock;
use model::sql::op;
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
    has_begun: bool,
    /// It has ended what it had not begun: it is in a transaction whenever it has changed something.
    begins_by_itself: bool,
    /// When it asked for what was never answered.
    pub(super) asks: Option<Time>,
    open: Option<Transaction>,
    /// What it keeps whatever becomes of its transaction, as if that were one; and how often it has asked for such a thing.
    kept: Option<Transaction>,
    kept_times: u32,
}

/// What a transaction has of a table: when it asked for that, and since when it has it.
#[derive(Clone, Copy)]
struct Has {
    touched: Touched,
    asked: Time,
    since: Time,
}

/// While the server works on nothing for a session.
#[derive(Clone, Copy, Default)]
pub(super) struct Idle {
    /// Its client thinks, for certain.
    pub(super) thought_ns: i64,
    /// It may think, or wait for others, or be on a way that is longer than that of others.
    pub(super) perhaps_ns: i64,
    /// With ways of statements, as far as they pass behind the place of the capture.
    pub(super) paused_ns: i64,
}

impl Idle {
    /// Its client thinks all the while.
    pub(super) fn thought(ns: i64) -> Idle {
        Idle {
            thought_ns: ns,
            perhaps_ns: ns,
            paused_ns: ns,
        }
    }

    fn add(&mut self, more: Idle) {
        self.thought_ns = self.thought_ns.saturating_add(more.thought_ns);
        self.perhaps_ns = self.perhaps_ns.saturating_add(more.perhaps_ns);
        self.paused_ns = self.paused_ns.saturating_add(more.paused_ns);
    }
}

/// A transaction that has something.
#[derive(Clone, Default)]
pub(super) struct Transaction {
    has: Vec<Has>,
    /// While the server worked on nothing for it, since it has anything.
    pub(super) idle: Idle,
    /// Its client said that it begins one: else each statement may have been one of its own.
    pub(super) is_said: bool,
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
    /// Whose first call that is seen is this one, which was answered. What it had before is not known.
    pub(super) fn new(call: &Call, asks: Asks, life: [Time; 2], database: u64) -> Session {
        let [_, answered] = life;
        let mut session = Session {
            answered,
            database,
            has_begun: false,
            begins_by_itself: false,
            asks: None,
            open: None,
            kept: None,
            kept_times: 0,
        };
        if !call.outcome.is_error() && !matches!(call.op, op::COMMIT | op::ROLLBACK) {
            session.has(asks, life);
        }
        session.has_begun = call.op == op::BEGIN;
        session
    }

    /// Takes a call that was answered, and what passed before it. What it has let go of, if anything.
    pub(super) fn take(
        &mut self,
        call: &Call,
        asks: Asks,
        life: [Time; 2],
        idle: Idle,
    ) -> [Option<Transaction>; 2] {
        let waited_ns = match broken_off::is_of_lock(call) {
            true => life[1] - life[0],
            false => 0,
        };
        for held in self.open.iter_mut().chain(&mut self.kept) {
            held.idle.add(idle);
            held.idle.perhaps_ns = held.idle.perhaps_ns.saturating_add(waited_ns);
        }
        // It may go on from a savepoint.
        let broken = self.open.as_ref();
        let broken = broken.filter(|_| ends_its_transaction(call)).cloned();
        match call.op {
            op::BEGIN | op::COMMIT | op::ROLLBACK => {
                let is_begin = call.op == op::BEGIN;
                self.begins_by_itself |= !is_begin && !self.has_begun;
                self.has_begun = is_begin;
                [broken.or(self.open.take()), None]
            }
            // Who is refused has nothing.
            _ if call.outcome.is_error() => [broken, None],
            _ => {
                self.has(asks, life);
                [broken, self.lets_go(asks.lock)]
            }
        }
    }

    /// It has what it asked for.
    fn has(&mut self, asks: Asks, life: [Time; 2]) {
        let Some(touched) = asks.touched else {
            return;
        };
        let by_transaction = Some(SessionLock::Named {
            by_transaction: true,
        });
        let is_beyond = asks.lock.is_some() && asks.lock != by_transaction;
        self.kept_times += u32::from(is_beyond);
        // What is only read outside of a transaction is let go at once.
        let is_had = is_beyond || self.has_begun || touched.access != Access::Reads;
        let held = match is_beyond {
            true => &mut self.kept,
            false => &mut self.open,
        };
        match held {
            Some(held) => held.touches(touched, life),
            None => {
                let is_said = is_beyond || self.has_begun;
                *held = is_had.then(|| Transaction::new(life, touched, is_said));
            }
        }
    }

    /// It says that it lets go of what it keeps: of one thing of several it is not known which.
    fn lets_go(&mut self, lock: Option<SessionLock>) -> Option<Transaction> {
        self.kept_times = match lock? {
            SessionLock::LetsGo => self.kept_times.saturating_sub(1),
            SessionLock::LetsAllGo => 0,
            _ => return None,
        };
        match self.kept_times {
            0 => self.kept.take(),
            _ => self.kept.clone(),
        }
    }

    /// What it has, with what its client has thought since its last answer, until its connection ended.
    pub(super) fn until(self, end: Time) -> impl Iterator<Item = Transaction> {
        let thought_ns = (self.asks.unwrap_or(end) - self.answered).max(0);
        let held = self.open.into_iter().chain(self.kept);
        held.map(move |mut held| {
            held.idle.add(Idle::thought(thought_ns));
            held
        })
    }

    /// Since when it keeps others from this, and until when nothing was asked for that. Where each statement may have been a
    /// transaction of its own nothing is known to be kept.
    pub(super) fn keeps(&self, wanted: Touched) -> Option<(Time, Time)> {
        let held = self.open.iter().chain(&self.kept);
        let held = held.filter(|held| held.is_said || self.begins_by_itself);
        let since = held.filter_map(|held| held.keeps(wanted)).min()?;
        Some((since, self.asks.unwrap_or(Time::MAX)))
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
    pub(super) fn of(since: Time, touched: Touched, idle: Idle) -> Transaction {
        Transaction {
            idle,
            ..Transaction::new([since; 2], touched, false)
        }
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
