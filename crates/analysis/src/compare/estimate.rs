//! The path of a run that was captured at the server alone, where it is in no call: each call crosses it
//! once, in the shortest round trip that was seen.
//!
//! Without it, a path that grew longer, or calls that carry less and so cross it more often, would make
//! no difference, though every client waits for it.

use super::matching::round_trip;
use super::snapshot::{AccountLine, Snapshot};
use crate::facts::Basis;
use std::borrow::Cow;

/// Both runs, with the path where neither of them has it and the round trips of both are known.
pub(super) fn with_path<'a>(runs: [&'a Snapshot; 2]) -> Option<[Cow<'a, Snapshot>; 2]> {
    let alone = runs.iter().all(|r| r.basis == Basis::Server);
    let [Some(a), Some(b)] = runs.map(|r| round_trip(r).0) else {
        return None;
    };
    let [first, second] = runs;
    alone.then(|| [crossing(first, a), crossing(second, b)].map(Cow::Owned))
}

fn crossing(run: &Snapshot, trip_ns: i64) -> Snapshot {
    let mut run = run.clone();
    let of = |calls: u64| trip_ns.saturating_mul(i64::try_from(calls).unwrap_or(i64::MAX));
    run.parts
        .each(|block| block.path_ns = block.path_ns.saturating_add(of(block.calls)));
    let path = of(run.calls);
    run.total_ns = run.total_ns.saturating_add(path);
    run.lines.push((AccountLine::Path, path));
    run
}
