//! `slowside conns --series`: its columns, and that its rows add up to what is said of connections.

use super::conns::{four, lab};
use super::contract::{assert_integers, json};
use super::{capture, conversation};
use crate::kit::{file, refused, slowside, text};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use testkit::{Conversation, faults, rpc};

const COLUMNS: [&str; 9] = [
    "capture",
    "captured_at",
    "connection",
    "client",
    "server",
    "protocol",
    "start_ns",
    "width_ns",
    "outstanding_max",
];

const DIRECTION: [&str; 10] = [
    "packets",
    "payload_bytes",
    "throughput_bps",
    "retransmitted_packets",
    "rtt_count",
    "rtt_min_ns",
    "rtt_mean_ns",
    "flight_max_bytes",
    "window_min_bytes",
    "congestion_window_bytes",
];

const DIRECTIONS: [&str; 2] = ["client_to_server", "server_to_client"];

fn rows(arguments: &[&str]) -> Vec<Map<String, Value>> {
    let output = slowside(["conns", "--format=jsonl"].iter().chain(arguments));
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let lines = text(&output.stdout);
    let lines = lines
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"));
    lines.collect()
}

fn number(row: &Map<String, Value>, column: &str) -> u64 {
    row[column]
        .as_u64()
        .unwrap_or_else(|| panic!("{column} of {row:?}"))
}

#[test]
fn rows_have_the_columns_of_the_contract() {
    let path = file("series-columns", "reads.pcap", &conversation());
    let path = path.to_str().expect("UTF-8");
    let measures = DIRECTIONS.map(|d| DIRECTION.map(|name| format!("{d}_{name}")));
    let columns: Vec<&str> = COLUMNS
        .into_iter()
        .chain(measures.iter().flatten().map(String::as_str))
        .collect();
    let csv = slowside(["conns", path, "--series=1s", "--format=csv"]);
    let csv = text(&csv.stdout);
    assert_eq!(csv.lines().next(), Some(columns.join(",").as_str()));
    let rows = rows(&[path, "--series=1s"]);
    assert_eq!(rows.len(), csv.lines().count() - 1);
    for row in &rows {
        assert_eq!(row.keys().collect::<Vec<_>>(), columns);
        assert_integers("", &row.clone().into());
    }
    let fields = slowside(["conns", "--fields"]);
    let fields = text(&fields.stdout);
    for name in COLUMNS.iter().chain(&DIRECTION) {
        assert!(fields.contains(&format!("  {name} ")), "{name}");
    }
}

#[test]
fn rows_add_up_to_their_connections() {
    for (case, width) in [
        ("packet-loss", "100ms"),
        ("loss-download", "7ms"),
        ("slow-reader", "1s"),
        ("server-cap", "1us"),
    ] {
        let path = lab(case);
        let conns = json(["conns", &path, "--format=json"]);
        let mut sums: BTreeMap<(u64, String), u64> = BTreeMap::new();
        let mut last = (i64::MIN, 0);
        for row in rows(&[&path, "--series", width]) {
            let start = row["start_ns"].as_i64().expect("a time");
            let connection = number(&row, "connection");
            assert!((start, connection) > last, "{case}: {row:?}");
            last = (start, connection);
            assert_eq!(start % number(&row, "width_ns") as i64, 0);
            for d in DIRECTIONS {
                for name in [
                    "packets",
                    "payload_bytes",
                    "retransmitted_packets",
                    "rtt_count",
                ] {
                    let name = format!("{d}_{name}");
                    let n = number(&row, &name);
                    *sums.entry((connection, name)).or_default() += n;
                }
                let name = format!("{d}_flight_max_bytes");
                let most = number(&row, &name);
                let known = sums.entry((connection, name)).or_default();
                *known = most.max(*known);
            }
        }
        for c in conns["connections"].as_array().expect("connections") {
            let connection = c["number"].as_u64().expect("a number");
            for d in DIRECTIONS {
                let told = &c["directions"][d];
                for (name, expected) in [
                    ("packets", &told["packets"]),
                    ("payload_bytes", &told["payload_bytes"]),
                    ("retransmitted_packets", &told["retransmitted_packets"]),
                    ("rtt_count", &told["rtt"]["count"]),
                    ("flight_max_bytes", &told["flight_max_bytes"]),
                ] {
                    let sum = sums.remove(&(connection, format!("{d}_{name}")));
                    assert_eq!(sum, expected.as_u64(), "{case}: {connection} {d} {name}");
                }
                let kinds = told["retransmissions"].as_object().expect("kinds").values();
                let kinds: u64 = kinds.filter_map(Value::as_u64).sum();
                assert_eq!(
                    told["retransmitted_packets"], kinds,
                    "{case}: {connection} {d}"
                );
            }
        }
        assert!(sums.is_empty(), "{case}: {sums:?}");
    }
}

