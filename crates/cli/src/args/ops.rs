//! `ops`: groups of calls, by what.

use super::reading::Reading;
use super::value::{Output, Sorted, TableFormat};
use crate::moment;
use analysis::group::Key;
use clap::Args;
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
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,

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

fn key(text: &str) -> Result<Key, String> {
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
