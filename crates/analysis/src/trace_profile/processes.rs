//! The processes whose traces stand in one file, as `trcsess` joins them: each has cursors of its own, and calls that hold
//! its own waits and recursive calls alone.

use super::HashMap;
use super::nesting::Nesting;
use model::limits::{TRACE_CURSORS, TRACE_PROCESSES};
use std::collections::VecDeque;

/// What is kept of one.
#[derive(Default)]
pub(super) struct Process {
    number: Option<u64>,
    /// Which statement a cursor stands for, and whether it is open: numbers are used again.
    pub(super) cursors: HashMap<u64, (usize, bool)>,
    pub(super) nesting: Nesting,
}

#[derive(Default)]
pub(super) struct Processes {
    /// The one whose lines are read.
    pub(super) now: Process,
    /// The others, the one that was heard of last behind.
    others: VecDeque<Process>,
}

impl Process {
    /// Cursors, waits and calls that are kept.
    fn weight(&self) -> usize {
        self.cursors.len() + self.nesting.len()
    }
}

impl Processes {
    /// What follows is of this one; gives back those for which there is no room any more.
    pub(super) fn turn_to(&mut self, number: u64) -> Vec<Process> {
        if self.now.number == Some(number) {
            return Vec::new();
        }
        let at = self.others.iter().position(|p| p.number == Some(number));
        let next = at.and_then(|at| self.others.remove(at));
        let next = next.unwrap_or_else(|| Process {
            number: Some(number),
            ..Process::default()
        });
        let last = std::mem::replace(&mut self.now, next);
        if last.weight() > 0 {
            self.others.push_back(last);
        }
        let mut forgotten = Vec::new();
        let mut weight: usize = self.others.iter().map(Process::weight).sum();
        while self.others.len() > TRACE_PROCESSES || weight > TRACE_CURSORS {
            let Some(oldest) = self.others.pop_front() else {
                break;
            };
            weight -= oldest.weight();
            forgotten.push(oldest);
        }
        forgotten
    }

    /// All of them: the file is over.
    pub(super) fn take(&mut self) -> Vec<Process> {
        let mut all: Vec<Process> = self.others.drain(..).collect();
        all.push(std::mem::take(&mut self.now));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_cursors_and_the_one_silent_for_longest_goes_first() {
        let mut processes = Processes::default();
        for number in 1..=TRACE_PROCESSES as u64 + 1 {
            assert!(processes.turn_to(number).is_empty());
            processes.now.cursors.insert(7, (number as usize, true));
        }
        assert!(processes.turn_to(1).is_empty());
        assert_eq!(processes.now.cursors[&7], (1, true));
        let forgotten = processes.turn_to(9_999_999);
        assert_eq!(forgotten.len(), 1);
        assert_eq!(forgotten[0].cursors[&7], (2, true));
        assert_eq!(processes.take().len(), TRACE_PROCESSES + 1);
    }
}
