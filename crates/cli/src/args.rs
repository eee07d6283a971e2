//! The command line: what can be asked, with which defaults. A file per command, and what they share.
//!
//! `slowside CAPTURE…` is short for `slowside diagnose CAPTURE…`: the command is put in when the
//! first argument is none.

mod calls;
mod capture;
mod compare;
mod conns;
mod cut;
mod demo;
mod diagnose;
mod explain;
mod info;
mod interface;
mod live;
mod ops;
mod probe;
mod reading;
mod report;
mod shell;
mod sql;
mod startup;
mod stat;
mod trace;
mod value;
mod whatif;

pub(crate) use calls::{Calls, CallsFormat, Order};
pub(crate) use capture::Capture;
pub(crate) use compare::{Compare, CompareFormat, WhichRun};
pub(crate) use conns::{Conns, ConnsFormat};
pub(crate) use cut::Cut;
pub(crate) use demo::Demo;
pub(crate) use diagnose::{Diagnose, FailOn};
pub(crate) use explain::{Explain, rule};
pub(crate) use info::Info;
pub(crate) use interface::FromInterface;
pub(crate) use live::{Live, LiveFormat, Metrics, Otlp};
pub(crate) use ops::{Ops, OpsFormat, labels};
pub(crate) use probe::{Probe, Stream, Switch};
pub(crate) use reading::{Common, Inputs, by_key, memory_bytes};
pub(crate) use report::Report;
pub(crate) use shell::{Completions, Man};
pub(crate) use sql::Sql;
pub(crate) use startup::Startup;
pub(crate) use stat::Stat;
pub(crate) use trace::{ProfileBy, Trace};
pub(crate) use value::{
    AnswerFormat, GroupFormat, HostFile, Output, RowFormat, TableFormat, no_column,
};
pub(crate) use whatif::{Start, WhatIf};

use analysis::filter::nearest;
use clap::{Parser, Subcommand, ValueEnum};
use std::ffi::OsString;
use std::path::Path;

/// Read packet captures and say which side is slow, by how much, and why
#[derive(Parser, Debug)]
#[command(
    name = "slowside",
    version,
    max_term_width = 80,
    disable_help_subcommand = true,
    override_usage = "slowside [diagnose] [OPTIONS] CAPTURE [CAPTURE]\n       slowside COMMAND [OPTIONS] …",
    after_help = "`slowside COMMAND --help` tells all about a command.",
    after_long_help = "\
Examples:
  slowside client.pcap server.pcap       which side is slow, and why
  tcpdump -i eth0 -w - port 2049 | slowside -

For the shell: slowside completions bash (or zsh, fish, …); slowside man.

Exit codes: 2 could not do it; else 1 a finding at or above --fail-on exists;
else 3 done, but some input was damaged; else 0."
)]
pub(crate) struct Arguments {
    /// Without one, what slowside is.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Colors in text: where standard output is a terminal, always, or never
    ///
    /// NO_COLOR=1 turns them off and CLICOLOR_FORCE=1 on where nothing is said here.
    #[arg(long, value_enum, global = true, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,

    /// Leave cells of CSV as they are, for programs
    ///
    /// Else text that a spreadsheet would calculate, as it begins with = + - or @, has an apostrophe
    /// before it.
    #[arg(long, global = true)]
    pub(crate) raw_cells: bool,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    Diagnose(Diagnose),
    Calls(Calls),
    Ops(Ops),
    Conns(Conns),
    Sql(Sql),
    Startup(Startup),
    Info(Info),
    Stat(Stat),
    Live(Box<Live>),
    Capture(Box<Capture>),
    Whatif(WhatIf),
    Compare(Compare),
    Report(Report),
    Cut(Cut),
    Trace(Trace),
    Probe(Box<Probe>),
    Demo(Demo),
    Explain(Explain),
    Completions(Completions),
    Man(Man),
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

const COMMANDS: [&str; 20] = [
    "diagnose",
    "calls",
    "ops",
    "conns",
    "sql",
    "startup",
    "info",
    "stat",
    "live",
    "capture",
    "whatif",
    "compare",
    "report",
    "cut",
    "trace",
    "probe",
    "demo",
    "explain",
    "completions",
    "man",
];

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
