//! `slowside ops`: calls in groups.

use super::rows::Rows;
use super::{check_standard_input, inputs, print, tell};
use crate::args::{Ops, OpsFormat, labels};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::results::{OpsResult, Order};
use jiff::tz::TimeZone;
use report::Anonymise;
use slowside::Config;

pub(crate) fn run(args: &Ops) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    let captures = inputs::one(&args.captures, args.reading.as_one)?;
    let keys: Vec<&str> = args.by.iter().map(|k| k.name()).collect();
    let order = args.sorted.order(&report::ops_sortable(&keys))?;
    let config = args.reading.config(&captures)?;
    let format = args.format.rows();
    let rows = Rows::open_if(format, &args.output, "slowside.ops/1")?;
    if args.format == OpsFormat::Openmetrics {
        anyhow::ensure!(
            order == Order::default(),
            "metrics are all of them, in no order; leave out --sort and --top"
        );
        return metrics(args, &config);
    }
    let mut progress = Progress::new(args.reading.quiet, false);
    let result = slowside::ops(&args.captures, &config, &args.by, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let result = OpsResult { order, ..result };

    let style = report::OpsStyle {
        zone: TimeZone::system(),
        histogram: args.histogram,
    };
    match rows {
        Some(rows) => rows.all(|to| report::ops_rows(&result, &keys, to)),
        None => print(|out| match args.format {
            OpsFormat::Json => report::ops_json(&result, out),
            OpsFormat::Markdown => report::ops_markdown(&result, &style, out),
            _ => report::ops_text(&result, &style, out),
        }),
    }?;
    tell(
        &config,
        &result.captures,
        format.is_some(),
        args.reading.quiet,
    );
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

fn metrics(args: &Ops, config: &Config) -> anyhow::Result<Done> {
    let keys = labels(&args.by)?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let (result, capture) = slowside::metrics(&args.captures, config, &keys, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    print(|out| report::openmetrics(result, out))?;
    let damaged = capture.problems.any_damage();
    tell(config, &[capture], true, args.reading.quiet);
    Ok(Done::with_damage(damaged))
}
