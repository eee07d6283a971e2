//! Small hand-made results for the tests of every output.

use analysis::findings::Rule;
use analysis::results::{
    Budget, CaptureResult, Clock, ClockBasis, Concentrated, ConnectionResult, ConnsResult,
    Diagnosis, DirectionResult, Evidence, Fact, FileResult, Finding, GroupResult, HandshakeResult,
    KeyValue, Matched, OpResult, OpsResult, Side, Unmatched, Vantage, VantageFrom, Verdict, What,
};
use analysis::stats::Summary;
use ledger::{Bounds, Cause, Ledger, Sums};
use model::{
    Call, Close, CongestionWindow, ConnectionId, Detail, Direction, DirectionAccount,
    DirectionSummary, EcnCounts, Endpoint, Field, Mark, Name, Outcome, PacketRef, Pauses, Problems,
    Protocol, Retransmissions, RoundTrips, SegmentSizes, Time, TimeClass, Wait, Where,
};

const START: i64 = 1_700_000_000_000_000_000;

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
        captures: vec![CaptureResult::default()],
        total_ns: read.stats.total_ns + getattr.stats.total_ns,
        groups: vec![read, getattr],
    }
}

fn op(name: &str, count: u64, client_ns: i64, server_ns: i64) -> OpResult {
    OpResult {
        protocol: Protocol::Nfs3,
        op: name.into(),
        client: Some(summary(count, client_ns)),
        server: Some(summary(count + 2, server_ns)),
        matched: Some(Matched {
            count,
            client_mean_ns: client_ns,
            server_mean_ns: server_ns,
            difference_mean_ns: client_ns - server_ns,
            client_p50_ns: client_ns,
            server_p50_ns: server_ns,
            difference_p50_ns: client_ns - server_ns,
            request_path_mean_ns: Some(50_000),
            reply_path_mean_ns: Some(60_000),
        }),
        unmatched: Unmatched {
            outside_overlap: 2,
            ..Unmatched::default()
        },
    }
}

/// On two clients, a file, a statement, a connection and an operation; from a moment on, and again and again.
pub(crate) fn places() -> Vec<Concentrated> {
    let end = |host, port| Endpoint {
        address: [10, 0, 0, host].into(),
        port,
    };
    let statement = profile().statements[0].statement.clone();
    let place = |(what, share): (What, f64)| Concentrated {
        what,
        calls: 100,
        cost_ns: 1_210_000_000,
        share,
        rest_mean_ns: 400_000,
    };
    let all = [
        (What::Client(end(1, 0).address), 0.6),
        (What::Client(end(7, 0).address), 0.333),
        (What::Server(end(2, 2049)), 0.9),
        (What::Connection(end(1, 45_254), end(2, 2049)), 0.9),
        (What::Operation(Protocol::Nfs3, Name::of("READ")), 0.9),
        (
            What::File(0xdead_beef, Some("/srv/db/undo01.dbf".into())),
            0.9,
        ),
        (What::Statement(statement.expect("one")), 0.9),
        (What::Since(Time(START + 1_000_000_000)), 0.97),
        (
            What::Every {
                period_ns: 2_000_000_000,
                for_ns: 101_000_000,
                times: 9,
            },
            1.0,
        ),
    ];
    all.map(place).into()
}

/// The server works on four calls at a time.
/// Of calls that wait for a capped server.
fn ledger() -> Sums {
    let mut sums = Sums::new();
    let mut call = Ledger::default();
    for _ in 0..2_600 {
        call.clear(Bounds::exactly(33_180_000));
        for (cause, ns) in [
            (Cause::Queue, Bounds::between(28_960_000, 28_990_000)),
            (Cause::Service, Bounds::exactly(4_110_000)),
            (Cause::Path, Bounds::between(80_000, 110_000)),
        ] {
            call.charge(cause, Direction::ToServer, ns);
        }
        sums.add(&call);
    }
    sums
}

