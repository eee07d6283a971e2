//! How the times of a host's tools lie to the capture's.
//!
//! Times with a zone are taken as they stand: the capture at the same host has the same clock. Some tools print times of a
//! zone that they do not say; zones lie a quarter of an hour apart, so that the one is taken with which by far the most
//! samples lie within the capture. Where several do, nobody knows, and nothing is held against calls.

use crate::results::HostClock;
use trace::host::{Host, Series};

const ZONE_NS: i64 = 900_000_000_000;

/// From 14 hours behind to 14 ahead.
const ZONES: i64 = 56;

/// One zone has so many times the samples of any other.
const BY_FAR: usize = 2;

/// `ran`: when the capture ran.
pub(crate) fn of(host: &Host, ran: Option<(i64, i64)>) -> HostClock {
    let Some(ran) = ran else {
        return HostClock::Timeless;
    };
    let moments = host
        .connections
        .iter()
        .flat_map(|c| c.samples.iter().filter_map(|s| s.at_ns));
    let told: Vec<(i64, i64)> = spans(host, |s| !s.is_local)
        .chain(moments.map(|at| (at, at)))
        .collect();
    let local: Vec<(i64, i64)> = spans(host, |s| s.is_local).collect();
    if told.is_empty() && local.is_empty() {
        return HostClock::Timeless;
    }
    if let Some(zone) = zone(&local, ran) {
        return zone;
    }
    if within(&told, ran, 0) > 0 {
        return HostClock::Same;
    }
    let all = told.iter().chain(&local);
    let later = |(from, until): &(i64, i64)| match *from > ran.1 {
        true => from.saturating_sub(ran.1),
        false => until.saturating_sub(ran.0),
    };
    let later_ns = all.map(later).min_by_key(|ns| ns.saturating_abs());
    HostClock::Elsewhere {
        later_ns: later_ns.unwrap_or(0),
    }
}

fn spans(host: &Host, of: impl Fn(&Series) -> bool) -> impl Iterator<Item = (i64, i64)> {
    let series = host.series.iter().filter(move |s| of(s));
    series.flat_map(|s| s.samples.iter().map(|s| (s.from_ns, s.until_ns)))
}

/// How many lie in the capture if they are so far ahead.
fn within(spans: &[(i64, i64)], (first, last): (i64, i64), ahead_ns: i64) -> usize {
    let own = |ns: i64| ns.saturating_sub(ahead_ns);
    let inside = |(from, until): &&(i64, i64)| own(*until) >= first && own(*from) <= last;
    spans.iter().filter(inside).count()
}

/// The zone of times that do not say it; none where they lie within the capture in no zone.
fn zone(local: &[(i64, i64)], ran: (i64, i64)) -> Option<HostClock> {
    let mut found: Vec<(usize, i64)> = (-ZONES..=ZONES)
        .map(|n| (within(local, ran, n * ZONE_NS), n * ZONE_NS))
        .filter(|(samples, _)| *samples > 0)
        .collect();
    found.sort_by_key(|(samples, ahead)| (std::cmp::Reverse(*samples), ahead.abs()));
    match found.as_slice() {
        [] => None,
        [(most, ahead), rest @ ..] => {
            let is_plain = rest
                .first()
                .is_none_or(|(next, _)| *most >= next.saturating_mul(BY_FAR));
            Some(match (is_plain, *ahead) {
                (true, 0) => HostClock::Same,
                (true, ahead_ns) => HostClock::Zone { ahead_ns },
                (false, _) => HostClock::Ambiguous,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace::host::{Counter, Sample};

    const SECOND: i64 = 1_000_000_000;
    const RAN: (i64, i64) = (1_000_000 * SECOND, 1_000_060 * SECOND);

    fn host(is_local: bool, from_s: i64, seconds: i64) -> Host {
        let sample = |i| Sample {
            from_ns: (from_s + i) * SECOND,
            until_ns: (from_s + i + 1) * SECOND,
            milli: 1,
        };
        Host {
            series: vec![Series {
                counter: Counter::CpuBusy,
                device: "".into(),
                is_local,
                samples: (0..seconds).map(sample).collect(),
            }],
            ..Host::default()
        }
    }

    #[test]
    fn samples_of_another_hour_are_so_much_later() {
        let of = |from| super::of(&host(false, from, 60), Some(RAN));
        assert_eq!(of(1_000_000), HostClock::Same);
        assert_eq!(
            of(1_000_060 + 66 * 60),
            HostClock::Elsewhere {
                later_ns: 66 * 60 * SECOND
            }
        );
        assert_eq!(
            of(999_930),
            HostClock::Elsewhere {
                later_ns: -10 * SECOND
            }
        );
        assert_eq!(super::of(&Host::default(), Some(RAN)), HostClock::Timeless);
    }

    #[test]
    fn a_zone_is_taken_where_one_alone_fits() {
        let of = |from, seconds| super::of(&host(true, from, seconds), Some(RAN));
        assert_eq!(
            of(1_000_000 + 7_200, 60),
            HostClock::Zone {
                ahead_ns: 7_200 * SECOND
            }
        );
        assert_eq!(of(1_000_000, 60), HostClock::Same);
        // A day's.
        assert_eq!(of(990_000, 20_000), HostClock::Ambiguous);
        assert_eq!(
            of(1_000_000 + 400, 60),
            HostClock::Elsewhere {
                later_ns: 340 * SECOND
            }
        );
    }
}
