//! Input that is not what it should be: what can be read is answered, the rest is told with file,
//! packet and byte offset, and nothing panics.

use super::{capture, conversation};
use crate::kit::{file, refused, slowside, text};
use model::LinkType;
use proptest::prelude::*;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;
use testkit::{Conversation, Format, datagram, pcap, pcapng, rpc};

const COMMANDS: [&str; 4] = ["diagnose", "calls", "ops", "conns"];

fn run(command: &str, path: &Path) -> Output {
    slowside([command.as_ref(), path.as_os_str()])
}

/// The packets of `calls` GETATTRs, one after the other: three packets to begin with, then two a
/// call.
fn getattrs(calls: u32) -> Conversation {
    let mut c = Conversation::nfs();
    c.handshake();
    for id in 0..calls {
        c.client(&rpc::record(&rpc::getattr_call(id, b"file")));
        c.after(500_000);
        c.server(&rpc::record(&rpc::getattr_reply(id)));
    }
    c
}

/// Where packets' records begin in a pcap file, and where the last ends.
fn records(bytes: &[u8]) -> Vec<usize> {
    let mut starts = vec![24];
    while let Some(at) = starts.last().copied().filter(|&at| at < bytes.len()) {
        let captured = bytes[at + 8..at + 12].try_into().expect("four bytes");
        starts.push(at + 16 + u32::from_le_bytes(captured) as usize);
    }
    starts
}

