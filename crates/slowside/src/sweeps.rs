//! The packets of a capture into the moments at which connections are looked through for those that have been silent
//! for too long: behind a packet, never where a batch happens to end, so that what is said of a capture does not depend
//! on how much of it is read at a time.

use model::{Batch, Packet, Time};

/// How far apart they are: looking through all connections takes time. They come where packets pass on from one such
/// stretch of the clock into another, wherever the capture began: so part of it says where they may be.
const APART_NS: i64 = 10_000_000_000;

/// Which stretch of the clock this is in.
pub(crate) fn stretch(time: Time) -> i64 {
    time.0.div_euclid(APART_NS)
}

/// Whether no sweep is due at this time, behind one in a stretch: it is in that or the one before. Packets that stand a little
/// out of order pass to and fro where a stretch ends.
fn is_near(swept: i64, now: Time) -> bool {
    let from = (swept - 1).wrapping_mul(APART_NS);
    (now.0.wrapping_sub(from) as u64) < 2 * APART_NS as u64
}

#[derive(Default)]
pub(crate) struct Sweeps {
    /// Time of the last packet.
    last: Option<Time>,
    /// What the last two packets agree on.
    reached: Option<Time>,
    /// The stretch of the last sweep, or of the first packet.
    swept: Option<i64>,
}

impl Sweeps {
    /// Packets have come up to `now`: up to when to look, where a sweep is due. A single packet with a time far ahead
    /// ends no silence: the earlier of two counts.
    pub(crate) fn reach(&mut self, now: Time) -> Option<Time> {
        let reached = now.min(self.last.replace(now).unwrap_or(now));
        self.pass(reached)
    }

    /// The same of what two packets agree on. Where these are in one stretch, one after the other, only the first of them
    /// may be followed by a sweep.
    pub(crate) fn pass(&mut self, reached: Time) -> Option<Time> {
        self.reached = Some(reached);
        let swept = self.swept.get_or_insert_with(|| stretch(reached));
        let is_due = !is_near(*swept, reached);
        is_due.then(|| {
            *swept = stretch(reached);
            reached
        })
    }

    /// Leaves in a batch the packets up to the first sweep that is due, and puts those behind it into `rest`; gives up to
    /// when that looks.
    pub(crate) fn split(&mut self, batch: &mut Batch, rest: &mut Batch) -> Option<Time> {
        rest.clear();
        let last = self.last;
        let before = |last, i: usize| match i.checked_sub(1) {
            Some(i) => batch.packets.get(i).map(|p| p.time),
            None => last,
        };
        let mut due = None;
        let behind = batch.packets.iter().enumerate().position(|(i, p)| {
            // Most packets are not looked at further: of two that agree on less, the other was followed by a sweep.
            if (self.swept).is_some_and(|swept| is_near(swept, p.time)) {
                return false;
            }
            self.last = before(self.last, i);
            due = self.reach(p.time);
            due.is_some()
        });
        let Some(behind) = behind else {
            if let Some((i, p)) = batch.packets.iter().enumerate().next_back() {
                let last = before(last, i).unwrap_or(p.time);
                (self.last, self.reached) = (Some(p.time), Some(last.min(p.time)));
            }
            return None;
        };
        for p in batch.packets.get(behind + 1..).unwrap_or_default() {
            let start = rest.bytes.len() as u32;
            rest.bytes.extend_from_slice(batch.bytes_of(p));
            rest.packets.push(Packet { start, ..*p });
        }
        batch.packets.truncate(behind + 1);
        due
    }

    /// The last one, as the capture is over.
    pub(crate) fn end(&self) -> Option<Time> {
        self.reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{LinkType, PacketRef};
    use proptest::prelude::*;

    fn sweeps(seconds: &[i64]) -> Vec<Option<i64>> {
        let mut sweeps = Sweeps::default();
        let at = |s: &i64| sweeps.reach(Time(s * 1_000_000_000));
        let due = seconds.iter().map(at);
        due.map(|t| t.map(|t| t.0 / 1_000_000_000)).collect()
    }

    #[test]
    fn they_are_ten_seconds_apart_as_two_packets_have_it() {
        assert_eq!(
            sweeps(&[0, 9, 10, 11, 19, 22]),
            [None, None, None, Some(10), None, None]
        );
        assert_eq!(sweeps(&[0, 9, 10, 11, 25, 26]).last(), Some(&Some(25)));
        // The clock was set back.
        assert_eq!(sweeps(&[100, 100, 50, 51]), [None, None, Some(50), None]);
    }

    #[test]
    fn one_packet_far_ahead_ends_no_silence() {
        assert_eq!(sweeps(&[0, 1, 9_999, 2, 3]), [None; 5]);
    }

    fn batch(seconds: &[i64]) -> Batch {
        let packet = |(i, s): (usize, &i64)| Packet {
            time: Time(s * 1_000_000_000),
            order: i as u64,
            at: PacketRef {
                file: 0,
                frame: i as u32 + 1,
            },
            link_type: LinkType(1),
            start: i as u32 * 10 + 3,
            captured: 4,
            length: 4,
        };
        Batch {
            bytes: (0..=255).cycle().take(seconds.len() * 10).collect(),
            packets: seconds.iter().enumerate().map(packet).collect(),
        }
    }

    proptest! {
        #[test]
        fn batches_are_split_where_packets_alone_say_whatever_they_hold(
            steps in prop::collection::vec((-3..12i64, 0..20u8), 0..60),
            each in 1..20usize,
        ) {
            let mut now = 100;
            let seconds: Vec<i64> = steps
                .iter()
                .map(|(step, far)| {
                    now += step;
                    // Now and then a time that is wrong.
                    now + if *far == 0 { 5_000 } else { 0 }
                })
                .collect();
            let due: Vec<(usize, i64)> = sweeps(&seconds)
                .into_iter()
                .enumerate()
                .filter_map(|(i, due)| Some((i, due?)))
                .collect();
            let mut sweeps = Sweeps::default();
            let mut found = Vec::new();
            let mut seen = 0;
            for part in seconds.chunks(each) {
                let whole = batch(part);
                let mut left = whole.clone();
                let mut bytes = Vec::new();
                loop {
                    let mut rest = Batch::default();
                    let split = sweeps.split(&mut left, &mut rest);
                    seen += left.packets.len();
                    bytes.extend(left.packets.iter().map(|p| left.bytes_of(p).to_vec()));
                    let Some(time) = split else { break };
                    found.push((seen - 1, time.0 / 1_000_000_000));
                    left = rest;
                }
                let all: Vec<_> = whole.packets.iter().map(|p| whole.bytes_of(p).to_vec()).collect();
                prop_assert_eq!(bytes, all);
            }
            prop_assert_eq!(found, due);
            let last = seconds.iter().rev().take(2).min().copied();
            prop_assert_eq!(sweeps.end().map(|t| t.0 / 1_000_000_000), last);
        }
    }
}
