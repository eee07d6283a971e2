//! `slowside conns`: TCP connections and what they waited for.

use super::rows::{Rows, RowsOf};
use super::{CANNOT_WRITE, inputs, print, tell};
use crate::args::{Conns, ConnsFormat};
use crate::exit::Done;
use crate::out::{self, complain};
use crate::progress::Progress;
use analysis::results::{ConnsResult, Order, SeriesRow};
use anyhow::Context;
use jiff::tz::TimeZone;
use report::{Anonymise, ConnFilter, RowWriter, SeriesText};
use slowside::{Captures, Config};
use std::io::{self, Write};

pub(crate) fn run(args: &Conns) -> anyhow::Result<Done> {
    if args.fields {
        print(|out| report::conns_fields(out))?;
        return Ok(Done::Fine);
    }
    anyhow::ensure!(
        args.filter.is_none() || args.connection.is_none(),
        "--connection shows one, whatever it is like; leave out --where"
    );
    let order = args.sorted.order(&report::conns_sortable())?;
    anyhow::ensure!(
        order == Order::default() || (args.series.is_none() && args.connection.is_none()),
        "--sort and --top are for the list of connections; leave them out, or --series and --connection"
    );
    let (captures, notes) = inputs::captures(&args.inputs, args.reading.as_one)?;
    let config = args.reading.config(&captures)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(&note.to_string()));
    }
    if let Some(width_ns) = args.series {
        return series(args, &captures, &config, width_ns);
    }
    let rows = Rows::open_if(args.format.rows(), &args.output, "slowside.conns/1")?;
    anyhow::ensure!(
        args.format != ConnsFormat::Jsonl,
        "jsonl is for the rows of --series; connections are written with --format json"
    );
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut result = slowside::conns(&captures, &config, &mut |e| progress.event(e))?;
    drop(progress);
    if let Some(filter) = &args.filter {
        asked_for(filter, &mut result);
    }
    if let Some(names) = args.reading.anonymiser()? {
        result = result.anonymised(&names);
    }
    result.order = order;
    let mut result = report::conns_sorted(result);
    if let Some(number) = args.connection {
        keep(number, &mut result)?;
    }

    let one = args.connection.and_then(|_| result.connections.get(0));
    let zone = TimeZone::system();
    let only_rows = rows.is_some();
    match rows {
        Some(rows) => rows.all(|to| report::conns_rows(&result, to)),
        None => print(|out| match (args.format, &one) {
            (ConnsFormat::Json, _) => report::conns_json(&result, out),
            (ConnsFormat::Markdown, Some(one)) => {
                report::as_markdown(|out| report::conn_text(&result, one, &zone, out), out)
            }
            (ConnsFormat::Markdown, None) => report::conns_markdown(&result, args.all, out),
            (_, Some(one)) => report::conn_text(&result, one, &zone, out),
            (_, None) => report::conns_text(&result, args.all, out),
        }),
    }?;
    Ok(done(&result, args, &config, only_rows))
}

/// Leaves the connections that are asked for.
fn asked_for(filter: &ConnFilter, result: &mut ConnsResult) {
    let mut connections = std::mem::take(&mut result.connections);
    let all = connections.len();
    connections.retain(|c| filter.matches(result, c));
    result.not_asked = (all - connections.len()) as u64;
    result.connections = connections;
}

/// What connections did over time.
fn series(
    args: &Conns,
    captures: &Captures,
    config: &Config,
    width_ns: i64,
) -> anyhow::Result<Done> {
    match args.format {
        ConnsFormat::Json | ConnsFormat::Markdown => {
            anyhow::bail!(
                "the rows of --series are written with --format csv, jsonl, parquet or arrow"
            )
        }
        ConnsFormat::Text => anyhow::ensure!(
            args.connection.is_some(),
            "as text --series shows one connection: say which with --connection N, or take \
             --format csv"
        ),
        _ => {}
    }
    let rows = Rows::open_if(args.format.rows(), &args.output, "slowside.series/1")?;
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut out = out::text();
    let mut text = SeriesText::new(TimeZone::system());
    let begun = rows.map(|rows| RowsOf::begin(rows, RowWriter::series));
    let mut rows = begun.transpose()?;
    let mut failed = None;
    let names = args.reading.anonymiser()?;
    let mut hidden: Option<ConnsResult> = None;
    let mut sink = |result: &ConnsResult, row: &SeriesRow<'_>| {
        let is_other = args.connection.is_some_and(|n| n != row.connection.number);
        let filter = args.filter.as_ref();
        if is_other || filter.is_some_and(|f| !f.matches(result, row.connection)) {
            return Ok(());
        }
        let pseudonym = names.as_ref().map(|n| row.connection.clone().anonymised(n));
        let row = &SeriesRow {
            connection: pseudonym.as_ref().unwrap_or(row.connection),
            ..*row
        };
        let result = match &names {
            Some(names) => &*hidden.get_or_insert_with(|| ConnsResult {
                captures: result.captures.clone().anonymised(names),
                ..ConnsResult::default()
            }),
            None => result,
        };
        match &mut rows {
            Some(rows) => rows.write(&(result, row)),
            None => text.row(result, row, &mut out).map_err(|e| {
                let kind = e.kind();
                failed = Some(e);
                io::Error::from(kind)
            }),
        }
    };
    let result = slowside::series(captures, config, width_ns, &mut sink, &mut |e| {
        progress.event(e);
    });
    if let Some(e) = failed {
        return Err(e).context(CANNOT_WRITE);
    }
    if let Some(rows) = &mut rows {
        rows.check()?;
    }
    let result = result?;
    drop(progress);
    if let Some(number) = args.connection {
        let known = result.connections.iter().any(|c| c.number == number);
        anyhow::ensure!(known, none(number, result.connections.len()));
    }
    match rows {
        Some(rows) => rows.finish()?,
        None => out.flush().context(CANNOT_WRITE)?,
    }
    Ok(done(&result, args, config, true))
}

/// How it went; rows alone do not say what was damaged.
fn done(result: &ConnsResult, args: &Conns, config: &Config, only_rows: bool) -> Done {
    tell(config, &result.captures, only_rows, args.reading.quiet);
    Done::with_damage(result.captures.iter().any(|c| c.problems.any_damage()))
}

/// Leaves only the connection of that number.
fn keep(number: u64, result: &mut ConnsResult) -> anyhow::Result<()> {
    let known = result.connections.len();
    result.connections.retain(|c| c.number == number);
    result.left_out = 0;
    anyhow::ensure!(!result.connections.is_empty(), none(number, known));
    Ok(())
}

fn none(number: u64, known: usize) -> String {
    format!(
        "there is no connection {number} among the {known} listed; slowside conns --all shows \
         their numbers"
    )
}
