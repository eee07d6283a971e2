//! Whether calls were slow while a counter was high, and not while it was low.
//!
//! The rule, of the intervals between samples that lie within the capture:
//!
//! 1. At least three are high and three are not, and calls began in both kinds: at least ten.
//! 2. The accused side takes at least twice as long of a call in those that are high.
//! 3. Of all that calls took beyond the mean of the other intervals, at least half lies in these.
//! 4. It is no chance: of all shifts of the counter against the calls, round and round, no more than one in twenty fits as
//!    well as the one that was seen (a shift by one interval is the same: edges of samples are not those of calls). Loads come in spells, as calls do, so that single intervals prove nothing; a shift keeps
//!    the spells of both. So fewer than twenty intervals prove nothing either.

use crate::results::{Fit, Pressed};

/// What a counter and the calls were in one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slice {
    pub(super) calls: u64,
    pub(super) ns: i64,
    pub(super) milli: i64,
}

const INTERVALS: usize = 3;
const CALLS: u64 = 10;
const SLOWER: i64 = 2;
const MOST: i64 = 50;
const ONE_IN: u64 = 20;

/// Intervals that are told apart; of more, neighbors become one.
const TOLD_APART: usize = 1_024;

/// Calls and their time, while it was high, and else.
#[derive(Clone, Copy, Default)]
struct Sides {
    calls: [u64; 2],
    ns: [i128; 2],
}

impl Sides {
    fn of(slices: &[Slice], is_high: impl Iterator<Item = bool>) -> Sides {
        let mut sides = Sides::default();
        for (slice, high) in slices.iter().zip(is_high) {
            let side = usize::from(!high);
            sides.calls[side] += slice.calls;
            sides.ns[side] += i128::from(slice.ns);
        }
        sides
    }

    fn mean_ns(&self, side: usize) -> i64 {
        let mean = self.ns[side] / i128::from(self.calls[side].max(1));
        i64::try_from(mean).unwrap_or(i64::MAX)
    }

    /// How much longer calls take while it is high; nothing where there are no calls of either kind.
    fn apart_ns(&self) -> i64 {
        match self.calls {
            [0, _] | [_, 0] => i64::MIN,
            _ => self.mean_ns(0).saturating_sub(self.mean_ns(1)),
        }
    }
}

/// Holds a counter against the calls of the same time.
pub(super) fn held(slices: &[Slice], high_milli: i64) -> Pressed {
    let slices = coarser(slices);
    let high: Vec<bool> = slices.iter().map(|s| s.milli >= high_milli).collect();
    let number = high.iter().filter(|h| **h).count();
    let sides = Sides::of(&slices, high.iter().copied());
    let mut pressed = Pressed {
        high_milli,
        high: number as u64,
        intervals: slices.len() as u64,
        calls: sides.calls,
        mean_ns: [sides.mean_ns(0), sides.mean_ns(1)],
        share: share(&slices, &high, sides.mean_ns(1)),
        as_good: 0,
        fit: Fit::Goes,
    };
    let few = |n: usize| n < INTERVALS;
    pressed.fit = match () {
        () if number == 0 => Fit::NeverHigh,
        () if number == slices.len() => Fit::AlwaysHigh,
        () if few(number) || few(slices.len() - number) => Fit::TooFew,
        () if sides.calls.iter().any(|n| *n < CALLS) => Fit::TooFew,
        () if pressed.mean_ns[0] < pressed.mean_ns[1].saturating_mul(SLOWER).max(1) => {
            Fit::NotSlower
        }
        () if pressed.share < MOST => Fit::Elsewhere,
        () => {
            pressed.as_good = as_good(&slices, &high, sides.apart_ns());
            match pressed.as_good.saturating_mul(ONE_IN) > pressed.intervals {
                true => Fit::Chance,
                false => Fit::Goes,
            }
        }
    };
    pressed
}

/// How much in a hundred of what calls took beyond the usual lies in high intervals.
fn share(slices: &[Slice], high: &[bool], usual_ns: i64) -> i64 {
    let [mut inside, mut all] = [0i128; 2];
    for (slice, high) in slices.iter().zip(high) {
        let beyond = i128::from(slice.ns) - i128::from(usual_ns) * i128::from(slice.calls);
        all += beyond.max(0);
        inside += if *high { beyond.max(0) } else { 0 };
    }
    i64::try_from(inside * 100 / all.max(1)).unwrap_or(100)
}

