//! What TCP made calls wait for: stretches of time in which a direction did not flow, laid over the
//! times of each call.
//!
//! A message that is passing waits for all that holds its direction up. A call that waits for its
//! answer waits for TCP only where that is certain: its server's window was closed, so that the
//! server did not read; or its reply came while, or as soon as, replies were held up.

use crate::capture_facts::{BURST_NS, Trouble};
pub use ledger::{Held, HeldUp, PerKind};
use model::{Direction, EpisodeKind, Time, TimeClass};

/// A reply was held up if it, or the next stretch in which replies were, came within this share of a
/// stretch after its end, or in the same burst.
const SOON_SHARE: i64 = 8;

/// The four times of a call.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    pub request_first: Time,
    pub request_last: Time,
    pub response_first: Time,
    pub response_last: Time,
}

/// Lays stretches of the call's connection over its times. Recovery is looked at elsewhere, and what was not heard of.
pub fn held_up<'a>(troubles: impl DoubleEndedIterator<Item = &'a Trouble>, call: &Times) -> HeldUp {
    let mut held = HeldUp::default();
    // From here on until it came, the reply was held up.
    let mut since = call.response_first;
    let elsewhere = [EpisodeKind::Recovery, EpisodeKind::Unheard];
    for t in troubles.rev().filter(|t| !elsewhere.contains(&t.kind)) {
        let overlap = |from: Time, to: Time| t.overlap_ns(from, to);
        // Before its first byte a reply is the server's work, not a pause in it; and what came before it late may have had
        // nothing to do with it.
        let is_silent = t.kind.class() == TimeClass::SenderApplication || t.kind.is_of_stamps();
        let waiting = match is_silent {
            true => 0,
            false => overlap(call.request_last, call.response_first),
        };
        match t.direction {
            Direction::ToServer => {
                let passing = overlap(call.request_first, call.request_last);
                held.passing.add(t.direction, t.kind, passing);
                if t.kind == EpisodeKind::ZeroWindow {
                    held.waiting.add(t.direction, t.kind, waiting);
                }
            }
            Direction::ToClient => {
                let passing = overlap(call.response_first, call.response_last);
                held.passing.add(t.direction, t.kind, passing);
                let after = since - t.last;
                if !is_silent && after <= BURST_NS.max((t.last - t.first) / SOON_SHARE) {
                    held.waiting.add(t.direction, t.kind, waiting);
                    since = since.min(t.first);
                }
            }
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Mark, PacketRef};

    const MS: i64 = 1_000_000;

    fn trouble(direction: Direction, kind: EpisodeKind, first: i64, last: i64) -> Trouble {
        let mark = |at| Mark {
            time: Time(at * MS),
            packet: PacketRef { file: 0, frame: 1 },
        };
        Trouble {
            first: Time(first * MS),
            last: Time(last * MS),
            heard: Time(last * MS),
            first_mark: mark(first),
            last_mark: mark(last),
            direction,
            kind,
            retransmissions: 0,
            timeouts: 0,
            spurious: false,
            came_twice: false,
            arrived: false,
            window: 0,
            resent: Time(last * MS),
            ns: (last - first) * MS,
            since: Time(first * MS),
            until: Time(last * MS),
        }
    }

    const CALL: Times = Times {
        request_first: Time(100 * MS),
        request_last: Time(200 * MS),
        response_first: Time(300 * MS),
        response_last: Time(400 * MS),
    };

    fn held(direction: Direction, kind: EpisodeKind, first: i64, last: i64) -> (i64, i64) {
        let one = [trouble(direction, kind, first, last)];
        let held = held_up(one.iter(), &CALL);
        let other = direction.reverse();
        assert_eq!((held.passing.sum(other), held.waiting.sum(other)), (0, 0));
        (
            held.passing.sum(direction) / MS,
            held.waiting.sum(direction) / MS,
        )
    }

    #[test]
    fn a_server_that_does_not_read_holds_up_requests_and_answers() {
        let d = Direction::ToServer;
        assert_eq!(held(d, EpisodeKind::ZeroWindow, 150, 250), (50, 50));
        assert_eq!(held(d, EpisodeKind::ClosingWindow, 150, 250), (50, 0));
        assert_eq!(held(d, EpisodeKind::ZeroWindow, 350, 390), (0, 0));
        assert_eq!(held(d, EpisodeKind::Recovery, 100, 400), (0, 0));
    }

    /// Before an answer's first byte its server may have been at work, whatever came late before that.
    #[test]
    fn what_stood_in_a_queue_did_while_messages_passed() {
        for kind in [EpisodeKind::Kept, EpisodeKind::Queued] {
            assert_eq!(held(Direction::ToClient, kind, 250, 380), (80, 0));
            assert_eq!(held(Direction::ToServer, kind, 150, 250), (50, 0));
        }
        assert_eq!(
            held(Direction::ToServer, EpisodeKind::Unheard, 100, 300),
            (0, 0)
        );
    }

    #[test]
    fn a_reply_was_held_up_only_if_it_came_at_once_when_it_could() {
        let d = Direction::ToClient;
        for kind in [EpisodeKind::ZeroWindow, EpisodeKind::DelayedAck] {
            assert_eq!(held(d, kind, 220, 300), (0, 80));
            assert_eq!(held(d, kind, 150, 292), (0, 92));
            assert_eq!(held(d, kind, 150, 250), (0, 0), "the server was not ready");
            assert_eq!(held(d, kind, 320, 500), (80, 0));
        }
        assert_eq!(held(d, EpisodeKind::SmallWindow, 250, 350), (50, 50));
    }

    #[test]
    fn a_reply_behind_others_waits_through_stretch_after_stretch() {
        let small =
            |first, last| trouble(Direction::ToClient, EpisodeKind::SmallWindow, first, last);
        let waiting = |troubles: &[Trouble]| {
            let held = held_up(troubles.iter(), &CALL);
            held.waiting.sum(Direction::ToClient) / MS
        };
        assert_eq!(
            waiting(&[small(190, 230), small(232, 270), small(272, 300)]),
            96
        );
        let pause = [small(190, 230), small(250, 298)];
        assert_eq!(waiting(&pause), 48, "the server had nothing to send");
    }

    #[test]
    fn no_more_is_taken_than_there_is() {
        let both = [
            trouble(Direction::ToServer, EpisodeKind::ZeroWindow, 100, 200),
            trouble(Direction::ToClient, EpisodeKind::SmallWindow, 300, 400),
        ];
        let held = held_up(both.iter(), &CALL).passing;
        let mut left = 130 * MS;
        let taken = held.take_from(&mut left);
        assert_eq!(left, 0);
        assert_eq!(taken.sum(Direction::ToServer), 100 * MS);
        assert_eq!(taken.sum(Direction::ToClient), 30 * MS);
        assert_eq!(held.beside_loss().sum(Direction::ToClient), 0);
    }
}
