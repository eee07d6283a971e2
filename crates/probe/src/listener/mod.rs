//! The other end: answers as long as it is asked, to those who know the token, within limits.
//!
//! It may be left running. It binds the one address that it is given; who does not show within
//! [`Limits::hello`] that the token is known is cut off, having been sent no more than it sent; answers are
//! as long as was asked, and sizes, rates, times and numbers of connections are limited for all
//! sessions together. What is beyond a limit of the rate waits (and the response says for how long),
//! what is beyond another limit ends its session.
//!
//! A thread per connection, of which there are at most [`HANDSHAKES`] and
//! [`Limits::connections`]; 192 KiB for each. Of those that have not shown yet that they know the token a
//! network has [`OF_A_NETWORK`] at most: so a slow stranger does not keep others out.

mod pace;
mod session;

use crate::error::ProbeError;
use crate::token::Token;
use pace::Pace;
use socket2::{Domain, Protocol, Socket, Type};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Connections that have not shown it yet; further ones are closed at once.
pub(crate) const HANDSHAKES: usize = 64;
/// Those of one address of IPv4, or of one network of IPv6, in which a host has as many as it likes.
pub(crate) const OF_A_NETWORK: usize = 4;

/// How long `accept` waits before it looks whether to stop.
const ACCEPT: Duration = Duration::from_millis(200);

/// Room for connections that nobody has accepted yet.
const BACKLOG: i32 = 128;

/// Threads here need little.
const STACK_BYTES: usize = 128 << 10;

/// What a listener does at most.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The longest request or response, bytes.
    pub size: u32,
    /// Exchanges per second, of all sessions together.
    pub rate: u32,
    /// Bits per second of both directions, of all sessions together.
    pub bandwidth_bps: u64,
    /// Of a session.
    pub duration: Duration,
    /// Sessions at a time.
    pub connections: u32,
    /// How long a session may be silent, or take over one request or response.
    pub idle: Duration,
    /// How long a client has to show that it knows the token.
    pub hello: Duration,
    /// Send and receive buffers that a client may ask for, bytes.
    pub buffer: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            size: 2 << 20,
            rate: 20_000,
            bandwidth_bps: 1_000_000_000,
            duration: Duration::from_secs(600),
            connections: 16,
            idle: Duration::from_secs(30),
            hello: Duration::from_secs(5),
            buffer: 16 << 20,
        }
    }
}

/// Something to note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A client has shown that it knows the token.
    Started { client: SocketAddr },
    /// A session is over.
    Ended {
        client: SocketAddr,
        exchanges: u64,
        received_bytes: u64,
        sent_bytes: u64,
        why: End,
    },
    /// A connection was not served.
    Refused { client: SocketAddr, why: Refusal },
}

/// Why a session ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// The client closed the connection.
    Closed,
    /// The client was silent, or took too long over a message.
    Idle,
    /// It lasted as long as it may.
    Duration,
    /// A request or the response it asked for is larger than allowed, or shorter than its header.
    Size,
    /// The listener ends.
    Stopped,
    /// The connection failed.
    Failed,
}

/// Why a connection was not served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its first bytes are none of this protocol.
    Malformed,
    /// It did not show in time that it knows the token, or closed before.
    Handshake,
    WrongToken,
    /// As many sessions as are allowed were open.
    Busy,
    /// Too many others had not shown yet that they know the token, or there was no thread for it.
    Crowded,
}

/// What a listener did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    pub sessions: u64,
    pub exchanges: u64,
    pub refused: u64,
}

/// Bound to its address, and not yet listening to anybody.
pub struct Listener {
    socket: Socket,
    address: SocketAddr,
    token: Token,
    limits: Limits,
}

/// What the threads share.
struct Shared<'a> {
    token: &'a Token,
    limits: &'a Limits,
    stop: &'a AtomicBool,
    events: &'a (dyn Fn(Event) + Sync),
    pace: Pace,
    greeting: Greeting,
    serving: AtomicUsize,
    sessions: AtomicU64,
    exchanges: AtomicU64,
    refused: AtomicU64,
}

impl Shared<'_> {
    fn refuse(&self, client: SocketAddr, why: Refusal) {
        self.refused.fetch_add(1, Ordering::Relaxed);
        (self.events)(Event::Refused { client, why });
    }
}

/// One of a bounded number of places, given back when it is dropped.
struct Place<'a>(&'a AtomicUsize);

