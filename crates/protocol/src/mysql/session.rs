//! One connection: its two directions into commands and responses, and what is known of its session.
//!
//! A frame of the client is a command, with all packets it goes on in; one step of a logon; or a file.
//! A frame of the server is a response with all its packets, or a step of one that the client has to
//! answer. Commands and responses begin with a segment, so that behind a hole the next one is looked
//! for there alone.

mod client;
mod server;

use super::pairing::Pairing;
use super::prepared::Prepared;
use super::response::Agreed;
use crate::copied::{self, Unconfirmed};
use crate::session::{Context, Hole, Kept, More, Run, Session as SessionTrait, Span, Step};
use crate::sql::Opaque;
use client::Sent;
use model::{Close, Direction, Hidden, Mark, Protocol, Sql, SqlSession, Time};
use server::Said;
use std::sync::Arc;

/// What the client sends next.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Phase {
    #[default]
    Commands,
    /// Its response to the greeting.
    Greeted,
    /// Steps of authentication.
    Logon,
    /// The file that LOCAL INFILE asked for.
    File,
    /// Nothing but what a replica confirms: the server sends its binary log.
    Stream,
}

/// One connection.
#[derive(Default, Debug)]
pub(super) struct Session {
    phase: Phase,
    opened: Option<Mark>,
    greeted: bool,
    server_capabilities: Option<u32>,
    capabilities: u32,
    agreed: Agreed,
    about: Arc<SqlSession>,
    /// For calls without a statement.
    plain: Arc<Sql>,
    prepared: Prepared,
    pairing: Pairing,
    sent: Option<Sent>,
    said: Option<Said>,
    /// Where the client's next command starts is known.
    in_step: bool,
    /// COM_STMT_SEND_LONG_DATA, the first part of an execution.
    long_data: Option<Span>,
    /// Of a replica that confirms what it has: what it has not yet, and in which file of the log the server is.
    unconfirmed: Unconfirmed,
    file: u32,
    hidden: Option<Hidden>,
}

impl Session {
    /// The server has answered, or it is not known any more whether it has.
    fn leave_file(&mut self) {
        if self.phase == Phase::File {
            self.phase = Phase::Commands;
        }
    }

    fn change(&mut self, change: impl FnOnce(&mut SqlSession)) {
        let mut about = (*self.about).clone();
        change(&mut about);
        self.about = Arc::new(about);
        self.plain = Arc::new(Sql {
            session: Arc::clone(&self.about),
            statement: None,
        });
    }
}

impl SessionTrait for Session {
    fn step(&mut self, cx: &mut Context<'_>, d: Direction, bytes: &[u8], more: More) -> Step {
        self.pairing.catch_up(cx);
        match d {
            Direction::ToServer => self.client_step(cx, bytes, more),
            Direction::ToClient => self.server_step(cx, bytes, more),
        }
    }

    fn complete(&mut self, cx: &mut Context<'_>, d: Direction, span: &Span) {
        match d {
            Direction::ToServer => {
                if let Some(sent) = self.sent.take() {
                    self.client_frame(cx, sent, span);
                }
            }
            Direction::ToClient => {
                if let Some(said) = self.said.take() {
                    self.server_frame(cx, said, span);
                }
            }
        }
    }

    /// What begins here is judged by [`Session::step`].
    fn resync(
        &mut self,
        _cx: &mut Context<'_>,
        _d: Direction,
        _bytes: &[u8],
        _at_start: bool,
        _wire: u64,
    ) -> Option<usize> {
        Some(0)
    }

    fn abandon(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        span: Option<Span>,
        close: Option<Close>,
    ) {
        self.pairing.catch_up(cx);
        let span = span.map(|mut span| {
            span.end_missing = true;
            span
        });
        match d {
            Direction::ToServer => {
                if let (Some(sent), Some(span)) = (self.sent.take(), span) {
                    self.client_frame(cx, sent, &span);
                }
                self.in_step = false;
            }
            Direction::ToClient => match (self.said.take(), span) {
                (Some(Said::Response(_)), Some(span)) => {
                    if let Some(first) = self.pairing.first() {
                        first.answer(&span);
                    }
                    if close.is_none() {
                        self.pairing.lose_step(cx);
                    }
                }
                (Some(said), Some(span)) => self.server_frame(cx, said, &span),
                _ => {}
            },
        }
    }

    fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        self.pairing.catch_up(cx);
        let span = Span::of(run);
        match (d, self.phase) {
            (Direction::ToServer, Phase::Logon | Phase::File) => self.goes_on(&span),
            (Direction::ToServer, _) => {
                self.pairing.hidden_command(cx, &self.plain);
                self.in_step = false;
            }
            (Direction::ToClient, Phase::Stream) if self.pairing.len() == 0 => {}
            (Direction::ToClient, _) => self.pairing.skipped(cx, &span),
        }
    }

    fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        if d == Direction::ToServer {
            self.in_step = false;
            self.long_data = None;
            self.prepared.forget_last();
        }
        if hole == Hole::Gap && self.phase == Phase::File && d == Direction::ToServer {
            // Whatever of a file is missing, the server answers when all of it has come.
            if let Some(first) = self.pairing.first() {
                first.response.goes_on();
            }
        } else if hole == Hole::Gap {
            self.leave_file();
            self.pairing.gap(d, at);
        }
    }

    fn datagram(&mut self, _cx: &mut Context<'_>, _d: Direction, _bytes: &[u8], _span: Span) {
        // Only spoken over TCP: the probe takes no datagrams.
    }

    fn opened(&mut self, at: Mark) {
        self.opened = Some(at);
    }

    fn opaque(&self) -> Option<Opaque> {
        let hidden = self.hidden?;
        Some(Opaque::hidden(Protocol::Mysql, &self.plain, hidden))
    }

    fn kept(&self) -> Kept {
        let kept = self.prepared.kept(self.pairing.kept(Kept::of(self)));
        kept.and(self.unconfirmed.len(), size_of::<u64>())
    }

    fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.pairing.catch_up(cx);
        let now = cx.now;
        self.unconfirmed
            .end(|end, change| copied::tell(cx, now, end, change));
        self.pairing.close(cx, why, &self.plain);
    }
}
