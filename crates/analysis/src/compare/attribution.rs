//! What a difference comes from: the lines of both accounts, per unit of work, and how much each adds.
//!
//! Part of a call's time is there for every call, however little it carries (the path, the server, a
//! timer); the rest is there for every byte. Where calls carry other amounts, the former costs more or
//! less for the same work: that is the size's doing, and none of the path's. Every step is counted with
//! the mean of both runs, so that the contributions add up to the difference, and are the same with the
//! opposite sign when the runs are exchanged.

use super::bootstrap::{Draws, Interval};
use super::effect::{self, excludes_nothing};
use super::matching::round_trip;
use super::result::{Cause, Change, Unit};
use super::sentence::{self, amount};
use super::snapshot::{Line, PartSums, Snapshot};
use super::work::Scale;
use model::{Direction, TimeClass, format_duration};
use std::collections::BTreeSet;

/// What adds less than this share of the difference is not worth a line of its own.
const SHARE: f64 = 0.01;

/// Round trips that vary by less say nothing of a queue.
const QUEUE_NS: i64 = 300_000;

/// Whether a line's time is there once for every call, not for every byte.
fn is_per_call(line: Line) -> bool {
    match line {
        Line::Service
        | Line::Queue
        | Line::Stall
        | Line::Path
        | Line::Nagle
        | Line::Outage
        | Line::Unknown => true,
        Line::Waited(_, class) => class == TimeClass::NagleDelayedAck,
        Line::Loss | Line::Transfer => false,
    }
}

/// Where only one run can tell the server from the path, both are one.
fn merged(line: Line) -> Line {
    match line {
        Line::Service | Line::Queue | Line::Stall | Line::Path => Line::Unknown,
        line => line,
    }
}

/// A line of both accounts, per unit of work.
struct Both {
    line: Line,
    a: Draws,
    b: Draws,
}

fn both(runs: [&Snapshot; 2], scale: Scale) -> Vec<Both> {
    let [a, b] = runs;
    let same = a.basis == b.basis;
    let named = |line| if same { line } else { merged(line) };
    let all = runs.into_iter().flat_map(|r| &r.lines);
    let names: BTreeSet<Line> = all.map(|(line, _)| named(*line)).collect();
    let of = |run: &Snapshot, line| {
        let own = run.lines.iter().filter(|(l, _)| named(*l) == line);
        scale.line(run, line, own.map(|(_, ns)| ns).sum())
    };
    names
        .into_iter()
        .map(|line| Both {
            line,
            a: of(a, line),
            b: of(b, line),
        })
        .collect()
}

/// What the difference comes from, what adds most (or, where less time passed, takes most off) first.
///
/// `like_for_like` is the share of the difference that is left when the runs' mix of operations is made
/// the same, `mix_ns` what the mix adds per unit of work.
pub(super) fn causes(
    runs: [&Snapshot; 2],
    scale: Scale,
    difference: f64,
    mix_ns: f64,
) -> Vec<Cause> {
    let [a, b] = runs;
    let (work_a, work_b) = (scale.work(a), scale.work(b));
    if work_a <= 0.0 || work_b <= 0.0 {
        return Vec::new();
    }
    let parts = runs.map(|r| r.parts.total());
    let per_work = |p: &PartSums, work: f64| p.calls as f64 / work;
    let [pa, pb] = &parts;
    let (ca, cb) = (per_work(pa, work_a), per_work(pb, work_b));
    let mean_calls = (ca + cb) / 2.0;
    // What the mix explains, no line does.
    let raw = difference + mix_ns;
    let left = match raw.abs() > 0.0 {
        true => (difference / raw).clamp(0.0, 1.0),
        false => 1.0,
    };
    let slower = if difference >= 0.0 { b } else { a };
    let mut causes = Vec::new();
    let mut by_size = 0.0;
    for Both {
        line,
        a: of_a,
        b: of_b,
    } in both(runs, scale)
    {
        let per_call = is_per_call(line) && ca > 0.0 && cb > 0.0;
        let step = |x: f64, y: f64| match per_call {
            true => mean_calls * (y / cb - x / ca),
            false => y - x,
        };
        if per_call {
            by_size += (cb - ca) * (of_b.point / cb + of_a.point / ca) / 2.0;
        }
        let (added, interval) = Draws::both(&of_a, &of_b, step);
        let (from, to) = match per_call {
            true => (of_a.point / ca, of_b.point / cb),
            false => (of_a.point, of_b.point),
        };
        let change = Change {
            baseline: from,
            problem: to,
            interval: None,
            beyond_chance: None,
        };
        let per = if per_call { "call" } else { scale.unit.name() };
        let wording = Wording {
            runs,
            line,
            change,
            per,
        };
        let mut cause = wording.cause();
        cause.weigh(
            added * left,
            interval.map(|(l, h)| (l * left, h * left)),
            work_b,
            difference,
        );
        causes.push(cause);
    }
    if scale.unit != Unit::Call
        && !scale.carried
        && let Some(mut cause) = size(runs, &parts, scale.unit)
    {
        cause.weigh(by_size, Some((by_size, by_size)), work_b, difference);
        causes.push(cause);
    }
    if mix_ns != 0.0 {
        let mut cause = Cause {
            code: None,
            what: "the runs' operations are mixed otherwise".into(),
            per: "call",
            explains: true,
            ..empty()
        };
        cause.weigh(mix_ns, Some((mix_ns, mix_ns)), work_b, raw);
        causes.push(cause);
    }
    for cause in &mut causes {
        let code = cause.code;
        cause.found = slower
            .findings
            .iter()
            .any(|f| Some(f.code.as_str()) == code);
    }
    let little = (difference.abs() * work_b * SHARE) as i64;
    causes.retain(|c| c.added_ns.abs() > little);
    let sign = if difference < 0.0 { -1 } else { 1 };
    causes.sort_by_key(|c| {
        (
            std::cmp::Reverse(c.added_ns.saturating_mul(sign)),
            c.what.clone(),
        )
    });
    causes
}

