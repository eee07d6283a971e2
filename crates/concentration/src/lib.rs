//! A stream of costs into where they concentrate: on whom, on what, when.
//!
//! The places are those that hold most of a cost and differ from the rest beyond chance. What is
//! not significant is not said: costs that are spread evenly, however heavy their tail, give an
//! empty list.
//!
//! # How to feed it
//!
//! One [`Concentration`] for a diagnosis, with an account for each thing that costs: a finding, or,
//! as findings are known only at the end, a line of the ledger (place, side, cause). Sums over
//! accounts are made in [`Concentration::finish`], which takes the accounts that a finding owns.
//!
//! - [`Concentration::charge`] once for every call that judgement rests on, also those that cost
//!   nothing: they are the rest that places are held against. Calls that are not fed do not exist.
//! - In order of time, by start or by end; what comes late is counted where it belongs. The same
//!   calls in the same order give the same places, whatever the number of threads elsewhere. Calls
//!   of two captures of one matched pair are one call.
//! - Attributes are numbers that the caller gives out: an interned index, or a hash that is the
//!   same in each run. A call has those that it has: one without a file says nothing of files, and
//!   files are held against other files only. Give each attribute once.
//! - What a call is charged is what is above normal where that is known; whole response times do,
//!   too, but an operation that is by nature longer than others then is a place, which is true and
//!   of no use.
//!
//! ```
//! use concentration::{By, Charge, Concentration, Value};
//!
//! let mut concentration = Concentration::new(1);
//! for call in 0..1_000 {
//!     let client = (call * call) as u64 % 7 % 3;
//!     let cost_ns = if client == 2 { 9_000_000 } else { 100_000 };
//!     concentration.charge(&Charge {
//!         at_ns: call * 1_000_000,
//!         response_ns: cost_ns,
//!         costs: &[(0, cost_ns)],
//!         attributes: &[(By::Client, client), (By::Server, 1)],
//!         set: client,
//!     });
//! }
//! let places = concentration.finish(&[0]);
//! assert_eq!(places.len(), 1);
//! assert_eq!((places[0].by, places[0].value), (By::Client, Value::Of(2)));
//! ```
//!
//! # What it says, and how sure
//!
//! Who (`who.rs`): blocks of time, within each a value's calls against the others', by Student's t
//! over blocks and by a permutation of cells, of which the less surprising counts; a value stands out
//! at 3.5 standard deviations, with 1.5 times the rest's mean, and the set must hold more than half
//! of the cost. When (`window.rs`, `period.rs`): ranks of blocks, corrected for their
//! autocorrelation, and evenness of gaps. Moments are told to a 500th of the capture.
//!
//! Of 10,000 healthy streams that no threshold was set by (30 to 20,000 calls; exponential, Pareto and
//! lognormal costs, rare losses, irregular stalls of all or of one client at a time; eight attributes
//! each), none was given a wrong client or other value and four (0.04 %) a time: stalls that chance had
//! drawn together. 200 such streams are a test. Streams with a single long stall are not among them,
//! as that is a place in time. Of two clients that share the calls evenly the slower one is named, in
//! 40 streams with exponential costs:
//!
//! | calls | twice as slow | 4 times | 20 times |
//! |---|---|---|---|
//! | 100 | 0 | 13 | 33 |
//! | 300 | 12 | 40 | 40 |
//! | 1,000 and more | 40 | 40 | 40 |
//!
//! What it does not do: a burst that happened once is no place, as one event proves nothing about
//! whom, and about when only if it fills eight blocks, a tenth of the capture or so. Of places that
//! go together (a statement that one client alone uses) it knows the sums of each, not of both.
//! More than eight values are no place. A period is not found where stretches fill half of it.
//!
//! # Cost
//!
//! 60 to 150 ns a charge of one processor that others used too, with eight attributes of up to a
//! hundred values, one account or two of eight charged; 270 to 350 ns where three attributes have
//! thousands of values, all of which cost (release build without LTO, `examples/ns_per_charge.rs`,
//! which varies that much between runs). One with many accounts costs little more than one with one
//! account, where a `Concentration` for each finding would cost that much each.
//! [`Concentration::finish`] takes under a millisecond.
//!
//! Memory has a bound: 256 values of an attribute, 64 blocks of each, and in each one number and
//! one for each account (1.2 MB per attribute with eight accounts, where there are that many values
//! and all last); 1,024 cells alike for each set of attributes that calls have together, which are
//! few; 4,096 stretches of 32 bytes for each account.

