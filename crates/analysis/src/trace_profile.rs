//! Records of traces into a profile: where the time of a database session went, by event and by statement,
//! and what its SQL*Net packets waited for.
//!
//! - `listing.rs`: packets of SQL*Net traces, one by one, where they are asked for
//! - `nesting.rs`: which waits and recursive calls belong to which call, so that nothing is counted twice
//! - `packets.rs`: packets of SQL*Net traces into turns
//! - `results.rs`: what comes out
//!
//! **Response time** is the time of calls that no other call holds, and of waits between them. A call's
//! `e` holds the time of the recursive calls that it made, so its own part is what remains when theirs is
//! taken off. That part is its CPU time (also without theirs), its waits, and what neither explains:
//! **unaccounted**, which is waiting for a CPU, or time of which the trace has no event. CPU time is
//! measured coarsely on old kernels, so that of a single call the rest may be negative.

mod listing;
mod nesting;
mod packets;
mod processes;
mod results;

pub use ::trace::oracle::{NetFacts, TraceFile};
pub use results::{
    CallRow, ConnectionRow, DatabaseTime, DecisionRow, EventRow, NetTime, PacketRow, ReadPath,
    ReadRow, StatementRow, TraceResult,
};

use crate::packets::CallPackets;
use crate::stats::Distribution;
use foldhash::fast::FixedState;
use listing::Listing;
use model::limits::{TRACE_CURSORS, TRACE_EVENTS, TRACE_PROCESSES, TRACE_STATEMENTS};
use model::{Mark, Problems, Where};
use nesting::{Claimed, Piece};
use packets::Packets;
use processes::{Process, Processes};
use statement::{Dialect, normalise_as};
use std::collections::BTreeMap;
use trace::oracle::{Call, CallKind, Record, Statement, TransactionEnd, Wait};

type HashMap<K, V> = hashbrown::HashMap<K, V, FixedState>;

/// The wait for the next request of the client.
pub const FROM_CLIENT: &str = "SQL*Net message from client";

/// Statements and events by number; these come first in their lists.
const NO_STATEMENT: usize = 0;
const UNKNOWN_STATEMENT: usize = 1;
const OTHER_STATEMENTS: usize = 2;
const OTHER_EVENTS: usize = 0;

/// Takes records of one file after another.
pub struct Profiler {
    files: Vec<TraceFile>,
    problems: Problems,
    statements: Vec<Sum>,
    /// By normal form.
    known_statements: HashMap<String, usize>,
    events: Vec<Event>,
    known_events: HashMap<String, usize>,
    processes: Processes,
    calls: BTreeMap<CallKind, CallSum>,
    totals: Totals,
    decisions: BTreeMap<(String, bool, String), u64>,
    packets: Packets,
    /// Where packets are listed.
    listing: Option<Listing>,
    /// First and last moment of the file.
    span: Option<(i64, i64)>,
}

/// What is summed of a statement.
#[derive(Default)]
struct Sum {
    normal: String,
    text: String,
    sql_id: Option<String>,
    depth: Option<u32>,
    parses: u64,
    hard_parses: u64,
    executions: u64,
    fetches: u64,
    rows: u64,
    rows_per_fetch: Distribution,
    elapsed: Distribution,
    own_ns: i64,
    cpu_ns: i64,
    waited_ns: i64,
    physical_reads: u64,
    consistent_reads: u64,
    errors: u64,
    round_trips: Distribution,
    between_ns: i64,
    /// Number and nanoseconds of waits by event.
    events: HashMap<usize, (u64, i64)>,
}

#[derive(Default)]
struct Event {
    name: String,
    waits: Distribution,
    between: u64,
    between_ns: i64,
    /// Blocks read, where its parameters say.
    blocks: Option<u64>,
}

#[derive(Default)]
struct CallSum {
    elapsed: Distribution,
    unaccounted: Distribution,
    cpu_ns: i64,
    own_ns: i64,
    rows: u64,
}

#[derive(Default)]
struct Totals {
    response_ns: i64,
    span_ns: i64,
    cpu_ns: i64,
    waited_ns: i64,
    between_ns: i64,
    recursive_ns: i64,
    commits: u64,
    rollbacks: u64,
    read_only_ends: u64,
    errors: u64,
    parse_errors: u64,
    binds: u64,
    plan_lines: u64,
    sent: (u64, u64),
    received: (u64, u64),
    any: bool,
}

