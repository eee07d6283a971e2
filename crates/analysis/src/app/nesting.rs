//! Rows into calls that enclose them, or that they enclose, as intervals nest.
//!
//! An application's row encloses its call, a server's is enclosed by it ([`Whose`]). Where a queue stands between, what
//! encloses holds many of the others; its own is the one that ended last before it did. So whatever encloses takes, in
//! the order of ends, what ended last of what it holds, and each is taken once.
//!
//! On one host the clocks agree, but for slack. Where few rows find their call, their clock may be another: the shift
//! within a second under which most do, if nearly all do.

use super::SLACK_NS;
use super::sessions;
use super::span::{CLOCKS_APART_NS, Span};
use super::whose::{Slack, Whose};
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

/// A row and its call.
pub(super) type Pair = (Span, Span);

/// What was found.
pub(super) struct Nesting {
    /// Rows on the capture's clock.
    pub(super) pairs: Vec<Pair>,
    /// Of each pair, whether time leaves no other: nothing else was under way meanwhile, on either side. Where any call or row
    /// stays without its own, none is certain: what nests may be another client's then.
    pub(super) is_only: Vec<bool>,
    /// How far the rows' clock is ahead of the capture's.
    pub(super) ahead_ns: i64,
}

impl Nesting {
    /// `grain_ns`: rows may note their times so much too early. `are_named`: rows of a session say which connection that is.
    pub(super) fn of(
        mut rows: Vec<Span>,
        mut calls: Vec<Span>,
        grain_ns: i64,
        whose: Whose,
        are_named: bool,
    ) -> Nesting {
        match rows.iter().all(|r| r.session.is_some()) {
            // Those that ended in one step of the log's clock stay in its order.
            true => rows.sort_by_key(|r| r.until),
            false => rows.sort_unstable_by_key(|r| (r.until, r.from, r.client)),
        }
        calls.sort_unstable_by_key(|c| (c.until, c.from, c.client));
        let data = calls.iter().any(|c| c.kind != OperationKind::Other);
        let slack = whose.slack(grain_ns);
        let by_session = rows.iter().all(|r| r.session.is_some());
        let join = |rows: &[Span], ahead_ns| {
            let rows: Vec<Span> = rows.iter().map(|r| r.earlier(ahead_ns)).collect();
            match by_session {
                true if are_named => sessions::in_order(&rows, &calls, whose, slack),
                true => {
                    let calls = sessions::named(&rows, &calls, whose, slack);
                    sessions::in_order(&rows, &calls, whose, slack)
                }
                false => nest(&rows, &calls, whose, slack, data),
            }
        };
        let least = rows.len().min(calls.len());
        let found = |pairs: Vec<Pair>, ahead_ns| {
            let all = [
                UnderWay::new(rows.iter().map(|r| r.earlier(ahead_ns))),
                UnderWay::new(calls.iter().copied()),
            ];
            let during = |span: &Span| all.iter().all(|all| all.during(span) == 1);
            let outer = |(row, call): &Pair| whose.outer_inner(*row, *call).0;
            let [noted, seen] = &all;
            let is_whole = pairs.len() == calls.len()
                && noted.within(seen) == UnderWay::new(pairs.iter().map(|(r, _)| *r)).within(seen);
            let is_only = |pair| is_whole && during(&outer(pair));
            Nesting {
                is_only: pairs.iter().map(is_only).collect(),
                pairs,
                ahead_ns,
            }
        };
        let pairs = join(&rows, 0);
        if pairs.len() * 2 >= least {
            return found(pairs, 0);
        }
        // A stretch without holes, so that each may meet its call.
        let some = rows.get(..TRYING).unwrap_or(&rows);
        let tried = shifts(&rows, &calls).into_iter();
        let best = tried.max_by_key(|&ahead_ns| (join(some, ahead_ns).len(), ahead_ns));
        let shifted = best.map(|ahead_ns| (join(&rows, ahead_ns), ahead_ns));
        match shifted.filter(|(pairs, _)| pairs.len() * 100 >= least * SHIFTED_SHARE) {
            Some((pairs, ahead_ns)) => found(pairs, ahead_ns),
            None => found(pairs, 0),
        }
    }
}

/// When spans began and when they ended, each sorted.
struct UnderWay {
    from: Vec<i64>,
    until: Vec<i64>,
}

impl UnderWay {
    fn new(spans: impl Iterator<Item = Span>) -> UnderWay {
        let (mut from, mut until): (Vec<i64>, Vec<i64>) = spans.map(|s| (s.from, s.until)).unzip();
        from.sort_unstable();
        until.sort_unstable();
        UnderWay { from, until }
    }

    /// How many began and ended while the others went on.
    fn within(&self, others: &UnderWay) -> usize {
        let Some((first, last)) = others.from.first().zip(others.until.last()) else {
            return 0;
        };
        let ended = self.until.partition_point(|until| until <= last);
        ended.saturating_sub(self.from.partition_point(|from| from < first))
    }

    /// How many have any time in common with this one.
    fn during(&self, span: &Span) -> usize {
        let began = self.from.partition_point(|from| *from <= span.until);
        began - self.until.partition_point(|until| *until < span.from)
    }
}

/// Whether a call may be the row's.
fn admits(row: &Span, call: &Span, data: bool) -> bool {
    let kind = match row.kind {
        OperationKind::Unsaid => !data || call.kind != OperationKind::Other,
        kind => kind == call.kind,
    };
    // Of other places they are not each other's.
    kind && !(row.placed && call.placed) && (row.client.is_none() || row.client == call.client)
}

/// All rows that have a call, with it.
fn nest(rows: &[Span], calls: &[Span], whose: Whose, slack: Slack, data: bool) -> Vec<Pair> {
    type Class = (OperationKind, Option<u16>, bool);
    let (outers, inners) = whose.outer_inner(rows, calls);
    // In the other order they are what they were.
    let row_call = |outer: Span, inner: Span| whose.outer_inner(outer, inner);
    // Of what is enclosed, what ended and is free, by what it is: the latest at the end.
    let mut free: HashMap<Class, Vec<Span>, foldhash::fast::FixedState> = HashMap::default();
    let mut ending = inners.iter().peekable();
    let mut pairs = Vec::new();
    for outer in outers {
        while let Some(inner) = ending.next_if(|i| slack.ends_within(outer, i)) {
            let class = (inner.kind, inner.client, inner.placed);
            free.entry(class).or_default().push(*inner);
        }
        let earliest = outer.from.saturating_sub(slack.early_ns);
        let mut nearest: Option<(Span, Class, usize)> = None;
        for (class, inners) in &free {
            let may_be = |inner: &Span| {
                let (row, call) = row_call(*outer, *inner);
                admits(&row, &call, data)
            };
            if !inners.first().is_some_and(may_be) {
                continue;
            }
            // Only those that were under way when this one began are passed over.
            let within = inners
                .iter()
                .enumerate()
                .rev()
                .take_while(|(_, i)| i.until >= earliest);
            let mut contained = within.filter(|(_, i)| slack.begins_within(outer, i));
            if let Some((i, inner)) = contained.next()
                && nearest.is_none_or(|(n, ..)| (inner.until, inner.from) > (n.until, n.from))
            {
                nearest = Some((*inner, *class, i));
            }
        }
        if let Some((inner, class, i)) = nearest {
            if let Some(inners) = free.get_mut(&class) {
                inners.remove(i);
            }
            pairs.push(row_call(*outer, inner));
        }
    }
    pairs
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