#[test]
fn calls_are_counted_as_outstanding_until_they_are_answered() {
    let mut c = Conversation::nfs();
    c.handshake();
    let call = |id| rpc::record(&rpc::read_call(id, b"file", 0, 512));
    let reply = |id| rpc::record(&rpc::read_reply(id, &[1; 512], false));
    // Seconds 1, 3, 4 and 6.
    c.client(&call(1)).client(&call(2)).client(&call(3));
    c.at(3_000_000_000).server_ack();
    c.at(4_000_000_000).server(&reply(1)).server(&reply(2));
    c.at(6_000_000_000).server(&reply(3)).client_ack();
    c.at(7_000_000_000).finish();
    let path = file("series-calls", "calls.pcap", &capture(&c.packets()));
    let rows = rows(&[path.to_str().expect("UTF-8"), "--series=1s"]);
    let most: Vec<(u64, u64)> = rows
        .iter()
        .map(|row| {
            (
                number(row, "start_ns") / 1_000_000_000,
                number(row, "outstanding_max"),
            )
        })
        .collect();
    assert_eq!(most, [(1, 3), (3, 3), (4, 3), (6, 1), (7, 0)]);
}

#[test]
fn a_connection_and_a_time_are_selected() {
    let path = four("series-selected");
    let connections = |arguments: &[&str]| {
        let rows = rows(&[&[path.as_str(), "--series=1s"], arguments].concat());
        rows.iter()
            .map(|row| {
                (
                    number(row, "start_ns") / 1_000_000_000,
                    number(row, "connection"),
                )
            })
            .collect::<Vec<_>>()
    };
    let all = [
        (10, 1),
        (11, 1),
        (11, 2),
        (12, 3),
        (13, 3),
        (14, 4),
        (15, 4),
        (19, 2),
    ];
    assert_eq!(connections(&[]), all);
    assert_eq!(connections(&["--connection=2"]), [(11, 2), (19, 2)]);
    assert_eq!(connections(&["--from=+3s", "--to=+5.5s"]), all[4..7]);
    assert!(connections(&["--connection=2", "--from=@13", "--to=@14"]).is_empty());
    let message = refused(["conns", &path, "--series=1s", "--connection=5"]);
    assert!(message.contains("no connection 5"), "{message}");
}

#[test]
fn both_captures_have_their_rows() {
    let mut c = Conversation::nfs();
    c.handshake().after(2_000_000).spacing(0);
    for id in 0..20 {
        c.client(&rpc::record(&rpc::read_call(id, b"file", 0, 512)));
        c.server_ack().after(50_000_000);
        c.server(&rpc::record(&rpc::read_reply(id, &[1; 512], false)));
        c.after(2_000_000).client_ack();
    }
    let server = c.packets();
    let (from, to) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into());
    let client = faults::delay(&faults::delay(&server, from, -1_000_000), to, 1_000_000);
    let [client, server] = [("client.pcap", client), ("server.pcap", server)]
        .map(|(name, packets)| file("series-both", name, &capture(&packets)));
    let [client, server] = [&client, &server].map(|p| p.to_str().expect("UTF-8"));
    let said = rows(&["--client", client, "--server", server, "--series=100ms"]);
    let of = |side: &str| {
        said.iter()
            .filter(|r| r["captured_at"] == side)
            .collect::<Vec<_>>()
    };
    assert_eq!(of("client").len() + of("server").len(), said.len());
    for (side, path) in [("client", client), ("server", server)] {
        assert!(of(side).iter().all(|r| r["capture"] == path));
        let packets: u64 = of(side)
            .iter()
            .map(|r| number(r, "client_to_server_packets"))
            .sum();
        assert_eq!(packets, 2 + 20 * 2, "{side}");
    }
    assert!(said.iter().all(|r| r["connection"] == 1));
    // Which is which is found out where it is not said.
    for order in [[client, server], [server, client]] {
        assert_eq!(rows(&[order[0], order[1], "--series=100ms"]), said);
    }
}

#[test]
fn rows_for_people_fit_their_terminal() {
    for arguments in [
        &["--connection=2"][..],
        &["--connection=2", "--format=text"],
    ] {
        let path = lab("packet-loss");
        let page = slowside(["conns", &path, "--series=100ms"].iter().chain(arguments));
        assert_eq!(page.status.code(), Some(0), "{page:?}");
        let page = text(&page.stdout);
        assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
        assert!(page.lines().count() > 20, "{page}");
    }
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_cure() {
    let path = four("series-refused");
    for (arguments, cure) in [
        (&["--series=1s"][..], "--connection N"),
        (
            &["--series=1s", "--format=json"],
            "--format csv, jsonl, parquet or arrow",
        ),
        (&["--format=jsonl"], "--format json"),
        (&["--series=0"], "100ms"),
        (&["--series=10"], "unit"),
    ] {
        let message = refused([["conns", &path].as_slice(), arguments].concat());
        assert!(message.contains(cure), "{arguments:?}: {message}");
    }
}
