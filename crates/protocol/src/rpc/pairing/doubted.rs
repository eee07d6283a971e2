//! Calls whose replies passed unseen, or may have: which of them waits for one, and which has it.

use super::{MANY, Pairing};
use crate::rpc::pending::{Pending, Shared};
use crate::rpc::unseen::{self, Reply};
use crate::session::Context;
use model::{ConnectionId, Direction, Time};

impl Pairing {
    /// Says where the answer to a call lies that nobody saw: the reply that it claims, or else all that may be it.
    pub(super) fn hide(&mut self, p: &mut Pending) {
        let replies = p.direction.reverse();
        let length = self.hidden.of(p.direction).kinds.reply_bytes(p);
        let unseen = self.unseen.of_mut(replies);
        if p.claimed.is_none() {
            p.claimed = unseen.claim(p, length.unwrap_or(unseen::UNKNOWN));
        }
        let may_be = || unseen.may_hold(p, self.holes.of(replies).last()?);
        let hidden = p.claimed.and_then(|reply| reply.of(p));
        p.hidden = hidden.or(p.hidden).or_else(may_be);
    }

    /// Replies to requests of a direction that were sent since then have passed unseen: those that are doubted have theirs.
    pub(in crate::rpc) fn claim(
        &mut self,
        shared: &mut Shared,
        id: ConnectionId,
        d: Direction,
        since: Time,
    ) {
        for (way, xid) in std::mem::take(&mut self.unclaimed) {
            let Some(mut p) = shared.remove((id, way, xid)) else {
                continue;
            };
            if way == d {
                self.hide(&mut p);
            }
            let may_claim = way != d || p.request.last.time >= since;
            match p.claimed {
                None if may_claim => self.unclaimed.push_back((way, xid)),
                _ => self.doubtful.push_back((way, xid)),
            }
            shared.insert(p);
        }
    }

    /// A reply that nobody saw is not the one of the call that claimed it: calls sent later have one earlier each.
    pub(super) fn is_anothers(&mut self, cx: &mut Context<'_>, d: Direction, mut reply: Reply) {
        for &(way, xid) in &self.doubtful {
            let key = (cx.connection.id, way, xid);
            if let Some(call) = cx.shared.rpc.get_mut(key).filter(|_| way == d)
                && let Some(own) = call.claimed.filter(|own| reply.fits_sooner(own, call))
            {
                call.claimed = Some(reply);
                reply = own;
            }
        }
        self.unseen.of_mut(d.reverse()).give_back(reply);
    }

    /// The calls of a direction that were sent then and wait, in the order in which they were; `None` where there is too much
    /// to look at.
    pub(in crate::rpc) fn waiting(
        &mut self,
        shared: &Shared,
        id: ConnectionId,
        d: Direction,
        (since, until): (Time, Time),
    ) -> Option<Vec<u32>> {
        if self.outstanding() > MANY {
            return None;
        }
        if self.order.len() > MANY {
            self.forget_answered(shared, id);
        }
        let waits = |p: &Pending| (since..=until).contains(&p.request.last.time);
        let all = self.unclaimed.iter().chain(&self.order);
        let of = all.filter(|(way, _)| *way == d).map(|(_, xid)| *xid);
        let waiting = of.filter(|xid| shared.get((id, d, *xid)).is_some_and(waits));
        Some(waiting.collect())
    }
}
