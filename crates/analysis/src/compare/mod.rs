//! Two runs, a baseline and a problem, into what changed between them: by how much, whether that is
//! more than chance, and what it comes from.
//!
//! There is no second diagnosis here. Each run brings the account that its own diagnosis was made of
//! ([`snapshot`]); here the same lines are held against each other for the same amount of work.

pub mod blocks;
pub mod bootstrap;
pub mod effect;
pub mod gather;
pub mod kept;
mod layers;
pub mod result;
pub mod saved;
pub mod snapshot;

mod attribution;
mod estimate;
mod matching;
mod sentence;
mod shared;
mod streams;
mod tiers;
mod wording;
mod work;

pub use kept::{Kept, KeptTier};
pub use result::Comparison;
pub use snapshot::Snapshot;

use crate::diagnose::Kind;
use crate::findings::Of;
use crate::results::{Side, Vantage};
use crate::text::{Text, Value, text};
use effect::{excludes_nothing, matters};
use result::{Change, Outcome, Run, TierChange, Unit};
use snapshot::SavedFinding;
use streams::Streams;
use work::Scale;

/// Of what is fast enough to accuse nobody, the share by which calls of two runs differ for no reason
/// that a capture shows: runs of the same thing on a machine that others use, too, do.
const FLOOR_SHARE: i64 = 8;

/// The same of means where calls are fast and most take as long as before: a few that were held up, by
/// who knows what, make the mean of short calls.
const FLOOR_OF_FEW_SHARE: i64 = 2;

/// Below this share of the time in operations that both runs have, they did different things.
const IN_COMMON: f64 = 0.5;

/// A line of the account that changed by this fraction of the time is worth a word.
const ELSEWHERE: u64 = 4;

/// A finding beside the calls is worth a word when it costs more than this fraction of their time.
const BESIDE: i64 = 10;

/// Volumes that differ by this factor are worth a word.
const UNEQUAL: f64 = 1.25;

/// What only one run did is worth a word from this share of its time on.
const OTHER_WORK: f64 = 0.05;

/// With so much of the time in common, the account of all calls is about what both did.
const MOSTLY: f64 = 0.75;

/// Compares two runs, as seen from the same ends.
#[must_use]
pub fn compare(baseline: &Kept, problem: &Kept) -> Comparison {
    let both = [baseline, problem];
    let (runs, reduced) = kept::alike(both);
    let ends = match (both.map(|r| r.end(Vantage::Server)), reduced) {
        ([Some(a), Some(b)], None) => Some([a, b]),
        _ => None,
    };
    let mut c = compared(runs, ends, tiers::changes(both));
    c.layers = layers::changes(both);
    let floor_ns = fast_enough_ns(runs) as i64 / FLOOR_SHARE;
    if let Some(said) = layers::said(&c.layers, floor_ns) {
        let calls = std::mem::take(&mut c.sentence);
        c.sentence = match c.outcome {
            Outcome::Slower | Outcome::Faster => {
                text!("{calls} {said}", calls = calls, said = said)
            }
            _ => text!("{said} On the wire: {calls}", said = said, calls = calls),
        };
    }
    c.notes.extend(layers::only_one(&c.layers));
    if let Some((which, vantage)) = reduced {
        let [which, other] = match which {
            0 => ["baseline", "problem"],
            _ => ["problem", "baseline"],
        };
        c.notes.push(text!(
            "Of the {which} only the capture at the {vantage} is compared, as the {other} has no other.",
            which = which,
            vantage = vantage.name(),
            other = other,
        ));
    }
    c
}

