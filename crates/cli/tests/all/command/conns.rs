//! `slowside conns`: what scripts rely on, what is selected, and connections of a real capture.

use super::contract::{assert_integers, assert_keys, json};
use super::{capture, conversation};
use crate::kit::{self, file, refused, slowside, text};
use expect_test::expect;
use serde_json::Value;
use testkit::Conversation;

const CONNECTION: [&str; 14] = [
    "number",
    "client",
    "server",
    "protocol",
    "first_ns",
    "last_ns",
    "vantage",
    "vantage_from",
    "vantage_confidence",
    "close",
    "handshake",
    "at_stake_ns",
    "top",
    "directions",
];

const HANDSHAKE: [&str; 5] = [
    "seen",
    "syn_retries",
    "synack_retries",
    "syn_to_synack_ns",
    "synack_to_ack_ns",
];

const DIRECTION: [&str; 35] = [
    "packets",
    "payload_bytes",
    "retransmitted_packets",
    "retransmitted_bytes",
    "spurious_retransmissions",
    "lost_on_network_packets",
    "lost_on_network_bytes",
    "missing_from_capture_packets",
    "missing_from_capture_bytes",
    "out_of_order_packets",
    "duplicate_packets",
    "duplicate_acks",
    "zero_windows",
    "zero_window_ns",
    "mss",
    "window_scale",
    "sack",
    "timestamps",
    "rtt",
    "flight_max_bytes",
    "window_min_bytes",
    "window_max_bytes",
    "goodput_bps",
    "segments_per_ack",
    "delayed_ack_ns",
    "write_size_bytes",
    "time_ns",
    "longest",
    "writes",
    "segments",
    "retransmissions",
    "congestion_window",
    "pauses",
    "stretch_acks",
    "ecn",
];

/// Keys of the objects of a direction.
const HABITS: [(&str, &[&str]); 5] = [
    (
        "segments",
        &[
            "up_to_64_bytes",
            "up_to_256_bytes",
            "up_to_512_bytes",
            "up_to_1460_bytes",
            "up_to_8960_bytes",
            "larger",
        ],
    ),
    (
        "retransmissions",
        &["fast", "timeout", "tail_probe", "other"],
    ),
    (
        "congestion_window",
        &[
            "count",
            "min_bytes",
            "mean_bytes",
            "max_bytes",
            "last_bytes",
        ],
    ),
    ("pauses", &["count", "total_ns", "longest_ns"]),
    (
        "ecn",
        &[
            "negotiated",
            "capable_packets",
            "ce_packets",
            "ece_packets",
            "cwr_packets",
        ],
    ),
];

const ROUND_TRIPS: [&str; 6] = ["count", "min_ns", "p50_ns", "p90_ns", "p99_ns", "max_ns"];

const CLASSES: [&str; 11] = [
    "handshake",
    "idle",
    "sender-application",
    "receiver-application",
    "small-window",
    "nagle-delayed-ack",
    "loss-recovery",
    "congestion",
    "bandwidth",
    "transfer",
    "unknown",
];

pub(crate) fn lab(case: &str) -> String {
    kit::lab(case, "client").display().to_string()
}

/// Three connections, a second each, one after the other, and one over IPv6 that lasts through all.
pub(crate) fn four(test: &str) -> String {
    let mut packets = Vec::new();
    let mut add = |client: &str, server: &str, from: i64, to: i64| {
        let parse = |end: &str| end.parse().expect("an address");
        let mut c = Conversation::new(parse(client), parse(server));
        c.at(from * 1_000_000_000).handshake();
        c.at(to * 1_000_000_000).finish();
        packets.extend(c.packets());
    };
    add("10.0.0.1:1001", "10.0.0.2:2049", 10, 11);
    add("[fd00::1]:900", "[fd00::2]:2049", 11, 19);
    add("10.0.0.1:1002", "10.0.0.2:2049", 12, 13);
    add("10.0.0.1:1003", "10.0.0.2:2049", 14, 15);
    packets.sort_by_key(|p| p.time);
    let path = file(test, "four.pcap", &capture(&packets));
    path.to_str().expect("UTF-8").to_owned()
}

/// The numbers of the connections that are selected, sorted.
fn numbers(arguments: &[&str]) -> Vec<u64> {
    let all = ["conns", "--format=json"].iter().chain(arguments);
    let connections = json(all)["connections"].take();
    let numbers = connections.as_array().expect("connections").iter();
    let mut numbers: Vec<u64> = numbers.filter_map(|c| c["number"].as_u64()).collect();
    numbers.sort_unstable();
    numbers
}

