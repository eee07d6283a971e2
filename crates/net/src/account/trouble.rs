//! What most directions never have, and so take no memory for: segments sent again, windows that were
//! shut, acknowledgements that waited for a timer.

use super::round_trips::Distribution;
use super::span;
use model::{DirectionAccount, Mark, Time, Vanished};
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Trouble {
    /// Up to where everything is to be acknowledged until what was lost has arrived; and, since the
    /// last transmission, when it had.
    pub recovering: Option<u64>,
    pub recovered: Option<Mark>,
    /// Segments sent again; those of which the receiver had said before that it had them, and how
    /// often it said so afterwards.
    again: u64,
    needless: u64,
    pub received_twice: u64,
    /// And up to where they go.
    vanished: Option<(Vanished, u64)>,
    shut_since: Option<Time>,
    shut_ns: i64,
    pub delays: Distribution,
    /// How long it waited for delayed acknowledgements with nothing small to send.
    pub waited_ns: i64,
}

impl Trouble {
    /// A segment was sent again, with everything before `until` sent; whether it is the first of its
    /// recovery.
    pub(super) fn sent_again(&mut self, needless: bool, until: u64) -> bool {
        self.again += 1;
        self.needless += u64::from(needless);
        let first = self.recovering.is_none();
        self.recovering.get_or_insert(until);
        first
    }

    /// The sender has learned that everything before `position` arrived.
    pub(super) fn acknowledged(&mut self, position: u64, mark: Mark) {
        if self.recovering.is_some_and(|until| position >= until) {
            self.recovering = None;
            self.recovered = Some(mark);
        }
    }

    /// A packet tells of bytes up to `end` that did not come by.
    pub(super) fn vanished(&mut self, vanished: Vanished, end: u64) {
        self.vanished.get_or_insert((vanished, end));
    }

    /// Everything before `position` was acknowledged, or need not be.
    pub(super) fn found(&mut self, position: u64) {
        self.vanished = self.vanished.filter(|(_, end)| *end > position);
    }

    pub(super) fn shut(&mut self, at: Time) {
        self.shut_since.get_or_insert(at);
    }

    pub(super) fn opened(&mut self, at: Time) {
        if let Some(since) = self.shut_since.take() {
            self.shut_ns = self.shut_ns.saturating_add(span(since, at));
        }
    }

    pub(super) fn finish(mut self, last: Time, account: &mut DirectionAccount) {
        self.opened(last);
        account.zero_window_ns = self.shut_ns;
        // The network may have copied the others.
        account.spurious_retransmissions = self.needless.max(self.received_twice).min(self.again);
        account.delayed_acks = self.delays.count();
        account.delayed_ack_ns = (self.delays.count() > 0).then(|| self.delays.quantile(0.5));
        account.delayed_ack_wait_ns = self.waited_ns;
        account.vanished = self.vanished.map(|(vanished, _)| vanished);
    }
}
