//! Every format and link type, directions, comments, standard input: what a file says of its packets stays.

use super::{calls, cut, folder, same_calls, same_packets};
use crate::kit::{command, has, text};
use model::LinkType;
use std::fs;
use std::path::Path;
use std::process::Command;
use testkit::{Conversation, Format, TestPacket, pcap, pcapng, rpc};

/// A conversation with two calls of which one takes 50 ms.
pub(super) fn conversation() -> Vec<TestPacket> {
    let mut c = Conversation::nfs();
    c.handshake();
    for (xid, ns) in [(1, 1_000_000), (2, 50_000_001), (3, 1_000_000)] {
        c.client(&rpc::record(&rpc::read_call(xid, b"the handle", 0, 4096)));
        c.after(ns);
        c.server(&rpc::record(&rpc::read_reply(
            xid,
            b"the data that was read, more than fits",
            true,
        )));
        c.client_ack();
    }
    c.finish();
    c.packets()
}

/// The same in Linux's cooked form.
fn cooked(packets: &[TestPacket]) -> Vec<TestPacket> {
    let cook = |p: &TestPacket| {
        let mut packet = p.clone();
        let mut bytes = vec![0, 4, 0, 1, 0, 6];
        bytes.extend(&p.bytes[6..12]);
        bytes.extend([0, 0]);
        bytes.extend(&p.bytes[12..]);
        packet.length += 2;
        packet.bytes = bytes;
        packet
    };
    packets.iter().map(cook).collect()
}

/// RFC 1761.
fn snoop(packets: &[TestPacket]) -> Vec<u8> {
    let mut file = b"snoop\0\0\0".to_vec();
    file.extend(2_u32.to_be_bytes());
    file.extend(4_u32.to_be_bytes());
    for p in packets {
        let padded = p.bytes.len().next_multiple_of(4);
        let micros = p.time / 1_000;
        for word in [
            p.length,
            p.bytes.len() as u32,
            24 + padded as u32,
            0,
            (micros / 1_000_000) as u32,
            (micros % 1_000_000) as u32,
        ] {
            file.extend(word.to_be_bytes());
        }
        file.extend(&p.bytes);
        file.resize(file.len() + padded - p.bytes.len(), 0);
    }
    file
}

#[test]
fn every_format_keeps_link_type_time_and_lengths() {
    let (plain, cooked) = (conversation(), cooked(&conversation()));
    let cut_short = testkit::faults::snap(&plain, 90);
    let mut captures: Vec<(String, Vec<u8>)> = vec![("snoop".into(), snoop(&plain))];
    // Little and big-endian, microseconds and nanoseconds, each in one of two.
    let [little, little_ns, big, big_ns] = Format::ALL;
    captures.push(("a.pcap".into(), pcap(&plain, LinkType(1), little)));
    captures.push(("b.pcap".into(), pcap(&plain, LinkType(1), big_ns)));
    captures.push(("c.pcapng".into(), pcapng(&plain, LinkType(1), big)));
    captures.push(("cooked.pcap".into(), pcap(&cooked, LinkType(113), big)));
    captures.push((
        "short.pcapng".into(),
        pcapng(&cut_short, LinkType(1), little_ns),
    ));
    let inputs = folder("inputs");
    for (name, bytes) in captures {
        let path = inputs.join(&name);
        fs::write(&path, bytes).expect("cargo's folder for tests");
        same_calls("formats", &path, "response_time > 20ms");
        let files = cut("formats", &[&path], &["--call", "0x2"]);
        // The handshake; request and response; the acknowledgement and the next request behind.
        if has("tshark") {
            let (packets, commented) = same_packets(&files[0], &path);
            assert_eq!((packets, commented), (7, 5), "{name}");
        }
    }
}

/// A pcapng block of little-endian words.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let length = 12 + body.len() as u32;
    [
        &kind.to_le_bytes(),
        &length.to_le_bytes(),
        body,
        &length.to_le_bytes(),
    ]
    .concat()
}

/// A pcapng file whose packets have a direction and a comment.
pub(super) fn described(packets: &[TestPacket]) -> Vec<u8> {
    let words = |words: &[u32]| {
        words
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect::<Vec<u8>>()
    };
    let mut file = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    // Ethernet, no snap length, nanoseconds.
    file.extend(block(1, &words(&[1, 0, 9 | 1 << 16, 9, 0])));
    for p in packets {
        let mut body = words(&[
            0,
            (p.time >> 32) as u32,
            p.time as u32,
            p.bytes.len() as u32,
            p.length,
        ]);
        body.extend(&p.bytes);
        body.resize(body.len().next_multiple_of(4), 0);
        // epb_flags: outbound; a comment of four bytes.
        body.extend(words(&[2 | 4 << 16, 2, 1 | 4 << 16]));
        body.extend(b"kept");
        body.extend([0; 4]);
        file.extend(block(6, &body));
    }
    file
}

#[test]
fn direction_and_comments_stay_also_of_files_that_overlap() {
    if !has("tshark") {
        return;
    }
    let packets = conversation();
    let inputs = folder("described");
    let halves = [0, 1].map(|half| {
        let own = packets
            .iter()
            .skip(half)
            .step_by(2)
            .cloned()
            .collect::<Vec<_>>();
        let path = inputs.join(format!("{half}.pcapng"));
        fs::write(&path, described(&own)).expect("cargo's folder for tests");
        path
    });
    let whole = inputs.join("whole.pcapng");
    fs::write(&whole, described(&packets)).expect("cargo's folder for tests");
    let third = inputs.join("other");
    fs::create_dir_all(&third).expect("a folder");
    for inputs in [vec![whole.as_path()], vec![&halves[0], &halves[1], &third]] {
        // Three inputs are one capture.
        let files = cut("flags", &inputs, &["--call", "2"]);
        let output = Command::new("tshark")
            .arg("-r")
            .arg(&files[0])
            .args([
                "-T",
                "fields",
                "-e",
                "frame.packet_flags_direction",
                "-e",
                "frame.comment",
            ])
            .output()
            .expect("tshark");
        let lines = text(&output.stdout);
        assert_eq!(lines.lines().count(), 7, "{lines}");
        for line in lines.lines() {
            assert!(
                line.contains("0x00000002") || line.starts_with('2'),
                "{line}"
            );
            assert!(line.contains("kept"), "{line}");
        }
        assert!(
            lines.contains("request of call 0x00000002 READ, 50.0 ms"),
            "{lines}"
        );
    }
}

#[test]
fn standard_input_is_cut_like_a_file() {
    let folder = folder("stdin");
    let path = folder.join("a.pcap");
    let bytes = pcap(&conversation(), LinkType(1), Format::ALL[1]);
    fs::write(&path, &bytes).expect("cargo's folder for tests");
    let run = |input: &str, output: &Path| {
        command(["cut", input, "--where", "response_time > 20ms", "-o"])
            .arg(output)
            .stdin(fs::File::open(&path).expect("the capture"))
            .env("TMPDIR", &folder)
            .output()
            .expect("the binary that cargo built")
    };
    let (from_file, from_stdin) = (folder.join("file.pcapng"), folder.join("stdin.pcapng"));
    assert_eq!(
        run(&path.to_string_lossy(), &from_file).status.code(),
        Some(0)
    );
    assert_eq!(run("-", &from_stdin).status.code(), Some(0));
    assert_eq!(calls(&from_file, ""), calls(&from_stdin, ""));
    let left = fs::read_dir(&folder).expect("a folder").count();
    assert_eq!(left, 3, "nothing temporary is left");
}
