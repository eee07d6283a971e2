//! `slowside live` without a terminal: its totals against those of other commands, thresholds and what they
//! write, and how it ends.

use crate::kit::{
    self, SLOWSIDE, file, folder, refused, root, slowside, slowside_with, text, waiting,
};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Command;

/// The lab's capture of that case at the client, and a database's.
fn capture(name: &str) -> String {
    root().join("tests").join(name).display().to_string()
}

const CAPTURES: [&str; 6] = [
    "lab/server-cap/client.pcap.zst",
    "lab/packet-loss/client.pcap.zst",
    "lab/reset-by-server/server.pcap.zst",
    "lab/slow-turns/client.pcap.zst",
    "databases/mysql/queries.pcap.zst",
    "databases/pgsql/cursors.pcap",
];

fn json(arguments: &[&str]) -> Value {
    let output = slowside(arguments);
    assert_ne!(output.status.code(), Some(2), "{}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn lines(output: &[u8]) -> Vec<Value> {
    let line = |l: &str| serde_json::from_str(l).expect("JSON");
    text(output).lines().map(line).collect()
}

fn live(arguments: &[&str]) -> Vec<Value> {
    let mut all = vec!["live", "--format=json"];
    all.extend(arguments);
    let output = slowside(all);
    assert_ne!(output.status.code(), Some(2), "{}", text(&output.stderr));
    lines(&output.stdout)
}

fn of_kind<'a>(lines: &'a [Value], kind: &str) -> Vec<&'a Value> {
    lines.iter().filter(|l| l["kind"] == kind).collect()
}

fn sum(values: &[&Value], key: &str) -> u64 {
    values.iter().filter_map(|v| v[key].as_u64()).sum()
}

#[test]
fn totals_are_those_of_ops_and_conns() {
    for name in CAPTURES {
        let path = capture(name);
        let lines = live(&[&path, "--interval=50ms"]);
        let total = lines.last().expect("a total");
        assert_eq!(total["kind"], "total");
        let ops = json(&["ops", &path, "--format=json"]);
        assert_eq!(total["groups"], ops["groups"], "{name}");
        assert_eq!(total["total_ns"], ops["total_ns"]);
        assert_eq!(total["capture"], ops["captures"][0], "{name}");
        let conns = json(&["conns", &path, "--format=json"]);
        let listed = total["connections"].as_array().expect("a list");
        let known = conns["connections"].as_array().expect("a list");
        assert_eq!(listed.len(), known.len(), "{name}");
        for (a, b) in listed.iter().zip(known) {
            for key in [
                "number",
                "client",
                "server",
                "protocol",
                "first_ns",
                "at_stake_ns",
            ] {
                assert_eq!(a[key], b[key], "{name} {key}");
            }
            for (to, d) in [
                ("to_server", "client_to_server"),
                ("to_client", "server_to_client"),
            ] {
                let d = &b["directions"][d];
                assert_eq!(a[format!("{to}_packets")], d["packets"]);
                assert_eq!(a[format!("{to}_bytes")], d["payload_bytes"]);
                let again = &a[format!("{to}_retransmitted_packets")];
                assert_eq!(again, &d["retransmitted_packets"]);
            }
            assert_eq!(a["top"]["class"], b["top"]["class"], "{name}");
        }
    }
}

#[test]
fn intervals_add_up_to_the_totals() {
    for name in CAPTURES {
        let lines = live(&[&capture(name), "--interval=50ms", "--top=1000"]);
        let total = lines.last().expect("a total");
        let intervals = of_kind(&lines, "interval");
        assert_eq!(
            sum(&intervals, "packets"),
            total["capture"]["packets"],
            "{name}"
        );
        assert_eq!(
            sum(&intervals, "bytes"),
            total["capture"]["bytes"],
            "{name}"
        );
        let groups = total["groups"].as_array().expect("a list");
        let timed: u64 = groups.iter().filter_map(|g| g["count"].as_u64()).sum();
        let calls: Vec<&Value> = intervals.iter().map(|i| &i["now"]).collect();
        assert_eq!(sum(&calls, "count"), timed, "{name}");
        let by_op = |op: &Value| -> u64 {
            let rows = intervals.iter().filter_map(|i| i["operations"].as_array());
            let rows = rows.flatten().filter(|r| r["op"] == *op);
            rows.filter_map(|r| r["now"]["count"].as_u64()).sum()
        };
        // An operation may be of two protocols.
        let mut ops: Vec<&Value> = groups.iter().map(|g| &g["op"]).collect();
        ops.dedup();
        for op in ops {
            let all = groups.iter().filter(|g| g["op"] == *op);
            let all: u64 = all.filter_map(|g| g["count"].as_u64()).sum();
            assert_eq!(by_op(op), all, "{name} {op}");
        }
    }
}

