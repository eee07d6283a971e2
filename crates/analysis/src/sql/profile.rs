//! Calls of one capture into groups, one for each statement unless other keys are asked for.
//!
//! Calls that have no statement (a commit, a logon, a session whose text is encrypted) are grouped by
//! their operation. Groups are bounded by [`STATEMENTS`](limits::STATEMENTS) and by what they take up in memory;
//! calls of further ones are counted together.

use super::follow::{Followed, OneSession};
use super::lane::{Lane, Think};
use super::sessions::Sessions;
use super::split::{self, Paths};
use crate::path::Crossed;
use crate::results::KeyValue;
use crate::stats::Distribution;
use crate::ways::Hosts;
use crate::work::statement_of;
use hashbrown::HashMap;
use model::sql::op;
use model::{
    Call, ConnectionId, ConnectionSummary, Episode, EpisodeKind, Field, Name, Outcome, PacketRef,
    Protocol, Sql, Statement, Time, limits,
};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// What to group by. Calls are always apart by protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SqlKey {
    Statement,
    /// The client's host.
    Client,
    Program,
    User,
    /// Oracle's service, PostgreSQL's and MySQL's database.
    Service,
    Connection,
}

impl SqlKey {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SqlKey::Statement => "statement",
            SqlKey::Client => "client",
            SqlKey::Program => "program",
            SqlKey::User => "user",
            SqlKey::Service => "service",
            SqlKey::Connection => "connection",
        }
    }

    /// Its value where it is not the statement.
    fn value(self, call: &Call, sql: &Sql) -> KeyValue {
        let known = |text: &Option<Arc<str>>| {
            let text = text.as_ref().map(Arc::clone);
            text.map_or(KeyValue::Unknown, KeyValue::Text)
        };
        match self {
            SqlKey::Statement => KeyValue::Unknown,
            SqlKey::Client => KeyValue::Address(call.client.address),
            SqlKey::Program => known(&sql.session.program),
            SqlKey::User => known(&sql.session.user),
            SqlKey::Service => known(&sql.session.database),
            SqlKey::Connection => KeyValue::Connection(call.client, call.server),
        }
    }
}

/// What calls of one group have in common.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Subject {
    Statement(u64),
    /// Without a statement: the operation.
    Op(Name),
    /// Statements are not asked for.
    Any,
    /// What came when there was no room for further groups.
    Rest,
}

pub(super) type GroupKey = (Protocol, Subject, Vec<KeyValue>);

/// A call as evidence.
#[derive(Clone, Copy, Debug)]
pub struct WorstCall {
    pub response_time_ns: i64,
    pub first: Time,
    /// First packet of the request, last of the response.
    pub request: PacketRef,
    pub response: PacketRef,
}

impl WorstCall {
    /// Takes the place of `worst` when it took longer.
    pub(super) fn outdo(worst: &mut Option<WorstCall>, call: &Call, took: i64) {
        if worst.is_none_or(|w| w.response_time_ns < took)
            && let (Some(request), Some(response)) = (call.request_first, call.response_last)
        {
            *worst = Some(WorstCall {
                response_time_ns: took,
                first: request.time,
                request: request.packet,
                response: response.packet,
            });
        }
    }
}

/// Sums of a group's calls.
#[derive(Default, Debug)]
pub(super) struct Group {
    pub(super) statement: Option<Arc<Statement>>,
    pub(super) times: Distribution,
    /// The wait of each call, to see whether a statement has two faces.
    pub(super) waits: Distribution,
    pub(super) calls: u64,
    pub(super) executions: u64,
    pub(super) fetches: u64,
    /// Calls that brought rows, and those rows.
    pub(super) row_trips: u64,
    pub(super) rows: u64,
    /// What fetches asked for whose rows were not captured.
    pub(super) rows_hidden: u64,
    /// The most rows that one call asked for, and how many fetches brought as many as they asked for: the next fetch would have been spared by a larger one.
    pub(super) rows_asked: u64,
    pub(super) full_fetches: u64,
    pub(super) affected: u64,
    pub(super) errors: u64,
    /// Of the errors, how many of each code.
    pub(super) codes: BTreeMap<Outcome, u64>,
    /// Calls without a known response time.
    pub(super) incomplete: u64,
    pub(super) request_bytes: u64,
    pub(super) response_bytes: u64,
    /// Of the waits, what TCP held of the answers, or took to send again what was lost.
    pub(super) held_ns: i64,
    pub(super) transfer_ns: i64,
    /// Until the client confirmed what the server had asked for inside calls.
    pub(super) client_ns: i64,
    pub(super) think_ns: i64,
    pub(super) thinks: u64,
    /// Round trips, those inside calls included, by whose.
    pub(super) trips: BTreeMap<Hosts, u64>,
    pub(super) worst: Option<WorstCall>,
    pub(super) first: Option<Time>,
    pub(super) last: Option<Time>,
}

