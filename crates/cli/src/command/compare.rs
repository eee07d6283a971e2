//! `slowside compare`: what changed between a baseline and a problem, and what that costs.

use super::{check_standard_input, print};
use crate::args::{AnswerFormat, Compare};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::compare::result::Outcome;
use slowside::{Captures, Config, Run};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Compare) -> anyhow::Result<Done> {
    let config = Config {
        fast_enough_ns: args.fast_enough,
        ..args.reading.config()?
    };
    check_standard_input(&[args.baseline.clone(), args.problem.clone()])?;
    let (baseline, problem) = (named(&args.baseline), named(&args.problem));
    let mut progress = Progress::new(args.reading.quiet, false);
    let (comparison, runs) =
        slowside::compare(&baseline, &problem, &config, &mut |e| progress.event(e))?;
    drop(progress);
    print(|out| match args.format {
        AnswerFormat::Json => report::compare_json(&comparison, out),
        AnswerFormat::Text => report::compare_text(&comparison, out),
    })?;
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
