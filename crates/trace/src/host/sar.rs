//! `sar` as text and `mpstat` (sysstat 10 to 12), whose tables are of one form, into series.
//!
//! A line `Linux RELEASE (HOST) DATE …` names the day; each table has a heading and rows that begin with the time of day at
//! which an interval ended (`LC_ALL=C`, or with AM and PM). Averages at the end are left out. Read are of `-u` and mpstat
//! processors together, of `-q` the run queue, of `-q PSI` (`%scpu`) pressure, of `-W` swap, of `-d` disks, of `-n EDEV`
//! drops, of `-n ETCP` retransmits; tables of other columns are passed over.

use super::gather::{Gather, Now, Reader};
use super::stamp::{self, Moment};
use super::table::{Clock, Heading, Row, is_heading};
use super::{Counter, Sample};
use crate::lines::Skips;

/// A page of swap, in kB.
const PAGE_KB: i64 = 4;

#[derive(Default)]
pub(super) struct Read {
    heading: Heading,
    from: Option<Moment>,
    at: Option<Moment>,
    clock: Clock,
    is_told: bool,
}

impl Reader for Read {
    fn begin(&mut self) {
        *self = Read::default();
    }

    fn line(&mut self, line: &str, now: Now<'_>, into: &mut Gather) {
        if line.starts_with("Average") || line.contains(" RESTART") {
            return;
        }
        let Some((of_day, text)) = stamp::clock(line) else {
            return into.skip(now.at, "not a row of sar's or mpstat's");
        };
        let midnight = into.banner().and_then(|b| b.midnight_ns);
        let Some(at) = self.clock.of_day(of_day, midnight, now.header_ns) else {
            if !std::mem::replace(&mut self.is_told, true) {
                into.skip(
                    now.at,
                    "the day is not said; keep the line \"Linux … (host) date\" above the tables",
                );
            }
            return;
        };
        if is_heading(text)
            || text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '%')
                && !is_row(&self.heading, text)
        {
            self.heading = Heading::new(text);
            (self.from, self.at) = (None, Some(at));
            return;
        }
        if self.at != Some(at) {
            self.from = self.at.replace(at);
        }
        let (Some(row), Some(from)) = (self.heading.row(text), self.from) else {
            return;
        };
        let sample = |milli| Sample {
            from_ns: from.ns,
            until_ns: at.ns,
            milli,
        };
        for (counter, device, milli) in counters(&row) {
            if let Some(milli) = milli {
                into.sample(counter, device, at.is_local, sample(milli));
            }
        }
    }
}

/// Rows of disks, interfaces and processors together begin with a name, as headings do.
fn is_row(heading: &Heading, text: &str) -> bool {
    let numbers = text.split_whitespace().skip(1);
    let mut known = numbers.map(super::table::milli);
    heading.row(text).is_some() && known.all(|n| n.is_some())
}

type Found<'a> = (Counter, &'a str, Option<i64>);

fn counters<'a>(row: &Row<'a>) -> Vec<Found<'a>> {
    if let Some(cpu) = row.word("CPU") {
        let idle = row.sum(&["%idle", "%iowait"]).filter(|_| cpu == "all");
        let busy = idle.map(|idle| (100_000 - idle).max(0));
        let steal = row.milli("%steal").filter(|_| cpu == "all");
        return vec![(Counter::CpuBusy, "", busy), (Counter::CpuSteal, "", steal)];
    }
    if let Some(device) = row.word("DEV") {
        // A device that did nothing has no time of I/Os.
        let took = row.milli("await").filter(|_| row.milli("tps") != Some(0));
        return vec![
            (Counter::DiskOperations, device, row.milli("tps")),
            (Counter::DiskAwait, device, took),
            (Counter::DiskUtilization, device, row.milli("%util")),
            (
                Counter::DiskQueue,
                device,
                row.first(&["aqu-sz", "avgqu-sz"]),
            ),
        ];
    }
    if let Some(interface) = row.word("IFACE") {
        let dropped = row.sum(&["rxdrop/s", "txdrop/s", "rxfifo/s", "txfifo/s"]);
        return vec![(Counter::NicDrops, interface, dropped)];
    }
    let swapped = row.sum(&["pswpin/s", "pswpout/s"]);
    vec![
        (Counter::RunQueue, "", row.milli("runq-sz")),
        (Counter::Blocked, "", row.milli("blocked")),
        (
            Counter::Swap,
            "",
            swapped.map(|pages| pages.saturating_mul(PAGE_KB)),
        ),
        (Counter::CpuPressure, "", row.milli("%scpu")),
        (Counter::IoPressure, "", row.milli("%sio")),
        (Counter::MemoryPressure, "", row.milli("%smem")),
        (Counter::Retransmits, "", row.milli("retrans/s")),
    ]
}
