//! The measuring end: connects, shows that it knows the token, and holds its plan against what the
//! listener allows.

use crate::connect::{failed, nanoseconds};
use crate::error::ProbeError;
use crate::exchange::{self, Asked};
use crate::host::Host;
use crate::input::{Cut, Input, Until, tick, write};
use crate::results::{IntervalResult, Measured, ProbeResult, SocketOptions};
use crate::schedule::{Mix, Pacing};
use crate::token::{Nonces, Token, nonce};
use crate::wire::{
    End, Grant, Greeting, HELLO_BYTES, Proof, REQUEST_BYTES, RESPONSE_BYTES, Status, VERSION,
    WELCOME_BYTES, Welcome, Wishes,
};
use model::Time;
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Requests under way in a stream: with [`STREAM_BLOCK`] enough for 1 Gbit/s over 130 ms.
const STREAM_OUTSTANDING: u32 = 256;

/// Bytes of a piece of a stream.
const STREAM_BLOCK: u32 = 65_536;

/// What to measure.
#[derive(Clone, Debug)]
pub enum Work {
    /// Requests and responses, at most `outstanding` at a time on one connection.
    Exchange {
        mix: Mix,
        pacing: Pacing,
        outstanding: u32,
    },
    /// As many bytes as go, to the listener.
    StreamUp,
    /// As many bytes as go, from the listener.
    StreamDown,
}

/// What to measure, with whom and how long.
#[derive(Clone, Debug)]
pub struct Plan {
    /// `HOST:PORT`.
    pub target: String,
    pub token: Token,
    pub work: Work,
    pub duration: Duration,
    pub warm_up: Duration,
    pub interval: Duration,
    /// How long to wait for a connection or an answer.
    pub timeout: Duration,
    /// Of both ends.
    pub options: SocketOptions,
}

/// Measures until the plan is through or `stop` is set; `on_interval` is told each interval as it
/// ends.
///
/// # Errors
/// When the other end cannot be reached, is no listener, does not let us in, allows less than is
/// asked, or answers nothing.
pub fn measure(
    plan: &Plan,
    stop: &AtomicBool,
    on_interval: &mut dyn FnMut(&IntervalResult),
) -> Result<ProbeResult, ProbeError> {
    let (stream, server, connect_ns) = connect(plan)?;
    let broken = |source| ProbeError::Broken {
        address: server,
        source,
    };
    tick(&stream).map_err(broken)?;
    let grant = handshake(&stream, server, plan, stop)?;
    check(plan, &grant)?;

    let block = STREAM_BLOCK.min(grant.size);
    let (measured, mut mix, pacing, outstanding) = match &plan.work {
        Work::Exchange {
            mix,
            pacing,
            outstanding,
        } => (
            Measured::Exchanges,
            mix.clone(),
            *pacing,
            (*outstanding).max(1),
        ),
        Work::StreamUp => {
            let mix = Mix::fixed(block, RESPONSE_BYTES);
            (Measured::StreamUp, mix, Pacing::Closed, STREAM_OUTSTANDING)
        }
        Work::StreamDown => {
            let mix = Mix::fixed(REQUEST_BYTES, block);
            (
                Measured::StreamDown,
                mix,
                Pacing::Closed,
                STREAM_OUTSTANDING,
            )
        }
    };
    let cut_sizes = mix.cut(grant.size);
    let started = now();
    let asked = Asked {
        stream: &stream,
        mix: &mix,
        pacing,
        outstanding,
        streams: measured != Measured::Exchanges,
        warm_up: plan.warm_up,
        duration: plan.duration,
        interval: plan.interval,
        timeout: plan.timeout,
    };
    let got = exchange::run(&asked, stop, on_interval)?;
    if got.uncorrected.is_empty() {
        let why = match got.ended {
            crate::results::Ended::Cut(why) => why,
            _ => "it ended before the first answer",
        };
        return Err(ProbeError::NoAnswers(server, why.to_owned()));
    }
    Ok(ProbeResult {
        measured,
        started,
        target: plan.target.clone(),
        server,
        client: stream.local_addr().unwrap_or(server),
        connect_ns: Some(connect_ns),
        cut_sizes,
        pacing,
        outstanding,
        warm_up_ns: nanoseconds(plan.warm_up),
        duration_ns: got.duration_ns,
        ended: got.ended,
        uncorrected: got.uncorrected,
        corrected: got.corrected,
        correction: got.correction,
        service: got.service,
        late: got.late,
        held: got.held,
        unanswered: got.unanswered,
        unsent: got.unsent,
        failures: crate::results::Failures::default(),
        sent_bytes: got.sent_bytes,
        received_bytes: got.received_bytes,
        intervals: got.intervals,
        client_host: Host::here(),
        listener_host: Some(Host {
            cpus: (grant.cpus > 0).then_some(grant.cpus),
            cpu_model: None,
            load_hundredths: (grant.load_hundredths != u32::MAX).then_some(grant.load_hundredths),
        }),
        cpu: got.cpu,
        client_options: options_of(&stream).map_err(broken)?,
        listener_options: Some(grant.options),
        mix,
    })
}

