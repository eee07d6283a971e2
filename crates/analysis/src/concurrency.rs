//! How many calls are outstanding, and what time does to them: for each pair of client host and
//! server, and for each server with all its clients.

use hashbrown::HashMap;
use model::{Call, ConnectionId, Endpoint, Outstanding, Time};
use std::net::IpAddr;

/// More outstanding calls than this are counted as this many.
const LEVELS: usize = 1024;

/// A request that follows a reply this fast was released by it: a client's own turnaround takes tens
/// of microseconds, and requests come by chance this soon only at thousands a second.
const RELEASE_NS: i64 = 300_000;

/// Silence shorter than this is nobody's stall.
pub const STALL_NS: i64 = 50_000_000;

/// Longest silences kept for each server.
const STALLS: usize = 256;

/// Whose outstanding calls.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// One client host and one server, over all their connections.
    Pair(IpAddr, Endpoint),
    Server(Endpoint),
}

/// Calls that found the server with this many outstanding, themselves included.
#[derive(Clone, Copy, Default, Debug)]
pub struct AtLevel {
    pub calls: u64,
    pub wait_ns: i64,
}

/// The server said nothing though calls were outstanding and more arrived.
#[derive(Clone, Copy, Debug)]
pub struct Silence {
    pub first: Time,
    pub last: Time,
    /// Requests that arrived in it.
    pub arrivals: u32,
}

/// One scope's calls over time.
#[derive(Clone, Debug, Default)]
pub struct Level {
    outstanding: u32,
    changed: Option<Time>,
    /// Nanoseconds with n outstanding, by n.
    pub time_ns: Vec<i64>,
    /// Requests that made it n, by n; and those of them that closely followed a reply.
    pub sent: Vec<u64>,
    pub released: Vec<u64>,
    /// Per operation (its number in the operation table): waits by the n that calls found.
    pub waits: HashMap<u16, Vec<AtLevel>, foldhash::fast::FixedState>,
    /// Time between replies while something was outstanding, by powers of two.
    pub between_replies_ns: Vec<i64>,
    pub replies: u64,
    last_reply: Option<Time>,
    quiet_since: Option<Time>,
    arrivals: u32,
    pub silences: Vec<Silence>,
    connection: Option<ConnectionId>,
    several: bool,
}

fn add<T: Copy + Default + std::ops::AddAssign>(v: &mut Vec<T>, i: usize, x: T) {
    let i = i.min(LEVELS - 1);
    if i >= v.len() {
        v.resize(i + 1, T::default());
    }
    v[i] += x;
}

impl Level {
    fn change(&mut self, o: &Outstanding) {
        if let Some(before) = self.changed {
            let passed = (o.time - before).max(0);
            add(&mut self.time_ns, self.outstanding as usize, passed);
        }
        self.changed = Some(self.changed.map_or(o.time, |c| c.max(o.time)));
        if *self.connection.get_or_insert(o.connection) != o.connection {
            self.several = true;
        }
        if o.sent {
            self.outstanding += 1;
            let n = self.outstanding as usize;
            add(&mut self.sent, n, 1);
            let follows = self.last_reply.is_some_and(|r| (0..=RELEASE_NS).contains(&(o.time - r)));
            add(&mut self.released, n, u64::from(follows));
            if n == 1 {
                self.quiet_since = Some(o.time);
                self.arrivals = 0;
            }
            self.arrivals += 1;
            return;
        }
        self.outstanding = self.outstanding.saturating_sub(1);
        self.replies += 1;
        self.last_reply = Some(o.time);
        if let Some(since) = self.quiet_since {
            let quiet = (o.time - since).max(0);
            let power = 64 - (quiet as u64).leading_zeros() as usize;
            add(&mut self.between_replies_ns, power, quiet);
            if quiet >= STALL_NS && self.arrivals >= 3 {
                self.silences.push(Silence { first: since, last: o.time, arrivals: self.arrivals });
                if self.silences.len() > STALLS {
                    let shortest = (0..self.silences.len()).min_by_key(|&i| self.silences[i].last - self.silences[i].first);
                    shortest.map(|i| self.silences.remove(i));
                }
            }
        }
        self.quiet_since = (self.outstanding > 0).then_some(o.time);
        self.arrivals = 0;
    }

    /// Nanoseconds with anything outstanding.
    #[must_use]
    pub fn busy_ns(&self) -> i64 {
        self.time_ns.iter().skip(1).sum()
    }

    /// Highest n that was outstanding for a share of the busy time that is more than chance.
    #[must_use]
    pub fn top(&self) -> usize {
        let busy = self.busy_ns();
        (1..self.time_ns.len()).rev().find(|&n| self.time_ns[n] * 1000 >= busy && self.time_ns[n] > 0).unwrap_or(0)
    }

    /// Share of the busy time spent at n or above.
    #[must_use]
    pub fn share_from(&self, n: usize) -> f64 {
        let above: i64 = self.time_ns.iter().skip(n).sum();
        above as f64 / (self.busy_ns().max(1)) as f64
    }
}

/// All scopes of one capture.
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    pub levels: HashMap<Scope, Level, foldhash::fast::FixedState>,
    /// For servers with several connections: what a call found when it came.
    arrivals: HashMap<(ConnectionId, u32), u32, foldhash::fast::FixedState>,
}

