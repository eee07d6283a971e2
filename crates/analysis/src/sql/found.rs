//! Findings about statements, each beside a conversation that looks alike and has none. Clients and
//! servers are 10 ms apart, captured at both ends.

use super::tests::{call, connection, mark, sql};
use crate::diagnose::Options;
use crate::diagnosers::Diagnosers;
use crate::facts::Thresholds;
use crate::findings::Rule;
use crate::results::{CaptureResult, Diagnosis, Finding, Side, Vantage};
use model::sql::op;
use model::{Call, Direction, Field, Mark, Name, Sql, SqlSession, Time};
use std::sync::Arc;

const MS: i64 = 1_000_000;

/// Half of the path, ms.
const ONE_WAY: i64 = 5;

/// Calls of one session, one after another.
struct Client {
    sql: Arc<Sql>,
    now: i64,
    calls: Vec<[Call; 2]>,
}

impl Client {
    fn new(sql: Arc<Sql>) -> Client {
        Client {
            sql,
            now: 0,
            calls: Vec::new(),
        }
    }

    /// Asks for `asked` rows and gets `rows` after the server took `service` ms; thought `think` ms
    /// before.
    fn ask(&mut self, op: Name, [think, service]: [i64; 2], [asked, rows]: [u64; 2]) -> &mut Call {
        let from = self.now + think;
        let passed = |ms: i64, by: i64| {
            Some(Mark {
                time: Time((from + ms) * MS),
                ..mark(self.calls.len() as i64 * 2 + by)
            })
        };
        let mut at_client = call(op, &self.sql, from, service, rows);
        at_client.id = self.calls.len() as u32 * 1_000;
        at_client.request_sequence = at_client.id;
        at_client.response_sequence = at_client.id;
        if asked > 0 {
            at_client.detail.set(Field::RowsAsked, asked);
        }
        let mut at_server = at_client.clone();
        at_client.request_first = passed(0, 1);
        at_client.request_last = passed(0, 1);
        at_client.response_first = passed(2 * ONE_WAY + service, 2);
        at_client.response_last = at_client.response_first;
        at_server.request_first = passed(ONE_WAY, 1);
        at_server.request_last = at_server.request_first;
        at_server.response_first = passed(ONE_WAY + service, 2);
        at_server.response_last = at_server.response_first;
        self.now = from + 2 * ONE_WAY + service;
        self.calls.push([at_client, at_server]);
        let [at_client, _] = self.calls.last_mut().expect("it was pushed");
        at_client
    }

    fn diagnosis(self) -> Diagnosis {
        let options = Options {
            thresholds: Thresholds {
                fast_enough_ns: 2 * MS,
                tail_ns: 20 * MS,
            },
            stated: [Some(Vantage::Client), Some(Vantage::Server)],
            clock_offset_ns: None,
            statements_bytes: u64::MAX,
            whole: true,
            app: None,
            server_app: None,
            passes_on: false,
            has_peers: false,
            hosts: std::sync::Arc::default(),
        };
        let mut d = Diagnosers::new(2, options);
        for pair in &self.calls {
            for (which, call) in pair.iter().enumerate() {
                d.call(which, call);
            }
        }
        // The second was taken where the server is.
        let mut there = connection();
        there.directions[Direction::ToServer.index()].ack_rtt_min_ns = Some(20_000);
        d.connection(0, &connection());
        d.connection(1, &there);
        let result = |name: &str| CaptureResult {
            files: vec![name.into()],
            ..CaptureResult::default()
        };
        d.finish(vec![result("client.pcap"), result("server.pcap")])
    }
}

fn query() -> Arc<Sql> {
    sql("scott", Some("select * from emp where deptno = 10"))
}

fn found(d: &Diagnosis, rule: Rule) -> Option<&Finding> {
    d.findings.iter().find(|f| f.rule == rule)
}

/// An execution and so many fetches of so many rows each.
fn fetches(count: u64, size: u64) -> Diagnosis {
    let mut client = Client::new(query());
    client.ask(op::EXECUTE, [0, 1], [size, 0]);
    for _ in 0..count {
        client.ask(op::FETCH, [0, 1], [size, size]);
    }
    client.diagnosis()
}

#[test]
fn rows_fetched_a_few_at_a_time_are_found_with_what_that_costs() {
    let d = fetches(100, 15);
    let f = found(&d, Rule::SmallFetch).expect("a finding");
    assert_eq!(f.side, Side::Client);
    // 1,500 rows in two fetches instead of a hundred, 10 ms each; each call's share is whole nanoseconds.
    let cost = f.cost_ns.expect("a cost");
    assert!(
        (98 * 10 * MS - 101..=98 * 10 * MS).contains(&cost),
        "{cost}"
    );
    assert!(
        f.why
            .to_string()
            .contains("select * from emp where deptno = ?"),
        "{}",
        f.why
    );
    assert!(!f.evidence.is_empty());
    assert_eq!(d.verdict.side, Side::Client);
    let total: i64 = d.findings.iter().filter_map(|f| f.cost_ns).sum();
    assert!(total <= d.call_time_ns, "{total} of {}", d.call_time_ns);
}

#[test]
fn large_fetches_and_few_are_not_found() {
    assert!(found(&fetches(100, 1_000), Rule::SmallFetch).is_none());
    assert!(found(&fetches(10, 15), Rule::SmallFetch).is_none());
}

