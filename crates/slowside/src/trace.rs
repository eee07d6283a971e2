//! Traces that databases and clients wrote, into their profile.

use crate::Error;
use crate::config::Event;
use crate::dumps::Dumps;
use ::trace::oracle::Record;
use analysis::trace_profile::{Profiler, TraceResult};
use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::rc::Rc;

/// Records between two words on how far it is.
const RECORDS: u32 = 4_096;

/// Reads traces, one after another, and tells where the time in them went; `packets`: and lists the packets of SQL*Net.
///
/// # Errors
/// When a file cannot be read, or is no trace.
pub fn trace(
    files: &[PathBuf],
    packets: bool,
    events: &mut dyn FnMut(Event),
) -> Result<TraceResult, Error> {
    let mut profiler = match packets {
        true => Profiler::default().with_packets(),
        false => Profiler::default(),
    };
    let mut dumps = Dumps::default();
    let size = |path: &PathBuf| fs::metadata(path).ok().filter(|m| m.is_file());
    let sizes = files.iter().map(|path| Some(size(path)?.len()));
    let total = sizes.sum::<Option<u64>>();
    let read: Rc<Cell<u64>> = Rc::default();
    let mut records = 0_u32;
    for path in files {
        let file = ::trace::oracle::read_counted(path, &read, &mut |record| {
            profiler.record(&record);
            match (record, profiler.last_packet()) {
                (Record::Packet(packet), Some(place)) => dumps.packet(&packet, place),
                (Record::Dump(bytes), Some(_)) => dumps.take(bytes),
                _ => {}
            }
            records = records.wrapping_add(1);
            if records.is_multiple_of(RECORDS) {
                events(Event::Progress {
                    read: read.get(),
                    total,
                    packets: 0,
                });
            }
        })
        .map_err(|error| Error::Message(error.to_string()))?;
        profiler.file(file);
        if let Some(place) = profiler.last_packet() {
            dumps.end(place);
        }
    }
    Ok(profiler.finish_with(&dumps.finish()))
}
