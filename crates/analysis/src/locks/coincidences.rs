//! Whether waits end as others let go more often than by chance.

use super::WOKEN_NS;
use crate::work::{is_of_file, says_that_it_waited};

/// Waits that end as another session asks on are beyond chance where they are so many, and so many standard
/// deviations more than chance makes.
const COINCIDENCES: u64 = 8;
const DEVIATIONS: f64 = 5.0;

/// Waits that ended as another session let go or asked on, of protocols that are known and of those that are not.
#[derive(Clone, Copy, Default, Debug)]
pub struct Coincidences {
    known: Coincidence,
    unknown: Coincidence,
}

impl Coincidences {
    pub(super) fn of_work(&mut self, work: u64) -> &mut Coincidence {
        match work {
            0 => &mut self.unknown,
            _ => &mut self.known,
        }
    }

    /// What of `locked_ns` and `chain_ns` of a call of this [work](crate::work::work_of) may have been a wait for locks, and what of it
    /// was one, with all waits known. That of a protocol that is not known is none, if it may be chance.
    #[must_use]
    pub fn judged(&self, work: u64, locked_ns: i64, chain_ns: i64) -> (i64, i64) {
        match work {
            _ if is_of_file(work) || says_that_it_waited(work) => {
                (locked_ns, chain_ns.min(locked_ns))
            }
            0 if !self.unknown.tells() => (0, 0),
            0 => (locked_ns, 0),
            _ if self.known.tells() => (locked_ns, chain_ns.min(locked_ns)),
            _ => (locked_ns, 0),
        }
    }
}

/// How often waits ended as another session let go or asked on, and how often chance makes them.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Coincidence {
    seen: u64,
    expected: f64,
    variance: f64,
}

impl Coincidence {
    /// Takes a wait of `ns` in which others asked on so many times, if it is long enough that it tells.
    pub(super) fn add(&mut self, ns: i64, others: usize, came_then: bool) {
        let share = WOKEN_NS as f64 / ns.max(1) as f64;
        if share > 0.5 {
            return;
        }
        let chance = 1.0 - (1.0 - share).powi(i32::try_from(others).unwrap_or(i32::MAX));
        self.seen += u64::from(came_then);
        self.expected += chance;
        self.variance += chance * (1.0 - chance);
    }

    /// Whether they are more than chance makes.
    pub(super) fn tells(&self) -> bool {
        let more = self.seen as f64 - self.expected;
        self.seen >= COINCIDENCES && more > DEVIATIONS * self.variance.sqrt()
    }
}
