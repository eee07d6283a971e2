//! What is known of traces when all of them were read.

use super::{Event, FROM_CLIENT, NO_STATEMENT, OTHER_STATEMENTS, Profiler, Sum, UNKNOWN_STATEMENT};
use crate::packets::PacketList;
use crate::stats::Summary;
use model::{Name, Problems};
use trace::oracle::TraceFile;

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct TraceResult {
    pub files: Vec<TraceFile>,
    pub problems: Problems,
    /// Of extended SQL traces.
    pub database: Option<DatabaseTime>,
    /// Of SQL*Net traces.
    pub net: Option<NetTime>,
    /// Its packets one by one, where they are listed.
    pub packets: Option<PacketList>,
}

/// Where the time of the database sessions went. `response_ns` is exactly
/// `cpu_ns + waited_ns + unaccounted_ns + between_ns`.
#[derive(Clone, Debug, Default)]
pub struct DatabaseTime {
    pub response_ns: i64,
    /// From the first to the last moment, summed over files.
    pub span_ns: i64,
    pub cpu_ns: i64,
    /// Waits within calls.
    pub waited_ns: i64,
    /// Time of calls that is neither CPU nor a wait.
    pub unaccounted_ns: i64,
    /// Waits between calls.
    pub between_ns: i64,
    /// Time of recursive calls, which is in the figures above.
    pub recursive_ns: i64,
    /// Waits for the client's next request, between calls: each is a round trip.
    pub round_trips: Summary,
    pub rows: u64,
    pub commits: u64,
    pub rollbacks: u64,
    /// Transactions that ended without having written.
    pub read_only_ends: u64,
    pub errors: u64,
    pub parse_errors: u64,
    /// How often values were bound.
    pub binds: u64,
    pub plan_lines: u64,
    /// Messages and bytes of event 10079, without SQL*Net's headers.
    pub sent: (u64, u64),
    pub received: (u64, u64),
    /// By time, longest first.
    pub events: Vec<EventRow>,
    /// By time, longest first.
    pub statements: Vec<StatementRow>,
    pub calls: Vec<CallRow>,
    pub reads: Vec<ReadRow>,
    pub decisions: Vec<DecisionRow>,
}

/// A wait event.
#[derive(Clone, Debug)]
pub struct EventRow {
    pub name: String,
    /// Of all waits for it.
    pub waits: Summary,
    /// Those of them that were between calls.
    pub between: u64,
    pub between_ns: i64,
}

/// Database calls of a kind.
#[derive(Clone, Debug)]
pub struct CallRow {
    pub kind: &'static str,
    /// Elapsed times, with those of recursive calls.
    pub elapsed: Summary,
    /// Without recursive calls.
    pub own_ns: i64,
    pub cpu_ns: i64,
    /// What of its own time each left unaccounted; where CPU time and waits are more than that, the
    /// total is less and quantiles count it as nothing.
    pub unaccounted: Summary,
    pub rows: u64,
}

/// A statement. `total_ns` is `own_ns + between_ns`, and the totals of all statements are the response
/// time.
#[derive(Clone, Debug)]
pub struct StatementRow {
    /// `None` for what has no statement in the trace.
    pub id: Option<u64>,
    /// The normal form.
    pub normal: String,
    /// As it was written first.
    pub text: String,
    pub sql_id: Option<String>,
    /// The least depth at which it was parsed; above 0 it is recursive.
    pub depth: Option<u32>,
    pub total_ns: i64,
    /// Time of its calls without that of their recursive calls.
    pub own_ns: i64,
    pub cpu_ns: i64,
    pub waited_ns: i64,
    pub unaccounted_ns: i64,
    /// Waits between its calls.
    pub between_ns: i64,
    pub round_trips: Summary,
    pub parses: u64,
    pub hard_parses: u64,
    pub executions: u64,
    pub fetches: u64,
    pub rows: u64,
    /// Half of its fetches returned at least as many: the array size, where a fetch fills it.
    pub rows_per_fetch_p50: Option<u64>,
    pub rows_per_fetch_max: Option<u64>,
    /// Elapsed times of parse, execute and fetch calls, with those of recursive calls.
    pub elapsed: Summary,
    pub physical_reads: u64,
    pub consistent_reads: u64,
    pub errors: u64,
    /// What it waited for, within calls and between them: event, waits, nanoseconds; longest first.
    pub events: Vec<(String, u64, i64)>,
}