pub(crate) fn diagnosis() -> Diagnosis {
    let capture = |file: &str, side, from: &str| CaptureResult {
        files: vec![file.into()],
        side: Some(side),
        side_from: from.into(),
        packets: 6793,
        bytes: 1_738_000,
        first: Some(Time(START)),
        last: Some(Time(START + 2_700_000_000)),
        snaplen: Some(256),
        link_types: vec![1],
        dropped: Some(0),
        connections: 1,
        calls: 2600,
        ..CaptureResult::default()
    };
    let mut server = capture("server.pcap", Vantage::Server, "SYN timing");
    let mut problems = Problems::default();
    problems.damage("cut-in-mid-record", || {
        (
            "the file ends within a packet".into(),
            Where {
                file: "server.pcap".into(),
                frame: Some(6794),
                line: None,
                offset: Some(1_900_000),
            },
        )
    });
    server.problems = problems;
    server.dropped = None;
    server.half_calls = vec![("after-capture", 3), ("before-capture", 1)];
    Diagnosis {
        captures: vec![capture("client.pcap", Vantage::Client, "stated"), server],
        verdict: Verdict {
            side: Side::Server,
            cause: Some(Rule::ServerConcurrencyCap),
            confidence: 0.95,
            sentence: "The SERVER is slow: of 33.2 ms per call it holds 33.1 ms, mostly \
                       queueing; it works on about 4 calls at a time while 32 wait \
                       (server-concurrency-cap)."
                .into(),
        },
        budget: Budget {
            calls: 2600,
            client_host_ns: None,
            network_out_ns: Some(50_000),
            server_ns: Some(33_070_000),
            network_back_ns: Some(60_000),
            network_least_ns: None,
            server_held_ns: None,
            server_queue_ns: Some(28_960_000),
            under_way: Vec::new(),
        },
        ops: vec![
            op("READ", 1834, 33_190_000, 33_080_000),
            op("WRITE", 766, 33_170_000, 33_060_000),
        ],
        clock: Some(Clock {
            basis: ClockBasis::AssumedSynchronised,
            offset_ns: 12_000,
            drift_ppm: 0.0,
            uncertainty_ns: 50_000,
            offset_at: Time(START),
        }),
        findings: vec![
            Finding {
                rule: Rule::ServerConcurrencyCap,
                title: "The server works on a fixed number of calls at a time".into(),
                side: Side::Server,
                cost_ns: Some(75_100_000_000),
                elapsed_cost_ns: Some(2_300_000_000),
                fatal: false,
                confidence: 0.95,
                first: Some(Time(START)),
                last: Some(Time(START + 2_700_000_000)),
                facts: vec![
                    Fact {
                        name: "cap",
                        value: 4,
                    },
                    Fact {
                        name: "unloaded_service_time_ns",
                        value: 4_110_000,
                    },
                ],
                evidence: vec![Evidence {
                    capture: 1,
                    file: 0,
                    frames: vec![812, 845, 901],
                    filter: "rpc.xid==0x4ecb8123".into(),
                    shows: "three replies that left together",
                }],
                why: "Replies leave in fours every 4.1 ms; time in the server grows by 1.03 ms \
                      with each further call outstanding; below 4 outstanding a call takes 4.2 ms."
                    .into(),
                places: Vec::new(),
                remedy: vec![
                    "raise the server's NFS threads (Linux: /proc/fs/nfsd/threads; illumos: \
                     sharectl set -p servers=N nfs), or find what the 4 are waiting for."
                        .into(),
                ],
            },
            Finding {
                rule: Rule::ClientConcurrencyCap,
                title: "The client keeps 32 calls outstanding".into(),
                side: Side::Client,
                cost_ns: None,
                elapsed_cost_ns: None,
                fatal: false,
                confidence: 0.6,
                first: None,
                last: None,
                facts: vec![Fact {
                    name: "cap",
                    value: 32,
                }],
                evidence: Vec::new(),
                why: "Each new call waits for a reply.".into(),
                remedy: Vec::new(),
                places: Vec::new(),
            },
        ],
        app: None,
        files: vec![FileResult {
            file: 0xdead_beef,
            path: Some("/srv/db/undo01.dbf".into()),
            calls: 2_100,
            total_ns: 69_700_000_000,
            request_bytes: 378_000,
            response_bytes: 137_700_000,
        }],
        notes: vec!["What the application waited before it called is not on the wire.".into()],
        call_time_ns: 86_300_000_000,
        elapsed_ns: 2_700_000_000,
        ledger: ledger(),
        streams_ledger: None,
    }
}

/// A direction of a connection that took so many nanoseconds: what it waited for, the rest idle.
fn direction(duration_ns: i64, waits: &[(TimeClass, i64)]) -> DirectionResult {
    let mut account = DirectionAccount::default();
    let mut rest = duration_ns;
    for (i, (class, ns)) in waits.iter().enumerate() {
        let frame = 10 * (i as u32 + 1);
        account.time_ns[*class] = *ns;
        account.stretches[*class] = i as u32 + 1;
        account.longest[*class] = Some(Wait {
            first: mark(0, frame),
            last: mark(ns / 2, frame + 4),
            ns: ns / 2,
        });
        rest -= ns;
    }
    account.time_ns[TimeClass::Idle] = rest;
    DirectionResult {
        counts: DirectionSummary::default(),
        account,
        lost_on_network_packets: None,
        lost_on_network_bytes: None,
        goodput_bps: None,
    }
}

