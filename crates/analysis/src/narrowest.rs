//! Messages that come out of the path more slowly than they went in, into the rate of its narrowest link.
//!
//! A link passes bytes at its own rate, whatever came faster, so the segments of one message leave it that far
//! apart and arrive so (packet dispersion; Keshav 1991, Dovrolis 2001). With a capture at each end that is
//! seen message by message, and without clocks: how long it took to leave, and how long to arrive. One rate
//! that keeps coming back is a link; rates that differ are jitter, or a sender that waits.

use crate::stats::Distribution;
use crate::worst::{Exhibit, Worst};
use ledger::{NarrowLink, passing_ns};
use model::{Direction, Mark};

/// Messages of fewer bytes (four segments) say little of a rate.
const MESSAGE_BYTES: u64 = 4 * 1_448;

/// The first segment has arrived when the clock starts.
const FIRST_SEGMENT: u64 = 1_448;

/// Fewer samples are an accident.
const SAMPLES: u64 = 20;

/// The fastest and the slowest tenth of a link's samples lie no further apart.
const STEADY: i64 = 2;

/// Before a link packets stand in a row. Where others overtake one of every so many messages, what comes late is no link's.
const OVERTAKEN: u64 = 2;

/// A link that is busy for this share of the time makes messages queue.
const BUSY: f64 = 0.5;

/// A message in the two captures: its first and last byte where it was sent, and where it was received.
#[derive(Clone, Copy, Debug)]
pub struct Passing {
    pub bytes: u64,
    pub sent: (Mark, Mark),
    pub received: (Mark, Mark),
    /// Index of the capture at the receiver.
    pub receiver: usize,
}

/// One direction of the path.
#[derive(Clone, Debug, Default)]
pub struct Narrowest {
    /// Bits per second.
    rates: Distribution,
    /// Messages that could have shown a rate.
    large: u64,
    slowest: Worst,
}

/// A link that one direction's messages pass, and what is known of it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    pub direction: Direction,
    pub rate_bps: i64,
    /// For how long the connections' bytes kept it busy, at that rate.
    pub busy_ns: i64,
    pub elapsed_ns: i64,
}

impl Narrowest {
    /// Nothing of the message was lost.
    pub fn add(&mut self, m: &Passing) {
        if m.bytes < MESSAGE_BYTES {
            return;
        }
        self.large += 1;
        let sent_ns = m.sent.1.time - m.sent.0.time;
        let received_ns = m.received.1.time - m.received.0.time;
        if received_ns <= sent_ns.saturating_mul(2) || received_ns <= 0 {
            return;
        }
        self.rates
            .add(passed_bps(m.bytes - FIRST_SEGMENT, received_ns));
        let (first, last) = m.received;
        self.slowest
            .add(Exhibit::of(received_ns, m.receiver, first, last));
    }

    /// Bits per second, if most messages came at one rate.
    #[must_use]
    pub fn rate_bps(&self) -> Option<i64> {
        let [slow, usual, fast] = [0.1, 0.5, 0.9].map(|q| self.rates.quantile(q));
        let many = self.rates.count() >= SAMPLES && self.rates.count() * 2 >= self.large;
        (many && slow > 0 && fast / slow < STEADY).then_some(usual)
    }

    #[must_use]
    pub fn slowest(&self) -> &Worst {
        &self.slowest
    }
}

fn passed_bps(bytes: u64, ns: i64) -> i64 {
    (bytes as f64 * 8e9 / ns.max(1) as f64) as i64
}

/// The narrow links of both directions, the busier first: the queue stands before that. `carried` are the
/// bytes of all connections, `overtaken` the packets that came behind later ones, by direction.
#[must_use]
pub fn links(
    paths: &[Narrowest; 2],
    carried: [u64; 2],
    overtaken: [u64; 2],
    elapsed_ns: i64,
) -> Vec<Link> {
    let mut links: Vec<Link> = Direction::BOTH
        .into_iter()
        .filter_map(|direction| {
            let path = &paths[direction.index()];
            if overtaken[direction.index()].saturating_mul(OVERTAKEN) >= path.large.max(1) {
                return None;
            }
            let rate_bps = path.rate_bps()?;
            Some(Link {
                direction,
                rate_bps,
                busy_ns: passing_ns(carried[direction.index()], rate_bps).min(elapsed_ns),
                elapsed_ns,
            })
        })
        .collect();
    links.sort_by_key(|link| (std::cmp::Reverse(link.busy_ns), link.direction.index()));
    links
}

impl Link {
    /// As what divides a call's time.
    #[must_use]
    pub fn narrow(&self) -> NarrowLink {
        NarrowLink {
            direction: self.direction,
            rate_bps: self.rate_bps,
            is_busy: self.busy_ns as f64 >= BUSY * self.elapsed_ns as f64,
            is_never_empty: false,
            least_ns: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{PacketRef, Time};
    use proptest::prelude::*;

    fn mark(ns: i64) -> Mark {
        Mark {
            time: Time(ns),
            packet: PacketRef { file: 0, frame: 1 },
        }
    }

    fn message(bytes: u64, sent_ns: i64, received_ns: i64) -> Passing {
        Passing {
            bytes,
            sent: (mark(0), mark(sent_ns)),
            received: (mark(5_000_000), mark(5_000_000 + received_ns)),
            receiver: 0,
        }
    }

    #[test]
    fn one_rate_that_comes_back_is_a_link() {
        let mut path = Narrowest::default();
        for i in 0..30 {
            // 20 Mbit/s: 400 ns a byte, but for the first segment.
            let bytes = 8_000 + 100 * i;
            path.add(&message(bytes, 50_000, (bytes as i64 - 1_448) * 400));
        }
        assert_eq!(path.rate_bps(), Some(20_000_000));
    }

    #[test]
    fn packets_that_overtake_each_other_pass_no_narrow_link() {
        let mut path = Narrowest::default();
        (0..30).for_each(|_| path.add(&message(65_536, 500_000, 4_000_000)));
        let paths = [path, Narrowest::default()];
        let of = |overtaken| links(&paths, [2_000_000, 0], [overtaken, 0], 1_000_000_000).len();
        assert_eq!([of(0), of(14), of(15)], [1, 1, 0]);
    }

    #[test]
    fn rates_that_differ_are_jitter() {
        let mut path = Narrowest::default();
        for i in 0..30 {
            path.add(&message(8_000, 50_000, 300_000 * (1 + i)));
        }
        assert_eq!(path.rate_bps(), None);
    }

    #[test]
    fn what_leaves_slowly_shows_no_link() {
        let mut path = Narrowest::default();
        for _ in 0..30 {
            path.add(&message(65_536, 26_000_000, 26_000_000));
        }
        assert_eq!(path.rate_bps(), None);
    }

    proptest! {
        #[test]
        fn any_messages_are_survived(list in proptest::collection::vec((any::<u64>(), any::<i64>(), any::<i64>()), 0..60)) {
            let mut path = Narrowest::default();
            for (bytes, sent, received) in list {
                path.add(&message(bytes >> 8, sent >> 2, received >> 2));
            }
            let _ = path.rate_bps();
        }
    }
}
