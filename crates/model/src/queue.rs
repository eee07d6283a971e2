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
    least_ns: i64,
}

impl Piece {
    /// How long what was sent later took at least.
    fn after(&self, sent: Time) -> i64 {
        (self.least_ns - (sent - self.last).max(0)).max(0)
    }
}

/// One direction's bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Queue {
    pieces: Vec<Piece>,
}

impl Queue {
    /// A segment that was sent no earlier than those before: its first byte took so long at least.
    pub fn add(&mut self, sent: Time, least_ns: i64) {
        if self.pieces.len() >= PIECES {
            let pairs = self.pieces.chunks(2).filter_map(|pair| {
                let (one, other) = (pair.first()?, pair.last()?);
                // What was sent between them came after the one.
                let between = one.after(other.first);
                Some(Piece {
                    first: one.first,
                    last: other.last,
                    least_ns: one.least_ns.min(other.least_ns).min(between),
                })
            });
            self.pieces = pairs.collect();
        }
        self.pieces.push(Piece {
            first: sent,
            last: sent,
            least_ns,
        });
    }

    /// How long what was sent then took at least.
    #[must_use]
    pub fn least_ns(&self, sent: Time) -> i64 {
        let begun = self.pieces.partition_point(|p| p.first < sent);
        let own = self.pieces.get(begun).filter(|p| p.first == sent);
        let before = begun.checked_sub(1).and_then(|i| self.pieces.get(i));
        own.or(before).map_or(0, |p| p.after(sent))
    }
}

/// A line that is full, before which bytes queue.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Bits of payload that pass it in a second.
    pub bps: i64,
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
        for i in 0..5 * PIECES as i64 {
            queue.add(Time(i * 10), 40 + i % 2);
        }
        assert!(queue.pieces.len() <= PIECES);
        assert_eq!(queue.least_ns(Time(15)), 30, "ten after the first of 40");
    }
}
