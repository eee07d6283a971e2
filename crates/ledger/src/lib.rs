//! What held each call up: a client's wait for one call divided into lines, each with a place, a side, a
//! cause and bounds, and the sums of them.
//!
//! A line says where the time passed (its place), whose doing it is (its side) and why (its cause). Where
//! the packets decide, it is exact; where they do not, it is an interval that holds the truth whatever the
//! missing evidence was. Every answer is a sum over these lines, so that no two can contradict each other,
//! and with less evidence bounds only widen: what is certain of a side can only become less, and what may
//! be another's only more.
//!
//! Times are integer nanoseconds.

mod both;
mod cause;
mod certain;
mod classes;
mod half;
mod held;
mod inner;
mod kept;
mod late;
mod one;
mod paced;
mod packed;
mod spared;
mod sums;
#[cfg(test)]
mod tests;
mod untaken;

pub use both::{Both, BothFacts, NarrowLink, divide_both, passing_ns};
pub use cause::{Cause, Place};
pub use certain::Certain;
pub use classes::{Between, Classes, divide_stream};
pub use half::Half;
pub use held::{Held, HeldUp, PerKind};
pub use kept::{Kept, Pack, Packer, Unpacker};
pub use one::{Lost, One, OneFacts, Queued, divide_one};
pub use paced::{FullLine, Paced};
pub use spared::Share;
pub use sums::{Sum, Sums};
pub use untaken::Untaken;

use model::Direction;
use serde::{Deserialize, Serialize};

/// Nanoseconds from `lo` to `hi`; without a bound above where `hi` is `None`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Bounds {
    pub lo_ns: i64,
    pub hi_ns: Option<i64>,
}

impl Bounds {
    #[must_use]
    pub fn exactly(ns: i64) -> Bounds {
        Bounds {
            lo_ns: ns,
            hi_ns: Some(ns),
        }
    }

    #[must_use]
    pub fn between(lo_ns: i64, hi_ns: i64) -> Bounds {
        Bounds {
            lo_ns,
            hi_ns: Some(hi_ns.max(lo_ns)),
        }
    }

    #[must_use]
    pub fn plus(self, other: Bounds) -> Bounds {
        Bounds {
            lo_ns: self.lo_ns.saturating_add(other.lo_ns),
            hi_ns: self
                .hi_ns
                .zip(other.hi_ns)
                .map(|(a, b)| a.saturating_add(b)),
        }
    }
}

/// How much of what looks like a server's doing may have been a wait for a lock.
#[derive(Clone, Copy)]
struct Locked(i64);

impl Locked {
    fn of(ns: i64) -> Locked {
        Locked(ns.max(0))
    }

    /// What of `ns` is certain to be none, and at most; and what may lie elsewhere.
    fn out_of(self, ns: i64) -> (Bounds, Locked) {
        let here = self.0.min(ns.max(0));
        (Bounds::between(ns - here, ns), Locked(self.0 - here))
    }
}

/// Part of a call's time: why, and of which direction's bytes (for causes that are of none, towards the
/// server).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Charge {
    pub cause: Cause,
    pub direction: Direction,
    pub ns: Bounds,
}

/// A line of a ledger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    pub place: Place,
    pub side: Place,
    pub cause: Cause,
    pub ns: Bounds,
}

/// One call's time.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Ledger {
    /// What the client waited.
    pub response: Bounds,
    charges: Vec<Charge>,
}

impl Ledger {
    /// Begins another call's.
    pub fn clear(&mut self, response: Bounds) {
        self.response = response;
        self.charges.clear();
    }

    /// Nothing is charged for no time.
    pub fn charge(&mut self, cause: Cause, direction: Direction, ns: Bounds) {
        if ns.hi_ns != Some(0) {
            self.charges.push(Charge {
                cause,
                direction,
                ns,
            });
        }
    }

    /// Nothing is known of the call, not even how long it took.
    pub fn forget(&mut self) {
        let most = self.response.hi_ns;
        self.clear(Bounds {
            lo_ns: 0,
            hi_ns: most,
        });
        self.charge(Cause::Unknown, Direction::ToServer, self.response);
    }

    /// The call may have waited for so much longer, of which its client did not read for so long: where its response stands is not
    /// seen.
    #[inline]
    fn hide(&mut self, longer_ns: i64, unread_ns: i64) {
        // Most are seen.
        if longer_ns > 0 {
            self.hide_some(longer_ns, unread_ns.clamp(0, longer_ns));
        }
    }

    #[cold]
    fn hide_some(&mut self, longer_ns: i64, unread_ns: i64) {
        self.response = self.response.plus(Bounds::between(0, longer_ns));
        let unread = Bounds::between(0, unread_ns);
        self.charge(Cause::NotReading, Direction::ToClient, unread);
        let rest = Bounds::between(0, longer_ns - unread_ns);
        self.charge(Cause::Hidden, Direction::ToServer, rest);
    }

    /// A sender was silent for so long behind what may have ended a message: within one, or perhaps between two.
    fn charge_silence(&mut self, direction: Direction, ns: Bounds, may_idle: bool) {
        let cause = match may_idle {
            true => Cause::Idle,
            false => Cause::NotWriting,
        };
        self.charge(cause, direction, ns);
    }

    /// What the server took for longer than that may have been a wait for an event.
    pub fn doubt_service(&mut self, beyond_ns: i64) {
        let own = self.charges.iter_mut();
        let long = |ns: Bounds| ns.hi_ns.is_none_or(|hi| hi > beyond_ns);
        for c in own.filter(|c| c.cause == Cause::Service && long(c.ns)) {
            c.cause = Cause::Event;
        }
    }

