//! Calls that open sessions into logons: how many succeeded and failed from each host to each server, with
//! which code, as whom, and whether failures came in a burst.
//!
//! A logon fails with the first of its calls that does: the listener refuses its CONNECT, or the server its
//! password. It succeeds when its session goes on to work; one that is over before did neither. A connection
//! may try again as somebody else.

use super::profile::WorstCall;
use foldhash::fast::FixedState;
use hashbrown::HashSet;
use model::sql::op;
use model::{Call, Endpoint, Name, Outcome, Protocol, Time, limits};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::Arc;

/// So many failures within [`BURST_NS`] are a burst: more than anybody types.
pub(crate) const BURST: usize = 10;
pub(crate) const BURST_NS: i64 = 60_000_000_000;

/// Failures that are kept as evidence.
const EVIDENCE: usize = 3;

/// Whether a call is a phase of the logon: finding the server, agreeing with it, authenticating. Its time is
/// no statement's, whatever it carries.
#[must_use]
pub fn is_of_logon(op: Name) -> bool {
    [op::CONNECT, op::NEGOTIATE, op::LOGON].contains(&op)
}

/// Logons of one kind that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The error that the client was told.
    pub code: Outcome,
    /// As whom, where that was said.
    pub user: Option<Arc<str>>,
    pub count: u64,
}

/// Logons from one host to one server.
#[derive(Clone, Debug)]
pub struct LogonsResult {
    pub protocol: Protocol,
    pub client: IpAddr,
    pub server: Endpoint,
    pub succeeded: u64,
    pub failed: u64,
    /// Whether many failed within a minute.
    pub burst: bool,
    /// Response times of the calls that failed.
    pub failed_ns: i64,
    /// First and last failure.
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// By code and user, those with most first, and last those whose users are not told apart from others.
    pub failures: Vec<Failure>,
    /// Different users that failed; at least so many, where not all were told apart.
    pub users: u64,
    pub has_more_users: bool,
    /// The first that failed.
    pub evidence: Vec<WorstCall>,
}

#[derive(Default, Debug)]
struct Sums {
    succeeded: u64,
    failed: u64,
    failed_ns: i64,
    burst: bool,
    first: Option<Time>,
    last: Option<Time>,
    /// When the last of them failed.
    recent: VecDeque<Time>,
    kinds: BTreeMap<(Outcome, Option<Arc<str>>), u64>,
    /// Hashes of names.
    users: HashSet<u64, FixedState>,
    has_more_users: bool,
    evidence: Vec<WorstCall>,
}

type Pair = (Protocol, IpAddr, Endpoint);

/// All of a capture.
#[derive(Default, Debug)]
pub(super) struct Logons {
    pairs: BTreeMap<Pair, Sums>,
    /// Users of all of them.
    users: usize,
}

impl Logons {
    fn of(&mut self, call: &Call) -> Option<&mut Sums> {
        let pair = (call.protocol, call.client.address, call.server);
        let full = self.pairs.len() >= limits::SESSIONS;
        if full && !self.pairs.contains_key(&pair) {
            return None;
        }
        Some(self.pairs.entry(pair).or_default())
    }

    /// A session goes on to work with this call.
    pub(super) fn succeeded(&mut self, call: &Call) {
        if let Some(sums) = self.of(call) {
            sums.succeeded += 1;
        }
    }

    /// A logon fails with this call.
    pub(super) fn failed(&mut self, call: &Call, user: Option<&Arc<str>>) {
        let room = self.users < limits::LOGON_USERS;
        let Some(sums) = self.of(call) else { return };
        sums.failed += 1;
        let hash = user.map(|user| FixedState::default().hash_one(user));
        let is_new = hash.filter(|hash| !sums.users.contains(hash));
        if let Some(hash) = is_new.filter(|_| room) {
            sums.users.insert(hash);
        }
        sums.has_more_users |= is_new.is_some() && !room;
        let found = usize::from(is_new.is_some() && room);
        let took = call.response_time_ns().unwrap_or(0);
        sums.failed_ns = sums.failed_ns.saturating_add(took);
        if let Some(at) = call.response_last.or(call.request_first).map(|m| m.time) {
            sums.first = Some(sums.first.map_or(at, |first| first.min(at)));
            sums.last = sums.last.max(Some(at));
            sums.recent.push_back(at);
            if sums.recent.len() > BURST {
                sums.recent.pop_front();
            }
            let ends = sums.recent.iter().min().zip(sums.recent.iter().max());
            let close = ends.is_some_and(|(first, last)| *last - *first <= BURST_NS);
            sums.burst |= sums.recent.len() >= BURST && close;
        }
        let mut kind = (call.outcome, user.cloned());
        if sums.kinds.len() >= limits::LOGON_FAILURES && !sums.kinds.contains_key(&kind) {
            kind.1 = None;
        }
        *sums.kinds.entry(kind).or_default() += 1;
        if sums.evidence.len() < EVIDENCE {
            let mut shown = None;
            WorstCall::outdo(&mut shown, call, took);
            sums.evidence.extend(shown);
        }
        self.users += found;
    }

