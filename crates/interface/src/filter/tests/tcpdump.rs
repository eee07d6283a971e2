//! The same packets are chosen as by tcpdump: of frames that are made here, of all kinds that expressions
//! tell apart and some that are cut, and of captures that lie beside the repository, if there are any.

use super::super::{Expression, Instruction, Layout};
use super::machine::{Packet, run};
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// As good as random, and the same in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }

    fn one<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }
}

const V4: [[u8; 4]; 3] = [[10, 1, 0, 1], [10, 1, 0, 2], [192, 168, 7, 7]];
const V6: [[u8; 16]; 2] = [
    [0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    [0xfe, 0x80, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2],
];
const PORTS: [u16; 4] = [53, 111, 2049, 40_000];
const TRANSPORTS: [u8; 6] = [1, 6, 17, 58, 132, 47];

/// A network packet with its EtherType.
fn packet(dice: &mut Dice) -> (u16, Vec<u8>) {
    let transport = dice.one(&TRANSPORTS);
    let mut behind = Vec::new();
    for _ in 0..2 {
        behind.extend(dice.one(&PORTS).to_be_bytes());
    }
    behind.extend([0; 16]);
    match dice.roll(8) {
        0..4 => {
            let options = dice.roll(3) as u8;
            let mut ip = vec![0x45 + options, 0, 0, 60, 0, 1];
            // Whole, first, and later fragments.
            ip.extend(
                dice.one(&[0x0000_u16, 0x4000, 0x2000, 0x2001, 0x0010])
                    .to_be_bytes(),
            );
            ip.extend([64, transport, 0, 0]);
            ip.extend(dice.one(&V4));
            ip.extend(dice.one(&V4));
            ip.resize(20 + 4 * usize::from(options), 1);
            ip.extend(behind);
            (0x0800, ip)
        }
        4..6 => {
            let mut ip = vec![0x60, 0, 0, 0, 0, 28];
            let fragment = dice.roll(3) == 0;
            ip.extend([if fragment { 44 } else { transport }, 64]);
            ip.extend(dice.one(&V6));
            ip.extend(dice.one(&V6));
            if fragment {
                ip.extend([transport, 0, 0, 1, 0, 0, 0, 9]);
            }
            ip.extend(behind);
            (0x86dd, ip)
        }
        6 => {
            let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 1];
            arp.extend(dice.one(&V4));
            arp.extend([0; 6]);
            arp.extend(dice.one(&V4));
            (dice.one(&[0x0806, 0x8035]), arp)
        }
        _ => (0x88cc, behind),
    }
}

fn tags(dice: &mut Dice) -> Vec<u8> {
    let mut tags = Vec::new();
    for _ in 0..dice.one(&[0, 0, 1, 1, 2]) {
        tags.extend(dice.one(&[0x8100_u16, 0x88a8, 0x9100]).to_be_bytes());
        tags.extend(dice.one(&[7_u16, 0x2007, 8]).to_be_bytes());
    }
    tags
}

/// Something that both programs take: as a person would write it, and as nobody would.
fn expression(dice: &mut Dice, vlan: bool, depth: usize) -> String {
    let end = dice.one(&["", "", "src ", "dst ", "src or dst ", "src and dst "]);
    if vlan && dice.roll(10) == 0 {
        return dice.one(&["vlan", "vlan 7", "vlan 8"]).to_owned();
    }
    match dice.roll(if depth == 0 { 8 } else { 12 }) {
        0 => dice
            .one(&[
                "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6",
            ])
            .to_owned(),
        1 => format!(
            "{end}host {}",
            dice.one(&["10.1.0.1", "192.168.7.7", "fd00::1", "10.1.0.2"])
        ),
        2 => format!(
            "{}{}",
            dice.one(&["src ", "dst "]),
            dice.one(&["10.1.0.1", "fd00::1"])
        ),
        3 => format!(
            "{end}net {}",
            dice.one(&[
                "10",
                "10.1",
                "10.1.0.0/30",
                "10.0.0.0/8",
                "0.0.0.0/0",
                "fe80::/16",
                "fd00::/127",
                "::/0",
                "192.168.7.7",
                "10.1.0.0 mask 255.255.0.0",
                "10.1.0.2/32"
            ])
        ),
        4 => format!(
            "{}{end}port {}",
            dice.one(&["", "tcp ", "udp ", "sctp "]),
            dice.one(&PORTS)
        ),
        5 => format!(
            "{}{end}portrange {}",
            dice.one(&["", "tcp "]),
            dice.one(&["53-111", "2049-2049", "112-65535", "111-53"])
        ),
        6 => format!(
            "{} {end}host {}",
            dice.one(&["ip", "arp", "rarp"]),
            dice.one(&["10.1.0.1", "10.1.0.2"])
        ),
        7 => format!("port ({} or {})", dice.one(&PORTS), dice.one(&PORTS)),
        8 => format!("not {}", expression(dice, vlan, depth - 1)),
        9 => format!("({})", expression(dice, vlan, depth - 1)),
        _ => format!(
            "{} {} {}",
            expression(dice, vlan, depth - 1),
            dice.one(&["and", "or", "&&", "||"]),
            expression(dice, vlan, depth - 1)
        ),
    }
}

