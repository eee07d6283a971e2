//! What the server says, into the call that waits for it: each of its parts, and where it is over.

use super::pending::RequestKind;
use super::{Before, Early, Queue};
use crate::pgsql::reply::Reply;
use crate::pgsql::tag::Tag;
use crate::session::{Context, Span};
use crate::sql;
use model::{Code, Outcome, Protocol, Reason, Time, Where, limits, sql::op};
use std::sync::Arc;

/// Packets of one host stand in the file no more out of order than this.
const OUT_OF_ORDER_NS: i64 = 1_000_000;

/// What follows is no call.
#[cold]
fn note_stream(cx: &mut Context<'_>) {
    cx.problems.note("pgsql-replication", || {
        let (client, server) = (cx.connection.client, cx.connection.server);
        let text =
            format!("{client} to {server}: a replication stream, of which no calls are told");
        (text, Where::default())
    });
}

impl Queue {
    /// Bytes of the server of which the header was not seen.
    pub(in crate::pgsql) fn reply_skipped(&mut self, cx: &mut Context<'_>, span: &Span) {
        self.heal(cx);
        self.last = self.last.max(Some(span.last.time));
        self.heard = self.heard.max(Some(span.last.time));
        // An answer begins with a header: what goes on had not ended when its client did.
        self.runs_ahead |= !self.spoken;
        self.spoken = true;
        if self.belongs_to_settled(span) {
            return;
        }
        self.tell_settled(cx);
        self.unread |= Some(span.last.time) >= self.asked;
        if self.deaf.is_some() || self.streaming {
            return;
        }
        if self.answers_before() {
            return self.answer_before(cx, false, span);
        }
        let is_alone = self.is_alone();
        if let Some(p) = self.pending.front_mut()
            && !p.is_younger(span)
        {
            if is_alone || p.exchange.response.is_none() {
                p.exchange.answer(span);
            }
            p.blurred = true;
        }
    }

    /// Whether what the server says can only answer the first call: of several under way it may be any one's.
    fn is_alone(&self) -> bool {
        let next = self.pending.get(1);
        next.is_none_or(|next| next.kind == RequestKind::Extended && !next.executes)
    }

    /// Whether nobody knows whose what the server says now is, but for the end of the cycle: a part of a pipeline's answers was
    /// hidden.
    fn is_anyones(&self) -> bool {
        let front = self.pending.front();
        let is_torn = front.is_some_and(|p| p.hurt.is_some() && p.exchange.response.is_some());
        is_torn && !self.is_alone()
    }

    /// What came early answers the request that was now seen, if they stand only a little out of order.
    #[cold]
    pub(super) fn replay(&mut self, cx: &mut Context<'_>, asked: Time) {
        self.replaying = true;
        for early in std::mem::take(&mut self.early) {
            if (asked - early.span.first.time).abs() <= OUT_OF_ORDER_NS {
                self.reply(cx, early.reply, &early.span);
            }
        }
        self.replaying = false;
    }

    /// The server says something.
    pub(in crate::pgsql) fn reply(&mut self, cx: &mut Context<'_>, reply: Reply, span: &Span) {
        if self.settled.is_some() {
            if self.belongs_to_settled(span) {
                return;
            }
            self.tell_settled(cx);
        }
        self.heal(cx);
        self.last = self.last.max(Some(span.last.time));
        self.heard = self.heard.max(Some(span.last.time));
        self.spoken = true;
        if self.streaming {
            self.streaming = !matches!(reply, Reply::ReadyForQuery { .. });
            return;
        }
        if self.deaf.is_some() {
            // What was found late behind a hole was answered before the client spoke.
            let is_own = Some(span.last.time) >= self.asked;
            self.ended += u32::from(is_own && matches!(reply, Reply::ReadyForQuery { .. }));
            return;
        }
        if self.is_anyones() {
            if let Reply::ReadyForQuery { .. } = reply {
                self.ready(cx, span);
            }
            return;
        }
        let Some(p) = self.pending.front_mut() else {
            self.unasked(cx, reply, span);
            return;
        };
        if !self.replaying && p.is_younger(span) {
            return;
        }
        if matches!(reply, Reply::Notification) && p.was_over_before(span) {
            self.settle_front(cx, None);
            return;
        }
        match reply {
            // Not said in answer to anything, unless it stands within an answer.
            Reply::Notification | Reply::ParameterStatus
                if p.exchange.response.is_none() && p.kind != RequestKind::Startup =>
            {
                return;
            }
            _ => p.exchange.answer(span),
        }
        if matches!(reply, Reply::Authentication { .. } | Reply::CopyIn) {
            p.exchange.asks(span);
        }
        match reply {
            Reply::Rows(n) => {
                p.rows += n;
                return;
            }
            Reply::CopyData => return,
            Reply::Step | Reply::RowDescription if p.kind == RequestKind::Extended => {
                p.steps = p.steps.saturating_sub(1);
            }
            Reply::Complete(tag) => p.completed(tag),
            Reply::PortalSuspended | Reply::EmptyQuery => p.completed(Tag::Other),
            Reply::CopyOut => p.exchange.op = op::COPY,
            Reply::CopyIn => {
                p.exchange.op = op::COPY;
                p.copying = true;
                if p.kind == RequestKind::Extended {
                    // It ignores Syncs until the copying is done.
                    p.ready = false;
                    self.in_cycle = true;
                }
            }
            Reply::CopyBoth => {
                p.exchange.op = op::COPY;
                self.streaming = true;
                cx.output.copies = true;
                self.tell_front(cx);
                note_stream(cx);
                return;
            }
            Reply::Error { code, fatal } => {
                self.failed(cx, code, fatal);
                return;
            }
            Reply::ReadyForQuery { .. } => {
                self.ready(cx, span);
                return;
            }
            _ => {}
        }
        self.tell_answered(cx);
    }

