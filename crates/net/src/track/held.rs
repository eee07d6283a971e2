//! Which segments TCP let go, not the application (methods 5): because recovery, a closed window or
//! Nagle's algorithm (RFC 896; Linux holds a small segment only while a small one is unacknowledged)
//! had held them until an acknowledgement came.
//!
//! Only a capture near the sender sees a released segment follow at once; nearness is the time in
//! which the sender was seen to answer anything. In doubt a segment is not called held.
//!
//! Waits for a delayed acknowledgement (methods 5.3) are seen from anywhere, as they are so much
//! longer than the way: the receiver is silent although everything has come, acknowledges it by a
//! timer, and what the sender sends next comes as soon after that as it can from where it stands. A
//! delayed acknowledgement that nobody waits for is counted apart.

//!
//! Where nothing is in flight and the window is open, TCP holds nothing: a silence then is the sender's
//! own, from when it can have known until its next byte, wherever it is captured. A message's end is a short
//! segment as a rule, so behind a full one its sender was in the middle of it.

use super::MILLISECOND;
use super::left_before;
use super::recovery::Stretch;
use super::size::{ETHERNET, EVERY_HOST_ACCEPTS, Size};
use crate::Segment;
use crate::account::{AWAY_SPARE_NS, INITIAL_WINDOW, NEAR_SHARE, QUEUED_NS, QUEUED_PERCENT};
use crate::identifications::{SILENCE_NS, Silences};
use model::{DirectionSummary, EpisodeKind, HeldSince, Mark, Time};
use serde::{Deserialize, Serialize};

/// A segment that follows an acknowledgement within this was released by it.
pub(super) const RELEASED_WITHIN_NS: i64 = 200_000;
/// Answers this quick show that the sender is near: below the above, with room for its own work.
pub(super) const NEAR_NS: i64 = 150_000;
const NEAR_SAMPLES: u8 = 2;
/// A Nagle sender is known by this many releases, and by hardly ever doing what Nagle forbids.
const NAGLE_RELEASES: u64 = 20;
/// One in so many small segments that an acknowledgement let go makes it doubtful what the others waited for.
const NAGLE_DOUBT: u64 = 4;
const NAGLE_EXCEPTIONS_PER_CENT: u64 = 2;

/// An acknowledgement that is this much later than usual waited for a timer, unless that is
/// less than the way itself.
const LATE_NS: i64 = 8 * MILLISECOND;
/// No timer holds one back for longer (RFC 1122 section 4.2.3.2).
pub(crate) const LONGEST_DELAY_NS: i64 = 500 * MILLISECOND;
/// So many late acknowledgements of several segments in a row are the path's.
const SLOW_IN_A_ROW: u8 = 3;
/// A sender that waited for it goes on within twice the time of its fastest answer and this, which is
/// to be little against the wait.
const ANSWER_NS: i64 = 500_000;
const ANSWER_SHARE: i64 = 4;

/// A shorter silence of a sender with nothing in flight may be how unevenly the path passes things on, seen from its other end.
const PAUSE_NS: i64 = 2 * MILLISECOND;
/// Timers hold acknowledgements back for less, as a rule (200 ms), and what nobody acknowledged for so long is sent again.
const RESENT_NS: i64 = 300 * MILLISECOND;
/// There and back, no path takes longer: of a sender that has answered nothing yet that is all there is.
const LONGEST_PATH_NS: i64 = 1_000 * MILLISECOND;

/// A bare acknowledgement of everything sent that came late.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Late {
    /// The last packet of what it acknowledges.
    since: Mark,
    at: Time,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Small {
    end: u64,
    at: Time,
}

