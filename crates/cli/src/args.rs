//! The command line: what can be asked, with which defaults.
//!
//! `slowside CAPTURE…` is short for `slowside diagnose CAPTURE…`: the command is put in when the
//! first argument is none.

use crate::moment;
use analysis::filter::{Filter, nearest};
use analysis::findings::{RULES, Rule};
use analysis::group::Key;
use clap::builder::StyledStr;
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};
use slowside::{Config, Moment};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Read packet captures and say which side is slow, by how much, and why
#[derive(Parser, Debug)]
#[command(
    name = "slowside",
    version,
    arg_required_else_help = true,
    max_term_width = 80,
    disable_help_subcommand = true,
    override_usage = "slowside [diagnose] [OPTIONS] CAPTURE [CAPTURE]\n       slowside COMMAND [OPTIONS] …",
    after_help = "`slowside COMMAND --help` tells all about a command.",
    after_long_help = "\
Examples:
  slowside client.pcap server.pcap       which side is slow, and why
  tcpdump -i eth0 -w - port 2049 | slowside -

Exit codes: 2 could not do it; else 1 a finding at or above --fail-on exists;
else 3 done, but some input was damaged; else 0."
)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Diagnose(Diagnose),
    Calls(Calls),
    Ops(Ops),
    Conns(Conns),
    Explain(Explain),
}

/// Say which side is slow, by how much, and why (the default command)
///
/// Give the capture of one end or, better, of both ends. Which capture was taken where is found
/// out; --client and --server state it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside client.pcap server.pcap
  slowside diagnose --client c.pcap0 c.pcap1 --server array/ --fail-on 10")]
pub(crate) struct Diagnose {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(crate) format: AnswerFormat,

    /// What the application measured itself
    ///
    /// CSV with a header (start_ns or time, end_ns or latency_us, …), a fio latency log, nfsiostat
    /// output, or /proc/self/mountstats: for its two snapshots, give --app twice.
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Vec<PathBuf>,

    /// Server's clock minus client's clock, such as 1.5ms or -3s
    ///
    /// Without it the offset is estimated from the captures.
    #[arg(long, value_name = "DURATION", value_parser = moment::duration, allow_hyphen_values = true)]
    pub(crate) clock_offset: Option<i64>,

    /// Mean response time below which nobody is blamed
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "2ms")]
    pub(crate) fast_enough: i64,

    /// Response time beyond which even a fast mean is no excuse
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "20ms")]
    pub(crate) tail: i64,

    /// Exit with 1 if a finding costs this many seconds or ends the work, or has this code
    #[arg(long, value_name = "SECONDS|CODE", value_parser = fail_on)]
    pub(crate) fail_on: Option<FailOn>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Write a row per call: its packets, its times, its outcome
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside calls server.pcap --where 'op = READ and response_time > 20ms'
  slowside calls ring/ --from '2026-03-01 14:00:00' --sort start --format jsonl")]
pub(crate) struct Calls {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// How to write the rows
    #[arg(long, value_enum, default_value_t = RowFormat::Csv)]
    pub(crate) format: RowFormat,

    /// The order of the rows; by start, large captures are sorted on disk (in TMPDIR)
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    pub(crate) sort: Order,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Count and time calls by operation, client, file, …
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside ops server.pcap --histogram
  slowside ops server.pcap --by op,client,time=10s --format csv")]
pub(crate) struct Ops {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// How to write the groups
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// What to group by: op, client, server, connection, file, size, time=DURATION
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = key, default_value = "op")]
    pub(crate) by: Vec<Key>,

    /// Show response times by powers of two (text; JSON always has them)
    #[arg(long)]
    pub(crate) histogram: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// List TCP connections with what they waited for, those that waited most first
///
/// Each direction's time is divided into classes such as receiver-application (the window was
/// closed) or loss-recovery; `slowside conns --fields` explains them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside conns --client c.pcap --server s.pcap --connection 3
  slowside conns client.pcap --series 100ms --format csv")]
// An exclusive option goes without required arguments, but not without a required group.
#[command(mut_group("input", |g| g.required(false)))]
#[command(mut_arg("captures", |a| a.required_unless_present_any(["client", "server"])))]
#[command(mut_arg("from", |a| of_connections(a, "end")))]
#[command(mut_arg("to", |a| of_connections(a, "start")))]
#[command(mut_arg("filter", |a| a.hide(true)))]
pub(crate) struct Conns {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the connections
    #[arg(long, value_enum, default_value_t = ConnsFormat::Text)]
    pub(crate) format: ConnsFormat,

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
    pub(crate) reading: Reading,
}

/// Explain a finding: what it says, why it costs time, what to check, when it is wrong
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside explain
  slowside explain server-concurrency-cap")]
pub(crate) struct Explain {
    /// Code of a finding; without one, all are listed
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// The captures of commands that take one end or both.
#[derive(Args, Debug)]
#[group(id = "input", required = true, multiple = true)]
pub(crate) struct Inputs {
    /// Capture files, `-` for standard input
    ///
    /// Two are the two ends of the same traffic. Three or more are one capture, and the answer says
    /// so. A directory stands for the capture files in it.
    #[arg(value_name = "CAPTURE", conflicts_with_all = ["client", "server"])]
    pub(crate) captures: Vec<PathBuf>,

