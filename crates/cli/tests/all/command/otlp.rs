//! What is pushed to a collector of OpenTelemetry: that it is what `ops` says, that it comes while a capture goes on and at
//! its end, and that no collector holds anything up.

use super::metrics::{CAPTURES, capture, samples};
use crate::kit::{file, parsed, refused, said, slowside, text, waiting};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Output;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const TAKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
const BUSY: &str =
    "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";

/// Whoever listens at a port of the loopback and keeps what was sent: heads and bodies.
pub(crate) struct Collector {
    pub(crate) url: String,
    sent: Arc<Mutex<Vec<(String, String)>>>,
}

impl Collector {
    /// Gives these answers, one a request, and then takes all.
    pub(crate) fn new(answers: &'static [&'static str]) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        let sent = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&sent);
        thread::spawn(move || {
            for (i, stream) in listener.incoming().enumerate() {
                let mut stream = stream.expect("a client");
                let Some(request) = request(&mut stream) else {
                    continue;
                };
                kept.lock().expect("ours").push(request);
                let answer = answers.get(i).unwrap_or(&TAKEN);
                let _ = stream.write_all(answer.as_bytes());
            }
        });
        Collector { url, sent }
    }

    fn heads(&self) -> Vec<String> {
        let sent = self.sent.lock().expect("ours");
        sent.iter().map(|(head, _)| head.clone()).collect()
    }

    /// What came last.
    pub(crate) fn last(&self) -> Option<Value> {
        let sent = self.sent.lock().expect("ours");
        sent.last().map(|(_, body)| parsed(body))
    }
}

/// `None`: whoever came has gone.
fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => return None,
            Ok(n) => bytes.extend_from_slice(&piece[..n]),
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        let all = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = all.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|l| l.strip_prefix("Content-Length: "));
        let length: usize = length.expect("a length").parse().expect("a number");
        if body.len() >= length {
            return Some((head.to_owned(), body.to_owned()));
        }
    }
}

fn metrics(request: &Value) -> &Vec<Value> {
    let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    metrics.as_array().expect("a list")
}

/// The points of a metric, by their labels as OpenMetrics writes them.
fn points(request: &Value, name: &str) -> BTreeMap<String, Value> {
    let Some(metric) = metrics(request).iter().find(|m| m["name"] == name) else {
        return BTreeMap::new();
    };
    let data = ["sum", "gauge", "histogram"];
    let data = data.iter().find_map(|kind| metric.get(kind));
    let points = data.expect("data")["dataPoints"].as_array();
    let labeled = |point: &Value| {
        let all = point["attributes"].as_array().expect("a list").iter();
        let label = |a: &Value| {
            let value = a["value"].get("stringValue").or(a["value"].get("intValue"));
            format!(
                "{}={}",
                a["key"].as_str().expect("text"),
                value.expect("one")
            )
        };
        (all.map(label).collect::<Vec<_>>().join(","), point.clone())
    };
    points.expect("a list").iter().map(labeled).collect()
}

fn number(value: &Value) -> u64 {
    value.as_str().expect("a text").parse().expect("a number")
}

/// Watches a file, and pushes.
fn pushed(path: &str, collector: &Collector, arguments: &[&str]) -> Output {
    let all = ["live", path, "--format=json", "--otlp", &collector.url];
    let output = slowside(all.iter().chain(arguments));
    let code = output.status.code();
    assert!(matches!(code, Some(0 | 3)), "{}", text(&output.stderr));
    output
}

