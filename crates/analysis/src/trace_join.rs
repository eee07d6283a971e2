//! A database's own waits for blocks of data files against the NFS READs that served them: I/O by I/O, the
//! database's time, the wire's at the client, and the wire's at the server.
//!
//! Of the clock of a trace nothing is known, so READs of blocks that the trace names are kept until the
//! capture ends; then
//!
//! 1. the size of a block is the one under which most waits begin where a READ does,
//! 2. [`mod@align`] finds the clock from pairs of the same place,
//! 3. each wait takes the READs that cover its blocks within its time: one, or several where blocks are more
//!    than the mount's rsize. Which file handle is which file of the database follows from the pairs of 2.

pub mod align;
mod joining;
#[cfg(test)]
pub(crate) mod tests;

use crate::app::AppFacts;
use crate::half::Half;
use crate::results::CaptureResult;
use crate::text::{Text, text};
use align::{AGREEING, Misfit, Pair, align};
use hashbrown::HashMap;
use joining::Joining;
use model::limits::{TRACE_PAIRS, TRACE_READS};
use model::{Call, Field, Mark, Outcome, PacketRef, Time};
use std::sync::Arc;
use trace::{BlockWait, BlockWaits};

/// Sizes of a block that a database may have, the most frequent first.
const BLOCK_BYTES: [u64; 5] = [8_192, 16_384, 4_096, 32_768, 2_048];

/// Pairs of one place that are tried for the clock.
const PAIRS_OF_PLACE: usize = 16_384;

/// Waits that decide the size of a block.
const DECIDING: usize = 200_000;

/// A READ of the client's capture.
#[derive(Clone, Copy, Debug)]
struct Read {
    offset: u64,
    /// Hash of the file handle.
    handle: u64,
    count: u32,
    first: Mark,
    last: Mark,
    /// Request first and response last byte in the server's capture.
    server: Option<(Time, Time)>,
}

/// Waits of a trace, and the READs that may have served them.
pub struct TraceJoin {
    waits: Arc<BlockWaits>,
    /// Blocks that waits name, in ranges that do not touch.
    named: Vec<(u64, u64)>,
    reads: Vec<Read>,
    by_call: HashMap<(PacketRef, u32), u32, foldhash::fast::FixedState>,
    beyond_limit: u64,
}

/// Reads by the place where they begin, in the order of their responses.
struct Places {
    order: Vec<u32>,
    ranges: HashMap<u64, (u32, u32), foldhash::fast::FixedState>,
}

impl Places {
    fn of(reads: &[Read]) -> Places {
        let mut order: Vec<u32> = (0..reads.len() as u32).collect();
        let key = |i: u32| {
            let read = reads.get(i as usize);
            read.map(|r| (r.offset, r.last.time, i))
        };
        order.sort_unstable_by_key(|&i| key(i));
        let mut ranges = HashMap::default();
        let mut at = 0;
        let offset = |i: u32| reads.get(i as usize).map(|r| r.offset);
        for group in order.chunk_by(|&a, &b| offset(a) == offset(b)) {
            let end = at + group.len() as u32;
            if let Some(offset) = group.first().and_then(|&i| offset(i)) {
                ranges.insert(offset, (at, end));
            }
            at = end;
        }
        Places { order, ranges }
    }

    /// Numbers of the READs that begin at an offset.
    fn at(&self, offset: u64) -> &[u32] {
        let range = self.ranges.get(&offset);
        range
            .and_then(|&(from, to)| self.order.get(from as usize..to as usize))
            .unwrap_or_default()
    }
}

