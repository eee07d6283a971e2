//! `diagnose`: which captures, what the application measured, what is judged by.

use super::explain::rule;
use super::reading::{Inputs, Reading};
use super::value::{self, GroupFormat, HostFile};
use crate::moment;
use analysis::findings::Rule;
use clap::Args;
use std::path::PathBuf;

/// Say which side is slow, by how much, and why (the default command)
///
/// Give the capture of one end or, better, of both ends. Which capture was taken where is found
/// out; --client and --server state it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside client.pcap server.pcap
  slowside client.pcap firewall.pcap server.pcap
  slowside app1.pcap app2.pcap array.pcap
  slowside client.pcap server.pcap --app rows.csv --server-app operations.csv
  slowside server.pcap --server-app dtrace.txt --server-app biolatency.txt
  slowside server.pcap --server-app postgresql.csv
  slowside server.pcap --host server=sadf.json --host ss-server.txt
  slowside diagnose --client c.pcap0 c.pcap1 --server array/ --fail-on 10")]
pub(crate) struct Diagnose {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// A capture taken between both ends, such as at a firewall; may be given several times
    ///
    /// A file or a directory each, in any order. The answer says how much of the path lies between which
    /// capture points. Three files or more that hold the same packets are told to be such captures.
    #[arg(long, value_name = "FILE", conflicts_with = "save")]
    pub(crate) between: Vec<PathBuf>,

    /// How to write the answer; CSV has a row per finding, Markdown is for tickets
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// What the application measured itself
    ///
    /// CSV with a header and a row for each operation: start_ns,end_ns or time,latency_us (time is
    /// the start), and op, offset, client (an address) where known. They are joined with calls by
    /// offset and time, or by time alone.
    ///
    /// CSV of averages, time,count,latency_ms (time is when the interval began) or
    /// start_ns,end_ns,count,latency_ms; or a list, latency_ms and nothing else: their mean is held
    /// against the mean of the calls (of the same time).
    ///
    /// A fio latency log, nfsiostat output, or /proc/self/mountstats: for its two snapshots, give
    /// --app twice.
    /// Or an extended SQL trace (event 10046) of an Oracle database on the client's host, whose waits
    /// for blocks are joined with NFS READs I/O by I/O; or its v$event_histogram or AWR report (text).
    ///
    /// Distributions of DTrace (quantize), bpftrace (hist) and BCC (nfsdist), and rows of nfsslower: of
    /// these only what their bounds prove is said.
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Vec<PathBuf>,

    /// What the server measured of its own operations
    ///
    /// CSV as for --app, a row for each operation, on the clock of the server's host. Each lies within
    /// the call that it serves, as the server's capture (or the only one) has it: what the call takes
    /// beyond it is a queue of the server, before the operation or behind it. With op and offset rows are
    /// joined call by call; a list or averages are held against the mean of the calls.
    ///
    /// Distributions of DTrace (quantize, its unit in the title: "read (us)"), bpftrace (hist, its unit in
    /// the map's name: @usecs) and BCC (ext4dist, funclatency), and rows of ext4slower 0: of these only
    /// what their bounds prove is said. What biolatency and biosnoop say is the layer of the disks, and
    /// may be given beside another.
    ///
    /// PostgreSQL's log (log_min_duration_statement; with %r, csvlog or jsonlog statement by statement),
    /// MySQL's log of slow statements, two snapshots of pg_stat_statements, of performance_schema's
    /// digests or of ganesha_stats; Oracle's AWR report (text), or an extended SQL trace (event 10046,
    /// level 8) of a session whose calls are in the capture: round trip by round trip.
    ///
    /// With --app or --server-app the answer has a table of layers, from the application to the
    /// server's operation.
    #[arg(long, value_name = "FILE")]
    pub(crate) server_app: Vec<PathBuf>,

    /// What tools said of a host over time: of which side is found out, or said
    ///
    /// --host FILE finds it by addresses (ss), by client or server in the file's name, or by what only one end
    /// counts; --host client=FILE and --host server=FILE say it. Give it as often as there are files.
    ///
    /// ss -tinm, /proc/pressure/*, vmstat -t, mpstat, iostat -x -t, sar (text, or sadf -j), nstat -as,
    /// netstat -s, ethtool -S, /proc/net/rpc/nfsd, tcpretrans, tcplife, tcpconnlat -L; of an NFS client mountstats and
    /// nfsiostat; of the capture what tcpdump or dumpcap said when it ended (its drops). A line "# TIME COMMAND" above each sample says when it was taken by what, so that a file
    /// may hold several tools; docs/evidence.md has scripts.
    ///
    /// A counter explains a side that packets accuse, where it is high while calls are slow and low while
    /// they are not (host-cpu, disk-slow, host-memory, nic-drops), and never accuses one.
    #[arg(long, value_name = "[SIDE=]FILE", value_parser = value::host)]
    pub(crate) host: Vec<HostFile>,

    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Exit with 1 if a finding costs this many seconds or ends the work, or has this code, or none can be told
    ///
    /// `undetermined` is for whoever has to know that captures do not carry an answer: the verdict's side is that.
    #[arg(long, value_name = "SECONDS|CODE|undetermined", value_parser = fail_on)]
    pub(crate) fail_on: Option<FailOn>,

    /// Also save what `slowside compare` needs of this run: some 10 to 200 kB
    ///
    /// An earlier run is replaced, any other file is left alone. Names are in it as they are shown: with
    /// --anonymise pseudonyms, which runs with the same KEY share.
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// What a diagnosis judges by.
#[derive(Args, Debug)]
pub(crate) struct Judging {
    /// Server's clock minus client's clock, such as 1.5ms or -3s
    ///
    /// Without it the offset is estimated from the captures.
    #[arg(long, value_name = "DURATION", value_parser = moment::duration, allow_hyphen_values = true)]
    pub(crate) clock_offset: Option<i64>,

    /// Mean response time below which nobody is blamed
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "2ms")]
    pub(crate) fast_enough: i64,

    /// Response time beyond which even a fast mean is no excuse
    #[arg(long, value_name = "DURATION", value_parser = moment::positive, default_value = "20ms")]
    pub(crate) tail: i64,
}

/// What makes a run fail although it could be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FailOn {
    CostNs(i64),
    Rule(Rule),
    Undetermined,
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text);
    if seconds.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return moment::positive(&format!("{seconds}s")).map(FailOn::CostNs);
    }
    match text {
        "undetermined" => Ok(FailOn::Undetermined),
        code => rule(code).map(FailOn::Rule),
    }
}
