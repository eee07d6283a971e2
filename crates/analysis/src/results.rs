//! What an analysis says, as plain data: the shapes that every output is written from.

mod conns;
mod hosts;
mod layers;
mod ops;
mod order;
mod trace_join;

pub use conns::{
    Arrived, ConnectionPlot, ConnectionResult, ConnsResult, DirectionResult, HandshakeResult,
    PlotView, SeriesRow,
};
pub use hosts::{
    Counter, CountsFit, DiskSum, Fit, HostClock, HostResult, KernelResult, Pressed, SeriesResult,
    SideFrom, Unit,
};
pub use layers::{Layer, LayerBounds, LayerOf, LayerSource};
pub use ops::{GroupResult, KeyValue, OpsResult};
pub use order::Order;
pub use trace_join::{DataFile, EventSum, JoinedRead, TraceJoinResult};

use crate::app::{AppFacts, ServerFacts};
use crate::charts::Charts;
pub use crate::files::FileResult;
use crate::findings::Rule;
use crate::hops::Hop;
use crate::peers::Peer;
use crate::sql::SqlResult;
use crate::stats::{FewLong, Summary};
use crate::text::Text;
use crate::tiers::Tier;
pub use crate::vantage::VantageFrom;
use ledger::Sums;
use model::{Endpoint, Field, Name, Problems, Protocol, Statement, Time};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;

/// Where a capture was taken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
pub enum Vantage {
    Client,
    Server,
    Middle,
    Unknown,
}

impl Vantage {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Vantage::Client => "client",
            Vantage::Server => "server",
            Vantage::Middle => "middle",
            Vantage::Unknown => "unknown",
        }
    }
}

/// Where time is spent, or the answer that nobody can be named.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash, Serialize, Deserialize)]
pub enum Side {
    Client,
    Network,
    Server,
    /// Two sides share it so that neither alone is the answer.
    Mixed,
    /// Nothing is wrong.
    None,
    /// The evidence does not carry an answer.
    Undetermined,
}

impl Side {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Side::Client => "client",
            Side::Network => "network",
            Side::Server => "server",
            Side::Mixed => "mixed",
            Side::None => "none",
            Side::Undetermined => "undetermined",
        }
    }
}

/// A capture as it was read.
#[derive(Clone, Debug, Default)]
pub struct CaptureResult {
    /// File names as given, in the order in which [`PacketRef::file`](model::PacketRef) counts them.
    pub files: Vec<String>,
    pub side: Option<Vantage>,
    /// What its own packets say of where it was taken, whatever `side` rests on.
    pub concluded: Option<Vantage>,
    /// Whether it was taken on the way between that host and the other, and counts as that host's for being nearer.
    pub is_on_the_way: bool,
    /// What `side` was concluded from, in words, and how sure that is.
    pub side_from: Text,
    pub packets: u64,
    pub bytes: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Largest snap length of its interfaces; `None` when unlimited or unknown.
    pub snaplen: Option<u32>,
    pub link_types: Vec<u16>,
    /// Packets that the capturing host says it lost; `None` when it does not say.
    pub dropped: Option<u64>,
    /// Bytes the capture lacks that the receiver acknowledged, in how many gaps.
    pub missing_gaps: u64,
    pub missing_bytes: u64,
    /// Packets that carry no IP, and those that carry neither TCP nor UDP.
    pub not_ip: u64,
    pub other_transport: u64,
    pub connections: u64,
    pub calls: u64,
    /// Calls without a request or response, by reason.
    pub half_calls: Vec<(&'static str, u64)>,
    pub problems: Problems,
}

/// Matched calls of one operation. Means are per matched call.
#[derive(Clone, Debug, Default)]
pub struct Matched {
    pub count: u64,
    pub client_mean_ns: i64,
    pub server_mean_ns: i64,
    pub difference_mean_ns: i64,
    pub client_p50_ns: i64,
    pub server_p50_ns: i64,
    pub difference_p50_ns: i64,
    /// After clock alignment; `None` without one.
    pub request_path_mean_ns: Option<i64>,
    pub reply_path_mean_ns: Option<i64>,
}

/// Calls that found no twin, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Unmatched {
    /// Outside the time both captures cover.
    pub outside_overlap: u64,
    pub not_in_client_capture: u64,
    pub not_in_server_capture: u64,
    pub no_response: u64,
    pub incomplete: u64,
    pub evicted: u64,
}

