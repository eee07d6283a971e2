//! Packets that are no DATA, into what they do to a session: connecting and being sent on, refusals, breaks and resets.

use super::connect::{self, Accept, Connect};
use super::packet::{self, Form, Header, kind};
use super::session::Session;
use super::turn::Stage;
use crate::session::{Context, Span};
use model::Direction;

/// What a marker says.
mod marker {
    pub(super) const RESET: u8 = 2;
}

impl Session {
    /// A packet that is no DATA has passed.
    pub(super) fn control(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        header: &Header,
        bytes: &[u8],
        span: &Span,
    ) {
        let client = self.is_client(d);
        match header.kind {
            kind::CONNECT if client => {
                self.conclude_all(cx, None);
                self.form = None;
                self.trailer = 0;
                self.open(cx, span, Stage::Connect);
                let Some(connect) = Connect::parse(bytes) else {
                    return;
                };
                self.calls.connect(&connect);
                if let (Some(text), Some(turn)) = (connect.text(bytes), self.turns.back_mut()) {
                    turn.ask(text, false);
                }
            }
            kind::MARKER if client => {
                let reset = bytes.get(10) == Some(&marker::RESET);
                if reset && let Some(turn) = self.turns.back_mut() {
                    turn.exchange.confirm(span);
                }
            }
            kind::MARKER | kind::DATA_DESCRIPTOR if !client => {
                if let Some(turn) = self.turns.front_mut() {
                    turn.answer(span);
                    turn.tail_seen &= header.kind == kind::MARKER;
                }
            }
            kind::ACCEPT if !client => {
                if let Some(accept) = Accept::parse(bytes) {
                    self.form = Some(match accept.version >= packet::LONG_FROM {
                        true => Form::Long,
                        false => Form::Short,
                    });
                    self.calls.accept(&accept);
                }
                self.aligned = true;
                if let Some(turn) = self.turns.front_mut() {
                    turn.answer(span);
                }
            }
            kind::RESEND if !client => {
                self.tls_next = header.flags & packet::REDO_TLS != 0;
                if let Some(turn) = self.turns.front_mut() {
                    turn.answer(span);
                }
            }
            kind::REFUSE | kind::ABORT | kind::REDIRECT if !client => {
                if let Some(turn) = self.turns.front_mut() {
                    turn.answer(span);
                    turn.redirected = header.kind == kind::REDIRECT;
                    let text = match turn.redirected {
                        true => connect::address(bytes),
                        false => connect::reason(bytes),
                    };
                    turn.refused = (!turn.redirected).then_some(0);
                    turn.hear(text, None, true, false);
                }
            }
            _ => {}
        }
    }
}
