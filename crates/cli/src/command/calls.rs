//! `slowside calls`: a row per call.

use super::{CANNOT_WRITE, inputs, tell};
use crate::args::{Calls, Order, RowFormat};
use crate::exit::Done;
use crate::out::{self, complain};
use crate::progress::Progress;
use anyhow::Context;

use pseudonyms::NameKind;
use report::{CallRow, Form, RowWriter};
use slowside::{CallSeen, Sorter};
use std::io::{self, Write};

pub(crate) fn run(args: &Calls) -> anyhow::Result<Done> {
    let (captures, notes) = inputs::captures(&args.inputs)?;
    let config = args.reading.config()?;
    let mut progress = Progress::new(args.reading.quiet, args.sort == Order::Completion);
    let mut out = out::text();
    let mut writer = RowWriter::calls(match args.format {
        RowFormat::Csv => Form::Csv,
        RowFormat::Jsonl => Form::Jsonl,
    });
    let mut sorter = (args.sort == Order::Start).then(|| Sorter::new("leave out --sort"));
    let mut row = Vec::new();
    // A header without a capture behind it would look like an answer.
    let mut header = Some(writer.head());
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;

    let names = args.reading.anonymiser()?;
    let mut sink = |seen: &CallSeen<'_>| {
        let mut shown = CallRow {
            call: seen.call,
            files: seen.files,
            server_files: seen.server_files,
            judged: seen.judged.as_ref(),
            path: None,
        };
        row.clear();
        let path = seen.names.path_of(seen.call);
        shown.path = path.as_deref();
        match &names {
            Some(names) => {
                let hide = |files: &[String]| -> Vec<String> {
                    files
                        .iter()
                        .map(|f| names.name(NameKind::File, f))
                        .collect()
                };
                let files = [hide(seen.files), hide(seen.server_files)];
                let mut call = seen.call.clone();
                names.call(&mut call);
                let path = path.as_ref().map(|path| names.path(path));
                shown.call = &call;
                shown.path = path.as_deref();
                [shown.files, shown.server_files] = files.each_ref().map(Vec::as_slice);
                writer.write(&shown, &mut row);
            }
            None => writer.write(&shown, &mut row),
        }
        let call = seen.call;
        let done = match &mut sorter {
            Some(sorter) => {
                let start = call.request_first.or(call.response_first);
                let time = start.map_or(i64::MAX, |m| m.time.0);
                sorter.push((time, call.order), &row)
            }
            None => header
                .take()
                .map_or(Ok(()), |h| out.write_all(h.as_bytes()))
                .and_then(|()| out.write_all(&row)),
        };
        done.map_err(|e| {
            let kind = e.kind();
            failed = Some(e);
            io::Error::from(kind)
        })
    };
    let mut event = |e| progress.event(e);
    slowside::spool(&captures, &mut event)?;
    let result = slowside::calls(&captures, &config, &mut sink, &mut event);
    if let Some(e) = failed {
        return Err(e).context(CANNOT_WRITE);
    }
    let read = result?;
    drop(progress);
    let rest = || -> io::Result<()> {
        if let Some(header) = header {
            out.write_all(header.as_bytes())?;
        }
        if let Some(sorter) = sorter {
            sorter.finish(&mut |_, row| out.write_all(row))?;
        }
        out.flush()
    };
    rest().context(CANNOT_WRITE)?;
    if !args.reading.quiet {
        notes.iter().for_each(|note| complain(note));
    }
    tell(&config, &read, true, args.reading.quiet);
    Ok(Done::with_damage(
        read.iter().any(|c| c.problems.any_damage()),
    ))
}
