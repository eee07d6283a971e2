//! What is known when an interval is over, as plain data: the shape that lines, JSON and the view are
//! written from.

use super::{ConnectionRow, FoundRow, RowKey, Traffic};
use crate::results::{ConnsResult, OpsResult, Verdict};
use crate::stats::Summary;
use model::{Call, Endpoint, Mark, Name, Protocol, Statement, Time};
use std::sync::Arc;

/// Calls of an interval or of a window.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Figures {
    /// How long they were counted.
    pub over_ns: i64,
    /// Response times of calls with request and response, where these make sense.
    pub stats: Summary,
    /// Calls that the server answered with an error, and calls without one half.
    pub errors: u64,
    pub half_calls: u64,
}

impl Figures {
    /// Calls per second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.stats.count as f64 * 1e9 / self.over_ns.max(1) as f64
    }

    /// How many calls were outstanding on average (Little's law: the time of all calls per time).
    #[must_use]
    pub fn outstanding(&self) -> f64 {
        self.stats.total_ns as f64 / self.over_ns.max(1) as f64
    }
}

/// The slowest call of an interval or of a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SlowestCall {
    pub ns: i64,
    pub protocol: Protocol,
    pub op: Name,
    pub is_error: bool,
    /// What it consists of: request transfer, wait, response transfer.
    pub parts_ns: [i64; 3],
    /// Its first and its last packet.
    pub request: Mark,
    pub response: Mark,
    pub client: Endpoint,
    pub server: Endpoint,
}

impl SlowestCall {
    /// Of a call whose time is known.
    pub(super) fn of(call: &Call) -> Option<SlowestCall> {
        let ns = call.response_time_ns().filter(|_| call.is_timed())?;
        let parts = [
            call.request_transfer_ns(),
            call.wait_ns(),
            call.response_transfer_ns(),
        ];
        Some(SlowestCall {
            ns,
            protocol: call.protocol,
            op: call.op,
            is_error: call.outcome.is_error(),
            parts_ns: parts.map(|ns| ns.unwrap_or(0)),
            request: call.request_first?,
            response: call.response_last?,
            client: call.client,
            server: call.server,
        })
    }
}

/// An operation, or a statement.
#[derive(Clone, Debug)]
pub struct SubjectRow {
    pub key: RowKey,
    pub protocol: Protocol,
    /// Empty: the line that further ones share.
    pub op: Name,
    pub statement: Option<Arc<Statement>>,
    /// In the interval, and in the window.
    pub now: Figures,
    pub window: Figures,
    /// Of the window.
    pub worst: Option<SlowestCall>,
}

/// Calls that wait although nothing was answered for a while.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Silence {
    pub client: Endpoint,
    pub server: Endpoint,
    pub outstanding: u64,
    pub ns: i64,
}

/// An interval that is over, or several in a row in which nothing came.
#[derive(Clone, Debug)]
pub struct Moment {
    /// A multiple of the width since the epoch.
    pub start: Time,
    /// Of all of them.
    pub width_ns: i64,
    /// How many.
    pub intervals: u64,
    /// The part of the window that has passed since the beginning.
    pub window_ns: i64,
    pub traffic: Traffic,
    pub window: Traffic,
    /// Packets lost by the capturing host: so far (`None` where it does not say), and in this interval.
    pub dropped: Option<u64>,
    pub dropped_now: u64,
    /// All calls together.
    pub all: Figures,
    pub all_window: Figures,
    /// Those of the window, most time first.
    pub operations: Vec<SubjectRow>,
    pub statements: Vec<SubjectRow>,
    pub connections: Vec<ConnectionRow>,
    /// Calls outstanding when it ended.
    pub outstanding: u64,
    /// The longest silence with calls outstanding, if there is one.
    pub silence: Option<Silence>,
}

impl Moment {
    /// Whether nothing came in it.
    #[must_use]
    pub fn is_silent(&self) -> bool {
        let calls = self.all.stats.count + self.all.errors + self.all.half_calls;
        self.traffic.packets + calls + self.dropped_now == 0
    }
}

/// All calls of one statement.
#[derive(Clone, Debug)]
pub struct StatementTotal {
    pub protocol: Protocol,
    /// `None`: all further ones.
    pub statement: Option<Arc<Statement>>,
    pub figures: Figures,
}

/// What the whole capture comes to.
#[derive(Clone, Debug)]
pub struct LiveResult {
    pub ops: OpsResult,
    pub statements: Vec<StatementTotal>,
    pub conns: ConnsResult,
    /// By when they appeared.
    pub findings: Vec<FoundRow>,
    /// Of the last packets that were kept.
    pub verdict: Option<Verdict>,
    /// Files of packets that were written, and why the last that could not be was not.
    pub written: Vec<String>,
    pub unwritten: Option<String>,
    /// How often a threshold was crossed.
    pub crossings: u64,
}