impl Group {
    /// `lost_ns`: of its wait, how long something was lost.
    fn add(&mut self, call: &Call, lost_ns: i64) {
        let get = |field| call.detail.get(field);
        match call.op {
            o if o == op::FETCH => self.fetches += 1,
            o if [op::PREPARE, op::CLOSE, op::LOB].contains(&o) => {}
            _ => self.executions += 1,
        }
        let rows = get(Field::Rows).unwrap_or(0);
        self.rows = self.rows.saturating_add(rows);
        self.row_trips += u64::from(rows > 0 || call.op == op::FETCH);
        if let Some(asked) = get(Field::RowsAsked).filter(|&asked| asked > 0) {
            self.rows_asked = self.rows_asked.max(asked);
            self.full_fetches += u64::from(rows >= asked && call.op == op::FETCH);
            if get(Field::Rows).is_none() && call.op == op::FETCH {
                self.rows_hidden = self.rows_hidden.saturating_add(asked);
            }
        }
        self.affected = self
            .affected
            .saturating_add(get(Field::Affected).unwrap_or(0));
        if call.outcome.is_error() {
            self.fail(call.outcome);
        }
        self.request_bytes += call.request_bytes;
        self.response_bytes += call.response_bytes;
        let trips = 1 + get(Field::InnerTrips).unwrap_or(0);
        *self
            .trips
            .entry((call.client.address, call.server.address))
            .or_default() += trips;
        let begin = call.request_first.map(|m| m.time);
        self.first = [self.first, begin].into_iter().flatten().min();
        self.last = self.last.max(call.response_last.map(|m| m.time));
        let times = (call.response_time_ns(), call.served_ns());
        let (Some(took), Some(wait), true) = (times.0, times.1, call.is_timed()) else {
            self.incomplete += 1;
            return;
        };
        self.calls += 1;
        self.times.add(took);
        let held = call.response_held_ns.max(lost_ns).clamp(0, wait.max(0));
        self.held_ns = self.held_ns.saturating_add(held);
        let client = call.inner().client_ns;
        let wait = wait.max(0);
        self.waits.add(wait);
        self.client_ns = self.client_ns.saturating_add(client);
        self.transfer_ns = self.transfer_ns.saturating_add(took - wait - client);
        WorstCall::outdo(&mut self.worst, call, took);
    }
}

impl Group {
    fn fail(&mut self, code: Outcome) {
        self.errors += 1;
        if self.codes.len() < limits::ERROR_CODES || self.codes.contains_key(&code) {
            *self.codes.entry(code).or_default() += 1;
        }
    }
}

/// What a group of a few calls takes up beside its statement: its sums, its key, and its line.
const GROUP_BYTES: usize = 2 * size_of::<(GroupKey, Group)>() + 512;

/// A profile of one capture in the making.
pub struct Profiler {
    keys: Vec<SqlKey>,
    numbers: HashMap<GroupKey, usize, foldhash::fast::FixedState>,
    pub(super) groups: Vec<(GroupKey, Group)>,
    /// Bytes for further groups and their statements.
    room: u64,
    lanes: HashMap<ConnectionId, Option<Lane>, foldhash::fast::FixedState>,
    /// When connections sent again what was lost, since their last calls.
    recoveries: HashMap<ConnectionId, VecDeque<(Time, Time)>, foldhash::fast::FixedState>,
    pub(super) paths: Paths,
    pub(super) sessions: Sessions,
    /// Whose calls are taken, where it is one session alone.
    only: Option<OneSession>,
    pub(super) followed: Option<Followed>,
    pub(super) think_between_ns: i64,
    /// Calls in [`Subject::Rest`].
    pub(super) rest: u64,
}

impl Profiler {
    /// With so many bytes for groups and their statements.
    #[must_use]
    pub fn new(keys: &[SqlKey], room_bytes: u64) -> Profiler {
        Profiler {
            keys: keys.to_vec(),
            numbers: HashMap::default(),
            groups: Vec::new(),
            room: room_bytes,
            lanes: HashMap::default(),
            recoveries: HashMap::default(),
            paths: Paths::default(),
            sessions: Sessions::default(),
            only: None,
            followed: None,
            think_between_ns: 0,
            rest: 0,
        }
    }

    /// Takes the calls of one session alone.
    #[must_use]
    pub fn only(mut self, only: Option<OneSession>) -> Profiler {
        self.only = only;
        self.followed = only.filter(|o| o.follow).map(|_| Followed::default());
        self
    }

    /// Sessions so far, those left out too.
    #[must_use]
    pub fn sessions_seen(&self) -> usize {
        self.sessions.seen()
    }

