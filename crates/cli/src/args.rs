//! The command line: what can be asked, with which defaults.
//!
//! `slowside CAPTURE…` is short for `slowside diagnose CAPTURE…`: the command is put in when the
//! first argument is none.

mod interface;
mod live;
mod probe;

pub(crate) use interface::FromInterface;
pub(crate) use live::{Live, LiveFormat};
pub(crate) use probe::{Probe, Stream, Switch};

use crate::moment;
use analysis::filter::{Filter, PacketFilter, nearest};
use analysis::findings::Rule;
use analysis::group::Key;
use analysis::sql::SqlKey;
use analysis::whatif::Point;
use clap::builder::StyledStr;
use clap::{Arg, Args, Parser, Subcommand, ValueEnum};
use model::Anonymiser;
use slowside::{Config, Frames, Moment, WhichFinding};
use std::ffi::OsString;
use std::net::IpAddr;
use std::ops::Deref;
use std::path::{Path, PathBuf};

/// Read packet captures and say which side is slow, by how much, and why
#[derive(Parser, Debug)]
#[command(
    name = "slowside",
    version,
    arg_required_else_help = true,
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
    #[command(subcommand)]
    pub(crate) command: Command,

    /// Colors in text: where standard output is a terminal, always, or never
    ///
    /// NO_COLOR=1 turns them off and CLICOLOR_FORCE=1 on where nothing is said here.
    #[arg(long, value_enum, global = true, value_name = "WHEN", default_value_t = Color::Auto)]
    pub(crate) color: Color,
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
    Whatif(WhatIf),
    Compare(Compare),
    Report(Report),
    Cut(Cut),
    Trace(Trace),
    Probe(Box<Probe>),
    Explain(Explain),
    Completions(Completions),
    Man(Man),
}

/// Say which side is slow, by how much, and why (the default command)
///
/// Give the capture of one end or, better, of both ends. Which capture was taken where is found
/// out; --client and --server state it.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside client.pcap server.pcap
  slowside diagnose --client c.pcap0 c.pcap1 --server array/ --fail-on 10")]
pub(crate) struct Diagnose {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

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
    /// for blocks are joined with NFS READs I/O by I/O.
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Exit with 1 if a finding costs this many seconds or ends the work, or has this code
    #[arg(long, value_name = "SECONDS|CODE", value_parser = fail_on)]
    pub(crate) fail_on: Option<FailOn>,

    /// Also save what `slowside compare` needs of this run: some 10 to 200 kB, names and all
    #[arg(long, value_name = "FILE", conflicts_with = "anonymise")]
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

/// Write a row per call: packets, times, outcome, what held it up
///
/// The captures are judged first and read again, as what divides a call's time may come long after it: rows
/// come at the end. What of it is certain, and what is bounded, docs/ledger.md explains.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside calls client.pcap server.pcap --where 'response_time > 20ms'
  slowside calls ring/ --from '2026-03-01 14:00:00' --sort start --format jsonl")]
pub(crate) struct Calls {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the rows
    #[arg(long, value_enum, default_value_t = RowFormat::Csv)]
    pub(crate) format: RowFormat,

    /// The order of the rows; by start, large captures are sorted on disk (in TMPDIR)
    #[arg(long, value_enum, default_value_t = Order::Completion)]
    pub(crate) sort: Order,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Count and time calls by operation, client, file, …
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside ops server.pcap --histogram
  slowside ops server.pcap --by op,client,time=10s --format csv")]
pub(crate) struct Ops {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// How to write the groups
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// What to group by: op, client, server, connection, file, size, time=DURATION
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = key, default_value = "op")]
    pub(crate) by: Vec<Key>,

