//! How much memory the connections of a capture may take up, from what they took up a few batches before: that
//! is the same for any number of threads, and no thread waits for another to know it.
//!
//! Each thread tells, behind each batch, what the connections of its [partitions](net::partition) take up. Where all
//! of them together take up too much, each partition may have the same at most, so that those which have little
//! keep it.

use net::PARTITIONS;
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// After how many batches it counts: more than any thread can be ahead of another.
pub(crate) const LATER: u64 = 8;

/// What the connections of one capture may take up.
pub(crate) struct Room {
    bytes: u64,
    threads: usize,
    told: Mutex<Told>,
    more: Condvar,
}

#[derive(Default)]
struct Told {
    /// The first of the batches below.
    first: u64,
    batches: VecDeque<Batch>,
    /// Threads that ended before their time.
    gone: usize,
}

struct Batch {
    weights: [u64; PARTITIONS],
    by: usize,
}

impl Room {
    /// For so many threads.
    pub(crate) fn new(bytes: u64, threads: usize) -> Arc<Room> {
        Arc::new(Room {
            bytes,
            threads,
            told: Mutex::default(),
            more: Condvar::new(),
        })
    }

    /// What the connections of one thread may take up, if all have as many, with what those that are awake take up
    /// beyond what they weigh: three quarters, as so much is left where some were given up. Where memory is full,
    /// nothing is for those.
    pub(crate) fn bytes_each(&self) -> u64 {
        self.bytes / 4 * 3 / self.threads.max(1) as u64
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One thread's part in it.
pub(crate) struct Tenant {
    room: Arc<Room>,
    /// Batches so far.
    batch: u64,
    is_over: bool,
}

impl Tenant {
    pub(crate) fn of(room: &Arc<Room>) -> Tenant {
        Tenant {
            room: Arc::clone(room),
            batch: 0,
            is_over: false,
        }
    }

    /// A batch is done, and its connections take up so much. Gives how much each partition may take up from here
    /// on.
    pub(crate) fn tell(&mut self, weights: &[u64; PARTITIONS]) -> u64 {
        let mut told = self.room.told();
        let at = (self.batch - told.first) as usize;
        while told.batches.len() <= at {
            told.batches.push_back(Batch {
                weights: [0; PARTITIONS],
                by: 0,
            });
        }
        if let Some(batch) = told.batches.get_mut(at) {
            batch.by += 1;
            for (sum, own) in batch.weights.iter_mut().zip(weights) {
                *sum += own;
            }
        }
        self.batch += 1;
        self.room.more.notify_all();
        let Some(wanted) = self.batch.checked_sub(LATER) else {
            return u64::MAX;
        };
        loop {
            let at = (wanted - told.first) as usize;
            let all = self.room.threads - told.gone;
            if let Some(batch) = told.batches.get(at).filter(|batch| batch.by >= all) {
                let most = most_each(batch.weights, self.room.bytes);
                // No thread asks for what lies so far back.
                while told.first + LATER < wanted && told.batches.pop_front().is_some() {
                    told.first += 1;
                }
                return most;
            }
            let waited = self.room.more.wait(told);
            told = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// All batches are done.
    pub(crate) fn end(mut self) {
        self.is_over = true;
    }
}

impl Drop for Tenant {
    fn drop(&mut self) {
        if !self.is_over {
            // Nobody is to wait for it.
            self.room.told().gone += 1;
            self.room.more.notify_all();
        }
    }
}

/// The most that each may have so that all together have no more than `bytes`; those that have less keep it.
fn most_each(mut weights: [u64; PARTITIONS], bytes: u64) -> u64 {
    let sum = weights.iter().fold(0, |sum: u64, w| sum.saturating_add(*w));
    if sum <= bytes {
        return u64::MAX;
    }
    weights.sort_unstable();
    let mut left = bytes;
    for (i, weight) in weights.iter().enumerate() {
        let each = left / (PARTITIONS - i) as u64;
        if *weight > each {
            return each;
        }
        left -= weight;
    }
    u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn together_they_have_as_much_as_they_may(
            weights in prop::array::uniform32(0_u64..1_000),
            bytes in 0_u64..20_000,
        ) {
            let mut all = [0; PARTITIONS];
            all[..32].copy_from_slice(&weights);
            let most = most_each(all, bytes);
            let kept: u64 = all.iter().map(|w| w.min(&most)).sum();
            let sum: u64 = all.iter().sum();
            prop_assert!(kept <= bytes || sum == 0);
            // What is not given out is what does not divide evenly.
            prop_assert!(kept + PARTITIONS as u64 >= bytes.min(sum));
        }
    }

    fn weights(of: &[(usize, u64)]) -> [u64; PARTITIONS] {
        let mut all = [0; PARTITIONS];
        of.iter().for_each(|&(i, w)| all[i] = w);
        all
    }

    #[test]
    fn what_counts_was_told_so_many_batches_before_by_any_number_of_threads() {
        let heavy = |batch: u64| if batch == 3 { 1_000 } else { 10 };
        let one = Room::new(100, 1);
        let mut alone = Tenant::of(&one);
        let told = |t: &mut Tenant, w| t.tell(&w);
        let expected: Vec<u64> = (0..40)
            .map(|b| told(&mut alone, weights(&[(0, heavy(b)), (9, 20)])))
            .collect();
        let bites: Vec<usize> = (0..40).filter(|&b| expected[b] != u64::MAX).collect();
        assert_eq!(bites, [3 + LATER as usize - 1]);
        assert_eq!(expected[bites[0]], 80);
        let two = Room::new(100, 2);
        let other = std::thread::spawn({
            let mut second = Tenant::of(&two);
            move || {
                let all: Vec<u64> = (0..40).map(|_| second.tell(&weights(&[(9, 20)]))).collect();
                second.end();
                all
            }
        });
        let mut first = Tenant::of(&two);
        let all: Vec<u64> = (0..40)
            .map(|b| told(&mut first, weights(&[(0, heavy(b))])))
            .collect();
        first.end();
        assert_eq!(all, expected);
        assert_eq!(other.join().unwrap(), expected);
    }

    #[test]
    fn nobody_waits_for_a_thread_that_is_gone() {
        let room = Room::new(100, 2);
        drop(Tenant::of(&room));
        let mut left = Tenant::of(&room);
        for _ in 0..2 * LATER {
            left.tell(&weights(&[(1, 50)]));
        }
    }
}
