//! Operations, statements and connections of two runs, found in each other: by protocol, name and
//! normal form; connections by the server's port and what they speak, as clients' ports and often
//! addresses are others the next day.

use super::bootstrap::Draws;
use super::effect;
use super::result::{Change, Measure, Metric, OpChange};
use super::snapshot::{Snapshot, Subject, WireGroup, WireSums, WireTotals};
use crate::conns::is_wait;
use crate::results::Vantage;
use crate::stats::{Summary, bucket_value};
use crate::text::{Text, text};
use model::{Direction, Protocol, TimeClass};

/// Fewer round trips, packets or the like are no habit of a connection.
const FEW: u64 = 20;

/// Round trips that differ by less are the same: what hosts take to answer.
const RTT_FLOOR_NS: f64 = 300_000.0;

/// What subjects both runs have, and those that one has; most time in both first.
pub(super) fn pairs<'a>(runs: [&'a Snapshot; 2]) -> Vec<[Option<&'a Subject>; 2]> {
    let [a, b] = runs;
    let find = |of: &'a Snapshot, s: &Subject| {
        let speaks = of.subjects.iter().any(|o| o.protocol == s.protocol);
        let same = |o: &&Subject| match speaks {
            true => o.key() == s.key(),
            // Another version of it.
            false => is_nfs(o.protocol) && is_nfs(s.protocol) && o.op == s.op,
        };
        of.subjects.iter().find(same)
    };
    let mut all: Vec<[Option<&Subject>; 2]> =
        a.subjects.iter().map(|s| [Some(s), find(b, s)]).collect();
    let new = b.subjects.iter().filter(|s| find(a, s).is_none());
    all.extend(new.map(|s| [None, Some(s)]));
    all.sort_by_key(|pair| {
        let time = |s: &Subject| s.blocks.total().time_ns;
        let sum: i64 = pair
            .iter()
            .flatten()
            .map(|s| time(s))
            .fold(0, i64::saturating_add);
        let key = pair.iter().flatten().next().map(|s| {
            let (protocol, op, id) = s.key();
            (protocol, op.to_owned(), id)
        });
        (std::cmp::Reverse(sum), key)
    });
    all
}

fn is_nfs(protocol: Protocol) -> bool {
    use Protocol::{Nfs2, Nfs3, Nfs40, Nfs41, Nfs42};
    matches!(protocol, Nfs2 | Nfs3 | Nfs40 | Nfs41 | Nfs42)
}

/// Operations and statements side by side.
pub(super) fn ops(runs: [&Snapshot; 2], floor_ns: f64) -> Vec<OpChange> {
    pairs(runs)
        .into_iter()
        .filter_map(|pair| op(pair, floor_ns))
        .collect()
}

fn op(pair: [Option<&Subject>; 2], floor_ns: f64) -> Option<OpChange> {
    let [a, b] = pair;
    let named = a.or(b)?;
    let draws = |s: &Subject| {
        let blocks = s.blocks.blocks();
        let times: Vec<f64> = blocks.iter().map(|x| x.time_ns as f64).collect();
        let calls: Vec<f64> = blocks.iter().map(|x| x.calls as f64).collect();
        Draws::of_ratio(&times, &calls)
    };
    let mean = a
        .and_then(draws)
        .zip(b.and_then(draws))
        .map(|(x, y)| effect::change(&x, &y, floor_ns));
    let sums = pair.map(|s| s.map(|s| s.blocks.total()).unwrap_or_default());
    let quantile = |q, needed| pair.map(|s| s.and_then(|s| effect::quantile(&s.curve, q, needed)));
    Some(OpChange {
        protocol: named.protocol,
        op: named.op.clone(),
        statement: named.statement.as_ref().map(|(_, text)| text.clone()),
        sums,
        mean,
        delta: a
            .zip(b)
            .and_then(|(x, y)| effect::delta(&x.curve, &y.curve)),
        p50_ns: quantile(0.5, 1),
        p90_ns: quantile(0.9, Summary::P90_NEEDS),
        p99_ns: quantile(0.99, Summary::P99_NEEDS),
        max_ns: pair.map(|s| s.map(|s| s.max_ns)),
        curves: pair.map(|s| {
            let curve = s.map(|s| s.curve.as_slice()).unwrap_or_default();
            curve.iter().map(|(b, n)| (bucket_value(*b), *n)).collect()
        }),
        bytes_per_call: sums.map(|s| (s.calls > 0).then(|| s.bytes() as f64 / s.calls as f64)),
        rows_per_trip: sums.map(|s| (s.row_trips > 0).then(|| s.rows as f64 / s.row_trips as f64)),
    })
}

