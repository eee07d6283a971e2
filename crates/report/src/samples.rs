//! Small hand-made results for the tests of every output.

mod conns;
mod diagnosis;

pub(crate) use conns::conns;
pub(crate) use diagnosis::{diagnosis, places};

use crate::{Form, TakeRows, TypedColumn};
use analysis::results::{CaptureResult, GroupResult, KeyValue, OpsResult};
use analysis::stats::Summary;
use model::{
    Call, ConnectionId, Detail, Endpoint, Field, Mark, Name, Outcome, PacketRef, Protocol, Time,
};
use std::io::{self, Write};

const START: i64 = 1_700_000_000_000_000_000;

/// What an output writes.
pub(crate) fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

/// Rows as CSV.
pub(crate) struct Csv<'o>(pub(crate) &'o mut dyn Write);

impl TakeRows for Csv<'_> {
    fn form(&self) -> Form {
        Form::Csv
    }

    fn begin(&mut self, head: String, _: Vec<TypedColumn>) -> io::Result<()> {
        self.0.write_all(head.as_bytes())
    }

    fn row(&mut self, row: &[u8]) -> io::Result<()> {
        self.0.write_all(row)
    }
}

fn mark(ns: i64, frame: u32) -> Mark {
    Mark {
        time: Time(START + ns),
        packet: PacketRef { file: 0, frame },
    }
}

fn endpoint(text: &str, port: u16) -> Endpoint {
    Endpoint {
        address: text.parse().expect("an address"),
        port,
    }
}

pub(crate) fn call() -> Call {
    let mut detail = Detail::default();
    detail.set(Field::File, 0xdead_beef);
    detail.set(Field::Offset, 1 << 20);
    detail.set(Field::Eof, 1);
    detail.set(Field::Stable, 2);
    Call {
        order: 13,
        connection: ConnectionId(1),
        protocol: Protocol::Nfs41,
        op: Name::of("READ"),
        client: endpoint("10.0.0.1", 700),
        server: endpoint("fe80::1", 2049),
        id: 0x4ecb_8123,
        request_sequence: 1,
        response_sequence: 2,
        request_first: Some(mark(0, 10)),
        request_last: Some(mark(1_000_000, 11)),
        response_first: Some(mark(21_000_000, 12)),
        response_last: Some(mark(25_000_000, 13)),
        request_bytes: 180,
        response_bytes: 65_700,
        outcome: Outcome::Ok,
        outstanding: 4,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail,
        text: Some("SEQUENCE,PUTFH,READ".into()),
        sql: None,
    }
}

/// A distribution around a mean in hundredths of it.
fn summary(count: u64, mean_ns: i64) -> Summary {
    let part = |percent: i64| mean_ns * percent / 100;
    Summary {
        count,
        total_ns: mean_ns * count as i64,
        mean_ns,
        min_ns: part(50),
        p50_ns: part(99),
        p90_ns: part(105),
        p95_ns: part(107),
        p99_ns: part(110),
        p999_ns: part(115),
        max_ns: part(120),
        exact: true,
    }
}

pub(crate) fn ops() -> OpsResult {
    let read = GroupResult {
        protocol: Protocol::Nfs3,
        op: Some("READ".into()),
        keys: vec![("client", KeyValue::Text("10.0.0.1".into()))],
        path: None,
        stats: Summary {
            count: 1834,
            total_ns: 60_870_460_000,
            mean_ns: 33_190_000,
            min_ns: 4_100_000,
            p50_ns: 33_130_000,
            p90_ns: 35_000_000,
            p95_ns: 36_000_000,
            p99_ns: 36_650_000,
            p999_ns: 37_000_000,
            max_ns: 41_000_000,
            exact: true,
        },
        errors: 3,
        retransmits: 1,
        request_bytes: 330_120,
        response_bytes: 120_258_048,
        no_response: 2,
        no_request: 1,
        incomplete: 0,
        beneath: None,
        histogram: vec![
            (8_388_608, 34),
            (16_777_216, 0),
            (33_554_432, 900),
            (67_108_864, 900),
        ],
    };
    let getattr = GroupResult {
        op: Some("GETATTR".into()),
        keys: vec![("client", KeyValue::Unknown)],
        path: None,
        stats: Summary {
            count: 20,
            total_ns: 4_000_000,
            mean_ns: 200_000,
            min_ns: 100_000,
            p50_ns: 190_000,
            p90_ns: 300_000,
            p95_ns: 310_000,
            p99_ns: 320_000,
            p999_ns: 320_000,
            max_ns: 320_000,
            exact: true,
        },
        errors: 0,
        retransmits: 0,
        request_bytes: 2400,
        response_bytes: 4800,
        no_response: 0,
        no_request: 0,
        incomplete: 0,
        histogram: vec![(131_072, 5), (262_144, 11), (524_288, 4)],
        ..read.clone()
    };
    OpsResult {
        order: analysis::results::Order::default(),
        captures: vec![CaptureResult::default()],
        total_ns: read.stats.total_ns + getattr.stats.total_ns,
        groups: vec![read, getattr],
    }
}

