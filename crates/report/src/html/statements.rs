//! Statements of databases: the profile that `slowside sql` makes, and the charts of those that took most.

use super::operations::{self, Charted, ROWS, details, more, seen, short, worth_charts};
use super::places::Places;
use super::{anchors, cell, head, table};
use crate::sql_text::{answer, notes};
use crate::text::{counted, grouped, share};
use analysis::charts::Subject;
use analysis::results::Report;
use analysis::sql::{SqlResult, StatementResult};
use analysis::stats::Summary;
use maud::{Markup, html};
use model::format_duration;

fn subject(s: &StatementResult) -> Option<Subject> {
    let statement = s.statement.as_ref()?;
    Some(Subject::Statement(s.protocol, statement.id))
}

fn name(s: &StatementResult) -> String {
    match (&s.statement, &s.op) {
        (Some(statement), _) => statement.normal.to_string(),
        (None, Some(op)) => format!("({op}, no statement)"),
        (None, None) => "(further statements)".to_owned(),
    }
}

/// The statements that have charts: those that took most time.
pub(super) fn charted(report: &Report) -> Vec<Charted<'_>> {
    let all = report.sql.iter().flat_map(|sql| &sql.statements);
    let all = all.enumerate().take(ROWS);
    let with = all.filter_map(|(row, s)| Some((row, s, subject(s)?)));
    worth_charts(with.map(|(row, s, subject)| Charted {
        row,
        protocol: s.protocol.name(),
        name: name(s),
        anchor: anchors::statement(s),
        seen: seen(report, subject),
    }))
}

pub(super) fn section(report: &Report, places: &Places<'_>) -> Option<Markup> {
    let sql: &SqlResult = report
        .sql
        .as_ref()
        .filter(|sql| !sql.statements.is_empty())?;
    let charted = charted(report);
    let divided = |s: &StatementResult| s.server_ns.is_some() || s.network_ns.is_some();
    let divided = sql.statements.iter().any(divided);
    let heads = html! {
        tr {
            (head("#", true)) (head("statement", false))
            @for name in ["time", "share", "calls", "mean", "p99", "rows", "wait"] { (head(name, true)) }
            @if divided { @for name in ["server", "network", "either"] { (head(name, true)) } }
            @for name in ["transfer", "think"] { (head(name, true)) }
        }
    };
    let part = |ns: Option<i64>| html! { (cell(&ns.map_or("-".to_owned(), format_duration), ns)) };
    let total = sql.totals.response_time_ns;
    let rows = html! {
        @for (i, s) in sql.statements.iter().enumerate().take(ROWS) {
            @let anchor = anchors::statement(s);
            tr id=[(!charted.iter().any(|c| c.row == i)).then_some(&anchor)] {
                (cell(&(i + 1).to_string(), Some(i as i64 + 1)))
                th.sql scope="row" { a href={ "#" (anchor) } { (short(&name(s))) } }
                (cell(&format_duration(s.times.total_ns), Some(s.times.total_ns)))
                (cell(&share(s.times.total_ns, total), Some(s.times.total_ns)))
                (cell(&grouped(s.calls), Some(s.calls as i64)))
                (cell(&format_duration(s.times.mean_ns), Some(s.times.mean_ns)))
                @if s.times.count >= Summary::P99_NEEDS { (cell(&format_duration(s.times.p99_ns), Some(s.times.p99_ns))) }
                @else { (cell("-", None)) }
                (cell(&grouped(s.rows), Some(s.rows as i64)))
                (part(Some(s.wait_ns())))
                @if divided { (part(s.server_ns)) (part(s.network_ns)) (part(Some(s.unknown_ns))) }
                (part(Some(s.transfer_ns))) (part(Some(s.think_ns)))
            }
        }
    };
    Some(html! {
        p { (answer(sql)) }
        (table("Statements, most time first", &heads, &rows))
        (more(sql.statements.len(), "statement"))
        @let without = report.charts.captures.iter().map(|c| c.left_out_calls).sum::<u64>();
        @if without > 0 {
            p.note { (counted(without, "call")) " of statements seen after many others are in no chart." }
        }
        @for note in notes(sql) { p.note { (note) } }
        (details(&charted, operations::charted(report).len(), places))
    })
}
