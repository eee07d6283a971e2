//! Matches the calls of two captures: the same client and server, the same id, the same place in the
//! TCP stream.
//!
//! Streaming: a call waits until its twin comes from the other capture, or until
//! [`LOOK_BACK_CALLS`](model::limits::LOOK_BACK_CALLS) younger ones wait, when it is evicted and
//! counted. Clocks play no part.
//!
//! A datagram has no place: of calls with one id (a server that got a request again may do it again) the first of one
//! capture is the first of the other, and so on, whichever capture is read faster.
//!
//! Network address translation changes addresses and ports but neither XIDs nor sequence numbers: a
//! connection of which nothing matches by address is compared with the other capture's by id and
//! sequence number alone, and taken for the same when [`VOTES`] of its calls agree. One call whose request and
//! response both begin with the same sequence number proves as much, as each host drew its own of 2³² (RFC 6528); but the
//! addresses have the first word, so it waits until the connection is over in both captures.
//!
//! A proxy that ends connections and passes their bytes on in others changes sequence numbers as well: of connections
//! of which nothing matches otherwise [`proxied`] says which are the same.

mod proxied;

use crate::half::Half;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashTable};
use model::{Endpoint, limits};
use proxied::Shift;
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Calls that must agree before two connections with different addresses are taken for one.
const VOTES: u32 = 4;

/// At the end of the captures this many have to do: one may be chance.
const LAST_VOTES: u32 = 2;

/// Connections of a capture of which nothing matched, that are held against the other's: to look at all takes as long as
/// their square. Of each so many of the calls that came last, meanwhile and once the captures are over.
const LONELY: usize = 64;
const LATEST: usize = 2_048;
const LEFT: usize = 16_384;

/// So many calls of a capture have come to wait when connections are looked at first, before any call is evicted; then
/// whenever twice as many have.
const PASSED_ON: u64 = limits::LOOK_BACK_CALLS as u64 / 4;

type Ends = (Endpoint, Endpoint);

/// What a call is known by in both captures: its connection, its id, and where its request begins.
type Name = (Ends, u32, u32);

/// The id of a call, its place in the stream, and its bytes: what address translation leaves as it is.
type CallKey = (u32, u32, u32);

/// The hash by which a waiting call is found, and its number among its capture's calls.
type Ticket = (u64, u64);

#[derive(Debug)]
struct Waiter {
    call: Half,
    /// Its number among its capture's calls.
    arrival: u64,
    /// Of its name when it began to wait.
    hash: u64,
}

#[derive(Default, Debug)]
struct Waiting {
    calls: HashTable<Waiter>,
    arrivals: u64,
    /// In the order in which calls came, for eviction.
    order: VecDeque<Ticket>,
    evicted: u64,
    /// Their rows, where these are wanted.
    evicted_rows: Option<Vec<u64>>,
    connections: HashMap<Ends, ConnectionState, foldhash::fast::FixedState>,
}

#[derive(Default, Debug)]
struct ConnectionState {
    matched: bool,
    closed: bool,
    /// The other capture's name of this connection, and how its numbers become that one's.
    alias: Option<(Ends, Shift)>,
    /// The other capture's connection that this is, where either has the other's name.
    twin: Option<Ends>,
    /// The other capture's connection whose sequence numbers are the same in both directions.
    same_numbers: Option<Ends>,
    /// Its calls that wait, as long as none has matched.
    waits: VecDeque<Ticket>,
}

impl Waiting {
    /// The calls of a connection that came last of those that wait, in their order; as long as none has matched.
    fn latest_of(&self, ends: Ends, most: usize) -> Vec<&Half> {
        let waits = self.connections.get(&ends).map(|state| &state.waits);
        let tickets = waits.into_iter().flatten();
        let skipped = waits.map_or(0, |waits| waits.len().saturating_sub(most));
        let find = |(hash, arrival): &Ticket| {
            let waiter = self.calls.find(*hash, |w| w.arrival == *arrival);
            waiter.map(|w| &w.call)
        };
        tickets.skip(skipped).filter_map(find).collect()
    }

    /// Connections of which nothing matched, although enough calls wait to tell a proxy's, with the latest of these.
    fn lonely(&self, latest: usize) -> Vec<(Ends, Vec<&Half>)> {
        let enough = |(ends, state): (&Ends, &ConnectionState)| {
            (!state.matched && state.waits.len() >= proxied::LEAST).then_some(*ends)
        };
        let mut lonely: Vec<Ends> = self.connections.iter().filter_map(enough).collect();
        lonely.sort_unstable();
        lonely.truncate(LONELY);
        let calls = |ends: Ends| (ends, self.latest_of(ends, latest));
        lonely.into_iter().map(calls).collect()
    }
}

