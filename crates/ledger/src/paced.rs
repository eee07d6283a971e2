//! What acknowledgements let go of a message, round trip after round trip: because its sender's congestion window begins small,
//! because its buffer holds no more, or because a line on the way is full.

use crate::{Bounds, Cause, Ledger, Lost, passing_ns};
use model::{Direction, Pace};

/// What a connection begins with (RFC 6928), at most.
const INITIAL_WINDOW: u32 = 14_600;

/// How one direction of a connection was sent, next to its sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Paced {
    pace: Pace,
    /// The shortest round trip: a message that took less to leave waited for no acknowledgement.
    pub round_trip_ns: i64,
    /// The line behind which what was in flight waited, if it did.
    pub line: Option<FullLine>,
    /// Its receiver kept acknowledgements back for at least half of each round trip, as its own capture shows.
    pub is_kept_back: bool,
}

/// A line that is full for those who send, and how many of their bits pass it in a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FullLine {
    /// As many again and again.
    Alone(i64),
    /// What others leave of it, as a rule.
    Shared(i64),
}

impl FullLine {
    /// How long so many bytes take to pass it, as a rule.
    #[must_use]
    pub fn passing_ns(self, bytes: u64) -> i64 {
        let (FullLine::Alone(bps) | FullLine::Shared(bps)) = self;
        passing_ns(bytes, bps)
    }
}

impl Paced {
    /// `None` where nothing tells.
    #[must_use]
    pub fn of(pace: Pace, round_trip_ns: i64, line: Option<FullLine>) -> Option<Paced> {
        let paced = Paced {
            pace,
            round_trip_ns,
            line,
            is_kept_back: false,
        };
        (pace != Pace::Unknown || line.is_some()).then_some(paced)
    }

    /// Of a direction of which nobody knows whether its receiver's window had room.
    #[must_use]
    pub fn blind(round_trip_ns: i64) -> Paced {
        Paced {
            pace: Pace::Unknown,
            round_trip_ns,
            line: None,
            is_kept_back: false,
        }
    }

    /// The same, where its receiver is known to have kept acknowledgements back: what that takes is no queue on the way.
    #[must_use]
    pub fn kept_back(self) -> Paced {
        Paced {
            line: None,
            is_kept_back: true,
            ..self
        }
    }

    /// What it is for without a queue on the way, where only one thing can be.
    #[must_use]
    pub fn cause(&self) -> Option<Cause> {
        match self.pace {
            _ if self.is_kept_back => Some(Cause::NotReading),
            Pace::Unknown => None,
            Pace::Grows => Some(Cause::SlowStart),
            Pace::Kept(_) => Some(Cause::SendBuffer),
        }
    }

    /// What its sender's buffer holds.
    #[must_use]
    pub fn kept_bytes(&self) -> Option<u32> {
        match self.pace {
            Pace::Kept(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Charges its part of what a message of so many bytes, if that is known, took to leave; gives the rest.
    pub(crate) fn charge(
        self,
        d: Direction,
        bytes: Option<u64>,
        ns: i64,
        ledger: &mut Ledger,
    ) -> i64 {
        let Some(line) = self.line else {
            return self.charge_sender(d, ns, ledger);
        };
        let passing_ns = bytes.map(|bytes| line.passing_ns(bytes));
        let full = match (line, passing_ns) {
            _ if ns < self.round_trip_ns => 0,
            // What left twice as fast waits on the way, and not for that.
            (_, Some(passing)) if ns < passing / 2 => 0,
            (FullLine::Alone(_), Some(passing)) => passing.min(ns),
            _ => ns,
        };
        ledger.charge(Cause::Bandwidth, d, Bounds::exactly(full));
        ns - full
    }

    fn charge_sender(self, d: Direction, ns: i64, ledger: &mut Ledger) -> i64 {
        // What slow start takes of each message, whatever the buffer.
        let rounds = (self.kept_bytes().unwrap_or(0) / INITIAL_WINDOW).max(1);
        let begun_ns = (self.round_trip_ns).saturating_mul(i64::from(rounds.ilog2()));
        let own = match ns < self.round_trip_ns {
            true => 0,
            false => (ns - begun_ns).max(0),
        };
        if self.is_kept_back {
            ledger.charge(Cause::NotReading, d, Bounds::between(own / 2, own));
            return ns - own;
        }
        match self.cause() {
            Some(cause) => ledger.charge(cause, d, Bounds::exactly(own)),
            None => {
                for cause in [Cause::Transfer, Cause::SmallWindow, Cause::SendBuffer] {
                    ledger.charge(cause, d, Bounds::between(0, own));
                }
            }
        }
        ns - own
    }
}

/// Charges what a message waited in its sender's TCP behind others, which acknowledgements let go; gives what they do not
/// explain, which after a loss is all of it.
pub(crate) fn behind_others(
    paced: Option<Paced>,
    lost: Lost,
    d: Direction,
    ns: i64,
    ledger: &mut Ledger,
) -> i64 {
    let paced = paced.filter(|_| lost == Lost::Nothing);
    paced.map_or(ns, |paced| paced.charge(d, None, ns, ledger))
}
