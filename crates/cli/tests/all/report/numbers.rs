//! Numbers of the page against those that the other commands write for programs.

use super::page::{Page, between, plain};
use super::{json, lab, report};
use crate::kit::root;
use serde_json::Value;
use std::path::PathBuf;

fn number(value: &Value) -> String {
    value.as_i64().map(|n| n.to_string()).unwrap_or_default()
}

#[test]
fn the_lab_s_pages_have_the_numbers_of_the_other_commands() {
    for (name, captures) in lab() {
        let page = report(&captures);
        let diagnosis = json("diagnose", &captures);
        verdict(&name, &page, &diagnosis);
        budget(&name, &page, &diagnosis);
        findings(&name, &page, &diagnosis);
        operations(&name, &page, &diagnosis);
        charts(&name, &page, &diagnosis);
        connections(&name, &page, &json("conns", &captures));
    }
}

#[test]
fn charts_have_the_numbers_of_each_capture_s_operations() {
    for (name, captures) in lab().into_iter().step_by(4) {
        let page = report(&captures);
        for (i, capture) in captures.iter().enumerate() {
            let ops = json("ops", std::slice::from_ref(capture));
            let groups = ops["groups"].as_array().expect("groups");
            for o in page.data["operations"].as_array().expect("operations") {
                let seen = o["seen"].as_array().expect("captures");
                let Some(seen) = seen
                    .iter()
                    .find(|s| s["capture"].as_u64() == Some(i as u64))
                else {
                    continue;
                };
                let group = groups
                    .iter()
                    .find(|g| g["op"] == o["name"] && g["protocol"] == o["protocol"]);
                let group = group.unwrap_or_else(|| panic!("{name}: {}", o["name"]));
                let latency = &seen["latency"];
                assert_eq!(latency["count"], group["count"], "{name}: {}", o["name"]);
                let percents = latency["percentiles"]["percent"]
                    .as_array()
                    .expect("percents");
                let median = percents.iter().position(|p| p.as_f64() == Some(50.0));
                if let Some(median) = median {
                    assert_eq!(
                        latency["percentiles"]["ns"][median], group["p50_ns"],
                        "{name}"
                    );
                }
            }
        }
    }
}

#[test]
fn statements_have_the_numbers_of_the_profile() {
    let folder = root().join("tests/databases");
    let captures = [
        "pgsql/pgbench_extended.pcap",
        "pgsql/cursors.pcap",
        "mysql/queries.pcap.zst",
    ];
    for capture in captures.map(|c| folder.join(c)) {
        let captures = [capture];
        let page = report(&captures);
        let profile = json("sql", &captures);
        let lines = profile["statements"].as_array().expect("statements");
        let rows = page.table("statements");
        assert_eq!(rows.len(), lines.len().min(300));
        for (row, line) in rows.iter().zip(lines) {
            let shown: Vec<&str> = row.iter().filter_map(|c| c.1.as_deref()).collect();
            let p99 = match line["count"].as_u64() >= Some(299) {
                true => number(&line["p99_ns"]),
                false => String::new(),
            };
            let divided = lines
                .iter()
                .any(|l| !l["server_ns"].is_null() || !l["network_ns"].is_null());
            let mut expected = vec![
                number(&line["rank"]),
                number(&line["total_ns"]),
                number(&line["total_ns"]),
                number(&line["calls"]),
                number(&line["mean_ns"]),
                p99,
                number(&line["rows"]),
                number(&line["wait_ns"]),
            ];
            if divided {
                expected.extend(
                    ["server_ns", "network_ns", "unknown_ns"].map(|key| number(&line[key])),
                );
            }
            expected.extend(["transfer_ns", "think_ns"].map(|key| number(&line[key])));
            assert_eq!(shown, expected, "{captures:?} {line}");
        }
        let charted = page.data["operations"].as_array().expect("charts");
        for o in charted
            .iter()
            .filter(|o| o["name"].as_str().is_some_and(|n| n.contains(' ')))
        {
            let line = lines.iter().find(|l| l["sql"] == o["name"]);
            let line = line.unwrap_or_else(|| panic!("{}", o["name"]));
            assert_eq!(o["seen"][0]["latency"]["count"], line["count"]);
        }
    }
}

fn verdict(name: &str, page: &Page, d: &Value) {
    let shown = between(&page.words, "<h1 id=\"verdict-title\">", "</h1>").map(plain);
    assert_eq!(
        shown.as_deref(),
        d["verdict"]["sentence"].as_str(),
        "{name}"
    );
    let side = d["verdict"]["side"].as_str().expect("a side");
    assert!(
        page.words
            .contains(&format!("<section id=\"verdict\" data-side=\"{side}\""))
    );
}

