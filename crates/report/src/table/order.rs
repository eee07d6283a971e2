//! Rows in the order of one of their columns (`--sort`), and as many of them as are wanted (`--top`).
//!
//! What there is more or less of (counts, bytes, durations) comes with the most first, names, moments and numbers that
//! only tell one from another from the smallest on, and what is not known last. Rows that are alike stay in the order
//! that they had.

use super::{Cell, Column, ColumnKind, Get, Table};
use analysis::results::Order;
use std::cmp::Reverse;

/// What a row is sorted by.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    Most(Reverse<i128>),
    Least(i128),
    Name(String),
    Unknown,
}

/// The names that a list can be sorted by: those of programs, those with a unit without it too.
pub(crate) fn sortable<T: Table>(columns: &[Column<T>]) -> Vec<String> {
    let columns = columns.iter().filter(|c| can_sort(c));
    let names = columns.flat_map(|c| names(c).into_iter().flatten());
    names.collect()
}

fn can_sort<T: Table>(column: &Column<T>) -> bool {
    let whole = column.csv || (column.json && !column.kind.is_list());
    whole && matches!(column.get, Get::Cell(_) | Get::Of(_))
}

fn names<T: Table>(column: &Column<T>) -> [Option<String>; 2] {
    let word = column.word();
    let short = word.strip_suffix("_ns").map(str::to_owned);
    [Some(word), short]
}

/// The column of that name.
pub(crate) fn column<T: Table>(columns: &[Column<T>], name: &str) -> Option<Column<T>> {
    let mut columns = columns.iter().filter(|c| can_sort(c));
    let found = columns.find(|c| names(c).iter().flatten().any(|n| n == name));
    found.copied()
}

/// What a column says of a row, if it is one that rows can be sorted by.
pub(crate) fn cell<'a, T: Table>(column: &Column<T>, row: &'a T::Row<'a>) -> Cell<'a> {
    match column.get {
        Get::Cell(get) => get(row),
        Get::Of(get) => get(row, column),
        _ => Cell::Unknown,
    }
}

/// Its number; fractions in billionths, as nine digits behind the point tell apart what people can.
pub(crate) fn number(cell: &Cell<'_>) -> Option<i128> {
    match *cell {
        Cell::Unknown | Cell::Text(_) => None,
        Cell::Flag(flag) => Some(flag.into()),
        Cell::Hash(hash) => Some(hash.into()),
        Cell::Integer(n) => Some(n.into()),
        Cell::Natural(n) => Some(n.into()),
        Cell::Number(n) => Some((n * 1e9) as i128),
    }
}

/// Where a row belongs.
pub(crate) fn place<'a, T: Table>(column: &Column<T>, row: &'a T::Row<'a>) -> Place {
    let cell = cell(column, row);
    let Some(number) = number(&cell) else {
        return cell
            .text()
            .map_or(Place::Unknown, |text| Place::Name(text.into_owned()));
    };
    if let Cell::Flag(_) = cell {
        return Place::Most(Reverse(number));
    }
    match column.kind {
        ColumnKind::Count
        | ColumnKind::Bytes
        | ColumnKind::Rate
        | ColumnKind::Number
        | ColumnKind::Duration => Place::Most(Reverse(number)),
        _ => Place::Least(number),
    }
}

/// The places of rows in the order that is asked for, as many as are.
pub(crate) fn places<'a, T: Table>(
    columns: &[Column<T>],
    rows: &'a [T::Row<'a>],
    order: &Order,
) -> Vec<usize> {
    let mut places: Vec<usize> = (0..rows.len()).collect();
    let by = order.by.as_deref().and_then(|name| column(columns, name));
    if let Some(column) = by {
        places.sort_by_cached_key(|&i| rows.get(i).map(|row| place(&column, row)));
    }
    places.truncate(order.listed(rows.len()));
    places
}

/// The rows at these places.
pub(crate) fn at<R: Copy>(rows: &[R], places: &[usize]) -> Vec<R> {
    let rows = places.iter().filter_map(|&place| rows.get(place));
    rows.copied().collect()
}

/// What is not listed of a list that is in its `own` order, such as ` that waited less`, unless another is asked for.
pub(crate) fn further(order: &Order, more: &str, own: &str) -> String {
    let own = if order.by.is_none() { own } else { "" };
    let cure = match order.top {
        None => " (--all shows them)",
        Some(_) => "",
    };
    format!("… and {more}{own}{cure}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::{self, GroupRow};
    use crate::samples;
    use jiff::tz::TimeZone;

    fn listed(by: &str, top: Option<usize>) -> Vec<String> {
        let mut result = samples::ops();
        result.order = Order {
            by: Some(by.to_owned()),
            top,
        };
        let op = |row: &GroupRow<'_>| row.group.op.clone().unwrap_or_default();
        ops::rows(&result, &TimeZone::UTC).iter().map(op).collect()
    }

    #[test]
    fn what_there_is_more_of_comes_with_the_most_first_and_names_from_a_on() {
        assert_eq!(listed("p99_ns", None), ["READ", "GETATTR"]);
        assert_eq!(listed("p99", None), ["READ", "GETATTR"]);
        assert_eq!(listed("op", None), ["GETATTR", "READ"]);
        assert_eq!(listed("op", Some(1)), ["GETATTR"]);
    }

    #[test]
    fn what_is_not_known_comes_last() {
        assert_eq!(listed("client", None), ["READ", "GETATTR"]);
    }

    #[test]
    fn what_is_no_single_value_cannot_be_sorted_by() {
        let names = sortable(&ops::columns(["client"]));
        assert!(names.iter().any(|n| n == "total") && names.iter().any(|n| n == "client"));
        assert!(!names.iter().any(|n| n == "histogram"), "{names:?}");
    }
}
