//! Calls into what their sides took of them over time, in bounded memory.

use crate::results::Side;
use ledger::{Cause, Certain, Place};
use model::Time;
use std::collections::BTreeMap;
use trace::host::Counter;

/// Stretches of time that are told apart; where they are more, two become one.
const BINS: usize = 65_536;

/// How long the first of them are.
const WIDTH_NS: i64 = 10_000_000;

/// Whose part of calls a counter is held against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    Client = 0,
    Server = 1,
    /// What was lost on the way, and what waited for it to be sent again.
    Lost = 2,
}

impl Part {
    pub(crate) fn of(counter: Counter, side: Option<Side>) -> Part {
        match (counter, side) {
            (Counter::NicDrops | Counter::SocketDrops, _) => Part::Lost,
            (_, Some(Side::Client)) => Part::Client,
            _ => Part::Server,
        }
    }
}

/// What is certain of each part, of calls by when they began.
#[derive(Default)]
pub(crate) struct Load {
    /// Times the width that bins begin with.
    scale: i64,
    bins: BTreeMap<i64, Bin>,
    sums: Vec<(i64, Bin)>,
    client_is_told: bool,
}

#[derive(Clone, Copy, Default)]
struct Bin {
    calls: [u64; 3],
    ns: [i64; 3],
}

impl Bin {
    fn add(&mut self, other: &Bin) {
        for (own, n) in self.calls.iter_mut().zip(other.calls) {
            *own = own.saturating_add(n);
        }
        for (own, ns) in self.ns.iter_mut().zip(other.ns) {
            *own = own.saturating_add(ns);
        }
    }
}

impl Load {
    pub(crate) fn new() -> Load {
        Load {
            scale: 1,
            ..Load::default()
        }
    }

    /// What a call's ledger is certain of.
    pub(crate) fn call(&mut self, call: &Certain) {
        let mut bin = Bin {
            calls: [1; 3],
            ns: [0; 3],
        };
        for &(cause, direction, least_ns) in call.charges() {
            let (_, side) = cause.of(direction);
            let lost = matches!(cause, Cause::Loss | Cause::Outage | Cause::Fragments);
            let part = match side {
                _ if lost => Part::Lost,
                Place::Client => Part::Client,
                Place::Server => Part::Server,
                _ => continue,
            };
            let ns = &mut bin.ns[part as usize];
            *ns = ns.saturating_add(least_ns);
        }
        if self.client_is_told {
            (
                bin.calls[Part::Client as usize],
                bin.ns[Part::Client as usize],
            ) = (0, 0);
        }
        self.add(Time(call.at_ns), &bin);
    }

    /// What the application noted itself stands for the client's part: packets show nothing of what lies above them.
    pub(crate) fn application(&mut self, operations: impl Iterator<Item = (i64, i64)>) {
        for (start_ns, end_ns) in operations {
            self.client_is_told = true;
            let mut bin = Bin::default();
            bin.calls[Part::Client as usize] = 1;
            bin.ns[Part::Client as usize] = end_ns.saturating_sub(start_ns).max(0);
            self.add(Time(start_ns), &bin);
        }
    }

    fn add(&mut self, at: Time, bin: &Bin) {
        let number = at.0.div_euclid(WIDTH_NS.saturating_mul(self.scale.max(1)));
        self.bins.entry(number).or_default().add(bin);
        while self.bins.len() > BINS {
            self.scale = self.scale.max(1).saturating_mul(2);
            let mut halved = BTreeMap::<i64, Bin>::new();
            for (number, bin) in &self.bins {
                halved.entry(number.div_euclid(2)).or_default().add(bin);
            }
            self.bins = halved;
        }
    }

    /// All calls are there.
    #[must_use]
    pub(crate) fn finished(mut self) -> Load {
        let mut sum = Bin::default();
        let bins = std::mem::take(&mut self.bins);
        self.sums = bins
            .iter()
            .map(|(number, bin)| {
                sum.add(bin);
                (*number, sum)
            })
            .collect();
        self
    }

    /// How many calls began then, and what this part took of them.
    pub(crate) fn between(&self, part: Part, from: Time, until: Time) -> (u64, i64) {
        let width = WIDTH_NS.saturating_mul(self.scale.max(1));
        let before = |at: Time| {
            let number = at.0.div_euclid(width);
            let i = self.sums.partition_point(|(n, _)| *n < number);
            let sum = i.checked_sub(1).and_then(|i| self.sums.get(i));
            sum.map_or(Bin::default(), |(_, sum)| *sum)
        };
        let (a, b) = (before(from), before(until));
        let part = part as usize;
        (b.calls[part] - a.calls[part], b.ns[part] - a.ns[part])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::{Bounds, Ledger};
    use model::Direction;

    fn certain(at: Time, ledger: &Ledger) -> Certain {
        let mut certain = Certain::default();
        certain.take(at.0, ledger);
        certain
    }

    #[test]
    fn each_part_is_summed_by_when_calls_began_and_bins_grow_with_their_number() {
        let mut load = Load::new();
        let mut ledger = Ledger::default();
        let n = 2 * BINS as i64;
        for i in 0..n {
            ledger.clear(Bounds::exactly(30));
            ledger.charge(Cause::Service, Direction::ToServer, Bounds::between(20, 30));
            ledger.charge(Cause::Loss, Direction::ToServer, Bounds::exactly(5));
            load.call(&certain(Time(i * WIDTH_NS), &ledger));
        }
        let load = load.finished();
        let half = Time(n / 2 * WIDTH_NS);
        assert_eq!(
            load.between(Part::Server, Time(0), half),
            (n as u64 / 2, n / 2 * 20)
        );
        assert_eq!(
            load.between(Part::Lost, half, Time(n * WIDTH_NS)),
            (n as u64 / 2, n / 2 * 5)
        );
        assert_eq!(load.between(Part::Client, Time(0), half).1, 0);
    }

    #[test]
    fn what_the_application_noted_is_the_clients_part() {
        let mut load = Load::new();
        load.application([(0, 50), (WIDTH_NS, WIDTH_NS + 10)].into_iter());
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(30));
        load.call(&certain(Time(0), &ledger));
        let load = load.finished();
        assert_eq!(
            load.between(Part::Client, Time(0), Time(3 * WIDTH_NS)),
            (2, 60)
        );
        assert_eq!(load.between(Part::Server, Time(0), Time(WIDTH_NS)).0, 1);
    }
}
