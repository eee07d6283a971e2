//! Operations into the calls that they contain, as intervals nest.
//!
//! An application asks before the first byte leaves, and sees its operation done soon after the last byte came: its
//! interval contains the call's. Where a queue stands above the wire, an operation contains many calls; its own is the
//! one that ended last before it did. So operations take, in the order of their ends, the call with the latest end
//! among those that they contain, and each call is taken once.
//!
//! On one host the clocks agree, but for slack. Where few operations contain a call, their clock may be another: the
//! shift within a second under which most do, if nearly all do.

use super::SLACK_NS;
use super::span::{CLOCKS_APART_NS, Span};
use hashbrown::HashMap;
use trace::OperationKind;

/// Operations by which a shift is found, those by which it is tried, and the shifts that are tried.
const VOTING: usize = 500;
const TRYING: usize = 20_000;
const TRIED: usize = 24;

/// Calls that an operation votes with, of those that end near it.
const VOTES: usize = 2_000;

/// Votes are counted in steps that the slack to both sides spans.
const STEP_NS: i64 = 2 * SLACK_NS;

/// A shift is a guess: it must give so many in a hundred their call.
const SHIFTED_SHARE: usize = 90;

/// What was found.
pub(super) struct Nesting {
    /// Of each operation that found its call, its time above the call's.
    pub(super) above: Vec<i64>,
    /// How far the application's clock is ahead of the capture's.
    pub(super) ahead_ns: i64,
}

impl Nesting {
    /// `grain_ns`: ends may be noted so much too early.
    pub(super) fn of(mut rows: Vec<Span>, mut calls: Vec<Span>, grain_ns: i64) -> Nesting {
        rows.sort_unstable_by_key(|r| (r.until, r.from, r.client));
        calls.sort_unstable_by_key(|c| (c.until, c.from, c.client));
        let data = calls.iter().any(|c| c.kind != OperationKind::Other);
        let join =
            |rows: &[Span], ahead_ns| nest(rows, &calls, ahead_ns, SLACK_NS + grain_ns, data);
        let least = rows.len().min(calls.len());
        let above = join(&rows, 0);
        if above.len() * 2 >= least {
            return Nesting { above, ahead_ns: 0 };
        }
        // A stretch without holes, so that each may meet its call.
        let some = rows.get(..TRYING).unwrap_or(&rows);
        let tried = shifts(&rows, &calls).into_iter();
        let best = tried.max_by_key(|&ahead_ns| (join(some, ahead_ns).len(), ahead_ns));
        let shifted = best.map(|ahead_ns| (join(&rows, ahead_ns), ahead_ns));
        match shifted.filter(|(above, _)| above.len() * 100 >= least * SHIFTED_SHARE) {
            Some((above, ahead_ns)) => Nesting { above, ahead_ns },
            None => Nesting { above, ahead_ns: 0 },
        }
    }
}

/// Whether a call may be the operation's.
fn admits(row: &Span, call: &Span, data: bool) -> bool {
    let kind = match row.kind {
        OperationKind::Unsaid => !data || call.kind != OperationKind::Other,
        kind => kind == call.kind,
    };
    // Of other places they are not each other's.
    kind && !(row.placed && call.placed) && (row.client.is_none() || row.client == call.client)
}

/// The time above their calls of all operations that have one.
fn nest(rows: &[Span], calls: &[Span], ahead_ns: i64, late_ns: i64, data: bool) -> Vec<i64> {
    type Class = (OperationKind, Option<u16>, bool);
    // Calls that ended and are free, by what they are: the latest at the end.
    let mut free: HashMap<Class, Vec<Span>, foldhash::fast::FixedState> = HashMap::default();
    let mut ending = calls.iter().peekable();
    let mut above = Vec::new();
    for row in rows {
        let (from, until) = (
            row.from - ahead_ns - SLACK_NS,
            row.until - ahead_ns + late_ns,
        );
        while let Some(call) = ending.next_if(|c| c.until <= until) {
            let class = (call.kind, call.client, call.placed);
            free.entry(class).or_default().push(*call);
        }
        let mut nearest: Option<(Span, Class, usize)> = None;
        for (class, calls) in &free {
            if !calls.first().is_some_and(|c| admits(row, c, data)) {
                continue;
            }
            // Only calls that were under way when the operation began are passed over.
            let within = calls
                .iter()
                .enumerate()
                .rev()
                .take_while(|(_, c)| c.until >= from);
            let mut contained = within.filter(|(_, c)| c.from >= from);
            if let Some((i, call)) = contained.next()
                && nearest.is_none_or(|(n, ..)| (call.until, call.from) > (n.until, n.from))
            {
                nearest = Some((*call, *class, i));
            }
        }
        if let Some((call, class, i)) = nearest {
            if let Some(calls) = free.get_mut(&class) {
                calls.remove(i);
            }
            above.push((row.took() - call.took()).max(0));
        }
    }
    above
}

/// The distances at which most ends of operations follow ends of calls.
fn shifts(rows: &[Span], calls: &[Span]) -> Vec<i64> {
    let mut votes: HashMap<i64, u32, foldhash::fast::FixedState> = HashMap::default();
    for row in rows.iter().step_by(rows.len().div_ceil(VOTING).max(1)) {
        let near = |c: &Span, by| c.until < row.until.saturating_add(by);
        let from = calls.partition_point(|c| near(c, -CLOCKS_APART_NS));
        let to = calls.partition_point(|c| near(c, CLOCKS_APART_NS));
        let window = calls.get(from..to).unwrap_or_default();
        for call in window.iter().step_by(window.len().div_ceil(VOTES).max(1)) {
            *votes
                .entry((row.until - call.until).div_euclid(STEP_NS))
                .or_default() += 1;
        }
    }
    let mut votes: Vec<(u32, i64)> = votes.into_iter().map(|(step, n)| (n, step)).collect();
    votes.sort_unstable_by(|a, b| b.cmp(a));
    votes.truncate(TRIED);
    votes.into_iter().map(|(_, step)| step * STEP_NS).collect()
}