/// An acknowledgement that lets a small segment go.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Release {
    /// When the small segment that it acknowledges was sent.
    since: Time,
    at: Time,
    /// It came without data of the peer, to which the application might have answered.
    alone: bool,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Held {
    near: u8,
    fastest_ns: Option<i64>,
    /// How long acknowledgements usually take that did not wait for a timer: a queue on the path makes
    /// all of them slow.
    usual_ns: Option<i64>,
    /// Whether the last one was of one segment, and how long the last of several took.
    of_one: bool,
    of_several_ns: Option<i64>,
    /// Late ones of several segments since the last that was not.
    slow: u8,
    last_data: Option<Mark>,
    /// Whether that was pushed: its sender had nothing more queued. And whether it pushes at all.
    pushed: bool,
    pushes: bool,
    /// Whether packets in the silence before the one that came behind it never came past the capture.
    skipped: bool,
    silences: Silences,
    /// Whether that was full, so that its message goes on.
    goes_on: bool,
    /// The largest that was not pushed: TCP cut it there, as more was queued.
    cut: u32,
    late: Option<Late>,
    /// A wait for such an acknowledgement, to be reported.
    ready: Option<Box<(EpisodeKind, Stretch)>>,
    /// The last segment below the maximum size, until it is acknowledged (Minshall's variant of
    /// Nagle, which Linux has: only small segments hold back small ones).
    small: Option<Small>,
    /// The acknowledgement of that segment.
    small_acknowledged: Option<Release>,
    /// End of the last segment, and whether that was as long as it could be, as far as is known.
    end: u64,
    fills: bool,
    surely_fills: bool,
    /// The most data, without options beside time stamps, that a single segment had which was not pushed: TCP cut it there.
    /// Where no handshake was seen that is what segments carry.
    single: u32,
    /// End of the last segment if it was of the maximum size, or several of them and nothing more: what follows it is of the
    /// same message.
    full: Option<u64>,
    /// The last acknowledgement of some of the outstanding data.
    advanced: Option<Mark>,
    /// The first acknowledgement of some of what was in flight when the last byte left, and that of everything, until
    /// more is sent.
    begun: Option<Mark>,
    drained: Option<Mark>,
    /// The time stamp of the latter.
    drained_stamp: Option<u32>,
    /// Whether the window was closed since the last byte left.
    was_closed: bool,
    /// What was in flight when the last byte left, and the most that was and was all acknowledged since a loss.
    flight: u64,
    carried: u64,
    /// Whether the peer's window was closed when it was heard last.
    closed: bool,
    /// The last packet of the peer that acknowledged anything, new or not.
    heard: Option<Time>,
    /// Since when more has been queued than TCP let go: a message's end is a small segment, so after a
    /// full-sized one there was more; when the next one leaves just after an acknowledgement, it had
    /// waited for that.
    backlog: Option<Time>,
    /// Whether the peer has sent data since this direction last did: then that may be the reason.
    peer_sent: bool,
}

impl Held {
    /// The sender of this direction answered something within `ns`.
    pub(super) fn answered(&mut self, ns: i64, weight: u8) {
        if (0..=NEAR_NS).contains(&ns) {
            self.near = self.near.saturating_add(weight);
        }
        if ns >= 0 && self.fastest_ns.is_none_or(|fastest| ns < fastest) {
            self.fastest_ns = Some(ns);
        }
    }

    pub(super) fn is_near(&self) -> bool {
        self.near >= NEAR_SAMPLES
    }

    /// Whether it is known how far the sender is away.
    pub(super) fn is_placed(&self) -> bool {
        self.is_near() || self.fastest_ns.is_some()
    }

    /// How far the sender is away from here at most, there and back; 0 where that is near, or not known.
    pub(super) fn away_ns(&self) -> i64 {
        match self.is_near() {
            true => 0,
            false => self.fastest_ns.unwrap_or(0),
        }
    }

    /// What was in flight when the last byte left, and when that was; of a sender that nobody answered with data since.
    pub(super) fn unanswered_flight(&self) -> Option<(u64, Time)> {
        let last = self.last_data.filter(|_| !self.peer_sent)?;
        Some((self.flight, last.time))
    }

    /// Whether its last message goes on with what it sends next, unless the peer has sent data since.
    pub(super) fn goes_on(&self) -> bool {
        self.goes_on && !self.peer_sent
    }

    /// Whether its sender has sent no data for a while.
    #[inline]
    pub(super) fn was_silent(&self, now: Time) -> bool {
        self.last_data
            .is_some_and(|last| now - last.time >= SILENCE_NS)
    }

