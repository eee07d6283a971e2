//! The connections of a diagnosis: what each direction waited for and when, for the calls that are turns of
//! a byte stream, and for streams that nobody answers, which have a ledger over elapsed time.
//!
//! A message that is long spends its time under way, and neither its client nor its server is to blame
//! before it is known what the stream waited for then. Connections' own accounts say that in nanoseconds.

use crate::answered::Waits;
use crate::connections::Connections;
use crate::conns;
use crate::files::Exports;
use crate::health::Health;
use crate::ledgers::WaitsBeneath;
use crate::packed::Packed;
use crate::path::LONGEST_PATH_NS;
use crate::pressure::Ends;
use crate::results::{ConnectionResult, DirectionResult, Side, Vantage};
use crate::rounds::Chatter;
use crate::startup::ClientStartup;
use crate::text::{Text, Value, text};
use crate::tiers::Tier;
use ledger::{Between, Bounds, Classes, Ledger, Paced, Sums, divide_stream};
use model::{
    ConnectionSummary, Direction, DirectionAccount, Endpoint, PerClass, Protocol, Stuck, TimeClass,
    Transport, Vanished, Wait, limits,
};
use std::collections::{HashMap, HashSet};

/// Less is no reason to look further.
pub(crate) const WORTH_A_LOOK_NS: i64 = 1_000_000_000;

/// A request of this much is one message, however it is written; and so is what a server writes of this much
/// between silences: ten segments, which a round trip carries (RFC 6928). Less may be messages of their own, or
/// events.
pub const MESSAGE_BYTES: u64 = 10 * 1_460;

/// Fewer silences do not repeat.
pub const FEW_SILENCES: u64 = 3;

/// The connections of one or two captures, while they are read.
#[derive(Default)]
pub struct Gathered {
    summaries: [Packed<ConnectionSummary>; 2],
    left_out: u64,
    /// For how long logs were copied, by capture.
    copied_ns: [i64; 2],
    /// What clients waited for before they were served, by capture.
    pub startups: [Option<ClientStartup>; 2],
    /// What packets say of the network's health, by capture.
    pub health: [Health; 2],
    /// Hosts that work for others with calls of their own, by capture, most time first.
    pub tiers: [Vec<Tier>; 2],
    /// How long own calls of such a host were under way while it had a call, by the number of that: by capture.
    pub waits: [WaitsBeneath; 2],
    /// Below which exports files lie, once all captures were read.
    pub exports: Exports,
    /// Who talks, where tools of hosts are held against it.
    pub(crate) ends: Ends,
}

impl Gathered {
    pub(crate) fn with(ends: Ends) -> Gathered {
        Gathered {
            ends,
            ..Gathered::default()
        }
    }

    /// The start-up seen in a capture.
    #[must_use]
    pub fn startup(&self, capture: usize) -> Option<(usize, &ClientStartup)> {
        let startup = self.startups.get(capture)?.as_ref();
        startup.map(|s| (capture, s))
    }

    pub fn add(&mut self, capture: usize, c: &ConnectionSummary) {
        self.ends.add(capture, c);
        if let Some(health) = self.health.get_mut(capture) {
            health.connection(c);
        }
        if c.transport != Transport::Tcp {
            return;
        }
        if let (true, Some(accounts)) = (c.copies, &c.accounts) {
            let busy = accounts
                .iter()
                .map(|a| busy_ns(&a.time_ns) - a.time_ns[TimeClass::SenderApplication]);
            let busy = busy.max();
            let sum = &mut self.copied_ns[capture];
            *sum = sum.saturating_add(busy.unwrap_or(0));
        }
        match self.summaries.get_mut(capture) {
            Some(list) if list.len() < limits::ACCOUNTS => list.push(c),
            _ => self.left_out += 1,
        }
    }

    /// For how long connections on which replicas copy a log were not idle, nanoseconds.
    pub(crate) fn copied_ns(&self) -> i64 {
        self.copied_ns.into_iter().max().unwrap_or(0)
    }

