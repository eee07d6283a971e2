//! What the reading thread keeps of packets for a capture that is looked at while it goes on: the packets
//! themselves, how many came in which interval, and what time it is when none come.

use analysis::live::Traffic;
use capture::Capture;
use model::{Batch, Interval, Packet, Time};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Packets come this late at most: where none came for so long, none that is older comes.
const LATE_NS: i64 = 200_000_000;

/// Of one batch.
#[derive(Clone, Default, Debug)]
pub(crate) struct KeptBatch {
    /// Its packets, where any are kept.
    pub batch: Option<Arc<Batch>>,
    /// By interval, in the order of packets.
    pub traffic: Vec<(Time, Traffic)>,
    /// Packets lost by the capturing host so far; `None` where it does not say.
    pub dropped: Option<u64>,
}

pub(crate) struct BatchKeeper {
    width_ns: i64,
    /// Whether packets are wanted, not only their numbers.
    keeps: bool,
    stop: Arc<AtomicBool>,
    /// Nanoseconds of a clock that never stops, where packets come as they are captured.
    clock: Option<fn() -> i64>,
    /// The latest packet's time, and when it came by that clock.
    latest: Option<(Time, i64)>,
}

impl BatchKeeper {
    pub(crate) fn new(
        width_ns: i64,
        keeps: bool,
        stop: Arc<AtomicBool>,
        clock: Option<fn() -> i64>,
    ) -> BatchKeeper {
        BatchKeeper {
            width_ns,
            keeps,
            stop,
            clock,
            latest: None,
        }
    }

    /// Whether to read no more. What was read of a record then is nobody's loss.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(crate) fn take(&mut self, batch: &Batch, capture: &Capture) -> KeptBatch {
        let mut traffic: Vec<(Time, Traffic)> = Vec::new();
        for p in &batch.packets {
            let start = Interval::start_of(p.time, self.width_ns);
            let one = Traffic {
                packets: 1,
                bytes: u64::from(p.length),
            };
            match traffic.last_mut().filter(|(known, _)| *known == start) {
                Some((_, sum)) => {
                    sum.packets += one.packets;
                    sum.bytes += one.bytes;
                }
                None => traffic.push((start, one)),
            }
        }
        let keeps = self.keeps && !batch.packets.is_empty();
        KeptBatch {
            batch: keeps.then(|| Arc::new(compact(batch))),
            traffic,
            dropped: capture.dropped(),
        }
    }

    /// The time that packets have reached: of the last, or later where none came since.
    pub(crate) fn now(&mut self, batch: &Batch, last: Time) -> Time {
        let Some(clock) = self.clock else { return last };
        let now = clock();
        if !batch.packets.is_empty() {
            // Unless the clock was set back.
            let before = self.latest.filter(|(time, _)| *time - last < LATE_NS);
            let latest = before.map_or(last, |(time, _)| time.max(last));
            self.latest = Some((latest, now));
            return last;
        }
        match self.latest {
            Some((time, then)) => time + (now - then - LATE_NS).max(0),
            None => last,
        }
    }
}

/// The packets of a batch without what lies between them.
fn compact(batch: &Batch) -> Batch {
    let captured = |p: &Packet| p.captured as usize;
    let mut kept = Batch {
        bytes: Vec::with_capacity(batch.packets.iter().map(captured).sum()),
        packets: Vec::with_capacity(batch.packets.len()),
    };
    append(&mut kept, batch);
    kept
}

/// Adds packets behind those of another batch.
pub(super) fn append(kept: &mut Batch, batch: &Batch) {
    for p in &batch.packets {
        let start = kept.bytes.len() as u32;
        kept.bytes.extend_from_slice(batch.bytes_of(p));
        kept.packets.push(Packet { start, ..*p });
    }
}
