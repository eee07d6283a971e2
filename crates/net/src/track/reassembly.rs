//! Segments of one direction into stream order (RFC 9293 section 3.10.7.4): what is at the front is
//! delivered by the caller without coming here; what lies beyond a hole is copied and held until the
//! hole is filled or given up. The first copy of a byte wins.

use model::{HeldSince, Mark, Time, limits};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What is remembered of a segment besides its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub mark: Mark,
    pub held_since: Option<HeldSince>,
    pub heard_all: bool,
    /// Up to where it acknowledges the other direction.
    pub heard_to: u64,
    pub peer_ended: Option<Time>,
    pub ip_id: Option<u16>,
    pub ts_value: Option<u32>,
    /// Its number among the connection's packets.
    pub packet: u64,
}

/// A run of bytes of one segment that waits for earlier ones.
#[derive(Debug)]
pub(super) struct Piece {
    pub end: u64,
    /// The captured ones of its bytes.
    pub data: Vec<u8>,
    pub origin: Origin,
}

/// What a piece takes up beside its bytes.
const PIECE_BYTES: usize = size_of::<Piece>() + 32;

/// The missing bytes before the first piece.
pub(super) struct Hole {
    pub end: u64,
    /// The segment behind it, which showed that it is there.
    pub exposed: Origin,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Reassembly {
    /// Everything before this has been delivered or given up.
    pub next: u64,
    /// Never of a connection that rests.
    #[serde(skip)]
    held: BTreeMap<u64, Piece>,
    held_bytes: usize,
}

impl Reassembly {
    pub(super) fn is_waiting(&self) -> bool {
        !self.held.is_empty()
    }

    /// What the pieces take up that wait.
    #[inline]
    pub(super) fn waiting_bytes(&self) -> usize {
        self.held_bytes + self.held.len() * PIECE_BYTES
    }

    pub(super) fn is_over_full(&self) -> bool {
        self.held.len() > limits::REORDER_SEGMENTS || self.held_bytes > limits::REORDER_BYTES
    }

    pub(super) fn hole(&self) -> Option<Hole> {
        let (&end, piece) = self.held.first_key_value()?;
        (end > self.next).then_some(Hole {
            end,
            exposed: piece.origin,
        })
    }

    /// The packet whose bytes are the next.
    pub(super) fn front(&self) -> Option<&Origin> {
        let (&start, piece) = self.held.first_key_value()?;
        (start == self.next).then_some(&piece.origin)
    }

    /// The segment that showed that bytes before `position` are missing.
    pub(super) fn exposed_after(&self, position: u64) -> Option<Origin> {
        let (_, piece) = self.held.range(position..).next()?;
        Some(piece.origin)
    }

    /// Whether any of `start..end` has neither been delivered nor is held.
    pub(super) fn lacks(&self, start: u64, end: u64) -> bool {
        self.missing_bytes(start, end) > 0
    }

    /// How many of `start..end` have neither been delivered nor are held.
    pub(super) fn missing_bytes(&self, start: u64, end: u64) -> u64 {
        let mut missing = 0;
        self.each_missing(start, end, |from, to| missing += to - from);
        missing
    }

    /// Holds the bytes of `start..end` that are not there yet. `data` is the captured ones,
    /// from `start` on.
    pub(super) fn hold(&mut self, start: u64, end: u64, data: &[u8], origin: Origin) {
        let mut missing = Vec::new();
        self.each_missing(start, end, |from, to| missing.push((from, to)));
        for (from, to) in missing {
            let (skip, stop) = ((from - start) as usize, (to - start) as usize);
            let data = data
                .get(skip..stop.min(data.len()))
                .unwrap_or_default()
                .to_vec();
            self.held_bytes += data.len();
            self.held.insert(
                from,
                Piece {
                    end: to,
                    data,
                    origin,
                },
            );
        }
    }

    fn each_missing(&self, start: u64, end: u64, mut missing: impl FnMut(u64, u64)) {
        let mut at = start.max(self.next);
        if let Some((_, piece)) = self.held.range(..=at).next_back() {
            at = at.max(piece.end);
        }
        while at < end {
            let piece = self.held.range(at..end).next();
            let stop = piece.map_or(end, |(&start, _)| start);
            if at < stop {
                missing(at, stop);
            }
            at = piece.map_or(end, |(_, piece)| piece.end);
        }
    }

    /// Takes the piece at the front, if there is one.
    pub(super) fn take_front(&mut self) -> Option<(u64, Piece)> {
        let first = self.held.first_entry()?;
        if *first.key() != self.next {
            return None;
        }
        let (start, piece) = first.remove_entry();
        self.held_bytes -= piece.data.len();
        self.next = piece.end;
        Some((start, piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PacketRef;

    fn origin() -> Origin {
        Origin {
            mark: Mark {
                time: Time(0),
                packet: PacketRef { file: 0, frame: 1 },
            },
            held_since: None,
            heard_all: true,
            heard_to: 0,
            peer_ended: None,
            ip_id: None,
            ts_value: None,
            packet: 0,
        }
    }

    fn drain(r: &mut Reassembly) -> Vec<u8> {
        std::iter::from_fn(|| r.take_front())
            .flat_map(|(_, piece)| piece.data)
            .collect()
    }

    #[test]
    fn the_first_copy_of_a_byte_wins_wherever_later_copies_overlap() {
        let mut r = Reassembly {
            next: 100,
            ..Default::default()
        };
        r.hold(102, 104, b"cd", origin());
        r.hold(106, 108, b"gh", origin());
        r.hold(100, 110, b"ABCDEFGHIJ", origin());
        r.hold(98, 104, b"------", origin());
        assert_eq!(drain(&mut r), b"ABcdEFghIJ");
        assert_eq!((r.next, r.held_bytes), (110, 0));
    }

    #[test]
    fn a_piece_cut_by_the_snap_length_keeps_its_length() {
        let mut r = Reassembly {
            next: 0,
            ..Default::default()
        };
        r.hold(4, 6, b"ef", origin());
        r.hold(0, 10, b"ab", origin());
        let lengths: Vec<_> = std::iter::from_fn(|| r.take_front())
            .map(|(start, piece)| (start, piece.end, piece.data.len()))
            .collect();
        assert_eq!(lengths, [(0, 4, 2), (4, 6, 2), (6, 10, 0)]);
    }
}
