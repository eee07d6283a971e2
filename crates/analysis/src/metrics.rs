//! Calls and packets into what monitoring systems gather: counts that only grow, and histograms with fixed bounds, so
//! that those of hosts and times can be added up.
//!
//! Each call is counted once, by its own four times alone: nothing that is counted is corrected later, and no order of
//! connections or threads shows. So the parts are those that every point of capture sees: the wait for the answer, which
//! next to the server is the server's, and the rest of the response time, in which messages pass. What lies between is a
//! matter for a diagnosis; how far it is to both hosts stands beside, by what they acknowledge.

use crate::findings::Rule;
use crate::group::{GroupKey, Key, key_of};
use crate::live::{Found, Moment, Stretch, Traffic};
use crate::results::{CaptureResult, KeyValue, Side};
use hashbrown::HashMap;
use model::{Call, ConnectionSummary, Endpoint, Name, Outcome, Protocol, Time, limits};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// Upper bounds of the classes of times, in nanoseconds; a time that equals one is in its class. The last class has none.
pub const BOUNDS_NS: [i64; 19] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
    60_000_000_000,
    300_000_000_000,
];

/// What counts that are beyond a bound count as.
const OTHER: &str = "other";

/// Times by class.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Times {
    pub sum_ns: i64,
    /// By upper bound, and beyond the last.
    pub counts: [u64; BOUNDS_NS.len() + 1],
}

impl Times {
    fn add(&mut self, ns: i64) {
        let class = BOUNDS_NS.partition_point(|bound| *bound < ns);
        if let Some(count) = self.counts.get_mut(class) {
            *count += 1;
        }
        self.sum_ns = self.sum_ns.saturating_add(ns);
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

/// Calls with the same labels.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct CallCounts {
    pub calls: u64,
    pub errors: u64,
    pub no_response: u64,
    pub no_request: u64,
    pub incomplete: u64,
    pub retransmits: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    /// How long TCP held messages back.
    pub held_ns: i64,
    /// Of calls with request and response; `waits` and `transfers` are its parts.
    pub response_times: Times,
    pub waits: Times,
    pub transfers: Times,
}

impl CallCounts {
    fn add(&mut self, call: &Call) {
        self.calls += 1;
        match call.outcome {
            Outcome::Ok => {}
            Outcome::Error(_) | Outcome::Code(_) => self.errors += 1,
            Outcome::NoResponse(_) => self.no_response += 1,
            Outcome::NoRequest(_) => self.no_request += 1,
            Outcome::Incomplete(_) => self.incomplete += 1,
        }
        self.retransmits += u64::from(call.retransmits);
        self.request_bytes = self.request_bytes.saturating_add(call.request_bytes);
        self.response_bytes = self.response_bytes.saturating_add(call.response_bytes);
        let held = call
            .request_held_ns
            .max(0)
            .saturating_add(call.response_held_ns.max(0));
        self.held_ns = self.held_ns.saturating_add(held);
        if call.is_timed()
            && let (Some(ns), Some(wait)) = (call.response_time_ns(), call.served_ns())
        {
            // Packets of one host may stand a little out of order.
            let wait = wait.clamp(0, ns);
            self.response_times.add(ns);
            self.waits.add(wait);
            self.transfers.add(ns - wait);
        }
    }
}

/// What TCP did with one server, by all of its connections.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct ServerCounts {
    /// To the server, to its clients.
    pub packets: [u64; 2],
    pub payload_bytes: [u64; 2],
    pub retransmitted_packets: [u64; 2],
    /// From the point of capture to who acknowledged and back: how many, and their sum.
    pub round_trips: [u64; 2],
    pub round_trips_ns: [i64; 2],
}

/// Which calls, and how many of what.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallsRow {
    pub protocol: Protocol,
    /// `None` where they are not told apart by operation.
    pub op: Option<Name>,
    pub keys: Vec<(&'static str, KeyValue)>,
    pub counts: CallCounts,
}

/// Calls of databases as conventions of monitoring systems tell them apart: by the server's port, and by what failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseRow {
    pub protocol: Protocol,
    pub op: Name,
    /// `None`: of further ones, which count as `other`.
    pub server: Option<Endpoint>,
    /// What the server answered that it failed with.
    pub error: Option<Outcome>,
    /// Response times.
    pub times: Times,
}

type DatabaseKey = (Protocol, Name, Option<Endpoint>, Option<Outcome>);

/// A gauge that is there or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FindingRow {
    pub rule: Rule,
    pub side: Side,
    pub is_now: bool,
}

