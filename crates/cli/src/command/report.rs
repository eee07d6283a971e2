//! `slowside report`: one page of HTML that shows it all.

use super::diagnose::{application, without_files};
use super::{inputs, print};
use crate::args::Report;
use crate::exit::{Done, complain};
use crate::progress::Progress;
use anyhow::{Context, bail, ensure};
use jiff::tz::TimeZone;
use report::{Anonymise, Made};
use slowside::{Config, ReportOptions};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::Path;

pub(crate) fn run(args: &Report) -> anyhow::Result<Done> {
    let config = Config {
        fast_enough_ns: args.fast_enough,
        tail_ns: args.tail,
        clock_offset_ns: args.clock_offset,
        ..args.reading.config()?
    };
    let to_standard_output = args.output.as_os_str() == "-";
    if to_standard_output {
        ensure!(
            !io::stdout().is_terminal(),
            "a report is a page for a browser; give -o FILE, or send it elsewhere than the terminal"
        );
    } else {
        check_output(&args.output)?;
    }
    let (captures, mut notes) = inputs::captures(&args.inputs)?;
    let app = application(&args.app, &mut notes)?;
    let options = ReportOptions {
        connections: args.connections,
        chosen: args.connection.clone(),
        ..ReportOptions::default()
    };
    let mut progress = Progress::new(args.reading.quiet, false);
    let mut result = slowside::report(&captures, app.as_ref(), &config, &options, &mut |e| {
        progress.event(e);
    })?;
    drop(progress);
    if args.reading.filter.is_some() {
        notes.push(
            "Calls were selected with --where; connections are shown with all they did.".into(),
        );
    }
    result.diagnosis.notes.append(&mut notes);

    let mut command = report::command_line(recorded());
    if let Some(names) = args.reading.anonymiser()? {
        result.diagnosis = without_files(result.diagnosis, &args.app, &names);
        result = result.anonymised(&names);
        command = "slowside report --anonymise … (names are left out)".into();
    }
    let made = Made {
        version: env!("CARGO_PKG_VERSION").into(),
        command,
    };
    let mut page = Vec::new();
    report::report_html(&result, &made, &TimeZone::system(), &mut page)?;
    if to_standard_output {
        print(|out| out.write_all(&page))?;
    } else {
        let shown = args.output.display();
        fs::write(&args.output, &page).with_context(|| format!("cannot write {shown}"))?;
        if !args.reading.quiet {
            let size = report::bytes(page.len() as u64);
            complain(&format!("{shown} written, {size}; open it with a browser"));
        }
    }
    let damaged = result
        .diagnosis
        .captures
        .iter()
        .any(|c| c.problems.any_damage());
    Ok(Done::with_damage(damaged))
}

/// The command line without what makes no difference to the page.
fn recorded() -> Vec<String> {
    let mut words = Vec::new();
    let mut given = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = given.next() {
        match word.as_str() {
            "--threads" => drop(given.next()),
            word if word.starts_with("--threads=") => {}
            _ => words.push(word),
        }
    }
    words
}

/// What every page of HTML that slowside writes begins with.
const PAGE: &[u8] = b"<!DOCTYPE html>";

/// Refuses to write over anything but an earlier page: a slip of the pen must not cost a capture.
fn check_output(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty());
    if let Some(folder) = folder {
        let folder_shown = folder.display();
        ensure!(
            folder.is_dir(),
            "{folder_shown} is no folder, so {shown} cannot be written"
        );
    }
    ensure!(!path.is_dir(), "{shown} is a folder; name a file with -o");
    let Ok(file) = File::open(path) else {
        return Ok(());
    };
    if !file.metadata().is_ok_and(|m| m.is_file()) {
        return Ok(());
    }
    let mut start = Vec::new();
    let read = file.take(PAGE.len() as u64).read_to_end(&mut start);
    if read.is_err() || !(start.is_empty() || start == PAGE) {
        bail!("{shown} exists and is no report; name another file with -o");
    }
    Ok(())
}
