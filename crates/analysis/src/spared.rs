//! Habits of clients into which of a connection's or a statement's trips could have been spared.

use crate::rounds::{Crossing, Habit, Rounds};
use crate::sql::habits::Habit as SqlHabit;
use crate::work::without_wait;
use hashbrown::HashMap;
use ledger::{Cause, Share};
use model::ConnectionId;

/// Trips that could have been spared: by connection, which shows in the bytes alone, and by what calls
/// work on.
#[derive(Default)]
pub struct Spared {
    connections: HashMap<u64, Share, foldhash::fast::FixedState>,
    works: HashMap<u64, Share, foldhash::fast::FixedState>,
}

impl Spared {
    /// By a statement's habit, sure or not.
    pub fn by_statement(&mut self, habit: &SqlHabit<'_>, is_sure: bool) {
        self.works.insert(habit.work(), habit.spared(is_sure));
    }

    /// By connections that have this habit if the path takes so much of each call, by the number of their attributes, and with
    /// so many `more` calls than are judged.
    pub fn by_connections(
        &mut self,
        rounds: &Rounds,
        habit: Habit,
        crossing: impl Fn(u64) -> Crossing,
        more: impl Fn(ConnectionId) -> u64,
        is_sure: bool,
    ) {
        let cause = match habit {
            Habit::Questions => Cause::Chatty,
            Habit::Writes => Cause::SmallWrites,
        };
        for (connection, trips, of) in rounds.spared(habit, crossing, more) {
            let share = Share {
                cause,
                trips,
                of,
                is_sure,
            };
            self.connections.entry(connection.0).or_insert(share);
        }
    }

    pub(crate) fn of(&self, connection: u64, work: u64) -> Option<Share> {
        let by_work = match work {
            0 => None,
            work => self.works.get(&without_wait(work)).copied(),
        };
        let by_connection = self.connections.get(&connection).copied();
        match (by_connection, by_work) {
            (Some(share), Some(Share { cause, .. })) => Some(Share { cause, ..share }),
            (Some(share), None) => Some(share),
            (None, by_work) => by_work,
        }
    }
}
