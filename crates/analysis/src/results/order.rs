//! In which order a list is shown, and how much of it.

/// What `--sort` and `--top` ask for.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Order {
    /// The column to sort by; without one the list stays in its own order.
    pub by: Option<String>,
    /// How many rows, from the first.
    pub top: Option<usize>,
}

impl Order {
    /// How many of `all` rows are listed.
    #[must_use]
    pub fn listed(&self, all: usize) -> usize {
        self.top.map_or(all, |top| top.min(all))
    }
}
