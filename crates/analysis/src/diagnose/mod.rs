//! Records of one or two captures into a diagnosis: fed in the order of packets, asked at the end.

mod alone;
mod begun;
mod budget;
mod divide;
mod finish;
mod layers;
mod midway;
mod noted;
mod others;
mod seen;
mod tables;

use crate::app::{RowMatch, Whose};
use crate::attributes::AllAttributes;
use crate::capture_facts::CaptureFacts;
use crate::charts::{Cap, Caps, Ladder, Ladders, LatencyByOutstanding, by_outstanding};
use crate::compare::gather::Tap;
use crate::facts::Thresholds;
use crate::findings::{Rule, client_cap};
use crate::half::{Completeness, Half, OpTable};
use crate::join::Join;
use crate::ledgers::Operations;
use crate::matched::MatchedFacts;
use crate::results::{CaptureResult, Finding, Unmatched, Unpaired, Vantage, Why};
use crate::sql::{Profiler, SqlKey};
use alone::OneSided;
use begun::Begun;
use hashbrown::{HashMap, HashSet};
use model::limits;
use model::{Call, ConnectionSummary, Endpoint, Episode, Gap, Outstanding, Time};
use others::Others;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::sync::Arc;
use trace::Application;
use trace::host::Host;

/// Calls that were seen in part are judged where they took this share of a capture.
const MUCH: i64 = 8;

/// Connections that went through something since are not forgotten.
const LATELY_NS: i64 = 60_000_000_000;

/// Matched calls that decide which capture is the client's, when nobody said.
const DECIDING_CALLS: usize = 200;
/// So few do not decide it against handshakes.
const FEW_CALLS: usize = 8;

/// What the user states.
#[derive(Clone, Debug)]
pub struct Options {
    pub thresholds: Thresholds,
    /// Where capture 0 and 1 were taken, if stated.
    pub stated: [Option<Vantage>; 2],
    pub clock_offset_ns: Option<i64>,
    /// Bytes for statements, of each capture.
    pub statements_bytes: u64,
    /// Whether all of the captures' time is looked at, and all calls.
    pub whole: bool,
    /// What the client's application noted of its operations, and what the server did of its own.
    pub app: Option<Arc<Application>>,
    pub server_app: Option<Arc<Application>>,
    /// What tools said of the hosts.
    pub hosts: Arc<[Host]>,
    /// Whether the client only passes on what it is asked itself: how often it asks, and for how much, is not its choice.
    pub passes_on: bool,
    /// Whether other clients of the server have captures of their own, with which their calls are judged.
    pub has_peers: bool,
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
    /// By capture: what the application noted, and what the server did.
    app: [Option<RowMatch>; 2],
    server_app: [Option<RowMatch>; 2],
    /// The application's own times of calls, once they are matched.
    applications: Operations,
    unmatched: Vec<Unmatched>,
    /// How long calls took that one of two captures has whole, and of which the other lacks something.
    cut_ns: i64,
    /// How long the client waited for servers that are slow, and that the other capture does not show.
    elsewhere_ns: i64,
    /// Those of which rows are wanted.
    unpaired: Option<Vec<Unpaired>>,
    /// Matched calls by pair of hosts, the lower address first: its calls, and those of the other.
    hosts: HashMap<(IpAddr, IpAddr), [u64; 2], foldhash::fast::FixedState>,
    /// Whose calls to which service both captures have, as the client's names them.
    of_both: HashSet<(IpAddr, Endpoint), foldhash::fast::FixedState>,
    /// How far each capture has come, on its own clock, and its last matched call.
    reached: [Time; 2],
    last_matched: [Option<Time>; 2],
    first: [Option<Time>; 2],
    alone: OneSided,
    others: Others,
    /// What had begun before each capture.
    begun: [Begun; 2],
    /// What the calls of each capture have in common; of two captures the client's is asked, and the server's of calls that
    /// it alone can hold.
    attributes: [AllAttributes; 2],
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

impl Diagnoser {
    /// The only capture was taken there, whatever its packets say.
    pub fn state(&mut self, vantage: Vantage) {
        self.options.stated = [Some(vantage), None];
    }

