//! Every way in which the same segment may be wrapped, as literal bytes.

use super::*;
use crate::Flags;

const MACS: &[u8] = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01";

fn ethernet(rest: &[&[u8]]) -> Vec<u8> {
    join(&[MACS, &rest.concat()])
}

/// Every encapsulation of [`V4`], by name.
pub(super) fn all() -> Vec<(&'static str, LinkType, Vec<u8>)> {
    let frame = ethernet(&[b"\x08\x00", &V4]);
    let link = |n: u16, header: &[u8]| (LinkType(n), join(&[header, &V4]));
    let ip = |protocol: u8, header: &[u8], inner: &[u8]| {
        (RAW, outer_v4(protocol, &join(&[header, inner])))
    };
    let in_udp = |port: u16, header: &[u8], inner: &[u8]| {
        (
            RAW,
            outer_v4(17, &udp(50_000, port, &join(&[header, inner]))),
        )
    };
    let eth = |header: &[u8]| (ETHERNET, ethernet(&[header, &V4]));
    let ppp = b"\xff\x03\x00\x21";
    vec![
        ("Ethernet", eth(b"\x08\x00")),
        ("802.1Q", eth(b"\x81\x00\x00\x05\x08\x00")),
        ("802.1ad", eth(b"\x88\xa8\x00\x05\x81\x00\x00\x06\x08\x00")),
        (
            "QinQinQinQ",
            eth(b"\x91\x00\0\x05\x91\x00\0\x06\x81\x00\0\x07\x81\x00\0\x08\x08\x00"),
        ),
        ("LLC/SNAP", eth(b"\x00\x3f\xaa\xaa\x03\0\0\0\x08\x00")),
        ("LLC", eth(b"\x00\x3a\x06\x06\x03")),
        (
            "LLC in a VLAN",
            eth(b"\x81\x00\0\x05\x00\x3f\xaa\xaa\x03\0\0\0\x08\x00"),
        ),
        (
            "SLL",
            link(113, b"\0\0\0\x01\0\x06\x02\0\0\0\0\x01\0\0\x08\x00"),
        ),
        (
            "SLL2",
            link(
                276,
                b"\x08\x00\0\0\0\0\0\x02\0\x01\x00\x06\x02\0\0\0\0\x01\0\0",
            ),
        ),
        ("raw IP", link(101, b"")),
        ("raw IP, 12", link(12, b"")),
        ("raw IP, 14", link(14, b"")),
        ("raw IPv4", link(228, b"")),
        ("null, little endian", link(0, b"\x02\0\0\0")),
        ("null, big endian", link(0, b"\0\0\0\x02")),
        ("OpenBSD loopback", link(108, b"\0\0\0\x02")),
        ("PPP", link(9, b"\x00\x21")),
        ("PPP in HDLC framing", link(50, ppp)),
        ("PPP, compressed protocol", link(9, b"\x21")),
        ("Cisco HDLC", link(50, b"\x0f\x00\x08\x00")),
        ("PPPoE", eth(b"\x88\x64\x11\x00\x00\x01\x00\x39\x00\x21")),
        (
            "PPPoE link type",
            link(51, b"\x11\x00\x00\x01\x00\x39\x00\x21"),
        ),
        ("MPLS", eth(b"\x88\x47\x00\x01\x01\x40")),
        (
            "MPLS, two labels",
            eth(b"\x88\x47\x00\x01\x00\x40\x00\x02\x01\x40"),
        ),
        (
            "MPLS pseudowire with control word",
            (
                ETHERNET,
                ethernet(&[b"\x88\x47\x00\x01\x01\x40\0\0\0\0", &frame]),
            ),
        ),
        (
            "MPLS pseudowire without",
            (ETHERNET, ethernet(&[b"\x88\x47\x00\x01\x01\x40", &frame])),
        ),
        (
            "MPLS pseudowire with a MAC address like an IP version",
            (
                ETHERNET,
                ethernet(&[b"\x88\x47\x00\x01\x01\x40\x40", &frame[1..]]),
            ),
        ),
        ("IP in IP", ip(4, b"", &V4)),
        ("MPLS in IP", ip(137, b"\x00\x01\x01\x40", &V4)),
        ("EtherIP", ip(97, b"\x30\x00", &frame)),
        (
            "AH",
            ip(
                51,
                b"\x04\x04\0\0\0\0\0\x01\0\0\0\x01\0\0\0\0\0\0\0\0\0\0\0\0",
                &V4,
            ),
        ),
        ("GRE", ip(47, b"\0\0\x08\x00", &V4)),
        (
            "GRE with checksum, key and sequence",
            ip(47, b"\xb0\0\x08\x00\x12\x34\0\0\0\0\0\x01\0\0\0\x02", &V4),
        ),
        ("GRE with Ethernet", ip(47, b"\0\0\x65\x58", &frame)),
        ("ERSPAN I", ip(47, b"\0\0\x88\xbe", &frame)),
        (
            "ERSPAN II",
            ip(47, b"\x10\0\x88\xbe\0\0\0\x01\x10\x05\0\0\0\0\0\0", &frame),
        ),
        (
            "ERSPAN III",
            ip(
                47,
                b"\x10\0\x22\xeb\0\0\0\x01\x20\x05\0\0\0\0\0\0\0\0\0\0",
                &frame,
            ),
        ),
        (
            "ERSPAN III with platform header",
            ip(
                47,
                b"\x10\0\x22\xeb\0\0\0\x01\x20\x05\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\0",
                &frame,
            ),
        ),
        (
            "ERSPAN III of IP",
            ip(
                47,
                b"\x10\0\x22\xeb\0\0\0\x01\x20\x05\0\0\0\0\0\0\0\0\x08\0",
                &V4,
            ),
        ),
        (
            "PPTP",
            ip(
                47,
                b"\x30\x81\x88\x0b\x00\x3b\0\0\0\0\0\x01\0\0\0\x01",
                &join(&[ppp, &V4]),
            ),
        ),
        ("VXLAN", in_udp(4789, b"\x08\0\0\0\0\0\x05\0", &frame)),
        (
            "VXLAN, Linux's old port",
            in_udp(8472, b"\x08\0\0\0\0\0\x05\0", &frame),
        ),
        ("Geneve", in_udp(6081, b"\0\0\x65\x58\0\0\x05\0", &frame)),
        (
            "Geneve with an option, of IP",
            in_udp(
                6081,
                b"\x02\0\x08\x00\0\0\x05\0\x01\x02\x03\x01\0\0\0\x01",
                &V4,
            ),
        ),
        ("4in6", (RAW, v6(4, &V4))),
        ("GRE in IPv6", (RAW, v6(47, &join(&[b"\0\0\x08\x00", &V4])))),
    ]
    .into_iter()
    .map(|(name, (link_type, bytes))| (name, link_type, bytes))
    .collect()
}