/// Why a call found no twin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Why {
    OutsideOverlap,
    NotInClientCapture,
    NotInServerCapture,
    NoResponse,
    Incomplete,
    Evicted,
}

impl Why {
    /// As machine formats have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Why::OutsideOverlap => "outside-overlap",
            Why::NotInClientCapture => "not-in-client-capture",
            Why::NotInServerCapture => "not-in-server-capture",
            Why::NoResponse => "no-response",
            Why::Incomplete => "incomplete",
            Why::Evicted => "evicted",
        }
    }
}

/// A call without a twin: its row among those of its capture, by the order in which captures were given.
#[derive(Clone, Copy, Debug)]
pub struct Unpaired {
    pub capture: usize,
    pub row: u64,
    /// `None` of a callback that the client's capture has, too: it stands there.
    pub why: Option<Why>,
}

impl Unmatched {
    pub(crate) fn add(&mut self, why: Why) {
        *match why {
            Why::OutsideOverlap => &mut self.outside_overlap,
            Why::NotInClientCapture => &mut self.not_in_client_capture,
            Why::NotInServerCapture => &mut self.not_in_server_capture,
            Why::NoResponse => &mut self.no_response,
            Why::Incomplete => &mut self.incomplete,
            Why::Evicted => &mut self.evicted,
        } += 1;
    }
}

/// One operation of a diagnosis.
#[derive(Clone, Debug)]
pub struct OpResult {
    pub protocol: Protocol,
    pub op: String,
    /// Response times in the client's and in the server's capture; with one capture of unknown side,
    /// under `client`.
    pub client: Option<Summary>,
    pub server: Option<Summary>,
    pub matched: Option<Matched>,
    pub unmatched: Unmatched,
    /// Calls that the server answered with an error, in the client's capture, or in the only one.
    pub errors: u64,
}

impl OpResult {
    /// The operation that took most time first.
    #[must_use]
    pub fn by_time(a: &OpResult, b: &OpResult) -> std::cmp::Ordering {
        let time = |o: &OpResult| o.client.or(o.server).map_or(0, |s| s.total_ns);
        time(b)
            .cmp(&time(a))
            .then_with(|| (a.protocol, &a.op).cmp(&(b.protocol, &b.op)))
    }
}

/// How the two clocks were aligned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClockBasis {
    /// The raw clocks do not contradict each other; that they agree is an assumption.
    AssumedSynchronised,
    Estimated,
    Given,
}

impl ClockBasis {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ClockBasis::AssumedSynchronised => "assumed-synchronised",
            ClockBasis::Estimated => "estimated",
            ClockBasis::Given => "given",
        }
    }
}

/// Server clock minus client clock.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Clock {
    pub basis: ClockBasis,
    pub offset_ns: i64,
    pub drift_ppm: f64,
    /// Half the smallest round trip between the captures: no method knows the offset better.
    pub uncertainty_ns: i64,
    /// When, on the server capture's clock, `offset_ns` holds.
    pub offset_at: Time,
}

/// Mean per matched call; `None` where it cannot be known.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    pub calls: u64,
    pub client_host_ns: Option<i64>,
    pub network_out_ns: Option<i64>,
    pub server_ns: Option<i64>,
    pub network_back_ns: Option<i64>,
    /// Out and back together at least, as handshakes seen at the server show, where no more is known.
    pub network_least_ns: Option<i64>,
    /// Of `server_ns`, how much calls queued, where a cap explains it.
    pub server_queue_ns: Option<i64>,
    /// How much of it they waited for locks that clients held while they thought.
    pub server_lock_ns: Option<i64>,
    /// And in how much of it the server's work was done and TCP held its answer, or did not hand it the
    /// request: somebody else's doing, in the server's socket.
    pub server_held_ns: Option<i64>,
    /// Of the network's parts, what messages waited for under way, by the direction of their bytes.
    pub under_way: Vec<(model::Direction, model::TimeClass, i64)>,
}

