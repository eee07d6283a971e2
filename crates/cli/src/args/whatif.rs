//! `whatif`: what is to change, and from where on.

use super::reading::{CallFilter, Common, Inputs};
use super::value::{Output, Sorted, TableFormat, bandwidth};
use crate::moment::{self, When};
use analysis::whatif::Point;
use clap::Args;

/// Predict what another path, fetch size or server would make of the statements in a capture
///
/// Time is round trips × RTT + transfer + service + think, each measured, and replaced by what is
/// asked for. With --from and throughputs instead of a capture, the service time behind them is
/// fitted.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside whatif client.pcap server.pcap --fetch-size 500 --rtt 0.5ms
  slowside whatif client.pcap --rtt 2ms --sort then_elapsed --top 5
  slowside whatif --from '2356@0.021ms,1567@0.161ms,854@0.685ms' --rtt 2ms")]
#[command(mut_group("input", |g| g.required(false)))]
#[command(mut_arg("captures", |a| a.required_unless_present_any(["client", "server", "start"])))]
pub(crate) struct WhatIf {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Round trip time between client and server
    #[arg(long, value_name = "DURATION", value_parser = moment::positive)]
    pub(crate) rtt: Option<i64>,

    /// Rows asked for per fetch
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) fetch_size: Option<u64>,

    /// Rows that each statement that fetches brings in all
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,

    /// Oracle's session data unit, bytes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(512..=2_097_152))]
    pub(crate) sdu: Option<u64>,

    /// Bandwidth of the line: 100Mbit, 1Gbit
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub(crate) bandwidth: Option<u64>,

    /// How many times as long the server takes: 0.5 is twice as fast
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(crate) server_factor: Option<f64>,

    /// How to write the answer; as rows, a statement each
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    /// Leave out calls that start earlier (TIME); or fit throughputs: PER_SECOND@RTT,…
    #[arg(id = "start", long = "from", value_name = "TIME|PAIRS", value_parser = start)]
    pub(crate) from: Option<Start>,

    /// Leave out calls that start later
    #[arg(long, value_name = "TIME", value_parser = moment::when)]
    pub(crate) to: Option<When>,

    #[command(flatten)]
    pub(crate) calls: CallFilter,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// What `whatif` starts from.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    At(When),
    Pairs(Vec<Point>),
}

/// A moment, or throughputs at round trip times: `2356@0.021ms,1567@0.161ms`.
fn start(text: &str) -> Result<Start, String> {
    if text.starts_with('@') || !text.contains('@') {
        return moment::when(text).map(Start::At);
    }
    let pair = |pair: &str| {
        let (throughput, rtt) = pair.trim().split_once('@')?;
        let throughput = throughput.trim().parse().ok()?;
        let rtt_ns = moment::positive(rtt.trim()).ok()?;
        (f64::is_normal(throughput) && throughput > 0.0).then_some(Point { throughput, rtt_ns })
    };
    let pairs: Option<Vec<Point>> = text.split(',').map(pair).collect();
    pairs.map(Start::Pairs).ok_or_else(|| {
        "pairs are transactions per second and a round trip time: 2356@0.021ms,854@0.685ms".into()
    })
}

fn factor(text: &str) -> Result<f64, String> {
    let factor: Option<f64> = text.parse().ok();
    factor
        .filter(|f| (0.0..=1e6).contains(f))
        .ok_or_else(|| "a factor is a number such as 0.5 (half the time) or 2".into())
}
