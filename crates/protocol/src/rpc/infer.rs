//! Calls of messages whose headers the snap length hides: hands what passes to [`hidden`], and makes
//! calls of what it finds.
//!
//! Such a call carries [`Field::Inferred`]. It is known long after it was sent, so it is not counted
//! among the outstanding ones: its own count is 0, and those sent while it was outstanding lack it.
//!
//! [`hidden`]: super::hidden

use super::body;
use super::header::ReplyHeader;
use super::hidden::{Passed, Settled};
use super::pairing::{Early, Pairing};
use super::pending::Pending;
use super::positions::{Runs, Seen};
use super::unseen::{self, Among, Waiting};
use crate::session::{Context, Run, Span};
use model::{Direction, Field, Outcome, Reason, Time, Where, limits};

impl Pairing {
    /// Packets are cut, so that headers may be hidden.
    pub(super) fn watch(&mut self) {
        if std::mem::replace(&mut self.watching, true) {
            return;
        }
        for d in [Direction::ToServer, Direction::ToClient] {
            if let Some(at) = self.last_gap(d) {
                self.lose(d, at);
            }
        }
    }

    /// Where messages of a direction start is not known any more.
    pub(super) fn lose(&mut self, d: Direction, at: Time) {
        if self.watching {
            self.hidden.of_mut(d).lose(at);
        }
    }

    /// Bytes of a direction have passed in which no header was captured.
    pub(super) fn skipped(&mut self, cx: &mut Context<'_>, d: Direction, run: &Run) {
        self.unseen.of_mut(d).passed(run);
        if self.watching && !self.hidden.of_mut(d).skipped(run) {
            given_up(cx);
        }
    }

    /// A message has passed whose header was captured.
    pub(super) fn passed(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        is_call: bool,
        xid: u32,
        span: &Span,
    ) {
        if !self.watching {
            return;
        }
        let bytes = span.bytes;
        let seen = Seen {
            is_call,
            xid,
            bytes,
        };
        match self.hidden.of_mut(d).passed(seen) {
            Passed::Nothing => {}
            Passed::Unknown(runs) => self.answered_unseen(cx, d.reverse(), &runs, Some(xid)),
            Passed::Stretch(stretch) => self.settle_stretch(cx, d, Some(stretch)),
            Passed::Replies(replies) => {
                for (xid, span) in replies {
                    self.hidden_reply(cx, d, xid, span);
                }
            }
        }
    }

    /// A reply to a call whose header was cut before its procedure tells which it was, if any can.
    /// `false`: there is no such call.
    pub(super) fn names(&mut self, cx: &mut Context<'_>, reply: &Early) -> bool {
        let d = reply.direction.reverse();
        let key = (cx.connection.id, d, reply.header.xid);
        let Some(mut call) = cx.shared.rpc.remove(key) else {
            return false;
        };
        let mut scratch = cx.shared.rpc.blank();
        let kinds = &self.hidden.of(d).kinds;
        if let Some(kind) = kinds.only(call.request.bytes, reply, &mut scratch) {
            kind.fill(&mut call);
            call.arguments.detail.set(Field::Inferred, 1);
        }
        call.outcome = body::outcome(&reply.header, &reply.results, &mut call);
        self.reply(cx, &mut call, &reply.span, reply.missing);
        cx.shared.rpc.recycle(scratch);
        cx.shared.rpc.recycle(call);
        true
    }

    /// A call was answered, and both halves were seen.
    pub(super) fn learn(&mut self, call: &Pending, reply: &Span) {
        if self.watching {
            self.hidden.of_mut(call.direction).kinds.learn(call, reply);
        }
    }

    /// Replies to requests of this direction are hidden here, before the one to `until`, or behind the last that was seen:
    /// some of the calls that wait are answered.
    fn answered_unseen(
        &mut self,
        cx: &mut Context<'_>,
        d: Direction,
        runs: &Runs,
        until: Option<u32>,
    ) {
        let Some(last) = runs.last() else {
            return;
        };
        let since = self.passed_over();
        let seen = self.waiting(&cx.shared.rpc, cx.connection.id, d, (since, last));
        let lane = self.hidden.of_mut(d);
        let (hidden, behind) = lane.waiting(since);
        let waiting = seen.zip(hidden).map(|(seen, mut waiting)| {
            let others = seen.into_iter().filter(|xid| Some(*xid) != until);
            waiting.extend(others.filter_map(|xid| {
                let call = cx.shared.rpc.get((cx.connection.id, d, xid))?;
                Some(Waiting {
                    sent: call.request.last.time,
                    length: lane.kinds.reply_bytes(call).unwrap_or(unseen::UNKNOWN),
                    is_hidden: false,
                })
            }));
            waiting.sort_by_key(|w| (w.sent, w.is_hidden));
            waiting
        });
        let unseen = self.unseen.of_mut(d.reverse());
        // Whether the first of them has been answered may not be known.
        let is_known = |waiting: &Vec<Waiting>| {
            let first = waiting.first();
            first.is_none_or(|first| unseen.would_tell(first.sent))
        };
        let waiting = waiting.filter(is_known);
        let among = Among {
            waiting,
            since,
            behind,
            is_open: until.is_none(),
        };
        let answered = unseen.answered(among, runs);
        self.hidden.of_mut(d).take_waiting(answered);
        self.claim(&mut cx.shared.rpc, cx.connection.id, d, since);
    }