    /// Show response times by powers of two (text; JSON always has them)
    #[arg(long)]
    pub(crate) histogram: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// List TCP connections with what they waited for, those that waited most first
///
/// Each direction's time is divided into classes such as receiver-application (the window was
/// closed) or loss-recovery; `slowside conns --fields` explains them.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside conns --client c.pcap --server s.pcap --connection 3
  slowside conns client.pcap --series 100ms --format csv")]
// An exclusive option goes without required arguments, but not without a required group.
#[command(mut_group("input", |g| g.required(false)))]
#[command(mut_arg("captures", |a| a.required_unless_present_any(["client", "server"])))]
#[command(mut_arg("from", |a| of_connections(a, "end")))]
#[command(mut_arg("to", |a| of_connections(a, "start")))]
#[command(mut_arg("filter", |a| a.hide(true)))]
pub(crate) struct Conns {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the connections
    #[arg(long, value_enum, default_value_t = ConnsFormat::Text)]
    pub(crate) format: ConnsFormat,

    /// Only this connection, in full: what it was and did, with frames of its longest waits
    ///
    /// Connections are numbered from 1 in the order of their first packets; the list shows the
    /// numbers.
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) connection: Option<u64>,

    /// What connections did over time: a row for each interval of this width, such as 100ms
    ///
    /// Packets, bytes, round trips, bytes in flight, windows, retransmissions and outstanding
    /// calls, of each interval in which a packet was seen, by time and connection; --fields
    /// explains the columns. As CSV, JSON lines or, with --connection, text. Many rows are sorted
    /// on disk (in TMPDIR).
    #[arg(long, value_name = "DURATION", value_parser = width)]
    pub(crate) series: Option<i64>,

    /// List all connections, not only the 20 that waited most (text)
    #[arg(long)]
    pub(crate) all: bool,

    /// Explain the fields of --format json and csv, and of --series; needs no capture
    #[arg(long, exclusive = true)]
    pub(crate) fields: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Profile the statements of databases: time, round trips, rows per fetch, and whose time it was
///
/// Oracle SQL*Net, PostgreSQL and MySQL are read off the wire. Statements are shown without their
/// literals, and no value, row or password is shown. With captures of both ends the server's part is
/// measured, with one it is estimated.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside sql client.pcap
  slowside sql --client c.pcap --server s.pcap --by user,statement --format csv")]
pub(crate) struct Sql {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the profile
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// What to group by: statement, client, program, user, service, connection
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sql_key, default_value = "statement")]
    pub(crate) by: Vec<SqlKey>,

    /// Show statements as they were sent, with the values in them
    #[arg(long)]
    pub(crate) show_literals: bool,

    /// List all statements and sessions, not only those that took most (text)
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Say why it took so long to start or to log in: what a client waited for, and what each wait cost
///
/// Names (DNS, mDNS, LLMNR, NetBIOS), hardware addresses, broadcasts, connections, logons, files: each
/// wait with what ended it. The time between a client's first packet and its last is divided among
/// them; what overlaps is charged once, to the wait that began last.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside startup login.pcap --client 10.0.0.17
  slowside startup office.pcap --client 10.0.0.17 --from 95s --to 130s --all")]
pub(crate) struct Startup {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(value_name = "CAPTURE", required = true)]
    pub(crate) captures: Vec<PathBuf>,

    /// The client's address; several, comma separated, are one client
    ///
    /// A host with an IPv4 and an IPv6 address is known by both. Without it the host that waited
    /// longest is shown.
    #[arg(long, value_name = "ADDR", value_delimiter = ',')]
    pub(crate) client: Vec<IpAddr>,

    /// How to write the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(crate) format: AnswerFormat,

    /// List all waits, in order of time, not only the costliest (text)
    #[arg(long)]
    pub(crate) all: bool,

    /// Look at what begins from then on
    ///
    /// 2026-03-01T14:00:00Z, '2026-03-01 14:00:00.5' in local time, @1772373600.5 (seconds since
    /// the epoch), or 90s or +1.5s after the capture's first packet.
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) from: Option<Moment>,

    /// Look at what happens until then; without it, at two minutes from the client's first packet
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) to: Option<Moment>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Say what a capture is worth: what it holds, what it lacks, what that limits
///
/// Whether it is good enough for a verdict, and what to do better; then duration, rates, snap length,
/// drops, gaps and steps in time, handshakes, duplicates, protocols and hosts.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside info ring/ --format json | jq '.limits[].code'
  slowside info -i eth0 --for 10s")]
