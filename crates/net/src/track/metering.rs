//! What a segment was, for the account of its connection: told from what it changed, so that the
//! account follows the tracker's judgement of every segment and never makes its own.

use super::sequence::data_position;
use super::stream::{Start, Stream};
use crate::Segment;
use crate::account::{Acknowledgement, Kind, Meter, Transmission};
use model::{Direction, Handshake};

/// What a segment may change, before it did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Before {
    sent: u64,
    retransmitted: u64,
    /// Whether the bytes it brings, as far as they are old, are not in the capture yet.
    lacks: bool,
    acknowledged: Option<u64>,
    /// Of the direction that it acknowledges.
    peer_acknowledged: Option<u64>,
    peer_samples: u64,
    peer_received_twice: u64,
}

impl Before {
    pub(super) fn of(s: &Segment, stream: &Stream, peer: &Stream) -> Before {
        let lacks = || {
            let start = data_position(stream.sent, s.tcp.sequence);
            let end = start + u64::from(s.payload_length);
            start < stream.sent && stream.reassembly.lacks(start, end.min(stream.sent))
        };
        Before {
            sent: stream.sent,
            retransmitted: stream.summary.retransmitted_packets,
            lacks: s.payload_length > 0 && stream.start != Start::Unknown && lacks(),
            acknowledged: stream.acknowledged,
            peer_acknowledged: peer.acknowledged,
            peer_samples: peer.summary.ack_rtt_count,
            peer_received_twice: peer.received_twice,
        }
    }
}

/// Tells the meter of segment `s` of direction `d`.
pub(super) fn tell(
    meter: &mut Meter,
    before: &Before,
    s: &Segment,
    d: Direction,
    stream: &Stream,
    peer: &Stream,
    handshake: &Handshake,
) {
    if meter.is_opening() && !s.tcp.flags.syn() {
        meter.opened(s.mark);
        if (handshake.syn_retries, handshake.syn_ack_retries) == (0, 0)
            && let (Some(syn), Some(syn_ack)) = (handshake.syn, handshake.syn_ack)
        {
            meter.sender_is_away(Direction::ToClient, syn_ack - syn);
            if let Some(ack) = handshake.ack {
                meter.sender_is_away(Direction::ToServer, ack - syn_ack);
            }
        }
    }
    let full_sized = full_size(s, stream);
    if let Some(id) = s.ip_id
        && !s.tcp.flags.syn()
    {
        meter.identified(d, id, s.payload_length.into(), full_sized);
    }
    if s.tcp.flags.ack()
        && let Some(position) = peer.acknowledged
    {
        heard(meter, before, s, d.reverse(), peer, position);
    }
    let end = || data_position(stream.sent, s.tcp.sequence) + u64::from(s.payload_length);
    let kind = if stream.summary.retransmitted_packets > before.retransmitted {
        Kind::Again {
            held: !before.lacks,
            needless: !before.lacks && before.acknowledged.is_some_and(|a| a >= end()),
        }
    } else if stream.sent > before.sent && !s.tcp.flags.syn() && stream.start == Start::Certain {
        Kind::New
    } else {
        // What stands one byte back, or is one byte, asks for the window (RFC 9293 section 3.8.6.1).
        let asks = s.payload_length == 1 || end() + 1 == stream.sent;
        if stream.window.is_zero() && asks && !s.tcp.flags.syn() {
            meter.probed(d);
        }
        return;
    };
    meter.sent(
        d,
        Transmission {
            mark: s.mark,
            data_end: stream.sent.min(end()),
            end: stream.sent.min(end() + u64::from(s.tcp.flags.fin())),
            payload: s.payload_length,
            ends_short: ends_short(u64::from(s.payload_length), full_sized, stream),
            pushed: s.tcp.flags.psh(),
            kind,
            full_sized,
        },
    );
}

/// The most data that a segment of `stream` carries on the wire: options take from the maximum segment
/// size (RFC 6691 section 2).
fn full_size(s: &Segment, stream: &Stream) -> u64 {
    const TIMESTAMPS: u64 = 12;
    let options = s.tcp.timestamps.map_or(0, |_| TIMESTAMPS);
    stream.full_sized().saturating_sub(options).max(1)
}

/// Whether a segment of so many bytes, or the last of those that offloading joined in it, is smaller
/// than it could be. What was joined can only be told apart where the handshake was seen.
fn ends_short(bytes: u64, full_sized: u64, stream: &Stream) -> bool {
    bytes < full_sized || (stream.mss.is_some() && !bytes.is_multiple_of(full_sized))
}

/// Segment `s` acknowledges direction `d`, which is `stream`.
fn heard(
    meter: &mut Meter,
    before: &Before,
    s: &Segment,
    d: Direction,
    stream: &Stream,
    position: u64,
) {
    let full_sized = full_size(s, stream);
    if stream.summary.ack_rtt_count > before.peer_samples {
        let bytes = before.peer_acknowledged.map_or(0, |a| position - a);
        meter.round_trip(d, stream.latest_round_trip_ns, bytes <= full_sized);
    }
    if stream.received_twice > before.peer_received_twice {
        meter.received_twice(d);
    }
    let raw = u64::from(s.tcp.window);
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
            alone: s.payload_length == 0,
            full_sized,
        },
    );
    // The sender of what is acknowledged here stands where these acknowledgements come from.
    if let Some(ns) = stream.summary.ack_rtt_min_ns {
        meter.sender_is_away(d.reverse(), ns);
    }
}
