//! Counts, sums and quantiles of durations, in memory that does not grow with the number of calls.
//!
//! Up to [`EXACT`] samples are kept and quantiles are exact (type 1: the smallest sample of which at
//! least the fraction q is not larger). Beyond that a log-linear histogram takes over: values below
//! 128 ns are exact, larger ones fall into one of 128 buckets per power of two, so that a quantile is
//! at most 0.8 % too large or small. Both merge in any order to the same result.

/// Samples kept exactly. 4,096 integers take 32 KiB a group; p99.9 needs 3,000 samples to mean
/// anything, so every quantile that is printed for a group this small is exact.
pub(crate) const EXACT: usize = 4096;

/// Buckets per power of two, as a power of two: 2^-7 = 0.8 % relative width.
const PRECISION: u32 = 7;
/// Values from 2^44 ns (nearly five hours) on share the last bucket; the exact maximum is kept apart.
const POWERS: u32 = 44;
const BUCKETS: usize = ((POWERS - PRECISION + 1) << PRECISION) as usize;

/// Durations in nanoseconds; negative ones (packets in the wrong order) count as 0 in quantiles.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    count: u64,
    total: i128,
    min: i64,
    max: i64,
    samples: Vec<i64>,
    buckets: Vec<u64>,
}

/// `[upper bound in ns, count]` by powers of two: a sample is below its upper bound, and not below
/// half of it.
pub type Histogram = Vec<(i64, u64)>;

/// What is printed of a distribution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    pub count: u64,
    pub total_ns: i64,
    pub mean_ns: i64,
    pub min_ns: i64,
    pub p50_ns: i64,
    pub p90_ns: i64,
    pub p95_ns: i64,
    pub p99_ns: i64,
    pub p999_ns: i64,
    pub max_ns: i64,
    /// Whether quantiles come from samples, not from buckets of 0.8 % width.
    pub exact: bool,
}

impl Summary {
    /// Samples needed to see anything beyond the quantile with 95 % chance: ln 0.05 / ln q.
    pub const P90_NEEDS: u64 = 29;
    pub const P95_NEEDS: u64 = 59;
    pub const P99_NEEDS: u64 = 299;
    pub const P999_NEEDS: u64 = 2995;
}

fn bucket(ns: i64) -> usize {
    let v = ns.max(0) as u64;
    if v < 1 << PRECISION {
        return v as usize;
    }
    let power = 63 - v.leading_zeros();
    let within = (v >> (power - PRECISION)) - (1 << PRECISION);
    let index = ((power - PRECISION + 1) << PRECISION) as usize + within as usize;
    index.min(BUCKETS - 1)
}

/// The middle of a bucket.
fn value(bucket: usize) -> i64 {
    let bucket = bucket as u64;
    if bucket < 1 << PRECISION {
        return bucket as i64;
    }
    let power = (bucket >> PRECISION) as u32 + PRECISION - 1;
    let within = bucket & ((1 << PRECISION) - 1);
    let width = 1u64 << (power - PRECISION);
    ((1 << power) + within * width + width / 2) as i64
}

/// A few samples that make most of the sum of all, and the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FewLong {
    pub count: u64,
    pub total_ns: i64,
    pub others: u64,
    pub others_ns: i64,
}

impl FewLong {
    /// What each of them takes on average, and each of the others.
    #[must_use]
    pub fn each_ns(&self) -> [i64; 2] {
        let each = |ns: i64, n: u64| ns / n.max(1) as i64;
        [
            each(self.total_ns, self.count),
            each(self.others_ns, self.others),
        ]
    }
}

/// The nanoseconds that a bucket of [`Distribution::sparse`] stands for: its middle.
pub(crate) fn bucket_value(bucket: u16) -> i64 {
    value(usize::from(bucket).min(BUCKETS - 1))
}

impl Distribution {
    pub fn add(&mut self, ns: i64) {
        self.min = if self.count == 0 {
            ns
        } else {
            self.min.min(ns)
        };
        self.max = if self.count == 0 {
            ns
        } else {
            self.max.max(ns)
        };
        self.count += 1;
        self.total += i128::from(ns);
        match self.buckets.get_mut(bucket(ns)) {
            Some(n) => *n += 1,
            None => self.keep(ns),
        }
    }

