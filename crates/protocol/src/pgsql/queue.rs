//! Requests in the order in which they were sent, and what the server says in the order in which it
//! answers: pairs of them into calls. The protocol has no ids, so a hole may leave two possibilities:
//! - A client that waits for each answer before it asks on has one request under way. Where the snap
//!   length cuts headers off, all that the server says until the client speaks again answers it, as
//!   with turns; where the end was not seen, the call is marked as inferred.
//! - Of a client that was seen to send on without waiting nothing is paired behind such a hole until
//!   both sides have been silent for a while, when everything has been answered. Of one of which too
//!   little is known, until it has waited for its answers for a while.
//! - Packets missing from the capture may hide any number of requests and answers, so calls that were
//!   under way then never become complete, but for those of which the beginning and the end of the
//!   answer were seen.

use super::names::{Portal, Work};
use super::reply::Reply;
use super::tag::Tag;
use crate::session::{Both, Context, Hole, Span};
use crate::sql::Exchange;
use model::{
    Close, Code, Direction, Field, Name, Outcome, Protocol, Reason, Sql, SqlSession, Time, Where,
    limits, sql::op,
};
use std::collections::VecDeque;
use std::sync::Arc;

/// A silence after which everything that was asked is taken to be answered, where nothing better
/// tells.
const SILENCE_NS: i64 = 1_000_000_000;

/// Packets of one host stand in the file no more out of order than this.
const OUT_OF_ORDER_NS: i64 = 1_000_000;

/// A client that has waited for so many answers in a row is one that waits.
const WAITED: u32 = 8;

/// What opened a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// SSLRequest or GSSENCRequest: answered with one byte.
    Negotiation,
    Startup,
    Cancel,
    /// Query or FunctionCall: over with ReadyForQuery.
    Simple,
    /// Messages of the extended protocol: over when each was answered.
    Extended,
    /// The header was not captured.
    Unknown,
}

/// A call under way.
#[derive(Clone, Debug)]
struct Pending {
    exchange: Exchange,
    kind: Kind,
    /// Steps of the extended protocol that are still to be answered.
    steps: u32,
    /// A ReadyForQuery is to come.
    ready: bool,
    /// The client may add to it.
    building: bool,
    executes: bool,
    /// The server takes CopyData.
    copying: bool,
    rows: u64,
    /// From command tags.
    returned: Option<u64>,
    affected: Option<u64>,
    /// Headers of its own were cut off, or may have been in a hole.
    blurred: bool,
    /// Packets are missing that may have held part of it, or all of its answer.
    hurt: Option<Reason>,
    /// Packets are missing from the midst of its answer, or from its end.
    gapped: bool,
    /// The server failed it, and will not say more of it than that.
    failed: bool,
    skipped: bool,
}

/// What the server said before its request was seen.
#[derive(Debug)]
struct Early {
    reply: Reply,
    span: Span,
}

/// The calls of a session.
#[derive(Default, Debug)]
pub(super) struct Queue {
    pending: VecDeque<Pending>,
    early: Vec<Early>,
    /// Whose session it is; the record of a call without a statement.
    pub sql: Arc<Sql>,
    /// Messages of the extended protocol were sent since the last Sync.
    in_cycle: bool,
    /// Of which calls were told.
    told_in_cycle: bool,
    /// The server ignores everything until the next Sync.
    skipping: bool,
    /// START_REPLICATION and the like: both sides stream, and nobody answers.
    streaming: bool,
    holes: Both<Option<Hole>>,
    /// Answers the client waited for in a row; those it did not wait for at all.
    waited: u32,
    pipelines: bool,
    /// Requests and answers cannot be told apart any more, and why.
    deaf: Option<Reason>,
    /// Answers that ended since the client last spoke, while that is so.
    ended: u32,
    last: Option<Time>,
    /// Whether an exchange was seen from its start to its end; whether headers were ever hidden.
    in_step: bool,
    torn: bool,
    /// The server has said something since the last request that was seen, and nobody had asked.
    unasked: bool,
    /// A request may be hidden in front of the next one.
    doubt: bool,
    /// A call that is over, but for bytes of its answer that may yet turn out to be no header.
    settled: Option<Pending>,
    /// What came early is looked at again.
    replaying: bool,
    /// When the server last said anything.
    heard: Option<Time>,
}

impl Queue {
    pub(super) fn is_negotiating(&self) -> bool {
        self.pending
            .front()
            .is_some_and(|p| p.kind == Kind::Negotiation)
    }

