//! However a capture is handed over, the answer is the same.

use super::conversation;
use crate::kit::{self, file, slowside, slowside_with, text};
use std::ffi::OsStr;
use std::fs;
use std::path::Path;

/// gzip (RFC 1952) with stored blocks (RFC 1951 section 3.2.4).
fn gzip(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let mut blocks = data.chunks(1000).peekable();
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        out.push(u8::from(blocks.peek().is_none()));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let crc = data.iter().fold(u32::MAX, |crc, &byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & 0_u32.wrapping_sub(crc & 1))
        })
    });
    out.extend((!crc).to_le_bytes());
    out.extend((data.len() as u32).to_le_bytes());
    out
}

/// A zstd frame (RFC 8878 section 3.1.1) with raw blocks.
fn zstd(data: &[u8]) -> Vec<u8> {
    // Magic number; a frame header without content size; a window of 128 KiB.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    let mut blocks = data.chunks(1000).peekable();
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(block);
    }
    out
}

/// An LZ4 frame (version 1.6) with stored blocks of at most 64 KiB and without checksums.
fn lz4(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82];
    for block in data.chunks(1000) {
        out.extend((block.len() as u32 | 0x8000_0000).to_le_bytes());
        out.extend(block);
    }
    out.extend([0; 4]);
    out
}

/// The rows without the capture's name.
fn rows(csv: &[u8]) -> Vec<String> {
    let without_name = |line: &str| line.split_once(',').map(|(_, rest)| rest.to_owned());
    text(csv).lines().filter_map(without_name).collect()
}

#[test]
fn compressed_captures_are_known_by_their_first_bytes() {
    let plain = conversation();
    let path = file("compressed", "plain", &plain);
    let expected = rows(&slowside(["calls".as_ref(), path.as_os_str()]).stdout);
    assert_eq!(expected.len(), 4);
    for (name, bytes) in [
        ("a.pcap", gzip(&plain)),
        ("b", zstd(&plain)),
        ("c.gz", lz4(&plain)),
    ] {
        let path = file("compressed", name, &bytes);
        let output = slowside(["calls".as_ref(), path.as_os_str()]);
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        assert_eq!(rows(&output.stdout), expected, "{name}");
        let piped = slowside_with(["calls", "-"], &bytes);
        assert_eq!(piped.status.code(), Some(0), "{name}: {piped:?}");
        assert_eq!(rows(&piped.stdout), expected, "{name}");
    }
}

