//! Answers, and ends of a host's own calls, into how long requests waited for certain for one of these.
//!
//! While a host works on several requests, any of them may be what a call of its own is for. Who waited for one answers as it
//! ends: if more answers come right behind the end of a call that began after the request than come some way behind one, the
//! more did wait, each as long as that call took. Of several calls one after the other only the last is seen so.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{ConnectionId, Outstanding, Time};
use std::collections::VecDeque;

/// What a host does at most between what it waited for and its answer.
const BEHIND_NS: i64 = 1_000_000;
/// Where nothing but chance brings an end: as long, before that and a pause of the same length.
const CHANCE_NS: i64 = 3 * BEHIND_NS;
/// Ends that are remembered; where there were more meanwhile, an answer proves nothing.
const RECENT: usize = 64;
/// Requests and calls of all hosts that are followed at a time.
pub(super) const FOLLOWED: usize = 65_536;
/// Fewer prove nothing.
const LEAST: u64 = 8;

/// A request or a call that is under way.
type Key = (ConnectionId, u32);

/// Of one host.
#[derive(Default)]
pub(super) struct Ends {
    requests: UnderWay,
    calls: UnderWay,
    /// When calls ended, and when they had begun.
    recent: VecDeque<(Time, Time)>,
    behind: Waits,
    chance: Waits,
}

/// Answers behind ends, and how long the calls took that ended.
#[derive(Clone, Copy, Default)]
struct Waits {
    answers: u64,
    ns: i64,
}

impl Waits {
    fn add(&mut self, ns: Option<i64>) {
        if let Some(ns) = ns {
            self.answers += 1;
            self.ns = self.ns.saturating_add(ns);
        }
    }
}

impl Ends {
    /// A request came, or was answered. `room` is how many more may be followed.
    pub(super) fn serves(&mut self, o: &Outstanding, comes: bool, room: &mut usize) {
        if comes {
            return begin(&mut self.requests, o, room);
        }
        let Some(since) = end(&mut self.requests, o, room) else {
            return;
        };
        let is_all = self.recent.len() < RECENT;
        let reaches = self
            .recent
            .front()
            .is_some_and(|(end, _)| o.time - *end > CHANCE_NS);
        if is_all || reaches {
            self.behind.add(self.longest(since, o.time, 0..=BEHIND_NS));
            self.chance
                .add(self.longest(since, o.time, 2 * BEHIND_NS..=CHANCE_NS));
        }
    }

    /// A call of its own was sent, or answered.
    pub(super) fn calls(&mut self, o: &Outstanding, begins: bool, room: &mut usize) {
        if begins {
            return begin(&mut self.calls, o, room);
        }
        let Some(since) = end(&mut self.calls, o, room) else {
            return;
        };
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back((o.time, since));
    }

    /// How long the longest call took that began after `since` and ended so long before `at`.
    fn longest(&self, since: Time, at: Time, before: std::ops::RangeInclusive<i64>) -> Option<i64> {
        let fits = self
            .recent
            .iter()
            .filter(|(end, _)| before.contains(&(at - *end)));
        let begun = fits.filter(|(_, begun)| *begun >= since);
        begun.map(|(end, begun)| *end - *begun).max()
    }

    /// How long requests waited for certain: as far as it is beyond chance, by five standard deviations.
    pub(super) fn least_ns(&self) -> i64 {
        let [behind, chance] = [self.behind.answers, self.chance.answers];
        let deviation = ((behind + chance) as f64).sqrt();
        match behind >= LEAST && behind as f64 - chance as f64 > 5.0 * deviation {
            true => self.behind.ns.saturating_sub(self.chance.ns).max(0),
            false => 0,
        }
    }
}

type UnderWay = HashMap<Key, Time, FixedState>;

fn begin(under_way: &mut UnderWay, o: &Outstanding, room: &mut usize) {
    let key = (o.connection, o.id);
    if *room > 0 && under_way.insert(key, o.time).is_none() {
        *room -= 1;
    }
}

fn end(under_way: &mut UnderWay, o: &Outstanding, room: &mut usize) -> Option<Time> {
    let since = under_way.remove(&(o.connection, o.id))?;
    *room += 1;
    Some(since)
}
