//! Why it took so long to start: what a client waited for, one thing after another.
//!
//! - [`wait`] says which waits there are: a call, a name asked for, a connection, an address, a broadcast.
//! - [`host`] makes them of calls, of packets that knock ([`model::Knock`]) and of ARP, as they come.
//! - [`timeline`] divides the time among them: at each moment the client waits for one thing, or for
//!   nothing that is on the wire.
//!
//! **How long a wait lasts.** What was answered lasted until the answer. What was not lasts until the
//! client goes on: until it asks the same again, or begins something new: a connection, a name, an
//! address, a broadcast. A refused connection is waited for until the client tries the same port
//! again, where it does: the pause between is what the refusal cost.
//!
//! **Who is charged.** When several waits overlap, the one that began last: the earlier ones would
//! have gone on anyway, or wait for it. Broadcasts and turns of unknown protocols come behind all
//! others, as nobody need wait for those. No nanosecond is charged twice, and what is charged and what
//! is not add up to the elapsed time.

mod host;
#[cfg(test)]
mod tests;
mod timeline;
mod wait;

pub(crate) use wait::is_of_startup;
pub use wait::{Ending, WaitKind, reason};

use crate::results::{CaptureResult, Order};
use crate::text::Text;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use host::Host;
use model::{Arp, Call, Endpoint, Knock, PacketRef, Problems, Protocol, Time, Where, limits};
use std::net::IpAddr;

/// How much of a client's life is its start-up, where nobody says.
pub(crate) const STARTUP_NS: i64 = 120_000_000_000;

/// Start-ups in the making.
#[derive(Default, Debug)]
pub struct Startup {
    /// Addresses that are one client, where somebody said which.
    asked: Vec<IpAddr>,
    /// Whether calls to file servers have names in their text.
    names: bool,
    from: Option<Time>,
    to: Option<Time>,
    hosts: HashMap<IpAddr, Host, FixedState>,
    /// In the order in which they were first seen.
    seen: Vec<IpAddr>,
    waits: usize,
    problems: Problems,
}

/// A wait and what it cost.
#[derive(Clone, PartialEq, Debug)]
pub struct Waited {
    pub kind: WaitKind,
    pub ending: Ending,
    /// Who was waited for; without a port where it has none (ARP), `None` for the client itself.
    pub server: Option<Endpoint>,
    /// What was asked: a name, an operation.
    pub what: Text,
    /// What ended it.
    pub ended_by: Text,
    pub first: Time,
    /// How long it lasted.
    pub elapsed_ns: i64,
    /// What of that nothing else is charged with.
    pub cost_ns: i64,
    /// The packets that began and ended it.
    pub begun: PacketRef,
    pub ended: PacketRef,
}

/// Waits of one kind and ending, for one server or all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sum {
    pub kind: WaitKind,
    pub ending: Ending,
    /// `None` for the sum over all servers, and for the client itself.
    pub server: Option<Endpoint>,
    pub count: u64,
    pub cost_ns: i64,
    /// The costliest of them, by its place among the waits.
    pub worst: usize,
}

/// One client's start-up.
#[derive(Clone, PartialEq, Debug)]
pub struct ClientStartup {
    pub addresses: Vec<IpAddr>,
    pub first: Time,
    pub last: Time,
    /// Whether it asked for more than names and addresses: a connection, or a call.
    pub is_client: bool,
    /// Whether the client went on behind `last`.
    pub goes_on: bool,
    /// In the order in which they began.
    pub waits: Vec<Waited>,
    /// By kind and ending, and the same by server, the costliest first.
    pub reasons: Vec<Sum>,
    pub servers: Vec<Sum>,
}

impl ClientStartup {
    #[must_use]
    pub fn elapsed_ns(&self) -> i64 {
        self.last - self.first
    }

    /// Time in which the client waited for something on the wire.
    #[must_use]
    pub fn waited_ns(&self) -> i64 {
        let waits = self.waits.iter().filter(|w| w.kind != WaitKind::Client);
        waits.map(|w| w.cost_ns).sum()
    }
}

/// What `startup` answers.
#[derive(Debug)]
pub struct StartupResult {
    pub captures: Vec<CaptureResult>,
    /// The client that was asked for, or the one that waited longest of those that asked for more than
    /// names, if there are any. `None`: nobody asked for anything.
    pub client: Option<ClientStartup>,
    /// The client that was asked for, by its addresses.
    pub asked: Vec<IpAddr>,
    /// Others, and how long each waited.
    pub others: Vec<(IpAddr, i64)>,
    /// In which waits are listed, and how many of them.
    pub order: Order,
}

