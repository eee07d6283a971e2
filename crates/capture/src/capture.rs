//! Several files into one stream of packets in time order.
//!
//! Files are sorted by their first packet and opened when the stream reaches that time. While one
//! file is open its batches are handed on as they are; while several are, their packets are merged
//! by time. So a rotated set is concatenated and the two ports of a tap are merged by the same rule,
//! without a pass over the files to learn which it is. Within one file the order of the file stays,
//! also where time steps back.

use crate::error::CaptureError;
use crate::file::{BATCH_BYTES, BATCH_PACKETS, FileReader};
use crate::inputs::{self, Files, Pending, QueuedFile};
use crate::pcapng::beside::Beside;
use crate::source::Raw;
use crate::summary::{CaptureSummary, FileSummary, Format};
use model::{Batch, Packet, Problems, Time, Where};
use std::cmp::Ordering;
use std::collections::binary_heap::PeekMut;
use std::collections::{BinaryHeap, VecDeque};
use std::io::Read;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicU64};

/// Bytes read at once of one of many files.
const SHARE_BYTES: usize = 64 << 10;

/// One or more files taken at one point, as one stream of packets.
pub struct Capture {
    names: Vec<String>,
    /// Of files that were not opened yet, and of those at their end.
    summaries: Vec<FileSummary>,
    pending: VecDeque<(u16, Pending)>,
    /// Open files; the one with the next packet is the greatest.
    active: BinaryHeap<Active>,
    order: u64,
    problems: Problems,
    consumed: Arc<AtomicU64>,
    total: Option<u64>,
    /// Files that were opened in their turn, and why the last of the others could not be.
    opened: usize,
    failure: Option<CaptureError>,
}

/// An open file and those of its packets that wait to be merged.
struct Active {
    file: u16,
    reader: FileReader,
    batch: Batch,
    /// Index of the next packet of the batch.
    next: usize,
    /// When the next packet's turn is.
    key: Time,
}

impl Capture {
    /// Opens files, directories and standard input (`-`) as one capture.
    ///
    /// # Errors
    /// When nothing of it can be read. Inputs that cannot be read beside others that can are counted
    /// in [`problems`](Capture::problems).
    pub fn open(inputs: &[PathBuf]) -> Result<Capture, CaptureError> {
        let consumed = Arc::default();
        let files = inputs::look(inputs, &consumed)?;
        Ok(Capture::of(files, consumed))
    }

    /// Reads one capture from `reader`; `name` stands for it in messages.
    ///
    /// # Errors
    /// When it is not a capture.
    pub fn from_reader(name: &str, reader: Box<dyn Read + Send>) -> Result<Capture, CaptureError> {
        let consumed = Arc::default();
        let raw: Raw = reader;
        let files = inputs::look_at_reader(name, raw, &consumed)?;
        Ok(Capture::of(files, consumed))
    }

    /// Reads one capture that goes on: `reader` answers [`TimedOut`](std::io::ErrorKind::TimedOut) when
    /// nothing has come for a while, and [`next_batch`](Capture::next_batch) then gives a batch without
    /// packets.
    ///
    /// # Errors
    /// When it is not a capture.
    pub fn from_live(name: &str, reader: Box<dyn Read + Send>) -> Result<Capture, CaptureError> {
        let consumed = Arc::default();
        let files = inputs::look_at_live(name, reader, &consumed)?;
        Ok(Capture::of(files, consumed))
    }

    fn of(files: Files, consumed: Arc<AtomicU64>) -> Capture {
        let summaries: Vec<_> = files.pending.iter().map(|p| p.summary.clone()).collect();
        Capture {
            names: summaries.iter().map(|s| s.name.clone()).collect(),
            summaries,
            pending: (0..=u16::MAX).zip(files.pending).collect(),
            active: BinaryHeap::new(),
            order: 0,
            problems: files.problems,
            consumed,
            total: files.total,
            opened: 0,
            failure: None,
        }
    }

    /// Replaces what `batch` holds by the next packets; `false` at the end. The order behind a
    /// batch's last packet is left free for what is decided there. A batch is best given
    /// back as it came: memory that was cleared has to be filled with zeros again.
    ///
    /// # Errors
    /// When no file could be opened again when its turn came.
    pub fn next_batch(&mut self, batch: &mut Batch) -> Result<bool, CaptureError> {
        batch.packets.clear();
        loop {
            let straight =
                self.active.len() == 1 && self.active.peek().is_some_and(Active::is_used_up);
            if straight {
                self.pass(batch);
                if batch.packets.is_empty() && self.active.peek().is_some_and(Active::goes_on) {
                    return Ok(true);
                }
            } else if !self.active.is_empty() {
                self.merge(batch);
            } else if !self.open_next() {
                return match self.failure.take() {
                    Some(failure) if self.opened == 0 => Err(failure),
                    _ => Ok(false),
                };
            }
            if !batch.packets.is_empty() {
                self.order += 1;
                return Ok(true);
            }
        }
    }

    /// The names of the files, in the order of [`PacketRef::file`](model::PacketRef).
    #[must_use]
    pub fn files(&self) -> &[String] {
        &self.names
    }

    /// What stands beside a packet of `batch`, the last that was handed on, in its file.
    #[must_use]
    pub fn beside(&self, batch: &Batch, packet: &Packet) -> Beside {
        let file = self.summaries.get(usize::from(packet.at.file));
        match file.map(|f| f.format) {
            Some(Format::PcapNg) => Beside::of(
                &batch.bytes,
                packet.start as usize,
                packet.captured as usize,
            ),
            _ => Beside::default(),
        }
    }

