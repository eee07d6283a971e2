//! A direction's time, charged to one class after another: how much each class had, in how many
//! stretches, and which was the longest. Most directions have a few classes; only those take memory.

use super::plot::Band;
use super::span;
use model::{DirectionAccount, Mark, PerClass, Time, TimeClass, Timeline, Wait};
use serde::{Deserialize, Serialize};

/// Stretches of one class that are over.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Ended {
    class: TimeClass,
    stretches: u32,
    time_ns: u64,
    /// The packets between which the longest lay.
    longest: (Mark, Mark),
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ledger {
    /// Everything up to here is charged.
    pub settled: Mark,
    /// The stretch that goes on: its class, and where it began.
    class: Option<TimeClass>,
    first: Mark,
    ended: Vec<Ended>,
    /// Where in `ended` a class stands, counted from 1; 0 where it has no stretch yet.
    places: PerClass<u8>,
    /// Each stretch, where somebody looks at them.
    #[serde(skip)]
    band: Option<Box<Band>>,
    /// When, where somebody asks for that.
    timeline: Option<Timeline>,
}

impl Ledger {
    pub(super) fn new(first: Mark) -> Ledger {
        Ledger {
            settled: first,
            class: None,
            first,
            ended: Vec::new(),
            places: PerClass::of(0),
            band: None,
            timeline: None,
        }
    }

    pub(super) fn keep_timeline(&mut self) {
        self.timeline = Some(Timeline::default());
    }

    pub(super) fn drop_timeline(&mut self) {
        self.timeline = None;
    }

    pub(super) fn keep(&mut self, band: Band) {
        self.band = Some(Box::new(band));
    }

    /// How long it is until `now` since what is charged.
    #[inline]
    pub(super) fn open_ns(&self, now: Mark) -> i64 {
        span(self.settled.time, now.time)
    }

    /// Charges everything up to `until` that is not charged yet.
    #[inline]
    pub(super) fn charge(&mut self, class: TimeClass, until: Mark) {
        if until.time <= self.settled.time {
            return;
        }
        if self.class != Some(class) {
            self.end_stretch();
            self.class = Some(class);
            self.first = self.settled;
        }
        self.settled = until;
    }

    /// What is charged next begins a stretch, also of the same class.
    pub(super) fn end_stretch(&mut self) {
        let Some(class) = self.class.take() else {
            return;
        };
        let ns = between(self.first.time, self.settled.time);
        if let Some(band) = &mut self.band {
            band.add(class, self.first.time, self.settled.time);
        }
        if let Some(timeline) = &mut self.timeline {
            timeline.add(class, self.first.time, self.settled.time);
        }
        let place = usize::from(self.places[class]).wrapping_sub(1);
        let Some(ended) = self.ended.get_mut(place) else {
            return self.begin_class(class, ns);
        };
        // All stretches together are no longer than all time there is.
        ended.time_ns = ended.time_ns.wrapping_add(ns);
        ended.stretches = ended.stretches.wrapping_add(1);
        if ns > between(ended.longest.0.time, ended.longest.1.time) {
            ended.longest = (self.first, self.settled);
        }
    }

    #[cold]
    fn begin_class(&mut self, class: TimeClass, ns: u64) {
        if self.ended.len() == self.ended.capacity() {
            self.ended.reserve_exact(2);
        }
        self.ended.push(Ended {
            class,
            stretches: 1,
            time_ns: ns,
            longest: (self.first, self.settled),
        });
        self.places[class] = self.ended.len() as u8;
    }

    /// What each class had so far, the stretch that goes on included.
    pub(super) fn spent(&self) -> PerClass<i64> {
        let mut spent = PerClass::of(0);
        for ended in &self.ended {
            spent[ended.class] = i64::try_from(ended.time_ns).unwrap_or(i64::MAX);
        }
        if let Some(class) = self.class {
            let ns = span(self.first.time, self.settled.time);
            spent[class] = spent[class].saturating_add(ns);
        }
        spent
    }

    /// Ends the last stretch and writes everything into the account; gives the stretches that were kept.
    pub(super) fn finish(mut self, account: &mut DirectionAccount) -> Option<Box<Band>> {
        self.end_stretch();
        account.timeline = self.timeline.take().unwrap_or_default();
        for ended in &self.ended {
            account.time_ns[ended.class] = i64::try_from(ended.time_ns).unwrap_or(i64::MAX);
            account.stretches[ended.class] = ended.stretches;
            let (first, last) = ended.longest;
            account.longest[ended.class] = Some(Wait {
                first,
                last,
                ns: span(first.time, last.time),
            });
        }
        self.band
    }
}

/// Nanoseconds up to a later moment: of any two the difference fits without its sign.
fn between(first: Time, last: Time) -> u64 {
    last.0.wrapping_sub(first.0) as u64
}
