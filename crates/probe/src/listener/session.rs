//! One connection: the handshake, then requests and their responses until something ends it.

use super::{End, Event, Guest, Limits, Place, Refusal, Shared};
use crate::connect::nanoseconds;
use crate::host::Host;
use crate::input::{Cut, Input, Padded, Until, tick, write};
use crate::results::SocketOptions;
use crate::token::{Nonces, nonce};
use crate::wire::{
    self, Grant, Greeting, Proof, REQUEST_BYTES, Request, Response, Status, VERSION, Welcome,
    Wishes,
};
use socket2::SockRef;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Serves a connection from its first byte to its last.
pub(super) fn serve(
    stream: &TcpStream,
    client: SocketAddr,
    shared: &Shared<'_>,
    greeting: Guest<'_>,
) {
    let mut input = Input::new(stream);
    let admitted = handshake(stream, &mut input, shared);
    // Who is served takes no place of those who are not yet.
    drop(greeting);
    let (_place, lasts) = match admitted {
        Ok(admitted) => admitted,
        Err(why) => return shared.refuse(client, why),
    };
    shared.sessions.fetch_add(1, Ordering::Relaxed);
    (shared.events)(Event::Started { client });
    let mut session = Session {
        stream,
        input,
        shared,
        over: Instant::now() + lasts,
        exchanges: 0,
        received_bytes: 0,
        sent_bytes: 0,
    };
    let why = session.run();
    let exchanges = session.exchanges;
    shared.exchanges.fetch_add(exchanges, Ordering::Relaxed);
    (shared.events)(Event::Ended {
        client,
        exchanges,
        received_bytes: session.received_bytes,
        sent_bytes: session.sent_bytes,
        why,
    });
}

/// The place of a session, and how long it may last, once the client has shown that it knows the
/// token.
fn handshake<'a>(
    stream: &TcpStream,
    input: &mut Input<'_>,
    shared: &'a Shared<'_>,
) -> Result<(Place<'a>, Duration), Refusal> {
    let until = Until {
        deadline: Instant::now() + shared.limits.hello,
        stop: shared.stop,
    };
    let failed = |_: std::io::Error| Refusal::Handshake;
    let cut = |_: Cut| Refusal::Handshake;
    tick(stream).map_err(failed)?;
    stream.set_nodelay(true).map_err(failed)?;
    let hello: [u8; wire::HELLO_BYTES] = input.exact(until).map_err(cut)?;
    let hello = Greeting::decode(&hello, wire::End::Client).ok_or(Refusal::Malformed)?;
    let nonces = Nonces {
        client: hello.nonce,
        listener: nonce().map_err(|_| Refusal::Handshake)?,
    };
    let challenge = Greeting {
        version: VERSION,
        nonce: nonces.listener,
    };
    write(stream, &challenge.encode(wire::End::Listener), until).map_err(cut)?;
    if hello.version != VERSION {
        return Err(Refusal::Malformed);
    }
    let proof: [u8; wire::PROOF_BYTES] = input.exact(until).map_err(cut)?;
    let proof = Proof::decode(&proof).ok_or(Refusal::Malformed)?;
    let known = shared
        .token
        .is_client_proof(&proof.mac, &nonces, &proof.wishes);
    let mut welcome = Welcome {
        status: Status::WrongToken,
        grant: Grant::default(),
        mac: wire::Mac::default(),
    };
    if !known {
        // Best effort: who has the wrong token may as well not read.
        let _ = write(stream, &welcome.encode(), until);
        return Err(Refusal::WrongToken);
    }
    let limits = shared.limits;
    let place = Place::take(&shared.serving, limits.connections as usize);
    let options = set_options(stream, &proof.wishes, limits).map_err(failed)?;
    welcome.grant = grant(limits, options);
    welcome.status = if place.is_some() {
        Status::Go
    } else {
        Status::Busy
    };
    welcome.mac = shared.token.listener_proof(&nonces, &welcome);
    write(stream, &welcome.encode(), until).map_err(cut)?;
    let place = place.ok_or(Refusal::Busy)?;
    Ok((place, limits.duration))
}

