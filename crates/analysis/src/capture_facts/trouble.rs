//! What connections went through, as stretches of time that calls are held against, and when they showed that the capture
//! lacks bytes: remembered for as long as a call may come that overlaps them, and where there are too many of all
//! connections, the last of each.

use crate::waits::Times;
use hashbrown::HashMap;
use model::{ConnectionId, Direction, EpisodeKind, Mark, Time, limits};
use std::collections::{VecDeque, vec_deque};

/// A stretch of trouble of one connection, on this capture's clock.
#[derive(Clone, Copy, Debug)]
pub struct Trouble {
    pub first: Time,
    pub last: Time,
    /// When the receiver first acknowledged any of it.
    pub heard: Time,
    pub first_mark: Mark,
    pub last_mark: Mark,
    pub direction: Direction,
    pub kind: EpisodeKind,
    pub retransmissions: u32,
    pub timeouts: u32,
    pub spurious: bool,
    /// The capture holds all of it twice.
    pub came_twice: bool,
    /// The same, and what would tell that nothing was lost was cut off: nothing was lost before
    /// the capture.
    pub arrived: bool,
    /// Bytes that the window offered while it was full.
    pub window: u64,
    /// When something was sent again for the last time, as far as is told: what came behind is no loss for certain.
    pub resent: Time,
    /// How long in it nothing flowed: all of it, but in a run of stretches with bursts between them.
    pub ns: i64,
    /// When the first of it and what its connection went through later began, and the last of it and what came before was
    /// over: they are told as they end, which is no order of their beginnings.
    pub since: Time,
    pub until: Time,
}

impl Trouble {
    /// Whether something was lost and sent again, and not only sent again.
    #[must_use]
    pub(crate) fn is_loss(&self) -> bool {
        self.kind == EpisodeKind::Recovery && !self.spurious
    }

    /// Takes in the next stretch of a run: there are as many as round trips.
    fn joins(&mut self, next: &Trouble) -> bool {
        let windows = [
            EpisodeKind::ClosingWindow,
            EpisodeKind::SmallWindow,
            EpisodeKind::QueuedWindow,
        ];
        let goes_on = windows.contains(&self.kind)
            && (self.kind, self.direction) == (next.kind, next.direction)
            && (0..=BURST_NS).contains(&(next.first - self.last));
        if goes_on {
            (self.last, self.last_mark) = (next.last, next.last_mark);
            self.until = self.until.max(next.last);
            self.ns = self.ns.saturating_add(next.ns);
        }
        goes_on
    }

    /// Whether any of it lies in a stretch of time.
    pub(crate) fn overlaps(&self, from: Time, to: Time) -> bool {
        self.first <= to && self.last >= from
    }

    /// How much of a stretch of time nothing flowed.
    pub(crate) fn overlap_ns(&self, from: Time, to: Time) -> i64 {
        let overlap = (self.last.min(to) - self.first.max(from)).max(0);
        let length = (self.last - self.first).max(1);
        match self.ns >= length {
            true => overlap,
            false => (i128::from(overlap) * i128::from(self.ns) / i128::from(length)) as i64,
        }
    }
}

/// What a sender sends between two stretches in which a window holds it up takes no longer.
pub const BURST_NS: i64 = 2_000_000;

/// What is remembered by connection, in the order in which it was told.
pub(super) struct Lists<T> {
    lists: HashMap<ConnectionId, VecDeque<T>, foldhash::fast::FixedState>,
    /// In all lists.
    remembered: usize,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists {
            lists: HashMap::default(),
            remembered: 0,
        }
    }
}

impl<T> Lists<T> {
    fn of(&mut self, connection: ConnectionId) -> &mut VecDeque<T> {
        self.lists.entry(connection).or_default()
    }

    /// What is remembered of a connection, if there is anything.
    pub(super) fn list(&self, connection: ConnectionId) -> Option<&VecDeque<T>> {
        self.lists.get(&connection)
    }

    pub(super) fn push(&mut self, connection: ConnectionId, one: T) {
        self.remembered += 1;
        let most = match self.remembered > limits::TROUBLES {
            true => limits::EPISODES,
            false => limits::BUSY_EPISODES,
        };
        let list = self.of(connection);
        list.push_back(one);
        let over = list.len().saturating_sub(most);
        list.drain(..over);
        self.remembered -= over;
    }

    /// Forgets connections of which nothing was told lately, where there are too many.
    pub(super) fn forget(&mut self, is_late: impl Fn(&T) -> bool) {
        if self.lists.len() <= limits::TROUBLED_CONNECTIONS {
            return;
        }
        self.lists
            .retain(|_, list| list.back().is_some_and(&is_late));
        self.remembered = self.lists.values().map(VecDeque::len).sum();
    }
}

/// Moments at which packets showed that others are missing before them, in their order.
#[derive(Default)]
pub struct Holes(Lists<(Time, Direction)>);

