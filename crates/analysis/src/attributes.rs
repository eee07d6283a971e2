//! Calls into what they have in common with others (client, server, user, database, program, export, connection,
//! operation, file or statement), as a small number that is kept with each of them.

use crate::files::Exports;
use crate::half::OpTable;
use crate::half::number_of;
use crate::results::What;
use crate::sql::SqlResult;
use crate::ways::{ByHosts, Hosts};
use crate::work::statement_of;
use concentration::By;
use hashbrown::{HashMap, HashTable};
use model::{Call, ConnectionId, Endpoint, Field, Problems, SqlSession, Where, limits};
use std::hash::BuildHasher;
use std::sync::Arc;

/// A call's.
#[derive(Debug)]
struct Attributes {
    lane: u32,
    op: u16,
    /// The file or, of databases' calls, the statement.
    object: Option<u64>,
    /// How many calls have these, and the shortest wait for the answer to one.
    calls: u64,
    soonest_ns: i64,
}

/// A connection.
#[derive(Debug)]
struct Lane {
    connection: ConnectionId,
    client: Endpoint,
    server: Endpoint,
    /// The client's host and the server, as numbers.
    ends: [u64; 2],
    /// Of a database's: what was said last of it, and its user, database and program.
    session: Option<Arc<SqlSession>>,
    names: [Named; 3],
}

/// Which of a connection's attributes `names` are.
const NAMES: [By; 3] = [By::User, By::Database, By::Program];

/// A name that all of a connection goes by.
#[derive(Clone, Default, Debug)]
enum Named {
    #[default]
    Unknown,
    One(Arc<str>),
    /// It changed on the way.
    Several,
}

impl Named {
    fn learn(&mut self, name: Option<&Arc<str>>) {
        match (&*self, name) {
            (Named::Unknown, Some(name)) => *self = Named::One(Arc::clone(name)),
            (Named::One(known), Some(name)) if known != name => *self = Named::Several,
            _ => {}
        }
    }

    fn number(&self) -> Option<u64> {
        match self {
            Named::One(name) => Some(foldhash::fast::FixedState::default().hash_one(name)),
            Named::Unknown | Named::Several => None,
        }
    }
}

impl Lane {
    fn learn(&mut self, session: &Arc<SqlSession>) {
        let same = |known: &Arc<SqlSession>| Arc::ptr_eq(known, session);
        if self.session.as_ref().is_some_and(same) {
            return;
        }
        let said = [&session.user, &session.database, &session.program];
        for (name, said) in self.names.iter_mut().zip(said) {
            name.learn(said.as_ref());
        }
        self.session = Some(Arc::clone(session));
    }
}

/// Those of one capture's calls, each combination once.
#[derive(Default, Debug)]
pub struct AllAttributes {
    all: Vec<Attributes>,
    lanes: Vec<Lane>,
    /// Where these are found, by what they hold.
    numbers: HashTable<u32>,
    lane_numbers: HashMap<ConnectionId, u32, foldhash::fast::FixedState>,
    problems: Problems,
}

/// The number of calls of which nothing is known.
const NOTHING: u32 = 0;

impl AllAttributes {
    /// The number of a call's attributes; `op` is that of its operation.
    pub fn number(&mut self, call: &Call, op: u16) -> u32 {
        let object = match &call.sql {
            Some(_) => statement_of(call).map(|s| s.id),
            None => call.detail.get(Field::File),
        };
        if let Some(sql) = &call.sql
            && let Some(lane) = self.lane_numbers.get(&call.connection)
            && let Some(lane) = self.lanes.get_mut(*lane as usize)
        {
            lane.learn(&sql.session);
        }
        let waited = call.request_last.zip(call.response_first);
        let waited = waited.filter(|_| call.is_complete());
        let waited_ns = waited.map_or(i64::MAX, |(asked, answered)| answered.time - asked.time);
        if let Some(number) = self.known(call.connection, op, object) {
            if let Some(known) = self.all.get_mut(number as usize - 1) {
                known.calls += 1;
                known.soonest_ns = known.soonest_ns.min(waited_ns);
            }
            return number;
        }
        if self.all.len() >= limits::ATTRIBUTES {
            self.problems.note("attributes-full", || {
                let limit = limits::ATTRIBUTES;
                let text = format!("more than {limit} combinations of connection, operation and file or statement; on whom the cost of further ones falls is told in part");
                (text, Where::default())
            });
            let without = self.known(call.connection, op, None);
            return without.unwrap_or(NOTHING);
        }
        let lanes = &mut self.lanes;
        let lane = *self.lane_numbers.entry(call.connection).or_insert_with(|| {
            let mut lane = Lane {
                connection: call.connection,
                client: call.client,
                server: call.server,
                ends: [host(call.client), number_of(call.server)],
                session: None,
                names: Default::default(),
            };
            if let Some(sql) = &call.sql {
                lane.learn(&sql.session);
            }
            lanes.push(lane);
            lanes.len() as u32 - 1
        });
        self.all.push(Attributes {
            lane,
            op,
            object,
            calls: 1,
            soonest_ns: waited_ns,
        });
        let number = self.all.len() as u32;
        let (all, lanes) = (&self.all, &self.lanes);
        let rehash = |number: &u32| match at(all, lanes, u64::from(*number)) {
            Some((a, lane)) => hash(lane.connection, a.op, a.object),
            None => 0,
        };
        let own = hash(call.connection, op, object);
        self.numbers.insert_unique(own, number, rehash);
        number
    }

