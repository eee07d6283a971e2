//! A direction's segments into how it is used: their sizes, the sender's pauses, why it sent again, and
//! its congestion window as far as it shows. Made with the first data, as most directions of short
//! connections carry none.

use super::span;
use model::{
    Answered, CongestionWindow, DirectionAccount, EcnCounts, Mark, Pauses, Retransmissions,
    SegmentSizes, Wait,
};
use serde::{Deserialize, Serialize};

/// Silences below are between the writes of one answer.
const PAUSE_NS: i64 = 200_000;

/// What made a sender send again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Trigger {
    Fast,
    Timeout,
    TailProbe,
    Other,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Habits {
    sizes: [u32; SegmentSizes::UP_TO.len() + 1],
    again: [u32; 4],
    /// Of the recovery that goes on.
    trigger: Option<Trigger>,
    window: Option<Box<CongestionWindow>>,
    pauses: u32,
    paused_ns: i64,
    /// The packets around the longest pause, if there was one.
    longest: (Mark, Mark),
    answered: Answered,
}

impl Habits {
    pub(super) fn sized(&mut self, bytes: u32) {
        let class = SegmentSizes::UP_TO.iter().filter(|&&up_to| bytes > up_to);
        if let Some(n) = self.sizes.get_mut(class.count()) {
            *n = n.saturating_add(1);
        }
    }

    /// A segment was sent again: `first` in its recovery.
    pub(super) fn sent_again(&mut self, trigger: Trigger, first: bool) {
        let trigger = match (trigger, self.trigger.filter(|_| !first)) {
            (Trigger::Other, Some(Trigger::Fast)) => Trigger::Fast,
            (Trigger::Other, Some(Trigger::Timeout)) => Trigger::Timeout,
            _ => trigger,
        };
        self.trigger = Some(trigger);
        if let Some(n) = self.again.get_mut(trigger as usize) {
            *n = n.saturating_add(1);
        }
    }

    /// It was silent with nothing outstanding, up to a transmission.
    pub(super) fn paused(&mut self, first: Mark, last: Mark) {
        let ns = span(first.time, last.time);
        if ns <= PAUSE_NS {
            return;
        }
        self.pauses = self.pauses.saturating_add(1);
        self.paused_ns = self.paused_ns.saturating_add(ns);
        let (from, to) = self.longest;
        if ns > span(from.time, to.time) {
            self.longest = (first, last);
        }
    }

    /// It sent once after an answer had come, which is all that `one` tells of.
    pub(super) fn answered(&mut self, one: &Answered) {
        let a = &mut self.answered;
        a.count += one.count;
        a.waited_ns = a.waited_ns.saturating_add(one.waited_ns);
        a.idle_ns = a.idle_ns.saturating_add(one.idle_ns);
        a.unsure_ns = a.unsure_ns.saturating_add(one.unsure_ns);
        a.soonest_ns = [a.soonest_ns, one.soonest_ns].into_iter().flatten().min();
    }

    /// It was silent for so long after the other side had sent.
    pub(super) fn silent_behind(&mut self, ns: i64) {
        let sum = &mut self.answered.silent_behind_ns;
        *sum = sum.saturating_add(ns);
    }

    /// So much was in flight when the congestion window was full.
    pub(super) fn window_was(&mut self, bytes: u64) {
        let w = self.window.get_or_insert_default();
        w.min_bytes = if w.count == 0 {
            bytes
        } else {
            w.min_bytes.min(bytes)
        };
        w.max_bytes = w.max_bytes.max(bytes);
        w.last_bytes = bytes;
        w.sum_bytes = w.sum_bytes.saturating_add(bytes);
        w.count += 1;
    }

    pub(super) fn write_to(&self, account: &mut DirectionAccount) {
        let [fast, timeout, tail_probe, other] = self.again.map(u64::from);
        account.segment_sizes = SegmentSizes(self.sizes.map(u64::from));
        account.retransmissions = Retransmissions {
            fast,
            timeout,
            tail_probe,
            other,
        };
        account.answered = self.answered;
        account.congestion_window = self.window.as_deref().copied().unwrap_or_default();
        let (first, last) = self.longest;
        let ns = span(first.time, last.time);
        account.pauses = Pauses {
            count: self.pauses.into(),
            total_ns: self.paused_ns,
            longest: (self.pauses > 0).then_some(Wait { first, last, ns }),
        };
    }
}

/// Packets of a direction with marks of explicit congestion notification; made with the first.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Marks {
    pub capable: u32,
    pub experienced: u32,
    pub echoed: u32,
    pub reduced: u32,
}

impl Marks {
    pub(super) fn counts(self) -> EcnCounts {
        EcnCounts {
            capable_packets: self.capable.into(),
            ce_packets: self.experienced.into(),
            ece_packets: self.echoed.into(),
            cwr_packets: self.reduced.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PacketRef, Time};

    fn at(ns: i64) -> Mark {
        Mark {
            time: Time(ns),
            packet: PacketRef { file: 0, frame: 1 },
        }
    }

    fn account(habits: &Habits) -> DirectionAccount {
        let mut account = DirectionAccount::default();
        habits.write_to(&mut account);
        account
    }

    #[test]
    fn sizes_are_counted_up_to_their_bound() {
        let mut habits = Habits::default();
        for bytes in [1, 64, 65, 512, 513, 1460, 1461, 8960, 8961, 65_160] {
            habits.sized(bytes);
        }
        assert_eq!(account(&habits).segment_sizes.0, [2, 1, 1, 2, 2, 2]);
    }

    #[test]
    fn what_follows_in_a_recovery_has_its_reason() {
        let mut habits = Habits::default();
        for (trigger, first) in [
            (Trigger::Fast, true),
            (Trigger::Other, false),
            (Trigger::Timeout, false),
            (Trigger::Other, false),
            (Trigger::TailProbe, true),
            (Trigger::Other, false),
            (Trigger::Other, true),
        ] {
            habits.sent_again(trigger, first);
        }
        let counted = account(&habits).retransmissions;
        let expected = Retransmissions {
            fast: 2,
            timeout: 2,
            tail_probe: 1,
            other: 2,
        };
        assert_eq!(counted, expected);
    }

    #[test]
    fn the_longest_pause_is_kept_and_short_ones_are_none() {
        let mut habits = Habits::default();
        habits.paused(at(0), at(PAUSE_NS));
        habits.paused(at(0), at(3 * PAUSE_NS));
        habits.paused(at(0), at(2 * PAUSE_NS));
        let pauses = account(&habits).pauses;
        assert_eq!((pauses.count, pauses.total_ns), (2, 5 * PAUSE_NS));
        assert_eq!(pauses.longest.map(|w| w.ns), Some(3 * PAUSE_NS));
    }
}
