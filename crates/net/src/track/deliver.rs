//! A direction's bytes to the handler: straight from the batch where they come in order, from the
//! reassembly where they had to wait, and as a gap where they will not come.
//!
//! While the capture lacks bytes of one direction that their receiver acknowledged, it is not clear yet
//! whether they come later, for it has packets in disorder, or never. What the other direction sends in these
//! milliseconds waits with them: who pairs messages by their order needs both directions in theirs.

use super::output::Output;
use super::reassembly::{Hole, Origin};
use super::stream::{GivenUp, Stream};
use crate::{Handler, Segment};
use model::{Chunk, Direction, Mark, Time};

/// Hands on the bytes of `start..end` that are wanted and can be, and holds the others.
#[expect(
    clippy::too_many_arguments,
    reason = "the hot path: a struct of these would be built per segment for one use"
)]
pub(super) fn deliver<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    bytes: &[u8],
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
    start: u64,
    end: u64,
    origin: Origin,
) {
    let captured = s.payload_captured.min((end - start) as u32) as usize;
    let from = s.payload_start as usize;
    let payload = bytes.get(from..from + captured).unwrap_or_default();
    let next = stream.reassembly.next;
    let waiting = stream.reassembly.is_waiting();
    let reaches =
        start <= next && (!waiting || stream.reassembly.hole().is_some_and(|hole| end <= hole.end));
    if reaches && (waiting || !must_wait(stream, peer, &origin)) {
        if end <= next {
            return;
        }
        let skip = (next - start) as usize;
        let payload = payload.get(skip..).unwrap_or_default();
        let chunk = Chunk {
            data: payload,
            cut: (end - next) as u32 - payload.len() as u32,
            mark: s.mark,
            sequence: next as u32,
            order: s.order,
            now: s.mark.time,
            held_since: origin.held_since,
            heard_all: origin.heard_all,
            peer_ended: origin.peer_ended,
        };
        stream.reassembly.next = end;
        stream.delivered_in_order(s.mark.time, origin.packet);
        out.data(d, &chunk);
        if waiting || peer.reassembly.is_waiting() {
            drain(out, d, [stream, peer], s.mark.time, s.order);
        }
    } else if end > next {
        stream.reassembly.hold(start, end, payload, origin);
        drain(out, d, [stream, peer], s.mark.time, s.order);
    }
}

/// Whether a segment acknowledges bytes of its peer that have not come.
fn must_wait(stream: &Stream, peer: &Stream, segment: &Origin) -> bool {
    peer.reassembly.next < segment.heard_to
        && peer.lacks_acknowledged()
        && !stream.reassembly.is_over_full()
}

/// Delivers held bytes that have become the next, of direction `d` and of its peer, in the order in which
/// they were captured.
pub(super) fn drain<H: Handler>(
    out: &mut Output<'_, H>,
    d: Direction,
    [stream, peer]: [&mut Stream; 2],
    now: Time,
    order: u64,
) {
    loop {
        let next = |of: &Stream, other: &Stream| {
            let front = of.reassembly.front()?;
            (!must_wait(of, other, front)).then_some(front.packet)
        };
        let (d, stream) = match (next(stream, peer), next(peer, stream)) {
            (Some(own), Some(other)) if own > other => (d.reverse(), &mut *peer),
            (Some(_), _) => (d, &mut *stream),
            (None, Some(_)) => (d.reverse(), &mut *peer),
            (None, None) => return,
        };
        let Some((start, piece)) = stream.reassembly.take_front() else {
            return;
        };
        let chunk = Chunk {
            data: &piece.data,
            cut: (piece.end - start) as u32 - piece.data.len() as u32,
            mark: piece.origin.mark,
            sequence: start as u32,
            order,
            now,
            held_since: piece.origin.held_since,
            heard_all: piece.origin.heard_all,
            peer_ended: piece.origin.peer_ended,
        };
        out.data(d, &chunk);
        stream.sent = stream.sent.max(stream.reassembly.next);
    }
}

/// Gives up holes that will not be filled. Mostly there are none: that much is done in place, which
/// spares every packet two calls.
#[inline(always)]
pub(super) fn settle<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
    packet: u64,
) {
    stream.settle(s.mark.time, packet);
    if stream.reassembly.is_waiting() || peer.reassembly.is_waiting() {
        settle_holes(out, s, d, stream, peer, packet);
    }
}

