//! What the client's application or the server noted of its own operations, against the calls: what lies between.
//!
//! An application's operation encloses the call that it made, a server's lies within the call that it served
//! ([`Whose`]); all else is the same. What is given decides how it is compared, and the answer says how
//! ([`ComparedBy`]):
//!
//! - a database's trace: wait by wait ([`trace_join`](crate::trace_join));
//! - rows with an offset: with the call of the same kind, offset and time, as calls come;
//! - rows that name their connection: with its calls, in their order ([`sessions`]);
//! - rows with a start and an end: with the calls that enclose them or that they enclose ([`nesting`]), when all calls
//!   are known;
//! - latencies that nothing identifies: mean against mean ([`means`]);
//! - distributions in steps: the bounds of their mean against the mean ([`spread`]);
//! - sums of an NFS client: its own queue.
//!
//! What cannot be used is refused with its reason ([`words`]): nothing is left out in silence.

mod by_kind;
mod calls;
mod means;
mod nesting;
mod server;
mod sessions;
mod span;
mod spread;
mod steps;
#[cfg(test)]
mod tests;
mod whose;
mod words;

pub use by_kind::ByKind;
pub(crate) use by_kind::KINDS;
pub use server::{Joined, ServerFacts};
pub(crate) use span::kind_of_op;
pub(crate) use spread::Spread;
pub use spread::{Bounds, Range};
pub use whose::Whose;

use crate::half::Half;
use crate::results::{CaptureResult, TraceJoinResult};
use crate::text::Text;
use crate::trace_join::TraceJoin;
use calls::Calls;
use hashbrown::HashMap;
use means::{Means, Sampled};
use model::{Call, Field};
use nesting::Nesting;
use span::Span;
use std::collections::VecDeque;
use std::sync::Arc;
use trace::{Application, Histogram, OperationKind};
use words::Refusal;

/// Slack between the clock of rows and the capture's, on one host.
const SLACK_NS: i64 = 50_000;

/// Rows, and what has been matched of them.
pub struct RowMatch {
    app: Arc<Application>,
    whose: Whose,
    /// Numbers of operations by kind and offset, and those that have found their call.
    by_place: HashMap<(OperationKind, u64), VecDeque<u32>, foldhash::fast::FixedState>,
    found: Vec<bool>,
    absolute: bool,
    calls: Calls,
    /// What lies between an operation and its call, of those found by their offset.
    between: ByKind,
    joined: Joined,
    /// A database's trace is held against READs when all are there.
    join: Option<TraceJoin>,
}

/// What rows say of the calls.
pub struct Compared {
    pub facts: AppFacts,
    /// What was read and how it was understood, in words.
    pub source: String,
    /// What the rows are of, as they say.
    pub kinds: Vec<OperationKind>,
    /// How long operations took, where each is told, as far as the capture reaches.
    pub own: ByKind,
    /// How long they took, where only steps are told.
    pub histograms: Vec<Histogram>,
    /// What lies between them and their calls, of those that were joined.
    pub between: ByKind,
    /// Which call has which operation.
    pub joined: Joined,
}

/// How rows were held against the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComparedBy {
    /// A database's waits with the READs that served them.
    Trace,
    /// Operation by operation: the same kind, offset and time.
    Offset,
    /// Operation by operation: the next call of the connection that it names.
    Connection,
    /// Operation by operation: the call that it encloses, or that encloses it.
    Time,
    /// The mean of its operations with the mean of the calls; nothing is known of a single one.
    Mean,
    /// The bounds of the mean of its operations, whose steps are known, with the mean of the calls.
    Distribution,
    /// What the client's own system counted of its queue.
    Queue,
}

/// What the application layer costs; of a server's rows the same of what lies within its calls.
#[derive(Clone, Debug)]
pub struct AppFacts {
    /// Of the log's operations, those that were compared.
    pub operations: u64,
    pub matched: u64,
    pub application_mean_ns: i64,
    /// Mean above the wire, per operation; of a server's, what its call takes beyond it.
    pub host_mean_ns: i64,
    pub host_total_ns: i64,
    /// Where means are known by bounds alone: then `application_mean_ns` is the middle, and what lies between the
    /// least.
    pub bounds: Option<Bounds>,
    pub by: ComparedBy,
    /// In words, how it was compared.
    pub basis: Text,
    /// I/O by I/O, where a database's trace was joined.
    pub join: Option<TraceJoinResult>,
}

