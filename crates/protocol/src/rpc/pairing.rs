//! Requests and replies of one connection into calls: which belongs to which, how many are
//! outstanding, and what to say of those whose other half was not seen.

mod doubted;

use super::body;
use super::header::{ReplyHeader, Security};
use super::hidden::Lane;
use super::pending::{Orphan, Pending, Response, Shared};
use super::unseen::Unseen;
use crate::session::{Both, Context, Hole, Kept, Span, held_ns};
use arrayvec::ArrayVec;
use model::{
    Call, Change, Close, ConnectionId, Detail, Direction, Name, Outcome, Outstanding, Protocol,
    Reason, Time, Transport, Where, limits,
};
use std::collections::VecDeque;

/// Requests at the beginning of a connection that may be repetitions from the one before.
const FIRST_REQUESTS: u32 = 64;

/// A request that was not answered until the capture ended would have been if it had gone on: when it
/// was sent less than this before the end (the time after which an NFS client over TCP asks again),
const ANSWER_WAIT_NS: i64 = 60_000_000_000;
/// and no more than so many calls sent after it were answered.
const OVERTAKEN: u64 = 1024;

/// Calls that wait are no more than this where it is asked which of them were answered unseen.
const MANY: usize = 256;

/// How many times longer than usual a call must have waited to be doubted.
const UNUSUAL: i64 = 8;

/// A reply whose call has not been seen, in case it stands behind it in the file.
#[derive(Debug)]
pub(super) struct Early {
    pub header: ReplyHeader,
    pub results: Vec<u8>,
    pub span: Span,
    pub direction: Direction,
    /// Why its end was not seen, where it was not.
    pub missing: Reason,
    /// Whether its header was hidden and it is only known to stand there.
    pub inferred: bool,
}

/// When headers of a direction were last hidden in a hole.
#[derive(Clone, Copy, Default, Debug)]
struct Holes {
    cut: Option<Time>,
    gap: Option<Time>,
}

impl Holes {
    /// What hid messages of this direction at `t` or later.
    fn since(&self, t: Time) -> Option<Reason> {
        let since = |hole: Option<Time>| hole.is_some_and(|at| at >= t);
        if since(self.gap) {
            Some(Reason::CaptureGap)
        } else if since(self.cut) {
            Some(Reason::SnapLength)
        } else {
            None
        }
    }

    fn last(&self) -> Option<Time> {
        self.cut.max(self.gap)
    }
}

/// A call that was answered, to know another copy of its request or reply.
#[derive(Clone, Copy, Debug)]
struct Answered {
    xid: u32,
    direction: Direction,
    procedure: u32,
    request_bytes: u64,
}

/// What a call takes up that waits, with a name as long as names are.
const CALL_BYTES: usize = 2 * size_of::<Pending>() + 256;

/// Pairs the requests and replies of one connection.
#[derive(Default, Debug)]
pub(super) struct Pairing {
    early: VecDeque<Box<Early>>,
    /// Requests in the order in which they were sent, to forget the oldest when there are too many.
    order: VecDeque<(Direction, u32)>,
    /// Those of them whose reply is probably hidden in a hole.
    doubtful: VecDeque<(Direction, u32)>,
    /// Those of which it is not known yet when that passed.
    unclaimed: VecDeque<(Direction, u32)>,
    /// By direction of the requests.
    outstanding: Both<u32>,
    holes: Both<Holes>,
    /// A running mean of response times.
    usual_ns: i64,
    /// When the requests answered last were sent, each in its turn.
    answered_sent: [Time; 8],
    requests: u32,
    answers: u64,
    /// The calls answered last.
    answered: ArrayVec<Answered, 32>,
    opened: bool,
    /// Whether packets are cut, so that headers may be hidden.
    pub(super) watching: bool,
    /// By direction of the bytes for positions, of the requests for all else.
    pub(super) hidden: Both<Lane>,
    /// By direction of the bytes.
    pub(super) unseen: Both<Unseen>,
}

