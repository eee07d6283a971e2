//! Snapshots of counters that only grow into means of what came between the first and the last: numbers and totals by a key,
//! in one file or several. One alone says what was so since they were reset, and the words say that. What counted less in
//! the later one was forgotten in between, and counts whole. Where totals were made of means that were rounded, what that may
//! make of a difference is known: one that it may make by itself is left out.

use crate::collector::Collector;
use crate::{OperationKind, Sample};
use std::collections::BTreeMap;

/// Snapshots, and keys of one, that are believed.
const MOST: usize = 64;
pub(crate) const KEYS: usize = 100_000;

/// Of one print, by kind and key.
type Snapshot = BTreeMap<(OperationKind, String), Counted>;

/// How often, how long in all, and by how much that may be wrong, in nanoseconds.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) count: u64,
    pub(crate) total_ns: i64,
    pub(crate) unsure_ns: i64,
}

#[derive(Default)]
pub(crate) struct Snapshots(Vec<Snapshot>);

impl Snapshots {
    /// Another print begins.
    pub(crate) fn begin(&mut self) {
        if self.0.len() < MOST {
            self.0.push(Snapshot::new());
        }
    }

    /// What the print says of a key, more than once where it stands in several rows; whether there was room for it.
    #[must_use]
    pub(crate) fn add(&mut self, kind: OperationKind, key: String, counted: Counted) -> bool {
        let Some(print) = self.0.last_mut() else {
            return false;
        };
        if print.len() >= KEYS {
            return false;
        }
        let sum = print.entry((kind, key)).or_default();
        sum.count = sum.count.saturating_add(counted.count);
        sum.total_ns = sum.total_ns.saturating_add(counted.total_ns);
        sum.unsure_ns = sum.unsure_ns.saturating_add(counted.unsure_ns);
        true
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The means of what came between them; and which prints these are, in words.
    pub(crate) fn told(mut self, into: &mut Collector) -> String {
        let all = |s: &Snapshot| {
            s.values()
                .fold(0u64, |n, counted| n.saturating_add(counted.count))
        };
        self.0.sort_by_key(all);
        let none = Snapshot::new();
        let last = self.0.last().unwrap_or(&none);
        let (first, mut words) = match self.0.as_slice() {
            [first, _, ..] => (first, format!("difference of {} snapshots", self.0.len())),
            _ => (
                &none,
                "one snapshot: totals since the last reset; take one before and one after the problem"
                    .to_owned(),
            ),
        };
        let mut rounded = 0u64;
        for (key, now) in last {
            let before = first.get(key).copied().unwrap_or_default();
            let Some(count) = now.count.checked_sub(before.count) else {
                sample(key.0, now.count, now.total_ns, into);
                continue;
            };
            let ns = now.total_ns.saturating_sub(before.total_ns);
            let is_exact = now.unsure_ns == 0 && ns >= 0;
            if count == 0 {
                continue;
            }
            match is_exact || ns > now.unsure_ns.saturating_add(before.unsure_ns) {
                true => sample(key.0, count, ns, into),
                false => rounded += 1,
            }
        }
        if rounded > 0 {
            words += &format!(
                "; {rounded} left out whose times are rounded to more than they changed by"
            );
        }
        words
    }
}

fn sample(kind: OperationKind, count: u64, total_ns: i64, into: &mut Collector) {
    if let Some(latency_ns) = total_ns.checked_div(i64::try_from(count).unwrap_or(i64::MAX)) {
        into.sample(Sample {
            from_ns: None,
            until_ns: None,
            kind,
            count,
            latency_ns,
            client: None,
        });
    }
}
