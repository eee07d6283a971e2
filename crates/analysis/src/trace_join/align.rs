//! The clock of a trace against the clock of a capture: pairs of a wait and a READ of the same place into an
//! offset and a drift, with bounds.
//!
//! Let θ(t) be the trace's clock minus the capture's. A READ lies inside its wait, so
//! start − request ≤ θ ≤ end − response. Most pairs are wrong (the same block is read many times), so first the
//! offset and drift are sought that the most pairs agree on:
//!
//! 1. the most frequent differences end − response, in windows as wide as any drift can smear them;
//! 2. for each, the line that most pairs allow: over a short stretch of time first, where drift does
//!    not matter, then over longer ones, which leave ever less of it open;
//! 3. every pair that the best line allows bounds θ, and the tightest decide. The middle of what they leave is
//!    the answer, half its width the uncertainty.

/// Clocks that run at all differ by no more: NTP slews by 500 ppm at most.
const MAX_DRIFT: f64 = 500e-6;

/// Between a response and the end of its wait, in pairs that count for a line.
const TIGHT_NS: f64 = 1_000_000.0;

/// By how much a pair may miss a line that is only sought.
const SLACK_NS: f64 = 100_000.0;

/// Windows looked at, and pairs of each.
const PEAKS: usize = 6;
const SAMPLE: usize = 20_000;

/// Pairs of the shortest stretch, and drifts tried in one; pairs that are looked at for all of them.
const STRETCH: usize = 64;
const TRIES: f64 = 50_000.0;
const LOOKS: usize = 10_000_000;

/// Stretches of time of which only the tightest bounds are kept.
const BINS: usize = 512;

/// Pairs that must agree: fewer do so by chance.
pub(crate) const AGREEING: u64 = 12;

/// A wait and a READ of the same place, which may belong together.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    /// First byte of the request and last byte of the response, on the capture's clock.
    pub request: i64,
    pub response: i64,
    /// Bounds of the offset, if they do.
    pub low: i64,
    pub high: i64,
    /// Numbers of the wait and of the READ.
    pub wait: u32,
    pub read: u32,
}

/// Trace's clock minus the capture's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TraceClock {
    /// At `origin`, a moment of the capture.
    pub offset_ns: i64,
    pub origin: i64,
    pub drift: f64,
    /// The truth is no farther away, at `origin`; for each nanosecond from there add `drift_uncertainty`.
    pub uncertainty_ns: i64,
    pub drift_uncertainty: f64,
    /// Pairs that bound it.
    pub pairs: u64,
}

impl TraceClock {
    /// A moment of the trace on the capture's clock.
    pub(crate) fn to_capture(self, trace: i64) -> i64 {
        let passed = i128::from(trace) - i128::from(self.origin) - i128::from(self.offset_ns);
        let passed = passed as f64 / (1.0 + self.drift);
        self.origin.saturating_add(passed as i64)
    }

    /// How far a moment of the capture may be from its place.
    pub(crate) fn uncertainty_at(&self, capture: i64) -> i64 {
        let away = capture.saturating_sub(self.origin).unsigned_abs() as f64;
        self.uncertainty_ns
            .saturating_add((away * self.drift_uncertainty) as i64)
    }
}

/// Why no clock was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Misfit {
    /// So many waits agree at best, of so many that might.
    TooFew { agree: u64, of: u64 },
    /// Two alignments explain about as much.
    Ambiguous,
}

/// A line that pairs agree on: θ at `origin`, relative to `base`, and its drift.
#[derive(Clone, Copy, Debug)]
struct Line {
    base: i64,
    origin: i64,
    offset: f64,
    drift: f64,
}

impl Line {
    /// What is left of a bound.
    fn rest(&self, at: i64, bound: i64) -> f64 {
        bound.saturating_sub(self.base) as f64
            - self.offset
            - self.drift * at.saturating_sub(self.origin) as f64
    }

    fn allows(&self, p: &Pair) -> bool {
        self.rest(p.request, p.low) <= SLACK_NS && self.rest(p.response, p.high) >= -SLACK_NS
    }