/// Whose call it is. Who asks for an address has none yet, but the one that it gets, or asks for.
fn address(call: &Call) -> IpAddr {
    let own = call.client.address;
    let given = call
        .text
        .as_ref()
        .filter(|_| call.protocol == Protocol::Dhcp);
    match given.filter(|_| own.is_unspecified()) {
        Some(given) => given.parse().unwrap_or(own),
        None => own,
    }
}

impl Startup {
    /// Of the client with these addresses; of all when there are none. The text of a call to a file server is
    /// what it names.
    #[must_use]
    pub fn new(client: &[IpAddr]) -> Startup {
        Startup {
            asked: client.to_vec(),
            names: true,
            ..Startup::default()
        }
    }

    /// Only what begins between these times counts.
    pub fn within(&mut self, from: Option<Time>, to: Option<Time>) {
        (self.from, self.to) = (from, to);
    }

    fn host(&mut self, address: IpAddr, at: Time) -> Option<&mut Host> {
        let address = match self.asked.first() {
            None => address,
            Some(first) if self.asked.contains(&address) => *first,
            Some(_) => return None,
        };
        let before = self.from.is_some_and(|from| at < from);
        if before || self.to.is_some_and(|to| at >= to) || address.is_unspecified() {
            return None;
        }
        if self.waits >= limits::STARTUP_WAITS {
            self.problems.note("waits-left-out", || {
                ("the start-ups hold too many waits".into(), Where::default())
            });
            return None;
        }
        if !self.hosts.contains_key(&address) {
            if self.seen.len() >= limits::STARTUP_HOSTS {
                let example = || (format!("{address} and hosts behind it"), Where::default());
                self.problems.note("hosts-left-out", example);
                return None;
            }
            self.seen.push(address);
        }
        let to = self.to;
        let host = self.hosts.entry(address).or_insert_with(|| Host::new(at));
        let within = to.is_some() || at - host.first < STARTUP_NS;
        if !within {
            host.goes_on = true;
            return None;
        }
        self.waits += 1;
        Some(host)
    }

    pub fn call(&mut self, call: &Call) {
        let names = self.names;
        if let Some(begun) = call.request_first
            && let Some(host) = self.host(address(call), begun.time)
        {
            host.call(call, begun, names);
        }
    }

    pub fn knock(&mut self, knock: &Knock) {
        if let Some(host) = self.host(knock.source.address, knock.at.time) {
            host.knocks(knock);
        }
        if let Some(host) = self.host(knock.destination.address, knock.at.time) {
            host.is_answered(knock);
        }
    }

    pub fn arp(&mut self, arp: &Arp) {
        if arp.is_question() {
            if let Some(host) = self.host(arp.sender.into(), arp.at.time) {
                host.asks_for_address(arp.target.into(), arp.at);
            }
        } else if arp.operation == 2
            && let Some(host) = self.host(arp.target.into(), arp.at.time)
        {
            host.has_address(arp.sender.into(), arp.at);
        }
    }

    /// That of the client that waited longest.
    #[must_use]
    pub fn longest(mut self) -> Option<ClientStartup> {
        self.all().into_iter().next()
    }

    /// The answer, and what it leaves out.
    #[must_use]
    pub fn finish(mut self, mut capture: CaptureResult) -> StartupResult {
        let mut all = self.all().into_iter();
        let client = all.next();
        capture.problems.merge(&self.problems);
        StartupResult {
            captures: vec![capture],
            client,
            asked: self.asked,
            others: all
                .filter(|c| c.waited_ns() > 0)
                .filter_map(|c| Some((*c.addresses.first()?, c.waited_ns())))
                .collect(),
            order: Order::default(),
        }
    }

    /// All clients, those that waited longest first; behind them who only asked for names.
    fn all(&mut self) -> Vec<ClientStartup> {
        let mut all: Vec<ClientStartup> = Vec::new();
        for address in &self.seen {
            let Some(host) = self.hosts.remove(address) else {
                continue;
            };
            let addresses = match self.asked.is_empty() {
                true => vec![*address],
                false => self.asked.clone(),
            };
            all.extend(timeline::of(host, addresses, self.to));
        }
        all.sort_by_key(|c| (!c.is_client, std::cmp::Reverse(c.waited_ns()), c.first));
        all
    }
}
