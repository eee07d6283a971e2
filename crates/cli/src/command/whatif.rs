//! `slowside whatif`: what would change if the path, the fetch size or the server were different.

use super::{inputs, print, tell};
use crate::args::{AnswerFormat, Start, WhatIf};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::sql::SqlKey;
use analysis::whatif::{Change, fit, replay};
use report::Anonymise;

pub(crate) fn run(args: &WhatIf) -> anyhow::Result<Done> {
    let from = match &args.from {
        Some(Start::Pairs(points)) => {
            let fitted = fit(points);
            print(|out| match args.format {
                AnswerFormat::Json => report::fit_json(points, fitted.as_ref(), args.rtt, out),
                AnswerFormat::Text => report::fit_text(points, fitted.as_ref(), args.rtt, out),
                AnswerFormat::Markdown => report::as_markdown(
                    |out| report::fit_text(points, fitted.as_ref(), args.rtt, out),
                    out,
                ),
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
    let config = args.common.config(from, args.to, &captures)?;
    if !args.common.quiet {
        notes.iter().for_each(|note| complain(&note.to_string()));
    }
    let mut progress = Progress::new(args.common.quiet, false);
    let keys = [SqlKey::Statement];
    let profile = slowside::sql(&captures, &config, &keys, None, &mut |e| progress.event(e))?;
    drop(progress);
    let profile = match args.common.anonymiser()? {
        Some(names) => profile.anonymised(&names),
        None => profile,
    };
    let result = replay(&profile, change);
    print(|out| match args.format {
        AnswerFormat::Json => report::whatif_json(&result, out),
        AnswerFormat::Text => report::whatif_text(&result, out),
        AnswerFormat::Markdown => report::whatif_markdown(&result, out),
    })?;
    tell(&config, &profile.captures, false, args.common.quiet);
    let damaged = profile.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