mod alike;
mod course;
mod period;
#[cfg(test)]
mod tests;
mod values;
mod who;
mod window;

use alike::{Alike, Sums};
use course::{BLOCK, CELLS, Cell, Clock, Course};
use period::Stretches;
use std::ops::Range;
use values::Values;
use who::Blocks;

/// Most of the cost is more than this share of it.
const MOST: f64 = 0.5;

/// The mean of a place's calls is at least so many times that of the rest.
const TIMES_AS_MUCH: f64 = 1.5;

/// Calls that a rest must have to be one.
const LEAST_CALLS: u64 = 8;

/// What calls can have in common: the coarser before the finer, which is said first of two that are
/// the same.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum By {
    Client,
    Server,
    User,
    Database,
    Program,
    Export,
    Operation,
    File,
    Statement,
    Connection,
    Time,
}

impl By {
    /// Whether what has one of these has always the same one of those.
    fn is_part_of(self, coarser: By) -> bool {
        matches!(
            (self, coarser),
            (
                By::Connection,
                By::Client | By::Server | By::User | By::Database | By::Program
            ) | (By::File, By::Export | By::Server)
                | (By::Export, By::Server)
                | (By::Statement, By::Operation)
        )
    }
}

/// On what a cost concentrates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Value {
    /// The number that the caller knows it by.
    Of(u64),
    /// From this moment to the end, in nanoseconds as calls were told of; so the others.
    Since(i64),
    Until(i64),
    Between(i64, i64),
    /// Stretches that begin so far apart and last so long, so many of them.
    Every {
        period_ns: i64,
        for_ns: i64,
        times: u64,
    },
}

/// One call: who, when, how long it took in all, and how much of that is which cost.
#[derive(Clone, Copy, Debug)]
pub struct Charge<'a> {
    /// When its request began, in nanoseconds since any moment.
    pub at_ns: i64,
    pub response_ns: i64,
    /// Accounts and what they are charged, in nanoseconds; an account that is left out is charged
    /// nothing.
    pub costs: &'a [(usize, i64)],
    /// What it has, in the caller's numbers. Time is not among them.
    pub attributes: &'a [(By, u64)],
    /// A number that calls have in common which have the same attributes, and no others.
    pub set: u64,
}

/// One value on which a cost concentrates. Several of one attribute are told as several places, the
/// costliest first.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Place {
    pub by: By,
    pub value: Value,
    /// Calls that have the value: at least these, where there are more values than room.
    pub calls: u64,
    /// What those calls cost, and its share (0 to 1) of the whole cost.
    pub cost_ns: i64,
    pub share: f64,
    /// Mean cost of the calls that have another value of the attribute than the places named; for
    /// time, of all other calls.
    pub rest_mean_ns: i64,
}

/// What calls of an attribute have, by attribute.
type ByAttribute = [Values; By::Time as usize];

/// Calls and their costs, in bounded memory.
#[derive(Clone, Debug)]
pub struct Concentration {
    accounts: usize,
    clock: Clock,
    calls: u64,
    /// All calls, by which attributes they have (a bit for each).
    having: Vec<(u16, Course)>,
    /// In blocks, as a value's own course is.
    values: ByAttribute,
    stretches: Vec<Stretches>,
    /// What values have yet to be told.
    sums: Sums,
}

/// Tells each value what was summed of its calls.
fn tell(values: &mut ByAttribute, alike: &mut Alike, accounts: usize) {
    if alike.calls == 0 {
        return;
    }
    for (by, value) in &alike.attributes {
        if let Some(values) = values.get_mut(*by as usize) {
            values.add(*value, alike, accounts);
        }
    }
    alike.clear();
}

/// Where the calls that have attributes of these kinds are counted.
fn having_these(having: &mut Vec<(u16, Course)>, attributes: &[(By, u64)]) -> usize {
    let known = attributes.iter().filter(|(by, _)| *by != By::Time);
    let has = known.fold(0, |has: u16, (by, _)| has | 1 << *by as usize);
    let known = having.iter().position(|(having, _)| *having == has);
    known.unwrap_or_else(|| {
        having.push((has, Course::default()));
        having.len() - 1
    })
}

