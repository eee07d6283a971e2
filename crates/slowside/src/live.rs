//! A capture that goes on, looked at meanwhile: intervals, thresholds, findings, and the last packets.
//!
//! One loop takes what the stream of records has, batch by batch, and hands out what follows from it as
//! [`LiveEvent`]s, in the order of packets. From files the events are the same for any number of threads.
//! Memory follows what is open and the bounds in [`model::limits`], however long it lasts.

pub(crate) mod batches;
mod evidence;
mod input;
mod ring;
mod watch;

pub use evidence::{Unwritten, Written};
pub use ring::{Keep, RingFill};

use crate::Error;
use crate::config::{Config, Source};
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::stream::Stream;
use analysis::filter::LiveFilter;
use analysis::findings::Rule;
use analysis::live::{Crossing, Found, Live, LiveResult, Moment, Past, Triggers};
use analysis::metrics::Metrics;
use analysis::results::{CaptureResult, ConnsResult, OpsResult, Order};
use batches::BatchKeeper;
use capture::Capture;
use model::{Time, format_duration};
use pseudonyms::{Anonymiser, NameKind};
use ring::{Comments, Ring};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use watch::Watch;

/// How it is looked at.
#[derive(Clone, Debug)]
pub struct LiveOptions {
    /// Width of the intervals, and of the window of which figures are shown.
    pub interval_ns: i64,
    pub window_ns: i64,
    /// How much of the last packets is kept.
    pub keep: Keep,
    /// Thresholds that are watched.
    pub when: Vec<LiveFilter>,
    /// Where the kept packets are written when one is crossed, numbered, and how many files at most.
    pub write: Option<PathBuf>,
    pub files: u32,
    /// Whether they are written with pseudonyms, and without what was said.
    pub anonymiser: Option<Anonymiser>,
    /// What is counted beside, for whoever looks at it from another thread.
    pub metrics: Option<Arc<Mutex<Metrics>>>,
    /// What rows did, for whoever opens one in another thread.
    pub past: Option<Arc<Mutex<Past>>>,
    /// Nanoseconds of a clock that never stops: what time it is when a stream brings no packets.
    pub clock: fn() -> i64,
}

/// What can be asked while it goes on, from any thread.
#[derive(Clone, Default, Debug)]
pub struct Control {
    stop: Arc<AtomicBool>,
    write: Arc<AtomicBool>,
    /// Whether whoever reads sees the flag, too, and ends.
    ends: bool,
}

impl Control {
    /// With the flag of a reader that comes to its end once it is set: all that it has is read.
    #[must_use]
    pub fn of_reader(stop: Arc<AtomicBool>) -> Control {
        Control {
            stop,
            ends: true,
            ..Control::default()
        }
    }

    /// The flag by which the engine itself stops reading.
    fn cut(&self) -> Arc<AtomicBool> {
        match self.ends {
            true => Arc::default(),
            false => Arc::clone(&self.stop),
        }
    }

    /// Read no more: what came so far is told, and the totals.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The flag behind it, to be set by a signal.
    #[must_use]
    pub fn stop_flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Write the kept packets into a file.
    pub fn write(&self) {
        self.write.store(true, Ordering::Relaxed);
    }
}

/// What is told while it goes on.
pub enum LiveEvent<'a> {
    /// An interval is over.
    Moment {
        moment: &'a Moment,
        held: RingFill,
        found: &'a Found,
    },
    /// Those of these rules are new, or there again.
    Findings {
        found: &'a Found,
        rules: Vec<Rule>,
        at: Time,
    },
    /// A threshold was crossed; the file that was written, why none could be, or neither where none was
    /// to be.
    Crossing {
        crossing: &'a Crossing,
        written: Option<Result<Written, Unwritten>>,
        at: Time,
    },
    /// Somebody asked for the kept packets.
    Written(Result<Written, Unwritten>),
}

/// Where packets go when somebody asks for them and nothing else was said.
const FILE: &str = "slowside.pcapng";

