//! A capture's threads: any of them does what is next, and so does whoever takes the records, while there are none.
//!
//! ```text
//! read a batch ─► shard 0: what its connections complete ─► ┐
//!              ─► shard 1                                ─► ├─► answers of batch 0, 1, 2 …
//!              ─► …                                         ┘
//! ```
//!
//! One thread reads at a time, and one works for a shard at a time, which takes batches in their order. There are more shards
//! than threads, as chance shares connections out unevenly. Batches are read ahead, so that there is always something
//! to do, and no further: whoever is slow holds the others back.

use super::{Connections, Decoded, Finished, Mode, Reader, inline};
use crate::firsts::ThreadProblems;
use crate::link::{Number, Records, Wanted};
use crate::merge::Answers;
use crate::room::{LATER, Room};
use crate::run::Share;
use crate::waiting::Waiting;
use model::Where;
use net::PARTITIONS;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Shards for each thread.
const SHARDS_EACH: usize = 2;

/// So many batches are read before anything else is done.
const AHEAD: u64 = 2;

/// And so many at most before their answers are taken: as no shard is further behind another, none waits to hear what
/// others weigh.
const IN_FLIGHT: u64 = LATER - 1;

/// Of a shard that is closed, answers that wait to be taken.
const CLOSED: usize = 2;

/// Where the records are taken.
pub(super) struct Pool {
    common: Arc<Common>,
}

struct Common {
    state: Mutex<State>,
    changed: Condvar,
}

/// What there is to do, and what was done.
struct State {
    /// None while somebody reads, or when it was lost.
    reader: Option<Box<Reader>>,
    is_reading: bool,
    /// Batches so far, and those whose answers were taken.
    read: u64,
    taken: u64,
    /// Nothing more is read.
    is_over: bool,
    /// Those that some shard has not yet taken: the first of them, and the others behind it.
    first: u64,
    batches: VecDeque<Arc<Decoded>>,
    shards: Vec<Shard>,
    spare_batches: Vec<Decoded>,
    spare_records: Vec<Records>,
    /// What was wrong with what connections said.
    told: ThreadProblems,
    /// Shards that panicked.
    lost: u64,
}

/// Some of the connections.
#[derive(Default)]
struct Shard {
    /// None while somebody works on them, or when they are closed.
    connections: Option<Box<Connections>>,
    /// The batch that is next.
    next: u64,
    /// Who worked on them last: his processor still has them at hand.
    last: usize,
    answers: VecDeque<Records>,
    is_over: bool,
}

/// Something to do, with what nobody else is to have meanwhile.
enum Task {
    /// And how many shards there are.
    Read(Box<Reader>, Decoded, usize),
    Follow(usize, Box<Connections>, Arc<Decoded>, Records),
    Close(usize, Box<Connections>, Records),
}

/// What came of it; nothing of what panicked.
enum Done {
    Read(Option<(Box<Reader>, Decoded, bool)>),
    Followed(usize, Option<(Box<Connections>, Records)>, Arc<Decoded>),
    Closed(
        usize,
        Option<(Option<Box<Connections>>, Records, ThreadProblems)>,
    ),
}

/// As many threads as were asked for, or as can be had, counting the one that takes the records; alone that does all.
pub(super) fn start(reader: Reader, share: Share, wanted: Wanted) -> Mode {
    let more = share.threads.min(PARTITIONS).saturating_sub(1);
    let work = |number| move |common: Arc<Common>| common.work(number);
    let waiting = (1..=more).map_while(|number| Waiting::new(work(number)));
    let waiting: Vec<_> = waiting.collect();
    if waiting.is_empty() {
        return inline(reader, share, wanted);
    }
    let shards = ((waiting.len() + 1) * SHARDS_EACH).min(PARTITIONS);
    let room = Room::new(share.connections_bytes, shards);
    let shards = (0..shards).map(|_| Shard {
        connections: Some(Box::new(Connections::new(wanted, &room))),
        ..Shard::default()
    });
    let common = Arc::new(Common {
        state: Mutex::new(State::new(Some(Box::new(reader)), shards.collect())),
        changed: Condvar::new(),
    });
    for worker in waiting {
        // Nobody waits for its end: what it has done is done.
        drop(worker.start(Arc::clone(&common)));
    }
    Mode::Threads(Pool { common })
}

impl Pool {
    /// The records of the next batch, then of what the end of the capture closes; `false` behind the last.
    pub(super) fn next(&mut self, into: &mut Answers) -> bool {
        let mut state = self.common.lock();
        state
            .spare_records
            .extend(into.shards.drain(..).filter_map(Records::into_spare));
        loop {
            if state.take(into) {
                drop(state);
                self.common.changed.notify_all();
                return true;
            }
            if state.is_done() {
                return false;
            }
            // It reads nothing: where packets come as they are captured, what they completed is not to wait for more.
            state = self.common.proceed(state, 0);
        }
    }