    /// What [`Distribution::sparse`] wrote down, with [`bucket_value`] for its buckets, and the largest of
    /// the samples. The mean is only as exact as the buckets are.
    #[must_use]
    pub fn of_buckets(curve: &[(i64, u64)], max_ns: i64) -> Distribution {
        let mut d = Distribution {
            min: curve.first().map_or(0, |(ns, _)| *ns).min(max_ns),
            max: max_ns,
            buckets: vec![0; BUCKETS],
            ..Distribution::default()
        };
        for &(ns, n) in curve {
            // A file may claim more calls than can be counted.
            let n = n.min(u64::MAX - d.count);
            d.count += n;
            d.total += i128::from(ns) * i128::from(n);
            d.buckets[bucket(ns)] += n;
        }
        d
    }

    /// Takes a sample while there are no buckets. Apart, as what may allocate saves registers: a third
    /// of [`Distribution::add`], of which there are ten a matched call.
    #[inline(never)]
    fn keep(&mut self, ns: i64) {
        if self.samples.len() < EXACT {
            self.samples.push(ns);
        } else {
            self.spill();
            self.buckets[bucket(ns)] += 1;
        }
    }

    /// Moves the samples into buckets.
    fn spill(&mut self) {
        if self.buckets.is_empty() {
            self.buckets = vec![0; BUCKETS];
            for ns in std::mem::take(&mut self.samples) {
                self.buckets[bucket(ns)] += 1;
            }
        }
    }

