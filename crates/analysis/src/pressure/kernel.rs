//! Which addresses are clients' and which servers', and what TCP said of connections, beside what their packets say.

use crate::hosts::Hosts;
use crate::results::KernelResult;
use hashbrown::HashMap;
use model::{
    ConnectionSummary, Direction, DirectionAccount, Endpoint, PerClass, Time, TimeClass, Timeline,
};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use trace::host::{Host, TcpConnection, TcpSample};

/// Connections of which packets are remembered, and that are shown of a host.
const REMEMBERED: usize = 256;
const SHOWN: usize = 20;

/// The ends of what captures hold.
#[derive(Default)]
pub(crate) struct Ends {
    hosts: Arc<[Host]>,
    clients: Hosts,
    servers: Hosts,
    /// Of which client's and server's ends tools told.
    wanted: HashMap<(Endpoint, Endpoint), (), foldhash::fast::FixedState>,
    seen: Vec<Seen>,
}

/// What the packets of a connection say, in one capture.
struct Seen {
    capture: usize,
    client: Endpoint,
    server: Endpoint,
    /// By direction, where that was asked for.
    windows: Option<[Windows; 2]>,
}

/// How long the receiver's window held a direction up, by the packets: by when, or in all between the first and the last.
struct Windows {
    timeline: Timeline,
    ns: i64,
    whole: (Time, Time),
}

impl Windows {
    fn of(account: &DirectionAccount, c: &ConnectionSummary) -> Windows {
        Windows {
            timeline: account.timeline.clone(),
            ns: windows_ns(&account.time_ns),
            whole: (c.first.time, c.last.time),
        }
    }

    /// At least and at most of a time.
    fn between(&self, from: Time, until: Time) -> [i64; 2] {
        if !self.timeline.is_empty() {
            return self.timeline.between(from, until).map(|of| windows_ns(&of));
        }
        let (first, last) = self.whole;
        let whole = (last - first).max(0);
        let part = (last.min(until) - first.max(from)).clamp(0, whole);
        [(self.ns - (whole - part)).max(0), self.ns.min(part)]
    }
}

fn windows_ns(of: &PerClass<i64>) -> i64 {
    of[TimeClass::ReceiverApplication].saturating_add(of[TimeClass::SmallWindow])
}

impl Ends {
    pub(crate) fn of(hosts: &Arc<[Host]>) -> Ends {
        let mut wanted = HashMap::default();
        for c in hosts.iter().flat_map(|h| &h.connections) {
            let (local, peer) = (end(c.local), end(c.peer));
            wanted.insert((local, peer), ());
            wanted.insert((peer, local), ());
        }
        Ends {
            hosts: Arc::clone(hosts),
            wanted,
            ..Ends::default()
        }
    }

    pub(crate) fn add(&mut self, capture: usize, c: &ConnectionSummary) {
        if self.hosts.is_empty() {
            return;
        }
        self.clients.add(c.client.address);
        self.servers.add(c.server.address);
        if self.wanted.contains_key(&(c.client, c.server)) && self.seen.len() < REMEMBERED {
            let windows = c
                .accounts
                .as_ref()
                .map(|a| a.each_ref().map(|a| Windows::of(a, c)));
            self.seen.push(Seen {
                capture,
                client: c.client,
                server: c.server,
                windows,
            });
        }
    }

    /// Whether an address is a client's, and a server's.
    pub(super) fn are(&self, address: IpAddr) -> [bool; 2] {
        [&self.clients, &self.servers].map(|hosts| hosts.iter().any(|h| h == address))
    }

    /// What a host's TCP said of connections that captures hold, while these ran.
    pub(super) fn kernel(&self, host: usize, ran: (i64, i64)) -> Vec<KernelResult> {
        let connections = self.hosts.get(host).map_or(&[][..], |h| &h.connections);
        let mut found: Vec<KernelResult> = connections
            .iter()
            .filter_map(|c| self.one(c, ran))
            .collect();
        found.sort_by_key(|k| {
            (
                std::cmp::Reverse((k.busy_ns, k.retransmits)),
                k.client,
                k.server,
            )
        });
        found.truncate(SHOWN);
        found
    }