impl Default for Profiler {
    fn default() -> Profiler {
        let named = |normal: &str| Sum {
            normal: normal.to_owned(),
            ..Sum::default()
        };
        Profiler {
            files: Vec::new(),
            problems: Problems::default(),
            statements: vec![
                named("(no statement)"),
                named("(parsed before the trace began)"),
                named("(further statements)"),
            ],
            known_statements: HashMap::default(),
            events: vec![Event {
                name: "(further events)".to_owned(),
                ..Event::default()
            }],
            known_events: HashMap::default(),
            processes: Processes::default(),
            calls: BTreeMap::new(),
            totals: Totals::default(),
            decisions: BTreeMap::new(),
            packets: Packets::default(),
            listing: None,
            span: None,
        }
    }
}

impl Profiler {
    /// Lists packets too.
    #[must_use]
    pub fn with_packets(mut self) -> Profiler {
        self.listing = Some(Listing::default());
        self
    }

    /// The connection of the last packet, from 1, and where it stands among all: what the calls of
    /// [`finish_with`](Profiler::finish_with) are told by.
    #[must_use]
    pub fn last_packet(&self) -> Option<(u64, Mark)> {
        self.listing.as_ref().map(Listing::last)
    }

    pub fn record(&mut self, record: &Record<'_>) {
        match record {
            Record::Packet(packet) => {
                let connection = self.packets.packet(packet, &mut self.problems);
                if let Some(listing) = &mut self.listing {
                    listing.packet(packet, connection, self.files.len());
                }
                return;
            }
            Record::Dump(_) | Record::Date(_) => return,
            Record::Process(process) => {
                let forgotten = self.processes.turn_to(*process);
                self.forget(forgotten);
                return;
            }
            Record::Statement(statement) => self.statement(statement),
            Record::Call(call) => self.call(call),
            Record::Wait(wait) => self.wait(wait),
            Record::Binds { .. } => self.totals.binds += 1,
            Record::PlanLine { .. } => self.totals.plan_lines += 1,
            Record::Transaction(end) => self.transaction(end),
            Record::Error { cursor, .. } => {
                let statement = self.of_cursor(*cursor, false);
                self.totals.errors += 1;
                if let Some(sum) = self.statements.get_mut(statement) {
                    sum.errors += 1;
                }
            }
            Record::Decision {
                function,
                direct,
                reason,
            } => {
                let key = ((*function).to_owned(), *direct, (*reason).to_owned());
                if self.decisions.len() < TRACE_EVENTS || self.decisions.contains_key(&key) {
                    *self.decisions.entry(key).or_default() += 1;
                }
            }
            Record::Bytes(bytes) => {
                let sum = match bytes.sent {
                    true => &mut self.totals.sent,
                    false => &mut self.totals.received,
                };
                sum.0 += u64::from(!bytes.overflow);
                add(&mut sum.1, bytes.bytes);
            }
        }
        self.totals.any = true;
    }

    /// A file was read to its end.
    pub fn file(&mut self, file: TraceFile) {
        for process in self.processes.take() {
            self.end(process);
        }
        if let Some((first, last)) = self.span.take() {
            add(&mut self.totals.span_ns, last.saturating_sub(first));
        }
        self.packets.end();
        if let Some(listing) = &mut self.listing {
            listing.file(&file);
        }
        self.problems.merge(&file.problems);
        self.files.push(file);
    }

    /// Nothing comes that could hold what is still loose of it.
    fn end(&mut self, mut process: Process) {
        self.settle(process.nesting.rest());
        self.without_end(process.nesting.given_up());
    }

    fn forget(&mut self, processes: Vec<Process>) {
        for process in processes {
            self.end(process);
            self.problems.note("processes-forgotten", || {
                let what = format!(
                    "more than {TRACE_PROCESSES} processes in a file, or too much of them is open"
                );
                (what, Where::default())
            });
        }
    }

    /// The statement of a cursor. Waits come also when it was closed; calls do not.
    fn of_cursor(&self, cursor: u64, must_be_open: bool) -> usize {
        match self.processes.now.cursors.get(&cursor) {
            Some(&(number, open)) if open || !must_be_open => number,
            _ if cursor == 0 => NO_STATEMENT,
            _ => UNKNOWN_STATEMENT,
        }
    }

