//! What happened over time, in a bounded number of blocks of equal length, so that a saved run can still
//! be drawn from at random: [`bootstrap`](super::bootstrap) resamples blocks, not calls, as calls that
//! follow each other are alike.
//!
//! Blocks begin short and are joined two by two when there would be too many.

use model::{Time, limits};
use serde::{Deserialize, Serialize};

/// Sums that blocks hold.
pub trait Sums: Clone + Default {
    fn add(&mut self, other: &Self);
}

/// Sums over equal stretches of time from an origin on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocks<T> {
    origin: Option<Time>,
    width_ns: i64,
    blocks: Vec<T>,
}

/// The blocks' first length: shorter than anything that is worth telling apart, and a power of two, so
/// that blocks of any two runs of joins fit over each other.
pub const FIRST_WIDTH_NS: i64 = 1 << 22;

impl<T> Default for Blocks<T> {
    fn default() -> Blocks<T> {
        Blocks {
            origin: None,
            width_ns: FIRST_WIDTH_NS,
            blocks: Vec::new(),
        }
    }
}

/// A block's share of a stretch of time.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    before: i128,
    after: i128,
    length: i128,
}

impl Share {
    /// Of a value that is spread evenly: the shares of all blocks add up to it.
    #[must_use]
    pub fn of(self, value: i64) -> i64 {
        let upto = |t: i128| i128::from(value) * t / self.length;
        (upto(self.after) - upto(self.before)) as i64
    }
}

impl<T: Sums> Blocks<T> {
    /// Says where the first block begins. What comes earlier counts into it.
    pub fn begin(&mut self, origin: Time) {
        if self.origin.is_none() {
            self.origin = Some(origin);
        }
    }

    /// Whether these are blocks as they are made here: what is read from a file may be anything.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let made = self.width_ns >= FIRST_WIDTH_NS && (self.width_ns as u64).is_power_of_two();
        made && self.blocks.len() <= limits::BLOCKS
    }

    #[must_use]
    pub fn blocks(&self) -> &[T] {
        &self.blocks
    }

    #[must_use]
    pub fn width_ns(&self) -> i64 {
        self.width_ns
    }

    /// The block that holds a moment.
    pub fn at(&mut self, time: Time) -> Option<&mut T> {
        let index = self.reach(time);
        self.blocks.get_mut(index)
    }

    /// Hands `add` every block of a stretch of time with its share of it.
    pub fn spread(&mut self, from: Time, to: Time, mut add: impl FnMut(&mut T, Share)) {
        let last = self.reach(to);
        let first = self.reach(from).min(last);
        let origin = self.origin.unwrap_or(from);
        let length = i128::from((to - from).max(1));
        let within = |block: usize| {
            let at = i128::from(self.width_ns) * block as i128 + i128::from(origin.0);
            (at - i128::from(from.0)).clamp(0, length)
        };
        let mut before = 0;
        let bounds: Vec<i128> = (first..=last).map(|b| within(b + 1)).collect();
        for (block, end) in self.blocks.iter_mut().skip(first).zip(bounds) {
            add(
                block,
                Share {
                    before,
                    after: end,
                    length,
                },
            );
            before = end;
        }
        // A stretch of no length, or one that begins before the origin.
        if before < length
            && let Some(block) = self.blocks.get_mut(last)
        {
            add(
                block,
                Share {
                    before,
                    after: length,
                    length,
                },
            );
        }
    }

    /// Makes room for a moment; the index of its block.
    fn reach(&mut self, time: Time) -> usize {
        let origin = *self.origin.get_or_insert(time);
        let since = (time - origin).max(0);
        while since / self.width_ns >= limits::BLOCKS as i64 {
            self.join();
        }
        let index = (since / self.width_ns) as usize;
        if self.blocks.len() <= index {
            self.blocks.resize_with(index + 1, T::default);
        }
        index
    }

    fn join(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        let pairs = self.blocks.chunks(2).map(|pair| {
            let mut sum = T::default();
            pair.iter().for_each(|b| sum.add(b));
            sum
        });
        self.blocks = pairs.collect();
    }

    /// Changes every block.
    pub fn each(&mut self, change: impl FnMut(&mut T)) {
        self.blocks.iter_mut().for_each(change);
    }

    /// Makes blocks at least so long.
    pub(crate) fn widen(&mut self, width_ns: i64) {
        while self.width_ns < width_ns && self.width_ns < i64::MAX {
            self.join();
        }
    }

    /// Adds another run of blocks that begins at the same moment.
    pub fn take_in(&mut self, other: &Blocks<T>) {
        let mut other = other.clone();
        other.widen(self.width_ns);
        self.widen(other.width_ns);
        self.origin = self.origin.or(other.origin);
        if self.blocks.len() < other.blocks.len() {
            self.blocks.resize_with(other.blocks.len(), T::default);
        }
        for (mine, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            mine.add(theirs);
        }
    }

    #[must_use]
    pub fn total(&self) -> T {
        let mut sum = T::default();
        self.blocks.iter().for_each(|b| sum.add(b));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Sums for i64 {
        fn add(&mut self, other: &i64) {
            *self += other;
        }
    }

    proptest! {
        #[test]
        fn nothing_is_lost_however_blocks_are_joined(
            stretches in prop::collection::vec((0i64..1 << 40, 0i64..1 << 38, 0i64..1 << 30), 1..50),
        ) {
            let mut blocks = Blocks::<i64>::default();
            blocks.begin(Time(1 << 30));
            for (from, length, value) in &stretches {
                let (from, to) = (Time(*from), Time(from + length));
                blocks.spread(from, to, |block, share| *block += share.of(*value));
            }
            let all: i64 = stretches.iter().map(|s| s.2).sum();
            prop_assert_eq!(blocks.total(), all);
            prop_assert!(blocks.blocks().len() <= limits::BLOCKS);
        }
    }

    #[test]
    fn a_moment_is_in_one_block_and_a_stretch_in_those_it_covers() {
        let mut blocks = Blocks::<i64>::default();
        let w = FIRST_WIDTH_NS;
        blocks.begin(Time(0));
        *blocks.at(Time(w)).expect("a block") += 5;
        blocks.spread(Time(w / 2), Time(w / 2 + 2 * w), |b, share| {
            *b += share.of(400)
        });
        assert_eq!(blocks.blocks(), [100, 205, 100]);
    }
}
