//! Of what calls waited, how much was the path to the server and back.
//!
//! A capture at the server sees no path: waits are the server's own. At the client each round trip
//! has the path in it, of which handshakes and pure acknowledgements tell the length. In two captures
//! the server's part is what the same statements take in the server's.

use crate::facts::acknowledged_on_the_way;
use crate::results::Vantage;
use hashbrown::HashMap;
use model::{ConnectionSummary, Direction};
use std::net::IpAddr;

/// Client and server of a connection.
pub(super) type Hosts = (IpAddr, IpAddr);

/// The paths between pairs of hosts.
#[derive(Default, Debug)]
pub(super) struct Paths {
    pairs: HashMap<Hosts, Path, foldhash::fast::FixedState>,
    all: Path,
}

#[derive(Clone, Copy, Default, Debug)]
struct Path {
    count: u64,
    sum_ns: i64,
    min_ns: Option<i64>,
    /// From SYN to SYN/ACK, the fastest.
    half_ns: Option<i64>,
}

/// Acknowledgements beyond so many times the fastest were delayed by the receiver's timer.
const DELAYED: i64 = 4;

impl Path {
    fn add(&mut self, c: &ConnectionSummary) {
        let to_server = &c.directions[Direction::ToServer.index()];
        self.count += to_server.ack_rtt_count;
        self.sum_ns = self.sum_ns.saturating_add(to_server.ack_rtt_sum_ns);
        let h = &c.handshake;
        let half = match h.syn_retries + h.syn_ack_retries {
            0 => h.syn.zip(h.syn_ack).map(|(syn, answer)| answer - syn),
            _ => None,
        };
        self.half_ns = [self.half_ns, half].into_iter().flatten().min();
        let fastest = [self.min_ns, to_server.ack_rtt_min_ns, half];
        self.min_ns = fastest.into_iter().flatten().filter(|&ns| ns >= 0).min();
    }

    fn mean_ns(&self) -> Option<i64> {
        let min = self.min_ns?;
        let mean = match self.count {
            0..10 => min,
            n => self.sum_ns / n as i64,
        };
        if acknowledged_on_the_way(self.half_ns, self.count, mean) {
            return None;
        }
        Some(mean.clamp(min, min.saturating_mul(DELAYED)))
    }
}

impl Paths {
    pub(super) fn add(&mut self, c: &ConnectionSummary) {
        self.all.add(c);
        if self.pairs.len() < model::limits::HOST_PAIRS {
            let pair = (c.client.address, c.server.address);
            self.pairs.entry(pair).or_default().add(c);
        }
    }

    /// The mean time to the server and back between two hosts; over all of them where of these two
    /// nothing is known.
    pub(super) fn round_trip_ns(&self, hosts: &Hosts) -> Option<i64> {
        match self.pairs.get(hosts) {
            Some(own) if own.min_ns.is_some() => own.mean_ns(),
            _ => self.all.mean_ns(),
        }
    }

    /// Divides `wait_ns` of calls that went so often over these paths.
    pub(super) fn split<'a>(
        &self,
        vantage: Vantage,
        wait_ns: i64,
        trips: impl Iterator<Item = (&'a Hosts, &'a u64)>,
    ) -> Split {
        match vantage {
            Vantage::Server => Split {
                server_ns: Some(wait_ns),
                network_ns: None,
            },
            Vantage::Client => {
                let path = trips.map(|(hosts, n)| {
                    let trip = self.round_trip_ns(hosts)?;
                    Some(trip.saturating_mul(i64::try_from(*n).unwrap_or(i64::MAX)))
                });
                let network = path.sum::<Option<i64>>().map(|ns| ns.clamp(0, wait_ns));
                Split {
                    server_ns: network.map(|ns| wait_ns - ns),
                    network_ns: network,
                }
            }
            Vantage::Middle | Vantage::Unknown => Split::default(),
        }
    }
}

/// The server's and the network's part of waits; `None` where it is not known.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Split {
    pub server_ns: Option<i64>,
    pub network_ns: Option<i64>,
}
