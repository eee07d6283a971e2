//! Durations into percentiles, by an HDR histogram: three significant digits from a nanosecond to an
//! hour, in memory that does not follow their number.

use hdrhistogram::Histogram;

/// Longer ones count as this.
const LONGEST_NS: u64 = 3_600_000_000_000;
const DIGITS: u8 = 3;

/// Durations in nanoseconds.
#[derive(Clone, Debug)]
pub struct Latencies {
    // None only if the histogram's own bounds were refused, which they are not.
    histogram: Option<Histogram<u64>>,
    total_ns: u128,
}

/// A line of the percentile distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    pub value_ns: u64,
    /// 0 to 1.
    pub quantile: f64,
    /// Durations up to this one.
    pub count: u64,
}

impl Default for Latencies {
    fn default() -> Self {
        Latencies {
            histogram: Histogram::new_with_bounds(1, LONGEST_NS, DIGITS).ok(),
            total_ns: 0,
        }
    }
}

impl Latencies {
    pub(crate) fn add(&mut self, ns: u64) {
        let ns = ns.clamp(1, LONGEST_NS);
        if let Some(h) = &mut self.histogram {
            h.saturating_record(ns);
        }
        self.total_ns += u128::from(ns);
    }

    /// What somebody would have measured who had asked every `expected_ns`, whether an answer was
    /// there or not: an exchange that takes longer hides those that were not begun meanwhile, and
    /// each of these would have waited for the rest of it (Tene, "How NOT to measure latency").
    pub(crate) fn corrected_for(&self, expected_ns: u64) -> Latencies {
        let corrected = self
            .histogram
            .as_ref()
            .map(|h| h.clone_correct(expected_ns));
        let total = corrected
            .as_ref()
            .map_or(0.0, |h| h.mean() * h.len() as f64);
        Latencies {
            histogram: corrected,
            total_ns: total as u128,
        }
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::len)
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count() == 0
    }

    #[must_use]
    pub fn total_ns(&self) -> u64 {
        u64::try_from(self.total_ns).unwrap_or(u64::MAX)
    }

    /// 0 without durations, as everything below.
    #[must_use]
    pub fn mean_ns(&self) -> u64 {
        let count = u128::from(self.count().max(1));
        u64::try_from(self.total_ns / count).unwrap_or(u64::MAX)
    }

    #[must_use]
    pub fn min_ns(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::min)
    }

    #[must_use]
    pub fn max_ns(&self) -> u64 {
        self.histogram.as_ref().map_or(0, Histogram::max)
    }

    #[must_use]
    pub fn deviation_ns(&self) -> f64 {
        self.histogram.as_ref().map_or(0.0, Histogram::stdev)
    }

    /// The duration that the share `quantile` (0 to 1) of all does not exceed.
    #[must_use]
    pub fn quantile_ns(&self, quantile: f64) -> u64 {
        let ns = self
            .histogram
            .as_ref()
            .map_or(0, |h| h.value_at_quantile(quantile));
        // A bucket's upper end may lie beyond the longest in it.
        ns.min(self.max_ns())
    }

    /// The distribution in steps that halve the distance to 100 % five times as slowly as they
    /// could, as HdrHistogram's `.hgrm` files have it.
    #[must_use]
    pub fn points(&self) -> Vec<Point> {
        let Some(h) = &self.histogram else {
            return Vec::new();
        };
        let mut count = 0;
        h.iter_quantiles(5)
            .map(|step| {
                count += step.count_since_last_iteration();
                Point {
                    value_ns: step.value_iterated_to().min(h.max()),
                    quantile: step.quantile_iterated_to(),
                    count,
                }
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut l = Latencies::default();
        (1..=10_000).for_each(|i| l.add(i * 1_000));
        assert_eq!(l.count(), 10_000);
        assert_eq!(l.mean_ns(), 5_000_500);
        for (quantile, exact) in [(0.5, 5_000_000), (0.99, 9_900_000), (1.0, 10_000_000)] {
            let ns = l.quantile_ns(quantile);
            assert!(ns.abs_diff(exact) <= exact / 1_000, "{quantile}: {ns}");
        }
        assert_eq!(l.points().last().map(|p| p.count), Some(10_000));
    }

    #[test]
    fn a_stall_hides_the_exchanges_that_were_not_begun() {
        let mut l = Latencies::default();
        (0..99).for_each(|_| l.add(1_000_000));
        l.add(100_000_000);
        let c = l.corrected_for(1_000_000);
        // 100 ms, and the 99, 98, … 1 ms that others would have waited.
        assert_eq!(c.count(), 199);
        assert!(l.quantile_ns(0.9) < 1_100_000 && c.quantile_ns(0.9) > 70_000_000);
    }

    #[test]
    fn no_duration_is_too_short_or_too_long() {
        let mut l = Latencies::default();
        l.add(0);
        l.add(u64::MAX);
        assert_eq!(l.count(), 2);
        assert!(Latencies::default().points().iter().all(|p| p.count == 0));
        assert_eq!(Latencies::default().mean_ns(), 0);
    }
}
