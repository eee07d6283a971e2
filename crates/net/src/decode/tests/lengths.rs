//! Lengths: padding, snap lengths, offload, and headers that contradict themselves.

use super::*;

fn lengths(run: &Run) -> (u32, u32) {
    let segment = &run.segments[0];
    (segment.payload_captured, segment.payload_length)
}

#[test]
fn padding_is_not_payload() {
    let mut packet = V4.to_vec();
    packet.extend([0xee; 9]);
    let run = one(RAW, packet);
    assert_eq!(lengths(&run), (3, 3));
    let run = one(RAW, outer_v4(17, &join(&[&udp(1, 2, b"ab"), b"trailer"])));
    assert_eq!(lengths(&run), (2, 2));
}

#[test]
fn a_snap_length_leaves_the_length_on_the_wire() {
    let cut = |snap| Run::new(RAW, &[V4.to_vec()], snap);
    assert_eq!(lengths(&cut(53)), (1, 3));
    assert_eq!(lengths(&cut(52)), (0, 3));
    // Within the options: the fixed header is enough.
    let run = cut(45);
    assert_eq!(lengths(&run), (0, 3));
    assert_eq!(run.segments[0].tcp.timestamps, None);
    assert_eq!(run.segments[0].tcp.sequence, 1000);
    assert_eq!(run.problems(), []);
    let run = cut(39);
    assert!(run.segments.is_empty());
    assert_eq!(run.problems(), [("header-cut", 1)]);
    let (_, problem) = run.decoder.problems().iter().next().unwrap();
    assert!(!problem.damage);
    assert_eq!(
        problem.example,
        "TCP header at byte 20 of the packet: 19 bytes captured"
    );
    assert_eq!(cut(15).problems(), [("header-cut", 1)]);
}

#[test]
fn a_total_length_of_zero_means_the_frames() {
    let mut packet = V4.to_vec();
    packet[2..4].copy_from_slice(&[0, 0]);
    packet.resize(70_000, b'x');
    let run = Run::new(RAW, &[packet], 100);
    assert_eq!(lengths(&run), (48, 70_000 - 52));
    assert_eq!(run.problems(), []);
}

#[test]
fn big_tcp_has_a_jumbo_option_or_no_length_at_all() {
    let mut segment = tcp_segment().to_vec();
    segment.resize(100_000, b'x');
    let mut plain = v6(6, &segment);
    plain[4..6].copy_from_slice(&[0, 0]);
    let run = Run::new(RAW, &[plain], 100);
    assert_eq!(lengths(&run), (100 - 72, 100_000 - 32));

    // RFC 2675: next header TCP, length 0, padding, then the option with 100,008 - 8.
    let hop_by_hop = b"\x06\x00\xc2\x04\x00\x01\x86\xa8";
    let mut jumbo = v6(0, &join(&[hop_by_hop, &segment, b"padding"]));
    jumbo[4..6].copy_from_slice(&[0, 0]);
    let run = one(RAW, jumbo);
    assert_eq!(lengths(&run), (100_000 - 32, 100_000 - 32));
    assert_eq!(run.problems(), []);
}

#[test]
fn a_frame_shorter_than_its_ip_packet_is_a_cut_one() {
    let run = one(RAW, V4[..54].to_vec());
    assert_eq!(lengths(&run), (2, 3));
    assert_eq!(run.problems(), [("ip-length-beyond-frame", 1)]);
    assert!(!run.decoder.problems().any_damage());
}

