//! What acknowledgements let go of a message, round trip after round trip: because its sender's congestion window begins small,
//! or because its buffer holds no more.

use crate::{Bounds, Cause, Ledger};
use model::{Direction, Pace};

/// What a connection begins with (RFC 6928), at most.
const INITIAL_WINDOW: u64 = 14_600;

/// How one direction of a connection was sent, next to its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paced {
    pub cause: Cause,
    /// What its buffer holds.
    pub kept_bytes: u64,
    /// The shortest round trip: a message that took less to leave waited for no acknowledgement.
    pub round_trip_ns: i64,
    /// What slow start takes of each message, whatever the buffer.
    begun_ns: i64,
}

impl Paced {
    /// `None` where nothing tells.
    #[must_use]
    pub fn of(pace: Pace, round_trip_ns: i64) -> Option<Paced> {
        let (cause, kept_bytes) = match pace {
            Pace::Unknown => return None,
            Pace::Grows => (Cause::SlowStart, 0),
            Pace::Kept(bytes) => (Cause::SendBuffer, u64::from(bytes)),
        };
        let rounds = (kept_bytes / INITIAL_WINDOW).max(1).ilog2();
        Some(Paced {
            cause,
            kept_bytes,
            round_trip_ns,
            begun_ns: round_trip_ns.saturating_mul(i64::from(rounds)),
        })
    }

    /// Charges its part of what a message took to leave; gives the rest.
    pub(crate) fn charge(self, d: Direction, ns: i64, ledger: &mut Ledger) -> i64 {
        let own = match ns < self.round_trip_ns {
            true => 0,
            false => (ns - self.begun_ns).max(0),
        };
        ledger.charge(self.cause, d, Bounds::exactly(own));
        ns - own
    }
}
