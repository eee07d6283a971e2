//! A diagnosis with a cap at the server, and the places of its cost.

use super::{START, profile, summary};
use analysis::findings::Rule;
use analysis::results::{
    Budget, CaptureResult, Clock, ClockBasis, Concentrated, Diagnosis, Evidence, Fact, FileResult,
    Finding, Matched, OpResult, Side, Unmatched, Vantage, Verdict, What,
};
use ledger::{Bounds, Cause, Ledger, Sums};
use model::{Direction, Endpoint, Name, Problems, Protocol, Time, Where};

pub(super) fn op(name: &str, count: u64, client_ns: i64, server_ns: i64) -> OpResult {
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
        errors: 0,
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
        (What::User("scott".into()), 0.9),
        (What::Database("orcl".into()), 0.9),
        (What::Program("sqlplus@dbhost".into()), 0.9),
        (What::Export("/srv/secret".into()), 0.9),
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
    let capture = |file: &str, side, from: &'static str| CaptureResult {
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
        lost: Some([0, 0]),
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
            server_lock_ns: None,
            server_held_ns: None,
            server_queue_ns: Some(28_960_000),
            under_way: Vec::new(),
        },
        ops: vec![
            op("READ", 1834, 33_190_000, 33_080_000),
            op("WRITE", 766, 33_170_000, 33_060_000),
        ],
        clocks: Vec::new(),
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
        server_app: None,
        layers: Vec::new(),
        tiers: Vec::new(),
        hops: Vec::new(),
        peers: Vec::new(),
        own: Default::default(),
        both: Default::default(),
        hosts: Vec::new(),
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
        few_long: None,
        ledger: ledger(),
        streams_ledger: None,
        untold_ns: 0,
        cut_ns: 0,
    }
}
