//! Aligns two clocks from two-way traffic (Moon, Skelly and Towsley 1999; Zhang, Liu and Xia 2002).
//!
//! Let θ(t) be the server's clock minus the client's. A request seen at both ends gives
//! d = t_server − t_client = delay + θ, a reply e = t_client − t_server = delay − θ. Delays are not
//! negative, so −e ≤ θ ≤ d at all times. Of the lines inside that corridor the one with the most room
//! is taken; half the room is what nobody can know: how the smallest round trip is split between the
//! two directions.
//!
//! Where no line fits, a clock was set meanwhile: the corridor before and the one behind are apart, and each has a line of
//! its own. What calls took there and back is summed by stretch of time, so that each is split by the line of its part.
//!
//! Memory is bounded: only the smallest d and e of each of at most [`BINS`] stretches of time are
//! kept. Raw clocks that fit into the corridor are taken to be synchronised, and it is said that this
//! is an assumption.

use crate::results::{Clock, ClockBasis};
use model::Time;

/// Stretches of time kept; when they run out, neighbours are joined.
const BINS: usize = 1024;

/// Raw clocks may contradict each other by this much and still be taken for one: time stamps of one
/// host's interfaces differ by as much.
const TOLERANCE_NS: i64 = 20_000;

/// A corridor that is said to begin behind a step has been seen both ways in so many stretches of time, and is so far from
/// the one before it.
const SEEN: usize = 3;
const STEP_NS: f64 = 1_000_000.0;

/// More steps than this are no steps: something else is wrong.
const STEPS: usize = 8;

/// Each of two clocks that run at all is within 500 ppm of the time (NTP slews by no more).
const MAX_DRIFT: f64 = 1000e-6;

#[derive(Clone, Copy, Debug)]
struct Bin {
    /// Time and value of the smallest.
    forward: Option<(i64, i64)>,
    backward: Option<(i64, i64)>,
    ways: Ways,
}

/// Sums of the calls that were sent in a stretch of time.
#[derive(Clone, Copy, Default, Debug)]
struct Ways {
    calls: u64,
    /// When, since the first.
    at: i128,
    /// Network out, the server's wait and network back, by raw clocks.
    parts: [i128; 3],
    /// When the last of them had its answer.
    until: i64,
}

impl Ways {
    fn add(&mut self, other: &Ways) {
        self.calls += other.calls;
        self.at += other.at;
        self.until = match self.calls == other.calls {
            true => other.until,
            false => self.until.max(other.until),
        };
        for (own, other) in self.parts.iter_mut().zip(other.parts) {
            *own += other;
        }
    }
}

/// One clock was set against the other: between these two times on the client's clock, the server's is so much further
/// ahead behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    pub after: Time,
    pub before: Time,
    pub by_ns: i64,
}

/// How two clocks stand to each other.
#[derive(Clone, Default, Debug)]
pub struct Aligned {
    pub clock: Option<Clock>,
    /// No clocks that run fit, and there are too few calls to say when one was set.
    pub is_torn: bool,
    pub steps: Vec<Step>,
    /// Where one was set: the alignments before and behind, by the client's time of their first call.
    pub parts: Vec<(Time, Clock)>,
    /// There, the calls that lie within one of them, and their mean network out, server's wait and network back.
    pub ways: Option<(u64, [i64; 3])>,
    /// From when to when it is not known, or is another one: on the client's clock.
    pub unsure: Vec<(Time, Time)>,
}

/// The corridor, as far as seen.
#[derive(Clone, Debug)]
pub struct Corridor {
    start: Option<i64>,
    width_ns: i64,
    bins: Vec<Bin>,
}

impl Default for Corridor {
    fn default() -> Corridor {
        Corridor {
            start: None,
            width_ns: 10_000_000,
            bins: Vec::new(),
        }
    }
}

fn keep(slot: &mut Option<(i64, i64)>, sample: (i64, i64)) {
    if slot.is_none_or(|(_, v)| sample.1 < v) {
        *slot = Some(sample);
    }
}

impl Corridor {
    /// Adds a matched call: when its request's last byte passed each capture (client's clock, server's
    /// clock), and its reply's.
    pub fn add(&mut self, request: (Time, Time), reply: (Time, Time)) {
        let (t1, t2) = (request.0.0, reply.0.0);
        let (d, e) = (request.1 - request.0, reply.0 - reply.1);
        if let Some(bin) = self.bin(t1) {
            keep(&mut bin.forward, (t1, d));
        }
        if let Some(bin) = self.bin(t2) {
            keep(&mut bin.backward, (t2, e));
        }
    }

