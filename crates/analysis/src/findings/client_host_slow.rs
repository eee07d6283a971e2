//! # What it says
//! The application's operations take much longer than the calls they make: the time
//! is spent on the client host, above the wire.
//!
//! # Why it costs time
//! Between the application's request and the first byte on the wire, and between
//! the last byte and the application's return, the host schedules, copies, locks,
//! pages or queues.
//!
//! # How sure
//! Only said with the application's own latencies (--app). Operation by operation
//! where offset or time identify its call; mean against mean for averages and
//! lists of latencies, which is less sure. Of a distribution in steps only what its
//! bounds prove is counted.
//!
//! # What to check next
//! CPU run queue, paging, locks and file system layers of the client; NFS client
//! queue time (nfsiostat, mountstats).
//!
//! # When it is wrong
//! When the application's clock counts from another moment than assumed, such as
//! from before a queue of its own.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::text;

pub(super) const ENTRY: Entry = Entry {
    code: "client-host-slow",
    title: "time spent on the client host, above the wire",
    side: Some(Side::Client),
    of: Of::Application,
    sure: [0.9, 0.9],
    page: page!("client_host_slow.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let app = facts.app?;
    let slow = app.host_mean_ns >= facts.thresholds.fast_enough_ns
        && app.host_mean_ns.saturating_mul(4) >= app.application_mean_ns;
    // The queue of a capped client is that finding's cost, and no nanosecond is charged twice.
    let capped = Rule::ClientConcurrencyCap.check(facts);
    if !slow || capped.is_some_and(|f| f.cost_ns.is_some()) {
        return None;
    }
    let capture = facts.at_client().unwrap_or(&facts.captures[0]);
    Some(Finding {
        title: "The client host is slow".into(),
        cost_ns: Some(app.host_total_ns),
        first: capture.first,
        last: capture.last,
        facts: numbers([("application_mean_ns", app.application_mean_ns), ("host_mean_ns", app.host_mean_ns), ("operations", app.operations as i64)]),
        evidence: evidence::of_calls(facts, &capture.slowest, "the longest calls: what the wire adds at most"),
        why: text!(
            "The application waits {all} per operation, of which {above} are above the wire ({basis}).",
            all = app.own(),
            above = app.above(),
            basis = app.basis.clone(),
        ),
        remedy: vec!["look at CPU run queue, paging and locks of the client host, and at the NFS client's queue (nfsiostat)".into()],
        ..Rule::ClientHostSlow.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, found};
    use super::*;
    use crate::app::{AppFacts, ComparedBy};

    fn waits(application_ns: i64, above_ns: i64) -> Option<Finding> {
        found(Rule::ClientHostSlow, |f| {
            f.app = Some(AppFacts {
                operations: 10,
                matched: 10,
                application_mean_ns: application_ns,
                host_mean_ns: above_ns,
                host_total_ns: above_ns * 10,
                bounds: None,
                by: ComparedBy::Mean,
                basis: "a log".into(),
                join: None,
            });
        })
    }

    #[test]
    fn what_is_above_the_wire_is_the_client_host_s() {
        let f = waits(100 * MS, 60 * MS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(600 * MS)));
    }

    #[test]
    fn what_is_on_the_wire_is_not() {
        assert!(waits(100 * MS, MS).is_none());
        assert!(found(Rule::ClientHostSlow, |_| ()).is_none());
    }

    #[test]
    fn a_quarter_is_enough_if_it_is_slow_by_itself() {
        assert!(waits(8 * MS, 2 * MS).is_some());
        assert!(waits(8 * MS + 1, 2 * MS).is_none());
        assert!(waits(7 * MS, 2 * MS - 1).is_none());
    }
}
