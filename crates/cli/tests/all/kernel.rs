//! What a sender's kernel said of its connection every 100 ms (`tcp_info`, read by the application),
//! against `conns --series` and `conns`: congestion windows and segments sent again. Runs where captures
//! with that record are at hand (`../shared/lab`).

use crate::kit::{answer, lab_run, parsed, rows, with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// Cases in which the congestion window limits, or never does.
const LIMITED: [&str; 6] = [
    "t11_reorder",
    "t3",
    "t3_burst",
    "t3_nooff",
    "t4",
    "t4_bloat",
];
const NEVER: [&str; 7] = [
    "base_0ms",
    "base_5ms",
    "t1",
    "t2",
    "t6_8156",
    "t7_fetch1",
    "t9_app",
];
const WIDTH_NS: i64 = 100_000_000;

/// What the client's kernel said: when, the window in segments; the size of a segment.
fn samples(case: &Path) -> (Vec<(i64, u64)>, u64) {
    let truth = std::fs::read_to_string(case.join("truth.json")).expect("what was done");
    let client = &parsed(&truth)["app"]["client"];
    let told = &client["tcp_info_samples"];
    let columns = told["cols"].as_array().expect("columns");
    let place = |name: &str| columns.iter().position(|c| c == name).expect(name);
    let (at, window) = (place("t_ns"), place("cwnd"));
    let rows = told["rows"].as_array().expect("rows").iter();
    let rows = rows.map(|row| (row[at].as_i64(), row[window].as_u64()));
    let rows = rows.filter_map(|(at, window)| Some((at?, window?)));
    let size = client["tcp_info"]["snd_mss"].as_u64().expect("a size");
    (rows.collect(), size)
}

/// Estimates by the interval's start.
fn estimates(case: &Path) -> BTreeMap<i64, u64> {
    let capture = case.join("client.pcap");
    let rows = rows("conns", with(&["--series=100ms"], &capture));
    let rows = rows.into_iter().filter_map(|row| {
        let estimate = row["client_to_server_congestion_window_bytes"].as_u64()?;
        Some((row["start_ns"].as_i64()?, estimate))
    });
    rows.collect()
}

#[test]
fn congestion_windows_are_what_the_senders_kernel_has() {
    let Some(lab) = lab_run("") else { return };
    for case in LIMITED {
        let case = lab.join(case);
        let (samples, size) = samples(&case);
        let estimates = estimates(&case);
        let of = |at: i64| estimates.get(&(at.div_euclid(WIDTH_NS) * WIDTH_NS));
        let mut shares: Vec<f64> = samples
            .iter()
            .filter_map(|(at, window)| Some(*of(*at)? as f64 / (window * size) as f64))
            .collect();
        shares.sort_by(f64::total_cmp);
        assert!(
            shares.len() * 10 >= samples.len() * 9,
            "{case:?}: {}",
            shares.len()
        );
        // The estimate is the largest of the interval, the sample is of one moment.
        let median = shares[shares.len() / 2];
        assert!((0.95..=1.15).contains(&median), "{case:?}: {median}");
    }
}

#[test]
fn a_congestion_window_that_never_limits_is_not_known() {
    let Some(lab) = lab_run("") else { return };
    for case in NEVER {
        let seen = estimates(&lab.join(case));
        assert!(seen.is_empty(), "{case}: {seen:?}");
    }
}

#[test]
fn as_many_segments_are_sent_again_as_the_senders_kernel_counted() {
    let Some(lab) = lab_run("") else { return };
    let mut again = 0;
    for case in std::fs::read_dir(lab).expect("the lab").flatten() {
        // Asked before the connection gave up, it had sent one time less than in the end.
        if case.file_name() == "t10_blackhole" {
            continue;
        }
        let truth = std::fs::read_to_string(case.path().join("truth.json"));
        let Ok(truth) = truth.map(|t| parsed(&t)) else {
            continue;
        };
        let info = &truth["app"]["client"]["tcp_info"];
        let (Some(counted), Some(size)) =
            (info["total_retrans"].as_u64(), info["snd_mss"].as_u64())
        else {
            continue;
        };
        let conns = answer("conns", [case.path().join("client.pcap")]);
        let [c] = conns["connections"]
            .as_array()
            .expect("connections")
            .as_slice()
        else {
            continue;
        };
        let sent = &c["directions"]["client_to_server"];
        let number = |value: &Value| value.as_u64().expect("a number");
        // The kernel counts segments on the wire, of which offloading joins several.
        let bytes = number(&sent["retransmitted_bytes"]);
        let retries = number(&c["handshake"]["syn_retries"]);
        assert_eq!(
            bytes.div_ceil(size) + retries,
            counted,
            "{:?}",
            case.file_name()
        );
        let kinds = &sent["retransmissions"];
        // All that was lost in the lab was followed by more, or the window was shut behind it.
        assert_eq!(kinds["timeout"], 0, "{:?}: {kinds}", case.file_name());
        again += counted;
    }
    assert!(again > 100, "{again}");
}
