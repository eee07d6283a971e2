//! What would change, for programs: `slowside.whatif/1`, and for people.

use crate::harmless::harmless;
use crate::markdown::{self, sections};
use crate::page::prose;
use crate::text::{Grid, counted, grouped, rate, tight, wrap};
use crate::value;
use analysis::whatif::{Change, Fit, Point, Prediction, Terms, WhatIf};
use model::format_duration;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Statements that a page shows.
const ROWS: usize = 20;

/// Writes `slowside.whatif/1`.
///
/// # Errors
/// Those of `out`.
pub fn whatif_json(w: &WhatIf, out: &mut dyn Write) -> io::Result<()> {
    let statements: Vec<Value> = w.statements.iter().map(statement_json).collect();
    let value = json!({
        "schema": "slowside.whatif/1",
        "change": {
            "rtt_ns": w.change.rtt_ns,
            "fetch_size": w.change.fetch_size,
            "rows": w.change.rows,
            "sdu_bytes": w.change.sdu_bytes,
            "bandwidth_bps": w.change.bandwidth_bps,
            "server_factor": w.change.server_factor,
        },
        "now_ns": w.now_ns,
        "then_ns": w.then.likely,
        "then_min_ns": w.then.least,
        "then_max_ns": w.then.most,
        "think_between_ns": w.think_between_ns,
        "measured_ns": w.measured_ns,
        "model_error_ppm": w.error_ppm(),
        "statements": statements,
        "notes": value::texts(&w.notes),
    });
    crate::value::write(out, &value)?;
    out.write_all(b"\n")
}

fn statement_json(p: &Prediction) -> Value {
    let terms = |t: &Terms| {
        let elapsed = t.elapsed();
        json!({
            "round_trips": t.round_trips,
            "rtt_ns": t.rtt_ns,
            "transfer_ns": t.transfer.likely,
            "service_ns": t.service.likely,
            "think_ns": t.think.likely,
            "elapsed_ns": elapsed.likely,
            "elapsed_min_ns": elapsed.least,
            "elapsed_max_ns": elapsed.most,
        })
    };
    json!({
        "statement": p.statement.as_ref().map(|s| format!("{:016x}", s.id)),
        "sql": p.statement.as_ref().map(|s| &*s.normal),
        "op": p.op,
        "now": terms(&p.now),
        "then": terms(&p.then),
    })
}

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn whatif_text(w: &WhatIf, out: &mut dyn Write) -> io::Result<()> {
    if w.statements.is_empty() {
        return out.write_all(crate::sql_text::NOTHING.as_bytes());
    }
    let mut text = wrap("", 0, &answer(w));
    let (rows, shown) = rows(w);
    let mut lines = Grid::fitting(rows).lines().into_iter();
    text.push_str(&format!("\n{}\n", lines.next().unwrap_or_default()));
    for (line, p) in lines.zip(shown) {
        let line_of: String = harmless(&what(p)).chars().take(prose() - 4).collect();
        text.push_str(&format!("{line}\n   {line_of}\n"));
    }
    for line in behind(w) {
        text.push_str(&wrap("", 0, &line));
    }
    text.push('\n');
    for line in model(w) {
        text.push_str(&wrap("", 0, &line));
    }
    for note in &w.notes {
        text.push_str(&wrap("", 0, &note.to_string()));
    }
    out.write_all(text.as_bytes())
}

