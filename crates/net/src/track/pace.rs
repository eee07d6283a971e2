//! How much a sender keeps in flight while acknowledgements let it go on: its congestion window grows from round trip to round
//! trip (RFC 5681 section 3.1), what its buffer holds does not.
//!
//! Only what an acknowledgement without data released counts, next to the sender, with room in the window and no queue on the
//! way. After a loss, or where routers mark packets (RFC 3168), a congestion window may stand still as well. And where a sender
//! is not silent for much of each round trip a line may be full, and it paces what it sends.

use model::Pace;
use serde::{Deserialize, Serialize};

/// In so many round trips even a window that grows by half a segment in each has outgrown what counts as the same.
const KEPT_ROUNDS: u64 = 10;
/// Full segments by which two flights may differ that are the same.
const SAME_SEGMENTS: u64 = 2;
/// A flight that grows by half a few times may be an application's.
const GROWN: u64 = 4;
/// Shorter silences than this share of a round trip are a full line's, too.
const SILENCE_SHARE: i64 = 4;

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Paced {
    /// In flight when the run of equal flights began, and what was acknowledged then.
    flight: u64,
    since: u64,
    /// What was acknowledged when bytes were last let go.
    last: u64,
    /// The longest run, in round trips, and what was in flight in it.
    kept: (u64, u64),
    /// How often flights grew by half, and fell, and from where they grow.
    grown: u64,
    fallen: u64,
    low: u64,
    /// Bytes acknowledged while they were the same, in thousandths of the flight; and how long the sender was silent then, in
    /// thousandths of a round trip.
    same: u64,
    silent: u64,
    /// Whether anything was lost or marked.
    is_void: bool,
}

impl Paced {
    /// A segment left just after an acknowledgement of everything before `acknowledged`, after a silence; `flight` bytes had
    /// been under way before that.
    pub(super) fn released(
        &mut self,
        flight: u64,
        acknowledged: u64,
        full_sized: u64,
        silent_ns: i64,
        round_trip_ns: i64,
    ) {
        if flight == 0 || acknowledged <= self.last {
            return;
        }
        let bytes = (acknowledged - self.last).min(flight);
        self.last = acknowledged;
        if self.flight == 0 {
            (self.flight, self.since, self.low) = (flight, acknowledged, flight);
            return;
        }
        if flight.abs_diff(self.flight) > full_sized * SAME_SEGMENTS {
            // Between acknowledgements of much at once it may be lower than it was, and begins not anew.
            if flight >= self.low + self.low / 2 {
                (self.grown, self.low) = (self.grown + 1, flight);
            } else if flight < self.low {
                (self.fallen, self.low) = (self.fallen + 1, flight);
            }
            (self.flight, self.since) = (flight, acknowledged);
            return;
        }
        self.same += bytes * 1_000 / flight;
        if silent_ns > 0 && silent_ns >= round_trip_ns / SILENCE_SHARE {
            let silent = silent_ns.min(round_trip_ns).saturating_mul(1_000) / round_trip_ns.max(1);
            self.silent += silent.unsigned_abs();
        }
        let (longest, _) = self.kept;
        let rounds = (acknowledged - self.since) / self.flight;
        if rounds > longest {
            self.kept = (rounds, self.flight);
        }
    }

    /// Something was sent again, or marked on its way: what its window does from now on is another matter.
    pub(super) fn void(&mut self) {
        self.is_void = true;
    }

    /// A flight falls where it begins anew, and grows then, each time within a round trip.
    fn is_growing(&self) -> bool {
        let is_much = self.grown >= GROWN && self.grown > self.fallen;
        is_much && self.grown * 1_000 >= self.same
    }

    pub(super) fn pace(&self) -> Pace {
        let (rounds, flight) = self.kept;
        let is_kept = rounds >= KEPT_ROUNDS && self.same >= self.grown * 1_000;
        if self.is_void {
            Pace::Unknown
        } else if is_kept && self.silent >= self.same / 2 {
            Pace::Kept(flight.try_into().unwrap_or(u32::MAX))
        } else if self.is_growing() {
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

    const TRIP: i64 = 20_000_000;

    /// Messages of so many bytes, in rounds: `next` says from one flight what the next is, `burst` in what share of a round
    /// trip all of it is acknowledged.
    fn sent(messages: u64, bytes: u64, first: u64, burst: f64, next: impl Fn(u64) -> u64) -> Paced {
        let (mut paced, mut acknowledged) = (Paced::default(), 4_000_000_000);
        for _ in 0..messages {
            let (mut left, mut flight) = (bytes, first);
            while left > flight {
                // One acknowledgement for every two segments; the first comes when all others had left.
                let mut round = flight;
                let each = (TRIP as f64 * burst * (2 * MSS) as f64 / flight as f64) as i64;
                while round > 0 {
                    let silent = match round == flight {
                        true => (TRIP as f64 * (1.0 - burst)) as i64 + each,
                        false => each,
                    };
                    let acked = round.min(2 * MSS);
                    acknowledged += acked;
                    round -= acked;
                    let grown = next(flight) as i64 - flight as i64;
                    let part = grown * (flight - round) as i64 / flight as i64;
                    let between = flight.checked_add_signed(part).unwrap();
                    paced.released(between, acknowledged, MSS, silent, TRIP);
                }
                left -= flight;
                flight = next(flight);
            }
        }
        paced
    }

    #[test]
    fn a_buffer_lets_the_same_go_round_after_round() {
        let same = |f| f;
        let kept = |bytes, burst| sent(1, bytes, 20 * MSS, burst, same).pace();
        assert_eq!(kept(500_000, 0.2), Pace::Kept(28_960));
        assert_eq!(kept(8 * 20 * MSS, 0.2), Pace::Unknown, "too short");
        assert_eq!(kept(500_000, 1.0), Pace::Unknown, "a line may be full");
        let mut lossy = sent(1, 500_000, 20 * MSS, 0.2, same);
        lossy.void();
        assert_eq!(lossy.pace(), Pace::Unknown);
    }

    #[test]
    fn a_first_small_flight_says_nothing() {
        let mut paced = Paced::default();
        paced.released(MSS, 4_000_020_000, MSS, TRIP, TRIP);
        paced.released(MSS, 4_000_021_448, MSS, TRIP, TRIP);
        assert_eq!(paced.pace(), Pace::Unknown);
    }

    #[test]
    fn slow_start_doubles_it() {
        let twice = |f| f * 2;
        assert_eq!(sent(20, 300_000, 10 * MSS, 0.2, twice).pace(), Pace::Grows);
        let little = sent(1, 30_000, 10 * MSS, 0.2, twice);
        assert_eq!(little.pace(), Pace::Unknown, "too little");
    }

    #[test]
    fn a_window_that_avoids_congestion_is_not_a_buffer() {
        for first in [10, 100, 500] {
            let pace = sent(1, 100_000_000, first * MSS, 0.2, |f| f + MSS / 2).pace();
            assert!(!matches!(pace, Pace::Kept(_)), "{first}: {pace:?}");
        }
    }

    #[test]
    fn flights_that_go_up_and_down_are_neither() {
        let swing = |f| if f == 20 * MSS { 10 * MSS } else { 20 * MSS };
        let pace = sent(1, 2_000_000, 20 * MSS, 0.2, swing).pace();
        assert_eq!(pace, Pace::Unknown);
    }
}
