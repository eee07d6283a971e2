//! Since when, until when, from when to when: the window of time that holds most of the cost.
//!
//! Blocks are ranked by the mean cost of their calls, and the window is taken in which ranks are
//! highest (Mann and Whitney's statistic, maximised over windows), so no outlier can make one. Its
//! variance is widened by how alike blocks beside each other are (an autoregression of first order
//! within and without the window), as blocks are not independent either.

use crate::course::Cell;
use crate::{LEAST_CALLS, MOST, TIMES_AS_MUCH};
use std::ops::Range;

/// Cells that make a block here: there are 64 to 128.
const BLOCK: usize = 8;

/// Blocks of equally many calls.
const BLOCKS_OF_CALLS: u64 = 96;

/// Standard deviations that count as beyond chance, of the best of some 8,000 windows.
const BEYOND_CHANCE: f64 = 5.0;

/// Blocks inside and outside a window at least.
const LEAST_BLOCKS: usize = 8;

/// Of a window's blocks, how many must cost more than the median of the others: a few events that
/// came near each other by chance leave blocks between them that do not.
const THROUGHOUT: f64 = 0.75;

/// A window with two edges must be better than one with one edge by this much of its square.
const SECOND_EDGE: f64 = 1.2;

/// The window, as cells.
pub(crate) fn window(cells: &[Cell]) -> Option<Range<usize>> {
    let whole = Cell::sum(cells);
    let by_time: Vec<Range<usize>> = (0..cells.len())
        .step_by(BLOCK)
        .map(|from| from..(from + BLOCK).min(cells.len()))
        .collect();
    // The mean of few calls is mostly less than the mean of many where some cost much. So blocks of
    // equal time may only tell of windows in which calls are not more than elsewhere; else those of
    // equally many calls must.
    let density = |range: Range<usize>| {
        let inside = Cell::sum(&cells[range.clone()]).calls;
        let (long, rest) = (range.len(), cells.len() - range.len());
        inside as f64 / long as f64 <= 1.25 * (whole.calls - inside) as f64 / rest.max(1) as f64
    };
    let best = best(cells, &by_time)
        .filter(|range| density(range.clone()))
        .or_else(|| best(cells, &by_calls(cells, whole.calls / BLOCKS_OF_CALLS)))?;
    let inside = Cell::sum(&cells[best.clone()]);
    let outside = whole.without(inside);
    (inside.calls.min(outside.calls) >= LEAST_CALLS
        && inside.share_of(whole) > MOST
        && inside.mean_ns() >= TIMES_AS_MUCH * outside.mean_ns())
    .then_some(best)
}

fn by_calls(cells: &[Cell], least: u64) -> Vec<Range<usize>> {
    let (mut ranges, mut from, mut calls) = (Vec::new(), 0, 0);
    for (at, cell) in cells.iter().enumerate() {
        calls += cell.calls;
        if calls >= least.max(1) {
            ranges.push(from..at + 1);
            (from, calls) = (at + 1, 0);
        }
    }
    ranges
}

