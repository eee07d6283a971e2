//! The times of an application and of a server beside both captures: `--app` and `--server-app`.

use super::capture;
use super::contract::{assert_integers, json};
use crate::kit::{file, refused, slowside, text};
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write;
use testkit::{Conversation, TestPacket, faults, rpc};

const MS: i64 = 1_000_000;
const READS: i64 = 60;

/// 2026.
const BEGAN: i64 = 1_795_366_702_000 * MS;

/// The server holds each read for 40 ms; its client is 1 ms away.
const HELD: i64 = 40 * MS;
const AWAY: i64 = MS;

/// When a read arrives.
fn arrives(i: i64) -> i64 {
    (10 + 60 * i + i * i % 7) * MS
}

fn block(i: i64) -> i64 {
    8_192 * (1_000 + i * 37 % 1_009)
}

/// Both ends' captures of them, as arguments.
fn captures(test: &str) -> Vec<OsString> {
    let mut c = Conversation::nfs();
    c.handshake().spacing(0);
    for i in 0..READS {
        c.at(2_000 * MS + arrives(i));
        let (id, offset) = (i as u32, block(i) as u64);
        c.client(&rpc::record(&rpc::read_call(id, b"users01", offset, 8_192)));
        c.server_ack().after(HELD);
        c.server(&rpc::record(&rpc::read_reply(id, &[7; 8_192], false)));
        c.after(MS / 5).client_ack();
    }
    let server: Vec<TestPacket> = c.packets();
    let (from, to) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into());
    let client = faults::delay(&faults::delay(&server, from, -AWAY), to, AWAY);
    let mut words: Vec<OsString> = vec!["diagnose".into()];
    for (side, mut packets) in [("client", client), ("server", server)] {
        for packet in &mut packets {
            packet.time += BEGAN;
        }
        words.push(format!("--{side}").into());
        words.push(file(test, &format!("{side}.pcap"), &capture(&packets)).into());
    }
    words
}

/// Rows that begin so long after the read arrived, and last so long.
fn rows(test: &str, name: &str, op: &str, (late, took): (i64, i64)) -> OsString {
    let mut csv = String::from("op,offset,len,t_start_ns,t_end_ns\n");
    for i in 0..READS {
        let start = BEGAN + 2_000 * MS + arrives(i) + late;
        let _ = writeln!(csv, "{op},{},8192,{start},{}", block(i), start + took);
    }
    file(test, name, csv.as_bytes()).into()
}

/// The application's rows are around the calls: 5 ms before, 1 ms behind.
fn with(test: &str, server: (i64, i64)) -> Vec<OsString> {
    let around = (-AWAY - 5 * MS, HELD + 2 * AWAY + 6 * MS);
    let mut words = captures(test);
    words.extend(["--app".into(), rows(test, "app.csv", "READ", around)]);
    words.extend([
        "--server-app".into(),
        rows(test, "server.csv", "READ", server),
    ]);
    words
}

fn diagnosed(mut words: Vec<OsString>) -> Value {
    words.push("--format=json".into());
    let d = json(words);
    assert_integers("", &d);
    d
}

fn codes(d: &Value) -> Vec<&str> {
    let findings = d["findings"].as_array().expect("findings");
    findings.iter().filter_map(|f| f["code"].as_str()).collect()
}

