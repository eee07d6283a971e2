//! Acknowledgements, and the time stamps of theirs that come back with data (RFC 7323 section 4.1), into how long a round
//! trip takes between a receiver and a sender that was not captured.
//!
//! What a sender writes carries the stamp of the last acknowledgement that it has heard. Data that came all along while the
//! stamp was awaited waited for no application: the stamp took as long as the way does, with what queues on it.

use model::Time;
use serde::{Deserialize, Serialize};

/// It came all along if no such part of the round trip passed without any.
const GAPS: i64 = 4;

/// Of one direction's data.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Echoes {
    /// The stamp that is awaited, and when it left; the last that was.
    awaited: Option<(u32, Time)>,
    last: Option<u32>,
    /// When data came last since then, and the longest time in which none did.
    came: Time,
    longest_ns: i64,
}

impl Echoes {
    /// The receiver acknowledges, with this stamp of its own.
    pub(super) fn acknowledged(&mut self, stamp: u32, now: Time) {
        let is_new = self
            .last
            .is_none_or(|last| is_later(stamp, last) && stamp != last);
        if self.awaited.is_none() && is_new {
            self.awaited = Some((stamp, now));
            self.last = Some(stamp);
            (self.came, self.longest_ns) = (now, 0);
        }
    }

    /// Data came, with this stamp of its receiver: the round trip, where that shows.
    pub(super) fn came(&mut self, stamp: u32, now: Time) -> Option<i64> {
        let (awaited, since) = self.awaited?;
        self.longest_ns = self.longest_ns.max(now - self.came);
        self.came = now;
        if !is_later(stamp, awaited) {
            return None;
        }
        self.awaited = None;
        let ns = now - since;
        (self.longest_ns.saturating_mul(GAPS) <= ns).then_some(ns)
    }
}

/// Whether what `echo`es another stamp than this one left before its sender had heard of the packet with that.
pub(crate) fn left_before(echo: Option<u32>, stamp: Option<u32>) -> bool {
    let both = echo.zip(stamp);
    both.is_some_and(|(echo, stamp)| !is_later(echo, stamp))
}

/// Or the same.
fn is_later(stamp: u32, than: u32) -> bool {
    stamp.wrapping_sub(than) as i32 >= 0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The receiver acknowledges at 0 with stamp 7; data comes at these times with these stamps.
    fn trips(data: impl IntoIterator<Item = (i64, u32)>) -> Vec<i64> {
        let mut echoes = Echoes::default();
        echoes.acknowledged(7, Time(0));
        let came = |(at, stamp)| {
            let trip = echoes.came(stamp, Time(at));
            echoes.acknowledged(stamp, Time(at));
            trip
        };
        data.into_iter().filter_map(came).collect()
    }

    #[test]
    fn a_stamp_that_comes_back_with_data_that_came_all_along_took_a_round_trip() {
        let queued = |stamp| (1..=8).map(move |i| (i * 10, if i < 8 { 6 } else { stamp }));
        assert_eq!(trips(queued(7)), [80]);
        assert_eq!(trips(queued(9)), [80], "or a later one");
        assert_eq!(trips(queued(6)), [], "it is awaited yet");
    }

    #[test]
    fn what_its_sender_may_have_had_nothing_to_write_for_is_no_round_trip() {
        assert_eq!(trips([(80, 7)]), []);
        assert_eq!(trips([(10, 6), (20, 6), (50, 6), (80, 7)]), []);
    }

    #[test]
    fn stamps_begin_anew_behind_the_last() {
        let mut echoes = Echoes::default();
        echoes.acknowledged(u32::MAX, Time(0));
        let data = [(10, u32::MAX - 1), (20, u32::MAX - 1), (30, u32::MAX - 1)];
        for (at, stamp) in data {
            assert_eq!(echoes.came(stamp, Time(at)), None);
        }
        assert_eq!(echoes.came(3, Time(40)), Some(40));
        echoes.acknowledged(u32::MAX, Time(50));
        assert_eq!(echoes.came(3, Time(51)), None, "an old stamp asks nothing");
    }
}
