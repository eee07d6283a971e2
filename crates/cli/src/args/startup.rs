//! `startup`: whose start, and until when.

use super::reading::{CallFilter, Common};
use super::value::{Output, Sorted, TableFormat};
use crate::moment::{self, When};
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;

/// Say why it took so long to start or to log in: what a client waited for, and what each wait cost
///
/// Names (DNS, mDNS, LLMNR, NetBIOS), hardware addresses, broadcasts, connections, logons, files: each
/// wait with what ended it. The time between a client's first packet and its last is divided among
/// them; what overlaps is charged once, to the wait that began last. With --top alone those that cost
/// most are listed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside startup login.pcap --client 10.0.0.17
  slowside startup office.pcap --client 10.0.0.17 --from 95s --to 130s --all
  slowside startup login.pcap --sort elapsed --top 5")]
pub(crate) struct Startup {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// The client's address; several, comma separated, are one client
    ///
    /// A host with an IPv4 and an IPv6 address is known by both. Without it the host that waited
    /// longest is shown.
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    pub(crate) client: Vec<IpAddr>,

    /// How to write the answer; as rows, a wait each
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    /// List all sums, and all waits in order of time, not only the costliest (text)
    #[arg(long)]
    pub(crate) all: bool,

    /// Look at what begins from then on
    ///
    /// 14:00 on the capture's day or '2026-03-01 14:00:00.5', in local time, 2026-03-01T14:00:00Z,
    /// @1772373600.5 (seconds since the epoch), or 90s or +1.5s after the capture's first packet.
    #[arg(long, value_name = "TIME", value_parser = moment::when)]
    pub(crate) from: Option<When>,

    /// Look at what happens until then; without it, at two minutes from the client's first packet
    #[arg(long, value_name = "TIME", value_parser = moment::when)]
    pub(crate) to: Option<When>,

    #[command(flatten)]
    pub(crate) calls: CallFilter,

    #[command(flatten)]
    pub(crate) common: Common,
}
