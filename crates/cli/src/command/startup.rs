//! `slowside startup`: what a client waited for while it started.

use super::rows::Rows;
use super::{check_standard_input, inputs, print, tell};
use crate::args::{Startup, TableFormat};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::startup::StartupResult;
use jiff::tz::TimeZone;
use report::Anonymise;
use std::io::Write;

pub(crate) fn run(args: &Startup) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    let captures = inputs::one(&args.captures, args.common.as_one)?;
    let mut order = args.sorted.order(&report::startup_sortable())?;
    if order.by.is_none() && order.top.is_some() {
        // The first of all waits in time are nobody's question.
        order.by = Some("cost".to_owned());
    }
    let config = args
        .common
        .of_calls(args.from, args.to, &args.calls, &captures)?;
    let format = args.format.rows();
    let rows = Rows::open_if(format, &args.output, "slowside.startup/1")?;
    let mut progress = Progress::new(args.common.quiet, false);
    let result = slowside::startup(&args.captures, &config, &args.client, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.common.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let result = StartupResult { order, ..result };
    let zone = TimeZone::system();
    let text = |out: &mut dyn Write| report::startup_text(&result, args.all, &zone, out);
    match rows {
        Some(rows) => rows.all(|to| report::startup_rows(&result, to)),
        None => print(|out| match args.format {
            TableFormat::Json => report::startup_json(&result, out),
            TableFormat::Markdown => report::as_markdown(text, out),
            _ => text(out),
        }),
    }?;
    tell(
        &config,
        &result.captures,
        format.is_some(),
        args.common.quiet,
    );
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
