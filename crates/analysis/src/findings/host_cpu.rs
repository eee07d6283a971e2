//! # What it says
//! The side that is slow is slow while its host has too little processor time:
//! tasks wait for a processor, all are busy, or a hypervisor gives the time to
//! others.
//!
//! # Why it costs time
//! Who works on a call waits for a processor before each step, as often as it gives
//! one up. Storage and the network are fast meanwhile.
//!
//! # How sure
//! Only said with what tools of that host say over time (--host), only of a side
//! that the packets accuse already, and only where it goes with its slow calls: the
//! side takes twice as long of a call while it is high, at least half of what is
//! slow lies there, and of all shifts of the counter against the calls no more than
//! one in twenty fits as well. So at least twenty intervals between samples are
//! needed. It has no cost of its own: server-slow, server-queue, client-host-slow
//! or sender-application-limited has it.
//!
//! # What to check next
//! What ran at these times: pidstat 1, top, perf top; limits of its control group
//! (cpu.stat: nr_throttled), priorities, the hypervisor's own load where time was
//! stolen.
//!
//! # When it is wrong
//! When the processors are busy with the very calls that are slow, such as with a
//! statement that computes: then they are what the side does, and not what it waits
//! for. When something else, such as a backup, makes both the processors busy and
//! the calls slow.

use super::{Entry, Of, Rule, pressed};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use trace::host::Counter;

pub(super) const ENTRY: Entry = Entry {
    code: "host-cpu",
    title: "a side that is slow while its host's processors are",
    side: None,
    of: Of::Calls,
    sure: [0.8, 0.7],
    source: include_str!("host_cpu.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let counters = [
        Counter::CpuPressure,
        Counter::RunQueue,
        Counter::CpuSteal,
        Counter::CpuBusy,
    ];
    let told = pressed::explains(facts, &counters)?;
    let what = match told.series.counter {
        Counter::CpuPressure => "the time in which tasks waited for a processor",
        Counter::RunQueue => "the queue of tasks that could run",
        Counter::CpuSteal => "the time that the hypervisor gave to others",
        _ => "the processors' use",
    };
    let taking = match told.side {
        Side::Server => "The server took",
        _ => "The client took",
    };
    Some(Finding {
        title: "The host's processors are what it waits for".into(),
        why: told.why(what, taking),
        remedy: vec!["look at what else ran on that host at these times, at its limits of processor time, and at its hypervisor".into()],
        ..told.finding(Rule::HostCpu, facts)
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
        found(Rule::HostCpu, |f| {
            f.charge(Cause::Service, own_ns);
            f.hosts = vec![pressed(side, counter, fit)];
        })
    }

    #[test]
    fn what_goes_with_the_slow_calls_of_the_side_that_is_accused_explains_it() {
        let f = said(TOTAL_NS / 2, Side::Server, Counter::CpuPressure, Fit::Goes).unwrap();
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
        assert!(said(half, Side::Client, Counter::CpuPressure, Fit::Goes).is_none());
        assert!(said(half, Side::Server, Counter::MemoryPressure, Fit::Goes).is_none());
        for fit in [
            Fit::NeverHigh,
            Fit::AlwaysHigh,
            Fit::TooFew,
            Fit::NotSlower,
            Fit::Elsewhere,
            Fit::Chance,
        ] {
            assert!(
                said(half, Side::Server, Counter::CpuPressure, fit).is_none(),
                "{fit:?}"
            );
        }
        assert!(found(Rule::HostCpu, |_| ()).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_has_to_be_the_sides() {
        let of = |ns| said(ns, Side::Server, Counter::CpuPressure, Fit::Goes);
        assert!(of(TOTAL_NS / 4).is_some());
        assert!(of(TOTAL_NS / 4 - 1).is_none());
    }
}
