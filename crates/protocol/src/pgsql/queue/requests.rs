//! What the client sends, into calls under way: one message makes one, or several of the extended protocol do.

use super::pending::{Pending, RequestKind};
use super::{Queue, SILENCE_NS, WAITED};
use crate::pgsql::names::{Portal, Work};
use crate::session::{Context, Span};
use crate::sql::Exchange;
use model::{Field, Name, Reason, Sql, Time, Where, limits, sql::op};
use std::sync::Arc;

impl Queue {
    /// The client begins something new at `at`.
    fn client_speaks(&mut self, cx: &mut Context<'_>, at: Time) {
        self.heal(cx);
        self.tell_before(cx);
        self.asked = Some(at);
        let unread = std::mem::take(&mut self.unread);
        if self.deaf.is_some() && !self.in_cycle {
            let before = self.waited;
            // Each time one answer: it waits. One that is not there may be in a hole.
            let ended = std::mem::take(&mut self.ended);
            self.waited = match (ended.max(unread.into()), self.torn_since) {
                (1, _) => self.waited.saturating_add(1),
                (0, true) => self.waited,
                _ => 0,
            };
            self.torn_since &= self.waited == before;
            let silent = self.last.is_some_and(|last| at - last >= SILENCE_NS);
            if silent || self.waited >= WAITED && !self.pipelines {
                let reason = self.deaf.take().unwrap_or(Reason::CaptureGap);
                while !self.pending.is_empty() {
                    self.drop_front(cx, reason);
                }
            }
        }
        // Who waits has been answered.
        while let Some(p) = self.pending.front_mut()
            && !self.pipelines
            && !self.in_cycle
            && self.spoken
            && (p.hurt.is_some() || p.was_answered_unseen())
        {
            if p.gapped {
                // Its end was in the gap.
                p.hurt = Some(Reason::CaptureGap);
            }
            let hurt = p.hurt;
            match hurt.filter(|_| !self.waits()) {
                Some(reason) => self.lose_count(cx, reason),
                None => self.settle_front(cx, Some(at)),
            }
        }
        if let Some(p) = self.pending.back_mut() {
            // Its Sync was cut off.
            p.ready |= p.blurred && p.kind == RequestKind::Extended && !self.in_cycle;
        }
        if self.pending.len() >= limits::OUTSTANDING {
            cx.problems.note("requests-evicted", || {
                let text = "too many requests wait for an answer".to_owned();
                (text, Where::default())
            });
            self.lose_count(cx, Reason::Evicted);
        }
    }

    /// Whether the server has an answer to give, as far as all was seen of those that it gave.
    fn is_waiting(&self) -> bool {
        let is_seen = |p: &Pending| !p.blurred && p.hurt.is_none();
        let is_whole = self.holes.to_client.is_none() && self.pending.front().is_some_and(is_seen);
        !self.pending.is_empty() && (is_whole || !self.spoken)
    }

    /// A request begins.
    pub(in crate::pgsql) fn open(
        &mut self,
        cx: &mut Context<'_>,
        kind: RequestKind,
        op: Name,
        span: &Span,
        sql: Arc<Sql>,
    ) {
        self.runs_ahead |= !self.in_cycle && self.is_waiting();
        self.heard_all |= kind == RequestKind::Startup;
        self.client_speaks(cx, span.first.time);
        if self.doubt && self.waited < WAITED {
            self.lose_count(cx, Reason::CaptureGap);
        }
        self.unasked = false;
        let exchange = Exchange::open(cx, op, *span, sql, self.pending.len());
        // What is sent behind a request in doubt, which is not answered yet, is so too.
        let doubt = std::mem::take(&mut self.doubt).then_some(Reason::CaptureGap);
        let before = self
            .pending
            .back()
            .filter(|p| p.exchange.response.is_none());
        let hurt = doubt.or(before.and_then(|p| p.hurt));
        self.spoken = false;
        self.pending.push_back(Pending {
            exchange,
            kind,
            steps: 0,
            ready: matches!(
                kind,
                RequestKind::Simple | RequestKind::Startup | RequestKind::Unknown
            ),
            building: matches!(kind, RequestKind::Extended | RequestKind::Unknown),
            executes: false,
            copying: false,
            rows: 0,
            returned: None,
            affected: None,
            blurred: kind == RequestKind::Unknown,
            hurt,
            gapped: false,
            failed: false,
            skipped: self.skipping && kind == RequestKind::Extended,
        });
    }

