//! Pages of HTML: where they are written to, and what they say of how they were made.

use super::print;
use crate::args::Common;
use crate::out::{self, complain};
use anyhow::{Context, bail, ensure};
use report::Provenance;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Standard output.
pub(super) const STANDARD_OUTPUT: &str = "-";

/// Refuses, before all the work, what a page cannot be written to.
pub(super) fn check(output: &Path) -> anyhow::Result<()> {
    if output.as_os_str() == STANDARD_OUTPUT {
        ensure!(
            !out::is_terminal(),
            "a report is a page for a browser; give -o FILE, or send it elsewhere than the terminal"
        );
        return Ok(());
    }
    check_file(output)
}

/// Writes a page, and says where it is.
pub(super) fn write(page: &[u8], output: &Path, quiet: bool) -> anyhow::Result<()> {
    if output.as_os_str() == STANDARD_OUTPUT {
        return print(|out| out.write_all(page));
    }
    let shown = output.display();
    fs::write(output, page).with_context(|| format!("cannot write {shown}"))?;
    if !quiet {
        let size = report::bytes(page.len() as u64);
        complain(&format!("{shown} written, {size}; open it with a browser"));
    }
    Ok(())
}

/// How the page of a command was made.
pub(super) fn made(command: &str, common: &Common) -> Provenance {
    Provenance {
        version: env!("CARGO_PKG_VERSION").into(),
        command: match common.anonymise {
            Some(_) => format!("slowside {command} --anonymise … (names are left out)"),
            None => report::command_line(recorded()),
        },
    }
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
fn check_file(path: &Path) -> anyhow::Result<()> {
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