fn settle_holes<H: Handler>(
    out: &mut Output<'_, H>,
    s: &Segment,
    d: Direction,
    stream: &mut Stream,
    peer: &mut Stream,
    packet: u64,
) {
    let now = s.mark.time;
    let peer_seen = peer.summary.packets > 0;
    while let Some(missing) = stream.gives_up(now, packet, peer_seen) {
        let Some(hole) = stream.reassembly.hole() else {
            break;
        };
        if stream.reassembly.is_over_full() {
            out.damage(
                s,
                "reorder-buffer-full",
                "too much came before a missing segment",
            );
        }
        let lack = Lack {
            end: hole.end,
            missing,
            at: stream.shown_by(&hole),
            now,
            order: s.order,
            shown: hole.exposed.packet,
        };
        give_up(out, d, [stream, peer], lack);
        drain(out, d, [stream, peer], now, s.order);
    }
    if peer.reassembly.front().is_some()
        && let Some(end) = stream.settled_without_hole()
    {
        let lack = Lack {
            end,
            missing: true,
            at: s.mark,
            now,
            order: s.order,
            shown: packet,
        };
        give_up(out, d, [stream, peer], lack);
        drain(out, d, [stream, peer], now, s.order);
    }
}

/// Up to where bytes of a direction do not come any more that it was seen to lack before this packet: its receiver has
/// them.
fn lacked_before(stream: &Stream, packet: u64) -> Option<Hole> {
    let hole = stream.reassembly.hole()?;
    let acknowledged = stream.acknowledged.is_some_and(|a| a >= hole.end);
    (acknowledged && hole.exposed.packet < packet).then_some(hole)
}

/// What a direction lacks, from where it is to `end`, and whether its receiver has it.
#[derive(Clone, Copy)]
pub(super) struct Lack {
    pub end: u64,
    pub missing: bool,
    /// The packet that showed it; where only an acknowledgement did, that at which it is told.
    pub at: Mark,
    /// When it is told, and the order of that packet.
    pub now: Time,
    pub order: u64,
    /// The number of the packet that showed it.
    pub shown: u64,
}

impl Lack {
    fn note(&self, stream: &mut Stream) {
        let (start, end) = (stream.reassembly.next, self.end);
        if self.missing {
            stream.summary.missing_from_capture_gaps += 1;
            let largest = u64::from(stream.largest).max(stream.full_sized()).max(1);
            let full_sized = stream.full_sized().max(1);
            stream.summary.missing_from_capture_packets += (end - start).div_ceil(largest);
            stream.summary.missing_from_capture_segments += (end - start).div_ceil(full_sized);
            stream.summary.missing_from_capture_bytes += end - start;
        }
        stream.given_up = Some(GivenUp {
            start,
            end,
            at: self.now,
            counted: self.missing,
        });
    }

    /// Tells the bytes up to `to`.
    fn tell<H: Handler>(
        &self,
        out: &mut Output<'_, H>,
        d: Direction,
        stream: &mut Stream,
        to: u64,
    ) {
        let from = std::mem::replace(&mut stream.reassembly.next, to);
        out.gap(d, to - from, self.at, self.order);
    }
}

/// Tells what is lacking. What its receiver sent in the midst of it, with the first part acknowledged, stands between
/// that and the rest: there, a client asked again because it had the answer.
pub(super) fn give_up<H: Handler>(
    out: &mut Output<'_, H>,
    d: Direction,
    [stream, peer]: [&mut Stream; 2],
    lack: Lack,
) {
    lack.note(stream);
    loop {
        if let Some(hole) = lacked_before(peer, lack.shown) {
            let end = hole.end;
            let first = Lack {
                end,
                missing: true,
                at: peer.shown_by(&hole),
                ..lack
            };
            first.note(peer);
            first.tell(out, d.reverse(), peer, end);
        }
        drain(out, d, [&mut *stream, &mut *peer], lack.now, lack.order);
        if lacked_before(peer, lack.shown).is_some() {
            continue;
        }
        let heard = peer.reassembly.front().map(|front| front.heard_to);
        let within = stream.reassembly.next + 1..lack.end;
        let to = heard.filter(|to| within.contains(to)).unwrap_or(lack.end);
        lack.tell(out, d, stream, to);
        if to == lack.end {
            return;
        }
    }
}