    /// The capture taken at the client: files or a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) client: Vec<PathBuf>,

    /// The capture taken at the server: files or a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) server: Vec<PathBuf>,
}

/// What every command that reads captures understands.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// Threads for each capture; 0: as many as fit the machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    /// Leave out calls that start earlier
    ///
    /// 2026-03-01T14:00:00Z, '2026-03-01 14:00:00.5' in local time, @1772373600.5 (seconds since
    /// the epoch), or 90s or +1.5s after the capture's first packet.
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) from: Option<Moment>,

    /// Leave out calls that start later; TIME as in --from
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) to: Option<Moment>,

    /// Only calls of which this is true, such as 'op = READ and response_time > 20ms'
    ///
    /// Compares columns of `slowside calls` and fields of their detail with = != < <= > >= and
    /// ~ (* and ? stand for any characters), joined by and, or, not and parentheses. Values may
    /// have units (20ms, 64k); client = 10.0.0.0/8 takes a network.
    #[arg(long = "where", value_name = "EXPR", value_parser = Filter::parse)]
    pub(crate) filter: Option<Filter>,

    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Reading {
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        let empty = match (self.from, self.to) {
            (Some(Moment::Absolute(from)), Some(Moment::Absolute(to))) => from > to,
            (Some(Moment::AfterStart(from)), Some(Moment::AfterStart(to))) => from > to,
            _ => false,
        };
        anyhow::ensure!(!empty, "--from is later than --to; exchange them");
        Ok(Config {
            threads: self.threads,
            from: self.from,
            to: self.to,
            filter: self.filter.clone(),
            ..Config::default()
        })
    }
}

/// What the common options say of calls, which start in the time asked for, said of connections, which
/// overlap it.
fn of_connections(arg: Arg, event: &str) -> Arg {
    let said = |help: Option<&StyledStr>| {
        let text = help.map(ToString::to_string).unwrap_or_default();
        text.replace("calls that start", &format!("connections that {event}"))
    };
    let (short, long) = (said(arg.get_help()), said(arg.get_long_help()));
    let arg = arg.help(short);
    if long.is_empty() {
        arg
    } else {
        arg.long_help(long)
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AnswerFormat {
    Text,
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowFormat {
    Csv,
    Jsonl,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupFormat {
    Text,
    Json,
    Csv,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnsFormat {
    Text,
    Json,
    Csv,
    /// JSON lines, of --series
    Jsonl,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Completion,
    Start,
}

/// What makes a run fail although it could be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FailOn {
    CostNs(i64),
    Code(&'static str),
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text);
    if seconds.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return moment::positive(&format!("{seconds}s")).map(FailOn::CostNs);
    }
    rule(text).map(|r| FailOn::Code(r.code))
}

/// The manual page of a finding; else a message with codes that resemble it.
pub(crate) fn rule(code: &str) -> Result<&'static Rule, String> {
    RULES.iter().find(|r| r.code == code).ok_or_else(|| {
        let near = nearest(code, RULES.iter().map(|r| r.code));
        if near.is_empty() {
            format!("no finding is called `{code}`; `slowside explain` lists all")
        } else {
            format!(
                "no finding is called `{code}`; did you mean `{}`?",
                near.join("`, `")
            )
        }
    })
}

fn key(text: &str) -> Result<Key, String> {
    Ok(match text.trim() {
        "op" => Key::Op,
        "client" => Key::Client,
        "server" => Key::Server,
        "connection" => Key::Connection,
        "file" => Key::File,
        "size" => Key::Size,
        other => match other.strip_prefix("time=") {
            Some(width) => match moment::positive(width)? {
                0 => return Err("time= needs a duration above zero, such as time=10s".into()),
                width => Key::Time(width),
            },
            None => {
                return Err(
                    "the keys are op, client, server, connection, file, size, time=DURATION".into(),
                );
            }
        },
    })
}

fn width(text: &str) -> Result<i64, String> {
    match moment::positive(text)? {
        ..1_000 => Err("intervals are at least 1us wide, such as 100ms".into()),
        width => Ok(width),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "connections have numbers, which slowside conns --all shows".to_owned())
}

const COMMANDS: [&str; 5] = ["diagnose", "calls", "ops", "conns", "explain"];

/// Reads the command line.
pub(crate) fn parse(given: impl IntoIterator<Item = OsString>) -> Result<Arguments, clap::Error> {
    let mut given: Vec<OsString> = given.into_iter().collect();
    let asks = ["-h", "--help", "-V", "--version"];
    if let Some(first) = given.get(1)
        && !COMMANDS.iter().chain(&asks).any(|known| first == known)
    {
        if let Some(meant) = misspelt(first) {
            return Err(clap::Error::raw(
                clap::error::ErrorKind::InvalidSubcommand,
                format!(
                    "`{}` is neither a file nor a command; did you mean `{meant}`?",
                    first.to_string_lossy()
                ),
            ));
        }
        given.insert(1, "diagnose".into());
    }
    Arguments::try_parse_from(given)
}

/// The command that a first argument resembles that is no file either.
fn misspelt(first: &OsString) -> Option<&'static str> {
    let text = first.to_str()?;
    let word = text.bytes().all(|b| b.is_ascii_lowercase());
    if !word || Path::new(first).exists() {
        return None;
    }
    nearest(text, COMMANDS).first().copied()
}