#[command(mut_arg("filter", |a| a.hide(true)))]
#[command(mut_arg("from", |a| of_packets(a, "come")))]
#[command(mut_arg("to", |a| of_packets(a, "come")))]
pub(crate) struct Info {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub(crate) captures: Vec<PathBuf>,

    /// How to write the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(crate) format: AnswerFormat,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // Its heading holds for what stands behind it.
    #[command(flatten)]
    pub(crate) from_interface: FromInterface,
}

/// Count packets, bytes and calls in intervals: rates, sizes, response times
///
/// The first interval begins with the first packet. Sizes are those on the wire; a call counts in the
/// interval in which it is completed.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside stat server.pcap --interval 100ms --where 'op = READ' --format csv
  slowside stat -i eth0 --filter 'port 2049' --interval 10s")]
#[command(mut_arg("from", |a| of_packets(a, "come and calls that start")))]
#[command(mut_arg("to", |a| of_packets(a, "come and calls that start")))]
pub(crate) struct Stat {
    /// Files of one capture, or a directory; `-` for standard input
    #[arg(
        value_name = "CAPTURE",
        required_unless_present = "interface",
        conflicts_with = "interface"
    )]
    pub(crate) captures: Vec<PathBuf>,

    /// Width of the intervals, such as 100ms
    #[arg(long, value_name = "DURATION", value_parser = width, default_value = "1s")]
    pub(crate) interval: i64,

    /// Only packets of which this is true, such as 'port = 2049 and bytes > 1k'
    ///
    /// Compares host, source, destination (addresses or networks), port, source.port,
    /// destination.port, protocol (tcp, udp, icmp, icmpv6, arp, stp, ip, fragment, other, unread),
    /// bytes, captured, vlan, cast (unicast, multicast, broadcast) and frame as --where does.
    /// Which calls count is said by --where.
    #[arg(long, value_name = "EXPR", value_parser = PacketFilter::parse)]
    pub(crate) packets: Option<PacketFilter>,

    /// How to write the intervals
    #[arg(long, value_enum, default_value_t = StatFormat::Text)]
    pub(crate) format: StatFormat,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // Its heading holds for what stands behind it.
    #[command(flatten)]
    pub(crate) from_interface: FromInterface,
}

/// Predict what another path, fetch size or server would make of the statements in a capture
///
/// Time is round trips × RTT + transfer + service + think, each measured, and replaced by what is
/// asked for. With --from and throughputs instead of a capture, the service time behind them is
/// fitted.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside whatif client.pcap server.pcap --fetch-size 500 --rtt 0.5ms
  slowside whatif --from '2356@0.021ms,1567@0.161ms,854@0.685ms' --rtt 2ms")]
#[command(mut_group("input", |g| g.required(false)))]
#[command(mut_arg("captures", |a| a.required_unless_present_any(["client", "server", "start"])))]
pub(crate) struct WhatIf {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Round trip time between client and server
    #[arg(long, value_name = "DURATION", value_parser = moment::positive)]
    pub(crate) rtt: Option<i64>,

