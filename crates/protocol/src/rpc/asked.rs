//! Requests that are hidden between others, in the order in which they were sent, until their replies pass: who waits before
//! the calls that were seen has his reply before theirs.
//!
//! How many they are their sender's XIDs say, as it counts ([`positions`]); how long their replies are, the bytes that they
//! took up, where only one number of each length adds up to these.
//!
//! [`positions`]: super::positions

use super::kinds::Kinds;
use super::positions::{ByteOrder, FAR, Runs};
use super::unseen::{Answered, UNKNOWN, Waiting};
use model::{Time, limits};
use std::collections::VecDeque;

/// Stretches of hidden requests whose replies were not all there; when there are more, nothing is known of any.
const STRETCHES: usize = 64;

/// Replies without a request, which may be to those, or to such behind which none was seen yet.
const STRAYS: usize = 256;

/// Those between two that were seen.
#[derive(Debug)]
struct Stretch {
    /// XIDs before and behind it.
    before: u32,
    after: u32,
    /// How much they took up; of what the capture lacks nobody knows.
    bytes: Option<u64>,
    /// When the last of them was sent.
    last: Time,
    /// How long the replies were that passed.
    answered: Vec<u64>,
}

impl Stretch {
    fn count(&self, order: ByteOrder) -> u32 {
        order.steps(self.before, self.after).wrapping_sub(1)
    }

    fn holds(&self, order: ByteOrder, xid: u32) -> bool {
        order.steps(self.before, xid).wrapping_sub(1) < self.count(order)
    }

    /// The lengths of the replies that they wait for.
    fn waiting(&self, order: ByteOrder, kinds: &Kinds) -> Vec<u64> {
        let count = self.count(order);
        let lengths = (self.bytes).and_then(|bytes| kinds.reply_lengths(count, bytes));
        let mut waiting = lengths.unwrap_or_else(|| vec![UNKNOWN; count as usize]);
        for &length in &self.answered {
            let same = waiting.iter().position(|l| *l == length);
            let any = || waiting.iter().position(|l| *l == UNKNOWN).or(Some(0));
            if let Some(at) = same.or_else(any).filter(|at| *at < waiting.len()) {
                waiting.remove(at);
            }
        }
        waiting
    }
}

/// The hidden requests of one direction.
#[derive(Default, Debug)]
pub(super) struct Asked {
    /// The last that was seen.
    last: Option<u32>,
    stretches: VecDeque<Stretch>,
    /// Replies that were seen and whose requests were not: XID and length.
    strays: VecDeque<(u32, u64)>,
    /// How long the replies were to requests behind all that were seen.
    behind: Vec<u64>,
    /// The capture lacks bytes behind the last that was seen.
    lacks: Option<Time>,
    /// When requests last passed that nothing counts.
    uncounted: Option<Time>,
}

impl Asked {
    /// Nobody knows what passed until then.
    pub(super) fn lose(&mut self, at: Time) {
        self.lacks = Some(at);
    }

    /// A request was seen, behind those that were hidden between it and the one before.
    #[inline]
    pub(super) fn see(&mut self, xid: u32, hidden: Option<&Runs>) {
        let before = self.last.replace(xid);
        if hidden.is_some() || self.lacks.is_some() {
            self.pass(before, xid, hidden);
        }
    }

    #[cold]
    fn pass(&mut self, before: Option<u32>, xid: u32, hidden: Option<&Runs>) {
        let lacks = self.lacks.take();
        let passed = hidden.and_then(|runs| Some((runs.last()?, runs.bytes)));
        let (last, bytes) = match (lacks, passed) {
            (None, None) => return,
            (None, Some((last, bytes))) => (last, Some(bytes)),
            (Some(at), None) => (at, None),
            (Some(at), Some((last, _))) => (at.max(last), None),
        };
        let Some(before) = before else {
            self.uncounted = self.uncounted.max(Some(last));
            return;
        };
        self.stretches.push_back(Stretch {
            before,
            after: xid,
            bytes,
            last,
            answered: std::mem::take(&mut self.behind),
        });
        if self.stretches.len() > STRETCHES
            && let Some(oldest) = self.stretches.pop_front()
        {
            self.uncounted = self.uncounted.max(Some(oldest.last));
        }
    }

    /// A reply was seen, its request was not.
    pub(super) fn answer(&mut self, xid: u32, bytes: u64) {
        self.strays.push_back((xid, bytes));
        if self.strays.len() > STRAYS {
            self.strays.pop_front();
        }
    }

    /// Those that wait for their replies, in order; `None` where nothing says how many they are. Whoever was asked before
    /// `since` has been answered.
    pub(super) fn waiting(
        &mut self,
        order: Option<ByteOrder>,
        since: Time,
        kinds: &Kinds,
    ) -> Option<Vec<Waiting>> {
        self.stretches.retain(|s| s.last >= since);
        let is_open = |at: Option<Time>| at.is_some_and(|at| at >= since);
        if is_open(self.uncounted) || is_open(self.lacks) {
            return None;
        }
        if self.stretches.is_empty() {
            return Some(Vec::new());
        }
        let order = order?;
        // XIDs that go back count nothing.
        let far = self.stretches.iter().filter(|s| s.count(order) >= FAR);
        self.uncounted = self.uncounted.max(far.map(|s| s.last).max());
        self.stretches.retain(|s| s.count(order) < FAR);
        if is_open(self.uncounted) {
            return None;
        }
        for stretch in &mut self.stretches {
            self.strays.retain(|(xid, bytes)| {
                let is_its = stretch.holds(order, *xid);
                if is_its {
                    stretch.answered.push(*bytes);
                }
                !is_its
            });
        }
        self.stretches
            .retain(|s| s.answered.len() < s.count(order) as usize);
        let each = self.stretches.iter().flat_map(|stretch| {
            let waiting = stretch.waiting(order, kinds).into_iter();
            waiting.map(|length| Waiting {
                sent: stretch.last,
                length,
                is_hidden: true,
            })
        });
        Some(each.collect())
    }

    /// Replies have passed to hidden requests: to the first of those [that wait](Asked::waiting), and to some behind them.
    pub(super) fn take(&mut self, order: Option<ByteOrder>, kinds: &Kinds, answered: Answered) {
        self.behind.extend(answered.behind);
        if self.behind.len() > limits::HIDDEN_CALLS {
            self.behind = Vec::new();
            self.uncounted = Some(Time(i64::MAX));
        }
        let Some(order) = order else {
            return;
        };
        for length in answered.hidden {
            let waits = |s: &&mut Stretch| s.waiting(order, kinds).contains(&length);
            if let Some(stretch) = self.stretches.iter_mut().find(waits) {
                stretch.answered.push(length);
            }
        }
    }

    /// How many of those behind all that were seen have had their replies.
    pub(super) fn answered_behind(&self) -> u64 {
        self.behind.len() as u64
    }

    /// What it keeps.
    pub(super) fn bytes(&self) -> usize {
        let answered = self.stretches.iter().map(|s| s.answered.len());
        self.stretches.len() * size_of::<Stretch>()
            + (answered.sum::<usize>() + self.behind.len() + 2 * self.strays.len())
                * size_of::<u64>()
    }
}
