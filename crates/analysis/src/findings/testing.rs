//! Facts for the tests of findings: calls of two captures that are slow and of which nothing is charged to
//! anybody, for each test to change.

pub(super) mod explaining;

use super::Rule;
use crate::app::{AppFacts, ServerFacts};
use crate::capture_facts::{CaptureFacts, Varied};
use crate::diagnose::Kind;
use crate::facts::{Account, Basis, Exhibits, Facts, Thresholds};
use crate::health::Health;
use crate::locks::LockWaits;
use crate::matched::MatchedFacts;
use crate::narrowest::Link;
use crate::path::PathEstimate;
use crate::results::{
    CaptureResult, ConnectionResult, DirectionResult, Finding, Fit, HandshakeResult, HostClock,
    HostResult, Order, Pressed, SeriesResult, Side, SideFrom, Vantage, Verdict,
};
use crate::sql::{SessionResult, SqlResult, StatementResult, Totals};
use crate::startup::ClientStartup;
use crate::stats::Distribution;
use crate::streams::Streams;
use crate::tiers::Tier;
use crate::vantage::VantageFrom;
use crate::verdict::verdict;
use crate::worst::{Exhibit, Worst};
use ledger::{Bounds, Half};
use model::{
    Arp, Close, ConnectionId, ConnectionSummary, Direction, DirectionSummary, Endpoint,
    EpisodeKind, Mark, Notice, NoticeKind, PacketRef, Protocol, ResetSeen, SqlSession, Statement,
    Time, Transport,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use trace::host::Counter;

pub(crate) const MS: i64 = 1_000_000;
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
    /// Response and server's part of all calls, those of other clients among them.
    pub others: Option<[Distribution; 2]>,
    pub app: Option<AppFacts>,
    pub server_app: Option<ServerFacts>,
    pub hosts: Vec<HostResult>,
    pub path: Option<PathEstimate>,
    pub account: Account,
    pub streams: Streams,
    pub links: Vec<Link>,
    pub cut_ns: i64,
    pub unheard_ns: i64,
    pub varied: Varied,
    pub behind_skips: (u64, i64),
    pub halves: [Half; 2],
    pub sql: Option<SqlResult>,
    pub startup: Option<ClientStartup>,
    pub tiers: [Vec<Tier>; 2],
    pub health: [Health; 2],
    pub lock_waits: LockWaits,
    /// The worst calls of every kind.
    pub worst: Worst,
}

/// As many times as there are calls.
pub(super) fn alike(ns: i64) -> Distribution {
    let mut times = Distribution::default();
    (0..CALLS).for_each(|_| times.add(ns));
    times
}

impl Fixture {
    /// A hundred calls of 100 ms, each of which both captures have.
    pub(super) fn new() -> Fixture {
        let mut worst = Worst::default();
        (1..=3).for_each(|n| worst.add(Exhibit::of(CALL_NS, 0, mark(n), mark(n + 1))));
        let mut matched = MatchedFacts::new();
        matched.client = alike(CALL_NS);
        matched.server_wait = alike(CALL_NS / 2);
        matched.clean_network = alike(CALL_NS / 2);
        Fixture {
            kind: Kind::Calls,
            captures: [0, 1].map(CaptureFacts::new).into(),
            results: [Vantage::Client, Vantage::Server].map(capture).into(),
            client: Some(0),
            server: Some(1),
            matched: Some(matched),
            others: None,
            app: None,
            server_app: None,
            hosts: Vec::new(),
            path: None,
            account: Account {
                basis: Basis::Matched,
                calls: CALLS,
                total_ns: TOTAL_NS,
                ..Account::of(Basis::Matched, ledger::Sums::new())
            },
            streams: Streams::default(),
            links: Vec::new(),
            cut_ns: 0,
            unheard_ns: 0,
            varied: Varied::default(),
            behind_skips: (0, 0),
            halves: [Half::Here; 2],
            sql: None,
            startup: None,
            tiers: Default::default(),
            health: Default::default(),
            lock_waits: LockWaits::default(),
            worst,
        }
    }