    /// Whether its packet that came behind that shows that others did not.
    pub(super) fn skipped(&mut self, skipped: bool) {
        self.skipped = self.silences.lost(skipped);
    }

    pub(super) fn peer_sent(&mut self) {
        self.peer_sent = true;
    }

    /// Whether an acknowledgement that took so long waited for a timer.
    pub(super) fn is_late(&self, ns: i64) -> bool {
        self.usual_ns
            .is_some_and(|usual| ns - usual > LATE_NS.max(usual))
    }

    /// Data was acknowledged after so long, for certain; `one_segment` if no more than that.
    pub(super) fn round_trip(&mut self, ns: i64, one_segment: bool) {
        self.of_one = one_segment;
        if !one_segment {
            self.of_several_ns = Some(ns);
        }
        let Some(usual) = &mut self.usual_ns else {
            self.usual_ns = Some(ns);
            return;
        };
        if ns - *usual <= LATE_NS.max(*usual) {
            *usual += (ns - *usual) / 8;
            self.slow = 0;
        } else if !one_segment {
            self.slow += 1;
            if self.slow >= SLOW_IN_A_ROW {
                *usual = ns;
                self.slow = 0;
            }
        }
    }

    /// Data was acknowledged by data of the peer, or a SYN was answered, after so long: the way takes no
    /// longer.
    pub(super) fn took_at_most(&mut self, ns: i64) {
        let usual = self.usual_ns.get_or_insert(ns);
        *usual = ns.min(*usual);
        self.slow = 0;
    }

    /// The peer acknowledged new data up to `position`, which may be `everything` sent, once each, alone
    /// if without data of its own.
    pub(super) fn acknowledged(
        &mut self,
        position: u64,
        alone: bool,
        everything: bool,
        stamp: Option<u32>,
        mark: Mark,
    ) {
        let now = mark.time;
        self.advanced = Some(mark);
        if !self.closed {
            self.begun.get_or_insert(mark);
        }
        self.drained = (everything && !self.closed).then_some(mark);
        self.drained_stamp = stamp;
        if let Some(since) = self.last_data
            && everything
            && alone
            && !self.peer_sent
            && self.is_late(now - since.time)
            && now - since.time <= LONGEST_DELAY_NS + self.usual_ns.unwrap_or(0)
        {
            self.late = Some(Late { since, at: now });
        }
        if let Some(small) = self.small.filter(|small| position >= small.end) {
            self.small_acknowledged = Some(Release {
                since: small.at,
                at: now,
                alone,
            });
            self.small = None;
        }
    }

    /// The peer acknowledged something, new or not, with its window `closed` or not, and `everything` or less.
    pub(super) fn heard(&mut self, mark: Mark, closed: bool, everything: bool) {
        self.heard = Some(mark.time);
        if closed {
            (self.begun, self.drained, self.was_closed) = (None, None, true);
        } else if self.closed && everything {
            // Before the window opened the sender could not send.
            (self.begun, self.drained) = (Some(mark), Some(mark));
            self.drained_stamp = None;
        }
        self.closed = closed;
    }

    /// Since when the sender has had more queued than it could send, if a segment that leaves now shows
    /// that it has. Behind what was not pushed more was, however late TCP lets it go: a timer may, to probe (RFC 8985
    /// section 7). So was it behind a full one of a row, as a row ends with what is left over.
    fn backlog_at(&self, now: Time, acknowledged: Option<u64>) -> Option<Time> {
        let goes_on = self.pushes && !self.pushed;
        if !self.fills && !goes_on {
            return None;
        }
        let last = self.last_data?.time;
        let soon = |at: Time| (0..=RELEASED_WITHIN_NS).contains(&(now - at));
        let released = self.heard.is_some_and(|at| at >= last && soon(at));
        let same_burst = self.backlog.is_some() && soon(last);
        let is_in_flight = acknowledged.is_some_and(|acknowledged| acknowledged < self.end);
        let is_of_row = self.surely_fills && self.backlog.is_some();
        let was_queued = is_in_flight && (goes_on || is_of_row);
        (released || same_burst || was_queued).then(|| self.backlog.unwrap_or(last))
    }

