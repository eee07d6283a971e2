//! One TCP connection: each segment acknowledges the other direction, then brings its own bytes, and
//! either may settle what the capture will no longer show.

use super::Wanted;
use super::deliver::{deliver, drain, give_up, settle};
use super::entry::{Patience, Verdict};
use super::handshake::{Ecn, Opening};
use super::held::Size;
use super::metering::{self, Again, Before};
use super::reassembly::Origin;
use super::recovery::Resent;
use super::sequence::{LARGEST_WINDOW, ack_position, data_position, first_position};
use super::stream::{FAST_RETRANSMIT_ACKS, Start, Stream};
use super::{MILLISECOND, output::Output};
use crate::account::{Measured, Meter};
use crate::{Handler, Segment};
use model::{
    Close, ConnectionId, Direction, EpisodeKind, Interval, Mark, PerClass, ResetSeen, Time,
};
use serde::{Deserialize, Serialize};

/// A resend after so long without progress is the retransmission timer's.
pub(super) const TIMEOUT_NS: i64 = 200 * MILLISECOND;
/// Bytes that come this soon after they were given up were only late in the file.
const LATE_WITHIN_NS: i64 = 10 * MILLISECOND;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Tcp {
    /// The packet that began it.
    pub first: Mark,
    pub streams: [Stream; 2],
    pub opening: Opening,
    /// Packets so far.
    packets: u64,
    meter: Option<Box<Meter>>,
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
        if wanted.timelines {
            for stream in &mut tcp.streams {
                stream.queue = Some(Box::default());
            }
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

    #[inline]
    pub(super) fn segment<H: Handler>(
        &mut self,
        out: &mut Output<'_, H>,
        s: &Segment,
        bytes: &[u8],
        d: Direction,
    ) -> Verdict {
        match self.meter.take() {
            None => self.follow(out, s, bytes, d),
            Some(meter) => self.follow_and_tell(out, s, bytes, d, meter),
        }
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
        if flags.syn() {
            stream.isn = Some(s.tcp.sequence);
            if matches!(stream.start, Start::Unknown | Start::Acknowledged) {
                stream.begin(s.tcp.sequence.wrapping_add(1));
            }
            self.opening.syn(s, d, &mut self.streams);
        } else if flags.ack() && self.opening.acknowledged(s, d, stream, peer) {
            out.handler.opened(out.connection, out.state, s.mark);
        }
        let (stream, peer) = both(&mut self.streams, d);
        let packet = self.packets;
        if flags.ack() {
            acknowledge(out, s, d.reverse(), peer, stream);
            settle(out, s, d.reverse(), peer, true, packet);
        }
        let peer_seen = peer.summary.packets > 0;
        data(out, s, bytes, d, stream, peer, packet);
        if s.payload_length > 0 {
            peer.held.peer_sent();
        }
        stream.last_window = s.tcp.window;
        settle(out, s, d, stream, peer_seen, packet);
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
        let after_fin = stream.fin.is_some();
        let counts_on = !odd_ttl && stream.recent.counts_on(s);
        count(s, stream);
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
                after_peers_fin: peer.fin.is_some(),
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
        for (d, stream) in [Direction::ToServer, Direction::ToClient]
            .into_iter()
            .zip(&mut self.streams)
        {
            while let Some(hole) = stream.reassembly.hole() {
                let acknowledged = stream.acknowledged.is_some_and(|a| a >= hole.end);
                give_up(out, d, stream, hole.end, acknowledged, last, order);
                drain(out, d, stream, last.time, order);
            }
            let missing = stream.missing_at_end();
            if missing > 0 {
                let end = stream.reassembly.next + missing;
                give_up(out, d, stream, end, true, last, order);
            }
            for stretch in stream.recovery.finish(last, order).into_iter().flatten() {
                out.episode(d, EpisodeKind::Recovery, stretch);
            }
            if let Some(stretch) = stream.window.finish(last, order) {
                out.episode(d, EpisodeKind::ZeroWindow, stretch);
            }
        }
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

fn count(s: &Segment, stream: &mut Stream) {
    let summary = &mut stream.summary;
    if summary.packets == 0 {
        (summary.ttl_min, summary.ttl_max) = (s.ttl, s.ttl);
    } else {
        summary.ttl_min = summary.ttl_min.min(s.ttl);
        summary.ttl_max = summary.ttl_max.max(s.ttl);
    }
    summary.packets += 1;
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

/// `s`, a packet of `peer`'s direction, acknowledges `stream`.
fn acknowledge<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
) {
    let now = s.mark.time;
    let raw = s.tcp.acknowledgement;
    if stream.start == Start::Unknown {
        stream.start = Start::Acknowledged;
        stream.sent = first_position(raw);
    }
    let position = ack_position(stream.sent, raw);
    if stream.start != Start::Acknowledged
        && !stream.is_plausible(position)
        && !stream.reassembly.is_waiting()
    {
        out.note(
            s,
            "odd-acknowledgement",
            "an acknowledgement far beyond what was sent",
        );
        return;
    }
    if stream.start == Start::Acknowledged {
        stream.sent = stream.sent.max(position);
    }
    stream.mend_start(position);
    let before = stream.acknowledged.unwrap_or(position.min(stream.first));
    let (closed, all) = (s.tcp.window == 0, position >= stream.sent);
    stream.held.heard(s.mark, closed, all);
    if position < before {
        return;
    }
    let alone = s.payload_length == 0 && !s.tcp.flags.syn() && !s.tcp.flags.fin();
    let mut advanced = None;
    if position > before {
        let echo = s.tcp.timestamps.map(|(_, echo)| echo);
        let newest = (stream.flight).acknowledge(before, position, stream.sacked, echo);
        if let Some(newest) = &newest {
            if !newest.again {
                peer.held.answered(now - newest.at, 1);
            }
            if let Some(at) = newest.answers
                && newest.end == position
                && now >= at
            {
                let ns = now - at;
                if alone {
                    let one_segment = position - before <= stream.full_sized();
                    let is_whole = stream.recovery.since().is_none();
                    let at_once = !one_segment && is_whole && !stream.held.is_late(ns);
                    stream.sample(ns, at_once);
                    if let Some(queue) = stream.queue.as_mut().filter(|_| at_once) {
                        queue.passed(ns, newest.flight);
                    }
                    stream.held.round_trip(ns, one_segment);
                } else if s.payload_length > 0 {
                    stream.held.took_at_most(ns);
                    stream.at_most_ns = Some(ns);
                }
            }
        }
        let recovering = stream.recovery.since().is_some();
        if let (Some(queue), Some(newest)) = (&mut stream.queue, &newest)
            && !newest.again
            && !recovering
        {
            // It had not been acknowledged when what was before it was.
            queue.waited(newest, stream.acknowledged_at - newest.at);
        }
        let once = newest.is_some_and(|n| !n.again) && !recovering;
        stream.acknowledged = Some(position);
        stream.acknowledged_at = now;
        stream.duplicate_acks = 0;
        let round_trip = stream.round_trip_ns;
        stream
            .recovery
            .acknowledged(position, echo, s.mark, s.order, round_trip);
        advanced = Some((once, recovering));
    } else if alone
        && stream.sent > position
        && s.tcp.window != 0
        && stream.acknowledged.is_some()
        && (s.tcp.window == peer.last_window || s.tcp.sack_count > 0)
    {
        stream.duplicate_acks += 1;
        peer.summary.duplicate_acks += 1;
    }
    if stream.acknowledged.is_none() {
        stream.acknowledged = Some(position);
        stream.acknowledged_at = now;
    }
    if s.tcp.sack_count > 0 {
        selectively_acknowledged(s, position, stream);
    }
    if let Some((once, recovering)) = advanced {
        // What was sent again for nothing made nobody wait.
        let arrived = once || (recovering && stream.recovery.was_needless());
        let everything = arrived && position >= stream.sent;
        (stream.held).acknowledged(position, alone, everything, s.mark);
    }
    if !stream.recovery.is_quiet() {
        if let Some(stretch) = stream.recovery.due(now) {
            out.episode(d, EpisodeKind::Recovery, stretch);
        }
        stream.recovery.flight_is(stream.in_flight(), now);
    }
    if !s.tcp.flags.syn() {
        let full_sized = stream.full_sized();
        let closed = stream
            .window
            .advertised(s, position, stream.sent, full_sized);
        peer.summary.zero_windows += u64::from(closed);
        if let Some((kind, stretch)) = stream.window.take_ready() {
            out.episode(d, kind, stretch);
        }
    }
}

/// What arrived just now stands in the first block (RFC 2018 section 4). Below the acknowledgement, or within
/// the second block, it was received twice (RFC 2883).
fn selectively_acknowledged(s: &Segment, acknowledged: u64, stream: &mut Stream) {
    let [first, second] = s.tcp.sack.map(|(start, end)| {
        (
            ack_position(stream.sent, start),
            ack_position(stream.sent, end),
        )
    });
    let within_second =
        s.tcp.sack_count > 1 && first.0 >= second.0 && first.1 <= second.1 && first != second;
    // Nothing else was acknowledged, and it was not held back: Linux joins later ones of a row for up to a
    // millisecond.
    let at_once = (1..=FAST_RETRANSMIT_ACKS).contains(&stream.duplicate_acks);
    let arrived_now =
        at_once && first.0 > acknowledged && !within_second && first.1 > stream.sacked;
    if arrived_now && let Some(at) = stream.flight.selectively(first.1) {
        let ns = s.mark.time - at;
        if s.payload_length == 0 && ns >= 0 {
            stream.sample(ns, false);
        }
    }
    stream.sacked = stream.sacked.max(first.1).max(match s.tcp.sack_count {
        1 => 0,
        _ => second.1,
    });
    if first.0 < first.1 && (first.1 <= acknowledged || within_second) {
        stream.received_twice = true;
        stream.recovery.duplicate_sack(first.0, first.1);
    }
}

/// Takes in the segment's own bytes.
fn data<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    bytes: &[u8],
    d: Direction,
    stream: &mut Stream,
    peer: &Stream,
    packet: u64,
) {
    let flags = s.tcp.flags;
    let raw = s.tcp.sequence.wrapping_add(u32::from(flags.syn()));
    let start = stream.place(s, raw);
    let mut end = start + u64::from(s.payload_length);
    if let Some(fin) = stream.fin
        && end > fin
        && end > start
    {
        out.note(s, "data-after-fin", "bytes beyond the end of the stream");
        end = fin.max(start);
    }
    if flags.fin() && stream.fin.is_none() && stream.is_plausible(start) {
        stream.fin = Some(end);
    }
    if end == start || stream.start == Start::Provisional {
        if s.payload_length == 0 && start < stream.sent {
            stream.window.probed();
        }
    } else {
        let mut origin = Origin {
            mark: s.mark,
            held_since: None,
            heard_all: peer.is_heard_by(s),
            ip_id: s.ip_id,
            ts_value: s.tcp.timestamps.map(|(value, _)| value),
            packet,
        };
        let wanted = if start >= stream.sent {
            origin.held_since = new_data(out, s, d, stream, start, end, peer.summary.packets > 0);
            true
        } else {
            old_data(out, s, d, stream, start, end, &mut origin)
        };
        stream.last_data_at = stream.last_data_at.max(s.mark.time);
        stream.largest = stream.largest.max(s.payload_length);
        if wanted {
            deliver(out, s, bytes, d, stream, start, end, origin);
        }
    }
    let last = end + u64::from(stream.fin == Some(end) && flags.fin());
    stream.sent_to(start, last);
}

/// Measures a segment whose bytes were all never sent before; returns since when TCP had held it.
fn new_data<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    start: u64,
    end: u64,
    peer_seen: bool,
) -> Option<Time> {
    let now = s.mark.time;
    let full_sized = stream.full_sized();
    let near = stream.held.is_near();
    let mut released = stream.window.held_since(end, now);
    if released.is_some() {
        stream.held.was_the_window();
        released = released.filter(|_| near);
    } else {
        stream.window.was_free();
    }
    if released.is_some() {
        stream.window.was_full(s);
    }
    if stream.window.is_zero() && s.payload_length <= 1 {
        stream.probe = Some((start, end));
    }
    if stream.window.is_zero() {
        stream.held.was_the_window();
    }
    stream.window.sent(s, end, full_sized, stream.round_trip_ns);
    if let Some((kind, stretch)) = stream.window.take_ready() {
        out.episode(d, kind, stretch);
    }
    if !peer_seen {
        stream.recovery.new_data(start, s.mark, s.order);
    }
    let recovering = stream.recovery.since();
    let size = Size::of(s, stream.mss, stream.largest);
    let held = stream.held.sent(
        s,
        end,
        size,
        stream.acknowledged,
        stream.recovery.is_rebuilding(),
        &mut stream.summary,
    );
    if let Some((kind, stretch)) = stream.held.take_ready() {
        out.episode(d, kind, stretch);
    }
    if stream.acknowledged.is_none_or(|a| a < end) && stream.is_plausible(start) {
        let ts_value = s.tcp.timestamps.map(|(value, _)| value);
        let others = stream.in_flight();
        (stream.flight).push(end, s.payload_length, others, s.mark, ts_value);
    }
    recovering.or(released).or(held)
}

/// Measures a segment that begins in what was sent before: a probe, a late one, or one that was sent
/// again. Returns whether its bytes are wanted.
fn old_data<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    start: u64,
    end: u64,
    origin: &mut Origin,
) -> bool {
    let old_end = end.min(stream.sent);
    let acknowledged = stream.acknowledged;
    if s.payload_length == 1
        && end == stream.sent
        && acknowledged.is_none_or(|a| a >= end)
        && !stream.reassembly.lacks(start, end)
    {
        return false;
    }
    let was_probe = stream
        .probe
        .is_some_and(|(from, to)| from <= start && old_end <= to);
    if stream.window.is_zero() {
        stream.window.probed();
    }
    if was_probe || (stream.window.is_zero() && s.payload_length == 1) {
        if end > old_end {
            origin.held_since = stream.window.held_since(end, s.mark.time);
            let (others, ts_value) = (stream.in_flight(), origin.ts_value);
            (stream.flight).push(end, (end - old_end) as u32, others, s.mark, ts_value);
        }
        return true;
    }
    let fills = stream.reassembly.lacks(start, old_end);
    let exposed = stream.reassembly.exposed_after(start);
    let given_up = stream
        .given_up
        .filter(|gap| start < gap.end && gap.start < old_end);
    let late = given_up.is_some_and(|gap| s.mark.time - gap.at <= LATE_WITHIN_NS);
    if let Some(gap) = given_up {
        let bytes = old_end.min(gap.end) - start.max(gap.start);
        stream.found_again(gap, bytes);
        out.note(s, "late-data", "bytes that came after they were given up");
    }
    if late || (fills && stream.is_reordered(s, exposed)) {
        stream.summary.out_of_order_packets += 1;
        return true;
    }
    let progress = stream.last_data_at.max(stream.acknowledged_at);
    let first = if fills {
        exposed.map(|exposed| exposed.mark)
    } else {
        stream.flight.sent_again(start, old_end)
    };
    let needless = acknowledged.is_some_and(|a| a >= old_end) && !fills;
    let resent = Resent {
        first: first.unwrap_or(s.mark),
        start,
        end: old_end,
        needless,
        timeout: s.mark.time - progress >= TIMEOUT_NS,
        ts_value: origin.ts_value,
        told: model::Resent {
            // What showed that it was missing is not it.
            original: first.filter(|_| !fills),
            again: s.mark,
            sequence: s.tcp.sequence,
            bytes: (old_end - start) as u32,
            needless,
        },
    };
    stream.again = Some(Again::of(s, stream, !fills));
    stream.flight.resent(old_end, s.mark.time, origin.ts_value);
    stream.summary.retransmitted_packets += 1;
    stream.summary.retransmitted_bytes += old_end - start;
    let (sent, flight) = (stream.sent, stream.in_flight());
    if let Some(stretch) = stream.recovery.resent(resent, sent, flight) {
        out.episode(d, EpisodeKind::Recovery, stretch);
    }
    origin.held_since = stream.recovery.since();
    if acknowledged.is_some_and(|a| a >= sent) {
        let round_trip = stream.round_trip_ns;
        stream
            .recovery
            .acknowledged(sent, None, s.mark, s.order, round_trip);
    }
    if end > old_end {
        let (others, ts_value) = (stream.in_flight(), origin.ts_value);
        (stream.flight).push(end, (end - old_end) as u32, others, s.mark, ts_value);
    }
    true
}
