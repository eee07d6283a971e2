//! `slowside compare`: what changed between a baseline and a problem, and what that costs.

use super::noted::Noted;
use super::{check_standard_input, html, inputs, print};
use crate::args::{Compare, CompareFormat, WhichRun};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::compare::result::Outcome;
use analysis::text::{Text, text};
use anyhow::bail;
use jiff::tz::TimeZone;
use report::Anonymise;
use slowside::{Captures, Config, Run};
use std::path::{Path, PathBuf};

pub(crate) fn run(args: &Compare) -> anyhow::Result<Done> {
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
    let page = match format {
        CompareFormat::Html => Some(html::Output::open(output)?),
        _ => None,
    };
    check_standard_input(&[args.baseline.clone(), args.problem.clone()])?;
    let mut notes = Vec::new();
    let as_one = args.reading.as_one;
    let baseline = named(&args.baseline, "baseline", as_one, &mut notes)?;
    let problem = named(&args.problem, "problem", as_one, &mut notes)?;
    // Each has days of its own.
    let mut config = |run: &Run, which: WhichRun| -> anyhow::Result<Config> {
        let noted = Noted::read(
            &of_run(&args.app, which),
            &of_run(&args.server_app, which),
            &of_run(&args.host, which),
            &mut notes,
        )?;
        anyhow::ensure!(
            !noted.is_any() || matches!(run, Run::Captures(_)),
            "--app, --server-app and --host are of captures, and that run was saved: give them to slowside diagnose --save"
        );
        anyhow::ensure!(
            args.reading.calls.filter.is_none() || matches!(run, Run::Captures(_)),
            "--where asks calls of captures, and that run was saved: give it to slowside diagnose --save"
        );
        let captures = match run {
            Run::Captures(captures) => captures.clone(),
            Run::Saved(_) => Captures::One(Vec::new()),
        };
        Ok(Config {
            fast_enough_ns: args.fast_enough,
            app: noted.app,
            server_app: noted.server_app,
            hosts: noted.hosts,
            ..args.reading.config(&captures)?
        })
    };
    let configs = [
        config(&baseline, WhichRun::Baseline)?,
        config(&problem, WhichRun::Problem)?,
    ];
    let mut progress = Progress::new(args.reading.quiet, false);
    let (mut comparison, runs) =
        slowside::compare(&baseline, &problem, &configs, &mut |e| progress.event(e))?;
    drop(progress);
    comparison.notes.extend(notes);
    if let Some(names) = args.reading.anonymiser()? {
        comparison = comparison.anonymised(&names);
    }
    if let Some(page) = page {
        let made = html::made("compare", &args.reading);
        let mut html = Vec::new();
        report::compare_html(&comparison, &made, &TimeZone::system(), &mut html)?;
        page.write(&html, args.reading.quiet)?;
    } else {
        print(|out| match format {
            CompareFormat::Json => report::compare_json(&comparison, out),
            CompareFormat::Markdown => report::compare_markdown(&comparison, out),
            CompareFormat::Text | CompareFormat::Html => report::compare_text(&comparison, out),
        })?;
    }
    let slower = comparison.outcome == Outcome::Slower;
    let ended = comparison.beside.iter().any(|f| f.fatal);
    if args
        .fail_on
        .is_some_and(|limit| ended || (slower && comparison.added_ns >= limit))
    {
        return Ok(Done::Found);
    }
    let captures = runs.iter().flat_map(|r| &r.whole.captures);
    let damaged: Vec<_> = captures.filter(|c| c.damaged).collect();
    if !args.reading.quiet {
        for capture in &damaged {
            let files = capture.files.join(", ");
            complain(&format!(
                "damaged: {files}; slowside info says what and how much"
            ));
        }
    }
    Ok(Done::with_damage(!damaged.is_empty()))
}

/// What was given of one of the runs.
fn of_run<T: Clone>(given: &[(WhichRun, T)], which: WhichRun) -> Vec<T> {
    let of_this = given.iter().filter(|(of, _)| *of == which);
    of_this.map(|(_, file)| file.clone()).collect()
}

/// What an argument names: a file or directory that is there, whatever its name; else captures with a comma between them:
/// two of both ends, unless one continues the other, or the files of a rotated set. `which` run it is.
fn named(
    argument: &Path,
    which: &'static str,
    as_one: bool,
    notes: &mut Vec<Text>,
) -> anyhow::Result<Run> {
    if Run::is_saved(argument) {
        return Ok(Run::Saved(argument.to_owned()));
    }
    let text = argument.to_string_lossy();
    let names: Vec<&str> = text.split(',').filter(|name| !name.is_empty()).collect();
    let files = match (&*names, argument.exists()) {
        ([a, b], false) => {
            let [a, b] = [a, b].map(|name| vec![PathBuf::from(name)]);
            inputs::one(&a, as_one)?;
            inputs::one(&b, as_one)?;
            return Ok(Run::Captures(Captures::Two(a, b)));
        }
        ([_, _, ..], false) => names.into_iter().map(PathBuf::from).collect(),
        _ => vec![argument.to_owned()],
    };
    let (captures, note) = inputs::one_or_both(files, as_one)?;
    notes.extend(note.map(|note| text!("In the {which}, {note}", which = which, note = note)));
    Ok(Run::Captures(captures))
}
