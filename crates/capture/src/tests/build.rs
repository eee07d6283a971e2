//! Capture files as bytes, and what reading them gives.

use crate::{Capture, CaptureError};
use model::{Batch, Packet, Problem};
use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A second of 2023, in which the packets of most tests stand.
pub(super) const SECOND: u32 = 1_700_000_000;

/// A little-endian pcap file header: microseconds, snap length, Ethernet.
pub(super) fn pcap_header(snaplen: u32) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend(snaplen.to_le_bytes());
    file.extend([1, 0, 0, 0]);
    file
}

/// A little-endian pcap record; the packet's bytes are `byte`, repeated.
pub(super) fn pcap_record(
    seconds: u32,
    micros: u32,
    captured: u32,
    length: u32,
    byte: u8,
) -> Vec<u8> {
    let mut record = Vec::new();
    for word in [seconds, micros, captured, length] {
        record.extend(word.to_le_bytes());
    }
    record.resize(16 + captured as usize, byte);
    record
}

/// A pcap file with one packet of 60 bytes at each of these microseconds after [`SECOND`].
pub(super) fn pcap(micros: &[u32]) -> Vec<u8> {
    let mut file = pcap_header(65_535);
    for (i, &micros) in micros.iter().enumerate() {
        let (seconds, micros) = (SECOND + micros / 1_000_000, micros % 1_000_000);
        file.extend(pcap_record(seconds, micros, 60, 60, i as u8));
    }
    file
}

/// A pcapng block of these words, in either byte order.
pub(super) fn block(big: bool, kind: u32, body: &[u8]) -> Vec<u8> {
    let length = word(big, 12 + body.len() as u32);
    [&word(big, kind)[..], &length, body, &length].concat()
}

pub(super) fn word(big: bool, value: u32) -> [u8; 4] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

pub(super) fn half(big: bool, value: u16) -> [u8; 2] {
    if big {
        value.to_be_bytes()
    } else {
        value.to_le_bytes()
    }
}

/// A section header block, version 1.0, of unknown length.
pub(super) fn section(big: bool) -> Vec<u8> {
    let mut body = word(big, 0x1a2b_3c4d).to_vec();
    body.extend(half(big, 1));
    body.extend(half(big, 0));
    body.extend([0xff; 8]);
    block(big, 0x0a0d_0d0a, &body)
}

/// An interface description block.
pub(super) fn interface(big: bool, link_type: u16, snaplen: u32, options: &[u8]) -> Vec<u8> {
    let mut body = half(big, link_type).to_vec();
    body.extend([0, 0]);
    body.extend(word(big, snaplen));
    body.extend(options);
    block(big, 1, &body)
}

/// An option, padded.
pub(super) fn option(big: bool, code: u16, value: &[u8]) -> Vec<u8> {
    let mut option = [half(big, code), half(big, value.len() as u16)].concat();
    option.extend(value);
    option.resize(option.len().next_multiple_of(4), 0);
    option
}

/// An enhanced packet block.
pub(super) fn enhanced(big: bool, interface: u32, ticks: u64, data: &[u8], length: u32) -> Vec<u8> {
    let mut body = Vec::new();
    for value in [
        interface,
        (ticks >> 32) as u32,
        ticks as u32,
        data.len() as u32,
        length,
    ] {
        body.extend(word(big, value));
    }
    body.extend(data);
    body.resize(body.len().next_multiple_of(4), 0);
    block(big, 6, &body)
}

/// A reader that gives a few bytes at a time.
pub(super) struct Dribble {
    pub(super) bytes: Cursor<Vec<u8>>,
    pub(super) step: usize,
}

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.step.min(into.len());
        self.bytes.read(&mut into[..n])
    }
}

/// Everything a capture gives.
pub(super) struct Whole {
    pub(super) packets: Vec<Packet>,
    pub(super) bytes: Vec<Vec<u8>>,
    pub(super) capture: Capture,
}

impl Whole {
    pub(super) fn all(mut capture: Capture) -> Whole {
        let mut batch = Batch::default();
        let (mut packets, mut bytes) = (Vec::new(), Vec::new());
        let mut batches = 0;
        while capture.next_batch(&mut batch).unwrap() {
            for packet in &batch.packets {
                assert_eq!(packet.order, packets.len() as u64 + batches);
                assert_eq!(batch.bytes_of(packet).len(), packet.captured as usize);
                packets.push(*packet);
                bytes.push(batch.bytes_of(packet).to_vec());
            }
            batches += 1;
        }
        assert!(!capture.next_batch(&mut batch).unwrap(), "the end stays");
        Whole {
            packets,
            bytes,
            capture,
        }
    }

    pub(super) fn of(bytes: &[u8]) -> Whole {
        Whole::all(open(bytes).unwrap())
    }

    pub(super) fn times(&self) -> Vec<i64> {
        self.packets.iter().map(|p| p.time.0).collect()
    }

    /// Microseconds after [`SECOND`].
    pub(super) fn micros(&self) -> Vec<i64> {
        let since = |t: i64| t / 1_000 - i64::from(SECOND) * 1_000_000;
        self.times().into_iter().map(since).collect()
    }

    pub(super) fn problem(&self, kind: &str) -> Problem {
        let mut problems = self.capture.problems().iter();
        match problems.find(|&(k, _)| k == kind) {
            Some((_, problem)) => problem.clone(),
            None => panic!("no {kind} in {:?}", self.capture.problems()),
        }
    }

    pub(super) fn kinds(&self) -> Vec<&'static str> {
        self.capture.problems().iter().map(|(k, _)| k).collect()
    }
}

pub(super) fn open(bytes: &[u8]) -> Result<Capture, CaptureError> {
    Capture::from_reader("t", Box::new(Cursor::new(bytes.to_vec())))
}

pub(super) fn error(bytes: &[u8]) -> String {
    open(bytes).err().unwrap().to_string()
}

/// A directory that is removed with its files.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new() -> Folder {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("slowside-capture-{}-{n}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub(super) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let removed = fs::remove_dir_all(&self.0);
        assert!(removed.is_ok() || std::thread::panicking());
    }
}

/// The file name of a path within a problem or summary.
pub(super) fn base(name: &str) -> String {
    let base = Path::new(name).file_name().unwrap();
    base.to_string_lossy().into_owned()
}
