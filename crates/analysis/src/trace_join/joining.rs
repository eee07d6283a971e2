//! Waits and READs of one clock into joined reads: each wait takes the READs that cover its blocks within its
//! time, and what was found is summed by event.

use super::align::{Pair, TraceClock};
use super::{Places, Read};
use crate::app::{AppFacts, ComparedBy};
use crate::findings::evidence;
use crate::results::{CaptureResult, DataFile, EventSum, Evidence, JoinedRead, TraceJoinResult};
use crate::stats::Distribution;
use crate::text::{Text, Value, text};
use model::Time;
use std::collections::BTreeMap;
use trace::{BlockWait, ReadEvent};

/// Joined reads listed.
pub(super) const LISTED: usize = 100;

/// READs that serve one wait.
const PIECES: usize = 1_024;

/// Between a wait and its READs, beyond what the clock leaves open.
const SLACK_NS: i64 = 50_000;

/// What waits and READs are joined by.
pub(super) struct Joining<'a> {
    pub(super) reads: &'a [Read],
    pub(super) waits: &'a [BlockWait],
    pub(super) places: &'a Places,
    pub(super) clock: &'a TraceClock,
    pub(super) block_bytes: u64,
    pub(super) capture: usize,
    pub(super) results: &'a [CaptureResult],
}

/// What one wait was spent on.
struct Served {
    pieces: Vec<u32>,
    wire_ns: i64,
    server_ns: Option<i64>,
}

/// Sums of one event.
#[derive(Default)]
struct Sums {
    during: u64,
    oracle: Distribution,
    wire: Distribution,
    server: Distribution,
}

