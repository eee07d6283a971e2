//! What a comparison says, as plain data.

use super::bootstrap::Interval;
use super::snapshot::{CallSums, SavedCapture, SavedFinding};
use crate::findings::Rule;
use crate::results::{Layer, LayerOf};
use crate::text::Text;
use crate::tiers::Tier;
use model::{Direction, Protocol};

/// What both runs did, so that unequal amounts of it can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Call,
    Byte,
    Row,
}

impl Unit {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Unit::Call => "call",
            Unit::Byte => "byte",
            Unit::Row => "row",
        }
    }
}

/// The answer in a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The problem takes longer for the same work.
    Slower,
    Faster,
    /// What differs may be chance, or is too little to matter.
    NoDifference,
    /// There is a difference, and nothing tells whether it is more than chance.
    Undetermined,
    /// The runs did different things, or were not seen from the same place.
    NotComparable,
}

impl Outcome {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Slower => "slower",
            Outcome::Faster => "faster",
            Outcome::NoDifference => "no-difference",
            Outcome::Undetermined => "undetermined",
            Outcome::NotComparable => "not-comparable",
        }
    }
}

/// A number in the baseline and in the problem.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Change {
    pub baseline: f64,
    pub problem: f64,
    /// In which the difference lies with 99 % confidence; `None` where nothing tells.
    pub interval: Option<Interval>,
    /// Whether it is beyond chance and large enough to matter; `None` where chance cannot be told.
    pub beyond_chance: Option<bool>,
}

impl Change {
    #[must_use]
    pub fn difference(&self) -> f64 {
        self.problem - self.baseline
    }

    /// How many times as much the problem has; `None` of nothing.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        (self.baseline > 0.0).then(|| self.problem / self.baseline)
    }
}

/// What a share of the difference comes from.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The finding that is about the same, where there is one.
    pub rule: Option<Rule>,
    /// What changed, as a part of a sentence: "the server's own time takes 8.2 ms instead of 0.1 ms per call".
    pub what: Text,
    /// Of the difference, at the problem's amount of work: below zero it took less.
    pub added_ns: i64,
    pub interval_ns: Option<(i64, i64)>,
    pub beyond_chance: Option<bool>,
    /// Nanoseconds per call, or bytes or rows per call.
    pub change: Change,
    pub per: &'static str,
    /// Whether the side that is slower has this finding itself.
    pub found: bool,
    /// Whether it says why, and not only that more time passed.
    pub explains: bool,
}

/// An operation, or a statement, in both runs.
#[derive(Clone, Debug)]
pub struct OpChange {
    pub protocol: Protocol,
    pub op: String,
    pub statement: Option<String>,
    pub sums: [CallSums; 2],
    /// Response time, nanoseconds per call; `None` where one run has none of it.
    pub mean: Option<Change>,
    /// The chance that a call of the problem takes longer than one of the baseline, less the chance that
    /// it takes less (Cliff's delta): from −1 to 1.
    pub delta: Option<f64>,
    pub p50_ns: [Option<i64>; 2],
    pub p90_ns: [Option<i64>; 2],
    pub p99_ns: [Option<i64>; 2],
    pub max_ns: [Option<i64>; 2],
    /// How response times are distributed: nanoseconds, and calls that took about so long (within
    /// 0.4 %), shortest first. For curves.
    pub curves: [Vec<(i64, u64)>; 2],
    pub bytes_per_call: [Option<f64>; 2],
    pub rows_per_trip: [Option<f64>; 2],
}

/// How a metric is to be printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measure {
    Nanoseconds,
    Bytes,
    /// A count per something, or a plain number.
    Number,
    /// 0 to 1.
    Share,
}

impl Measure {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Measure::Nanoseconds => "ns",
            Measure::Bytes => "bytes",
            Measure::Number => "number",
            Measure::Share => "share",
        }
    }
}

/// A metric in both runs.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Key in machine output, words for people.
    pub name: &'static str,
    pub words: Text,
    pub direction: Option<Direction>,
    /// Of connections to this port.
    pub port: Option<u16>,
    pub measure: Measure,
    pub change: Change,
}

