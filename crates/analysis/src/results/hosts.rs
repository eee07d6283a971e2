//! What tools said of the hosts, and whether that goes with their calls.

use super::Side;
use model::{Direction, Endpoint, Time};
use trace::host::CaptureCounts;
pub use trace::host::{Counter, Unit};

/// What one file of `--host` said.
#[derive(Clone, PartialEq, Debug)]
pub struct HostResult {
    pub file: String,
    /// What the host calls itself.
    pub name: Option<String>,
    /// The client or the server; `None` where nobody said and nothing told.
    pub side: Option<Side>,
    pub side_from: SideFrom,
    pub tools: Vec<&'static str>,
    pub clock: HostClock,
    /// In the order of counters and devices; a bounded number.
    pub series: Vec<SeriesResult>,
    /// Its disks' I/Os, where their number is told too.
    pub disks: Option<DiskSum>,
    /// What the program that captured there counted, and how that fits a capture.
    pub counts: Option<(CaptureCounts, CountsFit)>,
    /// What TCP itself said of connections that the captures hold, the busiest first; a bounded number.
    pub connections: Vec<KernelResult>,
}

/// I/Os of all disks together, within the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DiskSum {
    pub disks: u64,
    pub operations: u64,
    pub mean_ns: i64,
}

/// What tells whose a file is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SideFrom {
    Said,
    Addresses,
    FileName,
    /// Only a client, or only a server, has what the tool counts.
    Tool,
    Nothing,
}

impl SideFrom {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            SideFrom::Said => "said",
            SideFrom::Addresses => "addresses",
            SideFrom::FileName => "file-name",
            SideFrom::Tool => "tool",
            SideFrom::Nothing => "nothing",
        }
    }
}

/// How what a program counted fits the captures that are given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CountsFit {
    /// A capture holds as many packets.
    Whole,
    /// It holds fewer: it is a part of what was captured.
    Part,
    /// It holds more: the program captured another.
    Other,
    /// There is none of that host, or several of which none has as many.
    NoCapture,
}

impl CountsFit {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            CountsFit::Whole => "whole",
            CountsFit::Part => "part",
            CountsFit::Other => "other",
            CountsFit::NoCapture => "no-capture",
        }
    }
}

/// How a file's times lie to the capture's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HostClock {
    /// There is none.
    Timeless,
    /// They are taken as they stand.
    Same,
    /// Of a zone that is not said, and so much ahead.
    Zone { ahead_ns: i64 },
    /// Of a zone that is not said, and several fit.
    Ambiguous,
    /// None lies within the capture: they are so much later.
    Elsewhere { later_ns: i64 },
}

impl HostClock {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HostClock::Timeless => "none",
            HostClock::Same => "same",
            HostClock::Zone { .. } => "zone",
            HostClock::Ambiguous => "ambiguous",
            HostClock::Elsewhere { .. } => "elsewhere",
        }
    }
}

/// One counter of one device within the capture, in thousandths of its unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SeriesResult {
    pub counter: Counter,
    pub device: String,
    pub samples: u64,
    pub mean_milli: i64,
    pub max_milli: i64,
    /// When that interval began, on the calls' clock.
    pub max_at: Time,
    pub held: Option<Pressed>,
    /// When it was high, on the calls' clock, if calls were slow then and not else.
    pub high: Vec<[Time; 2]>,
}

/// Calls while a counter was high, and the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pressed {
    /// From here on it is high, in thousandths.
    pub high_milli: i64,
    /// Intervals in which it was, of all; calls that began in these, and what the side takes of each, of the others too.
    pub high: u64,
    pub intervals: u64,
    pub calls: [u64; 2],
    pub mean_ns: [i64; 2],
    /// Of what calls took beyond those of the other intervals, how much in a hundred lies in these.
    pub share: i64,
    /// Of all shifts of the counter against the calls, how many fit as well; the one without any is among them.
    pub as_good: u64,
    pub fit: Fit,
}

/// Whether calls were slow while a counter was high, and not while it was low.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fit {
    Goes,
    /// It was never high, or always: there is nothing to hold against each other.
    NeverHigh,
    AlwaysHigh,
    /// Too few intervals or calls of either kind.
    TooFew,
    /// Calls were hardly slower.
    NotSlower,
    /// Most of what is slow lies in other intervals.
    Elsewhere,
    /// As many other shifts fit as well.
    Chance,
}

impl Fit {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Fit::Goes => "goes-with-slow-calls",
            Fit::NeverHigh => "never-high",
            Fit::AlwaysHigh => "always-high",
            Fit::TooFew => "too-few",
            Fit::NotSlower => "not-slower",
            Fit::Elsewhere => "slow-elsewhere",
            Fit::Chance => "may-be-chance",
        }
    }
}

/// What TCP said of a connection between two samples, and what its packets say of the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KernelResult {
    pub client: Endpoint,
    pub server: Endpoint,
    /// Of what this host sent.
    pub direction: Direction,
    pub from: Time,
    pub until: Time,
    pub busy_ns: i64,
    pub rwnd_limited_ns: i64,
    pub sndbuf_limited_ns: i64,
    pub retransmits: u64,
    pub cwnd_least: Option<u64>,
    pub cwnd_most: Option<u64>,
    pub rto_most_ns: Option<i64>,
    pub rtt_least_ns: Option<i64>,
    /// By the packets: how long the receiver's window held it up at least and at most; where that was asked for.
    pub window_ns: Option<[i64; 2]>,
}

impl KernelResult {
    /// Whether packets and kernel contradict each other on whether the receiver's window held the sender up: the kernel,
    /// which was there, is right.
    #[must_use]
    pub fn contradicts(&self) -> bool {
        let half = (self.until - self.from) / 2;
        self.window_ns.is_some_and(|[least, most]| {
            least > self.rwnd_limited_ns.saturating_add(half)
                || most.saturating_add(half) < self.rwnd_limited_ns
        })
    }
}
