//! Where sessions put what they find.

use model::sqlnet::SqlNetPacket;
use model::{Call, ConnectionId, FileName, Naming, Outcome, Outstanding, Time};

/// What is looked at of what is found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Wanted {
    /// Only how many calls there are; those with both halves need not be made
    /// ([`Output::complete`]).
    Counts,
    /// Only the calls, not how many are outstanding.
    Calls,
    #[default]
    Everything,
}

/// What one thread's sessions have found since it was last emptied, in the order of the packets that
/// completed it.
#[derive(Default, Debug)]
pub struct Output {
    pub calls: Vec<Call>,
    pub outstanding: Vec<Outstanding>,
    pub wanted: Wanted,
    /// Whether calls are to have the names of files in their text.
    pub names: bool,
    /// What was said of files' names, where that is wanted.
    pub file_names: Option<Vec<FileName>>,
    /// Packets of SQL*Net as each has passed, where they are wanted.
    pub packets: Option<Vec<SqlNetPacket>>,
    /// Calls with both halves that were counted and not made.
    pub complete: u64,
    /// The server sends a log from here on, which nobody answers message by message.
    pub copies: bool,
    /// Of a connection that is closed, when requests were sent that had no answer and are no calls yet, as they may be sent again on
    /// another.
    pub left: Vec<Time>,
}

impl Output {
    /// Adds the call that `make` makes, built where it stays: moving it there takes as long as making
    /// it.
    #[inline]
    pub(crate) fn call(&mut self, make: impl FnOnce() -> Call) {
        self.calls.extend(std::iter::once_with(make));
    }

    /// Adds what the packet with this order said of files' names; `read` is only asked where that is wanted.
    pub(crate) fn name_files<R>(
        &mut self,
        (order, connection): (u64, ConnectionId),
        read: impl FnOnce(&mut dyn FnMut(Naming)) -> R,
    ) -> Option<R> {
        let names = self.file_names.as_mut()?;
        Some(read(&mut |naming| {
            names.push(FileName {
                order,
                connection,
                naming,
            });
        }))
    }

    /// Counts a call that ended so, if that is all anybody wants of it.
    #[inline]
    pub(crate) fn counts(&mut self, outcome: Outcome) -> bool {
        let counts = self.wanted == Wanted::Counts && outcome.reason().is_none();
        self.complete += u64::from(counts);
        counts
    }

    /// Adds a change in the number of outstanding calls, if anybody wants it.
    #[inline]
    pub fn change(&mut self, make: impl FnOnce() -> Outstanding) {
        if self.wanted == Wanted::Everything {
            self.outstanding.push(make());
        }
    }
}
