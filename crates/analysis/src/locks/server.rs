//! What a server's sessions hold and held, and who waited for it.

use super::files::Files;
use super::tables::{Access, Touched};
use super::transactions::{Change, Ended, Session};
use super::{LockWait, SHORT, WOKEN_NS};
use crate::broken_off;
use hashbrown::HashMap;
use model::{Call, ConnectionId, Time, limits};
use std::collections::{BTreeSet, VecDeque};

/// Changes that are remembered, and those of what tables are: calls are looked at some seconds after they ended.
const CHANGES: usize = 256;

/// Sessions in a transaction, and transactions that ended later, that are asked what they held.
const HOLDERS: usize = 256;

/// Holders of which each may have waited for one of the others.
const CHAINS: usize = 16;

/// What a server's sessions hold and held.
#[derive(Default)]
pub(super) struct Server {
    pub(super) sessions: HashMap<ConnectionId, Session, foldhash::fast::FixedState>,
    /// Those that have begun a transaction.
    pub(super) begun: BTreeSet<ConnectionId>,
    pub(super) files: Files,
    /// In the order in which they ended.
    pub(super) ended: VecDeque<Ended>,
    /// The soonest that any session asked again: so long a crossing may take.
    pub(super) least_pause_ns: Option<i64>,
    /// Whether any was broken out of a deadlock.
    has_deadlocks: bool,
    /// The last statements that changed something, and the last that change what a table is, of whatever session.
    changes: VecDeque<Change>,
    definitions: VecDeque<Change>,
}

/// Transactions that held something while somebody waited.
pub(super) struct Holders {
    pub(super) wait: Option<LockWait>,
    /// How many ended before the answer.
    pub(super) ended: usize,
    /// They kept everybody away, or somebody whom all others wait behind.
    pub(super) were_kept_away: bool,
}

impl Server {
    /// Whose transactions held what is wanted from `from` on, and had at `to`.
    pub(super) fn holders(
        &self,
        connection: ConnectionId,
        wanted: Touched,
        (from, to): (Time, Time),
    ) -> Holders {
        // Whoever is behind one that waits for everybody waits for them too.
        let wanted = match self.is_behind(connection, wanted, from, Some(to)) {
            true => wanted.alone(),
            false => wanted,
        };
        let were_kept_away = wanted.access == Access::Defines;
        // Who changes what a table is has work to do then.
        let works_ns = match were_kept_away {
            true => WOKEN_NS.max((to - from) / SHORT),
            false => WOKEN_NS,
        };
        let first = self.ended.partition_point(|e| e.said <= from);
        let during = self
            .ended
            .range(first..)
            .take_while(|e| e.said - to <= WOKEN_NS);
        let held = during.filter_map(|e| {
            let is_other = e.connection != connection && e.asked.time > from;
            let since = e.transaction.keeps(wanted).filter(|_| is_other)?;
            (since < to).then_some((e, since))
        });
        // One after the other holds it.
        let (mut ns, mut paused_ns, mut reached, mut let_go, mut ended) = (0, 0, from, None, 0);
        // Of those who let go last, when, and what was thought until then by those who waited for each other.
        let mut chains: VecDeque<(Time, i64)> = VecDeque::new();
        let mut chain_ns = 0;
        for (e, since) in held {
            let asked = e.asked.time;
            let begins = since.max(reached);
            let held = (asked.min(to) - begins).max(0);
            let thought = held.min(e.transaction.thought_ns);
            ns += thought;
            let before = chains
                .iter()
                .rev()
                .find(|(at, _)| (0..=WOKEN_NS).contains(&(since - *at)));
            let chain = before.map_or(0, |(_, ns)| *ns) + thought;
            if chains.len() == CHAINS {
                chains.pop_front();
            }
            chains.push_back((asked, chain));
            paused_ns += held.min(e.transaction.paused_ns);
            reached = reached.max(asked);
            ended += usize::from(asked <= to);
            // Who was kept waiting itself is let go at the same moment, and lets nobody go.
            let is_short = e.said - asked <= (to - from) / SHORT;
            if asked <= to && to - e.said <= works_ns && is_short {
                (let_go, chain_ns) = (Some(e.asked), chain);
            }
        }
        let whole = to - from;
        let wait = let_go.map(|let_go| LockWait {
            ns: ns.min(whole),
            chain_ns: chain_ns.min(whole),
            paused_ns: paused_ns.min(whole),
            let_go: Some(let_go),
        });
        Holders {
            wait,
            ended,
            were_kept_away,
        }
    }

