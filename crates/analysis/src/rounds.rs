//! Connections that ask for little, or write little, at a time, over and over: what fewer, larger calls
//! would save.
//!
//! Only asked of turns, of which a connection has one at a time: elsewhere many small calls may be
//! under way at once and share their round trips.

use hashbrown::HashMap;
use model::{ConnectionId, Time, limits};

/// Fewer calls than this are a beginning, not a habit.
const MANY: u64 = 50;

/// A call that carries more than this, both ways together, is not small: two segments.
const LITTLE_BYTES: u64 = 2 * 1_460;

/// What a write may carry at once with ease.
const WRITE_BYTES: u64 = 64_000;

/// What one round trip carries without waiting for acknowledgements (RFC 6928: ten segments).
const ROUND_BYTES: u64 = 10 * 1_460;

#[derive(Clone, Copy, Debug)]
struct Connection {
    calls: u64,
    bytes: u64,
    /// Of which in requests.
    sent: u64,
    path_ns: i64,
    first: Time,
    last: Time,
}

/// What the connections that do so have in common.
#[derive(Clone, Copy, Default, Debug)]
pub struct Chatter {
    pub connections: u64,
    pub calls: u64,
    pub bytes: u64,
    /// Calls that would have done.
    pub needed: u64,
    /// Time on the path that those fewer would not have cost.
    pub saved_ns: i64,
}

/// What a connection has too many of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Habit {
    /// Small questions with small answers.
    Questions,
    /// Writes that wait for a confirmation each.
    Writes,
}

impl Habit {
    fn of(c: &Connection) -> Option<(Habit, u64)> {
        let each = c.bytes / c.calls.max(1);
        if each <= LITTLE_BYTES {
            Some((Habit::Questions, c.bytes.div_ceil(ROUND_BYTES)))
        } else if each <= ROUND_BYTES && c.sent >= c.bytes / 10 * 9 {
            Some((Habit::Writes, c.bytes.div_ceil(WRITE_BYTES)))
        } else {
            None
        }
    }
}

impl Chatter {
    fn add(&mut self, c: &Connection, wanted: Habit) {
        let Some((habit, needed)) = Habit::of(c) else {
            return;
        };
        let needed = needed.max(1);
        let life = c.last - c.first;
        let chatty = c.calls >= MANY && needed < c.calls && c.path_ns >= life / 2;
        if !chatty || habit != wanted {
            return;
        }
        let saved = i128::from(c.path_ns) * i128::from(c.calls - needed) / i128::from(c.calls);
        self.connections += 1;
        self.calls += c.calls;
        self.bytes += c.bytes;
        self.needed += needed;
        self.saved_ns = self.saved_ns.saturating_add(saved as i64);
    }
}

/// The connections of two captures, by their number in the client's.
#[derive(Default, Debug)]
pub struct Rounds {
    open: HashMap<ConnectionId, Connection, foldhash::fast::FixedState>,
    forgotten: [Chatter; 2],
}

impl Rounds {
    /// A call of so many bytes, of request and response, that spent `path_ns` on the way.
    pub fn add(
        &mut self,
        id: ConnectionId,
        (first, last): (Time, Time),
        [request, response]: [u64; 2],
        path_ns: i64,
    ) {
        if self.open.len() >= limits::ROUNDS_CONNECTIONS && !self.open.contains_key(&id) {
            self.forgotten = [Habit::Questions, Habit::Writes].map(|habit| self.chatter(habit));
            self.open.clear();
        }
        let c = self.open.entry(id).or_insert(Connection {
            calls: 0,
            bytes: 0,
            sent: 0,
            path_ns: 0,
            first,
            last,
        });
        c.calls += 1;
        c.bytes = c.bytes.saturating_add(request).saturating_add(response);
        c.sent = c.sent.saturating_add(request);
        c.path_ns = c.path_ns.saturating_add(path_ns);
        c.first = c.first.min(first);
        c.last = c.last.max(last);
    }

    /// What fewer, larger calls would save, over all connections that could do with them.
    #[must_use]
    pub fn chatter(&self, habit: Habit) -> Chatter {
        let [questions, writes] = self.forgotten;
        let mut sum = match habit {
            Habit::Questions => questions,
            Habit::Writes => writes,
        };
        for c in self.open.values() {
            sum.add(c, habit);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// So many calls, one each `every` ms, of which 10 ms are on the path.
    fn chatter(calls: i64, every: i64, bytes: u64) -> Chatter {
        habit(calls, every, [bytes / 2, bytes / 2], Habit::Questions)
    }

    fn habit(calls: i64, every: i64, bytes: [u64; 2], habit: Habit) -> Chatter {
        let mut rounds = Rounds::default();
        for i in 0..calls {
            let first = Time(i * every * MS);
            rounds.add(ConnectionId(7), (first, first + 10 * MS), bytes, 10 * MS);
        }
        rounds.chatter(habit)
    }

    #[test]
    fn many_small_calls_one_after_another_would_fit_into_few() {
        let c = chatter(300, 10, 240);
        assert_eq!((c.connections, c.calls, c.needed), (1, 300, 5));
        assert_eq!(c.saved_ns, 2_950 * MS);
    }

    #[test]
    fn writes_that_are_confirmed_one_by_one_are_another_habit() {
        let c = habit(300, 10, [8_156, 36], Habit::Writes);
        assert_eq!((c.calls, c.needed), (300, 39));
        assert_eq!(habit(300, 10, [36, 8_156], Habit::Writes).calls, 0);
        assert_eq!(habit(300, 10, [64_000, 36], Habit::Writes).calls, 0);
    }

    #[test]
    fn few_or_large_or_leisurely_calls_are_not_chatty() {
        assert_eq!(chatter(49, 10, 240).connections, 0);
        assert_eq!(chatter(300, 10, 4_000).connections, 0);
        assert_eq!(chatter(300, 21, 240).connections, 0);
    }
}