    /// Adds what the same call took there, at the server, and back, by raw clocks; sent and answered at these times on the
    /// client's clock. It comes behind [`add`](Corridor::add).
    pub fn add_ways(&mut self, sent: Time, answered: Time, parts: [i64; 3]) {
        let start = self.start.unwrap_or(sent.0);
        if let Some(bin) = self.bin(sent.0) {
            bin.ways.add(&Ways {
                calls: 1,
                at: i128::from(sent.0) - i128::from(start),
                parts: parts.map(i128::from),
                until: answered.0,
            });
        }
    }

    fn bin(&mut self, t: i64) -> Option<&mut Bin> {
        let start = *self.start.get_or_insert(t);
        let mut index = (t.saturating_sub(start).max(0) / self.width_ns) as usize;
        while index >= BINS {
            self.halve();
            index = (t.saturating_sub(start).max(0) / self.width_ns) as usize;
        }
        if index >= self.bins.len() {
            self.bins.resize(
                index + 1,
                Bin {
                    forward: None,
                    backward: None,
                    ways: Ways::default(),
                },
            );
        }
        self.bins.get_mut(index)
    }

    /// Joins neighbouring bins.
    fn halve(&mut self) {
        self.width_ns = self.width_ns.saturating_mul(2);
        self.bins = self
            .bins
            .chunks(2)
            .map(|pair| {
                let mut joined = Bin {
                    forward: None,
                    backward: None,
                    ways: Ways::default(),
                };
                for bin in pair {
                    bin.forward
                        .into_iter()
                        .for_each(|s| keep(&mut joined.forward, s));
                    bin.backward
                        .into_iter()
                        .for_each(|s| keep(&mut joined.backward, s));
                    joined.ways.add(&bin.ways);
                }
                joined
            })
            .collect();
    }

    /// The smallest request delay and reply delay plus and minus the offset, after taking out a drift.
    fn floor(&self, origin: i64, drift: f64) -> Option<(f64, f64)> {
        let at = |(t, v): (i64, i64), sign: f64| v as f64 - sign * drift * (t - origin) as f64;
        let min = |it: &mut dyn Iterator<Item = f64>| {
            it.fold(None, |m: Option<f64>, v| Some(m.map_or(v, |m| m.min(v))))
        };
        let forward = min(&mut self
            .bins
            .iter()
            .filter_map(|b| b.forward)
            .map(|s| at(s, 1.0)))?;
        let backward = min(&mut self
            .bins
            .iter()
            .filter_map(|b| b.backward)
            .map(|s| at(s, -1.0)))?;
        Some((forward, backward))
    }

    /// The alignment; `None` without a matched call. A `given` offset is taken as it is.
    #[must_use]
    pub fn solve(&self, given: Option<i64>) -> Option<Clock> {
        let start = self.start?;
        let last = self
            .bins
            .iter()
            .rev()
            .find_map(|b| b.forward.or(b.backward))?
            .0;
        let origin = start + (last - start) / 2;
        let (forward, backward) = self.floor(origin, 0.0)?;
        // The true offset lies in the corridor; one that was not chosen in its middle may be as far
        // from it as the farther of its sides.
        let far = |offset: f64| (forward - offset).abs().max((offset + backward).abs());
        let clock = |basis, offset: f64, drift: f64, uncertainty: f64| Clock {
            basis,
            offset_ns: offset as i64,
            drift_ppm: drift * 1e6,
            uncertainty_ns: uncertainty.abs().ceil() as i64,
            offset_at: Time(origin.saturating_add(offset as i64)),
        };
        if let Some(given) = given {
            return Some(clock(
                ClockBasis::Given,
                given as f64,
                0.0,
                far(given as f64),
            ));
        }
        if forward >= -(TOLERANCE_NS as f64) && backward >= -(TOLERANCE_NS as f64) {
            return Some(clock(ClockBasis::AssumedSynchronised, 0.0, 0.0, far(0.0)));
        }
        let drift = self.drift(origin)?;
        let (forward, backward) = self.floor(origin, drift)?;
        Some(clock(
            ClockBasis::Estimated,
            (forward - backward) / 2.0,
            drift,
            (forward + backward) / 2.0,
        ))
    }

