//! IP fragments into how many datagrams came whole, and which did not.

use super::LeftOut;
use model::{Fragments, LostFragments, Mark, Time, limits};

/// At the ends of a capture a datagram's other parts lie outside.
const EDGE_NS: i64 = 1_000_000_000;

/// Datagrams in fragments.
#[derive(Clone, Debug, Default)]
pub struct FragmentFacts {
    pub fragments: u64,
    /// Datagrams of which all parts came.
    pub complete: u64,
    /// With the earliest packet of each.
    lost: Vec<(Mark, LostFragments)>,
    pub(super) left_out: LeftOut,
}

impl FragmentFacts {
    pub(super) fn add(&mut self, f: &Fragments) {
        self.fragments += f.fragments;
        self.complete += f.complete;
    }

    pub(super) fn lost(&mut self, lost: &LostFragments, at: Mark) {
        if self.lost.len() < limits::LOST_DATAGRAMS {
            self.lost.push((at, *lost));
        } else {
            self.left_out.add(at);
        }
    }

    /// Datagrams that never became whole, also those at the ends of the capture.
    #[must_use]
    pub fn incomplete(&self) -> &[(Mark, LostFragments)] {
        &self.lost
    }

    /// Those of which the capture should have all parts: it begins and ends that long before and behind.
    pub(crate) fn lost_within(
        &self,
        first: Option<Time>,
        last: Option<Time>,
    ) -> impl Iterator<Item = &(Mark, LostFragments)> {
        self.lost.iter().filter(move |(at, lost)| {
            first.is_some_and(|f| at.time - f >= EDGE_NS)
                && last.is_some_and(|l| l - lost.last.time >= EDGE_NS)
        })
    }
}
