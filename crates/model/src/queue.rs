//! How long a direction's bytes took to pass and to be acknowledged, by when they were sent, in bounded memory:
//! while there are few, each acknowledged segment is a piece; then two neighbors become one with the bound of
//! both.
//!
//! Bytes that were sent later are acknowledged no sooner: that bounds what was sent between two pieces.

use crate::Time;
use serde::{Deserialize, Serialize};

/// Pieces of one direction.
const PIECES: usize = 4_096;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Piece {
    /// When the first and the last of its segments were sent.
    first: Time,
    last: Time,
    /// How long what was sent from the first to the last took at least, and the last of them.
    least_ns: i64,
    last_ns: i64,
}

impl Piece {
    /// With the next, and with what was sent between them.
    fn joined(self, next: Piece) -> Piece {
        Piece {
            first: self.first,
            last: next.last,
            least_ns: self.least_ns.min(next.least_ns).min(self.after(next.first)),
            last_ns: next.last_ns,
        }
    }

    /// How long what was sent behind it took at least.
    fn after(&self, sent: Time) -> i64 {
        (self.last_ns - (sent - self.last)).max(0)
    }
}

/// One direction's bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Queue {
    pieces: Vec<Piece>,
    /// Each piece is of two to the power of so many segments, the last of so many so far.
    doubled: u32,
    in_last: u64,
}

impl Queue {
    /// A segment that was sent no earlier than those before: its first byte took so long at least.
    pub fn add(&mut self, sent: Time, least_ns: i64) {
        let own = Piece {
            first: sent,
            last: sent,
            least_ns,
            last_ns: least_ns,
        };
        match self.pieces.last_mut() {
            Some(last) if self.in_last < 1 << self.doubled => {
                *last = last.joined(own);
                self.in_last += 1;
                return;
            }
            _ => {}
        }
        if self.pieces.len() >= PIECES {
            let pairs = self.pieces.chunks(2).filter_map(|pair| {
                let (one, other) = (pair.first()?, pair.last()?);
                Some(if pair.len() == 2 {
                    one.joined(*other)
                } else {
                    *one
                })
            });
            self.pieces = pairs.collect();
            self.doubled += 1;
        }
        self.pieces.push(own);
        self.in_last = 1;
    }

    /// How long what was sent then took at least.
    #[must_use]
    pub fn least_ns(&self, sent: Time) -> i64 {
        let begun = self.pieces.partition_point(|p| p.first < sent);
        let own = self.pieces.get(begun).filter(|p| p.first == sent);
        let before = begun.checked_sub(1).and_then(|i| self.pieces.get(i));
        own.or(before).map_or(0, |p| match p.last < sent {
            true => p.after(sent),
            false => p.least_ns,
        })
    }
}

/// A line that is full, before which bytes queue.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Bits of payload that pass it in a second, as a rule.
    pub bps: i64,
    /// That changes: others' bytes pass it as well.
    pub is_shared: bool,
    /// The soonest acknowledgement that was seen.
    pub least_ns: i64,
    pub queue: Queue,
}

impl Line {
    /// How long what was sent then waited for what was sent before it, at least.
    #[must_use]
    pub fn waited_ns(&self, sent: Time) -> i64 {
        (self.queue.least_ns(sent) - self.least_ns).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_later_is_acknowledged_no_sooner() {
        let mut queue = Queue::default();
        queue.add(Time(100), 40);
        queue.add(Time(200), 60);
        let least = |at| queue.least_ns(Time(at));
        assert_eq!(
            [99, 100, 110, 150, 200, 230, 300].map(least),
            [0, 40, 30, 0, 60, 30, 0]
        );
    }

    #[test]
    fn joined_pieces_keep_bounds() {
        let mut queue = Queue::default();
        for i in 0..3 * PIECES as i64 {
            queue.add(Time(i * 10), 40 + i % 2);
        }
        assert!(queue.pieces.len() <= PIECES);
        let (early, late) = (
            queue.least_ns(Time(15)),
            queue.least_ns(Time(30 * PIECES as i64)),
        );
        assert_eq!(
            (early, late),
            (30, 31),
            "among joined ones, behind the last"
        );
    }
}