/// How blocks came from storage.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ReadPath {
    /// One block into the buffer cache.
    Single,
    /// Neighbouring blocks into the buffer cache.
    Scattered,
    /// Blocks from anywhere into the buffer cache.
    Parallel,
    /// Past the buffer cache: only what had to be waited for is in the trace.
    Direct,
    /// Past the buffer cache, of temporary segments.
    DirectTemp,
}

impl ReadPath {
    #[must_use]
    pub fn of(event: &str) -> Option<ReadPath> {
        Some(match event {
            "db file sequential read" | "cell single block physical read" => ReadPath::Single,
            "db file scattered read" | "cell multiblock physical read" => ReadPath::Scattered,
            "db file parallel read" | "cell list of blocks physical read" => ReadPath::Parallel,
            "direct path read" => ReadPath::Direct,
            "direct path read temp" => ReadPath::DirectTemp,
            _ => return None,
        })
    }

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ReadPath::Single => "single block",
            ReadPath::Scattered => "scattered, buffered",
            ReadPath::Parallel => "parallel, buffered",
            ReadPath::Direct => "direct path",
            ReadPath::DirectTemp => "direct path, temp",
        }
    }
}

/// Waits for reads from storage.
#[derive(Clone, Debug)]
pub struct ReadRow {
    pub path: ReadPath,
    pub event: String,
    pub waits: Summary,
    pub blocks: Option<u64>,
}

/// How full scans were decided to read (`NSMTIO`).
#[derive(Clone, Debug)]
pub struct DecisionRow {
    pub function: String,
    pub direct: bool,
    /// Where the object's size stood among the thresholds.
    pub reason: String,
    pub count: u64,
}

/// What SQL*Net traces say.
#[derive(Clone, Debug)]
pub struct NetTime {
    pub all: ConnectionRow,
    /// In the order of their first packets.
    pub connections: Vec<ConnectionRow>,
}

/// A connection of a traced process.
#[derive(Clone, Debug)]
pub struct ConnectionRow {
    pub socket: Option<u32>,
    pub packets: Vec<PacketRow>,
    /// Bytes.
    pub largest_received: u32,
    pub largest_sent: u32,
    /// How many sent packets had that size: with more of them than chance makes, it is the SDU.
    pub largest_sent_count: u64,
    /// Packets in one direction that follow each other are one message.
    pub messages_received: u64,
    pub messages_sent: u64,
    /// Local time of which the zone is not known.
    pub first_local_ns: Option<i64>,
    pub last_local_ns: Option<i64>,
    /// Whether its times are whole milliseconds, so that shorter ones read 0.
    pub milliseconds: bool,
    /// From a message sent to the next received: network and other side.
    pub away: Summary,
    /// From a message received to the next sent: this process.
    pub here: Summary,
}

/// Packets of a type in a direction.
#[derive(Clone, Debug)]
pub struct PacketRow {
    pub sent: bool,
    pub kind: Name,
    pub packets: u64,
    /// `None` where the trace's level does not show sizes.
    pub bytes: Option<u64>,
}

