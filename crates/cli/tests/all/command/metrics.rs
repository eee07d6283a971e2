//! What is counted for monitoring systems: that it is what `ops` says, from files and while they are read, who may ask for
//! it, and that no name makes more of it than may be.

use crate::kit::{answer, file, refused, root, said, text, waiting};
use analysis::group::Key;
use analysis::metrics::Metrics;
use slowside::{Config, Control, Keep, LiveOptions, Source};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

pub(super) const CAPTURES: [&str; 4] = [
    "lab/server-cap/client.pcap.zst",
    "lab/reset-by-server/server.pcap.zst",
    "databases/mysql/queries.pcap.zst",
    "databases/pgsql/cursors.pcap",
];

pub(super) fn capture(name: &str) -> PathBuf {
    root().join("tests").join(name)
}

/// The samples of that name: labels as they are written, and value.
pub(super) fn samples<'a>(metrics: &'a str, name: &str) -> BTreeMap<&'a str, &'a str> {
    let behind = |line: &'a str| {
        line.strip_prefix(name)?
            .strip_prefix('{')?
            .rsplit_once("} ")
    };
    metrics.lines().filter_map(behind).collect()
}

#[test]
fn files_have_the_counts_of_ops() {
    for name in CAPTURES {
        let path = capture(name).display().to_string();
        let metrics = said(["ops", &path, "--format", "openmetrics", "-q"]);
        let ops = answer("ops", [&*path, "--by", "op,server"]);
        let groups = ops["groups"].as_array().expect("a list");
        for (sample, column) in [
            ("response_time_seconds_count", "count"),
            ("wait_seconds_count", "count"),
            ("errors_total", "errors"),
            ("no_response_total", "no_response"),
            ("no_request_total", "no_request"),
            ("incomplete_total", "incomplete"),
            ("retransmits_total", "retransmits"),
            ("request_bytes_total", "request_bytes"),
            ("response_bytes_total", "response_bytes"),
        ] {
            let label = |g: &serde_json::Value, key: &str| format!("{key}={}", g[key]);
            let all = groups.iter().map(|g| {
                let labels = ["protocol", "op", "server"].map(|key| label(g, key));
                (labels.join(","), g[column].to_string())
            });
            let expected: BTreeMap<String, String> = all.collect();
            let found = samples(&metrics, &format!("slowside_{sample}"));
            let found: BTreeMap<String, String> = found
                .into_iter()
                .map(|(labels, n)| (labels.to_owned(), n.to_owned()))
                .collect();
            assert_eq!(found, expected, "{name} {sample}");
        }
        assert!(metrics.ends_with("# EOF\n"));
    }
}

/// The engine's own, as nothing can be asked for once a file is over.
#[test]
fn what_is_watched_comes_to_what_its_file_has() {
    for name in CAPTURES {
        let files = vec![capture(name)];
        let keys = [Key::Op, Key::Server, Key::Client];
        let counted = Arc::new(Mutex::new(Metrics::new(&keys)));
        let options = LiveOptions {
            interval_ns: 100_000_000,
            window_ns: 1_000_000_000,
            keep: Keep { ns: 0, bytes: 0 },
            when: Vec::new(),
            write: None,
            files: 0,
            anonymiser: None,
            metrics: Some(Arc::clone(&counted)),
            past: None,
            clock: || 0,
        };
        let config = Config::default();
        let source = Source::Files(files.clone());
        let live = slowside::live(source, &config, &options, &Control::default(), &mut |_| {
            Ok(())
        });
        let live = live.expect("a capture");
        let (of_file, _) = slowside::metrics(&files, &config, &keys, &mut |_| {}).expect("one");
        let mut now = counted.lock().expect("nobody else's").now();
        let present = now.live.take().expect("it was live");
        assert_eq!(now, of_file, "{name}");
        let calls: u64 = now.calls.iter().map(|row| row.counts.calls).sum();
        assert_eq!(calls, live.ops.captures[0].calls, "{name}");
        // Each packet of TCP is of one server.
        let sum = |of: &dyn Fn(usize) -> u64| of(0) + of(1);
        let servers = present.servers.iter();
        let packets: u64 = servers.map(|(_, s)| sum(&|i| s.packets[i])).sum();
        let connections = live.conns.connections.iter();
        let known = connections
            .map(|c| sum(&|i| c.directions[i].counts.packets))
            .sum::<u64>();
        assert_eq!(packets, known, "{name}");
        assert!(
            present.outstanding.iter().all(|(_, _, n)| *n == 0),
            "{name}"
        );
    }
}

