//! Snapshots of counters that only grow into means of what came between the first and the last: numbers and totals by a key,
//! in one file or several. One alone says what was so since they were reset, and the words say that. What counted less in
//! the later one was forgotten in between, and counts whole.

use crate::collector::Collector;
use crate::{OperationKind, Sample};
use std::collections::BTreeMap;

/// Snapshots, and keys of one, that are believed.
const MOST: usize = 64;
pub(crate) const KEYS: usize = 100_000;

/// Of one print: number and total in nanoseconds, by kind and key.
type Snapshot = BTreeMap<(OperationKind, String), (u64, i64)>;

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
    pub(crate) fn add(
        &mut self,
        kind: OperationKind,
        key: String,
        count: u64,
        total_ns: i64,
    ) -> bool {
        let Some(print) = self.0.last_mut() else {
            return false;
        };
        if print.len() >= KEYS {
            return false;
        }
        let sum = print.entry((kind, key)).or_default();
        *sum = (sum.0.saturating_add(count), sum.1.saturating_add(total_ns));
        true
    }

    /// The means of what came between them, of what is called so.
    pub(crate) fn told(mut self, name: &str, into: &mut Collector) {
        let all = |s: &Snapshot| {
            s.values()
                .fold(0u64, |n, (count, _)| n.saturating_add(*count))
        };
        self.0.sort_by_key(all);
        let none = Snapshot::new();
        let last = self.0.last().unwrap_or(&none);
        let (first, words) = match self.0.as_slice() {
            [first, _, ..] => (first, format!("difference of {} snapshots", self.0.len())),
            _ => (
                &none,
                "one snapshot: totals since the last reset; take one before and one after the problem"
                    .to_owned(),
            ),
        };
        for (key, &(calls, total_ns)) in last {
            let (before, before_ns) = first.get(key).copied().unwrap_or_default();
            if calls == before {
                // Where totals are made of means they differ by what those are rounded.
                continue;
            }
            let change = calls
                .checked_sub(before)
                .zip(total_ns.checked_sub(before_ns));
            let (count, ns) = change
                .filter(|(_, ns)| *ns >= 0)
                .unwrap_or((calls, total_ns));
            if let Some(latency_ns) = ns.checked_div(i64::try_from(count).unwrap_or(i64::MAX)) {
                into.sample(Sample {
                    from_ns: None,
                    until_ns: None,
                    kind: key.0,
                    count,
                    latency_ns,
                    client: None,
                });
            }
        }
        into.format(format!("{name}, {words}"));
    }
}