    fn at(&self, t: i64) -> f64 {
        self.base as f64 + self.offset + self.drift * t.saturating_sub(self.origin) as f64
    }
}

/// Finds the clock. `pairs` are brought into the order of responses.
///
/// # Errors
/// When too few pairs agree, or several clocks explain them.
pub(crate) fn align(pairs: &mut [Pair]) -> Result<(TraceClock, Vec<Pair>), Misfit> {
    pairs.sort_unstable_by_key(|p| (p.response, p.wait, p.read));
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else {
        return Err(Misfit::TooFew { agree: 0, of: 0 });
    };
    let span = (first.response, last.response);
    let mut found: Vec<(u64, Line)> = windows(pairs, span)
        .into_iter()
        .filter_map(|(from, to)| {
            let line = line(pairs, from, to)?;
            Some((waits_of(pairs.iter().filter(|p| line.allows(p))), line))
        })
        .collect();
    found.sort_by_key(|(agree, _)| std::cmp::Reverse(*agree));
    let Some(&(agree, best)) = found.first() else {
        return Err(Misfit::TooFew { agree: 0, of: 0 });
    };
    // Waits that would lie within the capture.
    let inside = |p: &&Pair| {
        let end = p.response as f64 + p.high as f64 - best.at(p.response);
        (span.0 as f64..=span.1 as f64).contains(&end)
    };
    let of = waits_of(pairs.iter().filter(inside)).max(agree);
    if agree < AGREEING || agree * 2 < of {
        return Err(Misfit::TooFew { agree, of });
    }
    let apart = |l: &Line| {
        [span.0, span.1]
            .iter()
            .any(|&t| (l.at(t) - best.at(t)).abs() > 4.0 * TIGHT_NS)
    };
    let second = found.iter().find(|(_, l)| apart(l));
    if second.is_some_and(|(n, _)| n * 2 > agree) {
        return Err(Misfit::Ambiguous);
    }
    let agreeing: Vec<Pair> = pairs.iter().filter(|p| best.allows(p)).copied().collect();
    let agreeing = unambiguous(agreeing);
    let clock = bounded(&agreeing, best).ok_or(Misfit::TooFew { agree: 0, of })?;
    Ok((clock, agreeing))
}

/// Different waits among these pairs.
fn waits_of<'a>(pairs: impl Iterator<Item = &'a Pair>) -> u64 {
    let mut waits: Vec<u32> = pairs.map(|p| p.wait).collect();
    waits.sort_unstable();
    waits.dedup();
    waits.len() as u64
}

/// Windows of the upper bound that hold the most pairs, most first.
fn windows(pairs: &[Pair], span: (i64, i64)) -> Vec<(i64, i64)> {
    let smear = 2.0 * MAX_DRIFT * span.1.saturating_sub(span.0) as f64;
    let width = (smear + 2.0 * TIGHT_NS) as i64;
    let mut highs: Vec<i64> = pairs.iter().map(|p| p.high).collect();
    highs.sort_unstable();
    let mut counts = Vec::with_capacity(highs.len());
    let mut end = 0;
    for (i, &from) in highs.iter().enumerate() {
        while highs
            .get(end)
            .is_some_and(|&h| h <= from.saturating_add(width))
        {
            end += 1;
        }
        counts.push((end - i, from));
    }
    let mut chosen: Vec<(i64, i64)> = Vec::new();
    while chosen.len() < PEAKS {
        let free = |from: i64| {
            chosen
                .iter()
                .all(|&(other, _)| from.abs_diff(other) > width.unsigned_abs())
        };
        let best = counts
            .iter()
            .filter(|(_, from)| free(*from))
            .max_by_key(|&&(n, from)| (n, std::cmp::Reverse(from)));
        let Some(&(_, from)) = best else { break };
        chosen.push((from, from.saturating_add(width)));
    }
    chosen
}

/// A pair relative to a line's origin and base: when, and between which bounds its offset lies.
type Point = (f64, f64, f64);