/// Packets that prove something.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Index into [`Diagnosis::captures`].
    pub capture: usize,
    /// Index into that capture's files.
    pub file: usize,
    pub frames: Vec<u32>,
    /// A Wireshark display filter that shows these frames.
    pub filter: String,
    /// What these packets show, in a few words.
    pub shows: &'static str,
}

/// A number a finding states.
#[derive(Clone, Debug, PartialEq)]
pub struct Fact {
    /// Ends in `_ns`, `_bytes`, … unless it is a plain count.
    pub name: &'static str,
    pub value: i64,
}

/// A named cause with side, cost, evidence and remedy.
#[derive(Clone, Debug)]
pub struct Finding {
    pub rule: Rule,
    pub title: Text,
    pub side: Side,
    /// Seconds of response time, summed over calls, that would vanish without the cause, in ns.
    /// `None`: it ends the work, or only limits the data, or cannot be costed from the wire.
    pub cost_ns: Option<i64>,
    pub elapsed_cost_ns: Option<i64>,
    /// It ends the work: ranks first.
    pub fatal: bool,
    /// 0 to 1.
    pub confidence: f64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub facts: Vec<Fact>,
    pub evidence: Vec<Evidence>,
    pub why: Text,
    pub remedy: Vec<Text>,
    /// Where its cost concentrates, if it does: attributes before times, the sharpest first.
    pub places: Vec<Concentrated>,
}

/// On whom or what, or when, a cost concentrates.
#[derive(Clone, PartialEq, Debug)]
pub struct Concentrated {
    pub what: What,
    /// Calls that are its, what they cost, and their share (0 to 1) of the whole cost.
    pub calls: u64,
    pub cost_ns: i64,
    pub share: f64,
    /// Mean cost of the others.
    pub rest_mean_ns: i64,
}

/// What calls can have in common.
#[derive(Clone, PartialEq, Debug)]
pub enum What {
    Client(IpAddr),
    Server(Endpoint),
    /// Its client's end and its server's.
    Connection(Endpoint, Endpoint),
    /// Those of a database's session.
    User(Arc<str>),
    Database(Arc<str>),
    Program(Arc<str>),
    /// What a server exports, by its path there.
    Export(String),
    Operation(Protocol, Name),
    /// By the hash of its handle, and its path as far as names were seen.
    File(u64, Option<String>),
    Statement(Arc<Statement>),
    /// They began then.
    Since(Time),
    Until(Time),
    Between(Time, Time),
    /// Or in stretches that begin so far apart and last so long.
    Every {
        period_ns: i64,
        for_ns: i64,
        times: u64,
    },
}

impl What {
    /// The word in machine output.
    #[must_use]
    pub fn by(&self) -> &'static str {
        match self {
            What::Client(_) => "client",
            What::Server(_) => "server",
            What::Connection(..) => "connection",
            What::User(_) => "user",
            What::Database(_) => "database",
            What::Program(_) => "program",
            What::Export(_) => "export",
            What::Operation(..) => "operation",
            What::File(..) => "file",
            What::Statement(_) => "statement",
            What::Since(_) | What::Until(_) | What::Between(..) | What::Every { .. } => "time",
        }
    }
}

/// What a finding's cost is time of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostOf {
    Calls,
    /// Elapsed time of streams that nobody answers.
    Streams,
    /// Connects, and waits before the first call.
    Connects,
    /// What clients wait, as they were told to, before they ask again.
    Retries,
    /// What applications waited above the wire, or thought between calls.
    Application,
    /// The network's health.
    Network,
}

impl CostOf {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CostOf::Calls => "calls",
            CostOf::Streams => "streams",
            CostOf::Connects => "connects",
            CostOf::Retries => "retries",
            CostOf::Application => "application",
            CostOf::Network => "network",
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    pub side: Side,
    /// The finding that carries the verdict.
    pub cause: Option<Rule>,
    pub confidence: f64,
    /// The answer, in one or two sentences.
    pub sentence: Text,
}

