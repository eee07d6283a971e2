//! Every format, variant and compression gives the packets that are in it.

use super::build::*;
use crate::{Compression, Format};
use model::{LinkType, Time};
use std::io::Write;

#[test]
fn a_pcap_file_byte_by_byte() {
    let file = [
        0xd4, 0xc3, 0xb2, 0xa1, // magic: little-endian, microseconds
        2, 0, 4, 0, // version 2.4
        0, 0, 0, 0, 0, 0, 0, 0, // time zone, accuracy
        96, 0, 0, 0, // snap length
        1, 0, 0, 0, // Ethernet
        0x00, 0xf1, 0x53, 0x65, // 1,700,000,000 s
        0x40, 0xe2, 0x01, 0x00, // 123,456 µs
        3, 0, 0, 0, // captured
        60, 0, 0, 0, // on the wire
        0xaa, 0xbb, 0xcc,
    ];
    let read = Whole::of(&file);
    let [packet] = read.packets[..] else { panic!() };
    assert_eq!(packet.time, Time(1_700_000_000_123_456_000));
    assert_eq!((packet.at.file, packet.at.frame), (0, 1));
    assert_eq!((packet.captured, packet.length), (3, 60));
    assert_eq!(packet.link_type, LinkType(1));
    assert_eq!(read.bytes, [[0xaa, 0xbb, 0xcc]]);
    assert!(read.kinds().is_empty());
    let summary = read.capture.summary();
    assert_eq!(
        (summary.packets, summary.captured_bytes, summary.wire_bytes),
        (1, 3, 60)
    );
    assert_eq!(
        (summary.first, summary.last),
        (Some(packet.time), Some(packet.time))
    );
    assert_eq!(
        (summary.snaplens, summary.link_types),
        (vec![96], vec![LinkType(1)])
    );
    assert_eq!(summary.files[0].format, Format::Pcap);
    assert_eq!(summary.files[0].dropped(), None);
}

/// One packet of two bytes, half a second after [`SECOND`], in a pcap variant.
fn variant(big: bool, magic: u32, version: (u16, u16), network: u32, lengths: [u32; 2]) -> Vec<u8> {
    let nanoseconds = matches!(magic, 0xa1b2_3c4d | 0x1c00_01ac) || network == 6;
    let mut file = word(big, magic).to_vec();
    file.extend(half(big, version.0));
    file.extend(half(big, version.1));
    for value in [0, 0, 128, network] {
        file.extend(word(big, value));
    }
    if matches!(magic, 0x1c00_01ac | 0x1c00_01ab) {
        file.extend([0xee; 4]);
    }
    let fraction = if nanoseconds { 500_000_000 } else { 500_000 };
    for value in [SECOND, fraction, lengths[0], lengths[1]] {
        file.extend(word(big, value));
    }
    if magic == 0xa1b2_cd34 {
        file.extend([0xdd; 8]);
    }
    file.extend([0x55, 0x66]);
    file
}

#[test]
fn pcap_variants_in_both_byte_orders() {
    for big in [false, true] {
        for (magic, version, network, lengths, link_type) in [
            (0xa1b2_c3d4, (2, 4), 1, [2, 60], 1),
            (0xa1b2_3c4d, (2, 4), 113, [2, 60], 113),
            (0xa1b2_cd34, (2, 4), 1, [2, 60], 1),
            (0x1c00_01ac, (2, 4), 1, [2, 60], 1),
            (0x1c00_01ab, (2, 4), 1, [2, 60], 1),
            // A frame check sequence of 4 bytes is announced.
            (0xa1b2_c3d4, (2, 4), 0x2400_0001, [2, 60], 1),
            // Original length first, always and when it is the larger one.
            (0xa1b2_c3d4, (2, 2), 1, [60, 2], 1),
            (0xa1b2_c3d4, (2, 3), 1, [60, 2], 1),
            (0xa1b2_c3d4, (2, 3), 1, [2, 60], 1),
            // AIX: interface type 6 is Ethernet.
            (0xa1b2_c3d4, (2, 2), 6, [60, 2], 1),
        ] {
            let read = Whole::of(&variant(big, magic, version, network, lengths));
            let what = format!("big {big} magic {magic:x} version {version:?} network {network:x}");
            assert_eq!(read.bytes, [[0x55, 0x66]], "{what}");
            assert_eq!(read.micros(), [500_000], "{what}");
            assert_eq!(read.packets[0].length, 60, "{what}");
            assert_eq!(read.packets[0].link_type, LinkType(link_type), "{what}");
            assert!(read.kinds().is_empty(), "{what}");
        }
    }
}

#[test]
fn a_header_alone_is_a_capture_without_packets() {
    let read = Whole::of(&pcap_header(65_535));
    assert!(read.packets.is_empty() && read.kinds().is_empty());
    assert_eq!(read.capture.summary().first, None);
    assert_eq!(read.capture.files(), ["t"]);
}

