//! Segments that their senders' own time stamps show to have come late, into how late the first of each message came,
//! and whether what shows of one direction of a path may hold for the other.

use super::trouble::Lists;
use crate::stats::Distribution;
use ledger::{Lost, One};
use model::{ConnectionId, Direction, Episode, Time};

/// How late segments came, remembered for as long as a call may begin or end with them: of each direction in the order in
/// which they came.
#[derive(Default)]
pub struct Delays {
    lists: [Lists<Delay>; 2],
    is_any: bool,
}

struct Delay {
    at: Time,
    ns: i64,
}

impl Delays {
    pub(super) fn add(&mut self, e: &Episode) {
        let delay = Delay {
            at: e.last.time,
            ns: e.last.time - e.first.time,
        };
        self.lists[e.direction.index()].push(e.connection, delay);
        self.is_any = true;
    }

    pub(crate) fn forget_before(&mut self, time: Time) {
        let lists = self.lists.iter_mut();
        lists.for_each(|list| list.forget(|delay| delay.at >= time));
    }

    /// Whether none was ever told.
    pub(crate) fn is_empty(&self) -> bool {
        !self.is_any
    }

    /// How late what came at that moment was, which is not long ago.
    #[must_use]
    pub(crate) fn at(&self, connection: ConnectionId, direction: Direction, at: Time) -> i64 {
        // Of most captures none is.
        if !self.is_any {
            return 0;
        }
        let Some(late) = self.lists[direction.index()].list(connection) else {
            return 0;
        };
        let next = late.partition_point(|delay| delay.at < at);
        let found = late.get(next).filter(|delay| delay.at == at);
        found.map_or(0, |delay| delay.ns)
    }
}

/// Waits and late answers by powers of two of a microsecond.
const SIZES: usize = 32;

/// One late answer is an accident.
const MANY: u64 = 2;
/// Requests may have come late as often as answers did: waits so many times as frequent are their server's.
const TIMES: u64 = 10;

/// How many answers came so late, and how many calls waited for so long beside that.
///
/// One capture sees when an answer left its host, but not when a request came there. A path that keeps what comes from a
/// server may keep what goes to it. So where waits as long as a call's are about as rare as answers that late, it may have
/// been the path's.
#[derive(Default, Debug)]
pub struct Varied {
    late: [u64; SIZES],
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
            self.late[size_of(late_ns)] += 1;
        }
        self.waits[size_of(wait_ns - late_ns)] += 1;
    }

    /// What that says of requests.
    #[must_use]
    pub(crate) fn of_requests(&self) -> Varies {
        let mut most = Varies::default();
        let mut shorter_ns = 0;
        for (size, most_ns) in most.0.iter_mut().enumerate() {
            let [late, waits] = [&self.late, &self.waits].map(|all| {
                all.iter()
                    .skip(size)
                    .fold(0u64, |sum, n| sum.saturating_add(*n))
            });
            if late >= MANY && waits <= late.saturating_mul(TIMES) {
                shorter_ns = longest_ns(size);
            }
            *most_ns = shorter_ns;
        }
        most
    }
}

/// How much longer than it takes as a rule the way to the server may have taken of calls, by how long they waited.
#[derive(Clone, Copy, Default, Debug)]
pub struct Varies([i64; SIZES]);

impl Varies {
    #[must_use]
    pub(crate) fn most_ns(&self, wait_ns: i64) -> i64 {
        self.0.get(size_of(wait_ns)).copied().unwrap_or(0)
    }
}

fn size_of(ns: i64) -> usize {
    let us = ns.max(0).unsigned_abs() / 1_000;
    ((u64::BITS - us.leading_zeros()) as usize).min(SIZES - 1)
}

/// The longest that is of this size.
fn longest_ns(size: usize) -> i64 {
    1_000 << size.min(SIZES)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Of calls that waited so long, how long in ms requests may have been late; `all`: so many, their waits, their answers'
    /// delays.
    fn may_be_late(wait: i64, all: &[(u64, i64, i64)]) -> i64 {
        let mut varied = Varied::default();
        for (times, wait, late) in all {
            (0..*times).for_each(|_| varied.add(wait * MS, late * MS));
        }
        varied.of_requests().most_ns(wait * MS) / MS
    }

    /// A path that kept answers for 80 ms may have kept the requests for which clients waited about as long as rarely.
    #[test]
    fn what_comes_back_late_may_go_late() {
        let kept = [(1_000, 1, 0), (3, 80, 80), (20, 81, 0)];
        assert_eq!(may_be_late(81, &kept), 131, "all of it");
        let slow = [(1_000, 12, 0), (3, 80, 80), (20, 81, 0)];
        assert_eq!(may_be_late(12, &slow), 0, "what all calls take");
        assert_eq!(may_be_late(81, &slow), 131);
        assert_eq!(
            may_be_late(81, &[(1_000, 1, 0), (20, 81, 0)]),
            0,
            "none came late"
        );
    }

    #[test]
    fn waits_that_are_far_more_frequent_are_no_delays() {
        assert_eq!(may_be_late(81, &[(3, 80, 80), (31, 81, 0)]), 0);
        assert_eq!(may_be_late(81, &[(3, 80, 80), (30, 81, 0)]), 131);
        assert_eq!(
            may_be_late(81, &[(1, 80, 80), (1, 81, 0)]),
            0,
            "an accident"
        );
    }

    #[test]
    fn a_longer_wait_may_hold_a_delay_as_long_as_others_were() {
        let seldom = [
            (1_000, 1, 0),
            (2, 900, 0),
            (1, 300, 300),
            (40, 20, 20),
            (9, 21, 0),
        ];
        assert_eq!(may_be_late(900, &seldom), 32);
    }
}
