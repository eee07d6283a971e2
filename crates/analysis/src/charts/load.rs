//! How long calls waited for the server by how many were outstanding, out of what a diagnosis gathered
//! anyway.

use crate::concurrency::{AtLevel, Concurrency, Scope};
use crate::findings::Rule;
use crate::half::OpTable;
use model::{Endpoint, Name, Protocol};
use std::cmp::Reverse;
use std::net::IpAddr;

/// Servers and operations that are drawn of a capture.
const SERVERS: usize = 3;
const OPERATIONS: usize = 4;

/// Fewer calls make no curve.
const CALLS: u64 = 20;

/// Where a finding says that no more calls are worked on, or outstanding, at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cap {
    pub outstanding: u64,
    pub rule: Rule,
}

/// Calls that found so many outstanding, themselves included, and their mean wait: from the request's
/// last byte to the response's first, without what TCP held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AtOutstanding {
    pub outstanding: u64,
    pub calls: u64,
    pub mean_ns: i64,
}

/// One operation at one server, with all its clients.
#[derive(Clone, Debug)]
pub struct LatencyByOutstanding {
    pub capture: usize,
    pub server: Endpoint,
    pub protocol: Protocol,
    pub op: Name,
    pub levels: Vec<AtOutstanding>,
    pub server_cap: Option<Cap>,
    pub client_cap: Option<Cap>,
}

/// The caps that findings name: of a server, and of a client at a server.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Caps {
    pub(crate) server: Option<(Endpoint, Cap)>,
    pub(crate) client: Option<((IpAddr, Endpoint), Cap)>,
}

/// The costliest operations of the busiest servers.
pub(crate) fn by_outstanding(
    capture: usize,
    concurrency: &Concurrency,
    names: &OpTable,
    caps: &Caps,
) -> Vec<LatencyByOutstanding> {
    let mut servers: Vec<_> = concurrency
        .levels()
        .filter_map(|(scope, level)| match scope {
            Scope::Server(server) => Some((*server, level)),
            Scope::Pair(..) => None,
        })
        .collect();
    servers.sort_by_key(|(server, level)| (Reverse(level.busy_ns()), *server));
    let mut out = Vec::new();
    for (server, level) in servers.into_iter().take(SERVERS) {
        let sum = |levels: &[AtLevel], of: fn(&AtLevel) -> i64| {
            levels.iter().fold(0i64, |sum, a| sum.saturating_add(of(a)))
        };
        let mut operations: Vec<_> = level.waits.iter().collect();
        operations.retain(|(_, levels)| sum(levels, |a| a.calls as i64) >= CALLS as i64);
        operations.sort_by_key(|(op, levels)| (Reverse(sum(levels, |a| a.wait_ns)), **op));
        for (op, levels) in operations.into_iter().take(OPERATIONS) {
            let (protocol, name) = names.name(*op);
            // A call counts itself: of one that found none the capture lacks the request's packets.
            let levels = levels.iter().enumerate().skip(1);
            let levels = levels.filter(|(_, a)| a.calls > 0);
            out.push(LatencyByOutstanding {
                capture,
                server,
                protocol,
                op: name,
                levels: levels
                    .map(|(n, a)| AtOutstanding {
                        outstanding: n as u64,
                        calls: a.calls,
                        mean_ns: a.wait_ns / a.calls.max(1) as i64,
                    })
                    .collect(),
                server_cap: caps.server.filter(|(of, _)| *of == server).map(|(_, c)| c),
                client_cap: caps
                    .client
                    .filter(|((_, of), _)| *of == server)
                    .map(|(_, c)| c),
            });
        }
    }
    out
}
