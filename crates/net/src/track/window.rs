//! The window that a direction's receiver offers its sender (RFC 9293 section 3.8.6, RFC 7323
//! section 2): when it was closed, and which segments an opening let go.

use super::MILLISECOND;
use super::recovery::Stretch;
use super::stream::RoundTrip;
use crate::Segment;
use crate::account::LARGEST_SCALE;
use model::{EpisodeKind, Mark, Time};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Shorter waits for a window are not worth telling.
const WORTH_TELLING_NS: i64 = MILLISECOND;
/// Waits between which the window had room for less than this share of them are one.
const NEXT_TO_NOTHING: i64 = 16;
/// Data that leaves this soon after a window opened was waiting for it; beyond a round trip.
const RELEASED_WITHIN_NS: i64 = MILLISECOND;
/// Of a sender that is away, also within this share of the way there and back.
const RELEASED_SHARE: i64 = 8;
/// The fastest answer that was seen took so much longer than the way, and this share of it, at most.
const ANSWERING_NS: i64 = MILLISECOND / 5;
const ANSWERING_SHARE: i64 = 32;
/// So the sender may be taken to have heard of this share of a window before it had.
const FULL_SHARE: u64 = 16;
/// So many advertisements on their way to a sender are kept: those of a window without scale, of any usual path. Of more the
/// oldest count as arrived.
const UNDER_WAY: usize = 128;
const SHOWS_WITHIN_NS: i64 = 10 * MILLISECOND;
/// A window of which the scale was not captured is scaled so that its sender filled it to the byte, so often.
const FILLS: u8 = 16;
/// What an application sends is no such multiple of a power of two as windows are.
const ODD: u16 = 32;
/// Windows of half the field and more fill it.
const FILLS_THE_FIELD: u16 = 32_768;

/// What an acknowledgement of everything before `ack` offered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Advertised {
    mark: Mark,
    order: u64,
    ack: u64,
    raw: u16,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Zero {
    first: Mark,
    /// Whether it is certain that the sender had more to send.
    waited: bool,
}

/// A window without room for a whole segment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Full {
    since: Mark,
    /// Bytes that it offered, all of them under way.
    offered: u64,
    /// Whether it ever failed to move on with what was acknowledged, or by less than half: the rest
    /// stands unread in the receiver's buffer.
    stuck: bool,
}

/// Waits for a full window that follow one another at once: where acknowledgements come one by one, each lets a segment or
/// two go, which fill the window again. One by one they would not be worth telling.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Run {
    since: Mark,
    last: Mark,
    /// How long the window had room between them.
    room_ns: i64,
    kind: EpisodeKind,
}

impl Run {
    /// How long the window had room in all, if it is full again so soon that this is next to nothing.
    fn goes_on(&self, kind: EpisodeKind, full_since: Mark) -> Option<i64> {
        let lasted_ns = self.last.time - self.since.time;
        let free_ns = full_since.time - self.last.time;
        let room_ns = self.room_ns + free_ns;
        let is_next = free_ns >= 0 && room_ns <= lasted_ns / NEXT_TO_NOTHING;
        (kind == self.kind && is_next).then_some(room_ns)
    }
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Opened {
    at: Time,
    full: Full,
    /// Up to where the sender was allowed to send before.
    edge: u64,
    /// Whether nothing is left to tell of it.
    told: bool,
}

/// How far away a sender is, there and back, and what it cannot have heard yet when it sent what passes now.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Away {
    ns: i64,
    under_way: VecDeque<Advertised>,
}