    /// Rows asked for per fetch
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) fetch_size: Option<u64>,

    /// Rows that each statement that fetches brings in all
    #[arg(long, value_name = "ROWS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rows: Option<u64>,

    /// Oracle's session data unit, bytes
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u64).range(512..=2_097_152))]
    pub(crate) sdu: Option<u64>,

    /// Bandwidth of the line: 100Mbit, 1Gbit
    #[arg(long, value_name = "RATE", value_parser = bandwidth)]
    pub(crate) bandwidth: Option<u64>,

    /// How many times as long the server takes: 0.5 is twice as fast
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(crate) server_factor: Option<f64>,

    /// How to write the answer
    #[arg(long, value_enum, default_value_t = AnswerFormat::Text)]
    pub(crate) format: AnswerFormat,

    /// Leave out calls that start earlier (TIME); or fit throughputs: PER_SECOND@RTT,…
    #[arg(id = "start", long = "from", value_name = "TIME|PAIRS", value_parser = start)]
    pub(crate) from: Option<Start>,

    /// Leave out calls that start later
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) to: Option<Moment>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// Write it all as a page to look at: findings, charts, connections, slow calls
///
/// One file of HTML that opens in any browser, without a network, and may be sent by mail. The numbers are
/// those of diagnose, conns and sql; the captures are read several times. From a finding, a point of a
/// chart or a slow call it leads to the packets, with filters and commands to copy.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside report client.pcap server.pcap -o monday.html
  slowside report --server ring/ --from '2026-03-01 14:00:00' --connection 17")]
pub(crate) struct Report {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Where to write the page; `-` for standard output
    ///
    /// An earlier report is replaced, any other file is left alone.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,

    /// Show this connection in full, too; may be given several times
    ///
    /// Numbers are those of slowside conns.
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) connection: Vec<u64>,

    /// How many connections are shown in full: those that findings name, then those that waited most
    #[arg(long, value_name = "COUNT", default_value_t = 6, value_parser = few)]
    pub(crate) connections: usize,

    /// What the application measured itself, as for slowside diagnose
    #[arg(long, value_name = "FILE")]
    pub(crate) app: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) judging: Judging,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Write the packets that prove something to pcapng, with comments that say why they are there
///
/// Give at least one of --finding, --connection, --call, --where, --frames, --from and --to; what they
/// choose adds up. Of a time alone just what is in it is written. Else also the opening of each
/// connection that is cut, without which nobody knows how its windows are scaled, and everything of it
/// between the packets that are wanted, so that its bytes can be put together; of a connection that is
/// not RPC also what was said before (its first 20,000 packets), as its messages need not name what
/// they answer. --only leaves all that out. A call is cut from its request's first packet to its
/// response's last, in both captures where there are two.
///
/// Link type, time to the nanosecond, captured and original length, direction and comments stay as they
/// were. Frames get new numbers; the comments name the old ones. In Wireshark the display filter
/// frame.comment finds the commented ones.
///
/// What is cut looks to a diagnosis like a capture that lacks packets: diagnose the whole.
///
/// The captures are read several times; what can be read only once, as standard input, is kept in
/// TMPDIR meanwhile. With --anonymise addresses become pseudonyms at every layer and payload becomes
/// zeros, but for what pairs the calls of ONC-RPC; checksums are made anew. Times, lengths, ports and
/// sequence numbers stay.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside cut client.pcap server.pcap --finding 1 -o evidence.pcapng
  slowside cut server.pcap --where 'response_time > 20ms' -o slow.pcapng")]
#[command(mut_arg("from", |a| a.help("Only what is in this time; alone, all packets in it").long_help(
    "Only what is in this time; alone, all packets in it
\n\
     Calls count by their start. 2026-03-01T14:00:00Z, '2026-03-01 14:00:00.5' in local time, \
     @1772373600.5 (seconds since the epoch), or 90s or +1.5s after the capture's first packet.")))]
#[command(mut_arg("to", |a| a.help("The end of that time; TIME as in --from")))]
pub(crate) struct Cut {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Where to write; of two captures there are two files
    ///
    /// FILE-client.pcapng and FILE-server.pcapng where -o says FILE.pcapng, or FILE-1 and FILE-2 where
    /// it is not known which is which. `-` is standard output, for one capture.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The packets that a finding names as evidence, and the calls they are of
    ///
    /// Its number or its code, as slowside diagnose with the same --where, --from and --to shows it.
    #[arg(long, value_name = "CODE|N", value_parser = which_finding)]
    pub(crate) finding: Option<WhichFinding>,

