//! What is kept of a run so that it can be compared with another: small, whatever the size of the
//! captures, and the same whether it is saved in between or not.

use super::blocks::{Blocks, Sums};
use super::gather::{Parts, Tap, Wire};
use crate::diagnose::Kind;
use crate::facts::{Account, Basis};
use crate::findings::Rule;
use crate::results::{ConnectionResult, Diagnosis, Side, Vantage};
use crate::stats::bucket_value;
use crate::streams::Streams;
use model::{Direction, PerClass, Protocol, Time, TimeClass, limits};
use serde::{Deserialize, Serialize};

macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }

        impl Sums for $name {
            fn add(&mut self, other: &$name) {
                $(self.$field = self.$field.saturating_add(other.$field);)*
            }
        })*
    };
}

sums! {
    /// Calls that ended in a block, seen in one capture.
    CallSums {
        calls: u64,
        /// Response times.
        time_ns: i64,
        wait_ns: i64,
        request_bytes: u64,
        response_bytes: u64,
        rows: u64,
        /// Calls that brought rows.
        row_trips: u64,
        errors: u64,
    }
    /// The time of the calls that were judged: spread over the blocks in which they were under way. The
    /// calls and bytes are in the block in which they ended.
    PartSums {
        calls: u64,
        /// The server's part; in one capture alone, all that was waited.
        server_ns: i64,
        /// Where both ends were captured: the way of the first bytes, of calls that lost nothing.
        path_ns: i64,
        /// Messages passing, and all that held them up.
        rest_ns: i64,
        request_bytes: u64,
        response_bytes: u64,
    }
    /// What all connections did in one direction.
    WireSums {
        packets: u64,
        payload_bytes: u64,
        retransmitted_packets: u64,
        rtt_count: u64,
        rtt_sum_ns: i64,
        /// Intervals of connections with something in flight, and the most that was in each.
        flights: u64,
        flight_sum_bytes: u64,
        /// Intervals of connections whose window is known, and the smallest in each.
        windows: u64,
        window_sum_bytes: u64,
    }
}

impl CallSums {
    /// Both ways.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.request_bytes.saturating_add(self.response_bytes)
    }
}

impl PartSums {
    /// Both ways.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.request_bytes.saturating_add(self.response_bytes)
    }

    #[must_use]
    pub fn time_ns(&self) -> i64 {
        self.server_ns
            .saturating_add(self.path_ns)
            .saturating_add(self.rest_ns)
    }
}

/// Calls of one operation, and of one statement where it has one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub protocol: Protocol,
    pub op: String,
    /// Its number and its normal form, which holds no literals.
    pub statement: Option<(u64, String)>,
    pub max_ns: i64,
    /// Response times: see [`Distribution::sparse`](crate::stats::Distribution::sparse).
    pub curve: Vec<(u16, u64)>,
    pub blocks: Blocks<CallSums>,
}

impl Subject {
    /// What the same subject is known by in another run.
    #[must_use]
    pub fn key(&self) -> (Protocol, &str, Option<u64>) {
        let id = self.statement.as_ref().map(|(id, _)| *id);
        (self.protocol, &self.op, id)
    }
}

/// Where response time went: the lines of the account, which add up to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum AccountLine {
    Service,
    Queue,
    Stall,
    Path,
    Outage,
    Loss,
    Nagle,
    Waited(Direction, TimeClass),
    Transfer,
    Unknown,
}

fn lines(a: &Account) -> Vec<(AccountLine, i64)> {
    let path = a.path_ns + a.chatty_ns + a.small_fetch_ns + a.small_writes_ns + a.fragments_ns;
    let mut lines = vec![
        // Of two runs only one may have the server's own times, or be taken where its own calls show.
        (
            AccountLine::Service,
            a.service_ns + a.dispatch_ns + a.downstream_ns,
        ),
        (AccountLine::Queue, a.queue_ns),
        (AccountLine::Stall, a.stall_ns),
        (AccountLine::Path, path),
        (AccountLine::Outage, a.outage_ns),
        (AccountLine::Loss, a.loss_ns),
        (AccountLine::Nagle, a.nagle_ns),
        (AccountLine::Transfer, a.transfer_ns),
    ];
    for d in Direction::BOTH {
        for (class, ns) in a.under_way[d.index()].iter() {
            // Loss has its own line.
            if class != TimeClass::LossRecovery {
                lines.push((AccountLine::Waited(d, class), *ns));
            }
        }
    }
    let known: i64 = lines.iter().map(|(_, ns)| *ns).sum();
    // What is not the server's own passes, as far as a capture at the server can tell.
    let rest = match a.basis {
        Basis::Server => AccountLine::Transfer,
        _ => AccountLine::Unknown,
    };
    lines.push((rest, a.total_ns.saturating_sub(known)));
    lines.retain(|(_, ns)| *ns != 0);
    lines
}

