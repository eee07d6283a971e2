//! Connections that are quiet while many others are open: packed into an eighth of the memory, and
//! unpacked when their next segment comes.
//!
//! It cannot be seen from outside: what comes out of the bytes is what went in, so that it does not
//! matter when a connection rests, or how many do. The first thousand never do. Of more, those rest
//! that have been silent for a while, looked at in the order in which they woke (second chance), and
//! where memory does not suffice for all that are busy, those that were not used since they were
//! looked at last.

use super::SECOND;
use super::attic::{Attic, Place};
use super::entry::{Body, Patience, Udp};
use super::tcp::Tcp;
use crate::Handler;
use model::{ConnectionId, Problems, Time, Transport, Where};
use std::collections::VecDeque;

/// So many connections of a thread are never packed.
const LEAST_AWAKE: usize = 1_024;
/// What a connection takes up while it is awake, beyond what it weighs.
const AWAKE_BYTES: u64 = 6 << 10;
/// After so long without a segment a connection is quiet. To pack and unpack it takes some 30 us, so that those of
/// a pool that each come back sooner would cost more in this way than in all others.
const QUIET_NS: i64 = 10 * SECOND;
/// How many are looked at when one more wakes. More than one, so that those which may not rest do not
/// keep others awake.
const LOOKED_AT: usize = 4;

/// A connection's [`Tcp`] or [`Udp`], with what the handler keeps of it.
#[derive(Debug)]
pub(super) struct Resting {
    pub place: Place,
    /// Known without unpacking, as time passes for those who rest.
    pub patience: Patience,
}

impl Resting {
    /// `None` where something is under way that is not worth packing.
    pub(super) fn of<H: Handler>(
        body: &Body,
        state: &mut H::State,
        handler: &mut H,
        attic: &mut Attic,
    ) -> Option<Resting> {
        let patience = match body {
            Body::Tcp(tcp) if tcp.may_rest() => tcp.patience(),
            Body::Udp(_) => Patience::Udp,
            Body::Tcp(_) | Body::Resting(_) => return None,
        };
        let kept = handler.rest(state);
        let place = match body {
            Body::Tcp(tcp) => attic.put(&(tcp, &kept)),
            Body::Udp(udp) => attic.put(&(udp, &kept)),
            Body::Resting(_) => None,
        };
        if place.is_none() {
            handler.wake(state, kept);
        }
        place.map(|place| Resting { place, patience })
    }

    #[cold]
    pub(super) fn wake<H: Handler>(
        &self,
        transport: Transport,
        state: &mut H::State,
        handler: &mut H,
        attic: &mut Attic,
        problems: &mut Problems,
    ) -> Body {
        let woken = match transport {
            Transport::Tcp => attic
                .take::<(Box<Tcp>, H::Rest)>(&self.place)
                .map(|(tcp, kept)| (Body::Tcp(tcp), kept)),
            Transport::Udp => attic
                .take::<(Box<Udp>, H::Rest)>(&self.place)
                .map(|(udp, kept)| (Body::Udp(udp), kept)),
        };
        if let Some((body, kept)) = woken {
            handler.wake(state, kept);
            return body;
        }
        // It cannot be; if it is, the connection goes on as if the capture began here.
        let example = || ("a connection was not woken".to_owned(), Where::default());
        problems.damage("internal-error", example);
        match transport {
            Transport::Tcp => Body::Tcp(Box::default()),
            Transport::Udp => Body::Udp(Box::default()),
        }
    }
}

/// Whether a connection that was looked at is awake.
pub(super) enum Looked {
    Awake,
    /// It rests, or is over.
    Gone,
}

/// The connections that are awake, by hash and name; those that are over among them.
#[derive(Debug)]
pub(super) struct Awake {
    connections: VecDeque<(u64, ConnectionId)>,
    least: usize,
    most: usize,
}

impl Default for Awake {
    fn default() -> Awake {
        Awake {
            connections: VecDeque::new(),
            least: LEAST_AWAKE,
            most: usize::MAX,
        }
    }
}

impl Awake {
    /// That lets everything rest as soon as it can.
    #[cfg(test)]
    pub(super) fn as_few_as_can_be() -> Awake {
        Awake {
            least: 0,
            most: 0,
            ..Awake::default()
        }
    }

    /// So many bytes are left for those that are awake.
    pub(super) fn have(&mut self, bytes: u64) {
        self.most = ((bytes / AWAKE_BYTES) as usize).max(self.least);
    }

    /// One more is. Lets others rest while they are too many: `look` is told whether one that was not
    /// used is to rest though it is not [quiet](is_quiet).
    pub(super) fn add(
        &mut self,
        one: (u64, ConnectionId),
        mut look: impl FnMut((u64, ConnectionId), bool) -> Looked,
    ) {
        self.connections.push_back(one);
        for _ in 0..LOOKED_AT {
            if self.connections.len() <= self.least {
                return;
            }
            let too_many = self.connections.len() > self.most;
            if let Some(oldest) = self.connections.pop_front()
                && let Looked::Awake = look(oldest, too_many)
            {
                self.connections.push_back(oldest);
            }
        }
    }
}

pub(super) fn is_quiet(last: Time, now: Time) -> bool {
    now - last >= QUIET_NS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of 5,000 that are all busy are still awake behind the last.
    fn awake_of_busy(bytes: u64) -> usize {
        let mut awake = Awake::default();
        awake.have(bytes);
        for i in 0..5_000 {
            awake.add((i, ConnectionId(i)), |_, too_many| match too_many {
                true => Looked::Gone,
                false => Looked::Awake,
            });
        }
        awake.connections.len()
    }

    #[test]
    fn as_many_are_awake_as_there_is_memory_for() {
        assert_eq!(awake_of_busy(u64::MAX), 5_000);
        assert_eq!(awake_of_busy(3_000 * AWAKE_BYTES), 3_000);
        assert_eq!(awake_of_busy(0), LEAST_AWAKE);
    }
}
