//! What programs noted themselves, into records.
//!
//! - Traces of Oracle databases and clients: [`oracle`].
//! - Latencies that an application or its operating system noted, the evidence of `--app FILE` for time
//!   that never shows on the wire: [`read`].
//!
//! - What tools said of a host over time, the evidence of `--host FILE`: [`host`].
//!
//! What a latency log is, is told by its content:
//!
//! - CSV with a header (`csv.rs` has the columns): operations with a start and an end, averages of intervals, or
//!   a list of latencies.
//! - fio latency logs (`fio.rs`): operations.
//! - `/proc/self/mountstats` of a Linux NFS client (`mountstats.rs`): sums per operation kind.
//! - `nfsiostat` output (`nfsiostat.rs`): means per operation kind.
//! - Extended SQL traces of Oracle: waits for blocks of data files (`blocks.rs`), and a server's own times of what its
//!   clients call (`round_trips.rs`).
//! - Oracle's AWR report as text (`awr.rs`).
//! - Distributions of DTrace, bpftrace and BCC (`histogram.rs`), and Oracle's of its waits (`waits.rs`).
//! - Statements of PostgreSQL's log, MySQL's log of slow statements, and their sums (`statements.rs`).
//! - Rows of BCC's nfsslower and its likes, and of biosnoop (`slower.rs`).
//!
//! Any of them may be packed with gzip or xz. A line that cannot be read is counted and the first one is
//! kept in words; only a file from which nothing can be taken is an error.

mod awr;
mod blocks;
mod collector;
mod csv;
mod error;
mod fio;
mod format;
mod ganesha;
mod histogram;
pub mod host;
mod lines;
mod mountstats;
mod nfsiostat;
mod number;
pub mod oracle;
mod round_trips;
mod slower;
mod snapshots;
mod statements;
#[cfg(test)]
mod tests;
mod unpack;
mod waits;

use collector::Collector;
use format::Format;
use lines::Lines;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

pub use blocks::{BlockWait, BlockWaits, ReadEvent};
pub use error::Error;
pub use histogram::{Bucket, Histogram};

/// Operations and samples kept, for what `--app` names together: 1.4 GB of them. Those beyond are counted in
/// [`Application::beyond_limit`].
pub const OPERATIONS: usize = 20_000_000;

/// What the application says about its own operations.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// One entry per operation that the application timed, in the order of the files; empty for
    /// summaries.
    pub operations: Vec<Operation>,
    /// Latencies that nothing identifies: averages of intervals, and lists of latencies without times.
    pub samples: Vec<Sample>,
    /// The hosts that rows name as theirs; [`Operation::client`] is a number of these.
    pub clients: Vec<IpAddr>,
    /// The clients' ends of connections that rows name; `None` where rows are of one connection, and do not say which.
    pub sessions: Vec<Option<SocketAddr>>,
    /// How much earlier than they were the log may note starts and ends.
    pub grain_ns: i64,
    /// Per operation kind, for logs that only hold sums (mountstats, nfsiostat).
    pub summaries: Vec<OperationSummary>,
    /// How many operations took how long, in steps; when each was nobody knows.
    pub histograms: Vec<Histogram>,
    /// The log holds only operations that took at least so long.
    pub slower_than_ns: Option<i64>,
    /// Times are what a client of the calls notes, whatever it was given as.
    pub of_clients: bool,
    /// Operations and samples are of a server, whatever else is told beside them.
    pub of_servers: bool,
    /// Times are those of disks, of which an operation may need none, or several.
    pub of_disks: bool,
    /// What files that tell of disks said, given beside those of operations.
    pub disks: Option<Arc<Application>>,
    /// What a database waited for blocks of data files, from its own trace.
    pub blocks: Option<Arc<BlockWaits>>,
    /// What was read and how it was understood, in words: `fio latency log, …`.
    pub format: String,
    /// Operations without an end: still running, or failed, when the log was written.
    pub unfinished: u64,
    /// Operations left out because there were more than [`OPERATIONS`].
    pub beyond_limit: u64,
    /// Lines that could not be read, and the first of them.
    pub skipped_lines: u64,
    pub first_skipped: Option<String>,
}

impl Application {
    /// Whether each of its rows says whose it is.
    #[must_use]
    pub fn names_clients(&self) -> bool {
        let mut rows = self.operations.iter();
        !self.operations.is_empty() && rows.all(|row| row.client.is_some())
    }
}

/// One operation as the application saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// When the application asked for it (before any queue of its own host), nanoseconds on the
    /// application's clock; relative to an unknown start when `absolute` is false.
    pub start_ns: i64,
    pub end_ns: i64,
    pub absolute: bool,
    pub kind: OperationKind,
    pub offset: Option<u64>,
    pub size: Option<u64>,
    /// Whose it is, where the row names an address.
    pub client: Option<u16>,
    /// Over which connection it was asked for, where the row names the client's port: a number of
    /// [`Application::sessions`].
    pub session: Option<u32>,
}