    /// Whether the second of two captures was taken at the client, where connections of both tell.
    pub(crate) fn are_exchanged(&self) -> Option<bool> {
        let [one, other] = &self.summaries;
        conns::are_exchanged(one, other)
    }

    /// Of one capture, as far as is known where that was taken.
    #[must_use]
    pub fn of_one(&self, taken_at: Option<Vantage>) -> Streams {
        let [one, _] = &self.summaries;
        Streams {
            taken_at,
            ..Streams::new(&conns::of_one(one), self.left_out)
        }
    }

    /// Of two, of which `client` was taken at the client.
    #[must_use]
    pub fn of_two(&self, client: usize) -> Streams {
        let server = 1 - client;
        let both = conns::of_two(
            (client, &self.summaries[client]),
            (server, &self.summaries[server]),
        );
        Streams::new(&both, self.left_out)
    }
}

/// The connections of a diagnosis.
#[derive(Default)]
pub struct Streams {
    /// By time at stake.
    pub connections: Vec<ConnectionResult>,
    /// Where connections that speak nothing known stand in it, by capture and what that knows them by.
    plain: HashMap<(usize, u64), usize>,
    pub left_out: u64,
    /// Where the only capture was taken.
    taken_at: Option<Vantage>,
    /// Ends between which a connection was refused that the server went on to accept: somebody else
    /// refused it in the server's name.
    forged: HashSet<(Endpoint, Endpoint)>,
}

/// The longest wait of a class: whose, in which capture.
pub struct Longest<'a> {
    pub connection: &'a ConnectionResult,
    pub capture: usize,
    pub wait: Wait,
}

/// What of the silences around a stream may lie between messages, where it waits for so long by its account.
fn between(c: &ConnectionResult, d: Direction, time: &PerClass<i64>) -> Between {
    let account = |d| &c.direction(d).account;
    let own_ns = account(d).answered.silent_behind_ns;
    let server = account(Direction::ToClient);
    let asked_ns = server.time_ns[TimeClass::SenderApplication];
    Between {
        own_ns: own_ns.min(time[TimeClass::SenderApplication]),
        server_ns: match d {
            // Only what the client waited for.
            Direction::ToServer if !c.copies => asked_ns.min(account(d).time_ns[TimeClass::Idle]),
            _ => 0,
        },
    }
}

/// Less data fits through every link (IPv6's minimum of 1,280, less headers).
const LARGE: u64 = 1_200;

impl Streams {
    fn new(all: &Connections, left_out: u64) -> Streams {
        // Each has thousands of bytes: no more room than they need.
        let mut connections = Vec::with_capacity(all.len());
        connections.extend(all.iter());
        let mut streams = Streams {
            left_out,
            ..Streams::default()
        };
        for (i, c) in connections.iter().enumerate().filter(|(_, c)| is_plain(c)) {
            for ((capture, ..), id) in c.ends.iter().zip(&c.ids) {
                streams.plain.insert((*capture, id.0), i);
            }
        }
        streams.forged = forged(&connections);
        streams.connections = connections;
        streams
    }

    /// What a reader should know: connections that were left out, and, where there are no calls to judge,
    /// where to look instead.
    #[must_use]
    pub fn notes(&self, calls: u64) -> Vec<Text> {
        let mut notes = Vec::new();
        let each = self.connections.iter().map(|c| c.at_stake_ns);
        let waited = each.fold(0, i64::saturating_add);
        if calls == 0 && waited >= WORTH_A_LOOK_NS {
            notes.push(text!(
                "TCP connections waited for {waited} all the same: slowside conns says what for.",
                waited = Value::Duration(waited)
            ));
        }
        let copies = || self.connections.iter().filter(|c| c.copies);
        let waited = copies().map(|c| c.at_stake_ns).fold(0, i64::saturating_add);
        if calls > 0 && waited >= WORTH_A_LOOK_NS {
            notes.push(text!(
                "{count,} connection{count||s} that cop{count|ies|y} a log waited for {waited} meanwhile, which no call tells: slowside conns says what for.",
                count = copies().count(),
                waited = Value::Duration(waited)
            ));
        }
        if self.left_out > 0 {
            notes.push(text!(
                "{left_out} TCP connections beyond the first {first} were not looked at for what they waited for.",
                left_out = self.left_out,
                first = limits::ACCOUNTS,
            ));
        }
        notes
    }

