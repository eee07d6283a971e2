//! Packets as if their capture had been cut to some times.

use crate::config::Moment;
use model::{Batch, Time};

/// From when to when packets count.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Times {
    pub from: Option<Moment>,
    pub to: Option<Moment>,
    /// Where relative ones count from: the first packet of all.
    start: Option<Time>,
}

impl Times {
    pub(crate) fn new(from: Option<Moment>, to: Option<Moment>) -> Times {
        Times {
            from,
            to,
            start: None,
        }
    }

    pub(crate) fn are_bounded(self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// Takes what lies outside out of a batch.
    pub(super) fn cut(&mut self, batch: &mut Batch) {
        if !self.are_bounded() {
            return;
        }
        let first = batch.packets.first().map(|p| p.time);
        self.start = self.start.or(first);
        let start = self.start.unwrap_or_default();
        let (from, to) = (self.from, self.to);
        batch.packets.retain(|p| {
            from.is_none_or(|m| p.time >= m.after(start))
                && to.is_none_or(|m| p.time < m.after(start))
        });
    }
}
