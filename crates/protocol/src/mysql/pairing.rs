//! Commands and responses of one connection, in the order in which they pass, into calls.
//!
//! Responses come in the order of their commands, and a client mostly waits for one before it sends
//! the next command. No packet says which command it answers, so that everything follows from order:
//! - While no bytes are missing, the first command that waits has the next response.
//! - Where the snap length or a gap hides where the packets of a response stand, what the server sends
//!   until the client speaks again is its end. The call is marked as inferred; behind a gap it is
//!   incomplete.
//! - A gap may hold a whole response, and another one the command that what follows answers. So such a
//!   response is only believed when the next command comes with no gap before it.
//! - A client that was seen to send commands without waiting leaves nothing to go by behind a gap: no
//!   further calls are made of its connection, and `mysql-pairing-lost` counts its commands.

use super::waiting::{Progress, Waiting};
use crate::session::{Context, Kept, Span};
use crate::sql::unasked;
use model::{Close, Direction, Protocol, Reason, Sql, Time, Where, limits, sql::op};
use std::collections::VecDeque;
use std::sync::Arc;

/// Who takes what the server says next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Taker {
    /// The first that waits; what comes are the packets of its response.
    First,
    /// The same, whose packets cannot be told any more.
    FirstAdrift,
    Nobody,
}

#[derive(Default, Debug)]
pub(super) struct Pairing {
    waiting: VecDeque<Waiting>,
    /// What the server said that nobody takes.
    stray: Option<Span>,
    /// It belongs to a call that was given up.
    stray_is_known: bool,
    /// Gaps that were told and not dealt with yet.
    gaps: Vec<Direction>,
    /// By when the last of the server's had passed.
    lacked: Option<Time>,
    /// A command may be hidden before the next.
    doubt_next: bool,
    /// The client does not wait.
    pipelined: bool,
    /// What answers what is not known any more.
    astray: bool,
}

