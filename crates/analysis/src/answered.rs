//! Streams whose sender waits for answers before it writes more, into what larger writes would have spared.
//!
//! Where several writes are under way, nothing tells which answer belongs to which of them, so there are no
//! calls to time. But what is under way shows: no more than so many bytes go in a round trip, for which the
//! sender waits again and again, though path and window would take more. Larger writes, as many of them at
//! a time, would need fewer round trips.

use crate::path::HOST_NS;
use crate::results::ConnectionResult;
use crate::rounds::{Chatter, MANY, ROUND_BYTES, WRITE_BYTES};
use ledger::Bounds;
use model::Direction;

/// What a client's stream waited for, write after write.
#[derive(Clone, Copy, Debug)]
pub struct Waits {
    /// The round trips that its bytes took at least, and those that would have done.
    trips: u64,
    needed: u64,
    writes: u64,
    bytes: u64,
    /// What a round trip takes of it: by handshakes and acknowledgements, and by how long it waited.
    trip: Bounds,
    /// With everything acknowledged it waited so long, of which bytes were on their way for certain so long.
    pub idle_ns: i64,
    pub crossing_ns: i64,
    /// What may have been the path's as well as its application's.
    pub unsure_ns: i64,
}

impl Waits {
    /// Of a connection that does so. Only of a client: who asks a server for little at a time gets little.
    #[must_use]
    pub fn of(c: &ConnectionResult) -> Option<Waits> {
        let d = Direction::ToServer;
        let a = &c.direction(d).account;
        let size = a.write_size_bytes?;
        let is_habit = a.writes >= MANY && a.writes_of_that_size >= a.writes / 2;
        let waits = a.answered.waited_ns >= (c.last - c.first) / 2;
        if !is_habit || !waits || size > ROUND_BYTES {
            return None;
        }
        let counts = &c.direction(d).counts;
        let bytes = counts.payload_bytes - counts.retransmitted_bytes.min(counts.payload_bytes);
        let trips = bytes / a.flight_max_bytes.max(size);
        let needed = bytes.div_ceil(WRITE_BYTES);
        if needed >= trips {
            return None;
        }
        let waited = a.answered;
        let most = (waited.waited_ns + waited.unsure_ns) / trips as i64;
        let sure = (round_trip_ns(c).unwrap_or(0) - 2 * HOST_NS).clamp(0, most);
        let passed = waited.waited_ns - waited.idle_ns;
        let unseen = sure.saturating_mul(trips as i64) - passed;
        Some(Waits {
            trips,
            needed,
            // Some left together.
            writes: bytes.div_ceil(size.max(1)),
            bytes,
            trip: Bounds::between(sure, most),
            idle_ns: waited.idle_ns,
            crossing_ns: unseen.clamp(0, waited.idle_ns),
            unsure_ns: waited.unsure_ns,
        })
    }

    /// What larger writes would have spared.
    #[must_use]
    pub fn spared(&self) -> Bounds {
        let trips = (self.trips - self.needed) as i64;
        let of = |ns: i64| ns.saturating_mul(trips);
        Bounds {
            lo_ns: of(self.trip.lo_ns),
            hi_ns: self.trip.hi_ns.map(of),
        }
    }

    /// The same as of turns: each round trip is one.
    pub(crate) fn chatter(&self) -> Chatter {
        Chatter {
            connections: 1,
            calls: self.trips,
            writes: self.writes,
            bytes: self.bytes,
            sent: self.bytes,
            needed: self.needed,
            saved_ns: self.spared().lo_ns,
            saved_in_all_ns: self.spared().lo_ns,
        }
    }
}

/// From the sender to the receiver and back, as the handshake took it, or acknowledgements and the sender's
/// soonest write after an answer did.
fn round_trip_ns(c: &ConnectionResult) -> Option<i64> {
    let h = &c.handshake;
    let opening = h.syn_to_syn_ack_ns.zip(h.syn_ack_to_ack_ns);
    let a = &c.direction(Direction::ToServer).account;
    let soonest = a.answered.soonest_ns.filter(|_| a.rtt.count > 0);
    opening
        .map(|(there, back)| there + back)
        .or(soonest.map(|back| a.rtt.min_ns + back))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::testing::{MS, connection};

    /// A connection of 10 s over a path of 1 ms, that carries 8,000 writes of 8,000 bytes, two a round trip,
    /// and waits for an answer for so long.
    fn writes(waited_ns: i64) -> ConnectionResult {
        let mut c = connection();
        c.handshake.syn_to_syn_ack_ns = Some(MS);
        c.handshake.syn_ack_to_ack_ns = Some(0);
        let to_server = &mut c.directions[0];
        to_server.counts.payload_bytes = 8_000 * 8_000;
        let a = &mut to_server.account;
        (a.write_size_bytes, a.writes, a.writes_of_that_size) = (Some(8_000), 8_000, 8_000);
        a.flight_max_bytes = 16_000;
        a.answered.waited_ns = waited_ns;
        c
    }

    #[test]
    fn what_larger_writes_spare_is_a_round_trip_each() {
        let waits = Waits::of(&writes(8_000 * MS)).unwrap();
        let chatter = waits.chatter();
        assert_eq!(
            (chatter.writes, chatter.calls, chatter.needed),
            (8_000, 4_000, 1_000)
        );
        // Hosts may take 0.2 ms of each; it waited for 2 ms.
        assert_eq!(
            waits.spared(),
            Bounds::between(3_000 * MS / 10 * 8, 6_000 * MS)
        );
    }

    #[test]
    fn who_hardly_waits_or_writes_much_at_a_time_is_not_held_up() {
        assert!(Waits::of(&writes(4_999 * MS)).is_none());
        let with = |change: fn(&mut model::DirectionAccount)| {
            let mut c = writes(8_000 * MS);
            change(&mut c.directions[0].account);
            Waits::of(&c).is_none()
        };
        assert!(with(|a| a.flight_max_bytes = 64_000));
        assert!(with(|a| a.write_size_bytes = Some(20_000)));
        assert!(with(|a| a.writes_of_that_size = 3_999));
        assert!(with(|a| (a.writes, a.writes_of_that_size) = (49, 49)));
    }

    #[test]
    fn what_the_capture_did_not_see_on_its_way_is_no_more_than_the_path_takes() {
        let mut c = writes(8_000 * MS);
        c.directions[0].account.answered.idle_ns = 7_000 * MS;
        let waits = Waits::of(&c).unwrap();
        assert_eq!((waits.idle_ns, waits.crossing_ns), (7_000 * MS, 2_200 * MS));
    }
}
