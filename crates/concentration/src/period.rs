//! Every so often, for so long: costly stretches whose beginnings are evenly spaced.
//!
//! A call is costly when it costs at least twice the mean so far; costly calls that overlap, or are
//! closer than they are long, are one stretch. Of the stretches those count that are about as heavy
//! as the one that holds the middle of the cost. Regular is what has most gaps near their median, more
//! than chance makes of it (binomial), and twice the gap at twice the distance (the autocorrelation of
//! the beginnings at its first two lags). Near is within a tenth, of which chance needs five gaps, or
//! within a fiftieth, of which it needs three. Calls that come at a steady beat and are costly at
//! random are held off by asking for four calls between stretches that are not costly, and as gaps are
//! then so many steps of that beat, chance makes no two the less alike than a step.

use crate::MOST;
use crate::course::{Cell, Clock};

/// Stretches remembered; when there are more, the later half is.
const STRETCHES: usize = 4_096;

/// Gaps that must have been seen for one to be in the middle of others.
const LEAST_GAPS: usize = 3;

/// Of a gap, how far it may be from the period.
const TOLERANCES: [f64; 2] = [0.1, 0.02];

/// So often may chance make so many gaps regular.
const CHANCE: f64 = 0.002;

/// Calls between two stretches that are not costly, at least, on the average.
const CALLS_BETWEEN: u64 = 4;

#[derive(Clone, Copy, Debug)]
struct Stretch {
    from_ns: i64,
    to_ns: i64,
    sum: Cell,
}

impl Stretch {
    fn long_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns)
    }

    /// Whether one that begins later overlaps it, or is closer than both are long.
    fn joins(&self, later: &Stretch) -> bool {
        later.from_ns.saturating_sub(self.to_ns) <= later.long_ns().min(self.long_ns())
    }

    fn with(&self, other: &Stretch, calls: fn(u64, u64) -> u64) -> Stretch {
        Stretch {
            from_ns: self.from_ns.min(other.from_ns),
            to_ns: self.to_ns.max(other.to_ns),
            sum: Cell {
                calls: calls(self.sum.calls, other.sum.calls),
                ..self.sum.with(other.sum)
            },
        }
    }
}

/// The costly stretches of one account.
#[derive(Clone, Default, Debug)]
pub(crate) struct Stretches {
    cost_ns: u64,
    list: Vec<Stretch>,
}

/// What repeats.
pub(crate) struct Beat {
    pub(crate) period_ns: i64,
    pub(crate) for_ns: i64,
    pub(crate) times: u64,
    pub(crate) sum: Cell,
}

impl Stretches {
    /// A call with a cost, and how many calls there were so far.
    pub(crate) fn add(&mut self, from_ns: i64, to_ns: i64, cost_ns: u64, calls: u64) {
        self.cost_ns = self.cost_ns.saturating_add(cost_ns);
        if u128::from(cost_ns) * u128::from(calls) < 2 * u128::from(self.cost_ns) || cost_ns == 0 {
            return;
        }
        self.push(
            Stretch {
                from_ns,
                to_ns: to_ns.max(from_ns),
                sum: Cell { calls: 1, cost_ns },
            },
            |a, b| a + b,
        );
        if self.list.len() >= STRETCHES {
            self.list.drain(..STRETCHES / 2);
        }
    }

    fn push(&mut self, mut new: Stretch, calls: fn(u64, u64) -> u64) {
        // What comes late belongs between others.
        let mut at = match self.list.last() {
            Some(last) if last.from_ns > new.from_ns => {
                self.list.partition_point(|s| s.from_ns <= new.from_ns)
            }
            _ => self.list.len(),
        };
        while let Some(next) = self.list.get(at).filter(|next| new.joins(next)) {
            new = new.with(next, calls);
            self.list.remove(at);
        }
        while let Some(last) = at.checked_sub(1).and_then(|i| self.list.get(i))
            && last.joins(&new)
        {
            new = new.with(last, calls);
            at -= 1;
            self.list.remove(at);
        }
        self.list.insert(at, new);
    }

