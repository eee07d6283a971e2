//! What connections take up in memory, by partition: which connections share one follows from their ends
//! alone, so what is forgotten where memory is full does not depend on how many threads there are.
//!
//! A connection is weighed by what came for it, and never by whether it is packed, which differs between
//! threads. To look at all that it keeps costs as much as it keeps, so that is done after as many segments again.

use super::entry::Entry;
use super::{Tracker, Wanted};
use crate::{Handler, Kept, Segment};
use model::{Close, ConnectionId, Time};

/// So many bits of what decides which thread owns a connection say its partition.
const BITS: u32 = 6;
pub const PARTITIONS: usize = 1 << BITS;

/// What is kept of any connection, packed, and what is told of it when it is over; with an account; and with what it
/// did in each interval, which is told of all connections at once.
const LEAST: usize = 2_048;
const ACCOUNT: usize = 1_024;
const INTERVALS: usize = 8_192;

/// Segments after which a connection is weighed anew, but for what waits in it.
const AS_A_RULE: u32 = 16;

/// A partition that has too much gives so many parts of this many back, so that it does not have too much again at
/// once.
const LEFT: (u64, u64) = (3, 4);

/// Which partition a segment's connection is of.
#[inline]
#[must_use]
pub fn partition(s: &Segment) -> usize {
    partition_of(s.owner_hash)
}

/// The same of what decides it.
pub(crate) fn partition_of(owner_hash: u64) -> usize {
    (owner_hash >> (u64::BITS - BITS)) as usize
}

/// What a connection was last found to take up.
#[derive(Debug)]
pub(super) struct Weight {
    pub(super) partition: u8,
    /// Of any connection like this.
    least: u16,
    bytes: usize,
    /// Of it, what waits for earlier bytes.
    waiting: usize,
    /// Segments until it is weighed anew, and how many came since it was.
    due: u32,
    since: u32,
}

impl Weight {
    pub(super) fn of(s: &Segment, wanted: &Wanted) -> Weight {
        let account = if wanted.accounts { ACCOUNT } else { 0 };
        let intervals = wanted.intervals_ns.map_or(0, |_| INTERVALS);
        Weight {
            partition: partition(s) as u8,
            least: (LEAST + account + intervals) as u16,
            bytes: 0,
            waiting: 0,
            due: 0,
            since: 0,
        }
    }

    /// Another segment has come: whether it is to be weighed.
    #[inline]
    pub(super) fn is_due(&mut self, waiting: usize) -> bool {
        self.since += 1;
        self.since > self.due || waiting != self.waiting
    }

    /// It is found to take up so much; by how much more than before.
    pub(super) fn set(&mut self, waiting: usize, kept: Kept) -> isize {
        let bytes = usize::from(self.least) + waiting + kept.bytes;
        let more = bytes as isize - self.bytes as isize;
        // Young connections grow.
        let soon = self.due.saturating_mul(2).saturating_add(1).min(AS_A_RULE);
        self.due = soon.max(kept.things as u32 / 8);
        (self.bytes, self.waiting, self.since) = (bytes, waiting, 0);
        more
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// What all connections take up, by partition.
#[derive(Debug)]
pub(super) struct Weights([u64; PARTITIONS]);

impl Default for Weights {
    fn default() -> Weights {
        Weights([0; PARTITIONS])
    }
}

impl Weights {
    pub(super) fn add(&mut self, partition: u8, more: isize) {
        if let Some(of) = self.0.get_mut(usize::from(partition)) {
            *of = of.saturating_add_signed(more as i64);
        }
    }
}

impl<H: Handler> Tracker<H> {
    /// Bytes that connections take up, by [`partition`].
    #[must_use]
    pub fn weights(&self) -> &[u64; PARTITIONS] {
        &self.weights.0
    }

    /// Forgets connections of partitions that take up more than `most` bytes, those that have been silent for longest
    /// first, until they take up less. `order` as in [`sweep`](Tracker::sweep), `now` the time of the packet reached.
    pub fn make_room(&mut self, most: u64, order: u64, now: Time) {
        let taken = self
            .weights
            .0
            .iter()
            .fold(0, |sum: u64, w| sum.saturating_add(*w));
        self.awake.have(self.room.saturating_sub(taken));
        let mut evicted = Vec::new();
        for partition in 0..PARTITIONS {
            let has = self.weights.0.get(partition).copied().unwrap_or(0);
            if has > most {
                let (parts, of) = LEFT;
                self.shrink(partition as u8, has - most / of * parts, &mut evicted);
            }
        }
        // In an order that does not depend on who has which partitions: the first is told.
        evicted.sort_unstable_by_key(|entry| entry.connection.id);
        for entry in evicted {
            self.close(*entry, Close::Evicted, order, now);
        }
    }

    /// Takes connections of a partition out until so many bytes are given back.
    #[cold]
    fn shrink(&mut self, partition: u8, bytes: u64, evicted: &mut Vec<Box<Entry<H::State>>>) {
        let of = self
            .connections
            .iter()
            .filter(|e| e.weight.partition == partition);
        let mut oldest: Vec<(Time, ConnectionId, u64)> =
            of.map(|e| (e.last.time, e.connection.id, e.hash)).collect();
        oldest.sort_unstable();
        let mut given = 0;
        for (_, id, hash) in oldest {
            if given >= bytes {
                return;
            }
            let found = self.connections.find_entry(hash, |e| e.connection.id == id);
            if let Ok(found) = found {
                let (entry, _) = found.remove();
                given += entry.weight.bytes() as u64;
                evicted.push(entry);
            }
        }
    }
}
