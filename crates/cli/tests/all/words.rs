//! Numbers, units and plurals as people read them, in what all commands say of the repository's captures: each is made in
//! one place (`model::counted`, `model::grouped`, `model::format_duration`, `text!`), and this finds what was not.

use crate::kit::{command, lab, root, said};
use regex_lite::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// What is counted.
const NOUNS: &str = "packets|calls|connections|bytes|rows|errors|waits|segments|files|statements|sessions|lines|requests|\
                     responses|retransmits|round trips|pauses|turns|writes|fetches|hosts|servers|clients|groups|gaps|steps|\
                     findings|intervals|operations|frames|limits|causes|times";

/// What nobody writes, and why.
fn faults() -> Vec<(&'static str, Regex)> {
    let faults = [
        ("a plural of one", format!(r"(^|[^\d.,:])1 ({NOUNS})\b")),
        (
            "a large number without separators",
            format!(r"(^|[^\d.,:])\d{{4,}} ({NOUNS})\b"),
        ),
        (
            "minutes in seconds",
            r"(^|[^\d.,])(1[2-9]\d|[2-9]\d\d|\d{4,})(\.\d+)? s\b".to_owned(),
        ),
    ];
    let regex = |(why, text): (_, String)| (why, Regex::new(&text).expect("an expression"));
    faults.map(regex).to_vec()
}

fn lines_with_faults(text: &str) -> Vec<String> {
    let faults = faults();
    // Prose goes on in the next line, tables do not.
    let joined = text.replace("\n  ", " ");
    let lines = text.lines().chain(joined.lines());
    let mut found: Vec<String> = Vec::new();
    for line in lines {
        // What is to be typed, and columns: a number there belongs to what stands above it.
        if line.contains("tshark") || line.contains("  ") && !line.trim_start().contains(". ") {
            continue;
        }
        for (why, regex) in &faults {
            if let Some(fault) = regex.find(line) {
                found.push(format!("{why}: {} in: {line}", fault.as_str()));
            }
        }
    }
    found
}

/// Both captures of each case.
fn cases() -> Vec<(PathBuf, PathBuf)> {
    let mut all = Vec::new();
    for folder in ["tests/lab", "tests/field"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder") {
            let case = entry.expect("a folder can be listed").path();
            let end = |name: &str| case.join(format!("{name}.pcap.zst"));
            if end("client").exists() && end("server").exists() {
                all.push((end("client"), end("server")));
            }
        }
    }
    all.sort();
    all
}

fn told(words: &[&str], captures: &[&Path]) -> String {
    let captures = captures.iter().map(|c| c.as_os_str().to_owned());
    let words = words.iter().map(Into::into);
    let output = command::<std::ffi::OsString>(words.chain(captures).collect::<Vec<_>>()).output();
    let output = output.expect("the binary that cargo built");
    // Names of files and folders are the reader's own.
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn nothing_is_said_of_1_calls() {
    let cases = cases();
    assert!(cases.len() > 30, "{}", cases.len());
    let mut found = Vec::new();
    for (client, server) in &cases {
        for words in [&["diagnose"][..], &["diagnose", "--format", "markdown"]] {
            found.extend(lines_with_faults(&told(words, &[client, server])));
        }
        for words in [
            &["diagnose"][..],
            &["info"],
            &["ops"],
            &["conns"],
            &["sql"],
            &["startup"],
            &["stat"],
            &["whatif", "--rtt", "1ms"],
        ] {
            found.extend(lines_with_faults(&told(words, &[client])));
        }
        found.extend(lines_with_faults(&told(&["compare"], &[client, server])));
    }
    found.sort();
    found.dedup();
    assert!(found.is_empty(), "{}:\n{}", found.len(), found.join("\n"));
}

#[test]
fn what_is_wrong_is_found() {
    for wrong in [
        "It holds 1 calls.",
        "10000 packets were lost.",
        "It took 580 s.",
        "It took 1234.5 s.",
    ] {
        assert_eq!(lines_with_faults(wrong).len(), 2, "{wrong}");
    }
    for right in [
        "It holds 1 call, 21 calls, 1,021 calls.",
        "10.0.0.2:20048 connections",
        "It took 9 min 40 s, 119 s, 12.5 s and 150 ms.",
    ] {
        assert!(lines_with_faults(right).is_empty(), "{right}");
    }
}

/// What overlaps adds up to more than passed: beside the one stands the other.
#[test]
fn summed_time_stands_beside_elapsed_time_where_calls_overlap() {
    let both = |case: &str| (lab(case, "client"), lab(case, "server"));
    let (client, server) = both("server-cap");
    let overlap = "Calls overlap, some 15 at a time: all of it passed in 1.22 s.";
    for text in [
        told(&["diagnose"], &[&client, &server]),
        told(&["diagnose", "--format", "markdown"], &[&client, &server]),
        told(&["ops"], &[&client]),
        told(&["report", "-o", "-"], &[&client, &server]),
    ] {
        let flat: Vec<&str> = text.split_whitespace().collect();
        assert!(flat.join(" ").contains(overlap), "{text}");
    }
    // One call after the other.
    let (client, server) = both("slow-server");
    for text in [
        told(&["diagnose"], &[&client, &server]),
        told(&["ops"], &[&client]),
    ] {
        assert!(!text.contains("overlap, some"), "{text}");
    }
}

/// Every command whose rows programs can read lists them in any order, and as many as are asked for.
#[test]
fn every_table_of_rows_can_be_sorted() {
    for name in crate::command::COMMANDS {
        let help = said([name, "--help"]);
        let rows = help.contains("csv") && help.contains("--format");
        // Findings stand by what they cost; packets of a probe are sent in their order.
        if !rows || ["diagnose", "probe", "cut", "report", "live"].contains(name) {
            continue;
        }
        for option in ["--sort", "--top"] {
            assert!(help.contains(option), "{name} has no {option}");
        }
    }
}
