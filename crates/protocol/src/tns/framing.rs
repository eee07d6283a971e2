//! The bytes of a direction into packets: how much of each is looked at, and what passes.
//!
//! Of a request its start is kept; of a response its start and its end, and what is between passes
//! unseen. A connection that is joined in its middle says here which form its packets have, and who is
//! the client.

use super::packet::{Form, Header, kind};
use super::session::Session;
use super::ttc;
use crate::session::{Context, More, Step};
use crate::shared::Buffers;
use model::{Direction, Reason, Where, limits};

/// Bytes of a packet that is no DATA that are looked at.
const CONTROL_BYTES: usize = 4_096;

/// The urgent byte that a client sends to interrupt a call, in the stream between packets.
const ATTENTION: u8 = b'!';

/// The packet whose end has not passed.
#[derive(Debug)]
pub(super) struct Packet {
    pub(super) header: Header,
    /// Of a DATA packet.
    pub(super) data_flags: u16,
    /// Payload that was not looked at yet.
    pub(super) left: u64,
    /// Bytes at its front that are wanted.
    pub(super) wanted: u64,
    /// Whether some of what was wanted is not in the capture.
    pub(super) cut: bool,
    /// Whether all of the payload is in the head.
    pub(super) whole: bool,
    /// The turn that was under way when it began.
    pub(super) turn: u64,
}

#[derive(Default, Debug)]
pub(super) struct Lane {
    pub(super) packet: Option<Packet>,
    /// What is looked at of the packet: the start of its payload, or of the whole when it is no
    /// DATA; and the end of a response's payload.
    pub(super) head: Vec<u8>,
    pub(super) tail: Vec<u8>,
    pub(super) hole: Option<Reason>,
    /// Whether the position was lost in a gap or in bytes that are no packet, and not found since.
    pub(super) astray: bool,
}

impl Lane {
    /// A packet begins.
    fn lend(&mut self, buffers: &mut Buffers) {
        for buffer in [&mut self.head, &mut self.tail] {
            if buffer.capacity() == 0 {
                *buffer = buffers.take();
            }
            buffer.clear();
        }
    }
}

impl Session {
    /// A packet that only one side sends tells who is who, where no handshake was seen.
    fn learn_roles(&mut self, cx: &mut Context<'_>, d: Direction, header: &Header, payload: &[u8]) {
        if self.roles_known {
            return;
        }
        let by_client = match header.kind {
            kind::CONNECT => true,
            kind::ACCEPT | kind::REFUSE | kind::REDIRECT | kind::RESEND => false,
            kind::DATA if ttc::is_start(payload) => true,
            _ => return,
        };
        self.roles_known = true;
        if by_client != self.is_client(d) {
            // What was taken for calls so far was none.
            let held = self.held.take().map(|(_, exchange)| exchange);
            let turns = std::mem::take(&mut self.turns).into_iter();
            for exchange in held.into_iter().chain(turns.map(|t| t.exchange)) {
                self.facing(cx, |cx| exchange.discard(cx));
            }
            self.swapped = !self.swapped;
            self.aligned = false;
        }
    }

    /// How much of a payload of `payload` bytes is wanted, from its front.
    fn wanted(&self, d: Direction, payload: u64) -> u64 {
        const RESPONSE: u64 = limits::TNS_RESPONSE_BYTES as u64;
        let room = if self.is_client(d) {
            let kept = match self.turns.back() {
                Some(turn) if !turn.is_answered() => turn.bytes.request.len(),
                _ => 0,
            };
            limits::TNS_REQUEST_BYTES.saturating_sub(kept) as u64
        } else if payload <= 2 * RESPONSE {
            payload
        } else {
            RESPONSE
        };
        // A word of a packet in any case: who it is from.
        payload.min(room.max(64))
    }

    pub(super) fn start(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        more: More,
    ) -> Step {
        if self.is_client(d) && bytes.first() == Some(&ATTENTION) {
            let behind = bytes.get(1..).unwrap_or_default();
            if behind.len() < Header::BYTES && more == More::Yes {
                return Step::Need(1 + Header::BYTES);
            }
            if Header::parse(bytes, self.form).is_none() {
                return Step::Pass(1);
            }
        }
        if bytes.len() < Header::BYTES && more == More::Yes {
            return Step::Need(Header::BYTES);
        }
        if self.tls_next && matches!(bytes, [0x16, 3, ..]) {
            self.conclude_all(cx, None);
            self.tell_held(cx);
            return Step::Opaque;
        }
        let Some(header) = Header::parse(bytes, self.form) else {
            self.lanes.of_mut(d).astray = true;
            return Step::Lost;
        };
        match header.kind {
            kind::DATA => self.start_data(cx, d, header, bytes, more),
            _ => self.start_other(cx, d, header, bytes, more),
        }
    }

