//! Calls that were made up, with sums that were added up by hand.

use super::result::SqlResult;
use super::{Profiler, SqlKey, of_one, of_two};
use crate::results::{KeyValue, Vantage};
use model::sql::op;
use model::{
    Call, Close, ConnectionId, ConnectionSummary, Detail, Direction, DirectionSummary, Endpoint,
    Episode, EpisodeKind, Field, Handshake, Mark, Name, Outcome, PacketRef, Protocol, Sql,
    SqlSession, Statement, Time, Transport,
};
use std::sync::Arc;

const MS: i64 = 1_000_000;

pub(super) fn end(host: u8, port: u16) -> Endpoint {
    Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    }
}

pub(super) fn mark(ms: i64) -> Mark {
    Mark {
        time: Time(ms * MS),
        packet: PacketRef {
            file: 0,
            frame: ms as u32,
        },
    }
}

pub(crate) fn sql(user: &str, text: Option<&str>) -> Arc<Sql> {
    let statement = text.map(|t| {
        let normal = statement::normalise(t);
        Arc::new(Statement {
            id: statement::id(&normal),
            normal: normal.into(),
            text: t.into(),
            truncated: false,
            found: Default::default(),
        })
    });
    Arc::new(Sql {
        session: Arc::new(SqlSession {
            user: Some(user.into()),
            ..SqlSession::default()
        }),
        statement,
    })
}

/// A call from `from` on: 1 ms of request, `wait` and 2 ms of response.
pub(crate) fn call(op: Name, of: &Arc<Sql>, from: i64, wait: i64, rows: u64) -> Call {
    let mut detail = Detail::default();
    detail.set(Field::Rows, rows);
    Call {
        order: from as u64,
        connection: ConnectionId(1),
        protocol: Protocol::Pgsql,
        op,
        client: end(1, 40_000),
        server: end(2, 5_432),
        id: from as u32,
        request_sequence: from as u32,
        response_sequence: 0,
        request_first: Some(mark(from)),
        request_last: Some(mark(from + 1)),
        response_first: Some(mark(from + 1 + wait)),
        response_last: Some(mark(from + 3 + wait)),
        request_bytes: 100,
        response_bytes: 200,
        outcome: Outcome::Ok,
        outstanding: 1,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail,
        text: None,
        sql: Some(Arc::clone(of)),
    }
}

/// The connection: 4 ms to the server and back, as acknowledgements say too.
pub(crate) fn connection() -> ConnectionSummary {
    let mut directions = [DirectionSummary::default(); 2];
    directions[Direction::ToServer.index()] = DirectionSummary {
        ack_rtt_min_ns: Some(4 * MS),
        ack_rtt_count: 10,
        ack_rtt_sum_ns: 10 * 4 * MS,
        ..DirectionSummary::default()
    };
    ConnectionSummary {
        id: ConnectionId(1),
        transport: Transport::Tcp,
        client: end(1, 40_000),
        server: end(2, 5_432),
        first: mark(0),
        last: mark(1_000),
        close: Close::Finished,
        handshake: Handshake {
            syn: Some(Time(0)),
            syn_ack: Some(Time(4 * MS)),
            ack: Some(Time(4 * MS)),
            ..Handshake::default()
        },
        reset: None,
        directions,
        accounts: None,
        lines: [None, None],
        is_known: false,
        protocol: Some(Protocol::Pgsql),
        pipelined: None,
        copies: false,
        left_open: 0,
        unanswered: 0,
        late_requests: 0,
        sqlnet: None,
    }
}

