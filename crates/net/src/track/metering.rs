//! What a segment was, for the account of its connection: told from what it changed, so that the
//! account follows the tracker's judgement of every segment and never makes its own.

use super::MILLISECOND;
use super::sequence::data_position;
use super::size::ETHERNET;
use super::stream::{FAST_RETRANSMIT_ACKS, Start, Stream};
use super::tcp::TIMEOUT_NS;
use crate::Segment;
use crate::account::{Acknowledgement, Kind, Meter, Transmission, Trigger};
use model::{Direction, Handshake, SegmentKind, Time, Vanished};
use serde::{Deserialize, Serialize};

/// A tail probe comes two round trips after the last segment, and those of a capture near the receiver
/// are short: what comes sooner than this is none.
const PROBE_NS: i64 = MILLISECOND;

/// What a segment may change, before it did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    sent: u64,
    start: Start,
    /// Of the direction that it acknowledges.
    peer_acknowledged: Option<u64>,
    /// When its sender was heard last.
    heard_at: Time,
    out_of_order: u64,
}

impl Before {
    pub(super) fn of(stream: &Stream, peer: &Stream) -> Before {
        Before {
            sent: stream.sent,
            start: stream.start,
            peer_acknowledged: peer.acknowledged,
            heard_at: stream.last_data_at.max(peer.acknowledged_at),
            out_of_order: stream.summary.out_of_order_packets,
        }
    }
}

/// A segment that was sent again: whether the capture holds its bytes already, and why it was.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Again {
    held: bool,
    trigger: Trigger,
}

impl Again {
    /// Of a segment that `stream` knows nothing of yet.
    pub(super) fn of(s: &Segment, stream: &Stream, held: bool) -> Again {
        Again {
            held,
            trigger: trigger(s, stream),
        }
    }
}

/// Why its sender sent a segment again (RFC 6298, RFC 5681, RFC 6675, RFC 8985; methods 2.1). A tail
/// probe that comes as late as the timer would cannot be told from it.
fn trigger(s: &Segment, stream: &Stream) -> Trigger {
    let start = data_position(stream.sent, s.tcp.sequence);
    let end = start + u64::from(s.payload_length);
    let now = s.mark.time;
    let progress = stream.last_data_at.max(stream.acknowledged_at);
    let silent = now - progress;
    let is_front = stream.acknowledged.is_none_or(|a| start <= a);
    if silent >= TIMEOUT_NS {
        Trigger::Timeout
    } else if stream.duplicate_acks >= FAST_RETRANSMIT_ACKS || stream.sacked > end {
        Trigger::Fast
    } else if end == stream.sent
        && stream.recovery.since().is_none()
        && now - stream.last_data_at > stream.round_trip_ns
        && silent >= PROBE_NS
    {
        Trigger::TailProbe
    } else if is_front && stream.duplicate_acks > 0 {
        // Fewer are enough where few segments are in flight (RFC 5827), or acknowledgements are joined.
        Trigger::Fast
    } else {
        Trigger::Other
    }
}

/// Tells the meter of segment `s` of direction `d`.
pub(super) fn tell(
    meter: &mut Meter,
    before: &Before,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
    handshake: &Handshake,
) {
    // Where the capture lost the client's first, the server's goes before what ends the handshake.
    let opens = meter.is_opening() || handshake.ack == Some(s.mark.time);
    if opens && !s.tcp.flags.syn() {
        opened(meter, s, handshake);
    }
    let full_sized = full_size(s, stream);
    if let Some(id) = s.ip_id
        && !s.tcp.flags.syn()
    {
        meter.identified(d, id, s.payload_length.into(), full_sized, s.mark.time);
    }
    if s.tcp.flags.ack()
        && let Some(position) = peer.acknowledged
    {
        heard(meter, before, s, d.reverse(), peer, position);
    }
    let end = data_position(stream.sent, s.tcp.sequence) + u64::from(s.payload_length);
    let kind = if let Some(again) = stream.again.take() {
        // Where the direction begins with it, its bytes were acknowledged, and not seen before.
        let held = again.held && before.start != Start::Acknowledged;
        Some(Kind::Again {
            needless: held && stream.acknowledged.is_some_and(|a| a >= end),
            trigger: again.trigger,
        })
    } else {
        let is_new =
            stream.sent > before.sent && !s.tcp.flags.syn() && stream.start == Start::Certain;
        is_new.then_some(Kind::New)
    };
    if meter.has_plot() {
        show(meter, before, s, d, stream, kind);
    }
    if s.payload_length > 0 {
        meter.came_by(d);
    } else if end > before.sent
        && before.start == Start::Certain
        && stream.acknowledged.is_none_or(|a| a < end)
        && !s.tcp.flags.syn()
    {
        let vanished = Vanished {
            bytes: end - before.sent,
            since: before.heard_at,
            told: s.mark,
        };
        meter.vanished(d, vanished, end);
    }
    let Some(kind) = kind else {
        // What stands one byte back, or is one byte, asks for the window (RFC 9293 section 3.8.6.1).
        let asks = s.payload_length == 1 || end + 1 == stream.sent;
        if stream.window.is_zero() && asks && !s.tcp.flags.syn() {
            meter.probed(d);
        }
        return;
    };
    meter.sent(
        d,
        Transmission {
            mark: s.mark,
            data_end: stream.sent.min(end),
            end: stream.sent.min(end + u64::from(s.tcp.flags.fin())),
            payload: s.payload_length,
            ends_short: ends_short(u64::from(s.payload_length), full_sized, stream),
            pushed: s.tcp.flags.psh(),
            kind,
            full_sized,
            echo: s.tcp.timestamps.map(|(_, echo)| echo),
        },
    );
}