fn empty() -> Cause {
    Cause {
        code: None,
        what: String::new(),
        added_ns: 0,
        interval_ns: None,
        beyond_chance: None,
        change: Change::default(),
        per: "call",
        found: false,
        explains: false,
    }
}

impl Cause {
    /// Says how much it adds, for as much work as the problem did.
    fn weigh(&mut self, added: f64, interval: Option<Interval>, work: f64, difference: f64) {
        self.added_ns = (added * work) as i64;
        self.interval_ns = interval.map(|(l, h)| ((l * work) as i64, (h * work) as i64));
        let enough = added.abs() >= difference.abs() * SHARE;
        self.beyond_chance = interval.map(|i| excludes_nothing(i) && enough);
    }
}

/// What calls carry, or bring, at a time.
fn size(runs: [&Snapshot; 2], parts: &[PartSums; 2], unit: Unit) -> Option<Cause> {
    if unit == Unit::Row {
        let [a, b] = runs.map(|r| {
            let s = r.sums();
            s.rows as f64 / s.row_trips.max(1) as f64
        });
        return Some(Cause {
            code: Some("small-fetch"),
            what: format!(
                "fetch size: a round trip brings {} instead of {}",
                sentence::rows(b),
                sentence::rows(a)
            ),
            change: effect::setting(a, b),
            per: "row",
            explains: true,
            ..empty()
        });
    }
    let each = |of: fn(&PartSums) -> u64| parts.map(|p| of(&p) as f64 / p.calls.max(1) as f64);
    let [sent, brought] = [each(|p| p.request_bytes), each(|p| p.response_bytes)];
    let gap = |[a, b]: [f64; 2]| (b - a).abs();
    let (code, words, way, [a, b]) = match gap(sent) >= gap(brought) {
        true => (
            "small-writes",
            "write size: a request carries",
            "client to server",
            sent,
        ),
        false => (
            "small-fetch",
            "fetch size: an answer brings",
            "server to client",
            brought,
        ),
    };
    Some(Cause {
        code: Some(code),
        what: format!("{words} {} instead of {}, {way}", amount(b), amount(a)),
        change: effect::setting(a, b),
        per: "byte",
        explains: true,
        ..empty()
    })
}

/// A line that changed, to be put in words.
struct Wording<'a> {
    runs: [&'a Snapshot; 2],
    line: Line,
    change: Change,
    per: &'static str,
}

