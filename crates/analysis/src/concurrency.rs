//! How many calls are outstanding, and what time does to them: for each pair of client host and
//! server, and for each server with all its clients.

use hashbrown::HashMap;
use model::{Call, Change, ConnectionId, Endpoint, Outstanding, Time};
use std::net::IpAddr;

/// More outstanding calls than this are counted as this many.
const LEVELS: usize = 1024;

/// A request that follows a reply this fast was released by it. A client's own turnaround takes tens of
/// microseconds, more on a busy host; a quarter of the usual response time is still much less than
/// chance would have it, up to a bound.
const RELEASE_NS: std::ops::RangeInclusive<i64> = 300_000..=5_000_000;

/// Silence shorter than this is nobody's stall.
pub(crate) const STALL_NS: i64 = 50_000_000;

/// Longest silences kept for each server.
const STALLS: usize = 256;

/// Calls that find no more than this outstanding, themselves included, find hardly any queue.
const FEW: u32 = 4;

/// Waits of such calls that are kept.
const UNLOADED: usize = 256;

/// Eight buckets per power of two: neighbours differ by a tenth.
fn gap_bucket(ns: i64) -> usize {
    let v = ns.max(8) as u64;
    let power = 63 - v.leading_zeros();
    (power as usize) * 8 + ((v >> (power - 3)) & 7) as usize
}

/// The middle of a bucket.
fn gap_of(bucket: usize) -> f64 {
    ((1u64 << (bucket / 8)) as f64) * (1.0 + (bucket % 8) as f64 / 8.0 + 1.0 / 16.0)
}

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
    /// Sum of squares, in microseconds.
    pub square_us: f64,
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
    /// Time between replies while something was outstanding, by [`gap_bucket`].
    pub between_replies_ns: Vec<i64>,
    pub replies: u64,
    /// The same by the number outstanding when they came, their own included.
    replied: Vec<u64>,
    /// Replies whose request the capture hides.
    pub hidden_requests: u64,
    /// Requests whose reply the capture hides.
    pub hidden_replies: u64,
    /// Waits of the first calls that found at most [`FEW`] outstanding.
    unloaded: Vec<(u16, i64)>,
    last_reply: Option<Time>,
    /// Since when the server has sent nothing, and no reply, while something was outstanding.
    quiet_since: Option<Time>,
    waiting_since: Option<Time>,
    arrivals: u32,
    pub silences: Vec<Silence>,
    connection: Option<ConnectionId>,
    several: bool,
}

/// Sums that stay at the largest value: times in a damaged capture may lie centuries apart.
trait Plus: Copy + Default {
    fn plus(self, x: Self) -> Self;
}

impl Plus for i64 {
    fn plus(self, x: i64) -> i64 {
        self.saturating_add(x)
    }
}

impl Plus for u64 {
    fn plus(self, x: u64) -> u64 {
        self.saturating_add(x)
    }
}

fn add<T: Plus>(v: &mut Vec<T>, i: usize, x: T) {
    let i = i.min(LEVELS - 1);
    if i >= v.len() {
        v.resize(i + 1, T::default());
    }
    v[i] = v[i].plus(x);
}

impl Level {
    fn change(&mut self, o: &Outstanding, release_ns: i64) {
        if let Some(before) = self.changed {
            let passed = (o.time - before).max(0);
            add(&mut self.time_ns, self.outstanding as usize, passed);
        }
        self.changed = Some(self.changed.map_or(o.time, |c| c.max(o.time)));
        if *self.connection.get_or_insert(o.connection) != o.connection {
            self.several = true;
        }
        match o.change {
            Change::Sent => {
                self.outstanding += 1;
                let n = self.outstanding as usize;
                add(&mut self.sent, n, 1);
                let follows = self
                    .last_reply
                    .is_some_and(|r| (0..=release_ns).contains(&(o.time - r)));
                add(&mut self.released, n, u64::from(follows));
                if n == 1 {
                    self.quiet_since = Some(o.time);
                    self.waiting_since = Some(o.time);
                    self.arrivals = 0;
                }
                self.arrivals += 1;
            }
            Change::Settled => {
                let n = self.outstanding;
                self.outstanding = n.saturating_sub(1);
                self.replied(o.time, n);
            }
            Change::Stray => {
                self.hidden_requests += 1;
                self.replied(o.time, self.outstanding);
            }
            Change::Spoke => {
                self.last_reply = self.last_reply.max(Some(o.time));
                self.spoke(o.time);
            }
        }
    }

