//! Calls into what charts of them are drawn from: response times by operation and statement, by time and by
//! load, outstanding calls over time, and the slowest calls.
//!
//! Gathered beside a [diagnosis](crate::diagnosers), from the same calls, and only when asked for. What
//! a chart needs does not grow with the capture: its columns widen as time goes on.

mod columns;
mod heat;
mod ladder;
mod level;
mod load;

pub use heat::{Heat, HeatMap};
pub use ladder::{Ladder, Ladders, Resent, Rung};
pub use level::{LevelSeries, OutstandingOverTime};
pub use load::{AtOutstanding, Cap, LatencyByOutstanding};

pub(crate) use load::{Caps, by_outstanding};

use crate::stats::Distribution;
use hashbrown::HashMap;
use model::{Call, Endpoint, Name, Outstanding, Protocol, limits};

/// What a chart of response times is about.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Subject {
    Operation(Protocol, Name),
    /// By the [hash](model::Statement::id) of its normal form.
    Statement(Protocol, u64),
}

/// Response times of one subject, as one capture saw them.
#[derive(Clone, Default, Debug)]
pub struct Times {
    pub times: Distribution,
    pub heat: HeatMap,
}

/// What one capture's charts are drawn from.
#[derive(Default, Debug)]
pub struct CaptureCharts {
    subjects: HashMap<Subject, Times, foldhash::fast::FixedState>,
    servers: HashMap<Endpoint, LevelSeries, foldhash::fast::FixedState>,
    /// Calls of statements, and changes at servers, beyond the bounds.
    pub left_out_calls: u64,
    pub left_out_changes: u64,
}

/// Servers whose outstanding calls are drawn.
const SERVERS_DRAWN: usize = 3;

impl CaptureCharts {
    fn call(&mut self, call: &Call) {
        let Some(took) = call.response_time_ns().filter(|_| call.is_timed()) else {
            return;
        };
        let Some(sent) = call.request_first else {
            return;
        };
        let statement = call.sql.as_ref().and_then(|sql| sql.statement.as_ref());
        let statement = statement.map(|s| Subject::Statement(call.protocol, s.id));
        let operation = Subject::Operation(call.protocol, call.op);
        for subject in [Some(operation), statement].into_iter().flatten() {
            let full = self.subjects.len() >= limits::CHARTED;
            if full && !self.subjects.contains_key(&subject) {
                self.left_out_calls += 1;
                continue;
            }
            let of = self.subjects.entry(subject).or_default();
            of.times.add(took);
            of.heat.add(sent.time, took);
        }
    }

    fn outstanding(&mut self, o: &Outstanding) {
        let full = self.servers.len() >= limits::CHARTED;
        if full && !self.servers.contains_key(&o.server) {
            self.left_out_changes += 1;
            return;
        }
        self.servers.entry(o.server).or_default().change(o);
    }

    /// Response times of a subject, if this capture has any.
    #[must_use]
    pub fn times(&self, subject: Subject) -> Option<&Times> {
        self.subjects.get(&subject)
    }

    /// Outstanding calls of the servers that had most of them for longest.
    #[must_use]
    pub fn servers(&self) -> Vec<(Endpoint, OutstandingOverTime)> {
        let mut servers: Vec<_> = self.servers.iter().collect();
        servers.sort_by_key(|(server, level)| (std::cmp::Reverse(level.total_ns()), **server));
        servers.truncate(SERVERS_DRAWN);
        servers
            .into_iter()
            .filter_map(|(server, level)| Some((*server, level.finish()?)))
            .collect()
    }
}

/// What charts are drawn from, for as many captures as there are.
#[derive(Default, Debug)]
pub struct Charts {
    pub captures: Vec<CaptureCharts>,
    /// Waits by the number of outstanding calls, and slowest calls: told when the diagnosis is made.
    pub load: Vec<LatencyByOutstanding>,
    pub ladders: Vec<Ladder>,
}

impl Charts {
    #[must_use]
    pub fn new(captures: usize) -> Charts {
        let mut charts = Charts::default();
        charts
            .captures
            .resize_with(captures, CaptureCharts::default);
        charts
    }

    /// The same with other names of ends and statements.
    #[must_use]
    pub fn renamed(
        mut self,
        end: impl Fn(Endpoint) -> Endpoint,
        statement: impl Fn(u64) -> u64,
    ) -> Charts {
        for c in &mut self.captures {
            let subjects = std::mem::take(&mut c.subjects).into_iter();
            c.subjects = subjects
                .map(|(subject, times)| match subject {
                    Subject::Statement(p, id) => (Subject::Statement(p, statement(id)), times),
                    operation => (operation, times),
                })
                .collect();
            let servers = std::mem::take(&mut c.servers).into_iter();
            c.servers = servers
                .map(|(server, level)| (end(server), level))
                .collect();
        }
        for l in &mut self.load {
            l.server = end(l.server);
        }
        for l in &mut self.ladders {
            (l.client, l.server) = (end(l.client), end(l.server));
        }
        self
    }

    /// Takes a call of capture `which`.
    pub fn call(&mut self, which: usize, call: &Call) {
        if let Some(capture) = self.captures.get_mut(which) {
            capture.call(call);
        }
    }

    pub fn outstanding(&mut self, which: usize, o: &Outstanding) {
        if let Some(capture) = self.captures.get_mut(which) {
            capture.outstanding(o);
        }
    }
}
