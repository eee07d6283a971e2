//! Segments that their senders' own time stamps show to have come late, into how late the first of each message came,
//! and whether what shows of one direction of a path may hold for the other.

use super::trouble::Lists;
use crate::stats::Distribution;
use ledger::{Lost, One};
use model::{ConnectionId, Direction, Episode, Time};

/// How late segments came, remembered for as long as a call may begin or end with them.
#[derive(Default)]
pub struct Delays {
    lists: Lists<Delay>,
    is_any: bool,
}

struct Delay {
    at: Time,
    direction: Direction,
    ns: i64,
}

impl Delays {
    pub(super) fn add(&mut self, e: &Episode) {
        let delay = Delay {
            at: e.last.time,
            direction: e.direction,
            ns: e.last.time - e.first.time,
        };
        self.lists.push(e.connection, delay);
        self.is_any = true;
    }

    pub(crate) fn forget_before(&mut self, time: Time) {
        self.lists.forget(|delay| delay.at >= time);
    }

    /// Whether none was ever told.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_any
    }

    /// How late what came at that moment was, which is not long ago.
    #[must_use]
    pub(crate) fn at(&self, connection: ConnectionId, direction: Direction, at: Time) -> i64 {
        let late = self.lists.all(connection).rev();
        let mut near = late.take_while(|delay| delay.at >= at);
        near.find(|delay| delay.at == at && delay.direction == direction)
            .map_or(0, |delay| delay.ns)
    }
}

/// Waits and late answers by powers of two of a microsecond.
const SIZES: usize = 32;

/// One late answer is an accident.
const MANY: u64 = 2;
/// Requests may have come late as often as answers did: waits so many times as frequent are their server's.
const TIMES: u64 = 10;
/// A delay is told to two ticks of a clock, of which a usual one takes a millisecond.
const TOLD_TO_NS: i64 = 2_000_000;

/// How many answers came so late, and how many calls waited for so long beside that.
///
/// One capture sees when an answer left its host, but not when a request came there. A path that keeps what comes from a
/// server may keep what goes to it. So where waits are about as rare as answers that late, they may have been the path's.
#[derive(Default, Debug)]
pub struct Varied {
    late: [u64; SIZES],
    most_ns: [i64; SIZES],
    waits: [u64; SIZES],
    /// How long calls took whose requests came late, with that.
    before: Distribution,
}

impl Varied {
    pub(crate) fn call(&mut self, one: &One) {
        if one.lost != Lost::Nothing {
            return;
        }
        let [request_ns, answer_ns] = one.late_ns;
        self.add(one.wait_ns, answer_ns);
        if request_ns > 0 {
            self.before.add(one.response_ns() + request_ns);
        }
    }

    /// Calls that took longer than so long with what their requests came late by: in all, and how many.
    pub(crate) fn beyond(&self, ns: i64) -> (i64, u64) {
        self.before.beyond(ns)
    }

    fn add(&mut self, wait_ns: i64, late_ns: i64) {
        if late_ns > 0 {
            let size = size_of(late_ns);
            self.late[size] += 1;
            self.most_ns[size] = self.most_ns[size].max(late_ns);
        }
        self.waits[size_of(wait_ns - late_ns)] += 1;
    }

    /// How much longer than it takes as a rule the way to the server may have taken, for all that the way back shows.
    #[must_use]
    pub(crate) fn most_ns(&self) -> i64 {
        let (mut late, mut waits) = (0, 0);
        for size in (0..SIZES).rev() {
            late += self.late[size];
            waits += self.waits[size];
            if late >= MANY && waits <= late.saturating_mul(TIMES) && self.most_ns[size] > 0 {
                return self.most_ns[size] + TOLD_TO_NS;
            }
        }
        0
    }
}

fn size_of(ns: i64) -> usize {
    let us = ns.max(0).unsigned_abs() / 1_000;
    ((u64::BITS - us.leading_zeros()) as usize).min(SIZES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn varied(all: &[(u64, i64, i64)]) -> i64 {
        let mut varied = Varied::default();
        for (times, wait, late) in all {
            (0..*times).for_each(|_| varied.add(wait * MS, late * MS));
        }
        varied.most_ns() / MS
    }

    /// A path that kept answers for 80 ms may have kept the requests for which clients waited about as long as rarely.
    #[test]
    fn what_comes_back_late_may_go_late() {
        assert_eq!(varied(&[(1_000, 1, 0), (3, 80, 80), (20, 81, 0)]), 82);
        assert_eq!(varied(&[(1_000, 1, 0), (20, 81, 0)]), 0, "none came late");
    }

    #[test]
    fn waits_that_are_far_more_frequent_are_no_delays() {
        assert_eq!(varied(&[(3, 80, 80), (31, 81, 0)]), 0);
        assert_eq!(varied(&[(3, 80, 80), (30, 81, 0)]), 82);
        assert_eq!(varied(&[(1, 80, 80), (1, 81, 0)]), 0, "an accident");
    }

    #[test]
    fn what_is_rare_beside_longer_waits_counts_as_long_as_it_was() {
        let seldom = [
            (1_000, 1, 0),
            (2, 900, 0),
            (1, 300, 300),
            (40, 20, 20),
            (9, 21, 0),
        ];
        assert_eq!(varied(&seldom), 22);
    }
}