    /// What is known of the capture once all is done; nothing where the reader was lost.
    pub(super) fn finish(self) -> Option<Finished> {
        let mut state = self.common.lock();
        let told = std::mem::take(&mut state.told);
        let mut finished = state.reader.take()?.finish(told);
        if state.lost > 0 {
            // What panicked has printed why; its records are missing, and the run says so.
            let what = "a worker stopped; its connections are missing";
            (finished.problems).add("internal-error", true, state.lost, || {
                (what.into(), Where::default())
            });
        }
        Some(finished)
    }
}

impl Drop for Pool {
    /// Nobody wants the rest.
    fn drop(&mut self) {
        let mut state = self.common.lock();
        state.is_over = true;
        state.batches.clear();
        state.shards.clear();
        drop(state);
        self.common.changed.notify_all();
    }
}

impl Common {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, number: usize) {
        let mut state = self.lock();
        while !state.is_done() {
            state = self.proceed(state, number);
        }
    }

    /// Does what is next for this thread, or waits until something is.
    fn proceed<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        number: usize,
    ) -> MutexGuard<'a, State> {
        let Some(task) = state.task(number) else {
            let waited = self.changed.wait(state);
            return waited.unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        let done = task.work();
        let mut state = self.lock();
        state.put(done);
        self.changed.notify_all();
        state
    }
}

impl State {
    fn new(reader: Option<Box<Reader>>, shards: Vec<Shard>) -> State {
        State {
            reader,
            is_reading: false,
            read: 0,
            taken: 0,
            is_over: false,
            first: 0,
            batches: VecDeque::new(),
            shards,
            spare_batches: Vec::new(),
            spare_records: Vec::new(),
            told: ThreadProblems::default(),
            lost: 0,
        }
    }

    /// What is next for this thread; the one that takes the records has number 0.
    fn task(&mut self, number: usize) -> Option<Task> {
        let may_read = number > 0 && !self.is_over && self.read - self.taken < IN_FLIGHT;
        let reads_first = may_read && (self.batches.len() as u64) < AHEAD;
        let task = reads_first.then(|| self.start_reading()).flatten();
        let task = task.or_else(|| self.start_following(number));
        let task = task.or_else(|| self.start_closing());
        task.or_else(|| may_read.then(|| self.start_reading()).flatten())
    }

    fn start_reading(&mut self) -> Option<Task> {
        let reader = self.reader.take()?;
        self.is_reading = true;
        let into = self.spare_batches.pop().unwrap_or_default();
        Some(Task::Read(reader, into, self.shards.len()))
    }

    /// Of the shards that have something to do, one that is furthest behind.
    fn start_following(&mut self, number: usize) -> Option<Task> {
        let has_more = |s: &Shard| s.connections.is_some() && s.next < self.read;
        let shards = self.shards.iter_mut().enumerate();
        let open = shards.filter(|(_, s)| has_more(s));
        let (i, shard) = open.min_by_key(|(_, s)| (s.next, s.last != number))?;
        let decoded = self.batches.get((shard.next - self.first) as usize)?;
        shard.last = number;
        let records = self.spare_records.pop().unwrap_or_default();
        let decoded = Arc::clone(decoded);
        Some(Task::Follow(i, shard.connections.take()?, decoded, records))
    }

    /// A shard that has taken all batches.
    fn start_closing(&mut self) -> Option<Task> {
        if !self.is_over {
            return None;
        }
        let is_next =
            |s: &Shard| s.connections.is_some() && s.next == self.read && s.answers.len() < CLOSED;
        let i = self.shards.iter().position(is_next)?;
        let connections = self.shards.get_mut(i)?.connections.take()?;
        // What is told by then is taken and used again: else all that is told would stay.
        let records = self.spare_records.pop().unwrap_or_default();
        Some(Task::Close(i, connections, records))
    }

    fn put(&mut self, done: Done) {
        self.is_reading &= !matches!(done, Done::Read(_));
        match done {
            Done::Read(Some((reader, decoded, more))) => {
                self.reader = Some(reader);
                self.is_over |= !more;
                if more {
                    self.batches.push_back(Arc::new(decoded));
                    self.read += 1;
                }
            }
            Done::Read(None) => self.is_over = true,
            Done::Followed(i, followed, decoded) => {
                drop(decoded);
                let Some(shard) = self.shards.get_mut(i) else {
                    return;
                };
                match followed {
                    Some((connections, records)) => {
                        shard.connections = Some(connections);
                        shard.answers.push_back(records);
                        shard.next += 1;
                    }
                    None => self.lose(i),
                }
                self.pass();
            }
            Done::Closed(i, closed) => {
                let Some(shard) = self.shards.get_mut(i) else {
                    return;
                };
                match closed {
                    Some((connections, records, told)) => {
                        shard.is_over = connections.is_none();
                        shard.connections = connections;
                        shard.answers.push_back(records);
                        self.told.extend(told);
                    }
                    None => self.lose(i),
                }
            }
        }
    }

