//! Calls to a host that asks as well into how long calls of its own were under way meanwhile.
//!
//! Two sums go on for each host: how long it had a call of its own under way, and how long of that it worked on one
//! request alone. What the first grew by while a call was there is the most of it that may have waited for the host's
//! own calls; what the second did is the least, if these were for its work. So a call costs two looks at sums.

use hashbrown::HashMap;
use model::{Change, ConnectionId, Outstanding, limits};

/// How long of a time calls of a server's own were under way: at least while it worked on this one alone, and at most.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Beneath {
    pub lo_ns: i64,
    pub hi_ns: i64,
}

impl Beneath {
    /// A call of the host's own is under way for so long, and it works on one request alone or does not.
    pub(super) fn pass(&mut self, ns: i64, is_alone: bool) {
        self.hi_ns = self.hi_ns.saturating_add(ns);
        if is_alone {
            self.lo_ns = self.lo_ns.saturating_add(ns);
        }
    }

    pub(crate) fn add(&mut self, other: Beneath) {
        self.lo_ns = self.lo_ns.saturating_add(other.lo_ns);
        self.hi_ns = self.hi_ns.saturating_add(other.hi_ns);
    }

    /// Of so many, if there are any.
    pub(crate) fn mean(self, of: i64) -> Option<Beneath> {
        Some(Beneath {
            lo_ns: self.lo_ns.checked_div(of)?,
            hi_ns: self.hi_ns.checked_div(of)?,
        })
    }

    fn since(self, before: Beneath) -> Beneath {
        Beneath {
            lo_ns: self.lo_ns - before.lo_ns,
            hi_ns: self.hi_ns - before.hi_ns,
        }
    }
}

/// Calls that are followed, by their connection and id.
#[derive(Default)]
pub(super) struct Calls(HashMap<(ConnectionId, u32), State, foldhash::fast::FixedState>);

/// What a call's host has spent: until it was sent, or of a call that was answered, meanwhile.
#[derive(Clone, Copy)]
enum State {
    Sent(Beneath),
    Over(Beneath),
}

impl Calls {
    /// A call was sent or settled, and its host's sums are these.
    pub(super) fn change(&mut self, o: &Outstanding, sums: Beneath) {
        let key = (o.connection, o.id);
        if o.change == Change::Sent {
            self.make_room();
            self.0.insert(key, State::Sent(sums));
        } else if let Some(state) = self.0.get_mut(&key)
            && let State::Sent(before) = *state
        {
            *state = State::Over(sums.since(before));
        }
    }

    /// Those that nobody asked about go first; where too many are under way, none of them is told of.
    fn make_room(&mut self) {
        if self.0.len() < limits::TIER_CALLS {
            return;
        }
        self.0.retain(|_, state| matches!(state, State::Sent(_)));
        if self.0.len() > limits::TIER_CALLS / 2 {
            self.0.clear();
        }
    }

    /// What is known of a call that is over, once.
    pub(super) fn take(&mut self, key: (ConnectionId, u32)) -> Option<Beneath> {
        let State::Over(beneath) = *self.0.get(&key)? else {
            return None;
        };
        self.0.remove(&key);
        Some(beneath)
    }
}
