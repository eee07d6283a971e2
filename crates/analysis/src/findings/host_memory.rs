//! # What it says
//! The side that is slow is slow while its host has too little memory: tasks wait
//! for pages, or the system swaps.
//!
//! # Why it costs time
//! Memory that was given away comes back from disk, page by page, in the middle of
//! the work on a call; or a task frees memory itself before it gets some.
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
//! vmstat 1 (si, so), sar -B, /proc/pressure/memory, memory.events of its control
//! group; which process grew, and what the page cache was needed for.
//!
//! # When it is wrong
//! When pages that are swapped belong to none of the programs that serve these
//! calls.

use super::{Entry, Of, Rule, pressed};
use crate::facts::Facts;
use crate::results::Finding;
use trace::host::Counter;

pub(super) const ENTRY: Entry = Entry {
    code: "host-memory",
    title: "a side that is slow while its host lacks memory",
    side: None,
    of: Of::Calls,
    sure: [0.8, 0.7],
    page: page!("host_memory.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let counters = [Counter::MemoryPressure, Counter::Swap];
    let told = pressed::explains(facts, &counters)?;
    let what = match told.series.counter {
        Counter::MemoryPressure => "the time in which tasks waited for memory",
        _ => "what went to and came from swap",
    };
    Some(Finding {
        title: "The host's memory is what it waits for".into(),
        why: told.why_own(what),
        remedy: vec!["look at what took the memory of that host at these times, and at the limits of its control groups".into()],
        ..told.finding(Rule::HostMemory, facts)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::explaining::{self, Explains};
    use super::*;

    const EXPLAINS: Explains = Explains {
        rule: Rule::HostMemory,
        counter: Counter::MemoryPressure,
        another: Counter::CpuBusy,
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