impl Concurrency {
    pub fn change(&mut self, o: &Outstanding) {
        self.levels.entry(Scope::Pair(o.client.address, o.server)).or_default().change(o);
        let server = self.levels.entry(Scope::Server(o.server)).or_default();
        server.change(o);
        if o.sent && server.several {
            self.arrivals.insert((o.connection, o.id), server.outstanding);
        }
    }

    /// A complete call of operation number `op`; before its answer is counted by
    /// [`Concurrency::change`].
    pub fn call(&mut self, call: &Call, op: u16, wait_ns: i64) {
        let Some(server) = self.levels.get_mut(&Scope::Server(call.server)) else { return };
        let found = if server.several {
            self.arrivals.remove(&(call.connection, call.id)).unwrap_or(call.outstanding)
        } else {
            call.outstanding
        };
        let i = (found as usize).min(LEVELS - 1);
        let waits = server.waits.entry(op).or_default();
        if i >= waits.len() {
            waits.resize(i + 1, AtLevel::default());
        }
        let at = &mut waits[i];
        at.calls += 1;
        at.wait_ns += wait_ns;
    }
}

/// A server that works on a limited number of calls at a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerCap {
    pub cap: f64,
    /// Time in the server of calls that found nothing to queue behind.
    pub service_ns: i64,
    /// Time spent queueing, over all calls.
    pub queue_ns: i64,
    pub calls: u64,
    /// Mean outstanding calls and wait in the busy half.
    pub busy_level: f64,
    pub busy_wait_ns: i64,
}

/// Calls that found little to queue behind, needed to know the unloaded service time.
const UNLOADED_CALLS: u64 = 4;

impl Level {
    /// Whether time in the server grows with outstanding calls as behind a limited number of workers
    /// (`methods`: wait = max(service, n · service / cap)): unloaded calls are much faster than those
    /// that found many before them, the ones in between lie on the line, and replies leave steadily.
    #[must_use]
    pub fn server_cap(&self) -> Option<ServerCap> {
        let total: u64 = self.waits.values().flatten().map(|a| a.calls).sum();
        let mut levels: Vec<AtLevel> = Vec::new();
        for op in self.waits.values() {
            // Rare operations have service times of their own.
            if op.iter().map(|a| a.calls).sum::<u64>() * 10 < total {
                continue;
            }
            for (n, a) in op.iter().enumerate() {
                if n >= levels.len() {
                    levels.resize(n + 1, AtLevel::default());
                }
                levels[n].calls += a.calls;
                levels[n].wait_ns += a.wait_ns;
            }
        }
        let calls: u64 = levels.iter().map(|a| a.calls).sum();
        if calls < 50 {
            return None;
        }
        let gather = |range: &[(usize, AtLevel)]| {
            let n: u64 = range.iter().map(|(_, a)| a.calls).sum();
            let wait: i64 = range.iter().map(|(_, a)| a.wait_ns).sum();
            let level: f64 = range.iter().map(|(i, a)| *i as f64 * a.calls as f64).sum();
            (n, wait as f64 / n.max(1) as f64, level / n.max(1) as f64)
        };
        let used: Vec<(usize, AtLevel)> = levels.iter().copied().enumerate().filter(|(_, a)| a.calls > 0).collect();
        let mut seen = 0;
        let low = used.iter().position(|(_, a)| {
            seen += a.calls;
            seen >= UNLOADED_CALLS
        })? + 1;
        let mut seen = 0;
        let high = used.iter().position(|(_, a)| {
            seen += a.calls;
            seen * 2 >= calls
        })?;
        if high <= low {
            return None;
        }
        let (_, service, low_level) = gather(&used[..low]);
        let (_, busy_wait, busy_level) = gather(&used[high..]);
        let cap = service * busy_level / busy_wait.max(1.0);
        let grows = busy_wait >= 2.0 * service && busy_level >= 3.0 * low_level && cap >= 0.5 && busy_level >= 1.5 * cap;
        if !grows || service < 1.0 {
            return None;
        }
        // Between the two the wait must lie on the line, not jump.
        let between = used[low..high].iter().filter(|(n, _)| *n as f64 > cap);
        let (off, weight) = between.fold((0.0, 0.0), |(off, weight), (n, a)| {
            let expected = *n as f64 * busy_wait / busy_level;
            let wait = a.wait_ns as f64 / a.calls as f64;
            (off + (wait - expected).abs() / expected * a.calls as f64, weight + a.calls as f64)
        });
        if weight > 0.0 && off / weight > 0.4 {
            return None;
        }
        // A server that stands still and then answers everything at once is no queue.
        let longest = (4.0 * service) as u64;
        let power = 64 - longest.leading_zeros() as usize;
        let silent: i64 = self.between_replies_ns.iter().skip(power + 1).sum();
        if silent * 4 > self.busy_ns() {
            return None;
        }
        let queue = used.iter().map(|(_, a)| (a.wait_ns - (service * a.calls as f64) as i64).max(0)).sum();
        Some(ServerCap {
            cap,
            service_ns: service as i64,
            queue_ns: queue,
            calls,
            busy_level,
            busy_wait_ns: busy_wait as i64,
        })
    }

    /// The flat top of a client that keeps N calls outstanding, each new one released by a reply.
    #[must_use]
    pub fn client_cap(&self) -> Option<usize> {
        let top = self.top();
        let (Some(&sent), Some(&released)) = (self.sent.get(top), self.released.get(top)) else { return None };
        let flat = self.share_from(top) >= 0.3;
        (top >= 2 && flat && sent >= 100 && released * 10 >= sent * 9).then_some(top)
    }
}
