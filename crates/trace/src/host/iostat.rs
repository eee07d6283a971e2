//! `iostat -x` (sysstat 10 to 12) into series of each disk.
//!
//! A report begins with its time (`-t`: `11/24/26 16:55:37`, or ISO 8601), then `avg-cpu:` and `Device`. The first is of the
//! time since the system was started and left out, unless the command has `-y`. Columns are found by their names: `r_await`
//! and `w_await` are weighted by `r/s` and `w/s`; sysstat 10 has `await` for both. `-m` and `-h` change no column that is
//! read. A device that did nothing has no time of I/Os.

use super::gather::{Gather, Now, Reader};
use super::stamp::{self, Moment};
use super::table::{Clock, Heading, Row};
use super::vmstat::interval_ns;
use super::{Counter, Sample};
use crate::lines::Skips;

#[derive(Default)]
pub(super) struct Read {
    heading: Heading,
    cpu: Heading,
    is_cpu_next: bool,
    /// Processors stand above the disks.
    is_begun: bool,
    has_times: bool,
    reports: i64,
    at: Option<Moment>,
    before: Option<Moment>,
    clock: Clock,
    is_told: bool,
}

impl Reader for Read {
    fn begin(&mut self) {
        *self = Read::default();
    }

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        let text = line.trim();
        if let Some(at) = self.time(text, now) {
            self.has_times = true;
            self.report(Some(at));
            return;
        }
        if let Some(names) = text.strip_prefix("avg-cpu:") {
            self.cpu = Heading::new(names);
            self.is_cpu_next = true;
            self.is_begun = true;
            self.without_time(now);
            return;
        }
        if text.starts_with("Device") {
            // -d leaves processors out.
            if !std::mem::take(&mut self.is_begun) {
                self.without_time(now);
            }
            self.heading = Heading::new(text);
            self.is_cpu_next = false;
            return;
        }
        let is_first = self.reports <= 1 && !now.command.split_whitespace().any(|w| w == "-y");
        let heading = match std::mem::take(&mut self.is_cpu_next) {
            true => self.cpu.clone(),
            false => self.heading.clone(),
        };
        let Some(row) = heading.row(text) else {
            return into.skip(now.at, "not a row of iostat's columns");
        };
        let Some(at) = self.at else {
            if !std::mem::replace(&mut self.is_told, true) {
                into.skip(now.at, "a report without a time; take iostat -x -t, or put a line # TIME iostat -x SECONDS above it");
            }
            return;
        };
        let from = self.before.or_else(|| {
            let ns = at.ns.checked_sub(interval_ns(now.command)?)?;
            Some(Moment { ns, ..at })
        });
        if let Some(from) = from.filter(|_| !is_first) {
            let span = (from.ns, at.ns);
            match row.word("Device") {
                Some(device) => of_disk(&row, device, at.is_local, span, into),
                None => of_processors(&row, at.is_local, span, into),
            }
        }
    }
}

impl Read {
    fn time(&mut self, text: &str, now: Now<'_>) -> Option<Moment> {
        if let Some(at) = stamp::iso(text) {
            return Some(match at.is_local {
                true => self.clock.zoned(at.ns, now.header_ns),
                false => at,
            });
        }
        let (day, clock) = text.split_once(' ')?;
        let midnight = stamp::date(day)?;
        let (of_day, _) = stamp::clock(clock)?;
        Some(
            self.clock
                .zoned(midnight.checked_add(of_day)?, now.header_ns),
        )
    }

    fn report(&mut self, at: Option<Moment>) {
        self.reports += 1;
        self.before = self.at;
        self.at = at;
    }

    /// Where a report begins that prints no time of its own.
    fn without_time(&mut self, now: Now<'_>) {
        if self.has_times {
            return;
        }
        let began = now.header_ns.zip(interval_ns(now.command));
        let at = began.map(|(ns, every)| Moment {
            ns: ns.saturating_add(every.saturating_mul(self.reports)),
            is_local: false,
        });
        self.report(at);
    }
}

fn of_processors(
    row: &Row<'_>,
    is_local: bool,
    (from_ns, until_ns): (i64, i64),
    into: &mut Gather,
) {
    let idle = row.sum(&["%idle", "%iowait"]);
    let kept = [
        (Counter::CpuBusy, idle.map(|idle| (100_000 - idle).max(0))),
        (Counter::CpuSteal, row.milli("%steal")),
    ];
    for (counter, milli) in kept {
        if let Some(milli) = milli {
            into.sample(
                counter,
                "",
                is_local,
                Sample {
                    from_ns,
                    until_ns,
                    milli,
                },
            );
        }
    }
}

fn of_disk(
    row: &Row<'_>,
    device: &str,
    is_local: bool,
    (from_ns, until_ns): (i64, i64),
    into: &mut Gather,
) {
    let kept = [
        (Counter::DiskOperations, row.sum(&["r/s", "w/s"])),
        (Counter::DiskAwait, await_milli(row)),
        (Counter::DiskUtilization, row.milli("%util")),
        (Counter::DiskQueue, row.first(&["aqu-sz", "avgqu-sz"])),
    ];
    for (counter, milli) in kept {
        if let Some(milli) = milli {
            into.sample(
                counter,
                device,
                is_local,
                Sample {
                    from_ns,
                    until_ns,
                    milli,
                },
            );
        }
    }
}

/// Thousandths of a millisecond, of reads and writes together; none where there was none.
fn await_milli(row: &Row<'_>) -> Option<i64> {
    let (r, w) = (row.milli("r/s")?, row.milli("w/s")?);
    let all = r.checked_add(w).filter(|n| *n > 0)?;
    match row.milli("r_await").zip(row.milli("w_await")) {
        Some((reads, writes)) => {
            let sum = i128::from(r) * i128::from(reads) + i128::from(w) * i128::from(writes);
            i64::try_from(sum / i128::from(all)).ok()
        }
        None => row.milli("await"),
    }
}