impl Concentration {
    /// For costs of so many accounts, numbered from 0.
    pub fn new(accounts: usize) -> Concentration {
        Concentration {
            accounts,
            clock: Clock::default(),
            calls: 0,
            having: Vec::new(),
            values: Default::default(),
            stretches: vec![Stretches::default(); accounts],
            sums: Sums::new(accounts),
        }
    }

    /// Counts one call.
    pub fn charge(&mut self, charge: &Charge) {
        let mut cell = self.clock.cell(charge.at_ns);
        while cell >= CELLS {
            self.tell_values();
            self.clock.double();
            self.having
                .iter_mut()
                .for_each(|(_, course)| course.halve(self.accounts));
            self.values
                .iter_mut()
                .for_each(|values| values.halve(self.accounts));
            cell = self.clock.cell(charge.at_ns);
        }
        self.calls += 1;
        let block = cell / BLOCK;
        let alike = self.sums.place(charge.set);
        if !alike.is_of(charge.set, block) {
            tell(&mut self.values, alike, self.accounts);
            let having = having_these(&mut self.having, charge.attributes);
            alike.begin((charge.set, charge.attributes), block, having);
        }
        alike.calls += 1;
        let (_, having) = &mut self.having[alike.having];
        let [counted, cell_sums @ ..] = having.row(cell, self.accounts) else {
            return;
        };
        *counted += 1;
        let end_ns = charge.at_ns.saturating_add(charge.response_ns.max(0));
        for &(account, cost_ns) in charge.costs {
            let (Some(of_set), Some(of_cell), Some(stretches)) = (
                alike.costs.get_mut(account),
                cell_sums.get_mut(account),
                self.stretches.get_mut(account),
            ) else {
                continue;
            };
            let ns = cost_ns.max(0).unsigned_abs();
            *of_set = of_set.saturating_add(ns);
            *of_cell = of_cell.saturating_add(ns);
            stretches.add(charge.at_ns, end_ns, ns, self.calls);
        }
    }

    fn tell_values(&mut self) {
        for alike in self.sums.all() {
            tell(&mut self.values, alike, self.accounts);
        }
    }

    /// Where the cost of these accounts together concentrates: attributes first, the sharpest
    /// before the others, then time. Empty when it does not, or not beyond chance.
    pub fn finish(&mut self, accounts: &[usize]) -> Vec<Place> {
        self.tell_values();
        let cells = self.having(|_| true, accounts);
        let whole = Cell::sum(&cells);
        if whole.cost_ns == 0 || whole.calls < 2 * LEAST_CALLS {
            return Vec::new();
        }
        let mut places = self.who(&cells, whole, accounts);
        let mut times = self.when(&cells, whole, &places, accounts);
        times.retain(|time| !is_pace(time, &places));
        places.extend(times);
        places
    }

    /// The calls that have such attributes together, cell by cell.
    fn having(&self, has: impl Fn(u16) -> bool, accounts: &[usize]) -> Vec<Cell> {
        let mut sums = Vec::new();
        for (_, course) in self.having.iter().filter(|(having, _)| has(*having)) {
            for (at, cell) in course.of(self.accounts, accounts).enumerate() {
                match sums.get_mut(at) {
                    Some(sum) => *sum = cell.with(*sum),
                    None => sums.push(cell),
                }
            }
        }
        sums
    }

    fn who(&self, cells: &[Cell], whole: Cell, accounts: &[usize]) -> Vec<Place> {
        const ATTRIBUTES: [By; By::Time as usize] = [
            By::Client,
            By::Server,
            By::User,
            By::Database,
            By::Program,
            By::Export,
            By::Operation,
            By::File,
            By::Statement,
            By::Connection,
        ];
        let blocks = Blocks::new(cells);
        let sets = ATTRIBUTES
            .iter()
            .zip(&self.values)
            .filter_map(|(by, values)| {
                let all = self.having(|has| has & 1 << *by as usize != 0, accounts);
                let all: Vec<Cell> = all.chunks(BLOCK).map(Cell::sum).collect();
                blocks.set(*by, &all, &values.sorted(), |course| {
                    course.of(self.accounts, accounts).collect()
                })
            });
        let mut sets = who::once(sets.collect());
        let sharpness = |sum: Cell| sum.share_of(whole) - sum.calls as f64 / whole.calls as f64;
        sets.sort_by(|a, b| sharpness(b.sum).total_cmp(&sharpness(a.sum)));
        let places = sets.into_iter().flat_map(|mut set| {
            set.members
                .sort_by_key(|(value, sum)| (std::cmp::Reverse(sum.cost_ns), *value));
            set.members
                .into_iter()
                .map(move |(value, sum)| place(set.by, Value::Of(value), sum, set.rest, whole))
        });
        places.collect()
    }

