//! `slowside trace`: where the time went in traces of a database.

use super::{check_standard_input, print};
use crate::args::{GroupFormat, ProfileBy, Trace};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use report::{Anonymise, TraceBy, TraceStyle};

pub(crate) fn run(args: &Trace) -> anyhow::Result<Done> {
    check_standard_input(&args.files)?;
    let mut progress = Progress::new(args.quiet, false);
    let result = slowside::trace(&args.files, &mut |e| progress.event(e))?;
    drop(progress);
    let result = match args.names.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let by = args.by.map(|by| match by {
        ProfileBy::Statement => TraceBy::Statement,
        ProfileBy::Event => TraceBy::Event,
    });
    let style = TraceStyle {
        by,
        show_literals: args.show_literals,
        all: args.all,
    };
    print(|out| match args.format {
        GroupFormat::Json => report::trace_json(&result, args.show_literals, out),
        GroupFormat::Csv => {
            let by = by.unwrap_or(TraceBy::Statement);
            report::trace_csv(&result, by, args.show_literals, out)
        }
        GroupFormat::Text => report::trace_text(&result, &style, out),
        GroupFormat::Markdown => {
            report::as_markdown(|out| report::trace_text(&result, &style, out), out)
        }
    })?;
    if args.format == GroupFormat::Csv && !args.quiet {
        for (kind, p) in result.problems.iter().filter(|(_, p)| p.damage) {
            complain(&format!(
                "damaged: {kind}, {}: {} ({})",
                p.count, p.example, p.first
            ));
        }
    }
    Ok(Done::with_damage(result.problems.any_damage()))
}
