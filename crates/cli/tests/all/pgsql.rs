//! PostgreSQL against those who know better: the client and the server of `tests/databases/pgsql` (made by
//! `tests/databases/postgresql`), tshark's dissector, and, where they are at hand, public captures and
//! the lab's (`../shared`).

use crate::kit::{has, lab_run, root, rows, sample, slowside, with};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The server's own durations end before its answer leaves, and its log and the capture take their times
/// from one clock at different moments.
const SLACK_NS: i64 = 2_000_000;

/// Every fixture: its capture, and what client and server said.
fn fixtures() -> Vec<(String, PathBuf, Value)> {
    let folder = root().join("tests/databases/pgsql");
    let mut all = Vec::new();
    for entry in std::fs::read_dir(&folder).expect("fixtures") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "json") {
            let text = std::fs::read_to_string(&path).expect("a truth");
            let name = path.file_stem().expect("a name").to_string_lossy();
            let truth = serde_json::from_str(&text).expect("JSON");
            all.push((name.into_owned(), path.with_extension("pcap"), truth));
        }
    }
    assert!(all.len() >= 15, "{} fixtures", all.len());
    all.sort_by(|a, b| a.0.cmp(&b.0));
    all
}

/// The calls of a capture in the order of their requests.
fn calls(capture: &Path) -> Vec<Value> {
    rows("calls", with(&["--sort=start"], capture))
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or_else(|| panic!("{value}"))
}

fn op(call: &Value) -> &str {
    call["op"].as_str().expect("an operation")
}

/// Whether it is a call that executes something, as Query, Execute and FunctionCall do.
fn executes(call: &Value) -> bool {
    let whole = call["detail"]["sql"].is_string() && op(call) != "PREPARE";
    // Without a text there is nothing to show, but something was executed.
    whole || matches!(op(call), "EXECUTE" | "FETCH" | "LOB" | "COPY")
}

#[test]
fn calls_are_those_that_the_client_made() {
    for (name, capture, truth) in fixtures() {
        let Some(made) = truth["calls"].as_array() else {
            continue;
        };
        let mut seen = calls(&capture);
        assert!(seen.iter().all(|c| c["protocol"] == "pgsql"), "{name}");
        // What is encrypted is seen in turns.
        seen.retain(|c| op(c) != "TURN");
        assert_eq!(seen.len(), made.len(), "{name}");
        for (i, (s, m)) in seen.iter().zip(made).enumerate() {
            let at = format!("{name}, call {i}: {s} for {m}");
            assert_eq!(s["op"], m["op"], "{at}");
            assert_eq!(s["outcome"], m["outcome"], "{at}");
            let told = |v: &Value| v.as_i64().unwrap_or(0);
            let d = &s["detail"];
            assert_eq!(told(&d["rows"]), told(&m["rows"]), "{at}");
            assert_eq!(told(&d["affected"]), told(&m["affected"]), "{at}");
            assert_eq!(d["rows_asked"].as_i64(), m["rows_asked"].as_i64(), "{at}");
            assert_eq!(d["inner_trips"].as_i64(), m["inner_trips"].as_i64(), "{at}");
            if let Some(text) = m["text"].as_str() {
                let normal = statement::normalise_as(text, statement::Dialect::PostgreSql);
                assert_eq!(d["sql"].as_str().unwrap_or_default(), normal, "{at}");
            }
        }
    }
}

#[test]
fn what_is_encrypted_keeps_its_name_and_its_turns() {
    let (_, capture, _) = fixtures()
        .into_iter()
        .find(|(name, ..)| name == "tls")
        .expect("tls");
    let turns = calls(&capture).iter().filter(|c| op(c) == "TURN").count();
    // Hello, key exchange and authentication, two statements.
    assert!(turns >= 4, "{turns}");
}

#[test]
fn statements_take_no_longer_than_the_server_says_and_are_as_many() {
    for (name, capture, truth) in fixtures() {
        if name == "tls" || name == "replication" {
            continue;
        }
        let mut logged: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for line in truth["server"].as_array().expect("a log") {
            let kind = line["kind"].as_str().expect("a kind");
            if !matches!(kind, "parse" | "bind") {
                let ms = line["ms"].as_f64().expect("a duration");
                let port = number(&line["port"]);
                logged.entry(port).or_default().push((ms * 1e6) as i64);
            }
        }
        let mut seen: BTreeMap<i64, Vec<i64>> = BTreeMap::new();
        for call in calls(&capture) {
            // The server logs no duration of what fails, nor of an Execute of nothing.
            let empty = name == "portals" && call["detail"]["sql"].as_str() == Some("");
            if call["outcome"] == "ok" && executes(&call) && !empty {
                let client = call["client"].as_str().expect("a client");
                let port = client.rsplit(':').next().expect("a port");
                let port = port.parse().expect("a number");
                let took = number(&call["wait_ns"])
                    + number(&call["response_transfer_ns"])
                    + number(&call["request_transfer_ns"]);
                seen.entry(port).or_default().push(took);
            }
        }
        assert_eq!(
            seen.keys().collect::<BTreeSet<_>>(),
            logged.keys().collect::<BTreeSet<_>>(),
            "{name}"
        );
        for (port, durations) in logged {
            let took = &seen[&port];
            assert_eq!(took.len(), durations.len(), "{name}, port {port}");
            for (i, (took, server)) in took.iter().zip(&durations).enumerate() {
                assert!(
                    *server <= took + SLACK_NS,
                    "{name}, port {port}, statement {i}: {took} ns, the server says {server}"
                );
            }
        }
    }
}

