//! A piece: what a share is given of a batch of a file, as bytes.
//!
//! ```text
//! length:4  head, packed  the bytes of its packets
//! ```

use crate::Error;
use capture::FileSummary;
use model::{Packet, Problems, Time, Where, word};
use pack::{pack, unpack};
use serde::{Deserialize, Serialize};

/// All of it but bytes of packets. Orders are those within the files that were read together, which begin with 0.
#[derive(Serialize, Deserialize, Default, Debug)]
pub(super) struct Head {
    /// The first of these files.
    pub file: u16,
    /// Those of the share, in order; where they stand in the bytes.
    pub packets: Vec<Packet>,
    /// The order behind the batch's packets.
    pub behind: u64,
    /// Packets of whatever share behind which a [sweep](crate::sweeps) may be due.
    pub points: Vec<Point>,
    pub last: Option<Point>,
    /// Behind the last batch.
    pub end: Option<End>,
}

/// A packet as far as it is about time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Point {
    pub order: u64,
    pub time: Time,
    /// What it and the one before it agree on.
    pub reached: Time,
}

/// What is known of files once they were read.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct End {
    pub files: Vec<FileSummary>,
    pub problems: Vec<Problem>,
}

/// A kind of problem.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Problem {
    kind: String,
    damage: bool,
    count: u64,
    example: String,
    file: String,
    frame: Option<u32>,
    offset: Option<u64>,
}

impl Problem {
    pub(super) fn all(problems: &Problems) -> Vec<Problem> {
        let one = |(kind, p): (&'static str, &model::Problem)| Problem {
            kind: kind.to_owned(),
            damage: p.damage,
            count: p.count,
            example: p.example.clone(),
            file: p.first.file.clone(),
            frame: p.first.frame,
            offset: p.first.offset,
        };
        problems.iter().map(one).collect()
    }

    /// Adds these to others.
    pub(super) fn add(all: &[Problem], to: &mut Problems) {
        for p in all {
            let Some(kind) = word::known(&p.kind) else {
                continue;
            };
            to.add(kind, p.damage, p.count, || {
                let first = Where {
                    file: p.file.clone(),
                    frame: p.frame,
                    offset: p.offset,
                    ..Where::default()
                };
                (p.example.clone(), first)
            });
        }
    }
}

impl Head {
    /// With the bytes of its packets.
    pub(super) fn write(&self, bytes: &[u8]) -> Vec<u8> {
        let mut piece = vec![0; 4];
        // It fails for what has no bytes, such as maps, and there is none.
        let _ = pack(self, &mut piece);
        let length = piece.len() as u32 - 4;
        piece.splice(..4, length.to_le_bytes());
        piece.extend_from_slice(bytes);
        piece
    }

    pub(super) fn read(piece: &[u8]) -> Result<(Head, &[u8]), Error> {
        let read = || {
            let (length, rest) = piece.split_first_chunk()?;
            let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
            let (head, bytes) = rest.split_at_checked(length)?;
            let head: Head = unpack(head)?;
            let is_there = |p: &Packet| {
                let end = u64::from(p.start) + u64::from(p.captured);
                end <= bytes.len() as u64
            };
            head.packets.iter().all(is_there).then_some((head, bytes))
        };
        read().ok_or_else(super::not_ours)
    }
}
