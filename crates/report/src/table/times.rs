//! The columns of response times, which several outputs have.

use super::{Cell, Column, ColumnKind, Get, Table};
use analysis::stats::Summary;

/// An output whose rows have response times.
pub(crate) trait Timed: Table {
    fn times<'a>(row: &'a Self::Row<'a>) -> &'a Summary;
}

/// A duration that so many samples carry.
fn of<'a, T: Timed>(row: &'a T::Row<'a>, needs: u64, get: fn(&Summary) -> i64) -> Cell<'a> {
    let times = T::times(row);
    (times.count >= needs).then(|| get(times)).into()
}

const fn duration<T: Timed>(
    name: &'static str,
    help: &'static str,
    get: for<'a> fn(&'a T::Row<'a>) -> Cell<'a>,
) -> Column<T> {
    Column::new(name, ColumnKind::Duration, help, get).or_null()
}

/// Their columns. People see a quantile where the count carries it.
pub(crate) const fn times<T: Timed>() -> [Column<T>; 11] {
    let total = "all of them together";
    let exact = "whether percentiles are exact; else they are within 1 %";
    [
        Column::new("count", ColumnKind::Count, "how many were timed", |r| {
            T::times(r).count.into()
        })
        .shown("calls"),
        Column::new("total_ns", ColumnKind::Duration, total, |r| {
            T::times(r).total_ns.into()
        }),
        duration("mean_ns", "their mean, ns; null without one", |r| {
            of::<T>(r, 1, |s| s.mean_ns)
        })
        .shown("mean"),
        duration("min_ns", "the shortest", |r| of::<T>(r, 1, |s| s.min_ns)),
        duration("p50_ns", "half take no longer", |r| {
            of::<T>(r, 1, |s| s.p50_ns)
        })
        .shown("p50"),
        duration("p90_ns", "90 % take no longer", |r| {
            of::<T>(r, 1, |s| s.p90_ns)
        })
        .shown("p90")
        .seen_as(Get::Cell(|r| of::<T>(r, Summary::P90_NEEDS, |s| s.p90_ns))),
        duration("p95_ns", "95 % take no longer", |r| {
            of::<T>(r, 1, |s| s.p95_ns)
        }),
        duration("p99_ns", "99 % take no longer", |r| {
            of::<T>(r, 1, |s| s.p99_ns)
        })
        .shown("p99")
        .seen_as(Get::Cell(|r| of::<T>(r, Summary::P99_NEEDS, |s| s.p99_ns))),
        duration("p999_ns", "99.9 % take no longer", |r| {
            of::<T>(r, 1, |s| s.p999_ns)
        })
        .shown("p99.9")
        .seen_as(Get::Cell(|r| {
            of::<T>(r, Summary::P999_NEEDS, |s| s.p999_ns)
        }))
        .needed_if(|r| T::times(r).count >= Summary::P999_NEEDS),
        duration("max_ns", "the longest", |r| of::<T>(r, 1, |s| s.max_ns)).shown("max"),
        Column::new("exact", ColumnKind::Flag, exact, |r| {
            T::times(r).exact.into()
        })
        .only_json(),
    ]
}