/// The addresses of `HOST:PORT`.
pub(crate) fn resolve(target: &str) -> Result<Vec<SocketAddr>, ProbeError> {
    let found = target
        .to_socket_addrs()
        .map_err(|source| ProbeError::Name {
            target: target.to_owned(),
            source,
        })?;
    let addresses: Vec<SocketAddr> = found.collect();
    if addresses.is_empty() {
        return Err(ProbeError::NoAddress(target.to_owned()));
    }
    Ok(addresses)
}

/// A connection to the first address that answers, and how long connecting took.
fn connect(plan: &Plan) -> Result<(TcpStream, SocketAddr, u64), ProbeError> {
    let mut last = ProbeError::NoAddress(plan.target.clone());
    for address in resolve(&plan.target)? {
        let socket = socket(address, &plan.options).map_err(ProbeError::Options)?;
        let begun = Instant::now();
        match socket.connect_timeout(&address.into(), plan.timeout) {
            Ok(()) => return Ok((socket.into(), address, nanoseconds(begun.elapsed()))),
            Err(e) => last = failed(address, e, plan.timeout),
        }
    }
    Err(last)
}

/// Buffers are set before connecting, as the window's scale follows from them.
fn socket(address: SocketAddr, options: &SocketOptions) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    if options.send_buffer > 0 {
        socket.set_send_buffer_size(options.send_buffer as usize)?;
    }
    if options.receive_buffer > 0 {
        socket.set_recv_buffer_size(options.receive_buffer as usize)?;
    }
    socket.set_tcp_nodelay(options.nodelay)?;
    Ok(socket)
}

/// What the system made of the options.
pub(crate) fn options_of(stream: &TcpStream) -> io::Result<SocketOptions> {
    let socket = SockRef::from(stream);
    let size = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Ok(SocketOptions {
        nodelay: stream.nodelay()?,
        send_buffer: size(socket.send_buffer_size()?),
        receive_buffer: size(socket.recv_buffer_size()?),
    })
}