    /// The same, of one capture.
    pub(super) fn alone(vantage: Vantage) -> Fixture {
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
    pub(super) fn held(&mut self, d: Direction, kind: EpisodeKind, times: u64, ns: i64) {
        let sender = match d {
            Direction::ToServer => self.client,
            Direction::ToClient => self.server,
        };
        let episodes = &mut self.captures[sender.unwrap_or(0)].episodes[d.index()][kind];
        episodes.ns = ns;
        for n in 1..=times {
            let each = ns / times.max(1) as i64;
            episodes
                .worst
                .add(Exhibit::of(each, 0, mark(n as u32), mark(n as u32 + 1)));
        }
        self.account.under_way[d.index()][kind.class()] = ns;
        if kind == EpisodeKind::DelayedAck {
            self.account.delayed_ack_ns[d.index()] = ns;
        }
    }

    /// So much of the time of all calls is a cause's, for certain.
    pub(super) fn charge(&mut self, cause: ledger::Cause, ns: i64) {
        let (mut sums, mut ledger) = (ledger::Sums::new(), ledger::Ledger::default());
        ledger.clear(Bounds::exactly(TOTAL_NS));
        ledger.charge(cause, Direction::ToServer, Bounds::exactly(ns));
        sums.add(&ledger);
        self.account = Account {
            calls: CALLS,
            ..Account::of(self.account.basis, sums)
        };
    }

    /// What a packet of the first capture says of the network.
    pub(super) fn notice(&mut self, frame: u32, kind: NoticeKind) {
        self.health[0].notice(&Notice {
            order: frame.into(),
            at: mark(frame),
            kind,
        });
    }

    /// A database's statement and session.
    pub(super) fn profile(&mut self, statement: StatementResult, session: SessionResult) {
        self.sql = Some(SqlResult {
            packets: None,
            captures: Vec::new(),
            totals: Totals::default(),
            statements: vec![statement],
            sessions: vec![session],
            logons: Vec::new(),
            hidden: Vec::new(),
            followed: None,
            notes: Vec::new(),
            order: Order::default(),
        });
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
            halves: self.halves,
            matched: self.matched.as_ref(),
            others: self
                .others
                .as_ref()
                .map(|[response, wait]| [response, wait]),
            app: self.app.as_ref(),
            server_app: self.server_app.as_ref(),
            hosts: &self.hosts,
            path: self.path,
            account: self.account.clone(),
            streams: &self.streams,
            links: self.links.clone(),
            cut_ns: self.cut_ns,
            elsewhere_ns: 0,
            unheard_ns: self.unheard_ns,
            some_began_before: false,
            varied: &self.varied,
            behind_skips: self.behind_skips,
            sql: self.sql.as_ref(),
            startup: self.startup.as_ref().map(|s| (0, s)),
            tiers: &self.tiers,
            health: &self.health,
            worst: Exhibits {
                server: worst,
                stall: worst,
                locked: worst,
                asked: worst,
                lock_waits: self.lock_waits,
                network: worst,
                loss: worst,
                outage: worst,
                held: worst,
            },
        }
    }

    /// What a rule finds in it, every sentence of it written.
    pub(super) fn finds(&self, rule: Rule) -> Option<Finding> {
        let found = rule.check(&self.facts())?;
        assert_eq!(found.rule, rule);
        for text in [&found.title, &found.why].into_iter().chain(&found.remedy) {
            let text = text.to_string();
            assert!(
                !text.is_empty() && !text.contains(['{', '}', '|']),
                "{text}"
            );
        }
        Some(found)
    }
}

/// Who is to blame where each of so many calls has these lines, exactly.
pub(crate) fn judged(calls: u64, lines: &[(ledger::Cause, i64)]) -> Verdict {
    let each = lines.iter().map(|(_, ns)| ns).sum();
    let exact = lines
        .iter()
        .map(|(cause, ns)| (*cause, Bounds::exactly(*ns)));
    judged_within(calls, each, &exact.collect::<Vec<_>>())
}

/// The same where lines have bounds, and a call takes so long.
pub(crate) fn judged_within(calls: u64, each: i64, lines: &[(ledger::Cause, Bounds)]) -> Verdict {
    judged_each((0..calls).map(|_| (each, lines.to_vec())))
}

