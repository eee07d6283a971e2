//! What tools say of a host over time, the evidence of `--host FILE`: counters into series, TCP's own account of its
//! connections, and an NFS client's sums.
//!
//! A file may hold what several tools wrote, one after another. A line `# TIME COMMAND` (RFC 3339 with a zone, or seconds
//! since 1970) stands before a sample and says when it was taken by what; tools that print times of their own need none.
//! Read are (a file each in `host`): `ss -ti`, `/proc/pressure/*`, `vmstat`, `mpstat` and `sar` as text, `iostat -x`,
//! `sadf -j`, `nstat` and `netstat -s`, `ethtool -S`, `/proc/net/rpc/nfsd` and nfsd's `pool_stats`, `tcpretrans`,
//! `tcplife` and `tcpconnlat`, what `tcpdump` or `dumpcap` said at its end; `/proc/self/mountstats` and `nfsiostat` are read as for `--app`.
//!
//! - A sample is of an interval. Counters that only grow are subtracted; one that went back began anew, and gives none.
//! - What is said of the time since the system was started is left out: the first report of `vmstat` and `iostat`.
//! - What lacks a time where one is needed is refused with the line and the cure, not guessed.

mod counter;
mod ethtool;
mod gather;
mod iostat;
mod nfsd;
mod pressure;
mod sadf;
mod sar;
mod snmp;
mod ss;
mod stamp;
mod table;
mod tcp_events;
mod tcpdump;
#[cfg(test)]
mod tests;
mod tool;
mod vmstat;

pub use counter::{Counter, Unit};
pub use tcpdump::CaptureCounts;
pub use tool::Tool;

use crate::lines::Lines;
use crate::{Application, Error};
use gather::Gather;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Samples of a file: 100 MB of them. Those beyond are counted in [`Host::beyond_limit`].
const SAMPLES: usize = 2_000_000;

/// Which host a file is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum End {
    Client,
    Server,
}

/// What one file says of its host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    pub file: String,
    /// Whose it was said to be.
    pub said: Option<End>,
    /// What the host calls itself.
    pub name: Option<String>,
    /// Its addresses, as far as they are named.
    pub addresses: BTreeSet<IpAddr>,
    pub processors: Option<u32>,
    /// In the order in which they were met.
    pub series: Vec<Series>,
    pub connections: Vec<TcpConnection>,
    /// What an NFS client counted of its calls.
    pub sums: Option<Arc<Application>>,
    /// What the program that captured here counted.
    pub counts: Option<CaptureCounts>,
    pub tools: BTreeSet<Tool>,
    /// Lines that could not be read, and the first of them.
    pub skipped_lines: u64,
    pub first_skipped: Option<String>,
    /// Samples beyond those that are kept.
    pub beyond_limit: u64,
}

/// One counter of one device over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    pub counter: Counter,
    /// Disk, interface, or the tool's own name of it; empty where there is but one.
    pub device: Box<str>,
    /// Its times are of a zone that is not said.
    pub is_local: bool,
    /// In order of time.
    pub samples: Vec<Sample>,
}

/// What a counter was between two moments, in thousandths of its unit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sample {
    /// Nanoseconds since 1970.
    pub from_ns: i64,
    pub until_ns: i64,
    pub milli: i64,
}

/// What TCP itself says of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TcpConnection {
    pub local: SocketAddr,
    pub peer: SocketAddr,
    /// In order of time.
    pub samples: Vec<TcpSample>,
}

/// `tcp_info` at a moment. Times and counts are since the connection was opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpSample {
    /// Nanoseconds since 1970, where it is known.
    pub at_ns: Option<i64>,
    /// There was something to send.
    pub busy_ns: i64,
    /// Of that: the peer's window was full, or its own buffer was too small.
    pub rwnd_limited_ns: i64,
    pub sndbuf_limited_ns: i64,
    pub rto_ns: Option<i64>,
    pub rtt_ns: Option<i64>,
    pub min_rtt_ns: Option<i64>,
    /// Segments.
    pub cwnd: Option<u64>,
    pub mss: Option<u64>,
    pub retransmits: u64,
    pub bytes_sent: Option<u64>,
    /// By how many bits windows are shifted: those that it sends, and those that it is sent.
    pub window_shifts: Option<[u8; 2]>,
}

/// Reads what tools said of hosts; of each whose it was said to be.
///
/// # Errors
/// When nothing can be taken from a file.
pub fn read(files: &[(Option<End>, PathBuf)]) -> Result<Vec<Host>, Error> {
    let of = |(said, path): &(Option<End>, PathBuf)| {
        let host = read_one(Lines::open(path)?, path)?;
        Ok(Host {
            said: *said,
            ..host
        })
    };
    files.iter().map(of).collect()
}

/// Whether a file is what [`read`] takes, by its beginning.
#[must_use]
pub fn is_of_host(path: &Path) -> bool {
    Lines::open(path).is_ok_and(|file| {
        let head = String::from_utf8_lossy(file.head()).into_owned();
        let own = |t: &Tool| !matches!(t, Tool::Mountstats | Tool::Nfsiostat);
        head.lines()
            .any(|l| stamp::header(l).is_some() || Tool::of(l).filter(own).is_some())
    })
}

fn read_one(file: Lines, path: &Path) -> Result<Host, Error> {
    if file.head().is_empty() {
        return Err(Error::Empty { file: file.name() });
    }
    Gather::new(SAMPLES).read(file, path)
}

/// The same of bytes, for tests and fuzzing.
///
/// # Errors
/// When nothing can be taken from them.
pub fn read_bytes(name: &str, bytes: &[u8]) -> Result<Host, Error> {
    let lines = Lines::new(name.to_owned(), std::io::Cursor::new(bytes.to_vec()))?;
    read_one(lines, Path::new(name))
}