    /// Tells the first call, if all of its steps were answered and no ReadyForQuery is to come.
    fn tell_answered(&mut self, cx: &mut Context<'_>) {
        if let Some(p) = self.pending.front()
            && p.kind == RequestKind::Extended
            && p.steps == 0
            && !(p.ready || p.building || p.copying || p.blurred)
        {
            self.told_in_cycle |= self.pending.len() == 1 && self.in_cycle;
            self.tell_front(cx);
        }
    }

    fn tell_front(&mut self, cx: &mut Context<'_>) {
        if let Some(p) = self.pending.pop_front() {
            p.finish(cx);
        }
    }

    pub(super) fn failed(&mut self, cx: &mut Context<'_>, code: Code, fatal: bool) {
        let Some(p) = self.pending.front_mut() else {
            return;
        };
        p.exchange.outcome = Outcome::Code(code);
        p.failed = true;
        p.copying = false;
        match p.kind {
            RequestKind::Startup | RequestKind::Negotiation | RequestKind::Cancel => {
                self.tell_front(cx)
            }
            RequestKind::Extended => {
                if p.ready && !fatal {
                    // Its ReadyForQuery belongs to it.
                    return;
                }
                p.building = false;
                self.tell_front(cx);
                if fatal {
                    return;
                }
                self.skipping = true;
                for p in &mut self.pending {
                    p.skipped = p.kind == RequestKind::Extended;
                    if p.ready {
                        break;
                    }
                }
                self.told_in_cycle = true;
            }
            RequestKind::Simple | RequestKind::Unknown => {
                if fatal {
                    self.tell_front(cx);
                }
            }
        }
    }

    /// The server waits for the next cycle.
    pub(super) fn ready(&mut self, cx: &mut Context<'_>, span: &Span) {
        self.skipping = false;
        let own = self.pending.front().map(|p| (p.blurred, p.hurt));
        // Everything up to the end of the cycle is over.
        let mut last = false;
        while let Some(mut p) = self.pending.pop_front() {
            last = p.ready;
            if p.hurt.is_some() {
                p.exchange.answer_unseen(self.said, span.last.time);
                self.leaves(&p);
            } else if p.exchange.response.is_none() {
                p.exchange.answer(span);
            }
            if p.skipped {
                p.exchange.outcome = Outcome::Error("skipped");
            }
            p.finish(cx);
            if last {
                break;
            }
        }
        if self.pending.is_empty() {
            self.waited = self.waited.saturating_add(1);
            // The Sync may have been cut off.
            self.in_cycle &= last;
        } else if own == Some((false, None)) {
            self.waited = 0;
            self.pipelines = true;
        }
        self.in_step = true;
    }

    /// The server says something, and nobody has asked.
    #[cold]
    pub(super) fn unasked(&mut self, cx: &mut Context<'_>, reply: Reply, span: &Span) {
        if reply.is_unasked() {
            return;
        }
        let is_over = matches!(reply, Reply::ReadyForQuery { .. });
        if is_over {
            // One answer is that of one hidden request.
            self.unasked = !std::mem::take(&mut self.doubt);
        }
        if matches!(reply, Reply::Authentication { .. }) {
            // It was opened just now, and the capture lacks that.
            self.before = Before::Over;
        }
        if self.answers_before() {
            self.answer_before(cx, is_over, span);
            return;
        }
        if self.in_step && !self.torn && self.early.len() < limits::EARLY_RESPONSES {
            self.early.push(Early { reply, span: *span });
        } else if matches!(reply, Reply::ReadyForQuery { .. }) {
            cx.problems.note("responses-without-request", || {
                let (client, server) = (cx.connection.client, cx.connection.server);
                (
                    format!("{server} to {client}: answers what was not captured"),
                    Where::default(),
                )
            });
        }
    }

    /// Whether nobody has spoken since the capture began but the server.
    fn answers_before(&self) -> bool {
        self.pending.is_empty() && !self.in_step && !matches!(self.before, Before::Over)
    }

    /// It answers what was asked before.
    #[cold]
    fn answer_before(&mut self, cx: &mut Context<'_>, is_over: bool, span: &Span) {
        let mut answer = *span;
        if let Before::Said(begun) = self.before {
            answer = begun;
            answer.extend(span);
        }
        self.before = Before::Said(answer);
        if is_over {
            self.tell_before(cx);
            self.before = Before::Nothing;
        }
    }

    /// All that the server has said is the answer, as its client goes on.
    pub(super) fn tell_before(&mut self, cx: &mut Context<'_>) {
        if let Before::Said(answer) = std::mem::replace(&mut self.before, Before::Over) {
            let (sql, before) = (Arc::clone(&self.sql), Reason::BeforeCapture);
            sql::unasked(cx, Protocol::Pgsql, op::OTHER, answer, sql, before);
        }
    }

    /// The answer to a request for encryption.
    pub(in crate::pgsql) fn negotiated(&mut self, cx: &mut Context<'_>, span: &Span) {
        if let Some(p) = self.pending.front_mut() {
            p.exchange.answer(span);
            self.tell_front(cx);
        }
    }
}
