//! What tools said of hosts, held against their calls: whose a file is ([`whose`]), how its times lie ([`clock`]), whether
//! a counter was high while calls were slow and low while they were not ([`overlap`]), and what TCP itself says of
//! connections ([`kernel`]).
//!
//! A counter explains a side that packets accuse, and never accuses one: what is high all the time, or comes and goes with
//! no regard to the calls, is shown and blamed for nothing.

pub(crate) mod clock;
mod counts;
mod kernel;
mod load;
mod overlap;
mod whose;

pub(crate) use counts::tell_drops;
pub(crate) use kernel::Ends;
pub(crate) use load::{Load, Part};

use crate::results::{CaptureResult, DiskSum, Fit, HostClock, HostResult, SeriesResult, Side};
use model::Time;
use overlap::Slice;
use std::sync::Arc;
use trace::host::{Counter, Host, Sample, Series};

/// A counter of a host that was high while calls were slow, and not else.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pressure {
    pub side: Side,
    pub counter: Counter,
    pub device: String,
}

/// All of them, and when they were.
#[derive(Default)]
pub struct Pressures(Vec<(Pressure, Vec<[Time; 2]>)>);

impl Pressures {
    #[must_use]
    pub fn of(hosts: &[HostResult]) -> Pressures {
        let sides = hosts.iter().filter_map(|h| Some((h.side?, &h.series)));
        let all = sides.flat_map(|(side, series)| series.iter().map(move |s| (side, s)));
        let high = all.filter(|(_, s)| !s.high.is_empty());
        let of = |(side, s): (Side, &SeriesResult)| {
            let counter = Pressure {
                side,
                counter: s.counter,
                device: s.device.clone(),
            };
            (counter, s.high.clone())
        };
        Pressures(high.map(of).collect())
    }

    /// Those of this time, on the calls' clock.
    pub fn at(&self, time: Time) -> impl Iterator<Item = &Pressure> {
        let is_high = move |high: &Vec<[Time; 2]>| {
            let began = high.partition_point(|[from, _]| *from <= time);
            let last = began.checked_sub(1).and_then(|i| high.get(i));
            last.is_some_and(|[_, until]| time < *until)
        };
        let high = self.0.iter().filter(move |(_, high)| is_high(high));
        high.map(|(counter, _)| counter)
    }
}

/// Series of a host that are shown.
const SHOWN: usize = 64;

/// What files are held against.
pub(crate) struct Against<'a> {
    pub(crate) results: &'a [CaptureResult],
    /// Of the client and the server, as far as there are captures of them; else the only one for both.
    pub(crate) captures: [&'a CaptureResult; 2],
    /// How far the server's clock is ahead of that of the calls.
    pub(crate) server_ahead_ns: i64,
    pub(crate) load: Load,
    /// How long an I/O may take before it is slow.
    pub(crate) fast_enough_ns: i64,
}

/// All files.
pub(crate) fn held(hosts: &Arc<[Host]>, ends: &Ends, against: &Against<'_>) -> Vec<HostResult> {
    let numbered = hosts.iter().enumerate();
    numbered
        .map(|(n, host)| one(n, host, ends, against))
        .collect()
}

fn one(number: usize, host: &Host, ends: &Ends, against: &Against<'_>) -> HostResult {
    let (side, side_from) = whose::of(host, ends);
    let at_server = side == Some(Side::Server);
    let capture = against.captures[usize::from(at_server)];
    let ran = capture.first.zip(capture.last).map(|(f, l)| (f.0, l.0));
    let clock = clock::of(host, ran);
    let mut result = HostResult {
        file: host.file.clone(),
        name: host.name.clone(),
        side,
        side_from,
        tools: host.tools.iter().map(|t| t.name()).collect(),
        clock,
        series: Vec::new(),
        disks: None,
        counts: counts::of(host, side, against.results),
        connections: Vec::new(),
    };
    let (Some(ran), HostClock::Same | HostClock::Zone { .. }) = (ran, clock) else {
        return result;
    };
    let to_calls = match at_server {
        true => -against.server_ahead_ns,
        false => 0,
    };
    let place = |series: &Series| Placed {
        ahead_ns: match clock {
            HostClock::Zone { ahead_ns } if series.is_local => ahead_ns,
            _ => 0,
        },
        to_calls,
        ran,
    };
    let held = |series: &Series| {
        let slices = place(series).slices(series, side, &against.load);
        of_series(series, host, &slices, against, side.is_some())
    };
    result.series = host.series.iter().filter_map(held).collect();
    result
        .series
        .sort_by(|a, b| (a.counter, &a.device).cmp(&(b.counter, &b.device)));
    let goes = |s: &SeriesResult| s.held.is_some_and(|p| p.fit == Fit::Goes);
    // Of many disks those that explain something, then the busiest.
    if result.series.len() > SHOWN {
        result
            .series
            .sort_by_key(|s| std::cmp::Reverse((goes(s), s.max_milli)));
        result.series.truncate(SHOWN);
        result
            .series
            .sort_by(|a, b| (a.counter, &a.device).cmp(&(b.counter, &b.device)));
    }
    result.disks = disks(host, place);
    result.connections = ends.kernel(number, ran);
    result
}

/// Where the samples of a series lie.
struct Placed {
    ahead_ns: i64,
    to_calls: i64,
    /// When the capture ran, on its own clock.
    ran: (i64, i64),
}