    /// What panics loses its own connections, and nobody waits for it.
    fn lose(&mut self, shard: usize) {
        if let Some(shard) = self.shards.get_mut(shard) {
            shard.is_over = true;
            self.lost += 1;
        }
        // What is read then is for nobody.
        self.is_over |= self.shards.iter().all(|s| s.is_over);
    }

    /// Leaves the batches that all shards have taken.
    fn pass(&mut self) {
        let open = self.shards.iter().filter(|s| !s.is_over);
        let next = open.map(|s| s.next).min().unwrap_or(self.read);
        while self.first < next {
            self.first += 1;
            let Some(decoded) = self.batches.pop_front() else {
                return;
            };
            self.spare_batches.extend(Arc::into_inner(decoded));
        }
    }

    /// The records that come first, when they are those of all shards.
    fn take(&mut self, into: &mut Answers) -> bool {
        let is_missing = |s: &Shard| s.answers.is_empty() && !s.is_over;
        if self.shards.iter().any(is_missing) {
            return false;
        }
        let first = |s: &Shard| s.answers.front()?.number;
        let number = self.shards.iter().filter_map(first).min();
        let shards = self.shards.iter_mut().filter(|s| first(s) == number);
        into.shards
            .extend(shards.filter_map(|s| s.answers.pop_front()));
        self.taken += u64::from(matches!(number, Some(Number::Batch(_))));
        !into.shards.is_empty()
    }

    fn is_done(&self) -> bool {
        self.is_over && !self.is_reading && self.shards.iter().all(|s| s.is_over)
    }
}

impl Task {
    fn work(self) -> Done {
        match self {
            Task::Read(mut reader, mut decoded, shards) => Done::Read(kept(move || {
                let more = reader.next(&mut decoded);
                decoded.share_out(shards);
                (reader, decoded, more)
            })),
            Task::Follow(i, mut connections, decoded, mut records) => {
                let followed = kept(|| {
                    let own = decoded.own(i);
                    connections.track(&decoded, &own);
                    connections.take(&decoded, &mut records);
                    if i == 0 {
                        Connections::take_loose(&decoded, &mut records);
                    }
                    (connections, records)
                });
                Done::Followed(i, followed, decoded)
            }
            Task::Close(i, mut connections, mut records) => Done::Closed(
                i,
                kept(move || {
                    if connections.finish_part(&mut records) {
                        return (Some(connections), records, ThreadProblems::default());
                    }
                    let told = connections.finish(&mut records);
                    (None, records, told)
                }),
            ),
        }
    }
}

/// What it gives, if it does not panic: then all that it had is lost, and who asked for it goes on.
fn kept<T>(work: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(shards: usize) -> State {
        State::new(None, (0..shards).map(|_| Shard::default()).collect())
    }

    fn connections() -> Box<Connections> {
        Box::new(Connections::new(Wanted::Calls, &Room::new(1 << 20, 1)))
    }

    fn answer(batch: u64) -> Records {
        Records {
            number: Some(Number::Batch(batch)),
            ..Records::default()
        }
    }

    #[test]
    fn a_batch_is_told_when_all_shards_have_taken_it() {
        let mut state = state(2);
        state.batches.push_back(Arc::default());
        state.read = 1;
        let decoded = Arc::clone(&state.batches[0]);
        state.put(Done::Followed(0, Some((connections(), answer(0))), decoded));
        let mut told = Answers::default();
        assert!(!state.take(&mut told) && state.batches.len() == 1);
        let decoded = Arc::clone(&state.batches[0]);
        state.put(Done::Followed(1, Some((connections(), answer(0))), decoded));
        assert!(state.take(&mut told) && told.shards.len() == 2);
        assert_eq!((state.taken, state.batches.len()), (1, 0));
        assert_eq!(state.spare_batches.len(), 1);
    }

    #[test]
    fn nobody_waits_for_a_shard_that_panicked_or_for_a_reader() {
        let mut state = state(2);
        state.batches.push_back(Arc::default());
        state.read = 1;
        for (shard, followed) in [(0, None), (1, Some((connections(), answer(0))))] {
            let decoded = Arc::clone(&state.batches[0]);
            state.put(Done::Followed(shard, followed, decoded));
        }
        let mut told = Answers::default();
        assert!(state.take(&mut told) && told.shards.len() == 1);
        assert_eq!((state.lost, state.batches.len()), (1, 0));
        assert!(kept(|| -> u8 { panic!("a test") }).is_none());
        state.put(Done::Read(None));
        assert!(state.is_over && !state.is_done());
        state.is_over = false;
        state.put(Done::Closed(1, None));
        assert!(state.is_over && state.is_done());
    }

    #[test]
    fn who_takes_the_records_never_reads() {
        let mut state = state(1);
        assert!(state.task(0).is_none());
        state.shards[0].connections = Some(connections());
        state.batches.push_back(Arc::default());
        state.read = 1;
        assert!(matches!(state.task(0), Some(Task::Follow(0, ..))));
    }
}