#[test]
fn transactions_are_as_many_as_pgbench_says() {
    for (name, capture, truth) in fixtures() {
        let Some(done) = truth["transactions"].as_u64() else {
            continue;
        };
        let count = |wanted: &str| {
            let all = calls(&capture);
            all.iter().filter(|c| op(c) == wanted).count() as u64
        };
        assert_eq!(count("BEGIN"), done, "{name}");
        assert_eq!(count("COMMIT"), done, "{name}");
        // Five statements each, and two before the first.
        assert_eq!(count("EXECUTE"), 5 * done + 2, "{name}");
    }
}

/// How many messages of each type tshark sees; `None` where there is none.
fn tshark(capture: &Path, port: u16) -> Option<BTreeMap<String, u64>> {
    if !has("tshark") {
        return None;
    }
    let output = Command::new("tshark")
        .args(["-n", "-r"])
        .arg(capture)
        .args(["-d", &format!("tcp.port=={port},pgsql")])
        .args(["-Y", "pgsql", "-T", "fields", "-e", "pgsql.type"])
        .stdin(Stdio::null())
        .output()
        .expect("tshark runs");
    let mut types = BTreeMap::new();
    let text = String::from_utf8_lossy(&output.stdout);
    for kind in text.lines().flat_map(|l| l.split(',')) {
        *types.entry(kind.to_owned()).or_default() += 1;
    }
    Some(types)
}

/// Executions, rows and logons as tshark's messages and slowside's calls count them.
fn compare(name: &str, capture: &Path, port: u16) {
    let Some(types) = tshark(capture, port) else {
        return;
    };
    let of = |kind: &str| types.get(kind).copied().unwrap_or(0);
    let seen = calls(capture);
    let count = |f: &dyn Fn(&Value) -> bool| seen.iter().filter(|c| f(c)).count() as u64;
    let asked = of("Simple query") + of("Execute") + of("Function call");
    let has_request = |c: &Value| !c["request_first_ns"].is_null();
    assert_eq!(
        count(&|c| executes(c) && has_request(c)),
        asked,
        "{name}: executions"
    );
    assert_eq!(
        count(&|c| op(c) == "LOGON"),
        of("Startup message"),
        "{name}: logons"
    );
    let rows: i64 = seen
        .iter()
        .filter(|c| op(c) != "COPY")
        .map(|c| c["detail"]["rows"].as_i64().unwrap_or(0))
        .sum();
    assert_eq!(rows as u64, of("Data row"), "{name}: rows");
}

#[test]
fn tshark_sees_as_many_executions_rows_and_logons() {
    for (name, capture, _) in fixtures() {
        // A stream of messages that tshark does not know; a session whose messages it takes for others.
        if !matches!(&*name, "replication" | "tls") {
            compare(&name, &capture, 15432);
        }
    }
}

/// Operation, outcome and how often.
type Counts = &'static [(&'static str, &'static str, u64)];

/// Public captures that hold PostgreSQL, with the calls that their packets prove.
const SAMPLES: [(&str, Counts); 14] = [
    ("arkime-postgres-badpass.pcap", &[("NEGOTIATE", "ok", 1)]),
    (
        "arkime-postgres-good.pcap",
        &[("LOGON", "ok", 1), ("NEGOTIATE", "ok", 1)],
    ),
    (
        "beats-pgsql_extended_query.pcap",
        &[("EXECUTE", "ok", 2), ("LOGON", "ok", 1)],
    ),
    ("beats-pgsql_insert_error.pcap", &[("EXECUTE", "23505", 1)]),
    ("beats-pgsql_long_result.pcap", &[("EXECUTE", "ok", 1)]),
    ("beats-pgsql_rt.pcap", &[("EXECUTE", "ok", 1)]),
    (
        "greenhouse-app.pcap",
        &[("BEGIN", "ok", 26), ("ROLLBACK", "ok", 22)],
    ),
    ("pgsql.cap.gz", &[("EXECUTE", "ok", 5), ("LOGON", "ok", 2)]),
    ("psql-aws-ssl-require.pcap", &[("NEGOTIATE", "ok", 1)]),
    (
        "psql-create-insert-select-delete-drop.pcap",
        &[("EXECUTE", "ok", 7)],
    ),
    (
        "psql-insert-fail-drop-fail.pcap",
        &[("EXECUTE", "42804", 1), ("EXECUTE", "42P01", 1)],
    ),
    ("psql-login-fail.pcap", &[("LOGON", "28P01", 1)]),
    ("psql-select-now.pcap", &[("EXECUTE", "ok", 1)]),
    (
        "suricata-pgsql-cancel-request.pcap",
        &[("CANCEL", "no-response", 1)],
    ),
];

