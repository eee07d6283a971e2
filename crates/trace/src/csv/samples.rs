//! Rows without a single operation: averages of intervals, and latencies without times.
//!
//! An interval lasts from its start (`start_ns`, or `time`, which is when it began) to its end (`end_ns`). Where only
//! one of them stands there, its length is the shortest distance between two rows of the file; that of a lone row is
//! unknown, and so is its other end. Times that do not count from 1970 are no times: nothing says when that was.

use super::{Column, EPOCH_NS, Row, Table, Times, optional, required, unit_of};
use crate::{OperationKind, Sample};
use std::borrow::Cow;

impl Table {
    /// A row that is the average of so many operations.
    pub(super) fn average(
        &mut self,
        fields: &[Cow<'_, str>],
        count: Column,
        (latency, digits): (Column, u32),
    ) -> Result<Row, Cow<'static, str>> {
        let operations = required(fields, count, 0)?;
        let operations =
            u64::try_from(operations).map_err(|_| format!("{} is negative", count.1))?;
        let latency_ns = match operations {
            // An interval in which nothing ended has no latency.
            0 => 0,
            _ => latency_of(fields, latency, digits)?,
        };
        let mut power = self.clock.map(|clock| clock.power);
        let (from_ns, until_ns) = match self.times {
            Times::Latency(..) => return Ok(sample(None, None, operations, latency_ns)),
            Times::StartEnd(start, end) => {
                let (start, end) = (required(fields, start, 0)?, required(fields, end, 0)?);
                (Some(start), Some(end))
            }
            Times::StartLatency(start, ..) => (Some(required(fields, start, 0)?), None),
            Times::EndLatency((end, power), _) => (None, Some(required(fields, end, power)?)),
            Times::TimeLatency(time, ..) => {
                let known = match power {
                    Some(power) => power,
                    None => *power.insert(unit_of(required(fields, time, 0)?)),
                };
                (Some(required(fields, time, known)?), None)
            }
        };
        if from_ns
            .zip(until_ns)
            .is_some_and(|(from, until)| until < from)
        {
            return Err("the interval ends before it starts".into());
        }
        let absolute = from_ns.or(until_ns).is_some_and(|t| t >= EPOCH_NS);
        self.one_clock(absolute, power)?;
        Ok(match absolute {
            true => sample(from_ns, until_ns, operations, latency_ns),
            false => sample(None, None, operations, latency_ns),
        })
    }
}

/// A row that is a latency and nothing else.
pub(super) fn alone(
    fields: &[Cow<'_, str>],
    latency: Column,
    digits: u32,
) -> Result<Row, Cow<'static, str>> {
    match optional(fields, latency, digits)? {
        None => Ok(Row::Unfinished),
        Some(_) => Ok(sample(None, None, 1, latency_of(fields, latency, digits)?)),
    }
}

fn latency_of(
    fields: &[Cow<'_, str>],
    column: Column,
    digits: u32,
) -> Result<i64, Cow<'static, str>> {
    match required(fields, column, digits)? {
        latency if latency < 0 => Err(format!("{} is negative", column.1).into()),
        latency => Ok(latency),
    }
}

fn sample(from_ns: Option<i64>, until_ns: Option<i64>, count: u64, latency_ns: i64) -> Row {
    Row::Sample(Sample {
        from_ns,
        until_ns,
        kind: OperationKind::Unsaid,
        count,
        latency_ns,
        client: None,
    })
}

/// Gives the intervals of a file their other end.
pub(super) fn close(samples: &mut [Sample]) {
    let mut times: Vec<i64> = samples
        .iter()
        .filter_map(|s| s.from_ns.or(s.until_ns))
        .collect();
    times.sort_unstable();
    let pairs = times.iter().zip(times.iter().skip(1));
    let Some(length) = pairs.map(|(a, b)| b - a).filter(|d| *d > 0).min() else {
        return;
    };
    for s in samples {
        match (s.from_ns, s.until_ns) {
            (Some(from), None) => s.until_ns = Some(from.saturating_add(length)),
            (None, Some(until)) => s.from_ns = Some(until.saturating_sub(length)),
            _ => {}
        }
    }
}
