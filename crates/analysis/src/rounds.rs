//! Connections that ask for little, or write little, at a time, over and over: what fewer, larger calls
//! would save.
//!
//! Only asked of connections that have one call at a time: where many are under way at once they share
//! their round trips.

use hashbrown::HashMap;
use model::{ConnectionId, Time, limits};

/// Fewer calls than this are a beginning, not a habit.
pub(crate) const MANY: u64 = 50;

/// A call that carries more than this, both ways together, is not small: two segments.
const LITTLE_BYTES: u64 = 2 * 1_460;

/// One call in so many may overlap another, as answers that are told late seem to.
const OVERLAPPING: u64 = 20;

/// What a write may carry at once with ease.
pub(crate) const WRITE_BYTES: u64 = 64_000;

/// What one round trip carries without waiting for acknowledgements (RFC 6928: ten segments).
pub(crate) const ROUND_BYTES: u64 = 10 * 1_460;

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The number of its calls' [attributes](crate::attributes), which hold its hosts.
    attributes: u64,
    calls: u64,
    bytes: u64,
    /// Of which in requests.
    sent: u64,
    path_ns: i64,
    /// How long its calls took here.
    took_ns: i64,
    /// Calls that began before another was over.
    overlapping: u64,
    first: Time,
    last: Time,
}

/// What it is of what calls took here.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Part {
    /// All that the path took at least, as far as the calls themselves show less.
    #[default]
    Whole,
    /// A part of it, and so no more than all of it.
    Within,
    /// What comes on top of it.
    Beyond,
}

/// What the path takes of each call.
#[derive(Clone, Copy, Default, Debug)]
pub struct Crossing {
    pub ns: i64,
    pub is: Part,
    /// Whether some of a connection's calls may be missing between those that are judged.
    pub may_lack_calls: bool,
}

/// What the connections that do so have in common.
#[derive(Clone, Copy, Default, Debug)]
pub struct Chatter {
    pub connections: u64,
    /// Calls that waited for each other; of a stream with several writes under way, round trips.
    pub calls: u64,
    /// As many, and of a stream all of its writes.
    pub writes: u64,
    pub bytes: u64,
    /// Of which in requests.
    pub sent: u64,
    /// Calls that would have done.
    pub needed: u64,
    /// Time on the path that those fewer would not have cost.
    pub saved_ns: i64,
    /// The same, with as much of the calls that are not judged.
    pub saved_in_all_ns: i64,
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
    pub const ALL: [Habit; 2] = [Habit::Questions, Habit::Writes];

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
    fn add(&mut self, c: &Connection, wanted: Habit, crossing: Crossing, more: u64) {
        let Some(needed) = c.needed(wanted, crossing, more) else {
            return;
        };
        let path_ns = c.path_ns(crossing);
        let saved = i128::from(path_ns) * i128::from(c.calls - needed) / i128::from(c.calls);
        let in_all = i128::from(c.calls) + i128::from(more);
        let saved_in_all = saved.saturating_mul(in_all) / i128::from(c.calls);
        self.merge(&Chatter {
            connections: 1,
            calls: c.calls,
            writes: c.calls,
            bytes: c.bytes,
            sent: c.sent,
            needed,
            saved_ns: saved as i64,
            saved_in_all_ns: i64::try_from(saved_in_all).unwrap_or(i64::MAX),
        });
    }

    /// Adds another's.
    pub fn merge(&mut self, other: &Chatter) {
        self.connections += other.connections;
        self.calls += other.calls;
        self.writes += other.writes;
        self.bytes += other.bytes;
        self.sent += other.sent;
        self.needed += other.needed;
        self.saved_ns = self.saved_ns.saturating_add(other.saved_ns);
        self.saved_in_all_ns = self.saved_in_all_ns.saturating_add(other.saved_in_all_ns);
    }
}