/// Writes it as Markdown, each statement with its text in the last column.
///
/// # Errors
/// Those of `out`.
pub fn whatif_markdown(w: &WhatIf, out: &mut dyn Write) -> io::Result<()> {
    markdown::write(out, || {
        if w.statements.is_empty() {
            return markdown::sections([crate::sql_text::NOTHING.replace('\n', " ")]);
        }
        let (mut rows, shown) = rows(w);
        let last = rows.first().map_or(0, Vec::len);
        let texts = shown.iter().map(|p| markdown::code(&what(p), true));
        let texts = std::iter::once("statement".to_owned()).chain(texts);
        rows.iter_mut().zip(texts).for_each(|(row, t)| row.push(t));
        let paragraphs = |lines: Vec<String>| {
            let lines = lines.iter().map(|line| markdown::escaped(line));
            lines.collect::<Vec<_>>().join("\n\n")
        };
        let notes = w.notes.iter();
        sections([
            markdown::escaped(&answer(w)),
            markdown::table(&rows, 0, |i| i == last),
            paragraphs(behind(w)),
            paragraphs(model(w)),
            notes
                .map(|n| format!("- {}\n", markdown::escaped(&n.to_string())))
                .collect(),
        ])
    })
}

/// The numbers of those shown, under their headings.
fn rows(w: &WhatIf) -> (Vec<Vec<String>>, &[Prediction]) {
    let mut rows = vec![
        [
            "#",
            "trips now",
            "then",
            "time now",
            "then",
            "RTT",
            "service",
            "transfer",
            "think",
        ]
        .map(str::to_owned)
        .to_vec(),
    ];
    let shown = w.statements.get(..ROWS).unwrap_or(&w.statements);
    rows.extend(shown.iter().enumerate().map(|(i, p)| {
        let likely = |t: &Terms| tight(t.elapsed().likely);
        vec![
            (i + 1).to_string(),
            grouped(p.now.round_trips),
            grouped(p.then.round_trips),
            likely(&p.now),
            likely(&p.then),
            tight(p.then.rtt_ns),
            tight(p.then.service.likely),
            tight(p.then.transfer.likely),
            tight(p.then.think.likely),
        ]
    }));
    (rows, shown)
}

fn what(p: &Prediction) -> String {
    match (&p.statement, &p.op) {
        (Some(s), _) => s.normal.to_string(),
        (None, Some(op)) => format!("({op}, no statement)"),
        (None, None) => "(calls)".to_owned(),
    }
}

/// What stands behind the table.
fn behind(w: &WhatIf) -> Vec<String> {
    let mut lines = Vec::new();
    let more = w.statements.len().saturating_sub(ROWS);
    if more > 0 {
        let more = counted(more as u64, "further statement");
        lines.push(format!("… and {more} with less time (--format json)"));
    }
    if w.think_between_ns > 0 {
        let between = format_duration(w.think_between_ns);
        lines.push(format!(
            "between statements: {between} of thinking, now and then"
        ));
    }
    lines
}

/// What was reckoned, and how good it is.
fn model(w: &WhatIf) -> Vec<String> {
    let mut lines = vec![
        "Model: round trips × RTT + transfer + service + think, for each statement; RTT to think are \
         the terms then."
            .to_owned(),
    ];
    lines.extend(w.error_ppm().map(|ppm| {
        format!(
            "Replayed on the measured run it gives {} for {} ({:+.1} %).",
            format_duration(w.now_ns),
            format_duration(w.measured_ns),
            ppm as f64 / 10_000.0
        )
    }));
    lines
}

fn answer(w: &WhatIf) -> String {
    if w.change.is_none() {
        return format!(
            "The model gives {} for what was measured; say what is to change (--rtt, --fetch-size, \
             --rows, --sdu, --bandwidth, --server-factor).",
            format_duration(w.now_ns)
        );
    }
    let then = w.then;
    let span = match then.least == then.most {
        true => String::new(),
        false => format!(
            " (between {} and {})",
            format_duration(then.least),
            format_duration(then.most)
        ),
    };
    let ratio = w.now_ns as f64 / then.likely.max(1) as f64;
    let effect = match ratio {
        r if (0.99..1.01).contains(&r) => "no change to speak of".to_owned(),
        r if r >= 1.0 => format!("{r:.1} times as fast"),
        r => format!("{:.1} times as slow", 1.0 / r),
    };
    format!(
        "With {}: {}{} become {}{span}, {effect}.",
        change(&w.change),
        format_duration(w.now_ns),
        match w.sessions {
            0 | 1 => String::new(),
            n => format!(" of {n} sessions together"),
        },
        format_duration(then.likely)
    )
}

