//! The page of a comparison: the numbers of its JSON, both runs' curves, and what holds of every page.

use super::hostile::{capture, is_harmless};
use super::page::{Page, between, plain};
use super::shape::{asks_nothing, has_its_policy, is_in_order};
use super::{folder, said};
use crate::kit::{root, slowside};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Two runs of `tests/compare`, each captured at both ends.
fn runs(baseline: &str, problem: &str) -> [PathBuf; 2] {
    [baseline, problem].map(|run| {
        let folder = root().join("tests/compare").join(run);
        let file = |side| {
            folder
                .join(format!("{side}.pcap.zst"))
                .display()
                .to_string()
        };
        format!("{},{}", file("client"), file("server")).into()
    })
}

fn page(runs: &[PathBuf; 2], options: &[&str]) -> Page {
    let mut command = vec!["compare", "-o", "-"];
    command.extend(options);
    Page::new(said(&command, runs))
}

fn json(runs: &[PathBuf; 2]) -> Value {
    serde_json::from_str(&said(&["compare", "--format", "json"], runs)).expect("JSON")
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// What a cell is sorted by that has this value.
fn sorted(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        value => value.to_string(),
    }
}

#[test]
fn numbers_are_those_of_the_json() {
    for (baseline, problem) in [("without-loss", "loss"), ("fetch-100", "fetch-1")] {
        let runs = runs(baseline, problem);
        let (page, c) = (page(&runs, &[]), json(&runs));
        let sentence = between(&page.words, "<h1 id=\"verdict-title\">", "</h1>");
        assert_eq!(
            sentence.map(plain).as_deref(),
            c["verdict"]["sentence"].as_str()
        );

        let causes = page.table("causes");
        assert_eq!(causes.len(), list(&c["causes"]).len());
        for (row, cause) in causes.iter().zip(list(&c["causes"])) {
            assert_eq!(row[0].1, Some(sorted(&cause["added_ns"])));
            let what = cause["what"].as_str().expect("words");
            assert!(row[1].0.contains(what), "{}", row[1].0);
        }

        let operations = page.table("operations");
        assert_eq!(operations.len(), list(&c["ops"]).len());
        for (row, op) in operations.iter().zip(list(&c["ops"])) {
            let (a, b, mean) = (&op["baseline"], &op["problem"], &op["mean_ns"]);
            let mut wanted = vec![(1, &a["calls"]), (2, &b["calls"])];
            if !mean.is_null() {
                wanted.extend([
                    (3, &mean["baseline"]),
                    (4, &mean["problem"]),
                    (5, &mean["difference"]),
                ]);
            }
            wanted.extend([
                (7, &a["p50_ns"]),
                (8, &b["p50_ns"]),
                (9, &a["p99_ns"]),
                (10, &b["p99_ns"]),
            ]);
            for (column, value) in wanted {
                assert_eq!(row[column].1, Some(sorted(value)), "{} {column}", row[0].0);
            }
        }

        let metrics = page.table("connections");
        assert_eq!(metrics.len(), list(&c["metrics"]).len());
        for (row, metric) in metrics.iter().zip(list(&c["metrics"])) {
            let change = &metric["change"];
            assert_eq!(row[1].1, Some(sorted(&change["baseline"])), "{}", row[0].0);
            assert_eq!(row[2].1, Some(sorted(&change["problem"])), "{}", row[0].0);
        }
    }
}

#[test]
fn charts_have_the_curves_of_both_runs() {
    let runs = runs("fetch-100", "fetch-1");
    let (page, c) = (page(&runs, &[]), json(&runs));
    let labels: Vec<&str> = list(&page.data["captures"])
        .iter()
        .filter_map(|run| run["label"].as_str())
        .collect();
    assert_eq!(
        labels,
        [
            "baseline: fetch-100/client.pcap.zst, fetch-100/server.pcap.zst",
            "problem: fetch-1/client.pcap.zst, fetch-1/server.pcap.zst",
        ]
    );
    let operations = list(&page.data["operations"]);
    assert!(!operations.is_empty());
    for drawn in operations {
        let same = |op: &&Value| {
            let words = [&op["op"], &op["statement"]].map(Value::as_str);
            let name: Vec<&str> = words.into_iter().flatten().collect();
            drawn["name"] == name.join(" ") && drawn["protocol"] == op["protocol"]
        };
        let op = list(&c["ops"]).iter().find(same).expect("the operation");
        for seen in list(&drawn["seen"]) {
            let side = if seen["capture"] == 0 {
                "baseline"
            } else {
                "problem"
            };
            let (latency, op) = (&seen["latency"], &op[side]);
            assert_eq!(latency["count"], op["calls"]);
            let calls = list(&latency["histogram"]["calls"]).iter();
            assert_eq!(calls.filter_map(Value::as_u64).sum::<u64>(), op["calls"]);
            assert_eq!(
                list(&latency["percentiles"]["ns"]).last(),
                Some(&op["max_ns"])
            );
        }
    }
    let figures = page.words.matches("<figure").count();
    assert_eq!(
        figures,
        operations.len() * 2,
        "a histogram and a curve each"
    );
}

#[test]
fn it_is_a_page_like_a_report_s() {
    for (baseline, problem) in [("loss", "without-loss"), ("healthy", "healthy-disturbed")] {
        let page = page(&runs(baseline, problem), &[]);
        asks_nothing(&page, problem);
        has_its_policy(&page);
        is_in_order(&page, problem);
        is_harmless(&page);
    }
}

