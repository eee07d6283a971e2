//! The command as scripts and people meet it: help, wrong arguments, exit codes, unusable inputs.

use crate::kit::{file, refused, slowside, slowside_with, text};
use expect_test::expect;
use model::LinkType;
use std::fs;
use std::process::Output;
use testkit::{Conversation, Format, TestPacket, pcap, rpc};

mod app;
mod conns;
mod contract;
mod damage;
mod findings;
mod hops;
mod hosts;
mod inputs;
mod layers;
mod live;
mod lost_answers;
mod metrics;
mod midway;
mod names;
mod otlp;
mod peers;
mod probe;
mod rows;
mod schema;
mod series;
mod terminal;
mod threads;
mod tiers;
mod turns;
mod unanswered;

pub(crate) use otlp::Collector;
pub(crate) use probe::Listening;

/// Every command.
pub(crate) const COMMANDS: &[&str] = &[
    "diagnose",
    "calls",
    "ops",
    "conns",
    "sql",
    "startup",
    "info",
    "stat",
    "live",
    "capture",
    "whatif",
    "compare",
    "report",
    "cut",
    "trace",
    "probe",
    "demo",
    "explain",
    "completions",
    "man",
];

fn refused_line(line: &str) -> String {
    refused(line.split_whitespace())
}