/// The same of what the client's capture alone shows.
pub(crate) fn judged_alone(calls: u64, lines: &[(ledger::Cause, i64)]) -> Verdict {
    let mut fixture = Fixture::alone(Vantage::Client);
    let (mut sums, mut ledger) = (ledger::Sums::new(), ledger::Ledger::default());
    for _ in 0..calls {
        ledger.clear(Bounds::exactly(lines.iter().map(|(_, ns)| ns).sum()));
        for &(cause, ns) in lines {
            ledger.charge(cause, Direction::ToServer, Bounds::exactly(ns));
        }
        sums.add(&ledger);
    }
    fixture.account = Account::of(Basis::Client, sums);
    let facts = fixture.facts();
    verdict(&facts, &super::check(&facts))
}

/// The same where each takes its own time, all of which is this cause's.
pub(crate) fn judged_of(cause: ledger::Cause, times: &[i64]) -> Verdict {
    let each = times.iter();
    judged_each(each.map(|&ns| (ns, vec![(cause, Bounds::exactly(ns))])))
}

fn judged_each(calls: impl Iterator<Item = (i64, Vec<(ledger::Cause, Bounds)>)>) -> Verdict {
    let mut fixture = Fixture::new();
    let mut sums = ledger::Sums::new();
    let (mut ledger, mut times) = (ledger::Ledger::default(), Distribution::default());
    for (each, lines) in calls {
        ledger.clear(Bounds::exactly(each));
        for (cause, ns) in lines {
            ledger.charge(cause, Direction::ToServer, ns);
        }
        sums.add(&ledger);
        times.add(each);
    }
    fixture.account = Account::of(Basis::Matched, sums);
    fixture.matched.as_mut().expect("both ends").client = times;
    let facts = fixture.facts();
    verdict(&facts, &super::check(&facts))
}

/// What a rule finds in the usual facts once they are changed.
pub(super) fn found(rule: Rule, change: impl FnOnce(&mut Fixture)) -> Option<Finding> {
    let mut fixture = Fixture::new();
    change(&mut fixture);
    fixture.finds(rule)
}

/// A packet, a millisecond after the one before.
pub(crate) fn mark(frame: u32) -> Mark {
    Mark {
        time: Time(i64::from(frame) * MS),
        packet: PacketRef { file: 0, frame },
    }
}

/// A host and a port.
pub(crate) fn end(host: u8, port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)),
        port,
    }
}

/// A TCP connection of two ends, of which so many packets each way were sent again.
pub(crate) fn summary(retransmitted_packets: u64) -> ConnectionSummary {
    let directions = DirectionSummary {
        packets: 10,
        retransmitted_packets,
        ..DirectionSummary::default()
    };
    ConnectionSummary {
        id: ConnectionId(1),
        transport: Transport::Tcp,
        client: end(1, 1_000),
        server: end(2, 2_049),
        first: mark(1),
        last: mark(9),
        close: Close::EndOfCapture,
        handshake: Default::default(),
        reset: None,
        directions: [directions; 2],
        accounts: None,
        lines: [None, None],
        is_known: false,
        protocol: None,
        pipelined: None,
        copies: false,
        left_open: 0,
        unanswered: 0,
        late_requests: 0,
        sqlnet: None,
    }
}

pub(super) fn capture(vantage: Vantage) -> CaptureResult {
    CaptureResult {
        files: vec![format!("{}.pcap", vantage.name())],
        side: Some(vantage),
        packets: 1_000,
        first: Some(Time(0)),
        last: Some(Time(TOTAL_NS)),
        calls: CALLS,
        ..CaptureResult::default()
    }
}

/// A reset from the server's side that counts, at frame 9.
pub(super) fn reset() -> ResetSeen {
    ResetSeen {
        direction: Direction::ToClient,
        at: mark(9),
        odd_ttl: false,
        counts_on: false,
        refuses: false,
        after_fin: false,
        end_heard: None,
        after_peers_fin: false,
        sender_unheard: false,
    }
}

/// A connection of 10 s that both captures have, and that does nothing.
pub(crate) fn connection() -> ConnectionResult {
    let direction = || DirectionResult {
        counts: Default::default(),
        account: Default::default(),
        lost_on_network_packets: None,
        discarded_packets: 0,
        lost_on_network_bytes: None,
        stuck_arrived: None,
        goodput_bps: None,
    };
    ConnectionResult {
        number: 1,
        client: end(1, 40_000),
        server: end(2, 2_049),
        protocol: None,
        pipelined: None,
        copies: false,
        is_known: false,
        sqlnet: None,
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
        last_data: Vec::new(),
        left_open: None,
        unanswered: 0,
        late_requests: None,
        ended_by_server: false,
        resets: vec![None, None],
        directions: [direction(), direction()],
        at_stake_ns: 0,
        top: None,
    }
}

