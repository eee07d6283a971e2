//! Requests as they are sent and settled into what hosts that serve have asked of servers of their own meanwhile.
//!
//! A database whose files lie on NFS answers a statement when the array has answered the reads that it needs. A
//! capture beside the database has both: whose statement it works on, and which calls of its own are under way
//! then. That these are for the statement is no packet's word; it is concluded from when they come. Between the
//! beginnings of two calls of a host's own lies a gap. If they had nothing to do with who asks the host, a request
//! that falls into the gap would leave any share of it, the small ones no more often than the large ones; who needs
//! something for an answer asks for it at once. In the same way answers follow the last end of a call that they
//! needed. Of several requests in one gap the last is looked at, for which so many times as much may be chance.
//!
//! How much of the host's time for its clients lies beneath its own calls is measured; calls that go on while
//! nobody asks it anything are taken for the background that they are, and their share is not counted.
//!
//! What a server wrote and a standby has not confirmed is such a call of its own: a commit may wait for that.
//! Who connects to a server that greets its clients asks something of it, too: the first of its greetings tells that it does.
//! To look up a name is a call as well, often one that nobody answers. When the host stops waiting for that no packet
//! says; but a request that was answered waits no more, so of lookups as many are under way as of requests, at most.

mod beneath;
mod chance;
mod ends;
mod host;
mod spans;
#[cfg(test)]
mod tests;
mod whose;

pub use beneath::{Beneath, Followed, Told};

use crate::conns;
use crate::results::Vantage;
use hashbrown::{HashMap, HashSet};
use host::Host;
use model::{
    Change, ConnectionId, ConnectionSummary, Endpoint, Outstanding, Protocol, Time, limits,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Connections whose hosts are at hand: looking them up takes a quarter of what is done for a change.
const LATEST: usize = 32;

/// So many connections of an address are asked at which end the capture was taken.
const VOTES: u32 = 16;

/// What a host asks of a server below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Asks {
    Calls,
    /// To look up names.
    Names,
    /// To confirm that it has a copy of what was written.
    Copies,
}

impl Asks {
    /// What goes on meanwhile, what one of these is, and where.
    #[must_use]
    pub fn words(self) -> [&'static str; 3] {
        match self {
            Asks::Calls => ["calls of its own are under way", "call", "to"],
            Asks::Names => ["names are looked up", "lookup", "at"],
            Asks::Copies => [
                "a standby has not confirmed what was written",
                "message",
                "to",
            ],
        }
    }
}

/// What a host does for its clients, and what it asked of others meanwhile.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tier {
    pub host: IpAddr,
    /// The server that its own calls waited for longest, and how many others there are.
    pub below: Endpoint,
    /// What it asks of that.
    pub what: Asks,
    pub others: usize,
    /// Requests of its clients, and calls of its own.
    pub asked: u64,
    pub asks: u64,
    /// Of its own: those that are calls, names that it looked up, and those of these that nobody answered.
    pub calls: u64,
    pub names: u64,
    pub unanswered: u64,
    /// How long requests of its clients were under way in it, summed.
    pub work_ns: i64,
    /// What of that lies beneath its own calls, at least and at most: where it works on several at a time, one of
    /// them waits for certain.
    pub least_ns: i64,
    pub most_ns: i64,
}

impl Tier {
    /// What of its work for a request lies beneath its own calls, nanoseconds, at least and at most.
    #[must_use]
    pub fn beneath_each_ns(&self) -> [i64; 2] {
        [self.least_ns, self.most_ns].map(|ns| ns / self.asked.max(1) as i64)
    }

    /// Whether least and most are so far apart that both are to be said.
    #[must_use]
    pub fn is_bounds(&self) -> bool {
        self.most_ns - self.least_ns > self.least_ns / 20
    }

    /// Whether it makes about as many calls as it is asked to: it only passes them on, and how many is not its choice.
    #[must_use]
    pub fn passes_on(&self) -> bool {
        self.calls <= self.asked.saturating_add(self.asked / 2)
    }
}

/// Which calls of captures are looked at, by who makes them: hosts that work for others, or all but those.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Only {
    pub hosts: Vec<IpAddr>,
    pub are_theirs: bool,
    /// And not those to these, which one of two captures alone can have.
    pub not_to: Vec<IpAddr>,
    /// Whether those only [pass on](Tier::passes_on) what they are asked.
    pub pass_on: bool,
}

impl Only {
    #[must_use]
    pub fn takes(&self, client: Endpoint, server: Endpoint) -> bool {
        self.hosts.contains(&client.address) == self.are_theirs
            && !self.not_to.contains(&server.address)
    }
}

