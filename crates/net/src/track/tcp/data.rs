//! A segment's own bytes, into the order of its stream: new ones, late ones, and those sent again.

use super::TIMEOUT_NS;
use crate::track::MILLISECOND;
use crate::track::deliver::deliver;
use crate::track::metering::{Again, full_size};
use crate::track::output::Output;
use crate::track::reassembly::Origin;
use crate::track::recovery::Resent;
use crate::track::sequence::ack_position;
use crate::track::size::Size;
use crate::track::stream::{Start, Stream};
use crate::{Handler, Segment};
use model::{Direction, EpisodeKind, HeldSince, Time};

/// Bytes that come this soon after they were given up were only late in the file.
const LATE_WITHIN_NS: i64 = 10 * MILLISECOND;

/// Takes in the segment's own bytes. For each of them there is one call: apart from that it takes 30 instructions more.
#[inline(always)]
pub(super) fn data<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    bytes: &[u8],
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
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
        (stream.fin, stream.fin_at) = (Some(end), Some(s.mark.time));
        let heard = ack_position(peer.sent, s.tcp.acknowledgement);
        stream.summary.end_heard_all = flags.ack() && heard >= peer.sent;
    }
    if end == start || stream.start == Start::Provisional {
        if s.payload_length == 0 && start < stream.sent {
            stream.window.probed();
        } else if start > stream.sent && stream.start == Start::Certain {
            stream.is_ahead(s, start);
        }
    } else {
        let mut origin = Origin {
            mark: s.mark,
            held_since: None,
            heard_all: peer.is_heard_by(s),
            peer_ended: peer.ended_before(s),
            heard_to: match flags.ack() {
                true => ack_position(peer.sent, s.tcp.acknowledgement),
                false => 0,
            },
            ip_id: s.ip_id,
            ts_value: s.tcp.timestamps.map(|(value, _)| value),
            packet,
        };
        let wanted = if start >= stream.sent {
            stream.summary.first_data.get_or_insert(s.mark.time);
            stream.summary.last_data = Some(s.mark.time);
            origin.held_since = new_data(out, s, d, stream, start, end, peer.summary.packets > 0);
            true
        } else {
            old_data(out, s, d, stream, start, end, &mut origin)
        };
        stream.last_data_at = stream.last_data_at.max(s.mark.time);
        stream.largest = stream.largest.max(s.payload_length);
        if wanted {
            deliver(out, s, bytes, d, stream, peer, start, end, origin);
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
) -> Option<HeldSince> {
    if stream.window.is_zero() && s.payload_length <= 1 {
        stream.probe = Some((start, end));
    }
    if !peer_seen {
        stream.recovery.new_data(start, s.mark, s.order);
    }
    if start > stream.sent {
        // What left meanwhile never came past the capture, or comes later.
        let carries = u64::from(stream.held.carries(s, stream.mss));
        let are_full = carries > 0 && (start - stream.sent).is_multiple_of(carries);
        stream.held.was_perhaps_sent(are_full);
    }
    let held = match stream.goes_unasked && !stream.window.is_zero() {
        true => None,
        false => held_up(out, s, d, stream, end),
    };
    if stream.acknowledged.is_none_or(|a| a < end) && stream.is_plausible(start) {
        let ts_value = s.tcp.timestamps.map(|(value, _)| value);
        let others = stream.in_flight();
        (stream.flight).push(end, s.payload_length, others, s.mark, ts_value);
    }
    held
}

fn by_trouble(since: Option<Time>) -> Option<HeldSince> {
    since.map(HeldSince::troubled)
}

/// What held it up: recovery, the window, Nagle's algorithm, or what was before it.
fn held_up<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    end: u64,
) -> Option<HeldSince> {
    let now = s.mark.time;
    let full_sized = stream.full_sized();
    let near = stream.held.is_near();
    if stream.window.is_away() {
        stream.window.arrives(now, stream.sent, full_sized);
    }
    let mut released = stream.window.held_since(end, now);
    if released.is_some() {
        stream.held.was_the_window();
        if stream.held.is_placed() || stream.window.is_away() {
            // Next to the receiver it shows how long that kept its acknowledgement back.
            let is_there = stream.is_at_receiver() && !near;
            let sender_ns = is_there.then(|| stream.held.away_ns());
            let round_trip = stream.round_trip();
            (stream.window).was_full(s, sender_ns, full_sized, round_trip);
        }
        released = released.filter(|_| near);
    } else {
        stream.window.was_free();
    }
    if stream.window.is_zero() {
        stream.held.was_the_window();
    }
    stream.window.sent(s, end, full_sized, stream.round_trip_ns);
    if let Some((kind, stretch)) = stream.window.take_ready() {
        out.episode(d, kind, stretch);
    }
    let recovering = stream.recovery.since();
    let size = Size::of(s, stream.mss, stream.largest);
    let flight = stream.held.unanswered_flight();
    let rebuilding = stream.recovery.is_rebuilding();
    let held = stream.held.sent(
        s,
        end,
        size,
        stream.acknowledged,
        rebuilding,
        &mut stream.summary,
    );
    if let Some((kind, stretch)) = stream.held.take_ready() {
        out.episode(d, kind, stretch);
    }
    if s.tcp.flags.cwr() {
        stream.paced.get_or_insert_default().void();
    }
    if let (Some(acknowledged), Some((flight, last))) = (stream.acknowledged, flight)
        && held.is_some_and(|held| held.troubled.is_none())
        && (recovering, released, rebuilding) == (None, None, false)
        && stream.window.has_room(end, 2 * full_sized)
        && stream.round_trip().is_unqueued()
    {
        let paced = stream.paced.get_or_insert_default();
        let round_trip = stream.round_trip_ns;
        paced.released(flight, acknowledged, full_sized, now - last, round_trip);
    }
    let trouble = recovering.or(released);
    let mut trouble = by_trouble(trouble.or_else(|| stream.recovery.releases(now)));
    if let (Some(trouble), Some(held)) = (&mut trouble, held) {
        // It may have stood behind others before.
        trouble.at = trouble.at.min(held.at);
        trouble.troubled = trouble.troubled.min(held.troubled.or(trouble.troubled));
    }
    if let Some(trouble) = &trouble {
        stream.held.stood_since(trouble.at);
    }
    trouble.or(held)
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
            origin.held_since = by_trouble(stream.window.held_since(end, s.mark.time));
            let (others, ts_value) = (stream.in_flight(), origin.ts_value);
            (stream.flight).push(end, (end - old_end) as u32, others, s.mark, ts_value);
        }
        return true;
    }
    let missing = stream.reassembly.missing_bytes(start, old_end);
    let fills = missing > 0;
    let exposed = (stream.reassembly.exposed_after(start)).or_else(|| stream.ahead_of(start));
    let given_up = stream
        .given_up
        .filter(|gap| start < gap.end && gap.start < old_end);
    let late = given_up.is_some_and(|gap| s.mark.time - gap.at <= LATE_WITHIN_NS);
    let mut found = 0;
    if let Some(gap) = given_up {
        found = old_end.min(gap.end) - start.max(gap.start);
        stream.found_again(gap, found);
        out.note(s, "late-data", "bytes that came after they were given up");
    }
    // Where the direction begins with them, its bytes were acknowledged, and not seen before.
    if stream.start != Start::Acknowledged {
        stream.summary.repeated_bytes += (old_end - start).saturating_sub(missing + found);
    }
    if late || (fills && stream.is_reordered(s, exposed)) {
        stream.summary.out_of_order_packets += 1;
        return true;
    }
    let progress = stream.last_data_at.max(stream.acknowledged_at);
    let seen = match fills {
        true => None,
        false => stream.flight.sent_again(start, old_end),
    };
    let first = seen.or(exposed.map(|exposed| exposed.mark));
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
            original: seen,
            again: s.mark,
            sequence: s.tcp.sequence,
            bytes: (old_end - start) as u32,
            needless,
        },
    };
    // What came behind it was acknowledged.
    if seen.is_some() && !needless && stream.sacked > old_end {
        stream.summary.lacked_bytes += old_end - start;
    }
    stream.again = Some(Again::of(s, stream, !fills));
    stream.flight.resent(old_end, s.mark.time, origin.ts_value);
    stream.summary.retransmitted_packets += 1;
    stream.summary.retransmitted_bytes += old_end - start;
    let (sent, flight) = (stream.sent, stream.in_flight());
    let full_sized = full_size(s, stream);
    if let Some(stretch) = stream.recovery.resent(resent, sent, flight, full_sized) {
        out.episode(d, EpisodeKind::Recovery, stretch);
    }
    if !stream.goes_unasked {
        stream.paced.get_or_insert_default().void();
    }
    origin.held_since = by_trouble(stream.recovery.since());
    if acknowledged.is_some_and(|a| a >= sent) {
        let round_trip = stream.round_trip_ns;
        stream.recovery.acknowledged(sent, None, s, round_trip);
    }
    if end > old_end {
        let (others, ts_value) = (stream.in_flight(), origin.ts_value);
        (stream.flight).push(end, (end - old_end) as u32, others, s.mark, ts_value);
    }
    true
}