    /// A connection, by the number that slowside conns shows
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) connection: Option<u64>,

    /// Calls with this id, as slowside calls shows it: 0x4ecb8123
    #[arg(long, value_name = "ID", value_parser = call_id)]
    pub(crate) call: Option<u32>,

    /// Frames by number: 812,845,900-910; of several files, FILE:812
    #[arg(long, value_name = "LIST", value_parser = frames)]
    pub(crate) frames: Vec<FrameList>,

    /// Only the packets that were named, without openings and what is around them
    #[arg(long)]
    pub(crate) only: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Numbers of frames as they were given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FrameList {
    pub(crate) text: String,
    pub(crate) frames: Vec<Frames>,
}

/// What `whatif` starts from.
#[derive(Clone, Debug)]
pub(crate) enum Start {
    At(Moment),
    Pairs(Vec<Point>),
}

/// Say what changed between a good run and a bad one, what it costs, and whether it is chance
///
/// Each is one capture (a file, or a directory with its files), the captures of both ends with a comma
/// between them or in one directory, or a run that `slowside diagnose --save` saved. A run of both ends
/// is held against one of one end as that end alone would have it. Runs of unequal volume are compared
/// per call, per byte or per row, runs that did different things by what both did, and the answer says
/// so. What differs by no more than chance, or by less than a tenth, is no difference; of fast calls,
/// nor is what a few of them do.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside compare good-c.pcap,good-s.pcap bad-c.pcap,bad-s.pcap
  slowside compare monday.slowside client.pcap -o compare.html")]
pub(crate) struct Compare {
    /// The run that was as it should be
    #[arg(value_name = "BASELINE")]
    pub(crate) baseline: PathBuf,

    /// The run that is not
    #[arg(value_name = "PROBLEM")]
    pub(crate) problem: PathBuf,

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

/// Say where the time went in traces that an Oracle database or client wrote
///
/// Reads extended SQL traces (event 10046), SQL*Net traces and event 10079, plain, .gz, .xz or .zip, of
/// releases from 8i to 23ai. Values of bind variables are never shown.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside trace orcl_ora_4711.trc
  slowside trace *.trc.gz --by statement --format csv")]
pub(crate) struct Trace {
    /// Trace files, `-` for standard input; several are taken together
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// How to write the profile
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// Only statements or only events; CSV has statements unless said
    #[arg(long, value_enum)]
    pub(crate) by: Option<ProfileBy>,

    /// Show statements as they were written, with the values in them
    #[arg(long)]
    pub(crate) show_literals: bool,

    /// List all rows, not only the first (text)
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) names: Names,

    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// Explain a finding: what it says, why it costs time, what to check, when it is wrong
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside explain
  slowside explain server-concurrency-cap")]
pub(crate) struct Explain {
    /// Code of a finding; without one, all are listed
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// Write what a shell needs to complete commands, options and their values
#[derive(Args, Debug)]
#[command(hide = true)]
#[command(after_long_help = "\
Examples:
  slowside completions bash > /etc/bash_completion.d/slowside
  slowside completions zsh > ~/.zfunc/_slowside")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages, made of what --help says
#[derive(Args, Debug)]
#[command(hide = true)]
#[command(after_long_help = "\
Examples:
  slowside man diagnose | man -l -
  slowside man --dir /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The command whose page is written to standard output; without one, the page of slowside
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub(crate) command: Option<String>,

