//! What changed between two runs, for programs: `slowside.compare/1`.

use crate::{classes, layers, tiers, value};
use analysis::compare::Comparison;
use analysis::compare::result::{Cause, Change, Measure, Metric, OpChange, Run, Shared};
use analysis::compare::snapshot::SavedFinding;
use analysis::findings::Rule;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes `slowside.compare/1`. Differences are the problem's number less the baseline's.
///
/// # Errors
/// Those of `out`.
pub fn compare_json(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    value::write(out, &whole(c))?;
    out.write_all(b"\n")
}

/// The whole comparison, as it also stands within another one.
pub(crate) fn whole(c: &Comparison) -> Value {
    let [baseline, problem] = &c.runs;
    json!({
        "schema": "slowside.compare/1",
        "verdict": {
            "outcome": c.outcome.name(),
            "cause": c.cause.map(Rule::code),
            "sentence": c.sentence.to_string(),
            "added_ns": c.added_ns,
        },
        "baseline": run(baseline),
        "problem": run(problem),
        "unit": c.unit.name(),
        "time_ns_per_unit": c.time.map(|t| change(&t, Precision::Exact)),
        "causes": c.causes.iter().map(cause).collect::<Vec<_>>(),
        "ops": c.ops.iter().map(op).collect::<Vec<_>>(),
        "metrics": c.metrics.iter().map(metric).collect::<Vec<_>>(),
        "beside": c.beside.iter().map(finding).collect::<Vec<_>>(),
        "gone": c.gone.iter().map(finding).collect::<Vec<_>>(),
        "shared": c.shared.as_ref().map(shared),
        "tiers": c.tiers.iter().map(tiers::changed_value).collect::<Vec<_>>(),
        "layers": c.layers.iter().map(layers::compared_value).collect::<Vec<_>>(),
        "notes": value::texts(&c.notes),
    })
}

fn run(r: &Run) -> Value {
    let captures: Vec<Value> = r
        .captures
        .iter()
        .map(|c| {
            json!({
                "files": c.files,
                "side": c.side.map(|s| s.name()),
                "packets": c.packets,
                "bytes": c.bytes,
                "first_ns": value::time(c.first),
                "last_ns": value::time(c.last),
                "incomplete": c.incomplete,
            })
        })
        .collect();
    json!({
        "captures": captures,
        "verdict": r.verdict.to_string(),
        "findings": r.findings.iter().map(finding).collect::<Vec<_>>(),
        "calls": r.calls,
        "call_bytes": r.bytes,
        "rows": r.rows,
        "call_time_ns": r.time_ns,
        "elapsed_ns": r.elapsed_ns,
    })
}

fn finding(f: &SavedFinding) -> Value {
    json!({"code": f.rule.code(), "side": f.side.name(), "cost_ns": f.cost_ns, "fatal": f.fatal})
}

fn shared(s: &Shared) -> Value {
    let [baseline, problem] = [0, 1].map(|run: usize| {
        json!({
            "calls": s.calls.get(run),
            "share": s.shares.get(run).map(|share| Precision::Exact.value(*share)),
            "only_ns": s.only_ns.get(run),
            "only_server_ns": s.only_server_ns.and_then(|ns| ns.get(run).copied()),
        })
    });
    json!({
        "baseline": baseline,
        "problem": problem,
        "time_ns_per_call": change(&s.time, Precision::Whole),
        "server_ns_per_call": s.server.as_ref().map(|c| change(c, Precision::Whole)),
        "added_ns": s.added_ns,
    })
}

/// How exactly numbers are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Precision {
    /// Nanoseconds and bytes are integers.
    Whole,
    /// Nanoseconds of a byte, shares, rows per fetch are not.
    Exact,
}

impl Precision {
    fn value(self, number: f64) -> Value {
        match self {
            Precision::Whole => json!(number.round() as i64),
            // Millionths are enough, and print alike everywhere.
            Precision::Exact => json!((number * 1e6).round() / 1e6),
        }
    }
}

fn change(c: &Change, kind: Precision) -> Value {
    json!({
        "baseline": kind.value(c.baseline),
        "problem": kind.value(c.problem),
        "difference": kind.value(c.difference()),
        "interval": c.interval.map(|(low, high)| [kind.value(low), kind.value(high)]),
        "ratio": c.ratio().map(|r| Precision::Exact.value(r)),
        "beyond_chance": c.beyond_chance,
    })
}

fn cause(c: &Cause) -> Value {
    json!({
        "code": c.rule.map(Rule::code),
        "what": c.what.to_string(),
        "added_ns": c.added_ns,
        "interval_ns": c.interval_ns.map(|(low, high)| [low, high]),
        "beyond_chance": c.beyond_chance,
        "explains": c.explains,
        "found": c.found,
        "per": c.per,
        "baseline": Precision::Exact.value(c.change.baseline),
        "problem": Precision::Exact.value(c.change.problem),
    })
}

fn op(o: &OpChange) -> Value {
    let side = |run: usize| {
        let curve = o.curves.get(run).map(Vec::as_slice).unwrap_or_default();
        let sums = o.sums.get(run).copied().unwrap_or_default();
        let at = |values: &[Option<i64>; 2]| values.get(run).copied().flatten();
        json!({
            "calls": sums.calls,
            "total_ns": sums.time_ns,
            "wait_ns": sums.wait_ns,
            "request_bytes": sums.request_bytes,
            "response_bytes": sums.response_bytes,
            "rows": sums.rows,
            "errors": sums.errors,
            "p50_ns": at(&o.p50_ns),
            "p90_ns": at(&o.p90_ns),
            "p99_ns": at(&o.p99_ns),
            "max_ns": at(&o.max_ns),
            "rows_per_fetch": o.rows_per_trip.get(run).copied().flatten().map(|r| Precision::Exact.value(r)),
            "curve": curve.iter().map(|(ns, n)| json!([ns, n])).collect::<Vec<_>>(),
        })
    };
    json!({
        "protocol": o.protocol.name(),
        "op": o.op,
        "statement": o.statement,
        "mean_ns": o.mean.as_ref().map(|m| change(m, Precision::Whole)),
        "cliffs_delta": o.delta.map(|d| Precision::Exact.value(d)),
        "baseline": side(0),
        "problem": side(1),
    })
}

fn kind(measure: Measure) -> Precision {
    match measure {
        Measure::Nanoseconds | Measure::Bytes => Precision::Whole,
        Measure::Number | Measure::Share => Precision::Exact,
    }
}

/// A number as it is written of a metric.
pub(crate) fn number(measure: Measure, number: f64) -> Value {
    kind(measure).value(number)
}

fn metric(m: &Metric) -> Value {
    json!({
        "name": m.name,
        "measure": m.measure.name(),
        "direction": m.direction.map(classes::direction),
        "port": m.port,
        "change": change(&m.change, kind(m.measure)),
    })
}