/// A statement executed and fetched from once, 4 ms of its waits being the path, and a commit.
pub(crate) fn profile() -> analysis::sql::SqlResult {
    profile_of(None)
}

/// The same, followed call by call.
pub(crate) fn followed() -> analysis::sql::SqlResult {
    profile_of(Some(analysis::sql::OneSession {
        number: 1,
        follow: true,
        packets: false,
    }))
}

/// A client that waited for one call.
pub(crate) fn startup() -> analysis::startup::StartupResult {
    let mut startup = analysis::startup::Startup::new(&[]);
    startup.call(&call());
    startup.finish(CaptureResult::default())
}

/// The same, with two packets of its first call.
pub(crate) fn listed() -> analysis::sql::SqlResult {
    use analysis::packets::{CallPackets, ListedPacket, PacketList, Place, Way};
    let mut result = profile();
    let mut call = call();
    let statement = result.statements.iter().find_map(|s| s.statement.clone());
    call.op = model::sql::op::EXECUTE;
    call.sql = Some(std::sync::Arc::new(model::Sql {
        session: std::sync::Arc::default(),
        statement,
    }));
    let marks = (call.request_first, call.response_last);
    let (Some(asked), Some(answered)) = marks else {
        panic!("samples are whole");
    };
    let mut list = PacketList::of_unit(Some(8_192));
    for (way, mark, bytes) in [
        (Way::ToServer, asked, 180),
        (Way::ToClient, answered, 8_192),
    ] {
        let place = Place::Frames(mark.packet, mark.packet);
        let kind = model::sqlnet::PacketKind::DATA;
        let at = Some(mark.time);
        list.add(ListedPacket::new(
            1,
            at,
            way,
            kind,
            Some(bytes),
            place,
            (mark, mark),
        ));
    }
    let calls = CallPackets::of(&call).into_iter().collect();
    list.finish(&[(1, calls)].into());
    result.packets = Some(list);
    result
}

fn profile_of(only: Option<analysis::sql::OneSession>) -> analysis::sql::SqlResult {
    use analysis::sql::{Profiler, SqlKey, of_two};
    use model::sql::op;
    use model::{Field, Found, Sql, SqlSession, Statement};
    let text = "SELECT * FROM t WHERE name = 'secret'";
    let normal = statement::normalise(text);
    let session = std::sync::Arc::new(SqlSession {
        user: Some("scott".into()),
        database: Some("orcl".into()),
        sdu_bytes: Some(8_192),
        ..SqlSession::default()
    });
    let query = Sql {
        session: std::sync::Arc::clone(&session),
        statement: Some(std::sync::Arc::new(Statement {
            id: statement::id(&normal),
            normal: normal.into(),
            text: text.into(),
            truncated: false,
            found: Found::Structured,
        })),
    };
    let commit = Sql {
        session,
        statement: None,
    };
    let (query, commit) = (std::sync::Arc::new(query), std::sync::Arc::new(commit));
    let profiler = |path_ns: i64| {
        let mut profiler = Profiler::new(&[SqlKey::Statement], u64::MAX).only(only);
        let calls = [
            (op::EXECUTE, &query, 1),
            (op::FETCH, &query, 100),
            (op::COMMIT, &commit, 0),
        ];
        for (i, (op, sql, rows)) in (0..).zip(calls) {
            let mut call = call();
            call.protocol = model::Protocol::Tns;
            call.op = op;
            call.outstanding = 1;
            call.detail = model::Detail::default();
            if rows > 0 {
                call.detail.set(Field::Rows, rows);
            }
            let marks = [
                &mut call.request_first,
                &mut call.request_last,
                &mut call.response_first,
                &mut call.response_last,
            ];
            for (n, mark) in marks.into_iter().enumerate() {
                if let Some(mark) = mark {
                    mark.time = mark.time + i * 30_000_000;
                    mark.time = mark.time + if n < 2 { 0 } else { path_ns };
                }
            }
            call.sql = Some(std::sync::Arc::clone(sql));
            profiler.call(&call);
        }
        profiler
    };
    let capture = analysis::results::CaptureResult {
        files: vec!["client.pcap".into()],
        ..analysis::results::CaptureResult::default()
    };
    of_two(profiler(4_000_000), &profiler(0), vec![capture])
}