    /// Whether what is named costs more within a window than at other times, as far as it is there at others: where
    /// those that cost little are gone, all that is left costs much, and nothing has begun.
    fn is_of_time(&self, window: &Range<usize>, named: &[Place], accounts: &[usize]) -> bool {
        let blocks = window.start / BLOCK..window.end.div_ceil(BLOCK);
        named.chunk_by(|a, b| a.by == b.by).all(|set| {
            let values = self.values.get(set[0].by as usize);
            let courses = values.map_or_else(Vec::new, Values::sorted);
            let is_named = |value: u64| set.iter().any(|place| place.value == Value::Of(value));
            let (mut inside, mut outside) = (Cell::default(), Cell::default());
            for (_, course) in courses.into_iter().filter(|(value, _)| is_named(*value)) {
                for (at, cell) in course.of(self.accounts, accounts).enumerate() {
                    let sum = match blocks.contains(&at) {
                        true => &mut inside,
                        false => &mut outside,
                    };
                    *sum = sum.with(cell);
                }
            }
            outside.calls < LEAST_CALLS || inside.mean_ns() >= TIMES_AS_MUCH * outside.mean_ns()
        })
    }

    fn when(&self, cells: &[Cell], whole: Cell, named: &[Place], accounts: &[usize]) -> Vec<Place> {
        let mut places = Vec::new();
        let window = window::window(cells);
        if let Some(window) = window.filter(|w| self.is_of_time(w, named, accounts)) {
            let sum = Cell::sum(&cells[window.clone()]);
            let (from_ns, to_ns) = (
                self.clock.begin_ns(window.start),
                self.clock.begin_ns(window.end),
            );
            let value = match (window.start, window.end) {
                (0, _) => Value::Until(to_ns),
                (_, end) if end == cells.len() => Value::Since(from_ns),
                _ => Value::Between(from_ns, to_ns),
            };
            places.push(place(By::Time, value, sum, whole.without(sum), whole));
        }
        let stretches = Stretches::together(
            accounts
                .iter()
                .filter_map(|account| self.stretches.get(*account)),
        );
        if let Some(beat) = stretches.beat(cells, &self.clock) {
            let value = Value::Every {
                period_ns: beat.period_ns,
                for_ns: beat.for_ns,
                times: beat.times,
            };
            places.push(place(
                By::Time,
                value,
                beat.sum,
                whole.without(beat.sum),
                whole,
            ));
        }
        places
    }
}

/// Whether a period is only the pace of calls that are named already: all of them are costly, whenever
/// they are made.
fn is_pace(time: &Place, named: &[Place]) -> bool {
    let same = |set: &[Place]| {
        let sum = set.iter().fold(Cell::default(), |sum, place| {
            sum.with(Cell {
                calls: place.calls,
                cost_ns: place.cost_ns.unsigned_abs(),
            })
        });
        let cost = sum.cost_ns as f64 / time.cost_ns.max(1) as f64;
        let calls = sum.calls as f64 / time.calls.max(1) as f64;
        (0.9..=1.0 / 0.9).contains(&cost) && (0.5..=2.0).contains(&calls)
    };
    matches!(time.value, Value::Every { .. }) && named.chunk_by(|a, b| a.by == b.by).any(same)
}

fn place(by: By, value: Value, sum: Cell, rest: Cell, whole: Cell) -> Place {
    Place {
        by,
        value,
        calls: sum.calls,
        cost_ns: i64::try_from(sum.cost_ns).unwrap_or(i64::MAX),
        share: sum.share_of(whole),
        rest_mean_ns: rest.mean_ns() as i64,
    }
}
