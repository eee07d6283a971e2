//! Runs that differ in one known thing, or in none, into what `compare` must say of them. What was done
//! to each run stands in its `truth.json`.

use crate::kit::{lab_run, root, slowside};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn own(run: &str) -> [String; 2] {
    ends(&root().join("tests/compare").join(run), "pcap.zst")
}

/// A run of the lab beside the repository.
fn lab(run: &str) -> Option<[String; 2]> {
    Some(ends(&lab_run(run)?, "pcap"))
}

fn ends(folder: &Path, extension: &str) -> [String; 2] {
    ["client", "server"].map(|side| {
        let path = folder.join(format!("{side}.{extension}"));
        assert!(path.exists(), "{} is gone", path.display());
        path.to_str().expect("a UTF-8 path").to_owned()
    })
}

fn compared(baseline: &str, problem: &str, options: &[&str]) -> Value {
    let mut arguments = vec!["compare", baseline, problem, "--format", "json"];
    arguments.extend(options);
    let output = slowside(&arguments);
    let problem = String::from_utf8_lossy(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{problem}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn both(baseline: &[String; 2], problem: &[String; 2]) -> Value {
    compared(&baseline.join(","), &problem.join(","), &[])
}

fn verdict(c: &Value) -> (&str, Option<&str>) {
    let v = &c["verdict"];
    (
        v["outcome"].as_str().expect("an outcome"),
        v["cause"].as_str(),
    )
}

/// A file that is gone when the test is over.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("slowside-{}-{name}", std::process::id())))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a UTF-8 path")
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn what_was_done_to_a_run_comes_first() {
    for (baseline, problem, code) in [
        ("without-loss", "loss", "network-loss"),
        ("large-window", "small-window", "small-window"),
        ("fetch-100", "fetch-1", "small-fetch"),
    ] {
        let c = both(&own(baseline), &own(problem));
        assert_eq!(verdict(&c), ("slower", Some(code)), "{problem}");
        assert_eq!(c["causes"][0]["code"], code, "{problem}");
        let back = both(&own(problem), &own(baseline));
        assert_eq!(verdict(&back), ("faster", Some(code)), "{problem} mended");
    }
}

#[test]
fn runs_of_the_same_thing_are_no_different() {
    let runs = ["healthy", "healthy-disturbed"];
    for (a, b) in [(0, 1), (1, 0), (0, 0)] {
        let c = both(&own(runs[a]), &own(runs[b]));
        assert_eq!(
            verdict(&c),
            ("no-difference", None),
            "{} {}",
            runs[a],
            runs[b]
        );
    }
}

#[test]
fn rows_are_the_measure_where_fetches_bring_others() {
    let c = both(&own("fetch-100"), &own("fetch-1"));
    assert_eq!(c["unit"], "row");
    // 300 rows, one round trip of 4 ms and the server's time for each.
    let each = c["time_ns_per_unit"]["problem"].as_f64().expect("a time");
    assert!((4.0e6..7.0e6).contains(&each), "{each}");
    let sentence = c["verdict"]["sentence"].as_str().expect("a sentence");
    assert!(sentence.contains("1 row instead of"), "{sentence}");
}

#[test]
fn runs_of_the_lab_differ_in_what_was_done_to_them() {
    for (baseline, problem, outcome, code) in [
        ("n1", "n2", "slower", Some("network-delay")),
        ("n1", "n3", "slower", Some("network-delay")),
        ("n1", "n4", "slower", Some("server-slow")),
        ("n1", "n4_bimodal", "slower", Some("server-slow")),
        ("n1", "n4_stall", "slower", Some("server-stall")),
        ("n1", "n5", "slower", Some("server-concurrency-cap")),
        ("n1", "n8", "slower", Some("network-outage")),
        ("n1", "n12", "slower", Some("network-delay")),
        ("n1", "n1_nooff", "no-difference", None),
        ("n1", "n1_jumbo", "no-difference", None),
        ("n2", "n3", "no-difference", None),
        ("n2", "n2_nooff", "no-difference", None),
        ("n2", "n1", "faster", Some("network-delay")),
        ("n4", "n1", "faster", Some("server-slow")),
        ("t1_nodelay", "t1", "slower", Some("nagle-delayed-ack")),
        ("t1", "t1_nodelay", "faster", Some("nagle-delayed-ack")),
        ("t6_64000", "t6_8156", "slower", Some("small-writes")),
        ("t6_65535", "t6_8156", "slower", Some("small-writes")),
        ("t6_65535", "t6_65488", "no-difference", None),
        ("t7_fetch100", "t7_fetch1", "slower", Some("small-fetch")),
        ("p3_fetch100", "p3_fetch1", "slower", Some("small-fetch")),
        ("p1", "p1_5ms", "slower", Some("network-delay")),
        ("base_0ms", "base_5ms", "slower", Some("network-delay")),
        ("t1_nodelay", "t1_nodelay", "no-difference", None),
        ("n1", "t1", "not-comparable", None),
        ("p2", "p1", "not-comparable", None),
    ] {
        if let (Some(a), Some(b)) = (lab(baseline), lab(problem)) {
            let c = both(&a, &b);
            assert_eq!(verdict(&c), (outcome, code), "{baseline} {problem}");
        }
    }
}

#[test]
fn work_that_ends_comes_before_calls_that_are_no_different() {
    let (Some(a), Some(b)) = (lab("t8_synloss"), lab("t9_app")) else {
        return;
    };
    let c = both(&a, &b);
    assert_eq!(c["beside"][0]["code"], "connection-reset");
    let sentence = c["verdict"]["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.starts_with("The problem alone has connection-reset"),
        "{sentence}"
    );
    let c = both(&b, &a);
    assert_eq!(c["beside"][0]["code"], "slow-connect");
}

#[test]
fn one_end_is_enough_for_most() {
    for (baseline, problem, code) in [
        ("n1", "n2", "network-delay"),
        ("n1", "n4", "server-slow"),
        ("t1_nodelay", "t1", "nagle-delayed-ack"),
        ("t6_64000", "t6_8156", "small-writes"),
        ("t7_fetch100", "t7_fetch1", "small-fetch"),
    ] {
        let (Some(a), Some(b)) = (lab(baseline), lab(problem)) else {
            return;
        };
        for (a, b) in a.iter().zip(&b) {
            let c = compared(a, b, &[]);
            assert_eq!(verdict(&c), ("slower", Some(code)), "{a} {b}");
        }
    }
}

#[test]
fn one_end_against_both_is_told_as_that_end_knows_it() {
    for (baseline, problem) in [
        ("fetch-100", "fetch-1"),
        ("without-loss", "loss"),
        ("large-window", "small-window"),
    ] {
        let (a, b) = (own(baseline), own(problem));
        let file = Scratch::new(&format!("{problem}-ends"));
        let output = slowside(["diagnose", &b[0], &b[1], "--save", file.path()]);
        assert!(output.status.success());
        for (end, other) in a.iter().zip(&b) {
            let alone = compared(end, other, &[]);
            for both in [&b.join(","), file.path()] {
                let c = compared(end, both, &[]);
                assert_eq!(c["causes"], alone["causes"], "{end} {both}");
                assert_eq!(c["verdict"]["outcome"], alone["verdict"]["outcome"]);
                assert_eq!(c["problem"]["captures"], alone["problem"]["captures"]);
                let notes = c["notes"].to_string();
                assert!(
                    notes.contains("Of the problem only the capture at the"),
                    "{notes}"
                );
            }
        }
    }
}

#[test]
fn the_network_is_named_by_one_end_against_both() {
    let (Some(a), Some(b)) = (lab("n1"), lab("n2")) else {
        return;
    };
    for end in &a {
        let c = compared(end, &b.join(","), &[]);
        assert_eq!(verdict(&c), ("slower", Some("network-delay")), "{end}");
    }
}

#[test]
fn a_directory_with_both_ends_is_a_pair() {
    let folder = |run: &str| {
        let [client, _] = own(run);
        let folder = Path::new(&client).parent().expect("it is in one");
        folder.to_str().expect("a UTF-8 path").to_owned()
    };
    for (baseline, problem) in [("without-loss", "loss"), ("fetch-100", "fetch-1")] {
        let pairs = both(&own(baseline), &own(problem));
        let folders = compared(&folder(baseline), &folder(problem), &[]);
        assert_eq!(folders["verdict"], pairs["verdict"]);
        assert_eq!(folders["problem"]["calls"], pairs["problem"]["calls"]);
    }
    let run = folder("fetch-1");
    for (command, captures) in [("diagnose", 2), ("conns", 2), ("sql", 2)] {
        let output = slowside([command, &run, "--format", "json", "-q"]);
        let found: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let found = found["captures"].as_array().expect("captures");
        assert_eq!(found.len(), captures, "{command}");
    }
    // Where one capture is asked for, nothing is counted twice in silence.
    for command in ["ops", "info", "stat", "startup"] {
        let output = slowside([command, &run]);
        assert_eq!(output.status.code(), Some(2), "{command}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains("captures of both ends"), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let output = slowside(["diagnose", "--client", &run]);
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn different_work_is_compared_where_it_is_the_same() {
    let (Some(a), Some(b)) = (lab("p1"), lab("p1_lock")) else {
        return;
    };
    let c = both(&a, &b);
    assert_eq!(verdict(&c), ("not-comparable", None));
    // 5 ms each way were added for all of them; the lock is on what the baseline does not do.
    let shared = &c["shared"];
    let of = |v: &Value| v["difference"].as_f64().expect("a number") / 1e6;
    let (all, server) = (
        of(&shared["time_ns_per_call"]),
        of(&shared["server_ns_per_call"]),
    );
    assert!((9.5..11.0).contains(&(all - server)), "{all} {server}");
    assert!(server < 1.0, "{server}");
    let only = |key: &str| shared["problem"][key].as_i64().expect("a number");
    assert!(
        only("only_server_ns") * 10 > only("only_ns") * 7,
        "{shared}"
    );
    let sentence = c["verdict"]["sentence"].as_str().expect("a sentence");
    for words in [
        "different things",
        "instead of",
        "The problem alone has 2 statements",
    ] {
        assert!(sentence.contains(words), "{sentence}");
    }
    let text = slowside(["compare", &a.join(","), &b.join(",")]).stdout;
    assert!(String::from_utf8_lossy(&text).contains("Only in the problem"));
}

#[test]
fn who_cuts_connections_off_is_a_difference() {
    let run = |name: &str| ends(&root().join("tests/lab").join(name), "pcap.zst");
    let (server, way) = (run("reset-by-server"), run("reset-on-the-way"));
    for (a, b, words) in [
        (&server, &way, "something on the way resets connections"),
        (&way, &server, "the server's host resets connections"),
    ] {
        let c = both(a, b);
        let sentence = c["verdict"]["sentence"].as_str().expect("a sentence");
        assert!(
            sentence.starts_with(&format!("In the problem {words}")),
            "{sentence}"
        );
        assert_eq!(c["beside"][0]["code"], c["gone"][0]["code"]);
        let output = slowside(["compare", &a.join(","), &b.join(","), "--fail-on", "1000"]);
        assert_eq!(output.status.code(), Some(1));
    }
}

#[test]
fn markdown_begins_with_the_answer_and_has_its_tables() {
    let [a, b] = ["fetch-100", "fetch-1"].map(|run| own(run).join(","));
    let output = slowside(["compare", &a, &b, "--format", "markdown"]);
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.starts_with("**"), "{text}");
    for words in [
        "| cause | what | seconds | between |",
        "| `small-fetch` | ",
        "### Response times in ms",
        "### Connections",
        "- baseline: ",
    ] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
}

#[test]
fn different_ends_are_not_held_against_each_other() {
    let [client, server] = own("fetch-100");
    let c = compared(&client, &server, &[]);
    assert_eq!(verdict(&c), ("not-comparable", None));
}

#[test]
fn a_saved_run_is_as_good_as_its_captures() {
    let direct = both(&own("without-loss"), &own("loss"));
    let saved = ["without-loss", "loss"].map(|run| {
        let file = Scratch::new(run);
        let [client, server] = own(run);
        let output = slowside(["diagnose", &client, &server, "--save", file.path()]);
        assert!(output.status.success());
        let size = fs::metadata(file.path()).expect("it was saved").len();
        assert!(size < 200_000, "{size}");
        file
    });
    let [a, b] = saved.each_ref().map(Scratch::path);
    assert_eq!(compared(a, b, &[]), direct);
    // One of them saved is as good.
    assert_eq!(compared(&own("without-loss").join(","), b, &[]), direct);
}

#[test]
fn other_files_and_versions_are_refused_in_a_line() {
    let [capture, _] = own("healthy");
    let file = Scratch::new("version");
    fs::write(file.path(), "slowside.saved/999\nabc").expect("room for a file");
    for (given, words) in [
        (file.path(), "slowside.saved/999"),
        ("no-such-file", "no-such-file"),
    ] {
        let output = slowside(["compare", &capture, given]);
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(words), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
}

#[test]
fn scripts_are_told_by_the_exit_code() {
    let [a, b] = ["without-loss", "loss"].map(|run| own(run).join(","));
    for (baseline, problem, limit, code) in [(&a, &b, "1", 1), (&a, &b, "100", 0), (&b, &a, "1", 0)]
    {
        let output = slowside(["compare", baseline, problem, "--fail-on", limit]);
        assert_eq!(output.status.code(), Some(code), "{limit}");
    }
}

#[test]
fn no_capture_is_overwritten_by_a_saved_run() {
    let file = Scratch::new("capture.pcap.zst");
    let [capture, _] = own("fetch-1");
    fs::copy(&capture, file.path()).expect("room for a copy");
    let output = slowside(["diagnose", file.path(), "--save", file.path()]);
    assert_eq!(output.status.code(), Some(2));
    let kept = fs::read(file.path()).expect("it is there");
    assert_eq!(kept, fs::read(&capture).expect("it is there"));
}

#[test]
fn threads_make_no_difference() {
    let [a, b] = ["fetch-100", "fetch-1"].map(|run| own(run).join(","));
    let one = compared(&a, &b, &["--threads", "1"]);
    for threads in ["2", "5"] {
        assert_eq!(compared(&a, &b, &["--threads", threads]), one);
    }
}

#[test]
fn pages_fit_a_terminal_and_begin_with_the_answer() {
    let runs = ["without-loss", "loss", "fetch-100", "fetch-1", "healthy"];
    for pair in runs.windows(2) {
        let [a, b] = [0, 1].map(|i| own(pair[i]).join(","));
        let output = slowside(["compare", &a, &b]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let json = compared(&a, &b, &[]);
        let sentence = json["verdict"]["sentence"].as_str().expect("a sentence");
        let shown: Vec<&str> = text.split_whitespace().collect();
        let wanted: Vec<&str> = sentence.split_whitespace().collect();
        assert!(shown.starts_with(&wanted), "{text}");
        let wide: Vec<&str> = text
            .lines()
            .filter(|line| line.chars().count() > 80 && !line.contains('/'))
            .collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }
}

#[test]
fn the_contract_has_its_keys() {
    let c = both(&own("without-loss"), &own("loss"));
    assert_eq!(c["schema"], "slowside.compare/1");
    let keys =
        |v: &Value| -> Vec<String> { v.as_object().expect("an object").keys().cloned().collect() };
    assert_eq!(
        keys(&c),
        [
            "schema",
            "verdict",
            "baseline",
            "problem",
            "unit",
            "time_ns_per_unit",
            "causes",
            "ops",
            "metrics",
            "beside",
            "gone",
            "shared",
            "tiers",
            "layers",
            "notes"
        ]
    );
    assert_eq!(
        keys(&c["verdict"]),
        ["outcome", "cause", "sentence", "added_ns"]
    );
    assert_eq!(
        keys(&c["causes"][0]),
        [
            "code",
            "what",
            "added_ns",
            "interval_ns",
            "beyond_chance",
            "explains",
            "found",
            "per",
            "baseline",
            "problem"
        ]
    );
    assert_eq!(
        keys(&c["metrics"][0]["change"]),
        [
            "baseline",
            "problem",
            "difference",
            "interval",
            "ratio",
            "beyond_chance"
        ]
    );
    let curve = c["ops"][0]["problem"]["curve"].as_array().expect("a curve");
    let calls: u64 = curve.iter().filter_map(|point| point[1].as_u64()).sum();
    assert_eq!(Some(calls), c["ops"][0]["problem"]["calls"].as_u64());
}
