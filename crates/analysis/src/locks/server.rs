//! What a server's sessions hold and held, and who waited for it.

use super::files::Files;
use super::tables::{Access, Touched};
use super::transactions::{Definition, Ended, Idle, Session};
use super::{LockWait, SHORT, WOKEN_NS, WORTH_NS};
use hashbrown::HashMap;
use model::{ConnectionId, Time, limits};
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};

/// Changes of what tables are that are remembered: calls are looked at some seconds after they ended.
const DEFINITIONS: usize = 256;

/// Transactions that held something while somebody waited for ever, of which it is looked for how long.
const HOLDERS: usize = 1_024;

/// Sessions and transactions of a server that are looked through in all for who was never answered: of more calls nothing is
/// held against it.
const LOOKS: u64 = 50_000_000;

/// Holders of which each may have waited for one of the others.
const CHAINS: usize = 16;

/// What a server's sessions hold and held.
#[derive(Default)]
pub(super) struct Server {
    pub(super) sessions: HashMap<ConnectionId, Session, foldhash::fast::FixedState>,
    pub(super) files: Files,
    /// In the order in which they ended.
    pub(super) ended: VecDeque<Ended>,
    pub(super) ways: Ways,
    /// The last statements that change what a table is, of whatever session.
    definitions: VecDeque<Definition>,
    looked: AtomicU64,
}

/// The soonest that any session asked again, of all clients and of each: so long the way there and back may take.
#[derive(Default)]
pub(super) struct Ways {
    shortest_ns: Option<i64>,
    by_client: HashMap<IpAddr, i64, foldhash::fast::FixedState>,
}

impl Ways {
    /// What a pause is between an answer and what this client asks next. A way that is longer than others' may hold these up;
    /// it is no thought.
    pub(super) fn idle(&mut self, client: IpAddr, pause_ns: i64) -> Idle {
        let shorter = |way: Option<i64>| way.map_or(pause_ns, |way| way.min(pause_ns));
        let shortest = shorter(self.shortest_ns);
        self.shortest_ns = Some(shortest);
        let own = shorter(self.by_client.get(&client).copied());
        if self.by_client.len() < limits::LOCK_SESSIONS || self.by_client.contains_key(&client) {
            self.by_client.insert(client, own);
        }
        let beyond = |way| {
            Some(pause_ns - way)
                .filter(|ns| *ns >= WORTH_NS)
                .unwrap_or(0)
        };
        Idle {
            thought_ns: beyond(own),
            perhaps_ns: beyond(shortest),
            paused_ns: pause_ns,
        }
    }
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
            let whole = (asked.min(to) - since.max(from)).max(0);
            let held = (asked.min(to) - begins).max(0);
            let idle = e.transaction.idle;
            let thought = held.min(idle.thought_ns);
            // One that held it for long may end behind others that held something else for a while.
            let longer = |ns: i64, idle_ns: i64| (ns + held.min(idle_ns)).max(whole.min(idle_ns));
            ns = longer(ns, idle.perhaps_ns);
            paused_ns = longer(paused_ns, idle.paused_ns);
            let before = chains
                .iter()
                .rev()
                .find(|(at, _)| (0..=WOKEN_NS).contains(&(since - *at)));
            let chain = before.map_or(0, |(_, ns)| *ns) + thought;
            if chains.len() == CHAINS {
                chains.pop_front();
            }
            chains.push_back((asked, chain));
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

    /// For how long of a wait that never ended others may have held what is wanted: in transactions that are open, or that
    /// ended before.
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
        let looks = (self.sessions.len() + self.ended.len() - first) as u64;
        if self.looked.fetch_add(looks, Ordering::Relaxed) > LOOKS {
            return to - from;
        }
        let ended = self.ended.range(first..);
        let ended = ended.filter(|e| e.connection != connection && e.transaction.is_said);
        let ended = ended.filter_map(|e| {
            let since = e.transaction.keeps_in_turn(wanted, from)?;
            Some((since, e.asked.time))
        });
        let others = self.sessions.iter().filter(|(id, _)| **id != connection);
        let open = others.filter_map(|(_, session)| session.keeps(wanted));
        let mut held: Vec<(Time, Time)> = open.chain(ended).take(HOLDERS).collect();
        if held.len() == HOLDERS {
            return to - from;
        }
        held.sort_unstable();
        // One after the other.
        let (mut ns, mut reached) = (0, from);
        for (since, until) in held {
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

    /// Takes a statement, if it changes what a table is.
    pub(super) fn defines(
        &mut self,
        connection: ConnectionId,
        touched: Option<Touched>,
        [asked, said]: [Time; 2],
    ) {
        let Some(touched) = touched.filter(|t| t.access == Access::Defines) else {
            return;
        };
        self.definitions.truncate(DEFINITIONS - 1);
        self.definitions.push_front(Definition {
            connection,
            touched,
            asked,
            said,
        });
    }

    pub(super) fn end(&mut self, ended: Ended) {
        if self.ended.len() >= limits::LOCKS_ENDED {
            self.ended.pop_front();
        }
        // A turn is known to be over when the next one begins, of some sessions later than of others.
        let at = self.ended.partition_point(|e| e.said <= ended.said);
        self.ended.insert(at, ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_there_is_too_much_to_look_through_nobody_is_held_to_be_alone() {
        let life = (Time(0), Time(1_000));
        let held = |looked| {
            let server = Server {
                looked: AtomicU64::new(looked),
                ..Server::default()
            };
            server.still_held_ns(ConnectionId(1), Touched::changes(1), life)
        };
        assert_eq!([held(0), held(LOOKS + 1)], [0, 1_000]);
    }
}