/// What there is to be scraped.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct MetricsResult {
    pub calls: Vec<CallsRow>,
    /// Calls that count as `other`.
    pub other_calls: u64,
    /// Empty unless [`Metrics::with_databases`] asked for them.
    pub databases: Vec<DatabaseRow>,
    pub capture: PacketCounts,
    /// `None`: of files, which have no present.
    pub live: Option<LiveMetrics>,
}

/// Packets as they were captured.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PacketCounts {
    pub packets: u64,
    pub bytes: u64,
    /// `None` where the capturing host does not say.
    pub dropped: Option<u64>,
    /// Bytes that their receivers had and the capture lacks, of connections that are over.
    pub missing_bytes: u64,
    pub last: Option<Time>,
}

impl PacketCounts {
    #[must_use]
    pub fn of(capture: &CaptureResult) -> PacketCounts {
        PacketCounts {
            packets: capture.packets,
            bytes: capture.bytes,
            dropped: capture.dropped,
            missing_bytes: capture.missing_bytes,
            last: capture.last,
        }
    }
}

/// What there is only while a capture goes on.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct LiveMetrics {
    /// By server; the last may be [`KeyValue::Text`] `other`.
    pub servers: Vec<(KeyValue, ServerCounts)>,
    /// Calls outstanding when the last interval ended.
    pub outstanding: Vec<(Protocol, KeyValue, u64)>,
    pub findings: Vec<FindingRow>,
    /// Of the last packets; `None` until they were looked at.
    pub verdict: Option<Side>,
}

/// Counts while packets come.
#[derive(Debug)]
pub struct Metrics {
    keys: Vec<Key>,
    calls: HashMap<GroupKey, CallCounts, foldhash::fast::FixedState>,
    other_calls: u64,
    /// `None`: nobody asks.
    databases: Option<HashMap<DatabaseKey, Times, foldhash::fast::FixedState>>,
    capture: PacketCounts,
    servers: HashMap<Option<IpAddr>, ServerCounts, foldhash::fast::FixedState>,
    outstanding: BTreeMap<(Protocol, Option<IpAddr>), u64>,
    findings: Vec<FindingRow>,
    verdict: Option<Side>,
}

impl Metrics {
    /// Calls are told apart by protocol, and by these.
    #[must_use]
    pub fn new(keys: &[Key]) -> Metrics {
        Metrics {
            keys: keys.to_vec(),
            calls: HashMap::default(),
            other_calls: 0,
            databases: None,
            capture: PacketCounts::default(),
            servers: HashMap::default(),
            outstanding: BTreeMap::new(),
            findings: Vec::new(),
            verdict: None,
        }
    }

    /// The same, and beside them calls of databases by port and error.
    #[must_use]
    pub fn with_databases(self) -> Metrics {
        Metrics {
            databases: Some(HashMap::default()),
            ..self
        }
    }

    pub fn call(&mut self, call: &Call) {
        self.database(call);
        let mut key = key_of(&self.keys, call);
        if self.calls.len() >= limits::METRICS_LABELS && !self.calls.contains_key(&key) {
            // One such set for each protocol, of which there are few.
            let (_, op, values) = &mut key;
            if self.keys.contains(&Key::Op) {
                *op = Name::of(OTHER);
            }
            values.fill(KeyValue::Text(OTHER.into()));
            self.other_calls += 1;
        }
        self.calls.entry(key).or_default().add(call);
    }

    fn database(&mut self, call: &Call) {
        let Some(databases) = &mut self.databases else {
            return;
        };
        let ns = call.response_time_ns().filter(|_| call.is_timed());
        let (Some(ns), true) = (ns, call.protocol.is_sql()) else {
            return;
        };
        let error = Some(call.outcome).filter(|outcome| outcome.is_error());
        let mut key = (call.protocol, call.op, Some(call.server), error);
        if databases.len() >= limits::METRICS_LABELS && !databases.contains_key(&key) {
            key = (call.protocol, Name::of(OTHER), None, None);
        }
        databases.entry(key).or_default().add(ns);
    }

    pub fn traffic(&mut self, traffic: Traffic) {
        self.capture.packets += traffic.packets;
        self.capture.bytes += traffic.bytes;
    }

    pub fn dropped(&mut self, dropped: Option<u64>) {
        self.capture.dropped = self.capture.dropped.max(dropped);
    }

    pub fn reached(&mut self, now: Time) {
        self.capture.last = Some(now);
    }

