//! What NFS-Ganesha (3 to 6) counts of its operations, as `ganesha_stats` prints it, into means:
//!
//! - `v3_full` and `v4_full`: `NFSv3 Detailed statistics`, with a row for each operation: how often, errors, and the least,
//!   the mean and the most of how long it took, in milliseconds;
//! - `iov3`, `iov4`, `iov41`, `iov42`: `READv3:` and `WRITEv3:` of each export: bytes asked for and moved, how often, errors,
//!   and how long they took in all, in nanoseconds.
//!
//! Both count since counting was enabled, and two prints are subtracted (snapshots.rs).

use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::snapshots::{KEYS, Snapshots};
use crate::{Error, OperationKind};

/// Whether it is above the rows of a print.
pub(crate) fn is_head(line: &str) -> bool {
    matches!(
        line.trim(),
        "NFSv3 Detailed statistics" | "NFSv4 Detailed statistics"
    ) || export(line).is_some()
}

/// `EXPORT 1:`, but not what it has nothing of.
fn export(line: &str) -> Option<&str> {
    let number = line.trim().strip_prefix("EXPORT ")?.strip_suffix(':')?;
    number.bytes().all(|b| b.is_ascii_digit()).then_some(number)
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut snapshots = Snapshots::default();
    for file in files {
        let mut reader = Reader::default();
        file.each(into, |into, at, line| {
            reader.line(line, &mut snapshots, into, at);
            Ok(())
        })?;
    }
    into.of_servers();
    snapshots.told("NFS-Ganesha's statistics", into);
    Ok(())
}

/// In which part of a print a line stands.
#[derive(Default)]
struct Reader {
    rows: Rows,
    /// Of the print: one that is there already begins another.
    exports: Vec<String>,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Rows {
    #[default]
    None,
    Operations,
    Exports,
}

impl Reader {
    fn line(&mut self, line: &str, snapshots: &mut Snapshots, into: &mut Collector, at: At<'_>) {
        if let Some(number) = export(line) {
            let is_another = self.rows != Rows::Exports || self.exports.iter().any(|e| e == number);
            if is_another {
                snapshots.begin();
                self.exports.clear();
            }
            self.rows = Rows::Exports;
            self.exports.push(number.to_owned());
            return;
        }
        if is_head(line) {
            snapshots.begin();
            self.rows = Rows::Operations;
            return;
        }
        let found = match self.rows {
            Rows::None => return,
            Rows::Operations => operation(line),
            Rows::Exports => input_output(line),
        };
        let Some(found) = found else { return };
        let export = self.exports.last().filter(|_| self.rows == Rows::Exports);
        let key = |name: &str| format!("{} {name}", export.map_or("", String::as_str));
        match found {
            Ok((name, count, total_ns)) => {
                if !snapshots.add(kind(name), key(name), count, total_ns) {
                    into.skip(at, format_args!("more than {KEYS} operations"));
                }
            }
            Err(what) => into.skip(at, what),
        }
    }
}

/// An operation, how often, and how long in all; nothing where a line is no row.
type Row<'a> = Option<Result<(&'a str, u64, i64), &'static str>>;

/// `READ 286 0 0 | 0.014535 0.003547 0.251756`, without the duplicates of version 3 in version 4.
fn operation(line: &str) -> Row<'_> {
    let (counts, took) = line.split_once('|')?;
    let mut counts = counts.split_whitespace();
    let name = counts.next()?;
    // Titles and rules.
    if name == "Name" || name == "Operation" || name.starts_with('=') {
        return None;
    }
    let count = counts.next().and_then(|n| n.parse::<u64>().ok());
    let mean_ns = took.split_whitespace().next().and_then(|ms| scaled(ms, 6));
    Some(match (count, mean_ns.filter(|ns| *ns >= 0)) {
        (Some(count), Some(ns)) => {
            let total_ns = ns.saturating_mul(i64::try_from(count).unwrap_or(i64::MAX));
            Ok((name, count, total_ns))
        }
        _ => Err("a count or a mean is no number"),
    })
}

/// `READv3: 2342912 2342912 286 0 4157030 0`.
fn input_output(line: &str) -> Row<'_> {
    let (name, counts) = line.trim().split_once(':')?;
    if !["READv", "WRITEv"].iter().any(|op| name.starts_with(op)) {
        return None;
    }
    // What an export has nothing of may follow without a line of its own.
    let numbers = counts.split("EXPORT").next().unwrap_or_default();
    let numbers = numbers.split_whitespace().map(|n| n.parse::<u64>().ok());
    let numbers: Option<Vec<u64>> = numbers.collect();
    Some(match numbers.as_deref() {
        Some([_, _, count, _, total_ns, ..]) => match i64::try_from(*total_ns) {
            Ok(total_ns) => Ok((name, *count, total_ns)),
            Err(_) => Err("a sum of times is too large"),
        },
        _ => Err("it has fewer numbers than this print has"),
    })
}

fn kind(name: &str) -> OperationKind {
    match name {
        n if n == "READ" || n.starts_with("READv") => OperationKind::Read,
        n if n == "WRITE" || n.starts_with("WRITEv") => OperationKind::Write,
        _ => OperationKind::Other,
    }
}
