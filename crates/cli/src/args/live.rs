//! The command line of `slowside live`.

use super::interface::FromInterface;
use super::ops::key;
use super::reading::{Memory, Names, size};
use super::value::width;
use crate::moment;
use analysis::filter::{Filter, LiveFilter};
use analysis::group::Key;
use clap::{ArgGroup, Args, ValueEnum};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Watch traffic as it passes: operations, statements, connections, findings; keep packets as evidence
///
/// Reads an interface, files, or with `-` what `tcpdump -U -w -` writes into a pipe. In a terminal it is a view: q ends it, ? says
/// which keys there are. Elsewhere, and with --format, it writes a line per interval. Ctrl-C ends with
/// totals, which are those of `slowside ops` and `slowside conns` on the same packets.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside live -i eth0 port 2049 --when 'p99>20ms' --write /tmp/e.pcapng
  slowside live -i any --filter 'port 5432' --format json --for 8h
  slowside live -i eth0 port 5432 --format text --metrics 9464
  slowside live -i eth0 port 5432 --format text --otlp http://127.0.0.1:4318")]
#[command(mut_arg("lasting", |a| a.help_heading(None)))]
#[command(group(ArgGroup::new("counted").multiple(true)))]
pub(crate) struct Live {
    /// `-` for standard input, or files of one capture; with -i an expression as of --filter
    #[arg(value_name = "CAPTURE", required_unless_present = "interface")]
    pub(crate) captures: Vec<PathBuf>,

    /// Width of the intervals
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "1s")]
    pub(crate) interval: i64,

    /// What percentiles, rates and thresholds are taken of: at most 600 intervals
    #[arg(long, value_name = "DURATION", value_parser = interval, default_value = "10s")]
    pub(crate) window: i64,

    /// Tell when this becomes true of an operation, a statement or a connection; may be given again
    ///
    /// Compares, over the window: protocol, op, statement, calls, rate, mean, p50, p90, p95, p99, max,
    /// errors, outstanding (the mean) of operations and statements; protocol, client, server, rtt, loss
    /// (percent sent again), bps, calls, mean, max, errors, outstanding (the most), silence, limit of
    /// connections; as --where does. Each is told once, until it is no more true for three intervals.
    #[arg(long, value_name = "EXPR", value_parser = LiveFilter::parse)]
    pub(crate) when: Vec<LiveFilter>,

    /// Write the kept packets when --when becomes true: FILE-1, FILE-2, … before the extension
    ///
    /// Files that are there are left alone. The key w writes one, too. With --anonymise they hold
    /// pseudonyms for addresses and no payload, as those of `slowside cut`.
    #[arg(long, value_name = "FILE")]
    pub(crate) write: Option<PathBuf>,

    /// How many such files at most
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) files: u32,

    /// How long packets are kept in memory, for --write, the key w, and findings
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "30s")]
    pub(crate) keep: i64,

    /// How much memory they may take: fewer are kept if that is less
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "64M")]
    pub(crate) keep_bytes: usize,

    /// How to write; text and json write lines also in a terminal
    #[arg(long, value_enum)]
    pub(crate) format: Option<LiveFormat>,

    /// Operations, statements and connections per interval (json)
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) top: usize,

    /// Only calls of which this is true, such as 'server = 10.0.0.2'; packets are kept all the same
    #[arg(long = "where", value_name = "EXPR", value_parser = Filter::parse)]
    pub(crate) filter: Option<Filter>,

    /// Threads; 0: as many as fit the machine
    ///
    /// More than 64 make no difference.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    #[command(flatten)]
    pub(crate) memory: Memory,

    #[command(flatten)]
    pub(crate) names: Names,

    /// No notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,

    #[command(flatten)]
    pub(crate) metrics: Metrics,

    #[command(flatten)]
    pub(crate) otlp: Otlp,

    #[command(flatten)]
    pub(crate) from_interface: FromInterface,
}

/// What monitoring systems may ask for.
#[derive(Args, Debug)]
#[command(next_help_heading = "For Prometheus")]
pub(crate) struct Metrics {
    /// Answer with counts and histograms, OpenMetrics at /metrics; ADDRESS:PORT or, for this host alone, PORT
    ///
    /// By protocol, operation and server. On an address that others can reach a token is needed. Of more than
    /// 500 different labels further ones count as `other`.
    #[arg(long = "metrics", value_name = "ADDRESS", value_parser = address, group = "counted")]
    pub(crate) address: Option<SocketAddr>,

    /// Tell calls apart by these too: step, client, connection, file, size; each value is one more series
    #[arg(long = "metrics-by", value_name = "LIST", value_delimiter = ',', value_parser = key, requires = "counted")]
    pub(crate) by: Vec<Key>,

    /// Answer those alone who send this file's token, as `Authorization: Bearer …`
    ///
    /// 16 characters at least. It is sent as it is: others on the way can read it, and the answers.
    #[arg(long = "metrics-token-file", value_name = "FILE", requires = "address")]
    pub(crate) token_file: Option<PathBuf>,
}

/// Where what is counted is pushed.
#[derive(Args, Debug)]
#[command(next_help_heading = "For OpenTelemetry")]
pub(crate) struct Otlp {
    /// Push the same counts to a collector, by OTLP over HTTP: http://HOST:PORT, with a path unless it is /v1/metrics
    ///
    /// JSON, without TLS: https is for a collector or a proxy on this host to speak. One that does not answer is told
    /// of once and holds nothing up. Calls of databases are there as db.client.operation.duration, too.
    #[arg(long = "otlp", value_name = "URL", group = "counted")]
    pub(crate) url: Option<String>,

    /// How often; and once more at the end
    #[arg(long = "otlp-every", value_name = "DURATION", value_parser = every, default_value = "10s", requires = "url")]
    pub(crate) every: i64,

    /// Send the headers of this file along, a line NAME=VALUE for each, such as Authorization=Bearer …
    ///
    /// They are sent as they are: others on the way can read them.
    #[arg(long = "otlp-headers", value_name = "FILE", requires = "url")]
    pub(crate) headers: Option<PathBuf>,
}

/// Where to answer; a port alone is on the loopback.
fn address(text: &str) -> Result<SocketAddr, String> {
    let loopback = |port: &str| {
        port.parse()
            .ok()
            .map(|p: u16| (Ipv4Addr::LOCALHOST, p).into())
    };
    let parsed = text.parse().ok();
    let parsed = parsed.or_else(|| loopback(text.strip_prefix("localhost:").unwrap_or(text)));
    parsed.ok_or_else(|| "give ADDRESS:PORT, such as 127.0.0.1:9464, or a port alone".to_owned())
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LiveFormat {
    Text,
    /// JSON lines
    Json,
}

/// More often nobody looks.
fn every(text: &str) -> Result<i64, String> {
    match moment::positive(text)? {
        ..100_000_000 => Err("pushes are at least 100ms apart".into()),
        every => Ok(every),
    }
}

/// Shorter ones would be more writing than watching.
fn interval(text: &str) -> Result<i64, String> {
    match width(text)? {
        ..10_000_000 => Err("intervals are at least 10ms wide, such as 100ms".into()),
        width => Ok(width),
    }
}
