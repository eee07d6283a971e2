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
//! SMB says more: who locks a part of a file has it until it lets go ([MS-SMB2] 3.3.5.14), who opens a file that another
//! client holds for itself waits until that has given it back, as the server asked it to (3.3.4.6), and who has to wait is
//! told that the answer will come later. So an answer that was promised and comes then had waited for that ([`files`]).

mod files;

use self::files::Files;
use crate::half::{file_of_work, is_of_file, statement_of, work_of};
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
    /// How long the server has worked on nothing for it since then: what its client thought, and what its statements
    /// took on their way, as far as they pass behind the place of the capture.
    paused_ns: i64,
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
    /// While clients thought that held what was waited for.
    pub ns: i64,
    /// Of that, while those thought from which it went on to the last of them, one letting go for the next.
    pub chain_ns: i64,
    /// While the server worked on nothing for them: the ways of their statements count too.
    pub paused_ns: i64,
    /// Where the transaction was ended that held the last of them, if it was seen.
    pub let_go: Option<Mark>,
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

    /// Takes one of a call of this [work](work_of) that waited for so long.
    pub fn add(&mut self, work: u64, waited_ns: i64, wait: &LockWait) {
        if work != 0 {
            self.calls += 1;
            self.files += u64::from(is_of_file(work));
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
            _ if is_of_file(work) => (locked_ns, chain_ns.min(locked_ns)),
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
        let answered = std::mem::replace(&mut session.answered, said.time);
        let thought_ns = Some(pause - least)
            .filter(|ns| *ns >= WORTH_NS)
            .unwrap_or(0);
        if is_turn {
            if thought_ns > 0 {
                server.end(Ended {
                    connection: call.connection,
                    transaction: Transaction {
                        tables: vec![ANY_TABLE],
                        since: answered,
                        thought_ns,
                        paused_ns: pause,
                    },
                    asked,
                    said: said.time,
                });
            }
            return;
        }
        if let Some(open) = &mut session.open {
            open.thought_ns = open.thought_ns.saturating_add(thought_ns);
            open.paused_ns = open.paused_ns.saturating_add(pause);
        }
        match call.op {
            op::BEGIN => session.open = None,
            op::COMMIT | op::ROLLBACK => {
                if let Some(transaction) = session.open.take() {
                    server.end(Ended {
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
        if to - from < WORTH_NS {
            return None;
        }
        let server = self.servers.get(&server)?;
        let file = file_of_work(work);
        let table = match (work, file) {
            (_, Some((file, _))) => file,
            (0, None) => ANY_TABLE,
            (work, None) => *self.tables.get(&work)?,
        };
        let first = server.ended.partition_point(|e| e.said <= from);
        let during = server
            .ended
            .range(first..)
            .take_while(|e| e.said - to <= WOKEN_NS);
        let held = during.filter(|e| {
            let others = e.connection != connection && e.transaction.tables.contains(&table);
            others && e.transaction.since < to && e.asked.time > from
        });
        // One after the other holds it.
        let (mut ns, mut paused_ns, mut reached, mut let_go, mut others) = (0, 0, from, None, 0);
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
            reached = reached.max(asked);
            others += usize::from(asked <= to);
            // Who was kept waiting itself is let go at the same moment, and lets nobody go.
            let is_short = e.said - asked <= (to - from) / SHORT;
            if asked <= to && to - e.said <= WOKEN_NS && is_short {
                (let_go, chain_ns) = (Some(e.asked), chain);
            }
        }
        if let Some((_, is_pending)) = file {
            // As a rule it was promised for later as somebody else has the file, whom not every capture shows.
            let wait_ns = to - from;
            return is_pending.then_some(LockWait {
                ns: wait_ns,
                chain_ns: let_go.map_or(0, |_| chain_ns).min(wait_ns),
                paused_ns: wait_ns,
                let_go,
            });
        }
        let chance = chance.of_work(work);
        chance.add(to - from, others, let_go.is_some());
        Some(LockWait {
            ns: ns.min(to - from),
            chain_ns: chain_ns.min(to - from),
            paused_ns: paused_ns.min(to - from),
            let_go: Some(let_go?),
        })
    }
}

impl Server {
    fn end(&mut self, ended: Ended) {
        if self.ended.len() >= limits::LOCKS_ENDED {
            self.ended.pop_front();
        }
        // A turn is known to be over when the next one begins, of some sessions later than of others.
        let at = self.ended.partition_point(|e| e.said <= ended.said);
        self.ended.insert(at, ended);
    }
}

impl Session {
    /// That has changed this table by a statement that was answered at `answered`, if any.
    fn new(answered: Time, table: Option<u64>) -> Session {
        let open = table.map(|table| Transaction {
            tables: vec![table],
            since: answered,
            ..Transaction::default()
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
    use crate::capture_facts::CaptureFacts;
    use crate::sql::tests::{call, sql};
    use model::{Field, Name};

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
        waits(works, text, until).map_or(0, |wait| wait.ns / MS)
    }

    fn waits(works: i64, text: &str, until: i64) -> Option<LockWait> {
        let mut capture = CaptureFacts::default();
        let waits = of(WAITER, op::EXECUTE, text, 20, until - 21);
        for call in [
            of(HOLDER, op::BEGIN, "begin", 0, 1),
            of(HOLDER, op::EXECUTE, CHANGE, 10, 1),
            of(HOLDER, op::EXECUTE, "select 1", 100, 1 + works),
            of(HOLDER, op::COMMIT, "commit", 200, 1),
        ] {
            // Whether or not anybody asked for them: what is asked for may be one client's, or a moment's.
            capture.beside(&call);
        }
        let mut locks = capture.locks;
        locks.call(&waits);
        let at = |ms: i64| Time(ms * MS);
        let wait = locks.waited(
            waits.server,
            waits.connection,
            work_of(&waits),
            (at(21), at(until)),
            &mut Coincidences::default(),
        );
        // The commit's request.
        wait.inspect(|wait| assert_eq!(wait.let_go.unwrap().time.0 / MS, 201))
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
    fn a_way_on_which_nothing_is_worked_is_a_pause_and_no_thought() {
        // All of it until the commit came: the 182 ms of both pauses are more than that.
        let wait = waits(0, CHANGE, 203).expect("a wait");
        assert_eq!((wait.paused_ns / MS, wait.ns / MS), (180, 170));
        let mut all = LockWaits::default();
        all.add(7, 182 * MS, &wait);
        all.add(0, 182 * MS, &wait);
        assert_eq!((all.calls, all.paused_ns), (1, wait.paused_ns));
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

    /// Turns of a protocol that is not known: one session asks on every 100 ms, and another's answers come `later` ms
    /// after that, having been asked for 60 ms before. What its waits may have been for, all together in ms.
    fn turns(later: impl Fn(i64) -> i64) -> i64 {
        let mut locks = Locks::default();
        let turn = |connection, from, wait| Call {
            protocol: model::Protocol::Tcp,
            sql: None,
            ..of(connection, op::TURN, "", from, wait)
        };
        // Once it asks on at once: so little the path takes.
        locks.call(&turn(HOLDER, -10, 1));
        // Of another session, whose turns are known earlier, and tell nothing.
        for i in 0..40 {
            locks.call(&turn(HOLDER + WAITER, i * 97 + 50, 1));
        }
        for i in 0..40 {
            locks.call(&turn(HOLDER, i * 100, 1));
        }
        let (mut chance, mut waited) = (Coincidences::default(), Vec::new());
        for i in 1..39 {
            let until = i * 100 + 1 + later(i);
            let span = [until - 60, until].map(|ms| Time(ms * MS));
            let (server, waiter) = (turn(WAITER, 0, 1).server, ConnectionId(WAITER));
            let wait = locks.waited(server, waiter, 0, (span[0], span[1]), &mut chance);
            waited.extend(wait.map(|w| w.ns));
        }
        let told = waited.iter().map(|&ns| chance.judged(0, ns, ns).0);
        told.sum::<i64>() / MS
    }

    #[test]
    fn answers_of_an_unknown_protocol_that_come_as_others_ask_on_may_have_waited_for_them() {
        // Each of its 60 ms but for the last three.
        let told = turns(|_| 3);
        assert_eq!(told, 38 * 57);
    }

    #[test]
    fn answers_of_an_unknown_protocol_that_come_at_any_time_have_not() {
        assert_eq!(turns(|i| i * 37 % 97), 0);
        // Nor do a few tell.
        assert_eq!(turns(|i| if i < 8 { 3 } else { 50 }), 0);
    }

    /// A call of SMB on a file, or on a byte of it, from `from` on for `took` ms; what a server asks back goes the other way.
    fn smb(connection: u64, op: &str, from: i64, took: i64) -> Call {
        let op = Name::of(op);
        let base = of(connection, op, "", from, took);
        let (protocol, client, server) = match op.as_str() {
            "OPLOCK_BREAK" => (Protocol::Smb2Callback, base.server, base.client),
            _ => (Protocol::Smb2, base.client, base.server),
        };
        let mut detail = model::Detail::default();
        detail.set(Field::File, 7);
        if op.as_str().ends_with("LOCK") {
            detail.set(Field::Offset, 0);
            detail.set(Field::Count, 1);
        }
        Call {
            protocol,
            client,
            server,
            detail,
            sql: None,
            ..base
        }
    }

    /// What of a wait from 20 ms on until then was one for a file, behind what others did before; the server had said that
    /// it would answer later.
    fn file_waits(before: &[Call], op: &str, until: i64) -> Option<(i64, i64)> {
        let mut locks = Locks::default();
        before.iter().for_each(|call| locks.call(call));
        let mut waits = smb(WAITER, op, 20, until - 20);
        waits.detail.set(Field::Pending, 1);
        locks.call(&waits);
        let at = |ms: i64| Time(ms * MS);
        let (mut chance, work) = (Coincidences::default(), work_of(&waits));
        let span = (at(20), at(until));
        let wait = locks.waited(waits.server, waits.connection, work, span, &mut chance)?;
        let (most, sure) = chance.judged(work, wait.ns, wait.chain_ns);
        Some((most / MS, sure / MS))
    }

    #[test]
    fn who_locks_what_another_has_locked_waits_for_that() {
        let held = [
            smb(HOLDER, "CREATE", 0, 1),
            smb(HOLDER, "LOCK", 5, 1),
            smb(HOLDER, "UNLOCK", 100, 1),
        ];
        // From then on until the holder asks to let go.
        assert_eq!(file_waits(&held, "LOCK", 104), Some((84, 81)));
        // Long after that it waited for something else, or for somebody who is not seen.
        assert_eq!(file_waits(&held, "LOCK", 120), Some((100, 0)));
        // What the server works for the holder meanwhile is no thought.
        let busy = [&held[..2], &[smb(HOLDER, "READ", 10, 80)], &held[2..]].concat();
        assert!(file_waits(&busy, "LOCK", 104).is_some_and(|(_, sure)| sure < 15));
        // Closing lets go as well.
        let closed = [&held[..2], &[smb(HOLDER, "CLOSE", 100, 1)]].concat();
        assert_eq!(file_waits(&closed, "LOCK", 104), Some((84, 81)));
    }

    #[test]
    fn who_opens_what_the_server_asks_another_to_give_back_waits_for_that() {
        let asked = [
            smb(HOLDER, "CREATE", 0, 1),
            smb(HOLDER, "QUERY_INFO", 6, 1),
            smb(HOLDER, "OPLOCK_BREAK", 21, 70),
        ];
        // But for 2 ms, in which the holder asked again before: so long its path may take.
        assert_eq!(file_waits(&asked, "CREATE", 95), Some((75, 70)));
        assert_eq!(file_waits(&asked, "CREATE", 100), Some((80, 0)));
        assert_eq!(file_waits(&asked[..2], "CREATE", 95), Some((75, 0)));
        // What it writes back first is the server's work, and how far away it is nobody knows that never asked again.
        let writes = [&asked[..2], &[smb(HOLDER, "WRITE", 25, 60)], &asked[2..]].concat();
        assert!(file_waits(&writes, "CREATE", 95).is_some_and(|(_, sure)| sure < 10));
        let once = [asked[0].clone(), asked[2].clone()];
        assert_eq!(file_waits(&once, "CREATE", 95), Some((75, 0)));
    }

    #[test]
    fn what_was_not_promised_for_later_waited_for_nobody() {
        let held = [
            smb(HOLDER, "CREATE", 0, 1),
            smb(HOLDER, "LOCK", 5, 1),
            smb(HOLDER, "UNLOCK", 100, 1),
        ];
        let mut locks = Locks::default();
        held.iter().for_each(|call| locks.call(call));
        let waits = smb(WAITER, "LOCK", 20, 84);
        let span = (Time(20 * MS), Time(104 * MS));
        let wait = |call: &Call| {
            let chance = &mut Coincidences::default();
            locks.waited(call.server, call.connection, work_of(call), span, chance)
        };
        assert!(wait(&waits).is_none());
        // One that must not wait is refused.
        let refused = Call {
            outcome: model::Outcome::Error("LOCK_NOT_GRANTED"),
            ..waits
        };
        assert_eq!(work_of(&refused), 0);
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

    /// Three sessions of which each changes the same row, thinks for 96 ms and commits, `times` times; each asks for it as
    /// soon as it can, and has it as the one before lets go. The waits of the last: in all, and what is judged of them.
    fn turns_about(times: i64) -> (i64, (i64, i64)) {
        let (mut locks, mut waits) = (Locks::default(), Vec::new());
        for n in 0..3 * times {
            let (session, at) = (1 + n as u64 % 3, n * 100);
            let asked = (at - 199).max(0);
            locks.call(&of(session, op::EXECUTE, CHANGE, asked, at - asked));
            locks.call(&of(session, op::COMMIT, "commit", at + 97, 1));
            waits.push((session, asked + 1, at + 1));
        }
        let known = of(3, op::EXECUTE, CHANGE, 0, 1);
        let mut chance = Coincidences::default();
        let mut last = (0, 0, 0);
        for (session, from, to) in waits.into_iter().skip(2) {
            let at = |ms: i64| Time(ms * MS);
            let connection = ConnectionId(session);
            let work = work_of(&known);
            let span = (at(from), at(to));
            if let Some(wait) = locks.waited(known.server, connection, work, span, &mut chance) {
                last = ((to - from) * MS, wait.ns, wait.chain_ns);
            }
        }
        let (waited, ns, chain_ns) = last;
        let (most, sure) = chance.judged(work_of(&known), ns, chain_ns);
        (waited / MS, (most / MS, sure / MS))
    }

    #[test]
    fn who_lets_go_for_whom_is_followed_back_and_beyond_chance_it_is_certain() {
        let (waited, (most, sure)) = turns_about(8);
        assert_eq!(waited, 199);
        assert!((180..=198).contains(&most) && sure == most, "{most} {sure}");
        // A few may be chance.
        let (_, (most, sure)) = turns_about(3);
        assert!(most > 170 && sure == 0, "{most} {sure}");
    }
}
