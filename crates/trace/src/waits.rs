//! Oracle's histogram of waits (`v$event_histogram`, and `v$event_histogram_micro` of 12.1 and later) as sqlplus and
//! monitoring scripts print it, into [`Histogram`]s: a head with `EVENT`, `WAIT_TIME_MILLI` or `WAIT_TIME_MICRO` and
//! `WAIT_COUNT`, and a row for each step, in columns of blanks or as CSV (`set markup csv on`).
//!
//! ```text
//! EVENT                     WAIT_TIME_MILLI WAIT_COUNT
//! ------------------------- --------------- ----------
//! db file sequential read                 1       9321
//! db file sequential read                 2       1187
//! ```
//!
//! - A row's waits took less than its time, and not less than half of it; those of the first step may have taken nothing.
//! - Only waits for one block are taken, as one wait is one READ: `db file sequential read`. Others read several blocks at
//!   once, or write to several files.
//! - The database counts since it was started. Two prints, in one file or two, are subtracted; the later one has counted
//!   more. One alone says what was so since then, and the words say that.

use crate::collector::Collector;
use crate::histogram::{Bucket, Histogram};
use crate::lines::{At, Lines};
use crate::{Error, OperationKind};
use std::collections::BTreeMap;

const EVENT: &str = "db file sequential read";

/// Prints, and steps of one, that are believed.
const PRINTS: usize = 4_096;
const STEPS: usize = 256;

/// Waits by the upper bound of their step.
type Steps = BTreeMap<i64, u64>;

/// Whether a line is the head of the columns.
pub(crate) fn is_head(line: &str) -> bool {
    unit_ns(line).is_some()
}

fn unit_ns(line: &str) -> Option<i64> {
    let line = line.to_ascii_lowercase();
    let words = || line.split(|c: char| c.is_whitespace() || matches!(c, ',' | '"'));
    let has = |name: &str| words().any(|w| w == name);
    let is_event = has("event") || has("event_name");
    match (has("wait_time_milli"), has("wait_time_micro")) {
        (true, false) if is_event && has("wait_count") => Some(1_000_000),
        (false, true) if is_event && has("wait_count") => Some(1_000),
        _ => None,
    }
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut prints: Vec<Steps> = Vec::new();
    let first = files.first().map(Lines::name).unwrap_or_default();
    for file in files {
        let mut steps = Steps::new();
        let mut unit = None;
        let mut close = |steps: &mut Steps| {
            let steps = std::mem::take(steps);
            if !steps.is_empty() && prints.len() < PRINTS {
                prints.push(steps);
            }
        };
        file.each(into, |into, at, line| {
            if let Some(unit_ns) = unit_ns(line) {
                unit = Some(unit_ns);
            } else if let (Some(unit_ns), true) = (unit, line.contains(EVENT)) {
                step(line, unit_ns, &mut steps, &mut close, into, at);
            }
            Ok(())
        })?;
        close(&mut steps);
    }
    prints.sort_by_key(|steps| steps.values().fold(0, |n: u64, c| n.saturating_add(*c)));
    let (Some(earliest), Some(latest)) = (prints.first(), prints.last()) else {
        let reason = format!("it has no rows of {EVENT}, whose waits are single READs");
        return Err(Error::Nothing {
            file: first,
            reason,
        });
    };
    let (steps, words) = match prints.len() {
        1 => (
            latest.clone(),
            "one print: since the database was started; take one before and one after the problem"
                .to_owned(),
        ),
        n => (
            difference(latest, earliest),
            format!("difference of {n} prints"),
        ),
    };
    let histogram = Histogram {
        kind: OperationKind::Read,
        buckets: buckets(latest, &steps),
        total_ns: None,
    };
    if !histogram.buckets.is_empty() {
        into.histograms(vec![histogram]);
    }
    into.of_clients();
    into.format(format!("Oracle's event histogram of {EVENT}, {words}"));
    Ok(())
}

/// Takes a row. One whose step is there already begins the next print.
fn step(
    line: &str,
    unit_ns: i64,
    steps: &mut Steps,
    close: &mut impl FnMut(&mut Steps),
    into: &mut Collector,
    at: At<'_>,
) {
    let (_, rest) = line.split_once(EVENT).unwrap_or_default();
    let mut numbers = rest
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | '"'))
        .filter(|w| !w.is_empty());
    let time = numbers.next().and_then(|w| w.parse::<i64>().ok());
    let count = numbers.next().and_then(|w| w.parse::<u64>().ok());
    let step = time.filter(|t| *t > 0).and_then(|t| t.checked_mul(unit_ns));
    let Some((until_ns, count)) = step.zip(count) else {
        return into.skip(at, "the event is not followed by a time and a count");
    };
    if steps.contains_key(&until_ns) {
        close(steps);
    }
    if steps.len() >= STEPS {
        return into.skip(at, format_args!("more than {STEPS} steps of one print"));
    }
    steps.insert(until_ns, count);
}

/// What was counted between two prints; all that the later one has where the database was started again.
fn difference(latest: &Steps, earliest: &Steps) -> Steps {
    let since = |(until, n): (&i64, &u64)| {
        let before = earliest.get(until).copied().unwrap_or(0);
        Some((*until, n.checked_sub(before)?))
    };
    let all: Option<Steps> = latest.iter().map(since).collect();
    all.unwrap_or_else(|| latest.clone())
}

fn buckets(printed: &Steps, counts: &Steps) -> Vec<Bucket> {
    let lowest = printed.keys().next().copied();
    let some = counts.iter().filter(|(_, n)| **n > 0);
    let bucket = |(&until_ns, &count): (&i64, &u64)| Bucket {
        // Nothing says that the lowest step shown is not the lowest there is.
        from_ns: match lowest == Some(until_ns) {
            true => 0,
            false => until_ns / 2,
        },
        until_ns: Some(until_ns),
        count,
    };
    some.map(bucket).collect()
}