    fn statement(&mut self, statement: &Statement<'_>) {
        let normal = normalise_as(statement.text, Dialect::Oracle);
        let number = match self.known_statements.get(&normal) {
            Some(&number) => number,
            None if self.statements.len() < TRACE_STATEMENTS => {
                let number = self.statements.len();
                self.statements.push(Sum {
                    normal: normal.clone(),
                    text: statement.text.to_owned(),
                    sql_id: statement.sql_id.map(str::to_owned),
                    ..Sum::default()
                });
                self.known_statements.insert(normal, number);
                number
            }
            None => {
                self.problems.note("statements-full", || {
                    let what = format!("more than {TRACE_STATEMENTS} different statements");
                    (what, Where::default())
                });
                OTHER_STATEMENTS
            }
        };
        if let Some(sum) = self.statements.get_mut(number) {
            sum.depth = Some(
                sum.depth
                    .map_or(statement.depth, |d| d.min(statement.depth)),
            );
            sum.errors += u64::from(statement.error.is_some());
        }
        self.totals.parse_errors += u64::from(statement.error.is_some());
        if self.processes.now.cursors.len() >= TRACE_CURSORS
            && !self.processes.now.cursors.contains_key(&statement.cursor)
        {
            self.processes.now.cursors.clear();
            self.problems.note("cursors-forgotten", || {
                let what = format!("more than {TRACE_CURSORS} cursors are open at a time");
                (what, Where::default())
            });
        }
        self.processes
            .now
            .cursors
            .insert(statement.cursor, (number, true));
    }

    fn transaction(&mut self, end: &TransactionEnd) {
        let counter = match (end.read_only, end.rollback) {
            (true, _) => &mut self.totals.read_only_ends,
            (false, true) => &mut self.totals.rollbacks,
            (false, false) => &mut self.totals.commits,
        };
        *counter += 1;
    }

    fn event(&mut self, name: &str) -> usize {
        if let Some(&number) = self.known_events.get(name) {
            return number;
        }
        if self.events.len() >= TRACE_EVENTS {
            self.problems.note("events-full", || {
                let what = format!("more than {TRACE_EVENTS} different events");
                (what, Where::default())
            });
            return OTHER_EVENTS;
        }
        let number = self.events.len();
        self.events.push(Event {
            name: name.to_owned(),
            ..Event::default()
        });
        self.known_events.insert(name.to_owned(), number);
        number
    }

    fn wait(&mut self, wait: &Wait<'_>) {
        let number = self.event(wait.event);
        let statement = self.of_cursor(wait.cursor, false);
        if let Some(event) = self.events.get_mut(number) {
            event.waits.add(wait.elapsed_ns);
            if let Some(blocks) = blocks(wait) {
                add(event.blocks.get_or_insert(0), blocks);
            }
        }
        let start = wait.tim_ns.map(|tim| tim.saturating_sub(wait.elapsed_ns));
        self.saw(start, wait.tim_ns);
        let settled = self.processes.now.nesting.wait(Piece {
            depth: None,
            start_ns: start,
            end_ns: wait.tim_ns,
            elapsed_ns: wait.elapsed_ns,
            cpu_ns: 0,
            statement,
            event: Some(number),
            idle: wait.event == FROM_CLIENT,
        });
        self.settle(settled);
    }

    fn call(&mut self, call: &Call) {
        let number = self.of_cursor(call.cursor, call.kind != CallKind::Close);
        self.saw(Some(call.start_ns()), Some(call.tim_ns));
        let (claimed, settled) = self.processes.now.nesting.call(Piece {
            depth: call.depth,
            start_ns: Some(call.start_ns()),
            end_ns: Some(call.tim_ns),
            elapsed_ns: call.elapsed_ns,
            cpu_ns: call.cpu_ns,
            statement: number,
            event: None,
            idle: false,
        });
        let own_ns = call.elapsed_ns.saturating_sub(claimed.calls_ns);
        let cpu_ns = call.cpu_ns.saturating_sub(claimed.calls_cpu_ns);
        let sum = self.calls.entry(call.kind).or_default();
        sum.elapsed.add(call.elapsed_ns);
        let known = cpu_ns.saturating_add(claimed.waits_ns);
        sum.unaccounted.add(own_ns.saturating_sub(known));
        add(&mut sum.cpu_ns, cpu_ns);
        add(&mut sum.own_ns, own_ns);
        add(&mut sum.rows, call.rows);
        add(&mut self.totals.cpu_ns, cpu_ns);
        add(&mut self.totals.waited_ns, claimed.waits_ns);
        if call.depth.is_some_and(|d| d > 0) {
            add(&mut self.totals.recursive_ns, own_ns);
        }
        if let Some(sum) = self.statements.get_mut(number) {
            sum.call(call, own_ns, cpu_ns, &claimed);
        }
        if call.ends_cursor
            && let Some((_, open)) = self.processes.now.cursors.get_mut(&call.cursor)
        {
            *open = false;
        }
        self.settle(settled);
    }

