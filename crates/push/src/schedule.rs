//! When to push again: after a while, and after a failure by exponential back-off with jitter, unless the answer says when
//! (OTLP 1.9, "OTLP/HTTP Throttling").

use crate::answer::Verdict;
use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The first wait after a failure; each further one doubles it.
const FIRST: Duration = Duration::from_secs(1);
/// The longest wait, where pushes are not rarer than that.
const LONGEST: Duration = Duration::from_secs(64);
/// Whoever says when to come again may not say never.
const ASKED: Duration = Duration::from_secs(3600);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Schedule {
    every: Duration,
    /// Failures in a row.
    failures: u32,
}

impl Schedule {
    pub(crate) fn new(every: Duration) -> Schedule {
        Schedule { every, failures: 0 }
    }

    /// How long to wait for the next push.
    pub(crate) fn after(&mut self, verdict: &Verdict) -> Duration {
        match verdict {
            Verdict::Taken(_) => {
                self.failures = 0;
                self.every
            }
            Verdict::Later {
                after: Some(after), ..
            } => {
                self.failures += 1;
                (*after).clamp(FIRST, ASKED)
            }
            Verdict::Later { after: None, .. } => self.back_off(),
            // The next one is another request, yet most likely refused as well.
            Verdict::Refused(_) => self.back_off().max(self.every),
        }
    }

    /// Between half of the wait and all of it, so that those who failed at once do not come at once.
    fn back_off(&mut self) -> Duration {
        let whole = FIRST * (1 << self.failures.min(16));
        self.failures += 1;
        let whole = whole.min(LONGEST.max(self.every));
        // Random for each of them.
        let random = RandomState::new().hash_one(0) >> 32;
        let half = whole / 2;
        half + half.mul_f64(random as f64 / f64::from(u32::MAX))
    }
}