#[test]
fn row_by_row_is_chatty_and_named() {
    let d = fetches(100, 1);
    assert!(found(&d, Rule::SmallFetch).is_none());
    let f = found(&d, Rule::Chatty).expect("a finding");
    assert!(f.why.to_string().contains("a row each"), "{}", f.why);
}

#[test]
fn a_commit_for_each_change_is_chatty() {
    let session = Arc::clone(&query().session);
    let mut client = Client::new(sql("scott", Some("insert into t values (1)")));
    for _ in 0..100 {
        client
            .ask(op::EXECUTE, [0, 1], [0, 0])
            .detail
            .set(Field::Affected, 1);
        let insert = std::mem::replace(
            &mut client.sql,
            Arc::new(Sql {
                session: Arc::clone(&session),
                statement: None,
            }),
        );
        client.ask(op::COMMIT, [0, 1], [0, 0]);
        client.sql = insert;
    }
    let d = client.diagnosis();
    let f = found(&d, Rule::Chatty).expect("a finding");
    assert!(
        f.why.to_string().contains("one for each change"),
        "{}",
        f.why
    );
}

fn digesting(think: i64) -> Diagnosis {
    let mut client = Client::new(query());
    client.ask(op::EXECUTE, [0, 1], [5_000, 0]);
    for _ in 0..20 {
        client.ask(op::FETCH, [think, 1], [5_000, 5_000]);
    }
    client.diagnosis()
}

#[test]
fn a_client_that_digests_longer_than_it_waits_is_found_and_not_blamed() {
    let d = digesting(50);
    let f = found(&d, Rule::LargeFetchClientThink).expect("a finding");
    assert_eq!((f.cost_ns, f.elapsed_cost_ns), (None, Some(20 * 50 * MS)));
    assert_ne!(d.verdict.cause, Some(Rule::LargeFetchClientThink));
    assert!(found(&digesting(1), Rule::LargeFetchClientThink).is_none());
}

fn with_session(session: SqlSession, response_bytes: u64) -> Diagnosis {
    let of = Arc::new(Sql {
        session: Arc::new(session),
        statement: query().statement.clone(),
    });
    let mut client = Client::new(of);
    client.ask(op::LOGON, [0, 1], [0, 0]);
    for _ in 0..60 {
        client.ask(op::EXECUTE, [0, 1], [0, 0]).response_bytes = response_bytes;
    }
    client.diagnosis()
}

#[test]
fn responses_far_above_the_session_data_unit_are_found() {
    let session = |sdu| SqlSession {
        sdu_bytes: Some(sdu),
        sdu_offered_bytes: Some(65_535),
        ..SqlSession::default()
    };
    let d = with_session(session(2_048), 20_000);
    let f = found(&d, Rule::SmallSdu).expect("a finding");
    // The client offered more.
    assert_eq!((f.side, f.cost_ns), (Side::Server, None));
    assert!(found(&with_session(session(65_535), 20_000), Rule::SmallSdu).is_none());
    assert!(found(&with_session(session(2_048), 2_000), Rule::SmallSdu).is_none());
}

#[test]
fn a_readable_password_is_found_and_decides_nothing() {
    let readable = |plaintext_password| SqlSession {
        plaintext_password,
        ..SqlSession::default()
    };
    let d = with_session(readable(true), 100);
    let f = found(&d, Rule::PlaintextPassword).expect("a finding");
    assert_eq!(f.cost_ns, None);
    assert_ne!(d.verdict.cause, Some(Rule::PlaintextPassword));
    assert!(found(&with_session(readable(false), 100), Rule::PlaintextPassword).is_none());
}

fn logon(service: i64) -> Diagnosis {
    let mut client = Client::new(query());
    client.ask(op::CONNECT, [0, 100], [0, 0]);
    client.ask(op::NEGOTIATE, [0, 20], [0, 0]);
    client.ask(op::LOGON, [0, service], [0, 0]);
    for _ in 0..30 {
        client.ask(op::EXECUTE, [0, 1], [0, 1]);
    }
    client.diagnosis()
}

#[test]
fn a_logon_of_seconds_is_told_phase_by_phase() {
    let d = logon(3_000);
    let f = found(&d, Rule::SlowConnect).expect("a finding");
    // The handshake of TCP took 4 ms.
    assert_eq!(f.elapsed_cost_ns, Some((4 + 110 + 30 + 3_010) * MS));
    assert!(!f.evidence.is_empty());
    let fact = |name: &str| f.facts.iter().find(|f| f.name == name).map(|f| f.value);
    assert_eq!(fact("tcp_ns"), Some(4 * MS));
    assert_eq!(fact("connect_ns"), Some(110 * MS));
    assert_eq!(fact("logon_ns"), Some(3_010 * MS));
    assert!(found(&logon(30), Rule::SlowConnect).is_none());
}

#[test]
fn the_statement_that_has_the_server_s_time_is_named() {
    let mut client = Client::new(query());
    for i in 0..60 {
        // Every fifth waits for somebody.
        let service = if i % 5 == 0 { 400 } else { 2 };
        client.ask(op::EXECUTE, [0, service], [0, 1]);
    }
    let d = client.diagnosis();
    let f = found(&d, Rule::ServerSlow).expect("a finding");
    assert!(f.why.to_string().contains("deptno = ?"), "{}", f.why);
    assert!(f.why.to_string().contains("wait for locks"), "{}", f.why);
}
