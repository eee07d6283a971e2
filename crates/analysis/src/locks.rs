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
//! A server that breaks a call off for a lock ([`broken_off`](crate::broken_off)) says itself what that waited for. Who held
//! it, it does not say: a transaction on the same table that was open, for as long as the server certainly worked on nothing
//! for it. In a deadlock that one waited as well.
//!
//! SMB says more: who locks a part of a file has it until it lets go ([MS-SMB2] 3.3.5.14), who opens a file that another
//! client holds for itself waits until that has given it back, as the server asked it to (3.3.4.6), and who has to wait is
//! told that the answer will come later. So an answer that was promised and comes then had waited for that ([`files`]).

mod coincidences;
mod files;
mod tables;
#[cfg(test)]
mod tests;
mod transactions;

pub use self::coincidences::Coincidences;
use self::files::Files;
use self::tables::{Access, Touched, wanted_table};
use self::transactions::{Change, Ended, Session, Transaction, ends_its_transaction};
use crate::broken_off;
use crate::work::{is_of_file, is_sql, says_that_it_waited, statement_of, without_wait, work_of};
use crate::worst::Exhibit;
use hashbrown::HashMap;
use model::sql::op;
use model::{Call, ConnectionId, ConnectionSummary, Endpoint, Mark, Protocol, Time, limits};
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Who waits for a lock goes on at most so much later than it is let go: an idle process is woken, works,
/// and answers.
const WOKEN_NS: i64 = 5_000_000;

/// Shorter waits are not looked at: they are not what anybody complains of. Nor is it thought that takes a client
/// less from one statement to the next.
const WORTH_NS: i64 = 1_000_000;

/// Letting go takes a fraction of a wait for it.
const SHORT: i64 = 4;

/// Changes of what tables are that are remembered of a server: calls are looked at some seconds after they ended.
const DEFINITIONS: usize = 256;

/// Holders of which each may have waited for one of the others.
const CHAINS: usize = 16;

/// The table of whoever speaks a protocol that is not known.
const ANY_TABLE: u64 = 0;

/// What a server's sessions hold and held.
#[derive(Default)]
struct Server {
    sessions: HashMap<ConnectionId, Session, foldhash::fast::FixedState>,
    files: Files,
    /// In the order in which they ended.
    ended: VecDeque<Ended>,
    /// The soonest that any session asked again: so long a crossing may take.
    least_pause_ns: Option<i64>,
    /// Whether a transaction was broken off as it waited for others.
    has_waited: bool,
    /// The last statements that changed something, and the last that change what a table is, of whatever session.
    changes: VecDeque<Change>,
    definitions: VecDeque<Change>,
}

/// What may have been a wait for locks.
#[derive(Clone, Copy, Debug)]
pub struct LockWait {
    /// While clients thought that held what was waited for.
    pub ns: i64,
    /// Of that, while those thought from which it went on to the last of them, one letting go for the next.
    pub chain_ns: i64,
    /// While the server worked on nothing for them: the ways of their statements count too.
    pub paused_ns: i64,
    /// Where the transaction was ended that held the last of them, if it was seen.
    pub let_go: Option<Mark>,
}

/// Transactions that held something while somebody waited.
#[derive(Default)]
struct Holders {
    wait: Option<LockWait>,
    /// How long, at least, one of them held it while the server worked on nothing for it.
    idle_ns: i64,
    /// How many ended before the answer.
    ended: usize,
    /// They kept somebody else away, behind whom this waited.
    is_behind: bool,
}

impl LockWait {
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
    /// Of them, those that a database broke off, which says itself that they waited.
    pub broken_off: u64,
    /// Of them, those that still waited when the capture ended, or their connection.
    pub still: u64,
    /// From each request to its answer, in all.
    pub waited_ns: i64,
    /// Of it, at most, while the server worked on nothing for those who held them.
    pub paused_ns: i64,
}

impl LockWaits {
    /// Whether most of them are of file servers.
    pub(crate) fn are_files(&self) -> bool {
        self.files * 2 > self.calls
    }

    /// Whether most of them were answered as somebody let go.
    pub(crate) fn were_let_go(&self) -> bool {
        (self.broken_off + self.still) * 2 < self.calls
    }