fn change(c: &Change) -> String {
    let parts = [
        c.rtt_ns
            .map(|ns| format!("a round trip of {}", format_duration(ns))),
        c.fetch_size.map(|n| format!("{n} rows a fetch")),
        c.rows.map(|n| format!("{n} rows in all")),
        c.sdu_bytes.map(|n| format!("an SDU of {n} bytes")),
        c.bandwidth_bps
            .map(|bps| format!("a line of {}", rate(bps))),
        c.server_factor
            .map(|f| format!("{f} times the service time")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" and ")
}

/// Writes what throughputs at several round trip times say of the service time, and what it would be
/// at another.
///
/// # Errors
/// Those of `out`.
pub fn fit_text(
    points: &[Point],
    fit: Option<&Fit>,
    rtt_ns: Option<i64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let services: Vec<i64> = points.iter().map(Point::service_ns).collect();
    let ends = services.iter().min().zip(services.iter().max());
    let mut text = match ends {
        Some((low, high)) if low == high => {
            format!("The service takes {} a transaction", format_duration(*low))
        }
        Some((low, high)) => format!(
            "The service takes {} to {} a transaction",
            format_duration(*low),
            format_duration(*high)
        ),
        None => String::new(),
    };
    text.push_str(", at one round trip each.");
    if services.iter().any(|&ns| ns < 0) {
        text.push_str(" Less than nothing: so many a second were not sent one after the other.");
    }
    text = wrap("", 0, &text);
    if let Some(f) = fit {
        text.push_str(&wrap(
            "",
            0,
            &format!(
                "Best line: {} of service and {:.2} round trips, at most {:.1} % beside a measured \
                 throughput.",
                format_duration(f.service_ns),
                f.trips,
                f.worst_error * 100.0
            ),
        ));
    } else if points.len() > 1 {
        text.push_str("No straight line fits: something else than the path differs.\n");
    }
    let mut rows = vec![
        ["RTT", "measured/s", "service", "model/s"]
            .map(str::to_owned)
            .to_vec(),
    ];
    let model = |rtt| match fit {
        Some(f) => format!("{:.0}", Point::at(f.service_ns, f.trips, rtt)),
        None => "-".to_owned(),
    };
    rows.extend(points.iter().map(|p| {
        vec![
            tight(p.rtt_ns),
            format!("{:.0}", p.throughput),
            tight(p.service_ns()),
            model(p.rtt_ns),
        ]
    }));
    if let Some(rtt) = rtt_ns {
        rows.push(vec![tight(rtt), "-".into(), "-".into(), model(rtt)]);
    }
    text.push('\n');
    text.push_str(&Grid::fitting(rows).text());
    text.push_str("\nModel: throughput = 1 / (service + round trips × RTT)\n");
    out.write_all(text.as_bytes())
}

/// Writes the same as JSON, `slowside.fit/1`.
///
/// # Errors
/// Those of `out`.
pub fn fit_json(
    points: &[Point],
    fit: Option<&Fit>,
    rtt_ns: Option<i64>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let model = |rtt| fit.map(|f| Point::at(f.service_ns, f.trips, rtt));
    let measured: Vec<Value> = points
        .iter()
        .map(|p| {
            json!({
                "throughput_per_second": p.throughput,
                "rtt_ns": p.rtt_ns,
                "service_ns": p.service_ns(),
                "model_per_second": model(p.rtt_ns),
            })
        })
        .collect();
    let value = json!({
        "schema": "slowside.fit/1",
        "points": measured,
        "service_ns": fit.map(|f| f.service_ns),
        "round_trips": fit.map(|f| f.trips),
        "worst_error_ppm": fit.map(|f| (f.worst_error * 1e6) as i64),
        "rtt_ns": rtt_ns,
        "predicted_per_second": rtt_ns.and_then(model),
    });
    crate::value::write(out, &value)?;
    out.write_all(b"\n")
}
