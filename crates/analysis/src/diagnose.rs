//! Records of one or two captures into a diagnosis: fed in the order of packets, asked at the end.

use crate::app::{AppFacts, AppMatch};
use crate::capture_facts::{CaptureFacts, Trouble};
use crate::charts::{Cap, Caps, Ladder, Ladders, LatencyByOutstanding, by_outstanding};
use crate::compare::gather::{Parts, Tap};
use crate::compare::snapshot::Measured;
use crate::facts::{self, ACCUSED_SHARE, Account, Basis, Exhibits, Facts, Thresholds, WORTH_NS};
use crate::findings::{self, Rule, client_cap};
use crate::half::{Completeness, Half, OpTable, work_of};
use crate::join::Join;
use crate::ledgers::{BothWhole, Look, Looked, Missing, OneWhole, Spared};
use crate::matched::{MatchedFacts, is_outage, number_of};
use crate::narrowest;
use crate::path::{Acknowledged, Crossed};
use crate::results::{
    Budget, CaptureResult, Clock, Diagnosis, Finding, OpResult, Side, Unmatched, Vantage, Verdict,
};
use crate::rounds::{Habit, Rounds};
use crate::sql::habits::{Pattern, habits};
use crate::sql::{self, Profiler, SqlKey, SqlResult};
use crate::stats::Distribution;
use crate::streams::{self, Gathered};
use crate::vantage;
use crate::verdict::verdict;
use crate::waits::{Times, held_up};
use crate::worst::{Exhibit, Worst};
use hashbrown::HashMap;
use ledger::{Kept, Lost, One, Sums};
use model::limits;
use model::{
    Call, ConnectionId, ConnectionSummary, Direction, Episode, EpisodeKind, Mark, Outstanding,
    Time, TimeClass,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use trace::Application;

/// Matched calls that decide which capture is the client's, when nobody said.
const DECIDING_CALLS: usize = 200;

/// Calls that take so much less at the client than at the server were stated the wrong way round.
const EXCHANGED_NS: i64 = 50_000;

/// What the user states.
#[derive(Clone, Debug)]
pub struct Options {
    pub thresholds: Thresholds,
    /// Where capture 0 and 1 were taken, if stated.
    pub stated: [Option<Vantage>; 2],
    pub clock_offset_ns: Option<i64>,
    /// Whether all of the captures' time is looked at, and all calls.
    pub whole: bool,
}

/// What a diagnosis is of; see [`diagnosers`](crate::diagnosers).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Kind {
    Calls,
    Turns,
}

/// A diagnosis in the making.
pub struct Diagnoser {
    kind: Kind,
    options: Options,
    ops: OpTable,
    captures: Vec<CaptureFacts>,
    join: Join,
    matched: MatchedFacts,
    /// Index of the client's capture, once known.
    client: Option<usize>,
    /// Matched calls seen before that.
    undecided: Vec<[Half; 2]>,
    pairs: Vec<[Half; 2]>,
    app: [Option<AppMatch>; 2],
    unmatched: Vec<Unmatched>,
    /// Matched calls by pair of hosts, the lower address first: its calls, and those of the other.
    hosts: HashMap<(IpAddr, IpAddr), [u64; 2], foldhash::fast::FixedState>,
    /// How far each capture has come, on its own clock, and its last matched call.
    reached: [Time; 2],
    last_matched: [Option<Time>; 2],
    first: [Option<Time>; 2],
    alone: OneSided,
    /// The statements of each capture.
    sql: Vec<Profiler>,
    /// What a comparison needs beside, where one is wanted.
    tap: Option<Box<Tap>>,
    /// The slowest calls, where charts are asked for.
    ladders: Option<Ladders>,
    /// The server's cap, and where the client's calls were seen, once the account is made.
    cap: Option<(model::Endpoint, f64)>,
    at_client: Option<usize>,
}

/// What is only needed of a single capture: its calls, settled when their episodes are known.
#[derive(Default)]
struct OneSided {
    unsettled: std::collections::VecDeque<Brief>,
    /// Each of them, to be divided when all is known that bears on it.
    kept: Kept<One>,
    loss: Worst,
    outage: Worst,
    stall: Worst,
    rounds: Rounds,
    parts: Option<Box<Parts>>,
}

/// A call of a single capture that waits for its episodes.
struct Brief {
    connection: model::ConnectionId,
    server: model::Endpoint,
    request: Mark,
    request_last: Mark,
    response_first: Mark,
    response: Mark,
    request_held_ns: i64,
    response_held_ns: i64,
    bytes: [u64; 2],
    row: u64,
    work: u64,
    is_datagram: bool,
}

/// No path takes longer.
const LONG_PATH_NS: i64 = 1_000_000_000;

/// As for matched calls: longer than a retransmission timer usually backs off to.
const SETTLE_NS: i64 = 4_000_000_000;

impl Diagnoser {
    /// The only capture was taken there, whatever its packets say.
    pub fn state(&mut self, vantage: Vantage) {
        self.options.stated = [Some(vantage), None];
    }

