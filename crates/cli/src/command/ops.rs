//! `slowside ops`: calls in groups.

use super::{check_standard_input, inputs, print, tell};
use crate::args::{GroupFormat, Ops};
use crate::exit::Done;
use crate::progress::Progress;
use jiff::tz::TimeZone;
use report::Anonymise;

pub(crate) fn run(args: &Ops) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    inputs::one(&args.captures)?;
    let config = args.reading.config()?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let result = slowside::ops(&args.captures, &config, &args.by, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };

    let style = report::OpsStyle {
        zone: TimeZone::system(),
        histogram: args.histogram,
    };
    print(|out| match args.format {
        GroupFormat::Json => report::ops_json(&result, out),
        GroupFormat::Csv => {
            let keys: Vec<&str> = args.by.iter().map(|k| k.name()).collect();
            report::ops_csv(&result, &keys, out)
        }
        GroupFormat::Text => report::ops_text(&result, &style, out),
        GroupFormat::Markdown => report::ops_markdown(&result, &style, out),
    })?;
    let rows = args.format == GroupFormat::Csv;
    tell(&config, &result.captures, rows, args.reading.quiet);
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