/// The share of the time of both runs that went to what both did, 0 to 1: of the run in which it is
/// less.
#[must_use]
pub(super) fn in_common(ops: &[OpChange]) -> f64 {
    let share = |run: usize| {
        let time = |o: &OpChange| o.sums.get(run).map_or(0, |s| s.time_ns);
        let all = ops.iter().map(time).fold(0, i64::saturating_add);
        let both = ops.iter().filter(|o| o.mean.is_some());
        let common = both.map(time).fold(0, i64::saturating_add);
        match all {
            0 => 1.0,
            _ => common as f64 / all as f64,
        }
    };
    share(0).min(share(1))
}

/// Whether most calls take another time than before, and not only a few of them: medians differ by at
/// least half as much as means, the same way.
#[must_use]
pub(super) fn is_shift(ops: &[OpChange]) -> bool {
    let (mut means, mut medians) = (0.0, 0.0);
    for o in ops {
        if let (Some(mean), [Some(a), Some(b)]) = (&o.mean, o.p50_ns) {
            let calls: f64 = o.sums.iter().map(|s| s.calls as f64).sum();
            means += mean.difference() * calls;
            medians += (b as f64 - a as f64) * calls;
        }
    }
    means * medians > 0.0 && medians.abs() >= means.abs() / 2.0
}

/// What connections of both runs did, port by port, and all of them together over time.
pub(super) fn metrics(runs: [&Snapshot; 2]) -> Vec<Metric> {
    let [a, b] = runs;
    let mut all: Vec<Metric> = [elapsed(runs), outstanding(runs)]
        .into_iter()
        .flatten()
        .collect();
    all.extend(over_time(runs));
    for group in &a.groups {
        let twin = b
            .groups
            .iter()
            .find(|g| (g.port, g.protocol) == (group.port, group.protocol));
        if let Some(twin) = twin {
            all.extend(of_group([group, twin], runs.map(|r| r.vantage)));
        }
    }
    // A stable sort: what changed comes first, each kind as it was told.
    all.sort_by_key(|m| m.change.beyond_chance != Some(true));
    all
}

pub(super) fn way(d: Direction) -> &'static str {
    match d {
        Direction::ToServer => "client to server",
        Direction::ToClient => "server to client",
    }
}

/// A ratio of what blocks hold.
type Ratio = (
    &'static str,
    &'static str,
    Measure,
    f64,
    fn(&WireSums) -> (f64, f64),
);

const RATIOS: [Ratio; 4] = [
    (
        "rtt_mean",
        "mean round trip",
        Measure::Nanoseconds,
        RTT_FLOOR_NS,
        |w| (w.rtt_sum_ns as f64, w.rtt_count as f64),
    ),
    (
        "retransmitted",
        "packets sent again",
        Measure::Share,
        0.002,
        |w| (w.retransmitted_packets as f64, w.packets as f64),
    ),
    (
        "flight",
        "in flight at most, mean over time",
        Measure::Bytes,
        1_460.0,
        |w| (w.flight_sum_bytes as f64, w.flights as f64),
    ),
    (
        "window",
        "window, mean over time",
        Measure::Bytes,
        1_460.0,
        |w| (w.window_sum_bytes as f64, w.windows as f64),
    ),
];

/// Calls under way, over time.
fn outstanding(runs: [&Snapshot; 2]) -> Option<Metric> {
    let [a, b] = runs.map(|r| {
        let width = r.parts.width_ns() as f64;
        let blocks = r.parts.blocks();
        let times: Vec<f64> = blocks.iter().map(|p| p.time_ns() as f64).collect();
        Draws::of_ratio(&times, &vec![width; times.len()])
    });
    Some(Metric {
        name: "outstanding",
        words: "calls outstanding, mean over time".into(),
        direction: None,
        port: None,
        measure: Measure::Number,
        change: effect::change(&a?, &b?, 0.5),
    })
}

/// Elapsed time for each call: what the clients took between calls is in it, too.
fn elapsed(runs: [&Snapshot; 2]) -> Option<Metric> {
    let [a, b] = runs.map(|r| (r.calls > 0).then(|| r.elapsed_ns as f64 / r.calls as f64));
    Some(Metric {
        name: "elapsed_per_call",
        words: "elapsed time for each call".into(),
        direction: None,
        port: None,
        measure: Measure::Nanoseconds,
        change: effect::setting(a?, b?),
    })
}

