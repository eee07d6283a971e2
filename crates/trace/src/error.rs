//! Why a file cannot be used at all: one line each, with the file and the cure.

use std::io;

/// Nothing can be taken from the file. Whatever leaves something to be read is counted in
/// [`Application`](crate::Application) or [`TraceFile`](crate::oracle::TraceFile) instead.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("no file given for --app; name a latency log")]
    NoInput,
    #[error("cannot open {file}: {error}; check the path and its permissions")]
    Open { file: String, error: io::Error },
    #[error("cannot read {file}: {error}; copy or write it again")]
    Read { file: String, error: io::Error },
    #[error("{file} is empty; wait until the application has written and closed its log")]
    Empty { file: String },
    #[error("{file} is {what}; {cure}")]
    NotText {
        file: String,
        what: &'static str,
        cure: &'static str,
    },
    #[error(
        "{file}, line {line}: \"{text}\" is no latency log; --app and --server-app read CSV with a header (start_ns,end_ns or time,latency_us), fio latency logs, /proc/self/mountstats, nfsiostat output, extended SQL traces, event histograms and AWR reports (text) of Oracle, distributions of DTrace, bpftrace and BCC, rows of nfsslower, ext4slower and biosnoop, PostgreSQL's log, MySQL's log of slow statements, pg_stat_statements, performance_schema's digests and ganesha_stats"
    )]
    Unknown {
        file: String,
        line: u64,
        text: String,
    },
    #[error("{file}, line {line}: the CSV header has {missing}; {cure}")]
    Columns {
        file: String,
        line: u64,
        missing: &'static str,
        cure: &'static str,
    },
    #[error(
        "{file} is a fio {log} log, which holds no latencies of whole operations; give the _lat log of --write_lat_log"
    )]
    FioLog { file: String, log: &'static str },
    #[error("{first} is {first_format}, but {file} is {format}; give files of one format")]
    Mixed {
        first: String,
        first_format: &'static str,
        file: String,
        format: &'static str,
    },
    #[error(
        "{file} is no trace of an Oracle database or client; give the .trc file of event 10046, 10079 or SQL*Net"
    )]
    NoTrace { file: String },
    #[error(
        "{file} holds no wait for blocks of a data file that can be held against a capture; {cure}"
    )]
    NoBlocks { file: String, cure: &'static str },
    #[error(
        "{file} is /proc/net/rpc/nfsd, which counts operations and says no time of them; give two of its snapshots to --host, and here what bpftrace or funclatency say of nfsd_vfs_read and nfsd_vfs_write at the same time"
    )]
    CountsAlone { file: String },
    #[error("{file} holds no duration of a statement{skipped}; {cure}")]
    NoStatements {
        file: String,
        cure: &'static str,
        skipped: String,
    },
    #[error(
        "{file}, line {line}: \"{text}\" is nothing that --host reads: ss -tinm, /proc/pressure/*, vmstat -t, mpstat, iostat -x -t, sar (text, or sadf -j), nstat -as, netstat -s, ethtool -S, mountstats, nfsiostat, /proc/net/rpc/nfsd, tcpretrans, tcplife, tcpconnlat -L, tcpdump's last lines; a line # TIME COMMAND above each sample says what it is"
    )]
    NoHost {
        file: String,
        line: u64,
        text: String,
    },
    #[error("{file} holds no sample of a host that can be used; {reason}")]
    NoSamples { file: String, reason: String },
    #[error("{file} holds no finished operation; {reason}")]
    Nothing { file: String, reason: String },
}