#[test]
fn four_clocks_are_four_layers_and_what_lies_between_has_a_name() {
    let d = diagnosed(with("layers-queue", (38 * MS, MS)));
    let layers = d["layers"].as_array().expect("layers");
    let told: Vec<_> = layers
        .iter()
        .map(|l| (l["layer"].as_str(), l["joined"].as_i64()))
        .collect();
    let all = Some(READS);
    assert_eq!(
        told,
        [
            (Some("application"), all),
            (Some("client-wire"), all),
            (Some("server-wire"), all),
            (Some("server-operation"), all)
        ]
    );
    let mean = |layer: usize, key: &str| layers[layer][key].as_i64().unwrap_or(-1);
    let near = |ns: i64, want: i64| assert!((ns - want).abs() <= MS / 4, "{ns}, not {want}");
    for (layer, ms) in [48, 42, 40, 1].into_iter().enumerate() {
        near(mean(layer, "mean_ns"), ms * MS);
        near(mean(layer, "p50_ns"), ms * MS);
    }
    for (layer, ms) in [6, 2, 39].into_iter().enumerate() {
        near(mean(layer, "beyond_next_ns"), ms * MS);
    }
    assert_eq!(layers[3]["beyond_next_ns"], Value::Null);
    // It waits in front of the operation, and nobody else has that time.
    assert_eq!(d["verdict"]["side"], "server");
    assert_eq!(d["verdict"]["cause"], "server-queue");
    let queue = &d["findings"][0];
    let line = ["server", "server", "dispatch"];
    assert_eq!(queue["lines"][0], serde_json::json!(line));
    near(queue["cost_ns"].as_i64().unwrap_or(0) / READS, 39 * MS);
    near(
        d["server_app"]["before_mean_ns"].as_i64().unwrap_or(0),
        38 * MS,
    );
    near(d["server_app"]["behind_mean_ns"].as_i64().unwrap_or(0), MS);
    assert!(!codes(&d).contains(&"server-slow"), "{:?}", codes(&d));
}

#[test]
fn where_the_operation_takes_the_time_the_server_is_slow_and_nothing_queues() {
    let d = diagnosed(with("layers-slow", (MS / 2, 39 * MS)));
    assert_eq!(d["verdict"]["cause"], "server-slow");
    assert!(!codes(&d).contains(&"server-queue"), "{:?}", codes(&d));
}

#[test]
fn people_see_the_layers_as_a_table() {
    let words = with("layers-text", (38 * MS, MS));
    let page = text(&slowside(&words).stdout);
    for line in [
        "What each layer takes",
        "before the operation",
        "above the wire",
    ] {
        assert!(page.contains(line), "{page}");
    }
    let mut markdown = words;
    markdown.push("--format=markdown".into());
    let page = text(&slowside(&markdown).stdout);
    assert!(page.contains("### What each layer takes, in ms"), "{page}");
    assert!(
        page.contains("| operation | 60 | 1.00 | 1.00 | 1.00 |"),
        "{page}"
    );
}

/// Rows that say nothing of these calls are left out, and that is said.
#[test]
fn rows_of_a_server_that_do_not_fit_are_refused_with_their_reason() {
    let hour = 3_600_000 * MS;
    for (op, at, why) in [
        (
            "READ",
            (hour, MS),
            "lies within the capture: they begin 1 h 0 min later",
        ),
        (
            "WRITE",
            (38 * MS, MS),
            "the capture holds no WRITE at that time",
        ),
        (
            "READ",
            (-5 * MS, 60 * MS),
            "only 0 of 60 rows lie within the time of one of the 60 calls",
        ),
    ] {
        let mut words = captures("layers-refused");
        words.extend([
            "--server-app".into(),
            rows("layers-refused", "rows.csv", op, at),
        ]);
        let d = diagnosed(words);
        let notes = d["notes"].to_string();
        assert!(
            notes.contains("The server's times were left out:"),
            "{notes}"
        );
        assert!(notes.contains(why), "{notes}");
        assert_eq!(
            (&d["server_app"], &d["layers"]),
            (&Value::Null, &serde_json::json!([]))
        );
        assert_eq!(d["verdict"]["cause"], "server-slow");
    }
    let message = refused(["a.pcap", "--server-app", "no/such/log.csv"]);
    assert!(
        message.contains("--server-app") && message.contains("no/such/log.csv"),
        "{message}"
    );
}