    #[must_use]
    pub fn new(
        captures: usize,
        options: Options,
        app: Option<&Arc<Application>>,
        kind: Kind,
    ) -> Diagnoser {
        let client = match (options.stated, captures) {
            ([Some(Vantage::Client), _], 2) => Some(0),
            ([Some(Vantage::Server), _], 2) => Some(1),
            _ => None,
        };
        Diagnoser {
            kind,
            options,
            ops: OpTable::default(),
            captures: (0..captures).map(CaptureFacts::new).collect(),
            join: Join::default(),
            matched: MatchedFacts::new(),
            client,
            undecided: Vec::new(),
            pairs: Vec::new(),
            app: [app.map(AppMatch::new), app.map(AppMatch::new)],
            unmatched: Vec::new(),
            hosts: HashMap::default(),
            reached: [Time::MIN; 2],
            last_matched: [None; 2],
            first: [None; 2],
            alone: OneSided::default(),
            sql: (0..captures)
                .map(|_| Profiler::new(&[SqlKey::Statement]))
                .collect(),
            tap: None,
            ladders: None,
            cap: None,
            at_client: None,
        }
    }

    /// Keeps what a comparison needs; to be said before the first record.
    pub fn measure(&mut self) {
        self.tap = Some(Box::default());
        self.matched.parts = Some(Box::default());
        self.alone.parts = Some(Box::default());
    }

    /// Capture `which` begins so.
    pub fn begins(&mut self, which: usize, at: Time) {
        if let Some(tap) = &mut self.tap {
            tap.begin(which, at);
        }
        if let Some(parts) = &mut self.alone.parts {
            parts.blocks.begin(at);
        }
    }

    /// Keeps where the server's capture has each call.
    pub(crate) fn keep_rows(&mut self) {
        self.matched.at_server = Some(Vec::new());
    }

    /// Keeps the slowest calls from here on.
    pub(crate) fn keep_ladders(&mut self) {
        self.ladders = Some(Ladders::default());
    }

    /// The slowest calls of the costliest operations, after [`Diagnoser::finish`].
    pub(crate) fn ladders(&self) -> Vec<Ladder> {
        let ladders = self.ladders.as_ref();
        ladders.map_or_else(Vec::new, |l| l.finish(&self.ops))
    }

    /// Waits by the number of outstanding calls, after [`Diagnoser::finish`], with the caps that its
    /// findings name.
    pub(crate) fn load(&self, findings: &[Finding]) -> Vec<LatencyByOutstanding> {
        let named = |rule: Rule, outstanding: u64| {
            let found = findings.iter().any(|f| f.rule == rule);
            found.then_some(Cap { outstanding, rule })
        };
        let server = self.cap.and_then(|(server, cap)| {
            let cap = cap.round().max(1.0) as u64;
            Some((server, named(Rule::ServerConcurrencyCap, cap)?))
        });
        let capped = self.at_client.and_then(|i| self.captures.get(i));
        let client = capped.and_then(client_cap).and_then(|capped| {
            let cap = named(Rule::ClientConcurrencyCap, capped.found.cap as u64)?;
            Some(((capped.client, capped.server), cap))
        });
        let of = |(i, capture): (usize, &CaptureFacts)| {
            let caps = Caps {
                server,
                client: client.filter(|_| self.at_client == Some(i)),
            };
            by_outstanding(i, &capture.concurrency, &self.ops, &caps)
        };
        self.captures.iter().enumerate().flat_map(of).collect()
    }

    /// Takes a call of capture `which`, of whose calls it is the one with this number.
    pub fn call(&mut self, which: usize, call: &Call, row: u64) {
        let op = self.ops.number(call.protocol, call.op);
        self.captures[which].call(call, op);
        // Of two captures only the client's is asked.
        if self.client.is_none_or(|client| client == which) {
            self.captures[which].think.call(call, which);
        }
        self.sql[which].call(call);
        if let Some(tap) = &mut self.tap {
            tap.call(which, call);
        }
        if call.is_complete()
            && let Some(app) = &mut self.app[which]
        {
            app.call(call);
        }
        if self.captures.len() == 1 {
            self.alone.call(call, row);
            if let Some(ladders) = &mut self.ladders {
                ladders.alone(op, call);
            }
            return;
        }
        let Some(half) = Half::of(call, op, row) else {
            return;
        };
        self.join.add(which, half, &mut self.pairs);
        self.take_pairs();
    }

    fn take_pairs(&mut self) {
        let mut pairs = std::mem::take(&mut self.pairs);
        for pair in pairs.drain(..) {
            for (i, half) in pair.iter().enumerate() {
                self.last_matched[i] = self.last_matched[i].max(Some(half.request_first.time));
            }
            match self.client {
                Some(client) => self.add_pair(client, &pair),
                None => {
                    self.undecided.push(pair);
                    if self.undecided.len() >= DECIDING_CALLS {
                        self.decide();
                    }
                }
            }
        }
        self.pairs = pairs;
    }

