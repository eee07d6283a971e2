//! What TCP held a call up for: nanoseconds by the direction that did not flow and by the kind of
//! stretch.

use crate::Cause;
use model::{Direction, EpisodeKind};
use std::ops::{AddAssign, Index, IndexMut};

/// Something for each kind of episode.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct PerKind<T>([T; EpisodeKind::COUNT]);

impl<T> PerKind<T> {
    pub fn iter(&self) -> impl Iterator<Item = (EpisodeKind, &T)> {
        EpisodeKind::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<EpisodeKind> for PerKind<T> {
    type Output = T;

    fn index(&self, kind: EpisodeKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<EpisodeKind> for PerKind<T> {
    fn index_mut(&mut self, kind: EpisodeKind) -> &mut T {
        &mut self.0[kind as usize]
    }
}

/// Nanoseconds that calls were held up, by the direction that did not flow and by kind.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Held([PerKind<i64>; 2]);

impl Held {
    #[must_use]
    pub fn of(&self, d: Direction) -> &PerKind<i64> {
        &self.0[d.index()]
    }

    /// In all, in this direction.
    #[must_use]
    pub fn sum(&self, d: Direction) -> i64 {
        if self.is_free(d) {
            return 0;
        }
        let each = self.of(d).iter().map(|(_, ns)| *ns);
        each.fold(0, i64::saturating_add)
    }

    /// Whether nothing was, in this direction, as mostly: asked so often that it is one look at all bits.
    #[must_use]
    pub fn is_free(&self, d: Direction) -> bool {
        let PerKind(all) = self.of(d);
        all.iter().fold(0, |bits, ns| bits | ns) == 0
    }

    /// Whether nothing was at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.is_free(Direction::ToServer) && self.is_free(Direction::ToClient)
    }

    /// As much of it as there is in `left`, which it is taken from.
    #[must_use]
    pub fn take_from(&self, left: &mut i64) -> Held {
        let mut taken = *self;
        for ns in taken.0.iter_mut().flat_map(|kinds| &mut kinds.0) {
            *ns = (*ns).clamp(0, (*left).max(0));
            *left -= *ns;
        }
        taken
    }

    /// Only that of one direction.
    #[must_use]
    pub fn only(mut self, d: Direction) -> Held {
        self.0[d.reverse().index()] = PerKind::default();
        self
    }

    /// Only what no loss does: closed windows, and silences with nothing in flight.
    #[must_use]
    pub fn beside_loss(mut self) -> Held {
        const BESIDE: [EpisodeKind; 4] = [
            EpisodeKind::ZeroWindow,
            EpisodeKind::ClosingWindow,
            EpisodeKind::SenderPause,
            EpisodeKind::SenderSilence,
        ];
        for kinds in &mut self.0 {
            for kind in EpisodeKind::ALL.into_iter().filter(|k| !BESIDE.contains(k)) {
                kinds[kind] = 0;
            }
        }
        self
    }

    pub fn add(&mut self, d: Direction, kind: EpisodeKind, ns: i64) {
        let held = &mut self.0[d.index()][kind];
        *held = held.saturating_add(ns.max(0));
    }
}

impl AddAssign for Held {
    fn add_assign(&mut self, other: Held) {
        for d in [Direction::ToServer, Direction::ToClient] {
            for (kind, ns) in other.of(d).iter() {
                self.add(d, kind, *ns);
            }
        }
    }
}

/// What held a call up while its messages passed, and while it waited for its answer.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct HeldUp {
    pub passing: Held,
    pub waiting: Held,
}

impl HeldUp {
    /// Whether nothing did.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.passing.is_none() && self.waiting.is_none()
    }
}

impl Cause {
    /// What a stretch of this kind is charged to.
    #[must_use]
    pub fn of_episode(kind: EpisodeKind) -> Cause {
        match kind {
            EpisodeKind::Recovery => Cause::Loss,
            EpisodeKind::ZeroWindow | EpisodeKind::ClosingWindow => Cause::NotReading,
            EpisodeKind::SmallWindow => Cause::SmallWindow,
            EpisodeKind::NagleDelayedAck => Cause::NagleDelayedAck,
            EpisodeKind::DelayedAck => Cause::DelayedAck,
            EpisodeKind::SenderPause | EpisodeKind::SenderSilence => Cause::NotWriting,
        }
    }
}
