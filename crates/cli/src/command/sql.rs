//! `slowside sql`: statements and what they cost.

use super::rows::Rows;
use super::{inputs, print, tell};
use crate::args::{Sql, TableFormat};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::sql::{OneSession, SqlKey};
use report::Anonymise;

pub(crate) fn run(args: &Sql) -> anyhow::Result<Done> {
    let (captures, notes) = inputs::captures(&args.inputs, args.reading.as_one)?;
    let config = args.reading.config(&captures)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(note));
    }
    let format = args.format.rows();
    let schema = match args.follow {
        true => "slowside.followed/1",
        false => "slowside.sql/1",
    };
    let rows = Rows::open_if(format, &args.output, schema)?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let only = args.session.map(|number| OneSession {
        number,
        follow: args.follow,
    });
    let result = slowside::sql(&captures, &config, &args.by, only, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };

    let style = report::SqlStyle {
        all: args.all,
        literals: args.show_literals,
    };
    match rows {
        Some(rows) if args.follow => rows.all(|to| report::followed_rows(&result, to)),
        Some(rows) => {
            let keys = args.by.iter().filter(|k| **k != SqlKey::Statement);
            let keys: Vec<&str> = keys.map(|k| k.name()).collect();
            rows.all(|to| report::sql_rows(&result, &keys, args.show_literals, to))
        }
        None => print(|out| match args.format {
            TableFormat::Json => report::sql_json(&result, args.show_literals, out),
            TableFormat::Markdown if args.follow => report::as_markdown(
                |out| report::followed_text(&result, args.show_literals, out),
                out,
            ),
            _ if args.follow => report::followed_text(&result, args.show_literals, out),
            TableFormat::Markdown => report::sql_markdown(&result, style, out),
            _ => report::sql_text(&result, style, out),
        }),
    }?;
    tell(
        &config,
        &result.captures,
        format.is_some(),
        args.reading.quiet,
    );
    let damaged = result.captures.iter().any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}
