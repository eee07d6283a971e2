//! Bad input: one line, or a counted problem with its place; and reading goes on behind it.

use super::build::*;
use crate::Capture;
use model::limits::PACKET_BYTES;
use model::{Time, Where};

fn place(frame: u32, offset: u64) -> Where {
    Where {
        file: "t".to_owned(),
        frame: Some(frame),
        line: None,
        offset: Some(offset),
    }
}

/// A pcap file of 20 packets of 60 bytes, so that packet n stands at 24 + 76 (n - 1).
fn twenty() -> Vec<u8> {
    pcap(&(0..20).collect::<Vec<_>>())
}

#[test]
fn a_file_cut_within_a_packet_or_its_header_keeps_all_before() {
    let whole = twenty();
    for (cut, text) in [
        (
            24 + 19 * 76 + 5,
            "the file ends 5 bytes into a record of 16 or more; 5 bytes skipped",
        ),
        (
            24 + 19 * 76 + 20,
            "the file ends 20 bytes into a record of 76 or more; 20 bytes skipped",
        ),
    ] {
        let read = Whole::of(&whole[..cut]);
        assert_eq!(read.packets.len(), 19);
        assert_eq!(read.kinds(), ["cut-in-mid-record"]);
        let problem = read.problem("cut-in-mid-record");
        assert!(problem.damage);
        assert_eq!(problem.example, text);
        assert_eq!(problem.first, place(20, 24 + 19 * 76));
    }
}

#[test]
fn an_absurd_length_is_skipped_to_the_next_record() {
    let mut file = twenty();
    let at = 24 + 5 * 76;
    file[at + 8..at + 12].copy_from_slice(&(PACKET_BYTES + 1).to_le_bytes());
    let read = Whole::of(&file);
    assert_eq!(read.packets.len(), 19);
    assert_eq!(read.packets[5].at.frame, 6);
    assert_eq!(read.micros()[5], 6);
    assert_eq!(read.kinds(), ["absurd-length"]);
    let problem = read.problem("absurd-length");
    assert_eq!(
        problem.example,
        "a record says it holds 1048577 bytes; 76 bytes skipped"
    );
    assert_eq!(problem.first, place(6, at as u64));
}

#[test]
fn a_length_that_reaches_beyond_the_end_is_damage_and_not_the_end() {
    let mut file = twenty();
    let at = 24 + 5 * 76;
    file[at + 8..at + 16].copy_from_slice(&[0, 0, 1, 0, 0, 0, 1, 0]);
    let read = Whole::of(&file);
    assert_eq!(read.packets.len(), 19);
    let problem = read.problem("damaged-record");
    assert_eq!(
        problem.example,
        "a record's length is wrong; 76 bytes skipped"
    );
    assert_eq!(problem.first, place(6, at as u64));
}

#[test]
fn a_hole_of_zeros_is_not_a_run_of_empty_packets() {
    let mut file = twenty();
    let (from, to) = (24 + 5 * 76, 24 + 9 * 76 + 3);
    file[from..to].fill(0);
    let read = Whole::of(&file);
    // The tenth packet lost the low bytes of its second; its header is believed all the same when
    // that is near, so only what is certain is asserted.
    assert!(read.packets.len() == 15 || read.packets.len() == 16);
    assert_eq!(read.micros().last(), Some(&19));
    let problem = read.problem("damaged-record");
    assert_eq!((problem.count, problem.damage), (1, true));
    assert_eq!(problem.first, place(6, from as u64));
}

#[test]
fn days_between_packets_are_not_damage() {
    let mut file = pcap_header(96);
    for day in [0, 3, 40, 41, 400, 2] {
        file.extend(pcap_record(SECOND + day * 86_400, 0, 10, 60, 1));
    }
    let read = Whole::of(&file);
    assert_eq!(read.packets.len(), 6);
    assert_eq!(read.kinds(), ["time-steps-back"]);
}

#[test]
fn odd_but_consistent_records_are_taken_and_noted() {
    let mut file = pcap_header(96);
    file.extend(pcap_record(SECOND, 0, 60, 60, 1));
    file.extend(pcap_record(SECOND, 1, 60, 40, 2));
    file.extend(pcap_record(SECOND, 2_000_000, 60, 60, 3));
    file.extend(pcap_record(SECOND + 3, 0, 60, 60, 4));
    let read = Whole::of(&file);
    assert_eq!(read.micros(), [0, 1, 2_000_000, 3_000_000]);
    assert_eq!(read.packets[1].length, 60);
    assert_eq!(read.kinds(), ["captured-beyond-length"]);
    let problem = read.problem("captured-beyond-length");
    assert_eq!(
        problem.example,
        "a packet of 40 bytes has 60 captured bytes"
    );
    assert_eq!((problem.damage, problem.first), (false, place(2, 100)));
}

#[test]
fn time_that_steps_back_is_noted_and_order_stays() {
    let read = Whole::of(&pcap(&[5, 3, 9, 8]));
    assert_eq!(read.micros(), [5, 3, 9, 8]);
    let problem = read.problem("time-steps-back");
    assert_eq!((problem.count, problem.damage), (2, false));
    assert_eq!(
        problem.example,
        "a packet is 2.00 µs earlier than the one before it"
    );
    assert_eq!(problem.first, place(2, 100));
    let summary = read.capture.summary();
    assert_eq!(summary.last.unwrap() - summary.first.unwrap(), 6_000);
}

