//! Connections of one capture, by who asks whom, into how far the two are away.
//!
//! Clients of one server may be a switch or an ocean away from it, and so may the servers of one client be. What the
//! acknowledgements of one say of the path bounds no other's: so hosts about as far away as the nearest are taken together,
//! and each of those further away by itself, as is each of whom nothing is known where something is of others.

use crate::path::Acknowledged;
use hashbrown::{HashMap, HashSet};
use model::{ConnectionSummary, Direction, limits};
use std::net::IpAddr;

/// Who asks, and who is asked.
pub(crate) type Hosts = (IpAddr, IpAddr);

pub(crate) type ByHosts<T> = HashMap<Hosts, T, foldhash::fast::FixedState>;

/// So many times as far, and this much more, is about as far: hosts differ in how soon they acknowledge.
const TIMES: i64 = 2;
const MORE_NS: i64 = 500_000;

/// What is known of the way to the server and back and to the client and back, by pairs of hosts.
#[derive(Default, Debug)]
pub struct Ways {
    pairs: ByHosts<[Acknowledged; 2]>,
    /// Those of which nothing was.
    unknown: HashSet<Hosts, foldhash::fast::FixedState>,
    /// Of pairs for which there was no room.
    rest: [Acknowledged; 2],
}

impl Ways {
    /// Takes a connection that is over.
    pub(crate) fn add(&mut self, c: &ConnectionSummary) {
        let hosts = (c.client.address, c.server.address);
        let told = [Direction::ToServer, Direction::ToClient].map(|d| Acknowledged::of(c, d));
        if told.iter().all(Acknowledged::is_empty) {
            if self.unknown.len() < limits::WAYS {
                self.unknown.insert(hosts);
            }
            return;
        }
        let is_full = self.pairs.len() >= limits::WAYS && !self.pairs.contains_key(&hosts);
        let known = match is_full {
            true => &mut self.rest,
            false => self.pairs.entry(hosts).or_default(),
        };
        for (all, told) in known.iter_mut().zip(&told) {
            all.merge(told);
        }
    }

    /// Whether all connections were between the same two hosts.
    pub(crate) fn is_one(&self) -> bool {
        let is_new = |hosts: &&Hosts| !self.pairs.contains_key(*hosts);
        self.pairs.len() + self.unknown.iter().filter(is_new).count() <= 1
    }

    /// Of a client and a server, as handshakes show it.
    #[cfg(test)]
    pub(crate) fn of_one(hosts: [u8; 2], halves_ns: [Option<i64>; 2]) -> Ways {
        let mut ways = Ways::default();
        ways.put(hosts, halves_ns);
        ways
    }

    #[cfg(test)]
    fn put(&mut self, hosts: [u8; 2], halves_ns: [Option<i64>; 2]) {
        let [client, server] = hosts.map(|host| IpAddr::from([10, 0, 0, host]));
        let known = halves_ns.map(Acknowledged::of_handshake);
        self.pairs.insert((client, server), known);
    }

    /// What is known of the way between two hosts.
    pub(crate) fn of(&self, hosts: Hosts) -> Option<&[Acknowledged; 2]> {
        self.pairs.get(&hosts)
    }

    /// Those about as far away as the nearest, as one.
    pub(crate) fn near(&self) -> [Acknowledged; 2] {
        self.near_of(|_| true)
    }

    /// The same of some.
    pub(crate) fn near_of(&self, is_meant: impl Fn(Hosts) -> bool) -> [Acknowledged; 2] {
        let meant = || self.pairs.iter().filter(|(hosts, _)| is_meant(**hosts));
        let most_ns = near_ns(meant().map(|(_, known)| known));
        let mut near = self.rest;
        for (_, known) in meant().filter(|(_, known)| !is_beyond(known, most_ns)) {
            for (all, own) in near.iter_mut().zip(known) {
                all.merge(own);
            }
        }
        near
    }