/// How windows without a handshake may be scaled: as little as what was in flight allows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Guess {
    scale: u8,
    /// How often the sender filled such a window to the byte, and how often it left room for a segment.
    fills: u8,
    misses: u8,
    /// The same of windows that were offered when all was acknowledged, each another one than the one that was filled before.
    fills_anew: u8,
    misses_anew: u8,
    filled: u16,
    /// Whether it has sent into the last one, and left no room.
    has_sent: bool,
    has_filled: bool,
    /// Whether nobody asks.
    is_off: bool,
    /// Whether all was acknowledged when that was offered.
    was_anew: bool,
    /// What was offered last, as it stood in the packet, while not all was acknowledged: who sends more then waited for room.
    raw: u16,
    /// The same also where all was.
    last: u16,
    /// The window that reaches farthest, and behind which byte: what is offered later may end before that.
    farthest: (u64, u16),
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Window {
    /// The receiver's shift, where the handshake told it, or what was sent into its windows does.
    pub scale: Option<u8>,
    guess: Guess,
    /// The highest position that the receiver ever allowed, as far as its sender can have heard, where it can be known.
    edge: Option<u64>,
    zero: Option<Zero>,
    /// A zero window that ended: reported if data shows that the sender waited for its end.
    shut: Option<Box<Stretch>>,
    full: Option<Full>,
    /// What the receiver offered last, and behind which byte.
    offered: u64,
    acknowledged: u64,
    opened: Option<Opened>,
    run: Option<Box<Run>>,
    /// Where the capture stands away from the sender.
    away: Option<Box<Away>>,
    /// A stretch of time in which it was closed or full, to be reported.
    ready: Option<Box<(EpisodeKind, Stretch)>>,
}

impl Guess {
    /// So much is offered behind this byte.
    fn told(&mut self, ack: u64, raw: u16) {
        let ends = |(ack, raw): (u64, u16)| ack + (u64::from(raw) << self.scale);
        if ends((ack, raw)) > ends(self.farthest) {
            self.farthest = (ack, raw);
        }
        let misses = match self.was_anew {
            true => &mut self.misses_anew,
            false => &mut self.misses,
        };
        *misses = misses.saturating_add(u8::from(self.has_sent && !self.has_filled));
        (self.has_sent, self.has_filled) = (false, false);
    }

    /// So many bytes are in flight, up to `end`; what that says of the scale, once it has for long.
    fn sent(&mut self, flight: u64, end: u64, full_sized: u64) -> Option<u8> {
        let (raw, last) = (u64::from(self.raw), u64::from(self.last));
        let (before, farthest) = (self.farthest.0, u64::from(self.farthest.1));
        // What was offered before may end a little further on, as windows are told in whole multiples.
        while flight > (last + 1) << self.scale && end > before + ((farthest + 1) << self.scale) {
            if self.scale == LARGEST_SCALE {
                *self = Guess::default();
                return None;
            }
            *self = Guess {
                scale: self.scale + 1,
                raw: self.raw,
                last: self.last,
                farthest: self.farthest,
                ..Guess::default()
            };
        }
        // With everything acknowledged nobody was seen to wait for room; but windows of many sizes that are each filled to
        // the byte are no coincidence.
        let is_anew = raw == 0;
        let offered = if is_anew { self.last } else { self.raw };
        let is_odd = offered >> offered.trailing_zeros() >= ODD;
        // One that fills the field may be as large as it is for want of scaling: whose that is the handshake would tell.
        let may_be_unscaled = self.scale == 0 && offered >= FILLS_THE_FIELD;
        let room = u64::from(offered) << self.scale;
        let fills = flight == room && flight >= 2 * full_sized;
        (self.has_sent, self.was_anew) = (true, is_anew);
        self.has_filled |= flight + full_sized > room;
        if fills && is_odd && !may_be_unscaled {
            match is_anew {
                false => self.fills = self.fills.saturating_add(1),
                true if offered != self.filled => {
                    self.fills_anew = self.fills_anew.saturating_add(1);
                    self.filled = offered;
                }
                true => {}
            }
        }
        // Who waits for windows fills most of them.
        let most = |fills: u8, misses: u8| fills >= FILLS.max(misses.saturating_mul(2));
        let is_known = most(self.fills, self.misses) || most(self.fills_anew, self.misses_anew);
        is_known.then_some(self.scale)
    }
}

