//! Calls outstanding at a server over time: the most, and the mean, of each column.

use super::columns::Columns;
use model::{Change, Outstanding, Time};
use std::collections::VecDeque;

#[derive(Clone, Copy, Default, Debug)]
struct Column {
    most: u32,
    /// Calls × nanoseconds.
    total: i128,
}

/// Outstanding calls in the making.
#[derive(Clone, Default, Debug)]
pub struct LevelSeries {
    columns: Columns,
    /// From the first column in use on.
    series: VecDeque<Column>,
    first: i64,
    outstanding: u32,
    changed: Option<Time>,
}

/// Outstanding calls over time, a column for each stretch of `width_ns`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OutstandingOverTime {
    /// When the first column begins.
    pub first: Time,
    pub width_ns: i64,
    /// The most at once, by column.
    pub most: Vec<u32>,
    /// Thousandths of the mean over the column's width.
    pub mean_thousandths: Vec<i64>,
}

impl OutstandingOverTime {
    /// Calls × nanoseconds, nearly: the time that all calls were outstanding.
    #[must_use]
    pub fn total_ns(&self) -> i128 {
        let sum = |sum, mean: &i64| sum + i128::from(*mean);
        self.mean_thousandths.iter().fold(0i128, sum) * i128::from(self.width_ns) / 1_000
    }
}

impl LevelSeries {
    pub fn change(&mut self, o: &Outstanding) {
        match o.change {
            Change::Sent => {
                self.pass(o.time);
                self.outstanding = self.outstanding.saturating_add(1);
            }
            Change::Settled => {
                self.pass(o.time);
                self.outstanding = self.outstanding.saturating_sub(1);
            }
            _ => return,
        }
        let now = self.changed.unwrap_or(o.time);
        let outstanding = self.outstanding;
        if let Some(column) = self.at(self.columns.column(now)) {
            column.most = column.most.max(outstanding);
        }
    }

    /// Time passes until `to` without a change.
    fn pass(&mut self, to: Time) {
        let from = self.changed.unwrap_or(to);
        // Packets may stand a little out of order.
        let to = to.max(from);
        self.changed = Some(to);
        self.reach(to);
        let columns = self.columns;
        let (mut column, last) = (columns.column(from), columns.column(to));
        let outstanding = self.outstanding;
        while column <= last {
            let begins = from.max(columns.start(column));
            let ends = match column == last {
                true => to,
                false => columns.start(column + 1),
            };
            if let Some(c) = self.at(column) {
                c.most = c.most.max(outstanding);
                c.total += i128::from(outstanding) * i128::from((ends - begins).max(0));
            }
            column += 1;
        }
    }

    fn at(&mut self, column: i64) -> Option<&mut Column> {
        let i = usize::try_from(column.checked_sub(self.first)?).ok()?;
        self.series.get_mut(i)
    }

    /// Makes room for a moment that is not before any other.
    fn reach(&mut self, time: Time) {
        for _ in 0..self.columns.reach(time) {
            let mut joined: VecDeque<Column> = VecDeque::new();
            for (i, c) in (self.first..).zip(&self.series) {
                if i & 1 == 0 || joined.is_empty() {
                    joined.push_back(*c);
                } else if let Some(before) = joined.back_mut() {
                    before.most = before.most.max(c.most);
                    before.total += c.total;
                }
            }
            self.series = joined;
            self.first >>= 1;
        }
        if let Some((first, last)) = self.columns.range() {
            if self.series.is_empty() {
                self.first = first;
            }
            let needed = usize::try_from(last - self.first + 1).unwrap_or_default();
            self.series
                .resize(needed.max(self.series.len()), Column::default());
        }
    }

    /// Calls × nanoseconds: the time that all calls were outstanding.
    #[must_use]
    pub fn total_ns(&self) -> i128 {
        self.series.iter().map(|c| c.total).sum()
    }

    #[must_use]
    pub fn finish(&self) -> Option<OutstandingOverTime> {
        self.columns.range()?;
        let width = self.columns.width_ns();
        let mean = |c: &Column| (c.total.saturating_mul(1_000) / i128::from(width)) as i64;
        Some(OutstandingOverTime {
            first: self.columns.start(self.first),
            width_ns: width,
            most: self.series.iter().map(|c| c.most).collect(),
            mean_thousandths: self.series.iter().map(mean).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ConnectionId, Endpoint};
    use proptest::prelude::*;

    fn of(changes: &[(i64, Change)]) -> OutstandingOverTime {
        let end = Endpoint {
            address: [10, 0, 0, 1].into(),
            port: 1,
        };
        let mut series = LevelSeries::default();
        for (time, change) in changes {
            series.change(&Outstanding {
                order: 0,
                time: Time(*time),
                connection: ConnectionId(0),
                client: end,
                server: end,
                id: 0,
                change: *change,
            });
        }
        series.finish().expect("changes")
    }

    #[test]
    fn a_column_has_its_most_and_its_mean() {
        let level = of(&[
            (500, Change::Sent),
            (750, Change::Sent),
            (1_250, Change::Settled),
            (3_000, Change::Settled),
        ]);
        assert_eq!((level.first, level.width_ns), (Time(0), 1_000));
        assert_eq!(level.most, [2, 2, 1, 1]);
        // 250 × 1 + 250 × 2; 250 × 2 + 750 × 1; 1,000 × 1; nothing.
        assert_eq!(level.mean_thousandths, [750, 1_250, 1_000, 0]);
    }

    proptest! {
        #[test]
        fn time_outstanding_is_all_there(
            calls in prop::collection::vec((0i64..1 << 36, 1i64..1 << 33), 1..100),
        ) {
            let mut changes: Vec<(i64, Change)> = Vec::new();
            for (sent, took) in &calls {
                changes.extend([(*sent, Change::Sent), (sent + took, Change::Settled)]);
            }
            changes.sort_by_key(|c| c.0);
            let level = of(&changes);
            let sum = level.mean_thousandths.iter().map(|m| i128::from(*m)).sum::<i128>();
            let total = calls.iter().map(|c| i128::from(c.1)).sum::<i128>();
            let columns = level.most.len() as i128;
            let shown = sum * i128::from(level.width_ns) / 1_000;
            // Each column's mean is cut to a thousandth.
            prop_assert!((total - shown).abs() <= columns * i128::from(level.width_ns) / 1_000 + 1);
            let mut now = 0i64;
            let mut most = 0;
            for (_, c) in &changes {
                now += if *c == Change::Sent { 1 } else { -1 };
                most = most.max(now);
            }
            prop_assert_eq!(i64::from(*level.most.iter().max().expect("columns")), most);
        }
    }
}
