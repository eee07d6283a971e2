//! A distribution of which only steps are known, held against calls: every number is a range that holds the truth.
//!
//! Each operation took from the lower to the upper bound of its step, so that the mean lies between the mean of all lower
//! bounds and that of all upper ones, and a percentile between the two bounds of the step that it falls into. Where a step
//! has no upper bound, neither has what depends on it.

use super::whose::Whose;
use crate::text::{Value, text};
use serde::{Deserialize, Serialize};
use trace::{Bucket, Histogram, OperationKind};

/// From so much to so much, nanoseconds; `None`: nobody knows how much more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Range {
    pub least_ns: i64,
    pub most_ns: Option<i64>,
}

impl Range {
    /// Of what is known exactly.
    #[must_use]
    pub fn exact(ns: i64) -> Range {
        Range {
            least_ns: ns,
            most_ns: Some(ns),
        }
    }

    /// For who wants one number: the middle, or the least where there is no most.
    #[must_use]
    pub fn middle_ns(self) -> i64 {
        let most_ns = self.most_ns.unwrap_or(self.least_ns);
        self.least_ns.midpoint(most_ns)
    }

    /// Of so many together.
    pub(crate) fn times(self, n: u64) -> Range {
        let all = |ns: i64| ns.saturating_mul(i64::try_from(n).unwrap_or(i64::MAX));
        Range {
            least_ns: all(self.least_ns),
            most_ns: self.most_ns.map(all),
        }
    }

    /// What `outer` takes more than this, or this more than `inner`, never less than nothing.
    pub(super) fn beyond(self, calls_ns: i64, whose: Whose) -> Range {
        let more = |own_ns: i64| {
            let (outer, inner) = whose.outer_inner(own_ns, calls_ns);
            outer.saturating_sub(inner).max(0)
        };
        match whose {
            Whose::Application => Range {
                least_ns: more(self.least_ns),
                most_ns: self.most_ns.map(more),
            },
            Whose::Server => Range {
                least_ns: self.most_ns.map_or(0, more),
                most_ns: Some(more(self.least_ns)),
            },
        }
    }
}

impl From<Range> for Value {
    fn from(range: Range) -> Value {
        let least = Value::Duration(range.least_ns);
        match range.most_ns {
            Some(most) if most == range.least_ns => least,
            Some(most) => Value::Text(text!(
                "{least} to {most}",
                least = least,
                most = Value::Duration(most)
            )),
            None => Value::Text(text!("{least} or more", least = least)),
        }
    }
}

/// Means of what was held against each other by their bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// An operation's own time.
    pub own: Range,
    /// What lies between it and its call.
    pub between: Range,
}

/// Operations in steps, shortest first.
pub(crate) struct Spread {
    steps: Vec<Bucket>,
    count: u64,
    total_ns: Option<i128>,
}

impl Spread {
    /// Of those of these kinds and of such that may be of any; of all where that is nothing.
    pub(crate) fn of(histograms: &[Histogram], kinds: &[OperationKind]) -> Spread {
        let is_wanted = |h: &&Histogram| h.kind == OperationKind::Unsaid || kinds.contains(&h.kind);
        let wanted: Vec<&Histogram> = histograms.iter().filter(is_wanted).collect();
        match wanted.is_empty() {
            true => Spread::of_all(&histograms.iter().collect::<Vec<_>>()),
            false => Spread::of_all(&wanted),
        }
    }