fn budget(name: &str, page: &Page, d: &Value) {
    let b = &d["budget"];
    for row in page.table("budget") {
        let [(part, _), (_, value), ..] = row.as_slice() else {
            panic!("{name}: {row:?}");
        };
        let expected = match part.as_str() {
            "client host" => number(&b["client_host_ns"]),
            "network out" => number(&b["network_out_ns"]),
            "server" => number(&b["server_ns"]),
            "network back" => number(&b["network_back_ns"]),
            "queue" => number(&b["server_queue_ns"]),
            _ => continue,
        };
        assert_eq!(
            value.clone().unwrap_or_default(),
            expected,
            "{name}: {part}"
        );
    }
}

fn findings(name: &str, page: &Page, d: &Value) {
    let shown: Vec<&str> = page
        .words
        .split("<article class=\"finding")
        .skip(1)
        .collect();
    let findings = d["findings"].as_array().expect("findings");
    assert_eq!(shown.len(), findings.len(), "{name}");
    for (shown, f) in shown.iter().zip(findings) {
        let text = plain(&format!("<{shown}"));
        for part in [&f["code"], &f["side"], &f["why"]] {
            let part = part.as_str().expect("text");
            assert!(text.contains(part), "{name}: {part}");
        }
        let cost = between(shown, "data-ns=\"", "\"").unwrap_or_default();
        assert_eq!(cost, number(&f["cost_ns"]), "{name}: {}", f["code"]);
        for remedy in f["remedy"].as_array().expect("remedies") {
            assert!(
                text.contains(remedy.as_str().expect("text")),
                "{name}: {remedy}"
            );
        }
        for e in f["evidence"].as_array().expect("evidence") {
            assert!(
                text.contains(e["filter"].as_str().expect("a filter")),
                "{name}: {e}"
            );
        }
    }
}

fn operations(name: &str, page: &Page, d: &Value) {
    let ops = d["ops"].as_array().expect("operations");
    let rows = page.table("operations");
    assert_eq!(rows.len(), ops.len().min(300), "{name}");
    let sides = ["client", "server"];
    let sides = sides
        .iter()
        .filter(|s| ops.iter().any(|o| o[**s]["count"].as_u64() > Some(0)));
    let sides: Vec<&&str> = sides.collect();
    let any_matched = ops.iter().any(|o| o["matched"]["count"].as_u64() > Some(0));
    for (row, o) in rows.iter().zip(ops) {
        let op = o["op"].as_str().expect("a name");
        assert!(
            row.first().is_some_and(|c| c.0.ends_with(op)),
            "{name}: {row:?}"
        );
        let mut expected: Vec<String> = Vec::new();
        for side in &sides {
            let s = &o[**side];
            expected.extend(match s["count"].as_u64() {
                None | Some(0) => ["0", "", "", ""].map(str::to_owned),
                Some(count) => [
                    number(&s["count"]),
                    number(&s["mean_ns"]),
                    number(&s["p50_ns"]),
                    if count >= 299 {
                        number(&s["p99_ns"])
                    } else {
                        String::new()
                    },
                ],
            });
        }
        if any_matched {
            let m = &o["matched"];
            expected.extend(match m["count"].as_u64() {
                None | Some(0) => ["0", "", "", ""].map(str::to_owned),
                Some(_) => [
                    "count",
                    "client_mean_ns",
                    "server_mean_ns",
                    "difference_mean_ns",
                ]
                .map(|key| number(&m[key])),
            });
        }
        let shown: Vec<String> = row.iter().filter_map(|c| c.1.clone()).collect();
        assert_eq!(shown, expected, "{name}: {op}");
    }
}

/// What charts are drawn from adds up to the operations' counts, and has their percentiles.
fn charts(name: &str, page: &Page, d: &Value) {
    let sum = |v: &Value| {
        v.as_array()
            .expect("numbers")
            .iter()
            .filter_map(Value::as_u64)
            .sum::<u64>()
    };
    let captures = d["captures"].as_array().expect("captures");
    for o in page.data["operations"].as_array().expect("operations") {
        let ops = d["ops"].as_array().expect("operations");
        let op = ops
            .iter()
            .find(|x| x["op"] == o["name"] && x["protocol"] == o["protocol"]);
        // Statements have a table of their own.
        let Some(op) = op else { continue };
        for seen in o["seen"].as_array().expect("captures") {
            let capture = seen["capture"].as_u64().expect("an index") as usize;
            let side = captures[capture]["side"].as_str().expect("a side");
            let stats = match (side, captures.len()) {
                ("server", _) => &op["server"],
                _ => &op["client"],
            };
            let latency = &seen["latency"];
            assert_eq!(latency["count"], stats["count"], "{name}: {}", o["name"]);
            let count = latency["count"].as_u64().expect("a count");
            assert_eq!(sum(&latency["histogram"]["calls"]), count, "{name}");
            assert_eq!(sum(&seen["heat"]["calls"]), count, "{name}");
            let percents = latency["percentiles"]["percent"]
                .as_array()
                .expect("percents");
            for (percent, key) in [
                (50.0, "p50_ns"),
                (99.0, "p99_ns"),
                (99.9, "p999_ns"),
                (100.0, "max_ns"),
            ] {
                if let Some(i) = percents.iter().position(|p| p.as_f64() == Some(percent)) {
                    assert_eq!(latency["percentiles"]["ns"][i], stats[key], "{name}: {key}");
                }
            }
        }
    }
}

