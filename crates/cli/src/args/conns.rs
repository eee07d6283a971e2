//! `conns`: connections, one of them in full, or what they did over time.

use super::reading::{Inputs, Span, of_connections};
use super::value::{Output, RowFormat, Sorted, number, width};
use clap::{Args, ValueEnum};
use report::ConnFilter;

/// List TCP connections with what they waited for, those that waited most first
///
/// Each direction's time is divided into classes such as receiver-application (the window was
/// closed) or loss-recovery; `slowside conns --fields` explains them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside conns --client c.pcap --server s.pcap --connection 3
  slowside conns client.pcap --where 'close = reset and packets > 10'
  slowside conns client.pcap --series 100ms --format csv")]
// An exclusive option goes without required arguments, but not without a required group.
#[command(mut_group("input", |g| g.required(false)))]
#[command(mut_arg("captures", |a| a.required_unless_present_any(["client", "server"])))]
#[command(mut_arg("from", |a| of_connections(a, "end")))]
#[command(mut_arg("to", |a| of_connections(a, "start")))]
pub(crate) struct Conns {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the connections
    #[arg(long, value_enum, default_value_t = ConnsFormat::Text)]
    pub(crate) format: ConnsFormat,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    /// Only connections of which this is true, such as 'retransmitted_packets > 10 and rtt_p50 > 5ms'
    ///
    /// Compares columns of --format csv (--fields explains them) with = != < <= > >= and ~ (* and ?
    /// stand for any characters), joined by and, or, not and parentheses. What is said of a direction
    /// may be true of either; client_to_server.retransmitted_packets is of one. Values may have units
    /// (20ms, 64k); host, client and server take addresses and networks.
    #[arg(long = "where", value_name = "EXPR", value_parser = ConnFilter::parse)]
    pub(crate) filter: Option<ConnFilter>,

    /// Only this connection, in full: what it was and did, with frames of its longest waits
    ///
    /// Connections are numbered from 1 in the order of their first packets; the list shows the
    /// numbers.
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) connection: Option<u64>,

    /// What connections did over time: a row for each interval of this width, such as 100ms
    ///
    /// Packets, bytes, round trips, bytes in flight, windows, retransmissions and outstanding
    /// calls, of each interval in which a packet was seen, by time and connection; --fields
    /// explains the columns. As CSV, JSON lines or, with --connection, text. Many rows are sorted
    /// on disk (in TMPDIR).
    #[arg(long, value_name = "DURATION", value_parser = width)]
    pub(crate) series: Option<i64>,

    /// List all connections, not only the 20 that waited most (text)
    #[arg(long)]
    pub(crate) all: bool,

    /// Explain the fields of --format json and csv, and of --series; needs no capture
    #[arg(long, exclusive = true)]
    pub(crate) fields: bool,

    #[command(flatten)]
    pub(crate) reading: Span,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnsFormat {
    Text,
    Json,
    Csv,
    Markdown,
    /// JSON lines, of --series
    Jsonl,
    /// Columns with types, for analytics (Apache Parquet)
    Parquet,
    /// The same as a stream, for a pipe (Apache Arrow IPC)
    Arrow,
}

impl ConnsFormat {
    /// As what rows are written, if it has nothing but rows.
    pub(crate) fn rows(self) -> Option<RowFormat> {
        match self {
            ConnsFormat::Text | ConnsFormat::Json | ConnsFormat::Markdown => None,
            ConnsFormat::Csv => Some(RowFormat::Csv),
            ConnsFormat::Jsonl => Some(RowFormat::Jsonl),
            ConnsFormat::Parquet => Some(RowFormat::Parquet),
            ConnsFormat::Arrow => Some(RowFormat::Arrow),
        }
    }
}