#[test]
fn connections_have_the_keys_of_the_contract() {
    let path = file("conns-keys", "reads.pcap", &conversation());
    let conns = json(["conns".as_ref(), path.as_os_str(), "--format=json".as_ref()]);
    assert_keys(&conns, &["schema", "connections", "captures"]);
    assert_eq!(conns["schema"], "slowside.conns/1");
    assert_integers("", &conns);
    assert_eq!(conns["captures"].as_array().map(Vec::len), Some(1));
    let connections = conns["connections"].as_array().expect("connections");
    assert_eq!(connections.len(), 1);
    let c = &connections[0];
    assert_keys(c, &CONNECTION);
    assert_keys(&c["handshake"], &HANDSHAKE);
    assert_eq!(c["client"], "10.0.0.1:1000");
    assert_eq!(c["close"], "finished");
    assert_eq!(c["handshake"]["seen"], true);
    assert_keys(&c["directions"], &["client_to_server", "server_to_client"]);
    for (_, d) in c["directions"].as_object().expect("directions") {
        assert_keys(d, &DIRECTION);
        assert_keys(&d["rtt"], &ROUND_TRIPS);
        assert_keys(&d["time_ns"], &CLASSES);
        for (object, keys) in HABITS {
            assert_keys(&d[object], keys);
        }
        for wait in d["longest"].as_array().expect("waits") {
            assert_keys(wait, &["class", "ns", "frames"]);
        }
    }
}

#[test]
fn rows_have_a_column_per_field_and_fields_are_explained() {
    let path = file("conns-csv", "reads.pcap", &conversation());
    let csv = slowside(["conns".as_ref(), path.as_os_str(), "--format=csv".as_ref()]);
    let csv = text(&csv.stdout);
    let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
    assert_eq!(csv.lines().count(), 1 + 2);
    let fields = slowside(["conns", "--fields"]);
    assert_eq!(fields.status.code(), Some(0));
    let fields = text(&fields.stdout);
    for name in CONNECTION.iter().chain(&DIRECTION) {
        assert!(fields.contains(name) || *name == "directions", "{name}");
        let nested = [
            "handshake",
            "top",
            "directions",
            "rtt",
            "time_ns",
            "longest",
            "segments",
            "retransmissions",
            "congestion_window",
            "pauses",
            "ecn",
        ];
        assert!(
            header.contains(name) || nested.contains(name),
            "{name} in {header:?}"
        );
    }
    for class in CLASSES {
        assert!(fields.contains(&format!("time_ns.{class}")), "{class}");
        let column = format!("time_{}_ns", class.replace('-', "_"));
        assert!(header.contains(&column.as_str()), "{column}");
    }
}

#[test]
fn connections_that_overlap_the_time_are_selected() {
    let path = four("conns-time");
    let path = path.as_str();
    assert_eq!(numbers(&[path]), [1, 2, 3, 4]);
    for (arguments, expected) in [
        (&["--from", "+3.5s"][..], &[2_u64, 4][..]),
        (&["--to", "+1.5s"], &[1, 2]),
        (&["--from", "+2.1s", "--to", "+2.9s"], &[2, 3]),
        (&["--from", "@14.5", "--to", "@14.6"], &[2, 4]),
        (&["--from", "1h"], &[]),
        (&["--connection", "3"], &[3]),
    ] {
        assert_eq!(
            numbers(&[&[path], arguments].concat()),
            expected,
            "{arguments:?}"
        );
    }
}

#[test]
fn a_connection_that_is_not_there_is_refused() {
    let path = four("conns-refused");
    let message = refused(["conns", &path, "--connection", "5"]);
    assert!(message.contains("no connection 5"), "{message}");
}

#[test]
fn pages_have_80_columns() {
    let path = four("conns-page");
    for arguments in [&["--all"][..], &["--connection", "2"]] {
        let page = slowside(["conns", &path].iter().chain(arguments));
        assert_eq!(page.status.code(), Some(0), "{page:?}");
        let page = text(&page.stdout);
        // The name of the test's own folder may be longer than a line.
        let wide = |l: &str| l.chars().count() > 80 && !l.contains(".pcap");
        assert!(!page.lines().any(wide), "{page}");
        assert!(page.contains("fd00::1"), "{page}");
    }
}

