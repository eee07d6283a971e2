//! A capture that goes on, for people without a terminal: a line for each interval, and for whatever else
//! happens one that begins with what it is; at the end the verdict and the tables of all of it.

use crate::harmless::harmless;
use crate::live::LiveFile;
use crate::ops_text::{OpsStyle, ops_text};
use crate::page::{Tone, pad, pad_left};
use crate::text::{bytes, counted, grouped, moment, rate, tight, wrap};
use analysis::live::{Crossed, Crossing, Figures, FoundRow, Limit, LiveResult, Moment, SubjectRow};
use analysis::results::Verdict;
use analysis::stats::Summary;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::{Direction, Time, TimeClass, format_duration};
use std::io::{self, Write};

/// Lines between two headings.
const HEADING_EVERY: u64 = 40;

/// Columns and how wide they are; the last takes the rest.
const TABLE: [(&str, usize); 9] = [
    ("time", 11),
    ("packets", 8),
    ("rate", 12),
    ("calls/s", 8),
    ("p50", 8),
    ("p99", 8),
    ("errors", 7),
    ("out", 4),
    ("most time", 12),
];

/// Writes what happens as lines.
#[derive(Debug)]
pub struct LiveText {
    zone: TimeZone,
    window_ns: i64,
    lines: u64,
    short: bool,
}

/// The time of day.
#[must_use]
pub fn clock(time: Time, zone: &TimeZone) -> String {
    let Ok(stamp) = Timestamp::from_nanosecond(time.0.into()) else {
        return format!("{} ns", time.0);
    };
    let zoned = stamp.to_zoned(zone.clone());
    zoned.strftime("%H:%M:%S").to_string()
}

/// A percentile, where the number of calls carries it.
#[must_use]
pub fn carried(f: &Figures, ns: fn(&Summary) -> i64, least: u64) -> String {
    match f.stats.count >= least {
        true => tight(ns(&f.stats)),
        false => "-".to_owned(),
    }
}

/// A rate: 1,234 or 0.5 a second.
#[must_use]
pub fn per_second(n: f64) -> String {
    match n {
        n if n <= 0.0 => "0".to_owned(),
        n if n < 9.95 => format!("{n:.1}"),
        n => grouped(n.round() as u64),
    }
}

/// What limits a connection, with the part of its time.
#[must_use]
pub fn limit_words(limit: &Limit) -> String {
    let (sender, receiver) = match limit.direction {
        Direction::ToServer => ("client", "server"),
        Direction::ToClient => ("server", "client"),
    };
    let what = match limit.class {
        TimeClass::SenderApplication => format!("{sender} works"),
        TimeClass::ReceiverApplication => format!("{receiver} reads late"),
        TimeClass::SmallWindow => format!("{receiver}'s window"),
        TimeClass::NagleDelayedAck => "delayed acks".to_owned(),
        TimeClass::LossRecovery => "loss".to_owned(),
        class => class.name().to_owned(),
    };
    format!("{what} {:.0}%", limit.share * 100.0)
}

/// What a row is called.
#[must_use]
pub fn subject_name(row: &SubjectRow) -> String {
    match (&row.statement, row.op.is_empty()) {
        (Some(s), _) => harmless(&s.normal),
        (None, true) => format!("{} others", row.protocol),
        (None, false) => format!("{} {}", row.protocol, harmless(&row.op)),
    }
}

impl LiveText {
    #[must_use]
    pub fn new(zone: TimeZone, window_ns: i64) -> LiveText {
        LiveText {
            zone,
            window_ns,
            lines: 0,
            short: false,
        }
    }

