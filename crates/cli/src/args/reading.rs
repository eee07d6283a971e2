//! What commands that read captures have in common: which captures, which calls of them, which names are
//! shown; and other words for the same options where a command has no calls.

use crate::moment::{self, When};
use analysis::filter::Filter;
use clap::builder::StyledStr;
use clap::{Arg, Args};

use jiff::tz::TimeZone;
use pseudonyms::Anonymiser;
use slowside::{Captures, Config, Moment};
use std::ops::Deref;
use std::path::PathBuf;

/// The captures of commands that take one end or both.
#[derive(Args, Debug)]
#[group(id = "input", required = true, multiple = true)]
pub(crate) struct Inputs {
    /// Capture files, `-` for standard input
    ///
    /// Two are the two ends of the same traffic. Three or more are one capture, and the answer says
    /// so; or, for diagnose and report, points of one path where all hold the same packets. A directory
    /// stands for the capture files in it.
    #[arg(value_name = "CAPTURE", conflicts_with_all = ["client", "server"])]
    pub(crate) captures: Vec<PathBuf>,

    /// The capture taken at the client: files or a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) client: Vec<PathBuf>,

    /// The capture taken at the server: files or a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) server: Vec<PathBuf>,
}

/// What every command that reads calls understands.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    #[command(flatten)]
    pub(crate) calls: CallFilter,

    #[command(flatten)]
    pub(crate) span: Span,
}

/// Which calls.
#[derive(Args, Debug)]
pub(crate) struct CallFilter {
    /// Only calls of which this is true, such as 'op = READ and response_time > 20ms'
    ///
    /// Compares columns of `slowside calls` and fields of their detail with = != < <= > >= and
    /// ~ (* and ? stand for any characters), joined by and, or, not and parentheses. Values may
    /// have units (20ms, 64k); client = 10.0.0.0/8 takes a network.
    #[arg(long = "where", value_name = "EXPR", value_parser = Filter::parse)]
    pub(crate) filter: Option<Filter>,
}

/// What every command that reads captures understands.
#[derive(Args, Debug)]
pub(crate) struct Span {
    /// Leave out calls that start earlier
    ///
    /// 14:00 on the capture's day or '2026-03-01 14:00:00.5', in local time, 2026-03-01T14:00:00Z,
    /// @1772373600.5 (seconds since the epoch), or 90s or +1.5s after the capture's first packet.
    #[arg(long, value_name = "TIME", value_parser = moment::when)]
    pub(crate) from: Option<When>,

    /// Leave out calls that start later; TIME as in --from
    #[arg(long, value_name = "TIME", value_parser = moment::when)]
    pub(crate) to: Option<When>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// The same but for the time, of which `whatif` has a word of its own.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Threads for each capture; 0: as many as fit the machine
    ///
    /// More than 64 make no difference.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    #[command(flatten)]
    pub(crate) memory: Memory,

    /// Read files as one capture, also where two of them hold the same packets
    ///
    /// Such files are told to be captures of both ends, or refused, as every call that is in two of
    /// them counts twice.
    #[arg(long)]
    pub(crate) as_one: bool,

    /// Read what another process of slowside handed on, which is no capture
    #[arg(long, hide = true)]
    pub(crate) handed_on: bool,

    #[command(flatten)]
    pub(crate) names: Names,

    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is shown in place of names.
#[derive(Args, Debug)]
pub(crate) struct Names {
    /// Show pseudonyms for addresses, names and what statements name; KEY makes them the same again
    ///
    /// The same name has the same pseudonym in everything that is written with the same KEY; without
    /// KEY they are other ones in each run. Addresses keep what they have in common (two of one
    /// network stay so) and whether they are private; of statements keywords and shape stay. Who
    /// guesses KEY can test guesses of names: take a long one and keep it. Times, sizes, ports and
    /// what follows from them stay as they are, and who knows the traffic may know it again.
    /// Standard error is not changed.
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = secret)]
    pub(crate) anonymise: Option<String>,
}

impl Deref for Reading {
    type Target = Span;

    fn deref(&self) -> &Span {
        &self.span
    }
}

impl Deref for Span {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.common
    }
}

impl Reading {
    pub(crate) fn config(&self, captures: &Captures) -> anyhow::Result<Config> {
        let (from, to) = (self.from, self.to);
        self.common.of_calls(from, to, &self.calls, captures)
    }
}

impl Span {
    pub(crate) fn config(&self, captures: &Captures) -> anyhow::Result<Config> {
        self.common.config(self.from, self.to, captures)
    }
}

