//! Connecting, and nothing else: from the first SYN to its answer, against any port.
//!
//! At a rate from the beginning, so that what waited behind a slow connect is counted from when it
//! was due. Each connection is closed at once, in the ordinary way.

use crate::client::{due, now, resolve};
use crate::error::ProbeError;
use crate::exchange::Intervals;
use crate::host::{Cpu, Host};
use crate::latencies::Latencies;
use crate::results::{
    Correction, Ended, Failures, IntervalResult, Measured, ProbeResult, SocketOptions, Throttled,
};
use crate::schedule::{Mix, Pacing};
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What to connect to, how often and how long.
#[derive(Clone, Debug)]
pub struct ConnectPlan {
    /// `HOST:PORT`.
    pub target: String,
    /// Time between the beginnings of two connects.
    pub every: Duration,
    pub duration: Duration,
    pub warm_up: Duration,
    pub interval: Duration,
    /// How long to wait for an answer.
    pub timeout: Duration,
}

/// Measures connecting until the plan is through or `stop` is set.
///
/// # Errors
/// When there is no such host, or not one connect succeeded.
pub fn measure_connects(
    plan: &ConnectPlan,
    stop: &AtomicBool,
    on_interval: &mut dyn FnMut(&IntervalResult),
) -> Result<ProbeResult, ProbeError> {
    let addresses = resolve(&plan.target)?;
    let started = now();
    let cpu = Cpu::of_thread();
    // The first tells which address works, and is not counted.
    let (server, client) = first(&addresses, plan.timeout)?;
    let pacing = Pacing::Every(
        u64::try_from(plan.every.as_nanos())
            .unwrap_or(u64::MAX)
            .max(1),
    );
    let start = Instant::now();
    let measure_from = start + plan.warm_up;
    let end = measure_from + plan.duration;
    let mut uncorrected = Latencies::default();
    let mut corrected = Latencies::default();
    let mut late = Latencies::default();
    let mut failures = Failures::default();
    let mut intervals = Intervals::new(measure_from, plan.interval);
    let mut free = start;
    let mut ended = Ended::Done;
    for n in 0.. {
        let Some(intended) = pacing.due(n).map(|d| start + d) else {
            break;
        };
        if intended >= end {
            break;
        }
        if !due(intended, &[stop]) {
            if stop.load(Ordering::Relaxed) {
                ended = Ended::Stopped;
            }
            break;
        }
        let begun = Instant::now();
        let outcome = TcpStream::connect_timeout(&server, plan.timeout);
        let done = Instant::now();
        let measured = intended >= measure_from;
        match outcome {
            Ok(_) if measured => {
                uncorrected.add(nanoseconds(done - begun));
                let ns = nanoseconds(done - intended);
                corrected.add(ns);
                if free <= intended {
                    late.add(nanoseconds(begun - intended));
                }
                intervals.add(done, ns, 0, 0, on_interval);
            }
            Err(e) if measured => match e.kind() {
                ErrorKind::ConnectionRefused => failures.refused += 1,
                ErrorKind::TimedOut | ErrorKind::WouldBlock => failures.silent += 1,
                _ => failures.other += 1,
            },
            _ => {}
        }
        free = Instant::now();
    }
    let finished = match ended {
        Ended::Done => end,
        Ended::Stopped | Ended::Cut(_) => Instant::now().min(end),
    };
    let intervals = intervals.finish(finished, on_interval);
    if uncorrected.is_empty() {
        return Err(nobody_answered(server, failures, plan.timeout));
    }
    Ok(ProbeResult {
        measured: Measured::Connects,
        started,
        target: plan.target.clone(),
        server,
        client,
        connect_ns: None,
        mix: Mix::fixed(0, 0),
        cut_sizes: 0,
        pacing,
        outstanding: 1,
        warm_up_ns: nanoseconds(plan.warm_up),
        duration_ns: nanoseconds(finished.saturating_duration_since(measure_from)),
        ended,
        uncorrected,
        corrected,
        correction: Correction::Due,
        service: Latencies::default(),
        late,
        held: Throttled::default(),
        unanswered: 0,
        unsent: 0,
        failures,
        sent_bytes: 0,
        received_bytes: 0,
        intervals,
        client_host: Host::here(),
        listener_host: None,
        cpu: Cpu::since(cpu),
        client_options: SocketOptions::default(),
        listener_options: None,
    })
}

fn nobody_answered(server: SocketAddr, failures: Failures, timeout: Duration) -> ProbeError {
    match failures {
        Failures { refused: 1.., .. } => ProbeError::Refused(server),
        Failures { silent: 1.., .. } => silent(server, timeout),
        _ => ProbeError::NoAnswers(server, "it ended before the first connect".to_owned()),
    }
}

/// The first of the addresses that answers, and the one it is reached from.
fn first(
    addresses: &[SocketAddr],
    timeout: Duration,
) -> Result<(SocketAddr, SocketAddr), ProbeError> {
    let mut last = ProbeError::NoAddress(String::new());
    for address in addresses {
        match TcpStream::connect_timeout(address, timeout) {
            Ok(stream) => {
                let client = stream.local_addr().unwrap_or(*address);
                return Ok((*address, client));
            }
            Err(e) => last = failed(*address, e, timeout),
        }
    }
    Err(last)
}

/// A failed connect, in words.
pub(crate) fn failed(address: SocketAddr, source: std::io::Error, timeout: Duration) -> ProbeError {
    match source.kind() {
        ErrorKind::ConnectionRefused => ProbeError::Refused(address),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => silent(address, timeout),
        _ => ProbeError::Connect { address, source },
    }
}

fn silent(address: SocketAddr, timeout: Duration) -> ProbeError {
    ProbeError::Silent {
        address,
        seconds: timeout.as_secs(),
    }
}

pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
