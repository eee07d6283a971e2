//! One TCP connection: each segment acknowledges the other direction, then brings its own bytes, and
//! either may settle what the capture will no longer show.

mod acks;
mod data;

use super::Wanted;
use super::deliver::{Lack, drain, give_up, settle};
use super::entry::{Patience, Verdict};
use super::handshake::{Ecn, Opening};
use super::metering::{self, Before, full_size};
use super::sequence::{LARGEST_WINDOW, ack_position, data_position};
use super::stamps::Data;
use super::stream::{Start, Stream};
use super::{MILLISECOND, output::Output};
use crate::account::{Measured, Meter};
use crate::identifications::Identifications;
use crate::segment::STAMPS;
use crate::{Handler, Segment};
use acks::acknowledge;
use data::data;
use model::{
    Close, ConnectionId, Direction, EpisodeKind, Interval, Mark, Pace, PerClass, ResetSeen, Time,
};
use prefetch::prefetch;
use serde::{Deserialize, Serialize};

/// A resend after so long without progress is the retransmission timer's.
pub(super) const TIMEOUT_NS: i64 = 200 * MILLISECOND;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tcp {
    /// The packet that began it.
    pub first: Mark,
    pub streams: [Stream; 2],
    pub opening: Opening,
    /// Packets so far.
    packets: u64,
    meter: Option<Box<Meter>>,
    /// The server's.
    identifications: Identifications,
    pub reset: Option<ResetSeen>,
}

/// This direction's stream and the other's.
fn both(streams: &mut [Stream; 2], d: Direction) -> (&mut Stream, &mut Stream) {
    let [to_server, to_client] = streams;
    match d {
        Direction::ToServer => (to_server, to_client),
        Direction::ToClient => (to_client, to_server),
    }
}

impl Tcp {
    /// Of a connection that `s` begins.
    pub(super) fn new(s: &Segment, wanted: &Wanted) -> Tcp {
        let id = ConnectionId(s.order);
        let plot = wanted.plots.as_ref().map(|plots| plots.get(&id));
        let meter = || {
            let mut meter = Meter::new(s.first, s.tcp.flags.syn());
            if wanted.timelines {
                meter = meter.with_timelines();
            }
            if let Some(ns) = wanted.intervals_ns {
                meter = meter.with_intervals(id, s.mark.time, ns);
            }
            match plot.flatten() {
                None => meter,
                Some(request) => meter.with_plot(*request),
            }
        };
        let measured = wanted.accounts && plot.is_none_or(|plot| plot.is_some());
        let mut tcp = Tcp {
            first: s.first,
            meter: measured.then(|| Box::new(meter())),
            ..Tcp::default()
        };
        let concludes = plot.flatten().is_none_or(|plot| plot.concludes_scales);
        for stream in &mut tcp.streams {
            stream.window.concludes_scale(concludes);
            stream.queue = wanted.timelines.then(Box::default);
            stream.stamps = wanted.timelines.then(Box::default);
            stream.goes_unasked = wanted.bytes_alone;
        }
        tcp
    }

    pub(super) fn patience(&self) -> Patience {
        let [a, b] = &self.streams;
        let one_way = a.summary.packets == 0 || b.summary.packets == 0;
        match (a.fin, b.fin) {
            (Some(_), Some(_)) => Patience::Closing,
            (None, None) if one_way && a.summary.payload_bytes + b.summary.payload_bytes == 0 => {
                Patience::Unanswered
            }
            (None, None) => Patience::Open,
            _ if one_way => Patience::HalfClosed,
            _ => Patience::Open,
        }
    }

    /// Whether nothing is kept of it that is not worth packing: bytes that wait for earlier ones, a plot.
    pub(super) fn may_rest(&self) -> bool {
        let plotted = self.meter.as_ref().is_some_and(|meter| meter.has_plot());
        !plotted && !self.streams.iter().any(|s| s.reassembly.is_waiting())
    }

    /// A segment of it comes soon: asks the processor for what it points to.
    pub(super) fn prefetch(&self) {
        for stream in &self.streams {
            stream.recent.prefetch();
            stream.flight.prefetch();
        }
        if let Some(meter) = &self.meter {
            prefetch(&**meter);
        }
    }

    /// Bytes that wait for earlier ones, and what is remembered of packets beyond what is of any connection.
    #[inline]
    pub(super) fn waiting_bytes(&self) -> usize {
        let of = |s: &Stream| s.reassembly.waiting_bytes() + s.recent.more_bytes();
        self.streams.iter().map(of).sum()
    }

    #[inline]
    pub(super) fn segment<H: Handler>(
        &mut self,
        out: &mut Output<'_, H>,
        s: &Segment,
        bytes: &[u8],
        d: Direction,
    ) -> Verdict {
        match self.meter.take() {
            None if out.handler.begins_account(out.state) => self.begin_account(out, s, bytes, d),
            None => self.follow(out, s, bytes, d),
            Some(meter) => self.follow_and_tell(out, s, bytes, d, meter),
        }
    }

