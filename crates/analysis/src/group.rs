//! Grouping: calls into groups by operation, client, file, time, … with the statistics of each.

use crate::results::{GroupResult, KeyValue};
use crate::stats::Distribution;
use crate::tiers::Beneath;
use hashbrown::HashMap;
use model::{Call, Field, Name, Outcome, Problems, Protocol, Where, limits};

/// What to group by. Calls are always apart by protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    Op,
    /// Of a logon in several calls, which.
    Step,
    Client,
    Server,
    Connection,
    /// The hash of the file handle.
    File,
    /// Bytes asked for or sent, rounded up to a power of two.
    Size,
    /// Request time, rounded down to a multiple of this many nanoseconds.
    Time(i64),
}

impl Key {
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Key::Op => "op",
            Key::Step => "step",
            Key::Client => "client",
            Key::Server => "server",
            Key::Connection => "connection",
            Key::File => "file",
            Key::Size => "size",
            Key::Time(_) => "time",
        }
    }

    fn value(self, call: &Call) -> KeyValue {
        let text = |s: String| KeyValue::Text(s.into());
        let number = |v: Option<i64>| v.map_or(KeyValue::Unknown, KeyValue::Number);
        match self {
            Key::Op => text(call.op.to_string()),
            Key::Step => match call.detail.word(Field::Step) {
                Some(step) => text(step.to_owned()),
                None => KeyValue::Unknown,
            },
            Key::Client => KeyValue::Address(call.client.address),
            Key::Server => KeyValue::Address(call.server.address),
            Key::Connection => KeyValue::Connection(call.client, call.server),
            Key::File => call
                .detail
                .get(Field::File)
                .map_or(KeyValue::Unknown, KeyValue::File),
            Key::Size => number(
                call.detail
                    .get(Field::Count)
                    .map(|c| c.next_power_of_two() as i64),
            ),
            Key::Time(width) => number(
                call.request_first
                    .or(call.response_first)
                    .map(|m| m.time.0.div_euclid(width) * width),
            ),
        }
    }
}

/// What a group's calls have in common: its protocol, its operation (empty where groups are not by that), and the values
/// of the other keys.
pub(crate) type GroupKey = (Protocol, Name, Vec<KeyValue>);

pub(crate) fn key_of(keys: &[Key], call: &Call) -> GroupKey {
    let op = match keys.contains(&Key::Op) {
        true => call.op,
        false => Name::default(),
    };
    let others = keys.iter().filter(|k| **k != Key::Op);
    (call.protocol, op, others.map(|k| k.value(call)).collect())
}

#[derive(Default)]
struct Group {
    times: Distribution,
    errors: u64,
    retransmits: u64,
    request_bytes: u64,
    response_bytes: u64,
    no_response: u64,
    no_request: u64,
    incomplete: u64,
    /// In the order in which groups were first seen.
    number: usize,
}

/// The groups of a run.
pub struct Groups {
    keys: Vec<Key>,
    by_op_only: bool,
    most: usize,
    groups: HashMap<GroupKey, Group, foldhash::fast::FixedState>,
    /// By the groups' numbers, what lies beneath their calls, summed, and of how many.
    beneath: Vec<(Beneath, i64)>,
    pub problems: Problems,
}

impl Groups {
    #[must_use]
    pub fn new(keys: Vec<Key>) -> Groups {
        Groups::with_most(keys, limits::GROUPS)
    }

    /// The same with at most so many groups.
    pub(crate) fn with_most(keys: Vec<Key>, most: usize) -> Groups {
        let by_op_only = keys == [Key::Op];
        Groups {
            keys,
            by_op_only,
            most,
            groups: HashMap::default(),
            beneath: Vec::new(),
            problems: Problems::default(),
        }
    }

    pub fn add(&mut self, call: &Call) {
        let key = self.key(call);
        if self.groups.len() >= self.most && !self.groups.contains_key(&key) {
            self.problems.note("groups-full", || {
                (
                    format!(
                        "more than {} groups; calls of further ones are left out",
                        self.most
                    ),
                    Where::default(),
                )
            });
            return;
        }
        let number = self.groups.len();
        let new = || Group {
            number,
            ..Group::default()
        };
        let group = self.groups.entry(key).or_insert_with(new);
        group.retransmits += u64::from(call.retransmits);
        group.request_bytes += call.request_bytes;
        group.response_bytes += call.response_bytes;
        match call.outcome {
            Outcome::Ok => {}
            Outcome::Error(_) | Outcome::Code(_) => group.errors += 1,
            Outcome::NoResponse(_) => group.no_response += 1,
            Outcome::NoRequest(_) => group.no_request += 1,
            Outcome::Incomplete(_) => group.incomplete += 1,
        }
        if call.is_timed()
            && let Some(ns) = call.response_time_ns()
        {
            group.times.add(ns);
        }
    }

    fn key(&self, call: &Call) -> GroupKey {
        match self.by_op_only {
            true => (call.protocol, call.op, Vec::new()),
            false => key_of(&self.keys, call),
        }
    }

    /// The number of the group that has a call's time.
    #[must_use]
    pub fn number(&self, call: &Call) -> Option<u64> {
        let group = self.groups.get(&self.key(call))?;
        call.is_timed().then_some(group.number as u64)
    }

    /// What lies beneath a call of the group with this number.
    pub fn beneath(&mut self, number: u64, of: Beneath) {
        let number = number as usize;
        if number < self.groups.len() && self.beneath.len() <= number {
            self.beneath.resize(number + 1, Default::default());
        }
        if let Some((sum, calls)) = self.beneath.get_mut(number) {
            sum.add(of);
            *calls += 1;
        }
    }

    /// The groups, largest total time first.
    #[must_use]
    pub fn finish(self) -> Vec<GroupResult> {
        let names: Vec<&'static str> = self
            .keys
            .iter()
            .filter(|k| **k != Key::Op)
            .map(|k| k.name())
            .collect();
        let with_op = self.keys.contains(&Key::Op);
        let mut out: Vec<GroupResult> = self
            .groups
            .into_iter()
            .map(|((protocol, op, values), g)| GroupResult {
                protocol,
                op: with_op.then(|| op.to_string()),
                keys: names.iter().copied().zip(values).collect(),
                path: None,
                stats: g.times.summary(),
                errors: g.errors,
                retransmits: g.retransmits,
                request_bytes: g.request_bytes,
                response_bytes: g.response_bytes,
                no_response: g.no_response,
                no_request: g.no_request,
                incomplete: g.incomplete,
                beneath: (self.beneath.get(g.number)).and_then(|(sum, of)| sum.mean(*of)),
                histogram: g.times.histogram(),
            })
            .collect();
        let by_time = self.keys.iter().any(|k| matches!(k, Key::Time(_)));
        out.sort_by(|a, b| {
            let key = |g: &GroupResult| (std::cmp::Reverse(g.stats.total_ns), g.protocol);
            let order = key(a)
                .cmp(&key(b))
                .then_with(|| (&a.op, &a.keys).cmp(&(&b.op, &b.keys)));
            if by_time {
                a.keys.cmp(&b.keys).then(order)
            } else {
                order
            }
        });
        out
    }
}
