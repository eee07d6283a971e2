//! Calls into sessions: what each sent and received, in how many round trips, and how long its logon
//! took, phase by phase.

use super::logons::{Logons, LogonsResult, is_of_logon};
use super::profile::WorstCall;
use hashbrown::HashMap;
use model::sql::op;
use model::{
    Call, ConnectionId, ConnectionSummary, Endpoint, Hidden, Protocol, Sql, SqlSession, Time,
    limits,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// One session of a database, from its calls.
#[derive(Clone, Debug)]
pub struct SessionResult {
    /// Counts the sessions of a capture from 1, in the order of their first calls.
    pub number: usize,
    pub connection: ConnectionId,
    pub protocol: Protocol,
    pub client: Endpoint,
    pub server: Endpoint,
    /// As its last call knew it.
    pub session: Arc<SqlSession>,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Calls, and further round trips inside them.
    pub round_trips: u64,
    pub calls: u64,
    /// Bytes of messages, not of packets.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// The largest response.
    pub largest_response_bytes: u64,
    pub response_time_ns: i64,
    /// What of it counts more than once, as calls were under way at the same time.
    pub overlap_ns: i64,
    pub think_ns: i64,
    pub rows: u64,
    pub errors: u64,
    /// Logons that it went on to work from, and those that failed.
    pub logons: u64,
    pub failed_logons: u64,
    /// Whether a step of a logon was answered, and nothing came of it yet.
    pub(crate) logging_on: bool,
    /// The largest packet of SQL*Net in a message that takes several.
    pub largest_packet_bytes: Option<u64>,
    /// When the SYN was sent, and from there to the ACK, where both were seen.
    pub syn: Option<Time>,
    pub tcp_ns: i64,
    /// From the ACK to the first request.
    pub before_ns: i64,
    /// The first exchange after TLS was agreed on: its handshake, or the larger part of it.
    pub tls_ns: i64,
    /// Time in calls that find the server, agree with it, and authenticate.
    pub connect_ns: i64,
    pub negotiate_ns: i64,
    pub logon_ns: i64,
    /// The slowest of these calls.
    pub slowest_opening: Option<WorstCall>,
}

impl SessionResult {
    fn of(call: &Call, sql: &Sql, number: usize) -> SessionResult {
        SessionResult {
            number,
            connection: call.connection,
            protocol: call.protocol,
            client: call.client,
            server: call.server,
            session: Arc::clone(&sql.session),
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

    fn add(&mut self, call: &Call, sql: &Sql, think_ns: i64) {
        self.session = Arc::clone(&sql.session);
        let ends = [call.request_first, call.response_last].map(|m| m.map(|m| m.time));
        let before = self.last;
        // Of a call without its request, the response is the first that is seen.
        self.first = self.first.or(ends[0]).or(ends[1]);
        self.last = self.last.max(ends[1].or(ends[0]));
        self.calls += 1;
        self.round_trips += 1 + call.detail.get(model::Field::InnerTrips).unwrap_or(0);
        self.sent_bytes += call.request_bytes;
        self.received_bytes += call.response_bytes;
        self.largest_response_bytes = self.largest_response_bytes.max(call.response_bytes);
        self.think_ns = self.think_ns.saturating_add(think_ns);
        self.rows = self
            .rows
            .saturating_add(call.detail.get(model::Field::Rows).unwrap_or(0));
        self.errors += u64::from(call.outcome.is_error());
        // A logon flushes packets long before they are full.
        let packet = call.detail.get(model::Field::LargestPacket);
        let packet = packet.filter(|_| !is_of_logon(call.op));
        self.largest_packet_bytes = self.largest_packet_bytes.max(packet);
        let Some(ns) = call.response_time_ns().filter(|_| call.is_timed()) else {
            return;
        };
        self.response_time_ns = self.response_time_ns.saturating_add(ns);
        // They are answered in the order in which they were asked.
        if let ([Some(first), Some(last)], Some(before)) = (ends, before) {
            let overlap = (last.min(before) - first).max(0);
            self.overlap_ns = self.overlap_ns.saturating_add(overlap);
        }
        let phase = match call.op {
            o if o == op::CONNECT => &mut self.connect_ns,
            o if o == op::NEGOTIATE => &mut self.negotiate_ns,
            o if o == op::LOGON => &mut self.logon_ns,
            o if o == op::TURN && self.hidden_by_tls() && self.tls_ns == 0 => &mut self.tls_ns,
            _ => return,
        };
        *phase = phase.saturating_add(ns);
        WorstCall::outdo(&mut self.slowest_opening, call, ns);
    }

    /// What a call says of the session's logons.
    fn log_on(&mut self, call: &Call, sql: &Sql, logons: &mut Logons) {
        if is_of_logon(call.op) && call.outcome.is_error() {
            self.failed_logons += 1;
            self.logging_on = false;
            logons.failed(call, sql.session.user.as_ref());
        } else if call.op == op::LOGON {
            self.logging_on |= call.response_last.is_some();
        } else if self.logging_on && !is_of_logon(call.op) {
            self.logons += 1;
            self.logging_on = false;
            logons.succeeded(call);
        }
    }

    fn hidden_by_tls(&self) -> bool {
        self.session.hidden == Some(Hidden::Tls)
    }

    /// All that comes before the first statement, server and path together.
    #[must_use]
    pub fn opening_ns(&self) -> i64 {
        self.tcp_ns
            .saturating_add(self.tls_ns)
            .saturating_add(self.connect_ns)
            .saturating_add(self.negotiate_ns)
            .saturating_add(self.logon_ns)
    }

    /// Response times of all calls behind the logon.
    #[must_use]
    pub fn work_ns(&self) -> i64 {
        self.response_time_ns
            .saturating_sub(self.opening_ns().saturating_sub(self.tcp_ns))
    }

    /// From the SYN, or the first call, to the end of the last.
    #[must_use]
    pub fn span_ns(&self) -> i64 {
        let first = self.syn.or(self.first);
        first.zip(self.last).map_or(0, |(a, b)| b - a)
    }

    /// What of its time is neither logon nor work nor thinking: calls that could not be timed, pauses whose
    /// ends were not seen.
    #[must_use]
    pub fn untold_ns(&self) -> i64 {
        let told = [
            self.opening_ns(),
            self.work_ns(),
            self.think_ns,
            self.before_ns,
        ];
        let span = self.span_ns().saturating_add(self.overlap_ns);
        told.into_iter().fold(span, i64::saturating_sub)
    }
}

/// The sessions of a capture.
#[derive(Default, Debug)]
pub(super) struct Sessions {
    by_connection: BTreeMap<ConnectionId, SessionResult>,
    /// Those of sessions that are not asked for, too.
    numbers: HashMap<ConnectionId, usize, foldhash::fast::FixedState>,
    logons: Logons,
    /// Calls of sessions beyond [`SESSIONS`](limits::SESSIONS).
    pub(super) calls_left_out: u64,
}

impl Sessions {
    /// The number of a connection's session, from 1; none beyond the bound.
    pub(super) fn number(&mut self, connection: ConnectionId) -> Option<usize> {
        if let Some(number) = self.numbers.get(&connection) {
            return Some(*number);
        }
        let number = self.numbers.len() + 1;
        if number > limits::SESSIONS {
            return None;
        }
        self.numbers.insert(connection, number);
        Some(number)
    }

    pub(super) fn seen(&self) -> usize {
        self.numbers.len()
    }

    pub(super) fn add(&mut self, call: &Call, sql: &Sql, number: Option<usize>, think_ns: i64) {
        let Some(number) = number else {
            self.calls_left_out += 1;
            return;
        };
        let session = self.by_connection.entry(call.connection);
        let session = session.or_insert_with(|| SessionResult::of(call, sql, number));
        session.add(call, sql, think_ns);
        session.log_on(call, sql, &mut self.logons);
    }

    /// A connection is over: how long it took to open.
    pub(super) fn connection(&mut self, c: &ConnectionSummary) {
        let opened = c.handshake.syn.zip(c.handshake.ack);
        if let (Some((syn, ack)), Some(session)) = (opened, self.by_connection.get_mut(&c.id)) {
            session.syn = Some(syn);
            session.tcp_ns = (ack - syn).max(0);
            let first = session.first.unwrap_or(ack);
            session.before_ns = (first - ack).max(0);
        }
    }

    /// The sessions, most time first, and their logons.
    pub(super) fn finish(self) -> (Vec<SessionResult>, Vec<LogonsResult>) {
        let mut all: Vec<_> = self.by_connection.into_values().collect();
        all.sort_by_key(|s| (std::cmp::Reverse(s.response_time_ns), s.first, s.client));
        (all, self.logons.finish())
    }
}
