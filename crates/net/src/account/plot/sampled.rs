//! Points of a curve into as many as may be kept: all of them, or of each stretch of time (a bucket)
//! those that are smallest and largest, as they were.
//!
//! Buckets are made twice as wide whenever there is too much, so that what is kept fills at least half
//! of its room, and the smallest of the smallest is what it would be if it had been looked for at once.

use model::{Points, Time};

/// The fewest points that can be kept of anything: the extremes of four buckets, as many as the widest
/// make of any times.
pub(super) const FEWEST: usize = 16;

pub(super) trait Point: Copy {
    fn time(&self) -> Time;
    /// What is drawn of it: its extremes are kept.
    fn measures(&self) -> [u64; 2];
}

#[derive(Debug)]
pub(super) struct Sampled<T> {
    limit: usize,
    origin: Time,
    width_ns: i64,
    /// Whether any was left out.
    thinned: bool,
    points: Vec<T>,
    seen: u64,
}

impl<T: Point> Sampled<T> {
    /// At most `limit` points, of a curve that is expected to last from `first` to `last`.
    pub(super) fn new(limit: usize, first: Time, last: Time) -> Sampled<T> {
        let limit = limit.max(FEWEST);
        Sampled {
            limit,
            origin: first,
            width_ns: ((last - first) / limit as i64).max(1),
            thinned: false,
            points: Vec::new(),
            seen: 0,
        }
    }

    pub(super) fn push(&mut self, point: T) {
        self.seen += 1;
        self.points.push(point);
        if self.points.len() >= 2 * self.limit {
            self.thin();
        }
    }

    /// Widens the buckets until what is kept of them fits.
    fn thin(&mut self) {
        self.thinned = true;
        loop {
            self.keep_extremes();
            if self.points.len() <= self.limit || self.width_ns == i64::MAX {
                return;
            }
            self.width_ns = self.width_ns.saturating_mul(2);
        }
    }

    fn keep_extremes(&mut self) {
        let (origin, width_ns) = (self.origin, self.width_ns);
        let bucket = |point: &T| (point.time() - origin).div_euclid(width_ns);
        // In order already, but where a clock stepped back.
        if !self.points.is_sorted_by_key(Point::time) {
            self.points.sort_by_key(bucket);
        }
        let mut kept = Vec::with_capacity(self.limit);
        let mut rest = self.points.as_slice();
        while let [first, behind @ ..] = rest {
            // One division for a bucket, not for each of its points.
            let end = bucket(first).checked_add(1);
            let end = end.and_then(|next| next.checked_mul(width_ns));
            let is_in = |p: &T| end.is_none_or(|end| p.time() - origin < end);
            let further = behind.iter().take_while(|p| is_in(p)).count();
            let (one, others) = rest.split_at(1 + further);
            rest = others;
            match one {
                [_] => kept.push(*first),
                _ => kept.extend(extremes(one)),
            }
        }
        self.points = kept;
    }

    pub(super) fn finish(mut self) -> Points<T> {
        if self.thinned || self.points.len() > self.limit {
            self.thin();
        }
        self.points.sort_by_key(Point::time);
        Points {
            points: self.points,
            seen: self.seen,
            bucket_ns: self.thinned.then_some(self.width_ns),
        }
    }
}

/// The points of a bucket that have the smallest or largest of a measure, in their order.
fn extremes<T: Point>(bucket: &[T]) -> impl Iterator<Item = T> {
    let mut chosen = [0; 4];
    let [mut least, mut most] = [bucket.first().map_or([0; 2], Point::measures); 2];
    for (i, point) in bucket.iter().enumerate() {
        let [low, high, other_low, other_high] = &mut chosen;
        let ([one, other], [least, other_least], [most, other_most]) =
            (point.measures(), &mut least, &mut most);
        for (measure, least, most, low, high) in [
            (one, least, most, low, high),
            (other, other_least, other_most, other_low, other_high),
        ] {
            if measure < *least {
                (*least, *low) = (measure, i);
            }
            if measure > *most {
                (*most, *high) = (measure, i);
            }
        }
    }
    chosen.sort_unstable();
    let mut last = None;
    let chosen = (chosen.into_iter()).filter(move |&i| last.replace(i) != Some(i));
    chosen.filter_map(|i| bucket.get(i).copied())
}