/// Two connections: a server that does not read, and one over IPv6 of which little is known.
pub(crate) fn conns() -> ConnsResult {
    const SECOND: i64 = 1_000_000_000;
    let mut upload = direction(
        4 * SECOND,
        &[
            (TimeClass::Handshake, 2_100_000),
            (TimeClass::ReceiverApplication, 2_400_000_000),
            (TimeClass::LossRecovery, 612_000_000),
            (TimeClass::Transfer, 900_000_000),
        ],
    );
    upload.counts = DirectionSummary {
        packets: 1_245,
        payload_bytes: 1_504_344,
        retransmitted_packets: 3,
        retransmitted_bytes: 4_344,
        missing_from_capture_gaps: 1,
        missing_from_capture_bytes: 2_000,
        missing_from_capture_packets: 2,
        ..DirectionSummary::default()
    };
    upload.lost_on_network_packets = Some(2);
    upload.lost_on_network_bytes = Some(2_896);
    upload.goodput_bps = Some(3_050_512);
    upload.account = DirectionAccount {
        rtt: RoundTrips {
            count: 128,
            min_ns: 2_100_000,
            p50_ns: 2_210_000,
            p90_ns: 2_900_000,
            p99_ns: 11_000_000,
            max_ns: 20_300_000,
        },
        flight_max_bytes: 64_512,
        window_min_bytes: Some(5_792),
        window_max_bytes: Some(64_512),
        zero_window_ns: 2_100_000_000,
        spurious_retransmissions: 1,
        segments_acknowledged: 240,
        acknowledgements: 195,
        delayed_ack_ns: Some(40_100_000),
        delayed_acks: 13,
        write_size_bytes: Some(8_192),
        writes_of_that_size: 170,
        writes: 183,
        mss: Some(1_460),
        window_scale: Some(7),
        sack: true,
        timestamps: true,
        ecn_negotiated: Some(true),
        ecn: EcnCounts {
            capable_packets: 1_200,
            ce_packets: 7,
            ece_packets: 0,
            cwr_packets: 4,
        },
        segment_sizes: SegmentSizes([2, 0, 1, 140, 60, 37]),
        retransmissions: Retransmissions {
            fast: 1,
            timeout: 1,
            tail_probe: 0,
            other: 1,
        },
        pauses: Pauses {
            count: 2,
            total_ns: 85_000_000,
            longest: Some(Wait {
                first: mark(0, 51),
                last: mark(60_000_000, 53),
                ns: 60_000_000,
            }),
        },
        congestion_window: CongestionWindow {
            count: 3,
            sum_bytes: 121_632,
            min_bytes: 14_480,
            max_bytes: 64_512,
            last_bytes: 42_640,
        },
        stretch_acks: 12,
        ..upload.account
    };
    let mut replies = direction(4 * SECOND, &[(TimeClass::Handshake, 2_100_000)]);
    // These packets say that the other direction's window is closed.
    replies.counts = DirectionSummary {
        packets: 198,
        payload_bytes: 1,
        zero_windows: 64,
        duplicate_acks: 3,
        ..DirectionSummary::default()
    };
    let number_1 = ConnectionResult {
        number: 1,
        client: endpoint("10.0.0.1", 41_818),
        server: endpoint("10.0.0.2", 2_049),
        protocol: Some(Protocol::Nfs41),
        first: Time(START),
        last: Time(START + 4 * SECOND),
        ends: vec![(0, mark(0, 1), mark(4 * SECOND, 1_443))],
        ids: vec![model::ConnectionId(0)],
        close: Close::Finished,
        openings: Vec::new(),
        resets: Vec::new(),
        vantage: Vantage::Client,
        vantage_from: VantageFrom::Handshake {
            server_ns: 2_100_000,
            client_ns: 20_000,
        },
        vantage_confidence: 0.95,
        handshake: HandshakeResult {
            seen: true,
            syn_retries: 1,
            syn_ack_retries: 0,
            syn_to_syn_ack_ns: Some(2_100_000),
            syn_ack_to_ack_ns: Some(20_000),
        },
        directions: [upload, replies],
        at_stake_ns: 3_914_100_000,
        top: Some((
            Direction::ToServer,
            TimeClass::ReceiverApplication,
            2_400_000_000,
        )),
    };
    let number_2 = ConnectionResult {
        number: 2,
        client: endpoint("2001:db8:1111:2222:3333:4444:5555:6666", 50_000),
        server: endpoint("2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", 5_432),
        protocol: None,
        first: Time(START + SECOND),
        last: Time(START + 2 * SECOND),
        ends: vec![(0, mark(SECOND, 300), mark(2 * SECOND, 700))],
        ids: vec![model::ConnectionId(299)],
        close: Close::EndOfCapture,
        openings: Vec::new(),
        resets: Vec::new(),
        vantage: Vantage::Unknown,
        vantage_from: VantageFrom::Nothing,
        vantage_confidence: 0.0,
        handshake: HandshakeResult::default(),
        directions: [
            direction(SECOND, &[]),
            direction(SECOND, &[(TimeClass::SenderApplication, 80_000_000)]),
        ],
        at_stake_ns: 80_000_000,
        top: Some((
            Direction::ToClient,
            TimeClass::SenderApplication,
            80_000_000,
        )),
    };
    ConnsResult {
        captures: vec![CaptureResult {
            files: vec!["client.pcap".into()],
            side: Some(Vantage::Client),
            ..CaptureResult::default()
        }],
        connections: [number_1, number_2].into_iter().collect(),
        left_out: 0,
        exchanged: false,
    }
}

/// A statement executed and fetched from once, 4 ms of its waits being the path, and a commit.
pub(crate) fn profile() -> analysis::sql::SqlResult {
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
        let mut profiler = Profiler::new(&[SqlKey::Statement]);
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
