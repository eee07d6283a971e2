//! Turns of unknown protocols against Wireshark's TRANSUM, which has the same rule, on captures that
//! lack nothing.

use super::capture;
use crate::kit::{file, has, slowside, text};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::process::Command;
use testkit::{Conversation, Random, TestPacket};

/// The service that TRANSUM is told of.
const PORT: u16 = 9_000;

/// First and last frame of a request and of its response.
type Frames = [u32; 4];

/// Connections of turns of any length, one after another on each, all at the same time.
fn traffic(seed: u64) -> Vec<TestPacket> {
    let mut random = Random::new(seed);
    let mut packets = Vec::new();
    for i in 0..8u16 {
        let client: SocketAddr = ([10, 0, 0, 1], 40_000 + i).into();
        let mut c = Conversation::new(client, ([10, 0, 0, 2], PORT).into());
        c.at(1_000_000_000 + i64::from(i) * 333).handshake();
        let message = |random: &mut Random| {
            let length = match random.below(4) {
                0 => 1 + random.below(20_000),
                _ => 2 + random.below(400),
            };
            vec![b'x'; length as usize]
        };
        if random.chance(500) {
            // A greeting.
            c.server(&message(&mut random)).client_ack();
        }
        for _ in 0..random.below(40) {
            c.after(random.below(3_000_000) as i64)
                .client(&message(&mut random));
            if random.chance(300) {
                c.server_ack();
            }
            for _ in 0..=random.below(3) {
                c.after(random.below(3_000_000) as i64)
                    .server(&message(&mut random));
            }
            if random.chance(300) {
                c.client_ack();
            }
        }
        c.finish();
        packets.extend(c.packets());
    }
    packets.sort_by_key(|p| p.time);
    packets
}

/// What TRANSUM makes of it; `None` where there is no tshark.
fn transum(path: &str) -> Option<BTreeSet<Frames>> {
    if !has("tshark") {
        return None;
    }
    let ports = format!("transum.tcp_port_ranges:{PORT}");
    let fields = ["firstreq", "lastreq", "firstrsp", "lastrsp"].map(|f| format!("transum.{f}"));
    let output = Command::new("tshark")
        .args(["-2", "-n", "-r", path, "--enable-protocol", "transum"])
        .args(["-o", &ports, "-T", "fields"])
        // A SYN and its answer are a pair for TRANSUM.
        .args(["-Y", "transum.status == \"OK\" && tcp.len > 0"])
        .args(fields.iter().flat_map(|f| ["-e", f]))
        .output()
        .expect("tshark runs");
    assert!(output.status.success(), "{}", text(&output.stderr));
    let pairs = text(&output.stdout);
    let numbers = |line: &str| -> Vec<u32> {
        let fields = line.split('\t');
        fields.map(|n| n.parse().expect("a frame")).collect()
    };
    let frames = |line| numbers(line).try_into().expect("four frames");
    Some(pairs.lines().map(frames).collect())
}

fn turns(path: &str) -> BTreeSet<Frames> {
    let output = slowside(["calls", path, "--where", "outcome=ok", "--format", "csv"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let rows = text(&output.stdout);
    let frames = |row: &str| {
        let columns: Vec<&str> = row.split(',').collect();
        assert_eq!(columns[1..3], ["tcp", "TURN"]);
        [6, 7, 8, 9].map(|i| columns[i].parse().expect("a frame"))
    };
    rows.lines().skip(1).map(frames).collect()
}

#[test]
fn turns_are_those_of_transum() {
    for seed in 1..6 {
        let path = file("transum", "turns.pcap", &capture(&traffic(seed)));
        let path = path.to_str().expect("a path of UTF-8");
        let Some(expected) = transum(path) else {
            return;
        };
        assert!(expected.len() > 20);
        assert_eq!(turns(path), expected);
    }
}
