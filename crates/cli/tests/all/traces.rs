//! Public traces of Oracle databases, where they are at hand (`../shared/samples/traces`), into their
//! profile. What is expected is summed from the lines of the files here, by other means than those of the
//! reader, or is in the names that their makers gave them.

mod sqlnet;

use crate::kit::{answer, sample, slowside, slowside_with, with};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Output;
use trace::oracle::{Record, TraceFile};

/// The folder of a kind of traces.
fn folder(name: &str) -> Option<PathBuf> {
    sample(&format!("traces/{name}"))
}

/// Traces in a folder that the reader takes, by name.
fn traces(name: &str) -> Vec<PathBuf> {
    let Some(folder) = folder(name) else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).expect("a folder can be listed");
    let mut paths: Vec<_> = entries
        .map(|e| e.expect("a folder can be listed").path())
        .filter(|p| {
            let name = p.to_string_lossy();
            name.ends_with(".trc") || name.ends_with(".trc.gz")
        })
        .filter(|p| !p.ends_with("pingtest.trc") && !p.ends_with("t.trc"))
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{name} is empty");
    paths
}

fn text(path: &Path) -> String {
    let bytes = fs::read(path).expect("a sample can be read");
    let mut plain = Vec::new();
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::MultiGzDecoder::new(&bytes[..])
            .read_to_end(&mut plain)
            .expect("gzip");
    } else {
        plain = bytes;
    }
    String::from_utf8_lossy(&plain).into_owned()
}

