//! One capture as a stream of records in the order of its packets.
//!
//! ```text
//! reader: file, decode, hash ─► a batch ─► shard 0 … n-1: connections, protocols ─► records ─► next()
//! ```
//!
//! A shard handles the segments whose hosts are its own; `next` takes the answers of all shards for a batch
//! and merges them by packet order, so that what comes out does not depend on how many there are. Few batches are under way:
//! a slow consumer holds the reader back, and memory is a handful of batches.

mod input;
mod pool;
mod times;

pub(crate) use input::{Finished, Input, Progress};
pub(crate) use times::Times;

use crate::Error;
use crate::firsts::{Firsts, ThreadProblems};
use crate::link::{END, Link, Number, Records, Wanted};
use crate::live::batches::{BatchKeeper, KeptBatch};
use crate::merge::Answers;
use crate::room::{Room, Tenant};
use crate::run::Share;
use crate::split::Telling;
use crate::sweeps::Sweeps;
use capture::{Capture, CaptureError};
use model::{Arp, Batch, ConnectionId, Interval, Notice, Problems, Sight, Time};
use net::{Decoder, PARTITIONS, Segment, Tracker};
use pool::Pool;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A batch with its decoded segments.
#[derive(Default)]
pub(crate) struct Decoded {
    pub batch: Batch,
    pub segments: Vec<Segment>,
    pub arps: Vec<Arp>,
    pub sights: Vec<Sight>,
    /// What is kept of the packets, where they are.
    pub kept: KeptBatch,
    pub notices: Vec<Notice>,
    /// The order behind the packets, and the time of the last of them.
    pub reached: (u64, Time),
    /// Up to when connections may have been silent for too long, where that is to be looked at behind the packets.
    pub sweep: Option<Time>,
    /// Where the segments of each shard are, where there are several.
    own: Vec<Vec<u32>>,
}

impl Decoded {
    /// Notes which segments are of which of so many shards.
    fn share_out(&mut self, shards: usize) {
        self.own.resize_with(shards, Vec::new);
        self.own.iter_mut().for_each(Vec::clear);
        for (at, s) in (0..).zip(&self.segments) {
            if let Some(own) = self.own.get_mut(net::partition(s) * shards / PARTITIONS) {
                own.push(at);
            }
        }
    }

    /// The segments of a shard.
    fn own(&self, shard: usize) -> Vec<&Segment> {
        let places = self.own.get(shard).map_or(&[][..], Vec::as_slice);
        let mut own = Vec::with_capacity(places.len());
        own.extend(
            places
                .iter()
                .filter_map(|&at| self.segments.get(at as usize)),
        );
        own
    }
}

/// The connections of one thread.
pub(crate) struct Connections {
    tracker: Tracker<Link>,
    tenant: Tenant,
    /// Of the tracker's problems; the link keeps those of its own.
    firsts: Firsts,
    /// Batches so far.
    batches: u64,
    /// Whether the end of the capture may come in parts.
    takes_parts: bool,
    /// Where intervals are told as they are over: how wide they are, and which goes on.
    told: Option<(i64, Time)>,
}

/// The connections that the end of the capture closes are told in parts, by the orders in which they
/// began: so many of them at most, as what is told of one takes some 4 KB.
const PART: u64 = 128;

impl Connections {
    pub(crate) fn new(wanted: Wanted, room: &Arc<Room>) -> Connections {
        let tracker = Tracker::new(Link::new(wanted)).with_room(room.bytes_each());
        Connections {
            tracker: match wanted {
                Wanted::Grouped => tracker.with_bytes_alone(),
                Wanted::Calls
                | Wanted::Named
                | Wanted::Sessions
                | Wanted::SqlNet
                | Wanted::Startup
                | Wanted::Packets => tracker,
                Wanted::Accounts | Wanted::Worth => tracker.with_accounts().with_bytes_alone(),
                Wanted::Everything | Wanted::Reported => tracker.with_accounts().with_timelines(),
                Wanted::Measured(width_ns) => tracker.with_intervals(width_ns).with_timelines(),
                Wanted::Series(width_ns) => tracker.with_intervals(width_ns).with_bytes_alone(),
                Wanted::Live(width_ns) => tracker.with_intervals(width_ns),
            },
            tenant: Tenant::of(room),
            firsts: Firsts::default(),
            batches: 0,
            takes_parts: wanted.takes_parts(),
            told: match wanted {
                Wanted::Live(width_ns) => Some((width_ns, Time::MIN)),
                _ => None,
            },
        }
    }

