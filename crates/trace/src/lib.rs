//! Latencies that an application or its operating system noted itself, into records.

/// What the application says about its own operations.
#[derive(Clone, Debug, Default)]
pub struct Application {
    /// One entry per operation that the application timed; empty for summaries.
    pub operations: Vec<Operation>,
    /// Per operation kind, for logs that only hold sums (mountstats, nfsiostat).
    pub summaries: Vec<OperationSummary>,
    /// What was read, in words: `fio latency log`.
    pub format: String,
    /// Lines that could not be read, and the first of them.
    pub skipped_lines: u64,
    pub first_skipped: Option<String>,
}

/// One operation as the application saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Operation {
    /// When the application asked for it (before any queue of its own host), nanoseconds on the
    /// application's clock; relative to an unknown start when `absolute` is false.
    pub start_ns: i64,
    pub end_ns: i64,
    pub absolute: bool,
    pub kind: Kind,
    pub offset: Option<u64>,
    pub size: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Read,
    Write,
    Other,
}

/// Sums of one kind of operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OperationSummary {
    /// As the log names it: `READ`.
    pub op: String,
    pub count: u64,
    /// Waiting in the client before being sent, time on the wire and in the server, and both
    /// together. Nanoseconds over all operations.
    pub queue_ns: i64,
    pub rtt_ns: i64,
    pub execute_ns: i64,
}