fn handshake(
    stream: &TcpStream,
    server: SocketAddr,
    plan: &Plan,
    stop: &AtomicBool,
) -> Result<Grant, ProbeError> {
    let until = Until {
        deadline: Instant::now() + plan.timeout,
        stop,
    };
    // Others close, keep silent or talk about something else.
    let stranger = |cut| match cut {
        Cut::Failed(source) => ProbeError::Broken {
            address: server,
            source,
        },
        _ => ProbeError::NotAListener(server),
    };
    let lost = |cut| match cut {
        Cut::Failed(source) => ProbeError::Broken {
            address: server,
            source,
        },
        Cut::Late => ProbeError::Silent {
            address: server,
            seconds: plan.timeout.as_secs(),
        },
        Cut::Stopped => ProbeError::NoAnswers(server, "stopped before it began".to_owned()),
        Cut::Closed => ProbeError::NotAListener(server),
    };
    let mut input = Input::new(stream);
    let hello = Greeting {
        version: VERSION,
        nonce: nonce()?,
    };
    write(stream, &hello.encode(End::Client), until).map_err(stranger)?;
    let challenge: [u8; HELLO_BYTES] = input.exact(until).map_err(stranger)?;
    let challenge =
        Greeting::decode(&challenge, End::Listener).ok_or(ProbeError::NotAListener(server))?;
    if challenge.version != VERSION {
        return Err(ProbeError::Version {
            address: server,
            theirs: challenge.version,
            ours: VERSION,
        });
    }
    let nonces = Nonces {
        client: hello.nonce,
        listener: challenge.nonce,
    };
    let whole = plan.warm_up + plan.duration;
    let wishes = Wishes {
        options: plan.options,
        duration_ms: u32::try_from(whole.as_millis()).unwrap_or(u32::MAX),
    };
    let proof = Proof {
        mac: plan.token.client_proof(&nonces, &wishes),
        wishes,
    };
    write(stream, &proof.encode(), until).map_err(lost)?;
    let welcome: [u8; WELCOME_BYTES] = input.exact(until).map_err(lost)?;
    let welcome = Welcome::decode(&welcome).ok_or(ProbeError::NotAListener(server))?;
    // That the token is wrong can only be said without it.
    if welcome.status == Status::WrongToken {
        return Err(ProbeError::WrongToken(server));
    }
    if !plan.token.is_listener_proof(&nonces, &welcome) {
        return Err(ProbeError::Impostor(server));
    }
    match welcome.status {
        Status::Busy => Err(ProbeError::Busy(server)),
        Status::Go | Status::WrongToken => Ok(welcome.grant),
    }
}

/// Whether the listener allows what is asked. Sizes of a capture are cut instead.
fn check(plan: &Plan, grant: &Grant) -> Result<(), ProbeError> {
    if let Work::Exchange { mix, pacing, .. } = &plan.work {
        if mix.fixed && mix.largest() > grant.size {
            return Err(ProbeError::Beyond {
                what: "sizes",
                limit: format!("{} bytes", grant.size),
                asked: format!("{}", mix.largest()),
                here: "--size",
                there: "--max-size",
            });
        }
        if let Pacing::Every(ns) = pacing {
            let asked = 1e9 / *ns as f64;
            if asked > f64::from(grant.rate) {
                return Err(ProbeError::Beyond {
                    what: "a rate",
                    limit: format!("{} exchanges/s", grant.rate),
                    asked: format!("{asked:.0}"),
                    here: "--rate",
                    there: "--max-rate",
                });
            }
        }
    }
    let whole = plan.warm_up + plan.duration;
    if whole.as_millis() > u128::from(grant.duration_ms) {
        return Err(ProbeError::Beyond {
            what: "a time",
            limit: format!("{} s", f64::from(grant.duration_ms) / 1e3),
            asked: format!("{}", whole.as_secs_f64()),
            here: "--duration",
            there: "--max-time",
        });
    }
    Ok(())
}

/// Waits until `moment`; `false` when a flag was set meanwhile.
///
/// The end of a sleep is late by some 60 µs (timer slack), so the last of it is spent looking at the
/// clock.
pub(crate) fn due(moment: Instant, flags: &[&AtomicBool]) -> bool {
    const SPIN: Duration = Duration::from_micros(100);
    loop {
        if flags.iter().any(|f| f.load(Ordering::Relaxed)) {
            return false;
        }
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        if left > SPIN {
            std::thread::sleep((left - SPIN).min(crate::input::TICK));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// The wall's clock, to say when something was measured.
pub(crate) fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let ns = since.map_or(0, |d| d.as_nanos());
    Time(i64::try_from(ns).unwrap_or(i64::MAX))
}