/// An execution and two fetches of one statement, with 5 ms of thinking before each fetch, then
/// another statement 7 ms later; waits are longer by `path`.
fn profiler(keys: &[SqlKey], path: i64) -> Profiler {
    let mut profiler = Profiler::new(keys, u64::MAX);
    let query = sql("scott", Some("select * from t where x = 17"));
    let update = sql("tiger", Some("update t set x = 1"));
    profiler.call(&call(op::EXECUTE, &query, 0, 10 + path, 1));
    let asked = |from| from + 3 + 10 + path + 5;
    let second = asked(0);
    profiler.call(&call(op::FETCH, &query, second, 10 + path, 100));
    let third = asked(second);
    profiler.call(&call(op::FETCH, &query, third, 10 + path, 50));
    let mut failed = call(op::EXECUTE, &update, asked(third) + 2, 20 + path, 0);
    failed.outcome = Outcome::Code(model::Code::new("42P01"));
    profiler.call(&failed);
    profiler.connection(&connection());
    profiler
}

fn one(vantage: Vantage) -> SqlResult {
    of_one(profiler(&[SqlKey::Statement], 4), Vec::new(), vantage)
}

/// A request of which 200 ms passed until it was sent again: those are nobody's work.
#[test]
fn what_was_lost_is_not_the_servers() {
    let mut profiler = Profiler::new(&[SqlKey::Statement], u64::MAX);
    let query = sql("scott", Some("select 1"));
    profiler.episode(&Episode {
        order: 0,
        connection: ConnectionId(1),
        client: end(1, 40_000),
        server: end(2, 5_432),
        kind: EpisodeKind::Recovery,
        direction: Direction::ToServer,
        first: mark(1),
        last: mark(201),
        heard: mark(201).time,
        retransmissions: 1,
        timeouts: 1,
        spurious: false,
        duplicates_cut_off: false,
        window: 0,
        resent: Vec::new(),
    });
    profiler.call(&call(op::EXECUTE, &query, 0, 230, 1));
    profiler.connection(&connection());
    let result = of_one(profiler, Vec::new(), Vantage::Client);
    let t = &result.totals;
    assert_eq!(t.network_ns, Some(4 * MS));
    assert_eq!(t.unknown_ns, 200 * MS + MS / 10);
    assert_eq!(t.server_ns, Some(26 * MS - MS / 10));
}

/// Two statements take turns: one takes the path's 4 ms, the other 20 ms more. Acknowledgements were
/// delayed, so that their mean is 24 ms.
#[test]
fn a_quick_statement_shows_that_acknowledgements_were_delayed() {
    let mut profiler = Profiler::new(&[SqlKey::Statement], u64::MAX);
    let quick = sql("scott", Some("begin"));
    let slow = sql("scott", Some("select 1"));
    for i in 0..40 {
        profiler.call(&call(op::EXECUTE, &quick, i * 50, 4, 0));
        profiler.call(&call(op::EXECUTE, &slow, i * 50 + 10, 24, 1));
    }
    let mut delayed = connection();
    delayed.directions[Direction::ToServer.index()].ack_rtt_sum_ns = 10 * 24 * MS;
    profiler.connection(&delayed);
    let result = of_one(profiler, Vec::new(), Vantage::Client);
    let t = &result.totals;
    assert_eq!(t.network_ns, Some(80 * 4 * MS));
    assert_eq!(t.server_ns, Some(40 * 20 * MS - 40 * MS / 10));
    assert_eq!(t.unknown_ns, 40 * MS / 10);
}

#[test]
fn a_profile_adds_up() {
    let result = one(Vantage::Client);
    let [query, update] = result.statements.as_slice() else {
        panic!("{:?}", result.statements);
    };
    assert_eq!((query.calls, query.executions, query.fetches), (3, 1, 2));
    assert_eq!((query.rows, query.row_trips), (151, 3));
    assert_eq!(query.times.total_ns, 3 * 17 * MS);
    assert_eq!(query.transfer_ns, 9 * MS);
    // A tenth of a millisecond of each trip may be either's.
    let either = 3 * MS / 10;
    assert_eq!(query.server_ns, Some(30 * MS - either));
    assert_eq!(query.network_ns, Some(12 * MS));
    assert_eq!(query.unknown_ns, either);
    assert_eq!((query.think_ns, query.thinks), (10 * MS, 2));
    assert_eq!(
        (update.errors, update.server_ns),
        (1, Some(20 * MS - MS / 10))
    );
    let t = &result.totals;
    let parts = t
        .server_ns
        .zip(t.network_ns)
        .map(|(s, n)| s + n + t.unknown_ns + t.transfer_ns);
    assert_eq!(parts, Some(t.response_time_ns));
    // 5 + 2 ms lie between the two statements.
    assert_eq!(t.think_ns, 17 * MS);
    assert_eq!((t.calls, t.round_trips, t.rows), (4, 4, 151));
    let [session] = result.sessions.as_slice() else {
        panic!("{:?}", result.sessions);
    };
    assert_eq!((session.sent_bytes, session.received_bytes), (400, 800));
    assert_eq!((session.think_ns, session.errors), (17 * MS, 1));
}