impl Joining<'_> {
    pub(super) fn join(&self, agreeing: &[Pair], format: &str) -> (AppFacts, Option<Text>) {
        let handles = self.handles(agreeing);
        let span = self
            .results
            .get(self.capture)
            .and_then(|c| Some((c.first?, c.last?)));
        let (from, to) = span.map_or((i64::MIN, i64::MAX), |(a, b)| (a.0, b.0));
        let mut overlapping: Vec<(i64, &BlockWait)> = self
            .waits
            .iter()
            .map(|w| (self.clock.to_capture(w.end_ns), w))
            .filter(|(end, w)| *end >= from && end.saturating_sub(w.elapsed_ns) <= to)
            .collect();
        overlapping.sort_by_key(|(end, _)| *end);
        let mut used = vec![false; self.reads.len()];
        let mut sums: BTreeMap<ReadEvent, Sums> = BTreeMap::new();
        let mut files: BTreeMap<u32, u64> = BTreeMap::new();
        let mut worst: Vec<(i64, i64, &BlockWait, Served)> = Vec::new();
        let (mut whole, mut above) = (Distribution::default(), Distribution::default());
        for (end, wait) in &overlapping {
            let event = sums.entry(wait.event).or_default();
            let Some(served) = self.serve(*end, wait, handles.get(&wait.file), &mut used) else {
                // The capture may lack the READs of those that only overlap it.
                let inside = *end <= to && end.saturating_sub(wait.elapsed_ns) >= from;
                event.during += u64::from(inside);
                continue;
            };
            event.during += 1;
            event.oracle.add(wait.elapsed_ns);
            event.wire.add(served.wire_ns);
            if let Some(ns) = served.server_ns {
                event.server.add(ns);
            }
            *files.entry(wait.file).or_default() += 1;
            if wait.event.is_whole() {
                whole.add(wait.elapsed_ns);
                above.add((wait.elapsed_ns - served.wire_ns).max(0));
            }
            let at = worst.partition_point(|(ns, ..)| *ns >= wait.elapsed_ns);
            if at < LISTED {
                worst.insert(at, (wait.elapsed_ns, *end, wait, served));
                worst.truncate(LISTED);
            }
        }
        let during: u64 = sums.values().map(|s| s.during).sum();
        let joined: u64 = sums.values().map(|s| s.oracle.count()).sum();
        let result = TraceJoinResult {
            clock: *self.clock,
            block_bytes: self.block_bytes,
            waits: self.waits.len() as u64,
            during,
            joined,
            files: files
                .into_iter()
                .map(|(file, joined)| DataFile {
                    file,
                    handle: handles.get(&file).copied(),
                    path: None,
                    joined,
                })
                .collect(),
            events: sums
                .into_iter()
                .map(|(event, s)| EventSum {
                    event: event.name(),
                    waits: s.during,
                    oracle: s.oracle.summary(),
                    wire: s.wire.summary(),
                    server: (s.server.count() > 0).then(|| s.server.summary()),
                })
                .collect(),
            worst: worst
                .into_iter()
                .map(|(oracle_ns, end, wait, served)| self.shown(oracle_ns, end, wait, &served))
                .collect(),
        };
        let basis = text!(
            "{format}: {joined} of {during} waits for blocks joined with READs by place and time",
            format = format.to_owned(),
            joined = joined,
            during = during,
        );
        let note = (self.clock.uncertainty_ns > 1_000_000).then(|| {
            text!(
                "The trace's clock is only known to ±{error}: a READ may stand beside the wrong wait for the same block.",
                error = Value::Duration(self.clock.uncertainty_ns)
            )
        });
        let facts = AppFacts {
            operations: during,
            matched: above.count(),
            application_mean_ns: whole.mean_ns(),
            host_mean_ns: above.mean_ns(),
            host_total_ns: above.total_ns(),
            bounds: None,
            by: ComparedBy::Trace,
            basis,
            join: Some(result),
        };
        (facts, note)
    }

    /// The file handle of each of the database's files, where pairs agree on one.
    fn handles(&self, agreeing: &[Pair]) -> BTreeMap<u32, u64> {
        let mut counts: BTreeMap<u32, BTreeMap<u64, u64>> = BTreeMap::new();
        for p in agreeing {
            let wait = self.waits.get(p.wait as usize);
            let read = self.reads.get(p.read as usize);
            if let (Some(w), Some(r)) = (wait, read) {
                *counts
                    .entry(w.file)
                    .or_default()
                    .entry(r.handle)
                    .or_default() += 1;
            }
        }
        let most = |(file, handles): (u32, BTreeMap<u64, u64>)| {
            let all: u64 = handles.values().sum();
            let (handle, n) = handles.into_iter().max_by_key(|(_, n)| *n)?;
            (n >= 2 && n * 10 >= all * 9).then_some((file, handle))
        };
        counts.into_iter().filter_map(most).collect()
    }

    /// The READs that cover a wait's blocks within its time; they serve no other.
    fn serve(
        &self,
        end: i64,
        wait: &BlockWait,
        handle: Option<&u64>,
        used: &mut [bool],
    ) -> Option<Served> {
        let start = end.saturating_sub(wait.elapsed_ns);
        let room = self.clock.uncertainty_at(end).saturating_add(SLACK_NS);
        let is_free = |i: &u32| used.get(*i as usize).is_some_and(|used| !used);
        let fits = |r: &Read| {
            // Reads past the cache are waited for when they are under way.
            let from = match wait.event.is_whole() {
                true => r.first.time.0,
                false => r.last.time.0,
            };
            handle.is_none_or(|&h| h == r.handle) && from >= start.saturating_sub(room)
        };
        let mut at = u64::from(wait.block) * self.block_bytes;
        let behind = at + u64::from(wait.blocks) * self.block_bytes;
        let mut pieces: Vec<u32> = Vec::new();
        let (mut first, mut last) = (Time::MAX, Time::MIN);
        let (mut server_first, mut server_last) = (Time::MAX, Time::MIN);
        let mut all_at_server = true;
        while at < behind {
            // The one that ends last before the wait does.
            let there = self.places.at(at);
            let answered = |i: u32| {
                self.reads
                    .get(i as usize)
                    .map_or(Time::MAX, |r| r.last.time)
            };
            let latest = end.saturating_add(room);
            let until = there.partition_point(|&i| answered(i).0 <= latest);
            let (number, read) = there
                .get(..until)?
                .iter()
                .rev()
                .take_while(|&&i| answered(i).0 >= start.saturating_sub(room))
                .filter(|i| is_free(i))
                .filter_map(|&i| Some((i, self.reads.get(i as usize)?)))
                .find(|(_, r)| fits(r))?;
            pieces.push(number);
            if pieces.len() > PIECES {
                return None;
            }
            first = first.min(read.first.time);
            last = last.max(read.last.time);
            match read.server {
                Some((f, l)) => {
                    server_first = server_first.min(f);
                    server_last = server_last.max(l);
                }
                None => all_at_server = false,
            }
            at = at.saturating_add(u64::from(read.count));
        }
        for &i in &pieces {
            if let Some(used) = used.get_mut(i as usize) {
                *used = true;
            }
        }
        Some(Served {
            pieces,
            wire_ns: last - first,
            server_ns: all_at_server.then(|| server_last - server_first),
        })
    }

    fn shown(&self, oracle_ns: i64, end: i64, wait: &BlockWait, served: &Served) -> JoinedRead {
        let reads = served
            .pieces
            .iter()
            .filter_map(|&i| self.reads.get(i as usize));
        let packets = reads.flat_map(|r| [r.first, r.last].map(|m| (self.capture, m.packet)));
        let evidence: Vec<Evidence> = evidence::by_file(self.results, packets, "");
        JoinedRead {
            event: wait.event.name(),
            file: wait.file,
            block: wait.block,
            blocks: wait.blocks,
            end: Time(end),
            oracle_ns,
            wire_ns: served.wire_ns,
            server_ns: served.server_ns,
            reads: served.pieces.len() as u64,
            evidence,
        }
    }
}
