//! The number of threads is nobody's business: every output is the same to the byte.

use super::capture;
use crate::kit::{root, slowside};
use std::fs;
use std::path::PathBuf;
use testkit::{Conversation, Random, TestPacket, datagram, faults, fragments, rpc};

const THREADS: [&str; 5] = ["1", "2", "3", "4", "8"];

/// Compares what the command says with each number of threads.
fn assert_same<S: AsRef<std::ffi::OsStr>>(threads: &[&str], arguments: &[S]) {
    let run = |threads: &str| {
        let arguments = arguments.iter().map(AsRef::as_ref);
        slowside(arguments.chain(["--threads".as_ref(), threads.as_ref()]))
    };
    let mut first = None;
    for &n in threads {
        let output = run(n);
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 3)), "{output:?}");
        let first = first.get_or_insert_with(|| output.clone());
        let words: Vec<_> = arguments.iter().map(AsRef::as_ref).collect();
        assert!(
            (output.status, &output.stdout, &output.stderr)
                == (first.status, &first.stdout, &first.stderr),
            "{words:?}: {n} threads say\n{}\nnot\n{}",
            difference(&output.stdout, &first.stdout),
            difference(&first.stdout, &output.stdout),
        );
    }
}

/// What stands in one output around the first place where the other differs.
fn difference(one: &[u8], other: &[u8]) -> String {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let around = same.saturating_sub(200)..(same + 200).min(one.len());
    String::from_utf8_lossy(one.get(around).unwrap_or_default()).into_owned()
}

/// Twelve connections of four clients to two servers, and five clients that use UDP.
fn traffic() -> Vec<TestPacket> {
    let mut random = Random::new(1);
    let mut packets = Vec::new();
    for n in 0..12_u8 {
        let client = ([10, 0, 0, n % 4 + 1], 700 + u16::from(n)).into();
        let server = ([10, 0, 1, n % 2 + 1], 2049).into();
        let mut c = Conversation::new(client, server);
        c.sequences(random.below(1 << 32) as u32, random.below(1 << 32) as u32);
        c.at(1_000_000_000 + i64::from(n) * 777).handshake();
        for i in 0..100 {
            let id = u32::from(n) << 16 | i;
            let file = [n % 3; 16];
            c.after(random.below(3_000_000) as i64);
            c.client(&rpc::record(&rpc::read_call(id, &file, u64::from(i), 8192)));
            c.client(&rpc::record(&rpc::write_call(
                id | 0x8000,
                &file,
                9,
                &[n; 3000],
                2,
            )));
            c.server_ack().after(random.below(9_000_000) as i64);
            c.server(&rpc::record(&rpc::write_reply(id | 0x8000, 3000)));
            c.server(&rpc::record(&rpc::read_reply(id, &[n; 8192], false)));
            c.client_ack();
        }
        if n % 3 == 0 {
            c.finish();
        }
        packets.extend(c.packets());
    }
    for i in 0..200_u32 {
        let client = ([10, 0, 0, 9 + (i % 5) as u8], 800).into();
        let server = ([10, 0, 1, (i % 2) as u8 + 1], 2049).into();
        let at = 1_000_000_000 + i64::from(i) * 4_000_000;
        let call = rpc::read_call(i, b"over udp", 0, 8192);
        packets.push(datagram(at, client, server, i as u16, &call));
        // Some are asked again, and answered twice.
        if i % 9 == 0 {
            packets.push(datagram(at + 900_000, client, server, 7, &call));
        }
        let reply = rpc::read_reply(i, &[1; 8192], true);
        let reply = datagram(at + 2_000_000, server, client, i as u16, &reply);
        packets.extend(fragments(&reply, 1500, i));
        if i % 9 == 0 {
            let again = datagram(at + 3_000_000, server, client, 9, &rpc::getattr_reply(i));
            packets.push(again);
        }
    }
    packets.sort_by_key(|p| p.time);
    packets
}

/// What captures make of it: loss, copies, segments sent again, reordering, a snap length.
fn captured(packets: &[TestPacket], seed: u64, snaplen: usize) -> Vec<TestPacket> {
    let mut random = Random::new(seed);
    let packets = faults::retransmit(packets, 5, 210_000_000, &mut random);
    let packets = faults::lose(&packets, 3, &mut random);
    let packets = faults::duplicate(&packets, 20, 4_000, &mut random);
    let packets = faults::swap_neighbours(&packets, 20, &mut random);
    faults::snap(&packets, snaplen)
}

