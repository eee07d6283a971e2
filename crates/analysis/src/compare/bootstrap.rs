//! How far a ratio of sums (time per call, bytes per packet, …) may be off by chance: the block
//! bootstrap over blocks of time (Politis and Romano's circular one), as calls that follow each other
//! are alike and would promise far too much if they were drawn one by one.
//!
//! How long blocks must be nobody knows beforehand, so three lengths are drawn and the widest answer
//! counts. What differs from run to run but not within one cannot be seen in one run; see
//! [`relevance`](super::effect) for what is asked beyond chance.
//!
//! Draws come from a generator that is seeded by the numbers themselves: the same input gives the same
//! answer. The field's crates draw single samples; this is the whole of it.

/// Draws for each block length.
const DRAWS: usize = 1_000;

/// Blocks of a run that are drawn together: this share of it at a time.
const SHARES: [usize; 3] = [32, 16, 8];

/// Fewer blocks with something in them tell nothing of chance.
const FEW_BLOCKS: usize = 8;

/// Beyond this share of the draws, on each side, is beyond chance: 99 % lie within.
const TAIL: f64 = 0.005;

/// What a ratio might as well have been, by block length.
#[derive(Clone, Debug)]
pub struct Draws {
    /// What it was.
    pub point: f64,
    /// Without, chance cannot be told.
    drawn: Option<[Vec<f64>; 3]>,
}

/// From so much to so much.
pub type Interval = (f64, f64);

impl Draws {
    /// Of the sum of `numerators` over the sum of `denominators`, block by block; `None` where there is
    /// nothing to divide by.
    pub(crate) fn of_ratio(numerators: &[f64], denominators: &[f64]) -> Option<Draws> {
        let pairs: Vec<(f64, f64)> = numerators
            .iter()
            .copied()
            .zip(denominators.iter().copied())
            .collect();
        let (n, d) = sum(&pairs);
        if d <= 0.0 {
            return None;
        }
        let used = pairs.iter().filter(|(_, d)| *d > 0.0).count();
        Some(Draws {
            point: n / d,
            drawn: (used >= FEW_BLOCKS).then(|| SHARES.map(|share| draw(&pairs, share))),
        })
    }

    /// A number that is known, without chance.
    #[must_use]
    pub fn certain(point: f64) -> Draws {
        Draws {
            point,
            drawn: Some(SHARES.map(|_| vec![point; DRAWS])),
        }
    }

    /// Whether chance can be told.
    pub(crate) fn has_draws(&self) -> bool {
        self.drawn.is_some()
    }

    /// So many times as much.
    #[must_use]
    pub fn scaled(mut self, factor: f64) -> Draws {
        self.point *= factor;
        let drawn = self.drawn.iter_mut().flatten().flatten();
        drawn.for_each(|x| *x *= factor);
        self
    }

    /// What `f` makes of two ratios, and the interval in which it lies but for chance.
    #[must_use]
    pub fn both(a: &Draws, b: &Draws, f: impl Fn(f64, f64) -> f64) -> (f64, Option<Interval>) {
        let point = f(a.point, b.point);
        let (Some(of_a), Some(of_b)) = (&a.drawn, &b.drawn) else {
            return (point, None);
        };
        let intervals = of_a.iter().zip(of_b).map(|(of_a, of_b)| {
            let mut all: Vec<f64> = of_a.iter().zip(of_b).map(|(x, y)| f(*x, *y)).collect();
            all.sort_by(f64::total_cmp);
            let skip = (all.len() as f64 * TAIL) as usize;
            let low = all.get(skip).copied().unwrap_or(point);
            let high = all.iter().rev().nth(skip).copied().unwrap_or(point);
            (low, high)
        });
        let widest = intervals.fold((point, point), |(low, high), (l, h)| {
            (low.min(l), high.max(h))
        });
        (point, Some(widest))
    }
}

fn sum(pairs: &[(f64, f64)]) -> (f64, f64) {
    pairs
        .iter()
        .fold((0.0, 0.0), |(n, d), (pn, pd)| (n + pn, d + pd))
}

