//! How long what may be several records is, into the lengths of each: records of a kind are equally long, and that
//! several lie behind one another in a packet is rarer than that each has its own.

use std::collections::BTreeMap;

/// Lengths that are told apart.
const LENGTHS: usize = 256;

/// Common lengths that are summed up, and how many.
const COMMON: usize = 8;
const PARTS: usize = 8;

/// How often a direction's records have which length.
pub(super) struct Lengths {
    times: BTreeMap<u64, u32>,
    /// The most frequent ones that came more than once and are no sums of more frequent ones, the longest first.
    common: Vec<u64>,
}

/// What a length is that of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Apart {
    One,
    /// Of several, which add up to it; the longest first.
    Several(Vec<u64>),
    /// Of several in more than one way.
    Unclear,
}

impl Lengths {
    /// `None` where there are too many.
    pub(super) fn of(lengths: impl Iterator<Item = u64>) -> Option<Lengths> {
        let mut times = BTreeMap::<u64, u32>::new();
        for length in lengths {
            *times.entry(length).or_default() += 1;
            if times.len() > LENGTHS {
                return None;
            }
        }
        let often = times.iter().filter(|&(&length, &n)| n > 1 && length > 0);
        let mut often: Vec<(u32, u64)> = often.map(|(&length, &n)| (n, length)).collect();
        often.sort_unstable_by(|a, b| b.cmp(a));
        let mut common = Vec::new();
        for (_, length) in often {
            if common.len() < COMMON && Ways::of(&common, length).found == 0 {
                common.push(length);
                common.sort_unstable_by(|a, b| b.cmp(a));
            }
        }
        Some(Lengths { times, common })
    }

    /// What this length, of one of them, is that of.
    pub(super) fn apart(&self, length: u64) -> Apart {
        let times = self.times.get(&length).copied().unwrap_or(0);
        let often = |l: &&u64| self.times.get(*l).is_some_and(|&n| n > times);
        let common: Vec<u64> = self.common.iter().filter(often).copied().collect();
        let ways = Ways::of(&common, length);
        match (ways.found, ways.first) {
            (0, _) => Apart::One,
            (1, parts) => Apart::Several(parts),
            _ => Apart::Unclear,
        }
    }
}

/// The ways in which lengths add up.
#[derive(Default)]
struct Ways {
    parts: Vec<u64>,
    first: Vec<u64>,
    found: u32,
}

impl Ways {
    fn of(common: &[u64], length: u64) -> Ways {
        let mut ways = Ways::default();
        ways.add_up(common, length);
        ways
    }

    /// Looks for those of `common` that add up to `rest`, from the longest on.
    fn add_up(&mut self, common: &[u64], rest: u64) {
        if rest == 0 {
            self.found += 1;
            if self.found == 1 {
                self.first.clone_from(&self.parts);
            }
            return;
        }
        let Some((&longest, shorter)) = common.split_first() else {
            return;
        };
        if self.found > 1 || self.parts.len() == PARTS {
            return;
        }
        if longest <= rest {
            self.parts.push(longest);
            self.add_up(common, rest - longest);
            self.parts.pop();
        }
        self.add_up(shorter, rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(of: &[(u64, usize)]) -> Lengths {
        let all = of
            .iter()
            .flat_map(|&(length, n)| std::iter::repeat_n(length, n));
        Lengths::of(all).expect("few lengths")
    }

    #[test]
    fn what_is_as_long_as_several_common_ones_is_those() {
        let lengths = lengths(&[(152, 600), (8_364, 200), (304, 50), (8_516, 40), (112, 1)]);
        assert_eq!(lengths.apart(152), Apart::One);
        assert_eq!(lengths.apart(304), Apart::Several(vec![152, 152]));
        assert_eq!(lengths.apart(8_516), Apart::Several(vec![8_364, 152]));
        assert_eq!(lengths.apart(112), Apart::One);
    }

    #[test]
    fn what_is_more_common_than_its_parts_is_one() {
        let lengths = lengths(&[(152, 40), (304, 600)]);
        assert_eq!(lengths.apart(304), Apart::One);
    }

    #[test]
    fn what_adds_up_in_two_ways_is_unclear() {
        let lengths = lengths(&[(100, 60), (150, 50), (300, 1)]);
        assert_eq!(lengths.apart(300), Apart::Unclear);
    }

    #[test]
    fn too_many_lengths_say_nothing() {
        assert!(Lengths::of(1..=LENGTHS as u64 + 1).is_none());
        assert!(Lengths::of(1..=LENGTHS as u64).is_some());
    }
}
