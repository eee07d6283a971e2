//! The application's own latencies against the calls it made: what the client host adds above the
//! wire.

use crate::half::Half;
use crate::results::{CaptureResult, TraceJoinResult};
use crate::stats::Distribution;
use crate::trace_join::TraceJoin;
use hashbrown::HashMap;
use model::{Call, Field};
use std::collections::VecDeque;
use trace::{Application, Kind};

/// Slack between the application's clock and the capture's, on one host.
const SLACK_NS: i64 = 50_000;

/// The application's operations, and what has been matched of them.
pub struct AppMatch {
    /// By kind and offset: start and end.
    by_place: HashMap<(Kind, u64), VecDeque<(i64, i64)>, foldhash::fast::FixedState>,
    absolute: bool,
    all: Distribution,
    wire: Distribution,
    /// Application's latency minus response time, per operation found on the wire.
    pub above: Distribution,
    summaries: Vec<trace::OperationSummary>,
    pub format: String,
    /// A database's trace is held against READs when all are there.
    join: Option<TraceJoin>,
}

/// What the application layer costs.
#[derive(Clone, Debug)]
pub struct AppFacts {
    pub operations: u64,
    pub matched: u64,
    pub application_mean_ns: i64,
    /// Mean above the wire, per operation.
    pub host_mean_ns: i64,
    pub host_total_ns: i64,
    /// In words, how it was compared.
    pub basis: String,
    /// I/O by I/O, where a database's trace was joined.
    pub join: Option<TraceJoinResult>,
}

impl AppMatch {
    #[must_use]
    pub fn new(app: &Application) -> AppMatch {
        let mut m = AppMatch {
            by_place: HashMap::default(),
            absolute: app.operations.iter().all(|o| o.absolute),
            all: Distribution::default(),
            wire: Distribution::default(),
            above: Distribution::default(),
            summaries: app.summaries.clone(),
            format: app.format.clone(),
            join: app.blocks.clone().map(TraceJoin::new),
        };
        for o in &app.operations {
            m.all.add(o.end_ns - o.start_ns);
            if let Some(offset) = o.offset {
                m.by_place
                    .entry((o.kind, offset))
                    .or_default()
                    .push_back((o.start_ns, o.end_ns));
            }
        }
        m
    }

    /// A complete call of the client's capture.
    pub fn call(&mut self, call: &Call) {
        if let Some(join) = &mut self.join {
            join.call(call);
            return;
        }
        let kind = match call.op.as_str() {
            "READ" => Kind::Read,
            "WRITE" => Kind::Write,
            _ => return,
        };
        let (Some(response), Some(first), Some(last)) = (
            call.response_time_ns(),
            call.request_first,
            call.response_last,
        ) else {
            return;
        };
        self.wire.add(response);
        let Some(offset) = call.detail.get(Field::Offset) else {
            return;
        };
        let Some(candidates) = self.by_place.get_mut(&(kind, offset)) else {
            return;
        };
        let found = candidates.iter().position(|&(start, end)| {
            !self.absolute || (start <= first.time.0 + SLACK_NS && end >= last.time.0 - SLACK_NS)
        });
        if let Some((start, end)) = found.and_then(|i| candidates.remove(i)) {
            self.above.add((end - start - response).max(0));
        }
    }

    /// A call that both captures hold.
    pub fn matched(&mut self, client: &Half, server: &Half) {
        if let Some(join) = &mut self.join {
            join.matched(client, server);
        }
    }

    /// What was found, and what must be said of it. `capture` is the client's.
    #[must_use]
    pub fn finish(
        mut self,
        capture: usize,
        results: &[CaptureResult],
    ) -> (Option<AppFacts>, Vec<String>) {
        match self.join.take() {
            Some(join) => join.finish(capture, results, &self.format),
            None => (self.compared(), Vec::new()),
        }
    }

    /// `None` when there is nothing to compare.
    fn compared(self) -> Option<AppFacts> {
        if self.above.count() > 0
            && self.above.count() * 2 >= self.wire.count().min(self.all.count())
        {
            // Calls the capture hides were made by the same application at the same time.
            let scale = self.all.count() as f64 / self.above.count() as f64;
            return Some(AppFacts {
                operations: self.all.count(),
                matched: self.above.count(),
                application_mean_ns: self.all.mean_ns(),
                host_mean_ns: self.above.mean_ns(),
                host_total_ns: (self.above.total_ns() as f64 * scale.max(1.0)) as i64,
                basis: format!(
                    "{}: {} of {} operations found on the wire by offset and time",
                    self.format,
                    self.above.count(),
                    self.all.count()
                ),
                join: None,
            });
        }
        // Operations with a time of their own that the capture does not hold are of another run.
        if self.all.count() > 0 && self.wire.count() > 0 && !self.absolute {
            let host = (self.all.mean_ns() - self.wire.mean_ns()).max(0);
            return Some(AppFacts {
                operations: self.all.count(),
                matched: 0,
                application_mean_ns: self.all.mean_ns(),
                host_mean_ns: host,
                host_total_ns: host.saturating_mul(self.all.count() as i64),
                basis: format!(
                    "{}: mean of its operations against mean of the calls, not call by call",
                    self.format
                ),
                join: None,
            });
        }
        let count: u64 = self.summaries.iter().map(|s| s.count).sum();
        if count == 0 {
            return None;
        }
        let queue: i64 = self
            .summaries
            .iter()
            .fold(0, |sum, s| s.queue_ns.saturating_add(sum));
        let execute: i64 = self
            .summaries
            .iter()
            .fold(0, |sum, s| s.execute_ns.saturating_add(sum));
        Some(AppFacts {
            operations: count,
            matched: 0,
            application_mean_ns: execute / count as i64,
            host_mean_ns: queue / count as i64,
            host_total_ns: queue,
            basis: format!(
                "{}: the client's own queue time before sending",
                self.format
            ),
            join: None,
        })
    }
}
