//! Where sessions put what they find.

use model::{Call, Outstanding};

/// What one thread's sessions have found since it was last emptied, in the order of the packets that
/// completed it.
#[derive(Default, Debug)]
pub struct Output {
    pub calls: Vec<Call>,
    pub outstanding: Vec<Outstanding>,
}

impl Output {
    /// Adds the call that `make` makes, built where it stays: moving it there takes as long as making
    /// it.
    #[inline]
    pub(crate) fn call(&mut self, make: impl FnOnce() -> Call) {
        self.calls.extend(std::iter::once_with(make));
    }
}