impl Wording<'_> {
    fn cause(self) -> Cause {
        let times = self.times();
        let (code, what, explains) = self.words(&times);
        Cause {
            code,
            what,
            change: self.change,
            per: self.per,
            explains,
            ..empty()
        }
    }

    /// "8.2 ms instead of 0.1 ms per call".
    fn times(&self) -> String {
        let Change {
            baseline, problem, ..
        } = self.change;
        let (times, per) = match self.per {
            "byte" => (1e6, "MB"),
            per => (1.0, per),
        };
        let shown = |ns: f64| format_duration((ns * times) as i64);
        format!("{} instead of {} per {per}", shown(problem), shown(baseline))
    }

    fn words(&self, times: &str) -> (Option<&'static str>, String, bool) {
        let way = |d: Direction| match d {
            Direction::ToServer => "client to server",
            Direction::ToClient => "server to client",
        };
        let sure = |code, what: String| (Some(code), what, true);
        match self.line {
            Line::Service => sure("server-slow", format!("the server itself takes {times}")),
            Line::Queue => sure(
                "server-concurrency-cap",
                format!("calls queue in the server for {times}"),
            ),
            Line::Stall => sure("server-stall", format!("the server stalls for {times}")),
            Line::Path => self.path(times),
            Line::Outage => sure("network-outage", format!("nothing got through for {times}")),
            Line::Loss => sure("network-loss", format!("lost packets cost {times}")),
            Line::Nagle => sure(
                "nagle",
                format!("the client's TCP holds small segments back for {times}"),
            ),
            Line::Waited(d, class) => {
                let way = way(d);
                match class {
                    TimeClass::NagleDelayedAck => sure(
                        "nagle-delayed-ack",
                        format!(
                            "small segments wait for delayed acknowledgements (Nagle) for {times}, {way}"
                        ),
                    ),
                    TimeClass::SmallWindow => sure(
                        "small-window",
                        format!("a small receive window holds bytes up for {times}, {way}"),
                    ),
                    TimeClass::ReceiverApplication => sure(
                        "receive-window-limited",
                        format!("the receiver does not read for {times}, {way}"),
                    ),
                    TimeClass::SenderApplication => sure(
                        "sender-application-limited",
                        format!("the sender does not write for {times}, {way}"),
                    ),
                    TimeClass::Bandwidth => sure(
                        "network-bandwidth",
                        format!("a full line holds bytes up for {times}, {way}"),
                    ),
                    TimeClass::Congestion => (
                        None,
                        format!("the congestion window holds bytes up for {times}, {way}"),
                        true,
                    ),
                    other => (
                        None,
                        format!("{} takes {times}, {way}", other.name()),
                        false,
                    ),
                }
            }
            Line::Transfer => (None, format!("messages pass for {times}"), false),
            Line::Unknown => (
                None,
                format!(
                    "server and path together, which these captures do not tell apart, take {times}"
                ),
                false,
            ),
        }
    }

    /// A longer way, a queue on it, or bytes that pass slowly: round trips tell.
    fn path(&self, times: &str) -> (Option<&'static str>, String, bool) {
        let grown = self.change.difference();
        let [a, b] = self.runs.map(round_trip);
        let shown = |(a, b): (i64, i64)| {
            format!("{} instead of {}", format_duration(b), format_duration(a))
        };
        let delay = Some("network-delay");
        let Some(shortest) = a.0.zip(b.0) else {
            return (delay, format!("the network's delay is {times}"), true);
        };
        let more = (shortest.1 - shortest.0) as f64;
        if more * grown > 0.0 && more.abs() >= grown.abs() / 2.0 {
            let why = format!("the shortest round trip is {}", shown(shortest));
            return (delay, format!("the network's delay is {times} ({why})"), true);
        }
        let loaded = a.1.zip(b.1).filter(|(a, b)| {
            let more = b - a;
            more as f64 * grown > 0.0 && more.abs() >= QUEUE_NS && more.abs() >= (*a).min(*b) / 2
        });
        let Some(mean) = loaded else {
            let what = format!("the way of the bytes takes {times}, though round trips are no different");
            return (None, what, false);
        };
        let full = |run: &Snapshot| {
            let of = |d| run.line(Line::Waited(d, TimeClass::Bandwidth));
            of(Direction::ToServer) + of(Direction::ToClient)
        };
        let [a, b] = self.runs.map(full);
        let (code, why) = match (b - a) as f64 * grown > 0.0 {
            true => ("network-bandwidth", "a slower line or a queue"),
            false => ("network-delay", "a queue, or jitter"),
        };
        let what = format!(
            "the way of the bytes takes {times} ({why}: the mean round trip is {}, the shortest one is not)",
            shown(mean)
        );
        (Some(code), what, true)
    }
}
