//! What would change, for programs, `slowside.whatif/1` and rows, and for people.

mod fit;

pub use fit::{fit_json, fit_text};

use crate::harmless::harmless;
use crate::markdown::{self, sections};
use crate::page::prose;
use crate::table::rows::{TakeRows, hand_over, json_list};
use crate::table::{Column, ColumnKind, Table, columns, order, people};
use crate::text::{Grid, counted, rate, wrap};
use crate::value;
use analysis::whatif::{Change, Prediction, Terms, WhatIf};
use model::format_duration;
use serde_json::json;
use std::io::{self, Write};

/// Statements that a page shows unless --top says how many.
const ROWS: usize = 20;

/// The rows of `slowside whatif`.
pub(crate) struct Predictions;

impl Table for Predictions {
    type Row<'a> = PredictionRow<'a>;
}

#[derive(Clone, Copy)]
pub(crate) struct PredictionRow<'a> {
    p: &'a Prediction,
    /// Its place by time now, from 1.
    rank: i64,
}

type C = Column<Predictions>;

const NAMED: &[C] = &columns! {
    "rank" Integer "place by time now, from 1" |r| r.rank => shown("#");
    "statement" Text "hash of its normal form, 16 hexadecimal digits; null for calls without a statement"
        |r| r.p.statement.as_ref().map(|s| format!("{:016x}", s.id)) => or_null;
    "sql" Text "its normal form, without literals" |r| r.p.statement.as_ref().map(|s| &*s.normal) => or_null;
    "op" Text "what the calls are, where they have no statement" |r| r.p.op.as_deref() => or_null;
};

const TERMS: &[C] = &columns! {
    "round_trips" Count "round trips" |r, c| terms(r, c).round_trips;
    "rtt_ns" Duration "a round trip" |r, c| terms(r, c).rtt_ns;
    "transfer_ns" Duration "bytes passing" |r, c| terms(r, c).transfer.likely;
    "service_ns" Duration "the server's time" |r, c| terms(r, c).service.likely;
    "think_ns" Duration "the client's time between the calls of the statement" |r, c| terms(r, c).think.likely;
    "elapsed_ns" Duration "all together" |r, c| terms(r, c).elapsed().likely;
    "elapsed_min_ns" Duration "all together at least" |r, c| terms(r, c).elapsed().least;
    "elapsed_max_ns" Duration "all together at most" |r, c| terms(r, c).elapsed().most;
};

/// For people before and after stand beside each other.
const SEEN: [C; 8] = [
    C::people("trips now", ColumnKind::Count, |r| {
        r.p.now.round_trips.into()
    }),
    C::people("then", ColumnKind::Count, |r| r.p.then.round_trips.into()),
    C::people("time now", ColumnKind::Duration, |r| {
        r.p.now.elapsed().likely.into()
    }),
    C::people("then", ColumnKind::Duration, |r| {
        r.p.then.elapsed().likely.into()
    }),
    C::people("RTT", ColumnKind::Duration, |r| r.p.then.rtt_ns.into()),
    C::people("service", ColumnKind::Duration, |r| {
        r.p.then.service.likely.into()
    }),
    C::people("transfer", ColumnKind::Duration, |r| {
        r.p.then.transfer.likely.into()
    }),
    C::people("think", ColumnKind::Duration, |r| {
        r.p.then.think.likely.into()
    }),
];

const THEN: &str = "then";

/// Those that a column is of: now or then.
fn terms<'a>(row: &PredictionRow<'a>, column: &C) -> &'a Terms {
    match column.within {
        THEN => &row.p.then,
        _ => &row.p.now,
    }
}

pub(crate) fn columns() -> Vec<C> {
    let of = |object| TERMS.iter().map(move |c| c.within(object));
    let columns = NAMED.iter().copied().chain(of("now")).chain(of(THEN));
    columns.chain(SEEN).collect()
}

/// The columns that statements can be sorted by.
#[must_use]
pub fn whatif_sortable() -> Vec<String> {
    order::sortable(&columns())
}

/// The rows that are listed.
pub(crate) fn rows(w: &WhatIf) -> Vec<PredictionRow<'_>> {
    let rows = w.statements.iter().zip(1..);
    let rows: Vec<_> = rows.map(|(p, rank)| PredictionRow { p, rank }).collect();
    order::at(&rows, &order::places(&columns(), &rows, &w.order))
}