    /// The account of one direction of a connection that speaks nothing known, and whether it lost anything.
    #[must_use]
    pub fn account(
        &self,
        capture: usize,
        connection: u64,
        d: Direction,
    ) -> Option<(&DirectionAccount, bool)> {
        let c = self
            .connections
            .get(*self.plain.get(&(capture, connection))?)?;
        let r = c.direction(d);
        Some((&r.account, r.lost_at_most() > 0))
    }

    /// Whether silences of a direction's sender may lie between messages: of a server that writes little between
    /// them, of a client that asks for little with all it writes, or of who was silent a few times only.
    #[must_use]
    pub fn may_idle(
        &self,
        (capture, connection): (usize, u64),
        d: Direction,
        request_bytes: u64,
    ) -> bool {
        let number = self.plain.get(&(capture, connection));
        let Some(c) = number.and_then(|i| self.connections.get(*i)) else {
            return true;
        };
        let r = c.direction(d);
        let silences = u64::from(r.account.stretches[TimeClass::SenderApplication]);
        let written = match d {
            Direction::ToServer => request_bytes,
            Direction::ToClient => r.counts.payload_bytes / silences.max(1),
        };
        silences < FEW_SILENCES || written < MESSAGE_BYTES
    }

    /// The ledger of streams that nobody answers: of connections that speak nothing known, the direction that
    /// carries most, over the time in which it was not idle.
    #[must_use]
    pub fn sums(&self) -> Sums {
        let mut sums = Sums::new();
        let Some(d) = self.direction() else {
            return sums;
        };
        let mut ledger = Ledger::default();
        for c in self.connections.iter().filter(|c| is_plain(c)) {
            let r = c.direction(d);
            let mut classes = Classes {
                is_lossy: r.lost_at_most() > 0,
                ..Classes::default()
            };
            let mut time = r.account.time_ns;
            if c.copies {
                // Of a log that is copied up to its end there is nothing to send.
                time[TimeClass::Idle] += std::mem::take(&mut time[TimeClass::SenderApplication]);
            }
            let in_vain = r.counts.stuck.is_some_and(|s| s.receiver_heard);
            if r.account.rtt.count == 0 && !in_vain {
                // Of what nobody was ever heard to take nobody knows that it was lost, unless its receiver was heard
                // and lacked it.
                time[TimeClass::Unknown] += time[TimeClass::LossRecovery];
                time[TimeClass::LossRecovery] = 0;
            }
            let longest = r.account.longest[TimeClass::LossRecovery].map(|wait| wait.ns);
            let needless = needless_ns(time[TimeClass::LossRecovery], longest, r.lost_at_most());
            time[TimeClass::Unknown] += needless;
            time[TimeClass::LossRecovery] -= needless;
            let waits = Waits::of(c).filter(|_| d == Direction::ToServer);
            // Who waits for answers tells that itself, where the way is known.
            let told = c.handshake.seen && waits.is_some();
            if let Some(way_ns) = self.way_to_sender(c, d).filter(|_| !told) {
                // So much of each silence may be the path's.
                let silences = i64::from(r.account.stretches[TimeClass::SenderApplication]);
                let application = time[TimeClass::SenderApplication];
                let unsure = application.min(silences.saturating_mul(way_ns));
                time[TimeClass::SenderApplication] -= unsure;
                time[TimeClass::Unknown] += unsure;
            }
            if let Some(waits) = &waits {
                time[TimeClass::Idle] -= waits.idle_ns;
                time[TimeClass::Transfer] += waits.crossing_ns;
                let unsure = waits.unsure_ns.min(time[TimeClass::SenderApplication]);
                time[TimeClass::SenderApplication] -= unsure;
                time[TimeClass::Unknown] += waits.idle_ns - waits.crossing_ns + unsure;
            }
            classes.set(d, [time, time]);
            let paced = (r.counts.ack_rtt_min_ns).and_then(|ns| Paced::of(r.counts.pace, ns, None));
            classes.released_by[d.index()] = paced.and_then(|paced| paced.cause());
            let has_habit = waits.is_some();
            let spared = waits.map_or(Bounds::exactly(0), |w| w.spared());
            // Who writes as answers come has more to write, and its round trips hold what the server takes of each.
            let between = match has_habit {
                true => Between::default(),
                false => between(c, d, &time),
            };
            divide_stream(d, &classes, between, spared, &mut ledger);
            sums.add(&ledger);
        }
        sums
    }

