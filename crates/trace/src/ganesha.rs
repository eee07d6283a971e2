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
use crate::snapshots::{Counted, KEYS, Snapshots};
use crate::{Error, OperationKind};
use std::collections::BTreeMap;

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
    let mut prints = BTreeMap::<Rows, Snapshots>::new();
    for file in files {
        let mut reader = Reader::default();
        file.each(into, |into, at, line| {
            reader.line(line, &mut prints, into, at);
            Ok(())
        })?;
    }
    into.of_servers();
    // Exports tell again what whole prints do.
    if prints
        .iter()
        .any(|(rows, s)| rows.is_whole() && !s.is_empty())
    {
        prints.retain(|rows, _| rows.is_whole());
    }
    let words: Vec<String> = prints.into_values().map(|s| s.told(into)).collect();
    into.format(format!(
        "NFS-Ganesha's statistics, {}",
        words.join(", and ")
    ));
    Ok(())
}

/// In which part of a print a line stands.
#[derive(Default)]
struct Reader {
    rows: Rows,
    /// Of the print: one that is there already begins another.
    exports: Vec<String>,
}

/// Of which print rows are: each kind counts by itself.
#[derive(Default, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Rows {
    #[default]
    None,
    /// Of all operations of a version.
    Operations(String),
    Exports,
}

impl Rows {
    fn is_whole(&self) -> bool {
        matches!(self, Rows::Operations(_))
    }
}

impl Reader {
    fn line(
        &mut self,
        line: &str,
        prints: &mut BTreeMap<Rows, Snapshots>,
        into: &mut Collector,
        at: At<'_>,
    ) {
        if let Some(number) = export(line) {
            let is_another = self.rows != Rows::Exports || self.exports.iter().any(|e| e == number);
            self.rows = Rows::Exports;
            if is_another {
                prints.entry(Rows::Exports).or_default().begin();
                self.exports.clear();
            }
            self.exports.push(number.to_owned());
            return;
        }
        if is_head(line) {
            self.rows = Rows::Operations(line.trim().to_owned());
            prints.entry(self.rows.clone()).or_default().begin();
            return;
        }
        let found = match self.rows {
            Rows::None => return,
            Rows::Operations(_) => operation(line),
            Rows::Exports => input_output(line),
        };
        let Some(found) = found else { return };
        let export = self.exports.last().filter(|_| self.rows == Rows::Exports);
        let key = |name: &str| format!("{} {name}", export.map_or("", String::as_str));
        match found {
            Ok((name, counted)) => {
                let print = prints.entry(self.rows.clone()).or_default();
                if !print.add(kind(name), key(name), counted) {
                    into.skip(at, format_args!("more than {KEYS} operations"));
                }
            }
            Err(what) => into.skip(at, what),
        }
    }
}

/// An operation, how often, and how long in all; nothing where a line is no row.
type Row<'a> = Option<Result<(&'a str, Counted), &'static str>>;

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
            let times = i64::try_from(count).unwrap_or(i64::MAX);
            let counted = Counted {
                count,
                total_ns: ns.saturating_mul(times),
                // A mean is told to the nanosecond.
                unsure_ns: times / 2 + 1,
            };
            Ok((name, counted))
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
            Ok(total_ns) => Ok((
                name,
                Counted {
                    count: *count,
                    total_ns,
                    unsure_ns: 0,
                },
            )),
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