    fn one(&self, c: &TcpConnection, (first, last): (i64, i64)) -> Option<KernelResult> {
        let (local, peer) = (end(c.local), end(c.peer));
        let is = |s: &&Seen| {
            (s.client, s.server) == (local, peer) || (s.client, s.server) == (peer, local)
        };
        // Where several captures hold it, that nearest to this host is the one of its side, which comes first for clients.
        let seen = self
            .seen
            .iter()
            .filter(is)
            .min_by_key(|s| match s.client == local {
                true => s.capture,
                false => usize::MAX - s.capture,
            })?;
        let direction = match seen.client == local {
            true => Direction::ToServer,
            false => Direction::ToClient,
        };
        let within = |s: &&TcpSample| s.at_ns.is_none_or(|at| at >= first && at <= last);
        let samples: Vec<&TcpSample> = c.samples.iter().filter(within).collect();
        let (a, b) = (samples.first()?, samples.last()?);
        let (from, until) = (a.at_ns.unwrap_or(first), b.at_ns.unwrap_or(last));
        // Of one sample, all since it was opened.
        let start = if samples.len() > 1 {
            **a
        } else {
            TcpSample::default()
        };
        let windows = seen.windows.as_ref().filter(|_| samples.len() > 1);
        let window_ns = windows.map(|w| w[direction.index()].between(Time(from), Time(until)));
        let all = || samples.iter();
        Some(KernelResult {
            client: seen.client,
            server: seen.server,
            direction,
            from: Time(from),
            until: Time(until),
            busy_ns: (b.busy_ns - start.busy_ns).max(0),
            rwnd_limited_ns: (b.rwnd_limited_ns - start.rwnd_limited_ns).max(0),
            sndbuf_limited_ns: (b.sndbuf_limited_ns - start.sndbuf_limited_ns).max(0),
            retransmits: b.retransmits.saturating_sub(start.retransmits),
            cwnd_least: all().filter_map(|s| s.cwnd).min(),
            cwnd_most: all().filter_map(|s| s.cwnd).max(),
            rto_most_ns: all().filter_map(|s| s.rto_ns).max(),
            rtt_least_ns: all().filter_map(|s| s.min_rtt_ns.or(s.rtt_ns)).min(),
            window_ns,
        })
    }

    #[cfg(test)]
    pub(super) fn between(client: [u8; 4], server: [u8; 4]) -> Ends {
        let mut ends = Ends::default();
        ends.clients.add(client.into());
        ends.servers.add(server.into());
        ends
    }
}

fn end(of: SocketAddr) -> Endpoint {
    Endpoint {
        address: of.ip(),
        port: of.port(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    fn windows(ns: i64, timeline: Timeline) -> Windows {
        Windows {
            timeline,
            ns,
            whole: (Time(0), Time(100 * S)),
        }
    }

    #[test]
    fn of_a_part_of_a_connections_time_its_sums_are_bounds() {
        let whole = windows(60 * S, Timeline::default());
        assert_eq!(whole.between(Time(0), Time(100 * S)), [60 * S, 60 * S]);
        assert_eq!(whole.between(Time(10 * S), Time(90 * S)), [40 * S, 60 * S]);
        assert_eq!(whole.between(Time(0), Time(30 * S)), [0, 30 * S]);
        let mut timeline = Timeline::default();
        timeline.add(TimeClass::ReceiverApplication, Time(0), Time(20 * S));
        timeline.add(TimeClass::Transfer, Time(20 * S), Time(40 * S));
        let told = windows(20 * S, timeline);
        assert_eq!(told.between(Time(10 * S), Time(40 * S))[1], 10 * S);
    }

    #[test]
    fn packets_and_kernel_contradict_each_other_by_more_than_half_of_the_time() {
        let end = |host| Endpoint {
            address: [10, 0, 0, host].into(),
            port: 1,
        };
        let said = |kernel_s: i64, packets: Option<[i64; 2]>| {
            let k = KernelResult {
                client: end(1),
                server: end(2),
                direction: Direction::ToServer,
                from: Time(0),
                until: Time(100 * S),
                busy_ns: 100 * S,
                rwnd_limited_ns: kernel_s * S,
                sndbuf_limited_ns: 0,
                retransmits: 0,
                cwnd_least: None,
                cwnd_most: None,
                rto_most_ns: None,
                rtt_least_ns: None,
                window_ns: packets.map(|p| p.map(|s| s * S)),
            };
            k.contradicts()
        };
        assert!(said(10, Some([61, 90])) && !said(10, Some([60, 90])));
        assert!(said(90, Some([0, 39])) && !said(90, Some([0, 40])));
        assert!(!said(90, None));
    }
}
