//! Moments in the gaps between a host's own calls into whether these have to do with them.

use model::Time;

/// No single moment proves more than so much, a share of one in a million: a host's clock is no finer.
const MOST_PROOF: f64 = 14.0;

/// Moments prove something when chance makes as much in one case of a hundred thousand (Chernoff's bound).
const BEYOND_CHANCE: f64 = 11.5;

/// Time between two of a host's own calls, by their beginnings or their ends.
#[derive(Clone, Copy)]
pub(super) struct Gap {
    pub(super) since: Time,
    /// The moments of its clients that fell into it: how many, and the one that tells.
    pub(super) moments: u32,
    pub(super) at: Time,
}

/// Shares of gaps, and whether chance makes so many that are small.
#[derive(Default)]
pub(super) struct Chance {
    moments: f64,
    /// Of each share the negative logarithm: one on average, if all are equally likely.
    proof: f64,
}

impl Chance {
    /// A gap, of which the moment that tells leaves so much.
    pub(super) fn add(&mut self, gap: Gap, part_ns: i64, until: Time) {
        let gap_ns = until - gap.since;
        if gap.moments == 0 || gap_ns <= 0 {
            return;
        }
        let share = part_ns.max(0) as f64 / gap_ns as f64;
        let chance = (share * f64::from(gap.moments)).min(1.0);
        self.moments += 1.0;
        self.proof += (-chance.ln()).min(MOST_PROOF);
    }

    pub(super) fn is_excluded(&self) -> bool {
        let Chance { moments, proof } = *self;
        moments >= 2.0
            && proof > moments
            && proof - moments - moments * (proof / moments).ln() > BEYOND_CHANCE
    }
}

impl Gap {
    pub(super) fn new(since: Time) -> Gap {
        Gap {
            since,
            moments: 0,
            at: since,
        }
    }
}
