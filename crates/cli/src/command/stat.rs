//! `slowside stat`: packets and calls in intervals.

use super::rows::{Rows, RowsOf};
use super::{CANNOT_WRITE, source, tell};
use crate::args::Stat;
use crate::exit::Done;
use crate::out;
use crate::progress::Progress;
use analysis::intervals::IntervalRow;
use anyhow::Context;
use jiff::tz::TimeZone;
use report::{RowWriter, StatText};
use slowside::Captures;
use std::io::{self, Write};

pub(crate) fn run(args: &Stat) -> anyhow::Result<Done> {
    let captures = Captures::One(args.captures.clone());
    let config = args.reading.config(&captures)?;
    let live = args.from_interface.interface.is_some();
    let source = source(&args.captures, args.reading.as_one, &args.from_interface)?;
    let mut progress = Progress::new(args.reading.quiet, live);
    let mut out = out::text();
    let rows = Rows::open_if(args.format.rows(), &args.output, "slowside.stat/1")?;
    let begun = rows.map(|rows| RowsOf::begin(rows, RowWriter::intervals));
    let mut rows = begun.transpose()?;
    let mut text = StatText::new(TimeZone::system());
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;
    let mut sink = |row: &IntervalRow| {
        // Somebody looks at rows of an interface as they come.
        match &mut rows {
            Some(rows) if live => rows.write(row).and_then(|()| rows.flush()),
            Some(rows) => rows.write(row),
            None => {
                let done = text.row(row, &mut out);
                let done = if live {
                    done.and_then(|()| out.flush())
                } else {
                    done
                };
                done.map_err(|e| {
                    let kind = e.kind();
                    failed = Some(e);
                    io::Error::from(kind)
                })
            }
        }
    };
    let result = slowside::stat(
        source,
        &config,
        args.interval,
        args.packets.as_ref(),
        &mut sink,
        &mut |e| progress.event(e),
    );
    if let Some(e) = failed {
        return Err(e).context(CANNOT_WRITE);
    }
    if let Some(rows) = &mut rows {
        rows.check()?;
    }
    let (capture, total) = result?;
    drop(progress);
    match rows {
        Some(rows) => rows.finish()?,
        None => text
            .total(&total, &mut out)
            .and_then(|()| out.flush())
            .context(CANNOT_WRITE)?,
    }
    let damaged = capture.problems.any_damage();
    // Rows alone do not say what was damaged.
    tell(&config, &[capture], true, args.reading.quiet);
    Ok(Done::with_damage(damaged))
}
