//! What grows with the input has a total: the real binary under a limit of the system's, with captures that took
//! more than that when each bound was a connection's own.
#![cfg(target_os = "linux")]

use crate::kit::{SLOWSIDE, file, text};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testkit::{Conversation, Format, TestPacket, pcap, rpc};

const BUDGET: &str = "--memory=64M";

/// All that a run may have, with its program and what its threads reserve, in KiB: where connections are many, and where
/// each has many calls, of which no more than one batch's are ever told at a time.
const CONNECTIONS: u32 = 520_000;
const CALLS: u32 = 320_000;

fn capture(name: &str, packets: &[TestPacket]) -> PathBuf {
    let bytes = pcap(packets, model::LinkType(1), Format::ALL[1]);
    file("memory", name, &bytes)
}

fn client(n: u32) -> std::net::SocketAddr {
    let [_, a, b, c] = n.to_be_bytes();
    ([10, a, b, c], 700).into()
}

/// Connections that nobody answers.
fn half_open() -> PathBuf {
    let server = ([10, 200, 0, 1], 2049).into();
    let syn = |n: u32| {
        let mut c = Conversation::new(client(n), server);
        c.at(1_000_000_000 + i64::from(n) * 2_000).syn();
        c.packets()
    };
    let packets: Vec<TestPacket> = (0..150_000).flat_map(syn).collect();
    capture("half-open.pcap", &packets)
}

/// Calls that nobody answers, many to a message of the client.
fn unanswered() -> PathBuf {
    let mut packets = Vec::new();
    for n in 0..14 {
        let mut c = Conversation::new(client(n), ([10, 200, 0, 1], 2049).into());
        c.at(1_000_000_000 + i64::from(n)).handshake();
        for piece in 0..1_500 {
            let calls = (0..40).map(|i| piece * 40 + i);
            let bytes = calls.flat_map(|id| rpc::record(&rpc::getattr_call(id, &[7; 32])));
            c.client(&bytes.collect::<Vec<_>>());
        }
        packets.extend(c.packets());
    }
    packets.sort_by_key(|p| p.time);
    capture("unanswered.pcap", &packets)
}

fn limited(limit: u32, words: &[&str], input: Option<&Path>) -> Output {
    let limit = format!("ulimit -v {limit}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &limit, SLOWSIDE]).args(words);
    if let Some(input) = input {
        command.stdin(File::open(input).expect("a capture"));
    }
    // A reservation of 64 MB for each thread would be most of it.
    let command = command.env("MALLOC_ARENA_MAX", "2");
    command.output().expect("a shell")
}

#[test]
fn no_input_takes_more_memory_than_there_is_for_it() {
    let all = &["diagnose", "calls", "ops", "conns", "sql", "info", "stat"][..];
    let some = &["diagnose", "calls", "ops"][..];
    // More threads have more calls under way.
    for (path, limit, threads, commands, needs) in [
        (half_open(), CONNECTIONS, "--threads=2", all, "diagnose"),
        (unanswered(), CALLS, "--threads=4", some, "ops"),
    ] {
        let name = path.to_str().expect("UTF-8");
        for command in commands {
            let output = limited(limit, &[command, name, BUDGET, threads], None);
            let said = text(&output.stderr);
            let code = output.status.code();
            assert!(
                matches!(code, Some(0 | 3)),
                "{command} {name}: {code:?} {said}"
            );
        }
        let live = ["live", "-", "--format=json", BUDGET, "--threads=2"];
        let output = limited(limit, &live, Some(&path));
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "live {name}: {said}");
        // Else the limit would say nothing.
        let without = [needs, name, "--memory=8G", "--threads=2"];
        let output = limited(limit, &without, None);
        assert!(!output.status.success(), "{needs} {name}");
    }
}
