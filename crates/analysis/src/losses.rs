//! Segments that were lost and sent again, in each direction: how many, and of the longest recoveries which
//! packets they are.
//!
//! Where the capture stands before the loss, it holds the copy that was lost and the one sent again; behind
//! the loss, only the latter. A segment sent again and again was lost each time but the last.

use crate::capture_facts::CaptureFacts;
use crate::facts::Facts;
use crate::findings::evidence;
use crate::results::Evidence;
use crate::text::{Text, Value, text};
use model::{Direction, Episode, EpisodeKind, PacketRef, Resent, Time};
use std::cmp::Reverse;

/// Segments of each direction that are shown.
const SEGMENTS: usize = 8;

/// Recoveries kept of each direction.
const KEPT: usize = 8;

/// The segments of one recovery, and how long it held its direction up.
#[derive(Clone, Debug)]
struct Recovery {
    ns: i64,
    first: Time,
    resent: Vec<Resent>,
}

/// What one capture holds of them.
#[derive(Clone, Debug, Default)]
pub struct Losses {
    /// By direction of the bytes: segments sent again, but for those that are known to have arrived before.
    segments: [u64; 2],
    /// Longest first.
    longest: [Vec<Recovery>; 2],
}

/// Packets of one direction that show a loss.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LossEvidence {
    /// Of copies that were lost, as far as they were captured.
    pub lost: Vec<PacketRef>,
    /// Of those sent again.
    pub again: Vec<PacketRef>,
    /// Sequence numbers of the former, in the same order.
    sequences: Vec<u32>,
}

impl Losses {
    pub fn episode(&mut self, e: &Episode) {
        if e.kind != EpisodeKind::Recovery || e.spurious {
            return;
        }
        let needless = e.resent.iter().filter(|r| r.needless).count() as u64;
        let d = e.direction.index();
        self.segments[d] += u64::from(e.retransmissions).saturating_sub(needless);
        let resent: Vec<Resent> = e.resent.iter().filter(|r| !r.needless).copied().collect();
        if resent.is_empty() {
            return;
        }
        let recovery = Recovery {
            ns: e.last.time - e.first.time,
            first: e.first.time,
            resent,
        };
        let longest = &mut self.longest[d];
        let order = |r: &Recovery| (Reverse(r.ns), r.first);
        let at = longest.partition_point(|r| order(r) <= order(&recovery));
        if at < KEPT {
            longest.insert(at, recovery);
            longest.truncate(KEPT);
        }
    }

    /// So many segments were sent again.
    #[cfg(test)]
    pub(crate) fn of(to_client: u64) -> Losses {
        Losses {
            segments: [0, to_client],
            ..Losses::default()
        }
    }

    /// How many segments were sent again that had not arrived, as far as that is known.
    #[must_use]
    pub fn segments(&self, d: Direction) -> u64 {
        self.segments[d.index()]
    }

    /// The packets of the longest recoveries: some of so many segments.
    #[must_use]
    pub fn shown(&self, d: Direction, segments: usize) -> LossEvidence {
        let mut shown = LossEvidence::default();
        let mut known: Vec<u32> = Vec::new();
        for recovery in &self.longest[d.index()] {
            for (i, r) in recovery.resent.iter().enumerate() {
                let is_again = recovery.resent[..i]
                    .iter()
                    .any(|b| b.sequence == r.sequence);
                if !is_again && known.len() == segments {
                    return shown;
                }
                if !is_again {
                    known.push(r.sequence);
                    if let Some(original) = r.original {
                        shown.lost.push(original.packet);
                        shown.sequences.push(r.sequence);
                    }
                }
                let more = &recovery.resent[i + 1..];
                if more.iter().any(|later| later.sequence == r.sequence) {
                    shown.lost.push(r.again.packet);
                    shown.sequences.push(r.sequence);
                }
                shown.again.push(r.again.packet);
            }
        }
        shown
    }

    /// Whether the capture holds two copies of the segment that begins there: it was not lost before it.
    fn holds_both(&self, d: Direction, sequence: u32) -> bool {
        self.longest[d.index()]
            .iter()
            .flat_map(|recovery| &recovery.resent)
            .any(|r| r.sequence == sequence && r.original.is_some())
    }
}

impl LossEvidence {
    /// Leaves out of the lost copies those that the receiver's capture holds as well.
    pub(crate) fn but_those_in(&mut self, receiver: &Losses, d: Direction) {
        let lost = self.lost.iter().zip(&self.sequences);
        let (lost, sequences) = lost
            .filter(|(_, sequence)| !receiver.holds_both(d, **sequence))
            .unzip();
        (self.lost, self.sequences) = (lost, sequences);
    }
}