#[test]
fn what_connections_do_in_intervals_adds_up_to_them() {
    for name in CAPTURES {
        // A window of one interval.
        let alone = ["--interval=50ms", "--window=50ms", "--top=1000"];
        let lines = live(&[&[&*capture(name)], &alone[..]].concat());
        let total = lines.last().expect("a total");
        let intervals = of_kind(&lines, "interval");
        for c in total["connections"].as_array().expect("a list") {
            let rows: Vec<&Value> = intervals
                .iter()
                .filter_map(|i| i["connections"].as_array())
                .flatten()
                .filter(|r| r["client"] == c["client"] && r["server"] == c["server"])
                .collect();
            for key in [
                "to_server_packets",
                "to_client_packets",
                "to_server_bytes",
                "to_client_bytes",
                "to_server_retransmitted_packets",
                "to_client_retransmitted_packets",
            ] {
                assert_eq!(sum(&rows, key), c[key], "{name} {} {key}", c["client"]);
            }
        }
    }
}

#[test]
fn lines_are_the_same_for_any_number_of_threads() {
    for name in CAPTURES {
        let path = capture(name);
        let one = live(&[&path, "--interval=100ms", "--threads=1"]);
        let four = live(&[&path, "--interval=100ms", "--threads=4"]);
        assert_eq!(one, four, "{name}");
    }
}

#[test]
fn standard_input_has_the_totals_of_the_file() {
    let path = capture("databases/pgsql/cursors.pcap");
    let bytes = fs::read(&path).expect("a capture");
    let output = slowside_with(["live", "-", "--format=json", "--interval=50ms"], &bytes);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let piped = lines(&output.stdout);
    let read = live(&[&path, "--interval=50ms"]);
    let (piped, read) = (
        piped.last().expect("a total"),
        read.last().expect("a total"),
    );
    assert_eq!(piped["groups"], read["groups"]);
    assert_eq!(piped["connections"], read["connections"]);
    assert_eq!(piped["statements"], read["statements"]);
    assert!(!piped["statements"].as_array().expect("a list").is_empty());
}

#[test]
fn a_threshold_writes_the_calls_that_crossed_it() {
    let folder = file("live-evidence", "old", b"")
        .parent()
        .expect("a folder")
        .to_owned();
    for old in fs::read_dir(&folder).expect("a folder") {
        fs::remove_file(old.expect("a file").path()).expect("cargo's folder for tests");
    }
    let kept = folder.join("evidence-1.pcapng");
    fs::write(&kept, b"somebody's").expect("cargo's folder for tests");
    let write = folder.join("evidence.pcapng").display().to_string();
    let lines = live(&[
        &capture("lab/server-cap/client.pcap.zst"),
        "--interval=100ms",
        "--when=op=READ and p99>20ms",
        "--when=server=10.0.0.2:2049 and rtt>1us",
        "--when=op=WRITE and p99>10s",
        "--write",
        &write,
    ]);
    let crossings = of_kind(&lines, "crossing");
    let when: Vec<&Value> = crossings.iter().map(|c| &c["when"]).collect();
    assert_eq!(
        when,
        ["server=10.0.0.2:2049 and rtt>1us", "op=READ and p99>20ms"],
        "each once"
    );
    assert_eq!(fs::read(&kept).expect("it is there"), b"somebody's");
    let path = crossings[1]["file"]["path"].as_str().expect("a file");
    assert!(path.ends_with("evidence-3.pcapng"), "{path}");
    let row = &crossings[1]["operation"];
    let slowest = row["slowest"]["response_time_ns"].as_u64().expect("a call");
    assert!(slowest > 20_000_000);
    // Read again it shows that call, and the packets say which it is.
    let said = format!("op = READ and response_time = {slowest}ns");
    let calls = slowside(["calls", path, "--where", &said]);
    assert_eq!(text(&calls.stdout).lines().count(), 2, "{said}");
    let bytes = fs::read(path).expect("it was written");
    let comment = b"of the slowest READ";
    let comments = bytes.windows(comment.len()).filter(|w| w == comment);
    assert_eq!(comments.count(), 2, "its request and its response");
    let total = lines.last().expect("a total");
    assert_eq!(total["crossings"], 2);
    assert_eq!(total["written"].as_array().map(Vec::len), Some(2));
}