/// Section, interface, ten packets of 40 bytes; packet n stands at 48 + 72 (n - 1).
fn ten_blocks() -> Vec<u8> {
    let mut file = section(false);
    file.extend(interface(false, 1, 0, &[]));
    for i in 0..10 {
        file.extend(enhanced(false, 0, i, &[i as u8; 40], 40));
    }
    assert_eq!(file.len(), 48 + 720);
    file
}

#[test]
fn damaged_blocks_are_skipped_to_the_next_block() {
    let at = 48 + 3 * 72;
    for (index, value, kind, text) in [
        (
            at + 7,
            0x7f,
            "absurd-length",
            "a block says it holds 2130706504 bytes; 72 bytes skipped",
        ),
        (
            at + 4,
            73,
            "damaged-block",
            "a block says it holds 73 bytes; 72 bytes skipped",
        ),
        (
            at + 68,
            76,
            "damaged-block",
            "a block of 72 bytes does not end as it begins; 72 bytes skipped",
        ),
    ] {
        let mut file = ten_blocks();
        file[index] = value;
        let read = Whole::of(&file);
        assert_eq!(read.packets.len(), 9, "{text}");
        assert_eq!(read.kinds(), [kind]);
        assert_eq!(read.problem(kind).example, text);
        assert_eq!(read.problem(kind).first, place(4, at as u64));
    }
}

#[test]
fn a_packet_that_does_not_fit_in_its_block_is_counted_and_numbered() {
    let mut file = ten_blocks();
    let at = 48 + 3 * 72;
    file[at + 20] = 200;
    file[at + 72 + 8] = 9;
    let read = Whole::of(&file);
    assert_eq!(read.packets.len(), 8);
    assert_eq!(read.packets[3].at.frame, 6);
    assert_eq!(read.kinds(), ["damaged-block", "unknown-interface"]);
    assert_eq!(read.problem("damaged-block").first, place(4, at as u64));
    assert_eq!(
        read.problem("unknown-interface").first,
        place(5, at as u64 + 72)
    );
}

#[test]
fn times_beyond_64_bits_of_nanoseconds_are_clamped_and_counted() {
    let mut file = section(false);
    file.extend(interface(false, 1, 0, &option(false, 9, &[0])));
    file.extend(enhanced(false, 0, u64::MAX, b"a", 1));
    let read = Whole::of(&file);
    assert_eq!(read.packets[0].time, Time::MAX);
    assert_eq!(read.kinds(), ["time-out-of-range"]);
}

#[test]
fn damaged_snoop_records_are_skipped_to_the_next() {
    let mut file = b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec();
    for i in 0..10 {
        for value in [60_u32, 60, 84, 0, SECOND, i] {
            file.extend(value.to_be_bytes());
        }
        file.extend([i as u8; 60]);
    }
    let at = 16 + 4 * 84;
    file[at + 8] = 0x7f;
    let read = Whole::of(&file[..file.len() - 10]);
    assert_eq!(read.micros(), [0, 1, 2, 3, 5, 6, 7, 8]);
    assert_eq!(read.problem("absurd-length").first, place(5, at as u64));
    assert_eq!(
        read.problem("cut-in-mid-record").first,
        place(9, 16 + 9 * 84)
    );
}

#[test]
fn what_is_no_capture_is_said_in_one_line_with_the_cure() {
    for (bytes, text) in [
        (
            &b""[..],
            "t is empty; the capture wrote nothing, or its disk was full",
        ),
        (
            b"10:37:18.1 IP a > b: Flags [S], length 0\n",
            "t is not a capture but text; pcap, pcapng and snoop can be read; packets are saved with tcpdump -w FILE or snoop -o FILE",
        ),
        (
            b"BZh91AY&SY\x01\x02",
            "t is not a capture but bzip2 data; pcap, pcapng and snoop can be read; decompress it with bunzip2",
        ),
        (
            b"\x7fELF\x02\x01\x01\0\0\0",
            "t is not a capture but unknown data; pcap, pcapng and snoop can be read",
        ),
        (
            &[0xd4, 0xc3, 0xb2, 0xa1, 2, 0],
            "t ends within its 24-byte header; copy or take the capture again",
        ),
        (
            b"\x0a\x0d\x0d\x0a",
            "t ends within its 28-byte header; copy or take the capture again",
        ),
        (
            b"snoop\0\0\0\0\0",
            "t ends within its 16-byte header; copy or take the capture again",
        ),
        (
            b"snoop\0\0\0\0\0\0\x09\0\0\0\x04",
            "t is snoop version 9.0, which is not known; rewrite it with a tool that reads it",
        ),
    ] {
        assert_eq!(error(bytes), text);
    }
    let old = [&[0xd4, 0xc3, 0xb2, 0xa1, 1, 0, 4, 0][..], &[0; 16]].concat();
    assert!(error(&old).contains("pcap version 1.4"));
    assert!(error(&[0x1f, 0x8b, 8, 0, 9]).starts_with("cannot read t: "));
}

#[test]
fn a_missing_file_names_itself() {
    let error = Capture::open(&["/nowhere/at/all.pcap".into()])
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("cannot open /nowhere/at/all.pcap: "),
        "{error}"
    );
    assert_eq!(
        Capture::open(&[]).err().unwrap().to_string(),
        "no capture given: name files, a directory, or - for standard input"
    );
}
