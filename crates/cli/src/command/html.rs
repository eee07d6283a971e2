//! Pages of HTML: where they are written to, and what they say of how they were made.

use super::print;
use crate::args::Common;
use crate::out::{self, complain};
use anyhow::ensure;
use replace::{Kind, Replacement};
use report::Provenance;
use std::path::{Path, PathBuf};

/// Standard output.
pub(super) const STANDARD_OUTPUT: &str = "-";

/// What every page of HTML that slowside writes begins with.
const PAGE: Kind = Kind {
    name: "report",
    option: "-o",
    is: |head| head.starts_with(b"<!DOCTYPE html>"),
};

/// Where a page is written to.
pub(super) enum Output {
    Standard,
    File(Replacement, PathBuf),
}

impl Output {
    /// Refuses, before all the work, what a page cannot be written to.
    pub(super) fn open(output: &Path) -> anyhow::Result<Output> {
        if output.as_os_str() == STANDARD_OUTPUT {
            ensure!(
                !out::is_terminal(),
                "a report is a page for a browser; give -o FILE, or send it elsewhere than the terminal"
            );
            return Ok(Output::Standard);
        }
        let file = Replacement::create(output, &PAGE)?;
        Ok(Output::File(file, output.to_owned()))
    }

    /// Writes a page, and says where it is.
    pub(super) fn write(self, page: &[u8], quiet: bool) -> anyhow::Result<()> {
        let Output::File(file, name) = self else {
            return print(|out| out.write_all(page));
        };
        file.write(page)?;
        if !quiet {
            let (name, size) = (name.display(), report::bytes(page.len() as u64));
            complain(&format!("{name} written, {size}; open it with a browser"));
        }
        Ok(())
    }
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
