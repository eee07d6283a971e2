//! Moments into columns of one width, which doubles when there would be too many.
//!
//! A column begins at a multiple of its width since the epoch, so that two neighbors join into one of
//! the next width, and the columns of a set of moments are the same in whatever order they come.

use model::Time;

/// Columns at most: as many as a chart on a screen can show.
pub(super) const COLUMNS: i64 = 240;

/// The narrowest column.
const NARROWEST_NS: i64 = 1_000;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Columns {
    /// How often the width was doubled.
    doubled: u32,
    /// First and last column in use.
    range: Option<(i64, i64)>,
}

impl Columns {
    /// Makes room for a moment, and says how often all columns were joined in pairs to that end: what
    /// stood in column i now stands in column i / 2.
    pub(super) fn reach(&mut self, time: Time) -> u32 {
        let at = self.column(time);
        let (first, last) = self.range.unwrap_or((at, at));
        let (mut first, mut last) = (first.min(at), last.max(at));
        let mut joined = 0;
        while last - first >= COLUMNS {
            first >>= 1;
            last >>= 1;
            joined += 1;
        }
        self.doubled += joined;
        self.range = Some((first, last));
        joined
    }

    pub(super) fn column(&self, time: Time) -> i64 {
        time.0.div_euclid(NARROWEST_NS) >> self.doubled
    }

    pub(super) fn width_ns(&self) -> i64 {
        // All of time fits into columns of 2^57 ns.
        NARROWEST_NS << self.doubled.min(50)
    }

    /// When a column begins.
    pub(super) fn start(&self, column: i64) -> Time {
        Time(column.saturating_mul(self.width_ns()))
    }

    pub(super) fn range(&self) -> Option<(i64, i64)> {
        self.range
    }

    /// Joins columns until they are as wide as the other's.
    pub(super) fn widen(&mut self, other: &Columns) -> u32 {
        let joined = other.doubled.saturating_sub(self.doubled);
        self.doubled += joined;
        self.range = self.range.map(|(a, b)| (a >> joined, b >> joined));
        joined
    }
}