/// What connections to one port did in one direction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireTotals {
    pub time_ns: PerClass<i64>,
    pub payload_bytes: u64,
    pub retransmitted_packets: u64,
    pub packets: u64,
    /// `None` where one capture cannot tell.
    pub lost_packets: Option<u64>,
    /// Segments with data.
    pub segments: u64,
    pub rtt_count: u64,
    pub rtt_min_ns: Option<i64>,
    /// Of the connection with most round trips.
    pub rtt_p50_ns: Option<i64>,
    pub flight_max_bytes: u64,
    pub window_max_bytes: Option<u64>,
    /// The most frequent write, of the connection with most of them.
    pub write_size_bytes: Option<u64>,
    pub writes_of_that_size: u64,
    pub writes: u64,
}

/// Connections to one port that speak one protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireGroup {
    pub port: u16,
    pub protocol: Option<Protocol>,
    pub connections: u64,
    pub lifetime_ns: i64,
    /// The shortest opening: from SYN to SYN/ACK, and from there to the acknowledgement.
    pub handshake_ns: Option<i64>,
    pub handshake_back_ns: Option<i64>,
    /// Client to server, server to client.
    pub directions: [WireTotals; 2],
}

fn most<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    a.max(b)
}

fn least<T: Ord>(a: Option<T>, b: Option<T>) -> Option<T> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}

impl WireGroup {
    /// Adds a connection; `client` is the index of the client's capture where there are two.
    fn add(&mut self, c: &ConnectionResult, client: Option<usize>) {
        self.connections += 1;
        self.lifetime_ns = self.lifetime_ns.saturating_add(c.last - c.first);
        if c.handshake.syn_retries == 0 && c.handshake.syn_ack_retries == 0 {
            self.handshake_ns = least(self.handshake_ns, c.handshake.syn_to_syn_ack_ns);
            let back = c.handshake.syn_ack_to_ack_ns;
            self.handshake_back_ns = least(self.handshake_back_ns, back);
        }
        // A connection that one of two captures has, or that was not found in the other, is told of from
        // far away in one direction: what is a round trip there is the host's own doing here.
        let near = Direction::BOTH.map(|d| match (client, c.ends.as_slice()) {
            (Some(client), [(seen, ..)]) => (*seen == client) == (d == Direction::ToServer),
            _ => true,
        });
        let directions = self.directions.iter_mut().zip(&c.directions);
        for ((t, d), near) in directions.zip(near) {
            let (counts, a) = (&d.counts, &d.account);
            for (class, ns) in a.time_ns.iter() {
                t.time_ns[class] = t.time_ns[class].saturating_add(*ns);
            }
            t.payload_bytes += counts.payload_bytes;
            t.retransmitted_packets += counts.retransmitted_packets;
            t.packets += counts.packets;
            if let Some(lost) = d.lost_on_network_packets {
                t.lost_packets = Some(t.lost_packets.unwrap_or(0) + lost);
            }
            t.segments += a.segment_sizes.0.iter().sum::<u64>();
            if a.rtt.count > 0 && near {
                t.rtt_min_ns = least(t.rtt_min_ns, Some(a.rtt.min_ns));
                if a.rtt.count > t.rtt_count {
                    t.rtt_p50_ns = Some(a.rtt.p50_ns);
                }
                t.rtt_count = t.rtt_count.max(a.rtt.count);
            }
            t.flight_max_bytes = t.flight_max_bytes.max(a.flight_max_bytes);
            t.window_max_bytes = most(t.window_max_bytes, a.window_max_bytes);
            if a.writes > t.writes {
                t.write_size_bytes = a.write_size_bytes;
                t.writes_of_that_size = a.writes_of_that_size;
            }
            t.writes = t.writes.max(a.writes);
        }
    }
}

fn groups(streams: &Streams, client: Option<usize>) -> Vec<WireGroup> {
    let mut groups: Vec<WireGroup> = Vec::new();
    for c in &streams.connections {
        let (port, protocol) = (c.server.port, c.protocol);
        let known = |g: &WireGroup| (g.port, g.protocol) == (port, protocol);
        if !groups.iter().any(known) && groups.len() < limits::SAVED_PORTS {
            groups.push(WireGroup {
                port,
                protocol,
                connections: 0,
                lifetime_ns: 0,
                handshake_ns: None,
                handshake_back_ns: None,
                directions: Default::default(),
            });
        }
        if let Some(group) = groups.iter_mut().find(|g| known(g)) {
            group.add(c, client);
        }
    }
    groups.sort_by_key(|g| {
        let bytes: u64 = g.directions.iter().map(|d| d.payload_bytes).sum();
        (std::cmp::Reverse(bytes), g.port, g.protocol)
    });
    groups
}