    /// Takes one of a call that was never answered, and of how much of that somebody held what it wants.
    pub(crate) fn add_still(&mut self, waited_ns: i64, held_ns: i64) {
        if held_ns > 0 {
            self.calls += 1;
            self.still += 1;
            self.waited_ns = self.waited_ns.saturating_add(waited_ns);
            self.paused_ns = self.paused_ns.saturating_add(held_ns);
        }
    }

    /// Takes one of a call of this [work](work_of) that waited for so long.
    pub fn add(&mut self, work: u64, waited_ns: i64, wait: &LockWait) {
        if work != 0 {
            self.calls += 1;
            self.files += u64::from(is_of_file(work));
            self.broken_off += u64::from(!is_of_file(work) && says_that_it_waited(work));
            self.waited_ns = self.waited_ns.saturating_add(waited_ns);
            self.paused_ns = self.paused_ns.saturating_add(wait.paused_ns);
        }
    }
}

/// Changes of tables, and transactions that held them, by server.
#[derive(Default)]
pub struct Locks {
    servers: HashMap<Endpoint, Server, foldhash::fast::FixedState>,
    /// What a [work](work_of) wants of which table, if any.
    tables: HashMap<u64, Option<Touched>, foldhash::fast::FixedState>,
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
        let touched = self.touched(call);
        let changed = touched.filter(|t| t.access != Access::Reads);
        let server = self.servers.entry(call.server).or_default();
        let change = changed.map(|touched| Change {
            connection: call.connection,
            touched,
            asked: asked.time,
            said: said.time,
        });
        let waited_ns = server.waited_ns(call, change);
        if let Some(change) = change {
            server.changed(change);
        }
        let Some(session) = server.sessions.get_mut(&call.connection) else {
            if server.sessions.len() < limits::LOCK_SESSIONS {
                let session = Session::new(said.time, changed, call.op == op::BEGIN);
                server.sessions.insert(call.connection, session);
            }
            return;
        };
        let pause = (begun.time - session.answered).max(0);
        let least = server
            .least_pause_ns
            .map_or(pause, |least| least.min(pause));
        server.least_pause_ns = Some(least);
        let answered = std::mem::replace(&mut session.answered, said.time);
        let thought_ns = Some(pause - least)
            .filter(|ns| *ns >= WORTH_NS)
            .unwrap_or(0);
        if is_turn {
            if thought_ns > 0 {
                server.end(Ended {
                    connection: call.connection,
                    transaction: Transaction::of(
                        answered,
                        Touched::changes(ANY_TABLE),
                        thought_ns,
                        pause,
                    ),
                    asked,
                    said: said.time,
                    has_waited: false,
                });
            }
            return;
        }
        let mut ended = None;
        if let Some(open) = &mut session.open {
            open.add(thought_ns, pause);
            let waited = waited_ns.unwrap_or(0);
            open.add(waited, waited);
            ended = ends_its_transaction(call).then(|| open.clone());
        }
        match call.op {
            op::BEGIN => (session.has_begun, session.open) = (true, None),
            op::COMMIT | op::ROLLBACK => {
                session.has_begun = false;
                if let Some(transaction) = session.open.take() {
                    server.end(Ended {
                        connection: call.connection,
                        transaction,
                        asked,
                        said: said.time,
                        has_waited: false,
                    });
                }
            }
            _ => match (&mut session.open, touched) {
                (Some(open), Some(touched)) => open.touches(touched, said.time),
                // What is only read outside of a transaction is let go at once.
                (None, Some(touched)) if waited_ns.is_none() => {
                    let (begun, is_kept) = (session.has_begun, changed.is_some());
                    session.open =
                        (begun || is_kept).then(|| Transaction::new(said.time, touched, begun));
                }
                (None, Some(_)) | (_, None) => {}
            },
        }
        if let Some(transaction) = ended {
            server.end(Ended {
                connection: call.connection,
                transaction,
                asked: call.response_first.unwrap_or(said),
                said: said.time,
                has_waited: broken_off::is_of_lock(call),
            });
        }
    }

    /// What a call wants of which table.
    fn touched(&mut self, call: &Call) -> Option<Touched> {
        let statement = statement_of(call)?;
        let work = without_wait(work_of(call));
        if let Some(known) = self.tables.get(&work) {
            return *known;
        }
        let wanted = wanted_table(&statement.normal);
        let touched = wanted.map(|(name, access)| Touched {
            table: foldhash::fast::FixedState::default().hash_one(name),
            access,
        });
        if self.tables.len() < limits::LOCK_TABLES {
            self.tables.insert(work, touched);
        }
        touched
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

    /// A connection is over.
    pub fn closed(&mut self, c: &ConnectionSummary) {
        if let Some(server) = self.servers.get_mut(&c.server) {
            server.files.closed(c.id);
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
        (from, to): (Time, Time),
        chance: &mut Coincidences,
    ) -> Option<LockWait> {
        let whole = to - from;
        if whole < WORTH_NS {
            return None;
        }
        let holders = self.holders(server, connection, work, (from, to));
        let wait = holders.as_ref().and_then(|h| h.wait);
        if is_of_file(work) || says_that_it_waited(work) {
            // As a rule somebody else had the file, or held the lock, whom not every capture shows.
            let sure_ns = match is_of_file(work) {
                true => wait.map_or(0, |wait| wait.chain_ns),
                false => holders.map_or(0, |h| h.idle_ns),
            };
            return says_that_it_waited(work).then_some(LockWait {
                ns: whole,
                chain_ns: sure_ns.min(whole),
                paused_ns: whole,
                let_go: wait.and_then(|wait| wait.let_go),
            });
        }
        let holders = holders?;
        // All that wait behind the same one wait for one thing.
        if !holders.is_behind {
            let chance = chance.of_work(work);
            chance.add(whole, holders.ended, wait.is_some());
        }
        wait
    }

    /// For how long of a wait without an answer another session held what a call of this [work](work_of) wants, in a
    /// transaction that is still open and for which nothing is asked.
    #[must_use]
    pub fn still_held_ns(
        &self,
        server: Endpoint,
        connection: ConnectionId,
        work: u64,
        (from, to): (Time, Time),
    ) -> i64 {
        let Some(server) = self.servers.get(&server).filter(|_| is_sql(work)) else {
            return 0;
        };
        let Some(Some(wanted)) = self.tables.get(&work) else {
            return 0;
        };
        let wanted = match server.is_behind(connection, *wanted, (from, to)) {
            true => wanted.alone(),
            false => *wanted,
        };
        let others = server.sessions.iter().filter(|(id, _)| **id != connection);
        let held = others.filter_map(|(_, session)| session.keeps(wanted));
        let each = held.map(|(since, until)| until.min(to) - since.max(from));
        each.max().unwrap_or(0).max(0)
    }

    /// Takes a call that was never answered: its session does not think.
    pub fn unanswered(&mut self, call: &Call) {
        let touched = self.touched(call);
        let (Some(server), Some(asked)) = (self.servers.get_mut(&call.server), call.request_first)
        else {
            return;
        };
        if let Some(session) = server.sessions.get_mut(&call.connection) {
            session.asks = Some(asked.time);
        }
        if let Some(touched) = touched {
            server.changed(Change {
                connection: call.connection,
                touched,
                asked: asked.time,
                said: Time::MAX,
            });
        }
    }

    /// Whose transactions held what a call of this work wants, as far as is known.
    fn holders(
        &self,
        server: Endpoint,
        connection: ConnectionId,
        work: u64,
        (from, to): (Time, Time),
    ) -> Option<Holders> {
        let server = self.servers.get(&server)?;
        let wanted = match without_wait(work) {
            0 => Touched::changes(ANY_TABLE),
            file if is_of_file(file) => Touched::changes(file),
            statement => (*self.tables.get(&statement)?)?,
        };
        // Whoever is behind one that waits for everybody waits for them too.
        let is_behind = server.is_behind(connection, wanted, (from, to));
        let wanted = if is_behind { wanted.alone() } else { wanted };
        let works_ns = match wanted.access {
            Access::Defines => WOKEN_NS.max((to - from) / SHORT),
            _ => WOKEN_NS,
        };
        // Who was broken off did not wait until it was let go.
        let is_broken_off = says_that_it_waited(work) && !is_of_file(work);
        let first = server.ended.partition_point(|e| e.said <= from);
        let during = server
            .ended
            .range(first..)
            .take_while(|e| is_broken_off || e.said - to <= WOKEN_NS);
        let held = during.filter_map(|e| {
            let is_other = e.connection != connection && e.asked.time > from;
            let since = e.transaction.keeps(wanted).filter(|_| is_other)?;
            (since < to).then_some((e, since))
        });
        // One after the other holds it.
        let (mut ns, mut paused_ns, mut idle_ns, mut reached, mut let_go) = (0, 0, 0, from, None);
        let mut ended = 0;
        // Of those who let go last, when, and what was thought until then by those who waited for each other.
        let mut chains: VecDeque<(Time, i64)> = VecDeque::new();
        let mut chain_ns = 0;
        for (e, since) in held {
            let asked = e.asked.time;
            let begins = since.max(reached);
            let held = (asked.min(to) - begins).max(0);
            let thought = held.min(e.transaction.thought_ns);
            ns += thought;
            let before = chains
                .iter()
                .rev()
                .find(|(at, _)| (0..=WOKEN_NS).contains(&(since - *at)));
            let chain = before.map_or(0, |(_, ns)| *ns) + thought;
            if chains.len() == CHAINS {
                chains.pop_front();
            }
            chains.push_back((asked, chain));
            paused_ns += held.min(e.transaction.paused_ns);
            if e.transaction.is_said {
                let held = asked.min(to) - since.max(from);
                idle_ns = idle_ns.max(held - e.worked_ns());
            }
            reached = reached.max(asked);
            ended += usize::from(asked <= to);
            // Who was kept waiting itself is let go at the same moment, and lets nobody go.
            let is_short = e.said - asked <= (to - from) / SHORT;
            if asked <= to && to - e.said <= works_ns && is_short {
                (let_go, chain_ns) = (Some(e.asked), chain);
            }
        }
        let whole = to - from;
        let wait = let_go.map(|let_go| LockWait {
            ns: ns.min(whole),
            chain_ns: chain_ns.min(whole),
            paused_ns: paused_ns.min(whole),
            let_go: Some(let_go),
        });
        Some(Holders {
            wait,
            idle_ns,
            ended,
            is_behind,
        })
    }
}

impl Server {
    /// Whether a wait was one behind another session's change of what the table is: answered as that was, or not at all.
    fn is_behind(
        &self,
        connection: ConnectionId,
        wanted: Touched,
        (from, to): (Time, Time),
    ) -> bool {
        let meanwhile = self.definitions.iter().take_while(|d| d.said > from);
        let mut ahead = meanwhile.filter(|d| d.asked < to && to - d.said <= WOKEN_NS);
        ahead.any(|d| d.is_ahead_of(connection, wanted))
    }

    /// Takes one that changed something, or never was answered.
    fn changed(&mut self, change: Change) {
        if change.touched.access == Access::Defines {
            self.definitions.truncate(DEFINITIONS - 1);
            self.definitions.push_front(change);
        }
        if change.said < Time::MAX {
            self.changes.truncate(CHAINS - 1);
            self.changes.push_front(change);
        }
    }

    /// How long a call certainly waited for others, if the server says that it did, or if it was answered as one was broken
    /// off that had changed the same table, and had waited.
    fn waited_ns(&self, call: &Call, change: Option<Change>) -> Option<i64> {
        if !broken_off::is_of_lock(call) {
            let change = change.filter(|_| self.has_waited)?;
            let mut last = self.ended.iter().rev().take(CHAINS);
            return last.any(|e| e.lets_go(&change)).then(|| change.ns());
        }
        Some((call.response_last?.time - call.request_last?.time).max(0))
    }

    /// One was broken off that had waited. Who waited for it may have been answered before the server had told all of that.
    #[cold]
    fn broke_off(&mut self, ended: &Ended) {
        self.has_waited = true;
        for change in self.changes.iter().filter(|c| ended.lets_go(c)) {
            let session = self.sessions.get_mut(&change.connection);
            if let Some(open) = session.and_then(|s| s.open.as_mut()) {
                open.add(change.ns(), change.ns());
            }
        }
    }

    fn end(&mut self, ended: Ended) {
        if ended.has_waited {
            self.broke_off(&ended);
        }
        if self.ended.len() >= limits::LOCKS_ENDED {
            self.ended.pop_front();
        }
        // A turn is known to be over when the next one begins, of some sessions later than of others.
        let at = self.ended.partition_point(|e| e.said <= ended.said);
        self.ended.insert(at, ended);
    }
}
