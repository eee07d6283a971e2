//! Captures of a real MariaDB (tests/databases/mysql) against what its clients knew of every call, and
//! public captures, where they are at hand, against what was read off their packets.

use crate::kit::{root, rows, sample};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn fixture(name: &str) -> PathBuf {
    root().join("tests/databases/mysql").join(name)
}

fn calls(path: &Path) -> Vec<Value> {
    rows("calls", [path])
}

/// What a client knew of a call.
struct Known {
    op: String,
    rows: Option<u64>,
    affected: Option<u64>,
    error: Option<u64>,
    /// From before it asked until it had the answer.
    took_ns: Option<i64>,
    statement: String,
}

fn truth(name: &str) -> Vec<Known> {
    let text = std::fs::read_to_string(fixture(&format!("{name}.tsv"))).expect("a list of calls");
    let line = |line: &str| {
        let mut words = line.split('\t');
        let mut word = || words.next().unwrap_or_default().to_owned();
        Known {
            op: word(),
            rows: word().parse().ok(),
            affected: word().parse().ok(),
            error: word().parse().ok(),
            took_ns: word().parse().ok(),
            statement: word(),
        }
    };
    text.lines().map(line).collect()
}

/// The calls without the greeting, which clients do not count.
fn without_connect(calls: Vec<Value>) -> Vec<Value> {
    let mut calls = calls;
    calls.retain(|c| c["op"] != "CONNECT");
    calls
}

/// Letters of a text, so that texts compare whatever was masked in one of them.
fn first_word(text: &str) -> String {
    let text = text.trim_start_matches("/* who */ ");
    let word = text.split(|c: char| !c.is_ascii_alphabetic()).next();
    word.unwrap_or_default().to_ascii_lowercase()
}

/// One call is what its client knew.
fn assert_same(name: &str, n: usize, call: &Value, known: &Known) {
    let at = format!("{name}, call {n}: {call}");
    let detail = &call["detail"];
    assert_eq!(call["protocol"], "mysql", "{at}");
    assert_eq!(call["op"], known.op.as_str(), "{at}");
    if known.rows.is_some() {
        assert_eq!(detail["rows"].as_u64(), known.rows, "{at}");
    }
    if known.affected.is_some() {
        assert_eq!(detail["affected"].as_u64(), known.affected, "{at}");
    }
    assert_eq!(detail["status"].as_u64(), known.error, "{at}");
    let outcome = match known.error {
        Some(error) => format!("ER-{error}"),
        None => "ok".to_owned(),
    };
    assert_eq!(call["outcome"], outcome.as_str(), "{at}");
    let statement = detail["sql"].as_str();
    if let (Some(statement), "EXECUTE" | "PREPARE" | "COPY") = (statement, known.op.as_str()) {
        assert_eq!(first_word(statement), first_word(&known.statement), "{at}");
    }
    // The client's time holds the wire's. Connecting is a part of what clients call a logon.
    if let Some(took) = known.took_ns {
        let ns = call["response_time_ns"].as_i64().expect("a response time");
        assert!(ns <= took, "{at}: the client had it after {took} ns");
    }
}

/// The sums of both agree to this part, so that the wire's time is the client's: what it does with 17 MB
/// of a row takes the rest.
const SLACK: f64 = 0.1;

fn assert_agrees(name: &str) {
    let found = without_connect(calls(&fixture(&format!("{name}.pcap.zst"))));
    let known = truth(name);
    assert_eq!(found.len(), known.len(), "{name}: {found:#?}");
    let (mut wire, mut client) = (0, 0);
    for (n, (call, known)) in found.iter().zip(&known).enumerate() {
        assert_same(name, n, call, known);
        if known.op != "LOGON" && known.took_ns.is_some() {
            wire += call["response_time_ns"].as_i64().expect("a response time");
            client += known.took_ns.unwrap_or_default();
        }
    }
    let share = wire as f64 / client as f64;
    assert!(
        client < 100_000_000 || share > 1.0 - SLACK,
        "{name}: {share} of the client's time"
    );
}

#[test]
fn queries_are_what_the_client_asked_and_got() {
    assert_agrees("queries");
    assert_agrees("programs");
}

#[test]
fn prepared_statements_are_followed_by_their_numbers() {
    assert_agrees("prepared");
}

#[test]
fn cursors_give_as_many_rows_as_were_asked_for() {
    assert_agrees("cursors");
    let found = calls(&fixture("cursors.pcap.zst"));
    let fetches: Vec<_> = found.iter().filter(|c| c["op"] == "FETCH").collect();
    assert_eq!(fetches.len(), 10);
    let opened = found.iter().find(|c| c["op"] == "EXECUTE").expect("one");
    for (n, fetch) in fetches.iter().enumerate() {
        let detail = &fetch["detail"];
        assert_eq!(detail["rows_asked"], 10);
        for same in ["cursor", "statement"] {
            assert_eq!(detail[same], opened["detail"][same]);
        }
        assert_eq!(detail["eof"].as_bool(), (n == 9).then_some(true));
    }
}

#[test]
fn a_file_that_the_client_loads_is_one_call() {
    assert_agrees("infile");
}

#[test]
fn logons_succeed_or_fail() {
    assert_agrees("logons");
}

#[test]
fn reports_of_progress_end_nothing() {
    assert_agrees("progress");
}

#[test]
fn commands_and_rows_go_on_in_further_packets() {
    assert_agrees("large");
    let found = calls(&fixture("large.pcap.zst"));
    let bytes = |n: usize, key: &str| found[n][key].as_u64().expect("bytes");
    assert!(bytes(2, "request_bytes") > 17_000_000);
    assert!(bytes(3, "response_bytes") > 17_000_000);
}

