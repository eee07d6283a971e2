//! How much two runs did, in the unit in which they can be compared, and the time that each unit took.
//!
//! Where calls carry about as much in both runs, a call is the unit; where they bring rows and bring
//! others, a row; where they carry other amounts, a byte. A run of a handful of long calls is compared
//! by what its connections carried over time.

use super::blocks::{Blocks, Sums};
use super::bootstrap::Draws;
use super::result::Unit;
use super::snapshot::{AccountLine, PartSums, Snapshot};
use crate::facts::Basis;

/// Calls carry another amount when it differs by this factor.
const OTHER_AMOUNT: f64 = 1.5;

/// Below it, both ways together, what a call carries is no work: a segment.
const SEGMENT_BYTES: f64 = 1_460.0;

/// So many calls that brought rows are a habit.
const MANY: u64 = 50;

/// Which of the parts that are known over time a line belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Part {
    Server,
    Path,
    Rest,
}

impl Part {
    /// In one capture alone, waits are one part, whoever they are for.
    fn of(line: AccountLine, basis: Basis) -> Part {
        match (line, basis) {
            (AccountLine::Service | AccountLine::Queue | AccountLine::Stall, _) => Part::Server,
            (AccountLine::Path, Basis::Matched | Basis::Server) => Part::Path,
            (AccountLine::Path | AccountLine::Unknown, Basis::Client | Basis::Unknown) => {
                Part::Server
            }
            _ => Part::Rest,
        }
    }

    fn column(self, sums: &PartSums) -> f64 {
        let ns = match self {
            Part::Server => sums.server_ns,
            Part::Path => sums.path_ns,
            Part::Rest => sums.rest_ns,
        };
        ns as f64
    }
}

/// Blocks of the same length side by side, as columns of numbers.
fn columns<T: Sums, U: Sums>(
    a: &Blocks<T>,
    b: &Blocks<U>,
    of_a: impl Fn(&T) -> f64,
    of_b: impl Fn(&U) -> f64,
) -> (Vec<f64>, Vec<f64>) {
    let (mut a, mut b) = (a.clone(), b.clone());
    let width = a.width_ns().max(b.width_ns());
    a.widen(width);
    b.widen(width);
    let length = a.blocks().len().max(b.blocks().len());
    let mut first: Vec<f64> = a.blocks().iter().map(of_a).collect();
    let mut second: Vec<f64> = b.blocks().iter().map(of_b).collect();
    first.resize(length, 0.0);
    second.resize(length, 0.0);
    (first, second)
}

/// What the work of a run is counted by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scale {
    pub(super) unit: Unit,
    /// Bytes are those of the connections over time, not those of calls that ended.
    pub(super) carried: bool,
}

/// Bytes of the calls, both ways.
fn bytes(p: &PartSums) -> f64 {
    p.request_bytes as f64 + p.response_bytes as f64
}

fn apart(a: f64, b: f64) -> bool {
    let (small, large) = (a.min(b), a.max(b));
    small > 0.0 && large >= small * OTHER_AMOUNT
}

impl Scale {
    pub(super) const CALLS: Scale = Scale {
        unit: Unit::Call,
        carried: false,
    };

    pub(super) fn of(runs: [&Snapshot; 2]) -> Scale {
        let sums = runs.map(|r| r.sums);
        let by = |unit| Scale {
            unit,
            carried: false,
        };
        let fetched = sums
            .iter()
            .all(|s| s.row_trips >= MANY && s.rows > 0 && s.row_trips * 2 >= s.calls);
        let [a, b] = sums.map(|s| s.rows as f64 / s.row_trips.max(1) as f64);
        if fetched && apart(a, b) {
            return by(Unit::Row);
        }
        let parts = runs.map(|r| r.parts.total());
        let [a, b] = parts.map(|p| bytes(&p) / p.calls.max(1) as f64);
        if apart(a, b) && a.max(b) >= SEGMENT_BYTES {
            return by(Unit::Byte).unless_few(runs);
        }
        by(Unit::Call).unless_few(runs)
    }

    /// Where so few calls ended that chance cannot be told by them, what was carried is counted.
    fn unless_few(self, runs: [&Snapshot; 2]) -> Scale {
        let known = runs
            .iter()
            .all(|r| self.time(r).is_some_and(|d| d.has_draws()));
        let carried = Scale {
            unit: Unit::Byte,
            carried: true,
        };
        let instead = runs
            .iter()
            .all(|r| carried.time(r).is_some_and(|d| d.has_draws()));
        match !known && instead {
            true => carried,
            false => self,
        }
    }

    /// How much a run did.
    pub(super) fn work(self, run: &Snapshot) -> f64 {
        match self.unit {
            Unit::Call => run.parts.total().calls as f64,
            Unit::Byte if self.carried => run.progress.total().payload_bytes as f64,
            Unit::Byte => bytes(&run.parts.total()),
            Unit::Row => run.sums.rows as f64,
        }
    }

    fn draws(self, run: &Snapshot, time: impl Fn(&PartSums) -> f64) -> Option<Draws> {
        let parts = &run.parts;
        let (numerators, denominators) = match self.unit {
            Unit::Call => columns(parts, parts, time, |p| p.calls as f64),
            Unit::Byte if self.carried => {
                columns(parts, &run.progress, time, |w| w.payload_bytes as f64)
            }
            Unit::Byte => columns(parts, parts, time, bytes),
            Unit::Row => {
                let mut rows = Blocks::default();
                for s in &run.subjects {
                    rows.take_in(&s.blocks);
                }
                columns(parts, &rows, time, |s| s.rows as f64)
            }
        };
        Draws::of_ratio(&numerators, &denominators)
    }

    /// Nanoseconds of response time per unit of work.
    pub(super) fn time(self, run: &Snapshot) -> Option<Draws> {
        self.draws(run, |p| p.time_ns() as f64)
    }

    /// The same of one line of the account: as it is over time, the part is that it belongs to.
    pub(super) fn line(self, run: &Snapshot, line: AccountLine, ns: i64) -> Draws {
        let total = self.time(run).map_or(0.0, |t| t.point);
        let point = total * ns as f64 / (run.total_ns as f64).max(1.0);
        let part = Part::of(line, run.basis);
        match self.draws(run, |p| part.column(p)) {
            Some(draws) if draws.point > 0.0 => {
                let factor = point / draws.point;
                draws.scaled(factor)
            }
            _ => Draws::certain(point),
        }
    }
}