    /// The alignment, and when clocks were set, if that is what keeps a line from fitting: then no one alignment is right.
    #[must_use]
    pub fn align(&self, given: Option<i64>) -> Aligned {
        let parts = match given {
            Some(_) => Vec::new(),
            None => self.parts(),
        };
        let steps: Option<Vec<Step>> = parts.windows(2).map(Corridor::step).collect();
        let mut aligned = Aligned {
            clock: self.solve(given),
            ..Aligned::default()
        };
        let (Some(steps), Some(first), Some(last)) = (steps, parts.first(), parts.last()) else {
            aligned.is_torn = given.is_none() && self.room() < -STEP_NS;
            aligned.clock = aligned.clock.filter(|_| !aligned.is_torn);
            return aligned;
        };
        aligned.clock = match steps.is_empty() {
            true => first.solve(None),
            false => None,
        };
        let whole = self.span().zip(first.span()).zip(last.span());
        if let Some(((whole, first), last)) = whole {
            let begins = (first.0 > whole.0).then_some((Time::MIN, Time(first.0)));
            let ends = (last.1 < whole.1).then_some((Time(last.1), Time::MAX));
            let within = steps.iter().map(|step| (step.after, step.before));
            aligned.unsure = begins.into_iter().chain(within).chain(ends).collect();
        }
        if !steps.is_empty() {
            let of = |part: &Corridor| Some((Time(part.span()?.0), part.solve(None)?));
            aligned.parts = parts.iter().filter_map(of).collect();
            aligned.ways = Corridor::ways(&parts);
        }
        aligned.steps = steps;
        aligned
    }

    /// The mean parts of the calls that lie within one of these.
    fn ways(parts: &[Corridor]) -> Option<(u64, [i64; 3])> {
        let mut sum = Ways::default();
        for part in parts {
            let (clock, (_, last)) = part.solve(None).zip(part.span())?;
            let within = part.bins.iter().map(|bin| &bin.ways);
            for ways in within.filter(|w| w.calls > 0 && w.until <= last) {
                let shift = part.offset_sum(&clock, ways.at, ways.calls);
                let [out, server, back] = ways.parts;
                sum.add(&Ways {
                    parts: [out - shift, server, back + shift],
                    ..*ways
                });
            }
        }
        let calls = (sum.calls > 0).then_some(sum.calls)?;
        Some((calls, sum.parts.map(|ns| (ns / i128::from(calls)) as i64)))
    }

    /// The sum of the clock's offset over so many calls, whose times since the first sum to `at`.
    fn offset_sum(&self, clock: &Clock, at: i128, calls: u64) -> i128 {
        let base = clock.offset_at.0 - clock.offset_ns - self.start.unwrap_or(0);
        let drifted = (at as f64 - base as f64 * calls as f64) * clock.drift_ppm * 1e-6;
        i128::from(clock.offset_ns) * i128::from(calls) + drifted as i128
    }

    /// The stretches of time in which a line fits, where none fits all; what lies between them is too short to tell.
    fn parts(&self) -> Vec<Corridor> {
        let mut parts: Vec<Corridor> = Vec::new();
        let mut left = self.bins.as_slice();
        for _ in 0..2 * STEPS {
            // With more to fit, less does.
            let fits = |count: usize| self.of(left.get(..count).unwrap_or(left)).fits();
            let (mut fit, mut not) = (1, left.len() + 1);
            while not - fit > 1 {
                let count = fit + (not - fit) / 2;
                match fits(count) {
                    true => fit = count,
                    false => not = count,
                }
            }
            let (part, rest) = left.split_at(fit.min(left.len()));
            let part = self.of(part);
            if part.seen() >= SEEN {
                parts.push(part);
            }
            left = rest;
            if left.is_empty() {
                return parts;
            }
        }
        Vec::new()
    }

    /// From one part to the next.
    fn step(pair: &[Corridor]) -> Option<Step> {
        let [one, next] = pair else { return None };
        let (after, before) = (one.span()?.1, next.span()?.0);
        let by = next.middle(before)? - one.middle(after)?;
        (by.abs() >= STEP_NS).then_some(Step {
            after: Time(after),
            before: Time(before),
            by_ns: by as i64,
        })
    }

