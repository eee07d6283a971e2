//! What a direction's time went to, stretch by stretch, in as many as may be kept: all of them, or a
//! row of cells of the same width, each of which shows one of the classes that had part of it: the one
//! that is owed most, counted from the first cell on. So the row shows classes in the shares that they
//! have, where the one with most of each cell would hide all others.

use model::{PerClass, PlotBand, PlotStretch, Time, TimeClass};

#[derive(Debug)]
pub(crate) struct Band {
    limit: usize,
    origin: Time,
    width_ns: i64,
    seen: u64,
    /// While they fit; then they are in the cells.
    stretches: Vec<PlotStretch>,
    cells: Vec<PerClass<i64>>,
    /// Where the first stretch begins and the last ends.
    first: Time,
    until: Time,
    time_ns: PerClass<i64>,
}

impl Band {
    /// At most `limit` stretches, of a connection that is expected to last from `first` to `last`.
    pub(crate) fn new(limit: usize, first: Time, last: Time) -> Band {
        let limit = limit.max(1);
        Band {
            limit,
            origin: first,
            width_ns: ((last - first) / limit as i64).saturating_add(1).max(1),
            seen: 0,
            stretches: Vec::new(),
            cells: Vec::new(),
            first,
            until: first,
            time_ns: PerClass::default(),
        }
    }

    /// The next stretch, which begins where the one before ends.
    pub(crate) fn add(&mut self, class: TimeClass, first: Time, until: Time) {
        let stretch = PlotStretch {
            first,
            until,
            class,
        };
        if self.seen == 0 {
            self.first = first;
        }
        self.seen += 1;
        self.until = until;
        let total = &mut self.time_ns[class];
        *total = total.saturating_add(until - first);
        if self.cells.is_empty() && self.stretches.len() < self.limit {
            self.stretches.push(stretch);
            return;
        }
        if self.cells.is_empty() {
            self.cells.resize(self.limit, PerClass::default());
        }
        for kept in std::mem::take(&mut self.stretches) {
            self.spread(kept);
        }
        self.spread(stretch);
    }

    /// Charges the cells in which a stretch lies; what is outside of them is the first's or last's.
    fn spread(&mut self, stretch: PlotStretch) {
        let (origin, width_ns) = (self.origin, self.width_ns);
        let last = self.cells.len().saturating_sub(1);
        let cell = |t: Time| ((t - origin).div_euclid(width_ns)).clamp(0, last as i64) as usize;
        let (from, to) = (cell(stretch.first), cell(stretch.until));
        let cells = self.cells.iter_mut().enumerate();
        for (i, cell) in cells.take(to + 1).skip(from) {
            let start = origin + width_ns.saturating_mul(i as i64);
            let begins = if i == from { stretch.first } else { start };
            let ends = if i == to {
                stretch.until
            } else {
                start + width_ns
            };
            let time = &mut cell[stretch.class];
            *time = time.saturating_add(ends - begins);
        }
    }

    pub(crate) fn finish(self) -> PlotBand {
        let summed = !self.cells.is_empty();
        let mut stretches = self.stretches;
        let mut begins = self.first;
        let mut owed = PerClass::<i128>::default();
        for (i, cell) in (1..).zip(&self.cells) {
            let mut shown: Option<TimeClass> = None;
            let mut all_ns = 0;
            for (class, &ns) in cell.iter().filter(|(_, ns)| **ns > 0) {
                all_ns += i128::from(ns);
                owed[class] += i128::from(ns);
                if shown.is_none_or(|other| owed[class] > owed[other]) {
                    shown = Some(class);
                }
            }
            let Some(class) = shown else { continue };
            owed[class] -= all_ns;
            let until = if i == self.limit as i64 {
                self.until
            } else {
                self.until
                    .min(self.origin + self.width_ns.saturating_mul(i))
            };
            match stretches.last_mut() {
                Some(PlotStretch {
                    class: c, until: u, ..
                }) if *c == class => *u = until,
                _ => stretches.push(PlotStretch {
                    first: begins,
                    until,
                    class,
                }),
            }
            begins = until;
        }
        PlotBand {
            stretches,
            seen: self.seen,
            bucket_ns: summed.then_some(self.width_ns),
            time_ns: self.time_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[test]
    fn classes_are_shown_in_the_shares_that_they_have() {
        let mut band = Band::new(100, Time(0), Time(100_000));
        for i in 0..1_000 {
            let at = Time(i * 100);
            band.add(TimeClass::Idle, at, at + 70);
            band.add(TimeClass::Transfer, at + 70, at + 95);
            band.add(TimeClass::Unknown, at + 95, at + 100);
        }
        let band = band.finish();
        let shown = |class| {
            let of_class = band.stretches.iter().filter(|s| s.class == class);
            of_class.map(|s| s.until - s.first).sum::<i64>()
        };
        let classes = [TimeClass::Idle, TimeClass::Transfer, TimeClass::Unknown];
        assert_eq!(classes.map(|c| (shown(c) + 500) / 1_000), [70, 25, 5]);
    }

    proptest! {
        #[test]
        fn bands_have_no_gaps_and_their_sums_are_exact(
            lengths in vec((1..1_000i64, 0..11usize), 1..400),
            limit in 1..300usize,
            expected in 0..200_000i64,
        ) {
            let origin = Time(5_000);
            let mut band = Band::new(limit, origin, origin + expected);
            let (mut now, mut sums) = (origin, PerClass::<i64>::default());
            for &(ns, class) in &lengths {
                let class = TimeClass::ALL[class];
                band.add(class, now, now + ns);
                sums[class] += ns;
                now = now + ns;
            }
            let band = band.finish();
            prop_assert_eq!(band.time_ns, sums);
            prop_assert_eq!(band.seen, lengths.len() as u64);
            prop_assert!(band.stretches.len() <= limit);
            let mut at = origin;
            for stretch in &band.stretches {
                prop_assert_eq!(stretch.first, at);
                prop_assert!(stretch.until > stretch.first);
                at = stretch.until;
            }
            prop_assert_eq!(at, now);
            if lengths.len() <= limit {
                prop_assert_eq!(band.bucket_ns, None);
                prop_assert_eq!(band.stretches.len(), lengths.len());
            }
            // What is shown in a cell had part of it.
            let width = band.bucket_ns.unwrap_or(i64::MAX / 2);
            for stretch in band.stretches.iter().filter(|_| band.bucket_ns.is_some()) {
                let mut from = stretch.first;
                while from < stretch.until {
                    let cell = ((from - origin) / width).min(limit as i64 - 1);
                    let last = cell == limit as i64 - 1;
                    let until = if last { stretch.until } else { stretch.until.min(origin + (cell + 1) * width) };
                    let mut at = origin;
                    let part = lengths.iter().any(|&(ns, class)| {
                        let (first, end) = (at, at + ns);
                        at = end;
                        TimeClass::ALL[class] == stretch.class && first < until && end > from
                    });
                    prop_assert!(part, "{stretch:?} from {from:?}");
                    from = until;
                }
            }
        }
    }
}