#[test]
fn no_more_files_are_written_than_asked_for() {
    let folder = file("live-files", "old", b"")
        .parent()
        .expect("a folder")
        .to_owned();
    for old in fs::read_dir(&folder).expect("a folder") {
        fs::remove_file(old.expect("a file").path()).expect("cargo's folder for tests");
    }
    let write = folder.join("e.pcapng").display().to_string();
    let lines = live(&[
        &capture("lab/server-cap/client.pcap.zst"),
        "--interval=100ms",
        "--when=op=READ and max>1us",
        "--when=op=WRITE and max>15ms",
        "--files=1",
        "--write",
        &write,
    ]);
    assert_eq!(of_kind(&lines, "crossing").len(), 2);
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1);
}

#[test]
fn memory_for_packets_is_bounded_and_it_is_said() {
    let path = capture("lab/server-cap/client.pcap.zst");
    let lines = live(&[&path, "--interval=100ms", "--keep-bytes=64k"]);
    for interval in of_kind(&lines, "interval") {
        let kept = &interval["kept"];
        assert!(kept["memory_bytes"].as_u64() <= Some(64 << 10), "{kept}");
        assert_eq!(kept["short"], true);
    }
    let output = slowside(["live", &path, "--keep-bytes=64k"]);
    assert!(text(&output.stdout).contains("do not fit into"));
}

#[test]
fn findings_appear_with_the_verdict() {
    let lines = live(&[&capture("lab/server-cap/client.pcap.zst")]);
    let found = of_kind(&lines, "finding");
    let codes: Vec<&Value> = found.iter().map(|f| &f["finding"]["code"]).collect();
    assert_eq!(codes[0], "server-concurrency-cap");
    assert_eq!(found[0]["verdict"]["side"], "server");
    let healthy = live(&[&capture("lab/healthy/client.pcap.zst")]);
    assert!(of_kind(&healthy, "finding").is_empty());
}

#[test]
fn expressions_that_nothing_can_meet_are_refused() {
    for (when, says) in [
        ("op=READ and rtt>1ms", "`rtt` is said of connections"),
        ("p98>1ms", "did you mean"),
        ("p99>fast", "a duration"),
        ("loss>much", "a percentage"),
        ("op>READ", "no order"),
        ("p99 20ms", "expected one of"),
    ] {
        let message = refused(["live", "x.pcap", "--when", when]);
        assert!(message.contains(says), "{when}: {message}");
    }
    for (arguments, says) in [
        (
            &["live", "x.pcap", "--interval=1s", "--window=500ms"][..],
            "--window is shorter",
        ),
        (&["live", "x.pcap", "--interval=1ms"], "at least 10ms"),
        (&["live", "-", "x.pcap"], "alone"),
        (
            &["live", "x.pcap", "--write=/no/such/folder/e.pcapng"],
            "not there",
        ),
        (&["live", "x.pcap", "--keep-bytes=lots"], "a size"),
        (&["live"], "required"),
    ] {
        let message = refused(arguments);
        assert!(message.contains(says), "{arguments:?}: {message}");
    }
}

/// A run that waits for more on its standard input.
fn watching(arguments: &[&str]) -> std::process::Child {
    waiting(["live", "-", "--format=json"].iter().chain(arguments))
}