/// How many shifts of the counter fit as well; the one without any is one of them.
fn as_good(slices: &[Slice], high: &[bool], seen_ns: i64) -> u64 {
    // Where the edges of samples are not those of the calls, a shift by one interval is the same.
    let shifts = 2..high.len().saturating_sub(1);
    let fits = shifts.filter(|by| {
        let shifted = high.iter().cycle().skip(*by).take(high.len());
        Sides::of(slices, shifted.copied()).apart_ns() >= seen_ns
    });
    fits.count() as u64 + 1
}

/// Of no more than so many; of neighbors the higher counts.
fn coarser(slices: &[Slice]) -> Vec<Slice> {
    let each = slices.len().div_ceil(TOLD_APART).max(1);
    let join = |some: &[Slice]| Slice {
        calls: some.iter().map(|s| s.calls).sum(),
        ns: some.iter().fold(0, |sum: i64, s| sum.saturating_add(s.ns)),
        milli: some.iter().map(|s| s.milli).max().unwrap_or(0),
    };
    slices.chunks(each).map(join).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Intervals of so many calls; slow ones take 50 ms of a call, others 2 ms.
    fn slices(
        n: usize,
        is_slow: impl Fn(usize) -> bool,
        is_high: impl Fn(usize) -> bool,
    ) -> Vec<Slice> {
        let of = |i| Slice {
            calls: 10,
            ns: 10 * MS * if is_slow(i) { 50 } else { 2 },
            milli: if is_high(i) { 80_000 } else { 5_000 },
        };
        (0..n).map(of).collect()
    }

    fn fit(n: usize, is_slow: impl Fn(usize) -> bool, is_high: impl Fn(usize) -> bool) -> Fit {
        held(&slices(n, is_slow, is_high), 25_000).fit
    }

    #[test]
    fn what_is_high_while_calls_are_slow_and_only_then_goes_with_them() {
        let burst = |i: usize| (8..14).contains(&i);
        let pressed = held(&slices(30, burst, burst), 25_000);
        assert_eq!(pressed.fit, Fit::Goes);
        assert_eq!(
            (pressed.high, pressed.intervals, pressed.as_good),
            (6, 30, 1)
        );
        assert_eq!(
            (pressed.calls, pressed.mean_ns),
            ([60, 240], [50 * MS, 2 * MS])
        );
        assert_eq!(pressed.share, 100);
        // One sample of the burst missed, and one too many: one other shift fits as well.
        assert_eq!(fit(40, burst, |i| (9..15).contains(&i)), Fit::Goes);
    }

    #[test]
    fn what_is_high_at_other_times_or_all_the_time_does_not() {
        let burst = |i: usize| (8..14).contains(&i);
        assert_eq!(fit(30, burst, |i| (20..26).contains(&i)), Fit::NotSlower);
        assert_eq!(fit(30, burst, |_| true), Fit::AlwaysHigh);
        assert_eq!(fit(30, burst, |_| false), Fit::NeverHigh);
        // It is high in a small part of what is slow.
        assert_eq!(
            fit(60, |i| i >= 45, |i| (45..49).contains(&i)),
            Fit::Elsewhere
        );
    }

    #[test]
    fn few_intervals_and_what_comes_and_goes_all_the_time_prove_nothing() {
        let burst = |i: usize| (8..12).contains(&i);
        assert_eq!(fit(19, burst, burst), Fit::Chance);
        assert_eq!(fit(20, burst, burst), Fit::Goes);
        assert_eq!(fit(40, |i| i % 4 == 0, |i| i % 4 == 0), Fit::Chance);
        assert_eq!(fit(30, |i| i < 2, |i| i < 2), Fit::TooFew);
    }

    #[test]
    fn twice_as_slow_is_the_border() {
        let at = |slow_ms: i64| {
            let mut all = slices(30, |_| false, |i| i < 6);
            all.iter_mut()
                .take(6)
                .for_each(|s| s.ns = 10 * slow_ms * MS / 10);
            held(&all, 25_000).fit
        };
        assert_eq!((at(39), at(40)), (Fit::NotSlower, Fit::Goes));
    }
}
