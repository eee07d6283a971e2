//! Statements of real databases in captures of known causes: what `sql`, `whatif` and `diagnose` say of
//! them, against what the lab's own programs measured. Skipped where the lab is not at hand
//! (`../shared/lab/out`).

use crate::kit::{answer, lab_run};
use serde_json::Value;
use std::path::Path;

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
    let captures = captures.iter().map(String::as_str);
    let arguments = captures.chain(options.iter().copied());
    answer(command, arguments)
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
        let (Some(from), Some(to)) = (lab_run(from), lab_run(to)) else {
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
    let Some(folder) = lab_run("p3_fetch1") else {
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

/// Of each statement, what one capture at the client charges to the server and to the network is no
/// more than what both captures show, but for a hundredth of its time.
#[test]
fn one_capture_charges_nobody_with_what_the_pair_does_not() {
    for case in ["p1", "p1_5ms", "p1_lock", "p2", "p3_fetch1", "p3_fetch100"] {
        let Some(folder) = lab_run(case) else { return };
        let one = asked("sql", &captures(&folder, false), &[]);
        let two = asked("sql", &captures(&folder, true), &[]);
        let lines = |profile: &Value| profile["statements"].as_array().cloned().expect("lines");
        let pair = lines(&two);
        for line in lines(&one) {
            let same = |l: &&Value| l["statement"] == line["statement"] && l["op"] == line["op"];
            let twin = pair.iter().find(same).expect("the pair has it too");
            let ns = |l: &Value, part: &str| l[part].as_i64().unwrap_or(0);
            let parts = ["server_ns", "network_ns", "unknown_ns", "transfer_ns"];
            let sum: i64 = parts.iter().map(|part| ns(&line, part)).sum();
            assert_eq!(sum, ns(&line, "total_ns"), "{case}: {line}");
            let spare = ns(&line, "total_ns") / 100;
            for part in ["server_ns", "network_ns"] {
                let (alone, both) = (ns(&line, part), ns(twin, part));
                assert!(alone <= both + spare, "{case}: {part} {both}, {line}");
            }
        }
    }
}

/// The path is 10 ms and a bit; delayed acknowledgements say 28 ms.
#[test]
fn the_path_of_one_capture_is_that_of_the_pair_in_a_profile_and_in_a_diagnosis() {
    let Some(folder) = lab_run("p1_lock") else {
        return;
    };
    let (one, two) = (captures(&folder, false), captures(&folder, true));
    let network = |c: &[String]| asked("sql", c, &[])["totals"]["network_ns"].as_f64();
    let shares = network(&one).zip(network(&two)).expect("both divide");
    assert!((shares.0 / shares.1 - 1.0).abs() < 0.05, "{shares:?}");
    let diagnosis = asked("diagnose", &one, &[]);
    let lines = diagnosis["ledger"]["lines"].as_array().expect("lines");
    let path = lines
        .iter()
        .find(|l| l["cause"] == "path")
        .expect("the path");
    let bounds = [&path["lo_ns"], &path["hi_ns"]].map(|ns| ns.as_f64().expect("ns"));
    assert!(
        bounds[0] <= shares.1 && shares.1 <= bounds[1],
        "{path} {shares:?}"
    );
    let verdict = |c: &[String]| asked("diagnose", c, &[])["verdict"]["side"].clone();
    assert_eq!(verdict(&one), verdict(&two));
}

/// A round trip that is as long as it is changes next to nothing: what whatif takes for the path is it.
#[test]
fn a_prediction_from_one_capture_starts_from_the_path_as_it_is() {
    let Some(folder) = lab_run("p1_lock") else {
        return;
    };
    let w = asked("whatif", &captures(&folder, false), &["--rtt", "10.1ms"]);
    let ratio = w["then_ns"].as_f64().zip(w["now_ns"].as_f64());
    let (then, now) = ratio.expect("times");
    assert!((then / now - 1.0).abs() < 0.01, "{then} {now}");
}

/// Rows are locked across round trips: some statements are fast or many times slower.
#[test]
fn a_diagnosis_names_the_statement_that_waits_for_locks() {
    let Some(folder) = lab_run("p1_lock") else {
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