/// Compares two runs; `ends` are the same as a capture at the server alone has them, and `tiers` what lies beneath
/// their servers.
fn compared(
    seen: [&Snapshot; 2],
    ends: Option<[&Snapshot; 2]>,
    tiers: Vec<TierChange>,
) -> Comparison {
    let estimated = estimate::with_path(seen);
    let runs = match &estimated {
        Some([a, b]) => [a.as_ref(), b.as_ref()],
        None => seen,
    };
    let ops = matching::ops(runs, fast_enough_ns(runs) / FLOOR_SHARE as f64);
    let scale = Scale::of(runs);
    let mut notes = Vec::new();
    let in_common = matching::in_common(&ops);
    let elsewhere_seen = elsewhere_seen(runs);
    // Where calls do not compare them, what they carried does.
    let streams = Streams::of(runs);
    let other_work = streams.is_none() && in_common < IN_COMMON;
    let incomparable = elsewhere_seen.clone().or_else(|| {
        other_work.then(|| {
            text!(
                "the runs did different things: only {share} of the time of one of them went to operations that both have.",
                share = Value::Share(in_common * 100.0, 0)
            )
        })
    });
    let partly = elsewhere_seen.is_none()
        && streams.is_none()
        && in_common < 1.0 - OTHER_WORK
        && (other_work || scale.unit == Unit::Call);
    let shared = match partly {
        true => shared::shared(runs, ends, floor(runs, &ops, Scale::CALLS)),
        false => None,
    };
    // Of what both did, and of runs without calls, the sentence tells.
    let told = shared.is_some() || runs.iter().any(|r| r.calls == 0);
    notes.extend(incomparable.clone().filter(|_| !told));
    // What both did is told of as it was seen.
    let crossed = estimated.is_some() && shared.is_none();
    notes.extend(where_captured(runs, crossed));
    let mut c = Comparison {
        runs: runs.map(run),
        outcome: Outcome::NotComparable,
        cause: None,
        sentence: Text::default(),
        beside: Vec::new(),
        gone: Vec::new(),
        shared,
        notes,
        unit: match (shared, &streams) {
            (Some(_), _) => Unit::Call,
            (None, Some(_)) => Unit::Byte,
            (None, None) => scale.unit,
        },
        time: None,
        added_ns: 0,
        causes: Vec::new(),
        ops,
        metrics: matching::metrics(runs),
        tiers,
        layers: Vec::new(),
        fast_enough_ns: runs
            .map(|r| r.fast_enough_ns)
            .into_iter()
            .max()
            .unwrap_or(0),
    };
    let comparable = incomparable.is_none();
    if let Some(streams) = &streams {
        let time = streams.change();
        c.outcome = outcome(comparable, time, matters(time.baseline, time.problem, 0.0));
        let [_, (bytes, _)] = streams.volumes();
        c.added_ns = (time.difference() * bytes as f64) as i64;
        c.time = Some(time);
        if c.outcome != Outcome::NotComparable {
            c.causes = streams.causes();
        }
        for (run, (bytes, ns)) in c.runs.iter_mut().zip(streams.volumes()) {
            (run.bytes, run.elapsed_ns) = (bytes, ns);
        }
    } else if let Some(shared) = shared {
        of_shared(&mut c, runs, shared, comparable, in_common);
    } else {
        of_calls(&mut c, runs, scale, comparable);
    }
    if matches!(c.outcome, Outcome::Slower | Outcome::Faster) {
        c.cause = sentence::main_cause(&c.causes, c.added_ns).and_then(|m| m.rule);
    }
    c.notes.extend(match &streams {
        Some(_) => vec![carried(&c)],
        None => volumes(&c, scale),
    });
    if elsewhere_seen.is_none() || runs.iter().any(|r| r.calls == 0) {
        c.beside = beside(&c);
        c.gone = gone(&c);
    }
    c.notes.extend(elsewhere(&c));
    c.sentence = sentence::sentence(&c);
    c
}

/// What is to be known of where the runs were captured; with `crossed` the path was added to what was seen.
fn where_captured(runs: [&Snapshot; 2], crossed: bool) -> Vec<Text> {
    let mut notes = Vec::new();
    let alone = runs.iter().all(|r| r.basis == crate::facts::Basis::Server);
    if alone && !crossed {
        notes.push(
            "Captured at the server alone: what the network takes of a call is not in it.".into(),
        );
    }
    for (name, run) in ["baseline", "problem"].into_iter().zip(runs) {
        let known = matches!(run.vantage, Some(Vantage::Client | Vantage::Server));
        if run.calls > 0 && !known {
            notes.push(text!(
                "It is not known where the {name} was captured; that it was where the other was is taken for granted.",
                name = name
            ));
        }
    }
    if crossed {
        notes.push("Captured at the server alone: for the path, the shortest round trip is added to each call.".into());
    }
    notes
}