impl Pairing {
    /// What is kept of calls that wait, and of what may be hidden.
    pub(super) fn kept(&self, kept: Kept) -> Kept {
        let waiting = self.order.len() + self.doubtful.len() + self.unclaimed.len();
        let lanes =
            [Direction::ToServer, Direction::ToClient].map(|d| self.hidden.of(d).kept_bytes());
        kept.and(waiting, CALL_BYTES)
            .and(self.early.len(), size_of::<Early>())
            .and_each(lanes.into_iter())
            .and_each([self.unseen.to_server.bytes(), self.unseen.to_client.bytes()].into_iter())
    }

    /// Headers of a direction may have been in a hole.
    pub(super) fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        let holes = self.holes.of_mut(d);
        match hole {
            Hole::Cut => holes.cut = Some(at),
            Hole::Gap => {
                holes.gap = Some(at);
                self.unseen.of_mut(d).lacks(at);
                self.lose(d, at);
            }
        }
    }

    /// What hid the last bytes of a direction.
    pub(super) fn last_hole(&self, d: Direction) -> Option<Reason> {
        let holes = self.holes.of(d);
        holes.since(holes.last()?)
    }

    /// When the capture last lacked bytes of a direction.
    pub(super) fn last_gap(&self, d: Direction) -> Option<Time> {
        self.holes.of(d).gap
    }

    /// A request has passed.
    pub(super) fn request(&mut self, cx: &mut Context<'_>, mut pending: Box<Pending>) {
        let (d, sent) = (pending.direction, pending.request.first.time);
        let ends = cx.connection.ends(d);
        if !self.opened {
            self.opened = true;
            let c = cx.connection;
            cx.shared.rpc.opened(c.id, (c.client, c.server));
        }
        let moved = cx.shared.rpc.take_moved(cx.connection.id, d);
        let outstanding = self.outstanding.of_mut(d);
        *outstanding = outstanding.saturating_sub(moved);
        if cx.connection.transport == Transport::Udp && self.has_answered(&pending) {
            cx.problems.note("request-after-reply", || {
                let xid = pending.xid;
                let text = format!("XID 0x{xid:08x} was sent again although it was answered");
                (text, Where::default())
            });
            return;
        }
        if let Some(first) = cx.shared.rpc.get_mut(pending.key()) {
            if first.is_repeated_by(&pending) {
                first.retransmits += 1;
                return;
            }
            if let Some(old) = cx.shared.rpc.remove(pending.key()) {
                cx.problems.note("xid-reused", || {
                    let xid = old.xid;
                    let text = format!("XID 0x{xid:08x} was used again before it was answered");
                    (text, Where::default())
                });
                let reason = self.hidden(&old).unwrap_or(Reason::NoAnswer);
                self.give_up(cx, old, reason, sent);
            }
        } else if self.requests < FIRST_REQUESTS
            && let Some(first) =
                (cx.shared.rpc).take_first_sending(&pending, ends, cx.output, cx.order)
        {
            pending.request.first = first.request.first;
            pending.retransmits = first.retransmits + 1;
        }
        if pending.security == Security::Krb5p {
            cx.problems.note("krb5p-encrypted", || {
                let text = "calls with encrypted arguments and results (krb5p)".to_owned();
                (text, Where::default())
            });
        }
        self.requests = self.requests.saturating_add(1);
        if self.requests == FIRST_REQUESTS {
            self.settle_earlier_connections(cx);
        }
        let outstanding = self.outstanding.of_mut(d);
        *outstanding += 1;
        pending.outstanding = *outstanding;
        pending.answered_before = self.answers;
        pending.unseen = self.unseen.of_mut(d.reverse()).ask();
        let order = cx.order;
        (cx.output).change(|| pending.change(ends, order, sent, Change::Sent));
        self.remember(cx, d, pending.xid);
        let early = self.early.iter().position(|e| {
            e.header.xid == pending.xid && e.direction != d && e.span.first.time >= sent
        });
        let early = early.and_then(|i| self.early.remove(i));
        match early.or_else(|| self.kept_reply(d, pending.xid, sent)) {
            Some(e) => {
                pending.outcome = body::outcome(&e.header, &e.results, &mut pending);
                let from = (cx.order, cx.connection.id);
                body::file_names(&e.header, &e.results, &mut pending, from, cx.output);
                self.reply(cx, &mut pending, &e.span, e.missing);
            }
            None => cx.shared.rpc.insert(pending),
        }
    }

    /// Keeps the order of requests, and gives up the oldest when too many wait.
    fn remember(&mut self, cx: &mut Context<'_>, d: Direction, xid: u32) {
        self.order.push_back((d, xid));
        while self.outstanding() > limits::OUTSTANDING {
            let Some((d, xid)) = self.order.pop_front() else {
                return;
            };
            if let Some(p) = cx.shared.rpc.remove((cx.connection.id, d, xid)) {
                cx.problems.note("requests-evicted", || {
                    let limit = limits::OUTSTANDING;
                    let text =
                        format!("more than {limit} requests without a reply on a connection");
                    (text, Where::default())
                });
                let now = cx.now;
                self.give_up(cx, p, Reason::Evicted, now);
            }
        }
        if self.order.len() > 2 * self.outstanding() + 1024 {
            self.forget_answered(&cx.shared.rpc, cx.connection.id);
        }
    }

    /// Calls that are waited for, of both directions.
    fn outstanding(&self) -> usize {
        (self.outstanding.to_server + self.outstanding.to_client) as usize
    }

    /// Those that are over are no more in the order of requests.
    fn forget_answered(&mut self, shared: &Shared, id: ConnectionId) {
        self.order.retain(|&(d, xid)| shared.contains((id, d, xid)));
    }

    /// A call is no longer waited for.
    fn settle(&mut self, cx: &mut Context<'_>, call: &mut Pending, at: Time) {
        if call.counted {
            call.counted = false;
            let outstanding = self.outstanding.of_mut(call.direction);
            *outstanding = outstanding.saturating_sub(1);
            let ends = cx.connection.ends(call.direction);
            let order = cx.order;
            (cx.output).change(|| call.change(ends, order, at, Change::Settled));
        }
    }

    /// Reports a call without a response.
    fn give_up(&mut self, cx: &mut Context<'_>, mut p: Box<Pending>, reason: Reason, at: Time) {
        self.settle(cx, &mut p, at);
        self.hide(&mut p);
        let outcome = Outcome::NoResponse(reason);
        let ends = cx.connection.ends(p.direction);
        let (order, texts) = (cx.order, &mut cx.shared.rpc.texts);
        (cx.output).call(|| p.call(ends, order, outcome, Response::default(), texts));
    }

    /// What may hide the call's reply.
    fn hidden(&self, p: &Pending) -> Option<Reason> {
        let replies = self.holes.of(p.direction.reverse());
        replies.since(p.request.last.time)
    }

    /// Why a call has no response at the end of its connection or of the capture.
    fn reason(&self, p: &Pending, why: Close, end: Time) -> Reason {
        if let Some(hidden) = self.hidden(p) {
            return hidden;
        }
        let overtaken = (self.answers - p.answered_before).saturating_sub(p.outstanding.into());
        let recent = end - p.request.last.time < ANSWER_WAIT_NS && overtaken < OVERTAKEN;
        match why {
            why if recent => why.reason(),
            _ => Reason::NoAnswer,
        }
    }

    /// Replies have been hidden in a hole: stops counting calls sent before it that have waited many
    /// times longer than calls usually do. Should their reply come after all, they are paired.
    fn doubt(&mut self, cx: &mut Context<'_>, answered: &Pending, at: Time) {
        let took = (at - answered.request.first.time).max(0);
        self.usual_ns += (took - self.usual_ns) / 16;
        let turn = (self.answers % self.answered_sent.len() as u64) as usize;
        if let Some(oldest) = self.answered_sent.get_mut(turn) {
            *oldest = answered.request.last.time;
        }
        let replies = *self.holes.of(answered.direction.reverse());
        let Some(hole) = replies.last() else {
            return;
        };
        let passed_over = self.passed_over();
        while let Some(&(d, xid)) = self.order.front() {
            let key = (cx.connection.id, d, xid);
            if let Some(p) = cx.shared.rpc.get_mut(key) {
                let sent = p.request.last.time;
                let overdue = at - sent > UNUSUAL * self.usual_ns || passed_over > sent;
                if sent >= hole || !overdue {
                    return;
                }
                if p.counted {
                    p.counted = false;
                    let outstanding = self.outstanding.of_mut(d);
                    *outstanding = outstanding.saturating_sub(1);
                    let (ends, order) = (cx.connection.ends(d), cx.order);
                    (cx.output).change(|| p.change(ends, order, at, Change::Settled));
                }
                if let Some(mut p) = cx.shared.rpc.remove(key) {
                    self.hide(&mut p);
                    match p.claimed {
                        Some(_) => self.doubtful.push_back((d, xid)),
                        None => self.unclaimed.push_back((d, xid)),
                    }
                    cx.shared.rpc.insert(p);
                }
                if self.unclaimed.len() > MANY {
                    self.unseen.of_mut(d.reverse()).forget(sent);
                    self.doubtful.extend(self.unclaimed.pop_front());
                }
            }
            self.order.pop_front();
            if self.doubtful.len() > limits::DOUBTFUL
                && let Some((d, xid)) = self.doubtful.pop_front()
                && let Some(p) = cx.shared.rpc.remove((cx.connection.id, d, xid))
            {
                let reason = self.hidden(&p).unwrap_or(Reason::NoAnswer);
                self.give_up(cx, p, reason, at);
            }
        }
    }

    /// A call sent before all of the last few that were answered has been passed over by them.
    pub(super) fn passed_over(&self) -> Time {
        let all = self.answers + 1 >= self.answered_sent.len() as u64;
        let earliest = self.answered_sent.iter().copied().min().filter(|_| all);
        earliest.unwrap_or(Time::MIN)
    }

    /// The reply to `pending` has passed; its end was not captured for the reason `missing`, if at
    /// all.
    pub(super) fn reply(
        &mut self,
        cx: &mut Context<'_>,
        pending: &mut Pending,
        span: &Span,
        missing: Reason,
    ) {
        // Replies mostly come in the order of their requests: keeps the list short. A call that was
        // inferred is not in it, but its request, seen when it was sent again, may be.
        if pending.counted && self.order.front() == Some(&(pending.direction, pending.xid)) {
            self.order.pop_front();
        }
        if let Some(reply) = pending.claimed.take() {
            self.is_anothers(cx, pending.direction, reply);
        }
        self.settle(cx, pending, span.last.time);
        self.doubt(cx, pending, span.last.time);
        self.remember_answered(pending);
        let outcome = if span.end_missing {
            Outcome::Incomplete(missing)
        } else if pending.request.end_missing {
            Outcome::Incomplete(Reason::CaptureGap)
        } else {
            pending.outcome
        };
        if cx.output.counts(outcome) {
            return;
        }
        let request_last = pending.request.last.time;
        let ends = cx.connection.ends(pending.direction);
        let response = Response {
            sequence: span.sequence,
            first: Some(span.first),
            last: (!span.end_missing).then_some(span.last),
            bytes: span.bytes,
            held_ns: held_ns(span.first_held_since, request_last, span.first.time)
                + held_ns(span.last_held_since, span.first.time, span.last.time),
        };
        let (order, texts) = (cx.order, &mut cx.shared.rpc.texts);
        (cx.output).call(|| pending.call(ends, order, outcome, response, texts));
    }

    fn remember_answered(&mut self, call: &Pending) {
        let answered = Answered {
            xid: call.xid,
            direction: call.direction,
            procedure: call.procedure,
            request_bytes: call.request.bytes,
        };
        if self.answered.is_full() {
            let oldest = (self.answers % self.answered.capacity() as u64) as usize;
            if let Some(slot) = self.answered.get_mut(oldest) {
                *slot = answered;
            }
        } else {
            self.answered.push(answered);
        }
        self.answers += 1;
    }

    /// Whether this very request was answered a short while ago.
    fn has_answered(&self, request: &Pending) -> bool {
        self.answered.iter().any(|a| {
            (a.xid, a.direction) == (request.xid, request.direction)
                && (a.procedure, a.request_bytes) == (request.procedure, request.request.bytes)
        })
    }

    /// A reply without a call: kept for a while, as packets may stand in the wrong order.
    pub(super) fn early_reply(&mut self, cx: &mut Context<'_>, early: Box<Early>) {
        let key = (early.header.xid, early.direction.reverse());
        if self.answered.iter().any(|a| (a.xid, a.direction) == key) {
            cx.problems.note("duplicate-reply", || {
                let xid = early.header.xid;
                let text = format!("XID 0x{xid:08x} was answered twice");
                (text, Where::default())
            });
            return;
        }
        if self.watching {
            self.hidden.of_mut(key.1).answer(&early);
        }
        let (server, client) = cx.connection.ends(early.direction);
        cx.output.change(|| Outstanding {
            order: cx.order,
            time: early.span.last.time,
            connection: cx.connection.id,
            client,
            server,
            id: early.header.xid,
            change: Change::Stray,
        });
        if self.watching && self.hidden.of(key.1).hides() {
            return self.keep_reply(cx, early);
        }
        if self.early.len() >= limits::EARLY_RESPONSES
            && let Some(oldest) = self.early.pop_front()
        {
            self.no_request(cx, &oldest);
        }
        self.early.push_back(early);
    }

    pub(super) fn no_request(&self, cx: &mut Context<'_>, early: &Early) {
        let (server, client) = cx.connection.ends(early.direction);
        let hidden = self.last_hole(early.direction.reverse());
        let Early { header, span, .. } = early;
        cx.output.calls.push(Call {
            order: cx.order,
            connection: cx.connection.id,
            protocol: Protocol::Rpc,
            op: Name::of("REPLY"),
            client,
            server,
            id: header.xid,
            request_sequence: 0,
            response_sequence: span.sequence,
            request_first: None,
            request_last: None,
            response_first: Some(span.first),
            response_last: (!span.end_missing).then_some(span.last),
            request_bytes: 0,
            response_bytes: span.bytes,
            outcome: Outcome::NoRequest(hidden.unwrap_or(Reason::BeforeCapture)),
            outstanding: 0,
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

    fn settle_earlier_connections(&mut self, cx: &mut Context<'_>) {
        let ends = (cx.connection.client, cx.connection.server);
        cx.shared.rpc.settle(ends, cx.output, cx.order);
    }

    /// The connection is over.
    pub(super) fn close(&mut self, cx: &mut Context<'_>, why: Close) {
        while let Some(early) = self.early.pop_front() {
            self.no_request(cx, &early);
        }
        self.settle_hidden(cx);
        let now = cx.now;
        let mut left = Vec::new();
        let [doubtful, unclaimed, order] =
            [&mut self.doubtful, &mut self.unclaimed, &mut self.order].map(std::mem::take);
        for (d, xid) in doubtful.into_iter().chain(unclaimed).chain(order) {
            let Some(mut p) = cx.shared.rpc.remove((cx.connection.id, d, xid)) else {
                continue;
            };
            let reason = self.reason(&p, why, now);
            if why.is_of_looking() {
                self.give_up(cx, p, reason, now);
            } else {
                if d == Direction::ToServer && reason == Reason::NoAnswer {
                    cx.output.left.push(p.request.last.time);
                }
                self.settle(cx, &mut p, now);
                self.hide(&mut p);
                left.push(Orphan {
                    ends: cx.connection.ends(d),
                    call: p,
                    reason,
                });
            }
        }
        if self.opened {
            if self.requests < FIRST_REQUESTS {
                self.settle_earlier_connections(cx);
            }
            let c = cx.connection;
            cx.shared.rpc.closed(c.id, (c.client, c.server), left);
        }
    }
}