fn over_time(runs: [&Snapshot; 2]) -> Vec<Metric> {
    let mut all = Vec::new();
    for (name, words, measure, floor, of) in RATIOS {
        for d in Direction::BOTH {
            // What comes back to the sender is only seen near it.
            if measure == Measure::Nanoseconds && !runs.iter().all(|r| sees(r, d)) {
                continue;
            }
            let draws = runs.map(|r| {
                let blocks = r.wire.get(d.index()).map(|w| w.blocks())?;
                let (n, k): (Vec<f64>, Vec<f64>) = blocks.iter().map(of).unzip();
                let enough = k.iter().sum::<f64>() >= FEW as f64;
                Draws::of_ratio(&n, &k).filter(|_| enough)
            });
            if let [Some(a), Some(b)] = draws {
                all.push(Metric {
                    name,
                    words: text!("{words}, {way}", words = words, way = way(d)),
                    direction: Some(d),
                    port: None,
                    measure,
                    change: effect::change(&a, &b, floor),
                });
            }
        }
    }
    all
}

/// What the application writes at once in this direction, of the busiest connections: the size that most
/// of its writes have.
#[must_use]
pub(super) fn written_at_once(run: &Snapshot, d: Direction) -> Option<u64> {
    let totals = run.groups.first()?.directions.get(d.index())?;
    let is_unit = totals.writes >= FEW && totals.writes_of_that_size >= totals.writes / 2;
    totals.write_size_bytes.filter(|_| is_unit)
}

/// Whether a run was captured where this direction's bytes come from.
#[must_use]
pub(super) fn sees(run: &Snapshot, d: Direction) -> bool {
    run.captures.len() == 2
        || matches!(
            (run.vantage, d),
            (Some(Vantage::Client), Direction::ToServer)
                | (Some(Vantage::Server), Direction::ToClient)
        )
}

/// The shortest round trip of the whole path, and the mean of the direction that carried more, where they
/// were seen.
#[must_use]
pub(super) fn round_trip(run: &Snapshot) -> (Option<i64>, Option<i64>) {
    let seen = Direction::BOTH.into_iter().filter(|d| sees(run, *d));
    let totals = seen.clone().flat_map(|d| {
        run.groups
            .iter()
            .filter_map(move |g| g.directions.get(d.index()))
    });
    let from_client = run.captures.len() == 2 || run.vantage == Some(Vantage::Client);
    let from_server = !from_client && run.vantage == Some(Vantage::Server);
    let openings = run.groups.iter().filter_map(|g| match from_server {
        true => g.handshake_back_ns,
        false => g.handshake_ns.filter(|_| from_client),
    });
    let shortest = totals.filter_map(|t| t.rtt_min_ns).chain(openings).min();
    let mean = seen
        .filter_map(|d| run.wire.get(d.index()))
        .map(|w| w.total())
        .filter(|w| w.rtt_count >= FEW)
        .max_by_key(|w| w.payload_bytes)
        .map(|w| w.rtt_sum_ns / i64::try_from(w.rtt_count).unwrap_or(i64::MAX));
    (shortest, mean)
}

/// What is compared of each direction, with less than `floor` being no difference.
struct OfDirection {
    name: &'static str,
    words: &'static str,
    measure: Measure,
    floor: f64,
    value: fn(&WireTotals) -> Option<f64>,
}

const OF_DIRECTIONS: [OfDirection; 5] = [
    OfDirection {
        name: "segment_size",
        words: "mean segment",
        measure: Measure::Bytes,
        floor: 64.0,
        value: |t| (t.segments >= FEW).then(|| t.payload_bytes as f64 / t.segments as f64),
    },
    OfDirection {
        name: "write_size",
        words: "most frequent write",
        measure: Measure::Bytes,
        floor: 16.0,
        value: |t| {
            let size = t.write_size_bytes.filter(|_| t.writes >= FEW);
            size.map(|n| n as f64)
        },
    },
    OfDirection {
        name: "window_max",
        words: "largest window",
        measure: Measure::Bytes,
        floor: 1_460.0,
        value: |t| t.window_max_bytes.map(|n| n as f64),
    },
    OfDirection {
        name: "flight_max",
        words: "most in flight",
        measure: Measure::Bytes,
        floor: 1_460.0,
        value: |t| (t.segments >= FEW).then_some(t.flight_max_bytes as f64),
    },
    OfDirection {
        name: "lost",
        words: "lost on the network",
        measure: Measure::Share,
        floor: 0.002,
        value: |t| {
            let lost = t.lost_packets? as f64;
            (t.packets >= FEW).then(|| lost / t.packets as f64)
        },
    },
];