    /// The same, with an account from here on, as of a connection that was found open.
    #[cold]
    #[inline(never)]
    fn begin_account<H: Handler>(
        &mut self,
        out: &mut Output<'_, H>,
        s: &Segment,
        bytes: &[u8],
        d: Direction,
    ) -> Verdict {
        let meter = Meter::new(s.mark, false);
        let tells_when = self.streams.iter().any(|stream| stream.queue.is_some());
        let meter = match tells_when {
            true => meter.with_timelines(),
            false => meter,
        };
        self.follow_and_tell(out, s, bytes, d, Box::new(meter))
    }

    /// The same where the connection has an account: what the segment was shows in what it changed.
    #[inline(never)]
    fn follow_and_tell<H: Handler>(
        &mut self,
        out: &mut Output<'_, H>,
        s: &Segment,
        bytes: &[u8],
        d: Direction,
        mut meter: Box<Meter>,
    ) -> Verdict {
        if !out.handler.wants_account(out.state) {
            return self.follow(out, s, bytes, d);
        }
        if !out.handler.wants_timeline(out.state) {
            meter.drop_timelines();
        }
        let (stream, peer) = both(&mut self.streams, d);
        let before = Before::of(stream, peer);
        let packets = self.packets;
        let verdict = self.follow(out, s, bytes, d);
        let (stream, peer) = both(&mut self.streams, d);
        if self.packets > packets {
            meter.counted(d, s);
            if meter.has_intervals()
                && let Some(before) = meter.counted_in_interval(d, s)
            {
                out.interval(before, &meter.spent());
            }
            if !s.tcp.flags.rst() {
                metering::tell(
                    &mut meter,
                    &before,
                    s,
                    d,
                    stream,
                    peer,
                    &self.opening.summary,
                );
            }
        }
        self.meter = Some(meter);
        verdict
    }

    fn follow<H: Handler>(
        &mut self,
        out: &mut Output<'_, H>,
        s: &Segment,
        bytes: &[u8],
        d: Direction,
    ) -> Verdict {
        let flags = s.tcp.flags;
        let (stream, peer) = both(&mut self.streams, d);
        if flags.syn() && !flags.rst() && !self.opening.is_ours(s, stream, peer) {
            return Verdict::Replaced;
        }
        if is_copy(s, stream, peer) {
            return Verdict::Goes;
        }
        stream.recent.remember(s);
        self.packets += 1;
        if flags.rst() {
            return self.reset(out, s, d);
        }
        count(s, stream);
        if !flags.syn() {
            stamped(out, s, d, stream, peer);
        }
        if stream.start == Start::Unknown && self.opening.is_challenge(s, d, peer) {
            return Verdict::Goes;
        }
        if flags.syn() {
            stream.isn = Some(s.tcp.sequence);
            if matches!(stream.start, Start::Unknown | Start::Acknowledged) {
                stream.begin(s.tcp.sequence.wrapping_add(1));
            }
            self.opening.syn(s, d, &mut self.streams);
        } else if flags.ack() && self.opening.acknowledged(s, d, stream, peer) {
            out.handler
                .opened(out.connection, out.state, s.mark, s.order);
        }
        let (stream, peer) = both(&mut self.streams, d);
        let packet = self.packets;
        if flags.ack() {
            acknowledge(out, s, d.reverse(), peer, stream);
            settle(out, s, d.reverse(), peer, stream, packet);
        }
        let is_data = s.payload_length > 0;
        if is_data && d == Direction::ToClient && stream.held.was_silent(s.mark.time) {
            let skips = |id| self.identifications.skips(id);
            let has_skipped = s.ip_id.is_some_and(skips);
            // What it overtook comes later.
            let follows = || data_position(stream.sent, s.tcp.sequence) <= stream.sent;
            stream.held.skipped(has_skipped && follows());
        }
        data(out, s, bytes, d, stream, peer, packet);
        if s.payload_length > 0 {
            peer.held.peer_sent();
        }
        if d == Direction::ToClient
            && !stream.goes_unasked
            && let Some(id) = s.ip_id.filter(|_| !flags.syn())
        {
            let full_sized = full_size(s, stream);
            let bytes = s.payload_length.into();
            if self.identifications.saw(id, bytes, full_sized) {
                out.skipped(s.mark, s.order);
            }
        }
        stream.last_window = s.tcp.window;
        settle(out, s, d, stream, peer, packet);
        if stream.is_finished() && peer.is_finished() {
            return Verdict::Over(Close::Finished);
        }
        Verdict::Goes
    }