impl Window {
    /// A stretch of time in which the window was closed or full and the sender waited. Kept here, not
    /// returned where it ends, because copying an absent one cost every packet 10 ns.
    #[inline]
    pub(super) fn take_ready(&mut self) -> Option<(EpisodeKind, Stretch)> {
        if self.ready.is_some() {
            self.ready.take().map(|ready| *ready)
        } else {
            None
        }
    }

    /// How many bytes are offered at least, where what was sent into windows shows that they are scaled, and no more.
    pub(super) fn at_least(&self, raw: u16) -> u32 {
        match (self.scale, self.guess.scale) {
            (None, 1..) => u32::from(raw) << self.guess.scale,
            _ => 0,
        }
    }

    /// Whether it may be concluded how it is scaled from what is sent into it.
    pub(super) fn concludes_scale(&mut self, does: bool) {
        self.guess.is_off = !does;
    }

    pub(super) fn is_zero(&self) -> bool {
        self.zero.is_some()
    }

    /// The highest position that the receiver ever allowed.
    #[cfg(test)]
    pub(super) fn allowed(&self) -> Option<u64> {
        let edge = |told: &Advertised| Some(told.ack + (u64::from(told.raw) << self.scale?));
        let under_way = self.away.iter().flat_map(|away| &away.under_way);
        under_way.filter_map(edge).chain(self.edge).max()
    }

    /// The sender probed, or sent again, while the window was zero: it has more to send.
    pub(super) fn probed(&mut self) {
        if let Some(zero) = &mut self.zero {
            zero.waited = true;
        }
    }

    /// The receiver advertised a window with an acknowledgement of everything before `ack`, to a sender that is `away_ns`
    /// from here, there and back. Returns whether this closed the window.
    pub(super) fn advertised(
        &mut self,
        s: &Segment,
        ack: u64,
        sent: u64,
        full_sized: u64,
        away_ns: i64,
    ) -> bool {
        let told = Advertised {
            mark: s.mark,
            order: s.order,
            ack,
            raw: s.tcp.window,
        };
        let away_ns = away_ns - away_ns / ANSWERING_SHARE - ANSWERING_NS;
        if away_ns >= RELEASED_WITHIN_NS || self.away.is_some() {
            self.away.get_or_insert_default().ns = away_ns.max(0);
        }
        // That it closed is told as it was said.
        if told.raw == 0 || self.is_zero() || !self.is_away() {
            self.arrives(Time::MAX, sent, full_sized);
            return self.heard(&told, s.mark.time, sent, full_sized);
        }
        let under_way = &mut self.away.get_or_insert_default().under_way;
        under_way.push_back(told);
        if under_way.len() > UNDER_WAY {
            self.next_arrives(sent, full_sized);
        }
        false
    }

    /// What had been sent was `sent` when a segment left that passes `now`: the sender can have heard all that passed
    /// here before it, by the way there and back.
    pub(super) fn arrives(&mut self, now: Time, sent: u64, full_sized: u64) {
        while let Some(away) = &self.away
            && let Some(next) = away.under_way.front()
            && next.mark.time + away.ns <= now
        {
            self.next_arrives(sent, full_sized);
        }
    }

    fn next_arrives(&mut self, sent: u64, full_sized: u64) {
        if let Some(away) = &mut self.away
            && let Some(told) = away.under_way.pop_front()
        {
            let now = told.mark.time + away.ns;
            self.heard(&told, now, sent, full_sized);
        }
    }