#[test]
fn calls_groups_connections_and_diagnoses_are_the_same_for_any_number_of_threads() {
    let traffic = traffic();
    for snaplen in [65_535, 250] {
        let name = format!("{snaplen}.pcap");
        let mut bytes = capture(&captured(&traffic, 2, snaplen));
        // Damage in the middle, and at the end.
        let middle = bytes.len() / 2;
        bytes[middle..middle + 100].fill(0xff);
        bytes.truncate(bytes.len() - 7);
        let one = crate::kit::file("threads-one", &name, &bytes);
        let other = crate::kit::file(
            "threads-other",
            &name,
            &capture(&captured(&traffic, 3, snaplen)),
        );
        let [one, other] = [&one, &other].map(|p| p.to_str().expect("UTF-8"));
        assert_same(&THREADS, &["calls", one]);
        assert_same(&THREADS, &["calls", one, "--sort", "start"]);
        let keys = "op,client,server,connection,file,size,time=100ms";
        assert_same(&THREADS, &["ops", one, "--by", keys, "--format", "json"]);
        assert_same(&THREADS, &["conns", one, "--format", "json"]);
        let series = ["conns", "--series", "10ms", "--format", "csv"];
        assert_same(&THREADS, &[&series[..], &[one]].concat());
        let both = ["--client", one, "--server", other];
        assert_same(&THREADS, &[&series[..], &both].concat());
        assert_same(&THREADS, &["diagnose", one, "--format", "json"]);
        assert_same(
            &THREADS,
            &["--client", one, "--server", other, "--format", "json"],
        );
        // Two files that overlap as one capture, with gaps that show in both.
        let mut random = Random::new(4);
        let (a, b): (Vec<_>, Vec<_>) = captured(&traffic, 5, snaplen)
            .into_iter()
            .partition(|_| random.chance(500));
        let [a, b] = [("a", a), ("b", b)].map(|(port, packets)| {
            crate::kit::file(&format!("threads-{port}"), &name, &capture(&packets))
        });
        let [a, b] = [&a, &b].map(|p| p.to_str().expect("UTF-8"));
        assert_same(&THREADS, &["calls", a, b]);
        assert_same(&THREADS, &["--client", a, b, "--format", "json"]);
    }
}

/// Connections of twelve pairs of hosts, opened in another order than they fall silent in, with
/// requests nobody answered and replies nobody asked for.
fn left_open() -> Vec<TestPacket> {
    let mut packets = Vec::new();
    for n in 0..12_u8 {
        let client = ([10, 0, 0, n * 7 % 12 + 1], 700 + u16::from(n)).into();
        let mut c = Conversation::new(client, ([10, 0, 1, 1], 2049).into());
        c.at(1_000_000_000 + i64::from(n) * 1000).handshake();
        c.at(2_000_000_000 - i64::from(n % 5) * 1000);
        let asked = rpc::read_call(u32::from(n), &[n; 8], 0, 8192);
        c.client(&rpc::record(&asked)).server_ack();
        let reply = rpc::record(&rpc::getattr_reply(0x100 + u32::from(n)));
        c.server(&reply).client_ack();
        packets.extend(c.packets());
    }
    packets.sort_by_key(|p| p.time);
    packets
}

#[test]
fn what_hours_of_silence_end_is_the_same_for_any_number_of_threads() {
    const HOUR: i64 = 3_600_000_000_000;
    let later = |hours: i64| {
        let mut c = Conversation::new(([10, 0, 2, 1], 900).into(), ([10, 0, 1, 1], 2049).into());
        c.at(hours * HOUR).handshake();
        c.packets()
    };
    // Each file ends a batch, and only batches that agree on the time end what was silent.
    let files = [left_open(), later(5), later(6), later(7)];
    let files: Vec<_> = files
        .iter()
        .enumerate()
        .map(|(i, packets)| {
            crate::kit::file("threads-silence", &format!("{i}.pcap"), &capture(packets))
        })
        .map(|path| path.to_str().expect("UTF-8").to_owned())
        .collect();
    let with = |command: &[&str]| {
        let words: Vec<String> = command.iter().map(|&w| w.to_owned()).collect();
        [words, files.clone()].concat()
    };
    let calls = slowside(with(&["calls"]));
    let calls = String::from_utf8_lossy(&calls.stdout).into_owned();
    assert_eq!(calls.matches("no-request").count(), 12, "{calls}");
    assert_eq!(calls.matches("no-response").count(), 12, "{calls}");
    assert_same(&THREADS, &with(&["calls"]));
    let diagnose = with(&["diagnose", "--format", "json"]);
    let told = slowside(&diagnose);
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    let problems = told["captures"][0]["problems"].as_array();
    let forgotten = problems
        .and_then(|p| p.iter().find(|p| p["kind"] == "connections-forgotten"))
        .unwrap_or_else(|| panic!("{told}"));
    assert_eq!(forgotten["file"], files[0], "{forgotten}");
    assert_same(&THREADS, &diagnose);
}

