//! From when to when something was under way: an operation that a row tells of, or a call.

use model::{Call, ConnectionId};
use trace::{Histogram, Operation, OperationKind};

/// The clock of rows is looked for so far around the capture's.
pub(super) const CLOCKS_APART_NS: i64 = 1_000_000_000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Span {
    pub(super) from: i64,
    pub(super) until: i64,
    pub(super) kind: OperationKind,
    /// Of the hosts that rows name.
    pub(super) client: Option<u16>,
    /// Of the connections that rows name.
    pub(super) session: Option<u32>,
    /// Whether its offset is known.
    pub(super) placed: bool,
    /// Which of its capture's calls it is, and over which connection; of rows nothing.
    pub(super) call: u64,
    pub(super) connection: ConnectionId,
}

impl Span {
    pub(super) fn of(o: &Operation) -> Span {
        Span {
            from: o.start_ns,
            until: o.end_ns,
            kind: o.kind,
            client: o.client,
            session: o.session,
            placed: o.offset.is_some(),
            call: 0,
            connection: ConnectionId(0),
        }
    }

    /// The same on a clock that is so far behind.
    pub(super) fn earlier(self, by_ns: i64) -> Span {
        Span {
            from: self.from.saturating_sub(by_ns),
            until: self.until.saturating_sub(by_ns),
            ..self
        }
    }

    /// The same as one of this session.
    pub(super) fn of_session(self, session: u32) -> Span {
        Span {
            session: Some(session),
            ..self
        }
    }

    pub(super) fn took(&self) -> i64 {
        self.until.saturating_sub(self.from)
    }
}

/// What a call is to who writes rows.
pub(super) fn kind_of(call: &Call) -> OperationKind {
    kind_of_op(call.op.as_str())
}

pub(crate) fn kind_of_op(op: &str) -> OperationKind {
    match op {
        "READ" => OperationKind::Read,
        "WRITE" => OperationKind::Write,
        _ => OperationKind::Other,
    }
}

/// Distributions of operations that calls ask for one by one. Where reads or writes are among them, others are not: a file
/// system is opened and synchronised by itself.
pub(crate) fn held_against_calls(all: &[Histogram]) -> impl Iterator<Item = &Histogram> {
    let is_data = |kind| matches!(kind, OperationKind::Read | OperationKind::Write);
    let any_data = all.iter().any(|h| is_data(h.kind));
    let wanted = move |h: &&Histogram| !any_data || h.kind != OperationKind::Other;
    all.iter().filter(wanted)
}

/// Whether it was under way between two moments.
pub(super) fn overlaps(s: &Span, (first, last): (i64, i64)) -> bool {
    s.until >= first && s.from <= last
}

/// From so much earlier to so much later.
pub(super) fn widened((first, last): (i64, i64), by: i64) -> (i64, i64) {
    (first.saturating_sub(by), last.saturating_add(by))
}

pub(super) fn mean_ns(values: impl Iterator<Item = i64>) -> i64 {
    let (sum, n) = values.fold((0i128, 0i128), |(sum, n), v| (sum + i128::from(v), n + 1));
    (sum / n.max(1)) as i64
}
