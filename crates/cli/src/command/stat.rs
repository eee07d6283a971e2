//! `slowside stat`: packets and calls in intervals.

use super::rows::{Rows, RowsOf};
use super::{CANNOT_WRITE, source, tell};
use crate::args::Stat;
use crate::exit::Done;
use crate::out;
use crate::progress::Progress;
use analysis::intervals::IntervalRow;
use analysis::results::Order;
use anyhow::Context;
use jiff::tz::TimeZone;
use model::limits;
use report::{RowWriter, StatText};
use slowside::Captures;
use std::io::{self, Write};

pub(crate) fn run(args: &Stat) -> anyhow::Result<Done> {
    let captures = Captures::One(args.captures.clone());
    let config = args.reading.config(&captures)?;
    let live = args.from_interface.interface.is_some();
    let source = source(&args.captures, args.reading.as_one, &args.from_interface)?;
    let mut sorted = Sorted::new(args.sorted.order(&report::stat_sortable())?);
    anyhow::ensure!(
        !live || sorted.is_none(),
        "intervals of an interface are told as they pass; leave out --sort and --top"
    );
    let mut progress = Progress::new(args.reading.quiet, live);
    let mut out = out::text();
    let rows = Rows::open_if(args.format.rows(), &args.output, "slowside.stat/1")?;
    let begun = rows.map(|rows| RowsOf::begin(rows, RowWriter::intervals));
    let mut rows = begun.transpose()?;
    let mut text = StatText::new(TimeZone::system());
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;
    let mut sink = |row: &IntervalRow| {
        if let Some(sorted) = &mut sorted {
            return sorted.take(row);
        }
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
    if let Some(Sorted {
        rows: listed,
        first: Some(first),
        ..
    }) = sorted.map(Sorted::done)
    {
        match &mut rows {
            Some(rows) => listed.iter().try_for_each(|row| rows.write(row))?,
            None => text
                .begin(&first, &mut out)
                .and_then(|()| listed.iter().try_for_each(|row| text.row(row, &mut out)))
                .context(CANNOT_WRITE)?,
        }
    }
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

/// Rows that are put into an order before they are written.
struct Sorted {
    order: Order,
    rows: Vec<IntervalRow>,
    /// From which all are counted.
    first: Option<IntervalRow>,
}

impl Sorted {
    /// Where an order is asked for.
    fn new(order: Order) -> Option<Sorted> {
        (order != Order::default()).then_some(Sorted {
            order,
            rows: Vec::new(),
            first: None,
        })
    }

    /// Of as many as are wanted, the others go at times; all of them have a bound.
    fn take(&mut self, row: &IntervalRow) -> io::Result<()> {
        self.first.get_or_insert(*row);
        if self.rows.len() >= limits::SORTED_INTERVALS {
            report::stat_sort(&mut self.rows, &self.order);
        }
        if self.rows.len() >= limits::SORTED_INTERVALS {
            return Err(io::Error::other(format!(
                "more than {} intervals are not sorted; give a smaller --top, or a wider --interval",
                limits::SORTED_INTERVALS
            )));
        }
        self.rows.push(*row);
        Ok(())
    }

    fn done(mut self) -> Sorted {
        report::stat_sort(&mut self.rows, &self.order);
        self
    }
}