/// Hosts of one capture that are asked and ask.
pub struct Tiers {
    hosts: Vec<Host>,
    numbers: HashMap<IpAddr, usize, foldhash::fast::FixedState>,
    /// The asking and the asked host of each connection, by their numbers.
    places: HashMap<ConnectionId, Option<[usize; 2]>, foldhash::fast::FixedState>,
    /// Those that were looked up last, by the last bits of their connections.
    latest: [Option<(ConnectionId, [usize; 2])>; LATEST],
    /// Which of a pair of hosts asks the other, by their numbers: callbacks go the other way.
    pairs: HashSet<[usize; 2], foldhash::fast::FixedState>,
    /// Servers that speak first on a connection.
    greeters: HashSet<Endpoint, foldhash::fast::FixedState>,
    /// Connections on which nobody has spoken, and whether it is known that their servers are to.
    silent: HashMap<ConnectionId, (Endpoint, bool), foldhash::fast::FixedState>,
    /// How many more requests and calls may be followed.
    room: usize,
    /// When the capture began.
    began: Option<Time>,
    /// How many connections say of an address that the capture was taken at it, and how many that it was not.
    votes: HashMap<IpAddr, [u32; 2], foldhash::fast::FixedState>,
    /// Addresses that are one host's, where that is known.
    own: Vec<IpAddr>,
}

impl Default for Tiers {
    fn default() -> Tiers {
        Tiers {
            hosts: Vec::new(),
            numbers: HashMap::default(),
            places: HashMap::default(),
            latest: [None; LATEST],
            pairs: HashSet::default(),
            greeters: HashSet::default(),
            silent: HashMap::default(),
            room: ends::FOLLOWED,
            began: None,
            votes: HashMap::default(),
            own: Vec::new(),
        }
    }
}

impl Tiers {
    /// The capture begins so.
    pub fn begins(&mut self, at: Time) {
        self.began.get_or_insert(at);
    }

    /// These addresses are one host's; to be said before the first change.
    pub fn own(&mut self, addresses: &[IpAddr]) {
        self.own = addresses.to_vec();
    }

    /// Takes a connection that is over where changes are not told: somebody asked on it.
    pub fn meet(&mut self, c: &ConnectionSummary) {
        if !c.protocol.is_some_and(asks) {
            return;
        }
        self.change(&Outstanding {
            order: 0,
            time: c.first.time,
            connection: c.id,
            client: c.client,
            server: c.server,
            id: 0,
            change: Change::Sent,
        });
        self.connection(c);
    }

    /// Takes a connection that is over: it may say at which of its ends the capture was taken.
    pub fn connection(&mut self, c: &ConnectionSummary) {
        self.places.remove(&c.id);
        self.latest[c.id.0 as usize % LATEST] = None;
        let mut concluded = None;
        let ends = [
            (c.client.address, Vantage::Client),
            (c.server.address, Vantage::Server),
        ];
        for (address, end) in ends {
            if !self.numbers.contains_key(&address) {
                continue;
            }
            let votes = self.votes.entry(address).or_default();
            if votes.iter().sum::<u32>() >= VOTES {
                continue;
            }
            match *concluded.get_or_insert_with(|| conns::vantage_of(c).vantage) {
                Vantage::Unknown => {}
                at => votes[usize::from(at != end)] += 1,
            }
        }
    }

    /// The addresses of the host that the capture was taken at, if it is asked at one and asks from another; that at which
    /// it is asked most comes first, and names it.
    #[must_use]
    pub fn addresses(&self) -> Vec<IpAddr> {
        let here = self.votes.iter().filter(|(_, [here, not])| here > not);
        let mut own: Vec<IpAddr> = here.map(|(address, _)| *address).collect();
        own.sort_unstable_by_key(|a| (std::cmp::Reverse(self.seen(*a)[0]), *a));
        let has = |role: usize| own.iter().any(|a| self.seen(*a)[role] > 0);
        match own.len() > 1 && has(0) && has(1) {
            true => own,
            false => Vec::new(),
        }
    }

    /// Hosts that are asked and ask, those of several [addresses](Tiers::addresses) by the first.
    #[must_use]
    pub fn both(&self) -> Vec<IpAddr> {
        let own = self.addresses();
        let hosts = self.hosts.iter().filter(|h| h.asked > 0 && h.asks > 0);
        let others = hosts.map(|h| h.address).filter(|a| !own.contains(a));
        own.first().copied().into_iter().chain(others).collect()
    }

    /// Takes a change; in the order of packets.
    pub fn change(&mut self, o: &Outstanding) {
        let (change, what) = match o.change {
            Change::Sent => (1, Asks::Calls),
            Change::Settled => (-1, Asks::Calls),
            Change::Asked => (1, Asks::Names),
            Change::Told => (-1, Asks::Names),
            Change::Shipped => (1, Asks::Copies),
            Change::Confirmed => (-1, Asks::Copies),
            Change::Opened | Change::Greeted | Change::Ungreeted => match self.greeting(o) {
                Some(change) => (change, Asks::Calls),
                None => return,
            },
            Change::Stray | Change::Spoke | Change::Released => return,
        };
        let Some([client, server]) = self.ends(o) else {
            return;
        };
        // A standby is a client of the server whose log it copies.
        let (asks, below) = match what {
            Asks::Calls | Asks::Names => (client, o.server),
            Asks::Copies => (server, o.client),
        };
        if what == Asks::Calls
            && let Some(host) = self.hosts.get_mut(server)
        {
            host.serves(o.time, change);
            if host.reached.is_some() {
                host.at_ends.serves(o, change > 0, &mut self.room);
            }
        }
        if let Some(host) = self.hosts.get_mut(asks) {
            host.calls(o.time, below, change, what);
            if host.reached.is_some() {
                host.at_ends.calls(o, change > 0, &mut self.room);
            }
        }
    }

