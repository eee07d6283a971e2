//! Answers that passed the capture, were lost behind it and sent again, into how much later than its end a call's client had
//! all of its answer, at least.

use ledger::One;
use model::{ConnectionId, ConnectionSummary, Direction, Episode, EpisodeKind, Time, limits};
use std::collections::HashMap;

/// A segment of an answer.
#[derive(Clone, Copy, Debug)]
struct Segment {
    sent: Time,
    again: Time,
    /// When all that was sent by then had been acknowledged, or its connection was over.
    until: Time,
}

/// Of one capture, by connection, in the order in which they were sent first.
#[derive(Default)]
pub struct SentAgain {
    connections: HashMap<ConnectionId, Vec<Segment>, foldhash::fast::FixedState>,
    kept: usize,
}

impl SentAgain {
    /// Beyond so many nothing is known of them.
    pub fn episode(&mut self, e: &Episode) {
        let is_lost = e.kind == EpisodeKind::Recovery && !e.spurious && !e.duplicates_cut_off;
        if !is_lost || e.direction != Direction::ToClient {
            return;
        }
        let resent = e.resent.iter().filter(|r| !r.needless);
        let segments = resent.filter_map(|r| {
            Some(Segment {
                sent: r.original?.time,
                again: r.again.time,
                until: e.last.time,
            })
        });
        for segment in segments {
            if self.kept >= limits::SENT_AGAIN {
                return;
            }
            self.kept += 1;
            self.connections
                .entry(e.connection)
                .or_default()
                .push(segment);
        }
    }

    /// What its client never acknowledged may have found nobody who waits for it.
    pub fn closed(&mut self, c: &ConnectionSummary) {
        let [_, answers] = &c.directions;
        if answers.unacknowledged_bytes == 0 {
            return;
        }
        if let Some(segments) = self.connections.get_mut(&c.id) {
            segments.retain(|s| s.until < c.last.time);
        }
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.connections.is_empty()
    }

    /// Of a call that ended here with its answer's last byte: what is sent again is not there yet.
    #[must_use]
    pub fn later_ns(&self, call: &One) -> i64 {
        let Some(segments) = self.connections.get(&ConnectionId(call.connection)) else {
            return 0;
        };
        let until = Time(call.at_ns) + call.response_ns();
        let since = Time(until.0 - call.response_passing_ns);
        let first = segments.partition_point(|s| s.sent < since);
        let own = segments[first..].iter().take_while(|s| s.sent <= until);
        own.map(|s| s.again - until).max().unwrap_or(0).max(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{end, summary};
    use model::{Mark, PacketRef, Resent};

    fn at(ns: i64) -> Mark {
        Mark {
            time: Time(ns),
            packet: PacketRef { file: 0, frame: 1 },
        }
    }

    fn sent_again(sent: i64, again: i64) -> Episode {
        Episode {
            order: 0,
            connection: ConnectionId(7),
            client: end(1, 1_000),
            server: end(2, 5_432),
            kind: EpisodeKind::Recovery,
            direction: Direction::ToClient,
            first: at(sent),
            last: at(again + 1),
            heard: Time(again + 1),
            retransmissions: 1,
            timeouts: 1,
            spurious: false,
            duplicates_cut_off: false,
            window: 0,
            resent: vec![Resent {
                original: Some(at(sent)),
                again: at(again),
                sequence: 1,
                bytes: 59,
                needless: false,
            }],
        }
    }

    /// A call that began at 100, whose answer passed from 150 to 160.
    fn later_ns(episodes: &[Episode]) -> i64 {
        let mut all = SentAgain::default();
        episodes.iter().for_each(|e| all.episode(e));
        all.later_ns(&One {
            connection: 7,
            at_ns: 100,
            wait_ns: 50,
            response_passing_ns: 10,
            ..One::default()
        })
    }

    #[test]
    fn a_call_is_over_no_sooner_than_its_answer_is_sent_again() {
        assert_eq!(later_ns(&[sent_again(155, 370)]), 210);
        assert_eq!(later_ns(&[sent_again(160, 370)]), 210, "its last byte");
        let twice = [sent_again(155, 370), sent_again(155, 770)];
        assert_eq!(later_ns(&twice), 610);
    }

    #[test]
    fn what_nobody_acknowledged_waits_for_nobody() {
        let mut all = SentAgain::default();
        all.episode(&sent_again(155, 370));
        let call = One {
            connection: 7,
            at_ns: 100,
            wait_ns: 50,
            response_passing_ns: 10,
            ..One::default()
        };
        let mut closed = summary(0);
        (closed.id, closed.last) = (ConnectionId(7), at(371));
        all.closed(&closed);
        assert_eq!(all.later_ns(&call), 210);
        closed.directions[1].unacknowledged_bytes = 59;
        all.closed(&closed);
        assert_eq!(all.later_ns(&call), 0);
    }

    #[test]
    fn other_answers_are_others() {
        assert_eq!(later_ns(&[sent_again(149, 370)]), 0);
        assert_eq!(later_ns(&[sent_again(161, 370)]), 0);
    }

    #[test]
    fn what_had_arrived_or_came_again_within_the_answer_held_nobody_up() {
        let spurious = Episode {
            spurious: true,
            ..sent_again(155, 370)
        };
        assert_eq!(later_ns(&[spurious]), 0);
        let unknown = Episode {
            duplicates_cut_off: true,
            ..sent_again(155, 370)
        };
        assert_eq!(later_ns(&[unknown]), 0);
        assert_eq!(later_ns(&[sent_again(151, 158)]), 0);
    }
}