impl Deref for Common {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.names
    }
}

impl Names {
    /// What makes pseudonyms, where they are asked for.
    pub(crate) fn anonymiser(&self) -> anyhow::Result<Option<Anonymiser>> {
        self.anonymise.as_deref().map(by_key).transpose()
    }
}

/// What makes pseudonyms by a key of `--anonymise`.
pub(crate) fn by_key(key: &str) -> anyhow::Result<Anonymiser> {
    if !key.is_empty() {
        return Ok(Anonymiser::new(key.as_bytes()));
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(|e| {
        anyhow::anyhow!("the system gives no random key: {e}; give one: --anonymise=KEY")
    })?;
    Ok(Anonymiser::new(&key))
}

impl Common {
    pub(crate) fn of_calls(
        &self,
        from: Option<When>,
        to: Option<When>,
        calls: &CallFilter,
        captures: &Captures,
    ) -> anyhow::Result<Config> {
        Ok(Config {
            filter: calls.filter.clone(),
            ..self.config(from, to, captures)?
        })
    }

    fn config(
        &self,
        from: Option<When>,
        to: Option<When>,
        captures: &Captures,
    ) -> anyhow::Result<Config> {
        let zone = TimeZone::system();
        // What is handed on says nothing of the day before it is read.
        let none = Captures::One(Vec::new());
        let captures = if self.handed_on { &none } else { captures };
        let moment = |when: Option<When>| when.map(|w| w.of(captures, &zone)).transpose();
        let (from, to) = (moment(from)?, moment(to)?);
        let empty = match (from, to) {
            (Some(Moment::Absolute(from)), Some(Moment::Absolute(to))) => from > to,
            (Some(Moment::AfterStart(from)), Some(Moment::AfterStart(to))) => from > to,
            _ => false,
        };
        anyhow::ensure!(!empty, "--from is later than --to; exchange them");
        Ok(Config {
            threads: self.threads,
            memory_bytes: self.memory.bytes,
            handed_on: self.handed_on,
            from,
            to,
            ..Config::default()
        })
    }
}

/// The budget of memory.
#[derive(Args, Debug)]
pub(crate) struct Memory {
    /// Memory for connections, statements and what waits in them, such as 512M or 4G
    ///
    /// Where it is used up, connections that have been silent for longest are given up; how many is told as a
    /// problem. What else slowside needs is some 200 MB beside it, and 30 bytes for each call that is diagnosed.
    #[arg(id = "memory", long = "memory", value_name = "SIZE", value_parser = budget, default_value = "1G")]
    pub(crate) bytes: u64,
}

/// What this option means, or its absence.
pub(crate) fn memory_bytes(size: Option<&str>) -> Result<u64, String> {
    size.map_or_else(|| Ok(Config::default().memory_bytes), budget)
}

fn budget(text: &str) -> Result<u64, String> {
    match size(text)? {
        ..LEAST_BUDGET => Err("with less than 64M nothing can be kept; give more".into()),
        bytes => Ok(bytes as u64),
    }
}

const LEAST_BUDGET: usize = 64 << 20;

/// A number of bytes.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let wrong = || "a size is a number and k, M or G, such as 64M".to_owned();
    let ends = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(ends).ok_or_else(wrong)?;
    let shift = match unit.to_ascii_lowercase().trim_end_matches(['b', 'i']) {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return Err(wrong()),
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    number.checked_mul(1 << shift).ok_or_else(wrong)
}

/// The key of `--anonymise`; empty where none is given.
pub(super) fn secret(text: &str) -> Result<String, String> {
    match text.len() {
        1..8 => Err("a key of less than 8 characters is soon guessed; give a longer one".into()),
        _ => Ok(text.to_owned()),
    }
}

/// What the common options say of calls, which start in the time asked for, said of connections, which
/// overlap it.
pub(super) fn of_connections(arg: Arg, event: &str) -> Arg {
    instead(arg, &format!("connections that {event}"))
}

/// The same, said of packets.
pub(super) fn of_packets(arg: Arg, event: &str) -> Arg {
    instead(arg, &format!("packets that {event}"))
}

/// With other words for calls that start in the time asked for.
fn instead(arg: Arg, words: &str) -> Arg {
    let said = |help: Option<&StyledStr>| {
        let text = help.map(ToString::to_string).unwrap_or_default();
        text.replace("calls that start", words)
    };
    let (short, long) = (said(arg.get_help()), said(arg.get_long_help()));
    let arg = arg.help(short);
    if long.is_empty() {
        arg
    } else {
        arg.long_help(long)
    }
}
