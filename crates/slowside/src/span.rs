//! Captures into when they begin and end, before they are read for anything else.

use crate::config::Captures;
use crate::{Error, run};
use capture::Capture;
use model::{Batch, Time};
use std::path::PathBuf;

impl Captures {
    /// When its first and its last packet came; `None` without a packet. Of several files only the one that begins last
    /// is read to its end.
    ///
    /// # Errors
    /// When nothing of it can be read.
    pub fn span(&self) -> Result<Option<(Time, Time)>, Error> {
        let lists = self.lists().into_iter().filter(|list| !list.is_empty());
        let spans: Vec<_> = lists.map(span).collect::<Result<_, _>>()?;
        let both = spans.into_iter().flatten();
        Ok(both.reduce(|(first, last), (from, to)| (first.min(from), last.max(to))))
    }
}

fn span(inputs: &[PathBuf]) -> Result<Option<(Time, Time)>, Error> {
    let mut whole = run::open(inputs)?;
    let mut batch = Batch::default();
    next(&mut whole, &mut batch)?;
    let mut first = None;
    let mut last = None;
    extend(&mut first, &mut last, &batch);
    // Files are in the order of their first packets.
    let Some(file) = whole.files().last().map(PathBuf::from) else {
        return Ok(None);
    };
    let mut ending = run::open(&[file])?;
    while next(&mut ending, &mut batch)? {
        extend(&mut first, &mut last, &batch);
    }
    Ok(first.zip(last))
}

fn next(capture: &mut Capture, batch: &mut Batch) -> Result<bool, Error> {
    let more = capture.next_batch(batch);
    more.map_err(|e| Error::Message(e.to_string()))
}

fn extend(first: &mut Option<Time>, last: &mut Option<Time>, batch: &Batch) {
    for time in batch.packets.iter().map(|p| p.time) {
        *first = Some(first.map_or(time, |t| t.min(time)));
        *last = Some(last.map_or(time, |t| t.max(time)));
    }
}
