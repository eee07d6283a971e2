//! A request and its response as they pass, and of each what is looked at: the start of the request,
//! the start and the end of the response.

use crate::session::Span;
use crate::shared::Buffers;
use crate::sql::Exchange;
use model::{Reason, limits};

/// What a request belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Finding the server: the packets are no DATA.
    Connect,
    Data,
}

/// Bytes of a turn that are kept while it lasts.
#[derive(Default, Debug)]
pub(super) struct Bytes {
    /// The start of the request's payload.
    pub request: Vec<u8>,
    /// The start of the response's.
    pub response: Vec<u8>,
    /// The end of the response's.
    pub tail: Vec<u8>,
}

impl Bytes {
    pub(super) fn kept_bytes(&self) -> usize {
        self.request.capacity() + self.response.capacity() + self.tail.capacity()
    }

    pub(super) fn take(buffers: &mut Buffers) -> Bytes {
        Bytes {
            request: buffers.take(),
            response: buffers.take(),
            tail: buffers.take(),
        }
    }

    pub(super) fn give(self, buffers: &mut Buffers) {
        for buffer in [self.request, self.response, self.tail] {
            buffers.give(buffer);
        }
    }
}

#[derive(Debug)]
pub(super) struct Turn {
    /// Counts the turns of a connection.
    pub number: u64,
    pub exchange: Exchange,
    pub stage: Stage,
    pub bytes: Bytes,
    /// Whether what was kept of the request is not all of it that was kept for.
    pub request_cut: bool,
    /// Whether the kept end of the response is its end.
    pub tail_seen: bool,
    /// Whether some of it cannot be read: compressed, or begun in a hole.
    pub unreadable: bool,
    /// Why it cannot be told any more where its request or its response ends.
    pub broken: Option<Reason>,
    /// Of a response that the capture lacks something of, what had come of it before; all that its server says until the
    /// client speaks again is more of it, if no request is missing.
    torn: Option<Span>,
    /// Whether the client said that its request is complete.
    pub request_ended: bool,
    /// Packets of the request and of the response, and the largest of any of them, bytes.
    pub packets: [u64; 2],
    pub largest_packet: u64,
    pub redirected: bool,
    /// The error of a refusal.
    pub refused: Option<u32>,
}

impl Turn {
    pub(super) fn new(number: u64, exchange: Exchange, stage: Stage, bytes: Bytes) -> Turn {
        Turn {
            number,
            exchange,
            stage,
            bytes,
            request_cut: false,
            tail_seen: false,
            unreadable: false,
            broken: None,
            torn: None,
            request_ended: false,
            packets: [0; 2],
            largest_packet: 0,
            redirected: false,
            refused: None,
        }
    }

    pub(super) fn is_answered(&self) -> bool {
        self.broken.is_some() || self.exchange.response.is_some()
    }

    /// The capture lacks bytes, and it is not known which; `of_its_response`, if it had begun.
    pub(super) fn tear(&mut self, reason: Reason, of_its_response: bool) {
        self.torn = match (self.torn, of_its_response) {
            (None, true) if self.broken.is_none() => self.exchange.response,
            (Some(before), false) => {
                // What came since may answer what is missing.
                self.exchange.response = Some(before);
                None
            }
            (torn, _) => torn,
        };
        self.broken = Some(reason);
        self.tail_seen = false;
    }

    /// The server goes on behind what the capture lacks.
    pub(super) fn answer_torn(&mut self, span: &Span) {
        let is_its = span.first.time >= self.exchange.request.last.time;
        if self.torn.is_some() && is_its {
            self.exchange.answer(span);
        }
    }

    /// A DATA packet of the client's (0) or the server's (1).
    pub(super) fn packet(&mut self, side: usize, bytes: u64) {
        if let Some(packets) = self.packets.get_mut(side) {
            *packets += 1;
        }
        self.largest_packet = self.largest_packet.max(bytes);
    }

    /// The server answers, or goes on.
    pub(super) fn answer(&mut self, span: &Span) {
        self.exchange.answer(span);
    }

    /// More of the request's payload; `cut`: not all that was wanted.
    pub(super) fn ask(&mut self, payload: &[u8], cut: bool) {
        if !self.request_cut {
            let room = limits::TNS_REQUEST_BYTES.saturating_sub(self.bytes.request.len());
            let kept = payload.get(..room).unwrap_or(payload);
            self.bytes.request.extend_from_slice(kept);
            self.request_cut = cut || kept.len() < payload.len();
        }
    }

    /// More of the response's payload: its first bytes, and its last when those are not all.
    pub(super) fn hear(&mut self, head: &[u8], tail: Option<&[u8]>, whole: bool, cut: bool) {
        const MOST: usize = limits::TNS_RESPONSE_BYTES;
        let room = MOST.saturating_sub(self.bytes.response.len());
        let kept = head.get(..room).unwrap_or(head);
        self.bytes.response.extend_from_slice(kept);
        let kept = &mut self.bytes.tail;
        self.tail_seen = !cut;
        let end = match (whole, tail) {
            (true, _) => head,
            (false, Some(tail)) => {
                // What is between head and tail was not kept.
                kept.clear();
                tail
            }
            (false, None) => {
                kept.clear();
                return;
            }
        };
        let end = end.get(end.len().saturating_sub(MOST)..).unwrap_or(end);
        let excess = (kept.len() + end.len()).saturating_sub(MOST);
        kept.drain(..excess.min(kept.len()));
        kept.extend_from_slice(end);
    }
}
