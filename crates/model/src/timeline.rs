//! What a direction's time went to, one piece of time after another, in bounded memory: while there are
//! few, each stretch of one class is a piece; then two neighbors become one with the time of both, so that
//! of what is said of a stretch of time only bounds are known at its edges, but the sums stay.

use crate::{PerClass, Time, TimeClass};
use serde::{Deserialize, Serialize};

/// Pieces of one direction.
const PIECES: usize = 1_024;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Piece {
    first: Time,
    until: Time,
    time_ns: PerClass<i64>,
}

/// One direction's time.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Timeline {
    pieces: Vec<Piece>,
}

impl Timeline {
    /// The next stretch, not before the one before it ends.
    pub fn add(&mut self, class: TimeClass, first: Time, until: Time) {
        if self.pieces.len() >= PIECES {
            self.halve();
        }
        let mut time_ns = PerClass::of(0);
        time_ns[class] = (until - first).max(0);
        self.pieces.push(Piece {
            first,
            until,
            time_ns,
        });
    }

    fn halve(&mut self) {
        let pairs = self.pieces.chunks(2).filter_map(|pair| {
            let (one, other) = (pair.first()?, pair.last()?);
            let mut both = *one;
            if pair.len() == 2 {
                both.until = other.until;
                for class in TimeClass::ALL {
                    both.time_ns[class] = both.time_ns[class].saturating_add(other.time_ns[class]);
                }
            }
            Some(both)
        });
        self.pieces = pairs.collect();
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// What of each class lies between two moments, at least and at most: of a piece at an edge nobody knows
    /// which part lies inside.
    #[must_use]
    pub fn between(&self, from: Time, to: Time) -> [PerClass<i64>; 2] {
        let [mut least, mut most] = [PerClass::<i64>::default(); 2];
        let begin = self.pieces.partition_point(|p| p.until <= from);
        let inside = self.pieces.iter().skip(begin);
        for piece in inside.take_while(|p| p.first < to) {
            let whole = (piece.until - piece.first).max(0);
            let part = (piece.until.min(to) - piece.first.max(from)).clamp(0, whole);
            for (class, &ns) in piece.time_ns.iter().filter(|(_, ns)| **ns > 0) {
                least[class] = least[class].saturating_add((ns - (whole - part)).max(0));
                most[class] = most[class].saturating_add(ns.min(part));
            }
        }
        [least, most]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_are_found_again_and_edges_are_shared() {
        let mut timeline = Timeline::default();
        timeline.add(TimeClass::Transfer, Time(0), Time(100));
        timeline.add(TimeClass::Idle, Time(100), Time(300));
        for part in timeline.between(Time(50), Time(150)) {
            assert_eq!((part[TimeClass::Transfer], part[TimeClass::Idle]), (50, 50));
        }
        assert_eq!(timeline.between(Time(400), Time(500)), [PerClass::of(0); 2]);
    }

    #[test]
    fn sums_stay_whatever_is_joined() {
        let mut timeline = Timeline::default();
        let many = PIECES as i64 * 5;
        for i in 0..many {
            let class = match i % 2 {
                0 => TimeClass::Transfer,
                _ => TimeClass::Idle,
            };
            timeline.add(class, Time(i * 10), Time(i * 10 + 10));
        }
        assert!(timeline.pieces.len() <= PIECES);
        for all in timeline.between(Time(0), Time(many * 10)) {
            assert_eq!(all[TimeClass::Transfer], many * 5);
        }
        let half = timeline.between(Time(0), Time(many * 5));
        assert!(half.map(|sum| (sum[TimeClass::Idle] - many * 5 / 2).abs() < 100) == [true; 2]);
        // Of one stretch in a piece of several nobody knows where in it that class was.
        let [least, most] = timeline.between(Time(10), Time(20));
        assert_eq!((least[TimeClass::Idle], most[TimeClass::Idle]), (0, 10));
    }
}