impl Connection {
    fn path_ns(&self, crossing: Crossing) -> i64 {
        let all_ns = crossing.ns.saturating_mul(self.calls as i64);
        match crossing.is {
            Part::Whole => self.path_ns.max(all_ns),
            Part::Within => self.path_ns.max(all_ns.min(self.took_ns)),
            Part::Beyond => self.path_ns.saturating_add(all_ns),
        }
    }

    /// Calls that would have done, where it has this habit with so many `more` calls.
    fn needed(&self, wanted: Habit, crossing: Crossing, more: u64) -> Option<u64> {
        let (habit, needed) = Habit::of(self)?;
        let needed = needed.max(1);
        let life = self.last - self.first;
        let alternates = self.overlapping * OVERLAPPING <= self.calls;
        let many = self.calls.saturating_add(more) >= MANY;
        // Those that the capture lost crossed the path as well: no more than it has, or nothing could be said of it.
        let all = if crossing.may_lack_calls { 2 } else { 1 };
        let crossed_ns = self.path_ns(crossing).saturating_mul(all);
        let chatty = many && needed < self.calls && crossed_ns >= life / 2;
        (chatty && alternates && habit == wanted).then_some(needed)
    }
}

/// Connections by their number in the client's capture, or in the only one.
#[derive(Default, Debug)]
pub struct Rounds {
    open: HashMap<ConnectionId, Connection, foldhash::fast::FixedState>,
    forgotten: [Chatter; 2],
}

impl Rounds {
    /// A call of so many bytes, of request and response, that spent `path_ns` on the way.
    pub fn add(
        &mut self,
        (id, attributes): (ConnectionId, u64),
        (first, last): (Time, Time),
        [request, response]: [u64; 2],
        path_ns: i64,
    ) {
        if self.open.len() >= limits::ROUNDS_CONNECTIONS && !self.open.contains_key(&id) {
            self.forgotten =
                Habit::ALL.map(|habit| self.chatter(habit, |_| Crossing::default(), |_| 0));
            self.open.clear();
        }
        let c = self.open.entry(id).or_insert(Connection {
            attributes,
            calls: 0,
            bytes: 0,
            sent: 0,
            path_ns: 0,
            took_ns: 0,
            overlapping: 0,
            first,
            last,
        });
        c.overlapping += u64::from(c.calls > 0 && first < c.last);
        c.calls += 1;
        c.bytes = c.bytes.saturating_add(request).saturating_add(response);
        c.sent = c.sent.saturating_add(request);
        c.path_ns = c.path_ns.saturating_add(path_ns);
        c.took_ns = c.took_ns.saturating_add(last - first);
        c.first = c.first.min(first);
        c.last = c.last.max(last);
    }

    /// The connections that have a habit, each with the calls that it could spare and all of its calls. `more`: how many
    /// calls a connection has beside those.
    pub fn spared(
        &self,
        habit: Habit,
        crossing: impl Fn(u64) -> Crossing,
        more: impl Fn(ConnectionId) -> u64,
    ) -> impl Iterator<Item = (ConnectionId, u64, u64)> {
        let each = self.open.iter();
        each.filter_map(move |(id, c)| {
            let needed = c.needed(habit, crossing(c.attributes), more(*id))?;
            Some((*id, c.calls - needed, c.calls))
        })
    }