impl RowMatch {
    /// Joined calls that take this long or longer are the slow ones.
    #[must_use]
    pub fn new(app: &Arc<Application>, whose: Whose, slow_ns: i64) -> RowMatch {
        let app = &whose.own(app);
        let mut by_place: HashMap<_, VecDeque<u32>, _> = HashMap::default();
        for (number, o) in (0..).zip(&app.operations) {
            if let Some(offset) = o.offset {
                by_place
                    .entry((o.kind, offset))
                    .or_default()
                    .push_back(number);
            }
        }
        let blocks = app.blocks.clone().filter(|blocks| !blocks.waits.is_empty());
        RowMatch {
            by_place,
            found: vec![false; app.operations.len()],
            absolute: app.operations.iter().all(|o| o.absolute),
            calls: Calls::wanted_by(app),
            between: ByKind::default(),
            joined: Joined::new(slow_ns),
            join: blocks.map(TraceJoin::new),
            whose,
            app: Arc::clone(app),
        }
    }

    /// A complete call of the capture, of whose calls it is the one with this number.
    pub fn call(&mut self, call: &Call, row: u64) {
        if let Some(join) = &mut self.join {
            join.call(call);
            return;
        }
        let Some(seen) = self.calls.see(call, row, &self.app) else {
            return;
        };
        let offset = call.detail.get(Field::Offset);
        let joined = offset.is_some_and(|offset| self.join_by_place(&seen, offset));
        self.calls.keep(seen, joined);
    }

    /// Whether an operation of the same place and time was found.
    fn join_by_place(&mut self, call: &Span, offset: u64) -> bool {
        let Some(candidates) = self.by_place.get_mut(&(call.kind, offset)) else {
            return false;
        };
        let operations = &self.app.operations;
        let of = |number: u32| operations.get(number as usize).map(Span::of);
        let slack = self.whose.slack(self.app.grain_ns);
        let position = candidates.iter().position(|&number| {
            let fits = |row: &Span| {
                let (outer, inner) = self.whose.outer_inner(row, call);
                slack.begins_within(outer, inner) && slack.ends_within(outer, inner)
            };
            of(number).is_some_and(|row| {
                (!self.absolute || fits(&row))
                    && (row.client.is_none() || row.client == call.client)
            })
        });
        let number = position.and_then(|i| candidates.remove(i));
        let Some((number, row)) = number.and_then(|n| Some((n, of(n)?))) else {
            return false;
        };
        if let Some(found) = self.found.get_mut(number as usize) {
            *found = true;
        }
        let between = self.whose.between_ns(&row, call);
        self.between.add(call.kind, between);
        self.joined.add(&row, call, self.absolute, self.whose);
        true
    }

    /// A call that both captures hold.
    pub fn matched(&mut self, client: &Half, server: &Half) {
        if let Some(join) = &mut self.join {
            join.matched(client, server);
        }
    }

    /// What was found, and what must be said of it. `capture` is the one whose calls were seen.
    #[must_use]
    pub fn finish(
        mut self,
        capture: usize,
        results: &[CaptureResult],
    ) -> (Option<Compared>, Vec<Text>) {
        if let Some(join) = self.join.take() {
            let (facts, notes) = join.finish(capture, results, &self.app.format);
            let of = |facts| Compared {
                source: self.app.format.clone(),
                ..Compared::of(facts)
            };
            return (facts.map(of), notes);
        }
        let of = results.get(capture);
        let ran = of.and_then(|r| Some((r.first?.0, r.last?.0)));
        let (whose, source) = (self.whose, self.app.format.clone());
        let kinds = self.calls.wanted();
        let mut notes = self.calls.notes(whose);
        match self.compared(ran, &mut notes) {
            Ok(compared) => {
                let compared = Compared {
                    source,
                    kinds,
                    ..compared
                };
                notes.push(words::used(&compared.facts, whose));
                (Some(compared), notes)
            }
            Err(refusal) => {
                notes.push(refusal.sentence(whose));
                (None, notes)
            }
        }
    }

