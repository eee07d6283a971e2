//! `slowside conns`: TCP connections and what they waited for.

use super::{CANNOT_WRITE, inputs, print, tell};
use crate::args::{Conns, ConnsFormat};
use crate::exit::Done;
use crate::out::{self, complain};
use crate::progress::Progress;
use analysis::results::{ConnsResult, SeriesRow};
use anyhow::Context;
use jiff::tz::TimeZone;
use report::{Anonymise, Form, RowWriter, SeriesText};
use slowside::{Captures, Config};
use std::io::{self, Write};

pub(crate) fn run(args: &Conns) -> anyhow::Result<Done> {
    if args.fields {
        print(|out| report::conns_fields(out))?;
        return Ok(Done::Fine);
    }
    anyhow::ensure!(
        args.reading.filter.is_none(),
        "--where compares calls, which conns does not list; leave it out, or use slowside calls"
    );
    let config = args.reading.config()?;
    let (captures, notes) = inputs::captures(&args.inputs)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(note));
    }
    if let Some(width_ns) = args.series {
        return series(args, &captures, &config, width_ns);
    }
    anyhow::ensure!(
        args.format != ConnsFormat::Jsonl,
        "jsonl is for the rows of --series; connections are written with --format json"
    );
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut result = slowside::conns(&captures, &config, &mut |e| progress.event(e))?;
    drop(progress);
    if let Some(names) = args.reading.anonymiser()? {
        result = result.anonymised(&names);
    }
    if let Some(number) = args.connection {
        keep(number, &mut result)?;
    }

    let one = args.connection.and_then(|_| result.connections.get(0));
    let zone = TimeZone::system();
    print(|out| match (args.format, &one) {
        (ConnsFormat::Json | ConnsFormat::Jsonl, _) => report::conns_json(&result, out),
        (ConnsFormat::Csv, _) => report::conns_csv(&result, out),
        (ConnsFormat::Text, Some(one)) => report::conn_text(&result, one, &zone, out),
        (ConnsFormat::Text, None) => report::conns_text(&result, args.all, out),
        (ConnsFormat::Markdown, Some(one)) => {
            report::as_markdown(|out| report::conn_text(&result, one, &zone, out), out)
        }
        (ConnsFormat::Markdown, None) => report::conns_markdown(&result, args.all, out),
    })?;
    let rows = args.format == ConnsFormat::Csv;
    Ok(done(&result, args, &config, rows))
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
            anyhow::bail!("the rows of --series are written with --format csv or jsonl")
        }
        ConnsFormat::Text => anyhow::ensure!(
            args.connection.is_some(),
            "as text --series shows one connection: say which with --connection N, or take \
             --format csv"
        ),
        ConnsFormat::Csv | ConnsFormat::Jsonl => {}
    }
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut out = out::text();
    let mut text = SeriesText::new(TimeZone::system());
    let mut rows = match args.format {
        ConnsFormat::Csv => Some(RowWriter::series(Form::Csv)),
        ConnsFormat::Json | ConnsFormat::Jsonl => Some(RowWriter::series(Form::Jsonl)),
        ConnsFormat::Text | ConnsFormat::Markdown => None,
    };
    // A header without a capture behind it would look like an answer.
    let mut header = rows.as_ref().map(RowWriter::head);
    let mut line = Vec::new();
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;
    let names = args.reading.anonymiser()?;
    let mut hidden: Option<ConnsResult> = None;
    let mut sink = |result: &ConnsResult, row: &SeriesRow<'_>| {
        if args.connection.is_some_and(|n| n != row.connection.number) {
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
        line.clear();
        line.extend(header.take().into_iter().flat_map(String::into_bytes));
        let done = match &mut rows {
            Some(rows) => {
                rows.write(&(result, row), &mut line);
                out.write_all(&line)
            }
            None => text.row(result, row, &mut out),
        };
        done.map_err(|e| {
            let kind = e.kind();
            failed = Some(e);
            io::Error::from(kind)
        })
    };
    let result = slowside::series(captures, config, width_ns, &mut sink, &mut |e| {
        progress.event(e);
    });
    if let Some(e) = failed {
        return Err(e).context(CANNOT_WRITE);
    }
    let result = result?;
    drop(progress);
    if let Some(number) = args.connection {
        let known = result.connections.iter().any(|c| c.number == number);
        anyhow::ensure!(known, none(number, result.connections.len()));
    }
    let header = header.unwrap_or_default();
    let rest = out.write_all(header.as_bytes()).and_then(|()| out.flush());
    rest.context(CANNOT_WRITE)?;
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
