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
use crate::results::Finding;
use trace::host::Counter;

pub(super) const ENTRY: Entry = Entry {
    code: "disk-slow",
    title: "a side that is slow while its host's disks are",
    side: None,
    of: Of::Calls,
    sure: [0.8, 0.7],
    page: page!("disk_slow.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let counters = [Counter::DiskAwait, Counter::IoPressure];
    let told = pressed::explains(facts, &counters)?;
    let what = match told.series.counter {
        Counter::DiskAwait => "what an I/O of a disk took",
        _ => "the time in which tasks waited for I/O",
    };
    Some(Finding {
        title: "The host's disks are what it waits for".into(),
        why: told.why_own(what),
        remedy: vec!["look at each disk of that host at these times (iostat -x), and at what else reads and writes there".into()],
        ..told.finding(Rule::DiskSlow, facts)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::explaining::{self, Explains};
    use super::*;

    const EXPLAINS: Explains = Explains {
        rule: Rule::DiskSlow,
        counter: Counter::DiskAwait,
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
