//! What a hole may have hidden: whose requests and answers can still be told apart behind it, and when none can.

use super::pending::Pending;
use super::{Before, Queue, WAITED};
use crate::session::{Context, Hole, Span};
use model::{Direction, Field, Reason, Time, Where};

impl Queue {
    /// Headers may have been in a hole; what follows from it is decided when something follows it.
    pub(in crate::pgsql) fn hole(&mut self, d: Direction, hole: Hole, at: Time) {
        match d {
            Direction::ToClient => {
                self.spoken = true;
                self.lacked = Some((at, hole));
            }
            Direction::ToServer => self.heard_all = false,
        }
        self.torn_since = true;
        let known = self.holes.of_mut(d);
        if *known != Some(Hole::Gap) {
            *known = Some(hole);
        }
    }

    /// Whether a request was found behind a hole only after the server spoke, which may have answered it.
    pub(in crate::pgsql) fn is_late(&self, span: &Span) -> bool {
        self.torn && self.heard.is_some_and(|heard| span.last.time < heard)
    }

    /// Whether the client is known to wait for its answers.
    pub(super) fn waits(&self) -> bool {
        self.waited >= WAITED || self.heard_all && !self.runs_ahead
    }

    /// How many round trips the client has begun.
    fn cycles(&self) -> usize {
        let open = self.pending.back().is_some_and(|p| !p.ready);
        self.pending.iter().filter(|p| p.ready).count() + usize::from(open)
    }

    /// Draws the consequences of holes.
    #[inline]
    pub(super) fn heal(&mut self, cx: &mut Context<'_>) {
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
        if gap {
            self.before = Before::Over;
        } else if to_server.is_some() {
            self.tell_before(cx);
        }
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
        if self.pipelines || several && !self.waits() {
            self.lose_count(cx, reason);
            return;
        }
        // What was hidden was answered, if the server has answered what was not seen.
        let answered = std::mem::take(&mut self.unasked);
        self.doubt |= hidden && !answered;
        // The client waits: all but its last request were answered, in a hole.
        let asked_last = self.pending.back().map(|p| p.exchange.request.first.time);
        while self.cycles() > 1 {
            self.answer_unseen(asked_last);
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
    pub(super) fn lose_count(&mut self, cx: &mut Context<'_>, reason: Reason) {
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

    pub(super) fn drop_front(&mut self, cx: &mut Context<'_>, reason: Reason) {
        self.tell_settled(cx);
        if let Some(p) = self.pending.pop_front() {
            self.leaves(&p);
            p.give_up(cx, reason);
        }
    }

    /// The server answers in order: what is said to those behind this call comes after what was said to it.
    pub(super) fn leaves(&mut self, p: &Pending) {
        if let Some(answer) = &p.exchange.response {
            self.said = Some(answer.last);
        }
    }

    /// Its client went on at `asked`: what the capture lacks of the server since the first call's request was the answer.
    fn answer_unseen(&mut self, asked: Option<Time>) {
        let Some((asked, (lacked, _))) = asked.zip(self.lacked) else {
            return;
        };
        if let Some(p) = self.pending.front_mut()
            && lacked >= p.exchange.request.last.time
            && !p.gapped
        {
            let passed = self.heard.map_or(lacked, |heard| heard.max(lacked));
            p.exchange.answer_unseen(self.said, passed.min(asked));
        }
    }

    /// The first call is over as far as anybody can tell, though its end was not seen: its client goes on at `asked`.
    pub(super) fn settle_front(&mut self, cx: &mut Context<'_>, asked: Option<Time>) {
        self.answer_unseen(asked);
        let Some(mut p) = self.pending.pop_front() else {
            return;
        };
        if p.hurt.is_none() {
            p.exchange.detail.set(Field::Inferred, 1);
        }
        self.leaves(&p);
        self.tell_settled(cx);
        self.settled = Some(p);
    }

    /// Whether these bytes of the server came before the request that now waits, and so belong to the
    /// call before it.
    pub(super) fn belongs_to_settled(&mut self, span: &Span) -> bool {
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
    pub(super) fn tell_settled(&mut self, cx: &mut Context<'_>) {
        if self.settled.is_some()
            && let Some(p) = self.settled.take()
        {
            p.finish(cx);
        }
    }
}
