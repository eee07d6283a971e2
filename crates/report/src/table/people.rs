//! Rows for people: cells of text under their headings, from columns.

use super::{Cell, Column, ColumnKind, Get, Table, rows};
use crate::page::{self, pad, pad_left};
use crate::text::{bytes, grouped, rate, tight};

/// The columns that people are shown of these rows.
pub(crate) fn shown<'a, T: Table>(columns: &[Column<T>], rows: &'a [T::Row<'a>]) -> Vec<Column<T>> {
    let said = |c: &&Column<T>| match c.shown.and_then(|s| s.only_if) {
        Some(says) => rows.iter().any(says),
        None => c.shown.is_some(),
    };
    columns.iter().filter(said).copied().collect()
}

/// Takes away the last column that says nothing of these rows, if there is one.
pub(crate) fn narrow<'a, T: Table>(columns: &mut Vec<Column<T>>, rows: &'a [T::Row<'a>]) -> bool {
    let idle = |c: &Column<T>| {
        let needed = c.shown.and_then(|s| s.needed_if);
        needed.is_some_and(|needed| !rows.iter().any(needed))
    };
    let last = columns.iter().rposition(idle);
    last.map(|last| columns.remove(last)).is_some()
}

/// The headings, and a line of cells for each row.
pub(crate) fn table<'a, T: Table>(
    columns: &[Column<T>],
    rows: &'a [T::Row<'a>],
) -> Vec<Vec<String>> {
    let headings = columns.iter().filter_map(|c| c.shown);
    let headings = headings.map(|s| s.heading.to_owned()).collect();
    let line = |row| columns.iter().map(|c| text(c, row)).collect();
    let lines = rows.iter().map(line);
    std::iter::once(headings).chain(lines).collect()
}

/// A value with its unit; `-` where it is not known.
fn text<'a, T: Table>(column: &Column<T>, row: &'a T::Row<'a>) -> String {
    let get = column.shown.and_then(|s| s.get).unwrap_or(column.get);
    let cell = match get {
        Get::Cell(get) => get(row),
        Get::Of(get) => get(row, column),
        Get::Plain(_) | Get::Json(_) | Get::Map(_) | Get::List(_) => {
            let mut text = Vec::new();
            rows::nested(&Column { get, ..*column }, row, &mut text);
            String::from_utf8_lossy(&text).into_owned().into()
        }
    };
    let in_full = column.shown.is_some_and(|s| s.in_full);
    match (cell, column.kind) {
        (Cell::Unknown, _) => "-".to_owned(),
        (Cell::Text(text), _) => text.into_owned(),
        (Cell::Natural(n), _) if in_full => n.to_string(),
        (Cell::Number(n), _) if in_full => format!("{n:.0}"),
        (Cell::Natural(n), ColumnKind::Rate) => rate(n).replace(' ', ""),
        (Cell::Integer(n), ColumnKind::Duration) => tight(n),
        (Cell::Natural(n), ColumnKind::Bytes) => bytes(n).replace(' ', ""),
        (Cell::Natural(n), ColumnKind::Count) => grouped(n),
        (Cell::Integer(n), _) => n.to_string(),
        (Cell::Natural(n), _) => n.to_string(),
        (Cell::Number(n), _) => n.to_string(),
        (Cell::Hash(hash), _) => format!("{hash:016x}"),
        (Cell::Flag(flag), _) => flag.to_string(),
    }
}

/// A table of which each line is written before the next row is known: a column is as wide as values of
/// its kind mostly are, and what is wider pushes the rest of its line aside. The first column is told by
/// the caller; those that the page is too narrow for go, as [`narrow`] takes them.
pub(crate) struct Lines<T: Table> {
    first: usize,
    columns: Vec<Column<T>>,
}

impl<T: Table> Lines<T> {
    pub(crate) fn new(columns: &[Column<T>], first: usize) -> Lines<T> {
        let mut columns = shown(columns, &[]);
        let wide = |columns: &[Column<T>]| columns.iter().map(width).sum::<usize>();
        while first + wide(&columns) > page::width() && narrow(&mut columns, &[]) {}
        Lines { first, columns }
    }

    pub(crate) fn head(&self, first: &str) -> String {
        self.cells(first, |c| c.shown.map_or("", |s| s.heading).to_owned())
    }

    pub(crate) fn line<'a>(&self, first: &str, row: &'a T::Row<'a>) -> String {
        self.cells(first, |c| text(c, row))
    }

    fn cells(&self, first: &str, cell: impl Fn(&Column<T>) -> String) -> String {
        let mut line = pad(first, self.first);
        for column in &self.columns {
            line.push(' ');
            line.push_str(&pad_left(&cell(column), width(column) - 1));
        }
        line
    }
}

/// Of a column and the space before it, where rows are not known yet.
fn width<T: Table>(column: &Column<T>) -> usize {
    let heading = column.shown.map_or("", |s| s.heading);
    let values = match column.kind {
        _ if column.shown.is_some_and(|s| s.in_full) => 5,
        ColumnKind::Rate => 10,
        ColumnKind::Count | ColumnKind::Bytes | ColumnKind::Duration => 6,
        _ => 8,
    };
    page::columns(heading).max(values) + 1
}