fn connections(name: &str, page: &Page, conns: &Value) {
    let all = conns["connections"].as_array().expect("connections");
    let rows = page.table("connections");
    assert_eq!(rows.len(), all.len().min(200), "{name}");
    for (row, c) in rows.iter().zip(all) {
        let shown: Vec<&str> = row.iter().filter_map(|c| c.1.as_deref()).collect();
        let ways = &c["directions"];
        let again = |way: &str| {
            ways[way]["retransmitted_packets"]
                .as_i64()
                .expect("a count")
        };
        let lasted = c["last_ns"]
            .as_i64()
            .zip(c["first_ns"].as_i64())
            .map(|(b, a)| b - a);
        let expected = [
            number(&c["number"]),
            lasted.expect("times").to_string(),
            number(&ways["client_to_server"]["payload_bytes"]),
            number(&ways["server_to_client"]["payload_bytes"]),
            (again("client_to_server") + again("server_to_client")).to_string(),
            number(&c["at_stake_ns"]),
        ];
        assert_eq!(shown, expected, "{name}: {}", c["number"]);
        assert_eq!(Some(row[1].0.as_str()), c["client"].as_str(), "{name}");
    }
    let shown = page.data["connections"].as_array().expect("connections");
    assert_eq!(shown.len(), all.len().min(6), "{name}");
    for c in shown {
        let of = all
            .iter()
            .find(|a| a["number"] == c["number"])
            .expect("one of them");
        assert_eq!((&c["client"], &c["server"]), (&of["client"], &of["server"]));
        assert!(!c["views"].as_array().expect("views").is_empty(), "{name}");
        for view in c["views"].as_array().expect("views") {
            for d in view["directions"].as_array().expect("directions") {
                let until: Vec<i64> = d["band"]["until_ns"]
                    .as_array()
                    .expect("a band")
                    .iter()
                    .filter_map(Value::as_i64)
                    .collect();
                assert!(until.is_sorted(), "{name}");
            }
        }
    }
}

#[test]
fn a_connection_that_is_asked_for_is_shown_and_one_that_is_not_there_is_refused() {
    let (_, captures) = lab()
        .into_iter()
        .find(|(n, _)| n == "server-cap")
        .expect("a case");
    let with = |options: &[&str]| {
        let words = options.iter().map(|o| (*o).to_owned());
        let captures = captures.iter().map(|c| c.display().to_string());
        let all: Vec<String> = ["report", "-o", "-"]
            .iter()
            .map(|w| (*w).to_owned())
            .chain(words)
            .chain(captures)
            .collect();
        crate::kit::slowside(all)
    };
    let numbers = |options: &[&str]| -> Vec<u64> {
        let page = Page::new(String::from_utf8(with(options).stdout).expect("UTF-8"));
        let shown = page.data["connections"].as_array().expect("connections");
        shown.iter().filter_map(|c| c["number"].as_u64()).collect()
    };
    // The finding is about the second, which is NFS; the first is the mount.
    assert_eq!(numbers(&["--connections", "1"]), [2]);
    assert_eq!(numbers(&["--connections", "0", "--connection", "1"]), [1]);
    let refused = with(&["--connection", "9"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("there is no connection 9"));
}

#[test]
fn files_of_any_order_are_one_page() {
    let (_, captures) = lab()
        .into_iter()
        .find(|(n, _)| n == "network-delay")
        .expect("a case");
    let backwards: Vec<PathBuf> = captures.iter().rev().cloned().collect();
    let (a, b) = (report(&captures), report(&backwards));
    assert_eq!(a.table("operations"), b.table("operations"));
    assert_eq!(a.table("connections"), b.table("connections"));
    assert_eq!(a.data["start"], b.data["start"]);
    assert_eq!(a.data["ladders"][0]["parts"], b.data["ladders"][0]["parts"]);
    // Captures count as they were given.
    let flight = |p: &Page, view: usize| {
        let c = &p.data["connections"][0]["views"];
        let views = c.as_array().expect("views");
        let of = |v: &&Value| v["capture"].as_u64() == Some(view as u64);
        let view = views.iter().find(of).expect("a view");
        view["directions"][0]["flight"]["frame"].clone()
    };
    assert_eq!(flight(&a, 0), flight(&b, 1));
    assert_eq!(flight(&a, 1), flight(&b, 0));
}