    fn known(&self, connection: ConnectionId, op: u16, object: Option<u64>) -> Option<u32> {
        let is_it = |number: &u32| {
            let it = at(&self.all, &self.lanes, u64::from(*number));
            it.is_some_and(|(a, lane)| {
                (lane.connection, a.op, a.object) == (connection, op, object)
            })
        };
        let found = self.numbers.find(hash(connection, op, object), is_it);
        found.copied()
    }

    /// Who asked whom in calls with this number.
    pub(crate) fn hosts(&self, number: u64) -> Option<Hosts> {
        let (_, lane) = at(&self.all, &self.lanes, number)?;
        Some((lane.client.address, lane.server.address))
    }

    /// The shortest wait for an answer, by who asked whom.
    pub(crate) fn soonest(&self) -> ByHosts<i64> {
        let mut soonest: ByHosts<i64> = HashMap::default();
        for (number, a) in (1..)
            .zip(&self.all)
            .filter(|(_, a)| a.soonest_ns < i64::MAX)
        {
            if let Some(hosts) = self.hosts(number) {
                let known = soonest.entry(hosts).or_insert(i64::MAX);
                *known = a.soonest_ns.max(0).min(*known);
            }
        }
        soonest
    }

    /// Between which hosts there are calls.
    pub(crate) fn pairs(&self) -> Vec<Hosts> {
        let hosts = self
            .lanes
            .iter()
            .map(|l| (l.client.address, l.server.address));
        let mut pairs: Vec<Hosts> = hosts.collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// Between which hosts most calls are.
    pub(crate) fn busiest(&self) -> Option<Hosts> {
        let mut calls: ByHosts<u64> = HashMap::default();
        for (number, a) in (1..).zip(&self.all) {
            if let Some(hosts) = self.hosts(number) {
                *calls.entry(hosts).or_default() += a.calls;
            }
        }
        let busiest = calls
            .into_iter()
            .max_by_key(|(hosts, calls)| (*calls, *hosts));
        busiest.map(|(hosts, _)| hosts)
    }

    /// Adds what the bound left out.
    pub fn note_bounds(&self, problems: &mut Problems) {
        problems.merge(&self.problems);
    }

    /// Those with this number, as numbers again.
    pub(crate) fn of(
        &self,
        number: u64,
        ops: &OpTable,
        exports: &Exports,
        into: &mut Vec<(By, u64)>,
    ) {
        into.clear();
        let Some((a, lane)) = at(&self.all, &self.lanes, number) else {
            return;
        };
        into.extend([
            (By::Client, lane.ends[0]),
            (By::Server, lane.ends[1]),
            (By::Operation, a.op.into()),
            (By::Connection, lane.connection.0),
        ]);
        let names = NAMES.into_iter().zip(&lane.names);
        into.extend(names.filter_map(|(by, name)| Some((by, name.number()?))));
        if let Some(object) = a.object {
            let by = object_of(a.op, ops);
            into.push((by, object));
            let export = exports.number(object).filter(|_| by == By::File);
            into.extend(export.map(|export| (By::Export, export)));
        }
    }

    /// What one of these numbers stands for.
    pub(crate) fn what(
        &self,
        by: By,
        number: u64,
        ops: &OpTable,
        sql: Option<&SqlResult>,
        exports: &Exports,
    ) -> Option<What> {
        let name = |which: usize| {
            let names = self.lanes.iter().filter_map(|l| l.names.get(which));
            let mut same = names.filter(|name| name.number() == Some(number));
            match same.next()? {
                Named::One(name) => Some(Arc::clone(name)),
                Named::Unknown | Named::Several => None,
            }
        };
        let of = |is: &dyn Fn(&Lane) -> bool| self.lanes.iter().find(|l| is(l));
        Some(match by {
            By::Client => What::Client(of(&|l| l.ends[0] == number)?.client.address),
            By::Server => What::Server(of(&|l| l.ends[1] == number)?.server),
            By::Connection => {
                let lane = of(&|l| l.connection.0 == number)?;
                What::Connection(lane.client, lane.server)
            }
            By::Operation => {
                let (protocol, op) = ops.name(u16::try_from(number).ok()?);
                What::Operation(protocol, op)
            }
            By::File => What::File(number, None),
            By::Statement => {
                let mut statements = sql?.statements.iter().filter_map(|s| s.statement.as_ref());
                let statement = statements.find(|s| s.id == number)?;
                What::Statement(Arc::clone(statement))
            }
            By::User => What::User(name(0)?),
            By::Database => What::Database(name(1)?),
            By::Program => What::Program(name(2)?),
            By::Export => What::Export(exports.path(number)?.to_owned()),
            By::Time => return None,
        })
    }
}

/// Those with this number, from 1.
fn at<'a>(
    all: &'a [Attributes],
    lanes: &'a [Lane],
    number: u64,
) -> Option<(&'a Attributes, &'a Lane)> {
    let attributes = all.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
    Some((attributes, lanes.get(attributes.lane as usize)?))
}

