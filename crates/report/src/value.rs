//! Pieces that the JSON outputs share.

use crate::harmless::write_json;
use analysis::results::{CaptureResult, field_text};
use analysis::stats::Summary;
use analysis::text::Text;
use model::{Field, Time};
use serde_json::{Map, Number, Value, json};
use std::io::{self, Write};

/// The names of `{stats}`, in order.
pub(crate) const STATS: [&str; 10] = [
    "count", "total_ns", "mean_ns", "min_ns", "p50_ns", "p90_ns", "p95_ns", "p99_ns", "p999_ns",
    "max_ns",
];

/// The values of [`STATS`]; without samples, nothing but the count and the total is known.
pub(crate) fn stats_values(s: &Summary) -> [Option<i64>; 10] {
    let known = |v: i64| (s.count > 0).then_some(v);
    [
        Some(i64::try_from(s.count).unwrap_or(i64::MAX)),
        Some(s.total_ns),
        known(s.mean_ns),
        known(s.min_ns),
        known(s.p50_ns),
        known(s.p90_ns),
        known(s.p95_ns),
        known(s.p99_ns),
        known(s.p999_ns),
        known(s.max_ns),
    ]
}

/// Adds `{stats}` to an object.
pub(crate) fn add_stats(object: &mut Map<String, Value>, s: &Summary) {
    for (name, value) in STATS.into_iter().zip(stats_values(s)) {
        object.insert(name.to_owned(), value.into());
    }
    object.insert("exact".to_owned(), s.exact.into());
}

/// A number that is no integer, with two decimals.
pub(crate) fn decimal(value: f64) -> Value {
    Number::from_f64((value * 100.0).round() / 100.0).map_or(Value::Null, Value::Number)
}

/// The hash of a file's handle.
pub(crate) fn file(handle: u64) -> String {
    field_text(Field::File, handle)
}

pub(crate) fn time(time: Option<Time>) -> Value {
    time.map(|t| t.0).into()
}

/// An entry of `captures`.
pub(crate) fn capture(c: &CaptureResult) -> Value {
    let problems: Vec<Value> = c
        .problems
        .iter()
        .map(|(kind, p)| {
            json!({
                "kind": kind,
                "count": p.count,
                "damage": p.damage,
                "example": p.example,
                "file": (!p.first.file.is_empty()).then_some(&p.first.file),
                "frame": p.first.frame,
                "offset": p.first.offset,
            })
        })
        .collect();
    let half_calls: Map<String, Value> = c
        .half_calls
        .iter()
        .map(|(reason, count)| ((*reason).to_owned(), (*count).into()))
        .collect();
    json!({
        "files": c.files,
        "side": c.side.map_or("unknown", |s| s.name()),
        "side_from": c.side_from.to_string(),
        "packets": c.packets,
        "bytes": c.bytes,
        "first_ns": time(c.first),
        "last_ns": time(c.last),
        "snaplen": c.snaplen,
        "link_types": c.link_types,
        "dropped": c.dropped,
        "problems": problems,
        "missing_gaps": c.missing_gaps,
        "missing_bytes": c.missing_bytes,
        "connections": c.connections,
        "calls": c.calls,
        "half_calls": half_calls,
    })
}

/// Writes JSON for programs: on one line, as `jq` and alike lay it out for people.
pub(crate) fn write(out: &mut dyn Write, value: &Value) -> io::Result<()> {
    write_json(out, value)
}

/// Sentences.
pub(crate) fn texts(texts: &[Text]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}