    #[cold]
    fn reset<H: Handler>(&mut self, out: &mut Output<'_, H>, s: &Segment, d: Direction) -> Verdict {
        let (stream, peer) = both(&mut self.streams, d);
        let usual_ttl = stream.summary.ttl_min..=stream.summary.ttl_max;
        let odd_ttl = stream.summary.packets > 0 && !usual_ttl.contains(&s.ttl);
        // What its peer has acknowledged and never came by may have been its end, but for full segments.
        let unseen = stream.acknowledged.unwrap_or(0).saturating_sub(stream.sent);
        let full_sized =
            [0, STAMPS].map(|stamps| stream.full_sized().saturating_sub(stamps.into()));
        // A reset has no options, whatever others have.
        let lacks_own = !full_sized.iter().any(|&size| unseen.is_multiple_of(size));
        let after_fin = stream.fin.is_some() || lacks_own;
        let counts_on = !odd_ttl && stream.recent.counts_on(s);
        count(s, stream);
        // What it acknowledges and never came by may have been the end.
        let lacked = s.tcp.acknowledgement.wrapping_sub(peer.sent as u32) as i32;
        let lacks = s.tcp.flags.ack() && peer.summary.payload_bytes > 0 && lacked > 0;
        let opening = &mut self.opening.summary;
        let is_ours = s.tcp.sequence == stream.first as u32;
        let waits = opening.challenges > 0 && peer.start == Start::Unknown;
        if waits && d == Direction::ToServer && !is_ours {
            // It ends what it answers, if it arrives, and not what its sender asks for.
            opening.challenge_resets += 1;
            return Verdict::Goes;
        }
        let verdict = reset(out, s, stream, peer);
        if verdict != Verdict::Goes {
            let alone = stream.isn.is_none() && stream.summary.packets == 1;
            self.reset = Some(ResetSeen {
                direction: d,
                at: s.mark,
                odd_ttl,
                counts_on,
                refuses: peer.isn.is_some() && alone,
                after_fin,
                end_heard: stream.fin_heard_at,
                after_peers_fin: peer.fin.is_some() || lacks,
                sender_unheard: stream.isn.is_none()
                    && peer.isn.is_none()
                    && stream.summary.payload_bytes == 0
                    && peer.acknowledged.is_none(),
            });
        }
        verdict
    }

    /// What it did in the interval that goes on, if that was asked for, and what its time went to.
    pub(super) fn last_interval(&self) -> Option<(Interval, [PerClass<i64>; 2])> {
        let meter = self.meter.as_ref()?;
        Some((meter.last_interval()?, meter.spent()))
    }

    /// The same, if an interval that holds `now` comes behind it, which then goes on.
    pub(super) fn interval_before(&mut self, now: Time) -> Option<(Interval, [PerClass<i64>; 2])> {
        let meter = self.meter.as_mut()?;
        Some((meter.interval_before(now)?, meter.spent()))
    }

    /// What the connection waited for, and its picture, if that was asked for, with its last packet.
    pub(super) fn measured(&mut self, last: Mark) -> Option<Measured> {
        let begins = |stream: &Stream| stream.isn.map(|_| stream.first);
        let begins = self.streams.each_ref().map(begins);
        let mut measured = self.meter.take()?.finish(last, begins);
        for (account, stream) in measured.accounts.iter_mut().zip(&self.streams) {
            account.mss = stream.mss;
            account.window_scale = stream.window.scale;
            account.sack = self.opening.has_sack();
            account.timestamps = self.opening.has_timestamps();
            let ecn = self.opening.ecn();
            account.ecn_negotiated = ecn.map(|ecn| ecn != Ecn::No);
            if ecn.is_some_and(|ecn| ecn != Ecn::Classic) {
                (account.ecn.ece_packets, account.ecn.cwr_packets) = (0, 0);
            }
        }
        Some(measured)
    }

    /// Delivers what is still held and reports what is not over.
    pub(super) fn finish<H: Handler>(&mut self, out: &mut Output<'_, H>, last: Mark, order: u64) {
        self.give_up_holes(out, last, order);
        for (d, stream) in [Direction::ToServer, Direction::ToClient]
            .into_iter()
            .zip(&mut self.streams)
        {
            stream.summary.stuck = stream.recovery.stuck();
            stream.summary.pace = stream
                .paced
                .as_ref()
                .map_or(Pace::Unknown, |paced| paced.pace());
            for stretch in stream.recovery.finish(last, order).into_iter().flatten() {
                out.episode(d, EpisodeKind::Recovery, stretch);
            }
            if let Some(stretch) = stream.window.finish(last, order) {
                out.episode(d, EpisodeKind::ZeroWindow, stretch);
            }
        }
    }
}