fn hash(connection: ConnectionId, op: u16, object: Option<u64>) -> u64 {
    foldhash::fast::FixedState::default().hash_one((connection, op, object))
}

fn host(end: Endpoint) -> u64 {
    number_of(Endpoint { port: 0, ..end })
}

fn object_of(op: u16, ops: &OpTable) -> By {
    match ops.name(op).0.is_sql() {
        true => By::Statement,
        false => By::File,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace_join::tests::call;
    use model::Sql;

    fn of_file(connection: u64, file: u64) -> Call {
        let mut call = call(1, 0, 0, 0, 0);
        call.connection = ConnectionId(connection);
        call.detail.set(Field::File, file);
        call
    }

    #[test]
    fn calls_that_have_the_same_in_common_have_one_number() {
        let (mut all, mut ops) = (AllAttributes::default(), OpTable::default());
        let calls = [(1, 7), (1, 8), (2, 7), (1, 7), (2, 7)].map(|(c, file)| of_file(c, file));
        let op = ops.number(calls[0].protocol, calls[0].op);
        let numbers = calls.each_ref().map(|call| all.number(call, op));
        assert_eq!(numbers, [1, 2, 3, 1, 3]);
        let mut known = Vec::new();
        all.of(3, &ops, &Exports::default(), &mut known);
        let whats = known
            .iter()
            .map(|(by, number)| all.what(*by, *number, &ops, None, &Exports::default()));
        let (client, server) = (calls[2].client, calls[2].server);
        let expected = [
            What::Client(client.address),
            What::Server(server),
            What::Operation(calls[0].protocol, calls[0].op),
            What::Connection(client, server),
            What::File(7, None),
        ];
        assert!(whats.eq(expected.map(Some)), "{known:?}");
        all.of(0, &ops, &Exports::default(), &mut known);
        assert_eq!(known, []);
    }

    /// Its user is known from its second call on, and its database changes.
    #[test]
    fn calls_of_a_session_have_its_user_and_not_what_changed() {
        let mut all = AllAttributes::default();
        let mut ops = OpTable::default();
        let mut names_after = |user: Option<&str>, database: &str| {
            let mut call = of_file(1, 7);
            let session = SqlSession {
                user: user.map(Into::into),
                database: Some(database.into()),
                ..SqlSession::default()
            };
            call.sql = Some(Arc::new(Sql {
                session: Arc::new(session),
                statement: None,
            }));
            let op = ops.number(call.protocol, call.op);
            let (number, exports) = (all.number(&call, op), Exports::default());
            let mut known = Vec::new();
            all.of(number.into(), &ops, &exports, &mut known);
            known.retain(|(by, _)| NAMES.contains(by));
            let what = |(by, n): &(By, u64)| all.what(*by, *n, &ops, None, &exports);
            known.iter().filter_map(what).collect::<Vec<_>>()
        };
        let user = What::User("scott".into());
        let database = What::Database("a".into());
        let both = [user, database];
        assert_eq!(names_after(None, "a"), both[1..]);
        assert_eq!(names_after(Some("scott"), "a"), both);
        assert_eq!(names_after(None, "b"), both[..1]);
    }

    #[test]
    fn past_the_bound_files_are_left_out_and_counted() {
        let mut all = AllAttributes::default();
        let mut plain = of_file(1, 0);
        plain.detail = model::Detail::default();
        let without = all.number(&plain, 0);
        let most = limits::ATTRIBUTES as u64;
        (1..most).for_each(|file| assert_ne!(all.number(&of_file(1, file), 0), without));
        assert_eq!(all.number(&of_file(1, most), 0), without);
        assert_eq!(all.number(&of_file(2, 1), 0), NOTHING);
        assert_eq!(all.number(&of_file(1, 1), 0), without + 1);
        let mut problems = Problems::default();
        all.note_bounds(&mut problems);
        let counted = problems.iter().map(|(kind, p)| (kind, p.count));
        assert!(counted.eq([("attributes-full", 2)]));
    }
}
