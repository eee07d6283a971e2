//! How much a sender keeps in flight while acknowledgements let it go on: its congestion window grows from round trip to round
//! trip (RFC 5681 section 3.1), what its buffer holds does not.
//!
//! Only what an acknowledgement released counts, next to the sender, with room in the window, nothing lost and no queue on
//! the way.

use model::Pace;
use serde::{Deserialize, Serialize};

/// In so many round trips even a window that grows by half a segment in each has outgrown what counts as the same.
const KEPT_ROUNDS: u64 = 10;
/// Full segments by which two flights may differ that are the same.
const SAME_SEGMENTS: u64 = 2;
/// Bytes must have been let go so often by what is in flight then before anything is said.
const GROWN_ROUNDS: u64 = 3;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Paced {
    /// In flight when the run of equal flights began, and what was acknowledged then.
    flight: u64,
    since: u64,
    /// What was acknowledged when bytes were last let go.
    last: u64,
    /// The longest run, in round trips, and what was in flight in it.
    kept: (u64, u64),
    /// Bytes acknowledged while flights grew, and while they were the same, in thousandths of the flight.
    grown: u64,
    same: u64,
}

impl Paced {
    /// A segment left just after an acknowledgement of everything before `acknowledged`; `flight` bytes had been under way
    /// before that.
    pub(super) fn released(&mut self, flight: u64, acknowledged: u64, full_sized: u64) {
        if flight == 0 || acknowledged <= self.last {
            return;
        }
        let same = full_sized * SAME_SEGMENTS;
        let rounds = (acknowledged - self.last).min(flight) * 1_000 / flight;
        self.last = acknowledged;
        if flight > self.flight + same || flight + same < self.flight {
            (self.flight, self.since) = (flight, acknowledged);
            self.grown += rounds;
            return;
        }
        self.same += rounds;
        let (longest, _) = self.kept;
        let rounds = (acknowledged - self.since) / self.flight.max(1);
        if rounds > longest {
            self.kept = (rounds, self.flight);
        }
    }

    pub(super) fn pace(&self) -> Pace {
        let (rounds, flight) = self.kept;
        if rounds >= KEPT_ROUNDS {
            Pace::Kept(flight.try_into().unwrap_or(u32::MAX))
        } else if self.grown >= GROWN_ROUNDS * 1_000 && self.grown > self.same {
            Pace::Grows
        } else {
            Pace::Unknown
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1_448;

    /// Messages of so many bytes, in rounds: `next` says from one flight what the next is.
    fn sent(messages: u64, bytes: u64, first: u64, next: impl Fn(u64) -> u64) -> Pace {
        let (mut paced, mut acknowledged) = (Paced::default(), 1);
        for _ in 0..messages {
            let (mut left, mut flight) = (bytes, first);
            while left > flight {
                // One acknowledgement for every two segments.
                let mut round = flight;
                while round > 0 {
                    let acked = round.min(2 * MSS);
                    acknowledged += acked;
                    round -= acked;
                    let between = flight + (next(flight) - flight) * (flight - round) / flight;
                    paced.released(between, acknowledged, MSS);
                }
                left -= flight;
                flight = next(flight);
            }
        }
        paced.pace()
    }

    #[test]
    fn a_buffer_lets_the_same_go_round_after_round() {
        assert_eq!(sent(1, 500_000, 20 * MSS, |f| f), Pace::Kept(28_960));
        assert_eq!(
            sent(1, 8 * 20 * MSS, 20 * MSS, |f| f),
            Pace::Unknown,
            "too short"
        );
    }

    #[test]
    fn slow_start_doubles_it() {
        assert_eq!(sent(20, 300_000, 10 * MSS, |f| f * 2), Pace::Grows);
        assert_eq!(
            sent(1, 30_000, 10 * MSS, |f| f * 2),
            Pace::Unknown,
            "too little"
        );
    }

    #[test]
    fn a_window_that_avoids_congestion_is_not_a_buffer() {
        for first in [10, 100, 500] {
            let pace = sent(1, 100_000_000, first * MSS, |f| f + MSS / 2);
            assert!(!matches!(pace, Pace::Kept(_)), "{first}: {pace:?}");
        }
    }
}
