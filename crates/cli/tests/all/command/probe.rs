//! `slowside probe` and `slowside probe --listen` as two programs on the loopback.

use super::conversation;
use super::schema::assert_described;
use crate::kit::{command, file, signal, slowside, text};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Stdio};

/// A listener as long as this lives.
pub(crate) struct Listening {
    child: Child,
    pub(crate) address: String,
    pub(crate) token: PathBuf,
}

impl Listening {
    pub(crate) fn new(test: &str, more: &[&str]) -> Listening {
        let token = file(test, "token", b"a token for these tests\n");
        let mut child = command(["probe", "--listen", "127.0.0.1:0", "--quiet"])
            .arg("--token-file")
            .arg(&token)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary that cargo built");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("a pipe");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line
            .strip_prefix("Listening at ")
            .and_then(|l| l.split(';').next())
            .unwrap_or_else(|| panic!("{line}"));
        Listening {
            address: address.to_owned(),
            child,
            token,
        }
    }

    /// A short run against it.
    fn probe(&self, more: &[&str]) -> std::process::Output {
        let token = self.token.to_str().expect("UTF-8");
        let mut line = vec!["probe", &self.address, "--token-file", token];
        line.extend(["--duration=300ms", "--warm-up=50ms"]);
        line.extend(more);
        slowside(line)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn answer(output: &std::process::Output) -> Value {
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn answers_of_each_kind_are_described() {
    let listening = Listening::new("probe-json", &[]);
    let capture = file("probe-json", "reads.pcap", &conversation());
    let like = capture.to_str().expect("UTF-8");
    for (more, mode) in [
        (&["--size=100:4k"][..], "exchange"),
        (&["--rate=50/s", "--outstanding=4"], "exchange"),
        (&["--like", like, "--outstanding=2"], "exchange"),
        (&["--stream=up"], "stream-up"),
        (
            &["--stream=down", "--nodelay=off", "--send-buffer=64k"],
            "stream-down",
        ),
    ] {
        let mut line = more.to_vec();
        line.push("--format=json");
        let value = answer(&listening.probe(&line));
        assert_described("slowside.probe/1", &value);
        assert_eq!(value["mode"], mode);
        assert!(value["uncorrected"]["count"].as_u64() > Some(0), "{value}");
    }
    let line = [
        "probe",
        &listening.address,
        "--connect-only",
        "--duration=300ms",
    ];
    let value = answer(&slowside(
        [&line[..], &["--rate=50", "--format=json"]].concat(),
    ));
    assert_described("slowside.probe/1", &value);
    assert_eq!(value["mode"], "connect");
}

#[test]
fn sizes_of_a_capture_are_those_of_its_calls() {
    let listening = Listening::new("probe-like", &[]);
    let capture = file("probe-like", "reads.pcap", &conversation());
    let path = capture.to_str().expect("UTF-8");
    let value = answer(&listening.probe(&["--like", path, "--format=json"]));
    let calls = text(&slowside(["calls", path, "--format=jsonl"]).stdout);
    let calls: Vec<Value> = calls
        .lines()
        .map(|l| serde_json::from_str(l).expect("JSON"))
        .collect();
    let complete = |c: &&Value| c["outcome"] == "ok";
    let longest = |name: &str| {
        calls
            .iter()
            .filter(complete)
            .map(|c| c[name].as_u64())
            .max()
    };
    assert_eq!(
        value["sizes"]["calls"],
        calls.iter().filter(complete).count()
    );
    for (size, column) in [
        ("request_max_bytes", "request_bytes"),
        ("response_max_bytes", "response_bytes"),
    ] {
        assert_eq!(value["sizes"][size].as_u64(), longest(column).flatten());
    }
}

#[test]
fn the_page_has_the_round_trip_first_and_80_columns() {
    let listening = Listening::new("probe-text", &["--max-rate=300"]);
    let histogram = file("probe-text", "out.hgrm", b"");
    let path = histogram.to_str().expect("UTF-8");
    let output = listening.probe(&["--interval=100ms", "--histogram", path]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let page = text(&output.stdout);
    assert!(page.starts_with("Round trip "), "{page}");
    let words: Vec<&str> = page.split_whitespace().collect();
    assert!(
        words.join(" ").contains("exchanges of 200 → 8,192 bytes"),
        "{page}"
    );
    assert!(page.contains("NODELAY on"), "{page}");
    // More than 300 a second were asked for, and that is said.
    assert!(page.contains("--max-rate"), "{page}");
    assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
    assert_eq!(text(&output.stderr).lines().count(), 3, "{output:?}");
    let distribution = std::fs::read_to_string(histogram).expect("a file");
    assert!(distribution.contains("1/(1-Percentile)"), "{distribution}");
    assert!(distribution.contains("#[Mean    ="), "{distribution}");
}

#[test]
fn what_cannot_be_done_is_said_with_the_cure() {
    let listening = Listening::new("probe-errors", &["--max-size=1000"]);
    let address = listening.address.as_str();
    let other = file("probe-errors", "other", b"another token for tests");
    let other = other.to_str().expect("UTF-8");
    let short = file("probe-errors", "short", b"short");
    let short = short.to_str().expect("UTF-8");
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let closed = free.local_addr().expect("an address").to_string();
    drop(free);
    let empty = file("probe-errors", "empty.pcap", &super::capture(&[]));
    let empty = empty.to_str().expect("UTF-8");
    for (line, said) in [
        (vec!["probe", address], "--connect-only"),
        (
            vec!["probe", address, "--token-file", other],
            "has another token",
        ),
        (
            vec!["probe", address, "--token-file", short],
            "openssl rand",
        ),
        (
            vec!["probe", address, "--token-file", "/nowhere"],
            "check --token-file",
        ),
        (vec!["probe", &closed, "--connect-only"], "check the port"),
        (
            vec!["probe", "10.0.0.1", "--connect-only"],
            "give HOST:PORT",
        ),
        (vec!["probe", "--listen", "5201"], "such as 10.0.0.5:5201"),
        (vec!["probe", "--listen", address], "a free port"),
        (vec!["probe"], "HOST:PORT"),
        (
            vec!["probe", address, "--like", empty, "--token-file", other],
            "slowside calls",
        ),
    ] {
        let output = slowside(&line);
        let error = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{line:?}: {output:?}");
        assert!(error.contains(said), "{line:?}: {error}");
        assert_eq!(error.lines().count(), 1, "{error}");
    }
    let beyond = listening.probe(&["--size=200:1001"]);
    assert!(text(&beyond.stderr).contains("--max-size"), "{beyond:?}");
    // It is a service like others for connecting.
    let connects = listening.probe(&["--size=200:1000"]);
    assert_eq!(connects.status.code(), Some(0), "{connects:?}");
}

#[test]
fn an_interrupt_ends_with_what_was_measured() {
    let listening = Listening::new("probe-interrupt", &[]);
    let mut child = command(["probe", &listening.address, "--duration=500s"])
        .args(["--warm-up=0", "--interval=100ms", "--format=json"])
        .arg("--token-file")
        .arg(&listening.token)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary that cargo built");
    // It is measuring once it has told of an interval.
    let mut line = String::new();
    let mut told = BufReader::new(child.stderr.take().expect("a pipe"));
    told.read_line(&mut line).expect("a line");
    assert!(signal("INT", child.id()), "it runs");
    let value = answer(&child.wait_with_output().expect("an end"));
    assert_eq!(value["ended"], "stopped");
    assert!(value["uncorrected"]["count"].as_u64() > Some(0));
}
