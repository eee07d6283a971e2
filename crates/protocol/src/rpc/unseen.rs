//! Replies that lie behind the snap length: not whose is which, but when each passed at the earliest and at the
//! latest, so that what their calls waited has bounds.
//!
//! The first bytes that passed unseen behind a request are the earliest that can hold its reply. The latest are, at
//! worst, the last before calls that were sent later had long been answered. Between two replies that were seen it is
//! better known: the bytes hidden there are whole replies, and calls of a kind have replies of one length ([`Kinds`]).
//! Where only one number of each length adds up to these bytes, so many of the calls of that length were answered
//! there. Those sent first are taken to be: if others were, the sum of what all waited is the same. Requests that are hidden
//! themselves wait between the others ([`Asked`]), and have their replies in their turn. Behind the last reply that was seen
//! it is the same, where all that wait have replies of one length: the last of them may lack its end.
//!
//! [`Asked`]: super::asked::Asked
//! [`Kinds`]: super::kinds::Kinds

use super::adding;
use super::pending::Pending;
use super::positions::{Cursor, Runs};
use crate::session::{Run, held_ns};
use model::{HeldSince, HiddenResponse, Mark, Time, limits};
use std::collections::VecDeque;

/// Lengths that are told apart between two replies.
const LENGTHS: usize = 3;

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

/// A request that was sent and whose reply was not seen.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub sent: Time,
    /// How long its reply is, or [`UNKNOWN`].
    pub length: u64,
    /// Whether it was not seen itself.
    pub is_hidden: bool,
}

/// Those among whom replies have passed.
#[derive(Debug)]
pub(super) struct Among {
    /// In the order in which they were sent; `None` where some are hidden and nothing says how many.
    pub waiting: Option<Vec<Waiting>>,
    /// Who was asked before has been answered, or never will be.
    pub since: Time,
    /// So many more at most were sent behind them.
    pub behind: u64,
    /// Whether the last reply may lack its end: nothing was seen behind it.
    pub is_open: bool,
}

/// How long the replies to requests were that nobody saw: those that waited, and others that were sent behind all that were
/// seen.
#[derive(Default, Debug)]
pub(super) struct Answered {
    pub hidden: Vec<u64>,
    pub behind: Vec<u64>,
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
        self.forget(before);
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

    /// Replies passed behind one that was seen, to some of those that wait. Returns how long those to hidden requests were.
    /// Where the bytes do not say which they were, none is taken to be there.
    pub(super) fn answered(&mut self, mut among: Among, runs: &Runs) -> Answered {
        if let Some(waiting) = &mut among.waiting {
            // Those sent first have had theirs.
            let mut earlier: Vec<(u64, usize)> = Vec::new();
            for reply in &self.replies {
                match earlier
                    .iter_mut()
                    .find(|(length, _)| *length == reply.length)
                {
                    Some((_, count)) => *count += 1,
                    None => earlier.push((reply.length, 1)),
                }
            }
            waiting.retain(|w| {
                let mut earlier = earlier.iter_mut();
                let had = earlier.find(|(length, count)| *length == w.length && *count > 0);
                let had = had.filter(|_| !w.is_hidden);
                had.map(|(_, count)| *count -= 1).is_none()
            });
        }
        let Some((first, last)) = runs.runs.first().map(First::of).zip(runs.last()) else {
            return Answered::default();
        };
        let Some(passed) = passed(&among, runs.bytes) else {
            self.forget(last);
            return Answered::default();
        };
        let before = Time(among.since.0.saturating_sub(1));
        let later_than = self.unknown.max(Some(before));
        let mut cursor = Cursor::new(&runs.runs);
        let mut answered = Answered {
            hidden: Vec::new(),
            behind: passed.behind,
        };
        for own in passed.replies {
            let place = cursor.take(own.bytes).filter(|_| passed.are_all);
            if own.waiting.is_hidden {
                answered.hidden.push(own.waiting.length);
                continue;
            }
            let (first, last) = place.map_or((first, last), |span| {
                let first = First {
                    time: span.first.time,
                    mark: Some(span.first),
                    held_since: span.first_held_since,
                };
                (first, span.last.time)
            });
            self.give_back(Reply {
                length: own.waiting.length,
                first,
                last,
                later_than,
            });
        }
        answered
    }