    /// Of a wait for a lock that did not come: how long, at least, somebody held it while the server worked on nothing for
    /// him, nor for any other who may have held it.
    pub(super) fn idle_ns(
        &self,
        connection: ConnectionId,
        wanted: Touched,
        (from, to): (Time, Time),
    ) -> i64 {
        let first = self.ended.partition_point(|e| e.said <= from);
        let (mut most, mut worked) = ((0, 0), 0i64);
        let mut later = 0;
        for e in self.ended.range(first..) {
            later += usize::from(e.said > to);
            if later > HOLDERS {
                break;
            }
            let since = e.transaction.keeps(wanted);
            let is_other = e.connection != connection && e.transaction.is_said;
            let Some(since) = since.filter(|_| is_other) else {
                continue;
            };
            let held = (e.asked.time.min(to) - since.max(from)).max(0);
            let works = e.worked_ns().min(held);
            worked = worked.saturating_add(works);
            most = most.max((held - works, works));
        }
        let (idle, works) = most;
        let others = self.changes.iter().filter(|c| {
            let is_other = c.connection != connection && c.touched.keeps(wanted);
            is_other && c.asked < to && c.said > from && !self.waited_itself(c)
        });
        let others = others.map(|c| c.said.min(to) - c.asked.max(from));
        let others = others.fold(0i64, |sum, ns| sum.saturating_add(ns.max(0)));
        (idle - (worked - works)).saturating_sub(others).max(0)
    }

    /// Whether it was refused, or answered as a transaction ended that had held what it wants.
    fn waited_itself(&self, change: &Change) -> bool {
        if change.is_refused || change.is_counted {
            return true;
        }
        let after = self
            .ended
            .partition_point(|e| e.said - change.said <= WOKEN_NS);
        let near = self.ended.range(..after).rev().take(HOLDERS);
        let mut near = near.take_while(|e| change.said - e.said <= WOKEN_NS);
        near.any(|e| {
            e.connection != change.connection && e.transaction.keeps(change.touched).is_some()
        })
    }

    /// For how long of a wait that never ended others held what is wanted, in transactions that were begun in so many words.
    pub(super) fn still_held_ns(
        &self,
        connection: ConnectionId,
        wanted: Touched,
        (from, to): (Time, Time),
    ) -> i64 {
        let wanted = match self.is_behind(connection, wanted, from, None) {
            true => wanted.alone(),
            false => wanted,
        };
        let first = self.ended.partition_point(|e| e.said <= from);
        let ended = self.ended.range(first..).take(HOLDERS);
        let ended = ended.filter(|e| e.connection != connection && e.transaction.is_said);
        let ended = ended.filter_map(|e| Some((e.transaction.keeps(wanted)?, e.asked.time)));
        let begun = self.begun.iter().filter(|id| **id != connection);
        let open = begun.take(HOLDERS).filter_map(|id| self.sessions.get(id));
        let open = open.filter_map(|session| session.keeps(wanted));
        // One after the other.
        let (mut ns, mut reached) = (0, from);
        for (since, until) in ended.chain(open) {
            let until = until.min(to);
            ns += (until - since.max(reached)).max(0);
            reached = reached.max(until);
        }
        ns
    }

    /// Whether what was asked at `from` waited behind another session's change of what the table is: answered at `to`, as that
    /// was; or never, as that is not.
    fn is_behind(
        &self,
        connection: ConnectionId,
        wanted: Touched,
        from: Time,
        to: Option<Time>,
    ) -> bool {
        self.definitions.iter().any(|d| {
            let is_in_turn = match to {
                Some(to) => (-WOKEN_NS..=WOKEN_NS).contains(&(to - d.said)),
                None => d.said == Time::MAX,
            };
            is_in_turn && d.asked <= from && d.is_ahead_of(connection, wanted)
        })
    }

    /// Takes one that wanted to change something, or never was answered.
    pub(super) fn changed(&mut self, change: Change) {
        if change.touched.access == Access::Defines {
            self.definitions.truncate(CHANGES - 1);
            self.definitions.push_front(change);
        }
        if change.said < Time::MAX {
            self.changes.truncate(CHANGES - 1);
            self.changes.push_front(change);
        }
    }

    /// How long a call certainly waited for others, if the server says that it did, or if it was answered as one that had
    /// the same table was broken out of a deadlock.
    pub(super) fn waited_ns(&self, call: &Call, change: Option<&Change>) -> Option<i64> {
        if !broken_off::is_of_lock(call) {
            let change = change.filter(|_| self.has_deadlocks)?;
            let mut last = self.ended.iter().rev().take(CHAINS);
            return last.any(|e| e.lets_go(change)).then(|| change.ns());
        }
        Some((call.response_last?.time - call.request_last?.time).max(0))
    }

    /// One was broken out of a deadlock. Who waited for it may have been answered before the server had told all of that.
    #[cold]
    fn broke_off(&mut self, ended: &Ended) {
        self.has_deadlocks = true;
        let last = self.changes.iter_mut().take(CHAINS);
        for change in last.filter(|c| !c.is_counted && ended.lets_go(c)) {
            change.is_counted = true;
            let session = self.sessions.get_mut(&change.connection);
            if let Some(open) = session.and_then(|s| s.open.as_mut()) {
                open.add(change.ns(), change.ns());
            }
        }
    }

    pub(super) fn end(&mut self, ended: Ended) {
        if ended.is_deadlock {
            self.broke_off(&ended);
        }
        if self.ended.len() >= limits::LOCKS_ENDED {
            self.ended.pop_front();
        }
        // A turn is known to be over when the next one begins, of some sessions later than of others.
        let at = self.ended.partition_point(|e| e.said <= ended.said);
        self.ended.insert(at, ended);
    }
}