/// What a tool says of a host, whose counter goes so with its calls.
pub(super) fn pressed(side: Side, counter: Counter, fit: Fit) -> HostResult {
    let held = Pressed {
        high_milli: 25_000,
        high: 6,
        intervals: 30,
        calls: [60, 240],
        mean_ns: [50 * MS, 2 * MS],
        share: 97,
        as_good: 1,
        fit,
    };
    HostResult {
        file: "psi".into(),
        name: None,
        side: Some(side),
        side_from: SideFrom::Said,
        tools: vec!["/proc/pressure"],
        clock: HostClock::Same,
        series: vec![SeriesResult {
            counter,
            device: String::new(),
            samples: 30,
            mean_milli: 20_000,
            max_milli: 90_000,
            max_at: Time(0),
            held: Some(held),
            high: Vec::new(),
        }],
        disks: None,
        counts: None,
        connections: Vec::new(),
    }
}

/// What a server's nfsd counts: its threads, and how often a second, in thousandths, a connection found none free.
pub(super) fn nfsd(threads: i64, queued_milli: i64) -> HostResult {
    let mut host = pressed(Side::Server, Counter::NfsdQueued, Fit::NeverHigh);
    let of = |counter, milli| SeriesResult {
        counter,
        mean_milli: milli,
        max_milli: milli,
        held: None,
        ..host.series[0].clone()
    };
    host.series = vec![
        of(Counter::NfsdQueued, queued_milli),
        of(Counter::NfsdThreads, threads * 1_000),
    ];
    host
}

/// A statement that was never executed.
pub(super) fn statement() -> StatementResult {
    let text: Arc<str> = "select * from emp".into();
    StatementResult {
        protocol: Protocol::Tns,
        statement: Some(Arc::new(Statement {
            id: 0xe3b,
            normal: Arc::clone(&text),
            text,
            truncated: false,
            found: model::Found::default(),
        })),
        op: None,
        keys: Vec::new(),
        times: Default::default(),
        waits: Default::default(),
        waits_p10_ns: 0,
        calls: 0,
        executions: 0,
        fetches: 0,
        rows: 0,
        rows_hidden: 0,
        row_trips: 0,
        rows_asked: 0,
        full_fetches: 0,
        affected: 0,
        errors: 0,
        codes: Vec::new(),
        incomplete: 0,
        request_bytes: 0,
        response_bytes: 0,
        round_trips: 0,
        server_ns: None,
        network_ns: None,
        unknown_ns: 0,
        transfer_ns: 0,
        client_ns: 0,
        think_ns: 0,
        thinks: 0,
        worst: None,
        first: None,
        last: None,
    }
}

/// A session without calls.
pub(super) fn session(session: SqlSession) -> SessionResult {
    SessionResult {
        connection: model::ConnectionId(1),
        number: 1,
        protocol: Protocol::Tns,
        client: end(1, 40_000),
        server: end(2, 1_521),
        session: Arc::new(session),
        first: None,
        last: None,
        round_trips: 0,
        calls: 0,
        sent_bytes: 0,
        received_bytes: 0,
        largest_response_bytes: 0,
        response_time_ns: 0,
        overlap_ns: 0,
        think_ns: 0,
        rows: 0,
        errors: 0,
        logons: 0,
        failed_logons: 0,
        logging_on: false,
        largest_packet_bytes: None,
        syn: None,
        tcp_ns: 0,
        before_ns: 0,
        tls_ns: 0,
        connect_ns: 0,
        negotiate_ns: 0,
        logon_ns: 0,
        slowest_opening: None,
    }
}

/// An ARP packet of host `n`'s interface.
pub(super) fn arp(frame: u32, operation: u16, (sender, n): (u8, u8), target: u8) -> Arp {
    Arp {
        order: frame.into(),
        at: mark(frame),
        operation,
        sender: Ipv4Addr::new(10, 0, 0, sender),
        sender_hardware: [2, 0, 0, 0, 0, n],
        target: Ipv4Addr::new(10, 0, 0, target),
        target_hardware: [0; 6],
    }
}