impl Holes {
    pub(super) fn add(&mut self, connection: ConnectionId, at: (Time, Direction)) {
        self.0.push(connection, at);
        // Of two directions the one that showed first may be given up last.
        let list = self.0.of(connection);
        let before = list.partition_point(|(time, _)| *time <= at.0);
        if before + 1 < list.len() && list.pop_back().is_some() {
            list.insert(before, at);
        }
    }

    pub(crate) fn forget_before(&mut self, time: Time) {
        self.0.forget(|(at, _)| *at >= time);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.remembered == 0
    }

    fn within(
        &self,
        connection: ConnectionId,
        from: Time,
        to: Time,
    ) -> impl Iterator<Item = &(Time, Direction)> {
        let all = self.0.lists.get(&connection).into_iter().flatten().rev();
        let late = all.take_while(move |(at, _)| *at >= from);
        late.filter(move |(at, _)| *at <= to)
    }

    /// Whether what a call shows may be another's, where only their order tells calls apart: its answer, and what was asked
    /// next, may be in what is missing. Not where bytes of one side alone are, in the middle of what that said: the other was
    /// seen to say nothing meanwhile.
    #[must_use]
    pub(crate) fn may_hide_another(&self, connection: ConnectionId, call: &Times) -> bool {
        let mut all = self.within(connection, call.request_first, call.response_last);
        // The packet that shows it stands behind it.
        let is_within = |&(at, d): &(Time, Direction)| match d {
            Direction::ToServer => call.request_first < at && at <= call.request_last,
            Direction::ToClient => call.response_first < at && at <= call.response_last,
        };
        let Some(first) = all.next() else {
            return false;
        };
        !is_within(first) || all.any(|hole| hole.1 != first.1 || !is_within(hole))
    }

    /// Whether any of this connection lie between these moments, which are not long ago.
    #[must_use]
    pub fn lie_within(&self, connection: ConnectionId, from: Time, to: Time) -> bool {
        self.within(connection, from, to).next().is_some()
    }
}

/// Stretches of trouble, in the order in which they were over.
#[derive(Default)]
pub struct Troubles(Lists<Trouble>);

impl Troubles {
    /// Takes in a stretch that is over; whether it is one with the last.
    pub(super) fn add(&mut self, connection: ConnectionId, mut trouble: Trouble) -> bool {
        let list = self.0.of(connection);
        if list.back_mut().is_some_and(|last| last.joins(&trouble)) {
            return true;
        }
        if let Some(before) = list.back() {
            trouble.until = before.until.max(trouble.until);
        }
        let later = |t: &&mut Trouble| t.since > trouble.since;
        for before in list.iter_mut().rev().take_while(later) {
            before.since = trouble.since;
        }
        self.0.push(connection, trouble);
        false
    }

    pub(crate) fn forget_before(&mut self, time: Time) {
        self.0.forget(|t| t.last >= time);
    }

    /// All that is remembered of a connection.
    pub fn of(&self, connection: ConnectionId) -> impl Iterator<Item = &Trouble> {
        self.0.lists.get(&connection).into_iter().flatten()
    }

    /// Whether what a connection's server says went through nothing that is remembered; of one that went through much it is not
    /// looked up.
    #[must_use]
    pub fn is_quiet(&self, connection: ConnectionId) -> bool {
        const MANY: usize = 64;
        let mut all = self.of(connection);
        let is_of_client = |t: &Trouble| t.direction == Direction::ToServer;
        all.by_ref().take(MANY).all(is_of_client) && all.next().is_none()
    }

    /// Of so long from a moment on, how long a connection's client did not read.
    pub fn unread_ns(&self, connection: ConnectionId, from: Time, longer_ns: i64) -> i64 {
        let to = Time(from.0.saturating_add(longer_ns));
        let closed = (EpisodeKind::ZeroWindow, Direction::ToClient);
        let near = self.overlapping(connection, from, to);
        let unread = near.filter(|t| (t.kind, t.direction) == closed);
        unread.fold(0, |sum: i64, t| sum.saturating_add(t.overlap_ns(from, to)))
    }

    /// What a connection went through that overlaps a stretch of time: searched once, whatever it is cloned for.
    pub fn overlapping(
        &self,
        connection: ConnectionId,
        from: Time,
        to: Time,
    ) -> impl DoubleEndedIterator<Item = &Trouble> + Clone {
        let list = self.0.lists.get(&connection);
        let near = list.map_or_else(vec_deque::Iter::default, |list| {
            let begin = list.partition_point(|t| t.until < from);
            // As many are looked at as there are in it, mostly none.
            let within = list.range(begin..).take_while(|t| t.since <= to);
            list.range(begin..begin + within.count())
        });
        near.filter(move |t| t.overlaps(from, to))
    }
}