    /// Takes in a batch, of which these segments are its own.
    pub(crate) fn track(&mut self, decoded: &Decoded, own: &[&Segment]) {
        let Connections {
            tracker,
            tenant,
            firsts,
            told,
            ..
        } = self;
        let before = |tracker: &mut Tracker<Link>, s: &Segment| {
            tracker.handler_mut().look_at(Some(s.mark.packet));
            tracker.handler_mut().knock(s);
        };
        let after = |tracker: &mut Tracker<Link>, s: &Segment| {
            let packet = Some(s.mark.packet);
            firsts.look(tracker.problems(), (s.order, ConnectionId(0)), packet);
        };
        tracker.segments(own, &decoded.batch.bytes, before, after);
        let (order, now) = decoded.reached;
        tracker.handler_mut().look_at(None);
        tracker.handler_mut().reach(now);
        if let Some(silent) = decoded.sweep {
            tracker.sweep(order, silent);
        }
        tracker.make_room(tenant.tell(tracker.weights()), order, now);
        if let Some((width_ns, start)) = told {
            let now = Interval::start_of(now, *width_ns);
            if now > *start {
                tracker.tell_intervals(now);
                *start = now;
            }
        }
        firsts.look(tracker.problems(), (order, ConnectionId(u64::MAX)), None);
    }

    /// The same, of which all are.
    pub(crate) fn track_all(&mut self, decoded: &Decoded) {
        let own: Vec<&Segment> = decoded.segments.iter().collect();
        self.track(decoded, &own);
    }

    /// Bytes that they take up, as they are weighed.
    pub(crate) fn weight(&self) -> u64 {
        self.tracker.weights().iter().sum()
    }

    /// The records of the batch.
    pub(crate) fn take(&mut self, decoded: &Decoded, records: &mut Records) {
        let (order, now) = decoded.reached;
        self.tracker.handler_mut().take(order, records);
        records.reached = Some(now);
        records.number = Some(Number::Batch(self.batches));
        self.batches += 1;
    }

    /// Those records of the batch that are no connection's: of one thread's answer.
    pub(crate) fn take_loose(decoded: &Decoded, records: &mut Records) {
        records.arps.extend_from_slice(&decoded.arps);
        records.sights.extend_from_slice(&decoded.sights);
        records.kept = decoded.kept.clone();
        records.notices.extend_from_slice(&decoded.notices);
    }

    /// Closes some of what is open, the oldest first; `false` when only [`finish`](Connections::finish)
    /// is left to do.
    fn finish_part(&mut self, records: &mut Records) -> bool {
        if !self.takes_parts {
            return false;
        }
        let Some(part) = self.tracker.finish_part(PART, END) else {
            return false;
        };
        self.tracker.handler_mut().take_closed(records);
        records.number = Some(Number::Part(part));
        true
    }

    /// Closes what is still open and gives the last records.
    pub(crate) fn finish(self, records: &mut Records) -> ThreadProblems {
        self.tenant.end();
        let (mut link, problems) = self.tracker.finish(END);
        link.finish(records);
        records.number = Some(Number::Last);
        let mut told = ThreadProblems::new(&problems, &self.firsts);
        told.extend(link.told());
        told
    }
}

enum Mode {
    Inline {
        reader: Box<Reader>,
        connections: Box<Connections>,
        decoded: Box<Decoded>,
    },
    Threads(Pool),
    Told(Box<Telling>),
    Done,
}

/// A running capture.
pub(crate) struct Stream {
    mode: Mode,
    pub progress: Arc<Progress>,
    /// Set once `next` has returned `false`.
    pub finished: Option<Finished>,
    /// Why what others told cannot be read.
    failed: Option<Error>,
}

/// Reads and decodes.
pub(crate) struct Reader {
    capture: Capture,
    decoder: Decoder,
    pub progress: Arc<Progress>,
    /// Time of the last packet so far.
    now: Time,
    error: Option<CaptureError>,
    ended: bool,
    /// Where packets are kept.
    keeper: Option<BatchKeeper>,
    /// Packets outside of these times are passed over.
    times: Times,
    sweeps: Sweeps,
    /// Packets that were read and come behind a sweep, if any do.
    rest: Batch,
    has_rest: bool,
}

