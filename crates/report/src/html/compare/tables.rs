//! What changed, as tables: causes with bars, operations and metrics with their intervals.

use super::{Charted, anchor, name};
use crate::compare::number;
use crate::compare_text::{CAUSES, chance, factor, mean, ms, named, range, shown, signed, told};
use crate::html::operations::{more, short};
use crate::html::{cell, head, table};
use crate::layers;
use crate::text::grouped;
use analysis::compare::Comparison;
use analysis::compare::result::{Cause, Change, Measure, OpChange};
use maud::{Markup, html};

/// Rows of a table: more open slowly and nobody reads them.
pub(super) const ROWS: usize = 300;

/// Width of a bar in its own units.
const WIDTH: f64 = 1_000.0;

/// What the difference comes from, most first.
pub(super) fn causes(c: &Comparison) -> Option<Markup> {
    let causes = told(c);
    let scale = Scale::of(causes)?;
    Some(html! {
        table.causes {
            caption { (CAUSES) }
            thead {
                tr { th.number scope="col" { "seconds" } th scope="col" { "cause" } }
            }
            tbody {
                @for cause in causes {
                    tr class=[(cause.beyond_chance == Some(false)).then_some("unknown")] {
                        td.number data-value=(cause.added_ns) {
                            span.seconds { (signed(cause.added_ns)) " s" }
                            @if let Some(range) = range(cause) { " " span.range { (range) } }
                        }
                        td {
                            (scale.bar(cause))
                            @if let Some(rule) = cause.rule { span.code { (rule) } ": " }
                            (cause.what)
                            @if cause.beyond_chance == Some(false) { "; may be chance" }
                        }
                    }
                }
            }
        }
        @if let Some(code) = c.cause {
            p.note { "More: " code { "slowside explain " (code) } }
        }
    })
}

/// From the least to the most seconds that any bar or interval reaches.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(causes: &[Cause]) -> Option<Scale> {
        let ends = |c: &Cause| {
            let (low, high) = c.interval_ns.unwrap_or((c.added_ns, c.added_ns));
            [c.added_ns, low, high]
        };
        let ends = || causes.iter().flat_map(ends);
        let (low, high) = (ends().min()?.min(0), ends().max()?.max(0));
        (high > low).then_some(Scale {
            low: low as f64,
            high: high as f64,
        })
    }

    fn at(&self, ns: i64) -> i64 {
        ((ns as f64 - self.low) / (self.high - self.low) * WIDTH) as i64
    }

    /// The seconds of a cause from zero on, and within which they lie.
    fn bar(&self, cause: &Cause) -> Markup {
        let (zero, end) = (self.at(0), self.at(cause.added_ns));
        let class = match cause.added_ns < 0 {
            true => "part saved",
            false => "part added",
        };
        html! {
            svg.share viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" width="100%" height="10" aria-hidden="true" focusable="false" {
                rect class=(class) x=(zero.min(end)) y="0" width=((end - zero).abs().max(2)) height="10" {}
                @if let Some((low, high)) = cause.interval_ns {
                    line class="interval" x1=(self.at(low)) x2=(self.at(high)) y1="5" y2="5" {}
                }
            }
        }
    }
}

/// Nanoseconds as milliseconds, with a sign.
fn signed_ms(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "+" };
    format!("{sign}{}", ms(Some(ns.abs())))
}

/// An interval; nothing where nothing tells.
fn interval(change: &Change, shown: impl Fn(f64) -> String) -> String {
    change.interval.map_or("-".into(), |(low, high)| {
        format!("{} to {}", shown(low), shown(high))
    })
}

