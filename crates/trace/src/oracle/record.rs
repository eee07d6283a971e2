//! What a line or a group of lines of a trace says.
//!
//! Times are nanoseconds. `tim` is the moment at which something was done with, on a clock of which
//! neither start nor zone is known: only differences within a file mean anything.

use super::stamp::Stamp;
pub use model::sqlnet::PacketKind;

/// A record, as soon as it is complete.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Record<'a> {
    /// It was this time when the next line was written.
    Date(Stamp),
    /// What follows is of this process of the operating system: `trcsess` puts the traces of several into one file, and
    /// says before each piece whose it is.
    Process(u64),
    Statement(Statement<'a>),
    Call(Call),
    Wait(Wait<'a>),
    /// Values were bound to the cursor; they are not read.
    Binds {
        cursor: u64,
    },
    /// A line of the execution plan (`STAT`).
    PlanLine {
        cursor: u64,
    },
    Transaction(TransactionEnd),
    /// A call failed: `ERROR #…:err=…`.
    Error {
        cursor: u64,
        code: u32,
    },
    /// What `trace[nsmtio]` says of a full scan: `qertbFetch:NoDirectRead:[- STT < OBJECT_SIZE < MTT]`.
    Decision {
        /// The function that decided.
        function: &'a str,
        /// Whether blocks were read past the buffer cache.
        direct: bool,
        reason: &'a str,
    },
    /// Bytes of event 10079.
    Bytes(NetBytes),
    /// A packet of a SQL*Net trace.
    Packet(Packet),
    /// Its bytes from its header on, where the trace's level shows them: at most 65,536. Comes behind its packet.
    Dump(&'a [u8]),
}

/// `PARSING IN CURSOR`, or `PARSE ERROR`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Statement<'a> {
    pub cursor: u64,
    /// 0 for what the client asked for, more for what the database asked itself on the way.
    pub depth: u32,
    pub sql_id: Option<&'a str>,
    /// At most [`TRACE_SQL_BYTES`](model::limits::TRACE_SQL_BYTES) of it.
    pub text: &'a str,
    /// `PARSE ERROR`: the code of the error.
    pub error: Option<u32>,
    pub tim_ns: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CallKind {
    Parse,
    Exec,
    Fetch,
    Close,
    Unmap,
    SortUnmap,
    /// `LOBREAD` and the like; without a cursor.
    Other(&'static str),
}

impl CallKind {
    /// As the trace writes it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CallKind::Parse => "PARSE",
            CallKind::Exec => "EXEC",
            CallKind::Fetch => "FETCH",
            CallKind::Close => "CLOSE",
            CallKind::Unmap => "UNMAP",
            CallKind::SortUnmap => "SORT UNMAP",
            CallKind::Other(name) => name,
        }
    }
}

/// A database call, written when it was done with; what it waited for stands before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Call {
    pub kind: CallKind,
    pub cursor: u64,
    /// `c`: also that of the recursive calls it made.
    pub cpu_ns: i64,
    /// `e`: also that of the recursive calls it made.
    pub elapsed_ns: i64,
    /// `p`, `cr`, `cu`: blocks read from disk, in consistent and in current mode.
    pub physical_reads: u64,
    pub consistent_reads: u64,
    pub current_reads: u64,
    /// `mis`: it was not in the library cache.
    pub missed: bool,
    /// `r`: rows processed or returned.
    pub rows: u64,
    /// `dep`; not known for operations on LOBs.
    pub depth: Option<u32>,
    /// `type=0` of a `CLOSE`: the session does not keep the cursor.
    pub ends_cursor: bool,
    /// `plh`: hash value of the execution plan.
    pub plan: Option<u64>,
    pub tim_ns: i64,
}

impl Call {
    #[must_use]
    pub fn start_ns(&self) -> i64 {
        self.tim_ns.saturating_sub(self.elapsed_ns)
    }
}

/// A wait, written when it was over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait<'a> {
    pub cursor: u64,
    pub event: &'a str,
    /// `ela`.
    pub elapsed_ns: i64,
    /// The parameters as they are called, `file#`, `block#`, `blocks` or `p1`, `p2`, `p3`, and their
    /// values; those that do not fit are `None`.
    pub parameters: [(&'a str, Option<i64>); 3],
    /// `obj#`: the object it was about; -1 for none.
    pub object: Option<i64>,
    /// Not written by 9i and 10.1.
    pub tim_ns: Option<i64>,
}

impl Wait<'_> {
    /// A parameter by name.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<i64> {
        let found = self.parameters.iter().find(|(n, _)| *n == name);
        found.and_then(|(_, value)| *value)
    }
}

/// `XCTEND`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TransactionEnd {
    pub rollback: bool,
    pub read_only: bool,
    pub tim_ns: Option<i64>,
}

/// `152 bytes received via SQL*Net` of event 10079: the payload, without SQL*Net's own headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetBytes {
    pub sent: bool,
    /// More of the same message follows: the buffer was full.
    pub overflow: bool,
    pub bytes: u64,
}

/// A packet of a SQL*Net trace, as the traced process sent or received it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet {
    pub sent: bool,
    pub kind: PacketKind,
    /// With its header; not known below level 6.
    pub bytes: Option<u32>,
    /// The socket's number within the process.
    pub socket: Option<u32>,
    /// When it was handed to the socket, or had been read from it: nanoseconds of local time, of which
    /// the zone is not known (milliseconds or microseconds are written).
    pub local_ns: Option<i64>,
    /// When the process began to wait for it; of received packets.
    pub waiting_since_ns: Option<i64>,
    /// The line that tells of it, from 1.
    pub line: u64,
}
