//! Calls of SMB into what connections had of files for themselves: parts that they locked, and files that the server
//! asked them to give back.
//!
//! What a connection asks meanwhile the server works on: only the rest of the time is its client's thought.

use super::transactions::Idle;
use super::{Ended, Touched, Transaction};
use crate::work::{work_of_file, work_of_part};
use hashbrown::HashMap;
use model::{Call, ConnectionId, Mark, Outcome, Time, limits};

/// Of one server.
#[derive(Default)]
pub(super) struct Files {
    connections: HashMap<ConnectionId, Connection, foldhash::fast::FixedState>,
    /// How many parts they have locked in all.
    locked: usize,
}

/// What a connection has locked, of those that it asked for.
struct Connection {
    locked: Vec<Locked>,
    /// When its last answer had passed.
    answered: Time,
    /// How long the server has worked for it.
    worked_ns: i64,
    /// How soon it asked again with nothing under way: so long a crossing may take. Unknown, nothing is thought.
    least_pause_ns: Option<i64>,
}

/// A part of a file, since when, and how long the server had worked for the connection until then.
struct Locked {
    part: u64,
    file: Option<u64>,
    since: Time,
    worked_ns: i64,
}

impl Files {
    /// Takes a call with its times; what it lets go.
    pub(super) fn call(&mut self, call: &Call, [begun, asked, said]: [Mark; 3]) -> Vec<Ended> {
        let known = self.connections.contains_key(&call.connection);
        let op = call.op.as_str();
        // Who asks to be told of changes waits for somebody to make one.
        if op == "CHANGE_NOTIFY" || !known && self.connections.len() >= limits::LOCK_SESSIONS {
            return Vec::new();
        }
        let connection = self
            .connections
            .entry(call.connection)
            .or_insert(Connection {
                locked: Vec::new(),
                answered: begun.time,
                worked_ns: 0,
                least_pause_ns: None,
            });
        let pause = begun.time - connection.answered;
        if known && pause > 0 && call.outstanding <= 1 {
            let least = connection
                .least_pause_ns
                .map_or(pause, |least| least.min(pause));
            connection.least_pause_ns = Some(least);
        }
        let over = match (op, call.outcome) {
            ("UNLOCK", Outcome::Ok) => {
                let part = work_of_part(call);
                connection.lets_go(|l| Some(l.part) == part, (call.connection, asked, said))
            }
            ("CLOSE", _) => {
                let file = work_of_file(call);
                connection.lets_go(
                    |l| file.is_some() && l.file == file,
                    (call.connection, asked, said),
                )
            }
            _ => Vec::new(),
        };
        self.locked -= over.len();
        // Calls that overlap are one piece of work.
        let from = asked.time.max(connection.answered);
        connection.worked_ns = connection
            .worked_ns
            .saturating_add((said.time - from).max(0));
        connection.answered = connection.answered.max(said.time);
        if let ("LOCK", Outcome::Ok, Some(part)) = (op, call.outcome, work_of_part(call))
            && self.locked < limits::LOCK_PARTS
        {
            self.locked += 1;
            connection.locked.push(Locked {
                part,
                file: work_of_file(call),
                since: said.time,
                worked_ns: connection.worked_ns,
            });
        }
        over
    }

    /// A connection has given back a file, as the server asked it to from `asked` on.
    pub(super) fn given_back(&self, call: &Call, asked: Mark, said: Mark) -> Option<Ended> {
        let file = work_of_file(call)?;
        let connection = self.connections.get(&call.connection)?;
        // What it wrote back first the server had to write: until the last answer nothing is known to be thought.
        let paused_ns = said.time - asked.time.max(connection.answered);
        Some(Ended {
            connection: call.connection,
            transaction: Transaction::of(
                asked.time,
                Touched::changes(file),
                connection.idle(paused_ns),
            ),
            asked: said,
            said: said.time,
        })
    }

    /// The connection is over, and what it had with it.
    pub(super) fn closed(&mut self, id: ConnectionId) {
        let had = self.connections.remove(&id);
        self.locked -= had.map_or(0, |c| c.locked.len());
    }
}

impl Connection {
    fn idle(&self, paused_ns: i64) -> Idle {
        let beyond = |least| paused_ns.saturating_sub(least).max(0);
        Idle {
            paused_ns,
            ..Idle::thought(self.least_pause_ns.map_or(0, beyond))
        }
    }

    fn lets_go(
        &mut self,
        is_over: impl Fn(&Locked) -> bool,
        (id, asked, said): (ConnectionId, Mark, Mark),
    ) -> Vec<Ended> {
        let over: Vec<Locked> = self.locked.extract_if(.., |l| is_over(l)).collect();
        let ended = over.iter().map(|held| {
            let meanwhile_ns = self.worked_ns - held.worked_ns;
            let paused_ns = (asked.time - held.since)
                .saturating_sub(meanwhile_ns)
                .max(0);
            Ended {
                connection: id,
                transaction: Transaction::of(
                    held.since,
                    Touched::changes(held.part),
                    self.idle(paused_ns),
                ),
                asked,
                said: said.time,
            }
        });
        ended.collect()
    }
}
