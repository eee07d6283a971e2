//! `demo`: which of the captures that are built in, and where they go.

use clap::Args;
use std::path::PathBuf;

/// Diagnose captures that are built in, to see what an answer looks like
///
/// Each was recorded in a laboratory with one known fault. They are written to a folder, so that every
/// other command can be tried on them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside demo
  slowside demo packet-loss --dir try")]
pub(crate) struct Demo {
    /// Which of them; --list shows all
    #[arg(value_name = "CASE", default_value = "server-cap")]
    pub(crate) case: String,

    /// List the cases
    #[arg(long)]
    pub(crate) list: bool,

    /// The folder to write to, in a folder named like the case
    #[arg(long, value_name = "DIR", default_value = "slowside-demo")]
    pub(crate) dir: PathBuf,
}
