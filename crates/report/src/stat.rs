//! Statistics of intervals: CSV and JSON lines for programs, a table for people.

use crate::page::Tone;
use crate::table::people::Lines;
use crate::table::rows::{Form, RowWriter};
use crate::table::{Cell, Column, Get, Table, columns, order};
use crate::text::{bytes, grouped, moment};
use analysis::intervals::IntervalRow;
use analysis::results::Order;
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

pub(crate) const COLUMNS: &[C] = &columns! {
    "start_ns" Time "when the interval begins, ns since the epoch; the first begins with the first packet"
        |r| r.start.0;
    "width_ns" Duration "width of the interval" |r| r.width_ns;
    "packets" Count "packets in it" |r| r.sizes.count => shown("packets");
    "bytes" Bytes "their bytes on the wire" |r| r.sizes.bytes
        => shown("bytes") needed_if(|_| false);
    "size_min_bytes" Bytes "size of the smallest packet on the wire, bytes; null without packets"
        |r| size(r, r.sizes.min) => or_null shown("min") in_full;
    "size_mean" Number "mean size, bytes, two decimals" |r| r.sizes.mean().map(decimal)
        => or_null shown("mean") in_full;
    "size_max_bytes" Bytes "size of the largest" |r| size(r, r.sizes.max)
        => or_null shown("max") in_full;
    "size_deviation" Number "standard deviation of their sizes, bytes, two decimals"
        |r| r.sizes.deviation().map(decimal)
        => or_null shown("dev") in_full;
    "packets_per_second" Number "packets in a second of the interval, two decimals"
        |r| decimal(r.per_second(r.sizes.count));
    "rate_bps" Rate "bits per second of the interval" |r| rate_bps(r) => shown("rate");
    "tcp_packets" Count "packets of TCP" |r| r.kinds.tcp;
    "udp_packets" Count "packets of UDP" |r| r.kinds.udp;
    "icmp_packets" Count "packets of ICMP and ICMPv6" |r| r.kinds.icmp;
    "arp_packets" Count "packets of ARP" |r| r.kinds.arp;
    "other_packets" Count "all other packets" |r| r.kinds.other;
    "errors" Count "calls completed in it that failed" |r| r.errors;
    "half_calls" Count "calls given up in it without request, response or a part" |r| r.half_calls;
    "calls" Count "calls completed in it" |r| r.calls => shown("calls");
    "response_mean_ns" Duration "response times of those calls, mean, ns; null without calls"
        |r| response(r, |s| s.mean_ns) => or_null;
    "response_min_ns" Duration "response times of those calls, shortest, ns; null without calls"
        |r| response(r, |s| s.min_ns) => or_null;
    "response_p50_ns" Duration "response times of those calls, median, ns; null without calls"
        |r| response(r, |s| s.p50_ns) => or_null shown("p50");
    "response_p90_ns" Duration "response times of those calls, 90th percentile, ns; null without calls"
        |r| response(r, |s| s.p90_ns) => or_null;
    "response_p95_ns" Duration "response times of those calls, 95th percentile, ns; null without calls"
        |r| response(r, |s| s.p95_ns) => or_null;
    "response_p99_ns" Duration "response times of those calls, 99th percentile, ns; null without calls"
        |r| response(r, |s| s.p99_ns)
        => or_null shown("p99") seen_as(Get::Cell(|r| p99(r)));
    "response_p999_ns" Duration "response times of those calls, 99.9th percentile, ns; null without calls"
        |r| response(r, |s| s.p999_ns) => or_null;
    "response_max_ns" Duration "response times of those calls, longest, ns; null without calls"
        |r| response(r, |s| s.max_ns) => or_null;
    "response_deviation_ns" Duration "response times of those calls, standard deviation, ns; null without calls"
        |r| r.deviation_ns => or_null shown("dev");
};

/// The columns that intervals can be sorted by.
#[must_use]
pub fn stat_sortable() -> Vec<String> {
    order::sortable(COLUMNS)
}

/// Puts intervals into the order that is asked for, and leaves as many as are.
pub fn stat_sort(rows: &mut Vec<IntervalRow>, order: &Order) {
    let places = order::places(COLUMNS, rows, order);
    *rows = order::at(rows, &places);
}

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

/// Where there are enough for it to mean anything.
fn p99(r: &IntervalRow) -> Cell<'_> {
    (r.responses.count >= Summary::P99_NEEDS)
        .then_some(r.responses.p99_ns)
        .into()
}

/// Decimals of a second that tell intervals apart.
fn digits(r: &IntervalRow) -> usize {
    match r.width_ns {
        w if w % 1_000_000_000 == 0 => 0,
        w if w % 1_000_000 == 0 => 3,
        w if w % 1_000 == 0 => 6,
        _ => 9,
    }
}

/// Two decimals.
fn decimal(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

/// Writes intervals as a table, a line each.
pub struct StatText {
    zone: TimeZone,
    /// When the first began, and the table since.
    begun: Option<(Time, Lines<Intervals>)>,
}

impl StatText {
    #[must_use]
    pub fn new(zone: TimeZone) -> StatText {
        StatText { zone, begun: None }
    }

    /// Writes when the first interval begins, from which all are counted, and the headings.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn begin(&mut self, first: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
        let digits = digits(first);
        let lines = Lines::new(COLUMNS, if digits == 0 { 7 } else { 8 + digits });
        writeln!(out, "From {}", moment(first.start, &self.zone))?;
        writeln!(out, "{}", Tone::Faint.paint(&lines.head("time")))?;
        self.begun = Some((first.start, lines));
        Ok(())
    }

    /// Writes the next interval.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn row(&mut self, r: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
        if self.begun.is_none() {
            self.begin(r, out)?;
        }
        let Some((start, lines)) = &mut self.begun else {
            return Ok(());
        };
        let digits = digits(r);
        let behind = (r.start - *start) as f64 / 1e9;
        writeln!(out, "{}", lines.line(&format!("+{behind:.digits$} s"), r))
    }

    /// Writes the line of all of it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn total(&mut self, r: &IntervalRow, out: &mut dyn Write) -> io::Result<()> {
        let Some((_, lines)) = &self.begun else {
            return writeln!(out, "No packets.");
        };
        writeln!(out, "{}", Tone::Title.paint(&lines.line("all", r)))?;
        if r.sizes.count > 0 {
            let k = &r.kinds;
            writeln!(
                out,
                "{} in all. TCP {}, UDP {}, ICMP {}, ARP {}, other {}.",
                bytes(r.sizes.bytes),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::schema;

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.stat.1", "", COLUMNS);
    }
}
