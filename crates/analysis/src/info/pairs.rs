//! Who talks to whom: pairs of hosts and what went each way.

use super::Amount;
use hashbrown::HashMap;
use model::{Sight, limits};
use std::net::IpAddr;

/// Pairs that are listed.
const LISTED: usize = 10;

/// Two hosts and what went from the first to the second, and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pair {
    pub hosts: [IpAddr; 2],
    pub ways: [Amount; 2],
}

impl Pair {
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.ways.iter().map(|w| w.bytes).sum()
    }

    #[must_use]
    pub fn packets(&self) -> u64 {
        self.ways.iter().map(|w| w.packets).sum()
    }
}

/// By the two addresses in their order.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pairs: HashMap<[IpAddr; 2], [Amount; 2], foldhash::fast::FixedState>,
    others: Amount,
}

impl Pairs {
    pub(super) fn add(&mut self, s: &Sight) {
        let Some([from, to]) = s.addresses else {
            return;
        };
        let (key, forth) = match from <= to {
            true => ([from, to], true),
            false => ([to, from], false),
        };
        let full = self.pairs.len() >= limits::HOST_PAIRS;
        if full && !self.pairs.contains_key(&key) {
            self.others.add(s);
            return;
        }
        let [out, back] = self.pairs.entry(key).or_default();
        if forth { out.add(s) } else { back.add(s) }
    }

    /// Those with most bytes, the busier direction first; how many there are, and what was left out.
    pub(super) fn finish(self) -> (Vec<Pair>, u64, Amount) {
        let count = self.pairs.len() as u64;
        let mut list: Vec<Pair> = self
            .pairs
            .into_iter()
            .map(|(hosts, ways)| Pair { hosts, ways })
            .collect();
        list.sort_by_key(|p| (std::cmp::Reverse(p.bytes()), p.hosts));
        list.truncate(LISTED);
        for pair in &mut list {
            let [out, back] = pair.ways;
            if back.bytes > out.bytes {
                pair.hosts.reverse();
                pair.ways.reverse();
            }
        }
        (list, count, self.others)
    }
}