    /// Those further away than the nearest, and those of whom nothing is known, each by itself.
    pub(crate) fn apart(&self) -> impl Iterator<Item = (Hosts, [Acknowledged; 2])> {
        let most_ns = near_ns(self.pairs.values());
        let is_far = move |known: &[Acknowledged; 2]| is_beyond(known, most_ns);
        let far = self.pairs.iter().filter(move |(_, known)| is_far(known));
        let is_unknown =
            |hosts: &&Hosts| !self.pairs.is_empty() && !self.pairs.contains_key(*hosts);
        let unknown = self.unknown.iter().filter(is_unknown);
        let unknown = unknown.map(|hosts| (*hosts, Default::default()));
        far.map(|(hosts, known)| (*hosts, *known)).chain(unknown)
    }
}

/// No further than this are the nearest; nothing where none is known to be any way off.
fn near_ns<'a>(all: impl Iterator<Item = &'a [Acknowledged; 2]>) -> Option<i64> {
    let nearest = all.filter_map(distance_ns).min()?;
    Some(nearest.saturating_mul(TIMES).saturating_add(MORE_NS))
}

fn is_beyond(known: &[Acknowledged; 2], most_ns: Option<i64>) -> bool {
    let beyond = distance_ns(known).zip(most_ns);
    beyond.is_some_and(|(ns, most_ns)| ns > most_ns)
}

/// There and back as the fastest on both sides of the capture show it.
fn distance_ns(known: &[Acknowledged; 2]) -> Option<i64> {
    let fastest = known.iter().filter_map(Acknowledged::fastest_ns);
    fastest.reduce(i64::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Clients of one server, captured there, so many milliseconds away.
    fn clients(away_ms: &[i64]) -> Ways {
        let mut ways = Ways::default();
        for (client, ms) in (1..).zip(away_ms) {
            ways.put([client, 200], [Some(20_000), Some(ms * MS)]);
        }
        ways
    }

    fn nearest_ms(ways: &Ways) -> Option<i64> {
        let [_, to_client] = ways.near();
        to_client.fastest_ns().map(|ns| ns / MS)
    }

    fn further_ms(ways: &Ways) -> Vec<i64> {
        let to_client = ways
            .apart()
            .filter_map(|(_, [_, known])| known.fastest_ns());
        let mut all: Vec<i64> = to_client.map(|ns| ns / MS).collect();
        all.sort_unstable();
        all
    }

    #[test]
    fn who_is_much_further_away_is_so_alone() {
        let ways = clients(&[1, 2, 40, 80]);
        assert_eq!(nearest_ms(&ways), Some(1));
        assert_eq!(further_ms(&ways), [40, 80]);
    }

    /// Twice as far and half a millisecond, as acknowledgements differ by as much.
    #[test]
    fn about_as_far_is_together() {
        assert!(further_ms(&clients(&[10, 20])).is_empty());
        assert_eq!(further_ms(&clients(&[10, 21])), [21]);
        assert!(further_ms(&clients(&[0, 0])).is_empty());
    }

    #[test]
    fn of_whom_nothing_is_known_is_apart_where_something_is_of_others() {
        let unknown = |away_ms: &[i64]| {
            let mut ways = clients(away_ms);
            ways.unknown
                .insert(([10, 0, 0, 9].into(), [10, 0, 0, 200].into()));
            let nothing =
                |(_, known): &(Hosts, [Acknowledged; 2])| known.iter().all(Acknowledged::is_empty);
            (
                nearest_ms(&ways),
                further_ms(&ways),
                ways.apart().filter(nothing).count(),
            )
        };
        assert_eq!(unknown(&[5, 40]), (Some(5), vec![40], 1));
        assert_eq!(unknown(&[]), (None, vec![], 0));
    }

    /// A host that is asked asks another: what is known of the way to that is none of its clients'.
    #[test]
    fn the_way_to_other_servers_is_none_to_these() {
        let mut ways = Ways::default();
        ways.put([200, 7], [Some(9 * MS), Some(20_000)]);
        let of = |server: u8| ways.near_of(|(_, host)| host == IpAddr::from([10, 0, 0, server]));
        assert_eq!(of(7)[0].fastest_ns(), Some(9 * MS));
        assert_eq!(of(200)[0].fastest_ns(), None);
    }
}
