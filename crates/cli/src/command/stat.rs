//! `slowside stat`: packets and calls in intervals.

use super::{CANNOT_WRITE, source, tell};
use crate::args::{Stat, StatFormat};
use crate::exit::Done;
use crate::out;
use crate::progress::Progress;
use analysis::intervals::IntervalRow;
use anyhow::Context;
use jiff::tz::TimeZone;
use report::{Form, RowWriter, StatText};
use std::io::{self, Write};

pub(crate) fn run(args: &Stat) -> anyhow::Result<Done> {
    let config = args.reading.config()?;
    let live = args.from_interface.interface.is_some();
    let source = source(&args.captures, &args.from_interface)?;
    let mut progress = Progress::new(args.reading.quiet, live);
    let mut out = out::text();
    let form = match args.format {
        StatFormat::Csv => Some(Form::Csv),
        StatFormat::Jsonl => Some(Form::Jsonl),
        StatFormat::Text => None,
    };
    let mut rows = form.map(RowWriter::intervals);
    if let Some(rows) = &rows {
        out.write_all(rows.head().as_bytes())
            .context(CANNOT_WRITE)?;
    }
    let mut line = Vec::new();
    let mut text = StatText::new(TimeZone::system());
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;
    let mut sink = |row: &IntervalRow| {
        let done = match &mut rows {
            Some(rows) => {
                line.clear();
                rows.write(row, &mut line);
                out.write_all(&line)
            }
            None => text.row(row, &mut out),
        };
        // Somebody looks at rows of an interface as they come.
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
    let (capture, total) = result?;
    drop(progress);
    let end = match args.format {
        StatFormat::Text => text.total(&total, &mut out),
        StatFormat::Csv | StatFormat::Jsonl => Ok(()),
    };
    end.and_then(|()| out.flush()).context(CANNOT_WRITE)?;
    let damaged = capture.problems.any_damage();
    // Rows alone do not say what was damaged.
    tell(&config, &[capture], true, args.reading.quiet);
    Ok(Done::with_damage(damaged))
}
