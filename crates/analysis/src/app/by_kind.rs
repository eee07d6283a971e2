//! Times by what calls are, so that layers can be told of the same operations.

use crate::stats::Distribution;
use trace::OperationKind;

/// Kinds that a call can be of.
pub(crate) const KINDS: [OperationKind; 3] = [
    OperationKind::Read,
    OperationKind::Write,
    OperationKind::Other,
];

/// A distribution of each kind; of what nobody said it is, one more.
#[derive(Clone, Debug, Default)]
pub struct ByKind([Distribution; 4]);

impl ByKind {
    pub fn add(&mut self, kind: OperationKind, ns: i64) {
        self.of_mut(kind).add(ns);
    }

    fn of_mut(&mut self, kind: OperationKind) -> &mut Distribution {
        let [read, write, other, unsaid] = &mut self.0;
        match kind {
            OperationKind::Read => read,
            OperationKind::Write => write,
            OperationKind::Other => other,
            OperationKind::Unsaid => unsaid,
        }
    }

    /// Of these kinds, with those that may be of any.
    #[must_use]
    pub fn of(&self, kinds: &[OperationKind]) -> Distribution {
        let [read, write, other, unsaid] = &self.0;
        let mut all = unsaid.clone();
        for kind in kinds {
            match kind {
                OperationKind::Read => all.merge(read),
                OperationKind::Write => all.merge(write),
                OperationKind::Other => all.merge(other),
                OperationKind::Unsaid => {}
            }
        }
        all
    }

    #[must_use]
    pub fn all(&self) -> Distribution {
        self.of(&KINDS)
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.0.iter().map(Distribution::count).sum()
    }

    /// Which there are; none where nothing is said.
    #[must_use]
    pub fn kinds(&self) -> Vec<OperationKind> {
        let some = KINDS.into_iter().zip(&self.0);
        some.filter(|(_, times)| times.count() > 0)
            .map(|(kind, _)| kind)
            .collect()
    }
}