/// The server's capture without the client's, and a file of its own.
fn of_server(test: &str, name: &str, text: &str) -> Vec<OsString> {
    let mut words = captures(test);
    words.extend([
        "--server-app".into(),
        file(test, name, text.as_bytes()).into(),
    ]);
    words
}

const STEPS: &str = "NFSv3 read/write distributions (us):\n\n  read\n\
     \x20     value  ------------- Distribution ------------- count\n\
     \x20       512 |                                         0\n\
     \x20      1024 |@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@        50\n\
     \x20      2048 |@@@@@@                                   10\n\
     \x20      4096 |                                         0\n";

const DISKS: &str = "Tracing block device I/O... Hit Ctrl-C to end.\n^C\n\
     \x20    usecs               : count     distribution\n\
     \x20      256 -> 511        : 7        |********                                |\n";

#[test]
fn of_a_distribution_bounds_are_said_and_what_they_prove() {
    let mut words = of_server("layers-steps", "dtrace.txt", STEPS);
    let disks = file("layers-steps", "disks.txt", DISKS.as_bytes());
    words.extend(["--server-app".into(), disks.into()]);
    let d = diagnosed(words.clone());
    let server = &d["server_app"];
    assert_eq!(server["compared_by"], "distribution");
    let [least, most] = [
        (1_024 * 50 + 2_048 * 10) * 1_000 / 60,
        (2_048 * 50 + 4_096 * 10) * 1_000 / 60,
    ];
    assert_eq!(server["operation_mean_least_ns"], least);
    assert_eq!(server["operation_mean_most_ns"], most);
    let layers = d["layers"].as_array().expect("layers");
    let names: Vec<_> = layers.iter().filter_map(|l| l["layer"].as_str()).collect();
    assert_eq!(
        names,
        ["client-wire", "server-wire", "server-operation", "disk"]
    );
    let (wire, operation, disk) = (&layers[1], &layers[2], &layers[3]);
    assert_eq!(wire["beyond_next_ns"], Value::Null);
    let beyond = |key: &str| wire[key].as_i64().expect("a bound");
    let mean = wire["mean_ns"].as_i64().expect("a mean");
    assert_eq!(beyond("beyond_next_least_ns"), mean - most);
    assert_eq!(beyond("beyond_next_most_ns"), mean - least);
    assert_eq!(operation["mean_ns"], (least + most) / 2);
    assert_eq!(operation["p50_ns"], Value::Null);
    assert_eq!(
        (&operation["p99_least_ns"], &operation["p99_most_ns"]),
        (&Value::from(2_048_000), &Value::from(4_096_000))
    );
    assert_eq!(
        (&disk["calls"], &disk["p50_most_ns"]),
        (&7.into(), &512_000.into())
    );
    // 40 ms in the server, of which at the most 4.1 in the longest operations: that is proven.
    assert!(codes(&d).contains(&"server-queue"), "{:?}", codes(&d));
    let page = text(&slowside(&words).stdout);
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("1.19-2.39"), "{page}");
    assert!(page.contains("around the operation"), "{page}");
    assert!(
        page.contains("takes 1.19 ms to 2.39 ms on average"),
        "{page}"
    );
}

/// Where the longest operations may have been the slow calls', nothing queues for certain.
#[test]
fn what_bounds_do_not_prove_is_not_said() {
    let wide = STEPS
        .replace("2048 |", "20480 |")
        .replace("4096 |", "81920 |")
        .replace("1024 |", "10240 |");
    let d = diagnosed(of_server("layers-wide", "dtrace.txt", &wide));
    assert_eq!(d["server_app"]["compared_by"], "distribution");
    assert!(!codes(&d).contains(&"server-queue"), "{:?}", codes(&d));
    assert_eq!(d["verdict"]["cause"], "server-slow");
}

