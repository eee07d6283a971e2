//! A direction's time, charged to one class after another: how much each class had, in how many
//! stretches, and which was the longest.

use super::span;
use model::{DirectionAccount, Mark, PerClass, TimeClass, Wait};

/// A stretch of one class that goes on, up to what is charged.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    class: TimeClass,
    first: Mark,
    ns: i64,
}

/// Stretches of one class that are over. Beside each other, as two or three classes take turns with
/// each segment; which was the longest is looked up there only when there is a longer one.
#[derive(Clone, Copy, Default, Debug)]
struct Ended {
    time_ns: i64,
    longest_ns: i64,
    stretches: u32,
}

#[derive(Debug)]
pub(super) struct Ledger {
    /// Everything up to here is charged.
    pub settled: Mark,
    stretch: Option<Stretch>,
    ended: PerClass<Ended>,
    longest: PerClass<Option<Wait>>,
}

impl Ledger {
    pub(super) fn new(first: Mark) -> Ledger {
        Ledger {
            settled: first,
            stretch: None,
            ended: PerClass::default(),
            longest: PerClass::default(),
        }
    }

    /// How long it is until `now` since what is charged.
    pub(super) fn open_ns(&self, now: Mark) -> i64 {
        span(self.settled.time, now.time)
    }

    /// Charges everything up to `until` that is not charged yet.
    pub(super) fn charge(&mut self, class: TimeClass, until: Mark) {
        let ns = self.open_ns(until);
        if ns == 0 {
            return;
        }
        match &mut self.stretch {
            Some(stretch) if stretch.class == class => stretch.ns = stretch.ns.saturating_add(ns),
            _ => {
                self.end_stretch();
                let first = self.settled;
                self.stretch = Some(Stretch { class, first, ns });
            }
        }
        self.settled = until;
    }

    fn end_stretch(&mut self) {
        let Some(Stretch { class, first, ns }) = self.stretch else {
            return;
        };
        let ended = &mut self.ended[class];
        ended.time_ns = ended.time_ns.saturating_add(ns);
        ended.stretches = ended.stretches.saturating_add(1);
        if ns > ended.longest_ns {
            ended.longest_ns = ns;
            let last = self.settled;
            self.longest[class] = Some(Wait { first, last, ns });
        }
    }

    /// Ends the last stretch and writes everything into the account.
    pub(super) fn finish(mut self, account: &mut DirectionAccount) {
        self.end_stretch();
        for (class, ended) in self.ended.iter() {
            account.time_ns[class] = ended.time_ns;
            account.stretches[class] = ended.stretches;
        }
        account.longest = self.longest;
    }
}