#[test]
fn a_cut_compressed_capture_is_answered_and_told() {
    let bytes = gzip(&conversation());
    let path = file("compressed-cut", "a.pcap.gz", &bytes[..bytes.len() - 300]);
    for command in ["diagnose", "calls", "ops"] {
        let output = slowside([command.as_ref(), path.as_os_str()]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
    }
}

#[test]
fn standard_input_is_answered_by_every_command() {
    let bytes = conversation();
    for (arguments, holds) in [
        (["diagnose", "-"], "calls"),
        (["calls", "-"], "READ"),
        (["ops", "-"], "READ"),
        (["-", "--threads=1"], "calls"),
    ] {
        let output = slowside_with(arguments, &bytes);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(text(&output.stdout).contains(holds), "{output:?}");
    }
    let cut = slowside_with(["calls", "-"], &bytes[..bytes.len() - 5]);
    assert_eq!(cut.status.code(), Some(3), "{cut:?}");
    let nothing = slowside_with(["calls", "-"], b"");
    assert_eq!(nothing.status.code(), Some(2), "{nothing:?}");
}

#[test]
fn a_folder_of_a_rotated_set_is_one_capture() {
    let (first, second) = halves();
    let a = file("folder", "ring.pcap1", &first);
    let b = file("folder", "ring.pcap0", &second);
    fs::write(a.with_file_name("notes.txt"), "not a capture").expect("the test's own folder");
    let folder = a.parent().expect("a folder");
    let whole = file("folder-whole", "whole.pcap", &conversation());
    let expected: Vec<String> = outcomes(&slowside(["calls".as_ref(), whole.as_os_str()]).stdout);
    let output = slowside(["calls".as_ref(), folder.as_os_str()]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(outcomes(&output.stdout), expected);
    let swapped = slowside(["calls".as_ref(), b.as_os_str(), a.as_os_str()]);
    assert_eq!(outcomes(&swapped.stdout), expected);
}

#[test]
fn connections_of_two_files_of_a_rotated_set_go_on_across_them() {
    let (first, second) = halves();
    let a = file("set-conns", "ring.pcap0", &first);
    let b = file("set-conns", "ring.pcap1", &second);
    let whole = file("set-conns-whole", "whole.pcap", &conversation());
    for options in [&["--format=csv"][..], &["--series=1ms", "--format=csv"]] {
        let conns = |files: &[&Path]| {
            let words = ["conns"].iter().chain(options).map(OsStr::new);
            slowside(words.chain(files.iter().map(|f| f.as_os_str())))
        };
        let expected = text(&conns(&[&whole]).stdout)
            .replace(whole.to_str().expect("UTF-8"), a.to_str().expect("UTF-8"));
        for files in [[&a, &b], [&b, &a]] {
            let output = conns(&files.map(|f| f.as_path()));
            assert_eq!(output.status.code(), Some(0), "{output:?}");
            assert!(
                text(&output.stderr).contains("read as one capture"),
                "{output:?}"
            );
            assert_eq!(text(&output.stdout), expected, "{options:?}");
        }
    }
}

#[test]
fn files_of_a_rotated_set_with_commas_are_one_run() {
    let (first, second) = halves();
    let names = [("ring.pcap0", &first), ("ring.pcap1", &second)];
    let files = names.map(|(name, bytes)| file("set-compare", name, bytes));
    let empty = file("set-compare", "ring.pcap2", &second[..24]);
    let whole = file("set-compare-whole", "whole.pcap", &conversation());
    let [a, b] = files.each_ref().map(|f| f.display());
    for set in [format!("{a},{b}"), format!("{a},{b},{}", empty.display())] {
        let words = ["compare", "--format=json", &set].map(OsStr::new);
        let output = slowside(words.into_iter().chain([whole.as_os_str()]));
        assert_eq!(output.status.code(), Some(0), "{set}: {output:?}");
        let answer: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        assert_eq!(
            answer["verdict"]["outcome"], "no-difference",
            "{set}: {answer}"
        );
    }
}

#[test]
fn a_member_of_a_set_that_is_no_capture_is_said_to_be_missing() {
    let (first, _) = halves();
    let a = file("member", "ring.pcap1", &first);
    file("member", "ring.pcap2", b"written over by somebody's log\n");
    file("member", "notes.txt", b"not a capture");
    let folder = a.parent().expect("a folder");
    let out = kit::folder("member-out");
    let [page, cut] = ["page.html", "cut.pcapng"].map(|name| out.join(name));
    let [page, cut] = [&page, &cut].map(|p| p.to_str().expect("UTF-8"));
    for line in [
        &["diagnose"][..],
        &["calls"],
        &["ops"],
        &["conns"],
        &["info"],
        &["stat"],
        &["live"],
        &["report", "-o", page],
        &["cut", "--from=@0", "-o", cut],
    ] {
        let words = line.iter().map(OsStr::new).chain([folder.as_os_str()]);
        let output = slowside(words);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{line:?}: {told}");
        let missing = told
            .lines()
            .filter(|l| l.contains("ring.pcap2 is not a capture"));
        assert_eq!(missing.count(), 1, "{line:?}: {told}");
    }
}

#[test]
fn inputs_taken_for_one_capture_are_said_to_be_one() {
    let (first, second) = halves();
    let a = file("one", "a.pcap", &first);
    let b = file("one", "b.pcap", &second);
    let c = file("one", "c.pcap", &second);
    for inputs in [vec![&a, &b], vec![&b, &c], vec![&a, &b, &c]] {
        let inputs = inputs.into_iter().map(|p| p.as_os_str());
        let output = slowside(inputs.chain(["--format=json".as_ref()]));
        let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let captures = json["captures"].as_array().expect("captures");
        assert_eq!(captures.len(), 1, "{json}");
        let notes = json["notes"].to_string();
        assert!(notes.contains("one capture"), "{notes}");
    }
}

/// The conversation as two files, cut between its first request and its reply.
fn halves() -> (Vec<u8>, Vec<u8>) {
    let bytes = conversation();
    let header = &bytes[..24];
    let mut at = 24;
    for _ in 0..5 {
        let captured = bytes[at + 8..at + 12].try_into().expect("four bytes");
        at += 16 + u32::from_le_bytes(captured) as usize;
    }
    (bytes[..at].to_vec(), [header, &bytes[at..]].concat())
}

/// Operation, id, times and outcome of each row: what does not depend on files and frames.
fn outcomes(csv: &[u8]) -> Vec<String> {
    let columns = |line: &str| {
        let c: Vec<&str> = line.split(',').collect();
        [c[2], c[5], c[10], c[13], c[20]].join(",")
    };
    text(csv).lines().map(columns).collect()
}
