//! What a difference comes from: the lines of both accounts, per unit of work, and how much each adds.
//!
//! Part of a call's time is there for every call, however little it carries (the path, the server, a
//! timer); the rest is there for every byte. Where calls carry other amounts, the former costs more or
//! less for the same work: that is the size's doing, and none of the path's. Every step is counted with
//! the mean of both runs, so that the contributions add up to the difference, and are the same with the
//! opposite sign when the runs are exchanged.

use super::bootstrap::{Draws, Interval};
use super::effect::{self, excludes_nothing};
use super::matching::{sees, way, written_at_once};
use super::result::{Cause, Change, Unit};
use super::snapshot::{AccountLine, PartSums, Snapshot};
use super::wording::Wording;
use super::work::Scale;
use crate::findings::Rule;
use crate::text::{Text, Value, text};
use model::{Direction, TimeClass};
use std::collections::BTreeSet;

/// What adds less than this share of the difference is not worth a line of its own.
pub(super) const SHARE: f64 = 0.01;

/// Whether a line's time is there once for every call, not for every byte.
fn is_per_call(line: AccountLine) -> bool {
    match line {
        AccountLine::Service
        | AccountLine::Queue
        | AccountLine::Stall
        | AccountLine::Path
        | AccountLine::Nagle
        | AccountLine::Outage
        | AccountLine::Unknown => true,
        AccountLine::Waited(_, class) => class == TimeClass::NagleDelayedAck,
        AccountLine::Loss | AccountLine::Transfer => false,
    }
}

/// Where only one run can tell the server from the path, both are one.
fn merged(line: AccountLine) -> AccountLine {
    match line {
        AccountLine::Service | AccountLine::Queue | AccountLine::Stall | AccountLine::Path => {
            AccountLine::Unknown
        }
        line => line,
    }
}

/// A line of both accounts, per unit of work.
struct Both {
    line: AccountLine,
    a: Draws,
    b: Draws,
}