/// Everything `diagnose` says.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    pub captures: Vec<CaptureResult>,
    pub verdict: Verdict,
    pub budget: Budget,
    /// Ordered by total time, largest first.
    pub ops: Vec<OpResult>,
    pub clock: Option<Clock>,
    /// Where one of them was set meanwhile: the alignments before and behind, each from this time of the client's on.
    pub clocks: Vec<(Time, Clock)>,
    /// Ordered: fatal first, then by cost, those without cost last.
    pub findings: Vec<Finding>,
    /// What the application's own times say, where they could be held against the calls.
    pub app: Option<AppFacts>,
    /// What the server's own times say, where they could be held against the calls.
    pub server_app: Option<ServerFacts>,
    /// What each layer takes of the same operations, outermost first; empty unless somebody's own times were used.
    pub layers: Vec<Layer>,
    /// What tools said of the hosts, a file of `--host` each.
    pub hosts: Vec<HostResult>,
    /// Hosts whose own calls are part of their work for others, most time first.
    pub tiers: Vec<TierResult>,
    /// What lies between neighbouring capture points, from the client on, where there are three or more.
    pub hops: Vec<Hop>,
    /// Where captures of several clients of one server were given, or of several servers of one client: what each says
    /// with that of the one, this diagnosis first, which is of the one where most is held up.
    pub peers: Vec<Peer>,
    /// Addresses of the host that each capture was taken at, as they were given, if it is asked at one and asks from
    /// another.
    pub own: [Vec<IpAddr>; 2],
    /// Hosts of each that are asked and ask, whatever for; those of several addresses by the first.
    pub both: [Vec<IpAddr>; 2],
    /// The files that took most time, as the capture nearest to the client saw it; a bounded number.
    pub files: Vec<FileResult>,
    /// Things worth knowing that are not findings: assumptions, what one capture cannot show.
    pub notes: Vec<Text>,
    /// Total response time of matched calls (two captures) or of all calls (one), and the span of
    /// time they took.
    pub call_time_ns: i64,
    pub elapsed_ns: i64,
    /// Calls of which a few took most of the time, so that the mean is no call's.
    pub few_long: Option<FewLong>,
    /// What the ledgers of all calls that are judged add up to.
    pub ledger: Sums,
    /// The same of streams that nobody answers, over elapsed time, where those are judged.
    pub streams_ledger: Option<Sums>,
    /// Segments to the server and to the client that the capture nearer their sender has and the other lacks, as they were
    /// lost in between: of connections that both have; `None` for one capture.
    pub lost: Option<[u64; 2]>,
    /// How long connections were busy of which no ledger tells, as requests under way at a time cannot be told apart.
    pub untold_ns: i64,
    /// How long calls took that one of two captures has whole, and of which the other lacks something, or which were slow and
    /// of servers that it does not show: no ledger tells of them either.
    pub cut_ns: i64,
}

/// A host whose own calls are part of its work for others.
#[derive(Clone, Debug)]
pub struct TierResult {
    /// In which capture that was seen, as they were given, and how many requests of its clients and calls of its own
    /// each has.
    pub capture: usize,
    pub seen: [[u64; 2]; 2],
    pub tier: Tier,
    /// What its own calls say by themselves, where they are judged apart.
    pub below: Option<Box<Diagnosis>>,
}

/// A field of `detail` as text for tables.
#[must_use]
pub fn field_text(field: Field, value: u64) -> String {
    match field.kind() {
        model::FieldKind::Integer => value.to_string(),
        model::FieldKind::Hash => format!("{value:016x}"),
        model::FieldKind::Flag => if value == 0 { "false" } else { "true" }.to_owned(),
        model::FieldKind::Word(words) => words
            .get(value as usize)
            .map_or_else(|| value.to_string(), |w| (*w).to_owned()),
    }
}

/// Everything that a report shows.
#[derive(Debug)]
pub struct Report {
    pub diagnosis: Diagnosis,
    pub charts: Charts,
    pub conns: ConnsResult,
    /// Where there are calls of databases.
    pub sql: Option<SqlResult>,
    /// The connections that are shown in full, and their pictures.
    pub shown: Vec<ConnectionResult>,
    pub plots: Vec<ConnectionPlot>,
}
