//! `stat`: how wide the intervals, and of which packets.

use super::interface::FromInterface;
use super::reading::{Reading, of_packets};
use super::value::{Output, RowFormat, Sorted, width};
use analysis::filter::PacketFilter;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Count packets, bytes and calls in intervals: rates, sizes, response times
///
/// It takes one capture: those of both ends one after the other, as each has every packet and call. The
/// first interval begins with the first packet. Sizes are those on the wire; a call counts in the interval
/// in which it is completed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside stat server.pcap --interval 100ms --where 'op = READ' --format csv
  slowside stat server.pcap --sort rate_bps --top 10
  slowside stat -i eth0 --filter 'port 2049' --interval 10s")]
#[command(mut_arg("from", |a| of_packets(a, "come and calls that start")))]
#[command(mut_arg("to", |a| of_packets(a, "come and calls that start")))]
pub(crate) struct Stat {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub(crate) captures: Vec<PathBuf>,

    /// Width of the intervals, such as 100ms
    #[arg(long, value_name = "DURATION", value_parser = width, default_value = "1s")]
    pub(crate) interval: i64,

    /// Only packets of which this is true, such as 'port = 2049 and bytes > 1k'
    ///
    /// Compares host, source, destination (addresses or networks), port, source.port,
    /// destination.port, protocol (tcp, udp, icmp, icmpv6, arp, stp, ip, fragment, other, unread),
    /// bytes, captured, vlan, cast (unicast, multicast, broadcast) and frame as --where does.
    /// Which calls count is said by --where.
    #[arg(long, value_name = "EXPR", value_parser = PacketFilter::parse)]
    pub(crate) packets: Option<PacketFilter>,

    /// How to write the intervals
    #[arg(long, value_enum, default_value_t = StatFormat::Text)]
    pub(crate) format: StatFormat,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // Its heading holds for what stands behind it.
    #[command(flatten)]
    pub(crate) from_interface: FromInterface,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatFormat {
    Text,
    Csv,
    /// JSON lines
    Jsonl,
    /// Columns with types, for analytics (Apache Parquet)
    Parquet,
    /// The same as a stream, for a pipe (Apache Arrow IPC)
    Arrow,
}

impl StatFormat {
    /// As what rows are written, if not as text.
    pub(crate) fn rows(self) -> Option<RowFormat> {
        match self {
            StatFormat::Text => None,
            StatFormat::Csv => Some(RowFormat::Csv),
            StatFormat::Jsonl => Some(RowFormat::Jsonl),
            StatFormat::Parquet => Some(RowFormat::Parquet),
            StatFormat::Arrow => Some(RowFormat::Arrow),
        }
    }
}
