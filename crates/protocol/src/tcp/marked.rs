//! Records of RPC of whose headers nothing was captured but the first bytes of their marks, into calls, paired by their
//! order: what there is to say of a connection with several calls under way at a time that was captured with 68 bytes of
//! each packet.
//!
//! Two bytes of a mark say that a record begins here, and how long it is at least and at most (RFC 5531 section 11). Which
//! reply is whose they do not say. The first is taken to be that to the first request: if it is another's, the sum of what
//! all of them waited is the same. So sums and means of such calls are true, single times need not be, and each says so
//! ([`Reason::Order`]). Choices:
//! - The connection was seen to be opened, so that the first reply is none to a request that nobody saw.
//! - All is held back until the connection is over, for the number of records says whether they were all seen. Fewer
//!   requests than replies, a reply before its request, bytes that the capture lacks: nothing is told.
//! - A mark within a packet is hidden. What is as long as several of the records that are common is those, where that is
//!   so in one way ([`lengths`](super::lengths)); what is longer than its mark says, and is not, hides something.
//! - More requests than replies may have been without an answer at the end, or hide so many replies: then each waited
//!   until the reply of its number at the most, or the end, and that of so many numbers before at the least. Without an
//!   answer are those that were sent behind the server's last packet, or just before the capture ended.

use super::lengths::{Apart, Lengths};
use super::turn::{Part, call};
use crate::rpc::UNNAMED;
use crate::session::{Both, Context};
use model::{
    Call, Chunk, Direction, HiddenResponse, Mark, Outcome, Protocol, Reason, Time, limits,
};
use serde::{Deserialize, Serialize};

/// A record of one fragment: the last one.
const LAST_FRAGMENT: u8 = 0x80;

/// The part of a record's length that the second byte of its mark counts, and the highest that is believed: files are
/// written and read by the megabyte at most, and some servers take a few.
const LENGTH_UNIT: u64 = 1 << 16;
const LENGTH_UNITS: u8 = 64;

/// Bytes of a mark.
const MARK: u64 = 4;

/// Packets of a record.
const PACKETS: usize = 4_096;

/// One part in so many of what calls waited may depend on the order of records within packets.
const UNCLEAR: i64 = 5;

/// So long before the end of a capture a request may be that waits for its answer yet.
const RECENT_NS: i64 = 1_000_000_000;

/// A clock of several receive queues steps back by less than this.
const OUT_OF_ORDER_NS: i64 = 1_000_000;

/// The records of a connection.
#[derive(Default, Debug, Serialize, Deserialize)]
pub(super) struct Marked {
    /// Those of each direction, the last one under way.
    records: Both<Vec<Record>>,
    /// Whether some may be missing.
    is_lost: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Record {
    part: Part,
    /// Where each of its packets ends in it, and its mark, where it has several.
    packets: Vec<(u64, Mark)>,
    /// Its length by its mark is not less, and by less than a [unit](LENGTH_UNIT) more.
    least: u64,
}

impl Record {
    /// Whether it ends behind what there is of it, if its mark is one.
    fn goes_on(&self) -> bool {
        self.part.bytes < self.least + MARK
    }

    fn is_several(&self) -> bool {
        self.part.bytes >= self.least + MARK + LENGTH_UNIT
    }

    fn extend(&mut self, chunk: &Chunk<'_>) {
        if self.packets.is_empty() {
            self.packets.push((self.part.bytes, self.part.last));
        }
        self.part.extend(chunk);
        self.packets.push((self.part.bytes, chunk.mark));
    }

    /// The mark of the packet with the byte at `offset`.
    fn mark(&self, offset: u64) -> Mark {
        let mut packets = self.packets.iter();
        let packet = packets.find(|(end, _)| *end > offset);
        packet.map_or(self.part.last, |&(_, mark)| mark)
    }