    fn add_pair(&mut self, client: usize, pair: &[Half; 2]) {
        if let (Some(tap), Some(parts)) = (&self.tap, &mut self.matched.parts)
            && let Some(begin) = tap.begins.get(client).copied().flatten()
        {
            parts.blocks.begin(begin);
        }
        let backwards = self.is_backwards(&pair[client]);
        let (c, s) = match backwards {
            false => (&pair[client], &pair[1 - client]),
            true => (&pair[1 - client], &pair[client]),
        };
        match (c.completeness, s.completeness) {
            (Completeness::Complete, Completeness::Complete) => {
                // The header may be hidden in one capture only.
                let op = match self.ops.name(c.op) {
                    (model::Protocol::Rpc, _) => s.op,
                    _ => c.op,
                };
                self.matched.add(op, c, s, backwards);
                if let (false, Some(ladders)) = (backwards, &mut self.ladders) {
                    ladders.matched(op, (client, c), (1 - client, s));
                }
                if let (false, Some(app)) = (backwards, &mut self.app[client]) {
                    app.matched(c, s);
                }
            }
            (Completeness::NoResponse, Completeness::NoResponse) => {
                self.unmatched(c.op).no_response += 1
            }
            _ => self.unmatched(c.op).incomplete += 1,
        }
    }

    /// Whether a call goes against the stream: made by the host that serves the other one's calls, as
    /// NFSv4 callbacks and lock grants are.
    fn is_backwards(&mut self, seen: &Half) -> bool {
        let (client, server) = (seen.client.address, seen.server.address);
        let pair = (client.min(server), client.max(server));
        if self.hosts.len() >= limits::HOST_PAIRS && !self.hosts.contains_key(&pair) {
            return false;
        }
        let [lower, higher] = self.hosts.entry(pair).or_default();
        let (own, other) = match client <= server {
            true => (lower, higher),
            false => (higher, lower),
        };
        *own += 1;
        *other > *own
    }

    fn unmatched(&mut self, op: u16) -> &mut Unmatched {
        let op = usize::from(op);
        if op >= self.unmatched.len() {
            self.unmatched.resize(op + 1, Unmatched::default());
        }
        &mut self.unmatched[op]
    }

    /// Which capture is the client's: the one in which calls take longer.
    fn decide(&mut self) {
        let longer: i64 = self
            .undecided
            .iter()
            .filter(|p| p.iter().all(|h| h.completeness == Completeness::Complete))
            .map(|[a, b]| a.response_time_ns() - b.response_time_ns())
            .sum();
        let client = usize::from(longer < 0);
        self.client = Some(client);
        for pair in std::mem::take(&mut self.undecided) {
            self.add_pair(client, &pair);
        }
    }

    pub fn outstanding(&mut self, which: usize, o: &Outstanding) {
        self.captures[which].outstanding(o);
    }

    pub fn episode(&mut self, which: usize, e: &Episode) {
        self.captures[which].episode(e);
        self.sql[which].episode(e);
    }

    pub fn connection(&mut self, which: usize, c: &ConnectionSummary) {
        self.captures[which].connection(c);
        self.sql[which].connection(c);
        self.join.closed(which, c.client, c.server);
    }

    /// A gap showed in a connection of capture `which`.
    pub fn gap(&mut self, which: usize, at: Mark, connection: ConnectionId) {
        self.captures[which].gap(at, connection);
    }

    /// Capture `which` has come so far; what both have left behind is settled.
    pub fn reached(&mut self, which: usize, now: Time) {
        self.reached[which] = self.reached[which].max(now);
        self.first[which].get_or_insert(now);
        if self.captures[which].troubles.len() > limits::TROUBLED_CONNECTIONS {
            self.captures[which].forget_before(now + -60_000_000_000);
        }
        if self.captures.len() == 1 {
            self.alone.settle(&mut self.captures[0], Some(now));
        } else if let Some(client) = self.client {
            let reached = [self.reached[client], self.reached[1 - client]];
            let (c, s) = (&self.captures[client], &self.captures[1 - client]);
            self.matched.settle(c, s, Some(reached));
        }
    }

    /// Which of two captures to read on: the one that is less far beyond the last call both hold;
    /// before there is one, the one whose clock is behind, or, where clocks are hours apart, the one
    /// that has been read less.
    #[must_use]
    pub fn next(&self) -> usize {
        let ahead = |i: usize| match (self.last_matched[i], self.first[i]) {
            _ if self.reached[i] == Time::MIN => i64::MIN,
            (Some(matched), _) => self.reached[i] - matched,
            (None, Some(first)) => {
                let apart = self.first[1 - i].map_or(0, |other| (first - other).abs());
                if apart < 3_600_000_000_000 {
                    self.reached[i].0
                } else {
                    self.reached[i] - first
                }
            }
            (None, None) => i64::MIN,
        };
        usize::from(ahead(1) < ahead(0))
    }

    /// The diagnosis. `results` say how each capture was read, `gathered` what connections waited for.
    /// With it comes what a comparison needs, if it was [asked for](Diagnoser::measure).
    #[must_use]
    pub fn finish(
        &mut self,
        results: Vec<CaptureResult>,
        gathered: &Gathered,
        look: Option<&mut Look<'_>>,
    ) -> (Diagnosis, Option<Measured>) {
        if self.captures.len() == 2 {
            self.finish_two(results, gathered, look)
        } else {
            self.finish_one(results, gathered, look)
        }
    }

