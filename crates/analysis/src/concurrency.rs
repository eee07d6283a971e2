//! How many calls are outstanding, and what time does to them: for each pair of client host and
//! server, and for each server with all its clients.

mod caps;

pub use caps::{ClientCap, ServerCap};

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
    /// Of a server, the only client host: what is counted here is counted for both.
    alone: Option<IpAddr>,
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
    match v.get_mut(i) {
        Some(sum) => *sum = sum.plus(x),
        None => begin(v, i, x),
    }
}

/// Apart, as what may allocate saves registers.
#[cold]
fn begin<T: Plus>(v: &mut Vec<T>, i: usize, x: T) {
    v.resize(i, T::default());
    v.push(x);
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
                if follows {
                    add(&mut self.released, n, 1);
                }
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
                let arrivals = self.arrivals;
                self.spoke(o.time);
                if self.changed > Some(o.time) {
                    // They came behind what is told late.
                    self.arrivals = arrivals;
                }
            }
            Change::Released => {
                self.last_reply = self.last_reply.max(Some(o.time));
                self.heard(o.time);
            }
            _ => {}
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
            self.was_silent(first, at);
        }
        self.heard(at);
    }

    /// Nobody knows of a silence before this.
    fn heard(&mut self, at: Time) {
        // Where only what follows shows that an answer is complete, it is told late, of an earlier time.
        let latest = self.quiet_since.map_or(at, |since| since.max(at));
        self.quiet_since = (self.outstanding > 0).then_some(latest);
        self.arrivals = 0;
    }

    #[cold]
    fn was_silent(&mut self, first: Time, last: Time) {
        self.silences.push(Silence {
            first,
            last,
            arrivals: self.arrivals,
        });
        if self.silences.len() > STALLS {
            let shortest = (0..self.silences.len())
                .min_by_key(|&i| self.silences[i].last - self.silences[i].first);
            shortest.map(|i| self.silences.remove(i));
        }
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
    levels: [usize; 2],
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
    /// Whether any server was silent.
    is_silent: bool,
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

    /// Silences of a server, where there were any.
    #[must_use]
    pub fn silences(&self, server: Endpoint) -> &[Silence] {
        match self.is_silent {
            true => self.server(server).map_or(&[], |level| &level.silences),
            false => &[],
        }
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

    /// The levels of the pair and of the server, of the place that was used last for a connection, if it is this one's.
    fn known(&self, id: ConnectionId, client: IpAddr, server: Endpoint) -> Option<[usize; 2]> {
        let place = self.places[id.0 as usize % PLACES].as_ref()?;
        (place.client == client && place.server == server).then_some(place.levels)
    }

    fn place(&mut self, id: ConnectionId, client: IpAddr, server: Endpoint) -> [usize; 2] {
        self.known(id, client, server).unwrap_or_else(|| {
            let levels = self.levels_of(client, server);
            self.places[id.0 as usize % PLACES] = Some(Place {
                client,
                server,
                levels,
            });
            levels
        })
    }

    /// The same where it is not at hand. The first client host of a server is counted with that until another comes.
    fn levels_of(&mut self, client: IpAddr, server: Endpoint) -> [usize; 2] {
        let scope = Scope::Pair(client, server);
        let is_new = !self.numbers.contains_key(&Scope::Server(server));
        let with_all = self.number(Scope::Server(server));
        if is_new {
            self.levels[with_all].alone = Some(client);
            self.numbers.insert(scope, with_all);
        }
        if let Some(first) = self.levels[with_all]
            .alone
            .take_if(|first| *first != client)
        {
            let own = Level {
                waits: HashMap::default(),
                unloaded: Vec::new(),
                ..self.levels[with_all].clone()
            };
            self.numbers
                .insert(Scope::Pair(first, server), self.levels.len());
            self.levels.push(own);
            self.places = [None; PLACES];
        }
        [self.number(scope), with_all]
    }

    pub fn change(&mut self, o: &Outstanding) {
        let release_ns = (self.usual_response_ns / 4).clamp(*RELEASE_NS.start(), *RELEASE_NS.end());
        let [pair, with_all] = self.place(o.connection, o.client.address, o.server);
        if pair != with_all {
            self.levels[pair].change(o, release_ns);
        }
        let server = &mut self.levels[with_all];
        server.change(o, release_ns);
        self.is_silent |= !server.silences.is_empty();
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
            _ => {}
        }
    }

    /// A complete call of operation number `op`; before its answer is counted by
    /// [`Concurrency::change`].
    pub fn call(&mut self, call: &Call, op: u16, wait_ns: i64) {
        let known = self.known(call.connection, call.client.address, call.server);
        let number = match known {
            Some([_, with_all]) => Some(with_all),
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
        let of = [
            Scope::Pair(call.client.address, call.server),
            Scope::Server(call.server),
        ];
        let [pair, with_all] = of.map(|scope| self.numbers.get(&scope).copied());
        let pair = pair.filter(|pair| Some(*pair) != with_all);
        for i in pair.into_iter().chain(with_all) {
            self.levels[i].hidden_replies += 1;
        }
    }
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

    /// Ten ask, and nothing comes for 80 ms.
    fn silences(first: Change) -> usize {
        let mut concurrency = Concurrency::default();
        for id in 0..10 {
            concurrency.change(&change(id, i64::from(id), Change::Sent));
        }
        concurrency.change(&change(0, 90, first));
        for id in 0..10 {
            concurrency.change(&change(id, 90, Change::Settled));
        }
        let all = concurrency.levels().map(|(_, level)| level.silences.len());
        all.sum()
    }

    /// That it spoke at 10 ms is told when it speaks again.
    #[test]
    fn a_silence_begins_with_the_last_thing_said() {
        let mut concurrency = Concurrency::default();
        for id in 0..10 {
            concurrency.change(&change(id, i64::from(id), Change::Sent));
        }
        concurrency.change(&change(0, 20, Change::Sent));
        concurrency.change(&change(0, 10, Change::Spoke));
        concurrency.change(&change(0, 90, Change::Spoke));
        let mut all = concurrency.levels().flat_map(|(_, level)| &level.silences);
        let silence = all.next().map(|s| (s.first.0 / MS, s.last.0 / MS));
        assert_eq!(silence, Some((10, 90)));
    }

    #[test]
    fn a_server_whose_tcp_held_what_it_says_was_not_silent() {
        assert_ne!(silences(Change::Spoke), 0);
        assert_eq!(silences(Change::Released), 0);
    }

    /// Until a second client comes what is known of a server is what is known of its only one; then each has its own.
    #[test]
    fn clients_of_a_server_are_told_apart_from_when_there_are_two() {
        let of = |client: u8, id: u32, at_ms: i64, what: Change| {
            let mut change = change(id, at_ms, what);
            change.client.address = [10, 0, 0, client].into();
            change
        };
        let mut concurrency = Concurrency::default();
        let sent = |concurrency: &Concurrency, scope: Scope| {
            let level = concurrency.levels().find(|(s, _)| **s == scope);
            level.map_or(0, |(_, level)| level.sent.iter().sum::<u64>())
        };
        let server = change(0, 0, Change::Sent).server;
        let pair = |client: u8| Scope::Pair([10, 0, 0, client].into(), server);
        for id in 0..3 {
            concurrency.change(&of(1, id, i64::from(id), Change::Sent));
        }
        assert_eq!(sent(&concurrency, pair(1)), 3);
        for id in 3..8 {
            concurrency.change(&of(7, id, i64::from(id), Change::Sent));
        }
        concurrency.change(&of(1, 8, 8, Change::Sent));
        assert_eq!(sent(&concurrency, pair(1)), 4);
        assert_eq!(sent(&concurrency, pair(7)), 5);
        assert_eq!(sent(&concurrency, Scope::Server(server)), 9);
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