/// Looks at a capture until it ends or somebody stops it, and gives what all of it comes to.
///
/// # Errors
/// When no input can be read, or `sink` fails.
pub fn live(
    source: Source,
    config: &Config,
    options: &LiveOptions,
    control: &Control,
    sink: &mut dyn FnMut(LiveEvent<'_>) -> std::io::Result<()>,
) -> Result<LiveResult, Error> {
    let (name, clock, opened) = match source {
        Source::Files(files) => {
            let name = files.first().map(|f| f.display().to_string());
            (name.unwrap_or_default(), None, run::open(&files))
        }
        Source::Stream { name, reader } => {
            let pump = input::Pump::new(reader, control.cut());
            let capture = Capture::from_live(&name, Box::new(pump));
            let capture = capture.map_err(|e| Error::Message(e.to_string()));
            (name, Some(options.clock), capture)
        }
    };
    let mut watcher = Watcher::new(&name, clock.is_some(), config, options);
    let capture = match opened {
        // Stopped before the first packet: nothing is wrong.
        Err(_) if clock.is_some() && control.stop.load(Ordering::Relaxed) => {
            return Ok(watcher.finish(CaptureResult::default()));
        }
        opened => opened?,
    };
    // One that waits for packets may not hold up the others.
    let mut share = run::share(config, 1);
    share.threads = share.threads.max(1 + usize::from(clock.is_some()));
    let keeps = options.keep.ns > 0 && options.keep.bytes > 0;
    let keeper = BatchKeeper::new(options.interval_ns, keeps, control.cut(), clock);
    let mut stream = Stream::start_live(capture, share, options.interval_ns, keeper);
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let selection = Selection::new(config);
    loop {
        let more = stream.next(&mut records);
        watcher.take(&records, &selection, &mut tally);
        if let Some(now) = records.reached() {
            watcher.reached(now, sink)?;
        }
        if control.write.swap(false, Ordering::Relaxed) {
            let written = watcher.write_now();
            sink(LiveEvent::Written(written))?;
        }
        if !more {
            break;
        }
    }
    watcher.end(sink)?;
    let finished = stream.take_finished()?;
    Ok(watcher.finish(tally.result(&finished)))
}

fn count(metrics: &mut Metrics, records: &Answers, selection: &Selection<'_>) {
    for kept in records.kept() {
        kept.traffic.iter().for_each(|(_, t)| metrics.traffic(*t));
        metrics.dropped(kept.dropped);
    }
    let calls = records.calls().filter(|c| selection.takes(c));
    calls.for_each(|c| metrics.call(c));
    records.stretches().for_each(|s| metrics.stretch(s));
    records.connections().for_each(|c| metrics.connection(c));
}

/// What is gathered beside the stream.
struct Watcher<'a> {
    name: String,
    options: &'a LiveOptions,
    live: Live,
    triggers: Triggers,
    ring: Ring,
    watch: Watch,
    found: Found,
    written: Vec<String>,
    /// Why the last file that could not be written was not.
    unwritten: Option<String>,
    /// Files that thresholds may yet write.
    files: u32,
    crossings: u64,
}