/// A curve with points that are marked, such as segments that were sent again: marked ones are kept
/// apart, so that they are not lost among the others.
#[derive(Debug)]
pub(super) struct Marked<T> {
    plain: Sampled<T>,
    marked: Sampled<T>,
}

impl<T: Point> Marked<T> {
    pub(super) fn new(limit: usize, first: Time, last: Time) -> Marked<T> {
        let marked = limit / 4;
        Marked {
            plain: Sampled::new(limit - marked, first, last),
            marked: Sampled::new(marked, first, last),
        }
    }

    pub(super) fn push(&mut self, point: T, marked: bool) {
        if marked {
            self.marked.push(point);
        } else {
            self.plain.push(point);
        }
    }

    pub(super) fn finish(self) -> Points<T> {
        let (mut all, marked) = (self.plain.finish(), self.marked.finish());
        all.points.extend(marked.points);
        all.points.sort_by_key(Point::time);
        Points {
            points: all.points,
            seen: all.seen + marked.seen,
            bucket_ns: all.bucket_ns.max(marked.bucket_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    struct At(i64, [u64; 2]);

    impl Point for At {
        fn time(&self) -> Time {
            Time(self.0)
        }

        fn measures(&self) -> [u64; 2] {
            self.1
        }
    }

    fn sampled(points: &[At], limit: usize, last: i64) -> Points<At> {
        let mut sampled = Sampled::new(limit, Time(0), Time(last));
        for point in points {
            sampled.push(*point);
        }
        sampled.finish()
    }

    fn any_points(most: usize) -> impl Strategy<Value = Vec<At>> {
        let time = prop_oneof![20 => 0..10_000i64, 1 => any::<i64>()];
        let point = (time, any::<[u16; 2]>());
        vec(
            point.prop_map(|(t, [a, b])| At(t, [a.into(), b.into()])),
            0..most,
        )
    }

    proptest! {
        #[test]
        fn what_fits_is_kept_whole(mut points in any_points(500)) {
            let all = sampled(&points, points.len(), 10_000);
            points.sort_by_key(Point::time);
            prop_assert_eq!((all.seen, all.bucket_ns), (points.len() as u64, None));
            prop_assert_eq!(all.points, points);
        }

        #[test]
        fn every_bucket_keeps_its_smallest_and_largest(
            points in any_points(400), limit in 0..100usize, last in 1..100_000i64,
        ) {
            let some = sampled(&points, limit, last);
            prop_assert!(some.points.len() <= limit.max(FEWEST));
            prop_assert!(some.points.is_sorted_by_key(Point::time));
            prop_assert_eq!(some.seen, points.len() as u64);
            let Some(width) = some.bucket_ns else {
                prop_assert_eq!(some.points.len(), points.len());
                return Ok(());
            };
            prop_assert!(some.points.len() < points.len());
            let bucket = |p: &&At| p.0.div_euclid(width);
            for one in &points {
                let same = |p: &&At| bucket(p) == bucket(&one);
                for i in 0..2 {
                    let range = |of: &[At]| {
                        let values: Vec<u64> = of.iter().filter(same).map(|p| p.1[i]).collect();
                        (values.iter().min().copied(), values.iter().max().copied())
                    };
                    prop_assert_eq!(range(&some.points), range(&points));
                }
            }
        }

        #[test]
        fn marked_points_are_kept_among_any_number_of_others(
            points in any_points(2_000), every in 50..100usize,
        ) {
            let mut curve = Marked::new(200, Time(0), Time(10_000));
            let is_marked = |i: usize| i.is_multiple_of(every);
            for (i, point) in points.iter().enumerate() {
                curve.push(*point, is_marked(i));
            }
            let kept = curve.finish();
            prop_assert!(kept.points.len() <= 200);
            prop_assert_eq!(kept.seen, points.len() as u64);
            for (_, point) in points.iter().enumerate().filter(|(i, _)| is_marked(*i)) {
                prop_assert!(kept.points.contains(point));
            }
        }
    }
}
