//! Round trips and what was in flight meanwhile into whether that filled a line, where no round trip shows what the
//! path takes without a queue: a capture that begins when the line is full already, and ends before it is not.
//!
//! What is in flight divided by its round trip is the rate at which it passes (Little 1961). On a path without a
//! queue round trips stay, and the rate goes with what is in flight; before a line that is full the rate stays,
//! and round trips go with what is in flight, however much that is.

use serde::{Deserialize, Serialize};

/// Fewer round trips are an accident; so many of the last ones count.
const SAMPLES: u16 = 32;

/// What is in flight has to vary by this share of it (its standard deviation), to see what that changes: a segment more
/// or less of a hundred.
const VARIED: f32 = 0.005;

/// The rate stays if it varies by no more than a third as much; from what it was known to be, by no more than that.
const STAYS: f32 = 1.0 / 3.0;
const SAME: f32 = 0.03;

/// What passes more slowly than this share of its rate does not fill it.
const FULL: f32 = 0.8;

/// The mean of the last ones, and how far they were from it: the mean square of their shares of it.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Spread {
    mean: f32,
    square: f32,
}

impl Spread {
    fn add(&mut self, value: f32, weight: f32) {
        let off = match self.mean > 0.0 {
            true => value / self.mean - 1.0,
            false => 0.0,
        };
        self.mean += (value - self.mean) * weight;
        self.square += (off * off - self.square) * weight;
    }
}

#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub(super) struct Line {
    samples: u16,
    flight: Spread,
    rate: Spread,
    /// The rate of the line when it was last shown to be full, in bytes a nanosecond; 0 before.
    known: f32,
    /// The slowest; 0 before any.
    least: f32,
}

impl Line {
    /// So many bytes were in flight when a segment was sent that was acknowledged after so long.
    pub(super) fn passed(&mut self, flight: u64, ns: i64) {
        if flight == 0 || ns <= 0 {
            return;
        }
        self.samples = self.samples.saturating_add(1).min(SAMPLES);
        let weight = 1.0 / f32::from(self.samples);
        self.flight.add(flight as f32, weight);
        let passed = flight as f32 / ns as f32;
        self.rate.add(passed, weight);
        self.least = match self.least > 0.0 {
            true => self.least.min(passed),
            false => passed,
        };
        let (flight, rate) = (self.flight.square, self.rate.square);
        let stays = flight >= VARIED * VARIED && rate <= flight * STAYS * STAYS;
        if self.samples >= SAMPLES && stays {
            self.known = self.rate.mean;
        }
    }

    /// Whether it was full whenever anything passed it, so that no round trip was without its queue.
    pub(super) fn is_never_empty(&self) -> bool {
        self.known > 0.0 && self.least >= self.known * FULL
    }

    /// Whether what is in flight passes at the rate at which it did, however much it was.
    pub(super) fn is_full(&self) -> bool {
        self.known > 0.0 && (self.rate.mean / self.known - 1.0).abs() <= SAME
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEGMENT: u64 = 1_448;

    /// From 20 to 40 segments in flight, up and down, each acknowledged after what `ns` makes of it.
    fn is_full(ns: impl Fn(u64) -> i64) -> bool {
        let mut line = Line::default();
        for i in 0..200_u64 {
            let flight = SEGMENT * (20 + (i % 40).min(40 - i % 40));
            line.passed(flight, ns(flight));
        }
        line.is_full()
    }

    #[test]
    fn one_rate_whatever_is_in_flight_is_a_line_that_is_full() {
        assert!(is_full(|flight| flight as i64 * 700));
        assert!(is_full(|flight| flight as i64 * (690 + flight as i64 % 20)));
    }

    #[test]
    fn a_round_trip_that_stays_is_no_queue() {
        assert!(!is_full(|_| 40_000_000));
        assert!(!is_full(|flight| 40_000_000 + flight as i64 % 4_000_000));
    }

    #[test]
    fn a_queue_that_is_as_long_as_the_path_is_not_told_from_others() {
        // A line would take all of it in turn: half of the round trip stays.
        assert!(!is_full(|flight| 20_000_000 + flight as i64 * 460));
    }

    #[test]
    fn nothing_is_said_where_nothing_varies_or_little_was_seen() {
        let mut line = Line::default();
        (0..200).for_each(|_| line.passed(40 * SEGMENT, 40_000_000));
        assert!(!line.is_full());
        let mut line = Line::default();
        (1..u64::from(SAMPLES))
            .for_each(|i| line.passed(SEGMENT * (10 + i), (10 + i as i64) * 1_000_000));
        assert!(!line.is_full());
        line.passed(SEGMENT * 50, 50_000_000);
        assert!(line.is_full());
    }

    #[test]
    fn a_line_that_is_known_stays_full_while_its_rate_stays() {
        let mut line = Line::default();
        (10..60).for_each(|i| line.passed(SEGMENT * i, i as i64 * 1_000_000));
        (0..200).for_each(|_| line.passed(60 * SEGMENT, 60_000_000));
        assert!(line.is_full(), "no less in flight");
        assert!(line.is_never_empty());
        (0..200).for_each(|_| line.passed(20 * SEGMENT, 30_000_000));
        assert!(!line.is_full(), "too little for it");
        assert!(!line.is_never_empty());
    }
}
