//! Rows of numbers under a heading, and the clock of tools that print it beside them.

use super::stamp::{DAY_NS, Moment, SECOND_NS};
use crate::number::scaled;

/// Zones lie a multiple of this apart.
const ZONE_NS: i64 = 900 * SECOND_NS;

/// Columns that are believed of a table.
const COLUMNS: usize = 64;

/// The columns of a table, by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct Heading(Vec<String>);

impl Heading {
    pub(super) fn new(text: &str) -> Heading {
        let words = text.split_whitespace().take(COLUMNS);
        Heading(words.map(|w| w.trim_end_matches(':').to_owned()).collect())
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|n| n == name)
    }

    /// A row that has all its columns; behind them may stand others.
    pub(super) fn row<'a>(&'a self, text: &'a str) -> Option<Row<'a>> {
        let words: Vec<&str> = text.split_whitespace().take(COLUMNS + 4).collect();
        let is_whole = !self.0.is_empty() && words.len() >= self.0.len();
        is_whole.then_some(Row {
            heading: self,
            words,
        })
    }
}

pub(super) struct Row<'a> {
    heading: &'a Heading,
    words: Vec<&'a str>,
}

impl<'a> Row<'a> {
    pub(super) fn word(&self, name: &str) -> Option<&'a str> {
        let i = self.heading.0.iter().position(|n| n == name)?;
        self.words.get(i).copied()
    }

    /// What stands behind the last column.
    pub(super) fn behind(&self) -> &[&'a str] {
        self.words.get(self.heading.0.len()..).unwrap_or_default()
    }

    /// In thousandths.
    pub(super) fn milli(&self, name: &str) -> Option<i64> {
        milli(self.word(name)?)
    }

    /// The first of these columns that the table has.
    pub(super) fn first(&self, names: &[&str]) -> Option<i64> {
        names.iter().find_map(|n| self.milli(n))
    }

    /// The sum of those of these columns that the table has.
    pub(super) fn sum(&self, names: &[&str]) -> Option<i64> {
        let found = names.iter().filter_map(|n| self.milli(n));
        found.fold(None, |sum: Option<i64>, n| {
            Some(sum.unwrap_or(0).saturating_add(n))
        })
    }
}

/// A number that is not negative, in thousandths; the comma of some locales is a point.
pub(super) fn milli(text: &str) -> Option<i64> {
    let text = text.replace(',', ".");
    scaled(&text, 3).filter(|n| *n >= 0)
}

/// Whether it names columns of sar's or mpstat's that are read.
pub(super) fn is_heading(text: &str) -> bool {
    const FIRST: [&str; 14] = [
        "CPU",
        "DEV",
        "IFACE",
        "runq-sz",
        "pswpin/s",
        "%scpu-10",
        "%sio-10",
        "%smem-10",
        "atmptf/s",
        "active/s",
        "kbmemfree",
        "tps",
        "proc/s",
        "pgpgin/s",
    ];
    let first = text.split_whitespace().next();
    first.is_some_and(|word| FIRST.contains(&word))
}

/// The clock of a tool that prints the time of day, across midnight, and in the zone that a line `# TIME COMMAND` tells.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    midnight_ns: Option<i64>,
    last_ns: Option<i64>,
    ahead_ns: Option<i64>,
}

impl Clock {
    /// The moment of a time of day. `midnight_ns` is that of the day on which the output began, in its own zone.
    pub(super) fn of_day(
        &mut self,
        day_ns: i64,
        midnight_ns: Option<i64>,
        header_ns: Option<i64>,
    ) -> Option<Moment> {
        let began = match self.midnight_ns {
            Some(ns) => ns,
            None => {
                let own = midnight_ns.or(header_ns.map(|ns| ns - ns.rem_euclid(DAY_NS)))?;
                *self.midnight_ns.insert(own)
            }
        };
        let mut local = began.checked_add(day_ns)?;
        // Sections begin again where the first did.
        if let Some(last) = self.last_ns {
            let days = (last - local).saturating_add(DAY_NS / 2).div_euclid(DAY_NS);
            local = local.checked_add(days.checked_mul(DAY_NS)?)?;
        }
        self.last_ns = Some(local);
        Some(self.zoned(local, header_ns))
    }

    /// A moment of a clock on the wall, of which a header tells the zone.
    pub(super) fn zoned(&mut self, local_ns: i64, header_ns: Option<i64>) -> Moment {
        if self.ahead_ns.is_none() {
            self.ahead_ns = header_ns.map(|header| {
                let apart = local_ns.saturating_sub(header);
                apart.saturating_add(ZONE_NS / 2).div_euclid(ZONE_NS) * ZONE_NS
            });
        }
        Moment {
            ns: local_ns.saturating_sub(self.ahead_ns.unwrap_or(0)),
            is_local: self.ahead_ns.is_none(),
        }
    }
}