impl ConnectionState {
    fn name(&self, call: &Half) -> Name {
        match self.alias {
            Some((ends, shift)) => (
                ends,
                call.id.wrapping_sub(shift.id),
                call.request_sequence.wrapping_sub(shift.sequence),
            ),
            None => (ends_of(call), call.id, call.request_sequence),
        }
    }
}

/// A call of a connection without a match.
#[derive(Clone, Copy, Debug)]
struct Loose {
    ends: Ends,
    /// Where its response begins, if that was seen.
    response_sequence: Option<u32>,
}

/// Two captures being matched; index 0 and 1.
#[derive(Default, Debug)]
pub struct Join {
    sides: [Waiting; 2],
    hasher: foldhash::fast::FixedState,
    /// The calls that wait of connections without a match, by capture.
    loose: HashMap<CallKey, [Option<Loose>; 2], foldhash::fast::FixedState>,
    votes: HashMap<(Ends, Ends), u32, foldhash::fast::FixedState>,
    /// Whether any connection was matched across different addresses.
    pub translated: bool,
    /// How many connections were matched across a proxy.
    pub proxied: u64,
    /// Whether any is in both captures itself.
    is_direct: bool,
}

impl Join {
    /// Adds a call of one capture; gives its twin's when that is there, as `[capture 0's, capture 1's]`.
    pub fn add(&mut self, side: usize, call: Half, out: &mut Vec<[Half; 2]>) {
        let ends = ends_of(&call);
        let state = self.sides[side].connections.entry(ends).or_default();
        if state.closed {
            // Another connection between the same ends.
            *state = ConnectionState::default();
        }
        let name = state.name(&call);
        let unmatched = !state.matched;
        let hash = self.hasher.hash_one(name);
        if let Some(twin) = self.take(1 - side, name, hash, call.op) {
            self.is_direct |= self.proxied == 0;
            if unmatched {
                self.mark_matched(side, ends);
            }
            self.mark_matched(1 - side, ends_of(&twin));
            out.push(if side == 0 {
                [call, twin]
            } else {
                [twin, call]
            });
            return;
        }
        let (key, response_sequence) = (key_of(&call), call.response_sequence);
        let arrivals = &mut self.sides[side].arrivals;
        *arrivals += 1;
        let arrival = *arrivals;
        let waiter = Waiter {
            call,
            arrival,
            hash,
        };
        self.wait(side, waiter);
        if unmatched {
            let connections = &mut self.sides[side].connections;
            let state = connections.entry(ends).or_default();
            state.waits.push_back((hash, arrival));
            let loose = Loose {
                ends,
                response_sequence,
            };
            self.vote(side, key, loose, out);
        }
        let is_due = arrival.is_multiple_of(PASSED_ON) && (arrival / PASSED_ON).is_power_of_two();
        if is_due {
            self.pass_on(LATEST, out);
        }
    }

    /// A connection is over: what is known of it is forgotten as soon as nothing of it waits. Gives the calls
    /// that are matched by that.
    pub fn closed(&mut self, side: usize, ends: Ends, out: &mut Vec<[Half; 2]>) {
        let connections = &mut self.sides[side].connections;
        let Some(state) = connections.get_mut(&ends) else {
            return;
        };
        state.closed = true;
        if let Some(other) = state.same_numbers.filter(|_| !state.matched) {
            let there = self.sides[1 - side].connections.get(&other);
            if there.is_some_and(|s| s.closed && !s.matched) {
                let (a, b) = in_order(side, ends, other);
                self.identify(a, b, out);
            }
        }
        self.forget(side, ends);
    }

    /// Of a connection that is over nothing more is asked, but what its calls are called while they wait and the other
    /// capture may still have them.
    fn forget(&mut self, side: usize, ends: Ends) {
        let Some(state) = self.sides[side].connections.get(&ends) else {
            return;
        };
        let twin = state.twin;
        let is_over = state.closed && (state.matched || state.waits.is_empty());
        let there = twin.and_then(|twin| self.sides[1 - side].connections.get(&twin));
        if !is_over || there.is_some_and(|twin| !twin.closed) {
            return;
        }
        self.sides[side].connections.remove(&ends);
        if let Some(twin) = twin {
            self.sides[1 - side].connections.remove(&twin);
        }
    }