    /// A reply is hidden here.
    fn hidden_reply(&mut self, cx: &mut Context<'_>, d: Direction, xid: u32, span: Span) {
        let sent = d.reverse();
        let lane = self.hidden.of_mut(sent);
        match cx.shared.rpc.remove((cx.connection.id, sent, xid)) {
            Some(mut call) => {
                let in_time = span.first.time >= call.request.last.time;
                if !in_time || !lane.kinds.answers(&call, span.bytes) {
                    return cx.shared.rpc.insert(call);
                }
                call.arguments.detail.set(Field::Inferred, 1);
                call.outcome = Outcome::Ok;
                self.reply(cx, &mut call, &span, Reason::SnapLength);
                cx.shared.rpc.recycle(call);
            }
            None if lane.hides() && lane.peek(xid).is_none() => {
                let reply = Early {
                    header: ReplyHeader::with_xid(xid),
                    results: Vec::new(),
                    span,
                    direction: d,
                    missing: Reason::SnapLength,
                    inferred: true,
                };
                lane.answer(&reply);
                self.keep_reply(cx, Box::new(reply));
            }
            None => {}
        }
    }

    /// Keeps a reply whose request may be hidden.
    pub(super) fn keep_reply(&mut self, cx: &mut Context<'_>, reply: Box<Early>) {
        let d = reply.direction.reverse();
        let stretch = self.hidden.of_mut(d).keep(reply);
        self.settle_stretch(cx, d, stretch);
    }

    /// The kept reply to a request that was seen after all, at `sent`.
    pub(super) fn kept_reply(&mut self, d: Direction, xid: u32, sent: Time) -> Option<Box<Early>> {
        let lane = self.hidden.of_mut(d);
        lane.peek(xid).filter(|e| e.span.first.time >= sent)?;
        lane.take(xid)
    }

    /// Settles a stretch, if it is ready, and what there is no more room for.
    fn settle_stretch(&mut self, cx: &mut Context<'_>, d: Direction, stretch: Option<usize>) {
        let lane = self.hidden.of_mut(d);
        let blank = || cx.shared.rpc.blank();
        if let Some(settled) = stretch.and_then(|i| lane.settle(i, blank)) {
            self.make_calls(cx, d, settled);
        }
        while self.hidden.of(d).is_full() {
            let settled = (self.hidden.of_mut(d)).settle_oldest(|| cx.shared.rpc.blank());
            if !settled.unknown.is_empty() {
                given_up(cx);
            }
            self.make_calls(cx, d, settled);
        }
    }

    /// The connection is over: settles all that is hidden.
    pub(super) fn settle_hidden(&mut self, cx: &mut Context<'_>) {
        for d in [Direction::ToServer, Direction::ToClient] {
            if let Some(runs) = self.hidden.of_mut(d).behind_last_reply() {
                self.answered_unseen(cx, d.reverse(), &runs, None);
            }
        }
        for d in [Direction::ToServer, Direction::ToClient] {
            self.hidden.of_mut(d).end();
            while !self.hidden.of(d).is_empty() {
                let settled = (self.hidden.of_mut(d)).settle_oldest(|| cx.shared.rpc.blank());
                self.make_calls(cx, d, settled);
            }
        }
    }

    fn make_calls(&mut self, cx: &mut Context<'_>, d: Direction, settled: Settled) {
        let Settled { mut found, unknown } = settled;
        found.sort_by_key(|(_, reply)| reply.span.last);
        for (mut call, reply) in found {
            call.connection = cx.connection.id;
            call.direction = d;
            call.counted = false;
            call.arguments.detail.set(Field::Inferred, 1);
            call.outcome = body::outcome(&reply.header, &reply.results, &mut call);
            self.reply(cx, &mut call, &reply.span, reply.missing);
            cx.shared.rpc.recycle(call);
        }
        for reply in unknown.iter().filter(|reply| !reply.inferred) {
            self.no_request(cx, reply);
        }
    }
}

fn given_up(cx: &mut Context<'_>) {
    cx.problems.note("hidden-requests-given-up", || {
        let (calls, packets) = (limits::HIDDEN_CALLS, limits::HIDDEN_RUNS);
        let text = format!(
            "more than {calls} replies or {packets} packets before a request's header was captured"
        );
        (text, Where::default())
    });
}