    fn of(&self, bins: &[Bin]) -> Corridor {
        Corridor {
            start: self.start,
            width_ns: self.width_ns,
            bins: bins.to_vec(),
        }
    }

    /// Stretches of time that were seen both ways.
    fn seen(&self) -> usize {
        let both = |bin: &&Bin| bin.forward.is_some() && bin.backward.is_some();
        self.bins.iter().filter(both).count()
    }

    /// The first and the last sample's time.
    fn span(&self) -> Option<(i64, i64)> {
        let each = |bin: &Bin| bin.forward.into_iter().chain(bin.backward);
        let times = || self.bins.iter().flat_map(each).map(|(t, _)| t);
        times().min().zip(times().max())
    }

    /// Whether a line of clocks that run fits into it.
    fn fits(&self) -> bool {
        self.room() >= -(TOLERANCE_NS as f64)
    }

    /// How wide it is where a line of clocks that run fits best; below 0 none fits.
    fn room(&self) -> f64 {
        let Some((first, _)) = self.span() else {
            return 0.0;
        };
        let room = |drift| self.floor(first, drift).map_or(0.0, |(f, b)| f + b);
        let same = room(0.0);
        match same >= 0.0 {
            true => same,
            false => (self.drift(first)).map_or(0.0, |drift| same.max(room(drift))),
        }
    }

    /// The middle of the corridor at a time.
    fn middle(&self, at: i64) -> Option<f64> {
        let drift = self.drift(at)?;
        let (forward, backward) = self.floor(at, drift)?;
        Some((forward - backward) / 2.0)
    }