    fn take(&mut self, side: usize, name: Name, hash: u64, op: u16) -> Option<Half> {
        let Waiting {
            calls, connections, ..
        } = &mut self.sides[side];
        // A datagram has no place.
        let is_datagram = name.2 == 0;
        let same = |Waiter { call: c, .. }: &Waiter| {
            (!is_datagram || c.op == op) && name_of(connections, c) == name
        };
        let found = match is_datagram {
            true => {
                let alike = calls.iter_hash(hash).filter(|w| same(w));
                let first = alike.map(|w| w.arrival).min()?;
                calls.find_entry(hash, |w| w.arrival == first)
            }
            false => calls.find_entry(hash, same),
        };
        let call = found.ok().map(|entry| entry.remove().0.call)?;
        self.unloose(side, &call);
        Some(call)
    }

    fn wait(&mut self, side: usize, waiter: Waiter) {
        let waiting = &mut self.sides[side];
        waiting.order.push_back((waiter.hash, waiter.arrival));
        (waiting.calls).insert_unique(waiter.hash, waiter, |w| w.hash);
        while self.sides[side].calls.len() > limits::LOOK_BACK_CALLS {
            let Some(oldest) = self.sides[side].order.pop_front() else {
                break;
            };
            self.evict(side, oldest);
        }
        let waiting = &mut self.sides[side];
        if waiting.order.len() > 2 * waiting.calls.len() + 4096 {
            let calls = &waiting.calls;
            let waits = |&(hash, arrival): &_| calls.find(hash, |w| w.arrival == arrival).is_some();
            waiting.order.retain(waits);
        }
    }

    fn evict(&mut self, side: usize, (hash, arrival): Ticket) {
        let waiting = &mut self.sides[side];
        let Ok(entry) = waiting.calls.find_entry(hash, |w| w.arrival == arrival) else {
            return;
        };
        let (Waiter { call, .. }, _) = entry.remove();
        waiting.evicted += 1;
        let rows = waiting.evicted_rows.iter_mut();
        rows.for_each(|rows| rows.push(call.row));
        // It is the oldest of its connection, too.
        if let Some(state) = waiting.connections.get_mut(&ends_of(&call))
            && state.waits.front().is_some_and(|(_, a)| *a == arrival)
        {
            state.waits.pop_front();
            self.forget(side, ends_of(&call));
        }
        self.unloose(side, &call);
    }

    /// A call no longer waits.
    fn unloose(&mut self, side: usize, call: &Half) {
        if self.loose.is_empty() {
            return;
        }
        if let Entry::Occupied(mut known) = self.loose.entry(key_of(call)) {
            let slots = known.get_mut();
            slots[side].take_if(|l| l.ends == ends_of(call));
            if slots.iter().all(Option::is_none) {
                known.remove();
            }
        }
    }

    fn mark_matched(&mut self, side: usize, ends: Ends) {
        if let Some(state) = self.sides[side].connections.get_mut(&ends)
            && !state.matched
        {
            state.matched = true;
            state.waits = VecDeque::new();
        }
    }

    /// A call of a connection of which nothing has matched: is it known under other addresses?
    fn vote(&mut self, side: usize, key: CallKey, seen: Loose, out: &mut Vec<[Half; 2]>) {
        let known = self.loose.entry(key).or_default();
        known[side] = Some(seen);
        let Some(there) = known[1 - side] else { return };
        let (ends, other) = (seen.ends, there.ends);
        if other == ends || !is_unmatched(&self.sides[1 - side], other) {
            return;
        }
        // A datagram has no number.
        let is_answered = key.1 != 0 && seen.response_sequence.is_some();
        if is_answered && seen.response_sequence == there.response_sequence {
            for (side, ends, other) in [(side, ends, other), (1 - side, other, ends)] {
                let state = self.sides[side].connections.get_mut(&ends);
                state.into_iter().for_each(|s| s.same_numbers = Some(other));
            }
        }
        let pair = in_order(side, ends, other);
        if self.votes.len() >= limits::HOST_PAIRS && !self.votes.contains_key(&pair) {
            return;
        }
        let votes = self.votes.entry(pair).or_default();
        *votes += 1;
        if *votes >= VOTES {
            self.identify(pair.0, pair.1, out);
        }
    }

    /// Connections of which nothing has matched, although many of their calls wait: which of them did a proxy make of others?
    /// Captures that have connections in common have none between them.
    fn pass_on(&mut self, latest: usize, out: &mut Vec<[Half; 2]>) {
        if self.is_direct {
            return;
        }
        let lonely = self.sides.each_ref().map(|side| side.lonely(latest));
        let found = proxied::pairs(lonely.each_ref().map(Vec::as_slice));
        for (a, b, same) in found {
            self.proxied += 1;
            self.alias(a, (b, same.shift), out);
        }
    }

