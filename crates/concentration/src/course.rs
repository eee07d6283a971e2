//! Calls and cost over time, in cells whose width doubles as the capture grows, so that a capture
//! of a second and one of a day take the same room.

use crate::alike::Alike;

/// Cells of the whole, of which half at least are in use: a moment is told to a 500th of the
/// capture.
pub(crate) const CELLS: usize = 1_024;

/// Cells that make a block, of which there are 32 to 64: what a value's own course is kept in.
pub(crate) const BLOCK: usize = 16;

/// Calls, and what they cost.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cell {
    pub(crate) calls: u64,
    pub(crate) cost_ns: u64,
}

impl Cell {
    pub(crate) fn mean_ns(self) -> f64 {
        if self.calls == 0 {
            0.0
        } else {
            self.cost_ns as f64 / self.calls as f64
        }
    }

    pub(crate) fn with(self, other: Cell) -> Cell {
        Cell {
            calls: self.calls + other.calls,
            cost_ns: self.cost_ns.saturating_add(other.cost_ns),
        }
    }

    pub(crate) fn without(self, other: Cell) -> Cell {
        Cell {
            calls: self.calls.saturating_sub(other.calls),
            cost_ns: self.cost_ns.saturating_sub(other.cost_ns),
        }
    }

    pub(crate) fn share_of(self, whole: Cell) -> f64 {
        self.cost_ns as f64 / whole.cost_ns.max(1) as f64
    }

    pub(crate) fn sum<'a>(cells: impl IntoIterator<Item = &'a Cell>) -> Cell {
        cells
            .into_iter()
            .fold(Cell::default(), |sum, cell| sum.with(*cell))
    }
}

/// Which cell a moment is in.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Clock {
    start_ns: Option<i64>,
    doubled: u32,
}

impl Clock {
    /// A capture of a millisecond is told to the microsecond.
    const FIRST_WIDTH_BITS: u32 = 10;

    /// The cell of a moment, which may be beyond the last one. What is earlier than the first call
    /// told of is in the first cell.
    pub(crate) fn cell(&mut self, at_ns: i64) -> usize {
        let start_ns = *self.start_ns.get_or_insert(at_ns);
        self.since(start_ns, at_ns)
    }

    pub(crate) fn cell_of(&self, at_ns: i64) -> usize {
        self.since(self.start_ns.unwrap_or(at_ns), at_ns)
    }

    fn since(&self, start_ns: i64, at_ns: i64) -> usize {
        let after_ns = at_ns.saturating_sub(start_ns).max(0).unsigned_abs();
        usize::try_from(after_ns >> (Self::FIRST_WIDTH_BITS + self.doubled)).unwrap_or(usize::MAX)
    }

    /// When a cell begins.
    pub(crate) fn begin_ns(&self, cell: usize) -> i64 {
        let after_ns = (cell as i64).saturating_mul(1 << (Self::FIRST_WIDTH_BITS + self.doubled));
        self.start_ns.unwrap_or_default().saturating_add(after_ns)
    }

    pub(crate) fn double(&mut self) {
        self.doubled += 1;
    }
}

/// What is counted in each cell (or block), from the first one with a call: a row of calls, then
/// the cost of each account.
#[derive(Clone, Default, Debug)]
pub(crate) struct Course {
    first: usize,
    rows: Vec<u64>,
}

impl Course {
    /// Calls of a block.
    pub(crate) fn add_all(&mut self, calls: &Alike, accounts: usize) {
        let [count, costs @ ..] = self.row(calls.block, accounts) else {
            return;
        };
        *count += calls.calls;
        for (sum, ns) in costs.iter_mut().zip(&calls.costs) {
            *sum = sum.saturating_add(*ns);
        }
    }

    /// A cell's.
    #[inline]
    pub(crate) fn row(&mut self, cell: usize, accounts: usize) -> &mut [u64] {
        let width = accounts + 1;
        let known = cell.checked_sub(self.first).map(|after| after * width);
        let from = match known {
            Some(from) if from + width <= self.rows.len() => from,
            _ => self.reach(cell, width),
        };
        &mut self.rows[from..from + width]
    }

    /// Makes rows up to a cell, or down to it, and says where its row is.
    #[cold]
    fn reach(&mut self, cell: usize, width: usize) -> usize {
        if self.rows.is_empty() {
            self.first = cell;
        }
        if cell < self.first {
            let missing = (self.first - cell) * width;
            self.rows.splice(..0, std::iter::repeat_n(0, missing));
            self.first = cell;
        }
        let from = (cell - self.first) * width;
        if self.rows.len() < from + width {
            self.rows.resize(from + width, 0);
        }
        from
    }

    /// Each two cells become one, where they are.
    pub(crate) fn halve(&mut self, accounts: usize) {
        let width = accounts + 1;
        let first = self.first / 2;
        let mut end = 0;
        for at in 0..self.rows.len() / width {
            let cell = self.first + at;
            let into = (cell / 2 - first) * width;
            let is_second = cell % 2 == 1 && at > 0;
            for (sum, new) in (into..into + width).zip(at * width..) {
                let new = self.rows[new];
                let sum = &mut self.rows[sum];
                *sum = if is_second {
                    sum.saturating_add(new)
                } else {
                    new
                };
            }
            end = into + width;
        }
        self.rows.truncate(end);
        self.first = first;
    }

    /// The cost of some accounts together, cell by cell from the capture's first.
    pub(crate) fn of<'a>(
        &'a self,
        accounts: usize,
        chosen: &'a [usize],
    ) -> impl Iterator<Item = Cell> + 'a {
        let rows = self.rows.chunks_exact(accounts + 1).map(|row| {
            let costs = chosen
                .iter()
                .filter_map(|account| row.get(account.saturating_add(1)));
            Cell {
                calls: row[0],
                cost_ns: costs.fold(0, |sum: u64, cost| sum.saturating_add(*cost)),
            }
        });
        std::iter::repeat_n(Cell::default(), self.first).chain(rows)
    }
}
