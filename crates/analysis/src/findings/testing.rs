//! Facts for the tests of findings: calls of two captures that are slow and of which nothing is charged to
//! anybody, for each test to change.

use super::Rule;
use crate::app::AppFacts;
use crate::capture_facts::CaptureFacts;
use crate::diagnose::Kind;
use crate::facts::{Account, Basis, Exhibits, Facts, Thresholds, account_of_streams};
use crate::health::Health;
use crate::matched::MatchedFacts;
use crate::narrowest::Link;
use crate::path::PathEstimate;
use crate::results::{
    CaptureResult, ConnectionResult, DirectionResult, Finding, HandshakeResult, Vantage,
};
use crate::sql::SqlResult;
use crate::startup::ClientStartup;
use crate::stats::Distribution;
use crate::streams::Streams;
use crate::vantage::VantageFrom;
use crate::worst::{Exhibit, Worst};
use model::{
    Close, ConnectionId, Direction, Endpoint, EpisodeKind, Mark, PacketRef, Problems, Time,
};
use std::net::{IpAddr, Ipv4Addr};

pub(super) const MS: i64 = 1_000_000;
pub(super) const CALLS: u64 = 100;
/// Response time of each, and of all.
pub(super) const CALL_NS: i64 = 100 * MS;
pub(super) const TOTAL_NS: i64 = CALL_NS * CALLS as i64;

/// What [`Facts`] borrows.
pub(super) struct Fixture {
    pub kind: Kind,
    pub captures: Vec<CaptureFacts>,
    pub results: Vec<CaptureResult>,
    pub client: Option<usize>,
    pub server: Option<usize>,
    pub matched: Option<MatchedFacts>,
    pub app: Option<AppFacts>,
    pub path: Option<PathEstimate>,
    pub account: Account,
    pub streams: Streams,
    pub links: Vec<Link>,
    pub sql: Option<SqlResult>,
    pub startup: Option<ClientStartup>,
    pub health: [Health; 2],
    /// The worst calls of every kind.
    pub worst: Worst,
}

fn alike(ns: i64) -> Distribution {
    let mut times = Distribution::default();
    (0..CALLS).for_each(|_| times.add(ns));
    times
}

impl Fixture {
    /// A hundred calls of 100 ms, each of which both captures have.
    pub fn new() -> Fixture {
        let mut worst = Worst::default();
        (1..=3).for_each(|n| worst.add(Exhibit::of(CALL_NS, 0, mark(n), mark(n + 1))));
        Fixture {
            kind: Kind::Calls,
            captures: [0, 1].map(CaptureFacts::new).into(),
            results: [Vantage::Client, Vantage::Server].map(capture).into(),
            client: Some(0),
            server: Some(1),
            matched: Some(MatchedFacts {
                client: alike(CALL_NS),
                server_wait: alike(CALL_NS / 2),
                clean_network: alike(CALL_NS / 2),
                ..MatchedFacts::new()
            }),
            app: None,
            path: None,
            account: Account {
                basis: Basis::Matched,
                calls: CALLS,
                total_ns: TOTAL_NS,
                ..account_of_streams(&Streams::default())
            },
            streams: Streams::default(),
            links: Vec::new(),
            sql: None,
            startup: None,
            health: Default::default(),
            worst,
        }
    }

    /// The same, of one capture.
    pub fn alone(vantage: Vantage) -> Fixture {
        let mut f = Fixture::new();
        f.captures.truncate(1);
        f.captures[0].response = alike(CALL_NS);
        f.captures[0].wait = alike(CALL_NS / 2);
        f.results = vec![capture(vantage)];
        f.matched = None;
        (f.client, f.server, f.account.basis) = match vantage {
            Vantage::Client => (Some(0), None, Basis::Client),
            Vantage::Server => (None, Some(0), Basis::Server),
            _ => (None, None, Basis::Unknown),
        };
        f
    }