    /// The server has answered somebody, with `n` outstanding.
    fn replied(&mut self, at: Time, n: u32) {
        self.replies += 1;
        add(&mut self.replied, n as usize, 1);
        self.last_reply = self.last_reply.max(Some(at));
        if let Some(since) = self.waiting_since {
            let gap = (at - since).max(0);
            add(&mut self.between_replies_ns, gap_bucket(gap), gap);
        }
        self.waiting_since = (self.outstanding > 0).then_some(at);
        self.spoke(at);
    }

    /// The server has sent something, which ends a silence.
    fn spoke(&mut self, at: Time) {
        let quiet = self.quiet_since.map_or(0, |since| (at - since).max(0));
        if let Some(first) = self.quiet_since
            && quiet >= STALL_NS
            && self.arrivals >= 3
        {
            self.silences.push(Silence {
                first,
                last: at,
                arrivals: self.arrivals,
            });
            if self.silences.len() > STALLS {
                let shortest = (0..self.silences.len())
                    .min_by_key(|&i| self.silences[i].last - self.silences[i].first);
                shortest.map(|i| self.silences.remove(i));
            }
        }
        // Where only what follows shows that an answer is complete, it is told late, of an earlier time.
        let latest = self.quiet_since.map_or(at, |since| since.max(at));
        self.quiet_since = (self.outstanding > 0).then_some(latest);
        self.arrivals = 0;
    }

    /// Nanoseconds with anything outstanding.
    pub(crate) fn busy_ns(&self) -> i64 {
        self.time_ns.iter().skip(1).fold(0, |sum, t| t.plus(sum))
    }

    /// Share of the busy time spent at n or above.
    pub(crate) fn share_from(&self, n: usize) -> f64 {
        let above = self
            .time_ns
            .iter()
            .skip(n)
            .fold(0i64, |sum, t| sum.plus(*t));
        above as f64 / (self.busy_ns().max(1)) as f64
    }
}

/// Where the two levels of a client host and a server stand.
#[derive(Clone, Copy, Debug)]
struct Place {
    client: IpAddr,
    server: Endpoint,
    pair: usize,
    with_all: usize,
}

/// Places that are found without hashing addresses, by connection: a hundred instructions less for each
/// scope of each change, of which there are three a call.
const PLACES: usize = 32;

/// All scopes of one capture.
#[derive(Clone, Debug, Default)]
pub struct Concurrency {
    /// Which of the levels a scope has.
    numbers: HashMap<Scope, usize, foldhash::fast::FixedState>,
    levels: Vec<Level>,
    places: [Option<Place>; PLACES],
    /// For servers with several connections: what a call found when it came.
    arrivals: HashMap<(ConnectionId, u32), u32, foldhash::fast::FixedState>,
    /// Median response time, as known so far.
    pub usual_response_ns: i64,
}