fn outcome(comparable: bool, time: Change, counts: bool) -> Outcome {
    match time.beyond_chance {
        _ if !comparable => Outcome::NotComparable,
        None if counts => Outcome::Undetermined,
        None | Some(false) => Outcome::NoDifference,
        Some(true) if time.difference() > 0.0 => Outcome::Slower,
        Some(true) => Outcome::Faster,
    }
}

/// Compares them by what both did.
fn of_shared(
    c: &mut Comparison,
    runs: [&Snapshot; 2],
    shared: result::Shared,
    comparable: bool,
    in_common: f64,
) {
    let floor = floor(runs, &c.ops, Scale::CALLS);
    let counts = matters(shared.time.baseline, shared.time.problem, floor);
    c.outcome = outcome(comparable, shared.time, counts);
    c.added_ns = shared.added_ns;
    c.time = Some(shared.time);
    c.causes = shared::causes(runs, &shared);
    // Where there is little else, the account of all calls is about these.
    if c.causes.is_empty()
        && in_common >= MOSTLY
        && let [Some(a), Some(b)] = runs.map(|r| Scale::CALLS.time(r))
    {
        let difference = shared.added_ns as f64 / Scale::CALLS.work(runs[1]).max(1.0);
        let other_ns = b.point - a.point - difference;
        c.causes = attribution::causes(runs, Scale::CALLS, difference, other_ns);
    }
}

/// Compares them by all of their calls, if both have some.
fn of_calls(c: &mut Comparison, runs: [&Snapshot; 2], scale: Scale, comparable: bool) {
    if runs.iter().all(|r| r.calls > 0)
        && let (Some(a), Some(b)) = (scale.time(runs[0]), scale.time(runs[1]))
    {
        let mix_ns = match scale.unit {
            Unit::Call => matching::mix_shift_ns(&c.ops),
            _ => 0.0,
        };
        // Like for like.
        let difference = b.point - a.point - mix_ns;
        let interval = bootstrap::Draws::both(&a, &b, |x, y| y - x - mix_ns).1;
        let floor = floor(runs, &c.ops, scale);
        let counts = matters(a.point, a.point + difference, floor);
        let time = Change {
            baseline: a.point,
            problem: b.point,
            interval,
            beyond_chance: interval.map(|i| excludes_nothing(i) && counts),
        };
        c.added_ns = (difference * scale.work(runs[1])) as i64;
        c.outcome = match outcome(comparable, time, counts) {
            Outcome::Slower | Outcome::Faster if difference > 0.0 => Outcome::Slower,
            Outcome::Slower | Outcome::Faster => Outcome::Faster,
            other => other,
        };
        c.time = Some(time);
        if c.outcome != Outcome::NotComparable {
            c.causes = attribution::causes(runs, scale, difference, mix_ns);
        }
    }
}

/// A finding that no line of the account tells of: work that ended, or time before the calls or between them, if that
/// is much beside their time.
fn is_apart(f: &SavedFinding, run: &Run) -> bool {
    let least = run.time_ns / BESIDE;
    let beside = matches!(f.rule.of(), Of::Connects | Of::Retries);
    f.fatal || (beside && f.cost_ns.is_some_and(|ns| ns > least))
}

/// Whether two findings of one kind are laid to different sides.
fn is_moved(a: &SavedFinding, b: &SavedFinding) -> bool {
    let known = |f: &SavedFinding| matches!(f.side, Side::Client | Side::Network | Side::Server);
    a.rule == b.rule && a.side != b.side && known(a) && known(b)
}

