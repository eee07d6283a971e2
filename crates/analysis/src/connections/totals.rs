//! Connections into what they waited for together and what they have in common: gathered as they come, so
//! that nobody has to unpack all of them for it.

use crate::results::ConnectionResult;
use model::{Direction, Endpoint, Protocol, TimeClass};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// What several connections waited for, and what all of them have in common.
#[derive(Clone, Default, Debug)]
pub struct Totals {
    /// Nanoseconds at stake of all of them.
    pub at_stake_ns: i64,
    /// Whether the time of any was divided into classes.
    pub is_measured: bool,
    pub client: Same<IpAddr>,
    pub server: Same<Endpoint>,
    pub protocol: Same<Protocol>,
    /// Of each connection only the direction in which more was waited counts.
    sums: BTreeMap<(Direction, TimeClass), i64>,
    /// Only what is the longest wait of some connection can be that of all.
    longest: BTreeSet<(Direction, TimeClass)>,
}

impl Totals {
    #[must_use]
    pub fn of(c: &ConnectionResult) -> Totals {
        let mut totals = Totals::default();
        totals.add(c);
        totals
    }

    pub fn add(&mut self, c: &ConnectionResult) {
        self.at_stake_ns = self.at_stake_ns.saturating_add(c.at_stake_ns);
        self.client.add(Some(c.client.address));
        self.server.add(Some(c.server));
        self.protocol.add(c.protocol);
        let mut times = c.directions.iter().flat_map(|d| d.account.time_ns.iter());
        self.is_measured = self.is_measured || times.any(|(_, ns)| *ns > 0);
        let Some((direction, class, _)) = c.top else {
            return;
        };
        self.longest.insert((direction, class));
        for (class, ns) in c.direction(direction).account.time_ns.iter() {
            let sum = self.sums.entry((direction, class)).or_default();
            *sum = sum.saturating_add(*ns);
        }
    }

    /// What was waited for most, with its nanoseconds; `None` when nothing was waited for.
    #[must_use]
    pub fn longest(&self) -> Option<(Direction, TimeClass, i64)> {
        let sum = |key: &(Direction, TimeClass)| self.sums.get(key).copied().unwrap_or(0);
        let (direction, class) = *self.longest.iter().max_by_key(|key| sum(key))?;
        let ns = sum(&(direction, class));
        (ns > 0 && self.at_stake_ns > 0).then_some((direction, class, ns))
    }
}

/// What several connections, all of them, have.
#[derive(Clone, Copy, Debug)]
pub struct Same<T> {
    value: Option<T>,
    seen: usize,
}

impl<T> Default for Same<T> {
    fn default() -> Same<T> {
        Same {
            value: None,
            seen: 0,
        }
    }
}

impl<T: PartialEq + Copy> Same<T> {
    fn add(&mut self, value: Option<T>) {
        if self.seen == 0 {
            self.value = value;
        } else if self.value != value {
            self.value = None;
        }
        self.seen += 1;
    }

    /// `None` also of one alone.
    #[must_use]
    pub fn value(&self) -> Option<T> {
        self.value.filter(|_| self.seen > 1)
    }
}
