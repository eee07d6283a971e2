//! `slowside ops`: calls in groups.

use super::{check_standard_input, tell_damage};
use crate::args::{GroupFormat, Ops};
use crate::exit::Done;
use crate::progress::Progress;
use jiff::tz::TimeZone;
use std::io::{self, BufWriter, Write};

pub(crate) fn run(args: &Ops) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    let config = args.reading.config()?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let result = slowside::ops(&args.captures, &config, &args.by, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);

    let mut out = BufWriter::new(io::stdout().lock());
    match args.format {
        GroupFormat::Json => report::ops_json(&result, &mut out)?,
        GroupFormat::Csv => {
            let keys: Vec<&str> = args.by.iter().map(|k| k.name()).collect();
            report::ops_csv(&result, &keys, &mut out)?;
        }
        GroupFormat::Text => {
            let style = report::OpsStyle {
                zone: TimeZone::system(),
                histogram: args.histogram,
            };
            report::ops_text(&result, &style, &mut out)?;
        }
    }
    out.flush()?;
    if args.format == GroupFormat::Csv {
        for capture in &result.captures {
            tell_damage(capture, args.reading.quiet);
        }
    }
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
