//! Capture files of every format, compressed and not, for the readers and the whole engine.

use crate::{nfs, udp, words, write};
use flate2::Compression;
use std::io::Write;
use testkit::{ETHERNET, Format, Random, TestPacket, faults};

pub fn write_all() {
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