    /// Whether an acknowledgement came late just now.
    #[inline]
    pub(super) fn came_late(&self, now: Time) -> bool {
        self.late.is_some_and(|late| late.at == now)
    }

    /// The window may have held what comes behind what was acknowledged late: neither a timer nor Nagle's algorithm did for
    /// certain.
    pub(super) fn was_perhaps_the_window(&mut self) {
        (self.late, self.small_acknowledged) = (None, None);
    }

    /// Bytes are missing before those that leave now: nobody knows when they left. A message may have ended there, unless
    /// they are full segments.
    #[cold]
    pub(super) fn was_perhaps_sent(&mut self, are_full: bool) {
        (self.begun, self.drained, self.advanced) = (None, None, None);
        if !are_full {
            self.end = 0;
        }
    }

    /// How much data a full segment has beside options like those of `s`; 0 where nothing tells.
    pub(super) fn carries(&self, s: &Segment, mss: Option<u16>) -> u32 {
        match mss {
            Some(mss) => u32::from(mss).saturating_sub(s.tcp.options_take()),
            None => self.single.saturating_sub(s.tcp.others_take()),
        }
    }

    /// The window held what leaves now: it did not wait for the acknowledgement as such.
    pub(super) fn was_the_window(&mut self) {
        self.late = None;
        (self.begun, self.drained) = (None, None);
    }

    /// The late acknowledgement that let a segment go which leaves now, if one did.
    fn awaited(&mut self, now: Time, summary: &mut DirectionSummary) -> Option<Late> {
        let late = self.late.take().filter(|_| !self.peer_sent)?;
        let answer = now - late.at;
        let fastest = self.fastest_ns?;
        let longest = fastest.saturating_mul(2).saturating_add(ANSWER_NS);
        let possible = fastest - fastest / 10 - AWAY_SPARE_NS..=longest;
        let in_time =
            possible.contains(&answer) && longest <= (late.at - late.since.time) / ANSWER_SHARE;
        let count = match in_time {
            true => &mut summary.late_acks_awaited,
            false => &mut summary.late_acks_ignored,
        };
        *count += 1;
        in_time.then_some(late)
    }

    /// Since when the sender of what leaves now was silent, though nothing held it. What had been queued would have left
    /// once everything was acknowledged, so nothing was: it knew so half a round trip after the acknowledgement passed
    /// here, and its byte takes as long back. As little could it send, and did not, behind the first acknowledgement,
    /// but where a queue had to empty; and where TCP had had as much in flight before, from its last byte on.
    /// What does not echo that acknowledgement left before its sender had heard of it.
    fn paused(&mut self, now: Time, echo: Option<u32>, shortest_ns: Option<i64>) -> Option<Mark> {
        let begun = self.begun.take();
        let drained = self.drained.take().filter(|_| !self.peer_sent)?;
        // Where more was queued, and perhaps has left, something before the capture holds it.
        if !self.is_near() && (!self.pushed || left_before(echo, self.drained_stamp)) {
            return None;
        }
        let after = |mark: Mark| Mark {
            time: mark.time + self.fastest_ns.unwrap_or(LONGEST_PATH_NS),
            ..mark
        };
        if now - after(drained).time < PAUSE_NS || self.skipped {
            return None;
        }
        // What is in flight here is what is in flight at the sender, all but a little.
        let near_ns = NEAR_NS.max(shortest_ns.unwrap_or(0) / NEAR_SHARE);
        let is_here = self.fastest_ns.is_some_and(|ns| ns <= near_ns);
        let last = self.last_data.filter(|_| is_here);
        let took_ns = last.map_or(i64::MAX, |last| drained.time - last.time);
        if self.is_queued(took_ns, shortest_ns) {
            return Some(after(drained));
        }
        let could_send = !self.was_closed && self.flight < INITIAL_WINDOW.max(self.carried + 1);
        match last {
            Some(last) if could_send => Some(last),
            _ => begun.map(after),
        }
    }

