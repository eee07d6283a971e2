//! The values that hold most of the cost and differ from the rest beyond chance.
//!
//! Values are taken out one after another, that with the largest excess first, each held against
//! those that are left, so that two slow clients do not hide each other. Excess is the cost of a
//! value's calls less what as many calls cost on the average *in the same block of time*: who only
//! worked while everything was slow has none. Without a difference its expectation is zero in each
//! block, and [`Blocks::surprise`] says how far from zero it is.

use crate::course::{BLOCK, Cell, Course};
use crate::{By, LEAST_CALLS, MOST, TIMES_AS_MUCH};

/// Standard deviations that count as beyond chance. One value in four thousand would get there if
/// costs were normal; of the values tried few have a share that is worth a word, and both answers
/// must agree.
const BEYOND_CHANCE: f64 = 3.5;

/// A set of more values than this is no place.
const MEMBERS: usize = 8;

/// A value with less of the cost than this says nothing.
const MEMBER_SHARE: f64 = 0.04;

/// The values of one attribute on which cost concentrates.
pub(crate) struct Set {
    pub(crate) by: By,
    pub(crate) members: Vec<(u64, Cell)>,
    /// All members' together, by block.
    course: Vec<Cell>,
    pub(crate) sum: Cell,
    /// All calls with another value.
    pub(crate) rest: Cell,
}

/// Blocks of the whole capture, each with calls enough to hold some against others.
pub(crate) struct Blocks {
    /// Where each ends, in a value's blocks.
    ends: Vec<usize>,
    cells: Vec<Cell>,
    /// Sum of the squares of its cells' costs.
    squares: Vec<f64>,
}

impl Blocks {
    pub(crate) fn new(cells: &[Cell]) -> Blocks {
        let least = (Cell::sum(cells).calls / 16).clamp(3, 8);
        let mut blocks = Blocks {
            ends: Vec::new(),
            cells: Vec::new(),
            squares: Vec::new(),
        };
        let (mut open, mut square) = (Cell::default(), 0.0);
        for (at, block) in cells.chunks(BLOCK).enumerate() {
            open = open.with(Cell::sum(block));
            square += block
                .iter()
                .map(|cell| (cell.cost_ns as f64).powi(2))
                .sum::<f64>();
            if open.calls >= least {
                blocks.ends.push(at + 1);
                blocks.cells.push(std::mem::take(&mut open));
                blocks.squares.push(std::mem::take(&mut square));
            }
        }
        // What is left is too little for a block of its own.
        if let (Some(end), Some(cell), Some(last)) = (
            blocks.ends.last_mut(),
            blocks.cells.last_mut(),
            blocks.squares.last_mut(),
        ) {
            (*end, *cell, *last) = (usize::MAX, cell.with(open), *last + square);
        }
        blocks
    }

