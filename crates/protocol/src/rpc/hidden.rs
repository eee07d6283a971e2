//! Messages that start where nothing was captured: behind the snap length, in the middle of a segment
//! that holds several of them (segmentation offload makes such). Nothing of their headers is there,
//! but much is known all the same, and where all of it agrees they are as certain as if seen.
//!
//! A record mark says where a request ends. The requests hidden between that position and the next
//! header that was captured are those whose XIDs the client counted in between, in order; the reply
//! to each tells its kind, and with it its length ([`Kinds`]). When the lengths add up to the hidden
//! bytes, each request's first and last byte, and with them its packets and times, are known.
//!
//! It is not done where anything is in doubt: the client must be seen to count (in the host's byte
//! order or the network's) and to send in that order; the capture may lack no packet in between;
//! every reply must be there, of one kind only, and not before its request. Requests without a reply
//! are allowed for where only one sum is possible. Where a client counts all its connections
//! together, the XIDs that nobody answers here are taken for those of others if the sum needs them
//! to be.
//!
//! Likewise replies that are hidden between others, where the server was seen to answer strictly in
//! order and they fill the hidden bytes with the length that all its replies have there.

use super::asked::Asked;
use super::kinds::Kinds;
use super::pairing::Early;
use super::pending::Pending;
use super::positions::{Between, ByteOrder, Cursor, FAR, Runs, Seen, Tracker};
use super::unseen::{Answered, Waiting};
use crate::session::{Run, Span};
use hashbrown::HashMap;
use model::{Time, limits};
use std::collections::VecDeque;

/// Successive messages, seen beside each other, that must have been counted before others are
/// inferred: requests, and replies, which have less reason to stand in order.
const COUNTED: u32 = 4;
const ANSWERED_IN_ORDER: u32 = 64;

/// Stretches that wait for replies. Those of the oldest have been hidden too, and what can be said
/// without them is.
const STRETCHES: usize = 256;

/// A sparse counter's stretch of up to so many XIDs is tried with each reply.
const SHORT: u32 = 64;

/// Requests that are hidden between two that were seen, or behind the last.
#[derive(Debug)]
struct Stretch {
    order: ByteOrder,
    sparse: bool,
    /// The counter of the first, and of how many XIDs one may be there.
    first: u32,
    count: u32,
    /// Those of which the reply is there.
    answered: u32,
    /// Whether the capture or connection ends with it.
    open: bool,
    runs: Runs,
}

impl Stretch {
    fn xids(&self) -> impl Iterator<Item = u32> {
        let (order, first) = (self.order, self.first);
        (0..self.count).map(move |i| order.turn(first.wrapping_add(i)))
    }

    fn holds(&self, xid: u32) -> bool {
        self.order.turn(xid).wrapping_sub(self.first) < self.count
    }

    fn is_ready(&self) -> bool {
        self.answered == self.count || (self.sparse && self.count <= SHORT)
    }
}

/// What a message shows to stand before it.
pub(super) enum Passed {
    Nothing,
    /// Replies, with their XIDs.
    Replies(Vec<(u32, Span)>),
    /// Replies, nobody knows which.
    Unknown(Runs),
    /// Requests: the stretch of that index.
    Stretch(usize),
}

/// What a stretch came to.
#[derive(Default)]
pub(super) struct Settled {
    /// Calls of which XID, request and kind are known, and their replies.
    pub found: Vec<(Box<Pending>, Box<Early>)>,
    /// Replies whose requests could not be told.
    pub unknown: Vec<Early>,
}

/// The requests of one direction, and what may be hidden of them. The tracker is of all messages of
/// that direction, the rest of the requests among them.
#[derive(Default, Debug)]
pub(super) struct Lane {
    tracker: Tracker,
    pub(super) kinds: Kinds,
    /// In the order of the stream.
    stretches: VecDeque<Stretch>,
    asked: Asked,
    /// Replies that came without a request, by XID, and their order.
    replies: HashMap<u32, Box<Early>, foldhash::fast::FixedState>,
    order: VecDeque<u32>,
}

