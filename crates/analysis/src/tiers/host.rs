//! What one host is asked, and what it asks meanwhile, into how much of its work lies beneath its own calls.

use super::chance::{Chance, Gap};
use super::ends::Ends;
use super::{Asks, Tier};
use model::{Endpoint, Time, limits};
use std::net::IpAddr;

pub(super) struct Host {
    pub(super) address: IpAddr,
    /// Requests under way in it, and its own calls.
    serving: u32,
    calling: u32,
    /// Names that it looks up.
    looking: u32,
    pub(super) asked: u64,
    pub(super) asks: u64,
    calls: u64,
    names: u64,
    told: u64,
    below: Vec<Below>,
    /// How far the sums reach; from the first moment at which it was asked and had asked.
    pub(super) reached: Option<Time>,
    /// The time by whether it serves, and whether it calls.
    pub(super) spent_ns: [[i64; 2]; 2],
    work_ns: i64,
    beneath_ns: i64,
    /// Between the beginnings of its own calls, and between their ends.
    begun: Gap,
    ended: Gap,
    chance: Chance,
    /// From the same moment on.
    pub(super) at_ends: Ends,
}

/// Calls to one server.
struct Below {
    server: Endpoint,
    what: Asks,
    under_way: u32,
    changed: Time,
    ns: i64,
}

impl Host {
    pub(super) fn new(address: IpAddr, began: Time) -> Host {
        Host {
            address,
            serving: 0,
            calling: 0,
            looking: 0,
            asked: 0,
            asks: 0,
            calls: 0,
            names: 0,
            told: 0,
            below: Vec::new(),
            reached: None,
            spent_ns: [[0; 2]; 2],
            work_ns: 0,
            beneath_ns: 0,
            begun: Gap::new(began),
            ended: Gap::new(began),
            chance: Chance::default(),
            at_ends: Ends::default(),
        }
    }

    /// Somebody's request came, or was answered.
    pub(super) fn serves(&mut self, at: Time, change: i32) {
        self.reach(at);
        self.serving = self.serving.saturating_add_signed(change);
        self.asked += u64::from(change > 0);
        self.begin(at);
        self.gives_up(at);
        // The last request before a call begins, and the first answer after one ended.
        let is_asked = change > 0;
        let gap = match is_asked {
            true => &mut self.begun,
            false => &mut self.ended,
        };
        if is_asked || gap.moments == 0 {
            gap.at = at;
        }
        gap.moments = gap.moments.saturating_add(1);
    }

    /// A call of its own was sent, or answered.
    pub(super) fn calls(&mut self, at: Time, server: Endpoint, change: i32, what: Asks) {
        self.reach(at);
        let is_name = what == Asks::Names;
        let under_way = match is_name {
            true => &mut self.looking,
            false => &mut self.calling,
        };
        *under_way = under_way.saturating_add_signed(change);
        let begins = change > 0;
        self.asks += u64::from(begins);
        self.calls += u64::from(begins && what == Asks::Calls);
        self.names += u64::from(begins && is_name);
        self.told += u64::from(!begins && is_name);
        self.begin(at);
        match begins {
            true => {
                self.chance.add(self.begun, at - self.begun.at, at);
                self.begun = Gap::new(at);
            }
            false => self.ends(at),
        }
        let known = self.below.iter_mut().find(|b| b.server == server);
        if let Some(below) = known {
            below.reach(at);
            below.under_way = below.under_way.saturating_add_signed(change);
        } else if self.below.len() < limits::TIER_SERVERS {
            self.below.push(Below {
                server,
                what,
                under_way: u32::from(begins),
                changed: at,
                ns: 0,
            });
        }
    }

    /// Of more lookups than requests nobody waits for the rest any longer.
    fn gives_up(&mut self, at: Time) {
        if self.looking <= self.serving {
            return;
        }
        self.looking = self.serving;
        for below in self.below.iter_mut().filter(|b| b.what == Asks::Names) {
            below.reach(at);
            below.under_way = below.under_way.min(self.serving);
        }
    }

    /// A call of its own ends, or the capture does: the next comes no sooner.
    pub(super) fn ends(&mut self, at: Time) {
        self.chance
            .add(self.ended, self.ended.at - self.ended.since, at);
        self.ended = Gap::new(at);
    }

    /// From here on it is asked and asks.
    fn begin(&mut self, at: Time) {
        if self.asked > 0 && self.asks > 0 {
            self.reached.get_or_insert(at);
        }
    }

    pub(super) fn reach(&mut self, at: Time) {
        let Some(before) = self.reached else {
            return;
        };
        let ns = (at - before).max(0);
        self.reached = self.reached.max(Some(at));
        let is_waiting = self.calling > 0 || self.looking > 0;
        let [serves, calls] = [self.serving > 0, is_waiting].map(usize::from);
        let spent_ns = &mut self.spent_ns[serves][calls];
        *spent_ns = spent_ns.saturating_add(ns);
        let work_ns = ns.saturating_mul(i64::from(self.serving));
        self.work_ns = self.work_ns.saturating_add(work_ns);
        if is_waiting {
            self.beneath_ns = self.beneath_ns.saturating_add(work_ns);
        }
    }

    /// If its own calls come with its work, and most of them do.
    pub(super) fn tier(&self) -> Option<Tier> {
        let [[quiet_ns, background_ns], [alone_ns, within_ns]] = self.spent_ns;
        if !self.chance.is_excluded() || background_ns > within_ns {
            return None;
        }
        let idle_ns = quiet_ns.saturating_add(background_ns);
        // Of a host that never rests nobody knows what it would have asked anyway.
        let anyway = match idle_ns {
            0 => 1.0,
            _ => background_ns as f64 / idle_ns as f64,
        };
        let anyway_ns = (anyway * (alone_ns as f64 + within_ns as f64)) as i64;
        let within_ns = within_ns.saturating_sub(anyway_ns);
        let least_ns = within_ns.max(self.at_ends.least_ns());
        let below = self.below.iter().max_by_key(|b| (b.ns, b.server))?;
        Some(Tier {
            host: self.address,
            below: below.server,
            what: below.what,
            others: self.below.len() - 1,
            asked: self.asked,
            asks: self.asks,
            calls: self.calls,
            names: self.names,
            unanswered: self.names.saturating_sub(self.told),
            work_ns: self.work_ns,
            least_ns: least_ns.clamp(0, self.beneath_ns),
            most_ns: self.beneath_ns,
        })
    }
}

impl Below {
    fn reach(&mut self, at: Time) {
        let ns = (at - self.changed).max(0);
        let ns = ns.saturating_mul(i64::from(self.under_way));
        self.ns = self.ns.saturating_add(ns);
        self.changed = self.changed.max(at);
    }
}