#[test]
fn every_encapsulation_gives_the_innermost_segment() {
    for (name, link_type, packet) in all() {
        let run = one(link_type, packet);
        assert_eq!(run.problems(), [], "{name}");
        let [segment] = run.segments[..] else {
            panic!("{name}: {:?}", run.decoder.counts());
        };
        assert_eq!(segment.source.to_string(), "10.0.0.1:1000", "{name}");
        assert_eq!(segment.destination.to_string(), "10.0.0.2:2049", "{name}");
        assert_eq!((segment.ip_id, segment.ttl), (Some(0x1234), 64), "{name}");
        assert_eq!(segment.tcp.sequence, 1000, "{name}");
        assert_eq!(segment.tcp.acknowledgement, 2000, "{name}");
        assert_eq!((segment.tcp.flags, segment.tcp.window), (Flags(0x18), 502));
        assert_eq!(segment.tcp.timestamps, Some((42, 43)), "{name}");
        assert_eq!(segment.payload_length, 3, "{name}");
        assert_eq!(run.payload(0), b"abc", "{name}");
    }
}

#[test]
fn ipv6_is_found_by_link_type_tunnel_and_extension_headers() {
    let segment = tcp_segment();
    let extended = |next: u8, headers: &[u8]| v6(next, &join(&[headers, segment]));
    let routing = b"\x06\x02\0\0\0\0\0\0\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x09";
    for (name, link_type, packet) in [
        ("raw", LinkType(229), V6.to_vec()),
        ("macOS null", LinkType(0), join(&[b"\x1e\0\0\0", &V6])),
        ("FreeBSD null", LinkType(0), join(&[b"\0\0\0\x1c", &V6])),
        ("PPP", LinkType(9), join(&[b"\x00\x57", &V6])),
        (
            "MPLS",
            ETHERNET,
            ethernet(&[b"\x88\x47\x00\x01\x01\x40", &V6]),
        ),
        ("6in4", RAW, outer_v4(41, &V6)),
        ("hop-by-hop", RAW, extended(0, b"\x06\0\x01\x04\0\0\0\0")),
        ("routing", RAW, extended(43, routing)),
        (
            "destination and authentication",
            RAW,
            extended(
                60,
                b"\x33\0\x01\x04\0\0\0\0\x06\x01\0\0\0\0\0\x01\0\0\0\x01",
            ),
        ),
        (
            "atomic fragment",
            RAW,
            extended(44, b"\x06\0\0\0\0\0\0\x07"),
        ),
    ] {
        let run = one(link_type, packet);
        assert_eq!(run.problems(), [], "{name}");
        let [segment] = run.segments[..] else {
            panic!("{name}: {:?}", run.decoder.counts());
        };
        assert_eq!(segment.source.to_string(), "[2001:db8::1]:1000", "{name}");
        assert_eq!(segment.destination.to_string(), "[2001:db8::2]:2049");
        assert_eq!((segment.ip_id, segment.ttl), (None, 64), "{name}");
        assert_eq!(run.payload(0), b"abc", "{name}");
    }
}

