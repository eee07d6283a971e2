//! Writes the seeds: small inputs of every kind each target knows, made by hand and with `testkit`.
//! `cargo run --example seeds` in this folder; the result is the same every time.

use flate2::Compression;
use std::fs;
use std::io::Write;
use std::path::Path;
use testkit::rpc::{WRITE, record, write_call, write_reply};
use testkit::rpc::{call, error_reply, getattr_call, getattr_reply, read_call, read_reply, reply};
use testkit::{Conversation, ETHERNET, Format, Random, TestPacket, datagram, faults, fragments};

fn main() {
    readers();
    decoders();
    programmes();
    texts();
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), bytes).expect("a file");
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

/// A few NFS calls over one connection.
fn nfs() -> Vec<TestPacket> {
    let mut c = Conversation::nfs();
    c.timestamps(true).spacing(100_000).handshake();
    c.client(&record(&getattr_call(1, b"handle")))
        .after(1_000_000);
    c.server(&record(&getattr_reply(1))).client_ack();
    c.client(&record(&read_call(2, b"handle", 4_096, 2_000)));
    c.client(&record(&write_call(3, b"handle", 0, &[7; 1_800], 2)))
        .server_ack()
        .after(5_000_000);
    c.server(&record(&read_reply(2, &[9; 2_000], true)));
    c.server(&record(&error_reply(3, WRITE, 28)))
        .client_ack()
        .finish();
    c.packets()
}

/// Calls over UDP, the last in fragments.
fn udp() -> Vec<TestPacket> {
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2_049).into());
    let mut packets = vec![
        datagram(
            1_000_000_000,
            client,
            server,
            1,
            &getattr_call(5, b"handle"),
        ),
        datagram(1_002_000_000, server, client, 2, &getattr_reply(5)),
        datagram(
            1_003_000_000,
            client,
            server,
            3,
            &read_call(6, b"handle", 0, 3_000),
        ),
    ];
    let long = datagram(
        1_009_000_000,
        server,
        client,
        4,
        &read_reply(6, &[1; 3_000], false),
    );
    packets.extend(fragments(&long, 1_500, 9));
    packets
}

fn readers() {
    let packets = faults::snap(&nfs(), 110);
    for (i, format) in Format::ALL.into_iter().enumerate() {
        write(
            "pcap",
            &format!("ethernet-{i}"),
            &testkit::pcap(&packets, ETHERNET, format),
        );
        write(
            "pcapng",
            &format!("ethernet-{i}"),
            &testkit::pcapng(&packets, ETHERNET, format),
        );
    }
    // Kuznetzov's and the two Ixia variants have other headers; these are enough to know them by.
    for magic in [0xa1b2_cd34_u32, 0x1c00_01ac, 0x1c00_01ab] {
        let mut file = magic.to_le_bytes().to_vec();
        file.extend([
            2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 0, 0, 1, 0, 0, 0,
        ]);
        let ixia = magic != 0xa1b2_cd34;
        if ixia {
            file.extend([0, 1, 0, 0]);
        }
        for i in 0..4_u32 {
            for word in [1_700_000_000 + i, 5, 60, 60] {
                file.extend(word.to_le_bytes());
            }
            if !ixia {
                file.extend([0; 8]);
            }
            file.extend([i as u8; 60]);
        }
        write("pcap", &format!("magic-{magic:08x}"), &file);
    }
    for big in [false, true] {
        write(
            "pcapng",
            if big { "blocks-big" } else { "blocks-little" },
            &blocks(big),
        );
    }

    for (name, network, padding) in [("ethernet", 4_u32, 2_u32), ("fddi", 8, 0), ("ib", 26, 0)] {
        let mut file = b"snoop\0\0\0\0\0\0\x02".to_vec();
        file.extend(network.to_be_bytes());
        for (i, packet) in (0..).zip(&packets) {
            let captured = packet.bytes.len() as u32;
            let whole = 24 + captured + padding;
            for value in [
                packet.length,
                captured,
                whole,
                i / 4,
                1_700_000_000,
                i * 500,
            ] {
                file.extend(value.to_be_bytes());
            }
            file.extend(&packet.bytes);
            file.resize(file.len() + padding as usize, 0);
        }
        write("snoop", name, &file);
    }
    let mut shomiti = b"snoop\0\0\0\0\0\0\x04\0\0\0\x01".to_vec();
    for i in 0..4_u32 {
        shomiti.extend(words(&[60, 60, 24 + 60 + 20, 0, 1_700_000_000, i]));
        shomiti.extend([i as u8; 80]);
    }
    write("snoop", "shomiti", &shomiti);

    let plain = testkit::pcap(&packets, ETHERNET, Format::ALL[0]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Compression::best());
    gzip.write_all(&plain).expect("memory");
    let gzip = gzip.finish().expect("memory");
    let zstd = zstd::stream::encode_all(&plain[..], 3).expect("memory");
    let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
    lz4.write_all(&plain).expect("memory");
    let lz4 = lz4.finish().expect("memory");
    for (name, file) in [("gzip", &gzip), ("zstd", &zstd), ("lz4", &lz4)] {
        write("compressed", name, &[&[0], &file[..]].concat());
    }
    let twice = [&[0], &gzip[..], &gzip[..]].concat();
    write("compressed", "gzip-members", &twice);
    for how in 1..4 {
        for change in 0..2 {
            let input = [&[how, 130, change], &plain[..]].concat();
            write("compressed", &format!("plain-{how}-{change}"), &input);
        }
    }

    for (i, file) in [
        testkit::pcap(&nfs(), ETHERNET, Format::ALL[1]),
        testkit::pcapng(&faults::snap(&nfs(), 200), ETHERNET, Format::ALL[0]),
        testkit::pcap(&udp(), ETHERNET, Format::ALL[2]),
        testkit::pcap(&worn(), ETHERNET, Format::ALL[0]),
        gzip,
    ]
    .iter()
    .enumerate()
    {
        write("pipeline", &i.to_string(), file);
        // The number of bytes decides what is done.
        write(
            "pipeline",
            &format!("{i}-longer"),
            &[&file[..], &[0]].concat(),
        );
    }
}

