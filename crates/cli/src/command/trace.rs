//! `slowside trace`: where the time went in traces of a database.

use super::rows::Rows;
use super::{check_standard_input, print};
use crate::args::{GroupFormat, Output, ProfileBy, RowFormat, Trace};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use report::{Anonymise, TraceBy, TraceStyle};
use std::io::Write;

pub(crate) fn run(args: &Trace) -> anyhow::Result<Done> {
    check_standard_input(&args.files)?;
    let mut progress = Progress::new(args.quiet, false);
    let result = slowside::trace(&args.files, args.packets, &mut |e| progress.event(e))?;
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
    let text = |out: &mut dyn Write| match args.packets {
        true => report::trace_packets_text(&result, args.show_literals, out),
        false => report::trace_text(&result, &style, out),
    };
    print(|out| match args.format {
        GroupFormat::Json => report::trace_json(&result, args.show_literals, out),
        // Its rows stand in columns, as those of a capture do.
        GroupFormat::Csv if args.packets => Ok(()),
        GroupFormat::Csv => {
            let by = by.unwrap_or(TraceBy::Statement);
            report::trace_csv(&result, by, args.show_literals, out)
        }
        GroupFormat::Text => text(out),
        GroupFormat::Markdown => report::as_markdown(text, out),
    })?;
    if args.packets && args.format == GroupFormat::Csv {
        let to = Output { output: None };
        let rows = Rows::open(RowFormat::Csv, &to, "slowside.packets/1")?;
        rows.all(|to| report::trace_packets_rows(&result, to))?;
    }
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
