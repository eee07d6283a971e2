//! Packets in every link layer and tunnel, and in fragments, for `decode`.

use crate::{nfs, udp, write};
use testkit::{Conversation, TestPacket, datagram, fragments};

/// One packet as `targets::decode` reads it.
fn packet(link_type: u16, bytes: &[u8]) -> Vec<u8> {
    let index = targets::LINK_TYPES
        .iter()
        .position(|&t| t == link_type)
        .expect("a known type");
    let length = (bytes.len() as u16).to_le_bytes();
    [&[index as u8, 0], &length[..], bytes].concat()
}

pub fn write_all() {
    let v4 = nfs().swap_remove(3).bytes.split_off(14);
    let (a, b) = ("[fd00::1]:1000", "[fd00::2]:2049");
    let mut c = Conversation::new(a.parse().expect("one"), b.parse().expect("one"));
    let v6 = c
        .handshake()
        .client(b"abc")
        .packets()
        .swap_remove(3)
        .bytes
        .split_off(14);
    let ethernet = |kind: u16, rest: &[u8]| [&[2; 12][..], &kind.to_be_bytes()[..], rest].concat();
    let ip = |protocol: u8, rest: &[u8]| {
        let mut ip = b"\x45\0\0\0\0\x01\0\0\x40\0\0\0\xc0\0\x02\x01\xc0\0\x02\x02".to_vec();
        ip[2..4].copy_from_slice(&(20 + rest.len() as u16).to_be_bytes());
        ip[9] = protocol;
        [&ip[..], rest].concat()
    };
    let in_udp = |port: u16, rest: &[u8]| {
        let length = (8 + rest.len() as u16).to_be_bytes();
        let header = [&[0x12, 0x34], &port.to_be_bytes()[..], &length, &[0, 0]].concat();
        ip(17, &[&header[..], rest].concat())
    };
    let frame = ethernet(0x0800, &v4);
    let frame6 = ethernet(0x86dd, &v6);
    let mut extended = v6.clone();
    extended[6] = 0;
    extended[5] += 24;
    let extensions = [
        60, 0, 1, 4, 0, 0, 0, 0, 43, 0, 1, 4, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,
    ];
    extended.splice(40..40, extensions);
    let cooked = |kind: u16| [&[0; 14][..], &kind.to_be_bytes()[..]].concat();
    let cooked2 = |kind: u16| [&kind.to_be_bytes()[..], &[0; 18]].concat();
    let pppoe = [
        &[0x11, 0, 0, 1],
        &(2 + v4.len() as u16).to_be_bytes()[..],
        &[0, 0x21],
        &v4,
    ]
    .concat();
    let kinds: Vec<(&str, u16, Vec<u8>)> = vec![
        ("ethernet", 1, frame.clone()),
        ("ethernet6", 1, frame6.clone()),
        (
            "vlan",
            1,
            ethernet(0x88a8, &[&[0, 1, 0x81, 0, 0, 2, 8, 0], &v4[..]].concat()),
        ),
        (
            "llc",
            1,
            ethernet(
                v4.len() as u16 + 8,
                &[b"\xaa\xaa\x03\0\0\0\x08\0", &v4[..]].concat(),
            ),
        ),
        (
            "llc-ip",
            1,
            ethernet(v4.len() as u16 + 3, &[b"\x06\x06\x03", &v4[..]].concat()),
        ),
        ("arp", 1, ethernet(0x0806, &[0; 28])),
        ("raw", 101, v4.clone()),
        ("extensions", 229, extended),
        ("cooked", 113, [cooked(0x0800), v4.clone()].concat()),
        (
            "cooked-llc",
            113,
            [cooked(4), b"\xaa\xaa\x03\0\0\0\x08\0".to_vec(), v4.clone()].concat(),
        ),
        ("cooked2", 276, [cooked2(0x86dd), v6.clone()].concat()),
        ("loopback", 0, [&[2, 0, 0, 0], &v4[..]].concat()),
        ("loopback-big", 108, [&[0, 0, 0, 24], &v6[..]].concat()),
        ("ppp", 9, [b"\xff\x03\0\x21", &v4[..]].concat()),
        ("ppp-short", 9, [b"\x21", &v4[..]].concat()),
        ("hdlc", 50, [b"\x0f\0\x08\0", &v4[..]].concat()),
        ("ppp-mpls", 9, [b"\x02\x81\0\0\x11\x40", &v4[..]].concat()),
        ("pppoe", 1, ethernet(0x8864, &pppoe)),
        ("pppoe-only", 51, pppoe.clone()),
        (
            "mpls",
            1,
            ethernet(0x8847, &[b"\0\0\x10\x40\0\0\x11\x40", &v4[..]].concat()),
        ),
        (
            "mpls6",
            1,
            ethernet(0x8848, &[b"\0\0\x11\x40", &v6[..]].concat()),
        ),
        (
            "pseudowire",
            1,
            ethernet(0x8847, &[b"\0\0\x11\x40\0\0\0\0", &frame[..]].concat()),
        ),
        (
            "pseudowire-bare",
            1,
            ethernet(0x8847, &[b"\0\0\x11\x40", &frame[..]].concat()),
        ),
        ("ip-in-ip", 101, ip(4, &v4)),
        (
            "gre",
            101,
            ip(
                47,
                &[b"\xb0\0\x08\0\0\0\0\0\0\0\0\x01\0\0\0\x02", &v4[..]].concat(),
            ),
        ),
        (
            "gre-ethernet",
            101,
            ip(47, &[b"\0\0\x65\x58", &frame[..]].concat()),
        ),
        (
            "erspan1",
            101,
            ip(47, &[b"\0\0\x88\xbe", &frame[..]].concat()),
        ),
        (
            "erspan2",
            101,
            ip(
                47,
                &[b"\x10\0\x88\xbe\0\0\0\x01\x10\0\0\0\0\0\0\0", &frame[..]].concat(),
            ),
        ),
        (
            "erspan3",
            101,
            ip(
                47,
                &[
                    b"\x10\0\x22\xeb\0\0\0\x01",
                    &[0; 11][..],
                    &[1; 9],
                    &frame[..],
                ]
                .concat(),
            ),
        ),
        (
            "pptp",
            101,
            ip(
                47,
                &[
                    b"\x30\x81\x88\x0b\0\x80\0\x01\0\0\0\x01\0\0\0\x02\x21",
                    &v4[..],
                ]
                .concat(),
            ),
        ),
        (
            "gre-odd",
            101,
            ip(47, &[b"\x40\x05\x08\0", &v4[..]].concat()),
        ),
        ("etherip", 101, ip(97, &[b"\x30\0", &frame[..]].concat())),
        (
            "mpls-in-ip",
            101,
            ip(137, &[b"\0\0\x11\x40", &v4[..]].concat()),
        ),
        (
            "authentication",
            101,
            ip(
                51,
                &[b"\x04\x04\0\0\0\0\0\x01\0\0\0\x02", &[0; 12][..], &v4].concat(),
            ),
        ),
        (
            "vxlan",
            101,
            in_udp(4_789, &[b"\x08\0\0\0\0\0\x05\0", &frame[..]].concat()),
        ),
        (
            "geneve",
            101,
            in_udp(
                6_081,
                &[b"\x01\0\x65\x58\0\0\x05\0\0\0\0\0", &frame6[..]].concat(),
            ),
        ),
        ("udp", 101, in_udp(53, b"abc")),
        ("icmp", 101, ip(1, &[8; 8])),
        ("unknown", 105, vec![1; 20]),
    ];
    for some in kinds.chunks(8) {
        let packets = some
            .iter()
            .flat_map(|(_, link_type, bytes)| packet(*link_type, bytes));
        let (first, ..) = some[0];
        write(
            "decode",
            &format!("{first}-and-others"),
            &packets.collect::<Vec<u8>>(),
        );
    }
    let lengthened = [
        &[0, 3, 100, 0, 5, 0],
        &60_u16.to_le_bytes()[..],
        &frame[..60],
    ]
    .concat();
    write("decode", "cut", &lengthened);
    let of = |list: &[TestPacket]| {
        list.iter()
            .flat_map(|p| packet(1, &p.bytes))
            .collect::<Vec<_>>()
    };
    let parts = of(&udp());
    write("decode", "fragments", &parts);
    let (client, server) = (a.parse().expect("one"), b.parse().expect("one"));
    let mut parts6 = fragments(&datagram(5, client, server, 0, &[5; 2_500]), 1_280, 77);
    parts6.reverse();
    write("decode", "fragments6", &of(&parts6));
    parts6.pop();
    write("decode", "fragments6-unfinished", &of(&parts6));
}
