//! Calls of databases and of file servers into who may have waited for what another session held while it asked nothing.
//!
//! A transaction that has changed a table keeps what it changed until it ends. While its client thinks, the
//! server works on nothing for it, and who wants to change the same waits. On the wire that wait looks like the
//! server's own work. What tells it apart: another session's transaction on the same table was open meanwhile,
//! its client thought, and the answer came as soon as that one ended. Which rows were meant no packet says, so
//! that this bounds what is the server's. Who lets go does so when its client says so, which has nothing to do with when
//! the server is done with the work of others: where answers come then far more often than by chance, they waited for
//! that, and for whom it had waited for itself.
//!
//! Of a protocol that cannot be read (encrypted, or its headers behind the snap length) neither tables nor ends of
//! transactions are known: there, whoever asks on after a pause may let go what all others wait for. By chance that
//! happens too, so of such waits nothing is said until answers came then far more often than by chance
//! ([`Coincidences`]).
//!
//! Sessions also have locks that their clients ask for by name, and locks on tables until they are unlocked
//! ([`crate::session_locks`]): these they keep beyond their transactions. Who asks for a lock that has a name waits for whoever
//! has it, and its server works on nothing, whether or not that one is in the capture.
//!
//! A server that breaks a call off for a lock ([`crate::broken_off`]) says itself what that waited for, not who held it, nor
//! what that one did.
//!
//! SMB says more: who locks a part of a file has it until it lets go ([MS-SMB2] 3.3.5.14), who opens a file that another
//! client holds for itself waits until that has given it back, as the server asked it to (3.3.4.6), and who has to wait is
//! told that the answer will come later. So an answer that was promised and comes then had waited for that ([`files`]).

mod coincidences;
mod files;
mod server;
mod tables;
#[cfg(test)]
mod tests;
mod transactions;

pub use self::coincidences::Coincidences;
use self::server::Server;
use self::tables::{ANYTHING, Access, Asks, Touched, number_of};
use self::transactions::{Ended, Session, Transaction};
use crate::work::{
    asks_for_lock, is_of_file, is_sql, says_that_it_waited, statement_of, was_broken_off,
    without_wait, work_of,
};
use crate::worst::Exhibit;
use hashbrown::HashMap;
use model::sql::op;
use model::{Call, Close, ConnectionId, ConnectionSummary, Endpoint, Mark, Protocol, Time, limits};

/// Who waits for a lock goes on at most so much later than it is let go: an idle process is woken, works,
/// and answers.
const WOKEN_NS: i64 = 5_000_000;

/// Shorter waits are not looked at: they are not what anybody complains of. Nor is it thought that takes a client
/// less from one statement to the next.
const WORTH_NS: i64 = 1_000_000;

/// Letting go takes a fraction of a wait for it.
const SHORT: i64 = 4;

/// What may have been a wait for locks.
#[derive(Clone, Copy, Debug)]
pub struct LockWait {
    /// While clients may have thought that held what was waited for, or what they said was on a way that is longer than that of
    /// others.
    pub ns: i64,
    /// Of that, while those thought from which it went on to the last of them, one letting go for the next.
    pub chain_ns: i64,
    /// While the server worked on nothing for them: the ways of their statements count too.
    pub paused_ns: i64,
    /// Where the transaction was ended that held the last of them, if it was seen.
    pub let_go: Option<Mark>,
}

impl LockWait {
    /// One that was for a lock as a whole: of whom, and whether he thought, is known of what was seen of it, if any was.
    fn of_anybody(whole_ns: i64, seen: Option<LockWait>) -> LockWait {
        LockWait {
            ns: whole_ns,
            chain_ns: seen.map_or(0, |seen| seen.chain_ns).min(whole_ns),
            paused_ns: whole_ns,
            let_go: seen.and_then(|seen| seen.let_go),
        }
    }

    /// What shows it: the end of the other transaction, and the answer that came then.
    #[must_use]
    pub fn exhibit(&self, capture: usize, response: Mark) -> Option<Exhibit> {
        Some(Exhibit::of(self.ns, capture, self.let_go?, response))
    }
}

/// All calls of a protocol that is known that may have waited for what other sessions held.
#[derive(Clone, Copy, Default, Debug)]
pub struct LockWaits {
    pub calls: u64,
    /// Of them, of file servers.
    pub files: u64,
    /// And those that asked for a lock alone; those of them that had it while nobody was seen to let go.
    pub asked: u64,
    pub unseen: u64,
    /// Beside them, those that a database broke off, which says itself that they waited; those that it broke off without
    /// saying so; and those that were never answered.
    pub broken_off: u64,
    pub cut_short: u64,
    pub still: u64,
    /// From each request to its answer, in all.
    pub waited_ns: i64,
    /// Of it, at most, while the server worked on nothing for those who held them.
    pub paused_ns: i64,
}