    /// Adds another distribution's samples.
    pub fn merge(&mut self, other: &Distribution) {
        if other.count == 0 {
            return;
        }
        if self.buckets.is_empty()
            && other.buckets.is_empty()
            && self.samples.len() + other.samples.len() <= EXACT
        {
            for &ns in &other.samples {
                self.add(ns);
            }
            return;
        }
        self.spill();
        for &ns in &other.samples {
            self.buckets[bucket(ns)] += 1;
        }
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.min = if self.count == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.max = if self.count == 0 {
            other.max
        } else {
            self.max.max(other.max)
        };
        self.count += other.count;
        self.total += other.total;
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn total_ns(&self) -> i64 {
        i64::try_from(self.total).unwrap_or(i64::MAX)
    }

    /// Rounded towards zero; 0 without samples.
    #[must_use]
    pub fn mean_ns(&self) -> i64 {
        if self.count == 0 {
            0
        } else {
            (self.total / i128::from(self.count)) as i64
        }
    }

    #[must_use]
    pub fn max_ns(&self) -> i64 {
        self.max
    }

    /// The smallest value of which at least the fraction `q` of samples is not larger; 0 without
    /// samples.
    #[must_use]
    pub fn quantile(&self, q: f64) -> i64 {
        if self.count == 0 {
            return 0;
        }
        let rank = ((q * self.count as f64).ceil() as u64).clamp(1, self.count);
        if self.buckets.is_empty() {
            let mut samples = self.samples.clone();
            let (_, &mut found, _) = samples.select_nth_unstable(rank as usize - 1);
            return found;
        }
        let mut seen = 0;
        for (i, &n) in self.buckets.iter().enumerate() {
            seen += n;
            if seen >= rank {
                return value(i).clamp(self.min, self.max);
            }
        }
        self.max
    }

    #[must_use]
    pub fn summary(&self) -> Summary {
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let quantile = |q: f64| {
            if self.count == 0 || !self.buckets.is_empty() {
                return self.quantile(q);
            }
            let rank = ((q * self.count as f64).ceil() as usize).clamp(1, sorted.len());
            sorted[rank - 1]
        };
        Summary {
            count: self.count,
            total_ns: self.total_ns(),
            mean_ns: self.mean_ns(),
            min_ns: self.min,
            p50_ns: quantile(0.5),
            p90_ns: quantile(0.9),
            p95_ns: quantile(0.95),
            p99_ns: quantile(0.99),
            p999_ns: quantile(0.999),
            max_ns: self.max,
            exact: self.buckets.is_empty(),
        }
    }

    /// Sum and number of samples above `ns`; from buckets, a sample of the bucket that `ns` falls
    /// into counts as not above.
    #[must_use]
    pub fn beyond(&self, ns: i64) -> (i64, u64) {
        if self.buckets.is_empty() {
            let above = self.samples.iter().filter(|&&s| s > ns);
            return above.fold((0, 0), |(sum, n), &s| (sum.saturating_add(s), n + 1));
        }
        let above = self
            .buckets
            .iter()
            .enumerate()
            .skip(bucket(ns) + 1)
            .filter(|(_, n)| **n > 0);
        above.fold((0, 0), |(sum, n), (i, &k)| {
            (sum.saturating_add(value(i).saturating_mul(k as i64)), n + k)
        })
    }

    /// The samples above the mean, where they are a quarter of all at most and have three quarters of the sum or more: then
    /// they are nine times as long as the others on average, or longer, and the mean says of neither how long they are.
    #[must_use]
    pub fn few_long(&self) -> Option<FewLong> {
        let (all, (all_ns, _)) = (self.count, self.beyond(i64::MIN));
        let (total_ns, count) = self.beyond(self.mean_ns());
        let is_few = count > 0 && count.saturating_mul(4) <= all;
        (is_few && total_ns / 3 >= all_ns / 4).then_some(FewLong {
            count,
            total_ns,
            others: all - count,
            others_ns: all_ns - total_ns,
        })
    }

    /// The samples by buckets of 0.8 % width: the number of each that is not empty, and how many fell
    /// into it. [`bucket_value`] says what it stands for.
    #[must_use]
    pub fn sparse(&self) -> Vec<(u16, u64)> {
        let mut coarse = self.clone();
        coarse.spill();
        let used = coarse.buckets.iter().enumerate().filter(|(_, n)| **n > 0);
        used.map(|(i, n)| (i as u16, *n)).collect()
    }

    /// Quantiles at several places, as [`Distribution::quantile`].
    #[must_use]
    pub fn quantiles(&self, at: &[f64]) -> Vec<i64> {
        if !self.buckets.is_empty() {
            return at.iter().map(|q| self.quantile(*q)).collect();
        }
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let rank = |q: f64| ((q * self.count as f64).ceil() as usize).clamp(1, sorted.len().max(1));
        let value = |q: &f64| sorted.get(rank(*q) - 1).copied().unwrap_or(0);
        at.iter().map(value).collect()
    }

    /// The samples in eight buckets per power of two, all between the first and the last that hold
    /// any: a sample is below its upper bound, and not below the one before.
    #[must_use]
    pub fn fine_histogram(&self) -> Histogram {
        const EIGHTHS: u32 = 3;
        let fine = |ns: i64| {
            let v = ns.max(1 << EIGHTHS) as u64;
            let power = 63 - v.leading_zeros();
            let within = (v >> (power - EIGHTHS)) & ((1 << EIGHTHS) - 1);
            ((power << EIGHTHS) as usize) + within as usize
        };
        let upper = |at: usize| ((at as i64 & 7) + 9).saturating_mul(1 << ((at >> EIGHTHS) - 3));
        let mut counts = vec![0u64; 64 << EIGHTHS];
        if self.buckets.is_empty() {
            self.samples.iter().for_each(|&ns| counts[fine(ns)] += 1);
        } else {
            for (i, &n) in self.buckets.iter().enumerate() {
                counts[fine(value(i))] += n;
            }
        }
        let used = |at: &usize| counts[*at] > 0;
        let ends = (0..counts.len())
            .find(used)
            .zip((0..counts.len()).rfind(used));
        ends.map_or_else(Vec::new, |(first, last)| {
            (first..=last).map(|at| (upper(at), counts[at])).collect()
        })
    }

    /// The samples by powers of two.
    #[must_use]
    pub fn histogram(&self) -> Histogram {
        let mut counts = [0u64; 64];
        let mut add = |ns: i64, n: u64| {
            let power = 64 - (ns.max(0) as u64).leading_zeros() as usize;
            counts[power.min(62)] += n;
        };
        if self.buckets.is_empty() {
            self.samples.iter().for_each(|&ns| add(ns, 1));
        } else {
            self.buckets
                .iter()
                .enumerate()
                .filter(|(_, n)| **n > 0)
                .for_each(|(i, &n)| add(value(i), n));
        }
        let used = |p: usize| counts[p] > 0;
        let (Some(first), Some(last)) = ((0..64).find(|&p| used(p)), (0..64).rfind(|&p| used(p)))
        else {
            return Vec::new();
        };
        (first..=last).map(|p| (1i64 << p, counts[p])).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(samples: &[i64]) -> Distribution {
        let mut d = Distribution::default();
        samples.iter().for_each(|&s| d.add(s));
        d
    }

    #[test]
    fn quantiles_of_few_samples_are_samples() {
        let d = of(&[5, 1, 4, 2, 3]);
        let s = d.summary();
        assert_eq!(
            (s.min_ns, s.p50_ns, s.p90_ns, s.max_ns, s.mean_ns),
            (1, 3, 5, 5, 3)
        );
        assert!(s.exact);
        assert_eq!(
            Distribution::default().summary(),
            Summary {
                exact: true,
                ..Summary::default()
            }
        );
    }

    #[test]
    fn a_few_that_make_most_of_the_sum_are_those_beyond_a_mean_that_nobody_takes() {
        let of_each = |long: usize, short: usize| {
            let samples = [vec![3_000_000; long], vec![1_000; short]].concat();
            of(&samples)
                .few_long()
                .map(|f| (f.count, f.others, f.each_ns()))
        };
        assert_eq!(of_each(1, 3), Some((1, 3, [3_000_000, 1_000])));
        // A third of all are not few, and of samples that are alike none is long.
        assert_eq!(of_each(1, 2), None);
        assert_eq!(of_each(0, 100), None);
        assert_eq!(of_each(0, 0), None);
        // From buckets the same, as near as they are.
        let (count, others, [long, short]) = of_each(100, 10_000).unwrap();
        assert_eq!((count, others), (100, 10_000));
        assert!((long - 3_000_000).abs() < 15_000 && (short - 1_000).abs() < 5);
        // Three quarters of the sum: 300 of 390 are, 300 of 420 are not.
        assert!(of(&[&[300][..], &[30; 3]].concat()).few_long().is_some());
        assert!(of(&[&[300][..], &[40; 3]].concat()).few_long().is_none());
    }

    #[test]
    fn every_bucket_holds_its_own_middle() {
        for b in 0..BUCKETS {
            assert_eq!(bucket(value(b)), b);
        }
    }

    #[test]
    fn histogram_bounds_are_powers_of_two() {
        assert_eq!(
            of(&[1, 3, 3, 9]).histogram(),
            [(2, 1), (4, 2), (8, 0), (16, 1)]
        );
    }

    proptest! {
        #[test]
        fn fine_buckets_hold_their_samples(samples in prop::collection::vec(8i64..1 << 43, 1..300), spill: bool) {
            let mut d = of(&samples);
            if spill {
                d.spill();
            }
            let histogram = d.fine_histogram();
            let mut below = 8;
            for (upper, count) in histogram {
                let inside = samples.iter().filter(|s| (below..upper).contains(*s) || below == 8 && **s < upper);
                prop_assert_eq!(inside.count() as u64, count, "below {}", upper);
                below = upper;
            }
        }

        #[test]
        fn buckets_written_down_are_read_back(samples in prop::collection::vec(0i64..1 << 43, 1..300)) {
            let mut d = of(&samples);
            d.spill();
            let curve: Vec<(i64, u64)> = d.sparse().iter().map(|(b, n)| (bucket_value(*b), *n)).collect();
            let back = Distribution::of_buckets(&curve, d.max_ns());
            prop_assert_eq!(&back.buckets, &d.buckets);
            prop_assert_eq!(back.count(), d.count());
            prop_assert_eq!(back.fine_histogram(), d.fine_histogram());
            prop_assert_eq!(back.max_ns(), d.max_ns());
        }

        #[test]
        fn buckets_are_within_one_percent(samples in prop::collection::vec(0i64..3_000_000_000_000, 1..400), q in 0.01f64..1.0) {
            let exact = of(&samples);
            let mut coarse = exact.clone();
            coarse.spill();
            let (a, b) = (exact.quantile(q), coarse.quantile(q));
            prop_assert!((a - b).abs() as f64 <= a as f64 * 0.01 + 1.0, "{a} {b}");
        }

        #[test]
        fn merging_in_any_order_gives_the_same(a in prop::collection::vec(0i64..1 << 40, 0..3000), b in prop::collection::vec(0i64..1 << 40, 0..3000)) {
            let mut ab = of(&a);
            ab.merge(&of(&b));
            let mut ba = of(&b);
            ba.merge(&of(&a));
            let mut whole = a.clone();
            whole.extend(&b);
            prop_assert_eq!(ab.summary(), ba.summary());
            prop_assert_eq!(ab.summary(), of(&whole).summary());
        }
    }
}