impl Lane {
    /// What it keeps of bytes that passed unseen, and of replies.
    pub(super) fn kept_bytes(&self) -> usize {
        let runs = self.tracker.runs.runs.len() * size_of::<Run>();
        let stretches = self
            .stretches
            .iter()
            .map(|s| s.runs.runs.len() * size_of::<Run>());
        runs + stretches.sum::<usize>()
            + self.asked.bytes()
            + self.replies.len() * 2 * size_of::<Early>()
    }

    /// Position was lost, or packets are missing.
    pub(super) fn lose(&mut self, at: Time) {
        self.asked.lose(at);
        self.tracker.lose();
    }

    /// These bytes passed unseen. `false`: there are too many of them to remember.
    pub(super) fn skipped(&mut self, run: &Run) -> bool {
        let runs = &mut self.tracker.runs;
        if self.tracker.last.is_none() || run.length == 0 {
            return true;
        }
        if runs.runs.len() >= limits::HIDDEN_RUNS {
            self.lose(run.mark.time);
            return false;
        }
        runs.bytes += run.length;
        runs.runs.push(*run);
        true
    }

    /// A message was seen to its end, and what stood before it is hidden or not.
    pub(super) fn passed(&mut self, seen: Seen) -> Passed {
        let between = self.tracker.passed(seen);
        if seen.is_call {
            self.asked.see(seen.xid, between.as_ref().map(|b| &b.runs));
        }
        let Some(between) = between else {
            return Passed::Nothing;
        };
        if !seen.is_call {
            let replies = self.replies_between(&between);
            return replies.map_or(Passed::Unknown(between.runs), Passed::Replies);
        }
        if let Some((order, sparse)) = self.tracker.counting(COUNTED) {
            let steps = order.steps(between.before.xid, seen.xid);
            if (2..=FAR).contains(&steps) {
                let first = order.turn(between.before.xid).wrapping_add(1);
                self.add(order, sparse, first, steps - 1, between.runs);
                return Passed::Stretch(self.stretches.len() - 1);
            }
        }
        Passed::Nothing
    }

    fn add(&mut self, order: ByteOrder, sparse: bool, first: u32, count: u32, runs: Runs) {
        let mut stretch = Stretch {
            order,
            sparse,
            first,
            count,
            answered: 0,
            open: false,
            runs,
        };
        let is_there = |xid: &u32| self.replies.contains_key(xid);
        stretch.answered = stretch.xids().filter(is_there).count() as u32;
        self.stretches.push_back(stretch);
    }

    fn replies_between(&self, between: &Between) -> Option<Vec<(u32, Span)>> {
        let (order, sparse) = self.tracker.counting(ANSWERED_IN_ORDER)?;
        let Between {
            before,
            after,
            runs,
        } = between;
        let count = order.steps(before.xid, after.xid).wrapping_sub(1);
        let fits = !sparse
            && (1..FAR).contains(&count)
            && before.bytes == after.bytes
            && before.bytes.checked_mul(u64::from(count)) == Some(runs.bytes);
        if !fits {
            return None;
        }
        let first = order.turn(before.xid).wrapping_add(1);
        let mut cursor = Cursor::new(&runs.runs);
        (0..count)
            .map(|i| {
                let xid = order.turn(first.wrapping_add(i));
                Some((xid, cursor.take(before.bytes)?))
            })
            .collect()
    }

    /// Whether requests are hidden whose replies may come.
    pub(super) fn hides(&self) -> bool {
        self.tracker.runs.bytes > 0 || !self.stretches.is_empty()
    }

    /// A reply was seen, its request was not.
    pub(super) fn answer(&mut self, reply: &Early) {
        self.asked.answer(reply.header.xid, reply.span.bytes);
    }