/// `tests/statements`: every statement of PostgreSQL's log is one of the calls of its connection.
#[test]
fn statements_of_a_database_s_log_meet_their_calls() {
    let folder = testkit::at_hand::root().join("tests/statements");
    let mut words: Vec<OsString> = vec!["diagnose".into(), "--server".into()];
    words.push(folder.join("server.pcap.zst").into());
    words.extend([
        "--server-app".into(),
        folder.join("postgresql.csv.gz").into(),
    ]);
    words.push("--format=json".into());
    let d = json(words);
    let server = &d["server_app"];
    assert_eq!(server["compared_by"], "connection");
    // Two statements of each of 4 x 15 and 2 x 10 transactions.
    assert_eq!(
        (&server["operations"], &server["matched"]),
        (&160.into(), &160.into())
    );
    let basis = server["basis"].as_str().expect("a basis");
    assert!(
        basis.contains("160 of 160 operations found on the wire by connection and time"),
        "{basis}"
    );
    let layers = d["layers"].as_array().expect("layers");
    let operation = &layers[layers.len() - 1];
    assert_eq!(operation["layer"], "server-operation");
    assert_eq!(operation["joined"], 160);
    // What calls take beyond their statements is little, and nothing queues.
    let beyond = server["beyond_mean_ns"].as_i64().expect("a mean");
    assert!((100_000..MS).contains(&beyond), "{beyond}");
    assert!(!codes(&d).contains(&"server-queue"), "{:?}", codes(&d));
}

#[test]
fn rows_of_calls_have_the_queue_in_front_of_the_server_s_operation() {
    let mut words = captures("layers-calls");
    words[0] = "calls".into();
    words.extend([
        "--server-app".into(),
        rows("layers-calls", "server.csv", "READ", (38 * MS, MS)),
    ]);
    words.extend(["--format".into(), "jsonl".into()]);
    let output = slowside(&words);
    let dispatched = |text: &str| {
        let rows = text
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
        rows.filter(|r| r.to_string().contains("\"dispatch\""))
            .count() as i64
    };
    assert_eq!(dispatched(&text(&output.stdout)), READS);
    assert!(
        text(&output.stderr).contains("The server's own operations take"),
        "{}",
        text(&output.stderr)
    );
    words.truncate(5);
    words.extend(["--format".into(), "jsonl".into()]);
    assert_eq!(dispatched(&text(&slowside(&words).stdout)), 0);
}

#[test]
fn each_of_two_runs_has_its_own_server_s_times() {
    let _ = captures("layers-compare");
    let folder = |name: &str| {
        let folder = crate::kit::folder(&format!("layers-compare-{name}"));
        for side in ["client.pcap", "server.pcap"] {
            let from = folder.with_file_name("layers-compare").join(side);
            std::fs::copy(from, folder.join(side)).expect("a copy");
        }
        folder
    };
    let [good, bad] = ["good", "bad"].map(folder);
    let queued = rows("layers-compare", "queued.csv", "READ", (38 * MS, MS));
    let mut words: Vec<OsString> = vec!["compare".into(), good.clone().into(), bad.into()];
    let with = |run: &str| {
        let mut word = OsString::from(format!("--server-app={run}="));
        word.push(&queued);
        word
    };
    words.extend([with("baseline"), with("problem")]);
    let output = slowside(&words);
    let told = text(&output.stderr) + &text(&output.stdout);
    assert_eq!(
        told.matches("The server's own operations take").count(),
        2,
        "{told}"
    );
    let mut one = words.clone();
    one.truncate(3);
    one.push("--server-app=x.csv".into());
    assert!(text(&slowside(&one).stderr).contains("baseline=FILE or problem=FILE"));
    // Of a run that was saved it is saved with it.
    let saved = file("layers-compare", "run.slowside", b"");
    std::fs::remove_file(&saved).expect("the file just written");
    let save = slowside([
        "diagnose".into(),
        good.into_os_string(),
        "--save".into(),
        saved.clone().into(),
    ]);
    assert!(save.status.success(), "{}", text(&save.stderr));
    words[1] = saved.into();
    assert!(refused(&words).contains("give them to slowside diagnose --save"));
}

