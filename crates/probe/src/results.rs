//! What was measured, for those who show it.

use crate::host::{Cpu, Host};
use crate::latencies::Latencies;
use crate::schedule::{Mix, Pacing};
use model::Time;
use std::net::SocketAddr;

/// Socket options of one end. Of buffers, 0 is the system's choice where they are asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketOptions {
    pub nodelay: bool,
    /// `SO_SNDBUF`, bytes; Linux reports twice what was asked for.
    pub send_buffer: u32,
    /// `SO_RCVBUF`, bytes.
    pub receive_buffer: u32,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions {
            nodelay: true,
            send_buffer: 0,
            receive_buffer: 0,
        }
    }
}

/// What was measured, in one of four ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Measured {
    /// Connecting alone.
    Connects,
    /// A request and its response.
    Exchanges,
    /// Bytes from the client to the listener.
    StreamUp,
    /// Bytes from the listener to the client.
    StreamDown,
}

/// Where the corrected times come from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Correction {
    /// From the moment each exchange was due.
    Due,
    /// Estimated, as if one had been due every so many nanoseconds: the median of how often they
    /// began.
    Expected(u64),
}

/// How the measurement ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// When it was meant to.
    Done,
    /// Earlier, as asked.
    Stopped,
    /// Earlier, by the other side or the network.
    Cut(&'static str),
}

/// Exchanges that the listener's limits held up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Throttled {
    pub count: u64,
    pub total_ns: u64,
}

/// Connection attempts that failed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Failures {
    pub refused: u64,
    /// No answer in time.
    pub silent: u64,
    pub other: u64,
}

impl Failures {
    #[must_use]
    pub fn total(&self) -> u64 {
        self.refused + self.silent + self.other
    }
}

/// What ended in a stretch of time. Without the warm-up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IntervalResult {
    /// Since the end of the warm-up.
    pub start_ns: u64,
    pub end_ns: u64,
    pub count: u64,
    /// From when they were due, or in a closed loop from when they began; 0 if there were none.
    pub mean_ns: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub max_ns: u64,
    /// Of requests and responses, headers included.
    pub sent_bytes: u64,
    pub received_bytes: u64,
}

/// A measurement. Everything but `connect_ns` is without the warm-up.
#[derive(Clone, Debug)]
pub struct ProbeResult {
    pub measured: Measured,
    pub started: Time,
    /// As the user gave it.
    pub target: String,
    pub server: SocketAddr,
    pub client: SocketAddr,
    /// From the first SYN to its answer, of the session's own connection; of connects alone `None`.
    pub connect_ns: Option<u64>,
    pub mix: Mix,
    /// Exchanges of the mix that the listener's limit made smaller.
    pub cut_sizes: u64,
    pub pacing: Pacing,
    pub outstanding: u32,
    pub warm_up_ns: u64,
    /// That was measured.
    pub duration_ns: u64,
    pub ended: Ended,
    /// From sending (or beginning to connect) to the last byte of the answer.
    pub uncorrected: Latencies,
    pub corrected: Latencies,
    pub correction: Correction,
    /// The listener's own part of it, without being held.
    pub service: Latencies,
    /// How late the probe itself was where nothing kept it but this host.
    pub late: Latencies,
    pub held: Throttled,
    /// Sent, and not answered when the measurement ended.
    pub unanswered: u64,
    /// Due, and not sent as too many others were outstanding.
    pub unsent: u64,
    pub failures: Failures,
    pub sent_bytes: u64,
    pub received_bytes: u64,
    pub intervals: Vec<IntervalResult>,
    pub client_host: Host,
    pub listener_host: Option<Host>,
    pub cpu: Option<Cpu>,
    pub client_options: SocketOptions,
    pub listener_options: Option<SocketOptions>,
}

impl ProbeResult {
    /// Bits per second of the direction that streams.
    #[must_use]
    pub fn throughput_bps(&self) -> Option<u64> {
        let bytes = match self.measured {
            Measured::StreamUp => self.sent_bytes,
            Measured::StreamDown => self.received_bytes,
            Measured::Connects | Measured::Exchanges => return None,
        };
        bits_per_second(bytes, self.duration_ns)
    }
}

/// `None` where no time passed.
fn bits_per_second(bytes: u64, ns: u64) -> Option<u64> {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits.checked_div(u128::from(ns))?).ok()
}