/// Shows a segment in the picture: those with data, and those that ask whether somebody is there.
#[cold]
fn show(
    meter: &mut Meter,
    before: &Before,
    s: &Segment,
    d: Direction,
    stream: &Stream,
    kind: Option<Kind>,
) {
    let syn = s.tcp.flags.syn();
    let from = data_position(stream.sent, s.tcp.sequence.wrapping_add(u32::from(syn)));
    let to = from + u64::from(s.payload_length);
    let probed = stream.probe.is_some_and(|probe| probe == (from, to));
    let kept_alive = !syn && to + u64::from(s.payload_length == 0) == stream.sent;
    let kind = match kind {
        Some(Kind::Again { needless: true, .. }) => SegmentKind::SpuriousRetransmission,
        Some(Kind::Again { .. }) => SegmentKind::Retransmission,
        None if stream.summary.out_of_order_packets > before.out_of_order => {
            SegmentKind::OutOfOrder
        }
        _ if probed => SegmentKind::Probe,
        None if s.payload_length <= 1
            && kept_alive
            && stream.sent == before.sent
            && stream.fin.is_none() =>
        {
            SegmentKind::Probe
        }
        _ if s.payload_length > 0 => SegmentKind::New,
        _ => return,
    };
    meter.shown(d, s.mark, from, to, kind);
}

#[cold]
fn opened(meter: &mut Meter, s: &Segment, handshake: &Handshake) {
    meter.opened(s.mark);
    if (handshake.syn_retries, handshake.syn_ack_retries) == (0, 0)
        && let (Some(syn), Some(syn_ack)) = (handshake.syn, handshake.syn_ack)
    {
        meter.sender_is_away(Direction::ToClient, syn_ack - syn);
        meter.took_at_most(Direction::ToServer, syn_ack - syn);
        if let Some(ack) = handshake.ack {
            meter.sender_is_away(Direction::ToServer, ack - syn_ack);
            meter.took_at_most(Direction::ToClient, ack - syn_ack);
        }
    }
}

/// The most data that segment `s` of `stream` carries on the wire.
pub(super) fn full_size(s: &Segment, stream: &Stream) -> u64 {
    let others = u64::from(s.tcp.others_take());
    usual_size(s, stream).saturating_sub(others).max(1)
}

/// The most data that segments of `stream` carry as a rule, of which `s` acknowledges some. Where no handshake told it, the
/// largest that was seen has its time stamps beside it.
fn usual_size(s: &Segment, stream: &Stream) -> u64 {
    let stamps = s.tcp.stamps_take().into();
    let usual = match stream.mss {
        Some(mss) => u64::from(mss).saturating_sub(stamps),
        None => u64::from(stream.largest).min(u64::from(ETHERNET).saturating_sub(stamps)),
    };
    usual.max(1)
}

/// Whether a segment of so many bytes, or the last of those that offloading joined in it, is smaller
/// than it could be. What was joined can only be told apart where the handshake was seen.
fn ends_short(bytes: u64, full_sized: u64, stream: &Stream) -> Option<bool> {
    match bytes {
        _ if bytes <= full_sized => Some(bytes < full_sized),
        _ => stream.mss.map(|_| !bytes.is_multiple_of(full_sized)),
    }
}

/// Segment `s` acknowledges direction `d`, which is `stream`.
fn heard(
    meter: &mut Meter,
    before: &Before,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    position: u64,
) {
    let full_sized = usual_size(s, stream);
    if let Some((ns, flight)) = stream.latest_round_trip.take() {
        let bytes = before.peer_acknowledged.map_or(0, |a| position - a);
        // Nobody delays an acknowledgement of what came behind a hole.
        let one_segment = (1..=full_sized).contains(&bytes);
        meter.round_trip(d, s.mark, ns, one_segment, flight);
        // The sender of what is acknowledged here stands where these acknowledgements come from.
        meter.sender_is_away(d.reverse(), ns);
    }
    if let Some(ns) = stream.at_most_ns.take() {
        meter.took_at_most(d, ns);
    }
    if std::mem::take(&mut stream.received_twice) {
        meter.received_twice(d);
    }
    if position > stream.sent && before.peer_acknowledged.is_some_and(|a| position > a) {
        meter.missed_peer(d.reverse(), s.mark);
    }
    let raw = u32::from(s.tcp.window);
    let window = match stream.window.scale {
        // RFC 7323 section 2.2: never scaled in a SYN.
        _ if raw == 0 || s.tcp.flags.syn() => Some(raw),
        scale => scale.map(|scale| raw << scale),
    };
    meter.acknowledged(
        d,
        Acknowledgement {
            mark: s.mark,
            position,
            window,
            unscaled: s.tcp.window,
            least: stream.window.at_least(s.tcp.window),
            alone: s.payload_length == 0,
            full_sized,
            stamp: s.tcp.timestamps.map(|(stamp, _)| stamp),
        },
    );
}