    fn finish_two(
        &mut self,
        mut results: Vec<CaptureResult>,
        gathered: &Gathered,
        look: Option<&mut Look<'_>>,
    ) -> (Diagnosis, Option<Measured>) {
        let mut pairs = Vec::new();
        let left = self.join.finish(&mut pairs);
        self.pairs = pairs;
        self.take_pairs();
        if self.client.is_none() {
            self.decide();
        }
        let stated = self.options.stated.iter().any(Option::is_some);
        if self.matched.client.count() == 0 && !stated {
            // Without a call in both, their own packets say where they were taken.
            let own = [0, 1].map(|i| vantage::conclude(&self.captures[i].tcp).vantage);
            if own == [Vantage::Server, Vantage::Client] {
                self.client = Some(1);
            }
        }
        let client = self.client.unwrap_or(0);
        let server = 1 - client;
        self.matched
            .settle(&self.captures[client], &self.captures[server], None);
        let clock = self.matched.corridor.solve(self.options.clock_offset_ns);
        self.count_unmatched(client, &left, clock.as_ref(), &results);
        let evicted: u64 = self.join.evicted().iter().sum();
        for (i, side) in [(client, Vantage::Client), (server, Vantage::Server)] {
            results[i].side = Some(side);
            results[i].concluded = Some(vantage::conclude(&self.captures[i].tcp).vantage);
            results[i].side_from = if stated {
                "stated".into()
            } else if self.matched.client.count() > 0 {
                format!(
                    "the same calls take {} {} here",
                    model::format_duration((self.matched_difference()).abs()),
                    if side == Vantage::Client {
                        "longer"
                    } else {
                        "less"
                    }
                )
            } else {
                "a guess: no call is in both captures".into()
            };
        }
        let mut notes = Vec::new();
        let exchanged = stated && self.matched_difference() < -EXCHANGED_NS;
        if self.join.translated {
            notes.push("Addresses differ between the captures (NAT): connections were matched by XID and TCP sequence number.".into());
        }
        if evicted > 0 {
            notes.push(format!(
                "{} calls waited too long for their twin and were left out.",
                model::grouped(evicted)
            ));
        }
        let (app, said) = match self.app[client].take() {
            Some(app) => app.finish(client, &results),
            None => (None, Vec::new()),
        };
        notes.extend(said);
        let streams = gathered.of_two(client);
        let sql = self.profile_of_two(client);
        let m = &self.matched;
        let elapsed_ns = m.first.zip(m.last).map_or(0, |(a, b)| b - a);
        let links = match self.kind {
            Kind::Turns => Vec::new(),
            Kind::Calls => narrowest::links(&m.narrowest, streams.carried(), elapsed_ns),
        };
        let offset = clock.as_ref().map_or(0, |c| c.offset_ns);
        let [one, other] = &gathered.health;
        let later = |capture: usize| if capture == client { 0 } else { offset };
        let whole = BothWhole {
            matched: m,
            server: &self.captures[server],
            client_capture: client,
            links: &links,
            missing: Missing::of([(one, later(0)), (other, later(1))].into_iter()),
            streams: (self.kind == Kind::Turns).then_some(&streams),
        };
        let sums = |spared: &Spared| whole.sums(spared);
        let (mut account, spared) = match self.is_of_streams() {
            true => (
                Account::of(Basis::Streams, streams.sums()),
                Spared::default(),
            ),
            false => self.divide(Basis::Matched, sums, sql.as_ref(), &m.rounds, (0, 0)),
        };
        account.cap = facts::server_cap(&self.captures[server]);
        let mut rows = m.at_server.iter().flatten();
        let look = look.into_iter();
        look.for_each(|look| {
            whole.each(&spared, |call, ledger| {
                let at = Time(call.at_ns);
                look(&Looked {
                    row: call.row,
                    ledger,
                    is_judged: true,
                    server: rows.next(),
                    clock_offset_ns: clock.as_ref().map_or(0, |c| m.offset_ns(c, at)),
                });
            })
        });
        self.cap = account.cap.as_ref().map(|(cap, server)| (*server, cap.cap));
        self.at_client = Some(client);
        let m = &self.matched;
        let budget = self.budget(clock.as_ref(), &account, app.as_ref());
        let facts = Facts {
            kind: self.kind,
            thresholds: self.options.thresholds,
            captures: &self.captures,
            results: &results,
            client: Some(client),
            server: Some(server),
            matched: Some(m),
            app: app.as_ref(),
            path: None,
            account,
            streams: &streams,
            links,
            sql: sql.as_ref(),
            startup: gathered.startup(client),
            health: &gathered.health,
            worst: Exhibits {
                server: &m.slow_server,
                stall: &m.stalled,
                network: &m.slow_network,
                loss: &m.lost,
                outage: &m.outage,
                held: &m.held,
            },
        };
        let findings = findings::check(&facts);
        let mut verdict = verdict(&facts, &findings);
        let mut findings = findings;
        if exchanged {
            findings.clear();
            verdict = Verdict {
                side: Side::Undetermined,
                cause: None,
                confidence: 0.0,
                sentence: "The captures look exchanged: the same calls take longer in the one said to be the server's. Swap --client and --server.".into(),
            };
        }
        notes.extend(streams.notes(facts.account.calls));
        let call_time_ns = facts.account.total_ns;
        let elapsed_ns = m.first.zip(m.last).map_or(0, |(a, b)| b - a);
        let account = facts.account.clone();
        let (ledger, streams_ledger) = match account.basis {
            Basis::Streams => (Sums::new(), Some(account.sums.clone())),
            _ => (account.sums.clone(), None),
        };
        let ops = self.op_results(Some((client, server)), clock.as_ref());
        let parts = self.matched.parts.take();
        let measured = self.measured(account, client, streams, parts);
        let diagnosis = Diagnosis {
            captures: results,
            verdict,
            budget,
            ops,
            clock,
            findings,
            app,
            files: Vec::new(),
            notes,
            call_time_ns,
            elapsed_ns,
            ledger,
            streams_ledger,
        };
        (diagnosis, measured)
    }