fn of_group(pair: [&WireGroup; 2], vantages: [Option<Vantage>; 2]) -> Vec<Metric> {
    let [a, b] = pair;
    let port = Some(a.port);
    let mut all = Vec::new();
    let mut add = |name, words: Text, direction, measure, values: [Option<f64>; 2], floor| {
        let [Some(x), Some(y)] = values else { return };
        if x == 0.0 && y == 0.0 {
            return;
        }
        let mut change = effect::setting(x, y);
        if !effect::matters(x, y, floor) {
            change.beyond_chance = Some(false);
        }
        all.push(Metric {
            name,
            words,
            direction,
            port,
            measure,
            change,
        });
    };
    if vantages.iter().all(|v| *v == Some(Vantage::Client)) {
        let known = |g: &WireGroup| g.handshake_ns.filter(|_| segments(g) >= FEW);
        let opening = pair.map(|g| known(g).map(|ns| ns as f64));
        let words = "shortest opening (SYN to SYN/ACK)".into();
        add(
            "handshake",
            words,
            None,
            Measure::Nanoseconds,
            opening,
            RTT_FLOOR_NS,
        );
    }
    for d in Direction::BOTH {
        let totals = pair.map(|g| g.directions.get(d.index()));
        let [Some(x), Some(y)] = totals else { continue };
        let way = way(d);
        for m in OF_DIRECTIONS {
            let values = [x, y].map(m.value);
            let words = text!("{words}, {way}", words = m.words, way = way);
            add(m.name, words, Some(d), m.measure, values, m.floor);
        }
        for class in TimeClass::ALL {
            if !is_wait(class) {
                continue;
            }
            let share = |g: &WireGroup, t: &WireTotals| {
                let enough = g.lifetime_ns > 0 && segments(g) >= FEW;
                enough.then(|| t.time_ns[class] as f64 / g.lifetime_ns as f64)
            };
            let words = text!("time in {class}, {way}", class = class.name(), way = way);
            add(
                class_metric(class),
                words,
                Some(d),
                Measure::Share,
                [share(a, x), share(b, y)],
                0.05,
            );
        }
    }
    all
}

/// Segments with data, both ways.
fn segments(group: &WireGroup) -> u64 {
    let each = group.directions.iter().map(|d| d.segments);
    each.fold(0, u64::saturating_add)
}

/// The key of a class of time among metrics.
fn class_metric(class: TimeClass) -> &'static str {
    match class {
        TimeClass::SenderApplication => "time_sender_application",
        TimeClass::ReceiverApplication => "time_receiver_application",
        TimeClass::SmallWindow => "time_small_window",
        TimeClass::NagleDelayedAck => "time_nagle_delayed_ack",
        TimeClass::LossRecovery => "time_loss_recovery",
        TimeClass::Congestion => "time_congestion",
        TimeClass::Bandwidth => "time_bandwidth",
        TimeClass::Handshake | TimeClass::Idle | TimeClass::Transfer | TimeClass::Unknown => {
            "time_other"
        }
    }
}

/// By how much the problem's calls are others than the baseline's: what that alone makes of the mean
/// time of a call, in nanoseconds. Each operation that both have counts with the mean of its two times.
#[must_use]
pub(super) fn mix_shift_ns(ops: &[OpChange]) -> f64 {
    let common: Vec<(&OpChange, &Change)> = ops
        .iter()
        .filter_map(|o| o.mean.as_ref().map(|m| (o, m)))
        .collect();
    let calls = |run: usize| {
        let of = |o: &OpChange| o.sums.get(run).map_or(0.0, |s| s.calls as f64);
        common.iter().map(|(o, _)| of(o)).sum::<f64>().max(1.0)
    };
    let (before, after) = (calls(0), calls(1));
    common
        .iter()
        .map(|(o, mean)| {
            let [a, b] = o.sums;
            let shift = b.calls as f64 / after - a.calls as f64 / before;
            shift * (mean.baseline + mean.problem) / 2.0
        })
        .sum()
}
