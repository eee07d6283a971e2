//! Calls and connections of a run into the sums that a comparison needs, while the run is read.

use super::blocks::{Blocks, Sums};
use super::snapshot::{CallSums, PartSums, Subject, WireSums};
use crate::stats::Distribution;
use crate::work::statement_of;
use hashbrown::HashMap;
use model::{Call, Field, Interval, Name, Protocol, Statement, Time, limits};
use std::sync::Arc;

/// Longer statements are told apart by their number, not by their text.
const LABEL_CHARACTERS: usize = 160;

/// What calls have in common: an operation, of a statement where there is one.
type Key = (Protocol, Name, Option<u64>);

#[derive(Default)]
struct Gathered {
    statement: Option<Arc<Statement>>,
    times: Distribution,
    blocks: Blocks<CallSums>,
}

/// The calls of one capture, by operation and statement.
#[derive(Default)]
pub struct Subjects {
    begin: Option<Time>,
    numbers: HashMap<Key, usize, foldhash::fast::FixedState>,
    list: Vec<(Key, Gathered)>,
    /// Of all calls, also of those beyond the bound.
    sums: CallSums,
}

impl Subjects {
    pub fn call(&mut self, call: &Call) {
        let (Some(took), Some(wait), Some(end), true) = (
            call.response_time_ns(),
            call.served_ns(),
            call.response_last,
            call.is_timed(),
        ) else {
            return;
        };
        let statement = statement_of(call);
        let key = (call.protocol, call.op, statement.map(|s| s.id));
        let number = match self.numbers.get(&key) {
            Some(number) => *number,
            None if self.list.len() < limits::COMPARED_SUBJECTS => {
                let mut gathered = Gathered {
                    statement: statement.map(Arc::clone),
                    ..Gathered::default()
                };
                if let Some(begin) = self.begin {
                    gathered.blocks.begin(begin);
                }
                self.list.push((key, gathered));
                self.numbers.insert(key, self.list.len() - 1);
                self.list.len() - 1
            }
            None => usize::MAX,
        };
        let rows = call.detail.get(Field::Rows).unwrap_or(0);
        let fetched = rows > 0 || call.op == model::sql::op::FETCH;
        let one = CallSums {
            calls: 1,
            time_ns: took,
            wait_ns: wait.max(0),
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes,
            rows,
            row_trips: u64::from(fetched),
            errors: u64::from(call.outcome.is_error()),
        };
        self.sums.add(&one);
        let Some((_, gathered)) = self.list.get_mut(number) else {
            return;
        };
        gathered.times.add(took);
        if let Some(block) = gathered.blocks.at(end.time) {
            block.add(&one);
        }
    }

    pub fn begin(&mut self, at: Time) {
        self.begin.get_or_insert(at);
    }

    /// Those that took most time, and the sums of all.
    #[must_use]
    pub fn finish(self) -> (Vec<Subject>, CallSums) {
        let mut all: Vec<Subject> = self
            .list
            .into_iter()
            .map(|((protocol, op, id), g)| Subject {
                protocol,
                op: op.to_string(),
                statement: g.statement.zip(id).map(|(s, id)| {
                    let text: String = s.normal.chars().take(LABEL_CHARACTERS).collect();
                    (id, text)
                }),
                max_ns: g.times.max_ns(),
                curve: g.times.sparse(),
                blocks: g.blocks,
            })
            .collect();
        all.sort_by(|a, b| {
            let time = |s: &Subject| std::cmp::Reverse(s.blocks.total().time_ns);
            (time(a), a.key()).cmp(&(time(b), b.key()))
        });
        all.truncate(limits::SAVED_SUBJECTS);
        (all, self.sums)
    }
}

/// What the connections of one capture did over time.
#[derive(Default)]
pub struct Wire {
    pub directions: [Blocks<WireSums>; 2],
}

impl Wire {
    pub fn begin(&mut self, at: Time) {
        self.directions.iter_mut().for_each(|d| d.begin(at));
    }

    pub fn interval(&mut self, interval: &Interval) {
        for (blocks, counts) in self.directions.iter_mut().zip(&interval.directions) {
            let Some(block) = blocks.at(interval.start) else {
                continue;
            };
            block.add(&WireSums {
                packets: counts.packets,
                payload_bytes: counts.payload_bytes,
                retransmitted_packets: counts.retransmitted_packets,
                rtt_count: counts.rtt_count,
                rtt_sum_ns: counts.rtt_sum_ns,
                flights: u64::from(counts.flight_max_bytes > 0),
                flight_sum_bytes: counts.flight_max_bytes,
                windows: u64::from(counts.window_min_bytes.is_some()),
                window_sum_bytes: counts.window_min_bytes.unwrap_or(0),
            });
        }
    }
}

/// What a diagnoser keeps beside its own facts, where a comparison is wanted.
#[derive(Default)]
pub struct Tap {
    pub subjects: [Subjects; 2],
    pub begins: [Option<Time>; 2],
}

impl Tap {
    pub fn begin(&mut self, which: usize, at: Time) {
        if let (Some(begin), Some(subjects)) =
            (self.begins.get_mut(which), self.subjects.get_mut(which))
        {
            begin.get_or_insert(at);
            subjects.begin(at);
        }
    }

    pub fn call(&mut self, which: usize, call: &Call) {
        if let Some(subjects) = self.subjects.get_mut(which) {
            subjects.call(call);
        }
    }
}

/// The parts of calls that are settled, over time.
#[derive(Default)]
pub struct Parts {
    pub blocks: Blocks<PartSums>,
}

impl Parts {
    /// A call from its first byte to its last, with its time in the server and on the path; all else is
    /// the rest.
    pub fn call(
        &mut self,
        (first, last): (Time, Time),
        server_ns: i64,
        path_ns: i64,
        [request, response]: [u64; 2],
    ) {
        let rest = (last - first).max(0) - server_ns - path_ns;
        self.blocks.spread(first, last, |block, share| {
            block.server_ns += share.of(server_ns);
            block.path_ns += share.of(path_ns);
            block.rest_ns += share.of(rest);
        });
        if let Some(block) = self.blocks.at(last) {
            block.add(&PartSums {
                calls: 1,
                request_bytes: request,
                response_bytes: response,
                ..PartSums::default()
            });
        }
    }
}