/// What only the problem suffers from, or from another side than the baseline, beside the time of its
/// calls.
fn beside(c: &Comparison) -> Vec<SavedFinding> {
    let [baseline, problem] = &c.runs;
    let new = |f: &&SavedFinding| {
        let mut same = baseline.findings.iter().filter(|b| b.rule == f.rule);
        let told = |cause: &result::Cause| cause.rule == Some(f.rule);
        is_apart(f, problem) && same.all(|b| is_moved(b, f)) && !c.causes.iter().any(told)
    };
    problem.findings.iter().filter(new).cloned().collect()
}

/// What only the baseline suffered from, and what the problem has from another side.
fn gone(c: &Comparison) -> Vec<SavedFinding> {
    let [baseline, problem] = &c.runs;
    let moved = |f: &SavedFinding| c.beside.iter().any(|b| is_moved(b, f));
    let left = |f: &SavedFinding| problem.findings.iter().any(|p| p.rule == f.rule);
    let gone = |f: &&SavedFinding| moved(f) || (is_apart(f, baseline) && !left(f));
    baseline.findings.iter().filter(gone).cloned().collect()
}

/// Where the time of calls went that take as long as before, if elsewhere.
fn moved(c: &Comparison) -> Option<Text> {
    let [_, problem] = &c.runs;
    let large = |cause: &&result::Cause| {
        cause.beyond_chance == Some(true)
            && cause.added_ns.unsigned_abs() >= problem.time_ns.unsigned_abs() / ELSEWHERE
    };
    let moved: Vec<Text> = c
        .causes
        .iter()
        .filter(large)
        .map(|c| c.what.clone())
        .collect();
    let fast = c.time.is_some_and(|t| t.beyond_chance == Some(false))
        && problem.time_ns as f64 / (problem.calls.max(1) as f64) < c.fast_enough_ns as f64;
    let told = c.outcome == Outcome::NoDifference && !moved.is_empty() && !fast;
    told.then(|| {
        text!(
            "But what the time goes to differs: {causes}.",
            causes = Value::List(moved, "; ")
        )
    })
}

/// What else should be known where calls take as long as before.
fn elsewhere(c: &Comparison) -> Vec<Text> {
    let mut notes = Vec::new();
    if c.outcome != Outcome::NoDifference {
        return notes;
    }
    let [baseline, problem] = &c.runs;
    for (name, run, other) in [
        ("baseline", baseline, problem),
        ("problem", problem, baseline),
    ] {
        let heavy = |f: &&SavedFinding| f.cost_ns.is_some_and(|ns| ns > run.time_ns / BESIDE);
        let own = |f: &&SavedFinding| other.findings.iter().all(|o| o.rule != f.rule);
        let told = |f: &SavedFinding| c.beside.contains(f) || c.gone.contains(f);
        let found: Vec<Text> = run
            .findings
            .iter()
            .filter(heavy)
            .filter(own)
            .filter(|f| !told(f))
            .map(sentence::named)
            .collect();
        if !found.is_empty() {
            notes.push(text!(
                "The diagnosis of the {name} alone has {found}.",
                name = name,
                found = Value::List(found, ", ")
            ));
        }
    }
    let elapsed = c.metrics.iter().find(|m| m.name == "elapsed_per_call");
    if let Some(m) = elapsed.filter(|m| m.change.beyond_chance == Some(true)) {
        notes.push(text!(
            "For each call {now} went by instead of {before}: that is between calls, or fewer were under way at once.",
            now = Value::Duration(m.change.problem as i64),
            before = Value::Duration(m.change.baseline as i64),
        ));
    }
    notes
}

fn fast_enough_ns(runs: [&Snapshot; 2]) -> f64 {
    runs.map(|r| r.fast_enough_ns).into_iter().fold(0, i64::max) as f64
}

/// Nanoseconds per unit of work by which runs of the same thing differ.
fn floor(runs: [&Snapshot; 2], ops: &[result::OpChange], scale: Scale) -> f64 {
    let fast = fast_enough_ns(runs);
    let share = match scale.unit {
        Unit::Call if runs.iter().all(|r| r.is_fast()) && !matching::is_shift(ops) => {
            FLOOR_OF_FEW_SHARE
        }
        _ => FLOOR_SHARE,
    };
    fast / share as f64 * calls_per_work(runs, scale)
}

