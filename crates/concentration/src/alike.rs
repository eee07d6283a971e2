//! Calls that have the same attributes into sums, by block: each of their values then takes a sum where it would take
//! each call.

use crate::By;

/// How many sets of attributes are summed at a time, each at a place of its own.
const PLACES_BITS: u32 = 7;

/// Calls that have the same, within a block.
#[derive(Clone, Default, Debug)]
pub(crate) struct Alike {
    pub(crate) set: u64,
    pub(crate) attributes: Vec<(By, u64)>,
    pub(crate) block: usize,
    pub(crate) calls: u64,
    /// By account.
    pub(crate) costs: Vec<u64>,
    /// Where the calls that have such attributes are counted.
    pub(crate) having: usize,
}

impl Alike {
    pub(crate) fn is_of(&self, set: u64, block: usize) -> bool {
        self.set == set && self.block == block && self.calls > 0
    }

    pub(crate) fn begin(
        &mut self,
        (set, attributes): (u64, &[(By, u64)]),
        block: usize,
        having: usize,
    ) {
        self.attributes.clear();
        self.attributes.extend_from_slice(attributes);
        (self.set, self.block, self.having) = (set, block, having);
    }

    /// Nothing is counted any more.
    pub(crate) fn clear(&mut self) {
        self.calls = 0;
        self.costs.fill(0);
    }
}

/// Sums in the making.
#[derive(Clone, Debug)]
pub(crate) struct Sums(Vec<Alike>);

impl Sums {
    pub(crate) fn new(accounts: usize) -> Sums {
        let none = Alike {
            costs: vec![0; accounts],
            ..Alike::default()
        };
        Sums(vec![none; 1 << PLACES_BITS])
    }

    /// Where calls of a set are summed, if not others with the same place are.
    pub(crate) fn place(&mut self, set: u64) -> &mut Alike {
        let place = set.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - PLACES_BITS);
        &mut self.0[place as usize]
    }

    pub(crate) fn all(&mut self) -> impl Iterator<Item = &mut Alike> {
        self.0.iter_mut().filter(|alike| alike.calls > 0)
    }
}
