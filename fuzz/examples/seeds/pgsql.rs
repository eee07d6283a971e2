//! Sessions of a real PostgreSQL server for `pgsql`: the payloads of `tests/databases/pgsql`, a seed for each
//! capture, behind its first startup message, which the target makes itself.

use crate::messages::part;
use crate::write;
use std::path::Path;

/// The longest input that a run makes (`-max_len`).
const LONGEST: usize = 20_000;

/// The server's port, by which directions are told.
const PORT: u16 = 15_432;

pub fn write_all() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/databases/pgsql");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("fixtures")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "pcap"))
        .collect();
    files.sort();
    for path in files {
        let bytes = std::fs::read(&path).expect("a capture");
        let name = path.file_stem().expect("a name").to_string_lossy();
        write("pgsql", &name, &seed(&bytes));
    }
}

/// The payloads of a capture of tcpdump on loopback: Ethernet, IPv4 without options, TCP.
fn seed(capture: &[u8]) -> Vec<u8> {
    let mut seed = Vec::new();
    let mut rest = &capture[24..];
    while rest.len() > 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let packet = &rest[16..16 + length];
        rest = &rest[16 + length..];
        let tcp = &packet[34..];
        let payload = &tcp[usize::from(tcp[12] >> 4) * 4..];
        let is_startup = payload.first() == Some(&0);
        if payload.is_empty() || is_startup && seed.is_empty() {
            continue;
        }
        let to_client = u16::from_be_bytes([tcp[0], tcp[1]]) == PORT;
        let next = part(u8::from(to_client), payload);
        if payload.len() < usize::from(u16::MAX) && seed.len() + next.len() <= LONGEST {
            seed.extend(next);
        }
    }
    seed
}