    /// The stretches of several accounts, in order of time. Calls may be charged in more than one
    /// of them, so at least as many as in one are counted.
    pub(crate) fn together<'a>(all: impl Iterator<Item = &'a Stretches>) -> Stretches {
        let mut list: Vec<Stretch> = all
            .flat_map(|stretches| stretches.list.iter().copied())
            .collect();
        list.sort_by_key(|stretch| (stretch.from_ns, stretch.to_ns));
        let mut together = Stretches::default();
        list.into_iter()
            .for_each(|stretch| together.push(stretch, u64::max));
        together
    }

    pub(crate) fn beat(&self, cells: &[Cell], clock: &Clock) -> Option<Beat> {
        let heavy = self.heavy();
        let (first, last) = (heavy.first()?, heavy.last()?);
        let begins: Vec<i64> = heavy.iter().map(|stretch| stretch.from_ns).collect();
        let gaps: Vec<i64> = begins
            .windows(2)
            .map(|pair| pair[1].saturating_sub(pair[0]))
            .collect();
        if gaps.len() < LEAST_GAPS {
            return None;
        }
        let sum = heavy
            .iter()
            .fold(Cell::default(), |sum, stretch| sum.with(stretch.sum));
        let span = clock.cell_of(first.from_ns)..=clock.cell_of(last.from_ns);
        let seen = Cell::sum(cells.iter().take(span.end() + 1).skip(*span.start()));
        // Stretches that were forgotten leave their cost behind.
        let known = Cell::sum(
            cells.iter().skip(
                self.list
                    .first()
                    .map_or(0, |first| clock.cell_of(first.from_ns)),
            ),
        );
        let between = seen.calls.saturating_sub(sum.calls);
        let steps = (between / heavy.len() as u64 + 1) as f64;
        let about = median(gaps.clone())? as f64;
        let regular = TOLERANCES.iter().find_map(|tolerance| {
            let near = |gap: i64, lag: f64| (gap as f64 - lag * about).abs() <= tolerance * about;
            let regular: Vec<i64> = gaps.iter().copied().filter(|gap| near(*gap, 1.0)).collect();
            let again = begins
                .windows(3)
                .filter(|three| near(three[2].saturating_sub(three[0]), 2.0))
                .count();
            // Of gaps drawn evenly, or of steps of which one in so many is costly; exponential ones have a
            // third of that.
            let by_chance = (2.0 * tolerance).max(1.0 / steps);
            // One gap is the median itself.
            let is_regular = 5 * regular.len() >= 3 * gaps.len()
                && 5 * again >= 3 * (gaps.len() - 1)
                && at_least(regular.len() - 1, gaps.len() - 1, by_chance) <= CHANCE;
            is_regular.then_some(regular)
        })?;
        let for_ns = median(heavy.iter().map(Stretch::long_ns).collect())?;
        let sum_ns: i128 = regular.iter().map(|gap| i128::from(*gap)).sum();
        let period_ns = (sum_ns / regular.len().max(1) as i128) as i64;
        (between >= CALLS_BETWEEN * heavy.len() as u64
            && sum.share_of(known) > MOST
            && for_ns <= period_ns / 2)
            .then_some(Beat {
                period_ns,
                for_ns,
                times: heavy.len() as u64,
                sum,
            })
    }

    /// Those that cost at least a quarter of what the one does that holds the middle of the cost.
    fn heavy(&self) -> Vec<Stretch> {
        let mut costs: Vec<u64> = self
            .list
            .iter()
            .map(|stretch| stretch.sum.cost_ns)
            .collect();
        costs.sort_unstable_by(|a, b| b.cmp(a));
        let half = costs
            .iter()
            .fold(0, |sum: u64, cost| sum.saturating_add(*cost))
            / 2;
        let mut sum: u64 = 0;
        let middle = costs.into_iter().find(|cost| {
            sum = sum.saturating_add(*cost);
            sum >= half
        });
        let least = middle.unwrap_or(0) / 4;
        self.list
            .iter()
            .filter(|stretch| stretch.sum.cost_ns >= least)
            .copied()
            .collect()
    }
}

fn median(mut values: Vec<i64>) -> Option<i64> {
    let middle = values.len() / 2;
    values.sort_unstable();
    values.get(middle).copied()
}

/// The chance of at least so many of so many, each of which has this one.
fn at_least(hits: usize, of: usize, chance: f64) -> f64 {
    let odds = chance / (1.0 - chance).max(1e-9);
    let mut exactly = (1.0 - chance).powi(of as i32);
    let mut below = 0.0;
    for k in 0..hits {
        below += exactly;
        exactly *= odds * (of - k) as f64 / (k + 1) as f64;
    }
    // For so many that the first terms vanish the rest is no less certain.
    if of > 2_000 {
        if hits as f64 > 0.3 * of as f64 {
            0.0
        } else {
            1.0
        }
    } else {
        (1.0 - below).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_late_lies_where_it_belongs() {
        const MS: i64 = 1_000_000;
        let all = |order: &[i64]| {
            let mut stretches = Stretches::default();
            for n in order {
                let from_ns = n / 2 * 1_000 * MS + n % 2 * 5 * MS;
                stretches.add(from_ns, from_ns + 10 * MS, 1, 100);
            }
            let span = |s: &Stretch| (s.from_ns / MS, s.to_ns / MS, s.sum.calls);
            stretches.list.iter().map(span).collect::<Vec<_>>()
        };
        let in_order = all(&[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(
            in_order,
            [0, 1, 2, 3].map(|s| (s * 1_000, s * 1_000 + 15, 2))
        );
        assert_eq!(all(&[0, 2, 4, 6, 7, 3, 1, 5]), in_order);
        assert_eq!(all(&[7, 6, 5, 4, 3, 2, 1, 0]), in_order);
    }
}
