//! Bytes into how many messages of each length they are, where only one number of each adds up.

/// How many ways to add up are tried.
const TRIED: u64 = 4_096;

/// How many of each of these lengths are so many bytes, where they are so many in all; `None` where there are several ways.
pub(super) fn counts(lengths: &[u64], bytes: u64, in_all: u64) -> Option<Vec<u64>> {
    sole(lengths, bytes, &vec![in_all; lengths.len()], in_all, in_all)
}

/// The same, of no more than `most` of each, and so many in all at most.
pub(super) fn counts_within(
    lengths: &[u64],
    bytes: u64,
    most: &[u64],
    in_all: u64,
) -> Option<Vec<u64>> {
    sole(lengths, bytes, most, 0, in_all)
}

fn sole(
    lengths: &[u64],
    bytes: u64,
    most: &[u64],
    least_all: u64,
    in_all: u64,
) -> Option<Vec<u64>> {
    // The longest first: fewer of them fit.
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|at| std::cmp::Reverse(lengths.get(*at)));
    let sorted = |of: &[u64]| order.iter().filter_map(|at| of.get(*at).copied()).collect();
    let mut ways = Ways {
        lengths: sorted(lengths),
        most: sorted(most),
        least_all,
        counts: vec![0; lengths.len()],
        tried: 0,
        found: None,
    };
    if ways.lengths.contains(&0) || !ways.try_from(0, bytes, in_all) {
        return None;
    }
    let found = ways.found?;
    let mut counts = vec![0; lengths.len()];
    for (at, count) in order.into_iter().zip(found) {
        if let Some(own) = counts.get_mut(at) {
            *own = count;
        }
    }
    Some(counts)
}

/// Tries all numbers of each length.
struct Ways {
    lengths: Vec<u64>,
    most: Vec<u64>,
    least_all: u64,
    counts: Vec<u64>,
    tried: u64,
    found: Option<Vec<u64>>,
}

impl Ways {
    /// Of the lengths from `at`, so many at most. `false`: there is a second way, or there are too many to try.
    fn try_from(&mut self, at: usize, bytes: u64, in_all: u64) -> bool {
        self.tried += 1;
        if self.tried > TRIED {
            return false;
        }
        let (Some(&length), Some(&most)) = (self.lengths.get(at), self.most.get(at)) else {
            return true;
        };
        let most = (bytes / length).min(most).min(in_all);
        let is_last = at + 1 == self.lengths.len();
        let least = if is_last { bytes / length } else { 0 };
        for n in least..=most {
            let rest = bytes - n * length;
            if let Some(count) = self.counts.get_mut(at) {
                *count = n;
            }
            if !is_last {
                if !self.try_from(at + 1, rest, in_all - n) {
                    return false;
                }
                continue;
            }
            let are_enough = self.counts.iter().sum::<u64>() >= self.least_all;
            if rest == 0 && are_enough && self.found.replace(self.counts.clone()).is_some() {
                return false;
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_many_they_are_in_all_tells_which() {
        // 116 bytes ask for a READ, 8,316 write.
        let bytes = 5 * 116 + 2 * 8_316;
        assert_eq!(counts(&[116, 8_316], bytes, 7), Some(vec![5, 2]));
        assert_eq!(counts(&[116, 8_316], bytes, 6), None);
        // Ten of 100 are five of 200, but these are five.
        assert_eq!(counts(&[100, 200], 1_000, 10), Some(vec![10, 0]));
        assert_eq!(counts(&[100, 200], 1_000, 5), Some(vec![0, 5]));
        assert_eq!(counts(&[100, 200, 300], 1_000, 5), None);
    }

    #[test]
    fn there_are_no_more_than_were_asked_for() {
        // 40 of 8,324 and 20 of 140 are 5 of the one and 2,101 of the other, too.
        let bytes = 40 * 8_324 + 20 * 140;
        let within = |in_all| counts_within(&[140, 8_324], bytes, &[in_all; 2], in_all);
        assert_eq!(within(3_000), None);
        assert_eq!(within(100), Some(vec![20, 40]));
        assert_eq!(counts_within(&[140, 8_324], bytes, &[19, 100], 119), None);
    }
}
