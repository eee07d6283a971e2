//! The packets of a capture into the moments at which connections are looked through for those that have been silent
//! for too long: behind a packet, never where a batch happens to end, so that what is said of a capture does not depend
//! on how much of it is read at a time.

use model::{Batch, Packet, Time};

/// How far apart they are: looking through all connections takes time.
const APART_NS: i64 = 10_000_000_000;

#[derive(Default)]
pub(crate) struct Sweeps {
    /// Time of the last packet.
    last: Option<Time>,
    /// What the last two packets agree on.
    reached: Option<Time>,
    /// That of the last sweep, or of the first packet.
    swept: Option<Time>,
}

impl Sweeps {
    /// Packets have come up to `now`: up to when to look, where a sweep is due. A single packet with a time far ahead
    /// ends no silence: the earlier of two counts.
    pub(crate) fn reach(&mut self, now: Time) -> Option<Time> {
        let reached = now.min(self.last.replace(now).unwrap_or(now));
        self.reached = Some(reached);
        let swept = self.swept.get_or_insert(reached);
        let is_due = (reached - *swept).saturating_abs() >= APART_NS;
        is_due.then(|| {
            *swept = reached;
            reached
        })
    }

    /// Leaves in a batch the packets up to the first sweep that is due; gives up to when that looks, and the packets
    /// behind it.
    pub(crate) fn split(&mut self, batch: &mut Batch) -> Option<(Time, Batch)> {
        let mut due = None;
        let behind = batch.packets.iter().position(|p| {
            due = self.reach(p.time);
            due.is_some()
        })?;
        let mut rest = Batch::default();
        for p in batch.packets.drain(behind + 1..).collect::<Vec<_>>() {
            let start = rest.bytes.len() as u32;
            rest.bytes.extend_from_slice(batch.bytes_of(&p));
            rest.packets.push(Packet { start, ..p });
        }
        Some((due?, rest))
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

    #[test]
    fn a_batch_is_split_behind_the_packet_that_a_sweep_follows() {
        let packet = |second: u32| Packet {
            time: Time(i64::from(second) * 1_000_000_000),
            order: second.into(),
            at: PacketRef {
                file: 0,
                frame: second + 1,
            },
            link_type: LinkType(1),
            start: second * 10 + 3,
            captured: 4,
            length: 4,
        };
        let whole = Batch {
            bytes: (0..=255).collect(),
            packets: (0..25).map(packet).collect(),
        };
        let mut sweeps = Sweeps::default();
        let mut left = whole.clone();
        let mut seen = Vec::new();
        let mut due = Vec::new();
        loop {
            let split = sweeps.split(&mut left);
            seen.extend(
                left.packets
                    .iter()
                    .map(|p| (p.order, left.bytes_of(p).to_vec())),
            );
            let Some((time, rest)) = split else { break };
            due.push(time.0 / 1_000_000_000);
            left = rest;
        }
        let all = whole
            .packets
            .iter()
            .map(|p| (p.order, whole.bytes_of(p).to_vec()));
        assert_eq!(seen, all.collect::<Vec<_>>());
        assert_eq!(due, [10, 20]);
    }
}