    /// What of each silence of this direction's sender may be the path's, where its only capture was taken at the receiver, or
    /// away from the sender at least: what the way there and back varies, as acknowledgements did; and where nothing showed how long it is from the
    /// beginning, all of it, as what the receiver sent was acknowledged later, or as long as any path.
    fn way_to_sender(&self, c: &ConnectionResult, d: Direction) -> Option<i64> {
        let soonest = |d| c.direction(d).counts.ack_rtt_min_ns;
        let at_receiver = match d {
            Direction::ToServer => Vantage::Server,
            Direction::ToClient => Vantage::Client,
        };
        let here = self.taken_at == Some(at_receiver) || soonest(d).is_some_and(|ns| ns < HERE_NS);
        // Who reads late acknowledges late, and seems further away than he is.
        let is_away = soonest(d.reverse()).is_some_and(|ns| ns >= HERE_NS);
        if c.ends.len() != 1 || !(here || is_away) {
            return None;
        }
        let acknowledged = c.direction(d.reverse()).account.rtt;
        Some(match c.handshake.seen {
            true => acknowledged.p90_ns - acknowledged.min_ns,
            false => soonest(d.reverse()).unwrap_or(LONGEST_PATH_NS),
        })
    }

    /// How long connections of this protocol were busy whose requests and answers are not told apart, as several are
    /// under way at a time.
    #[must_use]
    pub(crate) fn untold_ns(&self, protocol: Protocol) -> i64 {
        let untold = |c: &&ConnectionResult| c.protocol.is_none() && c.pipelined == Some(protocol);
        let busy = |c: &ConnectionResult| {
            Direction::BOTH
                .map(|d| busy_ns(&c.direction(d).account.time_ns))
                .into_iter()
                .max()
        };
        let each = self.connections.iter().filter(untold).filter_map(busy);
        each.fold(0, i64::saturating_add)
    }

    /// Whether all that is nobody's call copies a log.
    pub(crate) fn are_copies(&self) -> bool {
        let mut plain = self.connections.iter().filter(|c| is_plain(c)).peekable();
        plain.peek().is_some() && plain.all(|c| c.copies)
    }

    /// What clients' streams wait for answers to that could do with fewer.
    pub(crate) fn chatter(&self) -> Chatter {
        let plain = self.connections.iter().filter(|c| is_plain(c));
        let mut sum = Chatter::default();
        if self.direction() == Some(Direction::ToServer) {
            let waits = plain.filter_map(Waits::of);
            waits.for_each(|w| sum.merge(&w.chatter()));
        }
        sum
    }

    /// Which way connections that speak nothing known carry most, if they carry anything.
    #[must_use]
    pub fn direction(&self) -> Option<Direction> {
        let plain = || self.connections.iter().filter(|c| is_plain(c));
        let carried = |d: Direction| {
            let each = plain().map(|c| c.directions[d.index()].counts.payload_bytes);
            each.fold(0u64, u64::saturating_add)
        };
        let d = Direction::BOTH.into_iter().max_by_key(|d| carried(*d))?;
        (carried(d) > 0).then_some(d)
    }

    /// Segments that were lost between two captures, by direction.
    pub fn lost(&self) -> [u64; 2] {
        let of = |d| {
            let each = self.connections.iter().map(move |c| c.direction(d));
            each.filter_map(|r| r.lost_on_network_packets)
        };
        Direction::BOTH.map(|d| of(d).fold(0, u64::saturating_add))
    }

