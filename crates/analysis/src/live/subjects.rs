//! Calls of operations or statements: in each interval of the window, and of statements in all.

use super::moment::{Figures, SlowestCall, StatementTotal, SubjectRow};
use super::{Over, RowKey};
use crate::stats::Distribution;
use crate::work::statement_of;
use hashbrown::HashMap;
use model::{Call, Name, Protocol, Statement};
use std::cmp::Reverse;
use std::collections::VecDeque;
use std::sync::Arc;

/// Calls of one interval.
#[derive(Clone, Default, Debug)]
pub(super) struct Tally {
    times: Distribution,
    errors: u64,
    half_calls: u64,
    worst: Option<SlowestCall>,
}

impl Tally {
    pub(super) fn add(&mut self, call: &Call) {
        self.errors += u64::from(call.outcome.is_error());
        let Some(ns) = call.response_time_ns().filter(|_| call.is_timed()) else {
            self.half_calls += u64::from(!call.is_complete());
            return;
        };
        self.times.add(ns);
        if self.worst.is_none_or(|w| ns > w.ns) {
            self.worst = SlowestCall::of(call);
        }
    }

    /// Takes in a later one.
    pub(super) fn merge(&mut self, later: &Tally) {
        self.times.merge(&later.times);
        self.errors += later.errors;
        self.half_calls += later.half_calls;
        if let Some(worst) = later.worst
            && self.worst.is_none_or(|w| worst.ns > w.ns)
        {
            self.worst = Some(worst);
        }
    }

    pub(super) fn figures(&self, over_ns: i64) -> Figures {
        Figures {
            over_ns,
            stats: self.times.summary(),
            errors: self.errors,
            half_calls: self.half_calls,
        }
    }
}

/// Which calls belong together: those of a statement, or of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    protocol: Protocol,
    /// 0 for operations.
    statement: u64,
    op: Name,
}

#[derive(Default)]
struct Subject {
    statement: Option<Arc<Statement>>,
    /// By interval, the oldest first.
    slots: VecDeque<(i64, Tally)>,
    /// Of statements.
    total: Tally,
}

/// Operations or statements, so many of them.
pub(super) struct Subjects {
    most: usize,
    of_statements: bool,
    subjects: HashMap<Key, Subject, foldhash::fast::FixedState>,
    left_out: u64,
}

impl Subjects {
    pub(super) fn new(most: usize, of_statements: bool) -> Subjects {
        Subjects {
            most,
            of_statements,
            subjects: HashMap::default(),
            left_out: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.subjects.len()
    }

    /// Calls that share a line.
    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    pub(super) fn add(&mut self, index: i64, call: &Call) {
        let statement = statement_of(call).filter(|_| self.of_statements);
        let mut key = Key {
            protocol: call.protocol,
            statement: statement.map_or(0, |s| s.id),
            op: match statement {
                Some(_) => Name::default(),
                None => call.op,
            },
        };
        let mut shared = false;
        if self.subjects.len() >= self.most && !self.subjects.contains_key(&key) {
            // At most one such line for each protocol, of which there are few.
            self.left_out += 1;
            shared = true;
            key.statement = 0;
            key.op = Name::default();
        }
        let subject = self.subjects.entry(key).or_default();
        if !shared && subject.statement.is_none() {
            subject.statement = statement.cloned();
        }
        if self.of_statements {
            subject.total.add(call);
        }
        slot(&mut subject.slots, index, Tally::default).add(call);
    }

    /// Those with calls in the window that ends with this interval.
    pub(super) fn close(&mut self, over: &Over) -> Vec<SubjectRow> {
        let mut rows = Vec::new();
        for (key, subject) in &mut self.subjects {
            forget(&mut subject.slots, over.oldest);
            let mut window = Tally::default();
            let mut now = Tally::default();
            for (index, tally) in &subject.slots {
                if *index <= over.index {
                    window.merge(tally);
                }
                if *index == over.index {
                    now = tally.clone();
                }
            }
            let window_figures = window.figures(over.window_ns);
            if window_figures.stats.count + window.errors + window.half_calls == 0 {
                continue;
            }
            rows.push(SubjectRow {
                key: match self.of_statements {
                    true => RowKey::Statement(key.protocol, key.statement),
                    false => RowKey::Operation(key.protocol, key.op),
                },
                protocol: key.protocol,
                op: key.op,
                statement: subject.statement.clone(),
                now: now.figures(over.width_ns),
                window: window_figures,
                worst: window.worst,
            });
        }
        rows.sort_by(|a, b| {
            let key = |r: &SubjectRow| (Reverse(r.window.stats.total_ns), r.protocol);
            let id = |r: &SubjectRow| r.statement.as_ref().map(|s| s.id);
            let order = key(a).cmp(&key(b));
            order.then_with(|| (&*a.op, id(a)).cmp(&(&*b.op, id(b))))
        });
        rows
    }

    /// Nothing of the window counts any more; totals do.
    pub(super) fn forget_window(&mut self) {
        self.subjects.values_mut().for_each(|s| s.slots.clear());
    }

    /// All of it, most time first.
    pub(super) fn totals(self) -> Vec<StatementTotal> {
        let total = |(key, subject): (Key, Subject)| StatementTotal {
            protocol: key.protocol,
            statement: subject.statement,
            figures: subject.total.figures(0),
        };
        let mut all: Vec<StatementTotal> = self.subjects.into_iter().map(total).collect();
        all.sort_by_key(|t| {
            let id = t.statement.as_ref().map(|s| s.id);
            (Reverse(t.figures.stats.total_ns), t.protocol, id)
        });
        all
    }
}

/// What is kept of an interval that is not closed.
pub(super) fn slot<T>(
    slots: &mut VecDeque<(i64, T)>,
    index: i64,
    new: impl FnOnce() -> T,
) -> &mut T {
    let place = slots.partition_point(|(i, _)| *i < index);
    if slots.get(place).is_none_or(|(i, _)| *i != index) {
        slots.insert(place, (index, new()));
    }
    &mut slots[place].1
}

/// Drops intervals before `oldest`.
pub(super) fn forget<T>(slots: &mut VecDeque<(i64, T)>, oldest: i64) {
    while slots.front().is_some_and(|(index, _)| *index < oldest) {
        slots.pop_front();
    }
}