#[test]
fn public_captures_hold_these_calls() {
    let Some(folder) = sample("db") else {
        return;
    };
    for (name, wanted) in SAMPLES {
        let seen = calls(&folder.join(name));
        assert!(seen.iter().any(|c| c["protocol"] == "pgsql"), "{name}");
        for &(op, outcome, count) in wanted {
            let same = |c: &&Value| c["op"] == op && c["outcome"] == outcome;
            let found = seen.iter().filter(same).count() as u64;
            assert_eq!(found, count, "{name}: {op} {outcome}");
        }
    }
}

#[test]
fn other_databases_are_not_taken_for_it() {
    let Some(folder) = sample("") else {
        return;
    };
    for sub in ["db", "tns"] {
        for entry in std::fs::read_dir(folder.join(sub)).expect("samples") {
            let path = entry.expect("an entry").path();
            let name = path
                .file_name()
                .expect("a name")
                .to_string_lossy()
                .into_owned();
            let is_capture = [".pcap", ".cap", ".pcapng", ".gz"]
                .iter()
                .any(|e| name.ends_with(e));
            if !is_capture || SAMPLES.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let output = slowside(with(&["ops", "--format=json"], &path));
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(!text.contains("\"pgsql\""), "{name}");
        }
    }
}

/// Rows of a compressed CSV, by its header.
fn table(path: &Path) -> Vec<BTreeMap<String, f64>> {
    let output = Command::new("gzip")
        .arg("-dc")
        .arg(path)
        .output()
        .expect("gzip");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines = text.lines().map(|l| l.split(','));
    let header: Vec<_> = lines.next().expect("a header").collect();
    lines
        .map(|l| {
            let values = l.map(|v| v.parse().unwrap_or(f64::NAN));
            header.iter().map(|h| (*h).to_owned()).zip(values).collect()
        })
        .collect()
}

#[test]
fn the_lab_s_databases_and_their_clients_agree() {
    let Some(lab) = lab_run("") else {
        return;
    };
    for case in ["p1", "p1_5ms", "p1_lock", "p2", "p3_fetch1", "p3_fetch100"] {
        let folder = lab.join(case);
        let server = calls(&folder.join("server.pcap"));
        let client = calls(&folder.join("client.pcap"));
        let logged = table(&folder.join("server_ops.csv.gz"));
        for (side, seen) in [("server", &server), ("client", &client)] {
            let count = seen.iter().filter(|c| executes(c)).count();
            // Statements that pgbench sends before the log is emptied or behind its end.
            assert_eq!(count, logged.len(), "{case}, {side}");
            assert!(
                seen.iter()
                    .all(|c| c["protocol"] == "pgsql" && c["outcome"] == "ok"),
                "{case}, {side}"
            );
        }
        // Each of the server's durations is within one call's time there, the longest within the longest.
        let mut took: Vec<i64> = server
            .iter()
            .filter(|c| executes(c))
            .map(|c| number(&c["response_time_ns"]))
            .collect();
        let mut durations: Vec<i64> = logged
            .iter()
            .map(|l| (l["duration_ms"] * 1e6) as i64)
            .collect();
        took.sort_unstable();
        durations.sort_unstable();
        for (i, (took, server)) in took.iter().zip(&durations).enumerate() {
            assert!(
                *server <= took + SLACK_NS,
                "{case}, {i}: {took} ns for {server}"
            );
        }
        let app = folder.join("client_ops.csv.gz");
        if app.exists() {
            // A transaction is its statements, and what pgbench does between them.
            let waited: f64 = table(&app).iter().map(|t| t["latency_us"] * 1e3).sum();
            let bench: i64 = client
                .iter()
                .filter(|c| executes(c))
                .map(|c| number(&c["response_time_ns"]))
                .sum();
            let share = bench as f64 / waited;
            // p1 is paced: its latencies also hold waits for a slot.
            let least = if case == "p1" { 0.3 } else { 0.95 };
            assert!((least..=1.01).contains(&share), "{case}: {share}");
        }
    }
}
