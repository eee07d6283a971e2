//! One connection: cuts its two directions into packets and makes turns of them. The client's
//! packets up to the server's answer are a request, the server's up to the client's next are its
//! response. Markers of a break and its reset belong to the call that is under way. What was said
//! is read when the turn is over ([`calls`](super::calls)).
//!
//! - 23ai may pipeline: requests that are said to be complete wait in a queue, and each response says
//!   where it ends.
//! - Behind a hole in what the client sends, the server's answer may be to a request nobody saw: it is
//!   left out, and calls begin anew with the client's next packet.
//! - Behind a hole in a response nothing of it is read, but it lasts as long as the server goes on, until the client speaks.
//! - Where the snap length hides headers, bytes still belong to the turn they fall into, so that
//!   times are right; what was said is then unknown.

use super::calls::Calls;
use super::framing::{Lane, Packet};
use super::packet::{self, Form, data, kind};
use super::services;
use super::ttc;
use super::turn::{Bytes, Stage, Turn};
use crate::session::{
    Both, ConnectionInfo, Context, Hole, Kept, More, Run, Session as SessionTrait, Span, Step,
};
use crate::sql::{Exchange, Opaque, unasked};
use model::sqlnet::{PacketKind, SqlNetPacket, SqlNetSession};
use model::{Close, Direction, Hidden, Protocol, Reason, Time, Where, limits, sql::op};
use std::collections::VecDeque;

/// A response is over when it has been silent for this long at the end of the capture.
const SILENCE_NS: i64 = 1_000_000_000;

/// One connection.
pub(super) struct Session {
    pub(super) lanes: Both<Lane>,
    pub(super) calls: Calls,
    pub(super) turns: VecDeque<Turn>,
    /// The last that is over: only the server's next packet shows whether a hole took its end.
    pub(super) held: Option<(u64, Exchange)>,
    /// Turns so far.
    pub(super) opened: u64,
    pub(super) form: Option<Form>,
    /// Whether the client is the other side than the ports made believe, and whether that is sure.
    pub(super) swapped: bool,
    pub(super) roles_known: bool,
    /// Whether the client's next packet begins a request.
    pub(super) aligned: bool,
    /// Whether the client has said anything.
    asked: bool,
    /// What the server said before that: it answers what was asked before the capture.
    before: Option<Span>,
    /// Whether responses say where they end.
    pub(super) ends_are_marked: bool,
    /// Whether the server asked for TLS.
    pub(super) tls_next: bool,
    /// Bytes behind each payload.
    pub(super) trailer: usize,
}

impl Session {
    pub(super) fn new(connection: &ConnectionInfo) -> Session {
        Session {
            lanes: Both::default(),
            calls: Calls::default(),
            turns: VecDeque::new(),
            held: None,
            opened: 0,
            form: None,
            swapped: false,
            roles_known: connection.roles_known,
            aligned: false,
            asked: false,
            before: None,
            ends_are_marked: false,
            tls_next: false,
            trailer: 0,
        }
    }

    pub(super) fn is_client(&self, d: Direction) -> bool {
        (d == Direction::ToServer) != self.swapped
    }

    fn client_lane(&self) -> Direction {
        match self.swapped {
            false => Direction::ToServer,
            true => Direction::ToClient,
        }
    }