impl Reader {
    pub(crate) fn new(capture: Capture) -> Reader {
        let decoder = Decoder::new(capture.files());
        Reader {
            capture,
            decoder,
            progress: Arc::new(Progress::new()),
            now: Time::default(),
            error: None,
            ended: false,
            keeper: None,
            times: Times::default(),
            sweeps: Sweeps::default(),
            rest: Batch::default(),
            has_rest: false,
        }
    }

    /// The same, as if the capture had been cut to these times.
    fn within(self, times: Times) -> Reader {
        Reader { times, ..self }
    }

    /// The same, keeping packets.
    pub(crate) fn with_keeper(self, keeper: BatchKeeper) -> Reader {
        Reader {
            keeper: Some(keeper),
            ..self
        }
    }

    /// The same, with ARP packets.
    fn with_arps(self) -> Reader {
        Reader {
            decoder: self.decoder.with_arps(),
            ..self
        }
    }

    /// The same, with every packet as it was seen.
    fn with_sights(self) -> Reader {
        Reader {
            decoder: self.decoder.with_sights(),
            ..self
        }
    }

    /// The same, with what packets say of the network's health.
    fn with_notices(self) -> Reader {
        Reader {
            decoder: self.decoder.with_notices(),
            ..self
        }
    }

    /// Time of the first packet, once there was one.
    pub(crate) fn first_time(&self) -> Option<Time> {
        self.progress.first_time()
    }

    /// The next batch; `false` at the end of the capture.
    pub(crate) fn next(&mut self, into: &mut Decoded) -> bool {
        into.segments.clear();
        into.arps.clear();
        into.sights.clear();
        into.kept = KeptBatch::default();
        into.notices.clear();
        if self.ended {
            return false;
        }
        if self.keeper.as_ref().is_some_and(BatchKeeper::is_stopped) {
            self.ended = true;
            return false;
        }
        match self.read(&mut into.batch) {
            Ok(true) => {
                into.sweep = self.sweeps.split(&mut into.batch, &mut self.rest);
                self.has_rest = into.sweep.is_some();
                let packets = into.batch.packets.len() as u64;
                if let Some(p) = into.batch.packets.first()
                    && self.progress.first.load(Ordering::Relaxed) == i64::MIN
                {
                    self.progress.first.store(p.time.0, Ordering::Relaxed);
                }
                if let Some(p) = into.batch.packets.last() {
                    self.now = p.time;
                }
                if let Some(keeper) = &mut self.keeper {
                    into.kept = keeper.take(&into.batch, &self.capture);
                    self.now = keeper.now(&into.batch, self.now);
                    into.sweep = into.sweep.or_else(|| self.sweeps.reach(self.now));
                }
                let behind = self.decoder.decode(&mut into.batch, &mut into.segments);
                self.decoder.take_arps(&mut into.arps);
                self.decoder.take_sights(&mut into.sights);
                self.decoder.take_notices(&mut into.notices);
                into.reached = (behind, self.now);
                let (read, total) = self.capture.progress();
                self.progress.read.store(read, Ordering::Relaxed);
                self.progress
                    .total
                    .store(total.unwrap_or(0), Ordering::Relaxed);
                self.progress.packets.fetch_add(packets, Ordering::Relaxed);
                true
            }
            ended => {
                self.error = ended.err();
                self.ended = true;
                let behind = self.decoder.finish(&mut into.batch, &mut into.segments);
                self.decoder.take_notices(&mut into.notices);
                into.reached = (behind, self.now);
                into.sweep = self.sweeps.end();
                into.sweep.is_some() || !into.segments.is_empty() || !into.notices.is_empty()
            }
        }
    }

    /// The packets that come next: those behind the last sweep, or a batch of the capture's.
    fn read(&mut self, into: &mut Batch) -> Result<bool, CaptureError> {
        if std::mem::take(&mut self.has_rest) {
            std::mem::swap(into, &mut self.rest);
            return Ok(true);
        }
        let more = self.capture.next_batch(into)?;
        self.times.cut(into);
        Ok(more)
    }

    /// What was wrong with the capture, where nothing else of it is asked for.
    pub(crate) fn into_problems(self) -> Problems {
        self.capture.problems().clone()
    }

    fn finish(self, told: ThreadProblems) -> Finished {
        let mut problems = self.capture.problems().clone();
        problems.merge(self.decoder.problems());
        problems.merge(&told.problems(self.capture.files()));
        Finished {
            summary: self.capture.summary(),
            problems,
            counts: self.decoder.counts(),
            error: self.error.map(|e| e.to_string()),
        }
    }
}

