//! The fixtures of MySQL, which are captures of the loopback, into streams for `mysql`.

use crate::messages::part;
use crate::write;
use std::path::Path;

const PORT: u16 = 13_306;
/// Bytes of a seed, as many as a run of the fuzzer looks at.
const LONGEST: usize = 20_000;

pub fn write_all() {
    for name in [
        "queries",
        "prepared",
        "cursors",
        "infile",
        "logons",
        "compression",
        "tls",
        "binlog",
    ] {
        let path = format!("../tests/databases/mysql/{name}.pcap.zst");
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let file = std::fs::File::open(path).expect("a fixture");
        let capture = zstd::decode_all(file).expect("zstd");
        write("mysql", name, &streams(&capture, false));
        if name == "queries" {
            write("mysql", "gaps", &streams(&capture, true));
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    let four = bytes[at..at + 4].try_into().expect("four bytes");
    u32::from_le_bytes(four) as usize
}

/// The payloads of a pcap of Ethernet and IPv4, of which some may be turned into gaps.
fn streams(capture: &[u8], gaps: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let (mut at, mut n) = (24, 0);
    while at + 16 <= capture.len() {
        let length = u32_at(capture, at + 8);
        let packet = &capture[at + 16..at + 16 + length];
        at += 16 + length;
        let ip = &packet[14..];
        let tcp = &ip[usize::from(ip[0] & 15) * 4..];
        let payload = &tcp[usize::from(tcp[12] >> 4) * 4..];
        let from = u16::from_be_bytes([tcp[0], tcp[1]]);
        let d = u8::from(from == PORT);
        n += usize::from(!payload.is_empty());
        let seed = match payload.len() {
            0 => continue,
            length if gaps && n.is_multiple_of(7) => {
                let length = (length as u16).to_le_bytes();
                vec![d | 5 << 1, length[0], length[1]]
            }
            _ => part(d, &payload[..payload.len().min(4_000)]),
        };
        if out.len() + seed.len() > LONGEST {
            break;
        }
        out.extend(seed);
    }
    out
}
