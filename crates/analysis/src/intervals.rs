//! Packets and calls into statistics of equal intervals, as they come: from files or from anywhere else.
//!
//! The first interval begins with the first packet, as tcpstat's and tshark's do. An interval is handed
//! out once packets have gone on far enough; those that come out of time order still find theirs. A
//! call counts where the packet stands that completed it, or at which it was given up.

use crate::stats::{Distribution, Summary};
use model::{Call, Problems, Sight, SightKind, Time, Where, limits};
use std::collections::VecDeque;

/// Sizes of packets on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sizes {
    pub count: u64,
    pub bytes: u64,
    pub min: u32,
    pub max: u32,
    squares: u128,
}

impl Sizes {
    fn add(&mut self, length: u32) {
        self.min = match self.count {
            0 => length,
            _ => self.min.min(length),
        };
        self.max = self.max.max(length);
        self.count += 1;
        self.bytes += u64::from(length);
        self.squares += u128::from(length) * u128::from(length);
    }

    /// Bytes; `None` without packets.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.bytes as f64 / self.count as f64)
    }

    /// The standard deviation of all packets (divided by their number), in bytes.
    #[must_use]
    pub fn deviation(&self) -> Option<f64> {
        deviation(self.count, u128::from(self.bytes), self.squares)
    }
}

/// The standard deviation of `count` values, from their sum and that of their squares.
fn deviation(count: u64, sum: u128, squares: u128) -> Option<f64> {
    let n = u128::from(count);
    // Exact until here: n Σx² is never below (Σx)².
    let spread = (n.saturating_mul(squares)).saturating_sub(sum.saturating_mul(sum));
    (n > 0).then(|| (spread as f64).sqrt() / n as f64)
}

/// What packets hold, counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Kinds {
    pub tcp: u64,
    pub udp: u64,
    pub icmp: u64,
    pub arp: u64,
    pub other: u64,
}

#[derive(Debug, Default)]
struct Open {
    /// Counts from 0 for the first packet's.
    index: i64,
    sizes: Sizes,
    kinds: Kinds,
    responses: Distribution,
    /// Sums of response times and of their squares.
    waited: u128,
    squares: u128,
    calls: u64,
    errors: u64,
    half_calls: u64,
}

/// Statistics of one interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IntervalRow {
    pub start: Time,
    pub width_ns: i64,
    pub sizes: Sizes,
    pub kinds: Kinds,
    /// Calls with request and response, those of them that failed, and those without one half.
    pub calls: u64,
    pub errors: u64,
    pub half_calls: u64,
    /// Response times of the calls.
    pub responses: Summary,
    /// Their standard deviation; `None` without calls.
    pub deviation_ns: Option<i64>,
}

impl IntervalRow {
    /// So many per second.
    #[must_use]
    pub fn per_second(&self, n: u64) -> f64 {
        n as f64 * 1e9 / self.width_ns.max(1) as f64
    }
}

/// Makes the intervals of a capture.
#[derive(Debug)]
pub struct Intervals {
    width_ns: i64,
    start: Option<Time>,
    /// By index; intervals between them have nothing in them.
    open: VecDeque<Open>,
    /// The interval after the last that was handed out.
    next: i64,
    /// When the last packet came: where calls count.
    now: Time,
    total: Open,
    last: Time,
    /// Packets and calls that count in a later interval than their own, as that was handed out.
    closed: u64,
    /// Intervals without packets that were left out.
    left_out: u64,
    /// How many more of them may be written.
    may_write: i64,
}

impl Intervals {
    #[must_use]
    pub fn new(width_ns: i64) -> Intervals {
        Intervals {
            width_ns: width_ns.max(1),
            start: None,
            open: VecDeque::new(),
            next: 0,
            now: Time::MIN,
            total: Open::default(),
            last: Time::MIN,
            closed: 0,
            left_out: 0,
            may_write: limits::EMPTY_INTERVALS,
        }
    }

    /// Says when the first interval begins, where that is not the time of the first packet that counts.
    pub fn starts_at(&mut self, start: Time) {
        self.start.get_or_insert(start);
    }

