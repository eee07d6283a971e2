//! A line of both accounts that changed, into words: the finding that is about it, by how much, and whether
//! that says why.

use super::attribution::empty;
use super::effect;
use super::matching::{round_trip, way};
use super::result::{Cause, Change};
use super::sentence::instead;
use super::snapshot::{AccountLine, Snapshot, WireGroup};
use crate::findings::Rule;
use crate::text::{Text, Value, text};
use model::{Direction, TimeClass};

/// A path that changed by less than this share is the same.
const SAME: f64 = 0.05;

/// Round trips that vary by less say nothing of a queue.
const QUEUE_NS: u64 = 300_000;

/// Fewer packets lost, or not so many times as many as in the other run, explain nothing.
const FEW_LOSSES: f64 = 5.0;
const MORE_LOSSES: f64 = 3.0;

/// A line that changed by so much per byte.
pub(super) fn of_line(runs: [&Snapshot; 2], line: AccountLine, change: Change) -> Cause {
    Wording {
        runs,
        line,
        change,
        per: "byte",
    }
    .cause()
}

/// A line that changed, to be put in words.
pub(super) struct Wording<'a> {
    pub(super) runs: [&'a Snapshot; 2],
    pub(super) line: AccountLine,
    pub(super) change: Change,
    pub(super) per: &'static str,
}

impl Wording<'_> {
    pub(super) fn cause(self) -> Cause {
        let (rule, what, explains) = self.words(self.times());
        Cause {
            rule,
            what,
            change: self.change,
            per: self.per,
            explains,
            ..empty()
        }
    }

    /// "8.2 ms instead of 0.1 ms per call".
    fn times(&self) -> Text {
        let (times, per) = match self.per {
            "byte" => (1e6, "MB"),
            per => (1.0, per),
        };
        let change = Change {
            baseline: self.change.baseline * times,
            problem: self.change.problem * times,
            ..self.change
        };
        text!("{times} per {per}", times = instead(change), per = per)
    }

    fn words(&self, times: Text) -> (Option<Rule>, Text, bool) {
        let sure = |rule, what: Text| (Some(rule), what, true);
        match self.line {
            AccountLine::Service => sure(
                Rule::ServerSlow,
                text!("the server itself takes {times}", times = times),
            ),
            AccountLine::Queue => sure(
                Rule::ServerConcurrencyCap,
                text!("calls queue in the server for {times}", times = times),
            ),
            AccountLine::Stall => sure(
                Rule::ServerStall,
                text!("the server stalls for {times}", times = times),
            ),
            AccountLine::Path => self.path(times),
            AccountLine::Outage => sure(
                Rule::NetworkOutage,
                text!("nothing got through for {times}", times = times),
            ),
            AccountLine::Loss => sure(
                Rule::NetworkLoss,
                text!("lost packets cost {times}", times = times),
            ),
            AccountLine::Nagle => sure(
                Rule::Nagle,
                text!(
                    "the client's TCP holds small segments back for {times}",
                    times = times
                ),
            ),
            AccountLine::Waited(d, class) => {
                let (rule, what) = match class {
                    TimeClass::NagleDelayedAck => (
                        Some(Rule::NagleDelayedAck),
                        "small segments wait for delayed acknowledgements (Nagle) for",
                    ),
                    TimeClass::SmallWindow => (
                        Some(Rule::SmallWindow),
                        "a small receive window holds bytes up for",
                    ),
                    TimeClass::ReceiverApplication => (
                        Some(Rule::ReceiveWindowLimited),
                        "the receiver does not read for",
                    ),
                    TimeClass::SenderApplication => (
                        Some(Rule::SenderApplicationLimited),
                        "the sender does not write for",
                    ),
                    TimeClass::Bandwidth => (
                        Some(Rule::NetworkBandwidth),
                        "a full line holds bytes up for",
                    ),
                    TimeClass::Congestion => (None, "the congestion window holds bytes up for"),
                    other => {
                        let what = text!(
                            "{class} takes {times}, {way}",
                            class = other.name(),
                            times = times,
                            way = way(d),
                        );
                        return (None, what, false);
                    }
                };
                let what = text!(
                    "{what} {times}, {way}",
                    what = what,
                    times = times,
                    way = way(d),
                );
                (rule, what, true)
            }
            AccountLine::Transfer => self.transfer(times),
            AccountLine::Unknown => (
                None,
                text!(
                    "server and path together, which these captures do not tell apart, take {times}",
                    times = times
                ),
                false,
            ),
        }
    }

    /// Why messages take longer to pass, where that is plain.
    fn transfer(&self, times: Text) -> (Option<Rule>, Text, bool) {
        let grown = self.change.difference();
        let what = text!("messages pass for {times}", times = times);
        // A window that grows by itself stays small where packets are lost.
        if after_losses(self.runs, grown) {
            let what = text!("{what}: slower after losses", what = what);
            return (Some(Rule::NetworkLoss), what, true);
        }
        match window(self.runs, grown) {
            Some(why) => {
                let what = text!("{what}: {why}", what = what, why = why);
                (Some(Rule::SmallWindow), what, true)
            }
            None => (None, what, false),
        }
    }

    /// A longer way, a queue on it, or bytes that pass slowly: round trips tell.
    fn path(&self, times: Text) -> (Option<Rule>, Text, bool) {
        let grown = self.change.difference();
        let [a, b] = self.runs.map(round_trip);
        let shown = |(a, b): (i64, i64)| {
            instead(Change {
                baseline: a as f64,
                problem: b as f64,
                ..Change::default()
            })
        };
        let delay = |why: Text| {
            let what = text!(
                "the network's delay is {times}{why}",
                times = times.clone(),
                why = why
            );
            (Some(Rule::NetworkDelay), what, true)
        };
        let Some(shortest) = a.0.zip(b.0) else {
            return delay(Text::default());
        };
        if grown.abs() < self.change.baseline.max(self.change.problem) * SAME {
            return delay(Text::default());
        }
        let more = shortest.1 as f64 - shortest.0 as f64;
        if more * grown > 0.0 && more.abs() >= grown.abs() / 2.0 {
            return delay(text!(
                " (the shortest round trip is {trips})",
                trips = shown(shortest)
            ));
        }
        let loaded = a.1.zip(b.1).filter(|(a, b)| {
            let more = b.saturating_sub(*a);
            more as f64 * grown > 0.0
                && more.unsigned_abs() >= QUEUE_NS
                && more.unsigned_abs() >= (*a).min(*b).unsigned_abs() / 2
        });
        let full = |run: &Snapshot| {
            let of = |d| run.line(AccountLine::Waited(d, TimeClass::Bandwidth));
            of(Direction::ToServer).saturating_add(of(Direction::ToClient))
        };
        let [line_a, line_b] = self.runs.map(full);
        let fuller = (line_b as f64 - line_a as f64) * grown > 0.0;
        let (rule, why) = match loaded {
            Some(mean) => {
                let (rule, why) = match fuller {
                    true => (Rule::NetworkBandwidth, "a slower line or a queue"),
                    false => (Rule::NetworkDelay, "a queue, or jitter"),
                };
                let why = text!(
                    "{why}: the mean round trip is {mean}, the shortest one {shortest}",
                    why = why,
                    mean = shown(mean),
                    shortest = shown(shortest),
                );
                (rule, why)
            }
            // What fits into a round trip takes no time to pass.
            None if self.runs.iter().all(|r| carries_little(r)) => {
                let why = text!(
                    "the shortest round trip is {trips}: a queue, or jitter",
                    trips = shown(shortest)
                );
                (Rule::NetworkDelay, why)
            }
            None => {
                let what = text!(
                    "the way of the bytes takes {times}, and round trips do not say why",
                    times = times
                );
                return (None, what, false);
            }
        };
        let what = text!(
            "the way of the bytes takes {times} ({why})",
            times = times,
            why = why
        );
        (Some(rule), what, true)
    }
}

