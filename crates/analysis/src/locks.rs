//! Calls of databases into who may have waited for a lock that another session held while it asked nothing.
//!
//! A transaction that has changed a table keeps what it changed until it ends. While its client thinks, the
//! server works on nothing for it, and who wants to change the same waits. On the wire that wait looks like the
//! server's own work. What tells it apart: another session's transaction on the same table was open meanwhile,
//! its client thought, and the answer came as soon as that one ended. Which rows were meant no packet says, so
//! that this bounds what is the server's, and accuses nobody.

use crate::half::{statement_of, work_of};
use crate::worst::Exhibit;
use hashbrown::HashMap;
use model::sql::op;
use model::{Call, ConnectionId, Endpoint, Mark, Time, limits};
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Who waits for a lock goes on at most so much later than it is let go: an idle process is woken, works,
/// and answers.
const WOKEN_NS: i64 = 5_000_000;

/// Shorter waits are not looked at: they are not what anybody complains of. Nor is it thought that takes a client
/// less from one statement to the next.
const WORTH_NS: i64 = 1_000_000;

/// What a server's sessions hold and held.
#[derive(Default)]
struct Server {
    sessions: HashMap<ConnectionId, Session, foldhash::fast::FixedState>,
    /// In the order in which they ended.
    ended: VecDeque<Ended>,
    /// The soonest that any session asked again: so long a crossing may take.
    least_pause_ns: Option<i64>,
}

struct Session {
    /// When its last answer had passed.
    answered: Time,
    open: Option<Transaction>,
}

/// A transaction that has changed something.
#[derive(Default)]
struct Transaction {
    tables: Vec<u64>,
    /// Since when it holds something, and how long its client has thought since then.
    since: Time,
    thought_ns: i64,
}

struct Ended {
    connection: ConnectionId,
    transaction: Transaction,
    /// When the server was told to end it, and when it said that it had.
    asked: Mark,
    said: Time,
}

/// What may have been a wait for locks.
#[derive(Clone, Copy, Debug)]
pub struct LockWait {
    pub ns: i64,
    /// Where the transaction was ended that held the last of them.
    pub let_go: Mark,
}

impl LockWait {
    /// What shows it: the end of the other transaction, and the answer that came then.
    #[must_use]
    pub fn exhibit(&self, capture: usize, response: Mark) -> Exhibit {
        Exhibit::of(self.ns, capture, self.let_go, response)
    }
}

/// Changes of tables, and transactions that held them, by server.
#[derive(Default)]
pub struct Locks {
    servers: HashMap<Endpoint, Server, foldhash::fast::FixedState>,
    /// The table that a [work](work_of) changes.
    tables: HashMap<u64, u64, foldhash::fast::FixedState>,
}

impl Locks {
    /// Takes a call that is over and has its times.
    pub fn call(&mut self, call: &Call) {
        let (Some(begun), Some(asked), Some(said)) =
            (call.request_first, call.request_last, call.response_last)
        else {
            return;
        };
        let is_known = self.servers.contains_key(&call.server);
        if !call.protocol.is_sql() || !is_known && self.servers.len() >= limits::LOCK_SERVERS {
            return;
        }
        let table = statement_of(call).and_then(|s| changed_table(&s.normal));
        let table = table.map(|name| foldhash::fast::FixedState::default().hash_one(name));
        if let Some(table) = table
            && self.tables.len() < limits::LOCK_TABLES
        {
            self.tables.insert(work_of(call), table);
        }
        let server = self.servers.entry(call.server).or_default();
        let Some(session) = server.sessions.get_mut(&call.connection) else {
            if server.sessions.len() < limits::LOCK_SESSIONS {
                let session = Session::new(said.time, table);
                server.sessions.insert(call.connection, session);
            }
            return;
        };
        let pause = (begun.time - session.answered).max(0);
        let least = server
            .least_pause_ns
            .map_or(pause, |least| least.min(pause));
        server.least_pause_ns = Some(least);
        session.answered = said.time;
        if let Some(open) = &mut session.open {
            let thought = Some(pause - least).filter(|ns| *ns >= WORTH_NS);
            open.thought_ns = open.thought_ns.saturating_add(thought.unwrap_or(0));
        }
        match call.op {
            op::BEGIN => session.open = None,
            op::COMMIT | op::ROLLBACK => {
                if let Some(transaction) = session.open.take() {
                    if server.ended.len() >= limits::LOCKS_ENDED {
                        server.ended.pop_front();
                    }
                    server.ended.push_back(Ended {
                        connection: call.connection,
                        transaction,
                        asked,
                        said: said.time,
                    });
                }
            }
            _ => match (&mut session.open, table) {
                (Some(open), Some(table)) => open.changes(table),
                (None, Some(_)) => *session = Session::new(said.time, table),
                (_, None) => {}
            },
        }
    }