#[cfg(unix)]
#[test]
fn a_signal_ends_it_with_the_totals_and_a_cut_record_is_no_damage() {
    for signal in ["INT", "TERM"] {
        let mut child = watching(&["--interval=50ms"]);
        let mut stdin = child.stdin.take().expect("a pipe");
        let bytes = fs::read(capture("databases/pgsql/cursors.pcap")).expect("a capture");
        // Cut in the middle of a packet.
        stdin
            .write_all(&bytes[..bytes.len() - 30])
            .expect("a reader");
        stdin.flush().expect("a reader");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut first = String::new();
        out.read_line(&mut first).expect("a line");
        assert!(first.contains("\"interval\""), "{first}");
        // Silence is told, too: intervals go on without packets.
        let mut empty = String::new();
        while !empty.contains("\"packets\":0,\"bytes\":0,") {
            empty.clear();
            assert!(out.read_line(&mut empty).expect("a line") > 0);
        }
        assert!(kit::signal(signal, child.id()), "it runs");
        let rest: Vec<String> = out.lines().map(|l| l.expect("UTF-8")).collect();
        let last = rest.last().expect("a total");
        assert!(last.contains("\"kind\":\"total\""), "{signal}: {last}");
        assert_eq!(child.wait().expect("an end").code(), Some(0), "{signal}");
        drop(stdin);
    }
}

#[test]
fn for_ends_it_where_no_packet_comes() {
    let mut child = watching(&["--for=200ms"]);
    let silent = child.stdin.take();
    let output = child.wait_with_output().expect("an end");
    drop(silent);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = lines(&output.stdout);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["groups"], serde_json::json!([]));
    let output = slowside_with(["live", "-"], b"no capture at all, but a line of text");
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn what_is_said_of_the_window_is_what_it_is() {
    let path = capture("lab/server-cap/client.pcap.zst");
    // Whole intervals, and at most 600.
    for (interval, window, said) in [("100ms", "250ms", "200 ms"), ("1s", "1h", "10 min 0 s")] {
        let [interval, window] = [("interval", interval), ("window", window)];
        let [interval, window] = [interval, window].map(|(name, v)| format!("--{name}={v}"));
        let output = slowside(["live", &path, &interval, &window]);
        let first = format!("over the last {said}.");
        let told = text(&output.stdout);
        assert!(told.contains(&first), "{told}");
    }
}

#[test]
fn no_name_is_left_under_pseudonyms() {
    let nfs = capture("lab/server-cap/client.pcap.zst");
    let sql = capture("databases/mysql/queries.pcap.zst");
    let kinds: [(&str, &str, &[&str]); 3] = [
        ("json", &nfs, &["10.0.0.1:", "10.0.0.2", "client.pcap"]),
        ("text", &nfs, &["10.0.0.1:", "10.0.0.2"]),
        ("json", &sql, &["nowhere", "queries.pcap"]),
    ];
    for (format, path, names) in kinds {
        let format = format!("--format={format}");
        let when = "--when=server = 10.0.0.2 and max>0ms";
        let plain = ["live", path, &format, "-q", when];
        let hidden = [&plain[..], &["--anonymise=a key for tests"]].concat();
        let [plain, hidden] = [slowside(plain), slowside(hidden)];
        let [plain, hidden] = [text(&plain.stdout), text(&hidden.stdout)];
        for name in names {
            assert!(plain.contains(name), "{name}\n{plain}");
            assert!(!hidden.contains(name), "{name}\n{hidden}");
        }
    }
}