/// A capture as it is named in a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedCapture {
    pub files: Vec<String>,
    pub side: Option<Vantage>,
    pub packets: u64,
    pub bytes: u64,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// It lacks packets or bytes.
    pub incomplete: bool,
    /// Some of it could not be read.
    pub damaged: bool,
}

/// A finding as far as a comparison names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedFinding {
    pub rule: Rule,
    pub side: Side,
    pub cost_ns: Option<i64>,
    /// It ends the work.
    pub fatal: bool,
}

/// A run, as far as a comparison needs it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub captures: Vec<SavedCapture>,
    pub kind: Kind,
    pub basis: Basis,
    /// Where the calls' times were taken.
    pub vantage: Option<Vantage>,
    pub verdict: String,
    pub findings: Vec<SavedFinding>,
    pub calls: u64,
    pub total_ns: i64,
    pub elapsed_ns: i64,
    pub lines: Vec<(AccountLine, i64)>,
    pub parts: Blocks<PartSums>,
    /// Payload of the capture in which the calls' times were taken, in both directions, over time.
    pub progress: Blocks<WireSums>,
    /// What connections did, from the capture nearest to the sender.
    pub wire: [Blocks<WireSums>; 2],
    pub groups: Vec<WireGroup>,
    /// Those with most time, most first, and the sums of all.
    pub subjects: Vec<Subject>,
    pub sums: CallSums,
    pub fast_enough_ns: i64,
    pub tail_ns: i64,
}

/// What a diagnoser hands over at the end.
pub struct Measured {
    pub(crate) kind: Kind,
    pub(crate) account: Account,
    pub(crate) main: usize,
    pub(crate) streams: Streams,
    pub(crate) tap: Tap,
    pub(crate) parts: Parts,
    pub(crate) fast_enough_ns: i64,
    pub(crate) tail_ns: i64,
}

impl Measured {
    #[must_use]
    pub fn snapshot(self, d: &Diagnosis, wire: [Wire; 2]) -> Snapshot {
        let captures = d.captures.iter().map(|c| SavedCapture {
            files: c.files.iter().take(limits::SAVED_FILES).cloned().collect(),
            side: c.side,
            packets: c.packets,
            bytes: c.bytes,
            first: c.first,
            last: c.last,
            incomplete: c.missing_gaps > 0 || c.dropped.is_some_and(|n| n > 0),
            damaged: c.problems.any_damage(),
        });
        let findings = d.findings.iter().map(|f| SavedFinding {
            rule: f.rule,
            side: f.side,
            cost_ns: f.cost_ns,
            fatal: f.fatal,
        });
        let [first, second] = wire.map(|w| w.directions);
        let (main, other) = match (self.main, d.captures.len()) {
            (0, 1) => (first.clone(), first),
            (0, _) => (first, second),
            _ => (second, first),
        };
        let mut progress = main[0].clone();
        progress.take_in(&main[1]);
        let [to_server, _] = main;
        let [_, to_client] = other;
        let [a, b] = self.tap.subjects;
        let (subjects, sums) = match self.main {
            0 => a.finish(),
            _ => b.finish(),
        };
        Snapshot {
            captures: captures.collect(),
            kind: self.kind,
            basis: self.account.basis,
            vantage: d.captures.get(self.main).and_then(|c| c.side),
            verdict: d.verdict.sentence.to_string(),
            findings: findings.collect(),
            // A stream is none.
            calls: match self.account.basis {
                Basis::Streams => 0,
                _ => self.account.calls,
            },
            total_ns: self.account.total_ns,
            elapsed_ns: d.elapsed_ns,
            lines: lines(&self.account),
            parts: self.parts.blocks,
            progress,
            wire: [to_server, to_client],
            groups: groups(&self.streams, (d.captures.len() == 2).then_some(self.main)),
            subjects,
            sums,
            fast_enough_ns: self.fast_enough_ns,
            tail_ns: self.tail_ns,
        }
    }
}

impl Snapshot {
    #[must_use]
    pub fn line(&self, line: AccountLine) -> i64 {
        let found = self.lines.iter().find(|(l, _)| *l == line);
        found.map_or(0, |(_, ns)| *ns)
    }

    /// Whether nobody would be blamed for its calls: fast on average, without a tail that recurs.
    pub(crate) fn is_fast(&self) -> bool {
        let mean = self.total_ns as f64 / self.calls.max(1) as f64;
        let counts = self.subjects.iter().flat_map(|s| &s.curve);
        let of = |beyond: i64| {
            let slow = counts.clone().filter(|(b, _)| bucket_value(*b) > beyond);
            slow.fold(0u64, |sum, (_, n)| sum.saturating_add(*n))
        };
        mean < self.fast_enough_ns as f64 && of(self.tail_ns) <= of(-1) / 100
    }
}