impl Pairing {
    /// What it keeps of commands that wait.
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        kept.and(self.waiting.len(), size_of::<Waiting>())
            .and_each(self.waiting.iter().map(|w| w.exchange.sql.kept_bytes()))
    }

    pub(super) fn first(&mut self) -> Option<&mut Waiting> {
        self.waiting.front_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether commands cannot be paired any more; counts one.
    pub(super) fn refuses(&self, cx: &mut Context<'_>) -> bool {
        if self.astray {
            let (client, server) = (cx.connection.client, cx.connection.server);
            cx.problems.note("mysql-pairing-lost", || {
                let text = format!(
                    "{client} to {server}: commands are sent without waiting, and a gap hides some"
                );
                (text, Where::default())
            });
        }
        self.astray
    }

    pub(super) fn push(&mut self, cx: &mut Context<'_>, mut waiting: Waiting) {
        if self.waiting.len() >= limits::OUTSTANDING
            && let Some(oldest) = self.waiting.pop_front()
        {
            cx.problems.note("requests-evicted", || {
                let client = cx.connection.client;
                let text = format!("{client}: too many commands wait for a response");
                (text, Where::default())
            });
            oldest.give_up(cx, Reason::Evicted);
            self.astray = true;
        }
        waiting.doubtful = std::mem::take(&mut self.doubt_next);
        self.waiting.push_back(waiting);
    }

    /// A gap of a direction hides where the next message starts.
    pub(super) fn gap(&mut self, d: Direction, at: Time) {
        if d == Direction::ToClient {
            self.lacked = Some(at);
        }
        // More of them at once say no more.
        if self.gaps.last() != Some(&d) && self.gaps.len() < 4 {
            self.gaps.push(d);
        }
    }

    /// Deals with gaps that were told.
    pub(super) fn catch_up(&mut self, cx: &mut Context<'_>) {
        for d in std::mem::take(&mut self.gaps) {
            match d {
                Direction::ToClient => self.gap_to_client(cx),
                Direction::ToServer => self.gap_to_server(cx),
            }
        }
    }

    fn gap_to_client(&mut self, cx: &mut Context<'_>) {
        if let Some(stray) = &mut self.stray {
            stray.end_missing = true;
        }
        if self.first().is_some_and(|w| w.progress == Progress::Over)
            && let Some(mut over) = self.waiting.pop_front()
        {
            over.gap = true;
            over.finish(cx);
        }
        if self.waiting.len() > 1 && self.pipelined {
            self.go_astray(cx);
        }
        // Who waits for each response has sent the last because the others had come.
        let asked_last = self.waiting.back().map(|w| w.exchange.request.first.time);
        while self.waiting.len() > 1 {
            self.give_up_answered(cx, asked_last.unwrap_or(cx.now));
        }
        let Some(last) = self.first() else { return };
        if last.progress == Progress::Complete || last.doubtful && !last.has_begun() {
            // Twice in doubt: a command is hidden, and now perhaps its response, or this one's.
            self.give_up_first(cx);
            self.stray_is_known = true;
        } else if last.has_begun() {
            last.gap = true;
            last.progress = Progress::Adrift;
            if let Some(response) = &mut last.exchange.response {
                response.end_missing = true;
            }
        } else {
            last.doubtful = true;
        }
    }

    /// The client sent something that cannot be read: a command, as far as is known.
    pub(super) fn hidden_command(&mut self, cx: &mut Context<'_>, sql: &Arc<Sql>) {
        self.client_speaks(cx, sql);
        self.gap_to_server(cx);
    }

    fn gap_to_server(&mut self, cx: &mut Context<'_>) {
        if self.pipelined && !self.waiting.is_empty() {
            self.go_astray(cx);
        }
        for waiting in std::mem::take(&mut self.waiting) {
            if waiting.doubtful {
                waiting.give_up(cx, Reason::CaptureGap);
            } else {
                self.waiting.push_back(waiting);
            }
        }
        // What the server says behind it answers what is hidden there.
        let alone = self.waiting.len() == 1;
        if let Some(first) = self.first()
            && alone
            && first.progress == Progress::Adrift
        {
            first.progress = Progress::Over;
        }
        for waiting in &mut self.waiting {
            waiting.doubtful |= !waiting.has_begun();
        }
        self.doubt_next = true;
    }

    fn go_astray(&mut self, cx: &mut Context<'_>) {
        self.astray = true;
        while !self.waiting.is_empty() {
            self.give_up_first(cx);
        }
    }

    fn give_up_first(&mut self, cx: &mut Context<'_>) {
        if let Some(first) = self.waiting.pop_front() {
            first.give_up(cx, Reason::CaptureGap);
        }
    }

    /// The same of one whose client went on at `asked`: what the capture lacks of the server since was its response.
    fn give_up_answered(&mut self, cx: &mut Context<'_>, asked: Time) {
        let passed = self.lacked.max(self.stray.as_ref().map(|s| s.last.time));
        let lacked = self.lacked;
        if let (Some(first), Some(passed)) = (self.first(), passed)
            && lacked.is_some_and(|at| at >= first.exchange.request.last.time)
        {
            first.exchange.answer_unseen(None, passed.min(asked));
        }
        self.give_up_first(cx);
    }

    /// The client sends a command, seen or not.
    pub(super) fn client_speaks(&mut self, cx: &mut Context<'_>, sql: &Arc<Sql>) {
        let alone = self.waiting.len() == 1;
        match self.first().map(|w| w.progress) {
            Some(Progress::Complete) => {
                if let Some(first) = self.waiting.pop_front() {
                    first.finish(cx);
                }
            }
            Some(Progress::Adrift) if alone => {
                if let Some(first) = self.first() {
                    first.progress = Progress::Over;
                }
            }
            Some(Progress::Adrift) => {
                self.pipelined = true;
                self.go_astray(cx);
            }
            // Who waits has had its response, in the gap.
            Some(Progress::InStep) if alone && !self.pipelined => {
                if self.first().is_some_and(|w| w.doubtful && !w.has_begun()) {
                    self.give_up_answered(cx, cx.now);
                }
            }
            Some(Progress::InStep | Progress::Over) | None => {}
        }
        self.tell_stray(cx, sql);
    }

    fn tell_stray(&mut self, cx: &mut Context<'_>, sql: &Arc<Sql>) {
        let known = std::mem::take(&mut self.stray_is_known);
        if let Some(stray) = self.stray.take()
            && !known
            && !self.astray
        {
            let reason = match self.doubt_next {
                true => Reason::CaptureGap,
                false => Reason::BeforeCapture,
            };
            let sql = Arc::clone(sql);
            unasked(cx, Protocol::Mysql, op::OTHER, stray, sql, reason);
        }
    }

    /// The server begins to speak.
    pub(super) fn server_speaks(&mut self, cx: &mut Context<'_>) -> Taker {
        if self.first().is_some_and(|w| w.progress == Progress::Over)
            && let Some(over) = self.waiting.pop_front()
        {
            over.finish(cx);
        }
        match self.first().map(|w| w.progress) {
            Some(Progress::InStep) => Taker::First,
            Some(Progress::Adrift) => Taker::FirstAdrift,
            // More than was asked for: something is hidden, and that was not its response.
            Some(Progress::Complete | Progress::Over) => {
                self.pipelined = true;
                self.go_astray(cx);
                Taker::Nobody
            }
            None => Taker::Nobody,
        }
    }

    /// The response that comes cannot be told into packets.
    pub(super) fn lose_step(&mut self, cx: &mut Context<'_>) {
        let Some(first) = self.first() else { return };
        if first.doubtful && !first.has_begun() {
            // The rest of its response, or of another one.
            self.give_up_first(cx);
            self.stray_is_known = true;
        } else if first.progress == Progress::InStep {
            first.progress = Progress::Adrift;
        }
    }

    /// Bytes of the server that are not read.
    pub(super) fn skipped(&mut self, cx: &mut Context<'_>, span: &Span) {
        if self.server_speaks(cx) == Taker::First {
            self.lose_step(cx);
        }
        match self.first() {
            Some(first) if first.progress == Progress::Adrift => first.answer(span),
            _ => match &mut self.stray {
                Some(stray) => stray.extend(span),
                None => self.stray = Some(*span),
            },
        }
    }

    /// The response of the first is complete. It is returned when it is certain that it is its own;
    /// the call is then to be told.
    pub(super) fn complete(&mut self) -> Option<Waiting> {
        let first = self.first()?;
        if first.doubtful {
            first.progress = Progress::Complete;
            return None;
        }
        let first = self.waiting.pop_front();
        self.pipelined |= !self.waiting.is_empty();
        first
    }

    pub(super) fn close(&mut self, cx: &mut Context<'_>, why: Close, sql: &Arc<Sql>) {
        let ended = !why.is_of_looking();
        for waiting in std::mem::take(&mut self.waiting) {
            let reason = match waiting.gap || waiting.doubtful {
                true => Reason::CaptureGap,
                false => why.reason(),
            };
            match waiting.progress {
                Progress::Over => waiting.finish(cx),
                Progress::Complete if ended => waiting.finish(cx),
                Progress::Adrift if why == Close::Finished => {
                    let mut waiting = waiting;
                    waiting.progress = Progress::Over;
                    waiting.finish(cx);
                }
                _ => waiting.give_up(cx, reason),
            }
        }
        self.tell_stray(cx, sql);
    }
}