    /// Of calls that waited then nobody knows whether they were answered.
    pub(super) fn forget(&mut self, then: Time) {
        self.unknown = self.unknown.max(Some(then));
    }

    /// Whether it would be known if a request sent then, or any behind it, had been answered unseen.
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

/// A reply that passed unseen: to whom, and how long it is.
#[derive(Clone, Copy, Debug)]
struct Own {
    waiting: Waiting,
    bytes: u64,
}

/// Replies that passed unseen, in the order of their requests.
#[derive(Debug)]
struct Passed {
    replies: Vec<Own>,
    /// Whether they stand one behind the other from the first byte on.
    are_all: bool,
    /// How long those were to requests behind all that were seen.
    behind: Vec<u64>,
}

/// Which replies passed in so many bytes; `None` where these do not say.
fn passed(among: &Among, bytes: u64) -> Option<Passed> {
    let waiting = among.waiting.as_deref()?;
    let mut lengths: Vec<u64> = Vec::with_capacity(LENGTHS + 1);
    for w in waiting.iter().filter(|w| w.length != UNKNOWN) {
        if !lengths.contains(&w.length) {
            lengths.push(w.length);
        }
        if lengths.len() > LENGTHS {
            return None;
        }
    }
    let of = |length: u64| waiting.iter().filter(move |w| w.length == length).count() as u64;
    let unknown = of(UNKNOWN);
    let others = unknown.saturating_add(among.behind);
    if let ([length], true, 0) = (&lengths[..], among.is_open, unknown) {
        return Some(begun(waiting, *length, bytes));
    }
    if among.is_open && others > 0 {
        return None;
    }
    let most: Vec<u64> = lengths
        .iter()
        .map(|length| of(*length).saturating_add(others))
        .collect();
    let in_all = (waiting.len() as u64).saturating_add(among.behind);
    let in_all = in_all.min(limits::HIDDEN_CALLS as u64);
    let mut counts = adding::counts_within(&lengths, bytes, &most, in_all)?;
    let in_all: u64 = counts.iter().sum();
    let mut take = |w: &Waiting| {
        let mut counts = lengths.iter().zip(&mut counts);
        let (_, count) = counts.find(|(length, count)| **length == w.length && **count > 0)?;
        *count -= 1;
        Some(Own {
            waiting: *w,
            bytes: w.length,
        })
    };
    if unknown == 0 {
        let replies: Vec<Own> = waiting.iter().filter_map(take).collect();
        let behind = each_of(&lengths, &counts);
        // Where none was passed over, those behind have theirs behind them.
        let are_first = replies.len() == waiting.len().min(in_all as usize)
            && replies
                .iter()
                .zip(waiting)
                .all(|(own, w)| own.bytes == w.length);
        let are_all = behind.is_empty() || are_first;
        return Some(Passed {
            replies,
            are_all,
            behind,
        });
    }
    // Whose reply has an unknown length has one of those that are left, if only those sent first were answered.
    let answered = waiting.iter().take(in_all as usize);
    let replies = answered.map(|w| match w.length {
        UNKNOWN => Some(Own {
            waiting: *w,
            bytes: lengths.first().copied().unwrap_or(UNKNOWN),
        }),
        _ => take(w),
    });
    let behind = in_all.saturating_sub(waiting.len() as u64);
    Some(Passed {
        replies: replies.collect::<Option<Vec<Own>>>()?,
        are_all: lengths.len() == 1,
        behind: vec![UNKNOWN; behind as usize],
    })
}

/// So many of each length.
fn each_of(lengths: &[u64], counts: &[u64]) -> Vec<u64> {
    let each = lengths.iter().zip(counts);
    each.flat_map(|(length, count)| std::iter::repeat_n(*length, *count as usize))
        .collect()
}

/// Those that have replies of one length and were sent first: what stands behind theirs may be longer or shorter.
fn begun(waiting: &[Waiting], length: u64, bytes: u64) -> Passed {
    let answered = waiting.iter().take((bytes / length) as usize);
    let own = |w: &Waiting| Own {
        waiting: *w,
        bytes: length,
    };
    Passed {
        replies: answered.map(own).collect(),
        are_all: true,
        behind: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn among(lengths: &[u64]) -> Among {
        let wait = |(length, at): (&u64, i64)| Waiting {
            sent: Time(at),
            length: *length,
            is_hidden: false,
        };
        Among {
            waiting: Some(lengths.iter().zip(0..).map(wait).collect()),
            since: Time::MIN,
            behind: 0,
            is_open: false,
        }
    }

    /// Which of them had their replies in so many bytes.
    fn answered(among: &Among, bytes: u64) -> Option<Vec<i64>> {
        let passed = passed(among, bytes)?;
        Some(
            passed
                .replies
                .iter()
                .map(|own| own.waiting.sent.0)
                .collect(),
        )
    }

    #[test]
    fn all_that_wait_were_answered_where_their_replies_fill_the_bytes() {
        let three = among(&[8_324, 164, 8_324]);
        assert_eq!(answered(&three, 2 * 8_324 + 164), Some(vec![0, 1, 2]));
        assert_eq!(answered(&among(&[]), 100), None);
    }

    #[test]
    fn of_those_alike_the_first_are_taken() {
        let four = among(&[8_324, 164, 8_324, 8_324]);
        assert_eq!(answered(&four, 8_324 + 164), Some(vec![0, 1]));
        assert_eq!(answered(&among(&[164; 3]), 2 * 164), Some(vec![0, 1]));
    }

    #[test]
    fn who_waits_unseen_has_his_reply_in_his_turn() {
        let mut five = among(&[164, UNKNOWN, UNKNOWN, 8_324, 164]);
        assert_eq!(answered(&five, 3 * 164 + 8_324), Some(vec![0, 1, 2, 3]));
        // That the last of them had his and not the fourth is another order.
        assert_eq!(answered(&five, 4 * 164), None);
        five.behind = 7;
        assert_eq!(answered(&five, 9 * 164 + 8_324), Some(vec![0, 1, 2, 3, 4]));
        // What may lie between is not known.
        five.waiting = None;
        assert_eq!(answered(&five, 4 * 164), None);
    }

    #[test]
    fn what_adds_up_in_two_ways_or_in_none_says_nothing() {
        // Four of 100 are two of 200.
        let seven = among(&[100, 100, 100, 100, 200, 200, 200]);
        assert_eq!(answered(&seven, 400), None);
        assert_eq!(answered(&among(&[8_324, 164]), 5_000), None);
        assert_eq!(answered(&among(&[1, 2, 3, 4]), 5), None);
    }

    #[test]
    fn what_is_more_than_can_be_remembered_says_nothing() {
        let mut one = among(&[28]);
        one.behind = u64::MAX;
        assert_eq!(answered(&one, 28 << 40), None);
        assert_eq!(answered(&one, 28 * 1_000), Some(vec![0]));
    }

    #[test]
    fn behind_the_last_reply_that_was_seen_one_may_lack_its_end() {
        let open = |lengths: &[u64]| Among {
            is_open: true,
            ..among(lengths)
        };
        assert_eq!(answered(&open(&[164; 4]), 2 * 164 + 80), Some(vec![0, 1]));
        // Of two lengths it may be the end of either.
        assert_eq!(answered(&open(&[164, 8_324]), 100), None);
        assert_eq!(answered(&open(&[164, 8_324]), 8_488), Some(vec![0, 1]));
        assert_eq!(answered(&open(&[164, UNKNOWN]), 164), None);
    }
}