/// How many segments were lost in a direction, as the capture nearest to their sender tells it. No more than the other
/// capture lacks, or than their receiver does not say it had: what arrived late was sent again, too.
fn segments(facts: &Facts<'_>, d: Direction) -> u64 {
    let again = facts.at_sender(d).losses.segments(d);
    again.min(facts.streams.lost_at_most(d).0)
}

/// Of so many packets that were sent again one was lost, or fewer.
const SELDOM: u64 = 10;

/// How much was sent again that had not been lost, where nearly all of it was not.
pub(crate) fn needless(facts: &Facts<'_>) -> Option<u64> {
    let again = Direction::BOTH.map(|d| facts.streams.lost_at_most(d).1);
    let lost = Direction::BOTH.map(|d| segments(facts, d));
    let [again, lost] = [again, lost].map(|n| n.iter().sum::<u64>());
    let are_seldom = again > 0 && lost.saturating_mul(SELDOM) <= again;
    are_seldom.then_some(again - lost)
}

/// How many segments were lost each way.
pub(crate) fn numbers(facts: &Facts<'_>) -> [(&'static str, i64); 2] {
    let of = |name, d: Direction| {
        let segments = segments(facts, d);
        (name, i64::try_from(segments).unwrap_or(i64::MAX))
    };
    [
        of("segments_lost_to_server", Direction::ToServer),
        of("segments_lost_to_client", Direction::ToClient),
    ]
}

/// The same in a sentence; nothing where none is known.
pub(crate) fn said(facts: &Facts<'_>) -> Text {
    let way = |(d, segments): (Direction, u64)| match d {
        Direction::ToServer => text!(
            "{segments,} segment{segments||s} on the way to the server",
            segments = segments
        ),
        Direction::ToClient => text!(
            "{segments,} segment{segments||s} on the way to the client",
            segments = segments
        ),
    };
    let lost: Vec<Text> = ways(facts).map(way).collect();
    let all: u64 = ways(facts).map(|(_, segments)| segments).sum();
    let discarded = facts.streams.discarded().min(all);
    match (lost.is_empty(), discarded) {
        (true, _) => Text::default(),
        (false, 0) => text!(" What was lost: {lost}.", lost = Value::List(lost, ", ")),
        (false, _) => text!(
            " What was lost: {lost}. {discarded,} of {discarded|it|them} came to {discarded|its receiver|their receivers}, whose \
             TCP did not take {discarded|it|them}: damaged on the way, or thrown away by that host.",
            lost = Value::List(lost, ", "),
            discarded = discarded,
        ),
    }
}

/// The directions in which segments were lost, and how many; the one with most first.
fn ways(facts: &Facts<'_>) -> impl Iterator<Item = (Direction, u64)> {
    let mut ways = Direction::BOTH.map(|d| (d, segments(facts, d)));
    ways.sort_by_key(|(_, segments)| Reverse(*segments));
    ways.into_iter().filter(|(_, segments)| *segments > 0)
}

/// The packets of one direction that its receiver's own capture has and that had to be sent again to it, first copies first.
pub(crate) fn untaken(receiver: &CaptureFacts, facts: &Facts<'_>, d: Direction) -> Vec<Evidence> {
    let shown = receiver.losses.shown(d, SEGMENTS);
    let both = [
        (shown.lost, "copies that came and were not taken"),
        (shown.again, "the same segments sent again"),
    ];
    let of = |(packets, what): (Vec<PacketRef>, &'static str)| {
        let packets = packets.into_iter().map(|p| (receiver.index, p));
        evidence::by_file(facts.results, packets, what)
    };
    both.into_iter().flat_map(of).collect()
}

