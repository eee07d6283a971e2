//! Replies that lie behind the snap length: not whose is which, but when each passed at the earliest and at the
//! latest, so that what their calls waited has bounds.
//!
//! The first bytes that passed unseen behind a request are the earliest that can hold its reply. The latest are, at
//! worst, the last before calls that were sent later had long been answered. Between two replies that were seen it is
//! better known: the bytes hidden there are whole replies, and calls of a kind have replies of one length ([`Kinds`]).
//! Where only one number of each length adds up to these bytes, so many of the calls of that length were answered
//! there. Those sent first are taken to be: if others were, the sum of what all waited is the same.
//!
//! [`Kinds`]: super::kinds::Kinds

use super::pending::Pending;
use super::positions::{Cursor, Runs};
use crate::session::{Run, held_ns};
use model::{HeldSince, HiddenResponse, Mark, Time, limits};
use std::collections::VecDeque;

/// Lengths that are told apart between two replies.
const LENGTHS: usize = 3;

/// How many ways to add up are tried.
const TRIED: u64 = 4_096;

/// Of a call of which it is not known how long its reply is.
pub(super) const UNKNOWN: u64 = 0;

/// Replies that nobody has claimed yet, of a connection.
const REPLIES: usize = 1_024;

/// What passed unseen of one direction.
#[derive(Default, Debug)]
pub(super) struct Unseen {
    /// The first bytes behind each request.
    first: VecDeque<First>,
    forgotten: u64,
    /// Whether a request was sent since the last of them.
    is_asked: bool,
    /// Replies that were there, in order of time, until a call has no other.
    replies: VecDeque<Reply>,
    /// When replies passed last of which it is not known how many of each length: to any call that waited then.
    unknown: Option<Time>,
}

/// A reply whose header nobody saw, and not whose it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Reply {
    length: u64,
    /// Its own bytes, or those of several.
    first: First,
    last: Time,
    /// To a call that was sent later than this.
    later_than: Option<Time>,
}

impl Reply {
    /// Where it lies, as the reply to this call; `None` where it cannot be.
    pub(super) fn of(&self, call: &Pending) -> Option<HiddenResponse> {
        let sent = call.request.last.time;
        let can_be = self.last >= sent && Some(sent) > self.later_than;
        can_be.then(|| hidden(call, &self.first, self.last))
    }

