//! `slowside startup`: what a client waited for while it started.

use super::{check_standard_input, inputs, print, tell};
use crate::args::{AnswerFormat, Startup};
use crate::exit::Done;
use crate::progress::Progress;
use jiff::tz::TimeZone;
use report::Anonymise;
use std::io::Write;

pub(crate) fn run(args: &Startup) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    let captures = inputs::one(&args.captures, args.common.as_one)?;
    let config = args.common.config(args.from, args.to, &captures)?;
    let mut progress = Progress::new(args.common.quiet, false);
    let result = slowside::startup(&args.captures, &config, &args.client, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.common.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let zone = TimeZone::system();
    let text = |out: &mut dyn Write| report::startup_text(&result, args.all, &zone, out);
    print(|out| match args.format {
        AnswerFormat::Json => report::startup_json(&result, out),
        AnswerFormat::Text => text(out),
        AnswerFormat::Markdown => report::as_markdown(text, out),
    })?;
    tell(&config, &result.captures, false, args.common.quiet);
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