impl TraceJoin {
    #[must_use]
    pub fn new(waits: Arc<BlockWaits>) -> TraceJoin {
        let blocks = |w: &BlockWait| {
            let from = u64::from(w.block);
            (from, from + u64::from(w.blocks))
        };
        let mut all: Vec<(u64, u64)> = waits.waits.iter().map(blocks).collect();
        all.sort_unstable();
        let mut named: Vec<(u64, u64)> = Vec::new();
        for (from, to) in all {
            match named.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => named.push((from, to)),
            }
        }
        TraceJoin {
            waits,
            named,
            reads: Vec::new(),
            by_call: HashMap::default(),
            beyond_limit: 0,
        }
    }

    /// Whether a wait names what stands at this offset, whatever the size of a block.
    fn is_named(&self, offset: u64) -> bool {
        BLOCK_BYTES.iter().any(|size| {
            let block = offset / size;
            let behind = self.named.partition_point(|&(from, _)| from <= block);
            let range = behind.checked_sub(1).and_then(|i| self.named.get(i));
            offset.is_multiple_of(*size) && range.is_some_and(|&(_, to)| block < to)
        })
    }

    /// A call of the client's capture.
    pub fn call(&mut self, call: &Call) {
        if call.op.as_str() != "READ" || call.outcome != Outcome::Ok || !call.is_timed() {
            return;
        }
        let size = call.detail.get(Field::Count);
        let size = size.or_else(|| call.detail.get(Field::Returned));
        let (Some(first), Some(last), Some(offset), Some(count)) = (
            call.request_first,
            call.response_last,
            call.detail.get(Field::Offset),
            size.and_then(|n| u32::try_from(n).ok()).filter(|&n| n > 0),
        ) else {
            return;
        };
        if !self.is_named(offset) {
            return;
        }
        if self.reads.len() >= TRACE_READS {
            self.beyond_limit += 1;
            return;
        }
        let number = self.reads.len() as u32;
        self.by_call.insert((first.packet, call.id), number);
        self.reads.push(Read {
            offset,
            handle: call.detail.get(Field::File).unwrap_or(0),
            count,
            first,
            last,
            server: None,
        });
    }

    /// A call that both captures hold.
    pub fn matched(&mut self, client: &Half, server: &Half) {
        let number = self.by_call.get(&(client.request_first.packet, client.id));
        if let Some(read) = number.and_then(|&n| self.reads.get_mut(n as usize)) {
            read.server = Some((server.request_first.time, server.response_last.time));
        }
    }

    /// The join, and what must be said of it. `capture` is the client's.
    #[must_use]
    pub fn finish(
        self,
        capture: usize,
        results: &[CaptureResult],
        format: &str,
    ) -> (Option<AppFacts>, Vec<Text>) {
        let mut notes = Vec::new();
        let mut left_out = |n: u64, what: &'static str| {
            if n > 0 {
                notes.push(text!("{n} {what}.", n = n, what = what));
            }
        };
        left_out(
            self.waits.beyond_limit,
            "waits of the trace are more than are remembered and were left out",
        );
        left_out(
            self.waits.untimed,
            "waits of the trace have no tim and were left out",
        );
        left_out(
            self.beyond_limit,
            "READs of blocks that the trace names are more than are remembered and were left out",
        );
        if self.reads.is_empty() {
            notes.push(
                "The trace was left out: no NFS READ in the client's capture is of blocks that it names."
                    .into(),
            );
            return (None, notes);
        }
        let places = Places::of(&self.reads);
        let block_bytes = self.block_bytes(&places);
        match align(&mut self.pairs(&places, block_bytes)) {
            Ok((clock, agreeing)) => {
                let joining = Joining {
                    reads: &self.reads,
                    waits: &self.waits.waits,
                    places: &places,
                    clock: &clock,
                    block_bytes,
                    capture,
                    results,
                };
                let (facts, note) = joining.join(&agreeing, format);
                notes.extend(note);
                (Some(facts), notes)
            }
            Err(why) => {
                notes.push(refusal(why));
                (None, notes)
            }
        }
    }

    /// The size of a block under which most waits begin where a READ does; one of their size counts
    /// twice, as every second block of half the size begins where one of the size does.
    fn block_bytes(&self, places: &Places) -> u64 {
        let stride = self.waits.waits.len().div_ceil(DECIDING).max(1);
        let votes = |size: u64| -> u64 {
            let waits = self.waits.waits.iter().step_by(stride);
            let vote = |w: &BlockWait| {
                let bytes = u64::from(w.blocks) * size;
                let there = places.at(u64::from(w.block) * size);
                let reads = there.iter().filter_map(|&i| self.reads.get(i as usize));
                let votes = reads.map(|r| 1 + u64::from(u64::from(r.count) == bytes));
                votes.max().unwrap_or(0)
            };
            waits.map(vote).sum()
        };
        let mut best = (0, 0);
        for size in BLOCK_BYTES {
            let n = votes(size);
            if n > best.0 || best.1 == 0 {
                best = (n, size);
            }
        }
        best.1
    }

    /// Pairs of a wait and a READ of the same place that lasted no longer than the wait. Places that
    /// were read least come first: they tell most.
    fn pairs(&self, places: &Places, block_bytes: u64) -> Vec<Pair> {
        let waits = &self.waits.waits;
        let margin = 2 * self.waits.unit_ns.max(1_000);
        let of = |i: u32| waits.get(i as usize);
        let mut whole: Vec<u32> = (0..waits.len() as u32)
            .filter(|&i| of(i).is_some_and(|w| w.event.is_whole()))
            .collect();
        whole.sort_unstable_by_key(|&i| (of(i).map(|w| w.block), i));
        let block = |i: u32| of(i).map(|w| w.block);
        let mut groups: Vec<(usize, &[u32], &[u32])> = whole
            .chunk_by(|&a, &b| block(a) == block(b))
            .filter_map(|group| {
                let offset = u64::from(block(*group.first()?)?) * block_bytes;
                let reads = places.at(offset);
                (!reads.is_empty()).then_some((group.len() * reads.len(), group, reads))
            })
            .collect();
        groups.sort_by_key(|(n, ..)| *n);
        let mut pairs = Vec::new();
        for (n, group, reads) in groups {
            let stride = n.div_ceil(PAIRS_OF_PLACE).max(1);
            for &wait in group.iter().step_by(stride) {
                for &read in reads {
                    if pairs.len() >= TRACE_PAIRS {
                        return pairs;
                    }
                    let (Some(w), Some(r)) = (of(wait), self.reads.get(read as usize)) else {
                        continue;
                    };
                    let (request, response) = (r.first.time.0, r.last.time.0);
                    let start = w.end_ns.saturating_sub(w.elapsed_ns);
                    let low = start.saturating_sub(request).saturating_sub(margin);
                    let high = w.end_ns.saturating_sub(response).saturating_add(margin);
                    if low <= high {
                        pairs.push(Pair {
                            request,
                            response,
                            low,
                            high,
                            wait,
                            read,
                        });
                    }
                }
            }
        }
        pairs
    }
}

/// Why a trace was left out, in words.
fn refusal(why: Misfit) -> Text {
    match why {
        Misfit::TooFew { agree, of } => text!(
            "The trace was left out: its clock could not be found. Only {agree} of {of} waits agree with READs of the same blocks; {needed} and half of them are needed. Is it of the same time and host as the client's capture?",
            agree = agree,
            of = of,
            needed = AGREEING,
        ),
        Misfit::Ambiguous => "The trace was left out: its clock could not be found, as waits and READs of the same blocks agree in more than one way. Take a longer trace and capture.".into(),
    }
}