/// A pcap file in which a packet's seconds are its number.
fn file(link_type: u32, packets: &[Vec<u8>]) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, link_type] {
        file.extend(u32::to_le_bytes(word));
    }
    for (number, packet) in packets.iter().enumerate() {
        for word in [number, 0, packet.len(), packet.len()] {
            file.extend((word as u32).to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// The numbers of the packets that tcpdump chooses. Without its optimizer (`-O`), which changes what becomes
/// of packets that end before a field.
fn chosen(file: &[u8], expression: &str) -> Vec<u32> {
    let mut tcpdump = Command::new("tcpdump")
        .args(["-O", "-r", "-", "-w", "-", expression])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("starts");
    let mut into = tcpdump.stdin.take().expect("piped");
    let file = file.to_vec();
    let feed = std::thread::spawn(move || {
        // Refused expressions end it early.
        let _ = into.write_all(&file);
    });
    let out = tcpdump.wait_with_output().expect("ends");
    feed.join().expect("fed");
    let said = String::from_utf8_lossy(&out.stderr);
    if said.contains("expression rejects all packets") {
        return Vec::new();
    }
    assert!(out.status.success(), "{expression}: {said}");
    records(&out.stdout)
        .into_iter()
        .map(|(number, _)| number)
        .collect()
}

/// Seconds and bytes of each packet of a little-endian pcap file.
fn records(file: &[u8]) -> Vec<(u32, &[u8])> {
    let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().expect("whole"));
    let mut found = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let captured = word(at + 8) as usize;
        found.push((word(at), &file[at + 16..at + 16 + captured]));
        at += 16 + captured;
    }
    found
}

fn program(expression: &str, layout: Layout) -> Vec<Instruction> {
    let parsed: Expression = expression
        .parse()
        .unwrap_or_else(|e| panic!("{expression}: {e}"));
    parsed
        .program(layout, 262_144, false)
        .unwrap_or_else(|e| panic!("{expression}: {e}"))
}

/// `ours` are those that tcpdump chooses.
fn agree(ours: impl Iterator<Item = u32>, file: &[u8], expression: &str) {
    let (ours, theirs): (Vec<u32>, _) = (ours.collect(), chosen(file, expression));
    let differ = |a: &[u32], b: &[u32]| a.iter().find(|n| !b.contains(n)).copied();
    let (only_ours, only_theirs) = (differ(&ours, &theirs), differ(&theirs, &ours));
    assert!(
        only_ours.is_none() && only_theirs.is_none(),
        "{expression}: packet {only_ours:?} here alone, packet {only_theirs:?} in tcpdump alone"
    );
}

/// Without tcpdump these tests say nothing; with `CI` set that is a failure.
fn no_tcpdump() -> bool {
    let missing = Command::new("tcpdump").arg("--version").output().is_err();
    assert!(
        !missing || std::env::var_os("CI").is_none(),
        "tcpdump is missing"
    );
    if missing {
        eprintln!("left out: no tcpdump");
    }
    missing
}

#[test]
fn the_same_frames_are_chosen_as_by_tcpdump() {
    if no_tcpdump() {
        return;
    }
    let mut dice = Dice(1);
    let mut frames = Vec::new();
    for _ in 0..3000 {
        let mut frame = vec![2; 12];
        frame.extend(tags(&mut dice));
        let (protocol, packet) = packet(&mut dice);
        frame.extend(protocol.to_be_bytes());
        frame.extend(packet);
        if dice.roll(10) == 0 {
            frame.truncate(dice.roll(frame.len()) + 1);
        }
        frames.push(frame);
    }
    let file = file(1, &frames);
    for _ in 0..250 {
        let expression = expression(&mut dice, true, 3);
        let program = program(&expression, Layout::Ethernet);
        let ours = (0..)
            .zip(&frames)
            .filter(|(_, frame)| {
                run(
                    &program,
                    &Packet {
                        bytes: frame,
                        ..Packet::default()
                    },
                ) > 0
            })
            .map(|(number, _)| number);
        agree(ours, &file, &expression);
    }
}

/// As of interfaces whose link header the kernel takes off; in tcpdump's file it is a cooked one.
#[test]
fn the_same_packets_are_chosen_without_their_link_header() {
    if no_tcpdump() {
        return;
    }
    let mut dice = Dice(2);
    let packets: Vec<_> = (0..2000).map(|_| packet(&mut dice)).collect();
    let cooked: Vec<_> = packets
        .iter()
        .map(|(protocol, packet)| {
            let mut frame = protocol.to_be_bytes().to_vec();
            frame.extend([0, 0, 0, 0, 0, 3, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0]);
            frame.extend(packet);
            frame
        })
        .collect();
    let file = file(276, &cooked);
    for _ in 0..150 {
        let expression = expression(&mut dice, false, 2);
        let program = program(&expression, Layout::Network);
        let ours = (0..)
            .zip(&packets)
            .filter(|(_, (protocol, bytes))| {
                run(
                    &program,
                    &Packet {
                        bytes,
                        protocol: *protocol,
                        ..Packet::default()
                    },
                ) > 0
            })
            .map(|(number, _)| number);
        agree(ours, &file, &expression);
    }
}

/// A frame whose tag the kernel took off is chosen as the same frame with its tag.
#[test]
fn behind_vlan_a_tag_that_was_taken_off_is_as_one_that_is_there() {
    let mut dice = Dice(3);
    for _ in 0..2000 {
        let expression = format!(
            "vlan {} and {}",
            dice.one(&["", "7", "8"]),
            expression(&mut dice, true, 2)
        );
        let program = program(&expression, Layout::Ethernet);
        let (outer, inner) = (dice.one(&[7_u16, 8]), tags(&mut dice));
        let (protocol, packet) = packet(&mut dice);
        let frame = |tag: Option<u16>| {
            let mut frame = vec![2; 12];
            frame.extend(tag.into_iter().flat_map(|tag| [0x81, 0x00, 0, tag as u8]));
            frame.extend(&inner);
            frame.extend(protocol.to_be_bytes());
            frame.extend(&packet);
            frame
        };
        let there = run(
            &program,
            &Packet {
                bytes: &frame(Some(outer)),
                ..Packet::default()
            },
        );
        let off = run(
            &program,
            &Packet {
                bytes: &frame(None),
                tag: Some(outer),
                ..Packet::default()
            },
        );
        assert_eq!(there, off, "{expression}");
    }
}

/// Expressions that choose some packets of real captures.
const USUAL: [&str; 9] = [
    "tcp",
    "udp port 53",
    "port 2049 or port 111",
    "host 10.0.0.1 and not arp",
    "net 192.168.0.0/16",
    "ip6",
    "icmp or icmp6 or arp",
    "portrange 1-1023",
    "vlan and tcp",
];

#[test]
fn the_same_packets_of_captures_beside_the_repository_are_chosen() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/samples");
    if no_tcpdump() {
        return;
    }
    let mut files = Vec::new();
    for folder in fs::read_dir(&folder).into_iter().flatten().flatten() {
        for file in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
            files.push(file.path());
        }
    }
    files.sort();
    let mut compared = 0;
    for path in files {
        let Ok(bytes) = fs::read(&path) else { continue };
        // pcap, little-endian, Ethernet, and no larger than is read in a moment.
        if bytes.get(..4) != Some(&[0xd4, 0xc3, 0xb2, 0xa1])
            || bytes.get(20..24) != Some(&[1, 0, 0, 0])
            || bytes.len() > 1 << 20
        {
            continue;
        }
        // Cut or damaged ones are not of interest here.
        let Ok(packets) = std::panic::catch_unwind(|| {
            records(&bytes)
                .into_iter()
                .map(|(_, packet)| packet.to_vec())
                .collect::<Vec<_>>()
        }) else {
            continue;
        };
        let file = file(1, &packets);
        for expression in USUAL {
            let program = program(expression, Layout::Ethernet);
            let ours = (0..)
                .zip(&packets)
                .filter(|(_, bytes)| {
                    run(
                        &program,
                        &Packet {
                            bytes,
                            ..Packet::default()
                        },
                    ) > 0
                })
                .map(|(number, _)| number);
            println!("{}", path.display());
            agree(ours, &file, expression);
        }
        compared += 1;
    }
    if compared == 0 {
        eprintln!("left out: no captures in {}", folder.display());
    }
}
