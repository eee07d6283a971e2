//! `calls`: a row per call, as what and in which order.

use super::reading::{Inputs, Reading};
use clap::{Args, ValueEnum};

/// Write a row per call: packets, times, outcome, what held it up
///
/// The captures are judged first and read again, as what divides a call's time may come long after it: rows
/// come at the end. What of it is certain, and what is bounded, docs/ledger.md explains.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside calls client.pcap server.pcap --where 'response_time > 20ms'
  slowside calls ring/ --from '2026-03-01 14:00:00' --sort start --format jsonl")]
pub(crate) struct Calls {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the rows
    #[arg(long, value_enum, default_value_t = RowFormat::Csv)]
    pub(crate) format: RowFormat,

    /// The order of the rows; by start, large captures are sorted on disk (in TMPDIR)
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    pub(crate) sort: Order,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowFormat {
    Csv,
    Jsonl,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Completion,
    Start,
}