    fn of_all(histograms: &[&Histogram]) -> Spread {
        let mut steps: Vec<Bucket> = histograms.iter().flat_map(|h| h.buckets.clone()).collect();
        steps.sort_by_key(|b| (b.from_ns, b.until_ns.unwrap_or(i64::MAX)));
        let totals = histograms.iter().map(|h| h.total_ns.map(i128::from));
        Spread {
            count: steps.iter().fold(0, |n, b| n.saturating_add(b.count)),
            total_ns: totals.sum(),
            steps,
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Exact where the tool says the sum, and that lies between the bounds.
    pub(crate) fn mean(&self) -> Range {
        let count = i128::from(self.count.max(1));
        let sum = |of: fn(&Bucket) -> Option<i64>| {
            let each = self.steps.iter();
            each.map(|b| Some(i128::from(of(b)?) * i128::from(b.count)))
                .sum::<Option<i128>>()
        };
        let least = sum(|b| Some(b.from_ns)).unwrap_or_default();
        let most = sum(|b| b.until_ns);
        let ns = |sum: i128| i64::try_from(sum / count).unwrap_or(i64::MAX);
        let is_within = |total: &i128| *total >= least && most.is_none_or(|most| *total <= most);
        match self.total_ns.filter(is_within) {
            Some(total) => Range::exact(ns(total)),
            None => Range {
                least_ns: ns(least),
                most_ns: most.map(ns),
            },
        }
    }

    /// The step that holds this share of the operations, such as a half.
    pub(crate) fn quantile(&self, share: f64) -> Option<Range> {
        let wanted = ((share * self.count as f64).ceil() as u64).max(1);
        let mut before = 0u64;
        let step = self.steps.iter().find(|b| {
            before = before.saturating_add(b.count);
            before >= wanted
        })?;
        Some(Range {
            least_ns: step.from_ns,
            most_ns: step.until_ns,
        })
    }

    /// The most that so many of them took together.
    fn longest_ns(&self, mut wanted: u64) -> Option<i128> {
        let mut steps: Vec<(Option<i64>, u64)> =
            self.steps.iter().map(|b| (b.until_ns, b.count)).collect();
        steps.sort_by_key(|(until, _)| std::cmp::Reverse(until.unwrap_or(i64::MAX)));
        let mut sum = 0i128;
        for (until_ns, count) in steps {
            let taken = wanted.min(count);
            if taken == 0 {
                break;
            }
            sum += i128::from(until_ns?) * i128::from(taken);
            wanted -= taken;
        }
        Some(sum)
    }

    /// Of calls that took `slow_ns` or longer, what they took together, and how much of that was in no operation for
    /// certain: their operations were at the most the longest there are. Calls of which no operation was counted
    /// may be the longest, and prove nothing.
    pub(super) fn slow(&self, calls: impl Iterator<Item = i64>, slow_ns: i64) -> (i64, i64) {
        let mut all = 0u64;
        let counted = calls.inspect(|_| all += 1);
        let mut slow: Vec<i64> = counted.filter(|took| *took >= slow_ns).collect();
        slow.sort_unstable();
        let unknown = usize::try_from(all.saturating_sub(self.count)).unwrap_or(usize::MAX);
        let sum = |calls: &[i64]| calls.iter().map(|ns| i128::from(*ns)).sum::<i128>();
        let took = sum(&slow);
        slow.truncate(slow.len().saturating_sub(unknown));
        let in_operations = self.longest_ns(slow.len() as u64);
        let beyond = in_operations.map_or(0, |own| (sum(&slow) - own).max(0));
        let ns = |sum: i128| i64::try_from(sum).unwrap_or(i64::MAX);
        (ns(took), ns(beyond))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn step(from: i64, until: impl Into<Option<i64>>, count: u64) -> Bucket {
        Bucket {
            from_ns: from * MS,
            until_ns: until.into().map(|ms: i64| ms * MS),
            count,
        }
    }

    fn spread(buckets: Vec<Bucket>) -> Spread {
        let histogram = Histogram {
            kind: OperationKind::Read,
            buckets,
            total_ns: None,
        };
        Spread::of(&[histogram], &[OperationKind::Read])
    }

    fn range(least: i64, most: impl Into<Option<i64>>) -> Range {
        Range {
            least_ns: least * MS,
            most_ns: most.into().map(|ms: i64| ms * MS),
        }
    }

    #[test]
    fn means_and_percentiles_are_as_wide_as_the_steps() {
        let s = spread(vec![step(2, 4, 99), step(4, 8, 1)]);
        assert_eq!(s.count(), 100);
        assert_eq!(
            s.mean(),
            Range {
                least_ns: 2_020_000,
                most_ns: Some(4_040_000)
            }
        );
        assert_eq!(s.quantile(0.5), Some(range(2, 4)));
        assert_eq!(s.quantile(0.99), Some(range(2, 4)));
        assert_eq!(s.quantile(0.999), Some(range(4, 8)));
    }

    #[test]
    fn without_an_upper_bound_the_most_is_unknown() {
        let s = spread(vec![step(2, 4, 9), step(100, None, 1)]);
        assert_eq!(
            s.mean(),
            Range {
                least_ns: 11_800_000,
                most_ns: None
            }
        );
        assert_eq!(s.mean().middle_ns(), 11_800_000);
        assert_eq!(s.quantile(0.5), Some(range(2, 4)));
        assert_eq!(s.quantile(1.0), Some(range(100, None)));
        // Whatever the calls took, the operations may have taken it.
        assert_eq!(s.slow([200 * MS; 10].into_iter(), 2 * MS), (2_000 * MS, 0));
    }

    #[test]
    fn a_sum_that_the_tool_says_makes_the_mean_exact_unless_it_cannot_be() {
        let of = |total_ms: i64| {
            let histogram = Histogram {
                kind: OperationKind::Unsaid,
                buckets: vec![step(2, 4, 10)],
                total_ns: Some(total_ms * MS),
            };
            Spread::of(&[histogram], &[OperationKind::Read]).mean()
        };
        assert_eq!(of(30), Range::exact(3 * MS));
        assert_eq!((of(19), of(41)), (range(2, 4), range(2, 4)));
    }

    #[test]
    fn what_lies_between_is_the_least_for_certain() {
        let own = range(2, 4);
        assert_eq!(own.beyond(10 * MS, Whose::Server), range(6, 8));
        assert_eq!(own.beyond(3 * MS, Whose::Server), range(0, 1));
        assert_eq!(own.beyond(MS, Whose::Application), range(1, 3));
        assert_eq!(range(2, None).beyond(10 * MS, Whose::Server), range(0, 8));
        assert_eq!(
            range(2, None).beyond(MS, Whose::Application),
            range(1, None)
        );
    }

    #[test]
    fn slow_calls_had_no_more_than_the_longest_operations() {
        let s = spread(vec![step(1, 2, 8), step(4, 8, 2)]);
        let calls = || [MS; 7].into_iter().chain([50 * MS; 3]);
        // Two of them may have had the two long ones.
        assert_eq!(s.slow(calls(), 20 * MS), (150 * MS, 132 * MS));
        // An eleventh call, of which no operation was counted, may be one of these.
        let more = calls().chain([MS]);
        assert_eq!(s.slow(more, 20 * MS), (150 * MS, 84 * MS));
    }
}
