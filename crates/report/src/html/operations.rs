//! Operations: a table to sort, and the charts of those that took most time.

use super::places::Places;
use super::{anchors, cell, figure, head, table};
use crate::diagnosis_text::tables::{errors, op_names, unmatched};
use crate::text::{Unit, counted, grouped};
use analysis::charts::{Heat, Subject, Times};
use analysis::results::{Matched, OpResult, Report};
use analysis::stats::Summary;
use maud::{Markup, html};
use model::{Name, format_duration};

/// Rows of a table: more open slowly and nobody reads them.
pub(super) const ROWS: usize = 300;

/// Operations that have charts, and those whose charts are open at once.
pub(super) const CHARTED: usize = 8;
pub(super) const OPEN: usize = 1;

/// Fewer calls make no chart.
pub(super) const CALLS: u64 = 10;

/// A subject with its response times in each capture that has any.
pub(super) struct Charted<'a> {
    /// Its row in the table.
    pub(super) row: usize,
    pub(super) protocol: &'static str,
    pub(super) name: String,
    /// What it is called in the page's address.
    pub(super) anchor: String,
    pub(super) seen: Vec<(usize, &'a Times)>,
}

pub(super) fn seen(report: &Report, subject: Subject) -> Vec<(usize, &Times)> {
    let captures = report.charts.captures.iter().enumerate();
    captures
        .filter_map(|(i, c)| Some((i, c.times(subject)?)))
        .collect()
}

/// The operations that have charts: those that took most time, what only finds names behind the others.
pub(super) fn charted(report: &Report) -> Vec<Charted<'_>> {
    let ops = report.diagnosis.ops.iter().enumerate().take(ROWS);
    let mut ops: Vec<_> = ops.collect();
    // Stable: the others stay in their order.
    ops.sort_by_key(|(_, o)| o.protocol.is_lookup());
    worth_charts(ops.into_iter().map(|(row, o)| Charted {
        row,
        protocol: o.protocol.name(),
        name: o.op.clone(),
        anchor: anchors::operation(o.protocol.name(), &o.op),
        seen: seen(report, Subject::Operation(o.protocol, Name::of(&o.op))),
    }))
}

/// The first of them that have calls enough.
pub(super) fn worth_charts<'a>(all: impl Iterator<Item = Charted<'a>>) -> Vec<Charted<'a>> {
    let calls = |c: &Charted<'_>| c.seen.iter().map(|(_, t)| t.times.count()).max();
    all.filter(|c| calls(c) >= Some(CALLS))
        .take(CHARTED)
        .collect()
}

/// The parts of a table that each side has.
type Get = fn(&OpResult) -> Option<Summary>;