/// What both of two runs did that did different things as well.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    /// Calls of it, and its share of the time of all calls (0 to 1), in each run.
    pub calls: [u64; 2],
    pub shares: [f64; 2],
    /// Of what each run alone did: its response time, and the server's part of that, where both ends were
    /// captured.
    pub only_ns: [i64; 2],
    pub only_server_ns: Option<[i64; 2]>,
    /// Response time, nanoseconds per call, at the problem's mix of operations.
    pub time: Change,
    /// What it took more in the problem than it would have in the baseline.
    pub added_ns: i64,
    /// The server's part of the time, where both ends of both runs were captured.
    pub server: Option<Change>,
}

/// One of the two runs.
#[derive(Clone, Debug)]
pub struct Run {
    pub captures: Vec<SavedCapture>,
    pub verdict: Text,
    pub findings: Vec<SavedFinding>,
    pub calls: u64,
    /// Bytes of the calls, both ways, and rows.
    pub bytes: u64,
    pub rows: u64,
    /// Response time of the calls that were judged, and of all, as they are listed by operation.
    pub time_ns: i64,
    pub all_time_ns: i64,
    pub elapsed_ns: i64,
}

/// A host that worked for others with calls of its own, in the baseline, the problem, or both.
#[derive(Clone, Debug)]
pub struct TierChange {
    pub tiers: [Option<Tier>; 2],
    /// Its own calls in both, held against each other.
    pub own: Option<Box<Comparison>>,
}

impl TierChange {
    /// How much more of its work for a request lies beneath its own calls in the problem, at least; less than zero
    /// where it is less. Nanoseconds.
    #[must_use]
    pub fn added_each_ns(&self) -> i64 {
        let [Some([a_lo, a_hi]), Some([b_lo, b_hi])] =
            (self.tiers.each_ref()).map(|t| t.as_ref().map(Tier::beneath_each_ns))
        else {
            return 0;
        };
        (b_lo - a_hi).max(0) + (b_hi - a_lo).min(0)
    }

    /// The same of all requests of the problem.
    #[must_use]
    pub fn added_ns(&self) -> i64 {
        let [_, now] = &self.tiers;
        let asked = now.as_ref().map_or(0, |t| t.asked);
        self.added_each_ns().saturating_mul(asked as i64)
    }
}

/// A layer of which hosts or captures of the baseline, the problem, or both have times.
#[derive(Clone, Debug)]
pub struct LayerChange {
    pub layer: LayerOf,
    pub layers: [Option<Layer>; 2],
}

/// Everything `compare` says.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The baseline, the problem.
    pub runs: [Run; 2],
    pub outcome: Outcome,
    /// Of the cause that explains most, where one does.
    pub cause: Option<Rule>,
    pub sentence: Text,
    /// Findings of the problem alone that no line of the account tells of: work that ended, connections
    /// that opened slowly.
    pub beside: Vec<SavedFinding>,
    /// Those of the baseline alone: what ended its work, or what the problem has from another side.
    pub gone: Vec<SavedFinding>,
    /// What both did, where part of the time of one of them went to what the other did not do.
    pub shared: Option<Shared>,
    /// What should be known of the answer: unequal volumes and the like.
    pub notes: Vec<Text>,
    pub unit: Unit,
    /// Response time in nanoseconds per unit of work.
    pub time: Option<Change>,
    /// What the problem took more than the baseline would have for as much work.
    pub added_ns: i64,
    /// What adds most to the difference first.
    pub causes: Vec<Cause>,
    /// By time in both runs, most first.
    pub ops: Vec<OpChange>,
    /// Those that changed beyond chance first.
    pub metrics: Vec<Metric>,
    /// What lies beneath servers, most time in the problem first.
    pub tiers: Vec<TierChange>,
    /// What each layer takes, from the application down, where hosts' own times were given.
    pub layers: Vec<LayerChange>,
    /// Calls that take less on average are nobody's fault.
    pub fast_enough_ns: i64,
}

impl Comparison {
    /// The operations and statements of which run 0 or 1 alone has calls.
    #[must_use]
    pub fn only(&self, run: usize) -> Vec<&OpChange> {
        let called = |o: &OpChange, run: usize| o.sums.get(run).is_some_and(|s| s.calls > 0);
        let alone = |o: &&OpChange| called(o, run) && !called(o, 1 - run.min(1));
        self.ops.iter().filter(alone).collect()
    }
}
