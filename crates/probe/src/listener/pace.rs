//! The rates that all sessions share: how long the next exchange has to wait.
//!
//! A virtual schedule for exchanges and one for bytes (the generic cell rate algorithm): what comes
//! earlier than its place in the schedule waits for it. After a pause [`BURST_NS`] may come at once.

use super::Limits;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How far the schedule lags behind at most: what is let through at once after a pause.
const BURST_NS: u64 = 100_000_000;

pub(super) struct Pace {
    epoch: Instant,
    schedules: Mutex<[Schedule; 2]>,
}

/// Where the next unit has its place, nanoseconds since the epoch.
struct Schedule {
    per_second: u64,
    next_ns: u64,
}

impl Schedule {
    fn new(per_second: u64) -> Schedule {
        Schedule {
            per_second: per_second.max(1),
            next_ns: 0,
        }
    }

    /// How long `units` have to wait that come at `now_ns`.
    fn take(&mut self, units: u64, now_ns: u64) -> u64 {
        let cost = u128::from(units) * 1_000_000_000 / u128::from(self.per_second);
        let cost = u64::try_from(cost).unwrap_or(u64::MAX);
        let place = self.next_ns.max(now_ns.saturating_sub(BURST_NS));
        self.next_ns = place.saturating_add(cost);
        self.next_ns.saturating_sub(now_ns)
    }
}

impl Pace {
    pub(super) fn new(limits: &Limits, epoch: Instant) -> Pace {
        Pace {
            epoch,
            schedules: Mutex::new([
                Schedule::new(limits.rate.into()),
                Schedule::new(limits.bandwidth_bps / 8),
            ]),
        }
    }

    /// How long an exchange of so many bytes in both directions, which is there now, has to wait.
    pub(super) fn take(&self, bytes: u64, now: Instant) -> Duration {
        let now_ns = now.saturating_duration_since(self.epoch).as_nanos();
        let now_ns = u64::try_from(now_ns).unwrap_or(u64::MAX);
        let mut schedules = self
            .schedules
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let [exchanges, volume] = &mut *schedules;
        let ns = exchanges.take(1, now_ns).max(volume.take(bytes, now_ns));
        Duration::from_nanos(ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_over_any_second_and_bursts_are_bounded() {
        let mut s = Schedule::new(100);
        let mut now = 5_000_000_000;
        let mut waited = Vec::new();
        for _ in 0..110 {
            let wait = s.take(1, now);
            now += wait;
            waited.push(wait);
        }
        // A tenth of a second's worth at once, the others every 10 ms.
        assert_eq!(waited.iter().filter(|w| **w == 0).count(), 10);
        assert_eq!(now, 6_000_000_000);
    }

    #[test]
    fn large_units_wait_longer_and_nothing_overflows() {
        let mut s = Schedule::new(1_000);
        assert_eq!(s.take(2_000, 0), 2_000_000_000);
        assert_eq!(s.take(1, 0), 2_001_000_000);
        let mut least = Schedule::new(0);
        least.take(u64::MAX, u64::MAX);
        assert_eq!(least.take(1, 0), u64::MAX);
    }
}