/// What the client is told of limits, options and host.
fn grant(limits: &Limits, options: SocketOptions) -> Grant {
    let host = Host::here();
    Grant {
        size: limits.size,
        rate: limits.rate,
        bandwidth_bps: limits.bandwidth_bps,
        duration_ms: u32::try_from(limits.duration.as_millis()).unwrap_or(u32::MAX),
        connections: limits.connections,
        options,
        cpus: host.cpus.unwrap_or(0),
        load_hundredths: host.load_hundredths.unwrap_or(u32::MAX),
    }
}

/// Sets what the client wishes, buffers within the limit; what the system made of it.
fn set_options(
    stream: &TcpStream,
    wishes: &Wishes,
    limits: &Limits,
) -> std::io::Result<SocketOptions> {
    let socket = SockRef::from(stream);
    let asked = wishes.options;
    stream.set_nodelay(asked.nodelay)?;
    if asked.send_buffer > 0 {
        socket.set_send_buffer_size(asked.send_buffer.min(limits.buffer) as usize)?;
    }
    if asked.receive_buffer > 0 {
        socket.set_recv_buffer_size(asked.receive_buffer.min(limits.buffer) as usize)?;
    }
    crate::client::options_of(stream)
}

struct Session<'a> {
    stream: &'a TcpStream,
    input: Input<'a>,
    shared: &'a Shared<'a>,
    /// When it has lasted as long as it may.
    over: Instant,
    exchanges: u64,
    received_bytes: u64,
    sent_bytes: u64,
}

impl<'a> Session<'a> {
    fn run(&mut self) -> End {
        let mut padded = Padded::new();
        loop {
            if let Err(end) = self.exchange(&mut padded) {
                return end;
            }
        }
    }

    fn exchange(&mut self, padded: &mut Padded) -> Result<(), End> {
        let limits = self.shared.limits;
        let until = self.until();
        let header = self.input.exact(until).map_err(|c| self.end(c))?;
        let request = Request::decode(&header, limits.size).ok_or(End::Size)?;
        let padding = request.request_bytes - REQUEST_BYTES;
        self.input.skip(padding, until).map_err(|c| self.end(c))?;
        let received = Instant::now();
        self.received_bytes += u64::from(request.request_bytes);

        let volume = u64::from(request.request_bytes) + u64::from(request.response_bytes);
        let wait = self.shared.pace.take(volume, received);
        self.hold(received + wait)?;
        // What it waited for in the end: a sleep may be longer than asked.
        let held = if wait.is_zero() {
            wait
        } else {
            received.elapsed()
        };
        let response = Response {
            response_bytes: request.response_bytes,
            sequence: request.sequence,
            service_ns: nanoseconds(received.elapsed()),
            held_ns: nanoseconds(held),
        };
        padded
            .write(
                self.stream,
                response.encode(),
                request.response_bytes,
                self.until(),
            )
            .map_err(|c| self.end(c))?;
        self.sent_bytes += u64::from(request.response_bytes);
        self.exchanges += 1;
        Ok(())
    }

    /// A message has the idle time for all of it, and the session its own.
    fn until(&self) -> Until<'a> {
        Until {
            deadline: self.over.min(Instant::now() + self.shared.limits.idle),
            stop: self.shared.stop,
        }
    }

    /// Waits in pieces, to see when to stop.
    fn hold(&self, release: Instant) -> Result<(), End> {
        loop {
            let left = release.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            if self.shared.stop.load(Ordering::Relaxed) {
                return Err(End::Stopped);
            }
            if Instant::now() >= self.over {
                return Err(End::Duration);
            }
            thread::sleep(left.min(crate::input::TICK));
        }
    }

    fn end(&self, cut: Cut) -> End {
        match cut {
            Cut::Closed => End::Closed,
            Cut::Late if Instant::now() >= self.over => End::Duration,
            Cut::Late => End::Idle,
            Cut::Stopped => End::Stopped,
            Cut::Failed(_) => End::Failed,
        }
    }
}
