//! TraceStatements and events of traces as rows: their columns, as CSV, and in the order that is asked for.

use super::{TraceBy, TraceStyle, text};
use crate::table::rows::{Form, RowWriter};
use crate::table::times::{Timed, times};
use crate::table::{Column, Table, columns, order};
use analysis::results::Order;
use analysis::stats::Summary;
use analysis::trace_profile::{DatabaseTime, EventRow, StatementRow, TraceResult};
use std::io::{self, Write};

pub(crate) struct TraceStatements;

impl Table for TraceStatements {
    type Row<'a> = StatementLine<'a>;
}

impl Timed for TraceStatements {
    fn times<'a>(line: &'a StatementLine<'a>) -> &'a Summary {
        &line.row.elapsed
    }
}

#[derive(Clone, Copy)]
pub(crate) struct StatementLine<'a> {
    pub(crate) row: &'a StatementRow,
    show_literals: bool,
}

pub(crate) struct TraceEvents;

impl Table for TraceEvents {
    type Row<'a> = EventLine<'a>;
}

impl Timed for TraceEvents {
    fn times<'a>(line: &'a EventLine<'a>) -> &'a Summary {
        &line.0.waits
    }
}

#[derive(Clone, Copy)]
pub(crate) struct EventLine<'a>(pub(crate) &'a EventRow);

pub(crate) fn statement_columns() -> Vec<Column<TraceStatements>> {
    type C = Column<TraceStatements>;
    let before: [C; 20] = columns! {
        "id" Text "identity of the normal form" |l| l.row.id.map(super::hex) => or_null;
        "sql_id" Text "as the database calls it" |l| l.row.sql_id.as_deref() => or_null;
        "depth" Integer "above 0: recursive" |l| l.row.depth => or_null;
        "total_ns" Duration "time of its calls and of waits between them" |l| l.row.total_ns;
        "own_ns" Duration "time of its calls without recursive ones" |l| l.row.own_ns;
        "cpu_ns" Duration "processor time" |l| l.row.cpu_ns;
        "waited_ns" Duration "waits in calls" |l| l.row.waited_ns;
        "unaccounted_ns" Duration "neither" |l| l.row.unaccounted_ns;
        "between_ns" Duration "waits between calls" |l| l.row.between_ns;
        "round_trips" Count "waits for the client" |l| l.row.round_trips.count;
        "parses" Count "parse calls" |l| l.row.parses;
        "hard_parses" Count "of them those that found no cursor" |l| l.row.hard_parses;
        "executions" Count "execute calls" |l| l.row.executions;
        "fetches" Count "fetch calls" |l| l.row.fetches;
        "rows" Count "rows returned or changed" |l| l.row.rows;
        "rows_per_fetch_p50" Count "half of the fetches brought as many" |l| l.row.rows_per_fetch_p50 => or_null;
        "rows_per_fetch_max" Count "most that one brought" |l| l.row.rows_per_fetch_max => or_null;
        "physical_reads" Count "blocks from disk" |l| l.row.physical_reads;
        "consistent_reads" Count "blocks read" |l| l.row.consistent_reads;
        "errors" Count "errors" |l| l.row.errors;
    };
    let statement: [C; 1] = columns! {
        "statement" Text "its text on one line" |l| text(l.row, l.show_literals);
    };
    let times = times().into_iter().map(|c| c.behind("call", 0));
    before.into_iter().chain(times).chain(statement).collect()
}

pub(crate) fn event_columns() -> Vec<Column<TraceEvents>> {
    type C = Column<TraceEvents>;
    let before: [C; 1] = columns! {
        "event" Text "what was waited for" |l| l.0.name.as_str();
    };
    let between: [C; 2] = columns! {
        "between" Count "waits between calls" |l| l.0.between;
        "between_ns" Duration "their time" |l| l.0.between_ns;
    };
    before.into_iter().chain(times()).chain(between).collect()
}

/// The columns that a profile can be sorted by.
#[must_use]
pub fn trace_sortable(by: Option<TraceBy>) -> Vec<String> {
    match by {
        Some(TraceBy::Event) => order::sortable(&event_columns()),
        _ => order::sortable(&statement_columns()),
    }
}

/// What is asked of one of the lists; the other one stays as it is.
fn order_of(style: &TraceStyle, by: TraceBy) -> Order {
    match style.by.unwrap_or(TraceBy::Statement) == by {
        true => style.order.clone(),
        false => Order::default(),
    }
}

pub(crate) fn statements<'a>(d: &'a DatabaseTime, style: &TraceStyle) -> Vec<StatementLine<'a>> {
    let line = |row| StatementLine {
        row,
        show_literals: style.show_literals,
    };
    let lines: Vec<StatementLine<'_>> = d.statements.iter().map(line).collect();
    let order = order_of(style, TraceBy::Statement);
    let places = order::places(&statement_columns(), &lines, &order);
    order::at(&lines, &places)
}

pub(crate) fn events<'a>(d: &'a DatabaseTime, style: &TraceStyle) -> Vec<EventLine<'a>> {
    let lines: Vec<EventLine<'_>> = d.events.iter().map(EventLine).collect();
    let order = order_of(style, TraceBy::Event);
    let places = order::places(&event_columns(), &lines, &order);
    order::at(&lines, &places)
}

/// Writes a row per statement or per event of the extended SQL traces.
///
/// # Errors
/// Those of `out`.
pub fn trace_csv(result: &TraceResult, style: &TraceStyle, out: &mut dyn Write) -> io::Result<()> {
    let empty = DatabaseTime::default();
    let database = result.database.as_ref().unwrap_or(&empty);
    match style.by.unwrap_or(TraceBy::Statement) {
        TraceBy::Event => write(&event_columns(), &events(database, style), out),
        TraceBy::Statement => write(&statement_columns(), &statements(database, style), out),
    }
}

fn write<'a, T: Table>(
    columns: &[Column<T>],
    rows: &'a [T::Row<'a>],
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut writer = RowWriter::of(columns, Form::Csv);
    out.write_all(writer.head().as_bytes())?;
    let mut bytes = Vec::new();
    for row in rows {
        bytes.clear();
        writer.write(row, &mut bytes);
        out.write_all(&bytes)?;
    }
    Ok(())
}