impl Concurrency {
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.levels.is_empty()
    }

    pub fn levels(&self) -> impl Iterator<Item = (&Scope, &Level)> {
        let level = |(scope, i): (_, &usize)| Some((scope, self.levels.get(*i)?));
        self.numbers.iter().filter_map(level)
    }

    /// What all clients together have outstanding at a server.
    #[must_use]
    pub fn server(&self, server: Endpoint) -> Option<&Level> {
        self.levels.get(*self.numbers.get(&Scope::Server(server))?)
    }

    fn number(&mut self, scope: Scope) -> usize {
        *self.numbers.entry(scope).or_insert_with(|| {
            self.levels.push(Level::default());
            self.levels.len() - 1
        })
    }

    /// The place that was used last for a connection, if it is this one's.
    fn known(&self, id: ConnectionId, client: IpAddr, server: Endpoint) -> Option<Place> {
        let place = self.places[id.0 as usize % PLACES]?;
        (place.client == client && place.server == server).then_some(place)
    }

    fn place(&mut self, id: ConnectionId, client: IpAddr, server: Endpoint) -> Place {
        self.known(id, client, server).unwrap_or_else(|| {
            let place = Place {
                client,
                server,
                pair: self.number(Scope::Pair(client, server)),
                with_all: self.number(Scope::Server(server)),
            };
            self.places[id.0 as usize % PLACES] = Some(place);
            place
        })
    }

    pub fn change(&mut self, o: &Outstanding) {
        let release_ns = (self.usual_response_ns / 4).clamp(*RELEASE_NS.start(), *RELEASE_NS.end());
        let place = self.place(o.connection, o.client.address, o.server);
        self.levels[place.pair].change(o, release_ns);
        let server = &mut self.levels[place.with_all];
        server.change(o, release_ns);
        if !server.several {
            return;
        }
        match o.change {
            Change::Sent => {
                self.arrivals
                    .insert((o.connection, o.id), server.outstanding);
            }
            Change::Settled => {
                self.arrivals.remove(&(o.connection, o.id));
            }
            Change::Stray | Change::Spoke => {}
        }
    }

    /// A complete call of operation number `op`; before its answer is counted by
    /// [`Concurrency::change`].
    pub fn call(&mut self, call: &Call, op: u16, wait_ns: i64) {
        let known = self.known(call.connection, call.client.address, call.server);
        let number = match known {
            Some(place) => Some(place.with_all),
            None => self.numbers.get(&Scope::Server(call.server)).copied(),
        };
        let Some(server) = number.and_then(|i| self.levels.get_mut(i)) else {
            return;
        };
        let found = if server.several {
            self.arrivals
                .remove(&(call.connection, call.id))
                .unwrap_or(call.outstanding)
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
        at.wait_ns = at.wait_ns.plus(wait_ns);
        at.square_us += (wait_ns as f64 / 1e3).powi(2);
        if found <= FEW && server.unloaded.len() < UNLOADED {
            server.unloaded.push((op, wait_ns));
        }
    }

    /// A request whose reply the capture hides.
    pub fn hidden_reply(&mut self, call: &Call) {
        for scope in [
            Scope::Pair(call.client.address, call.server),
            Scope::Server(call.server),
        ] {
            if let Some(&i) = self.numbers.get(&scope) {
                self.levels[i].hidden_replies += 1;
            }
        }
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
    /// Whether calls were seen that found the server unloaded; else the rhythm of its replies tells.
    pub sure: bool,
}

/// Unloaded calls needed to know the service time.
const UNLOADED_CALLS: usize = 3;

impl Level {
    /// Whether calls queue in the server behind a limited number of workers: calls that found it idle
    /// took a fraction of what those take that found many before them, the latter all take about the
    /// same, and replies leave steadily. The number of workers is then rate × unloaded service time.
    #[must_use]
    pub fn server_cap(&self) -> Option<ServerCap> {
        let total: u64 = self.waits.values().flatten().map(|a| a.calls).sum();
        let mut levels: Vec<AtLevel> = Vec::new();
        // Rare operations have service times of their own.
        let calls_of = |op: u16| {
            self.waits
                .get(&op)
                .map_or(0, |w| w.iter().map(|a| a.calls).sum())
        };
        let usual = |op: u16| calls_of(op) * 10 >= total;
        for (_, op) in self.waits.iter().filter(|(op, _)| usual(**op)) {
            for (n, a) in op.iter().enumerate() {
                if n >= levels.len() {
                    levels.resize(n + 1, AtLevel::default());
                }
                levels[n].calls += a.calls;
                levels[n].wait_ns += a.wait_ns;
                levels[n].square_us += a.square_us;
            }
        }
        let calls: u64 = levels.iter().map(|a| a.calls).sum();
        if calls < 50 {
            return None;
        }
        let mut seen = 0;
        let high = levels.iter().position(|a| {
            seen += a.calls;
            seen * 2 >= calls
        })?;
        let busy = &levels[high..];
        let n: f64 = busy.iter().map(|a| a.calls as f64).sum();
        let busy_wait = busy.iter().map(|a| a.wait_ns as f64).sum::<f64>() / n;
        let square = busy.iter().map(|a| a.square_us).sum::<f64>() / n;
        let busy_level = busy
            .iter()
            .enumerate()
            .map(|(i, a)| (high + i) as f64 * a.calls as f64)
            .sum::<f64>()
            / n;
        let variation =
            (square - (busy_wait / 1e3).powi(2)).max(0.0).sqrt() / (busy_wait / 1e3).max(1e-9);
        // Waits that scatter as much as they last are services of very different length, not a queue.
        if variation > 0.5 || busy_level < f64::from(2 * FEW) {
            return None;
        }
        let (service, sure) = match self.unloaded_service(busy_wait, usual) {
            Some(service) => (service, true),
            None => (self.rounds(busy_wait)?, false),
        };
        let cap = self.workers(service);
        if service < 1.0 || busy_level < 1.5 * cap || cap < if sure { 0.5 } else { 1.8 } {
            return None;
        }
        // A server that stands still and then answers everything at once is no queue.
        let longest = gap_bucket((4.0 * service) as i64);
        let silent: i64 = self
            .between_replies_ns
            .iter()
            .skip(longest + 1)
            .fold(0, |sum, t| t.plus(sum));
        if silent > self.busy_ns() / 4 {
            return None;
        }
        let queue = levels
            .iter()
            .map(|a| (a.wait_ns - (service * a.calls as f64) as i64).max(0))
            .sum();
        Some(ServerCap {
            cap,
            service_ns: service as i64,
            queue_ns: queue,
            calls,
            busy_level,
            busy_wait_ns: busy_wait as i64,
            sure,
        })
    }

    /// How many calls of `service` a server works on at a time: its rate while all of its workers are busy,
    /// which they are where more calls are outstanding than it has. As how many that is comes out of it, it
    /// is sought from below, where some of them had nothing to do. A server without a bound answers the
    /// faster the more it has, and goes on to the highest number there was.
    fn workers(&self, service: f64) -> f64 {
        let at_rate_above = |n: f64| {
            let from = n as usize + 1;
            let replies: u64 = self.replied.iter().skip(from).sum();
            let time_ns = self
                .time_ns
                .iter()
                .skip(from)
                .fold(0, |sum: i64, t| sum.plus(*t));
            service * replies as f64 / time_ns.max(1) as f64
        };
        let mut workers = at_rate_above(0.0);
        loop {
            let more = at_rate_above(workers);
            if more as usize <= workers as usize {
                return workers.max(more);
            }
            workers = more;
        }
    }

    /// How long a call takes that finds nothing to queue behind.
    ///
    /// Requests that leave in one burst hide each other, so most calls that seem to find nothing do
    /// find something; those that did not agree with each other, and are the quickest that do.
    fn unloaded_service(&self, busy_wait: f64, usual: impl Fn(u16) -> bool) -> Option<f64> {
        let quick = self
            .unloaded
            .iter()
            .filter(|(op, w)| usual(*op) && (*w as f64) < busy_wait / 2.0);
        let mut quick: Vec<i64> = quick.map(|(_, w)| *w).collect();
        quick.sort_unstable();
        let agreeing = quick
            .windows(UNLOADED_CALLS)
            .find(|w| w[0] * 6 >= w[UNLOADED_CALLS - 1] * 5)?;
        let limit = agreeing[0] * 6 / 5;
        let cluster: Vec<i64> = quick
            .iter()
            .copied()
            .filter(|w| (agreeing[0]..=limit).contains(w))
            .collect();
        Some(cluster.iter().sum::<i64>() as f64 / cluster.len() as f64)
    }

    /// The service time of a server that is never seen unloaded, where it shows: workers that take
    /// equally long answer in rounds, one round of replies each service time, and calls wait for several
    /// rounds.
    fn rounds(&self, busy_wait: f64) -> Option<f64> {
        let t = &self.between_replies_ns;
        let around = |i: usize| {
            t[i.saturating_sub(1)..(i + 2).min(t.len())]
                .iter()
                .sum::<i64>()
        };
        let mode = (0..t.len()).max_by_key(|&i| (around(i), std::cmp::Reverse(i)))?;
        let share = around(mode) as f64 / self.busy_ns().max(1) as f64;
        // A round is a little longer than the gap between the last reply of one and the first of the
        // next.
        let service = gap_of(mode) * 1.1;
        (share >= 0.3 && busy_wait >= 4.0 * service).then_some(service)
    }

    /// The flat top of a client that keeps N calls outstanding, each new one released by a reply.
    /// `slots` is the protocol's own limit, where it has one.
    #[must_use]
    pub fn client_cap(&self, slots: Option<usize>) -> Option<ClientCap> {
        let busy = self.busy_ns();
        let time = |n: usize| self.time_ns.get(n).copied().unwrap_or(0);
        let hidden = |halves: u64| halves as f64 / (self.replies + halves).max(1) as f64;
        // A hidden reply leaves its call counted for a while, a hidden request leaves it uncounted.
        let above = if self.hidden_replies > 0 { 0.25 } else { 0.001 };
        let top = (2..self.time_ns.len()).find(|&n| {
            let beyond = self.share_from(n + 1);
            time(n) >= busy / 1000 && time(n) > 0 && time(n) >= 3 * time(n + 1) && beyond <= above
        })?;
        let top = slots
            .filter(|&s| s >= 2 && (top..=top + 1).contains(&s))
            .unwrap_or(top);
        let missing = hidden(self.hidden_requests);
        let floor = if missing > 0.0 {
            (top as f64 * (1.0 - 1.5 * missing)).floor().max(2.0) as usize - 1
        } else {
            top
        };
        let share = self.share_from(floor);
        let sum = |v: &[u64]| v.iter().skip(floor).sum::<u64>();
        let (sent, released) = (sum(&self.sent), sum(&self.released));
        let flat = share >= if missing > 0.0 { 0.5 } else { 0.3 };
        (flat && sent >= 100 && released * 10 >= sent * 7).then_some(ClientCap {
            cap: top,
            share,
            sent,
            released,
        })
    }
}

/// A client that keeps a number of calls outstanding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientCap {
    pub cap: usize,
    /// Of the busy time, the share at the top.
    pub share: f64,
    /// Requests that reached the top, and those of them that closely followed a reply.
    pub sent: u64,
    pub released: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn change(id: u32, at_ms: i64, change: Change) -> Outstanding {
        let end = |host, port| Endpoint {
            address: [10, 0, 0, host].into(),
            port,
        };
        Outstanding {
            order: 0,
            time: Time(at_ms * MS),
            connection: ConnectionId(id.into()),
            client: end(1, 40_000),
            server: end(2, 1_521),
            id,
            change,
        }
    }

    /// Ten ask at once and are answered one after the other; that an answer is complete is told when its
    /// client speaks again, much later.
    #[test]
    fn answers_that_are_told_late_leave_no_silence() {
        let mut concurrency = Concurrency::default();
        for id in 0..10 {
            concurrency.change(&change(id, 0, Change::Sent));
        }
        for id in 0..10 {
            let at = i64::from(id + 1) * 15;
            concurrency.change(&change(id, at, Change::Spoke));
            if id >= 5 {
                concurrency.change(&change(id - 5, at - 75, Change::Settled));
            }
            for further in 0..4 {
                concurrency.change(&change(100 + 4 * id + further, at, Change::Sent));
            }
        }
        let all = concurrency.levels().flat_map(|(_, level)| &level.silences);
        assert_eq!(all.count(), 0);
    }

    /// Four workers of 4 ms, under one call at a time for most of the capture and under 40 in the end.
    #[test]
    fn workers_are_counted_while_all_of_them_are_busy() {
        let mut concurrency = Concurrency::default();
        for id in 0..200 {
            let at = i64::from(id) * 5;
            concurrency.change(&change(id, at, Change::Sent));
            concurrency.change(&change(id, at + 4, Change::Settled));
        }
        let (mut sent, mut settled) = (1_000..1_240, 1_000..1_240);
        for id in sent.by_ref().take(40) {
            concurrency.change(&change(id, 1_000, Change::Sent));
        }
        for round in 1..=60 {
            for id in settled.by_ref().take(4) {
                concurrency.change(&change(id, 1_000 + 4 * round, Change::Settled));
            }
            for id in sent.by_ref().take(4) {
                concurrency.change(&change(id, 1_000 + 4 * round, Change::Sent));
            }
        }
        let (_, level) = concurrency
            .levels()
            .find(|(scope, _)| matches!(scope, Scope::Server(_)))
            .unwrap();
        let workers = level.workers((4 * MS) as f64);
        assert!((3.9..4.2).contains(&workers), "{workers}");
    }
}