    /// A request that one message makes.
    pub(in crate::pgsql) fn whole(
        &mut self,
        cx: &mut Context<'_>,
        kind: RequestKind,
        work: Option<&Work>,
        span: &Span,
    ) {
        self.in_cycle = false;
        let op = match (kind, work) {
            (RequestKind::Negotiation, _) => op::NEGOTIATE,
            (RequestKind::Startup, _) => op::LOGON,
            (RequestKind::Cancel, _) => op::CANCEL,
            (_, Some(work)) => work.verb.op,
            (_, None) => op::OTHER,
        };
        let sql = work.map_or_else(|| Arc::clone(&self.sql), |w| Arc::clone(&w.sql));
        self.open(cx, kind, op, span, sql);
        if let (Some(p), Some(work)) = (self.pending.back_mut(), work)
            && let Some(rows) = work.verb.rows_asked
        {
            p.exchange.detail.set(Field::RowsAsked, rows);
        }
        self.sent(cx, span);
    }

    /// Operation of the request sent last.
    pub(in crate::pgsql) fn call_it(&mut self, op: Name) {
        if let Some(p) = self.pending.back_mut() {
            p.exchange.op = op;
        }
    }

    /// A request has passed.
    pub(super) fn sent(&mut self, cx: &mut Context<'_>, span: &Span) {
        self.last = self.last.max(Some(span.last.time));
        if let Some(reason) = self.deaf {
            while self.pending.front().is_some_and(|p| !p.building) {
                self.drop_front(cx, reason);
            }
        } else if !self.early.is_empty() {
            self.replay(cx, span.first.time);
        }
    }

    /// A step of the extended protocol: it belongs to the call that is being built.
    pub(in crate::pgsql) fn step(&mut self, cx: &mut Context<'_>, op: Name, span: &Span) {
        self.build(cx, op, span);
        if let Some(p) = self.pending.back_mut() {
            p.steps += 1;
            if op == op::CLOSE && p.exchange.op != op::CLOSE || op == op::PREPARE {
                p.exchange.op = op::PREPARE;
            }
        }
    }

    /// Closes something: as part of the call before it, if that has not been answered.
    pub(in crate::pgsql) fn close_name(&mut self, cx: &mut Context<'_>, span: &Span) {
        match self.pending.back_mut() {
            Some(p)
                if self.in_cycle && p.kind == RequestKind::Extended && !p.building && !p.ready =>
            {
                p.exchange.ask(span);
                p.steps += 1;
            }
            _ => self.step(cx, op::CLOSE, span),
        }
    }

    /// What was prepared is the statement of the call that is being built.
    pub(in crate::pgsql) fn is_about(&mut self, work: &Work) {
        if let Some(p) = self.pending.back_mut()
            && p.exchange.sql.statement.is_none()
        {
            p.exchange.sql = Arc::clone(&work.sql);
        }
    }

    /// Whether the server has begun to answer what is under way.
    fn is_answering(&self) -> bool {
        let front = self.pending.front();
        front.is_some_and(|p| p.exchange.response.is_some())
    }

    /// Goes on with the call that is being built, or begins one.
    fn build(&mut self, cx: &mut Context<'_>, op: Name, span: &Span) {
        let back = self.pending.back();
        // The end of its cycle was cut off, and the server has begun to answer.
        self.in_cycle &= !(back.is_some_and(|p| p.blurred) && self.is_answering());
        let goes_on = self.in_cycle && back.is_some_and(|p| p.building);
        if goes_on {
            self.heal(cx);
        }
        match self.pending.back_mut() {
            Some(p) if goes_on && p.building => p.exchange.ask(span),
            _ => {
                let sql = Arc::clone(&self.sql);
                self.open(cx, RequestKind::Extended, op, span, sql);
                self.in_cycle = true;
            }
        }
    }