#[test]
fn other_traffic_is_counted_by_kind() {
    for (packet, not_ip, not_tcp_or_udp) in [
        (ethernet(&[b"\x08\x06", &[0; 28]]), 1, 0),
        (ethernet(&[b"\x00\x26\x42\x42\x03", &[0; 40]]), 1, 0),
        (ethernet(&[b"\x88\x63\x11\x09\0\0\0\0"]), 1, 0),
        (
            ethernet(&[b"\x08\x00", &outer_v4(1, b"\x08\0\0\0\0\0\0\0")]),
            0,
            1,
        ),
        (ethernet(&[b"\x86\xdd", &v6(58, b"\x80\0\0\0")]), 0, 1),
        // A GRE keepalive.
        (ethernet(&[b"\x08\x00", &outer_v4(47, b"\0\0\0\0")]), 0, 1),
    ] {
        let run = one(ETHERNET, packet);
        let counts = run.decoder.counts();
        assert_eq!(
            (counts.not_ip, counts.not_tcp_or_udp),
            (not_ip, not_tcp_or_udp)
        );
        assert_eq!(run.problems(), []);
        assert!(run.segments.is_empty());
    }
}

#[test]
fn a_datagram_to_a_tunnels_port_that_is_no_tunnel_stays_a_datagram() {
    let run = one(RAW, outer_v4(17, &udp(1000, 4789, b"just data")));
    assert_eq!(run.segments[0].destination.port, 4789);
    assert_eq!(run.payload(0), b"just data");
}

#[test]
fn an_unsupported_link_type_is_damage_and_named() {
    let run = Run::new(LinkType(147), &[V4.to_vec(), V4.to_vec()], usize::MAX);
    let (kind, problem) = run.decoder.problems().iter().next().unwrap();
    assert_eq!(kind, "unsupported-link-type");
    assert_eq!((problem.count, problem.damage), (2, true));
    assert_eq!(problem.example, "link type 147");
    assert_eq!(problem.first.to_string(), "a.pcap, packet 1");
}

#[test]
fn both_directions_hash_alike_and_other_flows_differ() {
    let segment = |source: u16, destination: u16, protocol: u8| {
        let mut packet = outer_v4(protocol, &join(&[tcp_segment()]));
        packet[20..22].copy_from_slice(&source.to_be_bytes());
        packet[22..24].copy_from_slice(&destination.to_be_bytes());
        if protocol == 17 {
            packet[24..26].copy_from_slice(&35u16.to_be_bytes());
        }
        if source > destination {
            let (from, to) = (packet[12..16].to_vec(), packet[16..20].to_vec());
            packet[12..16].copy_from_slice(&to);
            packet[16..20].copy_from_slice(&from);
        }
        one(RAW, packet).segments[0]
    };
    let (there, back) = (segment(1000, 2049, 6), segment(2049, 1000, 6));
    assert_eq!(there.source, back.destination);
    assert_eq!(there.flow_hash, back.flow_hash);
    assert_eq!(there.owner_hash, back.owner_hash);
    let udp = segment(1000, 2049, 17);
    assert_ne!(there.flow_hash, udp.flow_hash);
    assert_eq!(there.owner_hash, udp.owner_hash);
    // Calls of RPC move to another connection of their hosts, statements do not.
    assert_eq!(there.owner_hash, segment(1001, 2049, 6).owner_hash);
    let (there, back) = (segment(1000, 3306, 6), segment(3306, 1000, 6));
    assert_eq!(there.owner_hash, back.owner_hash);
    assert_ne!(there.owner_hash, segment(1001, 3306, 6).owner_hash);
    // A thousand ports spread over all values of the low bits and of the high ones.
    let hashes: Vec<u64> = (3000..4000)
        .map(|p| segment(p, 2049, 6).flow_hash)
        .collect();
    for shift in [0, 58] {
        let mut counts = [0; 64];
        for hash in &hashes {
            counts[(hash >> shift & 63) as usize] += 1;
        }
        assert!(counts.iter().all(|&n| n > 2 && n < 40), "{counts:?}");
    }
}