    /// Takes the next packet, in the capture's order.
    pub fn packet(&mut self, s: &Sight) {
        self.now = s.at.time;
        self.last = self.last.max(s.at.time);
        let count = |open: &mut Open| {
            open.sizes.add(s.length);
            let k = &mut open.kinds;
            *match s.kind {
                SightKind::Tcp => &mut k.tcp,
                SightKind::Udp => &mut k.udp,
                SightKind::Icmp | SightKind::Icmpv6 => &mut k.icmp,
                SightKind::Arp => &mut k.arp,
                _ => &mut k.other,
            } += 1;
        };
        count(self.at(s.at.time));
        count(&mut self.total);
    }

    /// Says that a packet passed which does not count: calls that it completes do.
    pub fn passes(&mut self, at: Time) {
        self.now = at;
    }

    /// Takes a call that the packet before completed.
    pub fn call(&mut self, call: &Call) {
        let now = self.now;
        let count = |open: &mut Open| match call.response_time_ns() {
            Some(ns) if call.is_timed() => {
                open.calls += 1;
                open.errors += u64::from(call.outcome.is_error());
                open.responses.add(ns);
                let ns = u128::from(ns.max(0).unsigned_abs());
                open.waited += ns;
                open.squares += ns * ns;
            }
            _ => open.half_calls += 1,
        };
        count(self.at(now));
        count(&mut self.total);
    }

    /// The interval that holds `time`, or the oldest that is open.
    fn at(&mut self, time: Time) -> &mut Open {
        let start = *self.start.get_or_insert(time);
        let own = (time - start).div_euclid(self.width_ns);
        self.closed += u64::from((0..self.next).contains(&own));
        let index = own.max(self.next);
        let place = self.open.partition_point(|o| o.index < index);
        if self.open.get(place).is_none_or(|o| o.index != index) {
            let open = Open {
                index,
                ..Open::default()
            };
            self.open.insert(place, open);
        }
        #[expect(clippy::indexing_slicing, reason = "it was put there if it was not")]
        &mut self.open[place]
    }

    /// Hands out what is over, oldest first.
    pub fn take(&mut self, sink: &mut dyn FnMut(&IntervalRow)) {
        while self.open.len() > limits::OPEN_INTERVALS {
            self.first(sink);
        }
    }

    fn first(&mut self, sink: &mut dyn FnMut(&IntervalRow)) {
        let Some(open) = self.open.pop_front() else {
            return;
        };
        let empty = open.index - self.next;
        if empty > self.may_write.min(limits::EMPTY_INTERVALS) {
            self.left_out = self.left_out.saturating_add(empty as u64);
            self.next = open.index;
        }
        self.may_write += limits::EMPTY_FOR_EACH - (open.index - self.next);
        for index in self.next..open.index {
            let empty = Open {
                index,
                ..Open::default()
            };
            sink(&self.row(&empty, self.width_ns));
        }
        sink(&self.row(&open, self.width_ns));
        self.next = open.index + 1;
    }

    fn row(&self, open: &Open, width_ns: i64) -> IntervalRow {
        let start = self.start.unwrap_or_default();
        IntervalRow {
            start: start + open.index.saturating_mul(self.width_ns),
            width_ns,
            sizes: open.sizes,
            kinds: open.kinds,
            calls: open.calls,
            errors: open.errors,
            half_calls: open.half_calls,
            responses: open.responses.summary(),
            deviation_ns: deviation(open.calls, open.waited, open.squares)
                .map(|ns| ns.round() as i64),
        }
    }

    /// Hands out the rest, and returns all of them as one that lasts from the first packet to the last.
    /// What bounds left out is noted in `problems`.
    pub fn finish(
        mut self,
        problems: &mut Problems,
        sink: &mut dyn FnMut(&IntervalRow),
    ) -> IntervalRow {
        while !self.open.is_empty() {
            self.first(sink);
        }
        for (kind, count, what) in [
            (
                "intervals-closed",
                self.closed,
                "a packet or call that came when its interval was written; it counts in the oldest open one",
            ),
            (
                "empty-intervals-left-out",
                self.left_out,
                "intervals without packets in a row, too many to write",
            ),
        ] {
            let example = || (what.to_owned(), Where::default());
            problems.add(kind, false, count, example);
        }
        let from = self.start.unwrap_or_default();
        let lasts = match self.total.sizes.count {
            0 => 0,
            _ => self.last - from,
        };
        let total = std::mem::take(&mut self.total);
        self.row(&total, lasts)
    }
}

#[cfg(test)]
mod tests;