    /// The same with a little in flight: behind what did not fill a segment and was pushed nothing more was queued, and what
    /// leaves now nothing that was heard has let go.
    fn unasked(&self, now: Time) -> Option<Mark> {
        let last = self.last_data.filter(|_| self.pushed && !self.fills)?;
        let heard = self
            .heard
            .is_some_and(|at| at >= last.time && now - at <= RELEASED_WITHIN_NS);
        let was_open = !self.closed && !self.was_closed;
        let is_own = self.is_near() && was_open && !heard && !self.peer_sent && !self.skipped;
        (is_own && now - last.time >= PAUSE_NS).then_some(last)
    }

    /// The last acknowledgement, if it came since the last byte left and long ago. Where so little is left that TCP lets a full
    /// segment go beside it, nothing waits for more.
    #[cold]
    fn nearly_drained(&self, now: Time) -> Option<Mark> {
        let last = self.last_data?;
        let heard = |mark: &Mark| mark.time >= last.time && now - mark.time > RESENT_NS;
        let is_open = !self.closed && !self.was_closed;
        self.advanced.filter(heard).filter(|_| is_open)
    }

    /// Whether what took so long to be acknowledged waited in a queue. An acknowledgement of one segment may have waited
    /// for a timer: then the last one of several tells, or what they usually take.
    fn is_queued(&self, took_ns: i64, shortest_ns: Option<i64>) -> bool {
        let took_ns = match self.of_one {
            true => self.of_several_ns.or(self.usual_ns).unwrap_or(took_ns),
            false => took_ns,
        };
        shortest_ns.is_none_or(|ns| took_ns > (ns / 100).saturating_mul(QUEUED_PERCENT) + QUEUED_NS)
    }

    /// The segment that left just now had stood there since then, and so does what is behind it.
    pub(super) fn stood_since(&mut self, at: Time) {
        if !self.pushed {
            self.backlog = Some(self.backlog.map_or(at, |since| since.min(at)));
        }
    }

    /// A wait that the last segment ended.
    #[inline]
    pub(super) fn take_ready(&mut self) -> Option<(EpisodeKind, Stretch)> {
        if self.ready.is_some() {
            self.ready.take().map(|ready| *ready)
        } else {
            None
        }
    }