    /// The records that it is, by their lengths. Where those are unlike, it is not known in which order they passed.
    fn apart(&self, lengths: &[u64]) -> impl Iterator<Item = Single> {
        let are_unlike = lengths.first() != lengths.last();
        let among = are_unlike.then_some((self.part.first, self.part.last.time));
        let mut at = 0;
        lengths.iter().map(move |&bytes| {
            let offset = at;
            at += bytes;
            let (first, last) = (self.mark(offset), self.mark(at - 1));
            let part = Part {
                first,
                last: later(first, Some(last)),
                sequence: self.part.sequence.wrapping_add(offset as u32),
                bytes,
                ..self.part
            };
            Single { part, among }
        })
    }
}

/// One record.
struct Single {
    part: Part,
    /// The first packet and the time of the last of those among which it passed, where that is all that is known.
    among: Option<(Mark, Time)>,
}

impl Single {
    fn earliest(&self) -> Mark {
        self.among.map_or(self.part.first, |(first, _)| first)
    }
}

/// The records of a direction, each by itself; `None` where one may hide others and does not say which.
fn singles(records: &[Record]) -> Option<Vec<Single>> {
    let lengths = Lengths::of(records.iter().map(|r| r.part.bytes))?;
    let mut singles = Vec::with_capacity(records.len());
    for record in records {
        match lengths.apart(record.part.bytes) {
            Apart::One if !record.is_several() => singles.push(Single {
                part: record.part,
                among: None,
            }),
            Apart::Several(lengths) => singles.extend(record.apart(&lengths)),
            Apart::One | Apart::Unclear => return None,
        }
    }
    Some(singles)
}

impl Marked {
    /// The next bytes of a direction.
    pub(super) fn data(&mut self, d: Direction, chunk: &Chunk<'_>) {
        if self.is_lost {
            return;
        }
        let before = self.records.of(d.reverse()).last().map(|r| r.part.last);
        let records = self.records.of_mut(d);
        let many = records.len() >= limits::MARKED_HELD;
        let begins = begins(chunk).filter(|_| !records.last().is_some_and(Record::goes_on));
        match (begins, records.last_mut()) {
            (Some(least), _) if !many => records.push(Record {
                part: Part::of(chunk, before.unwrap_or(chunk.mark)),
                packets: Vec::new(),
                least,
            }),
            (None, Some(last)) if last.packets.len() < PACKETS => last.extend(chunk),
            _ => self.lose(),
        }
    }

    /// Records may be missing.
    pub(super) fn lose(&mut self) {
        *self = Marked {
            is_lost: true,
            ..Marked::default()
        };
    }

    /// What came before the request that begins at `sequence`, whose answer has just begun, is told otherwise.
    pub(super) fn told_before(&mut self, sequence: u32) {
        let Both {
            to_server: asked,
            to_client: answered,
        } = &mut self.records;
        match asked.iter().rposition(|r| r.part.sequence == sequence) {
            Some(at) => {
                asked.drain(..at);
                answered.drain(..answered.len().saturating_sub(1));
            }
            None => self.lose(),
        }
    }

    /// Bytes that it takes up.
    pub(super) fn kept_bytes(&self) -> usize {
        let packets = |r: &Record| r.packets.capacity() * size_of::<(u64, Mark)>();
        let records = self.records.to_server.iter().chain(&self.records.to_client);
        records.map(|r| size_of::<Record>() + packets(r)).sum()
    }