    /// The sender hears of it: what it sends then passes here at `now` at the earliest.
    fn heard(&mut self, told: &Advertised, now: Time, sent: u64, full_sized: u64) -> bool {
        let (raw, ack) = (u64::from(told.raw), told.ack);
        if raw == 0 {
            self.closes(told);
            self.fill(told.mark);
            self.acknowledged = ack;
            self.edge = Some(self.edge.map_or(ack, |edge| edge.max(ack)));
            if let Some(zero) = &mut self.zero {
                zero.waited |= sent > ack;
                return false;
            }
            self.zero = Some(Zero {
                first: told.mark,
                waited: sent > ack,
            });
            return true;
        }
        let before = self.edge;
        self.edge = self.scale.map(|scale| {
            let edge = ack + (raw << scale);
            before.map_or(edge, |before| before.max(edge))
        });
        self.offered = self.scale.map_or(0, |scale| raw << scale);
        if let Some(full) = &mut self.full
            && ack > self.acknowledged
        {
            full.stuck |= self.edge == before || self.offered < full.offered / 2;
        }
        self.acknowledged = ack;
        if self.edge.is_none() && !self.guess.is_off {
            self.guess.raw = if sent > ack { told.raw } else { 0 };
            self.guess.last = told.raw;
            self.guess.told(ack, told.raw);
        }
        let was_zero = self.zero.take();
        let room = self.edge.map(|edge| edge.saturating_sub(sent));
        if (was_zero.is_some() || room.is_some_and(|room| room >= full_sized))
            && let Some(full) = self.full.take()
        {
            self.opened = before.map(|edge| Opened {
                at: now,
                full,
                edge,
                told: was_zero.is_some(),
            });
        } else if let (Some(opened), Some(edge)) = (&mut self.opened, before)
            && !opened.told
            && self.edge > before
        {
            // A sender may wait until more fits than one segment.
            (opened.at, opened.edge) = (now, edge);
        }
        if let Some(zero) = was_zero {
            self.end_zero(zero, told.mark, told.order);
        }
        false
    }

    /// The window closes; until now it was full, if it was.
    fn closes(&mut self, told: &Advertised) {
        let Some(full) = self.full.filter(|_| self.zero.is_none()) else {
            return;
        };
        if told.mark.time - full.since.time >= WORTH_TELLING_NS {
            let stretch = Stretch {
                window: full.offered,
                ..Stretch::of(full.since, told.mark, told.order)
            };
            self.ready = Some(Box::new((EpisodeKind::ClosingWindow, stretch)));
        }
    }

    fn fill(&mut self, since: Mark) {
        let offered = self.offered;
        self.full.get_or_insert(Full {
            since,
            offered,
            stuck: false,
        });
    }

    fn end_zero(&mut self, zero: Zero, last: Mark, order: u64) {
        let stretch = Stretch::of(zero.first, last, order);
        if zero.waited {
            self.ready = Some(Box::new((EpisodeKind::ZeroWindow, stretch)));
        } else {
            self.shut = Some(Box::new(stretch));
        }
    }

    /// New data was sent up to `end`.
    pub(super) fn sent(&mut self, s: &Segment, end: u64, full_sized: u64, round_trip_ns: i64) {
        let less = match &self.away {
            Some(away) if !away.under_way.is_empty() => self.offered / FULL_SHARE,
            _ => 0,
        };
        if let Some(edge) = self.edge
            && self.scale.is_some()
            && edge.saturating_sub(end) < full_sized + less
        {
            self.fill(s.mark);
        } else if self.guess.last > 0 {
            self.tells_scale(end, full_sized);
        }
        if let Some(mut zero) = self.zero {
            if s.payload_length <= 1 {
                self.probed();
                return;
            }
            // The advertisement that reopened it was not captured.
            self.zero = None;
            self.full = None;
            zero.waited = true;
            self.end_zero(zero, s.mark, s.order);
        } else if self.shut.is_some() {
            let shows_within = SHOWS_WITHIN_NS + 2 * round_trip_ns;
            let shut = self.shut.take();
            self.ready = shut
                .filter(|stretch| s.mark.time - stretch.last.time <= shows_within)
                .map(|stretch| Box::new((EpisodeKind::ZeroWindow, *stretch)));
        }
    }

    /// Of a window of which the scale is not known.
    #[cold]
    #[inline(never)]
    fn tells_scale(&mut self, end: u64, full_sized: u64) {
        let flight = end.saturating_sub(self.acknowledged);
        self.scale = self.guess.sent(flight, end, full_sized);
        if self.scale.is_some() {
            (self.guess.raw, self.guess.last) = (0, 0);
        }
    }

