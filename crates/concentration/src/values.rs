//! The values of one attribute that cost most, in bounded memory.
//!
//! "Frequent items" by cost (Misra and Gries 1982, in the form that takes off the median of all
//! when there is no room, Anderson et al. 2017): whatever holds more than a 128th of all cost is
//! kept, for any order. Its calls and cost are counted from when it was taken in, so they are never
//! too high.

use crate::alike::Alike;
use crate::course::Course;
use hashbrown::HashMap;

/// Values kept of one attribute.
pub(crate) const VALUES: usize = 256;

const RECENT_SHIFT: u32 = 58;
const RECENT: usize = 1 << (u64::BITS - RECENT_SHIFT);

#[derive(Clone, Debug)]
struct Kept {
    value: u64,
    /// Its cost, less what was taken off all.
    weight: u64,
    course: Course,
}

#[derive(Clone, Default, Debug)]
pub(crate) struct Values {
    kept: Vec<Kept>,
    places: HashMap<u64, usize, foldhash::fast::FixedState>,
    /// Where values lately were, by a few bits of them: most calls need no more than that.
    recent: Vec<(u64, usize)>,
    /// There were more values than room; from then on only what costs is taken in.
    full: bool,
}

impl Values {
    /// Calls with a value, and what each account was charged of them.
    pub(crate) fn add(&mut self, value: u64, calls: &Alike, accounts: usize) {
        let weight = calls.costs.iter().copied().fold(0, u64::saturating_add);
        let slot = (value.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> RECENT_SHIFT) as usize;
        let place = match self.recent.get(slot) {
            Some((recent, place)) if *recent == value && *place < self.kept.len() => *place,
            _ => match self.look_up(value, weight, slot) {
                Some(place) => place,
                None => return,
            },
        };
        let kept = &mut self.kept[place];
        kept.weight = kept.weight.saturating_add(weight);
        kept.course.add_all(calls, accounts);
    }

    /// The place of a value that was not there lately, if it is taken in.
    #[inline(never)]
    fn look_up(&mut self, value: u64, weight: u64, slot: usize) -> Option<usize> {
        let place = match self.places.get(&value) {
            Some(place) => *place,
            None if self.full && weight == 0 => return None,
            None => self.take_in(value),
        };
        self.recent.resize(RECENT, (0, usize::MAX));
        self.recent[slot] = (value, place);
        Some(place)
    }

    fn take_in(&mut self, value: u64) -> usize {
        if self.kept.len() >= VALUES {
            self.make_room();
        }
        let place = self.kept.len();
        self.kept.push(Kept {
            value,
            weight: 0,
            course: Course::default(),
        });
        self.places.insert(value, place);
        place
    }

    /// Takes the median off all weights: half of the values go at least.
    fn make_room(&mut self) {
        let mut weights: Vec<u64> = self.kept.iter().map(|kept| kept.weight).collect();
        let (_, &mut median, _) = weights.select_nth_unstable(VALUES / 2);
        self.kept.retain_mut(|kept| {
            kept.weight = kept.weight.saturating_sub(median);
            kept.weight > 0
        });
        self.places.clear();
        self.places.extend(
            self.kept
                .iter()
                .enumerate()
                .map(|(place, kept)| (kept.value, place)),
        );
        self.recent.clear();
        self.full = true;
    }

    pub(crate) fn halve(&mut self, accounts: usize) {
        self.kept
            .iter_mut()
            .for_each(|kept| kept.course.halve(accounts));
    }

    /// What is kept, by value.
    pub(crate) fn sorted(&self) -> Vec<(u64, &Course)> {
        let mut all: Vec<_> = self
            .kept
            .iter()
            .map(|kept| (kept.value, &kept.course))
            .collect();
        all.sort_unstable_by_key(|(value, _)| *value);
        all
    }
}