/// Response times before and now.
pub(super) fn operations(c: &Comparison, charted: &[Charted<'_>]) -> Option<Markup> {
    if c.ops.is_empty() {
        return None;
    }
    let groups = [
        ("calls", "2"),
        ("mean", "4"),
        ("p50", "2"),
        ("p99", "2"),
        ("beyond", "1"),
    ];
    let heads = html! {
        tr {
            td {}
            @for (group, columns) in groups { th scope="colgroup" colspan=(columns) { (group) } }
        }
        tr {
            (head("op", false))
            @for name in ["before", "now", "before", "now", "change"] { (head(name, true)) }
            th.number scope="col" { "interval" }
            @for name in ["before", "now", "before", "now"] { (head(name, true)) }
            (head("chance", false))
        }
    };
    let rows = html! {
        @for (row, o) in c.ops.iter().enumerate().take(ROWS) {
            @let anchor = anchor(o);
            tr id=[(!charted.iter().any(|c| c.row == row)).then_some(&anchor)] {
                @let name = format!("{} {}", o.protocol.name(), short(&name(o)));
                th scope="row" { a href={ "#" (anchor) } { (name) } }
                (times(o))
            }
        }
    };
    Some(html! {
        (table("Response times in ms", &heads, &rows))
        (more(c.ops.len(), "operation"))
    })
}

fn times(o: &OpChange) -> Markup {
    let time = |ns: Option<f64>| cell(&ms(ns), ns.map(|ns| ns.round() as i64));
    let quantile = |ns: Option<i64>| cell(&ms(ns.map(|ns| ns as f64)), ns);
    html! {
        @for s in o.sums { (cell(&grouped(s.calls), i64::try_from(s.calls).ok())) }
        @for s in o.sums { (time(mean(s))) }
        @match &o.mean {
            Some(m) => {
                (cell(&signed_ms(m.difference()), Some(m.difference().round() as i64)))
                td.number { (interval(m, signed_ms)) }
            }
            None => { (cell("-", None)) td.number { "-" } }
        }
        @for ns in o.p50_ns { (quantile(ns)) }
        @for ns in o.p99_ns { (quantile(ns)) }
        td { (o.mean.as_ref().map_or("-", |m| chance(m.beyond_chance))) }
    }
}

/// What connections did, and what else is measured over all of a run.
pub(super) fn metrics(c: &Comparison) -> Option<Markup> {
    if c.metrics.is_empty() {
        return None;
    }
    // Numbers of several units have no order.
    let heads = html! {
        tr {
            (head("metric", false))
            th.number scope="col" { "before" }
            th.number scope="col" { "now" }
            (head("factor", true))
            th.number scope="col" { "change" }
            th.number scope="col" { "interval" }
            (head("beyond chance", false))
        }
    };
    let rows = html! {
        @for m in &c.metrics {
            tr class=[(m.change.beyond_chance != Some(true)).then_some("unknown")] {
                @let signed = |value: f64| signed_metric(m.measure, value);
                th scope="row" { (named(m)) }
                @for value in [m.change.baseline, m.change.problem] {
                    td.number data-value=(number(m.measure, value)) { (shown(m.measure, value)) }
                }
                td.number data-value=(m.change.ratio().map(|r| r.to_string()).unwrap_or_default()) { (factor(&m.change)) }
                td.number { (signed(m.change.difference())) }
                td.number { (interval(&m.change, signed)) }
                td { (chance(m.change.beyond_chance)) }
            }
        }
    };
    Some(table(
        "What changed beyond chance, and what did not",
        &heads,
        &rows,
    ))
}

/// A change with its sign; that of a share is in points, as "%" could be taken for a share of it.
fn signed_metric(measure: Measure, value: f64) -> String {
    let size = shown(measure, value.abs());
    let size = match (measure, size.strip_suffix('%')) {
        (Measure::Share, Some(points)) => format!("{points}points"),
        _ => size,
    };
    match (size.contains(|c: char| matches!(c, '1'..='9')), value < 0.0) {
        (false, _) => size,
        (true, true) => format!("-{size}"),
        (true, false) => format!("+{size}"),
    }
}

/// What hosts timed themselves in both runs.
pub(super) fn layers(c: &Comparison) -> Option<Markup> {
    let (title, rows) = layers::compared(c)?;
    let (heads, rows) = rows.split_first()?;
    let heads = html! {
        tr { @for (i, name) in heads.iter().enumerate() { (head(name, is_number(i, heads.len()))) } }
    };
    let rows = html! {
        @for row in rows {
            tr {
                @for (i, text) in row.iter().enumerate() {
                    @if i == 0 { th scope="row" { (text) } }
                    @else if is_number(i, row.len()) { (cell(text, None)) }
                    @else { td { (text) } }
                }
            }
        }
    };
    Some(table(&title, &heads, &rows))
}

/// All columns between names and words.
fn is_number(column: usize, columns: usize) -> bool {
    column > 0 && column + 1 < columns
}