#[test]
fn threads_and_saving_make_no_difference() {
    let runs = runs("fetch-100", "fetch-1");
    let one = page(&runs, &["--threads", "1"]);
    assert!(one.text == page(&runs, &["--threads", "3"]).text);

    let folder = folder("compare-saved");
    let saved = ["baseline", "problem"].map(|name| folder.join(name));
    for (run, file) in runs.iter().zip(&saved) {
        let both = run.display().to_string();
        let (client, server) = both.split_once(',').expect("two captures");
        let file = file.display().to_string();
        let output = slowside(["diagnose", client, server, "--save", &file]);
        assert!(output.status.success(), "{output:?}");
    }
    let saved = page(&saved, &[]);
    let main = |page: &Page| between(&page.words, "<main", "</main>").map(str::to_owned);
    assert_eq!(main(&saved), main(&one));
    assert_eq!(saved.data, one.data);
}

#[test]
fn names_and_statements_are_shown_and_do_nothing() {
    let folder = folder("compare-hostile");
    let names = ["a\"><img src=x>'\n\u{202e}gpj.<!--&pcap", "b</script>.pcap"];
    let runs = names.map(|name| folder.join(name.replace('/', "\u{2215}")));
    for run in &runs {
        fs::write(run, capture(3)).expect("a file");
    }
    let page = page(&runs, &[]);
    is_harmless(&page);
    assert!(page.words.contains("&lt;/script&gt;&lt;img src=x onerror"));
    for (run, file) in list(&page.data["captures"]).iter().zip(&runs) {
        assert_eq!(run["files"][0].as_str(), file.to_str(), "data are exact");
    }
}

#[test]
fn only_pages_are_written_over_and_only_with_pages() {
    let folder = folder("compare-output");
    let file = folder.join("a.pcap");
    fs::write(&file, capture(1)).expect("a file");
    let shown = |path: &Path| path.display().to_string();
    let page = folder.join("page.html");
    drop(fs::remove_file(&page));
    let capture = shown(&file);
    for (output, format, code) in [
        (&file, None, 2),
        (&page, Some("json"), 2),
        (&page, None, 0),
        (&page, Some("html"), 0),
    ] {
        let mut command = vec!["compare".into(), capture.clone(), capture.clone()];
        command.extend(["-o".into(), shown(output)]);
        command.extend(format.map(|f| format!("--format={f}")));
        let out = slowside(&command);
        assert_eq!(out.status.code(), Some(code), "{command:?} {out:?}");
    }
    assert!(
        fs::read(&page)
            .expect("a page")
            .starts_with(b"<!DOCTYPE html>")
    );
}

#[test]
fn anonymised_it_names_nobody_in_any_format() {
    let folder = folder("compare-anonymous");
    let runs = ["secret-one.pcap", "secret-two.pcap"].map(|name| folder.join(name));
    for run in &runs {
        fs::write(run, capture(4)).expect("a file");
    }
    const KEY: &str = "--anonymise=longer than eight";
    for (format, names) in [
        (
            "text",
            ["secret-one", "secret-two", "compare-anonymous"].as_slice(),
        ),
        ("json", &["secret-one", "secret-two", "onerror", "it's"]),
        (
            "html",
            &["secret-one", "secret-two", "onerror", "compare-anonymous"],
        ),
    ] {
        let open = said(&["compare", "--format", format], &runs);
        let hidden = said(&["compare", "--format", format, KEY], &runs);
        for name in names {
            assert!(open.contains(name), "{format} {name}");
            assert!(!hidden.contains(name), "{format} {name}: {hidden}");
        }
        assert!(hidden.contains("file-"), "{format}: {hidden}");
    }
    let (open, hidden) = (page(&runs, &[]), page(&runs, &[KEY]));
    for table in ["operations", "connections"] {
        let numbers = |page: &Page| -> Vec<Vec<Option<String>>> {
            let rows = page.table(table).into_iter();
            rows.map(|row| row.into_iter().map(|cell| cell.1).collect())
                .collect()
        };
        assert!(!numbers(&open).is_empty(), "{table}");
        assert_eq!(numbers(&open), numbers(&hidden), "{table}");
    }
}

#[test]
fn a_run_may_be_saved_without_its_names() {
    let folder = folder("compare-saved-anonymous");
    let capture_file = folder.join("secret-run.pcap");
    fs::write(&capture_file, capture(4)).expect("a file");
    let saved = |name: &str, options: &[&str]| {
        let path = folder.join(name);
        let to = path.display().to_string();
        let run = [&["diagnose", "--save", &to][..], options].concat();
        said(&run, std::slice::from_ref(&capture_file));
        path
    };
    const KEY: &str = "--anonymise=longer than eight";
    let (open, hidden) = (saved("open", &[]), saved("hidden", &[KEY]));
    let again = saved("again", &[KEY]);
    let [open_bytes, hidden_bytes] = [&open, &hidden].map(|path| fs::read(path).expect("a run"));
    for name in ["secret-run", "compare-saved", "onerror", "it's"] {
        let holds = |bytes: &[u8]| bytes.windows(name.len()).any(|w| w == name.as_bytes());
        assert!(holds(&open_bytes) && !holds(&hidden_bytes), "{name}");
    }
    assert_eq!(
        hidden_bytes,
        fs::read(&again).expect("a run"),
        "one key, one run"
    );
    let compared = |runs: &[PathBuf]| -> serde_json::Value {
        serde_json::from_str(&said(&["compare", "--format", "json"], runs)).expect("JSON")
    };
    // With pseudonyms it is the same run.
    let sentence = |v: &serde_json::Value| v["sentence"].clone();
    let both = compared(&[hidden, again]);
    assert_eq!(sentence(&both), sentence(&compared(&[open.clone(), open])));
}
