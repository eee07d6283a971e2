//! One capture read for its calls: the common part of every command.

use crate::Error;
use crate::config::{Config, Event, Moment};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::split::Telling;
use crate::stream::{Finished, Input, Progress, Stream};
use analysis::file_names::FileNames;
use analysis::results::CaptureResult;
use analysis::text::Text;
use analysis::tiers::Tiers;
use capture::Capture;
use model::{Call, ConnectionSummary, Outcome, Time};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::Ordering;

/// What one capture gets of the machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    /// Counting the one that takes the records.
    pub threads: usize,
    /// What its connections may take up in memory.
    pub connections_bytes: u64,
    /// What statements may.
    pub statements_bytes: u64,
}

/// What open connections may take up of the budget of memory. The rest is for what is made of them: at the capture's end all
/// that are open are told of at a time, each with what it waited for.
pub(crate) fn of_connections(memory_bytes: u64) -> u64 {
    memory_bytes / 16 * 7
}

/// What [`Config`] means on this machine for each of so many captures.
pub(crate) fn share(config: &Config, captures: usize) -> Share {
    let captures = captures.max(1);
    Share {
        threads: match config.threads {
            0 => {
                let cores = std::thread::available_parallelism().map_or(2, usize::from);
                (cores / captures).max(2)
            }
            n => n,
        },
        connections_bytes: of_connections(config.memory_bytes) / captures as u64,
        statements_bytes: config.memory_bytes / 4 / captures as u64,
    }
}

/// Which calls count: those within the times asked for that pass the filter.
pub(crate) struct Selection<'a> {
    config: &'a Config,
    start: Option<Time>,
    everything: bool,
}

impl<'a> Selection<'a> {
    pub(crate) fn new(config: &'a Config) -> Selection<'a> {
        let everything = config.from.is_none() && config.to.is_none() && config.filter.is_none();
        Selection {
            config,
            start: None,
            everything,
        }
    }

    /// Where relative times count from.
    pub(crate) fn starts_at(&mut self, first: Option<Time>) {
        if self.start.is_none() {
            self.start = first;
        }
    }

    fn resolve(&self, moment: Moment) -> Time {
        moment.after(self.start.unwrap_or_default())
    }

    /// The times asked for.
    pub(crate) fn stretch(&self) -> (Option<Time>, Option<Time>) {
        let resolve = |moment: Option<Moment>| moment.map(|m| self.resolve(m));
        (resolve(self.config.from), resolve(self.config.to))
    }

    /// Whether a moment lies within the times asked for.
    pub(crate) fn covers(&self, t: Time) -> bool {
        self.config.from.is_none_or(|from| t >= self.resolve(from))
            && self.config.to.is_none_or(|to| t < self.resolve(to))
    }

    /// Whether they have begun by then.
    pub(crate) fn begins_before(&self, t: Time) -> bool {
        self.config.from.is_none_or(|from| t >= self.resolve(from))
    }

    /// Whether something that lasted from `first` to `last` lies at least partly within them.
    pub(crate) fn overlaps(&self, first: Time, last: Time) -> bool {
        self.config
            .from
            .is_none_or(|from| last >= self.resolve(from))
            && self.config.to.is_none_or(|to| first < self.resolve(to))
    }

    /// Whether nothing is left out for its time.
    pub(crate) fn takes_all_times(&self) -> bool {
        self.config.from.is_none() && self.config.to.is_none()
    }

    /// Whether no call within these times is left out.
    pub(crate) fn takes_all_calls(&self) -> bool {
        self.config.filter.is_none()
    }

    pub(crate) fn takes(&self, call: &Call) -> bool {
        let filter = self.config.filter.as_ref();
        self.everything || self.takes_time_of(call) && filter.is_none_or(|f| f.matches(call))
    }

    /// Whether a call began within the times asked for.
    pub(crate) fn takes_time_of(&self, call: &Call) -> bool {
        let begins = call.request_first.or(call.response_first).map(|m| m.time);
        self.everything || begins.is_some_and(|t| self.covers(t))
    }
}

/// How many calls, and how many of them have only one half.
#[derive(Default, Debug)]
pub(crate) struct CallTally {
    calls: u64,
    half: BTreeMap<&'static str, u64>,
}

impl CallTally {
    pub(crate) fn add(&mut self, call: &Call) {
        self.calls += 1;
        if let Some(reason) = call.outcome.reason() {
            let kind = match (call.outcome, reason) {
                (Outcome::NoRequest(_), r) => ["no-request", r.name()],
                (Outcome::NoResponse(_), r) => ["no-response", r.name()],
                (_, r) => ["incomplete", r.name()],
            };
            *self.half.entry(half_call(kind)).or_default() += 1;
        }
    }

    /// So many more with both halves.
    pub(crate) fn complete(&mut self, calls: u64) {
        self.calls += calls;
    }

    fn merge(&mut self, other: &CallTally) {
        self.calls += other.calls;
        for (kind, n) in &other.half {
            *self.half.entry(kind).or_default() += n;
        }
    }
}

/// What is counted of a capture beside its calls.
#[derive(Default)]
pub(crate) struct Tally {
    calls: CallTally,
    connections: u64,
    missing_gaps: u64,
    missing_bytes: u64,
}

impl Tally {
    pub(crate) fn call(&mut self, call: &Call) {
        self.calls.add(call);
    }

    /// Calls that a shard has counted.
    pub(crate) fn counted(&mut self, calls: &CallTally) {
        self.calls.merge(calls);
    }

    pub(crate) fn connection(&mut self, c: &ConnectionSummary) {
        self.connections += 1;
        for d in &c.directions {
            self.missing_gaps += d.missing_from_capture_gaps;
            self.missing_bytes += d.missing_from_capture_bytes;
        }
    }