    /// Since when the window had held a segment that ends at `end` and left at `now`.
    pub(super) fn held_since(&self, end: u64, now: Time) -> Option<Time> {
        let opened = self.opened.as_ref()?;
        let away_ns = self.away.as_ref().map_or(0, |away| away.ns);
        let within = RELEASED_WITHIN_NS + away_ns / RELEASED_SHARE;
        let released = end > opened.edge && (0..=within).contains(&(now - opened.at));
        released.then_some(opened.full.since.time)
    }

    /// Whether it is known how far the sender is, and that is not near.
    pub(super) fn is_away(&self) -> bool {
        (self.away.as_ref()).is_some_and(|away| away.ns >= RELEASED_WITHIN_NS)
    }

    /// Whether so many bytes behind `end` would have fitted.
    pub(super) fn has_room(&self, end: u64, bytes: u64) -> bool {
        let edge = self.edge.filter(|_| self.scale.is_some());
        edge.is_some_and(|edge| edge >= end + bytes)
    }

    /// A segment left that had fitted before: the sender did not wait for the window, or no longer.
    pub(super) fn was_free(&mut self) {
        self.opened = self.opened.filter(|opened| opened.told);
    }

    /// The segment `s`, which the window had held, shows how long it was full. A closed window is told of by itself.
    /// `sender_ns` is how far the sender is away, there and back, where the capture is next to the receiver: who keeps an
    /// acknowledgement of a full window back for longer than that has not read. That of a single segment waits for a timer.
    /// Where nothing waits on the way beyond what the path takes short waits are told together.
    pub(super) fn was_full(
        &mut self,
        s: &Segment,
        sender_ns: Option<i64>,
        full_sized: u64,
        round_trip: RoundTrip,
    ) {
        let away_ns = self.away.as_ref().map_or(0, |away| away.ns);
        let Some(opened) = self.opened.as_mut().filter(|opened| !opened.told) else {
            return;
        };
        opened.told = true;
        let full = opened.full;
        if self.ready.is_some() {
            return;
        }
        let kept_ns = opened.at - full.since.time - away_ns;
        let is_kept = full.offered >= 2 * full_sized
            && sender_ns.is_some_and(|ns| kept_ns > ns.max(WORTH_TELLING_NS));
        let is_queued = round_trip.is_queueing(full.offered, full_sized);
        let kind = match (full.stuck || is_kept, is_queued) {
            (true, _) => EpisodeKind::ClosingWindow,
            (false, true) => EpisodeKind::QueuedWindow,
            (false, false) => EpisodeKind::SmallWindow,
        };
        // Before a line that is full, or a reader that is slow, more would only wait for longer in a larger one.
        let is_all_way = round_trip.is_all_way();
        let run = self.run.take().filter(|_| is_all_way);
        let joined = run.and_then(|run| Some((run.since, run.goes_on(kind, full.since)?)));
        let (since, room_ns) = joined.unwrap_or((full.since, 0));
        if s.mark.time - since.time < WORTH_TELLING_NS {
            let last = s.mark;
            let run = Run {
                since,
                last,
                room_ns,
                kind,
            };
            self.run = is_all_way.then(|| Box::new(run));
            return;
        }
        let stretch = Stretch {
            window: full.offered,
            ..Stretch::of(since, s.mark, s.order)
        };
        self.ready = Some(Box::new((kind, stretch)));
    }

