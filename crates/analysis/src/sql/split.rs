//! Of what calls waited, how much was the path to the server and back.
//!
//! A capture at the server sees no path: waits are the server's own, but for what TCP held of the
//! answers. At the client each round trip has the path in it, of which [`path`](crate::path) knows the
//! least and the most: the least is the network's, what is beyond the most the server's, and what lies
//! between is not divided. In two captures the server's part is what the same statements take in the
//! server's.

use super::profile::{Group, GroupKey};
use crate::path::{Acknowledged, Crossed, PathEstimate};
use crate::results::Vantage;
use crate::ways::{ByHosts, Hosts, Ways};
use hashbrown::HashMap;
use model::{ConnectionSummary, Direction, Time};

/// Fewer calls than this have no mean that bounds the path.
const MANY: u64 = 30;
/// Calls bound the path when they were seen over so many in ten parts of the time.
const ALL_ALONG: i64 = 8;

/// The paths between pairs of hosts.
#[derive(Default, Debug)]
pub(super) struct Paths {
    ways: Ways,
    all: Acknowledged,
}

impl Paths {
    pub(super) fn add(&mut self, c: &ConnectionSummary) {
        self.all.add(c, Direction::ToServer);
        self.ways.add(c);
    }

    /// Whether all connections were between the same two hosts.
    pub(super) fn is_one(&self) -> bool {
        self.ways.is_one()
    }

    /// The path between two hosts; where of these two nothing is known, that of all of them.
    fn between(&self, hosts: &Hosts, crossed: &ByHosts<Crossed>) -> Option<PathEstimate> {
        let own = self.ways.of(*hosts).map(|[to_server, _]| to_server);
        let own = own.filter(|own| !own.is_empty());
        let calls = crossed.get(hosts).copied().unwrap_or_default();
        own.unwrap_or(&self.all).path(calls)
    }

    /// Divides what the calls of a group waited for.
    pub(super) fn split(
        &self,
        vantage: Vantage,
        group: &Group,
        crossed: &ByHosts<Crossed>,
    ) -> Split {
        let wait_ns = group.waits.total_ns();
        let held_ns = group.held_ns.clamp(0, wait_ns.max(0));
        match vantage {
            Vantage::Server => Split {
                server_ns: Some(wait_ns - held_ns),
                network_ns: None,
                unknown_ns: held_ns,
            },
            Vantage::Client => {
                let mut bounds = Some((0i64, 0i64));
                for (hosts, &n) in &group.trips {
                    let n = i64::try_from(n).unwrap_or(i64::MAX);
                    bounds =
                        bounds
                            .zip(self.between(hosts, crossed))
                            .map(|((least, most), path)| {
                                (
                                    least.saturating_add(path.min_ns.saturating_mul(n)),
                                    most.saturating_add(path.most_ns.saturating_mul(n)),
                                )
                            });
                }
                let Some((least, most)) = bounds else {
                    return Split::unknown(wait_ns);
                };
                let network = least.clamp(0, wait_ns - held_ns);
                let server = wait_ns - held_ns - most.clamp(network, wait_ns - held_ns);
                Split {
                    server_ns: Some(server),
                    network_ns: Some(network),
                    unknown_ns: wait_ns - server - network,
                }
            }
            Vantage::Middle | Vantage::Unknown => Split::unknown(wait_ns),
        }
    }
}

/// What the calls of groups say of the paths that they crossed, by hosts. Groups whose calls went
/// between several hosts say nothing.
pub(super) fn crossed(groups: &[(GroupKey, Group)]) -> ByHosts<Crossed> {
    let first = groups.iter().filter_map(|(_, g)| g.first).min();
    let last = groups.iter().filter_map(|(_, g)| g.last).max();
    let length = |ends: Option<(Time, Time)>| ends.map_or(0, |(a, b)| b - a);
    let all = length(first.zip(last));
    let mut by_hosts: ByHosts<Crossed> = HashMap::default();
    for (_, g) in groups {
        let mut trips = g.trips.iter();
        let (Some((hosts, &trips)), None) = (trips.next(), trips.next()) else {
            continue;
        };
        let count = g.waits.count();
        if count == 0 {
            continue;
        }
        let least = |a: Option<i64>, b: i64| Some(a.map_or(b, |a| a.min(b)));
        let c = by_hosts.entry(*hosts).or_default();
        c.min_ns = least(c.min_ns, g.waits.quantile(0.0));
        let along = length(g.first.zip(g.last)) / ALL_ALONG >= all / 10;
        // A trip inside a call is in no wait.
        if count >= MANY && trips == count && along {
            c.mean_ns = least(c.mean_ns, g.waits.mean_ns());
        }
    }
    by_hosts
}

/// The server's and the network's part of waits, `None` where it is not known, and what is neither's
/// for certain.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Split {
    pub server_ns: Option<i64>,
    pub network_ns: Option<i64>,
    pub unknown_ns: i64,
}

impl Split {
    pub(super) fn unknown(wait_ns: i64) -> Split {
        Split {
            unknown_ns: wait_ns,
            ..Split::default()
        }
    }
}
