//! Profiles into what is shown of them: statements and sessions, most time first.

use super::follow::Followed;
use super::logons::LogonsResult;
use super::profile::{Group, GroupKey, Profiler, SqlKey, Subject, WorstCall};
pub use super::sessions::SessionResult;
use super::split::{Split, crossed};
use crate::packets::PacketList;
use crate::results::{CaptureResult, KeyValue, Order, Vantage};
use crate::stats::Summary;
use crate::text::{Text, text};
use model::{Hidden, Outcome, Protocol, Statement, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One line of the profile.
#[derive(Clone, Debug)]
pub struct StatementResult {
    pub protocol: Protocol,
    /// `None`: grouped without it, or calls that have none.
    pub statement: Option<Arc<Statement>>,
    /// Of calls without a statement, the operation; of what had no room, nothing.
    pub op: Option<String>,
    /// Values of the other keys, in the order asked for.
    pub keys: Vec<(&'static str, KeyValue)>,
    pub times: Summary,
    pub waits: Summary,
    /// What a tenth of the waits stay below.
    pub waits_p10_ns: i64,
    pub calls: u64,
    /// Calls that executed something, those that fetched further rows.
    pub executions: u64,
    pub fetches: u64,
    pub rows: u64,
    /// What fetches asked for whose rows were not captured: that many came at most.
    pub rows_hidden: u64,
    /// Calls that brought rows.
    pub row_trips: u64,
    /// The most that one call asked for; 0 where none said.
    pub rows_asked: u64,
    pub full_fetches: u64,
    pub affected: u64,
    pub errors: u64,
    /// Errors by code, the most frequent first. Their sum is less where there are more kinds than are kept.
    pub codes: Vec<(Outcome, u64)>,
    pub incomplete: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    /// Round trips, those inside calls included.
    pub round_trips: u64,
    /// Parts of the response time: with `unknown_ns`, `transfer_ns` and `client_ns` they add up.
    pub server_ns: Option<i64>,
    pub network_ns: Option<i64>,
    /// Of the waits, what is neither's for certain.
    pub unknown_ns: i64,
    pub transfer_ns: i64,
    /// What the client took to confirm what the server had asked for inside calls, and the path to it and back.
    pub client_ns: i64,
    /// Beside the response time: what the client took before it came back for more of the same.
    pub think_ns: i64,
    pub thinks: u64,
    pub worst: Option<WorstCall>,
    pub first: Option<Time>,
    pub last: Option<Time>,
}

impl StatementResult {
    /// Rows of each call that brought rows.
    #[must_use]
    pub fn rows_per_fetch(&self) -> Option<f64> {
        (self.row_trips > 0).then(|| self.rows as f64 / self.row_trips as f64)
    }

    /// The network's part of a round trip; 0 where it is not known.
    pub(crate) fn trip_ns(&self) -> i64 {
        let trips = i64::try_from(self.round_trips.max(1)).unwrap_or(i64::MAX);
        self.network_ns.unwrap_or(0) / trips
    }

    /// What the server takes for the fastest and the slowest tenth of its calls, where these are far apart, as they are
    /// where a statement waits for locks.
    pub(crate) fn two_faces(&self) -> Option<(i64, i64)> {
        const TIMES: i64 = 10;
        const LONG_NS: i64 = 20_000_000;
        let own = |wait: i64| (wait - self.trip_ns()).max(0);
        let (fast, slow) = (own(self.waits_p10_ns), own(self.waits.p90_ns));
        let told = self.statement.is_some() && self.waits.count >= Summary::P90_NEEDS;
        (told && slow >= LONG_NS && slow >= fast.saturating_mul(TIMES)).then_some((fast, slow))
    }

    #[must_use]
    pub fn wait_ns(&self) -> i64 {
        self.waits.total_ns
    }
}

/// Sums over all lines.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub calls: u64,
    pub executions: u64,
    pub fetches: u64,
    pub rows: u64,
    pub errors: u64,
    pub round_trips: u64,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub response_time_ns: i64,
    pub server_ns: Option<i64>,
    pub network_ns: Option<i64>,
    pub unknown_ns: i64,
    pub transfer_ns: i64,
    pub client_ns: i64,
    /// Thinking within and between statements.
    pub think_ns: i64,
    pub elapsed_ns: i64,
}

/// Everything `sql` says.
#[derive(Clone, Debug)]
pub struct SqlResult {
    /// The client's first, where there are two.
    pub captures: Vec<CaptureResult>,
    pub totals: Totals,
    pub statements: Vec<StatementResult>,
    pub sessions: Vec<SessionResult>,
    /// Logons by host and server, those with most failures first.
    pub logons: Vec<LogonsResult>,
    /// Why statements are not shown, and of how many sessions.
    pub hidden: Vec<(Hidden, u64)>,
    /// The calls of the one session that is followed.
    pub followed: Option<Followed>,
    /// Its packets, where they are listed.
    pub packets: Option<PacketList>,
    pub notes: Vec<Text>,
    /// How statements are listed; sums are of all.
    pub order: Order,
}

/// The profile of one capture, taken at `vantage`.
#[must_use]
pub fn of_one(profiler: Profiler, captures: Vec<CaptureResult>, vantage: Vantage) -> SqlResult {
    let paths = &profiler.paths;
    let crossed = crossed(&profiler.groups);
    let split = |_: &GroupKey, group: &Group| paths.split(vantage, group, &crossed);
    let statements = lines(&profiler, split);
    let mut notes = Vec::new();
    match vantage {
        Vantage::Client => notes.push("One capture, at the client: of what calls waited, the network has what handshakes and acknowledgements show that its round trips take at least, and the server what is beyond the longest that they may take; between the two it is unknown whose it is.".into()),
        Vantage::Server => notes.push("One capture, at the server: waits are the server's own; the network is not in it.".into()),
        Vantage::Middle | Vantage::Unknown => notes.push("It is not known where the capture was taken, so waits are not divided: state it with --client or --server.".into()),
    }
    finish(profiler, statements, captures, notes)
}

/// The profile of a capture at the client, its waits divided by what the same statements take in one
/// at the server.
#[must_use]
pub fn of_two(client: Profiler, server: &Profiler, captures: Vec<CaptureResult>) -> SqlResult {
    let mut missing = 0_u64;
    let split = |key: &GroupKey, group: &Group| {
        let twin = server.group(key).filter(|t| t.waits.count() > 0);
        let Some(twin) = twin else {
            missing += 1;
            return Split::unknown(group.waits.total_ns());
        };
        let count = i64::try_from(group.waits.count()).unwrap_or(i64::MAX);
        let wait = group.waits.total_ns();
        let server_ns = twin
            .waits
            .mean_ns()
            .saturating_mul(count)
            .clamp(0, wait.max(0));
        Split {
            server_ns: Some(server_ns),
            network_ns: Some(wait - server_ns),
            unknown_ns: 0,
        }
    };
    let statements = lines(&client, split);
    let mut notes = Vec::new();
    if missing > 0 {
        notes.push(text!(
            "{missing} lines are not in the server's capture: their waits are not divided.",
            missing = missing
        ));
    }
    finish(client, statements, captures, notes)
}

fn lines(
    profiler: &Profiler,
    mut split: impl FnMut(&GroupKey, &Group) -> Split,
) -> Vec<StatementResult> {
    let names: Vec<&'static str> = profiler
        .keys()
        .iter()
        .filter(|k| **k != SqlKey::Statement)
        .map(|k| k.name())
        .collect();
    let line = |(key, group): &(GroupKey, Group)| {
        let Split {
            server_ns,
            network_ns,
            unknown_ns,
        } = split(key, group);
        let (protocol, subject, values) = key;
        StatementResult {
            protocol: *protocol,
            statement: group.statement.clone(),
            op: match subject {
                Subject::Op(op) => Some(op.to_string()),
                _ => None,
            },
            keys: names.iter().copied().zip(values.iter().cloned()).collect(),
            times: group.times.summary(),
            waits: group.waits.summary(),
            waits_p10_ns: group.waits.quantile(0.1),
            calls: group.calls,
            executions: group.executions,
            fetches: group.fetches,
            rows: group.rows,
            rows_hidden: group.rows_hidden,
            row_trips: group.row_trips,
            rows_asked: group.rows_asked,
            full_fetches: group.full_fetches,
            affected: group.affected,
            errors: group.errors,
            codes: by_count(&group.codes),
            incomplete: group.incomplete,
            request_bytes: group.request_bytes,
            response_bytes: group.response_bytes,
            round_trips: group.trips.values().sum(),
            server_ns,
            network_ns,
            unknown_ns,
            transfer_ns: group.transfer_ns,
            client_ns: group.client_ns,
            think_ns: group.think_ns,
            thinks: group.thinks,
            worst: group.worst,
            first: group.first,
            last: group.last,
        }
    };
    let mut all: Vec<StatementResult> = profiler.groups.iter().map(line).collect();
    let id = |s: &StatementResult| s.statement.as_ref().map(|s| s.id);
    all.sort_by(|a, b| {
        let total = b.times.total_ns.cmp(&a.times.total_ns);
        let key = |s: &StatementResult| (s.protocol, id(s));
        let rest = || key(a).cmp(&key(b)).then_with(|| a.op.cmp(&b.op));
        total.then_with(rest).then_with(|| a.keys.cmp(&b.keys))
    });
    all
}

fn by_count(codes: &BTreeMap<Outcome, u64>) -> Vec<(Outcome, u64)> {
    let mut codes: Vec<(Outcome, u64)> = codes.iter().map(|(code, n)| (*code, *n)).collect();
    // Stable: equal ones stay by name.
    codes.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    codes
}

fn finish(
    profiler: Profiler,
    statements: Vec<StatementResult>,
    captures: Vec<CaptureResult>,
    mut notes: Vec<Text>,
) -> SqlResult {
    let mut totals = Totals {
        server_ns: Some(0),
        network_ns: Some(0),
        think_ns: profiler.think_between_ns,
        ..Totals::default()
    };
    let plus = |sum: Option<i64>, part: Option<i64>| Some(sum?.saturating_add(part?));
    for s in &statements {
        let t = &mut totals;
        t.calls += s.calls;
        t.executions += s.executions;
        t.fetches += s.fetches;
        t.rows = t.rows.saturating_add(s.rows);
        t.errors += s.errors;
        t.round_trips += s.round_trips;
        t.request_bytes += s.request_bytes;
        t.response_bytes += s.response_bytes;
        t.response_time_ns = t.response_time_ns.saturating_add(s.times.total_ns);
        t.server_ns = plus(t.server_ns, s.server_ns);
        t.network_ns = plus(t.network_ns, s.network_ns);
        t.unknown_ns = t.unknown_ns.saturating_add(s.unknown_ns);
        t.transfer_ns = t.transfer_ns.saturating_add(s.transfer_ns);
        t.client_ns = t.client_ns.saturating_add(s.client_ns);
        t.think_ns = t.think_ns.saturating_add(s.think_ns);
    }
    let first = statements.iter().filter_map(|s| s.first).min();
    let last = statements.iter().filter_map(|s| s.last).max();
    totals.elapsed_ns = first.zip(last).map_or(0, |(a, b)| b - a);
    let is_apart = |(key, _): &&(GroupKey, Group)| key.1 != Subject::Rest;
    let told_apart = profiler.groups.iter().filter(is_apart).count();
    if profiler.rest > 0 {
        notes.push(text!(
            "More than {lines} different lines: {calls} calls of further ones are counted together.",
            lines = told_apart,
            calls = profiler.rest,
        ));
    }
    if profiler.sessions.calls_left_out > 0 {
        notes.push(text!(
            "More than {sessions} sessions: {calls} calls are in no session's line.",
            sessions = model::limits::SESSIONS,
            calls = profiler.sessions.calls_left_out,
        ));
    }
    let (sessions, logons) = profiler.sessions.finish();
    let mut hidden: Vec<(Hidden, u64)> = Vec::new();
    for why in sessions.iter().filter_map(|s| s.session.hidden) {
        match hidden.iter_mut().find(|(h, _)| *h == why) {
            Some((_, n)) => *n += 1,
            None => hidden.push((why, 1)),
        }
    }
    hidden.sort_unstable();
    SqlResult {
        captures,
        totals,
        packets: None,
        statements,
        sessions,
        logons,
        hidden,
        followed: profiler.followed.map(Followed::sorted),
        notes,
        order: Order::default(),
    }
}