/// `slowside live` that reads what it is given, and where it answers.
fn watching(arguments: &[&str]) -> (Child, String) {
    let all = ["live", "-", "--format=json", "--metrics=127.0.0.1:0"];
    let mut child = waiting(all.iter().chain(arguments));
    let stderr = child.stderr.as_mut().expect("a pipe");
    let mut line = String::new();
    BufReader::new(stderr).read_line(&mut line).expect("text");
    let url = line
        .trim_end()
        .strip_prefix("slowside: metrics are at http://");
    let address = url.and_then(|url| url.strip_suffix("/metrics"));
    let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
    (child, address)
}

fn get(address: &str, headers: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {address}\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

fn ended(mut child: Child) {
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn who_asks_meanwhile_is_told_what_passed() {
    let path = capture("databases/pgsql/cursors.pcap");
    let of_file = said(["ops", &path.display().to_string(), "--format=openmetrics"]);
    let (mut child, address) = watching(&["--interval=50ms"]);
    // The capture does not end: more may come.
    let bytes = fs::read(&path).expect("a capture");
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(&bytes).expect("it reads");
    stdin.flush().expect("it reads");
    let name = "slowside_response_time_seconds_bucket";
    let expected = samples(&of_file, name);
    assert!(!expected.is_empty());
    loop {
        let (head, body) = get(&address, "");
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        assert!(
            head.contains("application/openmetrics-text; version=1.0.0"),
            "{head}"
        );
        assert!(body.ends_with("# EOF\n"));
        if samples(&body, name) == expected {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
    ended(child);
}

#[test]
fn pseudonyms_stand_for_addresses_there_too() {
    let path = capture("lab/server-cap/client.pcap.zst");
    let path = path.display().to_string();
    let plain = said(["ops", &path, "--format=openmetrics"]);
    let hidden = said([
        "ops",
        &path,
        "--format=openmetrics",
        "--anonymise=a-longer-key",
    ]);
    let servers = |text: &str| {
        let calls = samples(text, "slowside_calls_total");
        let server = |labels: &str| labels.split_once("server=").map(|(_, s)| s.to_owned());
        calls.into_keys().filter_map(server).collect::<Vec<_>>()
    };
    let known = servers(&plain);
    assert!(!known.is_empty() && servers(&hidden).len() == known.len());
    assert!(
        servers(&hidden).iter().all(|s| !known.contains(s)),
        "{hidden}"
    );
}

#[test]
fn a_token_keeps_others_out() {
    let token = file("metrics-token", "token", b"correct-horse-battery\n");
    let option = format!("--metrics-token-file={}", token.display());
    let (mut child, address) = watching(&[&option]);
    let (head, body) = get(&address, "");
    assert!(head.starts_with("HTTP/1.1 401 "), "{head}");
    assert!(!body.contains("slowside_"), "{body}");
    let (head, _) = get(&address, "Authorization: Bearer correct-horse-battery\r\n");
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    let bytes = fs::read(capture("databases/pgsql/cursors.pcap")).expect("a capture");
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(&bytes).expect("it reads");
    ended(child);
}

#[test]
fn what_cannot_be_answered_is_refused() {
    let short = file("metrics-token", "short", b"0123456789");
    let short = format!("--metrics-token-file={}", short.display());
    for (arguments, words) in [
        (
            &["live", "-", "--metrics=0.0.0.0:0"][..],
            "--metrics-token-file FILE",
        ),
        (
            &["live", "-", "--metrics=[::]:0"],
            "can be reached by others",
        ),
        (&["live", "-", "--metrics=somewhere"], "ADDRESS:PORT"),
        (
            &["live", "-", "--metrics=0", "--metrics-by=time=1s"],
            "leave out time=",
        ),
        (
            &["live", "-", "--metrics=0", "--metrics-by=colour"],
            "the keys are",
        ),
        (
            &[
                "live",
                "-",
                "--metrics=0",
                "--metrics-token-file=/no/such/file",
            ],
            "check --metrics-token-file",
        ),
        (&["live", "-", "--metrics=0", &short], "16 characters"),
        (
            &[
                "live",
                "-",
                "--metrics=192.0.2.1:0",
                "--metrics-token-file=/no/such/file",
            ],
            "check --metrics-token-file",
        ),
        (
            &["ops", "x.pcap", "--format=openmetrics", "-o", "x"],
            "-o is for",
        ),
    ] {
        let message = refused(arguments);
        assert!(message.contains(words), "{arguments:?}: {message}");
    }
}