    pub(crate) fn result(self, finished: &Finished) -> CaptureResult {
        let summary = &finished.summary;
        let mut problems = finished.problems.clone();
        if let Some(text) = finished.error.clone() {
            problems.damage("reading-stopped", || (text, model::Where::default()));
        }
        CaptureResult {
            files: summary.files.iter().map(|f| f.name.clone()).collect(),
            side: None,
            concluded: None,
            is_on_the_way: false,
            side_from: Text::default(),
            packets: summary.packets,
            bytes: summary.wire_bytes,
            first: summary.first,
            last: summary.last,
            snaplen: summary
                .snaplens
                .iter()
                .copied()
                .max()
                .filter(|&s| s > 0 && s < 262_144),
            link_types: summary.link_types.iter().map(|l| l.0).collect(),
            dropped: summary.dropped(),
            missing_gaps: self.missing_gaps,
            missing_bytes: self.missing_bytes,
            not_ip: finished.counts.not_ip,
            other_transport: finished.counts.not_tcp_or_udp,
            connections: self.connections,
            calls: self.calls.calls,
            half_calls: self.calls.half.into_iter().collect(),
            problems,
        }
    }
}

/// "no-response: after-capture" and the like, as one word for each pair.
fn half_call(kind: [&'static str; 2]) -> &'static str {
    match kind {
        ["no-request", "before-capture"] => "no-request/before-capture",
        ["no-request", "capture-gap"] => "no-request/capture-gap",
        ["no-request", "snap-length"] => "no-request/snap-length",
        ["no-response", "after-capture"] => "no-response/after-capture",
        ["no-response", "capture-gap"] => "no-response/capture-gap",
        ["no-response", "snap-length"] => "no-response/snap-length",
        ["no-response", "no-answer"] => "no-response/no-answer",
        ["no-response", "evicted"] => "no-response/evicted",
        ["incomplete", "before-capture"] => "incomplete/before-capture",
        ["incomplete", "paired-in-order"] => "incomplete/paired-in-order",
        ["incomplete", "capture-gap"] => "incomplete/capture-gap",
        ["incomplete", "snap-length"] => "incomplete/snap-length",
        ["incomplete", "after-capture"] => "incomplete/after-capture",
        ["incomplete", "no-answer"] => "incomplete/no-answer",
        _ => "other",
    }
}

pub(crate) fn open(inputs: &[PathBuf]) -> Result<Capture, Error> {
    Capture::open(inputs).map_err(|e| Error::Message(e.to_string()))
}

/// The same, or what others told of a capture in its place, where it is handed on: one of so many that are read at a time.
pub(crate) fn input(inputs: &[PathBuf], config: &Config, captures: usize) -> Result<Input, Error> {
    if !config.handed_on {
        return open(inputs).map(Input::from);
    }
    let room = share(config, captures).connections_bytes;
    match Telling::open(inputs, room)? {
        Some(told) => Ok(Input::Told(Box::new(told))),
        None => open(inputs).map(Input::from),
    }
}

/// Tells the progress of a stream.
pub(crate) fn report(stream: &Stream, events: &mut dyn FnMut(Event)) {
    progress(&stream.progress, events);
}

pub(crate) fn progress(p: &Progress, events: &mut dyn FnMut(Event)) {
    let total = p.total.load(Ordering::Relaxed);
    events(Event::Progress {
        read: p.read.load(Ordering::Relaxed),
        total: (total > 0).then_some(total),
        packets: p.packets.load(Ordering::Relaxed),
    });
}

/// Reads a capture to its end, handing every selected call to `sink` in order of completion.
pub(crate) fn read(
    inputs: &[PathBuf],
    config: &Config,
    sink: &mut dyn FnMut(&Call, &[String]) -> std::io::Result<()>,
    events: &mut dyn FnMut(Event),
) -> Result<CaptureResult, Error> {
    let mut sink = |call: &Call, _: &FileNames, files: &[String]| sink(call, files);
    Ok(read_wanted(inputs, config, Wanted::Calls, &mut sink, events)?.result)
}

/// Takes a call, what was known of files' names by then, and how the capture's files are called.
pub type Sink<'a> = &'a mut dyn FnMut(&Call, &FileNames, &[String]) -> std::io::Result<()>;

/// A capture that was read to its end.
pub(crate) struct Read {
    pub(crate) result: CaptureResult,
    /// The names of files, where they are wanted.
    pub(crate) names: FileNames,
    /// Who asks whom, by its connections.
    pub(crate) met: Tiers,
}

/// The same, of what is wanted of calls.
pub(crate) fn read_wanted(
    inputs: &[PathBuf],
    config: &Config,
    wanted: Wanted,
    sink: Sink<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<Read, Error> {
    let input = input(inputs, config, 1)?;
    let files = input.files();
    let mut stream = Stream::start(input, share(config, 1), wanted);
    let mut names = FileNames::default();
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut met = Tiers::default();
    let mut selection = Selection::new(config);
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        let mut said = records.file_names().peekable();
        for call in records.calls().filter(|c| selection.takes(c)) {
            while let Some(said) = said.next_if(|said| said.order <= call.order) {
                names.learn(said);
            }
            tally.call(call);
            sink(call, &names, &files)?;
        }
        said.for_each(|said| names.learn(said));
        for c in records.connections() {
            tally.connection(c);
            met.meet(c);
        }
        report(&stream, events);
        if !more {
            break;
        }
    }
    let finished = stream.take_finished()?;
    let mut result = tally.result(&finished);
    result.problems.merge(&names.problems);
    Ok(Read { result, names, met })
}
