//! `info`: what a capture is worth.

use super::interface::FromInterface;
use super::reading::{Span, of_packets};
use super::value::AnswerFormat;
use clap::Args;
use std::path::PathBuf;

/// Say what a capture is worth: what it holds, what it lacks, what that limits
///
/// Whether it is good enough for a verdict, and what to do better; then duration, rates, snap length,
/// drops, gaps and steps in time, handshakes, duplicates, protocols and hosts.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside info ring/ --format json | jq '.limits[].code'
  slowside info -i eth0 --for 10s")]
#[command(mut_arg("from", |a| of_packets(a, "come")))]
#[command(mut_arg("to", |a| of_packets(a, "come")))]
pub(crate) struct Info {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub(crate) captures: Vec<PathBuf>,

    /// How to write the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(crate) format: AnswerFormat,

    #[command(flatten)]
    pub(crate) reading: Span,

    // Its heading holds for what stands behind it.
    #[command(flatten)]
    pub(crate) from_interface: FromInterface,
}