impl Stream {
    /// What is known once everything was read.
    ///
    /// # Errors
    /// When the thread that read is gone, or what others told cannot be read: without a part of it rows would be missing.
    pub(crate) fn take_finished(&mut self) -> Result<Finished, Error> {
        if let Some(e) = self.failed.take() {
            return Err(e);
        }
        self.finished.take().ok_or_else(|| {
            Error::Message("the reading thread stopped; see the message above".into())
        })
    }

    /// Starts reading a capture that is looked at while it goes on.
    pub(crate) fn start_live(
        capture: Capture,
        share: Share,
        width_ns: i64,
        keeper: BatchKeeper,
    ) -> Stream {
        let reader = Reader::new(capture).with_keeper(keeper);
        Stream::run(reader, share, Wanted::Live(width_ns))
    }

    /// Starts reading.
    pub(crate) fn start(input: impl Into<Input>, share: Share, wanted: Wanted) -> Stream {
        Stream::start_within(input, share, wanted, Times::default())
    }

    /// The same, as if the capture had been cut to these times.
    pub(crate) fn start_within(
        input: impl Into<Input>,
        share: Share,
        wanted: Wanted,
        times: Times,
    ) -> Stream {
        let capture = match input.into() {
            Input::Packets(capture) => *capture,
            Input::Told(told) => return Stream::told(told.wanted(wanted, share.threads)),
        };
        let reader = Reader::new(capture).within(times);
        let reader = match wanted {
            Wanted::Startup => reader.with_arps(),
            _ if wanted.is_of_everything() => reader.with_arps().with_notices(),
            Wanted::Packets => reader.with_sights(),
            Wanted::Worth => reader.with_sights().with_notices(),
            _ => reader,
        };
        Stream::run(reader, share, wanted)
    }

    /// What others told.
    fn told(told: Telling) -> Stream {
        let progress = Progress::new();
        if let Some(first) = told.first {
            progress.first.store(first.0, Ordering::Relaxed);
        }
        Stream {
            mode: Mode::Told(Box::new(told)),
            progress: Arc::new(progress),
            finished: None,
            failed: None,
        }
    }

    fn run(reader: Reader, share: Share, wanted: Wanted) -> Stream {
        let progress = Arc::clone(&reader.progress);
        let mode = match share.threads {
            0 | 1 => inline(reader, share, wanted),
            _ => pool::start(reader, share, wanted),
        };
        Stream {
            mode,
            progress,
            finished: None,
            failed: None,
        }
    }

    /// The records of the next batch; `false` when the capture is over, with the last of them.
    pub(crate) fn next(&mut self, into: &mut Answers) -> bool {
        match &mut self.mode {
            Mode::Inline {
                reader,
                connections,
                decoded,
            } => {
                into.shards.resize_with(1, Records::default);
                if reader.next(decoded) {
                    connections.track_all(decoded);
                    if let Some(records) = into.shards.first_mut() {
                        connections.take(decoded, records);
                        Connections::take_loose(decoded, records);
                    }
                    return true;
                }
                if let Some(records) = into.shards.first_mut()
                    && connections.finish_part(records)
                {
                    return true;
                }
            }
            Mode::Threads(pool) => {
                if pool.next(into) {
                    return true;
                }
            }
            Mode::Told(told) => match told.next(into) {
                Ok(true) => return true,
                Ok(false) => {}
                Err(e) => self.failed = Some(e),
            },
            Mode::Done => {
                into.shards.clear();
                return false;
            }
        }
        self.end(into);
        false
    }

    /// Time of the first packet, once there was one.
    pub(crate) fn first_time(&self) -> Option<Time> {
        self.progress.first_time()
    }

    /// Closes what is open and collects the last records.
    fn end(&mut self, into: &mut Answers) {
        match std::mem::replace(&mut self.mode, Mode::Done) {
            Mode::Inline {
                reader,
                connections,
                ..
            } => {
                let mut records = Records::default();
                let told = connections.finish(&mut records);
                into.shards = vec![records];
                self.finished = Some(reader.finish(told));
            }
            Mode::Threads(pool) => self.finished = pool.finish(),
            Mode::Told(told) => self.finished = Some(told.finish()),
            Mode::Done => {}
        }
    }
}

fn inline(reader: Reader, share: Share, wanted: Wanted) -> Mode {
    let room = Room::new(share.connections_bytes, 1);
    Mode::Inline {
        reader: Box::new(reader),
        connections: Box::new(Connections::new(wanted, &room)),
        decoded: Box::default(),
    }
}