#[test]
fn what_is_pushed_of_a_file_are_the_counts_of_ops() {
    for name in CAPTURES {
        let path = capture(name).display().to_string();
        let collector = Collector::new(&[]);
        let output = pushed(&path, &collector, &["--otlp-every=1h"]);
        assert!(!text(&output.stderr).contains("--otlp"), "{output:?}");
        let heads = collector.heads();
        assert_eq!(heads.len(), 1, "{heads:?}");
        assert!(heads[0].starts_with("POST /v1/metrics HTTP/1.1\r\n"));
        assert!(heads[0].contains("Content-Type: application/json\r\n"));
        let request = collector.last().expect("one");
        let of_ops = said(["ops", &path, "--format", "openmetrics", "-q"]);
        for family in [
            "calls",
            "errors",
            "no_response",
            "no_request",
            "incomplete",
            "retransmits",
            "request_bytes",
            "response_bytes",
        ] {
            let found = points(&request, &format!("slowside_{family}"));
            let found: BTreeMap<String, u64> = found
                .into_iter()
                .map(|(labels, p)| (labels, number(&p["asInt"])))
                .collect();
            let expected = samples(&of_ops, &format!("slowside_{family}_total"));
            let expected: BTreeMap<String, u64> = expected
                .into_iter()
                .map(|(labels, n)| (labels.to_owned(), n.parse().expect("a number")))
                .collect();
            assert!(!expected.is_empty());
            assert_eq!(found, expected, "{name} {family}");
        }
        for family in ["response_time", "wait", "transfer"] {
            let family = format!("slowside_{family}_seconds");
            let buckets = samples(&of_ops, &format!("{family}_bucket"));
            let mut seen = 0;
            for (labels, point) in points(&request, &family) {
                let counts = point["bucketCounts"].as_array().expect("a list");
                let bounds = point["explicitBounds"].as_array().expect("a list").iter();
                let bounds = bounds.map(|b| b.as_f64().expect("a number").to_string());
                let mut sum = 0;
                for (bound, count) in bounds.chain(["+Inf".to_owned()]).zip(counts) {
                    sum += number(count);
                    // As that of Prometheus' library: a whole number has a point.
                    let bound = match bound.parse::<u32>() {
                        Ok(_) => format!("{bound}.0"),
                        Err(_) => bound,
                    };
                    let expected = buckets.get(&*format!("le=\"{bound}\",{labels}"));
                    let expected = expected.unwrap_or_else(|| panic!("{bound} {labels}"));
                    assert_eq!(sum.to_string(), **expected, "{name} {family} {bound}");
                    seen += 1;
                }
                assert_eq!(sum, number(&point["count"]));
            }
            assert_eq!(seen, buckets.len(), "{name} {family}");
        }
    }
}

#[test]
fn databases_are_there_by_the_conventions_too() {
    let servers = [
        ("databases/mysql/queries.pcap.zst", "mysql", "mysql"),
        ("databases/pgsql/cursors.pcap", "pgsql", "postgresql"),
    ];
    for (name, protocol, system) in servers {
        let collector = Collector::new(&[]);
        pushed(&capture(name).display().to_string(), &collector, &[]);
        let request = collector.last().expect("one");
        let sum = |family: &str, with: String| {
            let points = points(&request, family).into_iter();
            let of = points.filter(|(labels, _)| labels.contains(&with));
            of.map(|(_, p)| number(&p["count"])).sum::<u64>()
        };
        let ours = sum(
            "slowside_response_time_seconds",
            format!("protocol=\"{protocol}\""),
        );
        let theirs = sum(
            "db.client.operation.duration",
            format!("db.system.name=\"{system}\""),
        );
        assert!(ours > 0 && ours == theirs, "{name}: {ours} {theirs}");
        for labels in points(&request, "db.client.operation.duration").keys() {
            for attribute in ["db.operation.name=", "server.address=", "server.port="] {
                assert!(labels.contains(attribute), "{labels}");
            }
        }
    }
}

#[test]
fn pushes_come_while_it_goes_on() {
    let path = capture("databases/pgsql/cursors.pcap");
    let collector = Collector::new(&[]);
    let headers = file("otlp", "headers", b"Authorization=Bearer secret\n");
    let headers = format!("--otlp-headers={}", headers.display());
    let mut child = waiting([
        "live",
        "-",
        "--format=json",
        "--interval=50ms",
        "--otlp",
        &collector.url,
        "--otlp-every=100ms",
        &headers,
    ]);
    let bytes = fs::read(&path).expect("a capture");
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(&bytes).expect("it reads");
    stdin.flush().expect("it reads");
    let counted = |request: Value| {
        let points = points(&request, "slowside_calls").into_values();
        points.map(|p| number(&p["asInt"])).sum::<u64>()
    };
    // The capture does not end: more may come.
    while collector.last().map(counted).unwrap_or_default() == 0 {
        thread::sleep(Duration::from_millis(20));
    }
    drop(child.stdin.take());
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(!text(&output.stderr).contains("--otlp"), "{output:?}");
    let heads = collector.heads();
    assert!(heads.len() > 1);
    let sent = "\r\nAuthorization: Bearer secret";
    assert!(heads.iter().all(|h| h.ends_with(sent)), "{heads:?}");
    // The series goes on: its beginning stays.
    let request = collector.last().expect("one");
    for point in points(&request, "slowside_calls").values() {
        assert!(number(&point["startTimeUnixNano"]) < number(&point["timeUnixNano"]));
    }
}

