//! The list of connections that `conns` says: packed, as there may be a hundred thousand and each has
//! hundreds of numbers, and unpacked one at a time.

mod totals;

pub use totals::{Same, Totals};

use crate::packed::Packed;
use crate::results::ConnectionResult;
use model::Time;
use std::cmp::Reverse;

/// Connections by time at stake, most first.
#[derive(Clone, Default, Debug)]
pub struct Connections {
    packed: Packed<ConnectionResult>,
    /// In the order of the list.
    rows: Vec<Row>,
    totals: Totals,
}

/// Where a connection stands in `packed`, and its number.
#[derive(Clone, Copy, Debug)]
struct Row {
    index: u32,
    number: u32,
}

impl Row {
    fn unpack(self, packed: &Packed<ConnectionResult>) -> Option<ConnectionResult> {
        let connection = packed.get(self.index as usize)?;
        Some(ConnectionResult {
            number: self.number.into(),
            ..connection
        })
    }
}

impl Connections {
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The one at this place of the list.
    #[must_use]
    pub fn get(&self, place: usize) -> Option<ConnectionResult> {
        self.rows.get(place)?.unpack(&self.packed)
    }

    /// All of them, each unpacked when its turn comes.
    pub fn iter(&self) -> impl Iterator<Item = ConnectionResult> + Clone {
        self.rows.iter().filter_map(|row| row.unpack(&self.packed))
    }

    /// What all of them waited for and have in common.
    #[must_use]
    pub fn totals(&self) -> &Totals {
        &self.totals
    }

    /// Puts them into another order.
    pub fn sort_by_cached_key<K: Ord>(&mut self, mut key: impl FnMut(&ConnectionResult) -> K) {
        let packed = &self.packed;
        self.rows
            .sort_by_cached_key(|row| row.unpack(packed).map(|c| key(&c)));
    }

    /// Leaves those that are wanted.
    pub fn retain(&mut self, mut wanted: impl FnMut(&ConnectionResult) -> bool) {
        let packed = &self.packed;
        let mut totals = Totals::default();
        self.rows.retain(|row| {
            let Some(c) = row.unpack(packed).filter(&mut wanted) else {
                return false;
            };
            totals.add(&c);
            true
        });
        self.totals = totals;
    }
}

/// As they come, in the order of the list and with the numbers that they have.
impl FromIterator<ConnectionResult> for Connections {
    fn from_iter<I: IntoIterator<Item = ConnectionResult>>(all: I) -> Connections {
        let mut list = Connections::default();
        for (index, c) in (0..).zip(all) {
            list.packed.push(&c);
            list.totals.add(&c);
            list.rows.push(Row {
                index,
                number: c.number as u32,
            });
        }
        list
    }
}

/// Connections on their way into the list, in any order.
#[derive(Default)]
pub struct Lister {
    packed: Packed<ConnectionResult>,
    keys: Vec<Key>,
    totals: Totals,
}

/// What they are numbered and sorted by.
struct Key {
    first: Time,
    at_stake_ns: i64,
    row: Row,
}

impl Lister {
    pub fn add(&mut self, c: &ConnectionResult) {
        self.keys.push(Key {
            first: c.first,
            at_stake_ns: c.at_stake_ns,
            row: Row {
                index: self.packed.len() as u32,
                number: 0,
            },
        });
        self.packed.push(c);
        self.totals.add(c);
    }

    /// Numbers connections as they began and sorts them by what is at stake.
    #[must_use]
    pub fn list(mut self) -> Connections {
        self.keys.sort_by_key(|k| k.first);
        let same = self.keys.chunk_by_mut(|a, b| a.first == b.first);
        for same in same.filter(|same| same.len() > 1) {
            let ends = |c: ConnectionResult| (c.client, c.server);
            same.sort_by_cached_key(|k| k.row.unpack(&self.packed).map(ends));
        }
        for (number, key) in (1..).zip(&mut self.keys) {
            key.row.number = number;
        }
        self.keys
            .sort_by_key(|k| (Reverse(k.at_stake_ns), k.row.number));
        Connections {
            packed: self.packed,
            rows: self.keys.iter().map(|k| k.row).collect(),
            totals: self.totals,
        }
    }
}

impl FromIterator<ConnectionResult> for Lister {
    fn from_iter<I: IntoIterator<Item = ConnectionResult>>(all: I) -> Lister {
        let mut lister = Lister::default();
        all.into_iter().for_each(|c| lister.add(&c));
        lister
    }
}