    #[must_use]
    pub fn new(captures: usize, options: Options, kind: Kind) -> Diagnoser {
        let client = match (options.stated, captures) {
            ([Some(Vantage::Client), _], 2) => Some(0),
            ([Some(Vantage::Server), _], 2) => Some(1),
            _ => None,
        };
        let statements_bytes = options.statements_bytes;
        let slow_ns = options.thresholds.fast_enough_ns;
        let held_against = |rows: Option<&Arc<Application>>, whose| {
            let of = |_| rows.map(|rows| RowMatch::new(rows, whose, slow_ns));
            [0, 1].map(of)
        };
        // What tells of disks alone tells of no call.
        let server_app = options.server_app.clone();
        let server_app = server_app.filter(|a| !a.is_of_disks_alone());
        let app = held_against(options.app.as_ref(), Whose::Application);
        let mut matched = MatchedFacts::new();
        // Which of the server's calls has which operation is known by its own number.
        matched.at_server = server_app.as_ref().map(|_| Vec::new());
        Diagnoser {
            kind,
            options,
            ops: OpTable::default(),
            captures: (0..captures).map(CaptureFacts::new).collect(),
            join: Join::default(),
            matched,
            client,
            undecided: Vec::new(),
            pairs: Vec::new(),
            app,
            server_app: held_against(server_app.as_ref(), Whose::Server),
            applications: Operations::default(),
            unmatched: Vec::new(),
            cut_ns: 0,
            elsewhere_ns: 0,
            unpaired: None,
            hosts: HashMap::default(),
            of_both: HashSet::default(),
            reached: [Time::MIN; 2],
            last_matched: [None; 2],
            first: [None; 2],
            alone: OneSided::default(),
            others: Others::default(),
            begun: Default::default(),
            attributes: Default::default(),
            sql: (0..captures)
                .map(|_| Profiler::new(&[SqlKey::Statement], statements_bytes))
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

    /// Keeps where the server's capture has each call, and why one has no twin.
    pub(crate) fn keep_rows(&mut self) {
        self.matched.at_server = Some(Vec::new());
        self.unpaired = Some(Vec::new());
        self.join.keep_evicted_rows();
    }

    /// Keeps the slowest calls from here on.
    pub(crate) fn keep_ladders(&mut self) {
        self.ladders = Some(Ladders::default());
    }

    pub(crate) fn keeps_ladders(&self) -> bool {
        self.ladders.is_some()
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
        if call.protocol.is_callback() {
            self.called_back(which, call, (op, row));
            return;
        }
        self.captures[which].call(call, op);
        // Of two captures only the client's is asked.
        let is_asked = self.client.is_none_or(|client| client == which);
        let may_be_other = self.captures.len() == 2
            && !self.options.has_peers
            && self.others.may_be(which, call)
            && self.client != Some(which);
        let mut attributes = 0;
        let capture = &mut self.captures[which];
        capture.deferred.call(call, which);
        if is_asked {
            capture.think.call(call, which);
        }
        let has_begun = Begun::began_before(call);
        if is_asked || may_be_other || has_begun {
            attributes = self.attributes[which].number(call, op);
        }
        if has_begun {
            self.begun[which].call(call, row, attributes);
        }
        self.sql[which].call(call);
        if let Some(tap) = &mut self.tap {
            tap.call(which, call);
        }
        if call.is_complete() {
            for rows in [&mut self.app[which], &mut self.server_app[which]] {
                rows.iter_mut().for_each(|rows| rows.call(call, row));
            }
        }
        if self.captures.len() == 1 {
            self.alone.call(call, row, attributes);
            if let Some(ladders) = &mut self.ladders {
                ladders.alone(op, call, row);
            }
            return;
        }
        if may_be_other {
            self.others.call(which, call, row, attributes);
        }
        let Some(half) = Half::of(call, op, row, attributes) else {
            return;
        };
        self.join.add(which, half, &mut self.pairs);
        self.take_pairs();
    }

    /// A call of a server to its client: it has times, and others may have waited for what it gives back.
    #[cold]
    fn called_back(&mut self, which: usize, call: &Call, (op, row): (u16, u64)) {
        self.captures[which].beside(call);
        self.captures[which].deferred.call(call, which);
        if let Some(half) = Half::of(call, op, row, 0).filter(|_| self.captures.len() > 1) {
            self.join.add(which, half, &mut self.pairs);
            self.take_pairs();
        }
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
        let (protocol, _) = self.ops.name(pair[client].op);
        let backwards = protocol.is_callback() || self.is_backwards(&pair[client]);
        let (c, s) = match backwards {
            false => (&pair[client], &pair[1 - client]),
            true => (&pair[1 - client], &pair[client]),
        };
        if c.has_bounds() && s.has_bounds() && self.of_both.len() < limits::HOST_PAIRS {
            self.of_both.insert((c.client.address, c.server));
        }
        match (c.completeness, s.completeness) {
            _ if c.has_times() && s.has_times() => {
                // The header may be hidden in one capture only.
                let op = match self.ops.name(c.op) {
                    (model::Protocol::Rpc, _) => s.op,
                    _ => c.op,
                };
                self.matched.add(op, c, s, backwards);
                if backwards {
                    self.list(1 - client, c.row, None);
                }
                let has_time = !backwards && (c.is_complete() || s.is_complete());
                if let (true, Some(ladders)) = (has_time, &mut self.ladders) {
                    ladders.matched(op, (client, c), (1 - client, s));
                }
                if let (true, Some(app)) = (has_time, &mut self.app[client]) {
                    app.matched(c, s);
                }
            }
            _ if c.has_bounds() && s.has_bounds() && !backwards => self.matched.add_hidden(c, s),
            (Completeness::Unanswered, _)
                if !backwards && (s.has_times() || s.completeness == Completeness::Unanswered) =>
            {
                self.matched.add_unanswered(c, s);
            }
            halves => {
                let why = match halves {
                    (Completeness::NoResponse, Completeness::NoResponse) => Why::NoResponse,
                    _ => Why::Incomplete,
                };
                self.unmatched(c.op).add(why);
                if let Some(whole) = [c, s].into_iter().find(|half| half.has_times()) {
                    self.cut(whole);
                }
                for (i, half) in pair.iter().enumerate() {
                    self.list(i, half.row, Some(why));
                }
            }
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
        let complete = |p: &&[Half; 2]| p.iter().all(|h| h.completeness == Completeness::Complete);
        let longer = |[a, b]: &[Half; 2]| a.response_time_ns() - b.response_time_ns();
        let mut longer: Vec<i64> = self.undecided.iter().filter(complete).map(longer).collect();
        // A clock that is set meanwhile makes a few calls seem to take any time.
        longer.sort_unstable();
        let is_second = longer.get(longer.len() / 2).is_some_and(|ns| *ns < 0);
        self.decided(usize::from(is_second));
    }

    fn decided(&mut self, client: usize) {
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

    /// A call that is not judged.
    pub fn beside(&mut self, which: usize, call: &Call) {
        self.captures[which].beside(call);
    }

    pub fn connection(&mut self, which: usize, c: &ConnectionSummary) {
        self.captures[which].connection(c);
        self.sql[which].connection(c);
        self.join
            .closed(which, (c.client, c.server), &mut self.pairs);
        self.take_pairs();
        self.begun[which].closed(c);
        if self.captures.len() == 2 {
            self.others.connection(which, c);
        }
    }

    /// A gap showed in a connection of capture `which`.
    pub fn gap(&mut self, which: usize, gap: &Gap) {
        self.captures[which].gap(gap);
    }

    /// Capture `which` has come so far; what both have left behind is settled.
    pub fn reached(&mut self, which: usize, now: Time) {
        self.reached[which] = self.reached[which].max(now);
        self.first[which].get_or_insert(now);
        let facts = &mut self.captures[which];
        facts.troubles.forget_before(now + -LATELY_NS);
        facts.holes.forget_before(now + -LATELY_NS);
        facts.delays.forget_before(now + -LATELY_NS);
        facts.skips.forget_before(now + -LATELY_NS);
        if self.captures.len() == 1 {
            self.alone.settle(&self.captures[0], Some(now));
            return;
        }
        self.others.settle(which, &self.captures[which], Some(now));
        if let Some(client) = self.client {
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

    /// The latest call that both captures hold.
    #[must_use]
    pub fn last_matched(&self) -> Option<Time> {
        self.last_matched[0]
    }

    /// How long calls took, in the capture where that is most.
    pub(crate) fn took_ns(&self) -> i64 {
        let took = self.captures.iter().map(|c| c.response.total_ns());
        took.max().unwrap_or(0)
    }

    /// How many that capture has, and how long they took on average.
    pub(crate) fn longest(&self) -> (u64, i64) {
        let times = self.captures.iter().map(|c| &c.response);
        let longest = times.max_by_key(|times| times.total_ns());
        longest.map_or((0, 0), |times| (times.count(), times.mean_ns()))
    }

    /// Whether they take longer than calls may, in one of the captures.
    pub(crate) fn are_slow(&self) -> bool {
        let thresholds = self.options.thresholds;
        let mut times = self.captures.iter().map(|c| &c.response);
        self.took_ns() > thresholds.tail_ns && times.any(|times| thresholds.are_passed(times))
    }

    /// Calls with a response time, over all captures.
    #[must_use]
    pub fn timed(&self) -> u64 {
        let timed = |c: &CaptureFacts| c.response.count() + c.in_order;
        let begun = self.begun.iter().map(Begun::count).sum::<u64>();
        self.captures.iter().map(timed).sum::<u64>() + begun
    }

    /// The same, and those of which a part is missing, where they took [much](MUCH) of a capture and more than calls may.
    #[must_use]
    pub fn bounded(&self, results: &[CaptureResult]) -> u64 {
        let tail_ns = self.options.thresholds.tail_ns;
        let partly = self.captures.iter().zip(results).filter_map(|(c, r)| {
            let (calls, least_ns) = c.partly;
            let length_ns = r.last? - r.first?;
            (least_ns > (length_ns / MUCH).max(tail_ns)).then_some(calls)
        });
        self.timed() + partly.sum::<u64>()
    }
}