#[test]
fn a_collector_that_is_busy_has_it_later() {
    let path = capture("databases/pgsql/cursors.pcap")
        .display()
        .to_string();
    let collector = Collector::new(&[BUSY]);
    let output = pushed(&path, &collector, &["--otlp-every=1h"]);
    assert_eq!(collector.heads().len(), 2);
    let told = text(&output.stderr);
    let about: Vec<&str> = told.lines().filter(|l| l.contains("--otlp")).collect();
    assert_eq!(about.len(), 2, "{told}");
    assert!(about[0].contains("it answers 503"), "{told}");
    assert!(about[1].contains("1 of 2 pushes failed"), "{told}");
    assert!(about[1].ends_with("the last one was taken, with all that was counted"));
}

#[test]
fn a_collector_that_never_answers_holds_nothing_up() {
    let path = capture("databases/pgsql/cursors.pcap")
        .display()
        .to_string();
    // Nobody accepts: the kernel does.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    let all = ["live", &path, "--format=json"];
    let silent = slowside(all.iter().copied().chain(["--otlp", &url]));
    assert_eq!(silent.status.code(), Some(0), "{silent:?}");
    assert_eq!(text(&silent.stdout), said(all));
    let told = text(&silent.stderr);
    assert!(told.contains("no answer within 5 s; it goes on"), "{told}");
    assert!(told.contains("1 of 1 pushes failed"), "{told}");
    drop(listener);
}

#[test]
fn pseudonyms_stand_for_names_there_too() {
    let path = capture("lab/server-cap/client.pcap.zst")
        .display()
        .to_string();
    let (plain, hidden) = (Collector::new(&[]), Collector::new(&[]));
    pushed(&path, &plain, &[]);
    pushed(&path, &hidden, &["--anonymise=a-longer-key"]);
    let all = |collector: &Collector| collector.last().expect("one").to_string();
    let known = plain.last().expect("one");
    let mut names: Vec<String> = metrics(&known)
        .iter()
        .flat_map(|m| points(&known, m["name"].as_str().expect("text")).into_values())
        .flat_map(|p| p["attributes"].as_array().expect("a list").clone())
        .filter(|a| a["key"] == "server" || a["key"] == "server.address")
        .map(|a| a["value"]["stringValue"].as_str().expect("text").to_owned())
        .collect();
    let resource = &known["resourceMetrics"][0]["resource"]["attributes"];
    for attribute in resource.as_array().expect("a list") {
        if attribute["key"] == "host.name" || attribute["key"] == "service.instance.id" {
            let name = attribute["value"]["stringValue"].as_str().expect("text");
            names.push(name.to_owned());
        }
    }
    assert!(names.len() > 3 && names.iter().all(|n| all(&plain).contains(n)));
    for name in names {
        assert!(!all(&hidden).contains(&format!("\"{name}\"")), "{name}");
    }
}

#[test]
fn what_cannot_be_pushed_is_refused() {
    let bad = file("otlp", "bad", b"hunter2-without-a-name");
    let bad = format!("--otlp-headers={}", bad.display());
    for (arguments, words) in [
        (
            &["--otlp=https://collector:4318"][..],
            "proxy on it that speaks TLS",
        ),
        (&["--otlp=collector:4318"], "give http://HOST:PORT"),
        (&["--otlp=http://me:hunter2@collector"], "--otlp-headers"),
        (&["--otlp=http://h:1", &bad], "line 1 is no header"),
        (
            &["--otlp=http://h:1", "--otlp-headers=/no/such/file"],
            "check --otlp-headers",
        ),
        (&["--otlp=http://h:1", "--otlp-every=1ms"], "100ms apart"),
        (
            &["--otlp=http://h:1", "--metrics-by=time=1s"],
            "leave out time=",
        ),
        (&["--otlp-every=1s"], "--otlp"),
        (&["--metrics-by=client"], "--otlp"),
    ] {
        let message = refused(["live", "-"].iter().chain(arguments));
        assert!(message.contains(words), "{arguments:?}: {message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
}
