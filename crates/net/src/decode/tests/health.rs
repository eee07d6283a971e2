//! What packets say of the network's health: literal bytes of bridges, ARP and ICMP, and checksums as
//! etherparse computes them.

use super::*;
use etherparse::PacketBuilder;
use model::{
    ArpFault, Bpdu, Bridge, Cast, ChecksumOf, Checksums, IcmpError, IcmpReason, NoticeKind, Tagged,
    Tree,
};
use proptest::prelude::*;
use std::net::IpAddr;

const SECOND: i64 = 1_000_000_000;

fn kinds(packets: &[Vec<u8>]) -> Vec<NoticeKind> {
    let notices = Run::new(ETHERNET, packets, usize::MAX).notices();
    notices.into_iter().map(|n| n.kind).collect()
}

/// A configuration BPDU as tcpdump's and Wireshark's documents have it: 802.3 length, LLC, then root
/// 32768.1/00:19:06:ea:b8:80, bridge 32769/00:19:06:ea:b8:81, port 0x8005, 20 s, 2 s, 15 s.
fn bpdu(kind: u8, flags: u8) -> Vec<u8> {
    let mut frame = b"\x01\x80\xc2\0\0\0\0\x19\x06\xea\xb8\x85\0\x26\x42\x42\x03\0\0".to_vec();
    frame.extend([if kind == 2 { 2 } else { 0 }, kind]);
    if kind != 0x80 {
        frame.push(flags);
        frame.extend(b"\x80\x01\0\x19\x06\xea\xb8\x80\0\0\0\x04\x80\x01\0\x19\x06\xea\xb8\x81");
        frame.extend(b"\x80\x05\x01\0\x14\0\x02\0\x0f\0");
    }
    frame.resize(60, 0);
    frame
}

#[test]
fn bridges_say_who_is_the_root_and_that_the_topology_changed() {
    let bridge = |last| Bridge {
        priority: 0x8001,
        hardware: [0, 0x19, 6, 0xea, 0xb8, last],
    };
    for (kind, flags, version) in [
        (0, 0, 0),
        (0, 1, 0),
        (0, 0x81, 0),
        (2, 0x3d, 2),
        (2, 0x3c, 2),
    ] {
        let found = kinds(&[bpdu(kind, flags)]);
        let [NoticeKind::Flooded(flooded), NoticeKind::Bridge(found)] = found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(flooded.cast, Cast::Multicast);
        let tree = Tree {
            root: bridge(0x80),
            bridge: bridge(0x81),
            port: 0x8005,
            changing: flags & 1 == 1,
            max_age_ns: 20 * SECOND,
            hello_ns: 2 * SECOND,
            forward_delay_ns: 15 * SECOND,
        };
        let expected = Bpdu {
            vlan: None,
            version,
            tree: Some(tree),
        };
        assert_eq!(found, expected);
    }
    let found = kinds(&[bpdu(0x80, 0)]);
    assert!(matches!(
        found[1],
        NoticeKind::Bridge(Bpdu { tree: None, .. })
    ));
}

#[test]
fn a_tree_for_each_vlan_says_which() {
    // Cisco's form behind a tag of VLAN 5: SNAP, 35 bytes, a byte between, type 0, length 2, VLAN 5.
    let plain = bpdu(2, 0x3c);
    let mut frame = b"\x01\0\x0c\xcc\xcc\xcd\0\x19\x06\xea\xb8\x85\x81\0\xe0\x05\0\x32".to_vec();
    frame.extend(b"\xaa\xaa\x03\0\0\x0c\x01\x0b");
    frame.extend(&plain[17..52]);
    frame.extend(b"\0\0\0\0\x02\0\x05");
    let found = kinds(&[frame]);
    let bridge = found.iter().find_map(|n| match n {
        NoticeKind::Bridge(b) => Some(*b),
        _ => None,
    });
    assert_eq!(bridge.and_then(|b| b.vlan), Some(5), "{found:?}");
}

/// An ARP answer of 10.0.0.1 in a frame of 02:00:00:00:00:01 to one host.
const ARP: [u8; 42] = *b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x08\x06\0\x01\x08\0\x06\x04\0\x02\
    \x02\0\0\0\0\x01\x0a\0\0\x01\x02\0\0\0\0\x02\x0a\0\0\x02";