    /// Hidden requests that wait for their replies since then, and how many more there may be behind all that was seen;
    /// `None` where nothing says how many they are.
    pub(super) fn waiting(&mut self, since: Time) -> (Option<Vec<Waiting>>, u64) {
        let order = self.counting();
        let waiting = self.asked.waiting(order, since, &self.kinds);
        let behind = match (self.tracker.runs.bytes, self.kinds.shortest_request_bytes()) {
            (0, _) => 0,
            (bytes, Some(shortest)) => bytes / shortest,
            (_, None) => u64::MAX,
        };
        (waiting, behind.saturating_sub(self.asked.answered_behind()))
    }

    /// How their XIDs count, where none is left out.
    fn counting(&self) -> Option<ByteOrder> {
        let (order, is_sparse) = self.tracker.counting(COUNTED)?;
        (!is_sparse).then_some(order)
    }

    /// Replies have passed to hidden requests.
    pub(super) fn take_waiting(&mut self, answered: Answered) {
        let order = self.counting();
        self.asked.take(order, &self.kinds, answered);
    }

    /// What passed unseen behind the last reply.
    pub(super) fn behind_last_reply(&mut self) -> Option<Runs> {
        let is_behind_reply = self.tracker.last.is_some_and(|last| !last.is_call);
        let runs = &mut self.tracker.runs;
        (is_behind_reply && runs.bytes > 0).then(|| std::mem::take(runs))
    }

    /// Keeps a reply until its request can be inferred. Returns the stretch that it belongs to.
    pub(super) fn keep(&mut self, reply: Box<Early>) -> Option<usize> {
        let xid = reply.header.xid;
        if self.replies.insert(xid, reply).is_some() {
            return None;
        }
        let of = self.stretches.iter().position(|s| s.holds(xid));
        if let Some(stretch) = of.and_then(|i| self.stretches.get_mut(i)) {
            stretch.answered += 1;
        }
        if self.order.len() > 2 * self.replies.len() + 64 {
            self.order.retain(|x| self.replies.contains_key(x));
        }
        self.order.push_back(xid);
        of
    }

    /// The reply to a request that was seen behind it.
    pub(super) fn take(&mut self, xid: u32) -> Option<Box<Early>> {
        if self.replies.is_empty() {
            return None;
        }
        self.replies.remove(&xid)
    }

    pub(super) fn peek(&self, xid: u32) -> Option<&Early> {
        self.replies.get(&xid).map(|e| &**e)
    }

    /// Whether more is kept than may be.
    pub(super) fn is_full(&self) -> bool {
        let runs: usize = self.stretches.iter().map(|s| s.runs.runs.len()).sum();
        self.replies.len() > limits::HIDDEN_CALLS
            || runs > limits::HIDDEN_RUNS
            || self.stretches.len() > STRETCHES
    }

    /// Settles this stretch if all is known of it that can be.
    pub(super) fn settle(
        &mut self,
        stretch: usize,
        blank: impl FnMut() -> Box<Pending>,
    ) -> Option<Settled> {
        let candidate = self.stretches.get(stretch).filter(|s| s.is_ready())?;
        let solution = self.solve(candidate, blank);
        // With all replies there, there is nothing to wait for.
        if solution.is_none() && candidate.answered < candidate.count {
            return None;
        }
        let stretch = self.stretches.remove(stretch)?;
        Some(self.finish(&stretch, solution))
    }

    /// Settles the oldest stretch as it is, or gives up the oldest reply that belongs to none.
    pub(super) fn settle_oldest(&mut self, blank: impl FnMut() -> Box<Pending>) -> Settled {
        if let Some(stretch) = self.stretches.pop_front() {
            let solution = self.solve(&stretch, blank);
            return self.finish(&stretch, solution);
        }
        let mut settled = Settled::default();
        while settled.unknown.is_empty()
            && let Some(xid) = self.order.pop_front()
        {
            settled
                .unknown
                .extend(self.replies.remove(&xid).map(|r| *r));
        }
        settled
    }

