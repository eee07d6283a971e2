//! Calls by the time at which they were sent and by their response time.

use super::columns::Columns;
use hashbrown::HashMap;
use model::Time;

/// Response times below this share a row.
const LOWEST_NS: i64 = 1_024;

/// Rows per power of two, as a power of two.
const ROWS: u32 = 2;

/// A heat map in the making; merges in any order to the same.
#[derive(Clone, Default, Debug)]
pub struct HeatMap {
    columns: Columns,
    cells: HashMap<(i64, u16), u64, foldhash::fast::FixedState>,
}

/// A heat map: only cells that hold calls, by column and row.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Heat {
    /// Where the first column begins.
    pub first: Time,
    pub width_ns: i64,
    pub columns: u64,
    /// Upper bound of each row, ascending.
    pub upper_ns: Vec<i64>,
    /// Column, row, calls.
    pub cells: Vec<(u64, u64, u64)>,
}

fn row(ns: i64) -> u16 {
    let ns = ns.max(LOWEST_NS) as u64;
    let power = 63 - ns.leading_zeros();
    let within = (ns >> (power - ROWS)) & ((1 << ROWS) - 1);
    ((power << ROWS) as u64 + within) as u16
}

/// What a row's response times stay below.
fn upper(row: u16) -> i64 {
    let (power, within) = (u32::from(row) >> ROWS, i64::from(row) & ((1 << ROWS) - 1));
    ((1 << ROWS) + within + 1).saturating_mul(1 << power.saturating_sub(ROWS))
}

impl HeatMap {
    /// Takes a call that was sent at `time` and took `ns`.
    pub fn add(&mut self, time: Time, ns: i64) {
        let joined = self.columns.reach(time);
        self.join(joined);
        *self
            .cells
            .entry((self.columns.column(time), row(ns)))
            .or_default() += 1;
    }

    fn join(&mut self, joined: u32) {
        if joined == 0 {
            return;
        }
        for ((column, row), calls) in std::mem::take(&mut self.cells) {
            *self.cells.entry((column >> joined, row)).or_default() += calls;
        }
    }

    /// Adds another map's calls.
    pub fn merge(&mut self, other: &HeatMap) {
        let (mut narrow, mut wide) = (other.clone(), std::mem::take(self));
        if narrow.columns.width_ns() > wide.columns.width_ns() {
            std::mem::swap(&mut narrow, &mut wide);
        }
        let joined = narrow.columns.widen(&wide.columns);
        narrow.join(joined);
        let ends = narrow.columns.range().map(|(a, b)| [a, b]);
        for column in ends.into_iter().flatten() {
            // A column that began as wide as these holds this moment whatever it was joined to since.
            let joined = wide.columns.reach(narrow.columns.start(column));
            wide.join(joined);
        }
        let joined = narrow.columns.widen(&wide.columns);
        narrow.join(joined);
        for (cell, calls) in narrow.cells {
            *wide.cells.entry(cell).or_default() += calls;
        }
        *self = wide;
    }

    #[must_use]
    pub fn finish(&self) -> Heat {
        let rows = || self.cells.keys().map(|(_, row)| *row);
        let (Some((first, last)), Some(low), Some(high)) =
            (self.columns.range(), rows().min(), rows().max())
        else {
            return Heat::default();
        };
        let place = |(column, row): (i64, u16)| ((column - first) as u64, u64::from(row - low));
        let mut cells: Vec<_> = self
            .cells
            .iter()
            .map(|(cell, calls)| (place(*cell).0, place(*cell).1, *calls))
            .collect();
        cells.sort_unstable();
        Heat {
            first: self.columns.start(first),
            width_ns: self.columns.width_ns(),
            columns: (last - first + 1) as u64,
            upper_ns: (low..=high).map(upper).collect(),
            cells,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::COLUMNS;
    use super::*;
    use proptest::prelude::*;

    fn of(calls: &[(i64, i64)]) -> HeatMap {
        let mut map = HeatMap::default();
        calls.iter().for_each(|(t, ns)| map.add(Time(*t), *ns));
        map
    }

    #[test]
    fn a_row_s_bound_is_the_next_row_s_first_value() {
        for r in row(0)..row(i64::MAX) {
            assert_eq!(row(upper(r)), r + 1);
            assert_eq!(row(upper(r) - 1), r);
        }
    }

    #[test]
    fn cells_hold_their_calls() {
        let heat = of(&[(0, 5_000), (10_000, 5_000), (10_400, 9_000)]).finish();
        assert_eq!(
            (heat.first, heat.width_ns, heat.columns),
            (Time(0), 1_000, 11)
        );
        assert_eq!(heat.cells, [(0, 0, 1), (10, 0, 1), (10, 4, 1)]);
        assert_eq!(heat.upper_ns, [5_120, 6_144, 7_168, 8_192, 10_240]);
    }

    proptest! {
        #[test]
        fn any_order_and_any_division_give_the_same(
            calls in prop::collection::vec((0i64..1 << 44, 0i64..1 << 40), 0..200),
            offset in -(1i64 << 50)..1 << 60,
            at in 0usize..200,
        ) {
            let calls: Vec<_> = calls.into_iter().map(|(t, ns)| (t + offset, ns)).collect();
            let whole = of(&calls);
            let (a, b) = calls.split_at(at.min(calls.len()));
            let mut merged = of(b);
            merged.merge(&of(a));
            prop_assert_eq!(whole.finish(), merged.finish());
            prop_assert!(whole.finish().columns <= COLUMNS as u64);
            prop_assert_eq!(whole.finish().cells.iter().map(|c| c.2).sum::<u64>(), calls.len() as u64);
            let backwards: Vec<_> = calls.iter().rev().copied().collect();
            prop_assert_eq!(whole.finish(), of(&backwards).finish());
        }

        #[test]
        fn all_of_time_has_columns(times in prop::collection::vec(any::<i64>(), 1..20)) {
            let calls: Vec<_> = times.into_iter().map(|t| (t, 1)).collect();
            let heat = of(&calls).finish();
            prop_assert!(heat.columns <= COLUMNS as u64);
        }
    }
}