    /// What a comparison needs, of which `main` has the calls' times.
    fn measured(
        &mut self,
        account: Account,
        main: usize,
        streams: streams::Streams,
        parts: Option<Box<Parts>>,
    ) -> Option<Measured> {
        Some(Measured {
            kind: self.kind,
            account,
            main,
            streams,
            tap: *self.tap.take()?,
            parts: *parts?,
            fast_enough_ns: self.options.thresholds.fast_enough_ns,
            tail_ns: self.options.thresholds.tail_ns,
        })
    }

    /// The statements of both captures, told from the client's.
    fn profile_of_two(&mut self, client: usize) -> Option<SqlResult> {
        let mut both = std::mem::take(&mut self.sql);
        if client == 1 {
            both.reverse();
        }
        let server = both.pop()?;
        let client = both.pop().filter(|p| !p.is_empty())?;
        Some(sql::of_two(client, &server, Vec::new()))
    }

    /// The latest call that both captures hold.
    #[must_use]
    pub fn last_matched(&self) -> Option<Time> {
        self.last_matched[0]
    }

    /// Calls with a response time, over all captures.
    #[must_use]
    pub fn timed(&self) -> u64 {
        self.captures.iter().map(|c| c.response.count()).sum()
    }

    /// The account of all calls, of which `sums` makes the ledgers' sums when it is told which trips could
    /// have been spared: connections that ask for little at a time show in the bytes alone, and statements
    /// name what else they ask too often. `path_ns`: what the path takes of a call at least and at most,
    /// beyond what rounds know of it.
    fn divide(
        &self,
        basis: Basis,
        sums: impl Fn(&Spared) -> Sums,
        sql: Option<&SqlResult>,
        rounds: &Rounds,
        (least_ns, most_ns): (i64, i64),
    ) -> (Account, Spared) {
        let mut account = Account::of(basis, sums(&Spared::default()));
        let mut spared = Spared::default();
        let path_is_known = matches!(basis, Basis::Client | Basis::Matched);
        for habit in sql.map_or_else(Vec::new, habits) {
            let is_sure = path_is_known || habit.pattern == Pattern::SmallFetch;
            spared.by_statement(&habit, is_sure);
        }
        let own: &[Habit] = match self.kind {
            // Only turns tell requests to write from questions.
            Kind::Turns => &Habit::ALL,
            Kind::Calls if self.is_alternating() => &[Habit::Questions],
            Kind::Calls => &[],
        };
        // Less than may be accused stays the path's.
        let worth = (account.total_ns / ACCUSED_SHARE).max(WORTH_NS);
        for &habit in own {
            let sure = rounds.chatter(habit, least_ns);
            if sure.saved_ns >= worth {
                account.chatter[habit as usize] = sure;
                spared.by_connections(rounds, habit, least_ns, true);
            }
            if rounds.chatter(habit, most_ns).saved_ns >= worth {
                spared.by_connections(rounds, habit, most_ns, false);
            }
        }
        if !spared.is_empty() {
            account = Account {
                chatter: account.chatter,
                ..Account::of(basis, sums(&spared))
            };
        }
        (account, spared)
    }

    /// Whether streams that nobody answers are all there is to judge. What connections waited for is known
    /// over their whole life only.
    fn is_of_streams(&self) -> bool {
        self.kind == Kind::Turns && self.options.whole && self.timed() == 0
    }

    /// Whether most calls are turns, or such of databases: their clients wait for each answer.
    fn is_alternating(&self) -> bool {
        let timed = |op: usize| {
            self.captures[0]
                .ops
                .get(op)
                .map_or(0, |o| o.response.count())
        };
        let (mut sql, mut all) = (0, 0);
        for op in 0..self.ops.len() {
            all += timed(op);
            sql += match self.ops.name(op as u16).0.is_sql() {
                true => timed(op),
                false => 0,
            };
        }
        self.kind == Kind::Turns || sql > all / 2
    }

    fn matched_difference(&self) -> i64 {
        let (sum, n) = self.matched.ops.iter().fold((0i128, 0u64), |(s, n), o| {
            (
                s + i128::from(o.difference.total_ns()),
                n + o.difference.count(),
            )
        });
        if n == 0 {
            0
        } else {
            (sum / i128::from(n)) as i64
        }
    }