/// The mean latency of so many operations, which nothing tells from others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sample {
    /// The interval in which they ended, nanoseconds since 1970, where it is known: from here …
    pub from_ns: Option<i64>,
    /// … to here, not included.
    pub until_ns: Option<i64>,
    pub kind: OperationKind,
    pub count: u64,
    pub latency_ns: i64,
    pub client: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum OperationKind {
    Read,
    Write,
    Other,
    /// The log does not say.
    Unsaid,
}

impl OperationKind {
    /// From an operation's name in a log: `READ`, `r`, `pwrite`.
    fn of(name: &str) -> OperationKind {
        let is = |names: &[&str]| names.iter().any(|n| name.eq_ignore_ascii_case(n));
        if is(&["read", "r", "rd", "pread"]) {
            OperationKind::Read
        } else if is(&["write", "w", "wr", "pwrite"]) {
            OperationKind::Write
        } else {
            OperationKind::Other
        }
    }
}

/// Sums of one kind of operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationSummary {
    /// As the log names it, in capitals: `READ`.
    pub op: String,
    /// Operations summed; 1 where the log only holds means (`means_only`).
    pub count: u64,
    /// Waiting in the client before being sent, time on the wire and in the server, and both
    /// together with the client's own work. Nanoseconds over all operations.
    pub queue_ns: i64,
    pub rtt_ns: i64,
    pub execute_ns: i64,
    /// Requests sent again, operations that ran into the mount's time-out, and operations that
    /// failed; 0 where the log does not say.
    pub retransmits: u64,
    pub timeouts: u64,
    pub errors: u64,
    /// The times are means, and how many operations they stand for is unknown.
    pub means_only: bool,
}

/// Reads what an application or its operating system noted. Several files must be of one format, but for those that tell
/// of disks: logs of several jobs or threads are put together, snapshots are compared.
pub fn read(paths: &[PathBuf]) -> Result<Application, Error> {
    let files = paths
        .iter()
        .map(|path| Lines::open(path))
        .collect::<Result<Vec<_>, _>>()?;
    take(files, OPERATIONS)
}

fn take(files: Vec<Lines>, limit: usize) -> Result<Application, Error> {
    if files.is_empty() {
        return Err(Error::NoInput);
    }
    let is_of_disks = |file: &Lines| Ok(Format::of(file)?.is_of_disks(file));
    let told: Vec<bool> = files
        .iter()
        .map(is_of_disks)
        .collect::<Result<_, Error>>()?;
    let mut told = told.into_iter();
    let (disks, others): (Vec<_>, Vec<_>) = files
        .into_iter()
        .partition(|_| told.next().unwrap_or_default());
    let disks = match disks.is_empty() {
        true => None,
        false => Some(Arc::new(of_one_format(disks, limit)?)),
    };
    let application = match (others.is_empty(), &disks) {
        (true, Some(disks)) => Application {
            format: disks.format.clone(),
            ..Application::default()
        },
        _ => of_one_format(others, limit)?,
    };
    Ok(Application {
        disks,
        ..application
    })
}

fn of_one_format(files: Vec<Lines>, limit: usize) -> Result<Application, Error> {
    let mut into = Collector::new(limit);
    let format = Format::of_all(&files)?;
    let first = files.first().map(Lines::name).unwrap_or_default();
    match format {
        Format::Csv => csv::read(files, &mut into)?,
        Format::Fio => fio::read(files, &mut into)?,
        Format::Mountstats => mountstats::read(files, &mut into)?,
        Format::Nfsiostat => nfsiostat::read(files, &mut into)?,
        Format::Oracle => blocks::read(files, &mut into)?,
        Format::Histogram(tool) => histogram::read(tool, files, &mut into)?,
        Format::Rows(tool) => slower::read(tool, files, &mut into)?,
        Format::Waits => waits::read(files, &mut into)?,
        Format::Awr => awr::read(files, &mut into)?,
        Format::Postgresql => statements::postgresql::read(files, &mut into)?,
        Format::Mysql => statements::mysql::read(files, &mut into)?,
        Format::Digests => statements::digests::read(files, &mut into)?,
        Format::Ganesha => ganesha::read(files, &mut into)?,
    }
    into.finish(first)
}

impl Application {
    /// Whether there is nothing of operations, but only of disks.
    #[must_use]
    pub fn is_of_disks_alone(&self) -> bool {
        self.disks.is_some()
            && self.operations.is_empty()
            && self.samples.is_empty()
            && self.summaries.is_empty()
            && self.histograms.is_empty()
            && self.blocks.is_none()
    }
}
