//! One capture, packet by packet: into what it is worth, and into statistics of intervals.

use crate::Error;
use crate::config::{Config, Event, Source};
use crate::link::Wanted;
use crate::merge::Answers;
use crate::run::{self, Selection, Tally};
use crate::stream::{Finished, Stream};
use analysis::filter::PacketFilter;
use analysis::info::{FileFacts, FilesFacts, Info, InfoResult};
use analysis::intervals::{IntervalRow, Intervals};
use analysis::results::CaptureResult;
use capture::Capture;
use model::{Arp, Call, Notice, Problems, Sight};

/// Takes what a capture holds.
trait Collector {
    fn packet(&mut self, s: &Sight);
    /// What a packet says of the network's health, and one of ARP.
    fn notice(&mut self, _: &Notice) {}
    fn arp(&mut self, _: &Arp) {}
    /// A call that the packet before completed.
    fn call(&mut self, call: &Call);
    /// So much of the capture was handed on.
    fn batch(&mut self, records: &Answers) -> Result<(), Error>;
}

/// Reads one capture and says what it is worth.
///
/// # Errors
/// When no input can be read.
pub fn info(
    source: Source,
    config: &Config,
    events: &mut dyn FnMut(Event),
) -> Result<InfoResult, Error> {
    struct Worth(Info);
    impl Collector for Worth {
        fn packet(&mut self, s: &Sight) {
            self.0.packet(s);
        }
        fn notice(&mut self, n: &Notice) {
            self.0.notice(n);
        }
        fn arp(&mut self, arp: &Arp) {
            self.0.arp(arp);
        }
        fn call(&mut self, call: &Call) {
            self.0.call(call);
        }
        fn batch(&mut self, records: &Answers) -> Result<(), Error> {
            records.connections().for_each(|c| self.0.connection(c));
            Ok(())
        }
    }
    let mut worth = Worth(Info::default());
    let (finished, capture) = read(source, config, Wanted::Worth, &mut worth, events)?;
    Ok(worth.0.finish(capture, files(&finished)))
}

/// Reads one capture and hands statistics of each interval of `width_ns` nanoseconds to `sink`, in order
/// of time; returns those of all of it. `packets` says which packets count, [`Config::filter`] which
/// calls.
///
/// # Errors
/// When no input can be read, or `sink` fails.
pub fn stat(
    source: Source,
    config: &Config,
    width_ns: i64,
    packets: Option<&PacketFilter>,
    sink: &mut dyn FnMut(&IntervalRow) -> std::io::Result<()>,
    events: &mut dyn FnMut(Event),
) -> Result<(CaptureResult, IntervalRow), Error> {
    struct Rows<'a> {
        intervals: Intervals,
        filter: Option<&'a PacketFilter>,
        sink: &'a mut dyn FnMut(&IntervalRow) -> std::io::Result<()>,
    }
    impl Collector for Rows<'_> {
        fn packet(&mut self, s: &Sight) {
            self.intervals.starts_at(s.at.time);
            if self.filter.is_none_or(|f| f.matches(s)) {
                self.intervals.packet(s);
            } else {
                self.intervals.passes(s.at.time);
            }
        }
        fn call(&mut self, call: &Call) {
            self.intervals.call(call);
        }
        fn batch(&mut self, _: &Answers) -> Result<(), Error> {
            let mut done = Ok(());
            self.intervals.take(&mut |row| {
                if done.is_ok() {
                    done = (self.sink)(row);
                }
            });
            Ok(done?)
        }
    }
    let mut rows = Rows {
        intervals: Intervals::new(width_ns),
        filter: packets,
        sink,
    };
    let (_, mut capture) = read(source, config, Wanted::Packets, &mut rows, events)?;
    let Rows {
        intervals, sink, ..
    } = rows;
    let mut done = Ok(());
    let mut bounds = Problems::default();
    let total = intervals.finish(&mut bounds, &mut |row| {
        if done.is_ok() {
            done = sink(row);
        }
    });
    done?;
    capture.problems.merge(&bounds);
    Ok((capture, total))
}

/// Reads a capture to its end: packets and calls within the times asked for, in order.
fn read(
    source: Source,
    config: &Config,
    wanted: Wanted,
    collector: &mut dyn Collector,
    events: &mut dyn FnMut(Event),
) -> Result<(Finished, CaptureResult), Error> {
    let share = run::share(config, 1);
    let mut stream = Stream::start(open(source)?, share, wanted);
    let mut records = Answers::default();
    let mut tally = Tally::default();
    let mut selection = Selection::new(config);
    loop {
        let more = stream.next(&mut records);
        selection.starts_at(stream.first_time());
        let mut sights = records
            .sights()
            .filter(|s| selection.covers(s.at.time))
            .peekable();
        for call in records.calls().filter(|c| selection.takes(c)) {
            while let Some(s) = sights.next_if(|s| s.order <= call.order) {
                collector.packet(s);
            }
            tally.call(call);
            collector.call(call);
        }
        sights.for_each(|s| collector.packet(s));
        let covers = |time| selection.covers(time);
        let notices = records.notices().filter(|n| covers(n.at.time));
        notices.for_each(|n| collector.notice(n));
        let arps = records.arps().filter(|a| covers(a.at.time));
        arps.for_each(|a| collector.arp(a));
        for c in records.connections() {
            tally.connection(c);
        }
        collector.batch(&records)?;
        run::report(&stream, events);
        if !more {
            break;
        }
    }
    let finished = stream.take_finished()?;
    let capture = tally.result(&finished);
    Ok((finished, capture))
}

fn open(source: Source) -> Result<Capture, Error> {
    match source {
        Source::Files(files) => run::open(&files),
        Source::Stream { name, reader } => {
            Capture::from_reader(&name, reader).map_err(|e| Error::Message(e.to_string()))
        }
    }
}

fn files(finished: &Finished) -> FilesFacts {
    let summary = &finished.summary;
    let file = |f: &capture::FileSummary| FileFacts {
        name: f.name.clone(),
        format: f.format.name(),
        compression: f.compression.name(),
        packets: f.packets,
    };
    FilesFacts {
        files: summary.files.iter().map(file).collect(),
        received: summary.received,
        dropped_by_interface: summary.dropped_by_interface,
        dropped_by_os: summary.dropped_by_os,
    }
}
