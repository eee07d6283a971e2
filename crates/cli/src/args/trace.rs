//! `trace`: traces of databases, by what.

use super::reading::Names;
use super::value::{GroupFormat, Sorted};
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Say where the time went in traces that an Oracle database or client wrote
///
/// Reads extended SQL traces (event 10046), SQL*Net traces and event 10079, plain, .gz, .xz or .zip, of
/// releases from 8i to 23ai. Values of bind variables are never shown.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside trace orcl_ora_4711.trc
  slowside trace *.trc.gz --by statement --format csv")]
pub(crate) struct Trace {
    /// Trace files, `-` for standard input; several are taken together
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// How to write the profile
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// Only statements or only events; CSV has statements unless said
    #[arg(long, value_enum)]
    pub(crate) by: Option<ProfileBy>,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    /// List the packets of SQL*Net: time, direction, type, size, gap, statement
    ///
    /// With the distribution of their sizes. Statements are those of packets that the trace dumps (level 16). A capture
    /// has the same: slowside sql --session N --packets.
    #[arg(long, conflicts_with = "by")]
    pub(crate) packets: bool,

    /// Show statements as they were written, with the values in them
    #[arg(long)]
    pub(crate) show_literals: bool,

    /// List all rows, not only the first (text)
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) names: Names,

    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileBy {
    Statement,
    Event,
}
