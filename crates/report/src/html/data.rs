//! What the page's charts are drawn from: `slowside.report/1`, as `web/src/data.ts` describes it.
//!
//! Columns of numbers, times as nanoseconds since the page's start, which fit a browser's numbers.

mod connection;

use super::connections::why;
use super::ladders::{self, filter, marks, parts, since};
use super::load::{self, Server, scope, servers};
use super::operations::{Charted, charted};
use super::places::Places;
use super::statements;
use crate::harmless::{acts, escape, rewritten};
use crate::text::moment;
use analysis::charts::{LatencyByOutstanding, Times};
use analysis::results::{CaptureResult, Report};
use analysis::stats::Distribution;
use connection::Connection;
use jiff::tz::TimeZone;
use model::Time;
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::io;

/// The page's data.
#[derive(Serialize)]
pub(super) struct Data {
    schema: &'static str,
    start: Start,
    duration_ns: i64,
    captures: Vec<Value>,
    operations: Vec<Value>,
    outstanding: Vec<Value>,
    load: Vec<Value>,
    /// By far the most of it.
    connections: Vec<Connection>,
    ladders: Vec<Value>,
}

/// Where times count from.
#[derive(Serialize)]
struct Start {
    epoch_ns: String,
    utc: String,
}

impl Data {
    /// Without what only single calls and connections have.
    pub(super) fn new(
        start: Time,
        duration_ns: i64,
        captures: Vec<Value>,
        operations: Vec<Value>,
    ) -> Data {
        Data {
            schema: "slowside.report/1",
            start: Start {
                epoch_ns: start.0.to_string(),
                utc: moment(start, &TimeZone::UTC),
            },
            duration_ns,
            captures,
            operations,
            outstanding: Vec::new(),
            load: Vec::new(),
            connections: Vec::new(),
            ladders: Vec::new(),
        }
    }

    pub(super) fn of(report: &Report, places: &Places<'_>) -> Data {
        let captures = report.diagnosis.captures.iter().enumerate();
        let captures = captures.map(|(i, c)| capture(c, places.label(i))).collect();
        let (operations, statements) = (charted(report), statements::charted(report));
        let operations = operations.iter().chain(&statements);
        let operations = operations.map(|o| operation(o, places)).collect();
        let servers = servers(report, places);
        let shown = report.shown.iter().zip(&report.plots);
        let ladders = report.charts.ladders.iter();
        Data {
            outstanding: servers.iter().map(|s| outstanding(s, places)).collect(),
            load: load::load(report, places).into_iter().map(load).collect(),
            connections: shown
                .map(|(c, plot)| Connection::of(c, plot, why(c), places))
                .collect(),
            ladders: ladders.map(|l| ladder(l, places)).collect(),
            ..Data::new(places.start, places.duration_ns, captures, operations)
        }
    }

    /// As JSON that cannot end a script element, nor begin a comment in one: what could stands within strings
    /// only, where it may be escaped. Neither can it steer how text around it is shown.
    ///
    /// # Errors
    /// None, but for what `serde_json` says that it may say.
    pub(super) fn in_script(&self) -> io::Result<String> {
        Ok(in_script(&serde_json::to_string(self)?))
    }
}

fn in_script(json: &str) -> String {
    let needs_no_look = |b| matches!(b, b' '..=b'~') & !matches!(b, b'<' | b'>' | b'&');
    rewritten(json, needs_no_look, |out, c| {
        match matches!(c, '<' | '>' | '&') || acts(c) {
            true => out.push_str(&escape(c)),
            false => out.push(c),
        }
    })
}

fn outstanding(s: &Server, places: &Places<'_>) -> Value {
    let times = (0..s.series.most.len() as i64).map(|i| {
        let at = s.series.first + i.saturating_mul(s.series.width_ns);
        places.since(s.capture, at)
    });
    json!({
        "capture": s.capture,
        "scope": scope(s.server),
        "width_ns": s.series.width_ns,
        "time_ns": times.collect::<Vec<_>>(),
        "max": s.series.most,
        "mean": s.series.mean_thousandths.iter().map(|m| *m as f64 / 1e3).collect::<Vec<_>>(),
    })
}

fn capture(c: &CaptureResult, label: &str) -> Value {
    json!({
        "label": label,
        "side": c.side.map_or("unknown", |s| s.name()),
        "files": c.files,
    })
}

fn operation(o: &Charted<'_>, places: &Places<'_>) -> Value {
    let seen = o.seen.iter().map(|(capture, times)| {
        json!({
            "capture": capture,
            "latency": latency(&times.times),
            "heat": heat(times, *capture, places),
        })
    });
    json!({
        "protocol": o.protocol,
        "name": o.name,
        "seen": seen.collect::<Vec<_>>(),
    })
}