    /// Headers may have been in a hole; what follows from it is decided when something follows it.
    pub(super) fn hole(&mut self, d: Direction, hole: Hole) {
        let known = self.holes.of_mut(d);
        if *known != Some(Hole::Gap) {
            *known = Some(hole);
        }
    }

    /// Whether a request was found behind a hole only after the server spoke, which may have answered it.
    pub(super) fn is_late(&self, span: &Span) -> bool {
        self.torn && self.heard.is_some_and(|heard| span.last.time < heard)
    }

    /// How many round trips the client has begun.
    fn cycles(&self) -> usize {
        let open = self.pending.back().is_some_and(|p| !p.ready);
        self.pending.iter().filter(|p| p.ready).count() + usize::from(open)
    }

    /// Draws the consequences of holes.
    #[inline]
    fn heal(&mut self, cx: &mut Context<'_>) {
        if self.holes.to_server.is_some() || self.holes.to_client.is_some() {
            self.judge_holes(cx);
        }
    }

    #[cold]
    fn judge_holes(&mut self, cx: &mut Context<'_>) {
        (self.in_step, self.torn) = (false, true);
        let to_server = self.holes.to_server.take();
        let to_client = self.holes.to_client.take();
        let gap = to_server == Some(Hole::Gap) || to_client == Some(Hole::Gap);
        let reason = match gap {
            true => Reason::CaptureGap,
            false => Reason::SnapLength,
        };
        if to_server.is_some() {
            self.early.clear();
        }
        let copies = to_client.is_none() && self.pending.front().is_some_and(|p| p.copying);
        let hidden = to_server == Some(Hole::Gap) && !copies;
        let several = self.cycles() > 1 || hidden && !self.pending.is_empty();
        if self.pipelines || several && self.waited < WAITED {
            self.lose_count(cx, reason);
            return;
        }
        // What was hidden was answered, if the server has answered what was not seen.
        let answered = std::mem::take(&mut self.unasked);
        self.doubt |= hidden && !answered;
        // The client waits: all but its last request were answered, in a hole.
        while self.cycles() > 1 {
            self.drop_front(cx, reason);
        }
        let alone = self.pending.len() == 1;
        let of_client = to_server == Some(Hole::Gap);
        for p in &mut self.pending {
            // While it copies only data comes from the client; and what goes on behind a gap had begun.
            if alone && p.copying && to_client.is_none() {
                p.blurred = true;
            } else if alone && gap && !of_client && p.exchange.response.is_some() {
                (p.blurred, p.gapped) = (true, true);
            } else if gap || !alone {
                p.hurt.get_or_insert(reason);
            } else {
                p.blurred = true;
            }
        }
    }

    /// Nobody knows any more what answers what.
    fn lose_count(&mut self, cx: &mut Context<'_>, reason: Reason) {
        self.doubt = false;
        while !self.pending.is_empty() {
            self.drop_front(cx, reason);
        }
        self.early.clear();
        self.deaf = Some(reason);
        self.ended = 0;
        self.in_cycle = false;
        self.skipping = false;
        cx.problems.note("pgsql-out-of-step", || {
            let (client, server) = (cx.connection.client, cx.connection.server);
            let text = format!(
                "{client} to {server}: sends without waiting, and headers are missing: calls are not paired until a pause"
            );
            (text, Where::default())
        });
    }

    fn drop_front(&mut self, cx: &mut Context<'_>, reason: Reason) {
        self.tell_settled(cx);
        if let Some(p) = self.pending.pop_front() {
            p.give_up(cx, reason);
        }
    }

    /// The client begins something new at `at`.
    fn client_speaks(&mut self, cx: &mut Context<'_>, at: Time) {
        self.heal(cx);
        if self.deaf.is_some() && !self.in_cycle {
            // Each time one answer: it waits.
            self.waited = match std::mem::take(&mut self.ended) {
                1 => self.waited.saturating_add(1),
                _ => 0,
            };
            let silent = self.last.is_some_and(|last| at - last >= SILENCE_NS);
            if silent || self.waited >= WAITED && !self.pipelines {
                self.deaf = None;
            }
        }
        // Who waits has been answered.
        while let Some(p) = self.pending.front_mut()
            && !self.pipelines
            && !self.in_cycle
            && (p.hurt.is_some() || p.was_answered_unseen())
        {
            if p.gapped {
                // Its end was in the gap.
                p.hurt = Some(Reason::CaptureGap);
            }
            if let (Some(reason), true) = (p.hurt, self.waited < WAITED) {
                self.lose_count(cx, reason);
            } else {
                self.settle_front(cx);
            }
        }
        if let Some(p) = self.pending.back_mut() {
            // Its Sync was cut off.
            p.ready |= p.blurred && p.kind == Kind::Extended && !self.in_cycle;
        }
        if self.pending.len() >= limits::OUTSTANDING {
            cx.problems.note("requests-evicted", || {
                let text = "too many requests wait for an answer".to_owned();
                (text, Where::default())
            });
            self.lose_count(cx, Reason::Evicted);
        }
    }

