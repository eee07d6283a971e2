//! What all parts of a page share: the names of the captures, and the one clock of its charts.

use crate::diagnosis_text::captures;
use analysis::results::{CaptureResult, Clock, Report, Vantage};
use model::Time;

/// The captures of a page and its clock: that of the client's capture, where there are two and their
/// clocks could be aligned.
pub(super) struct Places<'a> {
    pub(super) captures: &'a [CaptureResult],
    /// A name for each that tells it from the others, as short as can be.
    pub(super) labels: Vec<String>,
    /// Where times count from, and until when, on the page's clock.
    pub(super) start: Time,
    pub(super) duration_ns: i64,
    clock: Option<Clock>,
    /// Whether `conns` counts the two captures in the other order.
    exchanged: bool,
}

impl<'a> Places<'a> {
    pub(super) fn new(report: &'a Report) -> Places<'a> {
        let d = &report.diagnosis;
        let mut places = Places {
            captures: &d.captures,
            labels: labels(&d.captures),
            start: Time::default(),
            duration_ns: 0,
            clock: d.clock,
            exchanged: report.conns.exchanged,
        };
        let numbered = || d.captures.iter().enumerate();
        let first = numbered().filter_map(|(i, c)| Some(places.aligned_time(i, c.first?)));
        let last = numbered().filter_map(|(i, c)| Some(places.aligned_time(i, c.last?)));
        (places.start, places.duration_ns) = match (first.min(), last.max()) {
            (Some(first), Some(last)) => (first, (last - first).max(0)),
            _ => (Time::default(), 0),
        };
        places
    }

    /// Whether times of one capture are shown on the clock of the other.
    pub(super) fn aligned(&self) -> bool {
        self.captures.len() == 2 && self.clock.is_some()
    }

    fn aligned_time(&self, capture: usize, t: Time) -> Time {
        let side = self.captures.get(capture).and_then(|c| c.side);
        match self.clock {
            Some(clock) if self.captures.len() == 2 && side == Some(Vantage::Server) => {
                let since = (t - clock.offset_at) as f64;
                t + -(clock
                    .offset_ns
                    .saturating_add((clock.drift_ppm * since / 1e6) as i64))
            }
            _ => t,
        }
    }

    /// Nanoseconds since the start of the page, of a moment on that capture's own clock.
    pub(super) fn since(&self, capture: usize, t: Time) -> i64 {
        self.aligned_time(capture, t) - self.start
    }

    /// The client's capture comes first, wherever it was given.
    pub(super) fn rank(&self, capture: usize) -> (bool, usize) {
        let side = self.captures.get(capture).and_then(|c| c.side);
        (side == Some(Vantage::Server), capture)
    }

    pub(super) fn label(&self, capture: usize) -> &str {
        self.labels.get(capture).map_or("", String::as_str)
    }

    /// A file of a capture, as it was given.
    pub(super) fn file(&self, capture: usize, file: usize) -> &str {
        let files = self.captures.get(capture).map(|c| &c.files);
        files.and_then(|f| f.get(file)).map_or("", String::as_str)
    }

    pub(super) fn several_files(&self, capture: usize) -> bool {
        self.captures
            .get(capture)
            .is_some_and(|c| c.files.len() > 1)
    }

    /// The index here of a capture that `conns` counts.
    pub(super) fn of_conns(&self, capture: usize) -> usize {
        match self.captures.len() {
            2 => capture ^ usize::from(self.exchanged),
            _ => capture,
        }
    }
}

/// The last part of their names, or all where that does not tell them apart.
fn labels(captures: &[CaptureResult]) -> Vec<String> {
    let short = |c: &CaptureResult| match c.files.as_slice() {
        [one] => one.rsplit('/').next().unwrap_or(one).to_owned(),
        files => match folder(files) {
            Some(folder) => format!("{folder}/ ({} files)", files.len()),
            None => captures::name(c).0,
        },
    };
    let shorts: Vec<String> = captures.iter().map(short).collect();
    let same = shorts
        .iter()
        .enumerate()
        .any(|(i, s)| shorts.iter().skip(i + 1).any(|o| o == s));
    match same {
        true => captures.iter().map(|c| captures::name(c).0).collect(),
        false => shorts,
    }
}

/// The name of the folder that all of several files are in.
fn folder(files: &[String]) -> Option<&str> {
    let (first, rest) = files.split_first()?;
    let (folder, _) = first.rsplit_once('/')?;
    let same = |f: &String| f.rsplit_once('/').is_some_and(|(other, _)| other == folder);
    rest.iter()
        .all(same)
        .then(|| folder.rsplit('/').next().unwrap_or(folder))
}