/// The line that most pairs of a window allow.
fn line(pairs: &[Pair], from: i64, to: i64) -> Option<Line> {
    let within: Vec<&Pair> = pairs
        .iter()
        .filter(|p| (from..=to).contains(&p.high))
        .collect();
    let stride = within.len().div_ceil(SAMPLE).max(1);
    let within: Vec<&Pair> = within.into_iter().step_by(stride).collect();
    // The densest stretch.
    let count = STRETCH.min(within.len());
    let stretch = within.windows(count.max(1)).enumerate();
    let (start, _) = stretch.min_by_key(|(_, w)| match w {
        [first, .., last] => last.response.saturating_sub(first.response),
        _ => 0,
    })?;
    let origin = within.get(start + count / 2)?.response;
    let points: Vec<Point> = within
        .iter()
        .map(|p| {
            let high = p.high.saturating_sub(from) as f64;
            let low = (p.low.saturating_sub(from) as f64).max(high - TIGHT_NS);
            (p.response.saturating_sub(origin) as f64, low, high)
        })
        .collect();
    let mut marks = Vec::new();
    let (mut i, mut j) = (start, start + count);
    let (mut drift, mut open) = (0.0, MAX_DRIFT);
    loop {
        let stretch = points.get(i..j)?;
        let length = stretch.last()?.0 - stretch.first()?.0;
        let step = (SLACK_NS / length.max(1.0)).max(2.0 * open / TRIES);
        let tries = (open / step).ceil().max(1.0) as i64;
        // Where a pause makes the stretch much longer at once, a part of its pairs must do.
        let stride = (tries as usize * 2 * stretch.len()).div_ceil(LOOKS).max(1);
        let some: Vec<Point> = stretch.iter().step_by(stride).copied().collect();
        let mut best: Option<(usize, i64, i64)> = None;
        for k in -tries..=tries {
            let (n, _) = agree(&some, drift + k as f64 * step, &mut marks);
            best = match best {
                Some((most, first, _)) if n == most => Some((most, first, k)),
                Some((most, ..)) if n < most => best,
                _ => Some((n, k, k)),
            };
        }
        let (most, first, last) = best?;
        let middle = drift + (first + last) as f64 / 2.0 * step;
        drift = match agree(&some, middle, &mut marks) {
            (n, _) if n == most => middle,
            _ => drift + first as f64 * step,
        };
        open = (2.0 * step).min(MAX_DRIFT);
        if i == 0 && j == points.len() {
            let (_, offset) = agree(stretch, drift, &mut marks);
            return Some(Line {
                base: from,
                origin,
                offset,
                drift,
            });
        }
        let more = j - i;
        i = i.saturating_sub(more);
        j = (j + more).min(points.len());
    }
}

/// How many points allow one offset at this drift, at most, and which offset.
fn agree(points: &[Point], drift: f64, marks: &mut Vec<(f64, bool)>) -> (usize, f64) {
    marks.clear();
    for &(x, low, high) in points {
        marks.push((low - drift * x - SLACK_NS, false));
        marks.push((high - drift * x + SLACK_NS, true));
    }
    marks.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut now, mut most, mut from, mut offset) = (0usize, 0, 0.0, 0.0);
    for &(at, ends) in marks.iter() {
        if ends {
            if now > most {
                (most, offset) = (now, (from + at) / 2.0);
            }
            now = now.saturating_sub(1);
        } else {
            now += 1;
            from = at;
        }
    }
    (most, offset)
}

/// Pairs of which neither the wait nor the READ has another.
fn unambiguous(pairs: Vec<Pair>) -> Vec<Pair> {
    let once = |get: fn(&Pair) -> u32| {
        let mut numbers: Vec<u32> = pairs.iter().map(get).collect();
        numbers.sort_unstable();
        move |n: u32| {
            let at = numbers.partition_point(|&x| x < n);
            numbers.get(at + 1) != Some(&n)
        }
    };
    let (wait_once, read_once) = (once(|p| p.wait), once(|p| p.read));
    pairs
        .iter()
        .filter(|p| wait_once(p.wait) && read_once(p.read))
        .copied()
        .collect()
}

