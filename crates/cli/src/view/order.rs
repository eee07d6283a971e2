//! What rows are sorted by: one column, the greatest first. The names are those above the columns.

use analysis::live::{ConnectionRow, SubjectRow};

/// An order: its name, and what it is by.
pub(super) type Order<R> = (&'static str, fn(&R) -> i64);

/// The place of the order that a column's heading names.
pub(super) fn order_named<R>(orders: &[Order<R>], heading: &str) -> Option<usize> {
    orders.iter().position(|(name, _)| *name == heading)
}

/// Where a column has parts of a whole or of a call.
fn millionths(n: f64) -> i64 {
    (n * 1e6) as i64
}

pub(super) const OPERATION_ORDERS: [Order<SubjectRow>; 10] = [
    ("time", |r| r.window.stats.total_ns),
    ("calls/s", |r| r.window.stats.count as i64),
    ("mean", |r| r.window.stats.mean_ns),
    ("p50", |r| r.window.stats.p50_ns),
    ("p90", |r| r.window.stats.p90_ns),
    ("p99", |r| r.window.stats.p99_ns),
    ("slowest", |r| r.window.stats.max_ns),
    ("out", |r| millionths(r.window.outstanding())),
    ("errors", |r| r.window.errors as i64),
    ("halves", |r| r.window.half_calls as i64),
];

pub(super) const CONNECTION_ORDERS: [Order<ConnectionRow>; 8] = [
    ("time", |c| c.total_ns),
    ("rate", |c| c.bps() as i64),
    ("calls", |c| c.calls as i64),
    ("slowest", |c| c.max_ns),
    ("rtt", |c| c.rtt_ns.unwrap_or(-1)),
    ("resent", |c| c.resent().map_or(-1, millionths)),
    ("out", |c| c.outstanding_most as i64),
    ("limited by", |c| {
        c.limit.as_ref().map_or(-1, |l| millionths(l.share))
    }),
];
