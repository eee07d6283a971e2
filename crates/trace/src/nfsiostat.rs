//! `nfsiostat` output (nfs-utils) into means per operation kind. Two layouts exist: headings and
//! values on a line each, and, in old versions, one value per line. Both are read as
//! the numbers that follow an operation's name:
//!
//! `ops/s, kB/s, kB/op, retrans (percent), avg RTT, avg exe[, avg queue][, errors (percent)]`
//!
//! - How many operations a mean stands for is not said (ops/s without the interval), so a summary
//!   has a count of 1 and `means_only`. Reports and mounts are weighted by their ops/s.
//! - The first report of a mount counts since the mount; it is left out when others follow.
//! - Without avg queue (old layouts) it is avg exe − avg RTT, the queue and the client's own work.

use crate::collector::Collector;
use crate::lines::Lines;
use crate::number::counted;
use crate::{Error, OperationSummary};
use std::collections::BTreeMap;

/// Mounts that are believed.
const MOUNTS: usize = 4_096;

/// Numbers of a block without avg queue and errors.
const OLD_NUMBERS: usize = 6;

/// Whether a line is the first of a mount's report: `server:/export mounted on /mnt:`.
pub(crate) fn is_header(line: &str) -> bool {
    line.contains(" mounted on ") && line.trim_end().ends_with(':')
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut reports = 0;
    let mut means: BTreeMap<String, Mean> = BTreeMap::new();
    for file in files {
        let mut mounts: BTreeMap<String, Reports> = BTreeMap::new();
        let mut mount = String::new();
        let mut block: Option<Block> = None;
        file.each(into, |into, at, line| {
            if is_header(line) {
                if block.take().is_some() {
                    into.skip(at, "the report before ends early");
                }
                mount = line.trim().to_string();
                if mounts.len() >= MOUNTS && !mounts.contains_key(&mount) {
                    mount.clear();
                    into.skip(at, format_args!("more than {MOUNTS} mounts"));
                } else if !mount.is_empty() {
                    mounts.entry(mount.clone()).or_default().count += 1;
                }
                return Ok(());
            }
            if let Some((name, rest)) = operation(line) {
                if block.take().is_some() {
                    into.skip(at, "the operation before ends early");
                }
                block = Some(Block::new(name));
                // In the newer layout the headings follow the name.
                if let Some(block) = &mut block {
                    block.take(rest);
                }
            } else if let Some(block) = &mut block {
                block.take(line);
            }
            if let Some(done) = block.take_if(|block| block.is_complete()) {
                match (done.row(), mounts.get_mut(&mount)) {
                    (Some(row), Some(reports)) => reports.add(done.name, row),
                    _ => into.skip(at, "an operation's figures are negative or without a mount"),
                }
            }
            Ok(())
        })?;
        for mount in mounts.into_values() {
            reports += mount.count;
            let used = if mount.count > 1 {
                mount.later
            } else {
                mount.first
            };
            for (name, mean) in used {
                means.entry(name).or_default().merge(&mean);
            }
        }
    }
    into.summaries(means.into_iter().filter_map(Mean::summary).collect());
    into.format(format!(
        "nfsiostat output, {}: means weighted by ops/s, number of operations unknown",
        counted(reports, "report")
    ));
    Ok(())
}

/// What one mount's reports say: the first, since the mount, and those of intervals.
#[derive(Default)]
struct Reports {
    count: usize,
    first: BTreeMap<String, Mean>,
    later: BTreeMap<String, Mean>,
}

impl Reports {
    fn add(&mut self, name: String, row: Row) {
        let means = if self.count > 1 {
            &mut self.later
        } else {
            &mut self.first
        };
        means.entry(name).or_default().add(row);
    }
}

/// An operation's name at the start of a line: `read:`, and what follows it.
fn operation(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.trim_start().split_once(':')?;
    let is_name = !name.is_empty()
        && name.len() <= 24
        && name.bytes().all(|b| b.is_ascii_alphabetic() || b == b'_');
    is_name.then_some((name, rest))
}

/// The figures of one operation as they are read.
struct Block {
    name: String,
    expected: usize,
    numbers: Vec<f64>,
}

impl Block {
    fn new(name: &str) -> Block {
        Block {
            name: name.to_ascii_uppercase(),
            expected: OLD_NUMBERS,
            numbers: Vec::new(),
        }
    }

    fn take(&mut self, line: &str) {
        for heading in ["avg queue", "errors"] {
            self.expected += usize::from(line.contains(heading));
        }
        // Percentages and units stand in parentheses.
        let mut depth = 0_i32;
        let plain: String = line
            .chars()
            .filter(|c| {
                depth += i32::from(*c == '(');
                let inside = depth > 0;
                depth -= i32::from(*c == ')' && inside);
                !inside
            })
            .collect();
        let room = self.expected.saturating_sub(self.numbers.len());
        let numbers = plain
            .split_whitespace()
            .filter_map(|word| word.parse::<f64>().ok());
        self.numbers.extend(numbers.take(room));
    }

    fn is_complete(&self) -> bool {
        self.numbers.len() >= self.expected
    }

    fn row(&self) -> Option<Row> {
        let number = |i: usize| self.numbers.get(i).copied();
        if !self.numbers.iter().all(|n| n.is_finite() && *n >= 0.0) {
            return None;
        }
        let (rtt_ms, execute_ms) = (number(4)?, number(5)?);
        Some(Row {
            rate: number(0)?,
            retransmits: number(3)?,
            rtt_ms,
            execute_ms,
            queue_ms: number(6).unwrap_or((execute_ms - rtt_ms).max(0.0)),
            errors: number(7).unwrap_or(0.0),
        })
    }
}

struct Row {
    rate: f64,
    retransmits: f64,
    rtt_ms: f64,
    execute_ms: f64,
    queue_ms: f64,
    errors: f64,
}

/// Sums of means weighted by ops/s.
#[derive(Default)]
struct Mean {
    rate: f64,
    queue: f64,
    rtt: f64,
    execute: f64,
    retransmits: f64,
    errors: f64,
}

impl Mean {
    fn add(&mut self, row: Row) {
        self.merge(&Mean {
            rate: row.rate,
            queue: row.rate * row.queue_ms,
            rtt: row.rate * row.rtt_ms,
            execute: row.rate * row.execute_ms,
            retransmits: row.retransmits,
            errors: row.errors,
        });
    }

    fn merge(&mut self, other: &Mean) {
        self.rate += other.rate;
        self.queue += other.queue;
        self.rtt += other.rtt;
        self.execute += other.execute;
        self.retransmits += other.retransmits;
        self.errors += other.errors;
    }

    /// `None` for an operation that never happened.
    fn summary((op, mean): (String, Mean)) -> Option<OperationSummary> {
        // A conversion of a float saturates, so figures beyond all reason do no harm.
        let ns = |sum: f64| (sum / mean.rate * 1e6).round() as i64;
        (mean.rate > 0.0).then(|| OperationSummary {
            op,
            count: 1,
            queue_ns: ns(mean.queue),
            rtt_ns: ns(mean.rtt),
            execute_ns: ns(mean.execute),
            retransmits: mean.retransmits as u64,
            timeouts: 0,
            errors: mean.errors as u64,
            means_only: true,
        })
    }
}