fn best(cells: &[Cell], blocks: &[Range<usize>]) -> Option<Range<usize>> {
    let blocks: Vec<(Range<usize>, f64)> = blocks
        .iter()
        .map(|range| (range.clone(), Cell::sum(&cells[range.clone()])))
        .filter(|(_, sum)| sum.calls > 0)
        .map(|(range, sum)| (range, sum.mean_ns()))
        .collect();
    let ranks = ranks(&blocks.iter().map(|(_, mean)| *mean).collect::<Vec<_>>());
    let n = ranks.len();
    let spread = ranks.iter().map(|rank| rank * rank).sum::<f64>() / (n.max(2) - 1) as f64;
    let sums: Vec<f64> = std::iter::once(0.0)
        .chain(ranks.iter().scan(0.0, |sum, rank| {
            *sum += rank;
            Some(*sum)
        }))
        .collect();
    let deviations = |from: usize, end: usize| {
        let (inside, outside) = ((end - from) as f64, (n - end + from) as f64);
        (sums[end] - sums[from]) / (inside * outside / n as f64 * spread).sqrt()
    };
    let mut found: Option<(f64, usize, usize)> = None;
    for from in 0..n {
        for end in from + LEAST_BLOCKS..=n {
            if n - (end - from) < LEAST_BLOCKS {
                continue;
            }
            let z = deviations(from, end);
            let edges = if from == 0 || end == n {
                1.0
            } else {
                1.0 / SECOND_EDGE.sqrt()
            };
            if found.is_none_or(|(best, ..)| z * edges > best) {
                found = Some((z * edges, from, end));
            }
        }
    }
    let (_, from, end) = found?;
    if deviations(from, end) * independence(&ranks, from, end) < BEYOND_CHANCE {
        return None;
    }
    let means = |within: bool| -> Vec<f64> {
        let chosen = blocks
            .iter()
            .enumerate()
            .filter(|(at, _)| (from..end).contains(at) == within);
        chosen.map(|(_, (_, mean))| *mean).collect()
    };
    let (inside, mut outside) = (means(true), means(false));
    outside.sort_unstable_by(f64::total_cmp);
    let usual = outside.get(outside.len() / 2).copied().unwrap_or(0.0);
    let costly = inside.iter().filter(|mean| **mean > usual).count();
    if (costly as f64) < THROUGHOUT * inside.len() as f64 {
        return None;
    }
    let mean = |means: &[f64]| means.iter().sum::<f64>() / means.len().max(1) as f64;
    let (inside, outside) = (mean(&inside), mean(&outside));
    let middle = (inside * outside).sqrt().max(outside);
    // The edges lie somewhere in the blocks beside them.
    let begin = match from {
        0 => 0,
        at => edge(cells, blocks[at - 1].0.start..blocks[at].0.end, |mean| {
            mean > middle
        }),
    };
    let finish = match end {
        at if at == n => cells.len(),
        at => edge(cells, blocks[at - 1].0.start..blocks[at].0.end, |mean| {
            mean <= middle
        }),
    };
    (begin < finish).then_some(begin..finish)
}

/// Ranks around zero; equals share theirs.
fn ranks(means: &[f64]) -> Vec<f64> {
    let of = |mean: &f64| {
        let below = means.iter().filter(|other| *other < mean).count() as f64;
        let above = means.iter().filter(|other| *other > mean).count() as f64;
        (below - above) / 2.0
    };
    means.iter().map(of).collect()
}

/// How much less blocks tell than as many independent ones: 1 for independent ones.
fn independence(ranks: &[f64], from: usize, end: usize) -> f64 {
    let inside = ranks[from..end].iter().sum::<f64>() / (end - from) as f64;
    let outside = -inside * (end - from) as f64 / (ranks.len() - (end - from)) as f64;
    let residuals: Vec<f64> = ranks
        .iter()
        .enumerate()
        .map(|(at, rank)| {
            rank - if (from..end).contains(&at) {
                inside
            } else {
                outside
            }
        })
        .collect();
    let square: f64 = residuals.iter().map(|residual| residual * residual).sum();
    let beside: f64 = residuals.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let alike = if square > 0.0 {
        (beside / square).clamp(0.0, 0.95)
    } else {
        0.0
    };
    ((1.0 - alike) / (1.0 + alike)).sqrt()
}

/// The cell from which on what is asked for holds, rather than before it: the most cells agree.
fn edge(cells: &[Cell], range: Range<usize>, holds: impl Fn(f64) -> bool) -> usize {
    let (mut best, mut most, mut agree) = (range.start, 0, 0);
    for at in range.clone().rev() {
        if cells[at].calls > 0 {
            agree += if holds(cells[at].mean_ns()) { 1 } else { -1 };
        }
        if agree > most {
            (best, most) = (at, agree);
        }
    }
    best
}
