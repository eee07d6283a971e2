//! Packets that a sender's IP identifications (RFC 791) skip.
//!
//! Most hosts count them up by one for each packet of a connection; a large segment that the network
//! card cuts takes one for each piece. Where that holds, a number that was left out is a packet the
//! capture does not hold, also one without data, of which TCP itself leaves no trace.

use crate::account::segments;
use serde::{Deserialize, Serialize};

/// A step this large is another counter, not packets that are missing.
const LARGEST_STEP: i16 = 1_000;
/// Steps that are seen before anything is said, and how many in twenty must fit.
const STEPS: u32 = 20;
const FITTING_OF_20: u64 = 18;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Identifications {
    expected: Option<u16>,
    steps: u32,
    fitting: u32,
    skipped: u32,
}

/// After so long without data a sender's next shows whether its identifications went on meanwhile.
pub(crate) const SILENCE_NS: i64 = 2_000_000;

/// Silences of a sender over which its identifications went on, and over which some were skipped: over most of them they go on, unless
/// it counts for all of its connections.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Silences {
    went_on: u8,
    jumped: u8,
}

impl Silences {
    /// Another one; whether what was `skipped` had left before it or within it.
    pub(crate) fn lost(&mut self, skipped: bool) -> bool {
        let count = match skipped {
            true => &mut self.jumped,
            false => &mut self.went_on,
        };
        *count = count.saturating_add(1);
        skipped && u32::from(self.went_on) >= 3 * u32::from(self.jumped)
    }
}

impl Identifications {
    /// A packet with this identification and so many bytes of data, of full size `full_sized`. Whether some were skipped
    /// before it, where they count.
    pub(crate) fn saw(&mut self, id: u16, payload: u64, full_sized: u64) -> bool {
        let pieces = segments(payload, full_sized);
        if self.expected == Some(id) {
            // As a rule.
            self.expected = Some(id.wrapping_add(pieces as u16));
            self.steps = self.steps.saturating_add(1);
            self.fitting = self.fitting.saturating_add(1);
            return false;
        }
        self.odd(id, pieces) && self.count()
    }

    /// Whether a packet with this identification would skip some, where they count.
    pub(crate) fn skips(&self, id: u16) -> bool {
        let skipped = |expected| (1..=LARGEST_STEP).contains(&(id.wrapping_sub(expected) as i16));
        self.expected != Some(id) && self.expected.is_some_and(skipped) && self.count()
    }

    fn odd(&mut self, id: u16, pieces: u64) -> bool {
        let mut has_skipped = false;
        let next = id.wrapping_add(pieces as u16);
        if let Some(expected) = self.expected {
            self.steps = self.steps.saturating_add(1);
            match id.wrapping_sub(expected) as i16 {
                skipped @ 1..=LARGEST_STEP => {
                    let skipped = u32::from(skipped.unsigned_abs());
                    self.skipped = self.skipped.saturating_add(skipped);
                    has_skipped = true;
                }
                // It was overtaken: what was taken to be missing is here.
                late if (-LARGEST_STEP..0).contains(&late) => {
                    let found = pieces.min(late.unsigned_abs().into());
                    self.skipped = self.skipped.saturating_sub(found as u32);
                    return false;
                }
                _ => {}
            }
        }
        self.expected = Some(next);
        has_skipped
    }

    /// How many were skipped, where they count.
    pub(crate) fn skipped(&self) -> Option<u64> {
        self.count().then_some(self.skipped.into())
    }

    fn count(&self) -> bool {
        let (steps, fitting) = (u64::from(self.steps), u64::from(self.fitting));
        self.steps >= STEPS && fitting * 20 >= steps * FITTING_OF_20
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_counter_skips_is_missing() {
        let mut ids = Identifications::default();
        let mut id = 65_500_u16;
        for i in 0..100 {
            let payload = if i % 10 == 0 { 4_344 } else { 100 };
            if ![30, 31, 77].contains(&i) {
                assert_eq!(ids.skips(id), [32, 78].contains(&i), "{i}");
                ids.saw(id, payload, 1448);
            }
            id = id.wrapping_add(if i % 10 == 0 { 3 } else { 1 });
        }
        assert_eq!(ids.skipped(), Some(3 + 1 + 1));
    }

    #[test]
    fn packets_that_overtake_each_other_are_not_missing_and_random_numbers_say_nothing() {
        let mut ids = Identifications::default();
        for i in (0..100u16).step_by(10) {
            for id in [0, 1, 2, 4, 3, 5, 6, 7, 8, 9] {
                ids.saw(i + id, 10, 1448);
            }
        }
        assert_eq!(ids.skipped(), None, "one in five steps does not fit");
        let mut ids = Identifications::default();
        for i in (0..200u16).step_by(40) {
            for id in 0..40 {
                ids.saw(
                    i + [id, 21, 20][usize::from(id == 20) + 2 * usize::from(id == 21)],
                    10,
                    1448,
                );
            }
        }
        assert_eq!(ids.skipped(), Some(0));
        let mut ids = Identifications::default();
        for i in 0..300u16 {
            ids.saw(i.wrapping_mul(40_503), 10, 1448);
        }
        assert_eq!(ids.skipped(), None);
    }

    #[test]
    fn who_counts_for_all_connections_has_sent_nothing_in_a_silence() {
        let mut silences = Silences::default();
        for _ in 0..9 {
            assert!(!silences.lost(false));
        }
        let lost = [true; 4].map(|skipped| silences.lost(skipped));
        assert_eq!(lost, [true, true, true, false]);
    }
}