#[test]
fn contradicting_headers_are_noted_and_are_not_damage() {
    let patched = |at: usize, byte: u8| {
        let mut packet = V4.to_vec();
        packet[at] = byte;
        packet
    };
    let udp_length = |length: u8| {
        let mut packet = outer_v4(17, &udp(1, 2, b"abcd"));
        packet[25] = length;
        packet
    };
    for (packet, problem, segments) in [
        (patched(0, 0x44), "bogus-ip-header", 0),
        (patched(0, 0x35), "bogus-ip-header", 0),
        (patched(3, 19), "bogus-ip-length", 0),
        (patched(3, 30), "bogus-tcp-header", 0),
        (patched(32, 0x40), "bogus-tcp-header", 0),
        (patched(32, 0xf0), "bogus-tcp-header", 0),
        (udp_length(0), "bogus-udp-length", 1),
        (udp_length(7), "bogus-udp-length", 0),
        (udp_length(99), "bogus-udp-length", 1),
        (outer_v4(17, b"\0\x01\0\x02"), "bogus-header", 0),
        (outer_v4(47, b"\x40\0\x08\0"), "unsupported-tunnel", 0),
        (outer_v4(47, b"\0\x02\x08\0"), "unsupported-tunnel", 0),
        (v6(60, b"\x06\x09\0\0\0\0\0\0"), "bogus-ip-header", 0),
    ] {
        let run = one(RAW, packet.clone());
        assert_eq!(run.problems(), [(problem, 1)], "{packet:x?}");
        assert_eq!(run.segments.len(), segments, "{packet:x?}");
        assert!(!run.decoder.problems().any_damage());
    }
    let run = one(RAW, patched(32, 0x40));
    let (_, problem) = run.decoder.problems().iter().next().unwrap();
    assert_eq!(
        problem.example,
        "TCP header length 16, at byte 20 of the packet"
    );
}

#[test]
fn a_udp_length_is_taken_as_far_as_ip_allows() {
    let mut packet = outer_v4(17, &udp(1, 2, b"abcd"));
    packet[25] = 99;
    assert_eq!(lengths(&one(RAW, packet)), (4, 4));
}

#[test]
fn endless_headers_end() {
    let mut packet = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01".to_vec();
    packet.extend(b"\x81\x00\x00\x01".repeat(1000));
    assert_eq!(one(ETHERNET, packet).problems(), [("too-many-headers", 1)]);
}

#[test]
fn an_identification_of_zero_counts_only_where_fragments_may_be() {
    let mut packet = V4.to_vec();
    packet[4..6].copy_from_slice(&[0, 0]);
    assert_eq!(one(RAW, packet.clone()).segments[0].ip_id, None);
    packet[6] = 0;
    assert_eq!(one(RAW, packet).segments[0].ip_id, Some(0));
}

#[test]
fn tcp_options_are_read_past_unknown_ones() {
    // MSS, Multipath TCP, SACK permitted, timestamps, padding, window scale.
    let options = b"\x02\x04\x05\xb4\x1e\x04\xaa\xbb\x04\x02\x08\x0a\0\0\0\x01\0\0\0\x02\
        \x01\x03\x03\x07";
    let tcp = with_options(options);
    assert_eq!((tcp.mss, tcp.window_scale), (Some(1460), Some(7)));
    assert_eq!(tcp.timestamps, Some((1, 2)));

    let tcp = with_options(b"\x05\x12\0\0\0\x0a\0\0\0\x14\0\0\0\x1e\0\0\0\x28\x01\x00");
    assert_eq!(tcp.sack_count, 2);
    assert_eq!(tcp.sack, [(10, 20), (30, 40)]);

    // Options that claim more than there is, or less than themselves, end the reading.
    let tcp = with_options(b"\x02\x04\x05\xb4\x08\x0a\0\0");
    assert_eq!((tcp.mss, tcp.timestamps), (Some(1460), None));
    let tcp = with_options(b"\x02\x04\x05\xb4\x1e\x00\x03\x03\x07\0\0\0");
    assert_eq!((tcp.mss, tcp.window_scale), (Some(1460), None));
}

fn with_options(options: &[u8]) -> Tcp {
    let mut segment = tcp_segment()[..20].to_vec();
    segment[12] = ((20 + options.len() as u8) / 4) << 4;
    segment.extend(options);
    one(RAW, outer_v4(6, &segment)).segments[0].tcp
}