#[test]
fn pcapng_sections_have_their_own_byte_order_and_interfaces() {
    let mut file = section(false);
    file.extend(interface(false, 1, 96, &[]));
    // Nanoseconds, with an offset of -2 s.
    let options = [
        option(false, 9, &[9]),
        option(false, 14, &(-2_i64).to_le_bytes()),
    ]
    .concat();
    file.extend(interface(false, 113, 0, &options));
    file.extend(enhanced(
        false,
        0,
        u64::from(SECOND) * 1_000_000 + 5,
        b"abc",
        60,
    ));
    file.extend(block(false, 0x0000_7777, b"unknown!"));
    file.extend(enhanced(
        false,
        1,
        (u64::from(SECOND) + 2) * 1_000_000_000 + 6_000,
        b"defg",
        4,
    ));
    file.extend(section(true));
    // Units of 2^-10 s, with an offset of SECOND.
    let offset = i64::from(SECOND).to_be_bytes();
    let options = [option(true, 9, &[0x80 | 10]), option(true, 14, &offset)].concat();
    file.extend(interface(true, 276, 262_144, &options));
    file.extend(enhanced(true, 0, 512, b"h", 1));
    let read = Whole::of(&file);
    assert_eq!(read.micros(), [5, 6, 500_000]);
    assert_eq!(read.bytes, [&b"abc"[..], b"defg", b"h"]);
    let link_types: Vec<_> = read.packets.iter().map(|p| p.link_type.0).collect();
    assert_eq!(link_types, [1, 113, 276]);
    let frames: Vec<_> = read.packets.iter().map(|p| p.at.frame).collect();
    assert_eq!(frames, [1, 2, 3]);
    assert!(read.kinds().is_empty());
    let summary = read.capture.summary();
    assert_eq!(summary.snaplens, [0, 96, 262_144]);
    assert_eq!(summary.files[0].format, Format::PcapNg);
}

#[test]
fn simple_packets_take_the_time_before_and_their_length_from_the_snap_length() {
    let mut file = section(false);
    file.extend(interface(false, 1, 4, &[]));
    file.extend(enhanced(false, 0, 7, b"abcd", 4));
    file.extend(block(false, 3, &[6, 0, 0, 0, b'e', b'f', b'g', b'h']));
    file.extend(block(false, 3, &[3, 0, 0, 0, b'i', b'j', b'k', 0]));
    let read = Whole::of(&file);
    assert_eq!(read.times(), [7_000, 7_000, 7_000]);
    assert_eq!(read.bytes, [&b"abcd"[..], b"efgh", b"ijk"]);
    assert_eq!(read.packets[1].length, 6);
    let problem = read.problem("no-time-stamp");
    assert_eq!((problem.count, problem.damage), (2, false));
    assert_eq!(problem.first.frame, Some(2));
}

#[test]
fn an_obsolete_packet_block_byte_by_byte() {
    for big in [false, true] {
        let mut body = [half(big, 0), half(big, 3)].concat();
        for value in [0, 9_000_000, 2, 60] {
            body.extend(word(big, value));
        }
        body.extend([0x77, 0x88, 0, 0]);
        let file = [
            section(big),
            interface(big, 1, 0, &[]),
            block(big, 2, &body),
        ]
        .concat();
        let read = Whole::of(&file);
        assert_eq!(read.times(), [9_000_000_000]);
        assert_eq!(read.bytes, [[0x77, 0x88]]);
        assert_eq!(read.packets[0].length, 60);
        assert_eq!(read.capture.summary().dropped_by_os, Some(3));
    }
}

#[test]
fn the_latest_statistics_of_each_interface_count() {
    for big in [false, true] {
        let statistics = |interface, received: u64, by_interface: u64, by_os: u64| {
            let mut body = word(big, interface).to_vec();
            body.extend([0; 8]);
            for (code, value) in [(4, received), (5, by_interface), (7, by_os)] {
                let bytes = if big {
                    value.to_be_bytes()
                } else {
                    value.to_le_bytes()
                };
                body.extend(option(big, code, &bytes));
            }
            block(big, 5, &body)
        };
        let mut file = section(big);
        file.extend(interface(big, 1, 0, &[]));
        file.extend(interface(big, 1, 0, &[]));
        file.extend(statistics(0, 100, 1, 2));
        file.extend(statistics(1, 50, 10, 20));
        file.extend(statistics(0, 200, 3, 4));
        let summary = Whole::of(&file).capture.summary();
        assert_eq!(summary.received, Some(250));
        assert_eq!(summary.dropped_by_interface, Some(13));
        assert_eq!(summary.dropped_by_os, Some(24));
        assert_eq!(summary.dropped(), Some(37));
    }
}

#[test]
fn drop_counts_beside_enhanced_packets_add_up() {
    let mut body = Vec::new();
    for value in [0, 0, 5, 3, 3] {
        body.extend(word(false, value));
    }
    body.extend(b"abc\0");
    body.extend(option(false, 1, b"a comment"));
    body.extend(option(false, 4, &6_u64.to_le_bytes()));
    body.extend(option(false, 0, &[]));
    let packet = block(false, 6, &body);
    let file = [
        section(false),
        interface(false, 1, 0, &[]),
        packet.clone(),
        packet,
    ]
    .concat();
    assert_eq!(Whole::of(&file).capture.summary().dropped_by_os, Some(12));
}

