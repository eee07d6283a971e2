//! `slowside sql`: statements and what they cost.

use super::rows::Rows;
use super::{inputs, print, tell};
use crate::args::{Sql, TableFormat};
use crate::exit::Done;
use crate::out::complain;
use crate::progress::Progress;
use analysis::sql::{OneSession, SqlKey, SqlResult};
use report::Anonymise;

pub(crate) fn run(args: &Sql) -> anyhow::Result<Done> {
    let (captures, notes) = inputs::captures(&args.inputs, args.reading.as_one)?;
    let keys = args.by.iter().filter(|k| **k != SqlKey::Statement);
    let keys: Vec<&str> = keys.map(|k| k.name()).collect();
    let order = args.sorted.order(&report::sql_sortable(&keys))?;
    let config = args.reading.config(&captures)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(&note.to_string()));
    }
    let format = args.format.rows();
    let schema = match (args.follow, args.packets) {
        (true, _) => "slowside.followed/1",
        (_, true) => "slowside.packets/1",
        _ => "slowside.sql/1",
    };
    let rows = Rows::open_if(format, &args.output, schema)?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let only = args.session.map(|number| OneSession {
        number,
        follow: args.follow,
        packets: args.packets,
    });
    if args.packets {
        // For them it is read twice.
        slowside::spool(&captures, &mut |e| progress.event(e))?;
    }
    let result = slowside::sql(&captures, &config, &args.by, only, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    let result = match args.reading.anonymiser()? {
        Some(names) => result.anonymised(&names),
        None => result,
    };
    let result = SqlResult { order, ..result };

    let style = report::SqlStyle {
        all: args.all,
        literals: args.show_literals,
    };
    let text = |out: &mut dyn std::io::Write| match (args.follow, args.packets) {
        (true, _) => report::followed_text(&result, args.show_literals, out),
        (_, true) => report::session_packets_text(&result, args.show_literals, out),
        _ => report::sql_text(&result, style, out),
    };
    match rows {
        Some(rows) if args.packets => rows.all(|to| report::session_packets_rows(&result, to)),
        Some(rows) if args.follow => rows.all(|to| report::followed_rows(&result, to)),
        Some(rows) => rows.all(|to| report::sql_rows(&result, &keys, args.show_literals, to)),
        None => print(|out| match args.format {
            TableFormat::Json => report::sql_json(&result, args.show_literals, out),
            TableFormat::Markdown if args.follow || args.packets => report::as_markdown(text, out),
            TableFormat::Markdown => report::sql_markdown(&result, style, out),
            _ => text(out),
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