    /// Those with most failures first.
    pub(super) fn finish(self) -> Vec<LogonsResult> {
        let result = |((protocol, client, server), sums): (Pair, Sums)| {
            let mut failures: Vec<Failure> = sums
                .kinds
                .into_iter()
                .map(|((code, user), count)| Failure { code, user, count })
                .collect();
            let named: BTreeSet<Outcome> = failures
                .iter()
                .filter(|f| f.user.is_some())
                .map(|f| f.code)
                .collect();
            // Stable: equal ones stay by code and user.
            let is_rest = |f: &Failure| f.user.is_none() && named.contains(&f.code);
            failures.sort_by_key(|f| (is_rest(f), Reverse(f.count)));
            LogonsResult {
                protocol,
                client,
                server,
                succeeded: sums.succeeded,
                failed: sums.failed,
                burst: sums.burst,
                failed_ns: sums.failed_ns,
                first: sums.first,
                last: sums.last,
                failures,
                users: sums.users.len() as u64,
                has_more_users: sums.has_more_users,
                evidence: sums.evidence,
            }
        };
        let mut all: Vec<LogonsResult> = self.pairs.into_iter().map(result).collect();
        all.sort_by_key(|l| Reverse(l.failed));
        all
    }
}

impl LogonsResult {
    /// Failures by code alone, those with most first.
    #[must_use]
    pub fn codes(&self) -> Vec<(Outcome, u64)> {
        let mut codes: BTreeMap<Outcome, u64> = BTreeMap::new();
        for f in &self.failures {
            *codes.entry(f.code).or_default() += f.count;
        }
        let mut codes: Vec<(Outcome, u64)> = codes.into_iter().collect();
        codes.sort_by_key(|(_, count)| Reverse(*count));
        codes
    }

    /// Users whose failures are counted each, those with most first.
    #[must_use]
    pub fn named_users(&self) -> Vec<&Arc<str>> {
        let mut seen = BTreeSet::new();
        let users = self.failures.iter().filter_map(|f| f.user.as_ref());
        users.filter(|user| seen.insert(Arc::clone(user))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::Profiler;
    use super::super::of_one;
    use super::super::tests::{call, sql};
    use super::*;
    use crate::results::Vantage;
    use model::{Code, ConnectionId};

    fn refused(from: i64, user: &str) -> Call {
        let mut refused = call(op::LOGON, &sql(user, None), from, 1, 0);
        refused.outcome = Outcome::Code(Code::public("ORA-01017"));
        refused
    }

    fn logons(calls: &[Call]) -> LogonsResult {
        let mut profiler = Profiler::new(&[super::super::SqlKey::Statement], u64::MAX);
        calls.iter().for_each(|c| profiler.call(c));
        let result = of_one(profiler, Vec::new(), Vantage::Client);
        assert_eq!(result.logons.len(), 1);
        result.logons.into_iter().next().unwrap()
    }

    #[test]
    fn a_connection_that_tries_three_times_made_three_logons() {
        let scott = sql("scott", None);
        let all = logons(&[
            call(op::CONNECT, &scott, 0, 1, 0),
            call(op::LOGON, &scott, 10, 1, 0),
            refused(20, "scott"),
            refused(30, "tiger"),
            call(op::LOGON, &scott, 40, 1, 0),
            call(op::LOGON, &scott, 50, 1, 0),
            call(op::EXECUTE, &scott, 60, 1, 1),
            call(op::EXECUTE, &scott, 70, 1, 1),
        ]);
        assert_eq!((all.succeeded, all.failed, all.burst), (1, 2, false));
        assert_eq!(all.codes(), [(Outcome::Code(Code::public("ORA-01017")), 2)]);
        assert_eq!((all.users, all.named_users().len()), (2, 2));
        // Each took 1 ms to ask, 1 ms of waiting, 2 ms to come back.
        assert_eq!(all.failed_ns, 2 * 4_000_000);
    }

    #[test]
    fn ten_within_a_minute_are_a_burst_however_many_connections_they_take() {
        let tries = |every_ms: i64| {
            let mut calls: Vec<Call> = (0..10).map(|n| refused(n * every_ms, "scott")).collect();
            for (n, call) in (0..).zip(&mut calls) {
                call.connection = ConnectionId(n);
            }
            calls
        };
        assert!(logons(&tries(60_000 / 9)).burst);
        assert!(!logons(&tries(60_001 / 9 + 1)).burst);
        assert!(!logons(&tries(1)[..9]).burst);
    }

    #[test]
    fn whoever_goes_away_in_between_did_neither() {
        let all = logons(&[
            call(op::LOGON, &sql("scott", None), 0, 1, 0),
            refused(10, "scott"),
            call(op::LOGON, &sql("scott", None), 20, 1, 0),
        ]);
        assert_eq!((all.succeeded, all.failed), (0, 1));
    }

    #[test]
    fn users_beyond_what_is_kept_are_counted_by_code() {
        let calls: Vec<Call> = (0..limits::LOGON_FAILURES as i64 + 5)
            .map(|n| refused(n, &format!("user{n}")))
            .collect();
        let all = logons(&calls);
        assert_eq!(all.failed, calls.len() as u64);
        let unnamed = all.failures.iter().find(|f| f.user.is_none()).unwrap();
        assert_eq!(unnamed.count, 5);
    }
}