#[test]
fn connections_of_a_real_capture_are_those_that_tshark_counts() {
    let conns = json(["conns", &lab("packet-loss"), "--format=json"]);
    let connections = conns["connections"].as_array().expect("connections");
    let mut lines: Vec<String> = connections
        .iter()
        .map(|c| {
            let counts = ["client_to_server", "server_to_client"].map(|d| {
                let d: &Value = &c["directions"][d];
                format!("{} {}", d["packets"], d["payload_bytes"])
            });
            let [client, server] = ["client", "server"].map(|end| c[end].as_str());
            let ends = [client, server].map(Option::unwrap_or_default).join(" ");
            format!("{} {ends}: {}", c["number"], counts.join(", "))
        })
        .collect();
    lines.sort();
    expect![[r#"
        1 10.0.0.1:610 10.0.0.2:20048: 7 228, 5 148
        2 10.0.0.1:611 10.0.0.2:2049: 1809 1600344, 1837 3489348"#]]
    .assert_eq(&lines.join("\n"));
}

#[test]
fn connections_are_asked_for_by_what_they_are() {
    let path = kit::root().join("tests/field/g22-duplicate-address/client.pcap.zst");
    let path = path.to_str().expect("UTF-8");
    let list = |more: &[&str]| {
        let all = json(["conns", path, "--format=json"].iter().chain(more));
        all["connections"].as_array().expect("connections").clone()
    };
    let all = list(&[]);
    let up = |c: &Value, field: &str| c["directions"]["client_to_server"][field].clone();
    let p50 = |c: &Value, d: &str| c["directions"][d]["rtt"]["p50_ns"].as_i64();
    let client = |c: &Value| c["client"].as_str().unwrap_or_default().to_owned();
    type Is<'a> = &'a dyn Fn(&Value) -> bool;
    let cases: [(&str, Is<'_>); 11] = [
        ("close = RESET", &|c| c["close"] == "reset"),
        ("not close ~ f*", &|c| c["close"] == "reset"),
        ("handshake.seen = no", &|c| c["handshake"]["seen"] == false),
        ("packets = 18", &|c| up(c, "packets") == 20),
        ("client_to_server.packets = 18", &|_| false),
        // Of either direction; where nothing is known nothing is true.
        ("rtt_p50 > 1.3ms", &|c| {
            ["client_to_server", "server_to_client"]
                .iter()
                .any(|d| p50(c, d) > Some(1_300_000))
        }),
        ("server_to_client.rtt.p50 != 12440ns", &|c| {
            p50(c, "server_to_client").is_some_and(|ns| ns != 12_440)
        }),
        ("client.port < 42900 and server = 10.0.0.0/8", &|c| {
            client(c).as_str() < "10.0.0.1:42900"
        }),
        ("host = 10.0.0.3", &|_| false),
        ("vantage_confidence >= 0.95", &|c| {
            c["vantage_confidence"] == 0.95
        }),
        ("client_to_server.goodput_bps > 590k", &|c| {
            up(c, "goodput_bps").as_i64() > Some(590_000)
        }),
    ];
    for (text, is) in cases {
        let wanted: Vec<&Value> = all.iter().filter(|c| is(c)).collect();
        let found = list(&["--where", text]);
        assert_eq!(found.iter().collect::<Vec<_>>(), wanted, "{text}");
    }

    let page = slowside(["conns", path, "--where", "close = reset"]);
    let page = text(&page.stdout);
    assert!(
        page.starts_with("12 TCP connections") && page.contains("12 connections"),
        "{page}"
    );
    let none = slowside(["conns", path, "--where", "mss < 100"]);
    assert_eq!(
        text(&none.stdout),
        "None of 24 TCP connections is what --where asks for.\n"
    );
    let rows = slowside([
        "conns",
        path,
        "--series=1s",
        "--format=csv",
        "--where",
        "number = 4",
    ]);
    let rows = text(&rows.stdout);
    assert!(rows.lines().count() > 1, "{rows}");
    let number = rows
        .lines()
        .next()
        .and_then(|h| h.split(',').position(|c| c == "connection"));
    let number = number.expect("a column of it");
    assert!(
        rows.lines()
            .skip(1)
            .all(|r| r.split(',').nth(number) == Some("4")),
        "{rows}"
    );
}

#[test]
fn what_connections_do_not_have_is_told() {
    for (text, says) in [
        (
            "retransmited_packets > 1",
            "column 1: connections have no `retransmited_packets`; did you mean `retransmitted_packets`",
        ),
        (
            "zebra > 1",
            "column 1: connections have no `zebra`; `slowside conns --fields` lists",
        ),
        ("close > reset", "column 7: `close` has no order"),
        (
            "packets ~ 1*",
            "column 9: `~` compares text, and `packets` is a number",
        ),
        (
            "sack ~ t*",
            "column 6: `~` compares text, and `sack` is a flag",
        ),
        ("rtt_p50 > 5", "column 11: `5` is without a unit"),
        (
            "client_to_server.close = reset",
            "column 1: connections have no `client_to_server.close`",
        ),
    ] {
        let message = refused(["conns", "a.pcap", "--where", text]);
        assert!(message.contains(says), "{message}");
    }
}