/// Hands over a row per statement.
///
/// # Errors
/// Those of `to`.
pub fn whatif_rows(w: &WhatIf, to: &mut dyn TakeRows) -> io::Result<()> {
    hand_over(&columns(), &rows(w), to)
}

/// Writes `slowside.whatif/1`, a statement per line.
///
/// # Errors
/// Those of `out`.
pub fn whatif_json(w: &WhatIf, out: &mut dyn Write) -> io::Result<()> {
    let change = json!({
        "rtt_ns": w.change.rtt_ns,
        "fetch_size": w.change.fetch_size,
        "rows": w.change.rows,
        "sdu_bytes": w.change.sdu_bytes,
        "bandwidth_bps": w.change.bandwidth_bps,
        "server_factor": w.change.server_factor,
    });
    let of_all = [
        ("change", change),
        ("now_ns", w.now_ns.into()),
        ("then_ns", w.then.likely.into()),
        ("then_min_ns", w.then.least.into()),
        ("then_max_ns", w.then.most.into()),
        ("think_between_ns", w.think_between_ns.into()),
        ("measured_ns", w.measured_ns.into()),
        ("model_error_ppm", w.error_ppm().into()),
        ("notes", value::texts(&w.notes).into()),
    ];
    out.write_all(b"{\"schema\":\"slowside.whatif/1\"")?;
    for (name, of_it) in of_all {
        write!(out, ",\"{name}\":")?;
        value::write(out, &of_it)?;
    }
    out.write_all(b",\"statements\":")?;
    json_list(&columns(), &rows(w), out)?;
    out.write_all(b"}\n")
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
    let (rows, shown) = shown(w);
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
        let (mut rows, shown) = shown(w);
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

/// The numbers of those shown, under their headings, and what they are of.
fn shown(w: &WhatIf) -> (Vec<Vec<String>>, Vec<&Prediction>) {
    let mut rows = rows(w);
    rows.truncate(w.order.top.unwrap_or(ROWS));
    let cells = people::table(&people::shown(&columns(), &rows), &rows);
    (cells, rows.iter().map(|row| row.p).collect())
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
    let more = w
        .statements
        .len()
        .saturating_sub(w.order.top.unwrap_or(ROWS));
    if more > 0 {
        let more = counted(more as u64, "further statement");
        let own = if w.order.by.is_none() {
            " with less time"
        } else {
            ""
        };
        lines.push(format!(
            "… and {more}{own} (--top lists as many as it says)"
        ));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use analysis::results::Order;
    use expect_test::expect;

    /// The sample's two statements, the path ten times as long.
    fn replayed(by: Option<&str>, top: Option<usize>) -> WhatIf {
        let change = Change {
            rtt_ns: Some(40_000_000),
            ..Change::default()
        };
        let by = by.map(str::to_owned);
        WhatIf {
            order: Order { by, top },
            ..analysis::whatif::replay(&samples::profile(), change)
        }
    }

    #[test]
    fn the_schema_describes_the_columns() {
        let place = "/properties/statements/items";
        schema::assert_described("slowside.whatif.1", place, &columns());
    }

    #[test]
    fn statements_are_listed_as_they_are_asked_for() {
        let csv = |by, top| {
            let w = replayed(by, top);
            let text = samples::written(|out| whatif_rows(&w, &mut samples::Csv(out)));
            let rows = text.lines().skip(1);
            rows.map(|row| row.split(',').next().unwrap_or_default().to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(csv(None, None), ["1", "2"]);
        assert_eq!(csv(Some("op"), None), ["2", "1"]);
        assert_eq!(csv(Some("then_elapsed"), Some(1)), ["1"]);
    }

    #[test]
    fn a_page_says_what_it_does_not_list() {
        let page = samples::written(|out| whatif_text(&replayed(None, Some(1)), out));
        expect![[r#"
            With a round trip of 40.0 ms: 89.0 ms become 197 ms, 2.2 times as slow.

            #  trips now  then  time now   then     RTT  service  transfer   think
            1          2     2    59.0ms  131ms  40.0ms   40.0ms    10.0ms  1.00ms
               select * from t where name = ?
            … and 1 further statement with less time (--top lists as many as it says)
            between statements: 1.00 ms of thinking, now and then

            Model: round trips × RTT + transfer + service + think, for each statement; RTT
            to think are the terms then.
            Replayed on the measured run it gives 89.0 ms for 89.0 ms (+0.0 %).
        "#]]
        .assert_eq(&page);
    }
}
