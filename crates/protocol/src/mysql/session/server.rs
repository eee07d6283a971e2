//! The server's bytes into the greeting and responses; each into a call, and what it changed of the session.

use super::{Phase, Session};
use crate::copied::{self, Copied};
use crate::mysql::logon::{self, Greeting, capability};
use crate::mysql::packet::Header;
use crate::mysql::pairing::Taker;
use crate::mysql::replication;
use crate::mysql::response::Next;
use crate::mysql::waiting::Effect;
use crate::session::{Context, More, Span, Step};
use crate::sql::{self};
use model::{Code, Hidden, Outcome, Protocol, Reason, Where, sql::op};
use std::sync::Arc;

/// A frame of the server that is passing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Said {
    Greeting,
    /// An error in place of the greeting.
    Refusal(u16),
    /// A response, and what follows the packets told so far.
    Response(Next),
    /// An event of the binary log.
    Event(replication::Event),
}

impl Session {
    pub(super) fn server_step(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
        if self.phase == Phase::Stream && self.pairing.len() == 0 {
            return self.event_step(bytes, more);
        }
        if self.said.is_none() {
            if let Some(hidden) = self.hidden
                && hidden != Hidden::Unreadable
            {
                return Step::Opaque;
            }
            match self.pairing.server_speaks(cx) {
                Taker::First => {}
                Taker::FirstAdrift => return Step::Skip,
                Taker::Nobody => return self.greeting_step(bytes, more),
            }
        }
        self.response_step(cx, bytes, more)
    }

    /// Events that nobody confirms pass unread.
    fn event_step(&mut self, bytes: &[u8], more: More) -> Step {
        let Some(header) = Header::parse(bytes) else {
            return match more {
                More::Yes => Step::Need(Header::BYTES),
                More::No => Step::Skip,
            };
        };
        let whole = usize::try_from(header.bytes()).unwrap_or(usize::MAX);
        let shown = |wanted: usize| bytes.len() >= whole.min(wanted) || more == More::No;
        if !shown(replication::WANTED) {
            return Step::Need(whole.min(replication::WANTED));
        }
        let payload = bytes.get(Header::BYTES..whole.min(bytes.len()));
        let event = payload.and_then(|payload| replication::event(header, payload));
        let Some(event) = event else {
            return Step::Skip;
        };
        if event.is_rotation && !shown(replication::WANTED_OF_NAME) {
            return Step::Need(whole.min(replication::WANTED_OF_NAME));
        }
        self.said = Some(Said::Event(event));
        Step::End(header.bytes())
    }

    /// Nothing was asked: the greeting, or what cannot be read.
    fn greeting_step(&mut self, bytes: &[u8], more: More) -> Step {
        let Some(header) = Header::parse(bytes).filter(|_| !self.greeted) else {
            return Step::Skip;
        };
        let whole = usize::try_from(header.bytes()).unwrap_or(usize::MAX);
        let is_likely = header.sequence == 0 && whole < 1_024;
        if is_likely && bytes.len() < whole && more == More::Yes {
            return Step::Need(whole);
        }
        let shown = bytes.get(..whole).unwrap_or(bytes);
        if let Some(greeting) = Greeting::parse(shown) {
            self.server_capabilities = greeting.capabilities;
            let version = logon::text(greeting.version);
            self.change(|about| about.server_version = Some(version));
            self.said = Some(Said::Greeting);
        } else if logon::is_refusal(shown) {
            let code = shown.get(5..7).and_then(|b| b.first_chunk());
            self.said = Some(Said::Refusal(code.map_or(0, |b| u16::from_le_bytes(*b))));
        } else {
            return Step::Skip;
        }
        self.greeted = true;
        Step::End(header.bytes())
    }

    fn response_step(&mut self, cx: &mut Context<'_>, bytes: &[u8], more: More) -> Step {
        let begins = self.said.is_none();
        let mut passed = 0_u64;
        loop {
            let rest = usize::try_from(passed).ok().and_then(|n| bytes.get(n..));
            let rest = rest.unwrap_or_default();
            let Some(waiting) = self.pairing.first() else {
                return Step::Lost;
            };
            let header = Header::parse(rest);
            let payload = rest.get(Header::BYTES..).unwrap_or_default();
            let wanted = header.map_or(0, |h| waiting.response.wants(h, payload.first().copied()));
            let is_shown = header.is_some() && payload.len() >= wanted;
            if !is_shown && (passed > 0 || more == More::Yes) {
                // What is there already is let go, so that it need not be held back.
                return match passed {
                    0 => Step::Need(Header::BYTES + wanted.max(1)),
                    passed => Step::Pass(passed),
                };
            }
            let Some(header) = header else {
                return self.lose_step(cx, begins);
            };
            let head = payload.get(..wanted).unwrap_or(payload);
            let next = waiting.response.packet(header, head, &mut self.agreed);
            if next == Next::Wrong {
                return match passed {
                    0 => self.lose_step(cx, begins),
                    passed => Step::Pass(passed),
                };
            }
            self.said = Some(Said::Response(next));
            passed += header.bytes();
            match next {
                Next::Packet if passed >= bytes.len() as u64 => return Step::Pass(passed),
                Next::Packet => {}
                Next::EndOrEof => {
                    let behind = usize::try_from(passed).ok().and_then(|n| bytes.get(n..));
                    let eof = behind.unwrap_or_default().starts_with(&[5, 0, 0]);
                    if !eof {
                        self.agreed.no_eof = Some(true);
                        return Step::End(passed);
                    }
                    self.agreed.no_eof = Some(false);
                }
                Next::End | Next::Client | Next::File => return Step::End(passed),
                Next::Wrong => return Step::Lost,
            }
        }
    }

