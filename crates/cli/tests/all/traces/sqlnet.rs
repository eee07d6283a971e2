//! SQL*Net traces: what is counted of them, against the lines that say so.

use super::{behind, folder, list, number, profile, text, traces};
use serde_json::Value;
use std::collections::BTreeMap;

/// Packets and bytes by direction and type.
fn packets(profile: &Value) -> Vec<(String, i64, Option<i64>)> {
    let rows = list(&profile["net"]["all"]["packets"]).iter().map(|p| {
        let name = format!(
            "{} {}",
            p["direction"].as_str().unwrap_or(""),
            p["type"].as_str().unwrap_or("")
        );
        (name, number(&p["packets"]), p["bytes"].as_i64())
    });
    rows.collect()
}

#[test]
fn packets_of_sqlnet_traces_are_the_lines_that_say_so() {
    for name in [
        "sqlnet+10046-same-session-linux",
        "sqlnet+10046-same-session-windows",
        "sqlnet-server-trace",
        "sqlnet-level16",
        "sqlnet-level16-19c",
    ] {
        for path in traces(name) {
            let text = text(&path);
            let profile = profile(&path);
            let mut expected: BTreeMap<(bool, i64), (i64, i64)> = BTreeMap::new();
            for line in text.lines() {
                let function = |f: &str| line.contains(&format!(" {f}:"));
                let sent =
                    (function("nspsend") || function("nsbasic_bsd")) && line.contains("plen=");
                let received =
                    (function("nsprecv") || function("nsbasic_brc")) && line.contains("type=");
                if sent || received {
                    let kind = behind(line, "type=").unwrap_or(6);
                    let (count, bytes) = expected.entry((sent, kind)).or_default();
                    *count += 1;
                    *bytes += behind(line, "plen=").expect("plen");
                }
            }
            let found = match profile["net"].is_null() {
                true => Vec::new(),
                false => packets(&profile),
            };
            // Announced by name, but neither sent nor received with a size: of those a trace at level 6
            // or more has none.
            let with_size: i64 = found.iter().map(|(_, n, _)| n).sum();
            let lines: i64 = expected.values().map(|(n, _)| n).sum();
            assert_eq!(
                with_size,
                lines,
                "{}: {found:?} {expected:?}",
                path.display()
            );
            let bytes: i64 = found.iter().filter_map(|(_, _, b)| *b).sum();
            let summed: i64 = expected.values().map(|(_, b)| b).sum();
            assert_eq!(bytes, summed, "{}", path.display());
            // By direction and type, too.
            let mut by_kind: Vec<_> = found.iter().map(|(_, n, b)| (*n, b.unwrap_or(0))).collect();
            let mut lines_by_kind: Vec<_> = expected.into_values().collect();
            by_kind.sort_unstable();
            lines_by_kind.sort_unstable();
            assert_eq!(by_kind, lines_by_kind, "{}", path.display());
        }
    }
}

/// What came of transports, errors and native services, against the lines that hold their words.
#[test]
fn outcomes_in_sqlnet_traces_are_the_lines_that_say_so() {
    let mut seen = [0; 5];
    for name in [
        "sqlnet+10046-same-session-linux",
        "sqlnet+10046-same-session-windows",
        "sqlnet-server-trace",
        "sqlnet-level16",
        "sqlnet-level16-19c",
    ] {
        for path in traces(name) {
            let text = text(&path);
            let profile = profile(&path);
            let net = &profile["files"][0]["net"];
            let lines = |words: &str| text.lines().filter(|l| l.contains(words)).count() as i64;
            let counts = |errors: &str| -> i64 {
                let all = list(&net[errors]).iter();
                all.map(|e| number(&e["count"])).sum()
            };
            let errno = |l: &&str| behind(l, "nt[1]=").is_some_and(|n| n > 0);
            let system = text.lines().filter(|l| l.contains("nsres:")).filter(errno);
            let expected = [
                lines("transport is open"),
                lines("unable to open transport"),
                lines("nserror:nsres:") + lines("nserror: nsres:"),
                system.count() as i64,
                lines("returning err ="),
            ];
            let found = [
                number(&net["opened"]),
                number(&net["not_opened"]),
                counts("errors"),
                counts("system_errors"),
                counts("returned"),
            ];
            assert_eq!(found, expected, "{}", path.display());
            let none = text
                .to_ascii_lowercase()
                .contains("encryption is not active");
            assert_eq!(net["encryption"] == "none", none, "{}", path.display());
            assert_eq!(net["checksum"] == "none", none, "{}", path.display());
            for (sum, n) in seen.iter_mut().zip(found) {
                *sum += n;
            }
        }
    }
    if folder("sqlnet-level16").is_some() {
        assert!(seen.iter().all(|n| *n > 0), "{seen:?}");
    }
}