#[test]
fn arp_that_cannot_be_is_told_from_arp_that_can() {
    let change = |at: usize, bytes: &[u8]| {
        let mut frame = ARP.to_vec();
        frame[at..at + bytes.len()].copy_from_slice(bytes);
        frame
    };
    let cases: [(Vec<u8>, Option<ArpFault>); 14] = [
        (ARP.to_vec(), None),
        (change(18, &[8, 4]), Some(ArpFault::Lengths)),
        (change(20, &[0, 0]), Some(ArpFault::Operation)),
        (change(22, &[0xff; 6]), Some(ArpFault::SenderHardware)),
        (change(22, &[0; 6]), Some(ArpFault::SenderHardware)),
        (change(28, &[0; 4]), Some(ArpFault::SenderAddress)),
        (change(28, &[224, 0, 0, 1]), Some(ArpFault::SenderAddress)),
        (change(28, &[255; 4]), Some(ArpFault::SenderAddress)),
        (change(27, &[9]), Some(ArpFault::OtherSource)),
        (change(32, &[2, 9]), Some(ArpFault::TargetHardware)),
        // To all of them an answer has no one target.
        (change(0, &[0xff; 6]), None),
        // Whether anybody has an address is asked from none (RFC 5227).
        (change(20, &[0, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0]), None),
        // Of other networks nobody knows here what is right.
        (change(14, &[0, 6]), None),
        // A cluster of Windows speaks for a group.
        (
            change(22, &[3, 0xbf, 1, 2, 3, 4]),
            Some(ArpFault::OtherSource),
        ),
    ];
    for (frame, fault) in cases {
        let found = kinds(std::slice::from_ref(&frame));
        let found = found.iter().find_map(|n| match n {
            NoticeKind::InvalidArp(a) => Some(a.fault),
            _ => None,
        });
        assert_eq!(found, fault, "{frame:02x?}");
    }
}

/// An ICMP packet of this type and code, with four bytes of its own, that gives `quoted` back.
fn icmp(kind: u8, code: u8, own: [u8; 4], quoted: &[u8]) -> Vec<u8> {
    outer_v4(1, &join(&[&[kind, code, 0, 0], &own, quoted]))
}

fn error(packet: Vec<u8>) -> Option<IcmpError> {
    let notices = one(RAW, packet).notices();
    notices.iter().find_map(|n| match n.kind {
        NoticeKind::Icmp(e) => Some(e),
        _ => None,
    })
}

#[test]
fn routers_say_whose_packet_they_give_back_and_why() {
    let quoted = &V4[..28];
    for (kind, code, own, reason) in [
        (3, 1, [0; 4], IcmpReason::Unreachable(1)),
        (3, 3, [0; 4], IcmpReason::PortUnreachable),
        (3, 4, [0, 0, 5, 0x78], IcmpReason::TooBig(1400)),
        (3, 13, [0; 4], IcmpReason::Prohibited),
        (11, 0, [0; 4], IcmpReason::TimeExceeded),
        (11, 1, [0; 4], IcmpReason::ReassemblyTimeExceeded),
    ] {
        let found = error(icmp(kind, code, own, quoted)).expect("an error");
        assert_eq!(found.reason, reason);
        assert_eq!(found.from, IpAddr::from([192, 0, 2, 1]));
        assert_eq!(found.length, 55);
        let (transport, ends) = found.flow.expect("ports are quoted");
        assert_eq!(transport, Transport::Tcp);
        let ends = ends.map(|e| e.to_string());
        assert_eq!(ends, ["10.0.0.1:1000", "10.0.0.2:2049"]);
    }
    // An echo is no error, and a quote that is cut names nobody.
    assert_eq!(error(icmp(8, 0, [0; 4], quoted)), None);
    assert_eq!(error(icmp(3, 1, [0; 4], &quoted[..19])), None);
    let without_ports = error(icmp(3, 1, [0; 4], &quoted[..22])).expect("an error");
    assert_eq!(without_ports.flow, None);
    // ICMPv6: packet too big (RFC 4443 section 3.2).
    let six = v6(58, &join(&[&[2, 0, 0, 0, 0, 0, 5, 0], &V6]));
    let found = error(six).expect("an error");
    assert_eq!(found.reason, IcmpReason::TooBig(1280));
    assert_eq!(found.length, 75);
    assert!(found.flow.is_some());
}

#[test]
fn hosts_of_a_vlan_are_told_once_a_batch_and_not_those_in_a_tunnel() {
    let head = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01\x81\0\x20\x0a\x08\0";
    let tagged = join(&[head, &V4]);
    let tunnel = join(&[head, &outer_v4(4, &V4)]);
    let mut on = tagged.clone();
    on[18 + 8] = 63; // The time to live, a router later.
    let found = kinds(&[tagged.clone(), tagged, tunnel, on]);
    let found: Vec<Tagged> = found
        .iter()
        .filter_map(|n| match n {
            NoticeKind::Tagged(t) => Some(*t),
            _ => None,
        })
        .collect();
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(!found[0].routed && found[2].routed);
    assert_eq!(found[0].vlans, [Some(10), None]);
    let hosts = |t: &Tagged| t.hosts.map(|h| h.to_string());
    assert_eq!(hosts(&found[0]), ["10.0.0.1", "10.0.0.2"]);
    assert_eq!(hosts(&found[1]), ["192.0.2.1", "192.0.2.2"]);
    assert_eq!(found[0].hardware[1], [2, 0, 0, 0, 0, 2]);
}

/// Of one packet, by kind.
fn sums(link_type: LinkType, packet: Vec<u8>, snap: usize) -> Vec<Checksums> {
    let notices = Run::new(link_type, &[packet], snap).notices();
    let sums = notices.iter().filter_map(|n| match n.kind {
        NoticeKind::Checksums(c) => Some(c),
        _ => None,
    });
    sums.collect()
}

