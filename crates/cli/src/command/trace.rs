//! `slowside trace`: where the time went in traces of a database.

use super::rows::Rows;
use super::{check_standard_input, print};
use crate::args::{GroupFormat, Output, ProfileBy, RowFormat, Trace};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::results::Order;
use report::{Anonymise, TraceBy, TraceStyle};
use std::io::Write;

pub(crate) fn run(args: &Trace) -> anyhow::Result<Done> {
    check_standard_input(&args.files)?;
    let by = args.by.map(|by| match by {
        ProfileBy::Statement => TraceBy::Statement,
        ProfileBy::Event => TraceBy::Event,
    });
    let style = TraceStyle {
        by,
        order: args.sorted.order(&report::trace_sortable(by))?,
        show_literals: args.show_literals,
        all: args.all,
    };
    anyhow::ensure!(
        !args.packets || style.order == Order::default(),
        "packets are listed in their order; leave out --sort and --top"
    );
    let mut progress = Progress::new(args.quiet, false);
    let result = slowside::trace(&args.files, args.packets, &mut |e| progress.event(e))?;
    drop(progress);
    let result = match args.names.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let text = |out: &mut dyn Write| match args.packets {
        true => report::trace_packets_text(&result, args.show_literals, out),
        false => report::trace_text(&result, &style, out),
    };
    print(|out| match args.format {
        GroupFormat::Json => report::trace_json(&result, &style, out),
        // Its rows stand in columns, as those of a capture do.
        GroupFormat::Csv if args.packets => Ok(()),
        GroupFormat::Csv => report::trace_csv(&result, &style, out),
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