#[test]
fn rows_of_calls_have_what_their_application_waits_before_and_after_the_wire() {
    let mut words = captures("layers-app");
    words[0] = "calls".into();
    let around = (-AWAY - 5 * MS, HELD + 2 * AWAY + 6 * MS);
    let app = rows("layers-app", "app.csv", "READ", around);
    words.extend(["--app".into(), app.clone()]);
    let columns = "response_time_ns,application_ns,before_wire_ns,after_wire_ns";
    words.extend(["--columns".into(), columns.into(), "--format=csv".into()]);
    let output = slowside(&words);
    let csv = text(&output.stdout);
    let mut lines = csv.lines();
    assert_eq!(lines.next(), Some(columns));
    let near = |cell: &str, ms: i64| {
        let ns: i64 = cell.parse().expect("ns");
        assert!((ns - ms * MS).abs() <= MS / 4, "{ns}, not {ms} ms: {csv}");
        ns
    };
    let mut count = 0;
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let [wire, all, before, after] =
            [(0, 42), (1, 48), (2, 5), (3, 1)].map(|(i, ms): (usize, i64)| near(cells[i], ms));
        assert_eq!(before + wire + after, all);
        count += 1;
    }
    assert_eq!(count, READS);
    // Without the rows there is nothing to tell, and of another hour they are refused with their reason.
    let mut without = words.clone();
    without.drain(5..7);
    let csv = text(&slowside(&without).stdout);
    assert!(csv.lines().skip(1).all(|l| l.ends_with(",,,")), "{csv}");
    let later = (3_600_000 * MS, 3_600_010 * MS);
    words[6] = rows("layers-app", "later.csv", "READ", later);
    let output = slowside(&words);
    assert!(
        text(&output.stderr).contains("none of 60 rows lies within the capture"),
        "{}",
        text(&output.stderr)
    );
    let csv = text(&output.stdout);
    assert!(csv.lines().skip(1).all(|l| l.ends_with(",,,")), "{csv}");
}

#[test]
fn two_runs_whose_wire_is_the_same_differ_by_what_lies_above_it() {
    let captured = captures("layers-above");
    let pair = || {
        let both = [&captured[2], &captured[4]].map(|path| path.to_string_lossy());
        OsString::from(both.join(","))
    };
    let of = |run: &str, name: &str, above_ms: i64| {
        let around = (-AWAY - above_ms * MS, HELD + 2 * AWAY + above_ms * MS);
        let mut word = OsString::from(format!("--app={run}="));
        word.push(rows("layers-above", name, "READ", around));
        word
    };
    let words = [
        "compare".into(),
        pair(),
        pair(),
        of("baseline", "good.csv", 0),
        of("problem", "bad.csv", 50),
        "--format=json".into(),
    ];
    let c = json(words.clone());
    assert_eq!(c["verdict"]["outcome"], "no-difference");
    let sentence = c["verdict"]["sentence"].as_str().expect("a sentence");
    assert!(
        sentence.contains("the application waits 92.0 ms instead of 42.0 ms for an operation; what lies above the wire takes 50.0 ms instead of 0 ns. On the wire: No difference"),
        "{sentence}"
    );
    let layers = c["layers"].as_array().expect("layers");
    let names: Vec<_> = layers.iter().filter_map(|l| l["layer"].as_str()).collect();
    assert_eq!(names, ["application", "client-wire", "server-wire"]);
    assert!(layers[1]["problem"]["mean_ns"].is_i64());
    // What only one of them has is held against nothing, and that is said.
    let mut one = words.to_vec();
    one.remove(3);
    let c = json(one);
    let notes = c["notes"].to_string();
    assert!(
        notes.contains("Hosts' own times were used of the problem alone"),
        "{notes}"
    );
}