    pub fn stretch(&mut self, stretch: &Stretch) {
        let server = Some(stretch.server.address);
        let is_full = self.servers.len() >= limits::METRICS_LABELS;
        let server = server.filter(|_| !is_full || self.servers.contains_key(&server));
        let counts = self.servers.entry(server).or_default();
        for (i, d) in stretch.interval.directions.iter().enumerate() {
            counts.packets[i] += d.packets;
            counts.payload_bytes[i] += d.payload_bytes;
            counts.retransmitted_packets[i] += d.retransmitted_packets;
            counts.round_trips[i] += d.rtt_count;
            counts.round_trips_ns[i] = counts.round_trips_ns[i].saturating_add(d.rtt_sum_ns);
        }
    }

    pub fn connection(&mut self, c: &ConnectionSummary) {
        for d in &c.directions {
            self.capture.missing_bytes += d.missing_from_capture_bytes;
        }
    }

    /// An interval is over.
    pub fn moment(&mut self, moment: &Moment) {
        // Those that were there before are none now, and stay.
        self.outstanding.values_mut().for_each(|n| *n = 0);
        for c in &moment.connections {
            let Some(protocol) = c.protocol else { continue };
            let server = Some(c.server.address);
            let is_full = self.outstanding.len() >= limits::METRICS_LABELS;
            let is_known = self.outstanding.contains_key(&(protocol, server));
            let server = server.filter(|_| !is_full || is_known);
            *self.outstanding.entry((protocol, server)).or_default() += c.outstanding;
        }
    }

    /// The last packets were looked at.
    pub fn found(&mut self, found: &Found) {
        let row = |f: &crate::live::FoundRow| FindingRow {
            rule: f.rule,
            side: f.side,
            is_now: f.now,
        };
        self.findings = found.rows().iter().map(row).collect();
        self.verdict = found.verdict().map(|v| v.side);
    }

    /// Of a capture that goes on: as things are now.
    #[must_use]
    pub fn now(&self) -> MetricsResult {
        let named = |server: &Option<IpAddr>| match server {
            Some(address) => KeyValue::Address(*address),
            None => KeyValue::Text(OTHER.into()),
        };
        let mut servers: Vec<_> = self.servers.iter().map(|(s, n)| (named(s), *n)).collect();
        servers.sort_by(|a, b| a.0.cmp(&b.0));
        let outstanding = self.outstanding.iter();
        let live = LiveMetrics {
            servers,
            outstanding: outstanding.map(|((p, s), n)| (*p, named(s), *n)).collect(),
            findings: self.findings.clone(),
            verdict: self.verdict,
        };
        MetricsResult {
            live: Some(live),
            ..self.of(self.capture)
        }
    }

    /// Of a capture that is over.
    #[must_use]
    pub fn of(&self, capture: PacketCounts) -> MetricsResult {
        let names: Vec<&'static str> = {
            let others = self.keys.iter().filter(|k| **k != Key::Op);
            others.map(|k| k.name()).collect()
        };
        let with_op = self.keys.contains(&Key::Op);
        let row = |((protocol, op, values), counts): (&GroupKey, &CallCounts)| CallsRow {
            protocol: *protocol,
            op: with_op.then_some(*op),
            keys: names.iter().copied().zip(values.iter().cloned()).collect(),
            counts: *counts,
        };
        let mut calls: Vec<CallsRow> = self.calls.iter().map(row).collect();
        let name = |r: &CallsRow| r.op.map(|op| op.to_string());
        calls.sort_by(|a, b| {
            let order = a.protocol.cmp(&b.protocol);
            order.then_with(|| (name(a), &a.keys).cmp(&(name(b), &b.keys)))
        });
        let row = |((protocol, op, server, error), times): (&DatabaseKey, &Times)| DatabaseRow {
            protocol: *protocol,
            op: *op,
            server: *server,
            error: *error,
            times: *times,
        };
        let mut databases: Vec<DatabaseRow> = self.databases.iter().flatten().map(row).collect();
        databases.sort_by(|a, b| {
            let order = |r: &DatabaseRow| (r.protocol, r.op.to_string(), r.server, r.error);
            order(a).cmp(&order(b))
        });
        MetricsResult {
            calls,
            other_calls: self.other_calls,
            databases,
            capture,
            live: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_in_the_class_of_the_first_bound_that_it_does_not_exceed() {
        let mut times = Times::default();
        for ns in [
            0,
            100_000,
            100_001,
            300_000_000_000,
            300_000_000_001,
            i64::MAX,
        ] {
            times.add(ns);
        }
        let [first, second, .., last, beyond] = times.counts;
        assert_eq!((first, second, last, beyond), (2, 1, 1, 2));
        assert_eq!((times.count(), times.sum_ns), (6, i64::MAX));
        assert!(BOUNDS_NS.is_sorted());
    }
}
