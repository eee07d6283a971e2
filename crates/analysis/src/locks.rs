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

mod files;
#[cfg(test)]
mod tests;
mod transactions;

use self::files::Files;
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

/// Holders of which each may have waited for one of the others.
const CHAINS: usize = 16;

/// The table of whoever speaks a protocol that is not known.
const ANY_TABLE: u64 = 0;

/// Waits that end as another session asks on are beyond chance where they are so many, and so many standard
/// deviations more than chance makes.
const COINCIDENCES: u64 = 8;
const DEVIATIONS: f64 = 5.0;

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
    /// The last statements that changed something, of whatever session.
    changes: VecDeque<Change>,
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

/// The same of protocols that are known and of those that are not.
#[derive(Clone, Copy, Default, Debug)]
pub struct Coincidences {
    known: Coincidence,
    unknown: Coincidence,
}

impl Coincidences {
    fn of_work(&mut self, work: u64) -> &mut Coincidence {
        match work {
            0 => &mut self.unknown,
            _ => &mut self.known,
        }
    }

    /// What of `locked_ns` and `chain_ns` of a call of this [work](work_of) may have been a wait for locks, and what of it
    /// was one, with all waits known. That of a protocol that is not known is none, if it may be chance.
    #[must_use]
    pub fn judged(&self, work: u64, locked_ns: i64, chain_ns: i64) -> (i64, i64) {
        match work {
            _ if is_of_file(work) || says_that_it_waited(work) => {
                (locked_ns, chain_ns.min(locked_ns))
            }
            0 if !self.unknown.tells() => (0, 0),
            0 => (locked_ns, 0),
            _ if self.known.tells() => (locked_ns, chain_ns.min(locked_ns)),
            _ => (locked_ns, 0),
        }
    }
}

/// How often waits ended as another session let go or asked on, and how often chance makes them.
#[derive(Clone, Copy, Default, Debug)]
struct Coincidence {
    seen: u64,
    expected: f64,
    variance: f64,
}

impl Coincidence {
    /// Takes a wait of `ns` in which others asked on so many times, if it is long enough that it tells.
    fn add(&mut self, ns: i64, others: usize, came_then: bool) {
        let share = WOKEN_NS as f64 / ns.max(1) as f64;
        if share > 0.5 {
            return;
        }
        let chance = 1.0 - (1.0 - share).powi(i32::try_from(others).unwrap_or(i32::MAX));
        self.seen += u64::from(came_then);
        self.expected += chance;
        self.variance += chance * (1.0 - chance);
    }

    /// Whether they are more than chance makes.
    fn tells(&self) -> bool {
        let more = self.seen as f64 - self.expected;
        self.seen >= COINCIDENCES && more > DEVIATIONS * self.variance.sqrt()
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
        let table = statement_of(call).and_then(|s| changed_table(&s.normal));
        let table = table.map(|name| foldhash::fast::FixedState::default().hash_one(name));
        if let Some(table) = table
            && self.tables.len() < limits::LOCK_TABLES
        {
            self.tables.insert(without_wait(work_of(call)), table);
        }
        let server = self.servers.entry(call.server).or_default();
        let change = table.map(|table| Change {
            connection: call.connection,
            table,
            asked: asked.time,
            said: said.time,
        });
        let waited_ns = server.waited_ns(call, change);
        if let Some(change) = change {
            server.changes.truncate(CHAINS - 1);
            server.changes.push_front(change);
        }
        let Some(session) = server.sessions.get_mut(&call.connection) else {
            if server.sessions.len() < limits::LOCK_SESSIONS {
                let session = Session::new(said.time, table, call.op == op::BEGIN);
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
                    transaction: Transaction {
                        thought_ns,
                        paused_ns: pause,
                        ..Transaction::new(answered, ANY_TABLE, false)
                    },
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
            _ => match (&mut session.open, table) {
                (Some(open), Some(table)) => open.changes(table),
                (None, Some(table)) if waited_ns.is_none() => {
                    session.open = Some(Transaction::new(said.time, table, session.has_begun));
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
        let chance = chance.of_work(work);
        chance.add(whole, holders?.ended, wait.is_some());
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
        let Some(table) = self.tables.get(&work) else {
            return 0;
        };
        let others = server.sessions.iter().filter(|(id, _)| **id != connection);
        let held = others.filter_map(|(_, session)| session.holds(*table));
        let each = held.map(|(since, until)| until.min(to) - since.max(from));
        each.max().unwrap_or(0).max(0)
    }

    /// Takes a call that was never answered: its session does not think.
    pub fn unanswered(&mut self, call: &Call) {
        let server = self.servers.get_mut(&call.server);
        if let Some(session) = server.and_then(|s| s.sessions.get_mut(&call.connection)) {
            session.asks = call.request_first.map(|asked| asked.time);
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
        let table = match without_wait(work) {
            0 => ANY_TABLE,
            file if is_of_file(file) => file,
            statement => *self.tables.get(&statement)?,
        };
        // Who was broken off did not wait until it was let go.
        let is_broken_off = says_that_it_waited(work) && !is_of_file(work);
        let first = server.ended.partition_point(|e| e.said <= from);
        let during = server
            .ended
            .range(first..)
            .take_while(|e| is_broken_off || e.said - to <= WOKEN_NS);
        let held = during.filter(|e| {
            let others = e.connection != connection && e.transaction.tables.contains(&table);
            others && e.transaction.since < to && e.asked.time > from
        });
        // One after the other holds it.
        let (mut ns, mut paused_ns, mut idle_ns, mut reached, mut let_go) = (0, 0, 0, from, None);
        let mut ended = 0;
        // Of those who let go last, when, and what was thought until then by those who waited for each other.
        let mut chains: VecDeque<(Time, i64)> = VecDeque::new();
        let mut chain_ns = 0;
        for e in held {
            let asked = e.asked.time;
            let begins = e.transaction.since.max(reached);
            let held = (asked.min(to) - begins).max(0);
            let thought = held.min(e.transaction.thought_ns);
            ns += thought;
            let before = chains
                .iter()
                .rev()
                .find(|(at, _)| (0..=WOKEN_NS).contains(&(e.transaction.since - *at)));
            let chain = before.map_or(0, |(_, ns)| *ns) + thought;
            if chains.len() == CHAINS {
                chains.pop_front();
            }
            chains.push_back((asked, chain));
            paused_ns += held.min(e.transaction.paused_ns);
            if e.transaction.is_said {
                let held = asked.min(to) - e.transaction.since.max(from);
                idle_ns = idle_ns.max(held - e.worked_ns());
            }
            reached = reached.max(asked);
            ended += usize::from(asked <= to);
            // Who was kept waiting itself is let go at the same moment, and lets nobody go.
            let is_short = e.said - asked <= (to - from) / SHORT;
            if asked <= to && to - e.said <= WOKEN_NS && is_short {
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
        })
    }
}

impl Server {
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