/// The run is done, exits with 3, and names the place in every kind of output.
fn assert_told(path: &Path, kind: &str, frame: usize, offset: usize) {
    let name = path.to_str().expect("UTF-8");
    for command in ["diagnose", "ops", "conns"] {
        let output = slowside([command, name, "--format", "json"]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let problems = json["captures"][0]["problems"].as_array();
        let problem = problems.and_then(|p| p.iter().find(|p| p["kind"] == kind));
        let problem = problem.unwrap_or_else(|| panic!("no {kind}: {}", json["captures"]));
        assert_eq!(problem["damage"], true, "{problem}");
        assert_eq!(problem["file"], name, "{problem}");
        assert_eq!(problem["frame"], frame, "{problem}");
        assert_eq!(problem["offset"], offset, "{problem}");
    }
    let place = format!("packet {frame}, byte offset {offset}");
    for command in COMMANDS {
        let output = slowside([command, name]);
        assert_eq!(output.status.code(), Some(3), "{command}");
        let said = text(&output.stdout) + &text(&output.stderr);
        let words: Vec<&str> = said.split_whitespace().collect();
        assert!(words.join(" ").contains(&place), "{place} is not in {said}");
    }
}

#[test]
fn a_directory_named_like_a_file_is_refused() {
    let inside = file("like-a-file/trap.pcap", "gone", b"");
    fs::remove_file(&inside).expect("the test's own file");
    let folder = inside.parent().expect("a folder");
    for command in COMMANDS {
        let message = refused([command.as_ref(), folder.as_os_str()]);
        assert!(message.contains("trap.pcap"), "{message}");
    }
}

#[test]
fn a_file_that_ends_within_its_header_is_refused() {
    let bytes = conversation();
    for length in [4, 23] {
        let path = file("header-cut", "short.pcap", &bytes[..length]);
        for command in COMMANDS {
            let message = refused([command.as_ref(), path.as_os_str()]);
            assert!(message.contains("short.pcap"), "{message}");
        }
    }
}

#[test]
fn a_header_without_packets_is_an_empty_answer() {
    for (name, bytes) in [
        ("none.pcap", pcap(&[], LinkType(1), Format::default())),
        ("none.pcapng", pcapng(&[], LinkType(1), Format::default())),
    ] {
        let path = file("no-packets", name, &bytes);
        for command in COMMANDS {
            let output = run(command, &path);
            assert_eq!(output.status.code(), Some(0), "{output:?}");
        }
        let calls = run("calls", &path);
        assert_eq!(text(&calls.stdout).lines().count(), 1);
    }
}

#[test]
fn one_missing_file_of_several_is_damage() {
    let path = file("one-missing", "good.pcap", &conversation());
    let missing = path.with_file_name("missing.pcap");
    let output = slowside(["ops".as_ref(), path.as_os_str(), missing.as_os_str()]);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    assert!(text(&output.stdout).contains("missing.pcap"), "{output:?}");
    let both = refused([missing.as_os_str(), path.as_os_str()]);
    assert!(both.contains("missing.pcap"), "{both}");
}

#[test]
fn a_cut_in_the_middle_of_a_record_is_told_with_its_place() {
    let mut bytes = capture(&getattrs(20).packets());
    let records = records(&bytes);
    let last = records[records.len() - 2];
    for length in [last + 7, last + 16, bytes.len() - 1] {
        bytes.truncate(length);
        let path = file("cut", &format!("{length}.pcap"), &bytes);
        assert_told(&path, "cut-in-mid-record", records.len() - 1, last);
        let calls = run("calls", &path);
        assert_eq!(text(&calls.stdout).lines().count(), 1 + 20);
        // Set back, as lengths fall.
        bytes = capture(&getattrs(20).packets());
    }
}

#[test]
fn what_follows_damage_in_the_middle_is_read() {
    let mut bytes = capture(&getattrs(50).packets());
    let records = records(&bytes);
    let (from, to) = (records[40], records[44]);
    bytes[from..to - 10].fill(0xee);
    let path = file("middle", "hole.pcap", &bytes);
    let output = slowside(["calls".as_ref(), path.as_os_str()]);
    assert_eq!(output.status.code(), Some(3));
    let rows = text(&output.stdout);
    let ok = rows.lines().filter(|l| l.contains(",ok,")).count();
    assert!((46..50).contains(&ok), "{rows}");
    let first_problem = slowside(["ops".as_ref(), path.as_os_str(), "--format=json".as_ref()]);
    let json: Value = serde_json::from_slice(&first_problem.stdout).expect("JSON");
    let problems = json["captures"][0]["problems"].as_array();
    let damage = problems.and_then(|p| p.iter().find(|p| p["damage"] == true));
    let damage = damage.unwrap_or_else(|| panic!("no damage: {json}"));
    assert_eq!(damage["frame"], 41, "{damage}");
    assert_eq!(damage["offset"], from, "{damage}");
}

#[test]
fn an_absurd_length_is_not_believed() {
    let sound = capture(&getattrs(50).packets());
    let records = records(&sound);
    for length in [u32::MAX, 0x7fff_ffff, 100_000_000] {
        let mut bytes = sound.clone();
        let at = records[20];
        bytes[at + 8..at + 12].copy_from_slice(&length.to_le_bytes());
        let path = file("absurd", &format!("{length}.pcap"), &bytes);
        assert_told(&path, "absurd-length", 21, at);
        let calls = text(&run("calls", &path).stdout);
        let ok = calls.lines().filter(|l| l.contains(",ok,")).count();
        assert!(ok >= 48, "{calls}");
    }
}

#[test]
fn a_link_type_nobody_knows_is_told() {
    let packets = getattrs(3).packets();
    let bytes = pcap(&packets, LinkType(147), Format::default());
    let path = file("link-type", "user.pcap", &bytes);
    for command in ["diagnose", "ops", "conns"] {
        let output = slowside([command.as_ref(), path.as_os_str(), "--format=json".as_ref()]);
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let capture = &json["captures"][0];
        assert_eq!(capture["link_types"][0], 147);
        let problem = &capture["problems"][0];
        assert_eq!(problem["count"], packets.len(), "{capture}");
        assert_eq!(problem["frame"], 1, "{capture}");
        assert_eq!(output.status.code(), Some(3), "{capture}");
    }
}

#[test]
fn what_is_odd_in_a_conversation_has_its_packet_and_is_no_damage() {
    let (client, server) = (([10, 0, 0, 1], 800).into(), ([10, 0, 0, 2], 2049).into());
    let packet = |at, reply: Option<&[u8]>| match reply {
        Some(reply) => datagram(at, server, client, at as u16, reply),
        None => datagram(
            at,
            client,
            server,
            at as u16,
            &rpc::getattr_call(5, b"file"),
        ),
    };
    let reply = rpc::getattr_reply(5);
    let earlier = [packet(1_000, None), packet(2_000, Some(&reply))];
    // Answered twice, in the second packet of the second file.
    let later = [packet(3_000, None), packet(4_000, Some(&reply))];
    let a = file("odd", "a.pcap", &capture(&earlier));
    let b = file("odd", "b.pcap", &capture(&later));
    for threads in ["1", "4"] {
        let output = slowside([
            "ops".as_ref(),
            a.as_os_str(),
            b.as_os_str(),
            "--format=json".as_ref(),
            "--threads".as_ref(),
            threads.as_ref(),
        ]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let problems = json["captures"][0]["problems"].as_array();
        let problem = problems.and_then(|p| p.iter().find(|p| p["kind"] == "duplicate-reply"));
        let problem = problem.unwrap_or_else(|| panic!("{json}"));
        assert_eq!(problem["file"], b.to_str().expect("UTF-8"), "{problem}");
        assert_eq!(problem["frame"], 2, "{problem}");
        assert_eq!(problem["damage"], false, "{problem}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_damage_never_panics(
        flips in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
        cuts: bool,
        blocks: bool,
    ) {
        let write = if blocks { pcapng } else { pcap };
        let mut bytes = write(&getattrs(10).packets(), LinkType(1), Format::default());
        for (at, value) in &flips {
            let at = at.index(bytes.len());
            bytes[at] = *value;
        }
        if cuts {
            bytes.truncate(cut.index(bytes.len()));
        }
        let path = file("random-damage", "random.pcap", &bytes);
        for command in COMMANDS {
            let output = run(command, &path);
            let error = text(&output.stderr);
            prop_assert!(!error.contains("panicked"), "{}", error);
            match output.status.code() {
                Some(0 | 3) => {}
                Some(2) => prop_assert_eq!(error.lines().count(), 1, "{}", error),
                other => prop_assert!(false, "exit {:?}: {}", other, error),
            }
        }
    }
}
