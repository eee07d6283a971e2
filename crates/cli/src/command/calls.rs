//! `slowside calls`: a row per call.

use super::{CANNOT_WRITE, check_standard_input, inputs, tell};
use crate::args::{Calls, Order, RowFormat};
use crate::exit::Done;
use crate::progress::Progress;
use analysis::file_names::FileNames;
use anyhow::Context;
use model::{Call, NameKind};
use report::CallWriter;
use slowside::Sorter;
use std::io::{self, BufWriter, Write};

pub(crate) fn run(args: &Calls) -> anyhow::Result<Done> {
    check_standard_input(&args.captures)?;
    inputs::one(&args.captures)?;
    let config = args.reading.config()?;
    let mut progress = Progress::new(args.reading.quiet, args.sort == Order::Completion);
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut writer = match args.format {
        RowFormat::Csv => CallWriter::csv(),
        RowFormat::Jsonl => CallWriter::jsonl(),
    };
    let mut sorter = (args.sort == Order::Start).then(|| Sorter::new("leave out --sort"));
    let mut row = Vec::new();
    // A header without a capture behind it would look like an answer.
    let mut header = (args.format == RowFormat::Csv).then_some(report::CALLS_CSV_HEADER);
    // The engine may only say in words that the sink failed; what failed decides the exit code.
    let mut failed = None;

    let names = args.reading.anonymiser()?;
    let mut file_names = Vec::new();
    let mut sink = |call: &Call, paths: &FileNames, files: &[String]| {
        row.clear();
        let path = paths.path_of(call);
        match &names {
            Some(names) => {
                if file_names.is_empty() {
                    file_names.extend(files.iter().map(|f| names.name(NameKind::File, f)));
                }
                let mut call = call.clone();
                names.call(&mut call);
                let path = path.map(|path| names.path(&path));
                writer.write(&call, path.as_deref(), &file_names, &mut row);
            }
            None => writer.write(call, path.as_deref(), files, &mut row),
        }
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
    let result = slowside::named_calls(&args.captures, &config, &mut sink, &mut |e| {
        progress.event(e);
    });
    if let Some(e) = failed {
        return Err(e).context(CANNOT_WRITE);
    }
    let capture = result?;
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
    let captures = std::slice::from_ref(&capture);
    tell(&config, captures, true, args.reading.quiet);
    Ok(Done::with_damage(capture.problems.any_damage()))
}