/// Bounds of θ, as (moment, bound) relative to a line.
struct Band {
    upper: Vec<(f64, f64)>,
    lower: Vec<(f64, f64)>,
}

impl Band {
    fn ceiling(&self, drift: f64) -> f64 {
        let rests = self.upper.iter().map(|(x, v)| v - drift * x);
        rests.fold(f64::INFINITY, f64::min)
    }

    fn floor(&self, drift: f64) -> f64 {
        let rests = self.lower.iter().map(|(x, v)| v - drift * x);
        rests.fold(f64::NEG_INFINITY, f64::max)
    }

    fn room(&self, drift: f64) -> f64 {
        self.ceiling(drift) - self.floor(drift)
    }
}

/// Where a concave function is largest.
fn peak((mut low, mut high): (f64, f64), f: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if f(a) < f(b) { low = a } else { high = b }
    }
    (low + high) / 2.0
}

/// The end of what is allowed, between a drift that is and one that need not be.
fn edge(mut allowed: f64, mut beyond: f64, is_allowed: impl Fn(f64) -> bool) -> f64 {
    if is_allowed(beyond) {
        return beyond;
    }
    for _ in 0..60 {
        let middle = (allowed + beyond) / 2.0;
        if is_allowed(middle) {
            allowed = middle
        } else {
            beyond = middle
        }
    }
    beyond
}

/// The clock by the tightest of the pairs that agree on a line.
fn bounded(pairs: &[Pair], line: Line) -> Option<TraceClock> {
    let (first, last) = (pairs.first()?.response, pairs.last()?.response);
    let origin = first + last.saturating_sub(first) / 2;
    let line = Line {
        offset: line.offset + line.drift * origin.saturating_sub(line.origin) as f64,
        origin,
        ..line
    };
    let per_bin = pairs.len().div_ceil(BINS);
    let (mut upper, mut lower) = (Vec::new(), Vec::new());
    for bin in pairs.chunks(per_bin.max(1)) {
        let x = |t: i64| t.saturating_sub(origin) as f64;
        let above = bin
            .iter()
            .map(|p| (x(p.response), line.rest(p.response, p.high)));
        let below = bin
            .iter()
            .map(|p| (x(p.request), line.rest(p.request, p.low)));
        upper.extend(above.min_by(|a, b| a.1.total_cmp(&b.1)));
        lower.extend(below.max_by(|a, b| a.1.total_cmp(&b.1)));
    }
    let mut band = Band { upper, lower };
    // Drifts relative to the line's.
    let range = (-MAX_DRIFT - line.drift, MAX_DRIFT - line.drift);
    let best = peak(range, |d| band.room(d));
    // Clocks that are slewed leave no straight line any room: the bounds give way evenly.
    let short = match band.room(best) {
        room if room < 1.0 => (1.0 - room) / 2.0,
        _ => 0.0,
    };
    band.upper.iter_mut().for_each(|(_, v)| *v += short);
    band.lower.iter_mut().for_each(|(_, v)| *v -= short);
    let allowed = |d: f64| band.room(d) >= 0.0;
    let drifts = (edge(best, range.0, allowed), edge(best, range.1, allowed));
    let ceiling = band.ceiling(peak(drifts, |d| band.ceiling(d)));
    let floor = band.floor(peak(drifts, |d| -band.floor(d)));
    let offset = line.offset + (ceiling + floor) / 2.0;
    Some(TraceClock {
        offset_ns: line.base.saturating_add(offset.round() as i64),
        origin,
        drift: line.drift + (drifts.0 + drifts.1) / 2.0,
        uncertainty_ns: ((ceiling - floor) / 2.0 + short).ceil() as i64 + 1,
        drift_uncertainty: (drifts.1 - drifts.0) / 2.0,
        pairs: pairs.len() as u64,
    })
}
