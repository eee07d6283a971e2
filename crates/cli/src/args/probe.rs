//! The command line of `slowside probe`, which measures, or with --listen answers.

use super::value::{AnswerFormat, bandwidth};
use crate::moment;
use analysis::filter::Filter;
use clap::{Args, ValueEnum};
use std::net::SocketAddr;
use std::path::PathBuf;

/// Measure a path itself: connecting, round trips with the sizes of your application, throughput
///
/// On the other host, `slowside probe --listen ADDRESS:PORT` answers, on a port that the application uses;
/// --connect-only needs nothing there and works against any port. Times are also given as somebody
/// has them who does not wait for a stalled answer before asking again (coordinated omission).
/// Ctrl-C ends with what was measured.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside probe --listen 10.0.0.5:5201 --token-file token
  slowside probe 10.0.0.5:5201 --token-file token --like c.pcap --rate 200/s")]
pub(crate) struct Probe {
    /// The listener; with --connect-only any port
    #[arg(
        value_name = "HOST:PORT",
        required_unless_present = "listen",
        conflicts_with = "listen"
    )]
    pub(crate) target: Option<String>,

    /// Measure connecting alone: from the first SYN to its answer
    #[arg(long, conflicts_with_all = ["size", "like", "outstanding", "stream", "token_file", "listen",
        "nodelay", "send_buffer", "receive_buffer"])]
    pub(crate) connect_only: bool,

    /// Bytes of each request and of its response
    ///
    /// At least 16 and 32, which the probe's own headers take.
    #[arg(long, value_name = "REQUEST:RESPONSE", value_parser = sizes, default_value = "200:8192")]
    pub(crate) size: (u32, u32),

    /// Take sizes and pauses from the calls in a capture, in their order
    #[arg(long, value_name = "CAPTURE", conflicts_with_all = ["size", "stream", "listen"])]
    pub(crate) like: Vec<PathBuf>,

    /// Of --like, only calls of which this is true, such as 'protocol = pgsql'
    #[arg(long = "where", value_name = "EXPR", value_parser = Filter::parse, requires = "like")]
    pub(crate) filter: Option<Filter>,

    /// Requests under way at a time, on one connection
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=4096),
        conflicts_with = "listen")]
    pub(crate) outstanding: u32,

    /// Ask so often, whether answers come or not: 200/s
    ///
    /// Without it the next request is sent when an answer is there, after the pause of --like.
    /// --connect-only connects 10 times a second unless told.
    #[arg(long, value_name = "N/s", value_parser = rate, conflicts_with = "listen")]
    pub(crate) rate: Option<f64>,

    /// How long to measure
    #[arg(long, value_name = "DURATION", value_parser = time, default_value = "10s", conflicts_with = "listen")]
    pub(crate) duration: i64,

    /// How long to run before that, without counting
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "1s", conflicts_with = "listen")]
    pub(crate) warm_up: i64,

    /// Width of intervals, for lines on standard error and in JSON
    ///
    /// Lines are written on a terminal, or where this option is given.
    #[arg(long, value_name = "DURATION", value_parser = interval, conflicts_with = "listen")]
    pub(crate) interval: Option<i64>,

    /// Send as much as goes to the listener (up) or from it (down)
    #[arg(long, value_enum, conflicts_with_all = ["size", "outstanding", "rate", "listen"])]
    pub(crate) stream: Option<Stream>,

    /// The secret that both ends share: a file of 16 bytes or more
    ///
    /// It is not sent. A listener without one makes a token and prints it.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,

    /// TCP_NODELAY of both ends: off lets Nagle's algorithm wait
    #[arg(long, value_enum, default_value_t = Switch::On, conflicts_with = "listen")]
    pub(crate) nodelay: Switch,

    /// Send buffers of both ends: 64k, 4M; the system's choice unless told
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with = "listen")]
    pub(crate) send_buffer: Option<u32>,

    /// Receive buffers of both ends
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with = "listen")]
    pub(crate) receive_buffer: Option<u32>,

    /// How to write the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text, conflicts_with = "listen")]
    pub(crate) format: AnswerFormat,

    /// Write the corrected times as a percentile distribution (.hgrm of HdrHistogram)
    ///
    /// An earlier one is replaced, any other file is left alone.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "stream"])]
    pub(crate) histogram: Option<PathBuf>,

    /// Answer others who know the token, at this address of this host and no other
    ///
    /// It may be left running: nobody without the token gets more bytes than they send, and those who
    /// know it are limited.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,

    /// --listen: the longest request or response
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "listen", default_value = "2M")]
    pub(crate) max_size: u32,

    /// --listen: exchanges per second of all clients together; more have to wait
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "listen",
        default_value_t = 20_000)]
    pub(crate) max_rate: u32,

    /// --listen: both directions of all clients together; more has to wait
    #[arg(long, value_name = "RATE", value_parser = bandwidth, requires = "listen", default_value = "1Gbit")]
    pub(crate) max_bandwidth: u64,

    /// --listen: how long a client may stay
    #[arg(long, value_name = "DURATION", value_parser = time, requires = "listen", default_value = "10min")]
    pub(crate) max_time: i64,

    /// --listen: clients at a time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096), requires = "listen",
        default_value_t = 16)]
    pub(crate) max_connections: u32,

    /// --listen: how long a client may be silent, or take over one message
    #[arg(long, value_name = "DURATION", value_parser = time, requires = "listen", default_value = "30s")]
    pub(crate) idle: i64,

    /// Nothing on standard error but errors
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    Up,
    Down,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    On,
    Off,
}