    /// Executes a portal: ends the building of a call.
    pub(in crate::pgsql) fn execute(
        &mut self,
        cx: &mut Context<'_>,
        portal: &Portal,
        rows: u32,
        span: &Span,
    ) {
        self.build(cx, op::EXECUTE, span);
        let Some(p) = self.pending.back_mut() else {
            return;
        };
        p.steps += 1;
        p.executes = true;
        p.building = false;
        let mut asked = (rows > 0).then_some(u64::from(rows));
        let mut op = op::EXECUTE;
        if let Some(work) = &portal.work {
            p.exchange.sql = Arc::clone(&work.sql);
            op = work.verb.op;
            asked = asked.or(work.verb.rows_asked);
        }
        p.exchange.op = if portal.started { op::FETCH } else { op };
        if let Some(asked) = asked {
            p.exchange.detail.set(Field::RowsAsked, asked);
        }
        self.sent(cx, span);
    }

    /// The client wants what it has asked for so far.
    pub(in crate::pgsql) fn flush(&mut self, cx: &mut Context<'_>, span: &Span) {
        if let Some(p) = self.pending.back_mut()
            && self.in_cycle
            && p.exchange.response.is_none()
        {
            p.exchange.ask(span);
            p.building = false;
            self.sent(cx, span);
        }
    }

    /// The end of a cycle.
    pub(in crate::pgsql) fn sync(&mut self, cx: &mut Context<'_>, span: &Span) {
        let back = self.pending.back();
        self.in_cycle &= !(back.is_some_and(|p| p.blurred) && self.is_answering());
        let joins =
            self.in_cycle && back.is_some_and(|p| p.kind == RequestKind::Extended && !p.ready);
        if joins {
            self.heal(cx);
        }
        match self.pending.back_mut() {
            Some(p) if joins && !p.ready => {
                // Behind the last bytes of a COPY, or of the steps.
                if p.exchange.response.is_none() {
                    p.exchange.ask(span);
                }
                p.ready = true;
                p.building = false;
            }
            _ => {
                // Alone it asks for nothing but an answer; behind others it ends what they began.
                let op = match self.told_in_cycle || self.skipping {
                    true => op::OTHER,
                    false => op::PING,
                };
                let sql = Arc::clone(&self.sql);
                self.open(cx, RequestKind::Extended, op, span, sql);
                if let Some(p) = self.pending.back_mut() {
                    p.ready = true;
                    p.building = false;
                    p.skipped = false;
                }
            }
        }
        self.in_cycle = false;
        self.told_in_cycle = false;
        self.sent(cx, span);
    }

    /// Data of a COPY, or an answer to a request for authentication.
    pub(in crate::pgsql) fn more(&mut self, cx: &mut Context<'_>, copy: bool, span: &Span) {
        self.heal(cx);
        self.last = self.last.max(Some(span.last.time));
        if let Some(p) = self.pending.front_mut()
            && (p.copying && copy || p.kind == RequestKind::Startup && !copy)
        {
            p.exchange.ask_further(span);
        }
    }

    /// Bytes of the client of which the header was not seen.
    pub(in crate::pgsql) fn request_skipped(&mut self, cx: &mut Context<'_>, span: &Span) {
        // Of a request that was answered meanwhile nothing more is of use.
        let late = self.heard.is_some_and(|heard| span.last.time < heard);
        if late || self.deaf.is_some() || self.streaming || !self.knows_session() {
            return;
        }
        match self.pending.back_mut() {
            Some(p) if p.exchange.response.is_none() => {
                p.exchange.ask(span);
                p.blurred = true;
            }
            Some(p) if p.copying => p.exchange.ask_further(span),
            Some(_) if self.pipelines => {}
            _ => {
                let sql = Arc::clone(&self.sql);
                self.in_cycle = false;
                self.open(cx, RequestKind::Unknown, op::TURN, span, sql);
            }
        }
        self.last = self.last.max(Some(span.last.time));
    }

    fn knows_session(&self) -> bool {
        self.in_step || self.waited > 0 || !self.pending.is_empty()
    }
}