/// Right, unfinished, joined, wrong.
fn of(sums: &[Checksums], wanted: ChecksumOf) -> Option<[u64; 4]> {
    let found = sums.iter().find(|c| c.of == wanted);
    found.map(|c| [c.right, c.unfinished, c.joined, c.wrong])
}

const RIGHT: Option<[u64; 4]> = Some([1, 0, 0, 0]);
const UNFINISHED: Option<[u64; 4]> = Some([0, 1, 0, 0]);
const JOINED: Option<[u64; 4]> = Some([0, 0, 1, 0]);
const WRONG: Option<[u64; 4]> = Some([0, 0, 0, 1]);

fn frame(v6: bool, tcp: bool, payload: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
    let mut out = Vec::new();
    let builder = match v6 {
        false => builder.ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64),
        true => builder.ipv6([1; 16], [2; 16], 64),
    };
    match tcp {
        true => builder.tcp(1000, 2049, 7, 500).write(&mut out, payload),
        false => builder.udp(1000, 2049).write(&mut out, payload),
    }
    .expect("memory");
    out
}

/// The sum over addresses, protocol and, if wanted, length, as it is left to a card.
fn pseudo(v6: bool, protocol: u8, length: Option<usize>) -> [u8; 2] {
    let (a, b): (&[u8], &[u8]) = match v6 {
        false => (&[10, 0, 0, 1], &[10, 0, 0, 2]),
        true => (&[1; 16], &[2; 16]),
    };
    let length = (length.unwrap_or(0) as u32).to_be_bytes();
    let words = [a, b, &[0, protocol], &length].concat();
    let sum: u32 = words
        .chunks(2)
        .map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])))
        .sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    (((folded & 0xffff) + (folded >> 16)) as u16).to_be_bytes()
}

proptest! {
    #[test]
    fn checksums_are_those_of_etherparse_and_any_changed_bit_shows(
        v6 in any::<bool>(),
        tcp in any::<bool>(),
        payload in prop::collection::vec(any::<u8>(), 1..1400),
        at in any::<prop::sample::Index>(),
        bit in 0..8u8,
    ) {
        let kind = if tcp { ChecksumOf::Tcp } else { ChecksumOf::Udp };
        let ip = if v6 { 40 } else { 20 };
        let mut packet = frame(v6, tcp, &payload);
        let right = sums(ETHERNET, packet.clone(), usize::MAX);
        prop_assert_eq!(of(&right, kind), RIGHT);
        prop_assert_eq!(of(&right, ChecksumOf::Ip), (!v6).then_some([1, 0, 0, 0]));
        // A packet that was cut is not judged by what is left.
        let cut = sums(ETHERNET, packet.clone(), packet.len() - 1);
        prop_assert_eq!(of(&cut, kind), None);
        // Behind the frame may be anything.
        let mut padded = packet.clone();
        padded.extend([7; 9]);
        prop_assert_eq!(of(&sums(ETHERNET, padded, usize::MAX), kind), RIGHT);
        // As a card would get it.
        let (field, protocol) = match tcp {
            true => (14 + ip + 16, 6),
            false => (14 + ip + 6, 17),
        };
        let length = packet.len() - 14 - ip;
        for (length, cards) in [(Some(length), true), (None, true)] {
            let mut left = packet.clone();
            left[field..field + 2].copy_from_slice(&pseudo(v6, protocol, length));
            // One in some 65,000 is the right one as well.
            let said = if left == packet { RIGHT } else { UNFINISHED };
            prop_assert_eq!(of(&sums(ETHERNET, left, usize::MAX), kind), said, "{}", cards);
        }
        let start = packet.len() - payload.len();
        let at = start + at.index(payload.len());
        packet[at] ^= 1 << bit;
        // One in some 20,000 right sums is what a card would have got, or nothing.
        let sums_of = |length| pseudo(v6, protocol, length);
        let unfinished = [sums_of(Some(length)), sums_of(None), [0, 0]];
        let said = match unfinished.iter().any(|sum| packet[field..].starts_with(sum)) {
            true => UNFINISHED,
            false => WRONG,
        };
        prop_assert_eq!(of(&sums(ETHERNET, packet, usize::MAX), kind), said);
    }
}

#[test]
fn large_packets_were_joined_and_headers_of_ip_are_checked() {
    let mut large = frame(false, true, &[9; 4000]);
    let last = large.len() - 1;
    large[last] ^= 1;
    let found = sums(ETHERNET, large, usize::MAX);
    assert_eq!(of(&found, ChecksumOf::Tcp), JOINED);
    let mut header = frame(false, true, b"abc");
    header[14 + 8] = 63;
    let found = sums(ETHERNET, header, usize::MAX);
    assert_eq!(of(&found, ChecksumOf::Ip), WRONG);
    assert_eq!(of(&found, ChecksumOf::Tcp), RIGHT);
    // UDP may go without (RFC 768).
    let mut without = frame(false, false, b"abc");
    without[14 + 20 + 6..14 + 20 + 8].fill(0);
    assert_eq!(
        of(&sums(ETHERNET, without, usize::MAX), ChecksumOf::Udp),
        None
    );
}