    /// What fewer, larger calls would save, over all connections that could do with them.
    pub(crate) fn chatter(
        &self,
        habit: Habit,
        crossing: impl Fn(u64) -> Crossing,
        more: impl Fn(ConnectionId) -> u64,
    ) -> Chatter {
        let [questions, writes] = self.forgotten;
        let mut sum = match habit {
            Habit::Questions => questions,
            Habit::Writes => writes,
        };
        for (id, c) in &self.open {
            sum.add(c, habit, crossing(c.attributes), more(*id));
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn crossing(ms: i64) -> Crossing {
        let ns = ms * MS;
        Crossing {
            ns,
            is: Part::Whole,
            may_lack_calls: false,
        }
    }

    /// So many calls, one each `every` ms, of which 10 ms are on the path.
    fn chatter(calls: i64, every: i64, bytes: u64) -> Chatter {
        habit(calls, every, [bytes / 2, bytes / 2], Habit::Questions)
    }

    fn habit(calls: i64, every: i64, bytes: [u64; 2], habit: Habit) -> Chatter {
        let mut rounds = Rounds::default();
        for i in 0..calls {
            let first = Time(i * every * MS);
            rounds.add(
                (ConnectionId(7), 0),
                (first, first + 10 * MS),
                bytes,
                10 * MS,
            );
        }
        rounds.chatter(habit, |_| crossing(0), |_| 0)
    }

    #[test]
    fn calls_that_share_their_round_trips_are_not_chatty() {
        let mut rounds = Rounds::default();
        for i in 0..300 {
            let first = Time(i * 5 * MS);
            rounds.add(
                (ConnectionId(7), 0),
                (first, first + 10 * MS),
                [64, 64],
                10 * MS,
            );
        }
        assert_eq!(
            rounds
                .chatter(Habit::Questions, |_| crossing(0), |_| 0)
                .connections,
            0
        );
    }

    #[test]
    fn a_path_that_is_only_known_at_its_least_counts_with_that() {
        let mut rounds = Rounds::default();
        for i in 0..300 {
            let first = Time(i * 10 * MS);
            rounds.add((ConnectionId(7), 0), (first, first + 10 * MS), [64, 64], 0);
        }
        assert_eq!(
            rounds
                .chatter(Habit::Questions, |_| crossing(4), |_| 0)
                .connections,
            0
        );
        assert_eq!(
            rounds
                .chatter(Habit::Questions, |_| crossing(9), |_| 0)
                .connections,
            1
        );
    }

    #[test]
    fn the_path_takes_no_more_than_the_calls_that_crossed_it() {
        let mut rounds = Rounds::default();
        for i in 0..300 {
            let first = Time(i * 10 * MS);
            rounds.add((ConnectionId(7), 0), (first, first + 8 * MS), [64, 64], 0);
        }
        let saved = |is| {
            let crossing = Crossing {
                ns: 50 * MS,
                is,
                may_lack_calls: false,
            };
            rounds
                .chatter(Habit::Questions, |_| crossing, |_| 0)
                .saved_ns
        };
        assert!(saved(Part::Within) <= 300 * 8 * MS);
        assert!(saved(Part::Whole) > 300 * 8 * MS);
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
    fn a_few_calls_may_be_a_part_of_many_where_not_all_were_seen() {
        let mut rounds = Rounds::default();
        for i in 0..20 {
            let first = Time(i * 10 * MS);
            rounds.add(
                (ConnectionId(7), 0),
                (first, first + 10 * MS),
                [64, 64],
                10 * MS,
            );
        }
        let spared = |more| {
            rounds
                .spared(Habit::Questions, |_| crossing(0), move |_| more)
                .next()
        };
        assert_eq!(spared(0), None);
        assert_eq!(spared(29), None);
        assert_eq!(spared(30), Some((ConnectionId(7), 19, 20)));
        assert_eq!(spared(u64::MAX), Some((ConnectionId(7), 19, 20)));
    }

    #[test]
    fn calls_that_the_capture_lost_between_others_were_on_the_path_as_well() {
        let mut rounds = Rounds::default();
        for i in 0..100 {
            let first = Time(i * 25 * MS);
            rounds.add(
                (ConnectionId(7), 0),
                (first, first + 10 * MS),
                [64, 64],
                10 * MS,
            );
        }
        let may_lack = |may_lack_calls| {
            let crossing = Crossing {
                may_lack_calls,
                ..crossing(0)
            };
            rounds.chatter(Habit::Questions, |_| crossing, |_| 0).calls
        };
        assert_eq!((may_lack(false), may_lack(true)), (0, 100));
    }

    #[test]
    fn few_or_large_or_leisurely_calls_are_not_chatty() {
        assert_eq!(chatter(49, 10, 240).connections, 0);
        assert_eq!(chatter(300, 10, 4_000).connections, 0);
        assert_eq!(chatter(300, 21, 240).connections, 0);
    }
}