    /// Write the pages of all commands as files into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}

/// The captures of commands that take one end or both.
#[derive(Args, Debug)]
#[group(id = "input", required = true, multiple = true)]
pub(crate) struct Inputs {
    /// Capture files, `-` for standard input
    ///
    /// Two are the two ends of the same traffic. Three or more are one capture, and the answer says
    /// so. A directory stands for the capture files in it.
    #[arg(value_name = "CAPTURE", conflicts_with_all = ["client", "server"])]
    pub(crate) captures: Vec<PathBuf>,

    /// The capture taken at the client: files or a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) client: Vec<PathBuf>,

    /// The capture taken at the server: files or a directory
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub(crate) server: Vec<PathBuf>,
}

impl Inputs {
    /// All files that are named, with the application's.
    pub(crate) fn files<'a>(&'a self, app: &'a [PathBuf]) -> [&'a [PathBuf]; 4] {
        [&self.captures, &self.client, &self.server, app]
    }
}

/// What every command that reads captures understands.
#[derive(Args, Debug)]
pub(crate) struct Reading {
    /// Leave out calls that start earlier
    ///
    /// 2026-03-01T14:00:00Z, '2026-03-01 14:00:00.5' in local time, @1772373600.5 (seconds since
    /// the epoch), or 90s or +1.5s after the capture's first packet.
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) from: Option<Moment>,

    /// Leave out calls that start later; TIME as in --from
    #[arg(long, value_name = "TIME", value_parser = moment::moment)]
    pub(crate) to: Option<Moment>,

    #[command(flatten)]
    pub(crate) common: Common,
}

/// The same but for the time, of which `whatif` has a word of its own.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Threads for each capture; 0: as many as fit the machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) threads: usize,

    /// Only calls of which this is true, such as 'op = READ and response_time > 20ms'
    ///
    /// Compares columns of `slowside calls` and fields of their detail with = != < <= > >= and
    /// ~ (* and ? stand for any characters), joined by and, or, not and parentheses. Values may
    /// have units (20ms, 64k); client = 10.0.0.0/8 takes a network.
    #[arg(long = "where", value_name = "EXPR", value_parser = Filter::parse)]
    pub(crate) filter: Option<Filter>,

    #[command(flatten)]
    pub(crate) names: Names,

    /// No progress and no notes on standard error
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// What is shown in place of names.
#[derive(Args, Debug)]
pub(crate) struct Names {
    /// Show pseudonyms for addresses, names and what statements name; KEY makes them the same again
    ///
    /// The same name has the same pseudonym in everything that is written with the same KEY; without
    /// KEY they are other ones in each run. Addresses keep what they have in common (two of one
    /// network stay so) and whether they are private; of statements keywords and shape stay. Who
    /// guesses KEY can test guesses of names: take a long one and keep it. Times, sizes, ports and
    /// what follows from them stay as they are, and who knows the traffic may know it again.
    /// Standard error is not changed.
    #[arg(long, value_name = "KEY", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = secret)]
    pub(crate) anonymise: Option<String>,
}

impl Deref for Reading {
    type Target = Common;

    fn deref(&self) -> &Common {
        &self.common
    }
}

impl Reading {
    pub(crate) fn config(&self) -> anyhow::Result<Config> {
        self.common.config(self.from, self.to)
    }
}

impl Deref for Common {
    type Target = Names;

    fn deref(&self) -> &Names {
        &self.names
    }
}

impl Names {
    /// What makes pseudonyms, where they are asked for.
    pub(crate) fn anonymiser(&self) -> anyhow::Result<Option<Anonymiser>> {
        let Some(key) = &self.anonymise else {
            return Ok(None);
        };
        if key.is_empty() {
            let mut key = [0; 32];
            getrandom::fill(&mut key).map_err(|e| {
                anyhow::anyhow!("the system gives no random key: {e}; give one: --anonymise=KEY")
            })?;
            return Ok(Some(Anonymiser::new(&key)));
        }
        Ok(Some(Anonymiser::new(key.as_bytes())))
    }
}