    fn start_data(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        header: Header,
        bytes: &[u8],
        more: More,
    ) -> Step {
        if bytes.len() < Header::DATA_BYTES && more == More::Yes {
            return Step::Need(Header::DATA_BYTES);
        }
        let payload = header.length - Header::DATA_BYTES as u64;
        let wanted = self.wanted(d, payload);
        let first = (Header::DATA_BYTES as u64 + wanted).min(limits::HEAD_BYTES as u64) as usize;
        if bytes.len() < first && more == More::Yes {
            return Step::Need(first);
        }
        let data_flags = bytes.get(8..10).and_then(|b| b.first_chunk().copied());
        let shown = bytes
            .get(Header::DATA_BYTES..first.min(bytes.len()))
            .unwrap_or_default();
        self.learn_roles(cx, d, &header, shown);
        let client = self.is_client(d);
        self.note_form(header.form, shown);
        let turn = self.current();
        let lane = self.lanes.of_mut(d);
        lane.astray = false;
        lane.lend(&mut cx.shared.buffers);
        lane.head.extend_from_slice(shown);
        let read = shown.len() as u64;
        let cut = bytes.len() < first;
        let left = payload.saturating_sub(read);
        lane.packet = Some(Packet {
            header,
            data_flags: data_flags.map_or(0, u16::from_be_bytes),
            left,
            wanted: wanted.saturating_sub(read),
            cut,
            whole: left == 0,
            turn,
        });
        if left == 0 || cut || self.is_opaque_to(client) {
            return Step::End(header.length);
        }
        Step::Pass((Header::DATA_BYTES as u64 + read + self.skip(d)).max(1))
    }

    /// Whether what is in this direction's payloads is not looked at.
    fn is_opaque_to(&self, client: bool) -> bool {
        !client && self.turns.is_empty()
    }

    /// How many bytes pass before the end of a response's payload that is looked at.
    fn skip(&mut self, d: Direction) -> u64 {
        let client = self.is_client(d);
        let lane = self.lanes.of_mut(d);
        let Some(packet) = &mut lane.packet else {
            return 0;
        };
        if client {
            return 0;
        }
        let skip = packet
            .left
            .saturating_sub(limits::TNS_RESPONSE_BYTES as u64);
        packet.left -= skip;
        skip
    }

    /// Behind the first bytes of a payload: more of a request, or the end of a response.
    pub(super) fn go_on(&mut self, d: Direction, bytes: &[u8], more: More) -> Step {
        let client = self.is_client(d);
        let lane = self.lanes.of_mut(d);
        let Some(packet) = &mut lane.packet else {
            return Step::Lost;
        };
        let wanted = match client {
            true => packet
                .wanted
                .min(packet.left)
                .min(limits::HEAD_BYTES as u64),
            false => packet.left,
        };
        if wanted == 0 {
            return Step::End(packet.left.max(1));
        }
        if (bytes.len() as u64) < wanted && more == More::Yes {
            return Step::Need(wanted as usize);
        }
        let shown = bytes.get(..wanted as usize).unwrap_or(bytes);
        packet.cut |= (shown.len() as u64) < wanted;
        if !client {
            lane.tail.extend_from_slice(shown);
            return Step::End(packet.left);
        }
        lane.head.extend_from_slice(shown);
        if packet.cut || wanted == packet.left {
            packet.whole = !packet.cut;
            return Step::End(packet.left);
        }
        packet.wanted -= wanted;
        packet.left -= wanted;
        Step::Pass(wanted)
    }

    fn start_other(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        header: Header,
        bytes: &[u8],
        more: More,
    ) -> Step {
        let first = header.length.min(CONTROL_BYTES as u64) as usize;
        if bytes.len() < first && more == More::Yes {
            return Step::Need(first);
        }
        let shown = bytes.get(..first).unwrap_or(bytes);
        self.learn_roles(cx, d, &header, &[]);
        let mut length = header.length;
        if header.kind == kind::DATA_DESCRIPTOR {
            // Behind the descriptor come so many bytes without headers.
            let raw = shown.get(12..).and_then(|b| b.first_chunk().copied());
            let raw = raw.map_or(0, u32::from_be_bytes);
            if raw > limits::MESSAGE_BYTES {
                cx.problems.note("absurd-length", || {
                    let text = format!("a TNS data descriptor of {raw} bytes");
                    (text, Where::default())
                });
                return Step::Lost;
            }
            length += u64::from(raw);
        }
        let turn = self.current();
        let lane = self.lanes.of_mut(d);
        lane.astray = false;
        lane.lend(&mut cx.shared.buffers);
        lane.head.extend_from_slice(shown);
        lane.packet = Some(Packet {
            header,
            data_flags: 0,
            left: 0,
            wanted: 0,
            cut: shown.len() < first,
            whole: true,
            turn,
        });
        Step::End(length)
    }

    /// Where no ACCEPT was seen, packets say which form they have: the long one only ever follows one,
    /// and so do requests.
    fn note_form(&mut self, form: Form, payload: &[u8]) {
        if self.form.is_none() && (form == Form::Long || ttc::is_start(payload)) {
            self.form = Some(form);
        }
    }
}