    fn budget(&self, clock: Option<&Clock>, account: &Account, app: Option<&AppFacts>) -> Budget {
        let Some(clock) = clock else {
            return Budget::default();
        };
        let [out, server, back] = self.matched.budget(clock);
        Budget {
            calls: self.matched.client.count(),
            client_host_ns: app.map(|a| a.host_mean_ns),
            network_out_ns: Some(out),
            server_ns: Some(server),
            network_back_ns: Some(back),
            network_least_ns: None,
            server_queue_ns: (account.queue_ns > 0)
                .then(|| account.queue_ns / account.calls.max(1) as i64),
            server_held_ns: Some(
                (server - account.server_ns() / account.calls.max(1) as i64).max(0),
            ),
            under_way: under_way(account),
        }
    }

    /// Why calls have no twin.
    fn count_unmatched(
        &mut self,
        client: usize,
        left: &[Vec<Half>; 2],
        clock: Option<&Clock>,
        results: &[CaptureResult],
    ) {
        let offset = clock.map_or(0, |c| c.offset_ns);
        for (i, calls) in left.iter().enumerate() {
            let other = &results[1 - i];
            // From this capture's clock to the other's.
            let shift = if i == client { offset } else { -offset };
            for call in calls {
                let at = call.request_first.time + shift;
                let inside =
                    other.first.is_some_and(|f| at >= f) && other.last.is_some_and(|l| at <= l);
                let u = self.unmatched(call.op);
                match call.completeness {
                    _ if !inside => u.outside_overlap += 1,
                    Completeness::NoResponse => u.no_response += 1,
                    Completeness::Incomplete => u.incomplete += 1,
                    Completeness::Complete if i == client => u.not_in_server_capture += 1,
                    Completeness::Complete => u.not_in_client_capture += 1,
                }
            }
        }
    }

    fn op_results(&self, sides: Option<(usize, usize)>, clock: Option<&Clock>) -> Vec<OpResult> {
        let mut out = Vec::new();
        for op in 0..self.ops.len() {
            let (protocol, name) = self.ops.name(op as u16);
            let of = |capture: usize| {
                let facts = self.captures[capture].ops.get(op)?;
                (facts.response.count() > 0).then(|| facts.response.summary())
            };
            let (client, server) = match sides {
                Some((c, s)) => (of(c), of(s)),
                None if self.options.stated[0] == Some(Vantage::Server) => (None, of(0)),
                None => (of(0), None),
            };
            let matched = self.matched.op(op, clock);
            let mut unmatched = self.unmatched.get(op).copied().unwrap_or_default();
            if sides.is_none() {
                let facts = self.captures[0].ops.get(op);
                unmatched.no_response = facts.map_or(0, |f| f.no_response);
                unmatched.incomplete = facts.map_or(0, |f| f.incomplete);
            }
            if client.is_none() && server.is_none() && unmatched == Unmatched::default() {
                continue;
            }
            out.push(OpResult {
                protocol,
                op: name.to_string(),
                client,
                server,
                matched,
                unmatched,
            });
        }
        out.sort_by(OpResult::by_time);
        out
    }

