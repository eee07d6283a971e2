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
pub struct Held {
    ns: [PerKind<i64>; 2],
    /// Which of them are not zero, a bit for each kind: nearly always none, and it is asked often.
    some: [u16; 2],
}

const _: () = assert!(EpisodeKind::COUNT <= u16::BITS as usize);

impl Held {
    #[must_use]
    pub fn of(&self, d: Direction) -> &PerKind<i64> {
        &self.ns[d.index()]
    }

    /// Those that are not zero, in the order of kinds.
    pub fn each(&self, d: Direction) -> impl Iterator<Item = (EpisodeKind, i64)> + Clone {
        let PerKind(all) = self.of(d);
        let mut left = self.some[d.index()];
        std::iter::from_fn(move || {
            let which = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            Some((*EpisodeKind::ALL.get(which)?, *all.get(which)?))
        })
    }

    /// In all, in this direction.
    #[must_use]
    pub fn sum(&self, d: Direction) -> i64 {
        self.each(d)
            .fold(0, |sum: i64, (_, ns)| sum.saturating_add(ns))
    }

    /// Whether nothing was, in this direction.
    #[must_use]
    pub fn is_free(&self, d: Direction) -> bool {
        self.some[d.index()] == 0
    }

    /// Whether nothing was at all.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.some == [0; 2]
    }

    /// As much of it as there is in `left`, which it is taken from.
    #[must_use]
    pub fn take_from(&self, left: &mut i64) -> Held {
        let mut taken = Held::default();
        for d in [Direction::ToServer, Direction::ToClient] {
            for (kind, ns) in self.each(d) {
                let ns = ns.clamp(0, (*left).max(0));
                *left -= ns;
                taken.add(d, kind, ns);
            }
        }
        taken
    }

    /// Only that of one direction.
    #[must_use]
    pub fn only(mut self, d: Direction) -> Held {
        self.clear(d.reverse());
        self
    }

    fn clear(&mut self, d: Direction) {
        self.ns[d.index()] = PerKind::default();
        self.some[d.index()] = 0;
    }

    /// Only what no loss does: closed windows, and silences with nothing in flight.
    #[must_use]
    pub fn beside_loss(self) -> Held {
        const BESIDE: [EpisodeKind; 4] = [
            EpisodeKind::ZeroWindow,
            EpisodeKind::ClosingWindow,
            EpisodeKind::SenderPause,
            EpisodeKind::SenderSilence,
        ];
        self.of_kinds(|kind| BESIDE.contains(&kind))
    }

    /// Only what no time stamps tell, which there are none of next to a sender.
    #[must_use]
    pub fn beside_stamps(self) -> Held {
        self.of_kinds(|kind| !kind.is_of_stamps())
    }

    fn of_kinds(self, is_one: impl Fn(EpisodeKind) -> bool) -> Held {
        let mut those = Held::default();
        for d in [Direction::ToServer, Direction::ToClient] {
            let own = self.each(d).filter(|(kind, _)| is_one(*kind));
            own.for_each(|(kind, ns)| those.add(d, kind, ns));
        }
        those
    }

    pub fn add(&mut self, d: Direction, kind: EpisodeKind, ns: i64) {
        if ns <= 0 {
            return;
        }
        let held = &mut self.ns[d.index()][kind];
        *held = held.saturating_add(ns);
        self.some[d.index()] |= 1 << kind as u8;
    }
}

impl AddAssign for Held {
    fn add_assign(&mut self, other: Held) {
        for d in [Direction::ToServer, Direction::ToClient] {
            for (kind, ns) in other.each(d) {
                self.add(d, kind, ns);
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

    /// What held a message up while it passed at its sender, with what its receiver's end shows of windows that were full: for
    /// so long it did not read.
    #[must_use]
    pub fn sent(&self, d: Direction, receiver: &HeldUp) -> Held {
        const UNREAD: [EpisodeKind; 2] = [EpisodeKind::ZeroWindow, EpisodeKind::ClosingWindow];
        let sent = self.passing.only(d);
        let unread = |held: &Held| -> i64 { UNREAD.iter().map(|k| held.of(d)[*k]).sum() };
        const FULL: [EpisodeKind; 2] = [EpisodeKind::SmallWindow, EpisodeKind::QueuedWindow];
        let [small, queued] = FULL.map(|kind| sent.of(d)[kind]);
        let more = (unread(&receiver.passing) - unread(&sent)).clamp(0, small + queued);
        let mut all = sent.of_kinds(|kind| !FULL.contains(&kind));
        // What its reader did not take at once waited for that; the rest of what was queued on the way.
        all.add(
            d,
            EpisodeKind::SmallWindow,
            small.min(small + queued - more),
        );
        all.add(d, EpisodeKind::ClosingWindow, more);
        all
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
            // The reader's, or a line's: its receiver's end shows which.
            EpisodeKind::QueuedWindow => Cause::Unknown,
            EpisodeKind::NagleDelayedAck => Cause::NagleDelayedAck,
            EpisodeKind::DelayedAck => Cause::DelayedAck,
            EpisodeKind::SenderPause | EpisodeKind::SenderSilence => Cause::NotWriting,
            EpisodeKind::Late | EpisodeKind::Kept => Cause::Path,
            EpisodeKind::Queued => Cause::Bandwidth,
            EpisodeKind::Unheard => Cause::Outage,
        }
    }
}
