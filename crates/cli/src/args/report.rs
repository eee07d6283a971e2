//! `report`: the page, and which connections are on it in full.

use super::diagnose::Judging;
use super::reading::{Inputs, Reading};
use super::value::{self, HostFile, number};
use clap::Args;
use std::path::PathBuf;

/// Write it all as a page to look at: findings, charts, connections, slow calls
///
/// One file of HTML that opens in any browser, without a network, and may be sent by mail. The numbers are
/// those of diagnose, conns and sql; the captures are read several times. From a finding, a point of a
/// chart or a slow call it leads to the packets, with filters and commands to copy.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside report client.pcap server.pcap -o monday.html
  slowside report --server ring/ --from '2026-03-01 14:00:00' --connection 17")]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// A capture taken between both ends, such as at a firewall; may be given several times
    ///
    /// A file or a directory each, in any order. The answer says how much of the path lies between which
    /// capture points. Three files or more that hold the same packets are told to be such captures.
    #[arg(long, value_name = "FILE")]
    pub(crate) between: Vec<PathBuf>,

    /// Where to write the page; `-` for standard output
    ///
    /// An earlier report is replaced, any other file is left alone.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,

    /// Show this connection in full, too; may be given several times
    ///
    /// Numbers are those of slowside conns.
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) connection: Vec<u64>,

    /// How many connections are shown in full: those that findings name, then those that waited most
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = few)]
    pub(crate) connections: usize,

    /// What the application measured itself, as for slowside diagnose
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Vec<PathBuf>,

    /// What the server measured of its own operations, as for slowside diagnose
    #[arg(long, value_name = "FILE")]
    pub(crate) server_app: Vec<PathBuf>,

    /// What tools said of a host over time, as for slowside diagnose
    #[arg(long, value_name = "[SIDE=]FILE", value_parser = value::host)]
    pub(crate) host: Vec<HostFile>,

    #[command(flatten)]
    pub(crate) judging: Judging,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

fn few(text: &str) -> Result<usize, String> {
    let count: Option<usize> = text.parse().ok();
    count
        .filter(|n| *n <= 100)
        .ok_or_else(|| "a page shows from 0 to 100 connections in full".to_owned())
}