impl LockWaits {
    /// All that were answered as they were meant to.
    pub(crate) fn answered(&self) -> u64 {
        self.calls + self.asked
    }

    /// Whether most of them are of file servers.
    pub(crate) fn are_files(&self) -> bool {
        self.files * 2 > self.calls
    }

    /// Takes a call that was never answered, if somebody held what it wants.
    pub(crate) fn add_still(&mut self, held_ns: i64) {
        self.still += u64::from(held_ns > 0);
    }

    /// Takes one of a call of this [work](work_of) that waited for so long.
    pub fn add(&mut self, work: u64, waited_ns: i64, wait: &LockWait) {
        if !is_of_file(work) && says_that_it_waited(work) {
            self.broken_off += 1;
        } else if was_broken_off(work) {
            self.cut_short += 1;
        } else if asks_for_lock(work) {
            self.asked += 1;
            self.unseen += u64::from(wait.let_go.is_none());
        } else if work != 0 {
            self.calls += 1;
            self.files += u64::from(is_of_file(work));
            self.waited_ns = self.waited_ns.saturating_add(waited_ns);
            self.paused_ns = self.paused_ns.saturating_add(wait.paused_ns);
        }
    }
}

/// Changes of tables, and transactions that held them, by server.
#[derive(Default)]
pub struct Locks {
    servers: HashMap<Endpoint, Server, foldhash::fast::FixedState>,
    /// What a [work](work_of) asks for.
    asks: HashMap<u64, Asks, foldhash::fast::FixedState>,
    /// Calls of which the snap length hides what they ask, or its end.
    blind: u64,
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
        let is_turn = call.op == op::TURN;
        let is_file = matches!(call.protocol, Protocol::Smb2 | Protocol::Smb2Callback);
        let may_lock = call.protocol.is_sql() || is_turn || is_file;
        if !may_lock || !is_known && self.servers.len() >= limits::LOCK_SERVERS {
            return;
        }
        if is_file {
            self.of_files(call, [begun, asked, said]);
            return;
        }
        let database = database_of(call);
        let asks = self.asks(call, database);
        let server = self.servers.entry(call.server).or_default();
        let life = [asked.time, said.time];
        server.defines(call.connection, asks.touched, life);
        let Some(session) = server.sessions.get_mut(&call.connection) else {
            if server.sessions.len() < limits::LOCK_SESSIONS {
                let session = Session::new(call, asks, life, database);
                server.sessions.insert(call.connection, session);
            }
            return;
        };
        (session.asks, session.database) = (None, database);
        let pause = (begun.time - session.answered).max(0);
        let idle = server.ways.idle(call.client.address, pause);
        let answered = std::mem::replace(&mut session.answered, said.time);
        if is_turn {
            if idle.perhaps_ns > 0 {
                server.end(Ended {
                    connection: call.connection,
                    transaction: Transaction::of(answered, Touched::changes(ANYTHING), idle),
                    asked,
                    said: said.time,
                });
            }
            return;
        }
        let ended = session.take(call, asks, life, idle);
        for transaction in ended.into_iter().flatten() {
            server.end(Ended {
                connection: call.connection,
                transaction,
                asked: match call.outcome.is_error() {
                    true => call.response_first.unwrap_or(said),
                    false => asked,
                },
                said: said.time,
            });
        }
    }

    /// What a call wants of which table of its database, and what it does with a lock of its session.
    fn asks(&mut self, call: &Call, database: u64) -> Asks {
        let Some(statement) = statement_of(call) else {
            return Asks::default();
        };
        self.blind += u64::from(statement.truncated);
        let work = without_wait(work_of(call));
        let known = self.asks.get(&work).copied();
        let asks = known.unwrap_or_else(|| {
            let asks = Asks::of(&statement.normal);
            // Readers of Oracle's wait for nobody, and nobody for them.
            let is_in_turn =
                |t: &Touched| t.access != Access::Reads || call.protocol != Protocol::Tns;
            let asks = Asks {
                touched: asks.touched.filter(is_in_turn),
                ..asks
            };
            // What there is no room for is looked at again; what changes something is not to be missed for what reads.
            let is_of_others = asks.touched.is_some_and(|t| t.access != Access::Reads);
            let room = match is_of_others || asks.lock.is_some() {
                true => limits::LOCK_TABLES,
                false => limits::LOCK_TABLES / 2,
            };
            if self.asks.len() < room {
                self.asks.insert(work, asks);
            }
            asks
        });
        Asks {
            touched: asks.touched.map(|t| t.of(database)),
            ..asks
        }
    }

    /// A call of SMB, or of a server that asks a file back.
    fn of_files(&mut self, call: &Call, times: [Mark; 3]) {
        let [_, asked, said] = times;
        if call.protocol == Protocol::Smb2Callback {
            // It is the server that asks.
            if let Some(server) = self.servers.get_mut(&call.client)
                && let Some(ended) = server.files.given_back(call, asked, said)
            {
                server.end(ended);
            }
            return;
        }
        let server = self.servers.entry(call.server).or_default();
        for ended in server.files.call(call, times) {
            server.end(ended);
        }
    }

    /// A connection is over, or the capture is.
    pub fn closed(&mut self, c: &ConnectionSummary) {
        let Some(server) = self.servers.get_mut(&c.server) else {
            return;
        };
        server.files.closed(c.id);
        if !matches!(c.close, Close::Finished | Close::Reset) {
            return;
        }
        // Its server ends what it has begun.
        let session = server.sessions.remove(&c.id);
        for transaction in session.into_iter().flat_map(|s| s.until(c.last.time)) {
            server.end(Ended {
                connection: c.id,
                transaction,
                asked: c.last,
                said: c.last.time,
            });
        }
    }

    /// What of a wait for an answer may have been one for locks that other sessions held while their clients
    /// thought; of a call of this [work](work_of) that came whole at `from` and was answered at `to`, which is counted in
    /// `chance`.
    #[must_use]
    pub fn waited(
        &self,
        server: Endpoint,
        connection: ConnectionId,
        work: u64,
        life: (Time, Time),
        chance: &mut Coincidences,
    ) -> Option<LockWait> {
        let whole = life.1 - life.0;
        if whole < WORTH_NS {
            return None;
        }
        let says_so = says_that_it_waited(work);
        let wants = self.wants(server, connection, work);
        if !is_of_file(work) && says_so {
            return Some(LockWait::of_anybody(whole, None));
        }
        if was_broken_off(work) {
            // Whoever has it need not have let go by then.
            let (server, wanted) = wants?;
            let held_ns = server.still_held_ns(connection, wanted, life);
            return (held_ns >= WORTH_NS).then(|| LockWait {
                chain_ns: 0,
                ..LockWait::of_anybody(held_ns, None)
            });
        }
        let holders = wants.map(|(server, wanted)| server.holders(connection, wanted, life));
        let wait = holders.as_ref().and_then(|h| h.wait);
        if is_of_file(work) {
            // As a rule somebody else had the file.
            return says_so.then_some(LockWait::of_anybody(whole, wait));
        }
        let holders = holders?;
        if holders.were_kept_away {
            // Of all that wait behind one each waits for the same, and what that does then takes as long as it takes.
            return wait.map(|wait| LockWait {
                chain_ns: 0,
                ..wait
            });
        }
        let chance = chance.of_work(work);
        chance.add(whole, holders.ended, wait.is_some());
        if asks_for_lock(work) {
            return Some(LockWait::of_anybody(whole, wait));
        }
        wait
    }

    /// How many calls there are whose statement is not known to its end.
    pub(crate) fn blind(&self) -> u64 {
        self.blind
    }

    /// What a call of this work wants of its server.
    fn wants(
        &self,
        server: Endpoint,
        connection: ConnectionId,
        work: u64,
    ) -> Option<(&Server, Touched)> {
        let server = self.servers.get(&server)?;
        let wanted = match without_wait(work) {
            0 => Touched::changes(ANYTHING),
            file if is_of_file(file) => Touched::changes(file),
            statement => self.asks.get(&statement)?.touched?,
        };
        let database = server.sessions.get(&connection).map_or(0, |s| s.database);
        Some((server, wanted.of(database)))
    }

    /// For how long of a wait without an answer another session held what a call of this [work](work_of) wants, in a
    /// transaction that is still open and for which nothing is asked.
    #[must_use]
    pub fn still_held_ns(
        &self,
        server: Endpoint,
        connection: ConnectionId,
        work: u64,
        life: (Time, Time),
    ) -> i64 {
        let wants = self.wants(server, connection, work);
        let wants = wants.filter(|_| is_sql(work));
        wants.map_or(0, |(server, wanted)| {
            server.still_held_ns(connection, wanted, life)
        })
    }

    /// Takes a call that was never answered: its session does not think.
    pub fn unanswered(&mut self, call: &Call) {
        let touched = self.asks(call, database_of(call)).touched;
        let (Some(server), Some(asked)) = (self.servers.get_mut(&call.server), call.request_first)
        else {
            return;
        };
        if let Some(session) = server.sessions.get_mut(&call.connection) {
            session.asks = Some(asked.time);
        }
        server.defines(call.connection, touched, [asked.time, Time::MAX]);
    }
}

/// A number for the database that a call's session uses; 0 where it is not known.
fn database_of(call: &Call) -> u64 {
    let session = call.sql.as_ref().map(|sql| &sql.session);
    let database = session.and_then(|session| session.database.as_deref());
    database.map_or(0, number_of)
}
