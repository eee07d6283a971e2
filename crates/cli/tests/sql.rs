//! Statements of real databases in captures of known causes: what `sql`, `whatif` and `diagnose` say of
//! them, against what the lab's own programs measured. Skipped where the lab is not at hand
//! (`../shared/lab/out`).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "tests fail by panicking, and say when they are skipped"
)]

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn lab(case: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join("../shared/lab/out").join(case);
    if !folder.exists() {
        eprintln!("skipped: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

fn json(arguments: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_slowside"))
        .args(arguments)
        .args(["--format", "json", "-q"])
        .output()
        .expect("the binary that cargo built");
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| {
        panic!(
            "{arguments:?}: {e}: {}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}

/// Its captures as arguments: both, or the client's alone.
fn captures(folder: &Path, both: bool) -> Vec<String> {
    let path = |name: &str| folder.join(name).display().to_string();
    let mut arguments = vec!["--client".to_owned(), path("client.pcap")];
    if both {
        arguments.extend(["--server".to_owned(), path("server.pcap")]);
    }
    arguments
}

fn asked(command: &str, captures: &[String], options: &[&str]) -> Value {
    let mut arguments = vec![command];
    arguments.extend(captures.iter().map(String::as_str));
    arguments.extend(options);
    json(&arguments)
}

/// What the client's program says it took, nanoseconds.
fn elapsed_ns(folder: &Path) -> f64 {
    let text = std::fs::read_to_string(folder.join("truth.json")).expect("the lab's truth");
    let truth: Value = serde_json::from_str(&text).expect("JSON");
    truth["app"]["elapsed_ms"].as_f64().expect("a time") * 1e6
}

/// 300 rows fetched one by one and 20,000 rows fetched by the hundred, 10 ms away: each predicts what
/// the other took, within 15 %, from both captures and from the client's alone.
#[test]
fn each_fetch_size_predicts_the_other() {
    for (from, to, size, rows) in [
        ("p3_fetch1", "p3_fetch100", "100", "20000"),
        ("p3_fetch100", "p3_fetch1", "1", "300"),
    ] {
        let (Some(from), Some(to)) = (lab(from), lab(to)) else {
            return;
        };
        for both in [true, false] {
            let options = ["--fetch-size", size, "--rows", rows];
            let w = asked("whatif", &captures(&from, both), &options);
            let predicted = w["then_ns"].as_f64().expect("a prediction");
            let took = elapsed_ns(&to);
            let error = (predicted - took) / took;
            assert!(
                error.abs() < 0.15,
                "{}: {predicted} for {took}, both captures: {both}",
                to.display()
            );
            let span = (w["then_min_ns"].as_f64(), w["then_max_ns"].as_f64());
            let (Some(low), Some(high)) = span else {
                panic!("{w}");
            };
            assert!(low <= predicted && predicted <= high, "{w}");
            let model = w["model_error_ppm"].as_i64().expect("an error");
            assert!(model.abs() < 20_000, "{model}");
        }
    }
}

#[test]
fn the_parts_of_a_profile_add_up_and_the_network_is_the_injected_path() {
    let Some(folder) = lab("p3_fetch1") else {
        return;
    };
    let profile = asked("sql", &captures(&folder, true), &[]);
    let t = &profile["totals"];
    let part = |name: &str| t[name].as_i64().expect("a part");
    let sum = part("server_ns") + part("network_ns") + part("transfer_ns");
    assert_eq!(sum, part("response_time_ns"));
    let top = &profile["statements"][0];
    let (fetches, rows) = (top["fetches"].as_i64(), top["rows"].as_i64());
    assert_eq!((fetches, rows), (Some(301), Some(300)));
    // Injected: 5 ms each way.
    let trip = part("network_ns") / part("round_trips");
    assert!((10_000_000..10_500_000).contains(&trip), "{trip}");
}

/// Rows are locked across round trips: some statements are fast or many times slower.
#[test]
fn a_diagnosis_names_the_statement_that_waits_for_locks() {
    let Some(folder) = lab("p1_lock") else {
        return;
    };
    let d = asked("diagnose", &captures(&folder, true), &[]);
    let findings = d["findings"].as_array().expect("findings");
    let slow = findings.iter().find(|f| f["code"] == "server-slow");
    let why = slow.map(|f| f["why"].as_str().unwrap_or_default());
    let why = why.expect("the server is slow");
    assert!(why.contains("update pgbench_branches"), "{why}");
    assert!(why.contains("wait for locks"), "{why}");
}