impl Placed {
    /// What lies in the capture by half or more is of it.
    fn holds(&self, sample: &Sample) -> bool {
        let (first, last) = self.ran;
        let [from, until] =
            [sample.from_ns, sample.until_ns].map(|ns| ns.saturating_sub(self.ahead_ns));
        let inside = until.min(last).saturating_sub(from.max(first));
        inside.saturating_mul(2) >= until.saturating_sub(from)
    }

    /// Those within the capture, and what its calls took meanwhile, on the calls' clock.
    fn slices(&self, series: &Series, side: Option<Side>, load: &Load) -> Vec<(Slice, [Time; 2])> {
        let part = Part::of(series.counter, side);
        let within = series.samples.iter().filter(|s| self.holds(s));
        within
            .map(|s| {
                let on_calls = |ns: i64| {
                    Time(
                        ns.saturating_sub(self.ahead_ns)
                            .saturating_add(self.to_calls),
                    )
                };
                let (from, until) = (on_calls(s.from_ns), on_calls(s.until_ns));
                let (calls, ns) = load.between(part, from, until);
                let milli = s.milli;
                (Slice { calls, ns, milli }, [from, until])
            })
            .collect()
    }
}

/// The I/Os of all disks, whose number and mean are told for the same intervals.
fn disks(host: &Host, place: impl Fn(&Series) -> Placed) -> Option<DiskSum> {
    let of = |counter: Counter| host.series.iter().filter(move |s| s.counter == counter);
    let mut sum = DiskSum::default();
    let mut took = 0i128;
    for rates in of(Counter::DiskOperations) {
        let placed = place(rates);
        let same = |s: &&Series| s.device == rates.device && s.is_local == rates.is_local;
        let Some(waits) = of(Counter::DiskAwait).find(same) else {
            continue;
        };
        let mut own = 0i128;
        for rate in rates.samples.iter().filter(|s| placed.holds(s)) {
            let at = waits
                .samples
                .binary_search_by_key(&(rate.from_ns, rate.until_ns), |s| (s.from_ns, s.until_ns));
            let Some(wait) = at.ok().and_then(|i| waits.samples.get(i)) else {
                continue;
            };
            // Thousandths a second, of nanoseconds.
            let span = i128::from(rate.until_ns.saturating_sub(rate.from_ns));
            let n = (i128::from(rate.milli) * span + 500_000_000_000) / 1_000_000_000_000;
            own += n;
            took = took.saturating_add(n.saturating_mul(i128::from(wait.milli) * 1_000));
        }
        sum.disks += u64::from(own > 0);
        sum.operations = sum
            .operations
            .saturating_add(u64::try_from(own).unwrap_or(u64::MAX));
    }
    sum.mean_ns = i64::try_from(took / i128::from(sum.operations.max(1))).unwrap_or(i64::MAX);
    (sum.operations > 0).then_some(sum)
}

/// Intervals in their order, those that follow each other as one.
fn together(times: impl Iterator<Item = [Time; 2]>) -> Vec<[Time; 2]> {
    let mut all: Vec<[Time; 2]> = Vec::new();
    for [from, until] in times {
        match all.last_mut() {
            Some([_, last]) if *last >= from => *last = until.max(*last),
            _ => all.push([from, until]),
        }
    }
    all
}

fn of_series(
    series: &Series,
    host: &Host,
    slices: &[(Slice, [Time; 2])],
    against: &Against<'_>,
    has_side: bool,
) -> Option<SeriesResult> {
    let (most, [max_at, _]) = slices
        .iter()
        .max_by_key(|(s, [from, _])| (s.milli, std::cmp::Reverse(*from)))?;
    let sum: i128 = slices.iter().map(|(s, _)| i128::from(s.milli)).sum();
    let high = high_milli(series.counter, host, against.fast_enough_ns);
    let plain: Vec<Slice> = slices.iter().map(|(s, _)| *s).collect();
    let high = high.filter(|_| has_side);
    let held = high.map(|high| overlap::held(&plain, high));
    let explains = held.filter(|held| held.fit == Fit::Goes);
    Some(SeriesResult {
        counter: series.counter,
        device: series.device.to_string(),
        samples: slices.len() as u64,
        mean_milli: i64::try_from(sum / slices.len() as i128).unwrap_or(i64::MAX),
        max_milli: most.milli,
        max_at: *max_at,
        high: explains.map_or_else(Vec::new, |held| {
            let high = slices.iter().filter(|(s, _)| s.milli >= held.high_milli);
            together(high.map(|(_, times)| *times))
        }),
        held,
    })
}

/// From where on a counter is high, in thousandths; `None` of those that say nothing of slow calls by themselves.
fn high_milli(counter: Counter, host: &Host, fast_enough_ns: i64) -> Option<i64> {
    Some(match counter {
        Counter::CpuPressure | Counter::IoPressure => 25_000,
        Counter::CpuBusy => 90_000,
        Counter::CpuSteal | Counter::MemoryPressure => 10_000,
        // Two for each processor.
        Counter::RunQueue => i64::from(host.processors?).saturating_mul(2_000),
        Counter::Swap => 256_000,
        // Thousandths of milliseconds.
        Counter::DiskAwait => fast_enough_ns / 1_000,
        Counter::NicDrops | Counter::SocketDrops => 1,
        Counter::NfsdQueued => 1_000,
        Counter::Blocked
        | Counter::DiskUtilization
        | Counter::DiskQueue
        | Counter::DiskOperations
        | Counter::Retransmits
        | Counter::NfsdCalls
        | Counter::NfsdThreads => return None,
    })
}