    /// What is known so far.
    #[must_use]
    pub fn summary(&self) -> CaptureSummary {
        let mut files = self.summaries.clone();
        for active in &self.active {
            if let Some(summary) = files.get_mut(usize::from(active.file)) {
                *summary = active.reader.summary();
            }
        }
        CaptureSummary::of(files)
    }

    /// Packets that the capturing host says it lost so far; `None` where it does not say.
    #[must_use]
    pub fn dropped(&self) -> Option<u64> {
        let open = self.active.iter().map(|active| active.reader.dropped());
        let over = self.summaries.iter().map(FileSummary::dropped);
        open.chain(over).flatten().reduce(u64::saturating_add)
    }

    /// What was wrong so far.
    #[must_use]
    pub fn problems(&self) -> &Problems {
        &self.problems
    }

    /// Bytes read so far, before decompression, and how many there are if that is known.
    #[must_use]
    pub fn progress(&self) -> (u64, Option<u64>) {
        (self.consumed.load(atomic::Ordering::Relaxed), self.total)
    }

    /// Hands on a batch of the only open file as it is, unless another file's time has come.
    fn pass(&mut self, batch: &mut Batch) {
        let Some(mut active) = self.active.pop() else {
            return;
        };
        active.reader.tally.order = self.order;
        active.reader.fill(batch, BATCH_BYTES, &mut self.problems);
        if batch.packets.is_empty() {
            match active.goes_on() {
                true => self.active.push(active),
                false => self.retire(active),
            }
            return;
        }
        let overlaps = self.pending.front().is_some_and(|(_, next)| {
            next.first <= active.reader.high()
                && (0..batch.packets.len()).any(|i| turn(batch, i) >= next.first)
        });
        if overlaps {
            mem::swap(batch, &mut active.batch);
            batch.packets.clear();
            active.go_to(0);
        } else {
            self.order += batch.packets.len() as u64;
        }
        self.active.push(active);
    }

    /// Fills a batch with packets of the open files in time order.
    fn merge(&mut self, batch: &mut Batch) {
        batch.clear();
        while batch.bytes.len() < BATCH_BYTES && batch.packets.len() < BATCH_PACKETS {
            let count = self.active.len();
            let Some(mut top) = self.active.peek_mut() else {
                return;
            };
            if top.is_used_up() {
                if count == 1 {
                    return;
                }
                top.refill((BATCH_BYTES / count).max(SHARE_BYTES), &mut self.problems);
                if top.is_used_up() {
                    let active = PeekMut::pop(top);
                    self.retire(active);
                }
            } else if self
                .pending
                .front()
                .is_some_and(|(_, p)| p.first <= top.key)
            {
                drop(top);
                self.open_next();
            } else {
                top.hand_on(self.order, batch);
                self.order += 1;
            }
        }
    }

    /// Opens the file that begins next; `false` when there is none.
    fn open_next(&mut self) -> bool {
        let Some((file, pending)) = self.pending.pop_front() else {
            return false;
        };
        let (mut reader, batch) = match pending.held {
            QueuedFile::Open(open) => *open,
            QueuedFile::Path(path) => {
                let name = &pending.summary.name;
                match inputs::reopen(&path, name, &self.consumed) {
                    Ok(reader) => (reader, Batch::default()),
                    Err(error) => {
                        self.problems.damage(error.kind(), || {
                            let place = Where {
                                file: name.clone(),
                                ..Where::default()
                            };
                            (error.to_string(), place)
                        });
                        self.failure = Some(error);
                        return true;
                    }
                }
            }
        };
        self.opened += 1;
        reader.tally.file = file;
        let mut active = Active {
            file,
            reader,
            batch,
            next: 0,
            key: Time::MIN,
        };
        active.go_to(0);
        self.active.push(active);
        true
    }

    fn retire(&mut self, active: Active) {
        if let Some(summary) = self.summaries.get_mut(usize::from(active.file)) {
            *summary = active.reader.summary();
        }
    }
}

impl Active {
    fn goes_on(&self) -> bool {
        self.reader.goes_on()
    }

    fn is_used_up(&self) -> bool {
        self.next >= self.batch.packets.len()
    }

    fn go_to(&mut self, next: usize) {
        self.next = next;
        self.key = turn(&self.batch, next);
    }

    fn refill(&mut self, bytes: usize, problems: &mut Problems) {
        self.reader.fill(&mut self.batch, bytes, problems);
        self.go_to(0);
    }

    /// Copies the next packet.
    fn hand_on(&mut self, order: u64, batch: &mut Batch) {
        if let Some(packet) = self.batch.packets.get(self.next) {
            let mut packet = *packet;
            let (before, bytes) = self.reader.record_of(&self.batch, &packet);
            packet.order = order;
            packet.at.file = self.file;
            packet.start = (batch.bytes.len() + before) as u32;
            batch.bytes.extend_from_slice(bytes);
            batch.packets.push(packet);
        }
        self.go_to(self.next + 1);
    }
}

/// When a packet's turn is: at its time, unless the packet behind it is earlier, so that one wrong
/// time does not hold up the rest of its file. A batch that is used up comes first, to be filled.
fn turn(batch: &Batch, i: usize) -> Time {
    match (batch.packets.get(i), batch.packets.get(i + 1)) {
        (Some(packet), Some(behind)) => packet.time.min(behind.time),
        (Some(packet), None) => packet.time,
        (None, _) => Time::MIN,
    }
}

impl Ord for Active {
    fn cmp(&self, other: &Active) -> Ordering {
        (other.key, other.file).cmp(&(self.key, self.file))
    }
}

impl PartialOrd for Active {
    fn partial_cmp(&self, other: &Active) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Active {
    fn eq(&self, other: &Active) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Active {}
