//! `ops`: groups of calls, by what.

use super::reading::Reading;
use super::value::{Output, RowFormat, Sorted};
use crate::moment;
use analysis::group::Key;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Count and time calls by operation, client, file, …
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside ops server.pcap --histogram
  slowside ops server.pcap --by op,client,time=10s --format csv")]
pub(crate) struct Ops {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// How to write the groups
    #[arg(long, value_enum, default_value_t = OpsFormat::Text)]
    pub(crate) format: OpsFormat,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    /// What to group by: op, step (of a logon), client, server, connection, file, size, time=DURATION
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = key, default_value = "op")]
    pub(crate) by: Vec<Key>,

    /// Show response times by powers of two (text; JSON always has them)
    #[arg(long)]
    pub(crate) histogram: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OpsFormat {
    Text,
    Json,
    Csv,
    Markdown,
    /// Columns with types, for analytics (Apache Parquet)
    Parquet,
    /// The same as a stream, for a pipe (Apache Arrow IPC)
    Arrow,
    /// Counts and histograms by op, server and what --by adds, for Prometheus, as `slowside live --metrics`
    Openmetrics,
}

impl OpsFormat {
    /// As what its rows are written, if it has nothing but rows.
    pub(crate) fn rows(self) -> Option<RowFormat> {
        match self {
            OpsFormat::Text | OpsFormat::Json | OpsFormat::Markdown | OpsFormat::Openmetrics => {
                None
            }
            OpsFormat::Csv => Some(RowFormat::Csv),
            OpsFormat::Parquet => Some(RowFormat::Parquet),
            OpsFormat::Arrow => Some(RowFormat::Arrow),
        }
    }
}

/// What metrics are told apart by: operation and server, and these.
pub(crate) fn labels(more: &[Key]) -> anyhow::Result<Vec<Key>> {
    let mut keys = vec![Key::Op, Key::Server];
    for key in more {
        anyhow::ensure!(
            !matches!(key, Key::Time(_)),
            "metrics have no times but those at which they are gathered; leave out time="
        );
        if !keys.contains(key) {
            keys.push(*key);
        }
    }
    Ok(keys)
}

pub(super) fn key(text: &str) -> Result<Key, String> {
    Ok(match text.trim() {
        "op" => Key::Op,
        "step" => Key::Step,
        "client" => Key::Client,
        "server" => Key::Server,
        "connection" => Key::Connection,
        "file" => Key::File,
        "size" => Key::Size,
        other => match other.strip_prefix("time=") {
            Some(width) => match moment::positive(width)? {
                0 => return Err("time= needs a duration above zero, such as time=10s".into()),
                width => Key::Time(width),
            },
            None => {
                return Err(
                    "the keys are op, step, client, server, connection, file, size, time=DURATION"
                        .into(),
                );
            }
        },
    })
}
