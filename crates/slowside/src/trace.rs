//! Traces that databases and clients wrote, into their profile.

use crate::Error;
use analysis::trace_profile::{Profiler, TraceResult};
use std::path::PathBuf;

/// Reads traces, one after another, and tells where the time in them went.
///
/// # Errors
/// When a file cannot be read, or is no trace.
pub fn trace(files: &[PathBuf]) -> Result<TraceResult, Error> {
    let mut profiler = Profiler::default();
    for path in files {
        let file = ::trace::oracle::read(path, &mut |record| profiler.record(&record))
            .map_err(|error| Error::Message(error.to_string()))?;
        profiler.file(file);
    }
    Ok(profiler.finish())
}