#[test]
#[allow(clippy::print_stderr, reason = "says that nothing was tested")]
fn real_captures_give_the_same_for_any_number_of_threads() {
    let lab = root().join("tests/lab");
    let cases = fs::read_dir(lab).into_iter().flatten().flatten();
    let mut pairs: Vec<[PathBuf; 2]> = cases
        .map(|case| ["client.pcap.zst", "server.pcap.zst"].map(|file| case.path().join(file)))
        .filter(|pair| pair.iter().all(|p| p.exists()))
        .collect();
    pairs.sort();
    if pairs.is_empty() {
        eprintln!("skipped: no captures in tests/lab");
    }
    for [client, server] in pairs.iter().take(4) {
        let [client, server] = [client, server].map(|p| p.to_str().expect("UTF-8"));
        let threads = ["1", "2", "4"];
        assert_same(&threads, &["calls", client]);
        assert_same(&threads, &["ops", server, "--format", "json"]);
        assert_same(&threads, &["conns", client, "--format", "json"]);
        let series = ["conns", client, "--series", "5ms", "--format", "jsonl"];
        assert_same(&threads, &series);
        assert_same(&threads, &[client, server, "--format", "json"]);
    }
}

/// Connections that stay open, of as many hosts, each of which asks once; a third of them are not answered.
fn open_for_ever(connections: u32) -> Vec<TestPacket> {
    let mut packets = Vec::new();
    for n in 0..connections {
        let [_, a, b, c] = n.to_be_bytes();
        let server = ([10, 200, 0, 1], 2049).into();
        let mut one = Conversation::new(([10, a, b, c], 700).into(), server);
        one.at(1_000_000_000 + i64::from(n) * 50_000).handshake();
        let file = [c; 16];
        one.client(&rpc::record(&rpc::read_call(n, &file, 0, 512)));
        if n % 3 > 0 {
            one.after(1_000_000);
            one.server(&rpc::record(&rpc::read_reply(n, &[1; 512], false)));
        }
        packets.extend(one.packets());
    }
    packets.sort_by_key(|p| p.time);
    packets
}

#[test]
fn what_is_given_up_where_memory_is_full_does_not_depend_on_threads() {
    let packets = capture(&open_for_ever(24_000));
    let file = crate::kit::file("threads-memory", "open.pcap", &packets);
    let file = file.to_str().expect("UTF-8");
    let with_little = |command: &[&'static str]| -> Vec<String> {
        let words = command.iter().copied();
        words
            .chain([file, "--memory", "64M"])
            .map(str::to_owned)
            .collect()
    };
    for command in [
        &["conns", "--format", "csv"][..],
        &["diagnose", "--format", "json"],
    ] {
        let some = slowside(with_little(command));
        let text = String::from_utf8_lossy(&some.stdout).into_owned();
        assert!(text.contains("evicted"), "{command:?}");
        assert_same(&THREADS, &with_little(command));
    }
    // Of each of them all was seen: the same calls, up to their details.
    let rows = |output: std::process::Output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let seen = text.lines().map(|row| row.split('{').next());
        let mut rows: Vec<String> = seen.map(|row| row.unwrap_or_default().to_owned()).collect();
        rows.sort_unstable();
        rows
    };
    let some = rows(slowside(with_little(&["calls"])));
    let all = rows(slowside(["calls", file]));
    let other = some.iter().zip(&all).find(|(one, other)| one != other);
    assert!(some.len() == all.len() && other.is_none(), "{other:?}");
    assert_same(&THREADS, &with_little(&["calls"]));
}

#[cfg(target_os = "linux")]
#[test]
fn where_no_thread_is_to_be_had_there_are_fewer() {
    let bytes = capture(&captured(&traffic(), 2, 65_535));
    let path = crate::kit::file("threads-none", "a.pcap", &bytes);
    let path = path.to_str().expect("UTF-8");
    let lines: [&[&str]; 5] = [
        &["calls", path],
        &["ops", path, "--format=json"],
        &["diagnose", path, "--format=json"],
        &["live", path, "--format=json"],
        &["live", "-", "--format=json"],
    ];
    for line in lines {
        let run = |threads: &str, memory: &str, stack: &str| {
            let limit = format!("ulimit -v {memory}; exec \"$0\" \"$@\" --threads {threads}");
            let mut command = std::process::Command::new("sh");
            command
                .args(["-c", &limit, crate::kit::SLOWSIDE])
                .args(line);
            let input = fs::File::open(path).expect("a capture");
            let command = command.stdin(input).env("RUST_MIN_STACK", stack);
            let output = command.output().expect("a shell");
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{line:?} {stack}: {told}");
            output.stdout
        };
        let one = run("1", "unlimited", "2000000");
        // Stacks larger than memory: none is to be had; or than half of it: one or two are.
        assert!(one == run("8", "unlimited", "1125899906842624"), "{line:?}");
        assert!(one == run("8", "6000000", "2000000000"), "{line:?}");
    }
    assert_same(&["1", "18446744073709551615"], &["calls", path]);
}
