//! Where sessions put what they find.

use model::{Call, Outstanding};

/// What is looked at of what is found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Wanted {
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
}

impl Output {
    /// Adds the call that `make` makes, built where it stays: moving it there takes as long as making
    /// it.
    #[inline]
    pub(crate) fn call(&mut self, make: impl FnOnce() -> Call) {
        self.calls.extend(std::iter::once_with(make));
    }

    /// Adds a change in the number of outstanding calls, if anybody wants it.
    #[inline]
    pub fn change(&mut self, make: impl FnOnce() -> Outstanding) {
        if self.wanted == Wanted::Everything {
            self.outstanding.push(make());
        }
    }
}