    /// What a connection that was opened, or on which somebody spoke at last, adds to the requests under way.
    fn greeting(&mut self, o: &Outstanding) -> Option<i32> {
        if o.change == Change::Opened {
            let is_full = self.silent.len() >= limits::TIER_CONNECTIONS;
            let greets = !is_full && self.greeters.contains(&o.server);
            if !is_full {
                self.silent.insert(o.connection, (o.server, greets));
            }
            return greets.then_some(1);
        }
        let (_, was_awaited) = self.silent.remove(&o.connection)?;
        let is_known = self.greeters.contains(&o.server);
        if o.change == Change::Greeted && !is_known && self.greeters.len() < limits::TIER_SERVERS {
            self.greeters.insert(o.server);
            self.greets(o);
        }
        was_awaited.then_some(-1)
    }

    /// A server is found to greet its clients: others wait for that, and what it asked so far while it seemed idle may
    /// have been for them.
    fn greets(&mut self, o: &Outstanding) {
        let mut waiting = 0;
        for (server, is_awaited) in self.silent.values_mut() {
            if *server == o.server && !*is_awaited {
                *is_awaited = true;
                waiting += 1;
            }
        }
        let number = self.host(o.server.address, o.time);
        if let Some(host) = number.and_then(|n| self.hosts.get_mut(n)) {
            host.reach(o.time);
            host.spent_ns[0] = [0; 2];
            (0..waiting).for_each(|_| host.serves(o.time, 1));
        }
    }

    /// The hosts of a connection, if they can be followed.
    fn ends(&mut self, o: &Outstanding) -> Option<[usize; 2]> {
        let latest = o.connection.0 as usize % LATEST;
        if let Some((connection, ends)) = self.latest[latest]
            && connection == o.connection
        {
            return Some(ends);
        }
        let ends = match self.places.get(&o.connection) {
            Some(place) => *place,
            None => self.place(o),
        };
        self.latest[latest] = ends.map(|ends| (o.connection, ends));
        ends
    }

    /// The hosts of a connection that is new, if they can be followed and it is no callback.
    fn place(&mut self, o: &Outstanding) -> Option<[usize; 2]> {
        if self.places.len() >= limits::TIER_CONNECTIONS {
            return None;
        }
        let client = self.host(o.client.address, o.time);
        let server = self.host(o.server.address, o.time);
        let place = client.zip(server).map(|(client, server)| [client, server]);
        let place = place.filter(|&[client, server]| {
            let is_back = client == server || self.pairs.contains(&[server, client]);
            let is_known = is_back || self.pairs.len() < limits::TIER_CONNECTIONS;
            if is_known && !is_back {
                self.pairs.insert([client, server]);
            }
            is_known && !is_back
        });
        self.places.insert(o.connection, place);
        place
    }

    fn host(&mut self, address: IpAddr, at: Time) -> Option<usize> {
        let address = first_of(&self.own, address);
        if let Some(number) = self.numbers.get(&address) {
            return Some(*number);
        }
        let number = self.hosts.len();
        if number >= limits::TIER_HOSTS {
            return None;
        }
        let began = self.began.unwrap_or(at);
        self.hosts.push(Host::new(address, began));
        self.numbers.insert(address, number);
        Some(number)
    }

    /// How many requests a host had of its clients, and how many calls it made.
    #[must_use]
    pub fn seen(&self, host: IpAddr) -> [u64; 2] {
        let number = self.numbers.get(&host);
        let host = number.and_then(|n| self.hosts.get(*n));
        host.map_or([0; 2], |h| [h.asked, h.asks])
    }

    /// Hosts whose own calls are part of their work for others, most time first, in a capture that ended so.
    #[must_use]
    pub fn told(&mut self, at: Option<Time>) -> Vec<Tier> {
        if let Some(at) = at {
            for host in &mut self.hosts {
                host.reach(at);
                host.ends(at);
            }
        }
        let mut told: Vec<Tier> = self.hosts.iter().filter_map(Host::tier).collect();
        told.sort_by_key(|t| (std::cmp::Reverse(t.least_ns), t.host));
        told
    }
}

/// The address that names a host: the first of its own.
fn first_of(own: &[IpAddr], address: IpAddr) -> IpAddr {
    match own.first() {
        Some(first) if own.contains(&address) => *first,
        _ => address,
    }
}

/// Whether calls of this protocol are asked of a server, who works on them.
fn asks(p: Protocol) -> bool {
    use Protocol::{Tcp, Tls};
    !matches!(p, Tcp | Tls) && !p.is_callback() && !p.is_lookup()
}