    /// Takes a call; those of no database are left out.
    pub fn call(&mut self, call: &Call) {
        let Some(sql) = &call.sql else { return };
        let session = self.sessions.number(call.connection);
        if self.only.is_some_and(|only| session != Some(only.number)) {
            return;
        }
        let number = self.number(call, sql);
        let lost_ns = self.lost(call);
        let lane = self.lanes.entry(call.connection).or_default();
        let think = Lane::next(lane, call, number);
        let mut thought = None;
        let Some((_, group)) = self.groups.get_mut(number) else {
            return;
        };
        match think {
            Think::Within(ns) => {
                group.think_ns = group.think_ns.saturating_add(ns);
                group.thinks += 1;
                thought = Some(ns);
            }
            Think::Between(ns) => {
                self.think_between_ns = self.think_between_ns.saturating_add(ns);
                thought = Some(ns);
            }
            Think::Unknown => {}
        }
        group.add(call, lost_ns);
        self.sessions.add(call, sql, session, thought.unwrap_or(0));
        if let Some(followed) = &mut self.followed {
            followed.add(call, thought);
        }
    }

    /// Takes a stretch of a connection's trouble, before the calls that it ended with.
    pub fn episode(&mut self, e: &Episode) {
        if e.kind != EpisodeKind::Recovery || e.spurious {
            return;
        }
        let list = self.recoveries.entry(e.connection).or_default();
        if list.len() >= limits::EPISODES {
            list.pop_front();
        }
        list.push_back((e.first.time, e.last.time));
    }

    /// How long of a call's wait something was lost.
    fn lost(&mut self, call: &Call) -> i64 {
        let Some(list) = self.recoveries.get_mut(&call.connection) else {
            return 0;
        };
        let wait = call.request_last.zip(call.response_first);
        let Some((from, to)) = wait.map(|(a, b)| (a.time, b.time)) else {
            return 0;
        };
        while list.front().is_some_and(|(_, last)| *last < from) {
            list.pop_front();
        }
        let overlap = |(a, b): &(Time, Time)| (*b.min(&to) - *a.max(&from)).max(0);
        list.iter().map(overlap).fold(0, i64::saturating_add)
    }

    /// Lets a call pass that is not asked for: what lies beside it is no thinking.
    pub fn pass(&mut self, call: &Call) {
        if let Some(lane) = self.lanes.get_mut(&call.connection) {
            *lane = None;
        }
    }

    /// The number of a call's group.
    fn number(&mut self, call: &Call, sql: &Sql) -> usize {
        let by_statement = self.keys.contains(&SqlKey::Statement);
        let subject = match statement_of(call) {
            _ if !by_statement => Subject::Any,
            Some(statement) => Subject::Statement(statement.id),
            None => Subject::Op(call.op),
        };
        let others = self.keys.iter().filter(|k| **k != SqlKey::Statement);
        let values = others.map(|k| k.value(call, sql)).collect();
        let mut key = (call.protocol, subject, values);
        if let Some(number) = self.numbers.get(&key) {
            return *number;
        }
        let statement = match &key.1 {
            Subject::Statement(_) => sql.statement.clone(),
            _ => None,
        };
        let bytes = GROUP_BYTES + statement.as_ref().map_or(0, |s| s.kept_bytes());
        let room = self.room.checked_sub(bytes as u64);
        self.room = room.unwrap_or(self.room);
        if self.groups.len() >= limits::STATEMENTS || room.is_none() {
            self.rest += 1;
            let unknown = key.2.iter().map(|_| KeyValue::Unknown).collect();
            key = (call.protocol, Subject::Rest, unknown);
            if let Some(number) = self.numbers.get(&key) {
                return *number;
            }
        }
        let number = self.groups.len();
        let group = Group {
            statement: statement.filter(|_| key.1 != Subject::Rest),
            ..Group::default()
        };
        self.numbers.insert(key.clone(), number);
        self.groups.push((key, group));
        number
    }

    /// Takes a connection that is over.
    pub fn connection(&mut self, c: &ConnectionSummary) {
        self.lanes.remove(&c.id);
        self.recoveries.remove(&c.id);
        self.sessions.connection(c);
        self.paths.add(c);
    }

    pub(super) fn group(&self, key: &GroupKey) -> Option<&Group> {
        let number = self.numbers.get(key)?;
        self.groups.get(*number).map(|(_, group)| group)
    }

    /// In how many more of the lines that both have the calls wait longer here than there.
    #[must_use]
    pub fn waits_longer_than(&self, other: &Profiler) -> i64 {
        let both = self.groups.iter();
        let longer = both.filter_map(|(key, here)| {
            let there = other.group(key).filter(|g| g.waits.count() > 0)?;
            let here = (here.waits.count() > 0).then(|| here.waits.mean_ns())?;
            Some((here - there.waits.mean_ns()).signum())
        });
        longer.sum()
    }

    /// What its calls say of the path, where they all went between the same two hosts.
    #[must_use]
    pub fn crossed(&self) -> Crossed {
        let by_hosts = split::crossed(&self.groups);
        let one = by_hosts.len() == 1 && self.paths.is_one();
        let mut all = by_hosts.into_values();
        all.next().filter(|_| one).unwrap_or_default()
    }

    pub(super) fn keys(&self) -> &[SqlKey] {
        &self.keys
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }
}
