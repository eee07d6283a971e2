//! `/proc/pressure/{cpu,io,memory}` of Linux (4.20 to 6.18) into the share of time in which a task waited.
//!
//! `some avg10=96.76 avg60=53.34 avg300=18.07 total=6537799465`: two samples are subtracted, `total` being microseconds; of
//! a single one `avg10` is said of the ten seconds before it. `full` is not read: `some` is what a call may have waited.
//! Which of the three a sample is of, the command says, or the file's name, or `grep`'s beginning of the line.

use super::gather::{Gather, Now, Reader};
use super::stamp::SECOND_NS;
use super::table::milli;
use super::{Counter, Sample, Tool};
use crate::lines::Skips;

const KINDS: [(&str, Counter); 3] = [
    ("cpu", Counter::CpuPressure),
    ("io", Counter::IoPressure),
    ("memory", Counter::MemoryPressure),
];

#[derive(Default)]
pub(super) struct Read {
    /// Which is next of several that one command shows.
    next: usize,
}

impl Reader for Read {
    fn begin(&mut self) {
        self.next = 0;
    }

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let line = line.trim();
        let (place, text) = match line.split_once(':') {
            Some((place, text)) if place.starts_with("/proc/pressure/") => (place, text),
            _ => ("", line),
        };
        let Some(text) = text.strip_prefix("some ") else {
            return;
        };
        let Some(counter) = self.of(place, now) else {
            return into.skip(now.at, "pressure of what is not said; call the file cpu, io or memory, or put a line # TIME cat /proc/pressure/cpu above it");
        };
        let Some(at_ns) = now.header_ns else {
            return into.skip(now.at, "pressure without a time; put a line # TIME cat /proc/pressure/cpu above each sample");
        };
        let value = |name: &str| {
            let mut words = text.split_whitespace();
            words.find_map(|w| w.strip_prefix(name)?.strip_prefix('='))
        };
        let total = value("total").and_then(|t| t.parse::<u64>().ok());
        let Some((avg10, total)) = value("avg10").and_then(milli).zip(total) else {
            return into.skip(now.at, "no line of /proc/pressure");
        };
        let grown = into.grown(Tool::Pressure, counter.name(), at_ns, total);
        let sample = match grown {
            // Microseconds of nanoseconds, in thousandths of a hundredth.
            Some((from_ns, us)) => Sample {
                from_ns,
                until_ns: at_ns,
                milli: percent(us, at_ns - from_ns),
            },
            None => Sample {
                from_ns: at_ns - 10 * SECOND_NS,
                until_ns: at_ns,
                milli: avg10,
            },
        };
        into.sample(counter, "", false, sample);
    }
}

/// Thousandths of a per cent.
fn percent(us: u64, of_ns: i64) -> i64 {
    let milli = i128::from(us) * 100_000_000 / i128::from(of_ns.max(1));
    i64::try_from(milli).unwrap_or(i64::MAX).min(100_000)
}

impl Read {
    fn of(&mut self, place: &str, now: Now<'_>) -> Option<Counter> {
        let ends = |text: &str| {
            let named = |(name, _): &&(&str, Counter)| text.ends_with(&format!("/{name}"));
            KINDS.iter().find(named).map(|(_, c)| *c)
        };
        if let Some(counter) = ends(place) {
            return Some(counter);
        }
        let named: Vec<Counter> = now.command.split_whitespace().filter_map(ends).collect();
        if let Some(counter) = named.get(self.next) {
            self.next += 1;
            return Some(*counter);
        }
        let file = now.path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let part = |name: &str| {
            file.split(|c: char| !c.is_ascii_alphanumeric())
                .any(|p| p == name)
        };
        KINDS.iter().find(|(name, _)| part(name)).map(|(_, c)| *c)
    }
}
