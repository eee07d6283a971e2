//! `slowside info`: what a capture is worth.

use super::{print, source, tell};
use crate::args::{AnswerFormat, Info};
use crate::exit::Done;
use crate::progress::Progress;
use jiff::tz::TimeZone;
use report::Anonymise;
use slowside::Captures;

pub(crate) fn run(args: &Info) -> anyhow::Result<Done> {
    let captures = Captures::One(args.captures.clone());
    let config = args.reading.config(&captures)?;
    let source = source(&args.captures, args.reading.as_one, &args.from_interface)?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let result = slowside::info(source, &config, &mut |e| progress.event(e))?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let zone = TimeZone::system();
    print(|out| match args.format {
        AnswerFormat::Text => report::info_text(&result, &zone, out),
        AnswerFormat::Json => report::info_json(&result, out),
        AnswerFormat::Markdown => report::info_markdown(&result, &zone, out),
    })?;
    tell(&config, &result.captures, false, args.reading.quiet);
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
