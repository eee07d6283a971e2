//! Operations of which only steps are known, against calls: the bounds of their mean against the mean.
//!
//! What is certain is charged: of a server what its calls take beyond the upper bounds, of an application what the lower
//! bounds take beyond its calls.

use super::means::{Means, Sampled};
use super::spread::{Bounds, Range, Spread};
use super::words::{self, Refusal};
use super::{AppFacts, Compared, ComparedBy, RowMatch, Whose};
use std::sync::Arc;

impl RowMatch {
    /// Steps against the calls: what is certain, and what may be.
    pub(super) fn by_distribution(mut self) -> Result<Compared, Refusal> {
        let app = Arc::clone(&self.app);
        let (calls, kinds) = (self.calls.take(), self.calls.wanted());
        let spread = Spread::of(&app.histograms, &kinds);
        let own = spread.mean();
        // They contradict the capture only where no number within the bounds would not.
        let latency_ns = match self.whose {
            Whose::Application => own.most_ns.unwrap_or(i64::MAX),
            Whose::Server => own.least_ns,
        };
        let all = Sampled::untimed(spread.count(), latency_ns);
        let means = Means::of(&[all], &calls, None, kinds, self.whose)?;
        let between = own.beyond(means.calls_ns, self.whose);
        let mut joined = self.joined;
        if self.whose == Whose::Server {
            joined.weigh_all(&spread, &calls);
        }
        let operations = means.captured();
        let facts = AppFacts {
            operations,
            matched: 0,
            application_mean_ns: own.middle_ns(),
            host_mean_ns: between.least_ns,
            host_total_ns: between.least_ns.saturating_mul(operations as i64),
            bounds: Some(Bounds { own, between }),
            by: ComparedBy::Distribution,
            basis: words::by_distribution(&app.format, &means, self.whose),
            join: None,
        };
        Ok(Compared {
            histograms: app.histograms.clone(),
            joined,
            ..Compared::of(facts)
        })
    }
}

impl AppFacts {
    /// How long an operation takes on average, as exactly as that is known.
    #[must_use]
    pub fn own(&self) -> Range {
        let exact = Range::exact(self.application_mean_ns);
        self.bounds.map_or(exact, |b| b.own)
    }

    /// What of that is above the wire.
    #[must_use]
    pub fn above(&self) -> Range {
        let exact = Range::exact(self.host_mean_ns);
        self.bounds.map_or(exact, |b| b.between)
    }
}