    fn finish_one(
        &mut self,
        mut results: Vec<CaptureResult>,
        gathered: &Gathered,
        look: Option<&mut Look<'_>>,
    ) -> (Diagnosis, Option<Measured>) {
        self.alone.settle(&mut self.captures[0], None);
        let own = &self.captures[0];
        // A request that does not wait for an answer may have left before it came.
        let alternating = self.is_alternating();
        let soonest = |d: &Distribution| (alternating && d.count() > 0).then(|| d.quantile(0.0));
        let mut concluded = vantage::conclude(&own.tcp);
        if concluded.vantage == Vantage::Unknown {
            let answers = vantage::by_turnarounds(soonest(&own.wait), soonest(&own.think.pauses));
            concluded = answers.unwrap_or(concluded);
        }
        let concluded_vantage = if concluded.confidence > 0.9 {
            concluded.vantage
        } else {
            Vantage::Unknown
        };
        let side = self.options.stated[0].unwrap_or(concluded.vantage);
        results[0].side = Some(side);
        results[0].side_from = if self.options.stated[0].is_some() {
            "stated".into()
        } else {
            concluded.from.to_string()
        };
        let profiler = self.sql.pop().filter(|p| !p.is_empty());
        let own = &self.captures[0];
        let crossed = Crossed {
            min_ns: (own.wait.count() > 0).then(|| own.wait.quantile(0.0).max(0)),
            mean_ns: profiler.as_ref().and_then(|p| p.crossed().mean_ns),
        };
        let asked = Crossed {
            min_ns: soonest(&own.think.pauses),
            mean_ns: None,
        };
        let to_client = match side {
            Vantage::Client => ledger::Half::Here,
            _ => Acknowledged::by_client(&own.tcp).half(asked),
        };
        let to_server = match side {
            Vantage::Server => ledger::Half::Here,
            _ => Acknowledged::of(&own.tcp).half(crossed),
        };
        let path = match side {
            Vantage::Server => {
                Acknowledged::by_client(&own.tcp).path_to_client(soonest(&own.think.pauses))
            }
            _ => Acknowledged::of(&own.tcp).path(crossed),
        };
        let streams = gathered.of_one();
        let sql = profiler.map(|p| sql::of_one(p, Vec::new(), side));
        let crossing = to_server.bounds().plus(to_client.bounds());
        let (least, most) = (crossing.lo_ns, crossing.hi_ns.unwrap_or(LONG_PATH_NS));
        let rounds = &self.alone.rounds;
        let whole = OneWhole {
            kept: &self.alone.kept,
            capture: own,
            to_server,
            to_client,
            // Where replies are passing for much of the time, calls wait behind those of others.
            waits_tell: !own.waits_behind_others(),
            missing: Missing::of([(&gathered.health[0], 0)].into_iter()),
            streams: (self.kind == Kind::Turns).then_some(&streams),
        };
        let sums = |spared: &Spared| whole.sums(spared);
        let basis = match side {
            Vantage::Server => Basis::Server,
            Vantage::Client => Basis::Client,
            _ => Basis::Unknown,
        };
        let (mut account, spared) = match self.is_of_streams() {
            true => (
                Account::of(Basis::Streams, streams.sums()),
                Spared::default(),
            ),
            false => self.divide(basis, sums, sql.as_ref(), rounds, (least, most)),
        };
        account.cap = facts::server_cap(own);
        let look = look.into_iter();
        look.for_each(|look| {
            whole.each(&spared, |call, ledger| {
                look(&Looked {
                    row: call.row,
                    ledger,
                    is_judged: true,
                    server: None,
                    clock_offset_ns: 0,
                });
            })
        });
        let given = self.app[0].take();
        let unused = given.is_some() && side != Vantage::Client;
        let (app, said) = match given.filter(|_| !unused) {
            Some(app) => app.finish(0, &results),
            None => (None, Vec::new()),
        };
        let calls = account.calls.max(1) as i64;
        let own_part = (account.basis != facts::Basis::Unknown && account.unknown_ns == 0
            || side == Vantage::Server)
            .then(|| account.server_ns() / calls);
        let budget = Budget {
            calls: account.calls,
            client_host_ns: app.as_ref().map(|a| a.host_mean_ns),
            network_out_ns: None,
            server_ns: own_part.filter(|_| side == Vantage::Server),
            network_back_ns: None,
            network_least_ns: (account.basis == facts::Basis::Server
                && under_way(&account).is_empty())
            .then(|| account.path_total_ns() / calls)
            .filter(|least| *least > 0),
            server_queue_ns: (account.queue_ns > 0).then(|| account.queue_ns / calls),
            server_held_ns: None,
            under_way: under_way(&account),
        };
        self.cap = account.cap.as_ref().map(|(cap, server)| (*server, cap.cap));
        self.at_client = Some(0);
        let own = &self.captures[0];
        let index = |v: Vantage| (side == v).then_some(0);
        let facts = Facts {
            kind: self.kind,
            thresholds: self.options.thresholds,
            captures: &self.captures,
            results: &results,
            client: index(Vantage::Client),
            server: index(Vantage::Server),
            matched: None,
            app: app.as_ref(),
            path,
            account,
            streams: &streams,
            links: Vec::new(),
            sql: sql.as_ref(),
            startup: gathered.startup(0),
            health: &gathered.health,
            worst: Exhibits {
                server: &own.slowest,
                stall: &self.alone.stall,
                network: &own.slowest,
                loss: &self.alone.loss,
                outage: &self.alone.outage,
                held: &own.slowest,
            },
        };
        let findings = findings::check(&facts);
        let verdict = verdict(&facts, &findings);
        let mut notes = vec![match side {
            Vantage::Server => "One capture, at the server: the server's own time is exact; what the client sees beyond it is not in this capture.".to_owned(),
            Vantage::Client => "One capture, at the client: server and network can only be told apart by an estimate of the path.".to_owned(),
            _ => "One capture, of which it is not known where it was taken: state it with --client or --server.".to_owned(),
        }];
        notes.extend(said);
        if unused {
            notes.push("The application's latencies were left out: above the wire can only be known with a capture at the client.".into());
        }
        if self.options.stated[0].is_some_and(|stated| contradicts(stated, concluded_vantage)) {
            notes.push(format!(
                "The packets say otherwise than stated: this looks like a capture at the {}.",
                concluded_vantage.name()
            ));
        }
        match (side, facts.path) {
            (Vantage::Client, Some(path)) => notes.push(format!(
                "The path to the server and back takes {}.",
                path.words()
            )),
            (Vantage::Server, Some(path)) => notes.push(format!(
                "The path to the client and back takes {}: what clients wait beyond this capture.",
                path.words()
            )),
            _ => {}
        }
        notes.extend(streams.notes(facts.account.calls));
        let call_time_ns = facts.account.total_ns;
        let elapsed_ns = own.first.zip(own.last).map_or(0, |(a, b)| b - a);
        self.options.stated[0] = Some(side);
        let account = facts.account.clone();
        let (ledger, streams_ledger) = match account.basis {
            Basis::Streams => (Sums::new(), Some(account.sums.clone())),
            _ => (account.sums.clone(), None),
        };
        let ops = self.op_results(None, None);
        let parts = self.alone.parts.take();
        let measured = self.measured(account, 0, streams, parts);
        let diagnosis = Diagnosis {
            captures: results,
            verdict,
            budget,
            ops,
            clock: None,
            findings,
            app,
            files: Vec::new(),
            notes,
            call_time_ns,
            elapsed_ns,
            ledger,
            streams_ledger,
        };
        (diagnosis, measured)
    }
}