pub(super) fn latency(times: &Distribution) -> Value {
    let histogram = times.fine_histogram();
    let percents = carried(times.count());
    let mut quantiles = times.quantiles(&percents.iter().map(|p| p / 100.0).collect::<Vec<_>>());
    // The longest is known exactly, also where buckets have the rest.
    if let Some(last) = quantiles.last_mut() {
        *last = times.max_ns();
    }
    json!({
        "count": times.count(),
        "histogram": {
            "upper_ns": histogram.iter().map(|b| b.0).collect::<Vec<_>>(),
            "calls": histogram.iter().map(|b| b.1).collect::<Vec<_>>(),
        },
        "percentiles": { "percent": percents, "ns": quantiles },
    })
}

/// The percentiles that so many samples carry: such that there is a 95 % chance to have seen anything
/// beyond them; and the longest of all.
fn carried(count: u64) -> Vec<f64> {
    let coarse = (1..=90).filter(|p| *p == 1 || p % 5 == 0).map(f64::from);
    let fine = (1..=9).map(|p| 90.0 + f64::from(p));
    let finer = (1..=9).map(|p| 99.0 + f64::from(p) / 10.0);
    let finest = (1..=9).map(|p| 99.9 + f64::from(p) / 100.0);
    let all = coarse.chain(fine).chain(finer).chain(finest);
    let needs = |percent: f64| 0.05_f64.ln() / (percent / 100.0).ln();
    // Sums of tenths and hundredths are not exact.
    let round = |percent: f64| (percent * 100.0).round() / 100.0;
    all.map(round)
        .filter(|p| count as f64 >= needs(*p))
        .chain([100.0])
        .collect()
}

fn heat(times: &Times, capture: usize, places: &Places<'_>) -> Value {
    let heat = times.heat.finish();
    json!({
        "first_ns": places.since(capture, heat.first),
        "width_ns": heat.width_ns,
        "columns": heat.columns,
        "upper_ns": heat.upper_ns,
        "column": heat.cells.iter().map(|c| c.0).collect::<Vec<_>>(),
        "row": heat.cells.iter().map(|c| c.1).collect::<Vec<_>>(),
        "calls": heat.cells.iter().map(|c| c.2).collect::<Vec<_>>(),
    })
}

fn load(l: &LatencyByOutstanding) -> Value {
    let cap = l.server_cap.map(|cap| ("server", cap));
    let cap = cap.or(l.client_cap.map(|cap| ("client", cap)));
    json!({
        "capture": l.capture,
        "scope": scope(l.server),
        "operation": format!("{} {}", l.protocol, l.op),
        "outstanding": l.levels.iter().map(|a| a.outstanding).collect::<Vec<_>>(),
        "calls": l.levels.iter().map(|a| a.calls).collect::<Vec<_>>(),
        "mean_ns": l.levels.iter().map(|a| a.mean_ns).collect::<Vec<_>>(),
        "cap": cap.map(|(side, cap)| json!({
            "outstanding": cap.outstanding,
            "code": cap.rule.code(),
            "side": side,
        })),
    })
}

fn ladder(l: &analysis::charts::Ladder, places: &Places<'_>) -> Value {
    let seen = l.seen.iter().map(|r| {
        let mut object = Map::new();
        let mut frames = Map::new();
        object.insert("capture".to_owned(), r.capture.into());
        for (name, mark) in marks(r) {
            object.insert(format!("{name}_ns"), since(places, r, mark.time).into());
            frames.insert(name.to_owned(), mark.packet.frame.into());
        }
        object.insert("frames".to_owned(), frames.into());
        object.insert("filter".to_owned(), filter(r).into());
        let file = places.file(r.capture, r.request_first.packet.file.into());
        object.insert("file".to_owned(), file.into());
        Value::Object(object)
    });
    json!({
        "operation": format!("{} {}", l.protocol, l.op),
        "id": ladders::id(l),
        "client": l.client.to_string(),
        "server": l.server.to_string(),
        "response_time_ns": l.response_time_ns(),
        "why": ladders::why(l),
        "seen": seen.collect::<Vec<_>>(),
        "parts": parts(l, places).iter().map(|p| json!({
            "name": p.name,
            "ns": p.ns,
            "side": p.side,
        })).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_does_not_end_its_script() {
        let text = "</script><!--\u{2028}\u{202e}&amp;";
        let json = in_script(&json!({ "a": text }).to_string());
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{202e}']));
        let back: Value = serde_json::from_str(&json).expect("JSON");
        assert_eq!(back["a"], text);
    }

    #[test]
    fn percentiles_go_as_far_as_the_count_carries_them() {
        assert_eq!(
            carried(3),
            [1.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 100.0]
        );
        let last = |n| carried(n).iter().rev().nth(1).copied();
        assert_eq!(last(29), Some(90.0));
        assert_eq!(last(299), Some(99.0));
        assert_eq!(last(2_995), Some(99.9));
        assert_eq!(last(1_000_000), Some(99.99));
    }
}