#[test]
fn blocks_that_wireshark_numbers_take_a_frame_number() {
    let mut file = section(false);
    file.extend(interface(false, 1, 0, &[]));
    file.extend(block(false, 0x0bad, &[1, 2, 3, 4]));
    file.extend(enhanced(false, 0, 7, b"abcd", 4));
    assert_eq!(Whole::of(&file).packets[0].at.frame, 2);
}

#[test]
fn a_snoop_file_byte_by_byte() {
    let file = [
        b's', b'n', b'o', b'o', b'p', 0, 0, 0, // magic
        0, 0, 0, 2, // version
        0, 0, 0, 4, // Ethernet
        0, 0, 0, 60, // on the wire
        0, 0, 0, 3, // captured
        0, 0, 0, 28, // record: header, packet, padding
        0, 0, 0, 7, // drops so far
        0x65, 0x53, 0xf1, 0x00, // 1,700,000,000 s
        0x00, 0x01, 0xe2, 0x40, // 123,456 µs
        0xaa, 0xbb, 0xcc, 0, //
        0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 28, 0, 0, 0, 9, 0x65, 0x53, 0xf1, 0x01, 0, 0, 0, 1, 0xdd,
        0xee, // the last padding may be missing
    ];
    let read = Whole::of(&file);
    assert_eq!(read.micros(), [123_456, 1_000_001]);
    assert_eq!(read.bytes, [&[0xaa, 0xbb, 0xcc][..], &[0xdd, 0xee]]);
    assert_eq!(read.packets[0].length, 60);
    assert!(read.kinds().is_empty());
    let summary = read.capture.summary();
    assert_eq!(summary.dropped_by_os, Some(9));
    assert_eq!(summary.link_types, [LinkType(1)]);
    assert_eq!(summary.files[0].format, Format::Snoop);
}

#[test]
fn snoop_network_types_become_link_types() {
    for (network, padding, link_type) in [
        (0_u32, 0, 1),
        (2, 0, 6),
        (8, 0, 10),
        (14, 0, 0),
        (14, 16, 6),
        (12, 20, 1),
        (0x8000_0005, 0, 226),
        (77, 0, u16::MAX),
    ] {
        let mut file = b"snoop\0\0\0\0\0\0\x02".to_vec();
        file.extend(network.to_be_bytes());
        for value in [4, 4, 28 + padding, 0, SECOND, 0] {
            file.extend(value.to_be_bytes());
        }
        file.extend(vec![0; 4 + padding as usize]);
        let read = Whole::of(&file);
        assert_eq!(
            read.packets[0].link_type,
            LinkType(link_type),
            "network {network}"
        );
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = lz4_flex::frame::FrameEncoder::new(Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files_of_one_or_more_parts_are_read() {
    let plain = pcap(&[1, 2, 3, 4]);
    let (a, b) = plain.split_at(70);
    let zstd = |bytes: &[u8]| zstd::stream::encode_all(bytes, 1).unwrap();
    for (compression, whole, parts) in [
        (Compression::Gzip, gzip(&plain), [gzip(a), gzip(b)]),
        (Compression::Zstd, zstd(&plain), [zstd(a), zstd(b)]),
        (Compression::Lz4, lz4(&plain), [lz4(a), lz4(b)]),
    ] {
        for file in [whole, parts.concat()] {
            let read = Whole::of(&file);
            assert_eq!(read.micros(), [1, 2, 3, 4], "{compression:?}");
            assert!(read.kinds().is_empty(), "{compression:?}");
            assert_eq!(read.capture.summary().files[0].compression, compression);
            assert_eq!(read.capture.progress(), (file.len() as u64, None));
        }
    }
}

#[test]
fn cut_compressed_data_keeps_what_was_read() {
    let plain = pcap(&(0..5_000).collect::<Vec<_>>());
    let zstd = zstd::stream::encode_all(&plain[..], 1).unwrap();
    for file in [gzip(&plain), zstd] {
        let read = Whole::of(&file[..file.len() - 9]);
        assert!(!read.packets.is_empty());
        assert_eq!(read.kinds(), ["compressed-data-damaged"]);
        assert!(read.problem("compressed-data-damaged").damage);
    }
}

#[test]
fn damaged_compressed_data_keeps_what_stands_before_the_damage() {
    let plain = pcap(&(0..5_000).collect::<Vec<_>>());
    let zstd = zstd::stream::encode_all(&plain[..], 1).unwrap();
    for mut file in [gzip(&plain), zstd] {
        let damage = file.len() * 4 / 5;
        file[damage..damage + 100].fill(0xff);
        let read = Whole::of(&file);
        assert!(read.problem("compressed-data-damaged").damage);
        // Four fifths, but for one block or piece.
        assert!(read.packets.len() > 2_500, "{} packets", read.packets.len());
    }
}
