//! `slowside compare`: what changed between a baseline and a problem, and what that costs.

use super::{check_standard_input, html, print};
use crate::args::{Compare, CompareFormat};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::compare::result::Outcome;
use anyhow::bail;
use jiff::tz::TimeZone;
use report::Anonymise;
use slowside::{Captures, Config, Run};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Compare) -> anyhow::Result<Done> {
    let config = Config {
        fast_enough_ns: args.fast_enough,
        ..args.reading.config()?
    };
    let format = match (args.format, &args.output) {
        (Some(CompareFormat::Text | CompareFormat::Json | CompareFormat::Markdown), Some(_)) => {
            bail!("-o is for the page of HTML; leave --format away, or send the answer on with >")
        }
        (Some(format), _) => format,
        (None, Some(_)) => CompareFormat::Html,
        (None, None) => CompareFormat::Text,
    };
    let output = args.output.as_deref();
    let output = output.unwrap_or(Path::new(html::STANDARD_OUTPUT));
    if format == CompareFormat::Html {
        html::check(output)?;
    }
    check_standard_input(&[args.baseline.clone(), args.problem.clone()])?;
    let (baseline, problem) = (named(&args.baseline), named(&args.problem));
    let mut progress = Progress::new(args.reading.quiet, false);
    let (mut comparison, runs) =
        slowside::compare(&baseline, &problem, &config, &mut |e| progress.event(e))?;
    drop(progress);
    if let Some(names) = args.reading.anonymiser()? {
        comparison = comparison.anonymised(&names);
    }
    match format {
        CompareFormat::Text => print(|out| report::compare_text(&comparison, out))?,
        CompareFormat::Json => print(|out| report::compare_json(&comparison, out))?,
        CompareFormat::Markdown => {
            print(|out| report::as_markdown(|out| report::compare_text(&comparison, out), out))?
        }
        CompareFormat::Html => {
            let made = html::made("compare", &args.reading);
            let mut page = Vec::new();
            report::compare_html(&comparison, &made, &TimeZone::system(), &mut page)?;
            html::write(&page, output, args.reading.quiet)?;
        }
    }
    let slower = comparison.outcome == Outcome::Slower;
    if args
        .fail_on
        .is_some_and(|limit| slower && comparison.added_ns >= limit)
    {
        return Ok(Done::Found);
    }
    let damaged = runs.iter().flat_map(|r| &r.captures).any(|c| c.damaged);
    Ok(Done::with_damage(damaged))
}

/// What an argument names: a file that is there, whatever its name; else two captures with a comma
/// between them.
fn named(argument: &Path) -> Run {
    if Run::is_saved(argument) {
        return Run::Saved(argument.to_owned());
    }
    let one = || Run::Captures(Captures::One(vec![argument.to_owned()]));
    if argument.exists() {
        return one();
    }
    let text = argument.to_string_lossy();
    match text.split_once(',') {
        Some((a, b)) if !a.is_empty() && !b.is_empty() => {
            let [a, b] = [a, b].map(|name| vec![PathBuf::from(name)]);
            Run::Captures(Captures::Two(a, b))
        }
        _ => one(),
    }
}