    /// What the server says is no packet of the response.
    pub(super) fn lose_step(&mut self, cx: &mut Context<'_>, begins: bool) -> Step {
        self.leave_file();
        self.pairing.lose_step(cx);
        match begins {
            true => Step::Skip,
            false => Step::Lost,
        }
    }

    /// A frame of the server has passed.
    pub(super) fn server_frame(&mut self, cx: &mut Context<'_>, said: Said, span: &Span) {
        let next = match said {
            Said::Greeting => {
                self.phase = Phase::Greeted;
                return self.connected(cx, *span, Outcome::Ok);
            }
            Said::Refusal(code) => {
                let code = Code::public(&format!("ER-{code}"));
                return self.connected(cx, *span, Outcome::Code(code));
            }
            Said::Event(event) => {
                self.file = event.file.unwrap_or(self.file);
                if event.is_to_be_confirmed {
                    let end = replication::place(self.file, event.end);
                    self.copied(cx, Copied::Shipped(end), span);
                }
                return;
            }
            Said::Response(next) => next,
        };
        let Some(first) = self.pairing.first() else {
            return self.leave_file();
        };
        first.answer(span);
        match next {
            Next::Client => {}
            Next::File => {
                first.exchange.op = op::COPY;
                self.phase = Phase::File;
            }
            _ => {
                self.leave_file();
                self.answered(cx);
            }
        }
    }

    /// What a server's clients may wait for.
    pub(super) fn copied(&mut self, cx: &mut Context<'_>, copied: Copied, span: &Span) {
        let time = span.last.time;
        let tell = |end, change| copied::tell(cx, time, end, change);
        self.unconfirmed.take(copied, tell);
    }

    fn connected(&self, cx: &mut Context<'_>, span: Span, outcome: Outcome) {
        let sql = Arc::clone(&self.plain);
        match self.opened {
            Some(opened) => sql::greeted(cx, Protocol::Mysql, opened, span, sql, outcome),
            None => {
                let reason = Reason::BeforeCapture;
                sql::unasked(cx, Protocol::Mysql, op::CONNECT, span, sql, reason);
            }
        }
    }

    /// A response is complete.
    pub(super) fn answered(&mut self, cx: &mut Context<'_>) {
        let Some(mut call) = self.pairing.complete() else {
            return;
        };
        let succeeded = call.response.error.is_none();
        match std::mem::take(&mut call.effect) {
            Effect::LogsOn => {
                self.phase = Phase::Commands;
                call.exchange.sql = Arc::clone(&self.plain);
                let compressed = self.capabilities
                    & self.server_capabilities.unwrap_or(u32::MAX)
                    & (capability::COMPRESS | capability::ZSTD);
                if succeeded && compressed != 0 {
                    self.hidden = Some(Hidden::Compression);
                }
            }
            Effect::Prepares(statement) if succeeded => {
                call.cursor = call.response.statement;
                if let Some(number) = call.cursor {
                    self.prepared.add(cx, number, statement);
                }
            }
            Effect::Uses(name) if succeeded => self.change(|about| about.database = Some(name)),
            Effect::Prepares(_) | Effect::Uses(_) | Effect::Nothing => {}
        }
        if self.phase == Phase::Stream {
            self.streams(cx, succeeded);
        }
        call.finish(cx);
    }

    /// The server has begun to send its binary log, or will not.
    fn streams(&mut self, cx: &mut Context<'_>, succeeded: bool) {
        if !succeeded {
            self.phase = Phase::Commands;
            return;
        }
        cx.output.copies = true;
        let (client, server) = (cx.connection.client, cx.connection.server);
        cx.problems.note("mysql-binlog-stream", || {
            let text = format!("{client} reads the binary log of {server}: events make no calls");
            (text, Where::default())
        });
    }
}