#[test]
fn packets_are_written_with_pseudonyms_too() {
    let nfs = capture("lab/server-cap/client.pcap.zst");
    let folder = folder("live-anonymised");
    let evidence = folder.join("secretname.pcapng");
    let run = |options: &[&str]| {
        let path = evidence.display().to_string();
        let when = "--when=server = 10.0.0.2 and max>0ms";
        let plain = [
            "live",
            &nfs,
            "--format=json",
            when,
            "--files=1",
            "--write",
            &path,
        ];
        let output = slowside([&plain[..], options].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    assert!(run(&[]).contains("secretname-1.pcapng"));
    assert!(!run(&["--anonymise=a key for tests"]).contains("secretname"));
    let [plain, hidden] = ["1", "2"].map(|n| folder.join(format!("secretname-{n}.pcapng")));
    let [plain_bytes, hidden_bytes] =
        [&plain, &hidden].map(|f| std::fs::read(f).expect("evidence"));
    for name in [&b"client.pcap"[..], b"10.0.0.2", &[10, 0, 0, 2]] {
        let holds = |bytes: &[u8]| bytes.windows(name.len()).any(|w| w == name);
        assert!(holds(&plain_bytes) && !holds(&hidden_bytes), "{name:?}");
    }
    let calls = |file: &std::path::Path, key: &[&str]| {
        let path = file.display().to_string();
        text(
            &slowside(
                [
                    &["ops", &path, "--by=op,client,server", "--format=csv"][..],
                    key,
                ]
                .concat(),
            )
            .stdout,
        )
    };
    // The same addresses as in everything else that was written with the key.
    let expected = calls(&plain, &["--anonymise=a key for tests"]);
    assert!(expected.lines().count() > 1, "{expected}");
    let addresses = |table: &str| -> Vec<String> {
        let rows = table.lines().skip(1);
        rows.map(|row| row.split(',').skip(1).take(3).collect::<Vec<_>>().join(" "))
            .collect()
    };
    assert_eq!(addresses(&expected), addresses(&calls(&hidden, &[])));
}

/// An idle connection with keep-alives, each after so many nanoseconds.
#[cfg(target_os = "linux")]
fn idle(every_ns: i64, times: i64) -> Vec<u8> {
    use testkit::{Conversation, Format, pcap};
    let mut c = Conversation::nfs();
    c.at(1_700_000_000_000_000_000).handshake();
    for _ in 0..times {
        c.after(every_ns).client_ack().server_ack();
    }
    pcap(&c.packets(), model::LinkType(1), Format::ALL[1])
}

/// In a gigabyte of memory, which a line for each second would fill.
#[cfg(target_os = "linux")]
#[test]
fn silences_of_hours_and_of_years_are_a_line_each() {
    const HOUR: i64 = 3_600_000_000_000;
    for (name, every, times) in [("hours", 2 * HOUR, 24), ("years", 20_000 * HOUR, 20)] {
        let bytes = idle(every, times);
        let path = file("live-silence", name, &bytes);
        for format in ["json", "text"] {
            for input in ["-", path.to_str().expect("UTF-8")] {
                let limited = "ulimit -v 1000000; exec \"$0\" live \"$@\"";
                let output = Command::new("sh")
                    .args([
                        "-c",
                        limited,
                        SLOWSIDE,
                        input,
                        "--threads=2",
                        "--format",
                        format,
                    ])
                    .stdin(fs::File::open(&path).expect("a file"))
                    .output()
                    .expect("a shell");
                assert_eq!(
                    output.status.code(),
                    Some(0),
                    "{name}: {}",
                    text(&output.stderr)
                );
                // Of each step the interval with its packets, the silence, and a heading now and then.
                let lines = text(&output.stdout).lines().count();
                assert!(lines < 3 * times as usize, "{name} {format}: {lines} lines");
            }
        }
        let lines = live(&[path.to_str().expect("UTF-8")]);
        let intervals = of_kind(&lines, "interval");
        let total = lines.last().expect("a total");
        assert_eq!(
            sum(&intervals, "packets"),
            total["capture"]["packets"],
            "{name}"
        );
        let ends = |i: &&Value| i["start_ns"].as_i64().zip(i["width_ns"].as_i64());
        let spans: Vec<_> = intervals.iter().filter_map(ends).collect();
        assert!(
            spans.windows(2).all(|w| w[0].0 + w[0].1 == w[1].0),
            "{spans:?}"
        );
    }
}

#[cfg(unix)]
#[test]
fn evidence_that_cannot_be_written_is_told_at_once_and_exits_2() {
    use std::os::unix::fs::PermissionsExt;
    let folder = crate::kit::folder("live-unwritten");
    let write = folder.join("e.pcapng").display().to_string();
    let input = capture("lab/server-cap/client.pcap.zst");
    let line = [
        "live",
        &input,
        "--interval=100ms",
        "--when=p99>20ms",
        "--write",
        &write,
    ];
    let limited = "ulimit -f 1; exec \"$0\" \"$@\"";
    let output = Command::new("sh")
        .args(["-c", limited, SLOWSIDE])
        .args(line)
        .output();
    let output = output.expect("a shell");
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.lines()
            .all(|l| l.contains("cannot write") && l.contains("--write")),
        "{told}"
    );
    let said = text(&output.stdout);
    assert!(said.contains("not written: cannot write"), "{said}");
    assert!(
        said.contains("At the end: "),
        "the totals are told all the same: {said}"
    );
    assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 0);
    assert_eq!(slowside(line).status.code(), Some(0));
    let written = fs::metadata(folder.join("e-1.pcapng")).expect("a file");
    assert_ne!(written.permissions().mode() & 0o400, 0);
}
