//! Times of a clock into how coarse it is: Windows and old systems count in steps of 1, 10 or 15.6 ms.

use model::Time;

/// Shorter steps are little against what is judged.
const COARSE_NS: i64 = 1_000_000;

/// The longest time of which all that was seen are multiples; 0 where nothing was.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Tick(i64);

impl Tick {
    /// Of a clock that tells any time.
    #[cfg(test)]
    pub(crate) const FINE: Tick = Tick(1);

    pub(crate) fn of(times: impl IntoIterator<Item = Time>) -> Tick {
        times.into_iter().fold(Tick::default(), Tick::saw)
    }

    fn saw(self, at: Time) -> Tick {
        self.and(Tick(at.0.saturating_abs()))
    }

    /// The same of both.
    pub(crate) fn and(self, other: Tick) -> Tick {
        let (mut a, mut b) = (self.0, other.0);
        // Of most captures the first few times tell.
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Tick(a)
    }

    /// By how much a time may be wrong; 0 where that does not matter.
    #[must_use]
    pub fn coarse_ns(self) -> i64 {
        match self.0 {
            COARSE_NS.. => self.0,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coarse_us(times_us: &[i64]) -> i64 {
        Tick::of(times_us.iter().map(|us| Time(us * 1_000))).coarse_ns() / 1_000
    }

    #[test]
    fn a_clock_is_as_coarse_as_all_of_its_times() {
        assert_eq!(coarse_us(&[31_250, 62_500, 109_375]), 15_625);
        assert_eq!(coarse_us(&[20_000, 50_000, 90_000]), 10_000);
        assert_eq!(coarse_us(&[20_000, 50_000, 90_001]), 0);
        assert_eq!(coarse_us(&[]), 0);
    }
}
