//! Which call has which row; and of a server's own operations within the calls that they serve, what of a call is before the
//! operation and behind it.

use super::span::Span;
use super::spread::{Bounds, Range, Spread};
use super::{AppFacts, Compared, ComparedBy, Whose};
use crate::ledgers::{Operations, Timed};
use crate::text::Text;

/// Calls and their operations.
#[derive(Default)]
pub struct Joined {
    /// How long the operation took, by the number of the call; only where its place or connection says that it is the call's,
    /// or nothing else may be by time. Of several that one encloses, sums are known and no single one.
    pub operations: Operations,
    /// Of how many it is known how long they waited before their operation began, and after it ended; in all.
    ordered: u64,
    before_ns: i64,
    behind_ns: i64,
    slow_ns: i64,
    /// How long slow calls took, and how much of that not in their operation.
    slow_took_ns: i64,
    slow_between_ns: i64,
}

impl Joined {
    pub(super) fn new(slow_ns: i64) -> Joined {
        Joined {
            slow_ns,
            ..Joined::default()
        }
    }

    /// By offset, or by connection, and time; `in_order` if row and call are on one clock.
    pub(super) fn add(&mut self, row: &Span, call: &Span, in_order: bool, whose: Whose) {
        let (outer, inner) = whose.outer_inner(row, call);
        let timed = Timed {
            ns: row.took(),
            before_ns: in_order.then(|| inner.from.saturating_sub(outer.from)),
        };
        self.operations.insert(call.call, timed);
        if in_order {
            self.order(row, call);
        }
        self.weigh(row, call);
    }

    pub(super) fn add_by_time(&mut self, row: &Span, call: &Span) {
        self.order(row, call);
        self.weigh(row, call);
    }

    /// Of operations whose steps are known, and their calls.
    pub(super) fn weigh_all(&mut self, operations: &Spread, calls: &[Span]) {
        let took = calls.iter().map(Span::took);
        (self.slow_took_ns, self.slow_between_ns) = operations.slow(took, self.slow_ns);
    }

    fn order(&mut self, row: &Span, call: &Span) {
        let add = |sum: &mut i64, ns: i64| *sum = sum.saturating_add(ns.max(0));
        self.ordered += 1;
        add(&mut self.before_ns, row.from.saturating_sub(call.from));
        add(&mut self.behind_ns, call.until.saturating_sub(row.until));
    }

    fn weigh(&mut self, row: &Span, call: &Span) {
        let took = call.took();
        if took >= self.slow_ns {
            self.slow_took_ns = self.slow_took_ns.saturating_add(took);
            let between = took.saturating_sub(row.took()).max(0);
            self.slow_between_ns = self.slow_between_ns.saturating_add(between);
        }
    }
}

/// What the server's own times say of its calls.
#[derive(Clone, Debug)]
pub struct ServerFacts {
    /// Operations that were compared, and those that were joined with their call.
    pub operations: u64,
    pub matched: u64,
    pub operation_mean_ns: i64,
    /// What calls take beyond their operation, on average and over all.
    pub beyond_mean_ns: i64,
    pub beyond_total_ns: i64,
    /// Of it, before the operation began and after it ended, where that is known.
    pub before_mean_ns: Option<i64>,
    pub behind_mean_ns: Option<i64>,
    /// How long slow calls took that were joined, and how much of that not in their operation.
    pub slow_took_ns: i64,
    pub slow_beyond_ns: i64,
    /// Where means are known by bounds alone: then `operation_mean_ns` is the middle, and what lies beyond the least.
    pub bounds: Option<Bounds>,
    pub by: ComparedBy,
    /// In words, how it was compared.
    pub basis: Text,
}

impl ServerFacts {
    /// How long an operation takes on average, as exactly as that is known.
    #[must_use]
    pub fn own(&self) -> Range {
        let exact = Range::exact(self.operation_mean_ns);
        self.bounds.map_or(exact, |b| b.own)
    }

    /// What its call takes beyond that.
    #[must_use]
    pub fn beyond(&self) -> Range {
        let exact = Range::exact(self.beyond_mean_ns);
        self.bounds.map_or(exact, |b| b.between)
    }

    pub(crate) fn of(compared: &Compared) -> ServerFacts {
        let (f, joined) = (&compared.facts, &compared.joined);
        let AppFacts {
            operations,
            matched,
            application_mean_ns,
            host_mean_ns,
            host_total_ns,
            bounds,
            by,
            ref basis,
            join: _,
        } = *f;
        let mean = |sum: i64| (joined.ordered > 0).then(|| sum / joined.ordered.max(1) as i64);
        ServerFacts {
            operations,
            matched,
            operation_mean_ns: application_mean_ns,
            beyond_mean_ns: host_mean_ns,
            beyond_total_ns: host_total_ns,
            before_mean_ns: mean(joined.before_ns),
            behind_mean_ns: mean(joined.behind_ns),
            slow_took_ns: joined.slow_took_ns,
            slow_beyond_ns: joined.slow_between_ns,
            bounds,
            by,
            basis: basis.clone(),
        }
    }
}