    /// The calls, as the connection is over; requests that nothing answers lack their answer as `unanswered`. Whether they
    /// can be told.
    pub(super) fn tell(&self, cx: &mut Context<'_>, unanswered: Reason) -> bool {
        let Both {
            to_server,
            to_client,
        } = &self.records;
        let (Some(asked), Some(answered)) = (singles(to_server), singles(to_client)) else {
            return false;
        };
        if self.is_lost || !are_paired(&asked, &answered) {
            return false;
        }
        let over = asked.len() - answered.len();
        let heard = answered.last().map(|r| r.part.last.time);
        let is_cut_short = unanswered == Reason::AfterCapture;
        let is_recent = |p: &Part| is_cut_short && cx.now - p.last.time < RECENT_NS;
        let mut before = 0;
        for (n, Single { part: request, .. }) in asked.iter().enumerate() {
            let came = |r: &Single| r.part.last.time < request.first.time;
            while answered.get(before).is_some_and(came) {
                before += 1;
            }
            let of = |reply, outcome| call(cx, (Protocol::Rpc, UNNAMED), (request, reply), outcome);
            let told = match answered.get(n) {
                None if Some(request.last.time) >= heard || is_recent(request) => {
                    of(None, Outcome::NoResponse(unanswered))
                }
                Some(reply) if over == 0 && reply.among.is_none() => {
                    of(Some(&reply.part), Outcome::Incomplete(Reason::Order))
                }
                reply => {
                    let earliest = n.checked_sub(over).and_then(|n| answered.get(n));
                    let passed = |r: &Single| r.among.map_or(r.part.last.time, |(_, last)| last);
                    Call {
                        hidden: Some(HiddenResponse {
                            earliest: later(request.last, earliest.map(Single::earliest)),
                            latest: reply.map_or(cx.now, passed).max(request.last.time),
                            held_ns: 0,
                        }),
                        ..of(None, Outcome::NoResponse(Reason::SnapLength))
                    }
                }
            };
            cx.output.calls.push(Call {
                outstanding: (n + 1).saturating_sub(before) as u32,
                ..told
            });
        }
        true
    }
}

/// Whether each reply may be that to the request of its number, and little depends on what is unclear.
fn are_paired(asked: &[Single], answered: &[Single]) -> bool {
    let pairs = || asked.iter().zip(answered);
    let waits =
        |(request, reply): (&Single, &Single)| reply.part.last.time - request.part.first.time;
    let possible = |(request, reply): (&Single, &Single)| {
        let (sent, came) = match (request.among, reply.among) {
            (None, None) => (request.part.last.time, reply.part.first.time),
            _ => (request.part.first.time, reply.part.last.time),
        };
        came - sent >= -OUT_OF_ORDER_NS
    };
    let mut among: Vec<_> = asked
        .iter()
        .chain(answered)
        .filter_map(|s| s.among)
        .collect();
    among.dedup();
    let unclear: i64 = among.iter().map(|(first, last)| *last - first.time).sum();
    !answered.is_empty()
        && asked.len() >= answered.len()
        && pairs().all(possible)
        && unclear.saturating_mul(UNCLEAR) <= pairs().map(waits).sum()
}

fn later(one: Mark, other: Option<Mark>) -> Mark {
    other.filter(|o| o.time > one.time).unwrap_or(one)
}

/// The least that the record is long that begins with these bytes, if one does.
fn begins(chunk: &Chunk<'_>) -> Option<u64> {
    match chunk.data {
        &[LAST_FRAGMENT, units, ..] if units <= LENGTH_UNITS => {
            Some(u64::from(units) * LENGTH_UNIT)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::kit::{self, Cut, DOWN, Event, Gap, UP, joined, opened};
    use crate::session::ConnectionInfo;
    use model::{Call, Close, Direction, Outcome, Reason};
    use proptest::prelude::*;

    const NFS: u16 = 2_049;
    /// How long a READ's request and reply are.
    const ASK: u32 = 136;
    const ANSWER: u32 = 8_324;

    /// Records of this length in one packet, of which two bytes were captured.
    fn records(d: Direction, bytes: u32) -> Event {
        Cut(d, vec![0x80, 0], bytes - 2)
    }

    fn told(connection: &ConnectionInfo, events: &[Event], end: Close) -> (Vec<Call>, bool) {
        let seen = kit::seen(connection, events, end);
        let mut problems = seen.problems.iter();
        let is_untold = problems.any(|(kind, _)| kind == "pipelined-turns");
        (seen.calls, is_untold)
    }

    /// Four requests at a time, answered as they came.
    fn fours(n: usize) -> Vec<Event> {
        let four = [vec![records(UP, ASK); 4], vec![records(DOWN, ANSWER); 4]];
        std::iter::repeat_n(four.concat(), n).flatten().collect()
    }

    fn waited(call: &Call) -> i64 {
        let times = call.request_first.zip(call.response_last);
        times.map_or(0, |(sent, came)| (came.time - sent.time) / 1_000_000)
    }

    #[test]
    fn calls_are_paired_by_their_order() {
        let (calls, is_untold) = told(&opened(NFS), &fours(20), Close::Finished);
        assert_eq!((calls.len(), is_untold), (80, false));
        for (n, call) in calls.iter().enumerate() {
            assert_eq!(call.outcome, Outcome::Incomplete(Reason::Order));
            assert_eq!((call.request_bytes, call.response_bytes), (136, 8_324));
            assert_eq!(waited(call), 4);
            assert_eq!(call.outstanding, n as u32 % 4 + 1);
        }
    }

    #[test]
    fn where_a_record_may_be_missing_nothing_is_told() {
        let whole = fours(20);
        let nothing = |connection: &ConnectionInfo, events: &[Event]| {
            let (calls, is_untold) = told(connection, events, Close::Finished);
            assert_eq!((calls.len(), is_untold), (0, true));
        };
        nothing(&joined(NFS), &whole);
        let mut gap = whole.clone();
        gap[41] = Gap(UP, u64::from(ASK));
        nothing(&opened(NFS), &gap);
        let mut fewer_requests = whole.clone();
        fewer_requests.remove(40);
        nothing(&opened(NFS), &fewer_requests);
        let mut longer_than_marked = whole.clone();
        longer_than_marked[44] = records(DOWN, 70_000);
        nothing(&opened(NFS), &longer_than_marked);
    }

    #[test]
    fn a_reply_too_few_bounds_what_each_waited() {
        let mut events = fours(20);
        events.pop();
        let (calls, is_untold) = told(&opened(NFS), &events, Close::EndOfCapture);
        assert_eq!((calls.len(), is_untold), (80, false));
        let last = calls.last().map(|c| c.outcome);
        assert_eq!(last, Some(Outcome::NoResponse(Reason::AfterCapture)));
        let bounds = |call: &Call| {
            let (sent, hidden) = call.request_first.zip(call.hidden)?;
            let ms = |time: model::Time| (time - sent.time) / 1_000_000;
            Some((ms(hidden.earliest.time), ms(hidden.latest)))
        };
        // It was sent behind the reply before; or one of the four that came together was that before.
        assert_eq!(bounds(&calls[40]), Some((0, 4)));
        assert_eq!(bounds(&calls[41]), Some((3, 4)));
    }

    /// Its client closed in peace: it had its answers.
    #[test]
    fn many_replies_too_few_are_hidden() {
        let mut events = fours(20);
        let (replies, _): (Vec<_>, Vec<_>) = (0..160).partition(|at| at % 8 == 7);
        replies.iter().rev().for_each(|at| drop(events.remove(*at)));
        let (calls, _) = told(&opened(NFS), &events, Close::Finished);
        let hidden = Outcome::NoResponse(Reason::SnapLength);
        assert_eq!(calls.iter().filter(|c| c.outcome == hidden).count(), 80);
        assert!(calls.iter().all(|c| c.hidden.is_some()));
    }

    #[test]
    fn what_looks_like_a_mark_within_a_record_is_none() {
        let mut events = fours(5);
        // A record of more than 64 KiB, whose second packet begins like a mark.
        let long = [Cut(UP, vec![0x80, 1], 39_998), records(UP, 40_000)];
        events.extend([&long[..], &[records(DOWN, 136)]].concat());
        events.extend(fours(5));
        let (calls, _) = told(&opened(NFS), &events, Close::Finished);
        assert_eq!(calls.len(), 41);
        assert_eq!(calls[20].request_bytes, 80_000);
    }

    proptest! {
        /// Whatever order a server answers in, and whichever requests share a packet: the sum of what calls waited is true.
        #[test]
        fn the_sum_is_true(steps in prop::collection::vec((0_usize..4, 0_usize..8), 50..300)) {
            let (mut events, mut out, mut sum, mut calls) = (fours(8), Vec::new(), 32 * 4, 32);
            for (what, which) in steps {
                let now = events.len() as i64 + 1;
                if what < 2 && out.len() < 8 {
                    // Seldom two in a packet.
                    let n = 1 + usize::from(which == 0);
                    events.push(records(UP, n as u32 * ASK));
                    out.extend(std::iter::repeat_n(now, n));
                } else if !out.is_empty() {
                    sum += now - out.remove(which % out.len());
                    calls += 1;
                    events.push(records(DOWN, ANSWER));
                }
            }
            for sent in out {
                sum += events.len() as i64 + 1 - sent;
                calls += 1;
                events.push(records(DOWN, ANSWER));
            }
            let (all, is_untold) = told(&opened(NFS), &events, Close::Finished);
            prop_assert!(!is_untold);
            prop_assert_eq!(all.len(), calls);
            prop_assert_eq!(all.iter().map(waited).sum::<i64>(), sum);
        }
    }
}
