//! Runs of which at least one has no calls to time, into how long their streams took for what they carried:
//! elapsed time per byte.
//!
//! A stream's unit is what its application writes at once. Where that is another in the slower run, and most
//! of its writes are of one size, so that it is a setting and not what there happened to be, it is what the
//! time comes from as far as each write takes no longer than before. The rest is what connections waited for.

use super::attribution;
use super::blocks::Blocks;
use super::bootstrap::Draws;
use super::effect;
use super::matching::written_at_once;
use super::result::{Cause, Change};
use super::snapshot::{AccountLine, Snapshot, WireGroup, WireSums, WireTotals};
use super::wording;
use crate::conns::is_wait;
use crate::diagnose::Kind;
use crate::findings::Rule;
use model::{Direction, TimeClass};

/// Nobody sends anything to anybody: no connection waits for longer (as idleness is told from pauses).
const QUIET_NS: i64 = 1_000_000_000;

/// The busiest streams of two runs, side by side.
pub(super) struct Streams<'a> {
    runs: [&'a Snapshot; 2],
    /// In which they carry most.
    direction: Direction,
    /// Time per byte.
    time: [Draws; 2],
    bytes: [f64; 2],
}

impl<'a> Streams<'a> {
    /// Of runs that calls alone do not compare.
    pub(super) fn of(runs: [&'a Snapshot; 2]) -> Option<Streams<'a>> {
        let untimed = runs.iter().any(|r| r.parts.total().calls == 0);
        let plain = runs.iter().all(|r| r.kind == Kind::Turns);
        let [a, b] = runs.map(|r| r.groups.first());
        let (a, b) = (a?, b?);
        if !untimed || !plain || a.port != b.port {
            return None;
        }
        let carried = |d: &Direction| {
            let of = |g: &WireGroup| g.directions.get(d.index()).map_or(0, |t| t.payload_bytes);
            of(a).saturating_add(of(b))
        };
        let direction = Direction::BOTH.into_iter().max_by_key(carried)?;
        let [x, y] = runs.map(|r| {
            let (ns, bytes) = busy(&r.progress);
            Draws::of_ratio(&ns, &bytes)
        });
        Some(Streams {
            runs,
            direction,
            time: [x?, y?],
            bytes: runs.map(|r| r.progress.total().payload_bytes as f64),
        })
    }

    pub(super) fn change(&self) -> Change {
        let [a, b] = &self.time;
        effect::change(a, b, 0.0)
    }

    /// What each run carried, and how long that took.
    pub(super) fn volumes(&self) -> [(u64, i64); 2] {
        let [a, b] = &self.time;
        let [m, n] = self.bytes;
        [
            (m as u64, (m * a.point) as i64),
            (n as u64, (n * b.point) as i64),
        ]
    }

    /// What the difference comes from, what adds most first.
    pub(super) fn causes(&self) -> Vec<Cause> {
        let change = self.change();
        let (added, all) = (change.difference(), self.bytes[1]);
        let mut causes: Vec<Cause> = self.size(added).into_iter().collect();
        let by_size: f64 = causes.iter().map(|c| c.added_ns as f64).sum();
        let left = added - by_size / all;
        for class in TimeClass::ALL.into_iter().filter(|c| is_wait(*c)) {
            let each = |run: usize| {
                let totals = self.totals(run)?;
                Some(totals.time_ns[class] as f64 / self.bytes.get(run)?)
            };
            let (Some(baseline), Some(problem)) = (each(0), each(1)) else {
                continue;
            };
            let waited = Change {
                baseline,
                problem,
                ..Change::default()
            };
            // No more of it than is left to explain.
            let own = waited.difference();
            let share = if own * left > 0.0 {
                own.abs().min(left.abs()) * left.signum()
            } else {
                0.0
            };
            if share.abs() < added.abs() * attribution::SHARE {
                continue;
            }
            let line = AccountLine::Waited(self.direction, class);
            let mut cause = wording::of_line(self.runs, line, waited);
            cause.added_ns = (share * all) as i64;
            cause.beyond_chance = change.beyond_chance;
            causes.push(cause);
        }
        let sign = if added < 0.0 { -1 } else { 1 };
        causes.sort_by_key(|c| std::cmp::Reverse(c.added_ns.saturating_mul(sign)));
        causes
    }

    fn totals(&self, run: usize) -> Option<&WireTotals> {
        let group = self.runs.get(run)?.groups.first()?;
        group.directions.get(self.direction.index())
    }

    /// What writes of another size add, per byte: their number, each as long as one of the run with fewer.
    fn size(&self, added: f64) -> Option<Cause> {
        let [a, b] = self.runs.map(|r| written_at_once(r, self.direction));
        let (a, b) = (a? as f64, b? as f64);
        let change = effect::setting(a, b);
        let slower = (b < a) == (added > 0.0);
        if change.beyond_chance != Some(true) || !slower {
            return None;
        }
        let [x, y] = &self.time;
        // Nanoseconds per byte, of as many writes as the other run has of them.
        let most = match added > 0.0 {
            true => x.point * (a / b - 1.0),
            false => y.point * (b / a - 1.0),
        };
        let ns = added.abs().min(most) * added.signum();
        Some(Cause {
            rule: Some(Rule::SmallWrites),
            what: attribution::write_size([a, b], self.direction),
            added_ns: (ns * self.bytes[1]) as i64,
            beyond_chance: self.change().beyond_chance,
            change,
            per: "byte",
            explains: true,
            ..attribution::empty()
        })
    }
}

/// How long each block was, of those in which anybody may have waited, and what it carried.
fn busy(blocks: &Blocks<WireSums>) -> (Vec<f64>, Vec<f64>) {
    let width = blocks.width_ns();
    let (mut ns, mut bytes) = (Vec::new(), Vec::new());
    let mut silent: usize = 0;
    for block in blocks.blocks() {
        if block.payload_bytes == 0 {
            silent += 1;
            continue;
        }
        let quiet = silent as i64 * width >= QUIET_NS;
        if !quiet && !bytes.is_empty() {
            ns.resize(ns.len() + silent, width as f64);
            bytes.resize(bytes.len() + silent, 0.0);
        }
        silent = 0;
        ns.push(width as f64);
        bytes.push(block.payload_bytes as f64);
    }
    (ns, bytes)
}