    /// The drift that leaves the most room: the room is concave in it, so a ternary search finds it.
    fn drift(&self, origin: i64) -> Option<f64> {
        let room = |drift| self.floor(origin, drift).map(|(f, b)| f + b);
        let (mut low, mut high) = (-MAX_DRIFT, MAX_DRIFT);
        for _ in 0..100 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            if room(a)? < room(b)? {
                low = a
            } else {
                high = b
            }
        }
        Some((low + high) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A small generator of delays: enough for a test, the same every time.
    fn noise(seed: &mut u64) -> i64 {
        *seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((*seed >> 33) % 1000) as i64
    }

    fn corridor(
        offset: i64,
        drift: f64,
        there: i64,
        back: i64,
        calls: i64,
        spacing: i64,
    ) -> Corridor {
        let mut c = Corridor::default();
        let mut seed = 7;
        let server = |t: i64| Time(t + offset + (t as f64 * drift) as i64);
        for i in 0..calls {
            let sent = i * spacing;
            let came = sent + there + noise(&mut seed) * 100;
            let answered = came + 50_000;
            let got = answered + back + noise(&mut seed) * 100;
            c.add((Time(sent), server(came)), (Time(got), server(answered)));
        }
        c
    }

    #[test]
    fn clocks_that_agree_are_taken_for_synchronised() {
        let clock = corridor(0, 0.0, 40_000, 60_000, 500, 1_000_000)
            .solve(None)
            .unwrap();
        assert_eq!(
            (clock.basis, clock.offset_ns),
            (ClockBasis::AssumedSynchronised, 0)
        );
        assert!(
            (60_000..70_000).contains(&clock.uncertainty_ns),
            "{clock:?}"
        );
    }

    #[test]
    fn drift_and_offset_are_found_within_the_stated_bound() {
        let clock = corridor(3_700_000_000, 50e-6, 1_000_000, 1_000_000, 3000, 2_000_000)
            .solve(None)
            .unwrap();
        assert_eq!(clock.basis, ClockBasis::Estimated);
        assert!((clock.drift_ppm - 50.0).abs() < 2.0, "{clock:?}");
        let at = (clock.offset_at.0 - clock.offset_ns) as f64;
        let truth = 3_700_000_000.0 + at * 50e-6;
        assert!(
            (clock.offset_ns as f64 - truth).abs() <= clock.uncertainty_ns as f64,
            "{clock:?}"
        );
    }

    /// Clocks that differ by less than the path takes look as if they agreed.
    #[test]
    fn what_was_assumed_may_be_as_wrong_as_the_farther_side() {
        let clock = corridor(-3_775_492, 0.0, 3_755_492, 1_000, 300, 5_000_000)
            .solve(None)
            .unwrap();
        assert_eq!(clock.basis, ClockBasis::AssumedSynchronised);
        assert!(clock.uncertainty_ns + 100_000 >= 3_775_492, "{clock:?}");
    }

    /// Calls every 5 ms, of which the server's clock steps by so much behind each so many.
    fn stepped(by_ns: i64, every: i64, drift: f64) -> Vec<Step> {
        let mut c = Corridor::default();
        let mut seed = 3;
        for i in 0..300 {
            let sent = i * 5_000_000;
            let server = |t: i64| Time(t + i / every * by_ns + (t as f64 * drift) as i64);
            let came = sent + 400_000 + noise(&mut seed) * 100;
            let got = came + 900_000 + noise(&mut seed) * 100;
            c.add(
                (Time(sent), server(came)),
                (Time(got), server(came + 50_000)),
            );
        }
        c.align(None).steps
    }

    #[test]
    fn a_clock_that_is_set_is_told_from_one_that_drifts() {
        for by_ns in [-900_000_000, 5_000_000, 1_700_000_000] {
            let steps = stepped(by_ns, 170, 30e-6);
            let [step] = steps[..] else {
                panic!("{steps:?}");
            };
            assert!((step.by_ns - by_ns).abs() < 1_000_000, "{step:?}");
            let at = 170 * 5_000_000;
            assert!(
                step.after < Time(at) && Time(at) <= step.before + 10_000_000,
                "{step:?}"
            );
        }
        assert_eq!(stepped(40_000_000, 100, 0.0).len(), 2);
        assert_eq!(stepped(0, 1, 400e-6), []);
        // Within what the path takes.
        assert_eq!(stepped(100_000, 150, 0.0), []);
    }

    #[test]
    fn parts_before_and_behind_a_step_are_aligned_each_for_itself() {
        let (there, back) = (900_000, 300_000);
        for by_ns in [-900_000_000, 1_700_000_000] {
            let mut c = Corridor::default();
            let mut seed = 5;
            for i in 0..300 {
                let sent = 10_000_000_000 + i * 5_000_000;
                let server = |t: i64| Time(t + if i < 170 { 0 } else { by_ns });
                let came = server(sent + there + noise(&mut seed));
                let answered = came + 50_000;
                let got = Time(sent + there + 50_000 + back + noise(&mut seed));
                c.add((Time(sent), came), (got, answered));
                c.add_ways(Time(sent), got, [came - Time(sent), 50_000, got - answered]);
            }
            let aligned = c.align(None);
            assert_eq!((aligned.clock, aligned.parts.len()), (None, 2));
            let offsets = aligned.parts.iter().map(|(_, c)| c.offset_ns);
            for (offset, truth) in offsets.zip([0, by_ns]) {
                // Half the difference of the ways is what nobody can know.
                assert!((offset - truth).abs() <= 310_000, "{offset} {truth}");
            }
            let (calls, [out, server, back_again]) = aligned.ways.unwrap();
            assert!((290..=300).contains(&calls), "{calls}");
            assert_eq!(server, 50_000);
            assert!(out >= 0 && back_again >= 0, "{out} {back_again}");
            assert!(
                (out + back_again - there - back).abs() < 2_000,
                "{out} {back_again}"
            );
        }
    }

    #[test]
    fn where_one_was_set_during_the_only_call_there_is_no_alignment() {
        let during = |by_ns: i64| {
            let mut c = Corridor::default();
            let (sent, took) = (10_000_000_000, 2_000_000_000);
            let came = Time(sent + 300_000);
            let answered = Time(sent + took + by_ns);
            c.add((Time(sent), came), (Time(sent + took + 300_000), answered));
            let aligned = c.align(None);
            (aligned.is_torn, aligned.clock.is_some())
        };
        assert_eq!(during(0), (false, true));
        assert_eq!(
            during(-500_000_000),
            (false, true),
            "so long the way may take"
        );
        assert_eq!(during(2_000_000_000), (true, false));
    }

    proptest! {
        #[test]
        fn the_truth_is_always_inside_the_bound(offset in -10_000_000_000i64..10_000_000_000, there in 1_000i64..9_000_000, back in 1_000i64..9_000_000) {
            let clock = corridor(offset, 0.0, there, back, 300, 5_000_000).solve(None).unwrap();
            prop_assert!((clock.offset_ns - offset).abs() <= clock.uncertainty_ns + 200_000, "{clock:?}");
        }
    }
}