/// What messages waited for under way, per call, where there is something to tell.
fn under_way(account: &Account) -> Vec<(Direction, TimeClass, i64)> {
    let calls = account.calls.max(1) as i64;
    let of = |d: Direction| {
        let classes = account.under_way[d.index()].iter();
        classes
            .filter(|(_, ns)| **ns > 0)
            .map(move |(class, ns)| (d, class, ns / calls))
    };
    streams::DIRECTIONS.into_iter().flat_map(of).collect()
}

/// Whether packets say for certain that a capture was not taken where it is said to have been.
fn contradicts(stated: Vantage, concluded: Vantage) -> bool {
    matches!(
        (stated, concluded),
        (Vantage::Client, Vantage::Server) | (Vantage::Server, Vantage::Client)
    )
}

impl OneSided {
    fn call(&mut self, call: &Call, row: u64) {
        let marks = (
            call.request_first,
            call.request_last,
            call.response_first,
            call.response_last,
        );
        let (Some(request), Some(request_last), Some(response_first), Some(response)) = marks
        else {
            return;
        };
        if call.is_timed() {
            self.unsettled.push_back(Brief {
                connection: call.connection,
                server: call.server,
                request,
                request_last,
                response_first,
                response,
                request_held_ns: call.request_held_ns,
                response_held_ns: call.response_held_ns,
                bytes: [call.request_bytes, call.response_bytes],
                row,
                work: work_of(call),
                is_datagram: call.request_sequence == 0,
            });
        }
    }

    /// Looks at calls that the capture has left behind: did they overlap a recovery or a stall?
    fn settle(&mut self, facts: &mut CaptureFacts, reached: Option<Time>) {
        while let Some(next) = self.unsettled.front() {
            if reached.is_some_and(|now| now - next.response.time <= SETTLE_NS)
                && self.unsettled.len() < limits::UNSETTLED
            {
                return;
            }
            let Some(b) = self.unsettled.pop_front() else {
                return;
            };
            let took = b.response.time - b.request.time;
            let life = (b.request.time, b.response.time);
            self.rounds.add(b.connection, life, b.bytes, 0);
            if let Some(parts) = &mut self.parts {
                let wait = b.response_first.time - b.request_last.time;
                parts.call(life, wait.clamp(0, took.max(0)), 0, b.bytes);
            }
            let one = settled(&b, facts);
            let exhibit = |value| Exhibit::of(value, 0, b.request, b.response);
            match one.lost {
                Lost::Outage => self.outage.add(exhibit(took)),
                Lost::Segments => self.loss.add(exhibit(took)),
                Lost::Nothing if one.stall_ns > 0 => self.stall.add(exhibit(one.stall_ns)),
                Lost::Nothing | Lost::Hidden => {}
            }
            self.kept.push(&one);
        }
    }
}

/// A call with what its connection and its server went through meanwhile.
fn settled(b: &Brief, facts: &CaptureFacts) -> One {
    let times = Times {
        request_first: b.request.time,
        request_last: b.request_last.time,
        response_first: b.response_first.time,
        response_last: b.response.time,
    };
    let (from, to) = (times.request_first, times.response_last);
    let mut one = One {
        row: b.row,
        connection: b.connection.0,
        work: b.work,
        server: number_of(b.server),
        at_ns: from.0,
        request_passing_ns: times.request_last - from,
        wait_ns: times.response_first - times.request_last,
        response_passing_ns: to - times.response_first,
        request_held_ns: b.request_held_ns,
        response_held_ns: b.response_held_ns,
        is_datagram: b.is_datagram,
        ..One::default()
    };
    let (asked, answered) = (times.request_last, times.response_first);
    let mut resent = false;
    if !facts.is_quiet(b.connection) {
        // Recoveries of both directions overlap each other.
        let mut reached = from;
        let lost = |t: &&Trouble| t.kind == EpisodeKind::Recovery && !t.spurious;
        for t in facts.overlapping(b.connection, from, to).filter(lost) {
            one.lost = match one.lost {
                _ if is_outage(t.timeouts, t.last - t.first) => Lost::Outage,
                Lost::Nothing => Lost::Segments,
                lost => lost,
            };
            let begins = t.first.max(reached);
            one.recovery_ns += (t.last.min(to) - begins).max(0);
            reached = reached.max(t.last);
            let during = t.last >= asked && t.first <= answered;
            resent |= t.direction == Direction::ToClient && during;
            if t.direction == Direction::ToServer && t.first <= asked {
                // What recovery held back is loss.
                one.request_held_ns = 0;
            }
            // A server cannot read a request behind bytes that were lost on their way to it.
            if t.direction == Direction::ToServer && t.first <= asked {
                one.behind_ns = one.behind_ns.max(t.overlap_ns(asked, answered));
            }
        }
        one.held = held_up(facts.overlapping(b.connection, from, to), &times);
    }
    // Databases' calls are told apart by their order alone.
    if b.work != 0 && facts.lacks(b.connection, from, to) {
        one.lost = Lost::Hidden;
    }
    if !resent {
        one.stall_ns = facts.stalled(b.server, asked, answered);
    }
    one
}