    /// `ran`: from when to when the capture has packets.
    fn compared(self, ran: Option<(i64, i64)>, notes: &mut Vec<Text>) -> Result<Compared, Refusal> {
        if self.app.disks.is_some() && self.whose == Whose::Application {
            if self.app.is_of_disks_alone() {
                return Err(Refusal::OfDisks(self.app.format.clone()));
            }
            notes.push(words::disks(&self.app.format));
        }
        if self.app.blocks.is_some() {
            return Err(Refusal::NoBlocks);
        }
        let is_clients = self.app.blocks.is_some() || self.app.of_clients;
        if self.whose == Whose::Server && is_clients {
            return Err(Refusal::NotOfServers(self.app.format.clone()));
        }
        self.calls.of_this_host(&self.app)?;
        let app = Arc::clone(&self.app);
        if app.operations.is_empty() && !app.histograms.is_empty() {
            return self.by_distribution();
        }
        match (app.operations.is_empty(), app.samples.is_empty()) {
            (false, _) if self.absolute => self.in_time(ran, notes),
            (false, _) => self.of_unknown_clock(),
            (true, false) => {
                let samples = app.samples.iter().map(Sampled::of).collect();
                self.by_means(samples, ran, notes)
            }
            (true, true) if self.whose == Whose::Server => {
                Err(Refusal::NotOfServers(app.format.clone()))
            }
            (true, true) => self.queue(),
        }
    }

    /// Operations with a time of their own that the capture does not hold are of another run.
    fn in_time(
        mut self,
        ran: Option<(i64, i64)>,
        notes: &mut Vec<Text>,
    ) -> Result<Compared, Refusal> {
        let app = Arc::clone(&self.app);
        let all = app.operations.len() as u64;
        let spans = || app.operations.iter().map(Span::of).zip(&self.found);
        let near = ran.map(|ran| span::widened(ran, span::CLOCKS_APART_NS));
        let is_near = |s: &Span| near.is_some_and(|near| span::overlaps(s, near));
        if !spans().any(|(s, _)| is_near(&s)) {
            let starts = app.operations.iter().map(|o| o.start_ns);
            return Err(Refusal::elsewhere("rows", all, starts.min(), ran));
        }
        if self.calls.count() == 0 {
            return Err(Refusal::NoCalls {
                kinds: self.calls.wanted(),
            });
        }
        let rows = spans().filter(|(s, found)| !**found && is_near(s));
        let nested = Nesting::of(
            rows.map(|(s, _)| s).collect(),
            self.calls.take(),
            app.grain_ns,
            self.whose,
            app.sessions.iter().all(Option::is_some),
        );
        let mut between = std::mem::take(&mut self.between);
        let by_offset = between.count();
        let by_connection = app.operations.iter().all(|o| o.session.is_some());
        for ((row, call), is_only) in nested.pairs.iter().zip(&nested.is_only) {
            between.add(call.kind, self.whose.between_ns(row, call));
            match by_connection || *is_only {
                true => self.joined.add(row, call, true, self.whose),
                false => self.joined.add_by_time(row, call),
            }
        }
        let above = between.all();
        // On the clock of the rows, now that it is known.
        let during = ran.map(|(first, last)| (first + nested.ahead_ns, last + nested.ahead_ns));
        let inside = || {
            let spans = app.operations.iter().map(Span::of);
            spans.filter(|s| during.is_some_and(|during| span::overlaps(s, during)))
        };
        let mut own = ByKind::default();
        inside().for_each(|s| own.add(s.kind, s.took()));
        let operations = (inside().count() as u64).max(above.count());
        let latency = span::mean_ns(inside().map(|s| s.took()));
        let enough = above.count() * 2 >= self.calls.count().min(operations);
        if above.count() == 0 || !enough {
            return Err(Refusal::TooFew {
                joined: above.count(),
                of: operations,
                calls: self.calls.count(),
            });
        }
        if operations < all {
            notes.push(words::partly("rows", self.whose, all - operations, all));
        }
        // Calls the capture hides were made by the same application at the same time.
        let scale = operations as f64 / above.count() as f64;
        let by = match by_offset * 2 >= above.count() {
            true => ComparedBy::Offset,
            false if by_connection => ComparedBy::Connection,
            false => ComparedBy::Time,
        };
        let facts = AppFacts {
            operations,
            matched: above.count(),
            application_mean_ns: latency,
            host_mean_ns: above.mean_ns(),
            host_total_ns: (above.total_ns() as f64 * scale.max(1.0)) as i64,
            bounds: None,
            by,
            basis: words::joined(&app.format, by, above.count(), operations, nested.ahead_ns),
            join: None,
        };
        Ok(Compared {
            own,
            between,
            joined: self.joined,
            ..Compared::of(facts)
        })
    }

