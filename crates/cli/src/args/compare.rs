//! `compare`: the two runs.

use super::reading::Reading;
use super::value::{self, HostFile};
use crate::moment;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Say what changed between a good run and a bad one, what it costs, and whether it is chance
///
/// Each is one capture (a file; of a rotated set its directory, or its files with commas between them), the
/// captures of both ends with a comma between them or in one directory, or a run that `slowside diagnose
/// --save` saved. A run of both ends is held against one of one end as that end alone would have it. Runs
/// of unequal volume are compared per call, per byte or per row, runs that did different things by what
/// both did, and the answer says so. What differs by no more than chance, or by less than a tenth, is no
/// difference; of fast calls, nor is what a few of them do.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside compare good-c.pcap,good-s.pcap bad-c.pcap,bad-s.pcap
  slowside compare monday.slowside client.pcap -o compare.html")]
pub(crate) struct Compare {
    /// The run that was as it should be: CAPTURE, CLIENT,SERVER or a saved run
    #[arg(value_name = "BASELINE")]
    pub(crate) baseline: PathBuf,

    /// The run that is not, given likewise
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

    /// What the application measured itself in either run, as for slowside diagnose
    ///
    /// --app baseline=FILE, --app problem=FILE: both, or what one run noted would be held against nothing.
    /// Of a saved run it is saved with it: slowside diagnose --app FILE --save RUN. The same holds for
    /// --server-app and --host.
    #[arg(long, value_name = "RUN=FILE", value_parser = of_run)]
    pub(crate) app: Vec<(WhichRun, PathBuf)>,

    /// What the server measured of its own operations in either run, as for slowside diagnose
    #[arg(long, value_name = "RUN=FILE", value_parser = of_run)]
    pub(crate) server_app: Vec<(WhichRun, PathBuf)>,

    /// What tools said of a host in either run, as for slowside diagnose
    #[arg(long, value_name = "RUN=[SIDE=]FILE", value_parser = host_of_run)]
    pub(crate) host: Vec<(WhichRun, HostFile)>,

    /// How to write the answer: text, unless -o is given
    #[arg(long, value_enum)]
    pub(crate) format: Option<CompareFormat>,

    /// Write a page of HTML with the curves of both runs; `-` for standard output
    ///
    /// An earlier page is replaced, any other file is left alone.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Mean response time below which nobody is blamed; an eighth of it is no difference
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "2ms")]
    pub(crate) fast_enough: i64,

    /// Exit with 1 if the problem is slower, beyond chance, by this many seconds, or alone has its work ended
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) fail_on: Option<i64>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// One of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WhichRun {
    Baseline,
    Problem,
}

fn of_run(text: &str) -> Result<(WhichRun, PathBuf), String> {
    match text.split_once('=') {
        Some(("baseline", file)) if !file.is_empty() => Ok((WhichRun::Baseline, file.into())),
        Some(("problem", file)) if !file.is_empty() => Ok((WhichRun::Problem, file.into())),
        _ => Err("say of which run it is: baseline=FILE or problem=FILE".to_owned()),
    }
}

fn host_of_run(text: &str) -> Result<(WhichRun, HostFile), String> {
    let (run, file) = of_run(text)?;
    Ok((run, value::host(&file.to_string_lossy())?))
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    /// For tickets and wikis
    Markdown,
    Html,
}

fn seconds(text: &str) -> Result<i64, String> {
    moment::positive(&format!("{}s", text.strip_suffix('s').unwrap_or(text)))
}