    /// Segments that came to their receivers and that these threw away.
    pub(crate) fn discarded(&self) -> u64 {
        let each = self.connections.iter().flat_map(|c| &c.directions);
        each.map(|r| r.discarded_packets)
            .fold(0, u64::saturating_add)
    }

    /// How many segments of a direction were lost at most, and how many sent again.
    pub(crate) fn lost_at_most(&self, d: Direction) -> (u64, u64) {
        let each = self.connections.iter().map(|c| c.direction(d));
        let of = |r: &DirectionResult| (r.lost_at_most(), r.counts.retransmitted_packets);
        each.map(of).fold((0, 0), |sum, r| {
            (sum.0.saturating_add(r.0), sum.1.saturating_add(r.1))
        })
    }

    /// Payload bytes of all connections, by direction.
    #[must_use]
    pub fn carried(&self) -> [u64; 2] {
        Direction::BOTH.map(|d| {
            let each = self
                .connections
                .iter()
                .map(|c| c.directions[d.index()].counts.payload_bytes);
            each.fold(0, u64::saturating_add)
        })
    }

    /// Packets that others overtook on the way, and that nobody sent again as they were lost, by direction.
    pub(crate) fn overtaken(&self) -> [u64; 2] {
        Direction::BOTH.map(|d| {
            let each = self.connections.iter().map(|c| {
                let r = &c.directions[d.index()];
                let again = r.counts.retransmitted_packets;
                let lost = r.lost_at_most().min(again);
                r.counts.out_of_order_packets.saturating_sub(lost)
            });
            each.fold(0, u64::saturating_add)
        })
    }

    /// Whether a connection filled a line from its first packet to its last.
    pub(crate) fn has_line_never_empty(&self) -> bool {
        let fills =
            |c: &ConnectionResult| c.directions.iter().any(|d| d.account.line_is_never_empty);
        self.connections.iter().any(fills)
    }

    /// The size of most writes in this direction, of the connection that carries most of it.
    pub(crate) fn write_size(&self, d: Direction) -> Option<u64> {
        self.busiest(d)?.direction(d).account.write_size_bytes
    }

    /// The connection that speaks nothing known and carries most of what goes in this direction.
    pub(crate) fn busiest(&self, d: Direction) -> Option<&ConnectionResult> {
        let plain = self.connections.iter().filter(|c| is_plain(c));
        plain.max_by_key(|c| c.direction(d).counts.payload_bytes)
    }

    /// Large segments that never arrived, though their receiver was heard, and nothing as large that had been lost before did.
    pub fn stuck(&self) -> impl Iterator<Item = (&ConnectionResult, Direction, Stuck)> {
        let large = |s: &Stuck| s.bytes >= LARGE && s.receiver_heard && !s.others_arrived;
        self.connections.iter().flat_map(move |c| {
            let of = move |d: Direction| Some((c, d, c.direction(d).counts.stuck.filter(large)?));
            Direction::BOTH.into_iter().filter_map(of)
        })
    }

    /// Bytes that went where large segments go, were not seen and never acknowledged, though their sender was
    /// heard so long after it could have sent them: what is lost by chance is sent again by then, three times. Of a
    /// connection without any data a number beyond the window that its receiver had offered is an odd number.
    pub fn vanished(&self) -> impl Iterator<Item = (&ConnectionResult, Direction, Vanished)> {
        const LONG_NS: i64 = 2_000_000_000;
        let large = |v: &Vanished| v.bytes >= LARGE && v.told.time - v.since >= LONG_NS;
        self.connections.iter().flat_map(move |c| {
            let speaks = c.directions.iter().any(|d| d.counts.payload_bytes > 0);
            Direction::BOTH.into_iter().filter_map(move |d| {
                let account = &c.direction(d).account;
                let offered = account.window_max_bytes.unwrap_or(0);
                let vanished = account.vanished.filter(large)?;
                (speaks || vanished.bytes <= offered).then_some((c, d, vanished))
            })
        })
    }

