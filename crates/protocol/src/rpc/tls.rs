//! RPC-with-TLS (RFC 9289): after a NULL call with the AUTH_TLS credential and its reply, the stream
//! is TLS records (RFC 8446 section 5.1). What they carry cannot be read; when they came can. Where
//! requests and responses strictly alternate, each turn is reported as a call `TLS` of protocol
//! `rpc`, timed like any other, and labelled `security: tls`.
//!
//! ```text
//! 1 byte content type (20 to 24), 2 bytes version (3, 1 to 4), 2 bytes length, fragment
//! ```
//!
//! A message fills its records but for the last. So a record behind one that is not full, in the same
//! turn, is another message: requests are pipelined, and no turn can be told from the next any more.

use super::header::Security;
use crate::session::{Both, Context, Hole, More, Span, Step};
use model::{Call, Change, Detail, Direction, Field, Name, Outcome, Outstanding, Protocol, Where};

const HEADER: usize = 5;
/// Plaintext of a full record; ciphertext is a few bytes more.
const FULL: u16 = 1 << 14;
const LONGEST: u16 = FULL + 2048;
const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// A record's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    kind: u8,
    length: u16,
}

impl Record {
    /// Reads a header; `None` when it is not one.
    pub(super) fn parse(bytes: &[u8]) -> Option<Record> {
        let &[kind, major, minor, high, low] = bytes.first_chunk::<HEADER>()?;
        let length = u16::from_be_bytes([high, low]);
        let is_record = (20..=24).contains(&kind) && major == 3 && (1..=4).contains(&minor);
        (is_record && (1..=LONGEST).contains(&length)).then_some(Record { kind, length })
    }

    /// Whether it begins a handshake.
    pub(super) fn is_handshake(self) -> bool {
        self.kind == HANDSHAKE
    }
}

/// How far the handshake is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Nothing encrypted by the client has been seen.
    Handshake,
    /// The client's first application data (in TLS 1.3 the end of its handshake), and the turn that
    /// it may be a part of.
    FirstTurn {
        answered: bool,
    },
    Turns,
    /// Turns cannot be told apart.
    Pipelined,
}

/// One connection's turns.
#[derive(Debug)]
pub(super) struct Turns {
    stage: Stage,
    /// The record that is passing.
    passing: Both<Option<Record>>,
    request: Option<Span>,
    response: Option<Span>,
    /// A request that was counted, and whose turn a hole made useless.
    given_up: Option<Span>,
    /// Whether the last record was full, so that its message goes on in the next.
    goes_on: bool,
    seen_any: bool,
}

impl Turns {
    /// The connection switches to TLS.
    pub(super) fn begin(cx: &mut Context<'_>) -> Turns {
        cx.problems.note("rpc-with-tls", || {
            let text = "calls hidden by TLS: only their timing is known".to_owned();
            (text, Where::default())
        });
        Turns {
            stage: Stage::Handshake,
            passing: Both::default(),
            request: None,
            response: None,
            given_up: None,
            goes_on: false,
            seen_any: false,
        }
    }

    /// The capture joins a connection that has switched to TLS before.
    pub(super) fn join(cx: &mut Context<'_>) -> Turns {
        Turns {
            stage: Stage::FirstTurn { answered: false },
            seen_any: true,
            ..Turns::begin(cx)
        }
    }

    /// Whether any record has been seen: before, the switch may have been refused.
    pub(super) fn has_begun(&self) -> bool {
        self.seen_any
    }

    pub(super) fn step(&mut self, d: Direction, bytes: &[u8], more: More) -> Step {
        if bytes.len() < HEADER && more == More::Yes {
            return Step::Need(HEADER);
        }
        let Some(record) = Record::parse(bytes) else {
            return Step::Lost;
        };
        self.seen_any = true;
        *self.passing.of_mut(d) = Some(record);
        Step::End(HEADER as u64 + u64::from(record.length))
    }

    /// Records have been lost, or may have been: the turn is not whole.
    pub(super) fn hole(&mut self, _hole: Hole) {
        self.given_up = self.request.take().or(self.given_up);
        self.response = None;
    }

    /// Stops counting a request that was given up.
    fn settle(&mut self, cx: &mut Context<'_>) {
        if let Some(request) = self.given_up.take() {
            self.count(cx, &request, false);
        }
    }

    /// A record has passed.
    pub(super) fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        let Some(record) = self.passing.of_mut(d).take() else {
            return;
        };
        if span.end_missing {
            self.hole(Hole::Gap);
        }
        self.settle(cx);
        if span.end_missing {
            return;
        }
        let data = record.kind == APPLICATION_DATA;
        match (self.stage, d) {
            (Stage::Handshake, Direction::ToServer) if data => {
                self.stage = Stage::FirstTurn { answered: false };
            }
            (Stage::FirstTurn { .. }, Direction::ToClient) => {
                self.stage = Stage::FirstTurn { answered: true };
            }
            (Stage::FirstTurn { answered: true }, Direction::ToServer) if data => {
                self.stage = Stage::Turns;
            }
            _ => {}
        }
        if self.stage != Stage::Turns || !data {
            return;
        }
        let goes_on = std::mem::replace(&mut self.goes_on, record.length >= FULL);
        let message = match d {
            Direction::ToServer => {
                if self.response.is_some() {
                    self.finish(cx);
                }
                &mut self.request
            }
            // The server speaks unasked: session tickets, or the reply to a request not seen.
            Direction::ToClient if self.request.is_none() => return,
            Direction::ToClient => &mut self.response,
        };
        match message {
            None => {
                *message = Some(*span);
                if d == Direction::ToServer {
                    self.count(cx, span, true);
                }
            }
            Some(message) if goes_on => message.extend(span),
            Some(_) => {
                self.stage = Stage::Pipelined;
                self.hole(Hole::Gap);
                self.settle(cx);
                cx.problems.note("rpc-with-tls-pipelined", || {
                    let text = "calls hidden by TLS that do not alternate: not timed".to_owned();
                    (text, Where::default())
                });
            }
        }
    }

    fn count(&self, cx: &mut Context<'_>, span: &Span, sent: bool) {
        let c = cx.connection;
        cx.output.change(|| Outstanding {
            order: cx.order,
            time: if sent {
                span.first.time
            } else {
                span.last.time
            },
            connection: c.id,
            client: c.client,
            server: c.server,
            id: 0,
            change: if sent { Change::Sent } else { Change::Settled },
        });
    }

    /// The turn is over: the next request has come, or the connection has ended.
    pub(super) fn finish(&mut self, cx: &mut Context<'_>) {
        let (Some(request), Some(response)) = (self.request, self.response.take()) else {
            self.hole(Hole::Gap);
            return self.settle(cx);
        };
        self.request = None;
        self.count(cx, &response, false);
        let mut detail = Detail::default();
        detail.set(Field::Security, Security::Tls.word());
        cx.output.calls.push(Call {
            order: cx.order,
            connection: cx.connection.id,
            protocol: Protocol::Rpc,
            op: Name::of("TLS"),
            client: cx.connection.client,
            server: cx.connection.server,
            id: 0,
            request_sequence: request.sequence,
            response_sequence: response.sequence,
            request_first: Some(request.first),
            request_last: Some(request.last),
            response_first: Some(response.first),
            response_last: Some(response.last),
            request_bytes: request.bytes,
            response_bytes: response.bytes,
            outcome: Outcome::Ok,
            outstanding: 1,
            retransmits: 0,
            request_held_ns: 0,
            response_held_ns: 0,
            inner: None,
            hidden: None,
            detail,
            text: None,
            sql: None,
        });
    }
}
