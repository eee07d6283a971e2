//! The commands, one file each, and what they share.

pub(crate) mod calls;
pub(crate) mod conns;
pub(crate) mod diagnose;
pub(crate) mod explain;
pub(crate) mod ops;
pub(crate) mod sql;
pub(crate) mod startup;
pub(crate) mod trace;
pub(crate) mod whatif;

mod inputs;

use crate::exit::complain;
use analysis::results::CaptureResult;
use anyhow::Context;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::PathBuf;

/// Writes an answer to standard output.
fn print(answer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> anyhow::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    answer(&mut out)
        .and_then(|()| out.flush())
        .context(CANNOT_WRITE)
}

const CANNOT_WRITE: &str = "cannot write to standard output";

/// Refuses to wait for somebody to type a capture.
fn check_standard_input(inputs: &[PathBuf]) -> anyhow::Result<()> {
    let wanted = inputs.iter().any(|p| p.as_os_str() == "-");
    anyhow::ensure!(
        !(wanted && io::stdin().is_terminal()),
        "standard input is a terminal; pipe a capture into it or name a file"
    );
    Ok(())
}

/// Says on standard error what was damaged, for outputs that only hold rows.
fn tell_damage(capture: &CaptureResult, quiet: bool) {
    for (kind, p) in capture.problems.iter().filter(|(_, p)| p.damage && !quiet) {
        complain(&format!(
            "damaged: {kind}, {}: {} ({})",
            p.count, p.example, p.first
        ));
    }
}
