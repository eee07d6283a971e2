//! Statistics of intervals: CSV and JSON lines for programs, a table for people.

use crate::page::{Tone, pad, pad_left};
use crate::text::{bytes, grouped, moment, rate, tight};
use crate::value::{self, decimal};
use analysis::intervals::IntervalRow;
use analysis::stats::Summary;
use jiff::tz::TimeZone;
use model::Time;
use serde_json::{Map, Value};
use std::io::{self, Write};

/// Columns before those of `{stats}`, in order.
const COLUMNS: [&str; 17] = [
    "start_ns",
    "width_ns",
    "packets",
    "bytes",
    "size_min_bytes",
    "size_mean",
    "size_max_bytes",
    "size_deviation",
    "packets_per_second",
    "rate_bps",
    "tcp_packets",
    "udp_packets",
    "icmp_packets",
    "arp_packets",
    "other_packets",
    "errors",
    "half_calls",
];

/// The statistics of response times, in order.
const CALLS: [&str; 9] = [
    "calls",
    "response_mean_ns",
    "response_min_ns",
    "response_p50_ns",
    "response_p90_ns",
    "response_p95_ns",
    "response_p99_ns",
    "response_p999_ns",
    "response_max_ns",
];

fn values(r: &IntervalRow) -> Vec<Value> {
    let s = &r.sizes;
    let size = |bytes: u32| match s.count {
        0 => Value::Null,
        _ => bytes.into(),
    };
    let k = &r.kinds;
    let mut row: Vec<Value> = vec![
        r.start.0.into(),
        r.width_ns.into(),
        s.count.into(),
        s.bytes.into(),
        size(s.min),
        s.mean().map_or(Value::Null, decimal),
        size(s.max),
        s.deviation().map_or(Value::Null, decimal),
        decimal(r.per_second(s.count)),
        (r.per_second(s.bytes.saturating_mul(8)).round() as u64).into(),
        k.tcp.into(),
        k.udp.into(),
        k.icmp.into(),
        k.arp.into(),
        k.other.into(),
        r.errors.into(),
        r.half_calls.into(),
        r.calls.into(),
    ];
    let stats = value::stats_values(&r.responses);
    row.extend(stats.into_iter().skip(2).map(Value::from));
    row
}

fn names() -> impl Iterator<Item = &'static str> {
    COLUMNS.into_iter().chain(CALLS)
}

/// Writes the names of the columns.
///
/// # Errors
/// Those of `out`.
pub fn stat_csv_header(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", names().collect::<Vec<_>>().join(","))
}

/// Writes an interval as a row of CSV.
///
/// # Errors
/// Those of `out`.
pub fn stat_csv(row: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
    let cell = |v: Value| match v {
        Value::Null => String::new(),
        v => v.to_string(),
    };
    let cells: Vec<String> = values(row).into_iter().map(cell).collect();
    writeln!(out, "{}", cells.join(","))
}

/// Writes an interval as a line of JSON, `slowside.stat/1`.
///
/// # Errors
/// Those of `out`.
pub fn stat_jsonl(row: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
    let names = names().map(str::to_owned);
    let object: Map<String, Value> = names.zip(values(row)).collect();
    value::write(out, &Value::Object(object))?;
    out.write_all(b"\n")
}

/// Columns of the table and how wide they are, as rows are written before all are known.
const TABLE: [(&str, usize); 10] = [
    ("time", 13),
    ("packets", 8),
    ("bytes", 8),
    ("rate", 12),
    ("min", 5),
    ("mean", 5),
    ("max", 6),
    ("calls", 7),
    ("p50", 8),
    ("p99", 8),
];

/// Writes intervals as a table, a line each.
#[derive(Debug)]
pub struct StatText {
    zone: TimeZone,
    start: Option<Time>,
}

impl StatText {
    #[must_use]
    pub fn new(zone: TimeZone) -> StatText {
        StatText { zone, start: None }
    }

    /// Writes the next interval.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn row(&mut self, r: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
        let start = match self.start {
            Some(start) => start,
            None => {
                let heads = TABLE.map(|(name, _)| name.to_owned());
                writeln!(out, "From {}", moment(r.start, &self.zone))?;
                writeln!(out, "{}", Tone::Faint.paint(&line(&heads)))?;
                *self.start.insert(r.start)
            }
        };
        let behind = r.start - start;
        let digits = match r.width_ns {
            w if w % 1_000_000_000 == 0 => 0,
            w if w % 1_000_000 == 0 => 3,
            w if w % 1_000 == 0 => 6,
            _ => 9,
        };
        let time = format!("+{:.digits$} s", behind as f64 / 1e9);
        writeln!(out, "{}", line(&cells(time, r)))
    }

    /// Writes the line of all of it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn total(&mut self, r: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
        if self.start.is_none() {
            return writeln!(out, "No packets.");
        }
        writeln!(
            out,
            "{}",
            Tone::Title.paint(&line(&cells("all".to_owned(), r)))
        )?;
        if let Some(deviation) = r.sizes.deviation() {
            let k = &r.kinds;
            writeln!(
                out,
                "Sizes deviate by {deviation:.0} bytes. TCP {}, UDP {}, ICMP {}, ARP {}, other {}.",
                grouped(k.tcp),
                grouped(k.udp),
                grouped(k.icmp),
                grouped(k.arp),
                grouped(k.other)
            )?;
        }
        if r.half_calls + r.errors > 0 {
            writeln!(
                out,
                "Calls without request or response: {}; with an error: {}.",
                grouped(r.half_calls),
                grouped(r.errors)
            )?;
        }
        Ok(())
    }
}

fn cells(time: String, r: &IntervalRow) -> [String; 10] {
    let s = &r.sizes;
    let size = |text: String| match s.count {
        0 => "-".to_owned(),
        _ => text,
    };
    let response = |ns: fn(&Summary) -> i64, least: u64| match r.responses.count >= least {
        true => tight(ns(&r.responses)),
        false => "-".to_owned(),
    };
    [
        time,
        grouped(s.count),
        bytes(s.bytes),
        rate(r.per_second(s.bytes.saturating_mul(8)).round() as u64),
        size(s.min.to_string()),
        size(format!("{:.0}", s.mean().unwrap_or_default())),
        size(s.max.to_string()),
        grouped(r.calls),
        response(|s| s.p50_ns, 1),
        response(|s| s.p99_ns, Summary::P99_NEEDS),
    ]
}

fn line(cells: &[String; 10]) -> String {
    let mut line = String::new();
    for (i, (cell, (_, width))) in cells.iter().zip(TABLE).enumerate() {
        match i {
            0 => line.push_str(&pad(cell, width)),
            _ => line.push_str(&pad_left(cell, width)),
        }
    }
    line
}