fn of<'a>(path: &'a Path, arguments: &[&'a str]) -> Vec<&'a OsStr> {
    with(&[&["trace"], arguments].concat(), path)
}

fn profile(path: &Path) -> Value {
    answer("trace", [path])
}

fn number(value: &Value) -> i64 {
    value
        .as_i64()
        .unwrap_or_else(|| panic!("{value} is no number"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

/// The digits behind a word.
fn behind(line: &str, word: &str) -> Option<i64> {
    let rest = line.split(word).nth(1)?.trim_start();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

/// Number and sum of something, by name.
type Sums = BTreeMap<String, (i64, i64)>;

/// `ela` by event, and `e` and `c` by call, of lines that begin like one.
fn sums(text: &str) -> (Sums, Sums, Sums) {
    let (mut events, mut elapsed, mut cpu) = (Sums::new(), Sums::new(), Sums::new());
    let add = |sums: &mut Sums, name: &str, n: i64| {
        let (count, sum) = sums.entry(name.to_owned()).or_default();
        *count += 1;
        *sum += n;
    };
    for line in text.lines() {
        if line.starts_with("WAIT #") {
            let name = line.split('\'').nth(1).expect("a name in quotes");
            add(&mut events, name, behind(line, "' ela=").expect("ela"));
        }
        for call in ["PARSE", "EXEC", "FETCH", "CLOSE"] {
            if line.starts_with(&format!("{call} #")) {
                add(&mut elapsed, call, behind(line, ",e=").expect("e"));
                add(&mut cpu, call, behind(line, ":c=").expect("c"));
            }
        }
    }
    (events, elapsed, cpu)
}

/// The times of rows in nanoseconds, as microseconds by name.
fn rows(rows: &Value, name: &str) -> Sums {
    let sum = |row: &Value| {
        let key = row[name].as_str().expect("a name").to_owned();
        let ns = number(&row["total_ns"]);
        assert_eq!(ns % 1_000, 0);
        (key, (number(&row["count"]), ns / 1_000))
    };
    list(rows).iter().map(sum).collect()
}

#[test]
fn totals_by_event_and_call_are_the_sums_over_the_lines() {
    let mut seen = 0;
    for name in [
        "10046-array-size-vs-latency",
        "10046-misc",
        "10046-sqldeveloper",
        "10046-xml-sqlnet",
        "10046-trctools",
        "10079-xml-sqlnet",
        "sqlnet+10046-same-session-linux",
        "sqlnet+10046-same-session-windows",
    ] {
        for path in traces(name) {
            if path.ends_with("broken_trace.trc") {
                continue;
            }
            let text = text(&path);
            let (events, elapsed, cpu) = sums(&text);
            let profile = profile(&path);
            let database = &profile["database"];
            if database.is_null() {
                assert!(
                    events.is_empty() && elapsed.is_empty(),
                    "{}",
                    path.display()
                );
                continue;
            }
            assert_eq!(
                rows(&database["events"], "event"),
                events,
                "{}",
                path.display()
            );
            let mut calls = rows(&database["calls"], "call");
            calls.retain(|call, _| !call.starts_with("LOB"));
            assert_eq!(calls, elapsed, "{}", path.display());
            seen += events.values().map(|(count, _)| count).sum::<i64>();

            // Of CPU time each call has its own: together those of the outermost calls.
            let is_lob = |c: &&Value| c["call"].as_str().is_some_and(|c| c.starts_with("LOB"));
            let own: i64 = list(&database["calls"])
                .iter()
                .filter(|c| !is_lob(c))
                .map(|c| number(&c["cpu_ns"]))
                .sum();
            let all: i64 = cpu.values().map(|(_, c)| c * 1_000).sum();
            assert!(own <= all, "{}: {own} of {all}", path.display());
            // The parts are the whole, by kind and by statement.
            let part = |key: &str| number(&database[key]);
            let response = part("response_ns");
            let parts = ["cpu_ns", "waited_ns", "unaccounted_ns", "between_ns"].map(part);
            assert_eq!(parts.iter().sum::<i64>(), response, "{}", path.display());
            let statements = list(&database["statements"]);
            let sum: i64 = statements.iter().map(|s| number(&s["total_ns"])).sum();
            assert!(sum == response, "{}: {sum} of {response}", path.display());
        }
    }
    if folder("10046-misc").is_some() {
        assert!(seen > 100_000, "{seen} waits");
    }
}

#[test]
fn array_size_and_latency_are_those_in_the_names() {
    let paths = traces("10046-array-size-vs-latency");
    for path in &paths {
        let name = path.file_name().expect("a name").to_string_lossy();
        // cdb1_ora_2947_PF-0.2ms-010.trc.gz
        let (_, rest) = name.split_once("_PF-").expect("a name of the set");
        let (latency, rest) = rest.split_once("ms-").expect("a latency");
        let latency: f64 = latency.parse().expect("a latency");
        let array: i64 = rest
            .get(..3)
            .and_then(|a| a.parse().ok())
            .expect("an array size");

        let profile = profile(path);
        let top = &profile["database"]["statements"][0];
        assert_eq!(
            top["statement"], "select id, data from rowcache_test",
            "{name}"
        );
        assert_eq!(number(&top["rows"]), 100_000, "{name}");
        assert_eq!(number(&top["rows_per_fetch_p50"]), array, "{name}");
        assert_eq!(number(&top["rows_per_fetch_max"]), array, "{name}");
        // Ten executions, each of which ends with a fetch that is not full.
        let full = 100_000 / array;
        let fetches = number(&top["fetches"]);
        assert!(
            (full..=full + 10).contains(&fetches),
            "{name}: {fetches} fetches"
        );
        let trips = &top["round_trips"];
        let count = number(&trips["count"]);
        assert!(
            (fetches..=fetches + 12).contains(&count),
            "{name}: {count} round trips"
        );
        // Half of the round trips took at least as long as the network, and at most 2 ms longer.
        let p50 = number(&trips["p50_ns"]) as f64 / 1e6;
        assert!((latency..latency + 2.0).contains(&p50), "{name}: {p50} ms");
        // The time of the statement is that of its round trips.
        let least = latency * count as f64;
        let total = number(&top["total_ns"]) as f64 / 1e6;
        assert!(
            (least..least + 3.0 * count as f64).contains(&total),
            "{name}: {total} ms"
        );
    }
    assert!(paths.is_empty() || paths.len() == 20, "{}", paths.len());
}

fn records(path: &Path, mut take: impl FnMut(&Record<'_>)) -> TraceFile {
    trace::oracle::read(path, &mut |record| take(&record)).expect("a trace")
}

/// When the database had waited for its client, by its own clock, and for how long.
fn waits_for_client(path: &Path) -> Vec<(i64, i64)> {
    let mut waits = Vec::new();
    records(path, |record| {
        if let Record::Wait(wait) = record
            && wait.event == "SQL*Net message from client"
        {
            waits.push((wait.tim_ns.expect("11g writes it"), wait.elapsed_ns));
        }
    });
    waits
}

/// When packets had come, by the clock of the same host in local time, and how long before that the last
/// one was sent.
fn received(path: &Path) -> Vec<(i64, i64)> {
    let mut received = Vec::new();
    let mut sent = None;
    records(path, |record| {
        if let Record::Packet(packet) = record {
            let at = packet.local_ns.expect("each has a time");
            if packet.sent {
                sent = Some(at);
            } else if let Some(sent) = sent.take() {
                received.push((at, at - sent));
            }
        }
    });
    received
}

#[test]
fn both_traces_of_a_session_have_the_same_round_trips() {
    const MS: i64 = 1_000_000;
    const QUARTER: i64 = 15 * 60 * 1_000 * MS;
    // A packet is read before the wait for it is over, and its time is cut to a millisecond. Two of the
    // sessions ran under strace, which takes some milliseconds for each line that is written.
    for (name, slack, database, net) in [
        ("linux", MS, "oravm1_ora_26390_poirot.trc", "svr_26390.trc"),
        (
            "linux",
            8 * MS,
            "oravm1_ora_26467_poirot.trc",
            "svr_26467.trc",
        ),
        (
            "windows",
            2 * MS,
            "oravm1_ora_26756_WORKGROUP-8L0ZVR1.trc",
            "svr_26756.trc.gz",
        ),
        (
            "windows",
            8 * MS,
            "oravm1_ora_26875_WORKGROUP-8L0ZVR1.trc",
            "svr_26875.trc.gz",
        ),
    ] {
        let Some(folder) = folder(&format!("sqlnet+10046-same-session-{name}")) else {
            return;
        };
        let waits = waits_for_client(&folder.join(database));
        let packets = received(&folder.join(net));
        let (first, last) = (waits[0].0, waits[waits.len() - 1].0);
        // One is in UTC, the other in the zone of the host.
        let zone = packets
            .iter()
            .map(|(at, _)| ((first - at) as f64 / QUARTER as f64).round() as i64 * QUARTER)
            .next_back()
            .expect("packets");
        let same: Vec<_> = packets
            .iter()
            .map(|(at, waited)| (at + zone, *waited))
            .filter(|(at, _)| (first - slack..=last).contains(at))
            .collect();
        assert_eq!(same.len(), waits.len(), "{database}: {same:?} {waits:?}");
        for ((at, waited), (tim, elapsed)) in same.iter().zip(&waits) {
            assert!((at - tim).abs() <= slack, "{database}: {at} and {tim}");
            assert!(
                (waited - elapsed).abs() <= slack,
                "{database}: {waited} and {elapsed}"
            );
        }
        // The profile counts them all the same.
        let profile = profile(&folder.join(database));
        let trips = &profile["database"]["round_trips"];
        assert_eq!(number(&trips["count"]), waits.len() as i64);
        let net = self::profile(&folder.join(net));
        assert_eq!(
            number(&net["net"]["all"]["away"]["count"]),
            packets.len() as i64
        );
        assert_eq!(net["files"][0]["net"]["side"], "server");
        assert_eq!(net["files"][0]["net"]["sdu_bytes"], 8192);
    }
}

#[test]
fn bytes_of_event_10079_are_the_lines_that_say_so() {
    for path in traces("10079-xml-sqlnet") {
        let text = text(&path);
        let sum = |words: &str| -> i64 {
            let lines = text.lines().filter(|l| l.contains(words));
            lines
                .map(|l| {
                    l.trim_start_matches(" (overflow)")
                        .trim()
                        .split(' ')
                        .next()
                        .expect("a word")
                        .parse::<i64>()
                        .expect("bytes")
                })
                .sum()
        };
        let profile = profile(&path);
        let database = &profile["database"];
        assert_eq!(
            number(&database["bytes_sent"]),
            sum("bytes sent via fast-path"),
            "{}",
            path.display()
        );
        assert_eq!(
            number(&database["bytes_received"]),
            sum("bytes received via SQL*Net"),
            "{}",
            path.display()
        );
        assert!(number(&database["bytes_sent"]) > 0);
    }
}

#[test]
fn broken_traces_have_counted_problems_with_their_place() {
    let Some(folder) = folder("10046-trctools") else {
        return;
    };
    for (name, kind, count, line) in [
        ("broken_trace.trc", "cut-record", 5, 49),
        ("broken_trace.trc", "lines-run-together", 1, 43),
        ("malformed_stat.trc", "cut-record", 1, 35),
    ] {
        let path = folder.join(name);
        assert_eq!(slowside(of(&path, &[])).status.code(), Some(3), "{name}");
        let profile = profile(&path);
        let problems = list(&profile["problems"]);
        let problem = problems.iter().find(|p| p["kind"] == kind).expect(kind);
        assert_eq!(
            (number(&problem["count"]), number(&problem["line"])),
            (count, line),
            "{name}"
        );
        let text = text(&path);
        let offset = usize::try_from(number(&problem["offset"])).expect("an offset");
        let before = text.get(..offset).expect("within the file");
        assert_eq!(before.lines().count() as i64 + 1, line, "{name}");
        assert!(before.ends_with('\n'), "{name}");
    }
    // Whole ones have none.
    for name in [
        "simple_trace.trc",
        "lobread.trc.xz",
        "two_statements_one_cursor.trc.gz",
        "parse_error.trc",
        "error.trc",
        "stray_close.trc",
        "lobs.trc",
    ] {
        let path = folder.join(name);
        assert_eq!(slowside(of(&path, &[])).status.code(), Some(0), "{name}");
        assert_eq!(
            profile(&path)["problems"],
            Value::Array(Vec::new()),
            "{name}"
        );
    }
    for name in ["mixed_execs.trc.bz2", "lobread.trc.lzma"] {
        let output = slowside(of(&folder.join(name), &[]));
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("unpack it with"),
            "{name}"
        );
    }
}

/// A profile of bytes on standard input.
fn piped(bytes: &[u8]) -> Output {
    slowside_with(["trace", "-", "--format", "json"], bytes)
}

#[test]
fn half_a_trace_has_part_of_the_sums() {
    let Some(folder) = folder("10046-trctools") else {
        return;
    };
    let text = text(&folder.join("mixed_execs.trc"));
    let (whole, _, _) = sums(&text);
    let mut damaged = 0;
    for tenth in 3..40 {
        let cut = text.len() * tenth / 40;
        let output = piped(text.get(..cut).expect("ASCII").as_bytes());
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{cut}: {output:?}");
        damaged += usize::from(code == Some(3));
        let profile: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        if profile["database"].is_null() {
            continue;
        }
        for (event, (count, sum)) in rows(&profile["database"]["events"], "event") {
            let (most, largest) = whole.get(&event).expect("an event of the trace");
            assert!(count <= *most && sum <= *largest, "{cut}: {event}");
        }
    }
    assert!(damaged > 5, "{damaged} of 37 cuts are within a record");
}

#[test]
fn literals_and_bound_values_are_masked() {
    let Some(folder) = folder("10046-trctools") else {
        return;
    };
    let path = folder.join("mixed_execs.trc");
    for format in ["text", "json", "csv"] {
        for extra in [
            &["--format", format][..],
            &["--format", format, "--show-literals"][..],
        ] {
            let output = slowside(of(&path, extra));
            let shown = String::from_utf8_lossy(&output.stdout).into_owned();
            // Bound in line 29.
            assert!(!shown.contains("jari"), "{extra:?}");
        }
    }
    let path = self::folder("10046-array-size-vs-latency")
        .expect("beside the others")
        .join("cdb1_ora_2999_PF-0.2ms-050.trc");
    let shown =
        |extra: &[&str]| String::from_utf8_lossy(&slowside(of(&path, extra)).stdout).into_owned();
    assert!(!shown(&["--all"]).contains("Default Trace File"));
    assert!(shown(&["--all", "--show-literals"]).contains("'Default Trace File'"));
    assert!(!shown(&["--format", "csv"]).contains("Default Trace File"));
}

#[test]
fn pages_fit_the_terminal() {
    for name in [
        "10046-misc",
        "10046-xml-sqlnet",
        "sqlnet-level16",
        "sqlnet-level16-19c",
        "10046-trctools",
        "10079-xml-sqlnet",
        "10046-sqldeveloper",
    ] {
        for path in traces(name) {
            let output = slowside(of(&path, &["--all"]));
            let page = String::from_utf8(output.stdout).expect("UTF-8");
            for line in page.lines() {
                // A word that is longer than a line stays whole.
                let words = line.split_whitespace().count();
                assert!(
                    line.chars().count() <= 80 || words <= 1,
                    "{}: {line}",
                    path.display()
                );
                assert_eq!(line.trim_end(), line, "{}", path.display());
            }
        }
    }
}