impl Common {
    pub(crate) fn config(
        &self,
        from: Option<Moment>,
        to: Option<Moment>,
    ) -> anyhow::Result<Config> {
        let empty = match (from, to) {
            (Some(Moment::Absolute(from)), Some(Moment::Absolute(to))) => from > to,
            (Some(Moment::AfterStart(from)), Some(Moment::AfterStart(to))) => from > to,
            _ => false,
        };
        anyhow::ensure!(!empty, "--from is later than --to; exchange them");
        Ok(Config {
            threads: self.threads,
            from,
            to,
            filter: self.filter.clone(),
            ..Config::default()
        })
    }
}

/// What the common options say of calls, which start in the time asked for, said of connections, which
/// overlap it.
fn of_connections(arg: Arg, event: &str) -> Arg {
    instead(arg, &format!("connections that {event}"))
}

/// The same, said of packets.
fn of_packets(arg: Arg, event: &str) -> Arg {
    instead(arg, &format!("packets that {event}"))
}

/// With other words for calls that start in the time asked for.
fn instead(arg: Arg, words: &str) -> Arg {
    let said = |help: Option<&StyledStr>| {
        let text = help.map(ToString::to_string).unwrap_or_default();
        text.replace("calls that start", words)
    };
    let (short, long) = (said(arg.get_help()), said(arg.get_long_help()));
    let arg = arg.help(short);
    if long.is_empty() {
        arg
    } else {
        arg.long_help(long)
    }
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AnswerFormat {
    Text,
    Json,
    Markdown,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompareFormat {
    Text,
    Json,
    /// For tickets and wikis
    Markdown,
    Html,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RowFormat {
    Csv,
    Jsonl,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum GroupFormat {
    Text,
    Json,
    Csv,
    Markdown,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StatFormat {
    Text,
    Csv,
    /// JSON lines
    Jsonl,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ProfileBy {
    Statement,
    Event,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnsFormat {
    Text,
    Json,
    Csv,
    Markdown,
    /// JSON lines, of --series
    Jsonl,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    Completion,
    Start,
}

/// What makes a run fail although it could be done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum FailOn {
    CostNs(i64),
    Rule(Rule),
}

fn fail_on(text: &str) -> Result<FailOn, String> {
    let seconds = text.strip_suffix('s').unwrap_or(text);
    if seconds.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return moment::positive(&format!("{seconds}s")).map(FailOn::CostNs);
    }
    rule(text).map(FailOn::Rule)
}

fn seconds(text: &str) -> Result<i64, String> {
    moment::positive(&format!("{}s", text.strip_suffix('s').unwrap_or(text)))
}

/// A finding by its code; else a message with codes that resemble it.
pub(crate) fn rule(code: &str) -> Result<Rule, String> {
    Rule::of_code(code).ok_or_else(|| {
        let near = nearest(code, Rule::ALL.iter().map(|r| r.code()));
        if near.is_empty() {
            format!("no finding is called `{code}`; `slowside explain` lists all")
        } else {
            format!(
                "no finding is called `{code}`; did you mean `{}`?",
                near.join("`, `")
            )
        }
    })
}

fn key(text: &str) -> Result<Key, String> {
    Ok(match text.trim() {
        "op" => Key::Op,
        "client" => Key::Client,
        "server" => Key::Server,
        "connection" => Key::Connection,
        "file" => Key::File,
        "size" => Key::Size,
        other => match other.strip_prefix("time=") {
            Some(width) => match moment::positive(width)? {
                0 => return Err("time= needs a duration above zero, such as time=10s".into()),
                width => Key::Time(width),
            },
            None => {
                return Err(
                    "the keys are op, client, server, connection, file, size, time=DURATION".into(),
                );
            }
        },
    })
}

fn sql_key(text: &str) -> Result<SqlKey, String> {
    Ok(match text.trim() {
        "statement" => SqlKey::Statement,
        "client" => SqlKey::Client,
        "program" => SqlKey::Program,
        "user" => SqlKey::User,
        "service" | "database" => SqlKey::Service,
        "connection" => SqlKey::Connection,
        _ => {
            return Err(
                "the keys are statement, client, program, user, service, connection".into(),
            );
        }
    })
}

/// A moment, or throughputs at round trip times: `2356@0.021ms,1567@0.161ms`.
fn start(text: &str) -> Result<Start, String> {
    if text.starts_with('@') || !text.contains('@') {
        return moment::moment(text).map(Start::At);
    }
    let pair = |pair: &str| {
        let (throughput, rtt) = pair.trim().split_once('@')?;
        let throughput = throughput.trim().parse().ok()?;
        let rtt_ns = moment::positive(rtt.trim()).ok()?;
        (f64::is_normal(throughput) && throughput > 0.0).then_some(Point { throughput, rtt_ns })
    };
    let pairs: Option<Vec<Point>> = text.split(',').map(pair).collect();
    pairs.map(Start::Pairs).ok_or_else(|| {
        "pairs are transactions per second and a round trip time: 2356@0.021ms,854@0.685ms".into()
    })
}

fn bandwidth(text: &str) -> Result<u64, String> {
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

fn factor(text: &str) -> Result<f64, String> {
    let factor: Option<f64> = text.parse().ok();
    factor
        .filter(|f| (0.0..=1e6).contains(f))
        .ok_or_else(|| "a factor is a number such as 0.5 (half the time) or 2".into())
}

fn width(text: &str) -> Result<i64, String> {
    match moment::positive(text)? {
        ..1_000 => Err("intervals are at least 1us wide, such as 100ms".into()),
        width => Ok(width),
    }
}

fn which_finding(text: &str) -> Result<WhichFinding, String> {
    match text.parse() {
        Ok(0) => Err("findings are numbered from 1".into()),
        Ok(n) => Ok(WhichFinding::Number(n)),
        Err(_) => rule(text).map(WhichFinding::Rule),
    }
}

fn call_id(text: &str) -> Result<u32, String> {
    let id = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    id.map_err(|_| "ids are as slowside calls shows them: 0x4ecb8123, or 17".into())
}

/// `812,845,900-910`, perhaps behind the name of a file.
fn frames(text: &str) -> Result<FrameList, String> {
    let wrong = || "frames are numbers from 1 and ranges: 812,845,900-910".to_owned();
    let (file, list) = match text.rsplit_once(':') {
        Some((file, list)) => (Some(file.to_owned()), list),
        None => (None, text),
    };
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |n: &str| n.trim().parse().ok().filter(|n| *n > 0_u32);
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then(|| Frames {
            file: file.clone(),
            first,
            last,
        })
    };
    let frames: Option<Vec<Frames>> = list.split(',').map(range).collect();
    Ok(FrameList {
        text: text.to_owned(),
        frames: frames.ok_or_else(wrong)?,
    })
}

/// The key of `--anonymise`; empty where none is given.
fn secret(text: &str) -> Result<String, String> {
    match text.len() {
        1..8 => Err("a key of less than 8 characters is soon guessed; give a longer one".into()),
        _ => Ok(text.to_owned()),
    }
}

fn number(text: &str) -> Result<u64, String> {
    text.parse()
        .map_err(|_| "connections have numbers, which slowside conns --all shows".to_owned())
}

fn few(text: &str) -> Result<usize, String> {
    let count: Option<usize> = text.parse().ok();
    count
        .filter(|n| *n <= 100)
        .ok_or_else(|| "a page shows from 0 to 100 connections in full".to_owned())
}

const COMMANDS: [&str; 18] = [
    "diagnose",
    "calls",
    "ops",
    "conns",
    "sql",
    "startup",
    "info",
    "stat",
    "live",
    "whatif",
    "compare",
    "report",
    "cut",
    "trace",
    "probe",
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
