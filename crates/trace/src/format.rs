//! The beginning of a file into its format.

use crate::lines::Lines;
use crate::statements::{digests, mysql, postgresql};
use crate::{
    Error, awr, blocks, csv, fio, ganesha, histogram, mountstats, nfsiostat, slower, waits,
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Csv,
    Fio,
    Mountstats,
    Nfsiostat,
    Oracle,
    /// Distributions that a tracer printed.
    Histogram(histogram::Tool),
    /// Rows of BCC's tools.
    Rows(slower::Tool),
    /// Oracle's distributions of its waits.
    Waits,
    /// Oracle's report of two snapshots.
    Awr,
    /// PostgreSQL's log.
    Postgresql,
    /// MySQL's log of slow statements.
    Mysql,
    /// Sums by statement, of either.
    Digests,
    /// What NFS-Ganesha counts.
    Ganesha,
}

impl Format {
    fn name(self) -> &'static str {
        match self {
            Format::Csv => "CSV",
            Format::Fio => "a fio latency log",
            Format::Mountstats => "/proc/self/mountstats",
            Format::Nfsiostat => "nfsiostat output",
            Format::Oracle => "an Oracle trace",
            Format::Histogram(tool) => tool.name(),
            Format::Rows(tool) => tool.name(),
            Format::Waits => "Oracle's event histogram",
            Format::Awr => "Oracle's AWR report",
            Format::Postgresql => "PostgreSQL's log",
            Format::Mysql => "MySQL's log of slow statements",
            Format::Digests => "sums by statement",
            Format::Ganesha => "NFS-Ganesha's statistics",
        }
    }

    /// Whether a file of this format holds times of disks.
    pub(crate) fn is_of_disks(self, file: &Lines) -> bool {
        match self {
            Format::Rows(tool) => tool == slower::Tool::Biosnoop,
            Format::Histogram(_) => {
                histogram::Tool::is_of_disks(&String::from_utf8_lossy(file.head()))
            }
            Format::Digests => {
                let head = String::from_utf8_lossy(file.head());
                head.lines().any(digests::is_of_disks)
            }
            _ => false,
        }
    }

    /// The one format of all files.
    pub(crate) fn of_all(files: &[Lines]) -> Result<Format, Error> {
        let (first, others) = files.split_first().ok_or(Error::NoInput)?;
        let format = Format::of(first)?;
        for other in others {
            let found = Format::of(other)?;
            if found != format {
                return Err(Error::Mixed {
                    first: first.name(),
                    first_format: format.name(),
                    file: other.name(),
                    format: found.name(),
                });
            }
        }
        Ok(format)
    }

    pub(crate) fn of(file: &Lines) -> Result<Format, Error> {
        let not_text = |what, cure| Error::NotText {
            file: file.name(),
            what,
            cure,
        };
        match file.head() {
            [0x28, 0xb5, 0x2f, 0xfd, ..] => {
                return Err(not_text("zstd-compressed", "decompress it with zstd -d"));
            }
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                return Err(not_text("UTF-16 text", "save it as UTF-8"));
            }
            head if is_html(head) => {
                return Err(not_text(
                    "a page (HTML)",
                    "have it written as text; Oracle's awrrpt.sql asks which",
                ));
            }
            head if head.contains(&0) => {
                return Err(not_text(
                    "binary",
                    "--app takes a latency log; captures go without an option",
                ));
            }
            _ => {}
        }
        let head = String::from_utf8_lossy(file.head());
        let lines = (1..)
            .zip(head.lines())
            .filter(|(_, l)| !l.trim().is_empty() && !csv::is_preface(l));
        let Some((line, first)) = lines.clone().next() else {
            return Err(Error::Empty { file: file.name() });
        };
        let printed = lines
            .clone()
            .map(|(_, l)| l)
            .find(|l| !mountstats::is_time(l));
        let has = |word: &str| lines.clone().any(|(_, l)| l.starts_with(word));
        if first.starts_with("rc ") && has("th ") && has("rpc ") {
            return Err(Error::CountsAlone { file: file.name() });
        }
        if blocks::is_trace(&head) {
            Ok(Format::Oracle)
        } else if lines.clone().any(|(_, l)| awr::is_head(l)) {
            Ok(Format::Awr)
        } else if printed.is_some_and(mountstats::is_header) {
            Ok(Format::Mountstats)
        } else if fio::is_row(first) {
            Ok(Format::Fio)
        } else if csv::is_header(first) {
            Ok(Format::Csv)
        } else if digests::is_header(first) {
            Ok(Format::Digests)
        } else if lines.clone().any(|(_, l)| ganesha::is_head(l)) {
            Ok(Format::Ganesha)
        } else if lines.clone().any(|(_, l)| mysql::is_entry(l)) {
            Ok(Format::Mysql)
        } else if lines.clone().any(|(_, l)| postgresql::is_entry(l)) {
            Ok(Format::Postgresql)
        // A date or a command may stand above it.
        } else if lines.clone().any(|(_, l)| nfsiostat::is_header(l)) {
            Ok(Format::Nfsiostat)
        } else if let Some(tool) = lines.clone().find_map(|(_, l)| slower::Tool::of(l)) {
            Ok(Format::Rows(tool))
        } else if lines.clone().any(|(_, l)| waits::is_head(l)) {
            Ok(Format::Waits)
        } else if let Some(tool) = histogram::Tool::of(lines.map(|(_, l)| l)) {
            Ok(Format::Histogram(tool))
        } else {
            Err(Error::Unknown {
                file: file.name(),
                line,
                text: first.trim().chars().take(60).collect(),
            })
        }
    }
}

fn is_html(head: &[u8]) -> bool {
    let begin = head.trim_ascii_start();
    let begin = begin.get(..begin.len().min(15)).unwrap_or_default();
    let begin = begin.to_ascii_lowercase();
    begin.starts_with(b"<html") || begin.starts_with(b"<!doctype html")
}