impl<'a> Place<'a> {
    fn take(taken: &'a AtomicUsize, of: usize) -> Option<Place<'a>> {
        let more = |n| (n < of).then_some(n + 1);
        let (set, get) = (Ordering::AcqRel, Ordering::Acquire);
        taken
            .fetch_update(set, get, more)
            .ok()
            .map(|_| Place(taken))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Who has not shown yet that it knows the token: how many by network.
#[derive(Default)]
struct Greeting(Mutex<HashMap<IpAddr, usize>>);

impl Greeting {
    fn admit(&self, from: IpAddr) -> Option<Guest<'_>> {
        let network = network(from);
        let mut by_network = self.lock();
        let all: usize = by_network.values().sum();
        let known = by_network.get(&network).copied().unwrap_or(0);
        (all < HANDSHAKES && known < OF_A_NETWORK).then(|| {
            by_network.insert(network, known + 1);
            Guest { of: self, network }
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address of IPv4; of IPv6 the upper half, as a host has the lower one to itself.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 => v4,
    }
}

/// A place among those who greet, given back when it is dropped.
struct Guest<'a> {
    of: &'a Greeting,
    network: IpAddr,
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        let mut by_network = self.of.lock();
        if let Entry::Occupied(mut place) = by_network.entry(self.network) {
            match place.get() {
                ..=1 => drop(place.remove()),
                more => *place.get_mut() = more - 1,
            }
        }
    }
}

impl Listener {
    /// Binds `address`, and only it; port 0 is one that the system chooses.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub fn bind(address: SocketAddr, token: Token, limits: Limits) -> Result<Listener, ProbeError> {
        let bind = || {
            let socket = Socket::new(
                Domain::for_address(address),
                Type::STREAM,
                Some(Protocol::TCP),
            )?;
            socket.set_reuse_address(true)?;
            if matches!(address.ip(), IpAddr::V6(_)) {
                // `::` is not to listen to IPv4 beside it.
                socket.set_only_v6(true)?;
            }
            socket.bind(&address.into())?;
            socket.listen(BACKLOG)?;
            // Of a listening socket this is how long it waits in accept.
            socket.set_read_timeout(Some(ACCEPT))?;
            let bound = socket.local_addr()?.as_socket().unwrap_or(address);
            Ok((socket, bound))
        };
        let (socket, address) = bind().map_err(|source| ProbeError::Listen { address, source })?;
        Ok(Listener {
            socket,
            address,
            token,
            limits,
        })
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is set, and ends when all sessions have.
    pub fn run(&self, stop: &AtomicBool, events: &(dyn Fn(Event) + Sync)) -> Counts {
        let shared = Shared {
            token: &self.token,
            limits: &self.limits,
            stop,
            events,
            pace: Pace::new(&self.limits, Instant::now()),
            greeting: Greeting::default(),
            serving: AtomicUsize::new(0),
            sessions: AtomicU64::new(0),
            exchanges: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        };
        thread::scope(|scope| {
            while !stop.load(Ordering::Relaxed) {
                let (socket, client) = match self.socket.accept() {
                    Ok((socket, from)) => (socket, from.as_socket()),
                    Err(e) => {
                        pause_after(&e);
                        continue;
                    }
                };
                let Some(client) = client else { continue };
                let Some(place) = shared.greeting.admit(client.ip()) else {
                    shared.refuse(client, Refusal::Crowded);
                    continue;
                };
                let shared = &shared;
                let serve = move || session::serve(&TcpStream::from(socket), client, shared, place);
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                if thread.spawn_scoped(scope, serve).is_err() {
                    shared.refuse(client, Refusal::Crowded);
                }
            }
        });
        Counts {
            sessions: shared.sessions.into_inner(),
            exchanges: shared.exchanges.into_inner(),
            refused: shared.refused.into_inner(),
        }
    }
}

/// Nobody came, or a client went before it was accepted: go on. Without file descriptors or memory
/// asking at once would only burn time.
fn pause_after(error: &std::io::Error) {
    let passing = [
        ErrorKind::WouldBlock,
        ErrorKind::TimedOut,
        ErrorKind::Interrupted,
        ErrorKind::ConnectionAborted,
        ErrorKind::ConnectionReset,
    ];
    if !passing.contains(&error.kind()) {
        thread::sleep(ACCEPT);
    }
}
