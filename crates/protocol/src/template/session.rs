//! One connection: cuts its two directions into messages and pairs responses with requests by id.
//!
//! After a hole that hides where the next message starts, a header is believed when its id is one
//! that can come next: the one after the last request, or one that is waited for. Requests that were
//! never seen would hide all behind them, so any request is believed at the start of a segment.

use super::message::{GREETING, Header, Kind};
use crate::session::{Both, Context, Hole, Kept, More, Session as SessionTrait, Span, Step};
use model::{
    Call, Change, Close, Detail, Direction, Name, Outcome, Outstanding, Protocol, Reason, Time,
    Where, limits,
};
use std::collections::BTreeMap;

/// A request that waits for its response.
#[derive(Debug)]
struct Waiting {
    span: Span,
    outstanding: u32,
}

#[derive(Default, Debug)]
struct Lane {
    /// The message whose end has not passed.
    message: Option<Header>,
    /// What may have hidden messages.
    hole: Option<Reason>,
}

/// One connection.
#[derive(Default, Debug)]
pub(super) struct Session {
    lanes: Both<Lane>,
    /// By id, so that what is left at the end comes out in the order of sending.
    waiting: BTreeMap<u32, Waiting>,
    last_request: Option<u32>,
}

impl Session {
    fn follows(&self, id: u32) -> bool {
        self.last_request
            .is_some_and(|last| id == last.wrapping_add(1))
    }

    /// A message has passed, as far as it was captured.
    fn message(&mut self, cx: &mut Context<'_>, header: Header, span: Span) {
        match header.kind {
            Kind::Request => self.request(cx, header.id, span),
            Kind::Response => self.response(cx, header.id, span),
        }
    }

    fn request(&mut self, cx: &mut Context<'_>, id: u32, span: Span) {
        self.last_request = Some(id);
        if self.waiting.len() >= limits::OUTSTANDING
            && let Some((oldest, waiting)) = self.waiting.pop_first()
        {
            cx.problems.note("requests-evicted", || {
                let text = format!("request {oldest} was forgotten, too many wait for a response");
                (text, Where::default())
            });
            let outcome = Outcome::NoResponse(Reason::Evicted);
            report(cx, oldest, Some(waiting), None, outcome);
        }
        if let Some(former) = self.waiting.remove(&id) {
            report(
                cx,
                id,
                Some(former),
                None,
                Outcome::NoResponse(Reason::NoAnswer),
            );
        }
        let outstanding = self.waiting.len() as u32 + 1;
        count(cx, id, span.first.time, Change::Sent);
        self.waiting.insert(id, Waiting { span, outstanding });
    }

    fn response(&mut self, cx: &mut Context<'_>, id: u32, span: Span) {
        let request = self.waiting.remove(&id);
        let lost = |span: &Span| span.end_missing;
        let outcome = match &request {
            None => {
                let hole = self.lanes.to_server.hole;
                Outcome::NoRequest(hole.unwrap_or(Reason::BeforeCapture))
            }
            Some(r) if lost(&r.span) || lost(&span) => Outcome::Incomplete(Reason::CaptureGap),
            Some(_) => Outcome::Ok,
        };
        report(cx, id, request, Some(span), outcome);
    }
}

/// The number of outstanding calls changes.
fn count(cx: &mut Context<'_>, id: u32, time: Time, change: Change) {
    cx.output.change(|| Outstanding {
        order: cx.order,
        time,
        connection: cx.connection.id,
        client: cx.connection.client,
        server: cx.connection.server,
        id,
        change,
    });
}

/// A call is over.
fn report(
    cx: &mut Context<'_>,
    id: u32,
    request: Option<Waiting>,
    response: Option<Span>,
    outcome: Outcome,
) {
    let change = match request {
        Some(_) => Change::Settled,
        None => Change::Stray,
    };
    count(cx, id, response.map_or(cx.now, |s| s.last.time), change);
    let outstanding = request.as_ref().map_or(0, |r| r.outstanding);
    let request = request.map(|r| r.span);
    cx.output.calls.push(Call {
        order: cx.order,
        connection: cx.connection.id,
        protocol: Protocol::Tcp,
        op: Name::of("CALL"),
        client: cx.connection.client,
        server: cx.connection.server,
        id,
        request_sequence: request.map_or(0, |s| s.sequence),
        response_sequence: response.map_or(0, |s| s.sequence),
        request_first: request.map(|s| s.first),
        request_last: request.filter(|s| !s.end_missing).map(|s| s.last),
        response_first: response.map(|s| s.first),
        response_last: response.filter(|s| !s.end_missing).map(|s| s.last),
        request_bytes: request.map_or(0, |s| s.bytes),
        response_bytes: response.map_or(0, |s| s.bytes),
        outcome,
        outstanding,
        retransmits: 0,
        request_held_ns: 0,
        response_held_ns: 0,
        inner: None,
        hidden: None,
        detail: Detail::default(),
        text: None,
        sql: None,
    });
}

impl SessionTrait for Session {
    fn step(&mut self, _cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        if d == Direction::ToServer && self.last_request.is_none() && bytes.starts_with(&GREETING) {
            return Step::End(GREETING.len() as u64);
        }
        if bytes.len() < Header::BYTES && more == More::Yes {
            return Step::Need(Header::BYTES);
        }
        match Header::parse(bytes) {
            Some(header) => {
                self.lanes.of_mut(d).message = Some(header);
                Step::End(header.bytes)
            }
            None => Step::Lost,
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        // The greeting is a frame without a message.
        if let Some(header) = self.lanes.of_mut(d).message.take() {
            self.message(cx, header, *span);
        }
    }

    fn resync(
        &mut self,
        _cx: &mut Context<'_>,
        d: Direction,
        bytes: &[u8],
        at_start: bool,
        _wire: u64,
    ) -> Option<usize> {
        if at_start && d == Direction::ToServer && bytes.starts_with(&GREETING) {
            return Some(0);
        }
        bytes
            .windows(Header::BYTES)
            .enumerate()
            .find_map(|(at, window)| {
                let header = Header::parse(window)?;
                let believable = match header.kind {
                    Kind::Request => self.follows(header.id) || at_start && at == 0,
                    Kind::Response => self.waiting.contains_key(&header.id),
                };
                believable.then_some(at)
            })
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        _close: Option<Close>,
    ) {
        if let (Some(header), Some(mut span)) = (self.lanes.of_mut(d).message.take(), span) {
            span.end_missing = true;
            self.message(cx, header, span);
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, _at: Time) {
        self.lanes.of_mut(d).hole = Some(hole.reason());
    }

    fn datagram(&mut self, _cx: &mut Context<'_>, _d: Direction, _bytes: &[u8], _span: Span) {
        // Only spoken over TCP: the probe takes no datagrams.
    }

    fn kept(&self) -> Kept {
        Kept::of(self).and(self.waiting.len(), size_of::<(u32, Waiting)>())
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        let reason = self.lanes.to_client.hole.unwrap_or(why.reason());
        for (id, waiting) in std::mem::take(&mut self.waiting) {
            report(cx, id, Some(waiting), None, Outcome::NoResponse(reason));
        }
    }
}
