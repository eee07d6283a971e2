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
use crate::results::Finding;
use trace::host::Counter;

pub(super) const ENTRY: Entry = Entry {
    code: "host-cpu",
    title: "a side that is slow while its host's processors are",
    side: None,
    of: Of::Calls,
    sure: [0.8, 0.7],
    page: page!("host_cpu.rs"),
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
    Some(Finding {
        title: "The host's processors are what it waits for".into(),
        why: told.why_own(what),
        remedy: vec!["look at what else ran on that host at these times, at its limits of processor time, and at its hypervisor".into()],
        ..told.finding(Rule::HostCpu, facts)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::explaining::{self, Explains};
    use super::*;

    const EXPLAINS: Explains = Explains {
        rule: Rule::HostCpu,
        counter: Counter::CpuPressure,
        another: Counter::MemoryPressure,
    };

    #[test]
    fn what_goes_with_the_slow_calls_of_the_side_that_is_accused_explains_it() {
        explaining::is_said(&EXPLAINS);
    }

    #[test]
    fn the_other_side_another_time_and_other_counters_explain_nothing() {
        explaining::is_silent(&EXPLAINS);
    }

    #[test]
    fn a_quarter_of_the_time_has_to_be_the_sides() {
        explaining::has_a_border(&EXPLAINS);
    }
}
