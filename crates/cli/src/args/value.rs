//! Formats and values that several commands take.

use crate::moment;
use analysis::filter::nearest;
use analysis::results::Order;
use anyhow::anyhow;
use clap::{Args, ValueEnum, value_parser};
use std::path::PathBuf;

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AnswerFormat {
    Text,
    Json,
    Markdown,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupFormat {
    Text,
    Json,
    Csv,
    Markdown,
}

/// A file of `--host`, and whose it was said to be.
pub(crate) type HostFile = (Option<trace::host::End>, PathBuf);

/// `client=FILE`, `server=FILE` or a file.
pub(crate) fn host(text: &str) -> Result<HostFile, String> {
    use trace::host::End;
    let (end, file) = match text.split_once('=') {
        Some(("client", file)) => (Some(End::Client), file),
        Some(("server", file)) => (Some(End::Server), file),
        _ => (None, text),
    };
    match file.is_empty() {
        true => Err("no file is named; give one: --host server=FILE".to_owned()),
        false => Ok((end, file.into())),
    }
}

/// Formats of what is rows, and more, for programs.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableFormat {
    Text,
    Json,
    Csv,
    Markdown,
    /// Columns with types, for analytics (Apache Parquet)
    Parquet,
    /// The same as a stream, for a pipe (Apache Arrow IPC)
    Arrow,
}

/// Formats of rows.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowFormat {
    Csv,
    /// JSON lines
    Jsonl,
    /// Columns with types, for analytics (Apache Parquet)
    Parquet,
    /// The same as a stream, for a pipe (Apache Arrow IPC)
    Arrow,
}

impl TableFormat {
    /// As what its rows are written, if it has nothing but rows.
    pub(crate) fn rows(self) -> Option<RowFormat> {
        match self {
            TableFormat::Text | TableFormat::Json | TableFormat::Markdown => None,
            TableFormat::Csv => Some(RowFormat::Csv),
            TableFormat::Parquet => Some(RowFormat::Parquet),
            TableFormat::Arrow => Some(RowFormat::Arrow),
        }
    }
}

/// In which order a table is listed, and how much of it.
#[derive(Args, Debug)]
pub(crate) struct Sorted {
    /// List rows by this column of --format csv: what is more first, names from a on
    ///
    /// Such as p99_ns, or p99 for short. Columns that hold no single value cannot be sorted by.
    #[arg(long, value_name = "COLUMN")]
    pub(crate) sort: Option<String>,

    /// List only the first N; sums are of all
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(1..))]
    pub(crate) top: Option<u64>,
}

impl Sorted {
    /// Refuses a column that is none of these.
    pub(crate) fn order(&self, known: &[String]) -> anyhow::Result<Order> {
        if let Some(by) = &self.sort
            && !known.contains(by)
        {
            return Err(no_column(by, known));
        }
        let top = self
            .top
            .map(|top| usize::try_from(top).unwrap_or(usize::MAX));
        Ok(Order {
            by: self.sort.clone(),
            top,
        })
    }
}

/// What is said where no column has this name.
pub(crate) fn no_column(name: &str, known: &[String]) -> anyhow::Error {
    match nearest(name, known.iter().map(String::as_str)).first() {
        Some(near) => anyhow!("no column is called `{name}`; did you mean `{near}`?"),
        None => anyhow!(
            "no column is called `{name}`; they are {}",
            known.join(", ")
        ),
    }
}

/// Where rows go.
#[derive(Args, Debug)]
pub(crate) struct Output {
    /// Write Parquet or Arrow into this file, whole or not at all
    ///
    /// What slowside wrote there earlier is replaced, any other file is left alone. Without it, and as `-`, they go to
    /// standard output, unless that is a terminal.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

pub(super) fn width(text: &str) -> Result<i64, String> {
    match moment::positive(text)? {
        ..1_000 => Err("intervals are at least 1us wide, such as 100ms".into()),
        width => Ok(width),
    }
}

pub(super) fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "connections have numbers, which slowside conns --all shows".to_owned())
}

pub(super) fn bandwidth(text: &str) -> Result<u64, String> {
    let wrong = || "a bandwidth is a number and kbit, Mbit or Gbit, such as 100Mbit".to_owned();
    let ends = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text
        .split_at_checked(ends.ok_or_else(wrong)?)
        .ok_or_else(wrong)?;
    let unit = unit.to_ascii_lowercase();
    let factor = match unit.trim_end_matches("/s") {
        "bit" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        _ => return Err(wrong()),
    };
    let number: f64 = number.trim().parse().map_err(|_| wrong())?;
    let bps = number * factor;
    match (1.0..1e15).contains(&bps) {
        true => Ok(bps as u64),
        false => Err(wrong()),
    }
}