impl<'a> Watcher<'a> {
    fn new(name: &str, beside: bool, config: &Config, options: &'a LiveOptions) -> Watcher<'a> {
        Watcher {
            name: name.to_owned(),
            options,
            live: Live::new(options.interval_ns, options.window_ns),
            triggers: Triggers::new(options.when.clone()),
            ring: Ring::new(options.keep),
            watch: Watch::new(config, name, beside),
            found: Found::default(),
            written: Vec::new(),
            unwritten: None,
            files: options.files,
            crossings: 0,
        }
    }

    fn metrics(&self) -> Option<MutexGuard<'a, Metrics>> {
        let metrics = self.options.metrics.as_ref()?;
        Some(metrics.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn past(&self) -> Option<MutexGuard<'a, Past>> {
        let past = self.options.past.as_ref()?;
        Some(past.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes in the records of a batch.
    fn take(&mut self, records: &Answers, selection: &Selection<'_>, tally: &mut Tally) {
        if let Some(mut metrics) = self.metrics() {
            count(&mut metrics, records, selection);
        }
        if let Some(mut past) = self.past() {
            let calls = records.calls().filter(|c| selection.takes(c));
            calls.for_each(|c| past.call(c));
            records.stretches().for_each(|s| past.stretch(s));
        }
        for kept in records.kept() {
            for (start, traffic) in &kept.traffic {
                self.live.traffic(*start, *traffic);
            }
            self.live.dropped(kept.dropped);
            if let Some(batch) = &kept.batch {
                self.ring.push(batch);
            }
        }
        for change in records.outstanding() {
            self.live.outstanding(change);
        }
        for call in records.calls().filter(|c| selection.takes(c)) {
            tally.call(call);
            self.live.call(call);
        }
        for stretch in records.stretches() {
            self.live.stretch(stretch);
        }
        for c in records.connections() {
            tally.connection(c);
            self.live.connection(c);
        }
    }

    /// Packets have gone on up to `now`: tells what is over.
    fn reached(
        &mut self,
        now: Time,
        sink: &mut dyn FnMut(LiveEvent<'_>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        while let Some(moment) = self.live.over(now) {
            self.tell(&moment, sink)?;
        }
        if let Some(mut metrics) = self.metrics() {
            metrics.reached(now);
        }
        if let Some(mut past) = self.past() {
            past.reached(now);
        }
        let ring = &self.ring;
        if let Some((at, diagnosis)) = self.watch.look(now, || ring.snapshot()) {
            self.found(at, &diagnosis, sink)?;
        }
        Ok(())
    }

    fn tell(
        &mut self,
        moment: &Moment,
        sink: &mut dyn FnMut(LiveEvent<'_>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        if let Some(mut metrics) = self.metrics() {
            metrics.moment(moment);
        }
        sink(LiveEvent::Moment {
            moment,
            held: self.ring.held(),
            found: &self.found,
        })?;
        let at = moment.start + moment.width_ns;
        let crossings = self.triggers.check(moment);
        // Those of one interval share a file.
        let written = match (&self.options.write, self.files) {
            (Some(path), 1..) if !crossings.is_empty() => {
                let written = self.write(path, &crossings);
                self.files -= u32::from(written.is_ok());
                Some(written)
            }
            _ => None,
        };
        for crossing in &crossings {
            self.crossings += 1;
            sink(LiveEvent::Crossing {
                crossing,
                written: written.clone(),
                at,
            })?;
        }
        Ok(())
    }

    fn write(&mut self, path: &Path, crossings: &[Crossing]) -> Result<Written, Unwritten> {
        let names = self.options.anonymiser.as_ref();
        let mut comments = self.slow_calls();
        let when = |c: &Crossing| match names {
            Some(_) => "a threshold".into(),
            None => c.when.clone(),
        };
        for c in crossings {
            let said = Crossing {
                when: when(c),
                ..c.clone()
            };
            for (mark, text) in said.packets() {
                let at = comments.entry(mark.packet).or_default();
                at.push(text.to_string());
            }
        }
        let mut why: Vec<String> = crossings.iter().map(|c| when(c).to_string()).collect();
        why.dedup();
        let why = match why.is_empty() {
            true => "the last packets, as they were asked for".to_owned(),
            false => format!("the last packets when {} was crossed", why.join(" and ")),
        };
        let snapshot = self.ring.snapshot();
        if snapshot.is_empty() {
            return Err(Unwritten::NothingKept);
        }
        let name = match names {
            Some(names) => names.name(NameKind::File, &self.name),
            None => self.name.clone(),
        };
        match evidence::write(snapshot, path, (&name, &why), &comments, names) {
            Ok(written) => {
                self.written.push(written.path.display().to_string());
                Ok(written)
            }
            Err(e) => {
                self.unwritten = Some(e.to_string());
                Err(Unwritten::Failed(e.to_string()))
            }
        }
    }

    /// What packets of the slowest calls say of themselves in files: those that an opened row lists.
    fn slow_calls(&self) -> Comments {
        let mut comments = Comments::new();
        for call in self.past().iter().flat_map(|past| past.slowest()) {
            let took = format_duration(call.ns);
            let what = format!("a slow {} {} ({took})", call.protocol, call.op);
            for (mark, half) in [(call.request, "request"), (call.response, "response")] {
                let at = comments.entry(mark.packet).or_default();
                at.push(format!("{half} of {what}"));
            }
        }
        comments
    }

    fn write_now(&mut self) -> Result<Written, Unwritten> {
        let path = self.options.write.clone();
        self.write(&path.unwrap_or_else(|| PathBuf::from(FILE)), &[])
    }

    fn found(
        &mut self,
        at: Time,
        diagnosis: &analysis::results::Diagnosis,
        sink: &mut dyn FnMut(LiveEvent<'_>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        let rules = self.found.add(diagnosis, at);
        if let Some(mut metrics) = self.metrics() {
            metrics.found(&self.found);
        }
        let found = &self.found;
        Ok(sink(LiveEvent::Findings { found, rules, at })?)
    }

    /// The capture is over: tells the rest.
    fn end(
        &mut self,
        sink: &mut dyn FnMut(LiveEvent<'_>) -> std::io::Result<()>,
    ) -> Result<(), Error> {
        while let Some(moment) = self.live.left() {
            self.tell(&moment, sink)?;
        }
        for (at, diagnosis) in self.watch.last(self.ring.snapshot()) {
            self.found(at, &diagnosis, sink)?;
        }
        Ok(())
    }

    fn finish(self, mut capture: CaptureResult) -> LiveResult {
        let totals = self.live.finish();
        capture.problems.merge(&totals.problems);
        self.triggers.note(&mut capture.problems);
        let total_ns = totals.groups.iter().map(|g| g.stats.total_ns).sum();
        LiveResult {
            ops: OpsResult {
                captures: vec![capture.clone()],
                groups: totals.groups,
                total_ns,
                order: Order::default(),
            },
            statements: totals.statements,
            conns: ConnsResult {
                captures: vec![capture],
                connections: totals.connections,
                left_out: totals.left_out,
                not_asked: 0,
                exchanged: false,
                order: Order::default(),
            },
            findings: self.found.rows().to_vec(),
            verdict: self.found.verdict().cloned(),
            written: self.written,
            unwritten: self.unwritten,
            crossings: self.crossings,
        }
    }
}
