//! What a packet acknowledges, into what the other direction knows: bytes that arrived, round trips, what was
//! received twice, and what the receiver has that the capture lacks.

use crate::account::{is_full, may_be_full, may_hold};
use crate::track::MILLISECOND;
use crate::track::output::Output;
use crate::track::recovery::Stretch;
use crate::track::sequence::{ack_position, first_position};
use crate::track::stream::{FAST_RETRANSMIT_ACKS, Start, Stream};
use crate::{Handler, Segment};
use model::{Direction, EpisodeKind, Mark};

/// Linux acknowledges after 40 ms what its application has not answered, and few hosts wait for longer (RFC 1122: 500 ms at most).
const TIMER_NS: i64 = 50 * MILLISECOND;

/// `s`, a packet of `peer`'s direction, acknowledges `stream`.
pub(super) fn acknowledge<H: Handler>(
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
    if !stream.goes_unasked {
        let (closed, all) = (s.tcp.window == 0, position >= stream.sent);
        stream.held.heard(s.mark, closed, all);
    }
    if position < before {
        return;
    }
    if stream.fin.is_some_and(|fin| position > fin) {
        stream.fin_heard_at.get_or_insert(now);
    }
    let alone = s.payload_length == 0 && !s.tcp.flags.syn() && !s.tcp.flags.fin();
    let mut advanced = None;
    if position > before {
        if position > stream.sent {
            // What it acknowledges and the capture lacks may be what it answers.
            peer.held.peer_sent();
            stream.heard_of = Some(Box::new((position, s.mark)));
        }
        let echo = s.tcp.timestamps.map(|(_, echo)| echo);
        let newest = (stream.flight).acknowledge(before, position, stream.sacked, echo);
        if let Some(newest) = &newest {
            if !newest.again {
                peer.held.answered(now - newest.at, 1);
                if let Some(stamps) = &mut peer.stamps {
                    stamps.acknowledges(newest.at, now);
                }
            }
            if let Some(at) = newest.answers
                && newest.end == position
                && now >= at
            {
                let offered = peer.last_window;
                round_trip(
                    s,
                    stream,
                    offered,
                    now - at,
                    position - before,
                    alone,
                    newest.flight,
                );
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
        if let Some(newest) = newest
            .as_ref()
            .filter(|n| !n.again && stream.queue.is_some())
            && d == Direction::ToServer
            && s.payload_length > 0
            && now - newest.at >= TIMER_NS + stream.summary.ack_rtt_min_ns.unwrap_or(0)
        {
            let since = Mark {
                time: newest.at,
                ..s.mark
            };
            let stretch = Stretch::of(since, s.mark, s.order);
            out.episode(d, EpisodeKind::Unheard, stretch);
        }
        let once = newest.is_some_and(|n| !n.again) && !recovering;
        stream.acknowledged = Some(position);
        stream.acknowledged_at = now;
        stream.duplicate_acks = 0;
        let round_trip = stream.round_trip_ns;
        stream.recovery.acknowledged(position, echo, s, round_trip);
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
    if advanced.is_none() {
        stream.recovery.receiver_heard();
    }
    if stream.acknowledged.is_none() {
        stream.acknowledged = Some(position);
        stream.acknowledged_at = now;
        if position < stream.first {
            stream.begins_in_flight(s);
        }
    }
    if s.tcp.sack_count > 0 {
        selectively_acknowledged(s, position, stream);
    }
    if let Some((once, recovering)) = advanced
        && !stream.goes_unasked
    {
        // What was sent again for nothing made nobody wait.
        let arrived = once || (recovering && stream.recovery.was_needless());
        let everything = arrived && position >= stream.sent;
        let stamp = s.tcp.timestamps.map(|(stamp, _)| stamp);
        (stream.held).acknowledged(position, alone, everything, stamp, s.mark);
        if stream.held.came_late(now) {
            // A slow reader's window holds up as long as a timer does.
            let (offered, full_sized) = (peer.last_window, stream.full_sized());
            let flight = stream.latest_round_trip.map_or(0, |(_, flight)| flight);
            let holds = match stream.window.scale {
                Some(scale) => is_full(u64::from(offered) << scale, flight, full_sized),
                None => may_hold(offered, flight, full_sized),
            };
            if holds {
                stream.held.was_perhaps_the_window();
            }
        }
    }
    if !stream.recovery.is_quiet() {
        if let Some(stretch) = stream.recovery.due(now) {
            out.episode(d, EpisodeKind::Recovery, stretch);
        }
        stream.recovery.flight_is(stream.in_flight(), now);
    }
    // Whether it is closed tells probes from what was sent again, also where nothing else of it is asked.
    let unasked = stream.goes_unasked && s.tcp.window > 0 && !stream.window.is_zero();
    if !s.tcp.flags.syn() && !unasked {
        let (sent, full_sized, away) = (stream.sent, stream.full_sized(), stream.held.away_ns());
        let closed = stream
            .window
            .advertised(s, position, sent, full_sized, away);
        peer.summary.zero_windows += u64::from(closed);
        if let Some((kind, stretch)) = stream.window.take_ready() {
            out.episode(d, kind, stretch);
        }
    }
}

/// An acknowledgement of so many bytes came so long after the last of them; with data, that is a bound only. They were
/// sent under the window that was `offered` before.
fn round_trip(
    s: &Segment,
    stream: &mut Stream,
    offered: u16,
    ns: i64,
    bytes: u64,
    alone: bool,
    flight: u64,
) {
    if alone {
        let full_sized = stream.full_sized();
        let one_segment = bytes <= full_sized;
        let is_whole = stream.recovery.since().is_none();
        let at_once = !one_segment && is_whole && !stream.held.is_late(ns);
        stream.sample(ns, flight, at_once);
        if s.tcp.window == 0 {
            stream.waited(ns);
        }
        let is_unscaled = stream.window.scale.is_none();
        if let Some(queue) = stream.queue.as_mut().filter(|_| at_once)
            && !(is_unscaled && may_be_full(offered, flight, full_sized))
        {
            queue.passed(ns, flight, stream.summary.ack_rtt_min_ns.unwrap_or(ns));
        }
        stream.held.round_trip(ns, one_segment);
    } else if s.payload_length > 0 {
        stream.held.took_at_most(ns);
        stream.at_most_ns = Some(ns);
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
            stream.sample(ns, 0, false);
        }
    }
    stream.sacked = stream.sacked.max(first.1).max(match s.tcp.sack_count {
        1 => 0,
        _ => second.1,
    });
    if first.0 < first.1 && (first.1 <= acknowledged || within_second) {
        stream.received_twice = true;
        stream.summary.received_twice_bytes += first.1 - first.0;
        stream.recovery.duplicate_sack(first.0, first.1);
    }
}