/// The calls with what happens on the way.
fn worn() -> Vec<TestPacket> {
    let mut random = Random::new(3);
    let packets = faults::split(&nfs(), 500);
    let packets = faults::retransmit(&packets, 300, 30_000_000, &mut random);
    let packets = faults::lose(&packets, 100, &mut random);
    faults::snap(&faults::duplicate(&packets, 100, 1_000, &mut random), 300)
}

/// pcapng blocks of every kind, in either byte order.
fn blocks(big: bool) -> Vec<u8> {
    let word = |v: u32| {
        if big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let half = |v: u16| {
        if big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let long = |v: u64| {
        if big {
            v.to_be_bytes()
        } else {
            v.to_le_bytes()
        }
    };
    let block = |kind: u32, body: &[u8]| {
        let mut body = body.to_vec();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = word(12 + body.len() as u32);
        [&word(kind)[..], &length, &body, &length].concat()
    };
    let option = |code: u16, value: &[u8]| {
        let mut option = [half(code), half(value.len() as u16)].concat();
        option.extend(value);
        option.resize(option.len().next_multiple_of(4), 0);
        option
    };
    let packet = [3; 60];
    let section = [&word(0x1a2b_3c4d)[..], &half(1), &half(0), &[0xff; 8]].concat();
    let interface = [&half(1)[..], &[0, 0], &word(96)].concat();
    let nanoseconds = [
        &interface[..],
        &option(2, b"eth0"),
        &option(9, &[9]),
        &[0; 4],
    ]
    .concat();
    let offset = [
        &interface[..],
        &option(9, &[0x8a]),
        &option(14, &long(1_700_000_000)),
        &[0; 4],
    ];
    let lengths = [word(60), word(1_514)].concat();
    let enhanced = |interface: u32| {
        let header = [
            word(interface),
            word(0x0005_ee00),
            word(7),
            word(60),
            word(1_514),
        ]
        .concat();
        let drops = [option(4, &long(3)), option(1, b"a comment")].concat();
        [&header[..], &packet, &drops, &[0; 4]].concat()
    };
    let obsolete = [
        &half(1)[..],
        &half(2),
        &word(0x0005_ee00),
        &word(9),
        &lengths,
        &packet,
    ]
    .concat();
    let counted = [
        option(4, &long(100)),
        option(5, &long(4)),
        option(7, &long(2)),
    ]
    .concat();
    let statistics = [&word(1)[..], &word(0), &word(0), &counted, &[0; 4]].concat();
    [
        block(0x0a0d_0d0a, &section),
        block(1, &nanoseconds),
        block(1, &offset.concat()),
        block(6, &enhanced(0)),
        block(2, &obsolete),
        block(3, &[&word(1_514)[..], &packet].concat()),
        block(4, &[0; 4]),
        block(6, &enhanced(1)),
        block(5, &statistics),
        block(9, b"journal"),
        block(10, &[0; 8]),
        block(0x0bad, &[0; 8]),
        block(0x0a0d_0d0a, &section),
        block(1, &interface),
        block(6, &enhanced(0)),
    ]
    .concat()
}

/// One packet as `targets::decode` reads it.
fn packet(link_type: u16, bytes: &[u8]) -> Vec<u8> {
    let index = targets::LINK_TYPES
        .iter()
        .position(|&t| t == link_type)
        .expect("a known type");
    let length = (bytes.len() as u16).to_le_bytes();
    [&[index as u8, 0], &length[..], bytes].concat()
}

fn decoders() {
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

    streams();
}

/// A packet of `targets::rpc_tcp` or `rpc_udp`.
fn part(what: u8, bytes: &[u8]) -> Vec<u8> {
    [&[what], &(bytes.len() as u16).to_le_bytes()[..], bytes].concat()
}

fn streams() {
    const CALL: u8 = 3 << 1;
    const REPLY: u8 = CALL | 1;
    let messages = [
        (CALL, getattr_call(1, b"handle")),
        (REPLY, getattr_reply(1)),
        (CALL, read_call(2, b"handle", 0, 100)),
        (CALL, write_call(3, b"handle", 0, &[7; 200], 2)),
        (CALL, write_call(3, b"handle", 0, &[7; 200], 2)),
        (REPLY, write_reply(3, 200)),
        (REPLY, read_reply(2, &[9; 100], true)),
        (
            CALL,
            call(
                4,
                (100_003, 4),
                1,
                &compound(1, &[(53, 32), (22, 4), (38, 32), (9, 4)]),
            ),
        ),
        (
            REPLY,
            reply(
                4,
                &words(&[0, 0, 2, 53, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 22, 0]),
            ),
        ),
        (REPLY, words(&[5, 1, 1, 0, 2, 3])),
        (CALL, call(6, (100_003, 9), 1, &[])),
        (REPLY, words(&[6, 1, 0, 0, 0, 2, 2, 4])),
        (
            CALL,
            call(7, (0x4000_0001, 1), 1, &words(&[0, 1, 7, 1, 11])),
        ),
        (CALL, call(8, (300_001, 1), 5, &words(&[1, 2]))),
    ];
    let all: Vec<u8> = messages
        .iter()
        .flat_map(|(what, m)| part(*what, m))
        .collect();
    write("rpc_tcp", "records", &all);
    // The same stream in small segments, with a hole, a cut, a lost connection and two fragments.
    let bytes: Vec<u8> = messages[..7]
        .iter()
        .filter(|(w, _)| w & 1 == 0)
        .flat_map(|(_, m)| record(m))
        .collect();
    let mut pieces: Vec<u8> = bytes.chunks(37).flat_map(|piece| part(0, piece)).collect();
    write("rpc_tcp", "segments", &pieces);
    pieces.splice(80..80, [5 << 1, 30, 0]);
    pieces.extend(part(6 << 1, &[]));
    pieces.extend(part(CALL, &messages[2].1));
    pieces.extend([&part(2 << 1, &record(&messages[3].1)[..150])[..], &[100, 0]].concat());
    pieces.extend(part(CALL, &messages[0].1));
    write("rpc_tcp", "holes", &pieces);
    let (start, end) = messages[3].1.split_at(60);
    write(
        "rpc_tcp",
        "fragments",
        &[part(4 << 1, start), part(CALL, end)].concat(),
    );
    // A NULL call with AUTH_TLS (7) and its reply with the verifier "STARTTLS", then TLS records.
    let null = words(&[9, 0, 2, 100_003, 4, 0, 7, 0, 0, 0]);
    let mut start = words(&[9, 1, 0, 0, 8]);
    start.extend(b"STARTTLS\0\0\0\0");
    let mut tls = [part(CALL, &null), part(REPLY, &start)].concat();
    for (what, kind) in [
        (0, 22),
        (1, 22),
        (0, 20),
        (0, 23),
        (1, 23),
        (0, 23),
        (1, 23),
        (0, 21),
    ] {
        tls.extend(part(
            what | 0x10,
            &[&[kind, 3, 3, 0, 20][..], &[0xaa; 20]].concat(),
        ));
    }
    write("rpc_tcp", "tls", &tls);
    let joined: Vec<u8> = (0..12)
        .flat_map(|i| part(i & 1, &[&[23, 3, 3, 0, 9][..], &[0xbb; 9]].concat()))
        .collect();
    write("rpc_tcp", "tls-joined", &joined);

    let datagrams: Vec<u8> = messages
        .iter()
        .flat_map(|(what, m)| part(what & 1, m))
        .collect();
    write("rpc_udp", "messages", &datagrams);
    let cut: Vec<u8> = messages
        .iter()
        .flat_map(|(what, m)| part(what & 1 | 2, m))
        .collect();
    write("rpc_udp", "cut", &cut);

    // Who, what, step, flags; then what `what` asks for. 8: a length.
    let data = |who: u8, step: u8, length: u16| {
        [&[who, 8, step, 0x18], &length.to_le_bytes()[..]].concat()
    };
    let bare = |who: u8, flags: u8| vec![who, 128, 0, flags];
    let open = [bare(0, 2), bare(1, 0x12), bare(0, 0x10)].concat();
    let mut talk = open.clone();
    for i in 0..8 {
        talk.extend(data(i & 1, i, 700 + u16::from(i)));
    }
    let close = [bare(0, 0x11), bare(1, 0x11), bare(0, 0x10)].concat();
    write("track", "talk", &[&talk[..], &close].concat());
    write(
        "track",
        "reset",
        &[&talk[..], &bare(1, 0x14), &open, &talk].concat(),
    );
    // A hole of 1,400 bytes (1: a sequence number near the next), acknowledged, with a SACK.
    let mut lossy = [open, data(0, 2, 1_400)].concat();
    lossy.extend([0, 9, 2, 0x18, 0x78, 0x05, 0x78, 0x05]);
    lossy.extend([1, 32, 3, 0x10, 2, 1, 5, 0, 6, 0, 0, 0, 0x78, 0x05]);
    lossy.extend([0, 9, 8, 0x18, 0x10, 0xf5, 0x78, 0x05]);
    lossy.extend([1, 32, 3, 0x10, 1, 0, 0, 0]);
    lossy.extend(data(0, 11, 900));
    write("track", "lossy", &[&lossy[..], &close].concat());
    let mut random = Random::new(7);
    for i in 0..8 {
        let noise: Vec<u8> = (0..1_500).map(|_| random.draw() as u8).collect();
        write("track", &format!("noise-{i}"), &noise);
    }
}

/// A compound of these operations, each with so many bytes of arguments, all zero.
fn compound(minor: u32, operations: &[(u32, usize)]) -> Vec<u8> {
    let mut bytes = words(&[0, minor, operations.len() as u32]);
    for &(operation, arguments) in operations {
        bytes.extend(words(&[operation]));
        bytes.resize(bytes.len() + arguments, 0);
    }
    bytes
}

fn programmes() {
    let input = |which: u8, version: u8, procedure: u8, call: &[u8], reply: &[u8]| {
        let head = [which, version, procedure, 40];
        let lengths = [call.len(), 0, reply.len()]
            .map(|n| (n as u16).to_le_bytes())
            .concat();
        [&head[..], &lengths, call, reply].concat()
    };
    // Every procedure with small numbers for arguments and results.
    let call = [
        testkit::rpc::opaque(b"handle00"),
        words(&[0, 1, 2, 3, 4, 0, 0, 1, 0, 0]),
    ]
    .concat();
    let results = words(&[0, 1, 0, 1, 2, 3, 0, 0, 1, 4]);
    for (which, versions, procedures) in [
        (0, 2..4, 22),
        (1, 2..4, 5),
        (2, 1..4, 6),
        (3, 2..5, 13),
        (4, 1..5, 24),
        (5, 1..2, 7),
        (6, 1..3, 5),
    ] {
        for version in versions {
            let all = (0..procedures).flat_map(|p| input(which, version, p, &call, &results));
            write(
                "programmes",
                &format!("{which}-{version}"),
                &all.collect::<Vec<u8>>(),
            );
        }
    }
    // Every operation of NFSv4 and of its callbacks, behind a SEQUENCE.
    for (which, sequence, first, last) in [(0, 53, 3, 40), (0, 53, 40, 77), (7, 11, 3, 16)] {
        let mut all = Vec::new();
        for operation in first..last {
            let minor = if operation < 40 { 0 } else { 2 };
            let mut call = compound(minor, &[(sequence, 32), (operation, 100)]);
            if which == 7 {
                call.splice(8..8, [0; 4]);
            }
            let mut reply = words(&[0, 0, 2, sequence, 0]);
            reply.extend([0; 36]);
            reply.extend(words(&[operation, 0]));
            reply.extend([0; 60]);
            all.extend(input(which, 4, 1, &call, &reply));
        }
        write("programmes", &format!("{which}-4-{first}"), &all);
    }
}

fn texts() {
    let log = |name: &str, split: u16, text: &str| {
        write(
            "app",
            name,
            &[&split.to_le_bytes(), text.as_bytes()].concat(),
        );
    };
    log(
        "csv",
        0,
        "id,op,offset,len,t_enq_ns,t_issue_ns,t_done_ns,status\n0,WRITE,37167104,8192,1795166662233654921,1795166662233710693,1795166662240235155,8192\n1,READ,33062912,4096,1795166662233654922,,1795166662240220213,4096\n",
    );
    log(
        "csv-latency",
        0,
        "time;latency_ms;op\n1795166662.233654921;1.5;r\n12.5;0x10;\"w\"\nnan;inf;\n",
    );
    log(
        "csv-start",
        0,
        "\u{feff}\"start_ns\",\"end_ns\",op,client\r\n1,0,r,a\r\n2,,w,\"b,c\"\r\n4,9,\"re\"\"ad\",\r\n",
    );
    log(
        "fio",
        0,
        "5, 2000000, 0, 4096\n7, 1000, 1, 8192, 65536, 0\n8, 500, 2, 4096, 12288, 0x2001\n9, 500, 2\n",
    );
    log(
        "fio-epoch",
        47,
        "1795166662234, 1000000, 1, 8192, 65536, 0, 499\n1795166662239, 1000000, 0, 8192, 65536, 0, 499\n",
    );
    let mounts = "device rootfs mounted on / with fstype rootfs\ndevice fs1:/data mounted on /data with fstype nfs4 statvers=1.1\n\topts:\trw,vers=4.1\n\tage:\t100\n\tper-op statistics\n\t        NULL: 1 1 0 44 24 0 0 0 0\n\t        READ: 1000 1000 0 1 1 50 900 1000 0\n\n";
    log("mountstats", 0, mounts);
    let later = mounts
        .replace("age:\t100", "age:\t160")
        .replace("READ: 1000 1000", "READ: 1600 1603");
    log(
        "mountstats-two",
        mounts.len() as u16,
        &format!("{mounts}{later}"),
    );
    let headings = "ops/s kB/s kB/op retrans avg RTT (ms) avg exe (ms) avg queue (ms) errors";
    log(
        "nfsiostat",
        0,
        &format!(
            "Fri Nov 20\nfs1:/data mounted on /data:\n ops/s rpc bklog\n 13.8 0.0\nread: {headings}\n 13.0 207.3 15.8 1 (0.5%) 4.5 33.5 29.0 2 (1.0%)\nwrite: {headings}\n 0 0 0 0 (0%) 0 0 0 0 (0%)\n"
        ),
    );
    log(
        "nfsiostat-old",
        0,
        "a:/b mounted on /c:\nread:\n ops/s\t kB/s\t kB/op\t retrans\t avg RTT (ms)\t avg exe (ms)\n\t 11.557 \n\t356.081 \n\t 30.812 \n\t 0 (0.0%) \n\t 5.167 \n\t 5.239\n",
    );
    let mut gzip = flate2::write::GzEncoder::new(vec![0, 0], Compression::best());
    gzip.write_all(b"5, 2000000, 0, 4096\n7, 1000, 1, 8192\n")
        .expect("memory");
    write("app", "gzip", &gzip.finish().expect("memory"));

    for (i, text) in [
        "op = READ and response_time > 20ms",
        "not (op=write || OP ~ RE*) && client.port = 700",
        "protocol ~ nfs* and client = 10.0.0.0/8 or server = [fe80::1]:2049",
        "server = fe80::/10 and client ~ 10.0.0.* and client != 10.0.0.1:701",
        "id = 0x4ecb8123 and frames > 12 and request_first_ns >= 1700000000000000000",
        "wait >= 20000us and response_time < 0.03s and response_bytes > 64k and offset = 1M",
        "eof = true and stable ~ FILE* and stable = file_sync and count = 64KiB",
        "file = 0xdeadbeef or file ~ *beef or outcome = 'ok' or outcome != \"no-response\"",
        "operations = PUTFH and text = \"SEQUENCE,PUTFH,READ\" and outstanding <= 3",
        "respnse_time > 5parsecs",
        "security = krb5p or version = 3 or program != 100003 or slot < 0x10",
    ]
    .iter()
    .enumerate()
    {
        write("filter", &i.to_string(), text.as_bytes());
    }
    write("filter", "deep", &[&[b'('; 70][..], b"id=1"].concat());
}