    /// What of a wait for an answer may have been one for locks that other sessions held while their clients
    /// thought; of a call of this [work](work_of) that came whole at `from` and was answered at `to`.
    #[must_use]
    pub fn waited(
        &self,
        server: Endpoint,
        connection: ConnectionId,
        work: u64,
        from: Time,
        to: Time,
    ) -> Option<LockWait> {
        if work == 0 || to - from < WORTH_NS {
            return None;
        }
        let (server, table) = (self.servers.get(&server)?, self.tables.get(&work)?);
        let first = server.ended.partition_point(|e| e.said <= from);
        let during = server
            .ended
            .range(first..)
            .take_while(|e| e.said - to <= WOKEN_NS);
        let held = during.filter(|e| {
            let others = e.connection != connection && e.transaction.tables.contains(table);
            others && e.transaction.since < to && e.asked.time > from
        });
        // One after the other holds it.
        let (mut ns, mut reached, mut let_go) = (0, from, None);
        for e in held {
            let asked = e.asked.time;
            let begins = e.transaction.since.max(reached);
            ns += (asked.min(to) - begins).clamp(0, e.transaction.thought_ns);
            reached = reached.max(asked);
            if asked <= to && to - e.said <= WOKEN_NS {
                let_go = Some(e.asked);
            }
        }
        Some(LockWait {
            ns: ns.min(to - from),
            let_go: let_go?,
        })
    }
}

impl Session {
    /// That has changed this table by a statement that was answered at `answered`, if any.
    fn new(answered: Time, table: Option<u64>) -> Session {
        let open = table.map(|table| Transaction {
            tables: vec![table],
            since: answered,
            thought_ns: 0,
        });
        Session { answered, open }
    }
}

impl Transaction {
    fn changes(&mut self, table: u64) {
        if !self.tables.contains(&table) && self.tables.len() < limits::LOCK_TABLES_EACH {
            self.tables.push(table);
        }
    }
}

/// The table that a statement changes or locks, by the first words of its normal form.
fn changed_table(normal: &str) -> Option<&str> {
    let mut words = normal.split_ascii_whitespace();
    let first = words.next()?;
    let is = |word: &str, other: &str| word.eq_ignore_ascii_case(other);
    let mut behind = |wanted: &str| {
        let found = words.find(|w| is(w, wanted));
        found.and_then(|_| words.next())
    };
    let name = match first {
        _ if is(first, "update") => words.find(|w| !is(w, "only"))?,
        _ if is(first, "insert") || is(first, "replace") || is(first, "merge") => behind("into")?,
        _ if is(first, "delete") => behind("from")?,
        _ if is(first, "lock") => words.find(|w| !is(w, "table") && !is(w, "tables"))?,
        _ if is(first, "select") && normal.to_ascii_lowercase().contains(" for update") => {
            behind("from")?
        }
        _ => return None,
    };
    let end = name.find(['(', ',', ';']).unwrap_or(name.len());
    name.get(..end).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::tests::{call, sql};
    use model::Name;

    const MS: i64 = 1_000_000;
    const HOLDER: u64 = 1;
    const WAITER: u64 = 2;
    const CHANGE: &str = "update stock set n = 1 where id = 7";

    /// A call of a connection from `from` on, which the server has from 1 ms later for `wait`.
    fn of(connection: u64, op: Name, text: &str, from: i64, wait: i64) -> Call {
        Call {
            connection: ConnectionId(connection),
            ..call(op, &sql("ann", Some(text)), from, wait, 0)
        }
    }

    /// One session changes a row, thinks from 14 to 100 ms, works from 101 on for `works` more, and commits from
    /// 200 ms on for 1 ms; another wants to change `text` from 21 ms on, and has it `until`. Who asks again does so
    /// after 6 ms at least.
    fn waited(works: i64, text: &str, until: i64) -> i64 {
        let mut locks = Locks::default();
        let waits = of(WAITER, op::EXECUTE, text, 20, until - 21);
        for call in [
            of(HOLDER, op::BEGIN, "begin", 0, 1),
            of(HOLDER, op::EXECUTE, CHANGE, 10, 1),
            of(HOLDER, op::EXECUTE, "select 1", 100, 1 + works),
            of(HOLDER, op::COMMIT, "commit", 200, 1),
        ] {
            locks.call(&call);
        }
        locks.call(&waits);
        let at = |ms: i64| Time(ms * MS);
        let wait = locks.waited(
            waits.server,
            waits.connection,
            work_of(&waits),
            at(21),
            at(until),
        );
        wait.map_or(0, |wait| {
            // The commit's request.
            assert_eq!(wait.let_go.time.0 / MS, 201);
            wait.ns / MS
        })
    }

    #[test]
    fn who_is_answered_as_a_transaction_on_the_same_table_ends_may_have_waited_for_it() {
        assert_eq!(waited(0, CHANGE, 203), 170);
        assert_eq!(waited(0, "delete from stock where id = 8", 203), 170);
    }

    #[test]
    fn what_the_server_works_for_the_holder_is_its_own() {
        assert_eq!(waited(90, CHANGE, 203), 170 - 90);
    }

    #[test]
    fn other_tables_and_other_moments_are_no_locks() {
        assert_eq!(waited(0, "update bin set n = 1", 203), 0);
        assert_eq!(waited(0, "select n from stock", 203), 0);
        // 204 ms: the commit is answered; 5 ms later who waited for it runs.
        assert_eq!(waited(0, CHANGE, 209), 170);
        assert_eq!(waited(0, CHANGE, 210), 0);
        assert_eq!(waited(0, CHANGE, 190), 0);
    }

    #[test]
    fn the_table_that_a_statement_changes() {
        for (normal, table) in [
            ("update only stock set n = ?", Some("stock")),
            ("insert into stock(id, n) values (?)", Some("stock")),
            ("delete from stock", Some("stock")),
            ("lock table stock in exclusive mode", Some("stock")),
            ("select n from stock where id = ? for update", Some("stock")),
            ("select n from stock", None),
            ("update", None),
            ("", None),
        ] {
            assert_eq!(changed_table(normal), table, "{normal}");
        }
    }
}