impl Tcp {
    /// Nothing comes any more: delivers what is held behind holes of either direction, those that showed first
    /// first, and tells what is missing at the end.
    fn give_up_holes<H: Handler>(&mut self, out: &mut Output<'_, H>, last: Mark, order: u64) {
        while let Some((shown, d, end, at)) = self.first_hole() {
            let (stream, peer) = both(&mut self.streams, d);
            let lack = Lack {
                end,
                missing: stream.acknowledged.is_some_and(|a| a >= end),
                at: at.unwrap_or(last),
                now: last.time,
                order,
                shown,
            };
            give_up(out, d, [&mut *stream, &mut *peer], lack);
            drain(out, d, [stream, peer], last.time, order);
        }
    }

    /// Up to where bytes are missing, of the direction in which that showed first, and in which packet, if in one.
    fn first_hole(&self) -> Option<(u64, Direction, u64, Option<Mark>)> {
        let of = |d: Direction, stream: &Stream| match stream.reassembly.hole() {
            Some(hole) => {
                let at = stream.shown_by(&hole);
                Some((hole.exposed.packet, d, hole.end, Some(at)))
            }
            None => match stream.missing() {
                0 => None,
                missing => Some((u64::MAX, d, stream.reassembly.next + missing, None)),
            },
        };
        let [to_server, to_client] = &self.streams;
        let both = [
            of(Direction::ToServer, to_server),
            of(Direction::ToClient, to_client),
        ];
        both.into_iter().flatten().min_by_key(|(shown, ..)| *shown)
    }
}

/// Whether the capture holds the packet twice. What brings new bytes, or acknowledges new ones,
/// cannot be a copy.
fn is_copy(s: &Segment, stream: &mut Stream, peer: &Stream) -> bool {
    let t = &s.tcp;
    let outstanding = peer.in_flight() > 0;
    let reason = if s.payload_length > 0 {
        let end = data_position(stream.sent, t.sequence) + u64::from(s.payload_length);
        if stream.start != Start::Unknown && end > stream.sent {
            return false;
        }
        stream.duplicate_acks > 0 || stream.recovery.since().is_some()
    } else {
        if t.flags.ack()
            && peer
                .acknowledged
                .is_some_and(|a| ack_position(peer.sent, t.acknowledgement) > a)
        {
            return false;
        }
        outstanding
    };
    stream.recent.has(s, reason, &mut stream.summary)
}

/// What a segment's time stamps tell of its own way, and of that of what it echoes.
fn stamped<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
) {
    let (Some(stamps), Some((stamp, echo))) = (&mut stream.stamps, s.tcp.timestamps) else {
        return;
    };
    let mut data = None;
    if s.payload_length > 0 {
        data = Some(match stream.held.goes_on() {
            true => Data::More,
            false => Data::First,
        });
        if let Some(ns) = stamps.echoes.came(echo, s.mark.time) {
            let longest = &mut stream.summary.echoed_max_ns;
            *longest = ns.max(*longest);
        }
    } else if let Some(peer) = &mut peer.stamps {
        peer.echoes.acknowledged(stamp, s.mark.time);
    }
    stamps.saw(s.mark, stamp, data);
    if stamps.has_untold() {
        let others = (peer.stamps.as_ref()).map_or(Time::MIN, |peer| peer.in_time());
        for (kind, stretch) in stamps.take_told(s.mark.time, s.order, others) {
            out.episode(d, kind, stretch);
        }
    }
}

fn count(s: &Segment, stream: &mut Stream) {
    let summary = &mut stream.summary;
    if summary.packets == 0 {
        (summary.ttl_min, summary.ttl_max) = (s.ttl, s.ttl);
    } else {
        summary.ttl_min = summary.ttl_min.min(s.ttl);
        summary.ttl_max = summary.ttl_max.max(s.ttl);
    }
    summary.packets += 1;
    summary.last = s.mark;
    summary.payload_bytes += u64::from(s.payload_length);
}

/// A reset counts if its receiver would take it (RFC 9293 section 3.10.7.4, RFC 5961): not below what
/// was acknowledged, and within a window of what was sent; or if it answers a SYN.
fn reset<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    stream: &Stream,
    peer: &Stream,
) -> Verdict {
    let position = data_position(stream.sent, s.tcp.sequence);
    let refuses = s.tcp.flags.ack()
        && stream.summary.packets <= 1
        && ack_position(peer.sent, s.tcp.acknowledgement) == peer.sent;
    let fits = match stream.start {
        Start::Unknown => true,
        _ => {
            position >= stream.acknowledged.unwrap_or(stream.first)
                && position <= stream.sent + LARGEST_WINDOW
        }
    };
    if fits || refuses {
        return Verdict::Over(Close::Reset);
    }
    out.note(s, "stale-reset", "a reset outside its receiver's window");
    Verdict::Goes
}