/// Calls for a unit of work, in the run that needs more of them.
fn calls_per_work(runs: [&Snapshot; 2], scale: Scale) -> f64 {
    let each = runs.map(|r| r.parts.total().calls as f64 / scale.work(r).max(1.0));
    each.into_iter().fold(0.0, f64::max)
}

/// Why two runs cannot be held against each other, whatever they did: they were not seen from the same
/// place, or are of different kinds.
fn elsewhere_seen(runs: [&Snapshot; 2]) -> Option<Text> {
    let [a, b] = runs;
    let server = |r: &Snapshot| r.captures.len() == 1 && r.vantage == Some(Vantage::Server);
    if a.kind != b.kind {
        let of = |k| match k {
            Kind::Calls => "calls of a known protocol",
            Kind::Turns => "turns of an unknown one",
        };
        return Some(text!(
            "the baseline is about {a}, the problem about {b}.",
            a = of(a.kind),
            b = of(b.kind)
        ));
    }
    (server(a) != server(b)).then(|| {
        let (there, other) = match server(a) {
            true => ("baseline", "problem"),
            false => ("problem", "baseline"),
        };
        text!(
            "the {there} was captured at the server alone, where calls take less time than at the client, the {other} was not; take both from the same place.",
            there = there,
            other = other,
        )
    })
}

fn run(s: &Snapshot) -> Run {
    let sums = s.sums;
    Run {
        captures: s.captures.clone(),
        verdict: match s.verdict.is_empty() {
            true => Text::default(),
            false => text!(
                "{verdict}",
                verdict = Value::Quoted(s.verdict.as_str().into())
            ),
        },
        findings: s.findings.clone(),
        calls: s.calls,
        bytes: sums.bytes(),
        rows: sums.rows,
        time_ns: s.total_ns,
        all_time_ns: sums.time_ns,
        elapsed_ns: s.elapsed_ns,
    }
}

/// What is said of runs of which one has no calls to time.
fn carried(c: &Comparison) -> Text {
    let [a, b] = c.runs.each_ref().map(|r| Value::Size(r.bytes as f64));
    text!(
        "There are no calls to time in both: {b} in the problem and {a} in the baseline are compared by what went by for each byte.",
        b = b,
        a = a,
    )
}

/// What is said of unequal volumes.
fn volumes(c: &Comparison, scale: Scale) -> Vec<Text> {
    let [a, b] = &c.runs;
    let mut notes = Vec::new();
    let factor = |x: u64, y: u64| x.max(y) as f64 / x.min(y).max(1) as f64;
    let unequal = factor(a.calls, b.calls) >= UNEQUAL || factor(a.bytes, b.bytes) >= UNEQUAL;
    // What was not compared was compared per nothing.
    let compared = c.outcome != Outcome::NotComparable || c.shared.is_some();
    if compared && (unequal || c.unit != Unit::Call) {
        let why = match (c.unit, scale.carried) {
            (Unit::Call, _) => "compared per call",
            (Unit::Byte, true) => {
                "the calls are few and long, so what was carried is compared, per byte"
            }
            (Unit::Byte, false) => "calls carry other amounts, so they are compared per byte",
            (Unit::Row, _) => "calls bring other numbers of rows, so they are compared per row",
        };
        notes.push(text!(
            "{b,} call{b||s} with {carried} in the problem, {a,} with {before} in the baseline: {why}.",
            b = b.calls,
            carried = Value::Size(b.bytes as f64),
            a = a.calls,
            before = Value::Size(a.bytes as f64),
            why = why,
        ));
    }
    let incomplete = c.runs.iter().flat_map(|r| &r.captures);
    if incomplete.clone().any(|c| c.incomplete) {
        notes.push("A capture lacks packets: calls that it lost are in no number here.".into());
    }
    notes
}

#[cfg(test)]
mod tests;