/// The turns of a session that cannot be read, and why.
fn hidden(name: &str) -> Vec<(String, String)> {
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let found = calls(&fixture(&format!("{name}.pcap.zst")));
    found
        .iter()
        .inspect(|c| assert_eq!(c["protocol"], "mysql"))
        .map(|c| (text(&c["op"]), text(&c["detail"]["hidden"])))
        .collect()
}

#[test]
fn what_is_encrypted_or_compressed_is_timed_and_says_so() {
    let plain = |op: &str| (op.to_owned(), String::new());
    let turn = |why: &str| ("TURN".to_owned(), why.to_owned());
    // Two of TLS, the logon, and two statements; the logon is plain where only the rest is compressed.
    let tls = hidden("tls");
    assert_eq!(tls[0], plain("CONNECT"));
    assert_eq!(tls[1..], vec![turn("tls"); 5]);
    let compression = hidden("compression");
    assert_eq!(compression[..2], [plain("CONNECT"), plain("LOGON")]);
    assert_eq!(compression[2..], vec![turn("compression"); 2]);
    // The client had the answers of its statements after these were on the wire.
    for name in ["tls", "compression"] {
        let found = calls(&fixture(&format!("{name}.pcap.zst")));
        let known = truth(name);
        for (call, known) in found.iter().rev().zip(known.iter().rev()).take(2) {
            let ns = call["response_time_ns"].as_i64().expect("a time");
            let took = known.took_ns.expect("the client's time");
            assert!(ns <= took, "{name}: {ns} of {took} ns");
        }
    }
}

#[test]
fn the_binary_log_is_one_call_and_a_note() {
    let found = without_connect(calls(&fixture("binlog.pcap.zst")));
    let last = found.last().expect("calls");
    assert_eq!(
        (&last["op"], &last["outcome"]),
        (&"BINLOG_DUMP".into(), &"ok".into())
    );
}

/// Joined in mid-connection, the calls are the last of those that the client made.
#[test]
fn a_connection_may_be_joined_late() {
    let found = calls(&fixture("joined.pcap.zst"));
    let known = truth("queries");
    assert!(found.len() > 10, "{}", found.len());
    let behind = &known[known.len() - found.len()..];
    for (n, (call, known)) in found.iter().zip(behind).enumerate() {
        assert_same("joined", n, call, known);
    }
}

/// Cut to 96 bytes, the calls are the same, have the same times, and lack what was cut off.
#[test]
fn a_cut_only_takes_away() {
    let whole = calls(&fixture("queries.pcap.zst"));
    let cut = calls(&fixture("snap96.pcap.zst"));
    assert_eq!(cut.len(), whole.len());
    let mut inferred = 0;
    for (cut, whole) in cut.iter().zip(&whole) {
        for same in [
            "op",
            "request_first_ns",
            "request_last_ns",
            "response_first_ns",
            "response_last_ns",
            "request_bytes",
            "response_bytes",
        ] {
            assert_eq!(cut[same], whole[same], "{same} of {cut}");
        }
        for may_lack in ["rows", "affected", "status", "cursor"] {
            let (cut, whole) = (&cut["detail"][may_lack], &whole["detail"][may_lack]);
            assert!(cut.is_null() || cut == whole, "{may_lack}");
        }
        inferred += u32::from(cut["detail"]["inferred"] == true);
    }
    assert!(inferred > 0, "responses are longer than that");
}

/// Operations and how often.
fn counts(path: &Path) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for call in calls(path).iter().filter(|c| c["protocol"] == "mysql") {
        *counts
            .entry(call["op"].as_str().expect("text").to_owned())
            .or_default() += 1;
    }
    counts.into_iter().collect()
}

fn assert_counts(name: &str, expected: &[(&str, usize)]) {
    if let Some(path) = sample(name) {
        let expected: Vec<_> = expected.iter().map(|&(op, n)| (op.to_owned(), n)).collect();
        assert_eq!(counts(&path), expected, "{name}");
    }
}

/// As many as Wireshark's dissector finds, where it reads them.
#[test]
fn public_captures_hold_the_calls_that_others_see() {
    assert_counts(
        "db/zeek-mysql-caching_sha2_password.pcap",
        &[
            ("CONNECT", 3),
            ("EXECUTE", 6),
            ("FIELD_LIST", 2),
            ("LOGON", 3),
        ],
    );
    assert_counts(
        "db/zeek-mysql-change-user-error.pcap",
        &[("CONNECT", 1), ("LOGON", 2), ("PING", 1)],
    );
    assert_counts(
        "db/zeek-mysql-many-query-attrs.pcap",
        &[
            ("CONNECT", 1),
            ("EXECUTE", 4),
            ("FIELD_LIST", 38),
            ("LOGON", 1),
        ],
    );
    assert_counts(
        "db/beats-mysql_int_string_operations.pcap",
        &[("CONNECT", 1), ("EXECUTE", 157), ("LOGON", 1)],
    );
    assert_counts(
        "db/zeek-mysql-auth.pcap",
        &[("CONNECT", 13), ("EXECUTE", 1), ("LOGON", 10)],
    );
    assert_counts(
        "db/beats-mysql_prepare_statement.pcap",
        &[("EXECUTE", 1), ("PREPARE", 1)],
    );
}

/// The plain text of a query stands behind its attributes.
#[test]
fn attributes_of_a_query_are_no_part_of_its_text() {
    let Some(path) = sample("db/zeek-mysql-many-query-attrs.pcap") else {
        return;
    };
    let found = calls(&path);
    let last = found.last().expect("calls");
    assert_eq!(
        last["detail"]["sql"],
        "select mysql_query_attribute_string(?), mysql_query_attribute_string(?)"
    );
}