    fn saw(&mut self, start: Option<i64>, end: Option<i64>) {
        if let (Some(start), Some(end)) = (start, end) {
            let (first, last) = self.span.get_or_insert((start, end));
            *first = (*first).min(start);
            *last = (*last).max(end);
        }
    }

    /// Takes pieces that no call holds.
    fn settle(&mut self, pieces: Vec<Piece>) {
        for piece in pieces {
            add(&mut self.totals.response_ns, piece.elapsed_ns);
            let Some(number) = piece.event else {
                continue;
            };
            add(&mut self.totals.between_ns, piece.elapsed_ns);
            let Some(event) = self.events.get_mut(number) else {
                continue;
            };
            event.between += 1;
            add(&mut event.between_ns, piece.elapsed_ns);
            let Some(sum) = self.statements.get_mut(piece.statement) else {
                continue;
            };
            add(&mut sum.between_ns, piece.elapsed_ns);
            sum.waited(number, piece.elapsed_ns);
            if piece.idle {
                sum.round_trips.add(piece.elapsed_ns);
            }
        }
        let given_up = self.processes.now.nesting.given_up();
        self.without_end(given_up);
    }

    fn without_end(&mut self, pieces: u64) {
        self.problems.add("calls-without-end", false, pieces, || {
            let what = "recursive calls or waits whose call is not in the trace".to_owned();
            (what, Where::default())
        });
    }

    #[must_use]
    pub fn finish(self) -> TraceResult {
        self.finish_with(&BTreeMap::new())
    }

    /// With the calls of each connection whose packets are listed.
    #[must_use]
    pub fn finish_with(mut self, calls: &BTreeMap<u64, Vec<CallPackets>>) -> TraceResult {
        let listing = self.listing.take();
        TraceResult {
            packets: listing.map(|listing| listing.finish(calls)),
            ..results::finish(self)
        }
    }
}

impl Sum {
    fn call(&mut self, call: &Call, own_ns: i64, cpu_ns: i64, claimed: &Claimed) {
        add(&mut self.own_ns, own_ns);
        add(&mut self.cpu_ns, cpu_ns);
        add(&mut self.waited_ns, claimed.waits_ns);
        add(&mut self.physical_reads, call.physical_reads);
        add(&mut self.consistent_reads, call.consistent_reads);
        for &(event, ns) in &claimed.waits {
            self.waited(event, ns);
        }
        match call.kind {
            CallKind::Parse => {
                self.parses += 1;
                self.hard_parses += u64::from(call.missed);
            }
            CallKind::Exec => {
                self.executions += 1;
                add(&mut self.rows, call.rows);
            }
            CallKind::Fetch => {
                self.fetches += 1;
                add(&mut self.rows, call.rows);
                self.rows_per_fetch
                    .add(i64::try_from(call.rows).unwrap_or(i64::MAX));
            }
            _ => return,
        }
        self.elapsed.add(call.elapsed_ns);
    }

    fn waited(&mut self, event: usize, ns: i64) {
        let (count, total) = self.events.entry(event).or_default();
        *count += 1;
        *total = total.saturating_add(ns);
    }
}

/// Adds what a damaged file may have made absurd.
fn add<T: Saturating>(sum: &mut T, more: T) {
    *sum = sum.plus(more);
}

trait Saturating: Copy {
    fn plus(self, more: Self) -> Self;
}

impl Saturating for i64 {
    fn plus(self, more: i64) -> i64 {
        self.saturating_add(more)
    }
}

impl Saturating for u64 {
    fn plus(self, more: u64) -> u64 {
        self.saturating_add(more)
    }
}

/// How many blocks a read was for.
fn blocks(wait: &Wait<'_>) -> Option<u64> {
    let path = ReadPath::of(wait.event)?;
    let [_, (_, p2), (_, p3)] = wait.parameters;
    let named = wait.parameter("blocks").or(wait.parameter("block cnt"));
    let blocks = named.or(if path == ReadPath::Parallel { p2 } else { p3 });
    blocks.and_then(|b| u64::try_from(b).ok())
}

#[cfg(test)]
mod tests;