    /// Whether it may be this call's too, and came before the one that it claimed.
    pub(super) fn fits_sooner(&self, claimed: &Reply, call: &Pending) -> bool {
        (self.length, true) == (claimed.length, self.last < claimed.last) && self.of(call).is_some()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct First {
    /// When they passed at the latest.
    time: Time,
    /// The packet that brought them; where the capture lacks it, nobody knows when they passed.
    mark: Option<Mark>,
    held_since: Option<HeldSince>,
}

impl First {
    fn of(run: &Run) -> First {
        First {
            time: run.mark.time,
            mark: Some(run.mark),
            held_since: run.held_since,
        }
    }
}

impl Unseen {
    /// A request is sent: gives the number of the first bytes that may hide its reply.
    pub(super) fn ask(&mut self) -> u64 {
        self.is_asked = true;
        self.forgotten + self.first.len() as u64
    }

    /// Bytes pass unseen.
    pub(super) fn passed(&mut self, run: &Run) {
        self.first(First::of(run));
    }

    /// The capture lacks bytes that passed before this.
    pub(super) fn lacks(&mut self, before: Time) {
        self.first(First {
            time: before,
            mark: None,
            held_since: None,
        });
    }

    fn first(&mut self, first: First) {
        if !std::mem::take(&mut self.is_asked) {
            return;
        }
        if self.first.len() >= limits::HIDDEN_RUNS {
            self.first.pop_front();
            self.forgotten += 1;
        }
        self.first.push_back(first);
    }

    /// Where the reply to a call may lie if `last` were the last bytes that may hold it.
    pub(super) fn may_hold(&self, call: &Pending, last: Time) -> Option<HiddenResponse> {
        let sent = call.request.last.time;
        let at = usize::try_from(call.unseen.checked_sub(self.forgotten)?).ok()?;
        let mut later = self.first.iter().skip(at);
        let first = later.find(|first| first.time >= sent)?;
        (last >= sent).then(|| hidden(call, first, last))
    }

    /// Replies passed between two that were seen, to some of the calls that wait, sent in this order, with replies of
    /// these lengths (or [`UNKNOWN`] ones). Where the bytes do not say which, none is taken to be there; replies to
    /// requests that nobody saw may be among them.
    pub(super) fn answered(&mut self, mut waiting: Vec<u64>, runs: &Runs) {
        let mut earlier = Alike::of(&waiting);
        for reply in &self.replies {
            Alike::count(&mut earlier, reply.length, 1);
        }
        // Those sent first have had theirs.
        waiting.retain(|length| !Alike::take(&mut earlier, *length));
        let last = runs.runs.iter().map(|run| run.mark.time).max();
        let Some((first, last)) = runs.runs.first().map(First::of).zip(last) else {
            return;
        };
        let Some(lengths) = adding_up(&waiting, runs.bytes) else {
            self.unknown = self.unknown.max(Some(last));
            return;
        };
        let are_all = lengths.iter().sum::<u64>() == runs.bytes;
        let mut cursor = Cursor::new(&runs.runs);
        for length in lengths {
            let own = cursor.take(length).filter(|_| are_all);
            let (first, last) = own.map_or((first, last), |span| {
                let first = First {
                    time: span.first.time,
                    mark: Some(span.first),
                    held_since: span.first_held_since,
                };
                (first, span.last.time)
            });
            self.give_back(Reply {
                length,
                first,
                last,
                later_than: self.unknown,
            });
        }
    }

    /// Whether it would be known if a request sent then had been answered unseen.
    pub(super) fn would_tell(&self, sent: Time) -> bool {
        Some(sent) > self.unknown
    }

    /// The first reply of this length that can be this call's.
    pub(super) fn claim(&mut self, call: &Pending, length: u64) -> Option<Reply> {
        let fits = |reply: &Reply| reply.length == length && reply.of(call).is_some();
        let at = self.replies.iter().position(fits)?;
        self.replies.remove(at)
    }

    /// A reply is nobody's again.
    pub(super) fn give_back(&mut self, reply: Reply) {
        let at = self.replies.partition_point(|r| r.last <= reply.last);
        self.replies.insert(at, reply);
        if self.replies.len() > REPLIES {
            self.replies.pop_front();
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.first.len() * size_of::<First>() + self.replies.len() * size_of::<Reply>()
    }
}

fn hidden(call: &Pending, first: &First, last: Time) -> HiddenResponse {
    let sent = call.request.last;
    let passed = first.mark.filter(|mark| mark.time >= sent.time);
    let earliest = passed.unwrap_or(sent);
    HiddenResponse {
        earliest,
        latest: last.max(earliest.time),
        held_ns: held_ns(first.held_since, sent.time, earliest.time),
    }
}

/// Calls that wait, as many as have replies of one length.
#[derive(Clone, Copy, Debug)]
struct Alike {
    length: u64,
    calls: u64,
}

impl Alike {
    /// None yet of each of these lengths; of one more than are told apart at most.
    fn of(lengths: &[u64]) -> Vec<Alike> {
        let mut all: Vec<Alike> = Vec::with_capacity(LENGTHS + 1);
        for &length in lengths {
            if all.len() <= LENGTHS && all.iter().all(|a| a.length != length) {
                all.push(Alike { length, calls: 0 });
            }
        }
        all
    }

    fn count(all: &mut [Alike], length: u64, calls: u64) {
        if let Some(alike) = all.iter_mut().find(|a| a.length == length) {
            alike.calls += calls;
        }
    }

    /// Whether there was one more of this length.
    fn take(all: &mut [Alike], length: u64) -> bool {
        let alike = all.iter_mut().find(|a| a.length == length && a.calls > 0);
        alike.map(|a| a.calls -= 1).is_some()
    }
}

/// Which of these lengths add up to so many bytes; `None` where there are several ways.
fn adding_up(lengths: &[u64], bytes: u64) -> Option<Vec<u64>> {
    let mut alike = Alike::of(lengths);
    if alike.len() > LENGTHS || lengths.contains(&UNKNOWN) {
        return None;
    }
    for &length in lengths {
        Alike::count(&mut alike, length, 1);
    }
    // The longest first: fewer of them fit.
    alike.sort_by_key(|a| std::cmp::Reverse(a.length));
    let all: u64 = lengths.iter().sum();
    let counts = match all == bytes {
        true => alike.iter().map(|a| a.calls).collect(),
        false => sole(&alike, bytes, true).or_else(|| sole(&alike, bytes, false))?,
    };
    for (a, count) in alike.iter_mut().zip(counts) {
        a.calls = count;
    }
    let answered = lengths.iter().copied();
    Some(
        answered
            .filter(|length| Alike::take(&mut alike, *length))
            .collect(),
    )
}

/// The only numbers of replies that add up; no more of each than calls that were seen, or with replies to others.
fn sole(alike: &[Alike], bytes: u64, are_seen: bool) -> Option<Vec<u64>> {
    let mut tried = 0;
    let mut found: Option<Vec<u64>> = None;
    let mut counts = vec![0; alike.len()];
    let is_sole = ways(
        alike,
        bytes,
        are_seen,
        &mut counts,
        0,
        &mut tried,
        &mut found,
    );
    found.filter(|_| is_sole)
}

/// Tries all numbers of the lengths from `at`. `false`: there is a second way, or there are too many to try.
fn ways(
    alike: &[Alike],
    bytes: u64,
    are_seen: bool,
    counts: &mut Vec<u64>,
    at: usize,
    tried: &mut u64,
    found: &mut Option<Vec<u64>>,
) -> bool {
    *tried += 1;
    if *tried > TRIED {
        return false;
    }
    let Some(a) = alike.get(at) else {
        return true;
    };
    let most = match are_seen {
        true => a.calls.min(bytes / a.length),
        false => bytes / a.length,
    };
    let is_last = at + 1 == alike.len();
    let least = if is_last { bytes / a.length } else { 0 };
    for n in least..=most {
        let rest = bytes - n * a.length;
        if let Some(count) = counts.get_mut(at) {
            *count = n;
        }
        if is_last && rest == 0 && found.replace(counts.clone()).is_some() {
            return false;
        }
        if !is_last && !ways(alike, rest, are_seen, counts, at + 1, tried, found) {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_wait_were_answered_where_their_replies_fill_the_bytes() {
        assert_eq!(
            adding_up(&[8_324, 164, 8_324], 2 * 8_324 + 164),
            Some(vec![8_324, 164, 8_324])
        );
        assert_eq!(adding_up(&[], 100), None);
    }

    #[test]
    fn of_those_alike_the_first_are_taken() {
        assert_eq!(
            adding_up(&[8_324, 164, 8_324, 8_324], 8_324 + 164),
            Some(vec![8_324, 164])
        );
        assert_eq!(adding_up(&[164, 164, 164], 2 * 164), Some(vec![164, 164]));
    }

    #[test]
    fn replies_to_requests_that_are_hidden_too_may_be_among_them() {
        assert_eq!(
            adding_up(&[8_324, 164], 3 * 8_324 + 164),
            Some(vec![8_324, 164])
        );
        assert_eq!(adding_up(&[8_324, 164], 3 * 8_324), Some(vec![8_324]));
    }

    #[test]
    fn what_adds_up_in_two_ways_or_in_none_says_nothing() {
        // Four of 100 are two of 200.
        assert_eq!(adding_up(&[100, 100, 100, 100, 200, 200, 200], 400), None);
        assert_eq!(adding_up(&[8_324, 164], 5_000), None);
        assert_eq!(adding_up(&[1, 2, 3, 4], 5), None);
    }
}