/// Whether the slower run lost packets, and by far more of them than the other: a sender that lost goes on
/// slowly for many round trips.
fn after_losses(runs: [&Snapshot; 2], grown: f64) -> bool {
    let [a, b] = runs;
    let (slow, fast) = if grown > 0.0 { (b, a) } else { (a, b) };
    let totals = |r: &Snapshot| {
        let all = r.groups.iter().flat_map(|g| &g.directions);
        all.fold((0.0, 0.0), |(lost, bytes), t| {
            let own = t.lost_packets.unwrap_or(t.retransmitted_packets);
            (lost + own as f64, bytes + t.payload_bytes as f64)
        })
    };
    let ((lost, bytes), (lost_before, bytes_before)) = (totals(slow), totals(fast));
    let rate = lost / bytes.max(1.0);
    lost >= FEW_LOSSES && rate >= MORE_LOSSES * lost_before / bytes_before.max(1.0)
}

/// Whether bytes pass at one window a round trip, and the window is another in the other run.
fn window(runs: [&Snapshot; 2], grown: f64) -> Option<Text> {
    let [a, b] = runs;
    let (slow, fast) = if grown > 0.0 { (b, a) } else { (a, b) };
    let main = |r: &Snapshot| r.groups.first().cloned();
    let (slow_group, fast_group) = (main(slow)?, main(fast)?);
    let trip = round_trip(slow).0? as f64;
    let p = slow.parts.total();
    for (d, bytes) in [p.request_bytes, p.response_bytes].into_iter().enumerate() {
        let of = |g: &WireGroup| g.directions.get(d).and_then(|t| t.window_max_bytes);
        let (small, large) = (of(&slow_group)? as f64, of(&fast_group)? as f64);
        // A message of several windows takes as many round trips.
        if (bytes as f64) < small * p.calls as f64 {
            continue;
        }
        let expected = bytes as f64 / small.max(1.0) * trip;
        let took = slow.line(AccountLine::Transfer) as f64;
        if large >= small * effect::SETTING && (took / 3.0..=took * 2.0).contains(&expected) {
            return Some(text!(
                "the receive window is {now} instead of {before}",
                now = Value::Size(of_run(b, d)?),
                before = Value::Size(of_run(a, d)?),
            ));
        }
    }
    None
}

/// The largest window of a run's busiest port.
fn of_run(run: &Snapshot, direction: usize) -> Option<f64> {
    let totals = run.groups.first()?.directions.get(direction)?;
    totals.window_max_bytes.map(|n| n as f64)
}

/// Whether a run's calls carry no more than a round trip does without waiting (RFC 6928).
fn carries_little(run: &Snapshot) -> bool {
    const ROUND_BYTES: u64 = 10 * 1_460;
    let p = run.parts.total();
    p.bytes() <= p.calls.saturating_mul(ROUND_BYTES)
}
