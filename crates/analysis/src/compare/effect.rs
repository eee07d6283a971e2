//! When a difference counts: it must be beyond chance, and large enough to matter.
//!
//! Two runs of the same thing differ by more than chance within each of them tells: another load on the
//! machine, other neighbours, another moment. In calls of a fraction of a millisecond that is easily a
//! quarter. So what is asked beyond chance grows where calls are fast.

use super::bootstrap::{Draws, Interval};
use super::result::Change;
use crate::stats::bucket_value;

/// Less than this share of what there was is not worth a word.
const LITTLE: f64 = 0.10;

/// Numbers that stand for a setting (sizes, windows) changed when they did by this much.
pub(crate) const SETTING: f64 = 1.25;

/// Whether a difference is too large to be nothing.
pub(crate) fn matters(a: f64, b: f64, floor: f64) -> bool {
    let (small, large) = (a.abs().min(b.abs()), a.abs().max(b.abs()));
    let difference = (b - a).abs();
    difference >= floor && difference >= LITTLE * small.max(large * LITTLE)
}
pub(crate) fn excludes_nothing((low, high): Interval) -> bool {
    low > 0.0 || high < 0.0
}

/// The change of a ratio, of which differences below `floor` do not matter.
#[must_use]
pub fn change(a: &Draws, b: &Draws, floor: f64) -> Change {
    let (_, interval) = Draws::both(a, b, |x, y| y - x);
    Change {
        baseline: a.point,
        problem: b.point,
        interval,
        beyond_chance: interval.map(|i| excludes_nothing(i) && matters(a.point, b.point, floor)),
    }
}

/// The change of something that is as it is: a setting, a habit.
pub(crate) fn setting(a: f64, b: f64) -> Change {
    let (small, large) = (a.min(b), a.max(b));
    Change {
        baseline: a,
        problem: b,
        interval: None,
        beyond_chance: Some(large > 0.0 && large >= small * SETTING),
    }
}

/// Cliff's delta of two distributions in buckets: how often one of `b` is larger than one of `a`, less
/// how often it is smaller.
#[must_use]
pub fn delta(a: &[(u16, u64)], b: &[(u16, u64)]) -> Option<f64> {
    let total = |x: &[(u16, u64)]| x.iter().map(|(_, n)| *n as f64).sum::<f64>();
    let pairs = total(a) * total(b);
    if pairs <= 0.0 {
        return None;
    }
    let mut below = 0.0;
    let mut at = a.iter().peekable();
    let mut sum = 0.0;
    for (bucket, n) in b {
        while let Some((_, k)) = at.next_if(|(other, _)| other < bucket) {
            below += *k as f64;
        }
        let equal = at.peek().filter(|(other, _)| other == bucket);
        let equal = equal.map_or(0.0, |(_, k)| *k as f64);
        let above = total(a) - below - equal;
        sum += *n as f64 * (below - above);
    }
    Some(sum / pairs)
}

/// The smallest value of which at least the fraction `q` is not larger, where there are `needed`.
#[must_use]
pub fn quantile(curve: &[(u16, u64)], q: f64, needed: u64) -> Option<i64> {
    let each = curve.iter().map(|(_, n)| *n);
    let count = each.fold(0, u64::saturating_add);
    if count < needed.max(1) {
        return None;
    }
    let rank = ((q * count as f64).ceil() as u64).clamp(1, count);
    let mut seen = 0u64;
    let found = curve.iter().find(|(_, n)| {
        seen = seen.saturating_add(*n);
        seen >= rank
    });
    found.map(|(bucket, _)| bucket_value(*bucket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn little_differences_do_not_matter() {
        assert!(matters(1.0, 1.2, 0.0));
        assert!(!matters(1.0, 1.05, 0.0));
        assert!(!matters(1.0, 1.2, 0.5));
        assert!(matters(0.0, 1.0, 0.5));
    }

    #[test]
    fn delta_is_one_where_all_are_larger() {
        let (a, b) = ([(10, 5), (11, 5)], [(20, 3)]);
        assert_eq!(delta(&a, &b), Some(1.0));
        assert_eq!(delta(&b, &a), Some(-1.0));
        assert_eq!(delta(&a, &a), Some(0.0));
        assert_eq!(delta(&a, &[]), None);
    }

    proptest! {
        #[test]
        fn delta_counts_pairs(
            a in prop::collection::btree_map(0u16..30, 1u64..5, 1..10),
            b in prop::collection::btree_map(0u16..30, 1u64..5, 1..10),
        ) {
            let list = |x: &std::collections::BTreeMap<u16, u64>| x.iter().map(|(k, n)| (*k, *n)).collect::<Vec<_>>();
            let (mut sum, mut pairs) = (0i64, 0u64);
            for (x, n) in &a {
                for (y, k) in &b {
                    sum += (y.cmp(x) as i64) * (n * k) as i64;
                    pairs += n * k;
                }
            }
            let found = delta(&list(&a), &list(&b)).expect("both have calls");
            prop_assert!((found - sum as f64 / pairs as f64).abs() < 1e-9);
        }
    }
}
