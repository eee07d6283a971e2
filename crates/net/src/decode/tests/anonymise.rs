//! Packets with pseudonyms: checksums by etherparse, and what stays and what goes.

use super::*;
use crate::decode::anonymise::PacketAnonymiser;
use crate::{Flow, Outline};
use etherparse::{Ipv4HeaderSlice, Ipv6HeaderSlice, TcpHeader, TcpHeaderSlice};

use proptest::prelude::*;
use pseudonyms::Anonymiser;
use std::net::IpAddr;

fn names() -> Anonymiser {
    Anonymiser::new(b"a key for tests")
}

fn ethernet(ether_type: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![0, 1, 2, 3, 4, 5, 0, 6, 7, 8, 9, 10];
    frame.extend(ether_type.to_be_bytes());
    frame.extend(payload);
    frame
}

fn anonymised(link_type: LinkType, packet: &[u8]) -> Vec<u8> {
    let mut bytes = packet.to_vec();
    let names = names();
    PacketAnonymiser::new(&names).packet(link_type, &mut bytes, packet.len() as u32);
    bytes
}

/// Whether `packet` holds `part` anywhere.
fn holds(packet: &[u8], part: &[u8]) -> bool {
    packet.windows(part.len()).any(|w| w == part)
}

/// The header with the checksum that it should have.
fn checked(header: &TcpHeader, sum: Result<u16, impl std::fmt::Debug>) -> (u16, u16) {
    (header.checksum, sum.expect("a payload that fits"))
}

#[test]
fn addresses_change_and_checksums_are_right() {
    let new = anonymised(RAW, &V4);
    let ip = Ipv4HeaderSlice::from_slice(&new).expect("a header");
    assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
    assert_ne!(ip.source(), [10, 0, 0, 1]);
    assert_eq!(ip.source_addr(), names().address([10, 0, 0, 1].into()));
    assert_eq!(ip.destination_addr(), names().address([10, 0, 0, 2].into()));
    let (header, payload) = TcpHeader::from_slice(&new[20..]).expect("a header");
    assert_eq!(payload, [0; 3]);
    let (is, should) = checked(&header, header.calc_checksum_ipv4(&ip.to_header(), payload));
    assert_eq!(is, should);
    // What says how packets flow stays.
    let before = TcpHeader::from_slice(&V4[20..]).expect("a header").0;
    let flow = |h: &TcpHeader| {
        let ports = (h.source_port, h.destination_port);
        (
            ports,
            h.sequence_number,
            h.acknowledgment_number,
            h.window_size,
            h.options.clone(),
        )
    };
    assert_eq!(flow(&header), flow(&before));
}

#[test]
fn so_they_are_in_six() {
    let new = anonymised(RAW, &V6);
    let ip = Ipv6HeaderSlice::from_slice(&new)
        .expect("a header")
        .to_header();
    assert_ne!(ip.source, V6[8..24]);
    assert_eq!(ip.source[0] >> 5, V6[8] >> 5);
    let (header, payload) = TcpHeader::from_slice(&new[40..]).expect("a header");
    let (is, should) = checked(&header, header.calc_checksum_ipv6(&ip, payload));
    assert_eq!(is, should);
}

#[test]
fn tunnels_are_followed_to_the_inner_addresses() {
    let inner = ethernet(0x0800, &V4);
    let mut vxlan = vec![8, 0, 0, 0, 0, 0, 7, 0];
    vxlan.extend(&inner);
    let packet = ethernet(0x0800, &outer_v4(17, &udp(50_000, 4789, &vxlan)));
    let new = anonymised(ETHERNET, &packet);
    assert_eq!(new.len(), packet.len());
    for secret in [
        &[10, 0, 0, 1][..],
        &[10, 0, 0, 2],
        &[192, 0, 2, 1],
        &[192, 0, 2, 2],
        b"abc",
    ] {
        assert!(holds(&packet, secret), "{secret:?}");
        assert!(!holds(&new, secret), "{secret:?} in {new:?}");
    }
    let outline = |p: &[u8]| Outline::of(ETHERNET, p, p.len() as u32).expect("TCP");
    let [a, b] = outline(&packet).flow.hosts.map(|a| names().address(a));
    assert_eq!(outline(&new).flow.hosts, [a.min(b), a.max(b)]);
}

#[test]
fn no_encapsulation_keeps_an_address_or_what_was_said() {
    for (name, link_type, packet) in encapsulation::all() {
        let new = anonymised(link_type, &packet);
        for secret in [&[10, 0, 0, 1][..], &[10, 0, 0, 2], b"abc"] {
            assert!(
                holds(&packet, secret) && !holds(&new, secret),
                "{name}: {secret:?}"
            );
        }
        let flow = |p: &[u8]| Outline::of(link_type, p, p.len() as u32).expect("TCP").flow;
        let [a, b] = flow(&packet).hosts.map(|a| names().address(a));
        assert_eq!(flow(&new).hosts, [a.min(b), a.max(b)], "{name}");
    }
}

#[test]
fn what_is_neither_tcp_nor_udp_says_nothing() {
    // ARP: 10.0.0.1 asks for 10.0.0.2.
    let mut arp = vec![
        0, 1, 8, 0, 6, 4, 0, 1, 2, 2, 2, 2, 2, 2, 10, 0, 0, 1, 0, 0, 0, 0, 0, 0, 10, 0, 0, 2,
    ];
    arp.extend(b"rest");
    let new = anonymised(ETHERNET, &ethernet(0x0806, &arp));
    assert_eq!(new[14..22], arp[..8]);
    let IpAddr::V4(asked) = names().address([10, 0, 0, 2].into()) else {
        panic!("an IPv4 address");
    };
    assert_eq!(new[38..42], asked.octets());
    assert_eq!(new[42..], [0; 4]);
    // LLDP tells names of switches.
    let new = anonymised(ETHERNET, &ethernet(0x88cc, b"switch-7.bank.example"));
    assert!(new[14..].iter().all(|b| *b == 0));
    // So may ICMP, which quotes.
    let new = anonymised(RAW, &outer_v4(1, b"quoted"));
    assert_eq!(new[20..], [0; 6]);
    // And a link type that nobody knows.
    assert_eq!(anonymised(LinkType(147), b"secret"), [0; 6]);
}