    /// Capture 1's connection `b` is capture 0's `a`.
    fn identify(&mut self, a: Ends, b: Ends, out: &mut Vec<[Half; 2]>) {
        (self.translated, self.is_direct) = (true, true);
        self.alias(a, (b, Shift::default()), out);
    }

    /// The same, with other numbers: matches what waits of both.
    fn alias(&mut self, a: Ends, (b, shift): (Ends, Shift), out: &mut Vec<[Half; 2]>) {
        self.votes.remove(&(a, b));
        let waiting = &mut self.sides[1];
        let Some(state) = waiting.connections.get_mut(&b) else {
            return;
        };
        let tickets = std::mem::take(&mut state.waits);
        let calls = &mut waiting.calls;
        let found = tickets.into_iter().filter_map(|(hash, arrival)| {
            let entry = calls.find_entry(hash, |w| w.arrival == arrival).ok()?;
            Some(entry.remove().0)
        });
        let mine: Vec<Waiter> = found.collect();
        (state.alias, state.twin) = (Some((a, shift)), Some(a));
        if let Some(state) = self.sides[0].connections.get_mut(&a) {
            state.twin = Some(b);
        }
        for waiter in mine {
            self.unloose(1, &waiter.call);
            let name = name_of(&self.sides[1].connections, &waiter.call);
            let hash = self.hasher.hash_one(name);
            match self.take(0, name, hash, waiter.call.op) {
                Some(twin) => {
                    self.mark_matched(0, a);
                    self.mark_matched(1, b);
                    out.push([twin, waiter.call]);
                }
                None => self.wait(1, Waiter { hash, ..waiter }),
            }
        }
    }

    /// The captures are over: fewer votes have to do, then what is left is unmatched.
    pub fn finish(&mut self, out: &mut Vec<[Half; 2]>) -> [Vec<Half>; 2] {
        let mut pairs: Vec<((Ends, Ends), u32)> =
            self.votes.iter().map(|(p, v)| (*p, *v)).collect();
        pairs.sort_by_key(|(pair, votes)| (std::cmp::Reverse(*votes), *pair));
        for ((a, b), votes) in pairs {
            let numbers = self.sides[0].connections.get(&a);
            let same_numbers = numbers.is_some_and(|s| s.same_numbers == Some(b));
            if (same_numbers || votes >= LAST_VOTES)
                && is_unmatched(&self.sides[0], a)
                && is_unmatched(&self.sides[1], b)
            {
                self.identify(a, b, out);
            }
        }
        self.pass_on(LEFT, out);
        let mut left = [0, 1].map(|side| {
            let waiting = self.sides[side].calls.drain();
            waiting.map(|w| w.call).collect::<Vec<Half>>()
        });
        for side in &mut left {
            side.sort_by_key(|c| (c.request_first, c.id));
        }
        left
    }

    /// Calls that had to be forgotten, by side.
    #[must_use]
    pub fn evicted(&self) -> [u64; 2] {
        [self.sides[0].evicted, self.sides[1].evicted]
    }

    /// Keeps their rows; to be said before the first call.
    pub fn keep_evicted_rows(&mut self) {
        for side in &mut self.sides {
            side.evicted_rows = Some(Vec::new());
        }
    }

    /// Those of one side.
    pub fn evicted_rows(&self, side: usize) -> impl Iterator<Item = u64> {
        let side = self.sides.get(side);
        let rows = side.and_then(|s| s.evicted_rows.as_ref());
        rows.into_iter().flatten().copied()
    }

    /// Calls that wait, by side.
    #[must_use]
    pub fn waiting(&self) -> [usize; 2] {
        [self.sides[0].calls.len(), self.sides[1].calls.len()]
    }
}

fn ends_of(call: &Half) -> Ends {
    (call.client, call.server)
}

fn name_of(
    connections: &HashMap<Ends, ConnectionState, foldhash::fast::FixedState>,
    call: &Half,
) -> Name {
    let ends = ends_of(call);
    match connections.get(&ends) {
        Some(state) => state.name(call),
        None => (ends, call.id, call.request_sequence),
    }
}

fn key_of(call: &Half) -> CallKey {
    (call.id, call.request_sequence, call.request_bytes)
}

/// Whether a connection is known and nothing of it has matched; one that is over and forgotten had.
fn is_unmatched(side: &Waiting, ends: Ends) -> bool {
    side.connections.get(&ends).is_some_and(|s| !s.matched)
}

/// Capture 0's connection and capture 1's, of which `ends` is that of this side.
fn in_order(side: usize, ends: Ends, other: Ends) -> (Ends, Ends) {
    match side {
        0 => (ends, other),
        _ => (other, ends),
    }
}

#[cfg(test)]
mod tests;