    /// Shows `f` the connection as it is, when the ports made believe that it is the other way round.
    pub(super) fn facing<R>(
        &self,
        cx: &mut Context<'_>,
        f: impl FnOnce(&mut Context<'_>) -> R,
    ) -> R {
        if !self.swapped {
            return f(cx);
        }
        let connection = ConnectionInfo {
            client: cx.connection.server,
            server: cx.connection.client,
            ..*cx.connection
        };
        f(&mut Context {
            connection: &connection,
            output: cx.output,
            problems: cx.problems,
            shared: cx.shared,
            order: cx.order,
            now: cx.now,
        })
    }

    /// What was asked before the capture is answered when the client asks on, or its connection is over.
    fn tell_before(&mut self, cx: &mut Context<'_>) {
        if let Some(answer) = self.before.take() {
            let (sql, before) = (self.calls.session(), Reason::BeforeCapture);
            self.facing(cx, |cx| {
                unasked(cx, Protocol::Tns, op::OTHER, answer, sql, before);
            });
        }
    }

    /// Opens a turn with a packet of the client's.
    pub(super) fn open(&mut self, cx: &mut Context<'_>, span: &Span, stage: Stage) {
        self.tell_before(cx);
        if self.turns.len() >= limits::TNS_PIPELINED
            && let Some(oldest) = self.turns.pop_front()
        {
            cx.problems.note("requests-evicted", || {
                let text = "too many TNS requests wait for a response";
                (text.to_owned(), Where::default())
            });
            self.give_up(cx, oldest, Reason::Evicted);
        }
        let before = self.turns.len();
        let sql = self.calls.session();
        let what = match stage {
            Stage::Connect => op::CONNECT,
            Stage::Data => op::TURN,
        };
        let exchange = self.facing(cx, |cx| Exchange::open(cx, what, *span, sql, before));
        let bytes = Bytes::take(&mut cx.shared.buffers);
        self.opened += 1;
        let turn = Turn::new(self.opened, exchange, stage, bytes);
        self.turns.push_back(turn);
        self.aligned = true;
    }

    /// The turn that the server answers, or will.
    pub(super) fn current(&self) -> u64 {
        self.turns.front().map_or(self.opened + 1, |t| t.number)
    }

    /// The turns that were answered are over, as the client goes on.
    fn conclude_answered(&mut self, cx: &mut Context<'_>) {
        while self.turns.front().is_some_and(Turn::is_answered) {
            let Some(turn) = self.turns.pop_front() else {
                return;
            };
            self.conclude(cx, turn);
        }
    }

    fn conclude(&mut self, cx: &mut Context<'_>, mut turn: Turn) {
        if let Some(reason) = turn.broken {
            return self.give_up(cx, turn, reason);
        }
        self.read(cx, &mut turn);
        self.tell_held(cx);
        self.held = Some((turn.number, turn.exchange));
        turn.bytes.give(&mut cx.shared.buffers);
    }

    pub(super) fn tell_held(&mut self, cx: &mut Context<'_>) {
        if let Some((_, exchange)) = self.held.take() {
            self.facing(cx, |cx| exchange.finish(cx, Protocol::Tns));
        }
    }

    fn give_up(&mut self, cx: &mut Context<'_>, mut turn: Turn, reason: Reason) {
        turn.tail_seen = false;
        self.read(cx, &mut turn);
        self.tell_held(cx);
        let exchange = turn.exchange;
        self.facing(cx, |cx| exchange.give_up(cx, Protocol::Tns, reason));
        turn.bytes.give(&mut cx.shared.buffers);
    }

    /// Reads what was said in a turn that is over.
    fn read(&mut self, cx: &mut Context<'_>, turn: &mut Turn) {
        if turn.stage == Stage::Data
            && let Some(agreed) = services::agreed(&turn.bytes.response)
        {
            self.trailer = agreed.trailer_bytes();
            let hidden = match agreed.cipher {
                0 => None,
                services::Agreed::TLS => Some(Hidden::Tls),
                _ => Some(Hidden::NativeEncryption),
            };
            if hidden.is_some() || self.trailer > 0 {
                self.calls.protect(hidden, agreed);
            }
        }
        self.calls.read(cx, turn);
    }

    /// All that is under way ends: with the connection, for the reason `why`, or as it is replaced.
    pub(super) fn conclude_all(&mut self, cx: &mut Context<'_>, why: Option<Close>) {
        while let Some(turn) = self.turns.pop_front() {
            let hole = self.lanes.of(self.client_lane().reverse()).hole;
            let at_end = why.is_some_and(Close::is_of_looking);
            if !turn.is_answered() {
                let reason = hole.or(why.map(Close::reason));
                let reason = reason.unwrap_or(Reason::NoAnswer);
                self.give_up(cx, turn, reason);
                continue;
            }
            let last = turn.exchange.response.map(|r| r.last.time);
            let silent = last.is_some_and(|last| cx.now - last >= SILENCE_NS);
            if at_end && !silent && !self.calls.is_over(&turn) {
                self.give_up(cx, turn, Reason::AfterCapture);
            } else {
                self.conclude(cx, turn);
            }
        }
    }

    /// Packets of a direction are missing, and it is not known which. Where a request may be hidden, what
    /// was heard since may be its answer; where a response may be, its end may belong to the turn
    /// before, and its beginning to this one.
    fn doubt(&mut self, d: Direction, reason: Reason) {
        let is_client = self.is_client(d);
        let is_alone = self.turns.len() == 1;
        for turn in &mut self.turns {
            turn.tear(reason, is_alone && !is_client);
        }
        if is_client {
            self.aligned = false;
        } else if let Some((_, held)) = &mut self.held
            && let Some(response) = &mut held.response
        {
            response.end_missing = true;
        }
    }

    /// A packet, or bytes without a header, of the client's.
    fn ask(&mut self, cx: &mut Context<'_>, span: &Span, packet: Option<(u16, &[u8], bool)>) {
        self.asked = true;
        let (flags, payload, cut) = packet.unwrap_or((0, &[], true));
        if flags & data::EOF != 0 {
            if payload.is_empty() {
                self.conclude_answered(cx);
            }
            return;
        }
        if !self.goes_on(cx, payload) {
            if !self.aligned && !ttc::is_start(payload) && packet.is_some() {
                return;
            }
            self.open(cx, span, Stage::Data);
        } else if let Some(turn) = self.turns.back_mut() {
            if turn.is_answered() {
                // The client answers what the server asked within the call.
                turn.exchange.confirm(span);
                return;
            }
            turn.exchange.ask(span);
        }
        let Some(turn) = self.turns.back_mut() else {
            return;
        };
        turn.ask(payload, cut);
        turn.unreadable |= flags & data::COMPRESSED != 0 || packet.is_none();
        turn.request_ended |= flags & data::END_OF_REQUEST != 0;
        if flags & data::COMPRESSED != 0 {
            self.calls.compressed();
        }
    }

    /// Whether what the client sends now belongs to its last request. If not, those before are over.
    fn goes_on(&mut self, cx: &mut Context<'_>, payload: &[u8]) -> bool {
        let Some(last) = self.turns.back() else {
            return false;
        };
        let readable = !self.calls.is_hidden();
        if last.is_answered() {
            let asked = last.tail_seen && last.bytes.tail.last() == payload.first();
            if readable && asked && payload.first() == Some(&ttc::message::FLUSH_OUT_BINDS) {
                return true;
            }
            if !(self.ends_are_marked && last.request_ended) || self.turns.len() == 1 {
                self.conclude_answered(cx);
            }
            return false;
        }
        if last.stage == Stage::Connect {
            return true;
        }
        let request = &last.bytes.request;
        if readable && ttc::is_one_way(request) {
            if let Some(turn) = self.turns.pop_back() {
                self.facing(cx, |cx| turn.exchange.discard(cx));
                turn.bytes.give(&mut cx.shared.buffers);
            }
            return false;
        }
        if last.request_ended || !readable {
            return !last.request_ended;
        }
        // The number behind the last one: its response is missing from the capture.
        let next = ttc::Request::parse(request)
            .and_then(|r| r.sequence)
            .map(|n| n.wrapping_add(1));
        if next.is_some() && ttc::sequence(payload) == next && ttc::is_start(payload) {
            if let Some(turn) = self.turns.pop_back() {
                self.give_up(cx, turn, Reason::CaptureGap);
            }
            return false;
        }
        true
    }

    /// A packet, or bytes without a header, of the server's.
    fn answer(
        &mut self,
        cx: &mut Context<'_>,
        span: &Span,
        packet: Option<(&Packet, &[u8], &[u8])>,
    ) {
        let trailer = self.trailer;
        if let Some((packet, ..)) = packet
            && packet.turn != self.current()
        {
            // It began before the client's request, and came, or was lost, behind it.
            if let Some((number, held)) = &mut self.held
                && *number == packet.turn
            {
                held.answer(span);
            }
            return;
        }
        self.tell_held(cx);
        let Some(turn) = self.turns.front_mut() else {
            // An answer to what was not seen: the client's next packet begins a request.
            self.aligned = true;
            if !self.asked {
                match &mut self.before {
                    Some(before) => before.extend(span),
                    None => self.before = Some(*span),
                }
            }
            return;
        };
        if turn.broken.is_some() {
            turn.answer_torn(span);
            return;
        }
        turn.answer(span);
        let Some((packet, head, tail)) = packet else {
            turn.tail_seen = false;
            return;
        };
        let flags = packet.data_flags;
        let whole = packet.whole && !packet.cut;
        let less = |bytes: &[u8]| bytes.len().saturating_sub(trailer);
        let head = match whole {
            true => head.get(..less(head)).unwrap_or_default(),
            false => head,
        };
        let tail =
            (!packet.whole && !packet.cut).then(|| tail.get(..less(tail)).unwrap_or_default());
        turn.hear(head, tail, whole, packet.cut);
        if flags & data::COMPRESSED != 0 {
            turn.tail_seen = false;
            turn.bytes.response.clear();
            self.calls.compressed();
        }
        let marked =
            flags & data::END_OF_RESPONSE != 0 || whole && head == [ttc::message::END_OF_RESPONSE];
        if marked {
            self.ends_are_marked = true;
            if let Some(turn) = self.turns.pop_front() {
                self.conclude(cx, turn);
            }
        }
    }

    fn pass(&mut self, cx: &mut Context<'_>, d: Direction, packet: &Packet, span: &Span) {
        if let Some(packets) = &mut cx.output.packets {
            packets.push(SqlNetPacket {
                connection: cx.connection.id,
                by_client: self.is_client(d),
                kind: PacketKind(packet.header.kind),
                bytes: packet.header.length,
                first: span.first,
                last: span.last,
            });
        }
        let lane = self.lanes.of_mut(d);
        let (head, tail) = (
            std::mem::take(&mut lane.head),
            std::mem::take(&mut lane.tail),
        );
        if packet.header.kind != kind::DATA {
            self.control(cx, d, &packet.header, &head, span);
        } else if self.is_client(d) {
            let end = match packet.whole {
                true => head.len().saturating_sub(self.trailer),
                false => head.len(),
            };
            let payload = head.get(..end).unwrap_or_default();
            self.ask(cx, span, Some((packet.data_flags, payload, packet.cut)));
            self.count(true, packet);
        } else {
            self.count(false, packet);
            self.answer(cx, span, Some((packet, &head, &tail)));
        }
        cx.shared.buffers.give(head);
        cx.shared.buffers.give(tail);
    }

    /// Counts a DATA packet of the turn that it belongs to.
    fn count(&mut self, client: bool, packet: &Packet) {
        let turn = match client {
            true => self.turns.back_mut(),
            false => self.turns.front_mut().filter(|t| t.number == packet.turn),
        };
        if let Some(turn) = turn {
            turn.packet(usize::from(!client), packet.header.length);
        }
    }
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        match self.lanes.of(d).packet {
            None => self.start(cx, d, bytes, more),
            Some(_) => self.go_on(d, bytes, more),
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        if let Some(packet) = self.lanes.of_mut(d).packet.take() {
            self.pass(cx, d, &packet, span);
        }
    }

    fn resync(
        &mut self,
        _cx: &mut Context<'_>,
        _d: Direction,
        bytes: &[u8],
        at_start: bool,
        wire: u64,
    ) -> Option<usize> {
        (0..bytes.len()).find(|&at| {
            let rest = bytes.get(at..).unwrap_or_default();
            packet::starts(
                rest,
                self.form,
                wire.saturating_sub(at as u64),
                at_start && at == 0,
            )
        })
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        _close: Option<Close>,
    ) {
        let packet = self.lanes.of_mut(d).packet.take();
        if let (Some(mut packet), Some(mut span)) = (packet, span) {
            packet.cut = true;
            packet.whole = false;
            span.end_missing = true;
            self.pass(cx, d, &packet, &span);
        }
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        // The end of a segment is only known not to be a header when the next comes: by then it may
        // be too late to say whose it was.
        let late = run.mark.time < cx.now;
        let span = Span::of(run);
        if late || self.lanes.of(d).astray {
            self.doubt(d, Reason::CaptureGap);
            if let (false, Some(turn)) = (self.is_client(d), self.turns.front_mut()) {
                turn.answer_torn(&span);
            }
            return;
        }
        match self.is_client(d) {
            true if self.aligned || !self.turns.is_empty() => self.ask(cx, &span, None),
            true => {}
            false => self.answer(cx, &span, None),
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, _at: Time) {
        let reason = hole.reason();
        self.lanes.of_mut(d).hole = Some(reason);
        if hole == Hole::Cut {
            return;
        }
        self.lanes.of_mut(d).astray = true;
        self.doubt(d, reason);
    }

    fn datagram(&mut self, _cx: &mut Context<'_>, _d: Direction, _bytes: &[u8], _span: Span) {
        // Only spoken over TCP: the probe takes no datagrams.
    }

    fn opaque(&self) -> Option<Opaque> {
        let sql = self.calls.session();
        Some(Opaque::hidden(Protocol::Tns, &sql, Hidden::Tls))
    }

    fn agreed(&self) -> Option<SqlNetSession> {
        Some(SqlNetSession::of(&self.calls.session().session))
    }

    fn kept(&self) -> Kept {
        let turns = self
            .turns
            .iter()
            .map(|t| t.bytes.kept_bytes() + t.exchange.sql.kept_bytes());
        let kept = Kept::of(self).and(self.turns.len(), size_of::<Turn>());
        self.calls.kept(kept.and_each(turns))
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.tell_before(cx);
        self.conclude_all(cx, Some(why));
        self.tell_held(cx);
    }
}
