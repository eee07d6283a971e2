//! Capture files, compressed and not, through `capture::Capture`.

use capture::Capture;
use flate2::Compression;
use model::{Batch, Packet};
use std::io::{Cursor, Read, Write};

/// Hands out a few bytes at a time.
struct Dribble {
    bytes: Cursor<Vec<u8>>,
    step: usize,
}

impl Read for Dribble {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let n = self.step.min(into.len());
        self.bytes.read(&mut into[..n])
    }
}

/// A file's packets with their bytes.
type Packets = Vec<(Packet, Vec<u8>)>;

/// Everything a file gives, checked; `None` where it is refused.
fn read(file: &[u8], step: usize) -> Option<(Packets, Capture)> {
    let bytes = Cursor::new(file.to_vec());
    let mut capture = Capture::from_reader("f", Box::new(Dribble { bytes, step })).ok()?;
    let mut batch = Batch::default();
    let mut packets = Vec::new();
    // A number is left out behind each batch.
    let mut batches = 0;
    while capture
        .next_batch(&mut batch)
        .expect("an open reader stays open")
    {
        for packet in &batch.packets {
            let bytes = batch.bytes_of(packet);
            assert_eq!(packet.order, packets.len() as u64 + batches);
            assert_eq!(bytes.len(), packet.captured as usize);
            packets.push((*packet, bytes.to_vec()));
        }
        batches += 1;
    }
    assert!(!capture.next_batch(&mut batch).expect("the end stays"));
    let summary = capture.summary();
    let counted: u64 = summary.files.iter().map(|f| f.packets).sum();
    assert_eq!(counted, packets.len() as u64);
    Some((packets, capture))
}

/// Reads a file at once and in small pieces: how its bytes arrive makes no difference.
fn compare(file: &[u8]) {
    let step = 1 + file.len() % 61;
    match (read(file, usize::MAX), read(file, step)) {
        (None, None) => {}
        // Decompressors differ in how much of what stands before damage they give.
        (Some((_, capture)), Some(_)) if lost_in_decompression(&capture) => {}
        (Some((packets, capture)), Some((again, other))) => {
            let contents = |list: &Packets| -> Vec<_> {
                let plain = list
                    .iter()
                    .map(|(p, b)| (p.time, p.at, p.length, b.clone()));
                plain.collect()
            };
            assert_eq!(contents(&packets), contents(&again));
            assert_eq!(capture.summary(), other.summary());
            assert_eq!(capture.problems(), other.problems());
        }
        (None, Some((_, capture))) | (Some((_, capture)), None)
            if lost_in_decompression(&capture) => {}
        (whole, pieces) => {
            panic!(
                "whole: {}, in pieces: {}",
                whole.is_some(),
                pieces.is_some()
            )
        }
    }
}

fn lost_in_decompression(capture: &Capture) -> bool {
    let mut kinds = capture.problems().iter().map(|(kind, _)| kind);
    kinds.any(|kind| kind == "compressed-data-damaged")
}

pub fn pcap(data: &[u8]) {
    // The beginnings of its five magic numbers, in both byte orders.
    let magics: [[u8; 2]; 7] = [
        [0xd4, 0xc3],
        [0x4d, 0x3c],
        [0x34, 0xcd],
        [0xab, 0x01],
        [0xac, 0x01],
        [0xa1, 0xb2],
        [0x1c, 0x00],
    ];
    if magics.iter().any(|m| data.starts_with(m)) {
        compare(data);
    }
}

pub fn pcapng(data: &[u8]) {
    if data.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) {
        compare(data);
    }
}

pub fn snoop(data: &[u8]) {
    if data.starts_with(b"snoop\0\0\0") {
        compare(data);
    }
}

/// The first byte says whether the rest is a compressed file (0), or is to be compressed, and how
/// (1 to 3); the second and third then damage it.
pub fn compressed(data: &[u8]) {
    let Some((how, data)) = data.split_first() else {
        return;
    };
    let Some((&[place, change], plain)) = data.split_first_chunk().filter(|_| how % 4 != 0) else {
        return compare(data);
    };
    let mut file = match how % 4 {
        1 => {
            let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(plain)
                .and_then(|()| gzip.finish())
                .expect("memory")
        }
        2 => zstd::stream::encode_all(plain, 1).expect("memory"),
        _ => {
            let mut lz4 = lz4_flex::frame::FrameEncoder::new(Vec::new());
            lz4.write_all(plain).expect("memory");
            lz4.finish().expect("memory")
        }
    };
    if change == 0 {
        let packets = |file: &[u8]| read(file, usize::MAX).map(|(packets, _)| packets);
        // What is compressed twice is not a capture.
        let twice = matches!(plain, [0x1f, 0x8b, ..] | [0x28, 0xb5, ..] | [4, 0x22, ..])
            || matches!(plain, [0x50..=0x5f, 0x2a, ..]);
        assert!(twice || packets(&file) == packets(plain));
    } else {
        let at = usize::from(place) * file.len() / 256;
        file[at] ^= change;
    }
    compare(&file);
}
