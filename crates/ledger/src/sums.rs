//! Sums of ledgers: they merge in any order with the same result.

use crate::{Bounds, Cause, Ledger, Line, Place};
use model::Direction;

/// A line summed over calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sum {
    pub line: Line,
    /// Calls that have it.
    pub calls: u64,
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    pub calls: u64,
    /// What the clients waited.
    pub total: Bounds,
    /// What was charged, and of how many calls, by cause and direction.
    lines: [[Option<(Bounds, u64)>; 2]; Cause::ALL.len()],
}

impl Sums {
    #[must_use]
    pub fn new() -> Sums {
        Sums {
            total: Bounds::exactly(0),
            ..Sums::default()
        }
    }

    pub fn add(&mut self, ledger: &Ledger) {
        self.calls += 1;
        self.total = self.total.plus(ledger.response);
        let charges = ledger.charges();
        let mut causes = 0u64;
        for (i, c) in charges.iter().enumerate() {
            // A call may be charged twice for one line, if for one cause.
            let seen = causes & 1 << c.cause as u64 != 0;
            causes |= 1 << c.cause as u64;
            let again = seen && {
                let line = c.cause.of(c.direction);
                let mut before = charges.iter().take(i);
                before.any(|b| b.cause == c.cause && b.cause.of(b.direction) == line)
            };
            self.charge(c.cause, c.direction, c.ns, u64::from(!again));
        }
    }

    fn charge(&mut self, cause: Cause, d: Direction, ns: Bounds, calls: u64) {
        match &mut self.lines[cause as usize][d.index()] {
            Some((sum, n)) => {
                *sum = sum.plus(ns);
                *n += calls;
            }
            line => *line = Some((ns, calls)),
        }
    }

    /// What was charged, in the order of causes.
    fn charged(&self) -> impl Iterator<Item = (Cause, Direction, Bounds, u64)> {
        let each = Cause::ALL.iter().zip(&self.lines);
        each.flat_map(|(&cause, [to_server, to_client])| {
            let both = [
                (Direction::ToServer, to_server),
                (Direction::ToClient, to_client),
            ];
            let charged = both.into_iter();
            charged.filter_map(move |(d, line)| line.map(|(ns, calls)| (cause, d, ns, calls)))
        })
    }

    pub fn merge(&mut self, other: &Sums) {
        self.calls += other.calls;
        self.total = self.total.plus(other.total);
        for (cause, d, ns, calls) in other.charged() {
            self.charge(cause, d, ns, calls);
        }
    }

    /// What is charged to a cause, of both directions' bytes.
    #[must_use]
    pub fn of(&self, cause: Cause) -> Bounds {
        let both = [Direction::ToServer, Direction::ToClient];
        let each = both.map(|d| self.of_direction(cause, d));
        each.into_iter().fold(Bounds::exactly(0), Bounds::plus)
    }

    /// How much longer than `total` is at least calls may have waited whose responses are hidden.
    #[must_use]
    pub fn longer_ns(&self) -> i64 {
        let hidden = self.of(Cause::Hidden);
        hidden.hi_ns.unwrap_or(i64::MAX) - hidden.lo_ns
    }

    /// What is charged to a cause, of one direction's bytes.
    #[must_use]
    pub fn of_direction(&self, cause: Cause, d: Direction) -> Bounds {
        let line = self.lines[cause as usize][d.index()];
        line.map_or(Bounds::exactly(0), |(ns, _)| ns)
    }

    /// How many calls are charged with a cause, of one direction's bytes.
    #[must_use]
    pub fn calls_of(&self, cause: Cause, d: Direction) -> u64 {
        self.lines[cause as usize][d.index()].map_or(0, |(_, calls)| calls)
    }

    /// Its lines, each place, side and cause once; the largest by what is certain first.
    #[must_use]
    pub fn lines(&self) -> Vec<Sum> {
        let mut lines: Vec<Sum> = Vec::new();
        for (cause, d, ns, calls) in self.charged() {
            let (place, side) = cause.of(d);
            let same =
                |s: &&mut Sum| (s.line.place, s.line.side, s.line.cause) == (place, side, cause);
            match lines.iter_mut().find(same) {
                Some(sum) => {
                    sum.line.ns = sum.line.ns.plus(ns);
                    sum.calls += calls;
                }
                None => lines.push(Sum {
                    line: Line {
                        place,
                        side,
                        cause,
                        ns,
                    },
                    calls,
                }),
            }
        }
        lines.sort_by_key(|s| {
            let l = &s.line;
            (std::cmp::Reverse(l.ns.lo_ns), l.place, l.side, l.cause)
        });
        lines
    }

    /// What is certain of a side, and what is at most its: what is nobody's may be anybody's.
    #[must_use]
    pub fn side(&self, side: Place) -> Bounds {
        let mut sum = Bounds::exactly(0);
        for s in self.lines() {
            if s.line.side == side {
                sum = sum.plus(s.line.ns);
            } else if s.line.side == Place::Unknown {
                sum = sum.plus(Bounds {
                    lo_ns: 0,
                    ..s.line.ns
                });
            }
        }
        sum
    }

    /// What is left of all for a side, where the others have what is certain of them.
    #[must_use]
    pub fn left_for_ns(&self, side: Place) -> Option<i64> {
        let lines = self.lines().into_iter();
        let others = lines.filter(|s| s.line.side != side && s.line.side != Place::Unknown);
        let others_ns = others.fold(0i64, |sum, s| sum.saturating_add(s.line.ns.lo_ns));
        Some((self.total.hi_ns? - others_ns).max(0))
    }
}
