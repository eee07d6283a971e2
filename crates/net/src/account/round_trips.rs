//! Round trips into percentiles, in little memory: buckets of 1.6 % width, only those that are used.
//! Once they stand close together, those between them are listed too, so that a bucket is found by its
//! place.

use model::RoundTrips;
use serde::{Deserialize, Serialize};

/// Buckets per power of two; half a bucket is the error.
const PER_OCTAVE: u32 = 32;

/// From so many buckets on, the list has those between them too, if it becomes this many times as long
/// at most.
const CLOSE_FROM: usize = 16;
const CLOSE_TIMES: usize = 4;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Distribution {
    count: u64,
    min: i64,
    max: i64,
    /// Bucket and how many, in the order of buckets.
    buckets: Vec<(u16, u32)>,
}

fn bucket(ns: i64) -> u16 {
    let ns = ns.max(1) as u64;
    let octave = ns.ilog2();
    let within = if octave >= 5 {
        (ns >> (octave - 5)) as u32 - PER_OCTAVE
    } else {
        0
    };
    (octave * PER_OCTAVE + within) as u16
}

/// The middle of a bucket.
fn middle(bucket: u16) -> i64 {
    let (octave, within) = (
        u32::from(bucket) / PER_OCTAVE,
        u32::from(bucket) % PER_OCTAVE,
    );
    let low = f64::from(octave).exp2() * (1.0 + f64::from(within) / f64::from(PER_OCTAVE));
    (low * (1.0 + 0.5 / f64::from(PER_OCTAVE))) as i64
}

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution {
            count: 0,
            min: i64::MAX,
            max: 0,
            buckets: Vec::new(),
        }
    }
}

impl Distribution {
    pub(crate) fn add(&mut self, ns: i64) {
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.count += 1;
        let bucket = bucket(ns);
        let first = self.buckets.first().map_or(0, |(first, _)| *first);
        match self
            .buckets
            .get_mut(usize::from(bucket.wrapping_sub(first)))
        {
            Some((b, n)) if *b == bucket => *n = n.saturating_add(1),
            _ => self.search(bucket),
        }
    }

    /// Counts one in a bucket that does not stand in its place.
    #[inline(never)]
    fn search(&mut self, bucket: u16) {
        match self.buckets.binary_search_by_key(&bucket, |(b, _)| *b) {
            Ok(i) => {
                if let Some((_, n)) = self.buckets.get_mut(i) {
                    *n = n.saturating_add(1);
                }
            }
            Err(i) => {
                self.buckets.insert(i, (bucket, 1));
                self.close();
            }
        }
    }

    /// Lists the buckets between, where they are not too many.
    fn close(&mut self) {
        let (Some((first, _)), Some((last, _))) = (self.buckets.first(), self.buckets.last())
        else {
            return;
        };
        let (first, last) = (*first, *last);
        let used = self.buckets.len();
        let all = usize::from(last - first) + 1;
        if used < CLOSE_FROM || all == used || all > CLOSE_TIMES * used {
            return;
        }
        let mut closed: Vec<_> = (first..=last).map(|bucket| (bucket, 0)).collect();
        for (bucket, n) in &self.buckets {
            if let Some((_, count)) = closed.get_mut(usize::from(bucket - first)) {
                *count = *n;
            }
        }
        self.buckets = closed;
    }

    pub(crate) fn min(&self) -> Option<i64> {
        (self.count > 0).then_some(self.min)
    }

    /// The value that `share` of all do not exceed.
    pub(crate) fn quantile(&self, share: f64) -> i64 {
        let rank = ((self.count as f64 * share).ceil() as u64).max(1);
        let mut seen = 0;
        for (bucket, n) in &self.buckets {
            seen += u64::from(*n);
            if seen >= rank {
                return middle(*bucket).clamp(self.min, self.max);
            }
        }
        self.max
    }

    pub(crate) fn summary(&self) -> RoundTrips {
        if self.count == 0 {
            return RoundTrips::default();
        }
        RoundTrips {
            count: self.count,
            min_ns: self.min,
            p50_ns: self.quantile(0.5),
            p90_ns: self.quantile(0.9),
            p99_ns: self.quantile(0.99),
            max_ns: self.max,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn percentiles_are_within_two_percent(mut values in proptest::collection::vec(1_000i64..10_000_000_000, 1..300)) {
            let mut d = Distribution::default();
            for &v in &values {
                d.add(v);
            }
            values.sort_unstable();
            for share in [0.5, 0.9, 0.99] {
                let rank = ((values.len() as f64 * share).ceil() as usize).max(1) - 1;
                let (truth, got) = (values[rank] as f64, d.quantile(share) as f64);
                prop_assert!((got - truth).abs() <= 0.02 * truth, "{share}: {got}, not {truth}");
            }
            let summary = d.summary();
            prop_assert_eq!((summary.min_ns, summary.max_ns), (values[0], values[values.len() - 1]));
        }
    }
}