/// A TCP segment of [`V4`]'s connection with this payload, `offset` bytes further on.
fn segment(offset: u32, payload: &[u8]) -> Vec<u8> {
    let mut packet = V4[..52].to_vec();
    let length = 52 + payload.len() as u16;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    packet[24..28].copy_from_slice(&(1000 + offset).to_be_bytes());
    packet.extend(payload);
    packet
}

/// An RPC call of NFS version 3, READ, with a record mark, credentials and `arguments` in all.
fn rpc_call(xid: u32, arguments: &[u8]) -> Vec<u8> {
    let mut message = Vec::new();
    for word in [
        0x8000_0000 | (40 + arguments.len() as u32),
        xid,
        0,
        2,
        100_003,
        3,
        6,
        1,
        0,
        0,
        0,
    ] {
        message.extend(word.to_be_bytes());
    }
    message.extend(arguments);
    message
}

#[test]
fn rpc_messages_keep_what_pairs_them_wherever_they_begin() {
    let names = names();
    let mut anonymiser = PacketAnonymiser::new(&names);
    let stream = [
        rpc_call(7, b"the first secret...."),
        rpc_call(8, b"the second secret..."),
    ]
    .concat();
    // The second begins in the middle of the second segment.
    let mut out = Vec::new();
    let mut at = 0;
    for end in [50, stream.len()] {
        let mut packet = segment(at as u32, &stream[at..end]);
        let length = packet.len() as u32;
        anonymiser.packet(RAW, &mut packet, length);
        out.extend_from_slice(&packet[52..]);
        at = end;
    }
    let kept = |at: usize| out[at..at + 28] == stream[at..at + 28];
    assert!(kept(0) && kept(stream.len() / 2));
    assert!(!holds(&out, b"secret"));
    // Neither flavor nor length of the credentials.
    assert_eq!(out[28..64], [0; 36]);
}

#[test]
fn a_flow_is_the_same_for_both_directions() {
    let mut back = V4;
    for (a, b, n) in [(12, 16, 4), (20, 22, 2)] {
        for i in 0..n {
            back.swap(a + i, b + i);
        }
    }
    let outline = |p: &[u8]| Outline::of(RAW, p, p.len() as u32).expect("TCP");
    let (there, back) = (outline(&V4), outline(&back));
    assert_eq!(there.flow, back.flow);
    assert_ne!(there.from_first, back.from_first);
    let fragment = Flow {
        ports: None,
        ..there.flow
    };
    assert!(!there.flow.covers(&fragment), "TCP is not fragmented");
}

#[test]
fn routes_and_options_that_hold_addresses_go() {
    let mut tcp = TcpHeader::new(1, 2, 3, 4);
    // Multipath TCP's ADD_ADDR (RFC 8684) of 10.1.2.3, in front of it a maximum segment size.
    tcp.set_options_raw(&[2, 4, 5, 0xb4, 30, 8, 0x34, 1, 10, 1, 2, 3])
        .expect("options");
    let mut packet = outer_v4(6, &tcp.to_bytes());
    // Record route (RFC 791 3.1) in front.
    packet[0] = 0x47;
    let total = packet.len() as u16 + 8;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    packet.splice(20..20, [7, 7, 8, 10, 9, 8, 7, 0]);
    let new = anonymised(RAW, &packet);
    assert!(!holds(&new, &[10, 9, 8, 7]) && !holds(&new, &[10, 1, 2, 3]));
    let header = TcpHeaderSlice::from_slice(&new[28..]).expect("a header");
    assert_eq!(header.options()[..4], [2, 4, 5, 0xb4]);
    let ip = Ipv4HeaderSlice::from_slice(&new).expect("a header");
    assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
}

proptest! {
    #[test]
    fn any_bytes_are_survived(
        link in prop::sample::select(vec![0_u16, 1, 9, 12, 51, 101, 108, 113, 147, 228, 276]),
        bytes in prop::collection::vec(any::<u8>(), 0..120),
        longer in 0..2_000_u32,
    ) {
        let names = names();
        let mut anonymiser = PacketAnonymiser::new(&names);
        let mut new = bytes.clone();
        anonymiser.packet(LinkType(link), &mut new, bytes.len() as u32 + longer);
        prop_assert_eq!(new.len(), bytes.len());
        let _ = Outline::of(LinkType(link), &bytes, bytes.len() as u32 + longer);
    }

    #[test]
    fn cut_packets_are_survived(end in 0..=110_usize, at in 0..110_usize, byte in any::<u8>()) {
        let inner = ethernet(0x0800, &V4);
        let mut packet = ethernet(0x0800, &outer_v4(17, &udp(50_000, 4789, &[&[8, 0, 0, 0, 0, 0, 7, 0][..], &inner].concat())));
        let length = packet.len() as u32;
        if let Some(place) = packet.get_mut(at) {
            *place = byte;
        }
        packet.truncate(end);
        let names = names();
        PacketAnonymiser::new(&names).packet(ETHERNET, &mut packet, length);
    }
}