    /// A segment with new data left; counts it and says since when TCP had held it.
    pub(super) fn sent(
        &mut self,
        s: &Segment,
        end: u64,
        Size {
            is_small,
            may_be_small,
            ends_full,
            is_known,
        }: Size,
        acknowledged: Option<u64>,
        rebuilding: bool,
        summary: &mut DirectionSummary,
    ) -> Option<HeldSince> {
        let now = s.mark.time;
        let follows = |at: Time| (0..=RELEASED_WITHIN_NS).contains(&(now - at));
        let message_under_way = self
            .full
            .zip(acknowledged)
            .is_some_and(|(full, acknowledged)| acknowledged < full);
        // What follows an answer of the peer may be the application's next request; what ends a
        // message whose full segments are already under way is not.
        let released = self
            .small_acknowledged
            .take()
            .filter(|r| follows(r.at) && (message_under_way || (r.alone && !self.peer_sent)));
        if let (true, Some(small), Some(acknowledged)) = (is_small, self.small, acknowledged)
            && acknowledged < small.end
        {
            summary.small_while_unacknowledged += 1;
        }
        let by_nagle = released.filter(|_| {
            summary.small_released_by_ack >= NAGLE_RELEASES
                && summary.small_while_unacknowledged * 100
                    <= summary.small_released_by_ack * NAGLE_EXCEPTIONS_PER_CENT
        });
        if is_small && released.is_some() {
            summary.small_released_by_ack += 1;
        }
        let late = self.late.is_some().then(|| self.awaited(now, summary));
        let late = late.flatten();
        if let Some(late) = late {
            // Where TCP cut nothing so far, none of the writes may have filled a segment; and a sender with no more
            // in flight than that waits for nothing but Nagle's algorithm.
            let is_uncut = may_be_small && self.pushed && self.cut == 0;
            let kind = match is_uncut || (is_small && self.full.is_none()) {
                true => EpisodeKind::NagleDelayedAck,
                false => EpisodeKind::DelayedAck,
            };
            self.ready = Some(Box::new((kind, Stretch::of(late.since, s.mark, s.order))));
        }
        let was_drained = self.drained.is_some();
        if !was_drained
            && self
                .last_data
                .is_some_and(|last| now - last.time > RESENT_NS)
        {
            let begin = end.checked_sub(s.payload_length.into());
            let left = begin
                .zip(acknowledged)
                .map(|(begin, up_to)| begin - up_to.min(begin));
            let may_send =
                left.is_some_and(|left| left < INITIAL_WINDOW) && !is_small && !rebuilding;
            self.drained = self.nearly_drained(now).filter(|_| may_send);
        }
        let in_flight = self.end.checked_sub(acknowledged.unwrap_or(0));
        let little = acknowledged.is_some() && in_flight.is_some_and(|left| left < INITIAL_WINDOW);
        // A sender that is known to hold small ones back may have, though no acknowledgement shows that let it go.
        let nagle = summary.small_released_by_ack;
        let holds_back = is_small && nagle * NAGLE_DOUBT > summary.small_while_unacknowledged;
        let may = little && !rebuilding && !holds_back;
        let unasked = || self.unasked(now).filter(|_| may);
        let shortest_ns = summary.ack_rtt_min_ns;
        let echo = s.tcp.timestamps.map(|(_, echo)| echo);
        let since = match self.drained {
            Some(_) => self.paused(now, echo, shortest_ns),
            None => unasked(),
        };
        if let Some(since) = since {
            let kind = match self.goes_on {
                true => EpisodeKind::SenderPause,
                false => EpisodeKind::SenderSilence,
            };
            self.ready = Some(Box::new((kind, Stretch::of(since, s.mark, s.order))));
        }
        let backlog = self.backlog_at(now, acknowledged);
        let held_since = if let Some(late) = late {
            Some(HeldSince::troubled(late.since.time))
        } else if !self.is_near() {
            None
        } else if let Some(r) = by_nagle {
            Some(HeldSince::troubled(r.since))
        } else {
            let behind = backlog.or_else(|| {
                let released = rebuilding && self.advanced.is_some_and(|mark| follows(mark.time));
                self.last_data.map(|last| last.time).filter(|_| released)
            });
            behind.map(HeldSince::behind)
        };
        self.backlog = backlog;
        if is_small {
            self.small = Some(Small { end, at: now });
        }
        self.end = end;
        let alike = s.payload_length + s.tcp.others_take();
        if !s.tcp.flags.psh() && alike <= ETHERNET {
            self.single = self.single.max(alike);
        }
        let carries = self.carries(s, None);
        let fills_it = carries >= EVERY_HOST_ACCEPTS && s.payload_length.is_multiple_of(carries);
        self.surely_fills = if is_known { ends_full } else { fills_it };
        self.fills = ends_full || self.surely_fills;
        self.full = ends_full.then_some(end);
        self.carried = match was_drained {
            _ if rebuilding => 0,
            true => self.carried.max(self.flight),
            false => self.carried,
        };
        self.flight = acknowledged.map_or(0, |before| end.saturating_sub(before));
        (self.begun, self.was_closed) = (None, false);
        self.last_data = Some(s.mark);
        self.pushed = s.tcp.flags.psh();
        self.pushes |= self.pushed;
        // Messages may all be as large as the largest that was seen; what TCP cut is full.
        let bytes = s.payload_length;
        self.goes_on = (is_known && ends_full) || (self.pushed && bytes == self.cut);
        if !self.pushed && bytes >= EVERY_HOST_ACCEPTS {
            self.cut = self.cut.max(bytes);
        }
        self.peer_sent = false;
        held_since
    }
}

const _: () = assert!(NEAR_NS < RELEASED_WITHIN_NS && RELEASED_WITHIN_NS < MILLISECOND);
