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

use crate::half::Half;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashTable};
use model::{Endpoint, limits};
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// Calls that must agree before two connections with different addresses are taken for one.
const VOTES: u32 = 4;

/// At the end of the captures this many have to do: one may be chance.
const LAST_VOTES: u32 = 2;

type Ends = (Endpoint, Endpoint);

/// The id of a call, its place in the stream, and its bytes: what address translation leaves as it is.
type CallKey = (u32, u32, u32);

/// The hash by which a waiting call is found, and its number among its capture's calls.
type Ticket = (u64, u64);

#[derive(Debug)]
struct Waiter {
    call: Half,
    /// Its number among its capture's calls.
    arrival: u64,
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
    /// The other capture's name of this connection.
    alias: Option<Ends>,
    /// The other capture's connection whose sequence numbers are the same in both directions.
    same_numbers: Option<Ends>,
    /// Its calls that wait, as long as none has matched.
    waits: VecDeque<Ticket>,
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
}

impl Join {
    /// Adds a call of one capture; gives its twin's when that is there, as `[capture 0's, capture 1's]`.
    pub fn add(&mut self, side: usize, call: Half, out: &mut Vec<[Half; 2]>) {
        let ends = ends_of(&call);
        let state = self.sides[side].connections.entry(ends).or_default();
        let canonical = state.alias.unwrap_or(ends);
        let unmatched = !state.matched;
        let hash = self.hash(canonical, call.id, call.request_sequence);
        if let Some(twin) = self.take(1 - side, canonical, hash, &call) {
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
        self.wait(side, hash, Waiter { call, arrival });
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
    }

    /// A connection is over: what is known of it is forgotten, unless its name was found out. Gives the calls
    /// that are matched by that.
    pub fn closed(&mut self, side: usize, ends: Ends, out: &mut Vec<[Half; 2]>) {
        let connections = &mut self.sides[side].connections;
        let Some(state) = connections.get_mut(&ends) else {
            return;
        };
        state.closed = true;
        match state.same_numbers {
            Some(other) if !state.matched => {
                let there = self.sides[1 - side].connections.get(&other);
                if there.is_some_and(|s| s.closed && !s.matched) {
                    let (a, b) = in_order(side, ends, other);
                    self.identify(a, b, out);
                }
            }
            _ if state.matched && state.alias.is_none() => {
                connections.remove(&ends);
            }
            _ => {}
        }
    }

    fn hash(&self, ends: Ends, id: u32, sequence: u32) -> u64 {
        self.hasher.hash_one((ends, id, sequence))
    }

    fn take(&mut self, side: usize, ends: Ends, hash: u64, like: &Half) -> Option<Half> {
        let Waiting {
            calls, connections, ..
        } = &mut self.sides[side];
        let same = |Waiter { call: c, .. }: &Waiter| {
            c.id == like.id
                && c.request_sequence == like.request_sequence
                && (like.request_sequence != 0 || c.op == like.op)
                && {
                    let own = ends_of(c);
                    own == ends || connections.get(&own).is_some_and(|s| s.alias == Some(ends))
                }
        };
        let found = match like.request_sequence {
            0 => {
                let alike = calls.iter_hash(hash).filter(|w| same(w));
                let first = alike.map(|w| w.arrival).min()?;
                calls.find_entry(hash, |w| w.arrival == first)
            }
            _ => calls.find_entry(hash, same),
        };
        let call = found.ok().map(|entry| entry.remove().0.call)?;
        self.unloose(side, &call);
        Some(call)
    }

    fn wait(&mut self, side: usize, hash: u64, waiter: Waiter) {
        let key = (hash, waiter.arrival);
        let hasher = &self.hasher;
        let waiting = &mut self.sides[side];
        let connections = &waiting.connections;
        waiting
            .calls
            .insert_unique(hash, waiter, |Waiter { call: c, .. }| {
                let ends = ends_of(c);
                let name = connections.get(&ends).and_then(|s| s.alias).unwrap_or(ends);
                hasher.hash_one((name, c.id, c.request_sequence))
            });
        waiting.order.push_back(key);
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
        let votes = self.votes.entry(pair).or_default();
        *votes += 1;
        if *votes >= VOTES {
            self.identify(pair.0, pair.1, out);
        }
    }

    /// Capture 1's connection `b` is capture 0's `a`: matches what waits of both.
    fn identify(&mut self, a: Ends, b: Ends, out: &mut Vec<[Half; 2]>) {
        self.translated = true;
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
        state.alias = Some(a);
        for waiter in mine {
            self.unloose(1, &waiter.call);
            let call = &waiter.call;
            let hash = self.hash(a, call.id, call.request_sequence);
            match self.take(0, a, hash, call) {
                Some(twin) => {
                    self.mark_matched(0, a);
                    self.mark_matched(1, b);
                    out.push([twin, waiter.call]);
                }
                None => self.wait(1, hash, waiter),
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
mod tests {
    use super::*;
    use crate::trace_join::tests;
    use proptest::prelude::*;

    /// A datagram's call that began at this time.
    fn datagram(id: u32, request: i64) -> Half {
        let call = tests::call(id, 0, 8_192, request, request + 1_000);
        let half = Half::of(&call, 0, 0, 0).expect("it has a request");
        Half {
            request_sequence: 0,
            ..half
        }
    }

    /// The only call of a connection from this port, whose hosts begin with these numbers.
    fn only(port: u16, numbers: [u32; 2]) -> Half {
        let call = tests::call(0, 0, 8_192, 10, 20);
        let half = Half::of(&call, 0, 0, 0).expect("it has a request");
        let client = Endpoint {
            port,
            ..half.client
        };
        Half {
            client,
            request_sequence: numbers[0],
            response_sequence: Some(numbers[1]),
            ..half
        }
    }

    /// Connections of one call each, read in these turns, and how many of their calls
    /// are matched before the captures are over, and then.
    fn matched(captures: [&[Half]; 2], turns: &[usize]) -> [usize; 2] {
        let (mut join, mut pairs) = (Join::default(), Vec::new());
        let mut left = captures.map(<[Half]>::iter);
        for &side in turns {
            if let Some(call) = left[side].next() {
                join.add(side, call.clone(), &mut pairs);
                join.closed(side, (call.client, call.server), &mut pairs);
            }
        }
        let before = pairs.len();
        join.finish(&mut pairs);
        [before, pairs.len()]
    }

    #[test]
    fn one_call_with_both_numbers_is_a_connection_behind_translation() {
        let (there, here) = (only(700, [5, 9]), only(1_024, [5, 9]));
        assert_eq!(matched([&[there], &[here]], &[0, 1]), [1, 1]);
    }

    #[test]
    fn a_capture_behind_translation_may_begin_late() {
        let (mut join, mut pairs) = (Join::default(), Vec::new());
        let call = |port, id: u32| Half {
            id,
            response_sequence: None,
            ..only(port, [1_000 + id, 0])
        };
        for id in 0..500 {
            join.add(0, call(700, id), &mut pairs);
        }
        for id in 400..410 {
            join.add(1, call(1_024, id), &mut pairs);
        }
        let mut ids: Vec<_> = pairs.iter().map(|[a, b]| (a.id, b.id)).collect();
        ids.sort_unstable();
        assert_eq!(ids, (400..410).map(|id| (id, id)).collect::<Vec<_>>());
        let left = join.finish(&mut pairs).map(|left| left.len());
        assert_eq!(left, [490, 0]);
    }

    #[test]
    fn one_number_alone_may_be_chance() {
        let (there, here) = (only(700, [5, 9]), only(1_024, [5, 8]));
        assert_eq!(matched([&[there], &[here]], &[0, 1]), [0, 0]);
        let unanswered = [700, 1_024].map(|port| Half {
            response_sequence: None,
            ..only(port, [5, 9])
        });
        let [there, here] = unanswered.map(|half| [half]);
        assert_eq!(matched([&there, &here], &[0, 1]), [0, 0]);
    }

    #[test]
    fn addresses_have_the_first_word() {
        // A capture at the translating host has the connection under both names.
        let both = [only(700, [5, 9]), only(1_024, [5, 9])];
        let server = [only(1_024, [5, 9])];
        for turns in [[0, 0, 1], [0, 1, 0], [1, 0, 0]] {
            let (mut join, mut pairs) = (Join::default(), Vec::new());
            let mut left = [both.iter(), server.iter()];
            for side in turns {
                let call = left[side].next().expect("one for each turn");
                join.add(side, call.clone(), &mut pairs);
            }
            join.finish(&mut pairs);
            let ports: Vec<_> = pairs
                .iter()
                .map(|p| [0, 1].map(|i| p[i].client.port))
                .collect();
            assert_eq!(ports, [[1_024, 1_024]], "{turns:?}");
        }
    }

    proptest! {
        /// A server got a request again and did it again, whatever is read first.
        #[test]
        fn calls_of_one_id_are_matched_in_their_order(first in 0..=3usize, then in 0..=3usize) {
            let calls = [[1, 4, 7].map(|at| datagram(7, at)), [2, 3, 8].map(|at| datagram(7, at))];
            let (mut join, mut pairs) = (Join::default(), Vec::new());
            let mut done = [0, 0];
            for (side, until) in [(0, first), (1, then), (0, 3), (1, 3)] {
                while done[side] < until {
                    join.add(side, calls[side][done[side]].clone(), &mut pairs);
                    done[side] += 1;
                }
            }
            let times: Vec<_> = pairs.iter().map(|p| [0, 1].map(|i| p[i].request_first.time.0)).collect();
            prop_assert_eq!(times, [[1, 2], [4, 3], [7, 8]]);
        }
    }
}
