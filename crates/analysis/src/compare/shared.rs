//! Runs that did different things, into what can be said of what both of them did: the time of its calls,
//! at the problem's mix, without what only one of them did.

use super::blocks::{Blocks, Sums};
use super::bootstrap::Draws;
use super::effect;
use super::matching::{pairs, round_trip};
use super::result::{Cause, Change, Shared};
use super::sentence::instead;
use super::snapshot::{CallSums, Snapshot, Subject};
use crate::facts::Basis;
use crate::findings::Rule;
use crate::text::{Text, text};

/// The calls of one run that the other made as well, each weighted so that there are as many of its kind
/// as in the problem: their time and number over time.
struct Weighted {
    time_ns: Vec<f64>,
    calls: Vec<f64>,
}

impl Weighted {
    fn of(subjects: &[(&Subject, f64)]) -> Weighted {
        let width = subjects.iter().map(|(s, _)| s.blocks.width_ns()).max();
        let mut sums = Weighted {
            time_ns: Vec::new(),
            calls: Vec::new(),
        };
        for (subject, weight) in subjects {
            let mut blocks: Blocks<CallSums> = subject.blocks.clone();
            blocks.widen(width.unwrap_or_default());
            let length = blocks.blocks().len().max(sums.calls.len());
            sums.time_ns.resize(length, 0.0);
            sums.calls.resize(length, 0.0);
            let slots = sums.time_ns.iter_mut().zip(&mut sums.calls);
            for ((time, calls), block) in slots.zip(blocks.blocks()) {
                *time += block.time_ns as f64 * weight;
                *calls += block.calls as f64 * weight;
            }
        }
        sums
    }

    fn draws(&self) -> Option<Draws> {
        Draws::of_ratio(&self.time_ns, &self.calls)
    }
}

/// What both runs did; `None` where that is nothing. `ends` are the same runs as a capture at the server
/// has them, `floor_ns` is by how much a call may differ for no reason that a capture shows.
pub(super) fn shared(
    runs: [&Snapshot; 2],
    ends: Option<[&Snapshot; 2]>,
    floor_ns: f64,
) -> Option<Shared> {
    let change = |runs| {
        let both = both(runs);
        let (a, b): (Vec<_>, Vec<_>) = both
            .iter()
            .map(|(a, b)| {
                let [n, k] = [a, b].map(|s| s.blocks.total().calls as f64);
                ((*a, k / n), (*b, 1.0))
            })
            .unzip();
        let (a, b) = (Weighted::of(&a).draws()?, Weighted::of(&b).draws()?);
        Some(effect::change(&a, &b, floor_ns))
    };
    let time = change(runs)?;
    let both = both(runs);
    let sums = |of: fn(&(&Subject, &Subject)) -> CallSums| {
        let mut sums = CallSums::default();
        both.iter().for_each(|pair| sums.add(&of(pair)));
        sums
    };
    let sums = [
        sums(|(a, _)| a.blocks.total()),
        sums(|(_, b)| b.blocks.total()),
    ];
    let [_, problem] = sums;
    let mut all = runs.into_iter().map(|r| r.sums.time_ns.max(1) as f64);
    Some(Shared {
        calls: sums.map(|s| s.calls),
        only_ns: only(runs, runs),
        only_server_ns: ends.map(|ends| only(runs, ends)),
        shares: sums.map(|s| s.time_ns as f64 / all.next().unwrap_or(1.0)),
        time,
        added_ns: (time.difference() * problem.calls as f64) as i64,
        server: ends.and_then(change),
    })
}

/// The response time of what each run alone did, as `seen` from elsewhere.
fn only(runs: [&Snapshot; 2], seen: [&Snapshot; 2]) -> [i64; 2] {
    let pairs = pairs(runs);
    let of = |run: usize, seen: &Snapshot| {
        let alone = pairs
            .iter()
            .filter(|pair| pair.iter().flatten().count() == 1);
        let alone: Vec<_> = alone
            .filter_map(|pair| pair.get(run).copied().flatten())
            .map(Subject::key)
            .collect();
        let subjects = seen.subjects.iter().filter(|s| alone.contains(&s.key()));
        let times = subjects.map(|s| s.blocks.total().time_ns);
        times.fold(0, i64::saturating_add)
    };
    let [a, b] = seen;
    [of(0, a), of(1, b)]
}

/// The operations and statements of which both runs have calls.
fn both(runs: [&Snapshot; 2]) -> Vec<(&Subject, &Subject)> {
    let called = |s: &Subject| s.blocks.total().calls > 0;
    pairs(runs)
        .into_iter()
        .filter_map(|[a, b]| a.zip(b))
        .filter(|(a, b)| called(a) && called(b))
        .collect()
}

/// What the difference of that comes from. The account tells of all calls, not of these: what the server's
/// capture has of them says whose part of the time grew, and round trips whether the way did.
pub(super) fn causes(runs: [&Snapshot; 2], shared: &Shared) -> Vec<Cause> {
    let trips = match runs.map(|r| round_trip(r).0) {
        [Some(a), Some(b)] => Some(Change {
            baseline: a as f64,
            problem: b as f64,
            ..Change::default()
        }),
        _ => None,
    };
    // Most of what grew, or of what there is less of.
    let explains = |part: &Change| {
        let grown = part.difference();
        let more =
            |t: &Change| t.difference() * grown > 0.0 && t.difference().abs() * 2.0 >= grown.abs();
        trips.filter(more)
    };
    let mut causes = match shared.server {
        Some(server) => {
            let way = Change {
                baseline: shared.time.baseline - server.baseline,
                problem: shared.time.problem - server.problem,
                ..Change::default()
            };
            let mut network = part(shared, "the network takes", way);
            if let Some(trips) = explains(&way) {
                network.rule = Some(Rule::NetworkDelay);
                network.what = text!("{what} ({why})", what = network.what, why = shortest(trips));
            }
            vec![part(shared, "the server takes", server), network]
        }
        None if runs.iter().all(|r| r.basis == Basis::Server) => {
            vec![part(shared, "the server takes", shared.time)]
        }
        None => {
            let trips =
                explains(&shared.time).filter(|_| runs.iter().all(|r| r.basis == Basis::Client));
            let way = trips.map(|trips| Cause {
                rule: Some(Rule::NetworkDelay),
                what: shortest(trips),
                ..part(shared, "", trips)
            });
            way.into_iter().collect()
        }
    };
    causes.sort_by_key(|c| {
        let added = c.added_ns.saturating_mul(shared.added_ns.signum());
        std::cmp::Reverse(added)
    });
    causes
}

fn shortest(trips: Change) -> Text {
    text!("the shortest round trip is {trips}", trips = instead(trips))
}

/// A part of the time of each call that changed.
fn part(shared: &Shared, who: &'static str, change: Change) -> Cause {
    let [_, calls] = shared.calls;
    let of_all = |ns: f64| (ns * calls as f64) as i64;
    Cause {
        rule: None,
        what: text!("{who} {times} per call", who = who, times = instead(change)),
        added_ns: of_all(change.difference()),
        interval_ns: change
            .interval
            .map(|(low, high)| (of_all(low), of_all(high))),
        beyond_chance: change.beyond_chance,
        change,
        per: "call",
        found: false,
        explains: true,
    }
}