/// For each direction the packets that were lost, in the capture nearest to their sender, and those sent
/// again.
pub(crate) fn shown(facts: &Facts<'_>) -> Vec<Evidence> {
    let mut all = Vec::new();
    for (d, _) in ways(facts) {
        let sender = facts.at_sender(d);
        let mut shown = sender.losses.shown(d, SEGMENTS);
        let has_first = !shown.lost.is_empty();
        let other = facts.captures.iter().find(|c| c.index != sender.index);
        if let Some(receiver) = other {
            shown.but_those_in(&receiver.losses, d);
        }
        let lost = match (d, other.is_some()) {
            (Direction::ToServer, true) => {
                "copies of segments to the server that the other capture lacks"
            }
            (Direction::ToClient, true) => {
                "copies of segments to the client that the other capture lacks"
            }
            (Direction::ToServer, false) => "segments to the server that had to be sent again",
            (Direction::ToClient, false) => "segments to the client that had to be sent again",
        };
        let again = match (d, has_first) {
            (Direction::ToServer, false) => {
                "segments to the server sent again, whose first copies are not in this capture"
            }
            (Direction::ToClient, false) => {
                "segments to the client sent again, whose first copies are not in this capture"
            }
            (Direction::ToServer, true) => "the segments to the server sent again",
            (Direction::ToClient, true) => "the segments to the client sent again",
        };
        for (packets, what) in [(shown.lost, lost), (shown.again, again)] {
            let packets = packets.into_iter().map(|p| (sender.index, p));
            all.extend(evidence::by_file(facts.results, packets, what));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnectionId, Endpoint, Mark};

    const D: Direction = Direction::ToClient;

    fn mark(frame: u32) -> Mark {
        Mark {
            time: Time(i64::from(frame)),
            packet: PacketRef { file: 0, frame },
        }
    }

    fn resent(sequence: u32, original: Option<u32>, again: u32) -> Resent {
        Resent {
            original: original.map(mark),
            again: mark(again),
            sequence,
            bytes: 100,
            needless: false,
        }
    }

    fn recovery(first: u32, last: u32, resent: Vec<Resent>) -> Episode {
        let end = Endpoint {
            address: [10, 0, 0, 1].into(),
            port: 1,
        };
        Episode {
            order: 0,
            connection: ConnectionId(0),
            client: end,
            server: end,
            kind: EpisodeKind::Recovery,
            direction: D,
            first: mark(first),
            last: mark(last),
            heard: mark(last).time,
            retransmissions: resent.len() as u32,
            timeouts: 0,
            spurious: false,
            duplicates_cut_off: false,
            window: 0,
            resent,
        }
    }

    fn losses(episodes: &[Episode]) -> Losses {
        let mut losses = Losses::default();
        for e in episodes {
            losses.episode(e);
        }
        losses
    }

    fn frames(packets: &[PacketRef]) -> Vec<u32> {
        packets.iter().map(|p| p.frame).collect()
    }

    #[test]
    fn the_longest_recovery_is_shown_first_with_what_was_lost_and_sent_again() {
        let losses = losses(&[
            recovery(10, 20, vec![resent(1, Some(10), 15)]),
            recovery(30, 60, vec![resent(5, Some(30), 40), resent(9, None, 41)]),
        ]);
        assert_eq!(losses.segments(D), 3);
        assert_eq!(losses.segments(D.reverse()), 0);
        let shown = losses.shown(D, 8);
        assert_eq!(frames(&shown.lost), [30, 10]);
        assert_eq!(frames(&shown.again), [40, 41, 15]);
        assert_eq!(frames(&losses.shown(D, 1).again), [40]);
    }

    #[test]
    fn a_segment_sent_again_and_again_was_lost_each_time_but_the_last() {
        let both = vec![resent(1, Some(10), 15), resent(1, Some(10), 25)];
        let shown = losses(&[recovery(10, 30, both)]).shown(D, 8);
        assert_eq!(frames(&shown.lost), [10, 15]);
        assert_eq!(frames(&shown.again), [15, 25]);
    }

    #[test]
    fn what_had_arrived_is_not_lost() {
        let needless = Resent {
            needless: true,
            ..resent(1, Some(10), 15)
        };
        let spurious = Episode {
            spurious: true,
            ..recovery(30, 40, vec![resent(9, Some(30), 35)])
        };
        let losses = losses(&[recovery(10, 20, vec![needless]), spurious]);
        assert_eq!(losses.segments(D), 0);
        assert_eq!(losses.shown(D, 8), LossEvidence::default());
    }

    #[test]
    fn a_copy_that_the_receiver_has_was_not_lost_before_it() {
        let both = vec![resent(1, Some(10), 15), resent(7, Some(11), 16)];
        let sender = losses(&[recovery(10, 20, both)]);
        let receiver = losses(&[recovery(
            2,
            9,
            vec![resent(1, Some(2), 5), resent(7, None, 6)],
        )]);
        let mut shown = sender.shown(D, 8);
        shown.but_those_in(&receiver, D);
        assert_eq!(frames(&shown.lost), [11]);
        assert_eq!(frames(&shown.again), [15, 16]);
    }
}