#[test]
fn help_shows_the_commands() {
    let output = slowside(["--help"]);
    assert_eq!(output.status.code(), Some(0));
    // What clap pads with spaces is an empty line.
    let lines = text(&output.stdout);
    let shown: String = lines
        .lines()
        .map(|l| format!("{}\n", l.trim_end()))
        .collect();
    expect![[r#"
        Read packet captures and say which side is slow, by how much, and why

        Usage: slowside [diagnose] [OPTIONS] CAPTURE [CAPTURE]
               slowside COMMAND [OPTIONS] …

        Commands:
          diagnose  Say which side is slow, by how much, and why (the default command)
          calls     Write a row per call: packets, times, outcome, what held it up
          ops       Count and time calls by operation, client, file, …
          conns     List TCP connections with what they waited for, those that waited
                    most first
          sql       Profile the statements of databases: time, round trips, rows per
                    fetch, and whose time it was
          startup   Say why it took so long to start or to log in: what a client waited
                    for, and what each wait cost
          info      Say what a capture is worth: what it holds, what it lacks, what that
                    limits
          stat      Count packets, bytes and calls in intervals: rates, sizes, response
                    times
          live      Watch traffic as it passes: operations, statements, connections,
                    findings; keep packets as evidence
          capture   Capture at both ends at the same time, fetch, and say which side is
                    slow
          whatif    Predict what another path, fetch size or server would make of the
                    statements in a capture
          compare   Say what changed between a good run and a bad one, what it costs,
                    and whether it is chance
          report    Write it all as a page to look at: findings, charts, connections,
                    slow calls
          cut       Write the packets that prove something to pcapng, with comments that
                    say why they are there
          trace     Say where the time went in traces that an Oracle database or client
                    wrote
          probe     Measure a path itself: connecting, round trips with the sizes of
                    your application, throughput
          demo      Diagnose captures that are built in, to see what an answer looks
                    like
          explain   Explain a finding: what it says, why it costs time, what to check,
                    when it is wrong

        Options:
              --color <WHEN>
                  Colors in text: where standard output is a terminal, always, or never

                  NO_COLOR=1 turns them off and CLICOLOR_FORCE=1 on where nothing is
                  said here.

                  [default: auto]
                  [possible values: auto, always, never]

              --raw-cells
                  Leave cells of CSV as they are, for programs

                  Else text that a spreadsheet would calculate, as it begins with = + -
                  or @, has an apostrophe before it.

          -h, --help
                  Print help (see a summary with '-h')

          -V, --version
                  Print version

        Examples:
          slowside client.pcap server.pcap       which side is slow, and why
          tcpdump -i eth0 -w - port 2049 | slowside -

        For the shell: slowside completions bash (or zsh, fish, …); slowside man.

        Exit codes: 2 could not do it; else 1 a finding at or above --fail-on exists;
        else 3 done, but some input was damaged; else 0.
    "#]]
    .assert_eq(&shown);
}

#[test]
fn every_command_has_short_help_and_examples() {
    for command in COMMANDS {
        let long = slowside([command, "--help"]);
        assert_eq!(long.status.code(), Some(0), "{command}");
        let long = text(&long.stdout);
        let short = slowside([command, "-h"]);
        assert_eq!(short.status.code(), Some(0), "{command}");
        assert!(short.stdout.len() < long.len(), "{command}");
    }
    expect![[r#"
        Count and time calls by operation, client, file, …

        Usage: slowside ops [OPTIONS] <CAPTURE>...

        Arguments:
          <CAPTURE>...  Files of one capture, or a directory; `-` for standard input

        Options:
              --format <FORMAT>    How to write the groups [default: text] [possible
                                   values: text, json, csv, markdown, parquet, arrow,
                                   openmetrics]
          -o, --output <FILE>      Write Parquet or Arrow into this file, whole or not
                                   at all
              --sort <COLUMN>      List rows by this column of --format csv: what is
                                   more first, names from a on
              --top <N>            List only the first N; sums are of all
              --by <LIST>          What to group by: op, step (of a logon), client,
                                   server, connection, file, size, time=DURATION
                                   [default: op]
              --histogram          Show response times by powers of two (text; JSON
                                   always has them)
              --where <EXPR>       Only calls of which this is true, such as 'op = READ
                                   and response_time > 20ms'
              --from <TIME>        Leave out calls that start earlier
              --to <TIME>          Leave out calls that start later; TIME as in --from
              --threads <N>        Threads for each capture; 0: as many as fit the
                                   machine [default: 0]
              --memory <SIZE>      Memory for connections, statements and what waits in
                                   them, such as 512M or 4G [default: 1G]
              --as-one             Read files as one capture, also where two of them
                                   hold the same packets
              --anonymise[=<KEY>]  Show pseudonyms for addresses, names and what
                                   statements name; KEY makes them the same again
          -q, --quiet              No progress and no notes on standard error
              --color <WHEN>       Colors in text: where standard output is a terminal,
                                   always, or never [default: auto] [possible values:
                                   auto, always, never]
              --raw-cells          Leave cells of CSV as they are, for programs
          -h, --help               Print help (see more with '--help')
    "#]]
    .assert_eq(&text(&slowside(["ops", "-h"]).stdout));
}

#[test]
fn wrong_arguments_are_one_line_with_a_cure() {
    let messages: String = [
        "exlpain",
        "calls",
        "calls --format xml a.pcap",
        "calls --nonsense a.pcap",
        "ops --by op,colour a.pcap",
        "ops --by time=0s a.pcap",
        "diagnose --quiet",
        "a.pcap --client b.pcap",
        "a.pcap --fast-enough 2",
        "a.pcap --clock-offset -5",
        "a.pcap --from yesterday",
        "a.pcap --from 20s --to 10s",
        "a.pcap --where (op=READ",
        "a.pcap --where respons_time>20ms",
        "a.pcap --fail-on zebra",
        "conns",
        "conns a.pcap --client b.pcap",
        "conns a.pcap --connection first",
        "conns a.pcap --where close=reset --connection 1",
        "conns a.pcap --fields",
        "explain zebra",
    ]
    .iter()
    .map(|line| refused_line(line))
    .collect();
    expect![[r#"
        slowside: `exlpain` is neither a file nor a command; did you mean `explain`? (see --help)
        slowside: the following required arguments were not provided: <CAPTURE|--client <FILE>...|--server <FILE>...> (see --help)
        slowside: invalid value 'xml' for '--format <FORMAT>' [possible values: text, csv, jsonl, parquet, arrow] (see --help)
        slowside: unexpected argument '--nonsense' found (see --help)
        slowside: invalid value 'colour' for '--by <LIST>': the keys are op, step, client, server, connection, file, size, time=DURATION (see --help)
        slowside: invalid value 'time=0s' for '--by <LIST>': time= needs a duration above zero, such as time=10s (see --help)
        slowside: the following required arguments were not provided: <CAPTURE|--client <FILE>...|--server <FILE>...> (see --help)
        slowside: the argument '[CAPTURE]...' cannot be used with '--client <FILE>...' (see --help)
        slowside: invalid value '2' for '--fast-enough <DURATION>': a duration has a unit: 300us, 20ms, 1.5s, 2m or 1h (see --help)
        slowside: invalid value '-5' for '--clock-offset <DURATION>': a duration has a unit: 300us, 20ms, 1.5s, 2m or 1h (see --help)
        slowside: invalid value 'yesterday' for '--from <TIME>': a time is 14:00 or '2026-03-01 14:00:00' (local), 2026-03-01T14:00:00Z, @1772373600.5 (epoch) or +1.5s (after the first packet) (see --help)
        slowside: --from is later than --to; exchange them
        slowside: invalid value '(op=READ' for '--where <EXPR>': column 9: expected `)` for the `(` in column 1, but the text ends (see --help)
        slowside: invalid value 'respons_time>20ms' for '--where <EXPR>': column 1: unknown field `respons_time`; did you mean `response_time_ns`? (see --help)
        slowside: invalid value 'zebra' for '--fail-on <SECONDS|CODE|undetermined>': no finding is called `zebra`; `slowside explain` lists all (see --help)
        slowside: the following required arguments were not provided: <CAPTURE>... (see --help)
        slowside: the argument '[CAPTURE]...' cannot be used with '--client <FILE>...' (see --help)
        slowside: invalid value 'first' for '--connection <N>': connections have numbers, which slowside conns --all shows (see --help)
        slowside: --connection shows one, whatever it is like; leave out --where
        slowside: the argument '--fields' cannot be used with one or more of the other specified arguments (see --help)
        slowside: no finding is called `zebra`; `slowside explain` lists all
    "#]].assert_eq(&messages);
}

#[test]
fn a_missing_file_is_named() {
    for command in ["diagnose", "calls", "ops", "conns"] {
        let message = refused([command, "no/such/file.pcap"]);
        assert!(message.contains("no/such/file.pcap"), "{message}");
    }
}

#[test]
fn files_that_are_no_captures_are_refused() {
    for (name, bytes) in [
        ("empty.pcap", b"".as_slice()),
        ("notes.txt", b"This is not a packet capture at all.\n"),
    ] {
        let path = file("no-captures", name, bytes);
        for command in ["diagnose", "calls", "ops", "conns"] {
            let message = refused([command.as_ref(), path.as_os_str()]);
            assert!(message.contains(name), "{message}");
        }
    }
}

#[test]
fn a_folder_without_captures_is_refused() {
    let path = file("empty-folder", "gone", b"");
    fs::remove_file(&path).expect("the test's own file");
    let folder = path.parent().expect("a folder");
    let message = refused(["ops".as_ref(), folder.as_os_str()]);
    assert!(message.contains("empty-folder"), "{message}");
}

#[test]
fn a_missing_application_log_is_named() {
    let message = refused(["a.pcap", "--app", "no/such/log.csv"]);
    assert!(message.contains("no/such/log.csv"), "{message}");
}

#[test]
fn explain_lists_every_finding() {
    let output = slowside(["explain"]);
    assert_eq!(output.status.code(), Some(0));
    for line in text(&output.stdout).lines().filter(|l| !l.starts_with(' ')) {
        let code = line.split_whitespace().next().expect("a code");
        let page = slowside(["explain", code]);
        assert_eq!(page.status.code(), Some(0), "{code}");
        assert!(text(&page.stdout).starts_with(code), "{code}");
    }
}

/// Two READs answered in the wrong order, and a GETATTR, as a pcap file.
fn conversation() -> Vec<u8> {
    let mut c = Conversation::nfs();
    c.handshake();
    c.client(&rpc::record(&rpc::read_call(1, b"file", 0, 4096)));
    c.client(&rpc::record(&rpc::read_call(2, b"file", 4096, 4096)));
    c.after(3_000_000);
    c.server(&rpc::record(&rpc::read_reply(2, &[7; 100], true)));
    c.after(2_000_000);
    c.server(&rpc::record(&rpc::read_reply(1, &[7; 100], false)));
    c.client(&rpc::record(&rpc::getattr_call(3, b"file")));
    c.server(&rpc::record(&rpc::getattr_reply(3)));
    c.finish();
    pcap(&c.packets(), LinkType(1), Format::default())
}

/// A pcap file with nanoseconds.
fn capture(packets: &[TestPacket]) -> Vec<u8> {
    pcap(packets, LinkType(1), Format::ALL[1])
}

fn rows(output: &Output) -> Vec<String> {
    text(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn calls_come_in_order_of_completion_or_of_start() {
    let path = file("orders", "reads.pcap", &conversation());
    let path = path.to_str().expect("UTF-8");
    let ids = |arguments: &[&str]| {
        let output = slowside(["calls", path, "--format", "jsonl"].iter().chain(arguments));
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        let row = |line: String| -> serde_json::Value {
            serde_json::from_str(&line).expect("a line of JSON")
        };
        let ids = rows(&output).into_iter().map(|l| row(l)["id"].to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    let [one, two, three] = [1, 2, 3].map(|n| format!("\"0x{n:08x}\""));
    assert_eq!(ids(&[]), format!("{two} {one} {three}"));
    assert_eq!(ids(&["--sort", "start"]), format!("{one} {two} {three}"));
    assert_eq!(ids(&["--where", "op = READ and response_time > 4ms"]), one);
    assert_eq!(
        ids(&["--where", "offset = 4k or op ~ GET*"]),
        format!("{two} {three}")
    );
    assert_eq!(ids(&["--from", "1ms"]), three);
}

#[test]
fn standard_input_is_a_capture() {
    let output = slowside_with(["ops", "-", "--format", "csv"], &conversation());
    assert_eq!(output.status.code(), Some(0));
    let rows = rows(&output);
    assert!(
        rows[0].starts_with("protocol,op,count,total_ns,mean_ns"),
        "{rows:?}"
    );
    assert!(rows[1].starts_with("nfs3,READ,2,"), "{rows:?}");
    assert!(rows[2].starts_with("nfs3,GETATTR,1,"), "{rows:?}");
}

#[test]
fn damaged_input_is_answered_told_and_exits_3() {
    let mut bytes = conversation();
    bytes.truncate(bytes.len() - 5);
    let path = file("damaged", "cut.pcap", &bytes);
    let json = slowside(["ops".as_ref(), path.as_os_str(), "--format=json".as_ref()]);
    assert_eq!(json.status.code(), Some(3));
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).expect("JSON");
    assert_eq!(json["groups"][0]["count"], 2);
    assert_eq!(json["captures"][0]["problems"][0]["damage"], true);
    let csv = slowside(["calls".as_ref(), path.as_os_str()]);
    assert_eq!(csv.status.code(), Some(3));
    assert_eq!(rows(&csv).len(), 4);
    assert!(text(&csv.stderr).starts_with("slowside: damaged: "));
}

#[test]
fn diagnosis_of_both_ends_says_which_is_which() {
    let bytes = conversation();
    let client = file("ends", "c.pcap", &bytes);
    let server = file("ends", "s.pcap", &bytes);
    let output = slowside([
        "--client".as_ref(),
        client.as_os_str(),
        "--server".as_ref(),
        server.as_os_str(),
        "--format=json".as_ref(),
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["schema"], "slowside.diagnosis/1");
    assert_eq!(json["captures"][0]["side"], "client");
    assert_eq!(json["captures"][1]["side"], "server");
    assert_eq!(json["ops"][0]["matched"]["difference_mean_ns"], 0);
    let twice = slowside([client.as_os_str(), client.as_os_str()]);
    assert!(text(&twice.stdout).contains("was given twice"));
}

#[test]
fn a_name_that_is_mistyped_among_several_is_refused() {
    let lab = testkit::at_hand::root().join("tests/lab/healthy");
    let [client, server] = ["client", "server"].map(|end| lab.join(format!("{end}.pcap.zst")));
    let missing = lab.join("firewall.pcap");
    let all = [&client, &missing, &server].map(|path| path.as_os_str());
    for command in [&["diagnose"][..], &["calls"], &["calls", "--client"]] {
        let words = command.iter().map(AsRef::as_ref);
        let message = refused(words.chain(all));
        assert!(
            message.contains("cannot open") && message.contains("firewall.pcap"),
            "{command:?}: {message}"
        );
    }
}
