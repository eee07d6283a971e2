//! What somebody types who has never used it: nothing, a slip of the finger, the wrong file, two captures that do not
//! belong together, a time as the clock on the wall has it.

use crate::kit::{command, file, folder, refused, root, said, slowside, text};
use model::LinkType;
use std::fs;
use std::path::PathBuf;
use testkit::{Conversation, Format, pcap, rpc};

fn end(pair: &str, end: &str) -> String {
    let path = root().join(format!("tests/lab/{pair}/{end}.pcap.zst"));
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn alone_it_says_what_it_does_and_three_examples() {
    let output = slowside([""; 0]);
    assert_eq!(output.status.code(), Some(0));
    let said = text(&output.stdout);
    assert!(said.contains("which\nside is slow"), "{said}");
    let examples = said.lines().filter(|l| l.starts_with("  "));
    assert_eq!(examples.filter(|l| l.contains("slowside")).count(), 3);
    assert!(said.lines().all(|l| l.chars().count() <= 80), "{said}");
    assert!(output.stderr.is_empty());
}

/// Its cases, and where the captures of each come from.
fn cases() -> Vec<(String, PathBuf)> {
    let list = said(["demo", "--list"]);
    let names = list.lines().filter_map(|l| l.split_whitespace().next());
    let place = |name: &str| match name {
        "small-fetch" => "tests/field/e16-fetch-sizes".to_owned(),
        "slow-login" => "tests/field/f20-login".to_owned(),
        name => format!("tests/lab/{name}"),
    };
    names
        .map(|n| (n.to_owned(), root().join(place(n))))
        .collect()
}

#[test]
fn each_demo_is_a_recorded_case_and_its_answer() {
    let folder = folder("demo");
    let cases = cases();
    assert!(cases.len() > 10, "{cases:?}");
    for (name, recorded) in &cases {
        let run = || command(["demo", name]).current_dir(&folder).output();
        let output = run().expect("an end");
        assert!(
            matches!(output.status.code(), Some(0 | 3)),
            "{name}: {}",
            text(&output.stderr)
        );
        let answer = text(&output.stdout);
        assert!(answer.starts_with(&format!("{name}: ")), "{answer}");
        // The command that it shows gives the answer that it shows.
        let line = answer
            .lines()
            .find(|l| l.starts_with("$ slowside "))
            .expect("a command");
        let typed = command(line.split(' ').skip(2))
            .current_dir(&folder)
            .output();
        let typed = text(&typed.expect("an end").stdout);
        assert!(
            answer.contains(&typed) && typed.lines().count() > 5,
            "{answer}"
        );
        for entry in fs::read_dir(folder.join("slowside-demo").join(name)).expect("a folder") {
            let unpacked = entry.expect("a folder can be listed").path();
            let file = unpacked
                .file_name()
                .and_then(|n| n.to_str())
                .expect("UTF-8");
            let known = [file.to_owned(), format!("fetch-10-{file}")];
            let known = known.iter().map(|f| recorded.join(f)).find(|f| f.exists());
            let known = known.unwrap_or_else(|| panic!("{name}: {file}"));
            assert_eq!(
                fs::read(&unpacked).ok(),
                fs::read(known).ok(),
                "{name}: {file}"
            );
        }
        let again = run().expect("an end");
        assert_eq!(again.stdout, output.stdout, "{name}");
    }
}

#[test]
fn a_demo_replaces_nobody_s_file() {
    let folder = folder("demo-others");
    fs::create_dir_all(folder.join("chatty")).expect("the test's own folder");
    let mine = folder.join("chatty/server.pcap.zst");
    fs::write(&mine, "mine").expect("the test's own folder");
    let dir = folder.to_str().expect("UTF-8");
    let message = refused(["demo", "chatty", "--dir", dir]);
    assert!(
        message.contains("server.pcap.zst") && message.contains("--dir"),
        "{message}"
    );
    assert_eq!(fs::read(&mine).expect("it is there"), b"mine");
    let message = refused(["demo", "chaty"]);
    assert!(message.contains("did you mean `chatty`?"), "{message}");
}

#[test]
fn what_was_meant_is_suggested() {
    for (words, meant) in [
        (&["--clinet", "a.pcap"][..], "`--client`"),
        (&["ops", "a.pcap", "--formt", "csv"], "`--format`"),
        (&["ops", "a.pcap", "--format", "jsno"], "`json`"),
        (&["diagose"], "`diagnose`"),
    ] {
        let message = refused(words);
        assert!(
            message.contains(&format!("did you mean {meant}?")),
            "{message}"
        );
    }
    assert!(!refused(["a.pcap", "--zebra"]).contains("did you mean"));
}

#[test]
fn a_saved_run_is_no_capture_and_it_says_what_to_do() {
    let saved = folder("saved-as-capture").join("monday.slowside");
    let saved = saved.to_str().expect("UTF-8");
    let capture = end("chatty", "client");
    said(["diagnose", &capture, "--save", saved]);
    for words in [
        &["diagnose", saved][..],
        &["diagnose", &capture, saved],
        &["--client", saved],
        &["ops", saved],
        &["info", saved],
        &["startup", saved],
    ] {
        let message = refused(words);
        assert!(
            message.contains(&format!("slowside compare {saved} CAPTURE")),
            "{message}"
        );
    }
    said(["compare", saved, &capture]);
}

#[test]
fn files_with_the_same_packets_are_one_capture_where_that_is_asked_for() {
    let folder = root().join("tests/lab/chatty");
    let folder = folder.to_str().expect("UTF-8");
    let message = refused(["ops", folder]);
    assert!(
        message.contains("hold the same packets") && message.contains("--as-one"),
        "{message}"
    );
    let both = said(["ops", folder, "--as-one", "--format", "json"]);
    assert!(both.contains("\"files\":["), "{both}");
    let json = crate::kit::parsed(&both);
    assert_eq!(json["captures"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        json["captures"][0]["files"].as_array().map(Vec::len),
        Some(2)
    );
    let ends = [end("chatty", "client"), end("chatty", "server")];
    let words = ["--as-one", "--format", "json", &ends[0], &ends[1]];
    let json = crate::kit::parsed(&said(words));
    assert_eq!(json["captures"].as_array().map(Vec::len), Some(1));
}

/// A request and its answer at each of these moments, as a file.
fn at(name: &str, moments: &[i64]) -> String {
    let mut c = Conversation::new(
        ([10, 0, 0, 1], 40_000).into(),
        ([10, 0, 0, 2], 5_000).into(),
    );
    for &moment in moments {
        c.at(moment).client(b"get").after(1_000_000);
        c.server(b"value");
    }
    let bytes = pcap(&c.packets(), LinkType(1), Format::ALL[1]);
    let path = file("first-hour", name, &bytes);
    path.to_str().expect("UTF-8").to_owned()
}

/// 2026-03-01 12:00 UTC.
const NOON: i64 = 1_772_366_400_000_000_000;
const HOUR: i64 = 3_600_000_000_000;

#[test]
fn a_time_of_day_is_that_of_the_capture_s_day_in_the_zone_of_its_output() {
    let day = at("day.pcap", &[NOON, NOON + HOUR, NOON + 2 * HOUR]);
    let calls = |zone: &str, words: &[&str]| {
        let mut all = vec!["calls", &day, "--format", "jsonl"];
        all.extend(words);
        let output = command(all).env("TZ", zone).output().expect("an end");
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    for (zone, time, date) in [
        ("UTC", "12:30", "2026-03-01 12:30:00"),
        ("<+02>-2", "14:30", "2026-03-01 14:30:00"),
        ("<+13>-13", "01:30:00.5", "2026-03-02 01:30:00.5"),
    ] {
        let given = calls(zone, &["--from", time]);
        assert_eq!(given.lines().count(), 2, "{zone}: {given}");
        assert_eq!(given, calls(zone, &["--from", date]), "{zone}");
        assert_eq!(calls(zone, &["--to", time]).lines().count(), 1, "{zone}");
    }
    // Runs of different days: each has its own.
    let next = at("next.pcap", &[NOON + 24 * HOUR, NOON + 25 * HOUR]);
    said(["compare", &day, &next, "--from", "12:30"]);

    let days = at("days.pcap", &[NOON, NOON + 30 * HOUR]);
    let message = refused(["calls", &days, "--from", "14:00"]);
    for date in ["'2026-03-01 14:00:00'", "'2026-03-02 14:00:00'"] {
        assert!(message.contains(date), "{message}");
    }
    said(["calls", &days, "--from", "20:00"]);
    let message = refused(["calls", "-", "--from", "14:00"]);
    assert!(message.contains("needs its date"), "{message}");
}

#[test]
fn captures_that_do_not_belong_together_are_said_not_to() {
    let unrelated = |a: &str, b: &str| {
        let answer = said([a, b]);
        let sentence = answer.split("\n\n").next().unwrap_or_default();
        sentence.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (client, later) = (end("healthy", "client"), end("slow-server", "server"));
    assert_eq!(
        unrelated(&client, &later),
        "No call is in both captures, so neither side can be named: the first ends 26.1 s before the second begins. \
         Give captures of the same traffic, taken at the same time, or each alone."
    );
    assert!(unrelated(&later, &client).contains("the second ends 26.1 s before the first begins."));
    let [first, other] = [([10, 0, 0, 1], 2), ([192, 168, 1, 7], 3)].map(reads);
    let hosts = unrelated(&first, &other);
    assert!(
        hosts.contains(
            "named: no host is in both (the first has 10.0.0.1 and 10.0.0.2, the second 192.168.1.3 and 192.168.1.7)."
        ),
        "{hosts}"
    );
    let same = reads(([10, 0, 0, 1], 4));
    assert_eq!(
        unrelated(&first, &same),
        "No call is in both captures, so neither side can be named."
    );
    let hidden = said([&first, &other, "--anonymise"]);
    assert!(
        hidden.contains("no host is in both") && !hidden.contains("192.168.1.7"),
        "{hidden}"
    );
}

/// Reads at noon, by a client of a server in its network that no other number has.
fn reads((client, number): ([u8; 4], u8)) -> String {
    let server = [client[0], client[1], client[2], number.min(3)];
    let mut c = Conversation::new((client, 900).into(), (server, 2_049).into());
    c.at(NOON).handshake();
    for call in 0..20 {
        let id = u32::from(number) << 16 | call;
        let offset = u64::from(id) << 12;
        c.after(1_000_000)
            .client(&rpc::record(&rpc::read_call(id, b"file", offset, 4096)));
        let answer = [number; 100];
        c.after(1_000_000)
            .server(&rpc::record(&rpc::read_reply(id, &answer, true)));
    }
    c.finish();
    let bytes = pcap(&c.packets(), LinkType(1), Format::ALL[1]);
    let path = file("first-hour-hosts", &format!("{number}.pcap"), &bytes);
    path.to_str().expect("UTF-8").to_owned()
}

#[test]
fn tables_are_listed_by_any_of_their_columns_and_sums_are_of_all() {
    let server = &*end("server-cap", "server");
    let csv = said(["ops", server, "--sort", "max", "--format", "csv"]);
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let at = head.iter().position(|name| *name == "max_ns");
    let at = at.expect("the column");
    let most: Vec<i64> = rows.map(|row| row[at].parse().expect("ns")).collect();
    assert!(
        most.len() > 5 && most.is_sorted_by(|a, b| a >= b),
        "{most:?}"
    );

    let text = said(["ops", server, "--sort", "op", "--top", "2"]);
    let first: Vec<&str> = text.lines().skip(1).take(2).collect();
    assert!(
        first[0].starts_with("nfs3 ACCESS") && first[1].starts_with("nfs3 COMMIT"),
        "{text}"
    );
    assert!(
        text.contains("… and 9 further groups\n\n909 calls in all"),
        "{text}"
    );

    let list = said([
        "conns", server, "--sort", "first", "--top", "1", "--format", "json",
    ]);
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    assert_eq!(list["connections"].as_array().map(Vec::len), Some(1));
    assert_eq!(list["connections"][0]["number"], 1);
    // There is not more of a connection for its number.
    let logons = root().join("tests/databases/pgsql/logons.pcap");
    let logons = logons.to_str().expect("UTF-8");
    let csv = said(["conns", logons, "--sort", "number", "--format", "csv"]);
    let numbers: Vec<u32> = csv
        .lines()
        .skip(1)
        .filter_map(|row| row.split(',').next()?.parse().ok())
        .collect();
    assert!(numbers.len() > 5 && numbers.is_sorted(), "{numbers:?}");

    let client = root().join("tests/field/e16-fetch-sizes/fetch-10-client.pcap.zst");
    let client = client.to_str().expect("UTF-8");
    let statements = said(["sql", client, "--sort", "mean", "--top", "2"]);
    assert!(
        statements.contains("(LOGON, no statement)")
            && statements.contains("\n… and 2 further lines\n"),
        "{statements}"
    );
}

#[test]
fn intervals_and_traces_are_listed_by_any_of_their_columns() {
    let server = &*end("server-cap", "server");
    let stat = |more: &[&str]| said([&["stat", server, "--interval", "100ms"], more].concat());
    let csv = stat(&["--sort", "calls", "--format", "csv"]);
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let calls = head.iter().position(|name| *name == "calls");
    let calls = calls.expect("the column");
    let most: Vec<u64> = rows.map(|r| r[calls].parse().expect("calls")).collect();
    assert_eq!(most.len(), 13);
    assert!(most.is_sorted_by(|a, b| a >= b), "{most:?}");
    // Intervals keep their time, and the sums are of all.
    let text = stat(&["--sort", "calls", "--top", "2"]);
    let all = stat(&[]);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(lines.iter().all(|line| all.contains(line)), "{text}");
    assert_eq!(lines[0], all.lines().next().expect("a line"));

    let trace = root().join("tests/field/a2-client-slots/orcl_ora_4711.trc");
    let other = root().join("tests/field/a2-client-slots/orcl_ora_4712.trc");
    let [trace, other] = [&trace, &other].map(|t| t.to_str().expect("UTF-8"));
    let of = |more: &[&str]| said([&["trace", trace, other, "--format", "csv"], more].concat());
    let listed = of(&["--sort", "rows"]);
    let top = of(&["--sort", "rows", "--top", "1"]);
    assert_eq!(top.lines().count(), 2);
    assert!(listed.starts_with(&top), "{listed}{top}");
    let events = of(&["--by", "event", "--sort", "event", "--top", "1"]);
    assert!(events.starts_with("event,count,total_ns,"), "{events}");
    let told = refused(["trace", trace, "--packets", "--top", "1"]);
    assert!(told.contains("leave out --sort and --top"), "{told}");
}

#[test]
fn a_column_that_is_none_is_told_with_the_one_that_was_meant() {
    let told = refused(["ops", &end("server-cap", "server"), "--sort", "cuont"]);
    assert!(
        told.contains("no column is called `cuont`; did you mean `count`?"),
        "{told}"
    );
}
