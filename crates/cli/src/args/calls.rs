//! `calls`: a row per call, as what and in which order.

use super::reading::{Inputs, Reading};
use super::value::{self, HostFile, Output, RowFormat};
use clap::builder::ArgPredicate;
use clap::{Args, ValueEnum, value_parser};
use std::path::PathBuf;

/// Write a row per call: packets, times, outcome, what held it up
///
/// The captures are judged first and read again, as what divides a call's time may come long after it: rows
/// come at the end. What of it is certain, and what is bounded, docs/ledger.md explains. A rotated set is one
/// capture: give all of its files at once. One by one, as many rows come and up to a quarter of them are wrong,
/// as sessions and prepared statements live across files. Wireshark can show rows on the packets:
/// docs/wireshark.md.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside calls client.pcap --where 'response_time > 20ms'
  slowside calls client.pcap server.pcap --top 20 --columns op,response_time_ns
  slowside calls client.pcap firewall.pcap server.pcap --columns id,hops
  slowside calls server.pcap --server-app operations.csv
  slowside calls ring/ --format parquet -o calls.parquet")]
pub(crate) struct Calls {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the rows: text on a terminal, csv elsewhere, unless said
    ///
    /// docs/rows.md says what parquet and arrow are for.
    #[arg(long, value_enum)]
    pub(crate) format: Option<CallsFormat>,

    #[command(flatten)]
    pub(crate) output: Output,

    /// The order of the rows: as calls were over, as they began, or by response time, longest first
    ///
    /// By start and by time, large captures are sorted on disk (in TMPDIR).
    #[arg(long, value_enum, default_value_t = Order::Completion, default_value_if("top", ArgPredicate::IsPresent, "time"))]
    pub(crate) sort: Order,

    /// Only the N calls that took longest, longest first; with --sort start, the first N
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) top: Option<u64>,

    /// A capture taken between both ends, such as at a firewall; may be given several times
    ///
    /// A file or a directory each, in any order. The column hops says of each call how much of it lies between which capture
    /// points. Three files or more that hold the same packets are told to be such captures.
    #[arg(long, value_name = "FILE")]
    pub(crate) between: Vec<PathBuf>,

    /// What the application measured itself, as for slowside diagnose: application_ns and above_wire_ns follow it
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Vec<PathBuf>,

    /// What the server measured of its own operations, as for slowside diagnose: lines of the ledger follow it
    #[arg(long, value_name = "FILE")]
    pub(crate) server_app: Vec<PathBuf>,

    /// What tools said of a host over time, as for slowside diagnose: host_pressure follows it
    #[arg(long, value_name = "[SIDE=]FILE", value_parser = value::host)]
    pub(crate) host: Vec<HostFile>,

    /// Only these columns, in this order; docs/columns.tsv lists them
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) columns: Vec<String>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CallsFormat {
    /// A line for each call: when, how long, what most of it was, which packets
    Text,
    Csv,
    /// JSON lines
    Jsonl,
    /// Columns with types, for analytics (Apache Parquet)
    Parquet,
    /// The same as a stream, for a pipe (Apache Arrow IPC)
    Arrow,
}

impl CallsFormat {
    /// As what rows are written; `None` for people.
    pub(crate) fn rows(self) -> Option<RowFormat> {
        match self {
            CallsFormat::Text => None,
            CallsFormat::Csv => Some(RowFormat::Csv),
            CallsFormat::Jsonl => Some(RowFormat::Jsonl),
            CallsFormat::Parquet => Some(RowFormat::Parquet),
            CallsFormat::Arrow => Some(RowFormat::Arrow),
        }
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Completion,
    Start,
    Time,
}