    /// Segments that never arrived, or were never acknowledged, while nothing was heard of their receiver.
    pub(crate) fn in_vain(&self) -> impl Iterator<Item = (&ConnectionResult, Direction, Stuck)> {
        let unheard = |s: &Stuck| !s.receiver_heard;
        self.connections.iter().flat_map(move |c| {
            let of = move |d: Direction| Some((c, d, c.direction(d).counts.stuck.filter(unheard)?));
            Direction::BOTH.into_iter().filter_map(of)
        })
    }

    /// Whether somebody sends packets in the name of this connection's server.
    pub(crate) fn is_forged(&self, c: &ConnectionResult) -> bool {
        self.forged.contains(&(c.client, c.server))
    }

    /// The longest waits of a class in a direction, one a connection.
    pub fn longest(&self, d: Direction, class: TimeClass) -> Vec<Longest<'_>> {
        let mut all: Vec<Longest<'_>> = self
            .connections
            .iter()
            .filter_map(|connection| {
                let wait = connection.directions[d.index()].account.longest[class]?;
                let ends = &connection.ends;
                let (capture, ..) = match d {
                    Direction::ToServer => ends.first(),
                    Direction::ToClient => ends.last(),
                }?;
                Some(Longest {
                    connection,
                    capture: *capture,
                    wait,
                })
            })
            .collect();
        all.sort_by_key(|l| (std::cmp::Reverse(l.wait.ns), l.connection.number));
        all
    }
}

fn forged(connections: &[ConnectionResult]) -> HashSet<(Endpoint, Endpoint)> {
    let ends = |c: &ConnectionResult| (c.client, c.server);
    let refused: HashSet<_> = connections
        .iter()
        .filter(|c| c.resets.iter().flatten().any(|r| r.refuses))
        .map(ends)
        .collect();
    // The answer to the SYN that was refused, which ended the connection it began.
    let late = |c: &&ConnectionResult| {
        c.openings
            .iter()
            .any(|h| h.syn.is_none() && h.syn_ack.is_some())
    };
    let accepted: HashSet<_> = connections.iter().filter(late).map(ends).collect();
    refused.intersection(&accepted).copied().collect()
}

/// Who sends a direction's bytes, and who receives them.
#[must_use]
pub fn sender(d: Direction) -> Side {
    match d {
        Direction::ToServer => Side::Client,
        Direction::ToClient => Side::Server,
    }
}

#[must_use]
pub fn receiver(d: Direction) -> Side {
    sender(d.reverse())
}

/// A side as a word in a sentence.
#[must_use]
pub fn word(side: Side) -> &'static str {
    match side {
        Side::Client => "client",
        Side::Server => "server",
        _ => "network",
    }
}

/// A host that acknowledges this soon is where the capture was taken.
const HERE_NS: i64 = 100_000;

/// Whether its calls are turns of a byte stream, so that its account is theirs.
fn is_plain(c: &ConnectionResult) -> bool {
    let speaks_nothing = !c.is_known && matches!(c.protocol, None | Some(Protocol::Tcp));
    c.copies || speaks_nothing && c.pipelined != Some(Protocol::Rpc)
}

/// Of the time that a direction recovered in, what was needless at least, where so many segments had been lost: each was
/// one recovery at most, and none took longer than the longest. What it waited for then is not known; where nothing
/// was lost at all, the other classes tell.
fn needless_ns(recovered_ns: i64, longest_ns: Option<i64>, lost: u64) -> i64 {
    let each = longest_ns.unwrap_or(recovered_ns);
    let needed = each.saturating_mul(i64::try_from(lost).unwrap_or(i64::MAX));
    match lost {
        0 => 0,
        _ => (recovered_ns - needed).max(0),
    }
}

/// What of a direction's time it was not idle.
fn busy_ns(time: &PerClass<i64>) -> i64 {
    let busy = time
        .iter()
        .filter(|(class, _)| !matches!(class, TimeClass::Idle | TimeClass::Handshake));
    busy.fold(0, |sum, (_, ns)| sum.saturating_add(*ns))
}

#[cfg(test)]
mod tests;