    /// Writes an interval.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn moment(&mut self, m: &Moment, out: &mut dyn Write) -> io::Result<()> {
        let width_ns = m.width_ns / m.intervals.max(1) as i64;
        if self.lines == 0 {
            writeln!(
                out,
                "From {}, every {}; p99 over the last {}.",
                moment(m.start, &self.zone),
                format_duration(width_ns),
                format_duration(self.window_ns)
            )?;
        }
        if self.lines.is_multiple_of(HEADING_EVERY) {
            let heads = TABLE.map(|(name, _)| name.to_owned());
            writeln!(out, "{}", Tone::Faint.paint(&row(&heads)))?;
        }
        self.lines += 1;
        let per = 1e9 / m.width_ns.max(1) as f64;
        let first = m.operations.first();
        let time = match width_ns % 1_000_000_000 {
            0 => clock(m.start, &self.zone),
            _ => {
                let tenths = m.start.0.rem_euclid(1_000_000_000) / 10_000_000;
                format!("{}.{tenths:02}", clock(m.start, &self.zone))
            }
        };
        let cells = [
            time,
            grouped(m.traffic.packets),
            rate((m.traffic.bytes as f64 * 8.0 * per).round() as u64),
            per_second(m.all.rate()),
            carried(&m.all, |s| s.p50_ns, 1),
            carried(&m.all_window, |s| s.p99_ns, Summary::P99_NEEDS),
            grouped(m.all.errors),
            grouped(m.outstanding),
            first.map_or_else(String::new, subject_name),
        ];
        match m.intervals {
            0 | 1 => writeln!(out, "{}", row(&cells))?,
            _ => {
                let (time, lasted) = (pad(&cells[0], TABLE[0].1), format_duration(m.width_ns));
                writeln!(out, "{time} nothing came for {lasted}")?;
            }
        }
        if m.dropped_now > 0 {
            let text = format!(
                "! the capturing host lost {} in this interval: figures are too low",
                counted(m.dropped_now, "packet")
            );
            writeln!(out, "{}", Tone::Severe.paint(&text))?;
        }
        if let Some(s) = &m.silence {
            let text = format!(
                "! no answer from {} for {}: {} outstanding",
                s.server,
                format_duration(s.ns),
                counted(s.outstanding, "call")
            );
            writeln!(out, "{}", Tone::Notable.paint(&text))?;
        }
        Ok(())
    }

    /// Says once that fewer packets are kept than was asked for.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn kept(&mut self, ns: i64, of: u64, short: bool, out: &mut dyn Write) -> io::Result<()> {
        if short && !self.short {
            self.short = true;
            writeln!(
                out,
                "! only the packets of the last {} are kept: more do not fit into {}",
                format_duration(ns),
                bytes(of)
            )?;
        }
        Ok(())
    }

    /// Writes findings that appeared, and the verdict with them.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn findings(
        &mut self,
        new: &[&FoundRow],
        verdict: Option<&Verdict>,
        at: Time,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        if new.is_empty() {
            return Ok(());
        }
        if let Some(verdict) = verdict {
            let head = format!("{} ", clock(at, &self.zone));
            write!(
                out,
                "{}",
                wrap(&head, 9, &harmless(&verdict.sentence.to_string()))
            )?;
        }
        for f in new {
            let cost = f
                .cost_ns
                .map_or_else(String::new, |ns| format!(", costs {}", format_duration(ns)));
            let text = format!("finding: {} ({}){cost}", f.rule, f.side.name());
            writeln!(out, "         {}", Tone::Notable.paint(&text))?;
        }
        Ok(())
    }

    /// Writes that a threshold was crossed.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn crossing(
        &mut self,
        crossing: &Crossing,
        written: Option<LiveFile<'_>>,
        at: Time,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let text = format!(
            "{} crossed `{}`: {}",
            clock(at, &self.zone),
            crossing.when,
            crossed(&crossing.row)
        );
        write!(out, "{}", wrap("! ", 2, &text))?;
        written.map_or(Ok(()), |written| self.written(written, out))
    }

    /// Writes where packets went.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn written(&mut self, written: LiveFile<'_>, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "  {}", written_words(written))
    }

    /// Writes what all of it comes to.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn total(&mut self, result: &LiveResult, out: &mut dyn Write) -> io::Result<()> {
        if result.ops.captures.iter().all(|c| c.packets == 0) {
            return writeln!(out, "No packets came.");
        }
        if self.lines > 0 {
            writeln!(out)?;
        }
        if let Some(verdict) = &result.verdict {
            write!(
                out,
                "{}",
                wrap("At the end: ", 2, &harmless(&verdict.sentence.to_string()))
            )?;
        }
        for f in &result.findings {
            let until = match f.now {
                true => "to the end".to_owned(),
                false => format!("until {}", clock(f.last, &self.zone)),
            };
            let from = clock(f.appeared, &self.zone);
            writeln!(out, "  {} ({}) from {from} {until}", f.rule, f.side.name())?;
        }
        for path in &result.written {
            writeln!(out, "  packets in {path}")?;
        }
        writeln!(out)?;
        let style = OpsStyle {
            zone: self.zone.clone(),
            histogram: false,
        };
        ops_text(&result.ops, &style, out)
    }
}

/// Where packets went, in words.
#[must_use]
pub fn written_words(written: LiveFile<'_>) -> String {
    match written {
        Ok((path, packets, ns)) => format!(
            "{} of {} written to {path}",
            counted(packets, "packet"),
            format_duration(ns)
        ),
        Err(why) => format!("not written: {why}"),
    }
}

/// Who crossed a threshold, with figures.
#[must_use]
pub fn crossed(row: &Crossed) -> String {
    match row {
        Crossed::Subject(r) => {
            let s = &r.window.stats;
            format!(
                "{}, {} in {}: p50 {}, p99 {}, slowest {}, {}",
                subject_name(r),
                counted(s.count, "call"),
                format_duration(r.window.over_ns),
                format_duration(s.p50_ns),
                format_duration(s.p99_ns),
                format_duration(s.max_ns),
                counted(r.window.errors, "error")
            )
        }
        Crossed::Connection(c) => {
            let rtt = c.rtt_ns.map_or("unknown".to_owned(), format_duration);
            let resent = c.resent().unwrap_or(0.0) * 100.0;
            format!(
                "{} > {}: round trip {rtt}, {resent:.1} % sent again, {}, {} outstanding",
                c.client,
                c.server,
                rate(c.bps()),
                counted(c.outstanding_most, "call")
            )
        }
    }
}

fn row(cells: &[String; 9]) -> String {
    let mut line = String::new();
    for (i, (cell, (_, width))) in cells.iter().zip(TABLE).enumerate() {
        match i {
            0 => line.push_str(&pad(cell, width)),
            8 => {
                let room = crate::page::width().saturating_sub(crate::page::columns(&line) + 2);
                line.push_str("  ");
                line.push_str(&crate::page::shortened(cell, room));
            }
            _ => line.push_str(&pad_left(cell, width)),
        }
    }
    line.trim_end().to_owned()
}
