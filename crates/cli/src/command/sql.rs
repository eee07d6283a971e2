//! `slowside sql`: statements and what they cost.

use super::{inputs, print, tell};
use crate::args::{GroupFormat, Sql};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::sql::SqlKey;
use report::Anonymise;

pub(crate) fn run(args: &Sql) -> anyhow::Result<Done> {
    let config = args.reading.config()?;
    let (captures, notes) = inputs::captures(&args.inputs)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(note));
    }
    let mut progress = Progress::new(args.reading.quiet, false);
    let result = slowside::sql(&captures, &config, &args.by, &mut |e| progress.event(e))?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };

    let style = report::SqlStyle {
        all: args.all,
        literals: args.show_literals,
    };
    print(|out| match args.format {
        GroupFormat::Json => report::sql_json(&result, args.show_literals, out),
        GroupFormat::Csv => {
            let keys = args.by.iter().filter(|k| **k != SqlKey::Statement);
            let keys: Vec<&str> = keys.map(|k| k.name()).collect();
            report::sql_csv(&result, &keys, args.show_literals, out)
        }
        GroupFormat::Text => report::sql_text(&result, style, out),
        GroupFormat::Markdown => report::sql_markdown(&result, style, out),
    })?;
    let rows = args.format == GroupFormat::Csv;
    tell(&config, &result.captures, rows, args.reading.quiet);
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