    /// The path takes so long at least; what it took beyond that may have been somebody's who stands on it.
    pub fn doubt_path(&mut self, least_ns: i64) {
        let path = self.charges.iter_mut();
        for c in path.filter(|c| c.cause == Cause::Path) {
            c.ns.lo_ns = c.ns.lo_ns.min(least_ns);
        }
    }

    /// The server says that its operation took so long: what else the call spent there it waited, where it had to
    /// queue for one of a limited number of workers, and elsewhere for a reason that nothing tells.
    pub fn time_operation(&mut self, ns: i64) {
        let ns = ns.max(0);
        let is_own = |c: &Charge| matches!(c.cause, Cause::Service | Cause::Queue);
        let own = self.charges.iter().copied().filter(is_own);
        let has_queue = own.clone().any(|c| c.cause == Cause::Queue);
        let own = own.fold(Bounds::exactly(0), |sum, c| sum.plus(c.ns));
        let served = Bounds {
            lo_ns: own.lo_ns.min(ns),
            hi_ns: Some(own.hi_ns.map_or(ns, |hi| hi.min(ns))),
        };
        let waited = Bounds {
            lo_ns: own.lo_ns - served.lo_ns,
            hi_ns: own.hi_ns.map(|hi| hi - hi.min(ns)),
        };
        self.charges.retain(|c| !is_own(c));
        self.charge(Cause::Service, Direction::ToServer, served);
        let cause = match has_queue {
            true => Cause::Queue,
            false => Cause::Dispatch,
        };
        self.charge(cause, Direction::ToServer, waited);
    }

    /// While the server had the request, calls of its own were under way for so long: while it worked on this one alone, and
    /// while it worked on several. They are parts of what it took, or of its silence.
    pub fn wait_downstream(&mut self, alone_ns: i64, shared_ns: i64) {
        let mut parts = Vec::new();
        let mut left = [
            (Cause::Downstream, alone_ns.max(0)),
            (Cause::DownstreamShared, shared_ns.max(0)),
        ];
        for own in [Cause::Stall, Cause::Service] {
            for c in self.charges.iter_mut().filter(|c| c.cause == own) {
                for (cause, left_ns) in &mut left {
                    let part = Bounds {
                        lo_ns: c.ns.lo_ns.min(*left_ns),
                        hi_ns: Some(c.ns.hi_ns.map_or(*left_ns, |hi| hi.min(*left_ns))),
                    };
                    let part_hi_ns = part.hi_ns.unwrap_or(part.lo_ns);
                    c.ns.lo_ns -= part.lo_ns;
                    c.ns.hi_ns = c.ns.hi_ns.map(|hi| hi - part_hi_ns);
                    *left_ns -= part_hi_ns;
                    parts.push((*cause, part));
                }
            }
        }
        self.charges.retain(|c| c.ns.hi_ns != Some(0));
        for (cause, part) in parts {
            self.charge(cause, Direction::ToServer, part);
        }
    }

    /// What looks like the server's own time, it may have waited for its reader: how large a window was, of
    /// which only that it closed is known, nobody can tell.
    pub fn doubt_reading(&mut self) {
        let mut most = Bounds::exactly(0);
        for c in self
            .charges
            .iter_mut()
            .filter(|c| Cause::OF_SERVER.contains(&c.cause))
        {
            c.ns.lo_ns = 0;
            most = most.plus(c.ns);
        }
        self.charge(Cause::NotReading, Direction::ToClient, most);
    }

    /// What looks like the server's work, its TCP may have waited with the answer.
    fn doubt_sending(&mut self) {
        let mut most = Bounds::exactly(0);
        let own = self.charges.iter_mut();
        for c in own.filter(|c| matches!(c.cause, Cause::Service | Cause::Queue)) {
            c.ns.lo_ns = 0;
            most = most.plus(c.ns);
        }
        self.charge(Cause::Unknown, Direction::ToServer, most);
    }

    #[must_use]
    pub fn charges(&self) -> &[Charge] {
        &self.charges
    }

    /// Its lines, each place, side and cause once, in their order.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::with_capacity(self.charges.len());
        for c in &self.charges {
            let (place, side) = c.cause.of(c.direction);
            let same = |l: &&mut Line| (l.place, l.side, l.cause) == (place, side, c.cause);
            match lines.iter_mut().find(same) {
                Some(line) => line.ns = line.ns.plus(c.ns),
                None => lines.push(Line {
                    place,
                    side,
                    cause: c.cause,
                    ns: c.ns,
                }),
            }
        }
        lines.sort_by_key(|l| (l.place, l.side, l.cause));
        lines
    }

    /// Whose doing most of it was, wherever in its bounds the truth lies: what is certain of a side is more than
    /// all that may be any other's. What nobody knows may be another's. With less evidence it can only be lost.
    #[must_use]
    pub fn side(&self) -> Option<Place> {
        let lines = self.lines();
        let of = |side: Place| {
            let own = lines.iter().filter(|l| l.side == side);
            own.fold(Bounds::exactly(0), |sum, l| sum.plus(l.ns))
        };
        let outweighs = |side: Place, other: Place| {
            let most = of(other).plus(of(Place::Unknown));
            most.hi_ns.is_some_and(|most| of(side).lo_ns > most)
        };
        let sides = [Place::Client, Place::Network, Place::Server];
        let is_most = |&side: &Place| sides.iter().all(|&o| o == side || outweighs(side, o));
        sides.into_iter().find(is_most)
    }
}
