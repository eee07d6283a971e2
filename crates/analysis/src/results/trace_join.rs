//! What a database's trace and the READs of the client's capture say together.

use super::Evidence;
use crate::stats::Summary;
use crate::trace_join::align::TraceClock;
use model::Time;

/// A wait of a database beside the READs that served it. Times in nanoseconds.
#[derive(Clone, Debug)]
pub struct JoinedRead {
    /// As the trace names it: `db file sequential read`.
    pub event: &'static str,
    /// The database's number of the file, and the first of so many blocks.
    pub file: u32,
    pub block: u32,
    pub blocks: u32,
    /// When the wait ended, on the clock of the client's capture.
    pub end: Time,
    /// The database's wait.
    pub oracle_ns: i64,
    /// From the first request's first byte to the last response's last byte, at the client and, where all
    /// of them are in its capture, at the server.
    pub wire_ns: i64,
    pub server_ns: Option<i64>,
    /// READs that served it.
    pub reads: u64,
    /// Their packets at the client.
    pub evidence: Vec<Evidence>,
}

/// Sums of one wait event.
#[derive(Clone, Debug)]
pub struct EventSum {
    pub event: &'static str,
    /// Waits while the capture ran.
    pub waits: u64,
    /// Of those that were joined: the database's time, the wire's at the client and at the server.
    pub oracle: Summary,
    pub wire: Summary,
    pub server: Option<Summary>,
}

/// A data file, as far as it was learned which it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataFile {
    /// The database's number.
    pub file: u32,
    /// Hash of the NFS file handle.
    pub handle: Option<u64>,
    /// As far as names were seen.
    pub path: Option<String>,
    pub joined: u64,
}

/// A trace joined with the NFS READs of the client's capture.
#[derive(Clone, Debug)]
pub struct TraceJoinResult {
    pub clock: TraceClock,
    /// Size of the database's blocks, found by the join.
    pub block_bytes: u64,
    /// Waits for blocks in the trace, those while the capture ran, and those of them that were joined.
    pub waits: u64,
    pub during: u64,
    pub joined: u64,
    pub files: Vec<DataFile>,
    pub events: Vec<EventSum>,
    /// The longest, longest first; a bounded number.
    pub worst: Vec<JoinedRead>,
}