pub(super) fn finish(profiler: Profiler) -> TraceResult {
    let Profiler {
        files,
        problems,
        statements,
        events,
        calls,
        totals,
        decisions,
        packets,
        ..
    } = profiler;
    let names: Vec<String> = events.iter().map(|e| e.name.clone()).collect();
    let (event_rows, reads, round_trips) = waits(events);
    let mut rows: Vec<StatementRow> = statements
        .into_iter()
        .enumerate()
        .map(|(number, sum)| sum.row(number, &names))
        .filter(|r| {
            let times = [r.own_ns, r.cpu_ns, r.waited_ns, r.between_ns];
            let calls = r.executions + r.fetches + r.parses + r.errors;
            r.id.is_some() || times.iter().any(|&ns| ns != 0) || calls > 0
        })
        .collect();
    rows.sort_by(|a, b| (b.total_ns, &a.normal).cmp(&(a.total_ns, &b.normal)));
    let mut decisions: Vec<DecisionRow> = decisions
        .into_iter()
        .map(|((function, direct, reason), count)| DecisionRow {
            function,
            direct,
            reason,
            count,
        })
        .collect();
    decisions.sort_by_key(|d| std::cmp::Reverse(d.count));
    let database = totals.any.then(|| DatabaseTime {
        response_ns: totals.response_ns,
        span_ns: totals.span_ns,
        cpu_ns: totals.cpu_ns,
        waited_ns: totals.waited_ns,
        unaccounted_ns: totals
            .response_ns
            .saturating_sub(totals.cpu_ns)
            .saturating_sub(totals.waited_ns)
            .saturating_sub(totals.between_ns),
        between_ns: totals.between_ns,
        recursive_ns: totals.recursive_ns,
        round_trips,
        rows: rows
            .iter()
            .filter(|r| r.depth.unwrap_or(0) == 0)
            .fold(0, |sum, r| sum.saturating_add(r.rows)),
        commits: totals.commits,
        rollbacks: totals.rollbacks,
        read_only_ends: totals.read_only_ends,
        errors: totals.errors,
        parse_errors: totals.parse_errors,
        binds: totals.binds,
        plan_lines: totals.plan_lines,
        sent: totals.sent,
        received: totals.received,
        events: event_rows,
        statements: rows,
        calls: calls
            .into_iter()
            .map(|(kind, sum)| CallRow {
                kind: kind.name(),
                elapsed: sum.elapsed.summary(),
                own_ns: sum.own_ns,
                cpu_ns: sum.cpu_ns,
                unaccounted: sum.unaccounted.summary(),
                rows: sum.rows,
            })
            .collect(),
        reads,
        decisions,
    });
    TraceResult {
        files,
        problems,
        database,
        net: packets.finish(),
        packets: None,
    }
}

/// Events by what they took, the reads among them by their path, and what the client took between calls.
fn waits(events: Vec<Event>) -> (Vec<EventRow>, Vec<ReadRow>, Summary) {
    let mut reads = Vec::new();
    let mut round_trips = Summary::default();
    let mut event_rows = Vec::new();
    for event in events {
        if event.waits.count() == 0 {
            continue;
        }
        let waits = event.waits.summary();
        if event.name == FROM_CLIENT {
            round_trips = waits;
        }
        if let Some(path) = ReadPath::of(&event.name) {
            reads.push(ReadRow {
                path,
                event: event.name.clone(),
                waits,
                blocks: event.blocks,
            });
        }
        event_rows.push(EventRow {
            name: event.name,
            waits,
            between: event.between,
            between_ns: event.between_ns,
        });
    }
    event_rows.sort_by(|a, b| (b.waits.total_ns, &a.name).cmp(&(a.waits.total_ns, &b.name)));
    reads.sort_by(|a, b| (a.path, &a.event).cmp(&(b.path, &b.event)));
    (event_rows, reads, round_trips)
}

impl Sum {
    fn row(self, number: usize, names: &[String]) -> StatementRow {
        let known = ![NO_STATEMENT, UNKNOWN_STATEMENT, OTHER_STATEMENTS].contains(&number);
        let mut events: Vec<(String, u64, i64)> = self
            .events
            .iter()
            .filter_map(|(&e, &(count, ns))| Some((names.get(e)?.clone(), count, ns)))
            .collect();
        events.sort_by(|a, b| (b.2, &a.0).cmp(&(a.2, &b.0)));
        let fetched = |rows: i64| u64::try_from(rows).ok().filter(|_| self.fetches > 0);
        StatementRow {
            id: known.then(|| statement::id(&self.normal)),
            total_ns: self.own_ns.saturating_add(self.between_ns),
            own_ns: self.own_ns,
            cpu_ns: self.cpu_ns,
            waited_ns: self.waited_ns,
            unaccounted_ns: self
                .own_ns
                .saturating_sub(self.cpu_ns)
                .saturating_sub(self.waited_ns),
            between_ns: self.between_ns,
            round_trips: self.round_trips.summary(),
            parses: self.parses,
            hard_parses: self.hard_parses,
            executions: self.executions,
            fetches: self.fetches,
            rows: self.rows,
            rows_per_fetch_p50: fetched(self.rows_per_fetch.quantile(0.5)),
            rows_per_fetch_max: fetched(self.rows_per_fetch.max_ns()),
            elapsed: self.elapsed.summary(),
            physical_reads: self.physical_reads,
            consistent_reads: self.consistent_reads,
            errors: self.errors,
            events,
            normal: self.normal,
            text: self.text,
            sql_id: self.sql_id,
            depth: self.depth,
        }
    }
}
