//! # What it says
//! The side that is slow is slow while I/Os of its host's disks take long, or tasks
//! wait for them.
//!
//! # Why it costs time
//! Who works on a call waits for the disk below it. The time is the disk's, and not
//! that of the program that the call was made to.
//!
//! # How sure
//! Only said with what tools of that host say over time (--host), only of a side
//! that the packets accuse already, and only where it goes with its slow calls: the
//! side takes twice as long of a call while it is high, at least half of what is
//! slow lies there, and of all shifts of the counter against the calls no more than
//! one in twenty fits as well. So at least twenty intervals between samples are
//! needed. It has no cost of its own: server-slow, server-queue or client-host-slow
//! has it.
//!
//! # What to check next
//! iostat -x 1: await and aqu-sz of each disk at these times, and which of reads or
//! writes; biolatency, biosnoop (as --server-app they are the layer of the disks);
//! what else writes (backups, checkpoints), the array behind the disk.
//!
//! # When it is wrong
//! When the disk that is slow is none that these calls need. When a flood of the
//! calls themselves fills the disk's queue: then it is what they ask for that is
//! too much.

use super::{Entry, Of, Rule, pressed};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use trace::host::Counter;

pub(super) const ENTRY: Entry = Entry {
    code: "disk-slow",
    title: "a side that is slow while its host's disks are",
    side: None,
    of: Of::Calls,
    sure: [0.8, 0.7],
    source: include_str!("disk_slow.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let counters = [Counter::DiskAwait, Counter::IoPressure];
    let told = pressed::explains(facts, &counters)?;
    let what = match told.series.counter {
        Counter::DiskAwait => "what an I/O of a disk took",
        _ => "the time in which tasks waited for I/O",
    };
    let taking = match told.side {
        Side::Server => "The server took",
        _ => "The client took",
    };
    Some(Finding {
        title: "The host's disks are what it waits for".into(),
        why: told.why(what, taking),
        remedy: vec!["look at each disk of that host at these times (iostat -x), and at what else reads and writes there".into()],
        ..told.finding(Rule::DiskSlow, facts)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, found, pressed};
    use super::*;
    use crate::results::Fit;
    use ledger::Cause;

    /// The server has so much of the time for certain, and a counter of a side goes so with its calls.
    fn said(own_ns: i64, side: Side, counter: Counter, fit: Fit) -> Option<Finding> {
        found(Rule::DiskSlow, |f| {
            f.charge(Cause::Service, own_ns);
            f.hosts = vec![pressed(side, counter, fit)];
        })
    }

    #[test]
    fn what_goes_with_the_slow_calls_of_the_side_that_is_accused_explains_it() {
        let f = said(TOTAL_NS / 2, Side::Server, Counter::DiskAwait, Fit::Goes).unwrap();
        assert_eq!((f.side, f.cost_ns, f.fatal), (Side::Server, None, false));
        let why = f.why.to_string();
        assert!(
            why.contains(
                "The server took 50.0 ms of a call that began then, and 2.00 ms of others"
            ),
            "{why}"
        );
        assert!(
            f.facts
                .iter()
                .any(|n| n.name == "mean_while_high_ns" && n.value == 50 * MS)
        );
    }

    #[test]
    fn the_other_side_another_time_and_other_counters_explain_nothing() {
        let half = TOTAL_NS / 2;
        assert!(said(half, Side::Client, Counter::DiskAwait, Fit::Goes).is_none());
        assert!(said(half, Side::Server, Counter::CpuBusy, Fit::Goes).is_none());
        for fit in [
            Fit::NeverHigh,
            Fit::AlwaysHigh,
            Fit::TooFew,
            Fit::NotSlower,
            Fit::Elsewhere,
            Fit::Chance,
        ] {
            assert!(
                said(half, Side::Server, Counter::DiskAwait, fit).is_none(),
                "{fit:?}"
            );
        }
        assert!(found(Rule::DiskSlow, |_| ()).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_has_to_be_the_sides() {
        let of = |ns| said(ns, Side::Server, Counter::DiskAwait, Fit::Goes);
        assert!(of(TOTAL_NS / 4).is_some());
        assert!(of(TOTAL_NS / 4 - 1).is_none());
    }
}