fn both(runs: [&Snapshot; 2], scale: Scale) -> Vec<Both> {
    let [a, b] = runs;
    let same = a.basis == b.basis;
    let named = |line| if same { line } else { merged(line) };
    let all = runs.into_iter().flat_map(|r| &r.lines);
    let names: BTreeSet<AccountLine> = all.map(|(line, _)| named(*line)).collect();
    let of = |run: &Snapshot, line| {
        let own = run.lines.iter().filter(|(l, _)| named(*l) == line);
        scale.line(
            run,
            line,
            own.map(|(_, ns)| *ns).fold(0, i64::saturating_add),
        )
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

/// Two runs on one scale.
struct Frame<'a> {
    runs: [&'a Snapshot; 2],
    scale: Scale,
    /// Calls for a unit of work, in both.
    calls: [f64; 2],
    /// The problem's amount of work.
    work: f64,
    /// Nanoseconds per unit of work, like for like, and the share that is of all the difference.
    difference: f64,
    like_for_like: f64,
}

/// What the difference comes from: what adds most (or, where less time passed, takes most off) first.
///
/// `difference` is that per unit of work between like and like, and `mix_ns` what the operations' other
/// mix adds to it.
pub(super) fn causes(
    runs: [&Snapshot; 2],
    scale: Scale,
    difference: f64,
    mix_ns: f64,
) -> Vec<Cause> {
    let parts = runs.map(|r| r.parts.total());
    let [a, b] = runs.map(|r| scale.work(r));
    let [pa, pb] = &parts;
    if a <= 0.0 || b <= 0.0 {
        return Vec::new();
    }
    let raw = difference + mix_ns;
    let frame = Frame {
        runs,
        scale,
        calls: [pa.calls as f64 / a, pb.calls as f64 / b],
        work: b,
        difference,
        like_for_like: match raw == 0.0 {
            true => 1.0,
            false => (difference / raw).clamp(0.0, 1.0),
        },
    };
    let lines = both(runs, scale);
    let mut causes: Vec<Cause> = lines.iter().map(|line| frame.line(line)).collect();
    if scale.unit != Unit::Call
        && !scale.carried
        && let Some(cause) = size(runs, &parts, scale.unit)
    {
        let added = lines.iter().map(|line| frame.by_size(line)).sum();
        causes.push(frame.weighed(cause, added, Some((added, added))));
    }
    if mix_ns != 0.0 {
        let cause = Cause {
            what: "the runs' operations are mixed otherwise".into(),
            explains: true,
            ..empty()
        };
        causes.push(frame.weighed(cause, mix_ns, Some((mix_ns, mix_ns))));
    }
    let mut causes = together(causes);
    let little = (difference.abs() * b * SHARE) as i64;
    causes.retain(|c| c.added_ns.abs() > little);
    let sign = if difference < 0.0 { -1 } else { 1 };
    causes.sort_by_key(|c| std::cmp::Reverse(c.added_ns.saturating_mul(sign)));
    causes
}

/// Lines that are about the same are one cause, in the order in which they add most.
fn together(mut causes: Vec<Cause>) -> Vec<Cause> {
    causes.sort_by_key(|c| std::cmp::Reverse(c.added_ns.abs()));
    let mut all: Vec<Cause> = Vec::new();
    for cause in causes {
        let same = |c: &&mut Cause| {
            c.explains
                && cause.explains
                && c.rule.is_some()
                && c.rule == cause.rule
                && c.added_ns.signum() == cause.added_ns.signum()
        };
        match all.iter_mut().find(same) {
            Some(first) => {
                first.added_ns = first.added_ns.saturating_add(cause.added_ns);
                let sum = |(l, h): (i64, i64), (k, i)| (l.saturating_add(k), h.saturating_add(i));
                first.interval_ns = first
                    .interval_ns
                    .zip(cause.interval_ns)
                    .map(|(a, b)| sum(a, b));
                let what = vec![std::mem::take(&mut first.what), cause.what];
                first.what = Text::list(what, "; ");
            }
            None => all.push(cause),
        }
    }
    all
}

impl Frame<'_> {
    fn is_per_call(&self, line: AccountLine) -> bool {
        is_per_call(line) && self.calls.iter().all(|c| *c > 0.0)
    }

    /// What a line of the account adds.
    fn line(&self, both: &Both) -> Cause {
        let [ca, cb] = self.calls;
        let per_call = self.is_per_call(both.line);
        let (added, interval) = Draws::both(&both.a, &both.b, |x, y| match per_call {
            true => (ca + cb) / 2.0 * (y / cb - x / ca),
            false => y - x,
        });
        let (baseline, problem) = match per_call {
            true => (both.a.point / ca, both.b.point / cb),
            false => (both.a.point, both.b.point),
        };
        let wording = Wording {
            runs: self.runs,
            line: both.line,
            change: Change {
                baseline,
                problem,
                ..Change::default()
            },
            per: if per_call {
                "call"
            } else {
                self.scale.unit.name()
            },
        };
        let left = self.like_for_like;
        let interval = interval.map(|(low, high)| (low * left, high * left));
        let mut cause = self.weighed(wording.cause(), added * left, interval);
        // What a connection waits for is told best where its sender is; elsewhere only what the
        // diagnosis is sure of, too, is believed.
        if let AccountLine::Waited(d, _) = both.line {
            cause.explains &= cause.found || self.runs.iter().all(|r| sees(r, d));
        }
        cause
    }

    /// What more calls for the same work add to a line that is there for every call.
    fn by_size(&self, both: &Both) -> f64 {
        let [ca, cb] = self.calls;
        match self.is_per_call(both.line) {
            true => (cb - ca) * (both.b.point / cb + both.a.point / ca) / 2.0,
            false => 0.0,
        }
    }

    /// Says how much a cause adds, for as much work as the problem did.
    fn weighed(&self, mut cause: Cause, added: f64, interval: Option<Interval>) -> Cause {
        let of = |ns: f64| (ns * self.work) as i64;
        let [a, b] = self.runs;
        let slower = if self.difference >= 0.0 { b } else { a };
        let enough = added.abs() >= self.difference.abs() * SHARE;
        cause.added_ns = of(added);
        cause.interval_ns = interval.map(|(low, high)| (of(low), of(high)));
        cause.beyond_chance = interval.map(|i| excludes_nothing(i) && enough);
        cause.found = slower.findings.iter().any(|f| Some(f.rule) == cause.rule);
        cause
    }
}

pub(super) fn empty() -> Cause {
    Cause {
        rule: None,
        what: Text::default(),
        added_ns: 0,
        interval_ns: None,
        beyond_chance: None,
        change: Change::default(),
        per: "call",
        found: false,
        explains: false,
    }
}

/// What calls carry, or bring, at a time.
fn size(runs: [&Snapshot; 2], parts: &[PartSums; 2], unit: Unit) -> Option<Cause> {
    if unit == Unit::Row {
        let [a, b] = runs.map(|r| r.sums.rows as f64 / r.sums.row_trips.max(1) as f64);
        return Some(Cause {
            rule: Some(Rule::SmallFetch),
            what: text!(
                "fetch size: a round trip brings {now} row{now||s} instead of {before} row{before||s}",
                now = Value::Mean(b),
                before = Value::Mean(a),
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
    let units = runs.map(|r| written_at_once(r, Direction::ToServer));
    if let [Some(a), Some(b)] = units
        && gap(sent) >= gap(brought)
    {
        let sizes = [a as f64, b as f64];
        return Some(Cause {
            rule: Some(Rule::SmallWrites),
            what: write_size(sizes, Direction::ToServer),
            change: effect::setting(sizes[0], sizes[1]),
            per: "byte",
            explains: true,
            ..empty()
        });
    }
    let (rule, words, way, [a, b]) = match gap(sent) >= gap(brought) {
        true => (
            Rule::SmallWrites,
            "write size: a request carries",
            "client to server",
            sent,
        ),
        false => (
            Rule::SmallFetch,
            "fetch size: an answer brings",
            "server to client",
            brought,
        ),
    };
    Some(Cause {
        rule: Some(rule),
        what: text!(
            "{words} {now} instead of {before}, {way}",
            words = words,
            now = Value::Size(b),
            before = Value::Size(a),
            way = way,
        ),
        change: effect::setting(a, b),
        per: "byte",
        explains: true,
        ..empty()
    })
}

/// What an application writes at once, to the byte.
pub(super) fn write_size([a, b]: [f64; 2], d: Direction) -> Text {
    text!(
        "writes of {now,} bytes instead of {before,}, {way}",
        now = b as u64,
        before = a as u64,
        way = way(d),
    )
}