    /// The first call is over as far as anybody can tell, though its end was not seen.
    fn settle_front(&mut self, cx: &mut Context<'_>) {
        let Some(mut p) = self.pending.pop_front() else {
            return;
        };
        if p.hurt.is_none() {
            p.exchange.detail.set(Field::Inferred, 1);
        }
        self.tell_settled(cx);
        self.settled = Some(p);
    }

    /// Whether these bytes of the server came before the request that now waits, and so belong to the
    /// call before it.
    fn belongs_to_settled(&mut self, span: &Span) -> bool {
        let is_late = self.pending.front().is_some_and(|p| p.is_younger(span));
        match &mut self.settled {
            Some(settled) if is_late => {
                settled.exchange.answer(span);
                true
            }
            _ => false,
        }
    }

    #[inline]
    fn tell_settled(&mut self, cx: &mut Context<'_>) {
        if self.settled.is_some()
            && let Some(p) = self.settled.take()
        {
            p.finish(cx);
        }
    }

    /// A request begins.
    pub(super) fn open(
        &mut self,
        cx: &mut Context<'_>,
        kind: Kind,
        op: Name,
        span: &Span,
        sql: Arc<Sql>,
    ) {
        self.client_speaks(cx, span.first.time);
        if self.doubt && self.waited < WAITED {
            self.lose_count(cx, Reason::CaptureGap);
        }
        self.unasked = false;
        let exchange = Exchange::open(cx, op, *span, sql, self.pending.len());
        self.pending.push_back(Pending {
            exchange,
            kind,
            steps: 0,
            ready: matches!(kind, Kind::Simple | Kind::Startup | Kind::Unknown),
            building: matches!(kind, Kind::Extended | Kind::Unknown),
            executes: false,
            copying: false,
            rows: 0,
            returned: None,
            affected: None,
            blurred: kind == Kind::Unknown,
            hurt: std::mem::take(&mut self.doubt).then_some(Reason::CaptureGap),
            gapped: false,
            failed: false,
            skipped: self.skipping && kind == Kind::Extended,
        });
    }

