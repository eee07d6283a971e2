//! `vmstat` of Linux (procps 3.3 to 4.0) into series.
//!
//! Columns are found by their names. The first report is of the time since the system was started, and left out. With `-t`
//! each row has its time, in a zone that the heading names (only UTC is known by its name); without, the times follow from
//! a line `# TIME vmstat SECONDS [COUNT]`.

use super::gather::{Gather, Now, Reader};
use super::stamp::{self, Moment, SECOND_NS};
use super::table::{Clock, Heading};
use super::{Counter, Sample};
use crate::lines::Skips;

#[derive(Default)]
pub(super) struct Read {
    heading: Heading,
    is_utc: bool,
    rows: i64,
    before: Option<Moment>,
    clock: Clock,
}

impl Reader for Read {
    fn begin(&mut self) {
        *self = Read::default();
    }

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let text = line.trim();
        if text.starts_with("procs") {
            return;
        }
        if text.starts_with("r ") {
            let mut names = text.to_owned();
            // What stands above the times is the zone.
            let zone = text.split_whitespace().last().unwrap_or_default();
            if zone.starts_with(|c: char| c.is_ascii_uppercase()) {
                self.is_utc = zone == "UTC";
                names.truncate(names.len() - zone.len());
            }
            self.heading = Heading::new(&names);
            return;
        }
        let Some(row) = self.heading.row(text) else {
            return into.skip(now.at, "not a row of vmstat's columns");
        };
        self.rows += 1;
        let stamp = row.behind().join(" ");
        let moment = match (stamp::iso(&stamp), now.header_ns, interval_ns(now.command)) {
            (Some(at), _, _) if self.is_utc => Some(Moment {
                is_local: false,
                ..at
            }),
            (Some(at), header, _) => Some(self.clock.zoned(at.ns, header)),
            (None, Some(began), Some(every)) => Some(Moment {
                ns: began.saturating_add(every.saturating_mul(self.rows - 1)),
                is_local: false,
            }),
            _ => None,
        };
        let Some(at) = moment else {
            return into.skip(now.at, "a row without a time; take vmstat -t, or put a line # TIME vmstat SECONDS above it");
        };
        let before = self.before.replace(at);
        let Some(before) = before.filter(|_| self.rows > 1) else {
            return;
        };
        let idle = row.sum(&["id", "wa"]);
        let kept = [
            (Counter::RunQueue, row.milli("r")),
            (Counter::Blocked, row.milli("b")),
            (Counter::Swap, row.sum(&["si", "so"])),
            (Counter::CpuBusy, idle.map(|idle| (100_000 - idle).max(0))),
            (Counter::CpuSteal, row.milli("st")),
        ];
        for (counter, milli) in kept {
            if let Some(milli) = milli {
                let sample = Sample {
                    from_ns: before.ns,
                    until_ns: at.ns,
                    milli,
                };
                into.sample(counter, "", at.is_local, sample);
            }
        }
    }
}

/// Of `vmstat -t 1 16`, `iostat -x 5`.
pub(super) fn interval_ns(command: &str) -> Option<i64> {
    let seconds: i64 = command
        .split_whitespace()
        .skip(1)
        .find_map(|w| w.parse().ok())?;
    let is_usual = (1..=86_400).contains(&seconds);
    is_usual.then(|| seconds * SECOND_NS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_nobody_asks_for_is_none() {
        assert_eq!(interval_ns("vmstat -t 5 16"), Some(5 * SECOND_NS));
        assert_eq!(interval_ns("iostat -x 90000"), None);
        assert_eq!(interval_ns(&format!("iostat -x {}", i64::MAX)), None);
    }
}
