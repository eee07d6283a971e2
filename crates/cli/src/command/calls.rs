//! `slowside calls`: a row per call.

use super::noted::Noted;
use super::rows::Rows;
use super::{inputs, tell};
use crate::args::{Calls, CallsFormat, Order, RowFormat, no_column};
use crate::exit::Done;
use crate::out::{complain, is_terminal};
use crate::progress::Progress;
use anyhow::ensure;
use jiff::tz::TimeZone;
use model::Call;
use pseudonyms::NameKind;
use report::{CallRow, CallsText, Form, RowWriter, TakeRows, TypedColumn};
use slowside::split::Part;
use slowside::{CallSeen, Config, Sorter};
use std::io;

pub(crate) fn run(args: &Calls) -> anyhow::Result<Done> {
    ensure!(
        args.top.is_none() || args.sort != Order::Completion,
        "--top takes the first by time or by start; leave out --sort completion"
    );
    let inputs::Diagnosed {
        captures,
        between,
        mut notes,
        ..
    } = inputs::path(&args.inputs, &args.between, args.reading.as_one)?;
    let noted = Noted::read(&args.app, &args.server_app, &args.host, &mut notes)?;
    let config = Config {
        between,
        app: noted.app,
        server_app: noted.server_app,
        hosts: noted.hosts,
        ..args.reading.config(&captures)?
    };
    let format = format(args)?;
    let mut rows = Rows::open(
        format.unwrap_or(RowFormat::Csv),
        &args.output,
        "slowside.calls/1",
    )?;
    let mut lines = match format {
        Some(_) => Lines::Rows(writer(rows.form(), &args.columns)?),
        None => Lines::Text(CallsText::new(TimeZone::system())),
    };
    let (head, columns) = lines.head();
    rows.begin(head, columns)?;
    let mut progress = Progress::new(args.reading.quiet, args.sort == Order::Completion);
    let sorter = (args.sort != Order::Completion).then(|| Sorter::new("leave out --sort"));
    let first = args.top.and_then(|top| usize::try_from(top).ok());
    let mut sorter = sorter.map(|s| s.first(first.unwrap_or(usize::MAX)));
    let mut row = Vec::new();
    let names = args.reading.anonymiser()?;
    let mut sink = |seen: &CallSeen<'_>| {
        let mut shown = CallRow {
            call: seen.call,
            files: seen.files,
            server_files: seen.server_files,
            judged: seen.judged.as_ref(),
            owners: seen.owners,
            path: seen.path,
            connection: seen.connection,
            unpaired: seen.unpaired,
            order: seen.order,
            hops: &seen.hops,
            beneath: seen.beneath,
            pressures: &seen.pressures,
        };
        row.clear();
        match &names {
            Some(names) => {
                let hide = |files: &[String]| -> Vec<String> {
                    files
                        .iter()
                        .map(|f| names.name(NameKind::File, f))
                        .collect()
                };
                let files = [hide(seen.files), hide(seen.server_files)];
                let mut hops = seen.hops.clone();
                for hop in &mut hops {
                    hop.from = names.name(NameKind::File, &hop.from).into();
                    hop.to = names.name(NameKind::File, &hop.to).into();
                }
                let mut pressures = seen.pressures.clone();
                for p in pressures.iter_mut().filter(|p| !p.device.is_empty()) {
                    p.device = names.name(NameKind::File, &p.device);
                }
                shown.hops = &hops;
                shown.pressures = &pressures;
                let mut call = seen.call.clone();
                names.call(&mut call);
                let path = seen.path.map(|path| names.path(path));
                shown.call = &call;
                shown.path = path.as_deref();
                [shown.files, shown.server_files] = files.each_ref().map(Vec::as_slice);
                lines.write(&shown, &mut row);
            }
            None => lines.write(&shown, &mut row),
        }
        let call = seen.call;
        let done = match &mut sorter {
            Some(sorter) => sorter.push((sorted_by(args.sort, call), call.order), &row),
            None => rows.row(&row),
        };
        rows.kept(done)
    };
    let mut event = |e| progress.event(e);
    slowside::spool(&captures, &mut event)?;
    let result = slowside::calls(&captures, &config, &mut sink, &mut event);
    rows.check()?;
    let read = result?;
    drop(progress);
    rows.all(|rows| {
        if let Some(sorter) = sorter {
            sorter.finish(&mut |_, row| rows.row(row))?;
        }
        match lines.end() {
            "" => Ok(()),
            end => rows.row(end.as_bytes()),
        }
    })?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(&note.to_string()));
    }
    tell(&config, &read, true, args.reading.quiet);
    Ok(Done::with_damage(
        read.iter().any(|c| c.problems.any_damage()),
    ))
}

/// The calls of what shards told ([`slowside::split`]), as they are handed on to those who write rows.
pub(crate) fn judge(
    args: &Calls,
    sink: &mut dyn FnMut(Part) -> io::Result<()>,
) -> anyhow::Result<Done> {
    let (captures, _) = inputs::captures(&args.inputs, true)?;
    let config = args.reading.config(&captures)?;
    let read = slowside::split::judge(&captures, &config, sink, &mut |_| ())?;
    tell(&config, &read, true, args.reading.quiet);
    Ok(Done::with_damage(
        read.iter().any(|c| c.problems.any_damage()),
    ))
}

/// As what rows are written, if not as text: that is for terminals, and where it is asked for.
fn format(args: &Calls) -> anyhow::Result<Option<RowFormat>> {
    let for_people = args.output.output.is_none() && args.columns.is_empty() && is_terminal();
    let format = args.format.unwrap_or(match for_people {
        true => CallsFormat::Text,
        false => CallsFormat::Csv,
    });
    ensure!(
        format != CallsFormat::Text || args.columns.is_empty(),
        "--columns is for csv, jsonl, parquet and arrow; leave out --format text"
    );
    Ok(format.rows())
}

/// How calls are written.
enum Lines {
    Rows(RowWriter<report::Calls>),
    Text(CallsText),
}

impl Lines {
    fn head(&self) -> (String, Vec<TypedColumn>) {
        match self {
            Lines::Rows(writer) => (writer.head(), writer.columns()),
            Lines::Text(text) => (text.head(), Vec::new()),
        }
    }

    fn write(&mut self, call: &CallRow<'_>, out: &mut Vec<u8>) {
        match self {
            Lines::Rows(writer) => writer.write(call, out),
            Lines::Text(text) => text.write(call, out),
        }
    }

    fn end(&self) -> &'static str {
        match self {
            Lines::Rows(_) => "",
            Lines::Text(text) => text.end(),
        }
    }
}

fn writer(form: Form, names: &[String]) -> anyhow::Result<RowWriter<report::Calls>> {
    let all = RowWriter::calls(form);
    if names.is_empty() {
        return Ok(all);
    }
    let known: Vec<String> = all.columns().into_iter().map(|c| c.name).collect();
    all.only(names).map_err(|name| no_column(&name, &known))
}

/// What is not known comes last.
fn sorted_by(order: Order, call: &Call) -> i64 {
    match order {
        Order::Completion => 0,
        Order::Start => {
            let start = call.request_first.or(call.response_first);
            start.map_or(i64::MAX, |m| m.time.0)
        }
        Order::Time => call.response_time_ns().map_or(i64::MAX, |ns| -ns),
    }
}
