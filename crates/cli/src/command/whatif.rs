//! `slowside whatif`: what would change if the path, the fetch size or the server were different.

use super::rows::Rows;
use super::{inputs, print, tell};
use crate::args::{Start, TableFormat, WhatIf};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::results::Order;
use analysis::sql::SqlKey;
use analysis::whatif::{Change, fit, replay};
use anyhow::ensure;
use report::Anonymise;
use std::io::Write;

pub(crate) fn run(args: &WhatIf) -> anyhow::Result<Done> {
    let order = args.sorted.order(&report::whatif_sortable())?;
    let from = match &args.from {
        Some(Start::Pairs(points)) => {
            ensure!(
                args.format.rows().is_none() && order == Order::default(),
                "throughputs have no statements to list; leave out --sort and --top, and --format but \
                 for text, markdown, json"
            );
            let fitted = fit(points);
            let text =
                |out: &mut dyn Write| report::fit_text(points, fitted.as_ref(), args.rtt, out);
            print(|out| match args.format {
                TableFormat::Json => report::fit_json(points, fitted.as_ref(), args.rtt, out),
                TableFormat::Markdown => report::as_markdown(text, out),
                _ => text(out),
            })?;
            return Ok(Done::Fine);
        }
        Some(Start::At(moment)) => Some(*moment),
        None => None,
    };
    let change = Change {
        rtt_ns: args.rtt,
        fetch_size: args.fetch_size,
        rows: args.rows,
        sdu_bytes: args.sdu,
        bandwidth_bps: args.bandwidth,
        server_factor: args.server_factor,
    };
    let (captures, notes) = inputs::captures(&args.inputs, args.common.as_one)?;
    let config = args
        .common
        .of_calls(from, args.to, &args.calls, &captures)?;
    if !args.common.quiet {
        notes.iter().for_each(|note| complain(&note.to_string()));
    }
    let format = args.format.rows();
    let rows = Rows::open_if(format, &args.output, "slowside.whatif/1")?;
    let mut progress = Progress::new(args.common.quiet, false);
    let keys = [SqlKey::Statement];
    let profile = slowside::sql(&captures, &config, &keys, None, &mut |e| progress.event(e))?;
    drop(progress);
    let profile = match args.common.anonymiser()? {
        Some(names) => profile.anonymised(&names),
        None => profile,
    };
    let result = analysis::whatif::WhatIf {
        order,
        ..replay(&profile, change)
    };
    match rows {
        Some(rows) => rows.all(|to| report::whatif_rows(&result, to)),
        None => print(|out| match args.format {
            TableFormat::Json => report::whatif_json(&result, out),
            TableFormat::Markdown => report::whatif_markdown(&result, out),
            _ => report::whatif_text(&result, out),
        }),
    }?;
    tell(
        &config,
        &profile.captures,
        format.is_some(),
        args.common.quiet,
    );
    let damaged = profile.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