    /// A zero window that was not opened again.
    pub(super) fn finish(&mut self, last: Mark, order: u64) -> Option<Stretch> {
        let zero = self.zero.take()?;
        zero.waited.then(|| Stretch::of(zero.first, last, order))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found where so much is in flight behind each of these windows, 20 times.
    fn found(windows: &[(u16, u64)]) -> Option<u8> {
        let mut guess = Guess::default();
        let all = windows.iter().cycle().take(20 * windows.len());
        let mut ack = 0;
        let mut each = all.filter_map(|&(raw, flight)| {
            // All before is acknowledged.
            ack += 1 << 40;
            (guess.raw, guess.last) = (raw, raw);
            guess.told(ack, raw);
            guess.sent(flight, ack + flight, 1_448)
        });
        each.next()
    }

    #[test]
    fn a_window_that_moves_back_says_nothing_of_the_scale() {
        let mut guess = Guess {
            raw: 10_136,
            ..Guess::default()
        };
        let mut ack = 0;
        for _ in 0..10 {
            // All of it is sent, and half of that acknowledged, behind which less is offered than there was.
            (guess.raw, guess.last) = (10_136, 10_136);
            guess.told(ack, guess.raw);
            assert_eq!(guess.sent(10_136, ack + 10_136, 1_448), None);
            (guess.raw, guess.last) = (1_448, 1_448);
            guess.told(ack + 4_344, guess.raw);
            assert_eq!(guess.sent(5_792, ack + 10_136, 1_448), None);
            assert_eq!(guess.scale, 0);
            ack += 10_136;
        }
        // Who sends further than was ever offered shows it.
        guess.sent(5_793 + 1, ack + 10_138, 1_448);
        assert_eq!(guess.scale, 1);
    }

    #[test]
    fn windows_that_are_filled_to_the_byte_tell_their_scale() {
        assert_eq!(found(&[(501, 501 << 7)]), Some(7));
        assert_eq!(found(&[(28_960, 28_960)]), Some(0));
        assert_eq!(
            found(&[(501, 501 << 7), (366, 366 << 7), (400, 9_000)]),
            Some(7)
        );
        // What was offered before ended a little further on.
        assert_eq!(found(&[(501, 501 << 7), (366, (366 << 7) + 100)]), Some(7));
    }

    #[test]
    fn windows_that_are_filled_to_the_byte_tell_it_also_where_all_was_acknowledged() {
        let anew = |windows: &[(u16, u64)]| {
            let mut guess = Guess::default();
            let all = windows.iter().cycle().take(20 * windows.len());
            let mut ack = 0;
            let mut each = all.filter_map(|&(raw, flight)| {
                ack += 1 << 40;
                (guess.raw, guess.last) = (0, raw);
                guess.told(ack, raw);
                guess.sent(flight, ack + flight, 1_448)
            });
            each.next()
        };
        assert_eq!(anew(&[(7_118, 7_118 << 2), (6_555, 6_555 << 2)]), Some(2));
        // Always as much may be what an application sends; so may what leaves room.
        assert_eq!(anew(&[(7_118, 7_118 << 2)]), None);
        let some = [(7_118, 7_118 << 2), (6_555, 6_555 << 2), (9_000, 9_000)];
        assert_eq!(anew(&some), Some(2));
        let most = [&some[..], &[(9_001, 9_000), (9_002, 9_000)]].concat();
        assert_eq!(anew(&most), None);
    }

    #[test]
    fn windows_of_which_most_are_not_filled_tell_nothing() {
        let of = |fills: usize| {
            let mut windows = vec![(501, 501 << 7); fills];
            windows.push((400, 9_000));
            found(&windows)
        };
        assert_eq!([of(1), of(2)], [None, Some(7)]);
    }

    #[test]
    fn what_an_application_sends_does_not() {
        // Messages of 64 kB behind a window of 512 that means 4 MB; room for another segment; one segment.
        assert_eq!(found(&[(512, 65_536)]), None);
        assert_eq!(found(&[(501, (501 << 7) - 1)]), None);
        assert_eq!(found(&[(181, 1_448)]), None);
        // It may be that nothing is scaled.
        assert_eq!(found(&[(65_535, 65_535)]), None);
        // What is larger once shows that it was not filled.
        let mut windows = vec![(501, 501 << 7); 15];
        windows.push((501, (501 << 7) + 5_000));
        assert_eq!(found(&windows), None);
    }
}