pub(super) fn section(report: &Report, places: &Places<'_>) -> Option<Markup> {
    let ops = &report.diagnosis.ops;
    let timed = |s: Option<Summary>| s.filter(|s| s.count > 0);
    let sides: Vec<(&str, Get)> = [("client", (|o| o.client) as Get), ("server", |o| o.server)]
        .into_iter()
        .filter(|(_, get)| ops.iter().any(|o| timed(get(o)).is_some()))
        .collect();
    let first = ops.first()?;
    let mean = timed(first.client)
        .or(timed(first.server))
        .map_or(0, |s| s.mean_ns);
    let unit = Unit::for_duration(mean);
    let both = |o: &OpResult| o.matched.as_ref().is_some_and(|m| m.count > 0);
    let matched = ops.iter().any(both);
    // Of two captures a sentence below says why calls have no twin.
    let alone = ops.iter().all(|o| o.matched.is_none());
    let unanswered = alone && ops.iter().any(|o| o.unmatched.no_response > 0);
    let heads = html! {
        @if sides.len() > 1 || matched {
            tr {
                td {}
                @if unanswered { td {} }
                @for (side, _) in &sides { th scope="colgroup" colspan="4" { (side) } }
                @if matched { th scope="colgroup" colspan="4" { "the same calls in both" } }
            }
        }
        tr {
            (head("op", false))
            @if unanswered { (head("no answer", true)) }
            @for _ in &sides { @for name in ["calls", "mean", "p50", "p99"] { (head(name, true)) } }
            @if matched { @for name in ["calls", "client", "server", "diff"] { (head(name, true)) } }
        }
    };
    let charted = charted(report);
    let rows = html! {
        @for (row, (o, name)) in ops.iter().zip(op_names(ops)).enumerate().take(ROWS) {
            @let anchor = anchors::operation(o.protocol.name(), &o.op);
            tr id=[(!charted.iter().any(|c| c.row == row)).then_some(&anchor)] {
                th scope="row" { a href={ "#" (anchor) } { (name) } }
                @if unanswered { (cell(&grouped(o.unmatched.no_response), i64::try_from(o.unmatched.no_response).ok())) }
                @for (_, get) in &sides { (times(timed(get(o)), unit)) }
                @if matched { (both_sides(o.matched.as_ref(), unit)) }
            }
        }
    };
    Some(html! {
        @let title = match sides.as_slice() {
            [] => "Requests".to_owned(),
            _ => format!("Response times in {}", unit.name),
        };
        (table(&title, &heads, &rows))
        (more(ops.len(), "operation"))
        @let errors = errors(ops);
        @if !errors.is_empty() { p.note { (errors) } }
        @let unmatched = unmatched(ops);
        @if !unmatched.is_empty() { p.note { (unmatched) } }
        (details(&charted, 0, places))
    })
}

/// What the table leaves out.
pub(super) fn more(all: usize, what: &str) -> Markup {
    html! {
        @if all > ROWS {
            p.note { "… and " (counted((all - ROWS) as u64, &format!("further {what}"))) " with less time" }
        }
    }
}

fn times(s: Option<Summary>, unit: Unit) -> Markup {
    let Some(s) = s else {
        return html! { (cell("0", Some(0))) (cell("-", None)) (cell("-", None)) (cell("-", None)) };
    };
    html! {
        (cell(&grouped(s.count), Some(s.count as i64)))
        (cell(&unit.number(s.mean_ns), Some(s.mean_ns)))
        (cell(&unit.number(s.p50_ns), Some(s.p50_ns)))
        @if s.count >= Summary::P99_NEEDS { (cell(&unit.number(s.p99_ns), Some(s.p99_ns))) }
        @else { (cell("-", None)) }
    }
}

fn both_sides(m: Option<&Matched>, unit: Unit) -> Markup {
    let Some(m) = m.filter(|m| m.count > 0) else {
        return html! { (cell("0", Some(0))) (cell("-", None)) (cell("-", None)) (cell("-", None)) };
    };
    html! {
        (cell(&grouped(m.count), Some(m.count as i64)))
        @for ns in [m.client_mean_ns, m.server_mean_ns, m.difference_mean_ns] {
            (cell(&unit.number(ns), Some(ns)))
        }
    }
}