    /// Something held calls up, so often and for so long in all.
    pub fn held(&mut self, d: Direction, kind: EpisodeKind, times: u64, ns: i64) {
        let sender = match d {
            Direction::ToServer => self.client,
            Direction::ToClient => self.server,
        };
        let episodes = &mut self.captures[sender.unwrap_or(0)].episodes[d.index()][kind];
        episodes.ns = ns;
        for n in 1..=times {
            let each = ns / times.max(1) as i64;
            episodes.worst.add(Exhibit::of(each, 0, mark(n as u32), mark(n as u32 + 1)));
        }
        self.account.under_way[d.index()][kind.class()] = ns;
        if kind == EpisodeKind::DelayedAck {
            self.account.delayed_ack_ns[d.index()] = ns;
        }
    }

    fn facts(&self) -> Facts<'_> {
        let worst = &self.worst;
        Facts {
            kind: self.kind,
            thresholds: Thresholds {
                fast_enough_ns: 2 * MS,
                tail_ns: 20 * MS,
            },
            captures: &self.captures,
            results: &self.results,
            client: self.client,
            server: self.server,
            matched: self.matched.as_ref(),
            app: self.app.as_ref(),
            path: self.path,
            account: self.account.clone(),
            streams: &self.streams,
            links: self.links.clone(),
            sql: self.sql.as_ref(),
            startup: self.startup.as_ref().map(|s| (0, s)),
            health: &self.health,
            worst: Exhibits {
                server: worst,
                stall: worst,
                network: worst,
                loss: worst,
                outage: worst,
                held: worst,
            },
        }
    }

    /// What a rule finds in it, every sentence of it written.
    pub fn finds(&self, rule: Rule) -> Option<Finding> {
        let found = rule.check(&self.facts())?;
        assert_eq!(found.rule, rule);
        for text in [&found.title, &found.why].into_iter().chain(&found.remedy) {
            let text = text.to_string();
            assert!(!text.is_empty() && !text.contains(['{', '}', '|']), "{text}");
        }
        Some(found)
    }
}

/// What a rule finds in the usual facts once they are changed.
pub(super) fn found(rule: Rule, change: impl FnOnce(&mut Fixture)) -> Option<Finding> {
    let mut fixture = Fixture::new();
    change(&mut fixture);
    fixture.finds(rule)
}

/// A packet, a millisecond after the one before.
pub(super) fn mark(frame: u32) -> Mark {
    Mark {
        time: Time(i64::from(frame) * MS),
        packet: PacketRef { file: 0, frame },
    }
}

/// A host and a port.
pub(super) fn end(host: u8, port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
        port,
    }
}

pub(super) fn capture(vantage: Vantage) -> CaptureResult {
    CaptureResult {
        files: vec![format!("{}.pcap", vantage.name())],
        side: Some(vantage),
        concluded: Some(vantage),
        side_from: String::new(),
        packets: 1_000,
        bytes: 100_000,
        first: Some(Time(0)),
        last: Some(Time(TOTAL_NS)),
        snaplen: None,
        link_types: vec![1],
        dropped: None,
        missing_gaps: 0,
        missing_bytes: 0,
        not_ip: 0,
        other_transport: 0,
        connections: 1,
        calls: CALLS,
        half_calls: Vec::new(),
        problems: Problems::default(),
    }
}

/// A connection of 10 s that both captures have, and that does nothing.
pub(super) fn connection() -> ConnectionResult {
    let direction = || DirectionResult {
        counts: Default::default(),
        account: Default::default(),
        lost_on_network_packets: None,
        lost_on_network_bytes: None,
        goodput_bps: None,
    };
    ConnectionResult {
        number: 1,
        client: end(1, 40_000),
        server: end(2, 2_049),
        protocol: None,
        first: Time(0),
        last: Time(10_000 * MS),
        ends: vec![(0, mark(1), mark(9)), (1, mark(1), mark(9))],
        ids: vec![ConnectionId(1), ConnectionId(1)],
        close: Close::Finished,
        vantage: Vantage::Client,
        vantage_from: VantageFrom::Nothing,
        vantage_confidence: 0.0,
        handshake: HandshakeResult::default(),
        openings: Vec::new(),
        resets: vec![None, None],
        directions: [direction(), direction()],
        at_stake_ns: 0,
        top: None,
    }
}