    /// The connection is over: what came behind the last request that was seen is a stretch too.
    pub(super) fn end(&mut self) {
        let runs = std::mem::take(&mut self.tracker.runs);
        let (Some(last), Some((order, sparse))) =
            (self.tracker.last.take(), self.tracker.counting(COUNTED))
        else {
            return;
        };
        let unclaimed = |xid: &&u32| !self.stretches.iter().any(|s| s.holds(**xid));
        let count = (self.replies.keys().filter(unclaimed))
            .map(|&xid| order.steps(last.xid, xid))
            .filter(|steps| (1..=FAR).contains(steps))
            .max();
        if let Some(count) = count.filter(|_| last.is_call && runs.bytes > 0) {
            let first = order.turn(last.xid).wrapping_add(1);
            self.add(order, sparse, first, count, runs);
            if let Some(stretch) = self.stretches.back_mut() {
                stretch.open = true;
            }
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.stretches.is_empty() && self.order.is_empty()
    }

    /// Where each request of a stretch that was answered stands, and what it is; `None` where that is
    /// not certain.
    fn solve(
        &self,
        stretch: &Stretch,
        mut blank: impl FnMut() -> Box<Pending>,
    ) -> Option<Solution> {
        let mut scratch = blank();
        let mut parts = Vec::with_capacity(stretch.count as usize);
        for xid in stretch.xids() {
            let reply = self.peek(xid);
            if reply.is_none() && stretch.sparse {
                continue;
            }
            if reply.is_none() && stretch.open {
                return None;
            }
            let (low, high) = self.kinds.lengths(reply, &mut scratch)?;
            // Replies may still come, so that what adds up now need not be all there is.
            if stretch.sparse && low < high {
                return None;
            }
            parts.push(Part { xid, low, high });
        }
        let mut cursor = Cursor::new(&stretch.runs.runs);
        let mut solution = Vec::with_capacity(parts.len());
        for (part, length) in parts.iter().zip(sums(&parts, stretch.runs.bytes)?) {
            let request = cursor.take(length)?;
            let Some(reply) = self.peek(part.xid) else {
                if !self.kinds.has_length(length) {
                    return None;
                }
                continue;
            };
            let kind = self.kinds.only(length, reply, &mut scratch)?;
            if reply.span.first.time < request.last.time {
                return None;
            }
            let mut call = blank();
            kind.fill(&mut call);
            call.xid = part.xid;
            call.request = request;
            solution.push(call);
        }
        Some(solution)
    }

    /// Takes the replies of a stretch.
    fn finish(&mut self, stretch: &Stretch, solution: Option<Solution>) -> Settled {
        let mut settled = Settled::default();
        for call in solution.unwrap_or_default() {
            if let Some(reply) = self.replies.remove(&call.xid) {
                settled.found.push((call, reply));
            }
        }
        let rest = stretch.xids().filter_map(|xid| self.replies.remove(&xid));
        settled.unknown.extend(rest.map(|r| *r));
        settled
    }
}

/// The calls of a stretch that were answered.
type Solution = Vec<Box<Pending>>;

/// A hidden request, and how short and how long it may be.
struct Part {
    xid: u32,
    low: u64,
    high: u64,
}

/// The length of each part where only one set of lengths adds up to `bytes`: all are certain but one,
/// or all must be as short or as long as they can be.
fn sums(parts: &[Part], bytes: u64) -> Option<Vec<u64>> {
    let low: u64 = parts.iter().map(|p| p.low).sum();
    let high: u64 = parts.iter().map(|p| p.high).sum();
    if low == bytes {
        return Some(parts.iter().map(|p| p.low).collect());
    }
    if high == bytes {
        return Some(parts.iter().map(|p| p.high).collect());
    }
    let mut uncertain = parts.iter().filter(|p| p.low < p.high);
    let (Some(one), None) = (uncertain.next(), uncertain.next()) else {
        return None;
    };
    let rest = bytes.checked_sub(low - one.low)?;
    let length = |p: &Part| if p.low < p.high { rest } else { p.low };
    (one.low..=one.high)
        .contains(&rest)
        .then(|| parts.iter().map(length).collect())
}
