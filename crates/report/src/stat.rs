//! Statistics of intervals: CSV and JSON lines for programs, a table for people.

use crate::page::{Tone, pad, pad_left};
use crate::table::rows::{Form, RowWriter};
use crate::table::{Cell, Column, Table, columns};
use crate::text::{bytes, grouped, moment, rate, tight};
use analysis::intervals::IntervalRow;
use analysis::stats::Summary;
use jiff::tz::TimeZone;
use model::Time;
use std::io::{self, Write};

/// The rows of `slowside stat`.
pub struct Intervals;

impl Table for Intervals {
    type Row<'a> = IntervalRow;
}

impl RowWriter<Intervals> {
    #[must_use]
    pub fn intervals(form: Form) -> RowWriter<Intervals> {
        RowWriter::of(COLUMNS, form)
    }
}

type C = Column<Intervals>;

const COLUMNS: &[C] = &columns! {
    "start_ns" Time "when the interval begins, ns since the epoch; the first begins with the first packet"
        |r| r.start.0;
    "width_ns" Duration "width of the interval" |r| r.width_ns;
    "packets" Count "packets in it" |r| r.sizes.count;
    "bytes" Bytes "their bytes on the wire" |r| r.sizes.bytes;
    "size_min_bytes" Bytes "size of the smallest packet on the wire, bytes; null without packets"
        |r| size(r, r.sizes.min) => or_null;
    "size_mean" Number "mean size, bytes, two decimals" |r| r.sizes.mean().map(decimal) => or_null;
    "size_max_bytes" Bytes "size of the largest" |r| size(r, r.sizes.max) => or_null;
    "size_deviation" Number "standard deviation of their sizes, bytes, two decimals"
        |r| r.sizes.deviation().map(decimal) => or_null;
    "packets_per_second" Number "packets in a second of the interval, two decimals"
        |r| decimal(r.per_second(r.sizes.count));
    "rate_bps" Rate "bits per second of the interval" |r| rate_bps(r);
    "tcp_packets" Count "packets of TCP" |r| r.kinds.tcp;
    "udp_packets" Count "packets of UDP" |r| r.kinds.udp;
    "icmp_packets" Count "packets of ICMP and ICMPv6" |r| r.kinds.icmp;
    "arp_packets" Count "packets of ARP" |r| r.kinds.arp;
    "other_packets" Count "all other packets" |r| r.kinds.other;
    "errors" Count "calls completed in it that failed" |r| r.errors;
    "half_calls" Count "calls given up in it without request, response or a part" |r| r.half_calls;
    "calls" Count "calls completed in it" |r| r.calls;
    "response_mean_ns" Duration "response times of those calls, mean, ns; null without calls"
        |r| response(r, |s| s.mean_ns) => or_null;
    "response_min_ns" Duration "response times of those calls, shortest, ns; null without calls"
        |r| response(r, |s| s.min_ns) => or_null;
    "response_p50_ns" Duration "response times of those calls, median, ns; null without calls"
        |r| response(r, |s| s.p50_ns) => or_null;
    "response_p90_ns" Duration "response times of those calls, 90th percentile, ns; null without calls"
        |r| response(r, |s| s.p90_ns) => or_null;
    "response_p95_ns" Duration "response times of those calls, 95th percentile, ns; null without calls"
        |r| response(r, |s| s.p95_ns) => or_null;
    "response_p99_ns" Duration "response times of those calls, 99th percentile, ns; null without calls"
        |r| response(r, |s| s.p99_ns) => or_null;
    "response_p999_ns" Duration "response times of those calls, 99.9th percentile, ns; null without calls"
        |r| response(r, |s| s.p999_ns) => or_null;
    "response_max_ns" Duration "response times of those calls, longest, ns; null without calls"
        |r| response(r, |s| s.max_ns) => or_null;
};

/// A size of packets, if there were any.
fn size(r: &IntervalRow, bytes: u32) -> Cell<'_> {
    (r.sizes.count > 0).then_some(bytes).into()
}

fn rate_bps(r: &IntervalRow) -> u64 {
    r.per_second(r.sizes.bytes.saturating_mul(8)).round() as u64
}

fn response(r: &IntervalRow, get: fn(&Summary) -> i64) -> Cell<'_> {
    (r.responses.count > 0).then(|| get(&r.responses)).into()
}

/// Two decimals.
fn decimal(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
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
        rate(rate_bps(r)),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::schema;

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.stat.1", "", COLUMNS);
    }
}
