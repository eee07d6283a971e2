//! A run as it is kept: as a whole and, where both ends were captured, as each end alone would have
//! told of it. So a run of both ends can be held against one of which somebody has one end only.
//!
//! Each end is diagnosed by itself while both are read. To take from the whole what one end cannot know
//! would not do: one end divides the time of calls by estimates of its own, and those of one run must be
//! compared with those of the other.

use super::snapshot::Snapshot;
use crate::results::{Layer, Vantage};
use crate::tiers::Tier;
use serde::{Deserialize, Serialize};

/// A run, and its ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kept {
    pub whole: Snapshot,
    /// As each capture alone has it; none of a run with one capture.
    pub ends: Vec<Snapshot>,
    /// Hosts that worked for others with calls of their own, which are in none of the above.
    pub tiers: Vec<KeptTier>,
    /// What each layer takes, where hosts' own times were given.
    pub layers: Vec<Layer>,
}

/// What a host asked of servers of its own while it worked for its clients.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptTier {
    pub tier: Tier,
    /// Its own calls, where they were judged apart.
    pub own: Option<Snapshot>,
}

impl From<Snapshot> for Kept {
    fn from(whole: Snapshot) -> Kept {
        Kept {
            whole,
            ends: Vec::new(),
            tiers: Vec::new(),
            layers: Vec::new(),
        }
    }
}

impl Kept {
    /// Where the run was captured, if at one end alone.
    fn only_end(&self) -> Option<Vantage> {
        let known = |v: &Vantage| matches!(v, Vantage::Client | Vantage::Server);
        match self.whole.captures.as_slice() {
            [_] => self.whole.vantage.filter(known),
            _ => None,
        }
    }

    /// The run as it was seen from one end.
    pub(super) fn end(&self, vantage: Vantage) -> Option<&Snapshot> {
        self.ends.iter().find(|e| e.vantage == Some(vantage))
    }
}

/// Both runs as seen from the same ends, and which run (0 or 1) was seen from one end more, with the end
/// that is left.
pub(super) fn alike<'a>(runs: [&'a Kept; 2]) -> ([&'a Snapshot; 2], Option<(usize, Vantage)>) {
    let [a, b] = runs;
    let whole = runs.map(|r| &r.whole);
    let reduced = |run: &'a Kept, other: &Kept| {
        let vantage = other.only_end()?;
        run.end(vantage).map(|end| (end, vantage))
    };
    match (reduced(a, b), reduced(b, a)) {
        (Some((end, vantage)), _) => ([end, &b.whole], Some((0, vantage))),
        (_, Some((end, vantage))) => ([&a.whole, end], Some((1, vantage))),
        _ => (whole, None),
    }
}