fn sizes(text: &str) -> Result<(u32, u32), String> {
    let wrong =
        || "sizes are bytes of the request and of the response, such as 200:8192".to_owned();
    let (request, response) = text.split_once(':').ok_or_else(wrong)?;
    match (bytes(request), bytes(response)) {
        (Ok(request), Ok(response)) => Ok((request, response)),
        _ => Err(wrong()),
    }
}

/// A number of bytes, up to 1 GiB; k and M are powers of 1024, as of buffers and blocks.
pub(super) fn bytes(text: &str) -> Result<u32, String> {
    let wrong = || "bytes are a number, perhaps with k or M, up to 1024M: 8192, 64k".to_owned();
    let ends = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(ends).ok_or_else(wrong)?;
    let shift = match unit {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        _ => return Err(wrong()),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    number
        .checked_mul(1 << shift)
        .filter(|n| (1..=1 << 30).contains(n))
        .and_then(|n| u32::try_from(n).ok())
        .ok_or_else(wrong)
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text);
    let number: Option<f64> = number.trim().parse().ok();
    number
        .filter(|n| (0.001..=1e6).contains(n))
        .ok_or_else(|| "a rate is a number per second up to a million, such as 200/s".to_owned())
}

/// From a millisecond to a month: what is longer is a slip of the hand.
fn time(text: &str) -> Result<i64, String> {
    moment::positive(text).and_then(|ns| {
        (1_000_000..=31 * 86_400_000_000_000)
            .contains(&ns)
            .then_some(ns)
            .ok_or_else(|| "from 1ms to 744h, such as 10s".to_owned())
    })
}

fn interval(text: &str) -> Result<i64, String> {
    match time(text)? {
        ..10_000_000 => Err("intervals are at least 10ms wide, such as 1s".to_owned()),
        width => Ok(width),
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        "the address to listen at is one of this host's and a port, such as 10.0.0.5:5201; \
         0.0.0.0:5201 is all of them"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_rates_and_addresses_are_read_or_refused() {
        assert_eq!(sizes("200:8k"), Ok((200, 8_192)));
        assert_eq!(bytes("1024M"), Ok(1 << 30));
        assert_eq!(rate("0.5/s"), Ok(0.5));
        for text in ["", "200", "200:", "200:1G", "200:0", "-1:5", "1025M:1"] {
            assert!(sizes(text).is_err(), "{text}");
        }
        for text in ["", "0", "-5", "nan", "inf", "1e9"] {
            assert!(rate(text).is_err(), "{text}");
        }
        for text in [":5201", "5201", "localhost:5201", "10.0.0.5"] {
            assert!(address(text).is_err(), "{text}");
        }
        assert!(time("10").is_err() && time("0").is_err() && time("900h").is_err());
    }
}