/// The charts of each, to be opened; `from` is the index of the first in the page's data.
pub(super) fn details(all: &[Charted<'_>], from: usize, places: &Places<'_>) -> Markup {
    html! {
        @for (i, o) in all.iter().enumerate() {
            @let index = from + i;
            details.operation id=(o.anchor) data-operation=(index) open[i < OPEN] {
                summary {
                    h3 { (o.protocol) " " (short(&o.name)) } " "
                    span.numbers { (calls(o)) }
                }
                @if o.name.chars().count() > SHORT { p.sql { code { (o.name) } } }
                div.charts {
                    (figure("histogram", index, "Response times", &spread(o, places)))
                    (figure("percentiles", index, "Percentiles", &percentiles(o, places)))
                    (figure("heat", index, "Response times over time", &slowest(o, places)))
                }
            }
        }
    }
}

/// Letters of a statement that make a title.
pub(super) const SHORT: usize = 80;

pub(super) fn short(name: &str) -> String {
    match name.char_indices().nth(SHORT) {
        Some((end, _)) => format!("{}…", name.get(..end).unwrap_or(name)),
        None => name.to_owned(),
    }
}

fn calls(o: &Charted<'_>) -> String {
    let most = o.seen.iter().map(|(_, t)| t.times.count()).max();
    counted(most.unwrap_or(0), "call")
}

/// A sentence for each capture.
fn each(o: &Charted<'_>, places: &Places<'_>, say: impl Fn(usize, &Times) -> String) -> String {
    let several = o.seen.len() > 1;
    let sentence = |(capture, times): &(usize, &Times)| {
        let text = say(*capture, times);
        match several {
            true => format!("{}: {text}", places.label(*capture)),
            false => text,
        }
    };
    o.seen.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

fn spread(o: &Charted<'_>, places: &Places<'_>) -> String {
    each(o, places, |_, t| spread_of(&t.times.summary()))
}

/// How far response times spread, in a sentence.
pub(super) fn spread_of(s: &Summary) -> String {
    let most = match s.count >= Summary::P99_NEEDS {
        true => format!(", 99 of 100 at most {}", format_duration(s.p99_ns)),
        false => String::new(),
    };
    format!(
        "{} from {} to {}: half take at most {}{most}.",
        counted(s.count, "call"),
        format_duration(s.min_ns),
        format_duration(s.max_ns),
        format_duration(s.p50_ns)
    )
}

fn percentiles(o: &Charted<'_>, places: &Places<'_>) -> String {
    each(o, places, |_, t| percentiles_of(&t.times.summary()))
}

/// The percentiles that so many calls carry, in a sentence.
pub(super) fn percentiles_of(s: &Summary) -> String {
    let known = [
        ("p50", s.p50_ns, 1),
        ("p90", s.p90_ns, Summary::P90_NEEDS),
        ("p95", s.p95_ns, Summary::P95_NEEDS),
        ("p99", s.p99_ns, Summary::P99_NEEDS),
        ("p99.9", s.p999_ns, Summary::P999_NEEDS),
    ];
    let known = known.iter().filter(|(.., needs)| s.count >= *needs);
    let known: Vec<String> = known
        .map(|(name, ns, _)| format!("{name} {}", format_duration(*ns)))
        .collect();
    format!(
        "{}, longest {}.",
        known.join(", "),
        format_duration(s.max_ns)
    )
}

/// More calls than one in so many are no exception.
const EXCEPTION: u64 = 10;

/// When the slowest calls were sent.
fn slowest(o: &Charted<'_>, places: &Places<'_>) -> String {
    each(o, places, |capture, t| {
        let heat: Heat = t.heat.finish();
        let Some(top) = heat.cells.iter().map(|(_, row, _)| *row).max() else {
            return String::new();
        };
        let there = || heat.cells.iter().filter(|(_, row, _)| *row == top);
        let (first, last) = (there().map(|c| c.0).min(), there().map(|c| c.0).max());
        let at = |column: u64| {
            let ns = (column as i64).saturating_mul(heat.width_ns);
            format_duration(places.since(capture, heat.first + ns).max(0))
        };
        let least = top
            .checked_sub(1)
            .and_then(|row| heat.upper_ns.get(row as usize));
        let calls = there().map(|c| c.2).sum::<u64>();
        let all = heat.cells.iter().map(|c| c.2).sum::<u64>();
        match (least, first, last) {
            // A few are an exception, of which it matters when they were.
            (Some(least), Some(a), Some(b)) if calls <= all / EXCEPTION => format!(
                "The slowest {}, of {} or longer, began between {} and {} after the start.",
                counted(calls, "call"),
                format_duration(*least),
                at(a),
                at(b + 1)
            ),
            (Some(least), ..) => format!(
                "{} of {} took {} or longer: that is the rule here, not an exception.",
                grouped(calls),
                counted(all, "call"),
                format_duration(*least)
            ),
            _ => String::new(),
        }
    })
}
