//! fio's latency logs (`--write_lat_log`, fio's HOWTO "Log File Formats") into operations. A row is
//!
//! `time in ms, latency, data direction, block size[, offset][, priority]`
//!
//! - The time is when the operation was *logged*, that is at its end; the start is the latency
//!   before. It is cut to milliseconds, so that starts and ends are known to 1 ms, while latencies
//!   are exact.
//! - Times count from the start of the job, or from 1970 with `log_unix_epoch`.
//! - Latencies are nanoseconds since fio 3; older versions wrote microseconds in the same form,
//!   which nothing in the file gives away.
//! - Offset and priority are both optional: a fifth column that is never above 1 is a priority, as
//!   fio without `log_prio` only says whether the class is real-time.
//! - A block size of 0 marks an average over `log_avg_msec`, which is no operation.

use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::{Error, Operation, OperationKind};

/// Milliseconds of 1973: a larger time counts from 1970.
const EPOCH_MS: i64 = 100_000_000_000;

/// Ends are cut to milliseconds.
const GRAIN_NS: i64 = 1_000_000;

const AVERAGE: &str =
    "an average over log_avg_msec, not an operation; run fio without log_avg_msec";

/// Whether a line is a row of a fio log.
pub(crate) fn is_row(line: &str) -> bool {
    matches!(row(line), Ok(_) | Err(AVERAGE))
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut words = "fio latency log";
    for file in files {
        let name = file.name();
        let base = name.rsplit(['/', '\\']).next().unwrap_or_default();
        let is = |part: &str| base.contains(part);
        // All of fio's logs have the same form; fio's own names tell them apart.
        for (part, log) in [
            ("_bw.", "bandwidth"),
            ("_iops.", "IOPS"),
            ("_slat.", "submission"),
        ] {
            if is(part) {
                return Err(Error::FioLog { file: name, log });
            }
        }
        if is("_clat.") {
            words = "fio completion latency log (without the time to submit)";
        }
        one_file(file, into)?;
    }
    into.grain(GRAIN_NS);
    into.format(format!(
        "{words}, latencies taken as nanoseconds (fio 3 and later), times are ends, known to 1 ms"
    ));
    Ok(())
}

fn one_file(file: Lines, into: &mut Collector) -> Result<(), Error> {
    let first = into.operations().len();
    let mut fifth_is_offset = false;
    file.each(into, |into, at: At<'_>, line| {
        match row(line) {
            Ok(row) => {
                fifth_is_offset |= row.columns > 5 || row.operation.offset > Some(1);
                into.operation(row.operation);
            }
            Err(reason) => into.skip(at, reason),
        }
        Ok(())
    })?;
    if !fifth_is_offset {
        for operation in into.operations().iter_mut().skip(first) {
            operation.offset = None;
        }
    }
    Ok(())
}

struct Row {
    operation: Operation,
    columns: usize,
}

fn row(line: &str) -> Result<Row, &'static str> {
    let mut fields = line.split(',').map(str::trim);
    let mut number = |what| {
        let field = fields.next().ok_or("a fio log has four columns or more")?;
        field.parse::<i64>().ok().filter(|n| *n >= 0).ok_or(what)
    };
    let time_ms = number("the time is no number of milliseconds")?;
    let latency = number("the latency is no number of nanoseconds")?;
    let direction = number("the data direction is no number")?;
    let size = number("the block size is no number of bytes")?;
    // Sync operations and trims have numbers above 1; fio knows seven in all.
    if direction > 6 {
        return Err("the data direction is none that fio knows");
    }
    let mut columns = 4;
    let mut offset = None;
    for field in fields {
        columns += 1;
        let value = match field.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).map(|_| None),
            None => field.parse::<u64>().map(Some),
        };
        let value = value.map_err(|_| "the offset or priority is no number")?;
        if columns == 5 {
            offset = value;
        }
    }
    if columns > 7 {
        return Err("a fio log has seven columns or fewer");
    }
    if size == 0 {
        return Err(AVERAGE);
    }
    let end_ns = time_ms
        .checked_mul(1_000_000)
        .ok_or("the time is too large")?;
    Ok(Row {
        operation: Operation {
            start_ns: end_ns.saturating_sub(latency),
            end_ns,
            absolute: time_ms >= EPOCH_MS,
            kind: match direction {
                0 => OperationKind::Read,
                1 => OperationKind::Write,
                _ => OperationKind::Other,
            },
            offset,
            size: u64::try_from(size).ok(),
            client: None,
            session: None,
        },
        columns,
    })
}