    fn of(&self, course: &[Cell]) -> Vec<Cell> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        let bounds = starts.zip(&self.ends);
        bounds
            .map(|(from, end)| Cell::sum(course.iter().take(*end).skip(from)))
            .collect()
    }

    /// The smallest set of values that holds most of the cost, if there is one that is beyond
    /// chance: `all` are the calls that have the attribute, in a value's blocks, `told` the course
    /// of the cost asked for.
    pub(crate) fn set(
        &self,
        by: By,
        all: &[Cell],
        values: &[(u64, &Course)],
        told: impl Fn(&Course) -> Vec<Cell>,
    ) -> Option<Set> {
        let whole = Cell::sum(&self.cells);
        let mut left: Vec<(u64, Vec<Cell>, Cell)> = values
            .iter()
            .map(|(value, course)| {
                let cells = self.of(&told(course));
                let sum = Cell::sum(&cells);
                (*value, cells, sum)
            })
            .filter(|(_, _, sum)| sum.share_of(whole) >= MEMBER_SHARE)
            .collect();
        let all = self.of(all);
        let mut rest = all.clone();
        let mut members = Vec::new();
        loop {
            let pool = Cell::sum(&rest);
            let stands_out = |(_, cells, sum): &&(u64, Vec<Cell>, Cell)| {
                let others = pool.without(*sum);
                others.calls >= LEAST_CALLS
                    && sum.mean_ns() >= TIMES_AS_MUCH * others.mean_ns()
                    && self.surprise(cells, &rest) >= BEYOND_CHANCE
            };
            let excess = |sum: &Cell| sum.cost_ns as f64 - sum.calls as f64 * pool.mean_ns();
            // Ties go to the smaller value, as `max_by` takes the last of equals.
            let Some((value, cells, sum)) = left
                .iter()
                .rev()
                .filter(stands_out)
                .max_by(|a, b| excess(&a.2).total_cmp(&excess(&b.2)))
            else {
                break;
            };
            if members.len() == MEMBERS {
                return None;
            }
            rest.iter_mut()
                .zip(cells)
                .for_each(|(rest, cell)| *rest = rest.without(*cell));
            let taken = *value;
            members.push((taken, *sum));
            left.retain(|(value, ..)| *value != taken);
        }
        let course: Vec<Cell> = all
            .iter()
            .zip(&rest)
            .map(|(all, rest)| all.without(*rest))
            .collect();
        let sum = Cell::sum(&course);
        let most = !members.is_empty() && sum.share_of(whole) > MOST;
        most.then_some(Set {
            by,
            members,
            course,
            sum,
            rest: Cell::sum(&rest),
        })
    }

    /// How many standard deviations the excess of a value is away from zero: the lesser of two
    /// answers.
    ///
    /// - By blocks: the mean of the blocks' excesses over their own spread, Student's t
    ///   with as many degrees of freedom as blocks have both a call of the value and one of the
    ///   rest, as the normal deviate that is as rare (Wallace 1959). Calls within a block may
    ///   depend on each other as they like. One outlier, however large, gives 1. But where the rest
    ///   is small and no large cost happened to meet it, the spread is too small.
    /// - By cells (permutation): the spread if the whole cost of each cell, a sixteenth of a block,
    ///   had met one call at random. That needs as many costly cells that could have met the rest.
    fn surprise(&self, set: &[Cell], pool: &[Cell]) -> f64 {
        let (mut sum, mut square, mut variance, mut blocks) = (0.0, 0.0, 0.0, 0.0);
        for (((set, pool), whole), cells) in
            set.iter().zip(pool).zip(&self.cells).zip(&self.squares)
        {
            if set.calls == 0 || set.calls >= pool.calls {
                continue;
            }
            let part = set.calls as f64 / pool.calls as f64;
            let excess = set.cost_ns as f64 - part * pool.cost_ns as f64;
            sum += excess;
            square += excess * excess;
            variance += part * (1.0 - part) * cells * pool.share_of(*whole).powi(2);
            blocks += 1.0;
        }
        if blocks < 4.0 || sum <= 0.0 {
            return 0.0;
        }
        let freedom = blocks - 1.0;
        let unexplained = (1.0 - sum * sum / square / blocks).max(1e-9);
        let by_blocks = (8.0 * freedom + 1.0) / (8.0 * freedom + 3.0)
            * (-freedom * unexplained.ln()).max(0.0).sqrt();
        by_blocks.min(sum / variance.sqrt())
    }
}

/// Says what is the same once. Of two sets that hold about the same cost, the one with much fewer
/// calls says more; of two with the same calls the coarser attribute does ("client" before
/// "connection"). Where one attribute is a part of the other (a file of an export), one of them is
/// said.
pub(crate) fn once(mut sets: Vec<Set>) -> Vec<Set> {
    sets.sort_by_key(|set| set.by);
    let mut dropped = vec![false; sets.len()];
    for second in 0..sets.len() {
        for first in 0..second {
            if dropped[first] || dropped[second] {
                continue;
            }
            let (coarse, fine) = (&sets[first], &sets[second]);
            let fewer = fine.sum.calls as f64 / coarse.sum.calls.max(1) as f64;
            let cost = fine.sum.cost_ns as f64 / coarse.sum.cost_ns.max(1) as f64;
            if same(&coarse.course, &fine.course) {
                dropped[second] = true;
            } else if fine.by.is_part_of(coarse.by) {
                dropped[if cost >= 0.9 { first } else { second }] = true;
            } else if (0.9..=1.0 / 0.9).contains(&cost) && !(0.5..=2.0).contains(&fewer) {
                dropped[if fewer < 1.0 { first } else { second }] = true;
            }
        }
    }
    let mut keep = dropped.iter().map(|dropped| !dropped);
    sets.retain(|_| keep.next().unwrap_or(true));
    // What goes along with the true place only in part holds less of the cost.
    let most = sets.iter().map(|set| set.sum.cost_ns).max().unwrap_or(0) as f64;
    sets.retain(|set| set.sum.cost_ns as f64 >= 0.9 * most);
    sets
}

/// Whether two sets are the same calls, as far as their courses tell.
fn same(a: &[Cell], b: &[Cell]) -> bool {
    let (mut calls, mut cost_ns) = (0, 0);
    for (a, b) in a.iter().zip(b) {
        calls += a.calls.abs_diff(b.calls);
        cost_ns += a.cost_ns.abs_diff(b.cost_ns);
    }
    let all = Cell::sum(a);
    calls <= all.calls / 20 && cost_ns <= all.cost_ns / 20
}