/// A call's response begins after 10 ms; of the 2 ms that it passes, the client took 1 to confirm, then the server the rest.
#[test]
fn what_passes_inside_a_call_is_whose_it_is() {
    let of = sql("ann", Some("select 1"));
    let mut broken = call(op::EXECUTE, &of, 0, 10, 0);
    broken.inner = Some(Box::new(model::InnerTrips {
        client_ns: MS,
        server_ns: MS,
        of_request: false,
    }));
    let mut profiler = Profiler::new(&[SqlKey::Statement], u64::MAX);
    profiler.call(&broken);
    let mut after = call(op::EXECUTE, &of, 12, 1, 0);
    after.order = broken.order + 1;
    profiler.call(&after);
    let result = of_one(profiler, Vec::new(), Vantage::Server);
    let [s] = result.statements.as_slice() else {
        panic!("{:?}", result.statements);
    };
    assert_eq!((s.waits.total_ns, s.client_ns), (12 * MS, MS));
    let server = s.server_ns.expect("taken there");
    assert_eq!(server + s.transfer_ns + s.client_ns, s.times.total_ns);
    // The second was sent 1 ms before the first was answered.
    let session = &result.sessions[0];
    assert_eq!(session.overlap_ns, MS);
    assert_eq!((session.span_ns(), session.untold_ns()), (16 * MS, 0));
}

#[test]
fn what_a_capture_cannot_know_is_not_said() {
    let at_server = one(Vantage::Server);
    assert_eq!(at_server.totals.server_ns, Some(62 * MS + 4 * MS));
    assert_eq!(at_server.totals.network_ns, None);
    let nowhere = one(Vantage::Unknown);
    assert_eq!(nowhere.totals.server_ns, None);
    assert_eq!(nowhere.totals.network_ns, None);
}

#[test]
fn two_captures_measure_the_server() {
    let keys = [SqlKey::Statement];
    let result = of_two(profiler(&keys, 4), &profiler(&keys, 0), Vec::new());
    assert_eq!(result.totals.server_ns, Some(50 * MS));
    assert_eq!(result.totals.network_ns, Some(16 * MS));
}

#[test]
fn other_keys_group_by_whom() {
    let result = of_one(profiler(&[SqlKey::User], 0), Vec::new(), Vantage::Client);
    let users: Vec<_> = result
        .statements
        .iter()
        .map(|s| (&s.keys, s.calls))
        .collect();
    let user = |name: &str| vec![("user", KeyValue::Text(name.into()))];
    assert_eq!(users, [(&user("scott"), 3), (&user("tiger"), 1)]);
}

#[test]
fn calls_that_overlap_have_no_think_time() {
    let mut profiler = Profiler::new(&[SqlKey::Statement], u64::MAX);
    let query = sql("scott", Some("select 1"));
    profiler.call(&call(op::EXECUTE, &query, 0, 10, 1));
    let mut second = call(op::EXECUTE, &query, 20, 10, 1);
    second.outstanding = 2;
    profiler.call(&second);
    let result = of_one(profiler, Vec::new(), Vantage::Client);
    assert_eq!(result.totals.think_ns, 0);
}