    /// Operations whose clock counts from nobody knows when: by their offsets, else mean against mean.
    fn of_unknown_clock(mut self) -> Result<Compared, Refusal> {
        let all = self.app.operations.len() as u64;
        let between = std::mem::take(&mut self.between);
        let above = between.all();
        if above.count() == 0 || above.count() * 2 < self.calls.count().min(all) {
            if let Some(least_ns) = self.app.slower_than_ns {
                return Err(Refusal::SlowOnes { least_ns });
            }
            let samples = self
                .app
                .operations
                .iter()
                .map(Sampled::of_operation)
                .collect();
            return self.by_means(samples, None, &mut Vec::new());
        }
        let scale = all as f64 / above.count() as f64;
        let took = self.app.operations.iter().map(|o| o.end_ns - o.start_ns);
        let facts = AppFacts {
            operations: all,
            matched: above.count(),
            application_mean_ns: span::mean_ns(took),
            host_mean_ns: above.mean_ns(),
            host_total_ns: (above.total_ns() as f64 * scale.max(1.0)) as i64,
            bounds: None,
            by: ComparedBy::Offset,
            basis: words::joined(&self.app.format, ComparedBy::Offset, above.count(), all, 0),
            join: None,
        };
        let mut own = ByKind::default();
        let spans = self.app.operations.iter().map(Span::of);
        spans.for_each(|s| own.add(s.kind, s.took()));
        Ok(Compared {
            own,
            between,
            joined: self.joined,
            ..Compared::of(facts)
        })
    }

    fn by_means(
        mut self,
        samples: Vec<Sampled>,
        ran: Option<(i64, i64)>,
        notes: &mut Vec<Text>,
    ) -> Result<Compared, Refusal> {
        let (calls, kinds) = (self.calls.take(), self.calls.wanted());
        let means = Means::of(&samples, &calls, ran, kinds, self.whose)?;
        if means.outside > 0 {
            let (outside, all) = (means.outside, means.intervals);
            notes.push(words::partly("intervals", self.whose, outside, all));
        }
        let (host, operations) = (means.host_mean_ns(), means.captured());
        Ok(Compared::of(AppFacts {
            operations,
            matched: 0,
            application_mean_ns: means.own_ns,
            host_mean_ns: host,
            host_total_ns: host.saturating_mul(operations as i64),
            bounds: None,
            by: ComparedBy::Mean,
            basis: words::by_mean(&self.app.format, &means, self.whose),
            join: None,
        }))
    }

    /// The queue that the client's own system counted.
    fn queue(self) -> Result<Compared, Refusal> {
        let sum = |of: fn(&trace::OperationSummary) -> i64| {
            let parts = self.app.summaries.iter().map(of);
            parts.fold(0, i64::saturating_add)
        };
        let count: u64 = self.app.summaries.iter().map(|s| s.count).sum();
        if count == 0 {
            return Err(Refusal::NoOperations);
        }
        let queue = sum(|s| s.queue_ns);
        Ok(Compared::of(AppFacts {
            operations: count,
            matched: 0,
            application_mean_ns: sum(|s| s.execute_ns) / count as i64,
            host_mean_ns: queue / count as i64,
            host_total_ns: queue,
            bounds: None,
            by: ComparedBy::Queue,
            basis: words::queue(&self.app.format),
            join: None,
        }))
    }
}

impl Compared {
    /// Of which no single operation is known.
    fn of(facts: AppFacts) -> Compared {
        Compared {
            facts,
            source: String::new(),
            kinds: Vec::new(),
            own: ByKind::default(),
            histograms: Vec::new(),
            between: ByKind::default(),
            joined: Joined::default(),
        }
    }
}