/// Ratios of runs that were put together anew, from pieces of this share of the run.
fn draw(pairs: &[(f64, f64)], share: usize) -> Vec<f64> {
    let count = pairs.len();
    let length = (count / share).max(1);
    // Sums up to each block, twice round, so that any piece is one subtraction.
    let mut upto = vec![(0.0, 0.0)];
    let mut so_far = (0.0, 0.0);
    for (n, d) in pairs.iter().chain(pairs) {
        so_far = (so_far.0 + n, so_far.1 + d);
        upto.push(so_far);
    }
    let piece = |from: usize, length: usize| {
        let (a, b) = (upto.get(from), upto.get(from + length));
        let (a, b) = (
            a.copied().unwrap_or_default(),
            b.copied().unwrap_or_default(),
        );
        (b.0 - a.0, b.1 - a.1)
    };
    let whole = sum(pairs);
    let mut random = Random::seeded(pairs, share);
    (0..DRAWS)
        .map(|_| {
            let (mut n, mut d) = (0.0, 0.0);
            let mut left = count;
            while left > 0 {
                let take = length.min(left);
                let (pn, pd) = piece(random.below(count), take);
                (n, d) = (n + pn, d + pd);
                left -= take;
            }
            match d > 0.0 {
                true => n / d,
                false => whole.0 / whole.1,
            }
        })
        .collect()
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn seeded(pairs: &[(f64, f64)], share: usize) -> Random {
        let mut random = Random(share as u64);
        for (n, d) in pairs {
            for bits in [n.to_bits(), d.to_bits()] {
                random.0 ^= bits;
                random.0 = random.next();
            }
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next()) * bound as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers that wander: each is half of the one before and half news.
    fn wander(seed: u64, count: usize, mean: f64) -> Vec<f64> {
        let mut random = Random(seed);
        let mut news = || {
            (0..12)
                .map(|_| random.next() as f64 / u64::MAX as f64)
                .sum::<f64>()
                - 6.0
        };
        let mut at = 0.0;
        (0..count)
            .map(|_| {
                at = 0.5 * at + news();
                mean + at
            })
            .collect()
    }

    fn difference(a: &[f64], b: &[f64]) -> (f64, Interval) {
        let ones = vec![1.0; a.len()];
        let draws = |x: &[f64]| Draws::of_ratio(x, &ones).expect("blocks");
        let (d, i) = Draws::both(&draws(a), &draws(b), |x, y| y - x);
        (d, i.expect("enough blocks"))
    }

    #[test]
    fn the_truth_is_inside_the_interval_as_often_as_promised() {
        let runs = 300;
        let inside = (0..runs).filter(|i| {
            let (a, b) = (wander(2 * i, 128, 10.0), wander(2 * i + 1, 128, 10.7));
            let (_, (low, high)) = difference(&a, &b);
            low <= 0.7 && 0.7 <= high
        });
        let share = inside.count() as f64 / runs as f64;
        assert!((0.97..=1.0).contains(&share), "{share}");
    }

    #[test]
    fn a_difference_that_is_there_is_seen() {
        let seen = (0..50).filter(|i| {
            let (a, b) = (wander(2 * i, 128, 10.0), wander(2 * i + 1, 128, 12.0));
            difference(&a, &b).1.0 > 0.0
        });
        assert!(seen.count() >= 48);
    }

    #[test]
    fn a_handful_of_blocks_tells_nothing_of_chance() {
        let few = Draws::of_ratio(&[1.0; 7], &[1.0; 7]).expect("a ratio");
        assert_eq!(Draws::both(&few, &few, |x, y| y - x).1, None);
        assert!(Draws::of_ratio(&[1.0], &[0.0]).is_none());
    }

    proptest! {
        #[test]
        fn it_is_the_same_from_the_other_side(
            a in prop::collection::vec((0.0f64..100.0, 0.0f64..9.0), 1..64),
            b in prop::collection::vec((0.0f64..100.0, 0.0f64..9.0), 1..64),
        ) {
            let of = |x: &[(f64, f64)]| {
                let (n, d): (Vec<f64>, Vec<f64>) = x.iter().copied().unzip();
                Draws::of_ratio(&n, &d)
            };
            if let (Some(a), Some(b)) = (of(&a), of(&b)) {
                let (there, i) = Draws::both(&a, &b, |x, y| y - x);
                let (back, j) = Draws::both(&b, &a, |x, y| y - x);
                prop_assert_eq!(there, -back);
                prop_assert_eq!(i, j.map(|(low, high)| (-high, -low)));
                prop_assert_eq!(Draws::both(&a, &a, |x, y| y - x).1.unwrap_or((0.0, 0.0)), (0.0, 0.0));
            }
        }
    }
}