    /// A request that one message makes.
    pub(super) fn whole(
        &mut self,
        cx: &mut Context<'_>,
        kind: Kind,
        work: Option<&Work>,
        span: &Span,
    ) {
        self.in_cycle = false;
        let op = match (kind, work) {
            (Kind::Negotiation, _) => op::NEGOTIATE,
            (Kind::Startup, _) => op::LOGON,
            (Kind::Cancel, _) => op::CANCEL,
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
    pub(super) fn call_it(&mut self, op: Name) {
        if let Some(p) = self.pending.back_mut() {
            p.exchange.op = op;
        }
    }

    /// A request has passed.
    fn sent(&mut self, cx: &mut Context<'_>, span: &Span) {
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
    pub(super) fn step(&mut self, cx: &mut Context<'_>, op: Name, span: &Span) {
        self.build(cx, op, span);
        if let Some(p) = self.pending.back_mut() {
            p.steps += 1;
            if op == op::CLOSE && p.exchange.op != op::CLOSE || op == op::PREPARE {
                p.exchange.op = op::PREPARE;
            }
        }
    }

    /// Closes something: as part of the call before it, if that has not been answered.
    pub(super) fn close_name(&mut self, cx: &mut Context<'_>, span: &Span) {
        match self.pending.back_mut() {
            Some(p) if self.in_cycle && p.kind == Kind::Extended && !p.building && !p.ready => {
                p.exchange.ask(span);
                p.steps += 1;
            }
            _ => self.step(cx, op::CLOSE, span),
        }
    }

    /// What was prepared is the statement of the call that is being built.
    pub(super) fn is_about(&mut self, work: &Work) {
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
                self.open(cx, Kind::Extended, op, span, sql);
                self.in_cycle = true;
            }
        }
    }

    /// Executes a portal: ends the building of a call.
    pub(super) fn execute(
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
    pub(super) fn flush(&mut self, cx: &mut Context<'_>, span: &Span) {
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
    pub(super) fn sync(&mut self, cx: &mut Context<'_>, span: &Span) {
        let back = self.pending.back();
        self.in_cycle &= !(back.is_some_and(|p| p.blurred) && self.is_answering());
        let joins = self.in_cycle && back.is_some_and(|p| p.kind == Kind::Extended && !p.ready);
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
                self.open(cx, Kind::Extended, op, span, sql);
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
    pub(super) fn more(&mut self, cx: &mut Context<'_>, copy: bool, span: &Span) {
        self.heal(cx);
        self.last = self.last.max(Some(span.last.time));
        if let Some(p) = self.pending.front_mut()
            && (p.copying && copy || p.kind == Kind::Startup && !copy)
        {
            p.exchange.ask_further(span);
        }
    }

    /// Bytes of the client of which the header was not seen.
    pub(super) fn request_skipped(&mut self, cx: &mut Context<'_>, span: &Span) {
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
                self.open(cx, Kind::Unknown, op::TURN, span, sql);
            }
        }
        self.last = self.last.max(Some(span.last.time));
    }

    /// Bytes of the server of which the header was not seen.
    pub(super) fn reply_skipped(&mut self, cx: &mut Context<'_>, span: &Span) {
        self.last = self.last.max(Some(span.last.time));
        self.heard = self.heard.max(Some(span.last.time));
        if self.belongs_to_settled(span) {
            return;
        }
        self.tell_settled(cx);
        if self.deaf.is_some() {
            self.ended = self.ended.max(1);
        }
        if self.deaf.is_some() || self.streaming {
            return;
        }
        if let Some(p) = self.pending.front_mut()
            && !p.is_younger(span)
        {
            p.exchange.answer(span);
            p.blurred = true;
        }
    }

    fn knows_session(&self) -> bool {
        self.in_step || self.waited > 0 || !self.pending.is_empty()
    }

    /// What came early answers the request that was now seen, if they stand only a little out of order.
    #[cold]
    fn replay(&mut self, cx: &mut Context<'_>, asked: Time) {
        self.replaying = true;
        for early in std::mem::take(&mut self.early) {
            if (asked - early.span.first.time).abs() <= OUT_OF_ORDER_NS {
                self.reply(cx, early.reply, &early.span);
            }
        }
        self.replaying = false;
    }

    /// The server says something.
    pub(super) fn reply(&mut self, cx: &mut Context<'_>, reply: Reply, span: &Span) {
        if self.settled.is_some() {
            if self.belongs_to_settled(span) {
                return;
            }
            self.tell_settled(cx);
        }
        self.heal(cx);
        self.last = self.last.max(Some(span.last.time));
        self.heard = self.heard.max(Some(span.last.time));
        if self.streaming {
            self.streaming = !matches!(reply, Reply::ReadyForQuery { .. });
            return;
        }
        if self.deaf.is_some() {
            self.ended += u32::from(matches!(reply, Reply::ReadyForQuery { .. }));
            return;
        }
        let Some(p) = self.pending.front_mut() else {
            self.unasked(cx, reply, span);
            return;
        };
        if !self.replaying && p.is_younger(span) {
            return;
        }
        match reply {
            // Not said in answer to anything, unless it stands within an answer.
            Reply::Notification | Reply::ParameterStatus
                if p.exchange.response.is_none() && p.kind != Kind::Startup =>
            {
                return;
            }
            _ => p.exchange.answer(span),
        }
        match reply {
            Reply::Rows(n) => {
                p.rows += n;
                return;
            }
            Reply::CopyData => return,
            Reply::Step | Reply::RowDescription if p.kind == Kind::Extended => {
                p.steps = p.steps.saturating_sub(1);
            }
            Reply::Complete(tag) => p.completed(tag),
            Reply::PortalSuspended | Reply::EmptyQuery => p.completed(Tag::Other),
            Reply::CopyOut => p.exchange.op = op::COPY,
            Reply::CopyIn => {
                p.exchange.op = op::COPY;
                p.copying = true;
                if p.kind == Kind::Extended {
                    // It ignores Syncs until the copying is done.
                    p.ready = false;
                    self.in_cycle = true;
                }
            }
            Reply::CopyBoth => {
                p.exchange.op = op::COPY;
                self.streaming = true;
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
            && p.kind == Kind::Extended
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

    fn failed(&mut self, cx: &mut Context<'_>, code: Code, fatal: bool) {
        let Some(p) = self.pending.front_mut() else {
            return;
        };
        p.exchange.outcome = Outcome::Code(code);
        p.failed = true;
        p.copying = false;
        match p.kind {
            Kind::Startup | Kind::Negotiation | Kind::Cancel => self.tell_front(cx),
            Kind::Extended => {
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
                    p.skipped = p.kind == Kind::Extended;
                    if p.ready {
                        break;
                    }
                }
                self.told_in_cycle = true;
            }
            Kind::Simple | Kind::Unknown => {
                if fatal {
                    self.tell_front(cx);
                }
            }
        }
    }

    /// The server waits for the next cycle.
    fn ready(&mut self, cx: &mut Context<'_>, span: &Span) {
        self.skipping = false;
        let own = self.pending.front().map(|p| (p.blurred, p.hurt));
        // Everything up to the end of the cycle is over.
        let mut last = false;
        while let Some(mut p) = self.pending.pop_front() {
            last = p.ready;
            if p.exchange.response.is_none() {
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

    /// Whether nothing is under way.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The server says something, and nobody has asked.
    #[cold]
    fn unasked(&mut self, cx: &mut Context<'_>, reply: Reply, span: &Span) {
        if reply.is_unasked() {
            return;
        }
        if matches!(reply, Reply::ReadyForQuery { .. }) {
            // One answer is that of one hidden request.
            self.unasked = !std::mem::take(&mut self.doubt);
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

    /// The answer to a request for encryption.
    pub(super) fn negotiated(&mut self, cx: &mut Context<'_>, span: &Span) {
        if let Some(p) = self.pending.front_mut() {
            p.exchange.answer(span);
            self.tell_front(cx);
        }
    }

    /// What became known of the session belongs to the calls that are under way too.
    pub(super) fn set_session(&mut self, session: SqlSession) {
        let session = Arc::new(session);
        self.sql = Arc::new(Sql {
            session,
            statement: None,
        });
        for p in &mut self.pending {
            if matches!(p.kind, Kind::Startup | Kind::Negotiation) {
                p.exchange.sql = Arc::clone(&self.sql);
            }
        }
    }

    /// The connection is over.
    pub(super) fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        self.heal(cx);
        let silent = self.last.is_some_and(|last| cx.now - last >= SILENCE_NS);
        let reason = match why {
            Close::EndOfCapture => Reason::AfterCapture,
            _ => Reason::NoAnswer,
        };
        for p in std::mem::take(&mut self.pending) {
            let begun = p.exchange.response.is_some();
            let over = p.blurred && p.hurt.is_none() && (why != Close::EndOfCapture || silent);
            if begun && (p.failed || over) {
                self.pending.push_front(p);
                self.settle_front(cx);
            } else {
                p.give_up(cx, reason);
            }
        }
        self.tell_settled(cx);
        self.early.clear();
    }
}

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

impl Pending {
    /// Whether the server has said something to it, and nothing shows where that ends.
    fn was_answered_unseen(&self) -> bool {
        self.blurred && self.exchange.response.is_some()
    }

    /// Whether its request was captured behind these bytes of the server, which then answer another.
    fn is_younger(&self, span: &Span) -> bool {
        let (asked, said) = (self.exchange.request.first, span.first);
        let place = |m: model::Mark| (m.packet.file, m.packet.frame);
        said.time < asked.time && place(said) < place(asked)
    }

    /// A command has done its work.
    fn completed(&mut self, tag: Tag) {
        if self.kind == Kind::Extended {
            self.steps = self.steps.saturating_sub(1);
        }
        self.copying = false;
        let (sum, n) = match tag {
            Tag::Returned(n) | Tag::Copied(n) => (&mut self.returned, n),
            Tag::Affected(n) => (&mut self.affected, n),
            Tag::Other => return,
        };
        *sum = Some(sum.unwrap_or(0).saturating_add(n));
    }

    /// The call is over.
    fn finish(mut self, cx: &mut Context<'_>) {
        if let Some(reason) = self.hurt {
            self.give_up(cx, reason);
            return;
        }
        self.count();
        self.exchange.finish(cx, Protocol::Pgsql);
    }

    fn give_up(mut self, cx: &mut Context<'_>, reason: Reason) {
        self.count();
        self.exchange.give_up(cx, Protocol::Pgsql, reason);
    }

    /// Writes down how many rows there were.
    fn count(&mut self) {
        let detail = &mut self.exchange.detail;
        let blurred = self.blurred || self.hurt.is_some();
        match (self.rows, self.returned) {
            // CREATE TABLE AS returns nothing, and counts like a SELECT.
            (0, Some(n)) if n > 0 && !blurred && self.exchange.op == op::EXECUTE => {
                detail.set(Field::Affected, n);
            }
            (rows, Some(n)) => detail.set(Field::Rows, rows.max(n)),
            (rows, None) if rows > 0 && !blurred => detail.set(Field::Rows, rows),
            _ => {}
        }
        if let Some(affected) = self.affected {
            detail.set(Field::Affected, affected);
        }
    }
}
