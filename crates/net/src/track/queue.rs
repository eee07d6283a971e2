//! Acknowledged segments into the line before which they queued: its rate, and how long they did.
//!
//! Before a line that is full, whatever is in flight passes it in turn: so many bytes take so long, again and
//! again, however many they are. One rate that keeps coming back is a line; a receiver that is late, and a line
//! that others share, have no such rate.

use super::MILLISECOND;
use super::flight::Newest;
use crate::account::Distribution;
use model::Line;
use serde::{Deserialize, Serialize};

/// Fewer samples are an accident.
const SAMPLES: u64 = 20;

/// The fastest and the slowest tenth of a line's samples lie no further apart than a quarter.
const STEADY_PERCENT: i64 = 125;

/// Before a line that others share as well there is no such rate; but so many of a hundred round trips have the queue in them.
const SHARED_PERCENT: u64 = 75;

/// A round trip so many times the shortest, and so much above it, has a queue in it.
const QUEUED_TIMES: i64 = 2;
const QUEUED_NS: i64 = 2 * MILLISECOND;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Queue {
    line: Line,
    /// The soonest acknowledgement of anything, also of what was sent alone.
    shortest_ns: i64,
    /// Bits per second.
    rates: Distribution,
    /// Round trips, with the queue in them or without.
    trips: u64,
}

impl Queue {
    /// A segment was acknowledged at once when it came, `ns` after it was sent with so many bytes in flight; anything took
    /// `shortest_ns` at least until now.
    pub(super) fn passed(&mut self, ns: i64, flight: u64, shortest_ns: i64) {
        self.shortest_ns = shortest_ns.min(ns);
        let least = &mut self.line.least_ns;
        *least = match *least {
            0 => ns,
            least => least.min(ns),
        };
        self.trips += 1;
        if self.is_queued(ns) {
            let bps = i128::from(flight) * 8_000_000_000 / i128::from(ns);
            self.rates.add(i64::try_from(bps).unwrap_or(i64::MAX));
        }
    }

    /// A segment was not acknowledged yet `ns` after it was sent.
    pub(super) fn waited(&mut self, segment: &Newest, ns: i64) {
        if !self.is_queued(ns) {
            return;
        }
        let flight = i128::from(segment.flight.max(1));
        // Its first byte did not wait for the others.
        let before = (flight - i128::from(segment.length)).max(0);
        let least = i128::from(ns) * before / flight;
        self.line.queue.add(segment.at, least as i64);
    }

    fn is_queued(&self, ns: i64) -> bool {
        let least = self.shortest_ns;
        least > 0 && ns > least.saturating_mul(QUEUED_TIMES) && ns - least > QUEUED_NS
    }

    /// Of a hundred round trips, how many had a queue in them, or a receiver that was late; of few nothing is known.
    pub(super) fn queued_percent(&self) -> Option<u8> {
        let percent = self.rates.count() * 100 / self.trips.max(1);
        u8::try_from(percent).ok().filter(|_| self.trips >= SAMPLES)
    }

    /// The line, if there is one.
    pub(super) fn finish(self) -> Option<Box<Line>> {
        let [slow, usual, fast] = [0.1, 0.5, 0.9].map(|q| self.rates.quantile(q));
        let is_steady = fast <= slow.saturating_mul(STEADY_PERCENT) / 100;
        let queued = self.rates.count();
        let is_shared = queued * 100 >= self.trips * SHARED_PERCENT;
        (queued >= SAMPLES && (is_steady || is_shared)).then(|| {
            Box::new(Line {
                bps: usual,
                is_shared: !is_steady,
                ..self.line
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Time;

    /// Segments of 1,000 bytes, each acknowledged after what `ns` makes of the bytes in flight.
    fn line(ns: impl Fn(i64) -> i64) -> Option<Box<Line>> {
        let (mut queue, mut shortest_ns) = (Queue::default(), i64::MAX);
        for i in 1..=100 {
            let flight = 1_000 * i;
            shortest_ns = shortest_ns.min(ns(flight));
            queue.passed(ns(flight), flight as u64, shortest_ns);
            let newest = Newest {
                end: flight as u64,
                at: Time(i * MILLISECOND),
                again: false,
                answers: None,
                length: 1_000,
                flight: flight as u64,
            };
            queue.waited(&newest, ns(flight));
        }
        queue.finish()
    }

    #[test]
    fn whatever_is_in_flight_passes_a_line_at_its_rate() {
        let line = line(|flight| flight * 800).unwrap();
        assert!((9_800_000..10_200_000).contains(&line.bps), "{}", line.bps);
        assert_eq!(line.least_ns, 800_000);
        let last = Time(100 * MILLISECOND);
        assert_eq!(line.queue.least_ns(last), 99_000 * 800, "behind 99 others");
    }

    #[test]
    fn a_line_that_others_fill_as_well_has_no_rate() {
        let line = line(|flight| flight * (400 + flight % 7_000 / 5)).unwrap();
        assert!(line.is_shared);
    }

    #[test]
    fn a_receiver_that_is_late_is_no_line() {
        assert!(line(|_| 40 * MILLISECOND).is_none());
        assert!(line(|flight| flight % 7_000 * 1_000 / 3).is_none());
    }

    #[test]
    fn half_of_all_that_is_late_is_counted_whoever_is_late() {
        let percent = |late: u64, of: u64| {
            let mut queue = Queue::default();
            for i in 0..of {
                let ns = if i < late { 14 * MILLISECOND } else { 1_000 };
                queue.passed(ns, 1_000, 1_000);
            }
            queue.queued_percent()
        };
        assert_eq!(percent(20, 40), Some(50));
        assert_eq!(percent(0, 40), Some(0));
        assert_eq!(percent(19, 19), None, "of few nothing is known");
    }

    #[test]
    fn a_path_that_is_just_long_is_no_line() {
        assert!(line(|flight| 100 * MILLISECOND + flight).is_none());
    }
}
