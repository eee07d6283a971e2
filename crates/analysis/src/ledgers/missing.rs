//! Datagrams of which fragments were lost and that were sent again, into how long a call waited for one.

use crate::health::Health;
use model::Time;

/// When datagrams were missing of which fragments had been lost, on the clock of the calls.
#[derive(Default)]
pub struct Missing(Vec<(Time, Time)>);

impl Missing {
    /// Of each capture, `later_ns` of whose clocks are ahead of that of the calls.
    pub fn of<'a>(healths: impl Iterator<Item = (&'a Health, i64)>) -> Missing {
        let of = |(health, later_ns): (&'a Health, i64)| {
            let lost = health.fragments.incomplete().iter();
            lost.filter_map(move |(at, lost)| {
                let resent = lost.resent?;
                (resent > at.time).then_some((at.time + -later_ns, resent + -later_ns))
            })
        };
        let mut all: Vec<_> = healths.flat_map(of).collect();
        all.sort_unstable();
        Missing(all)
    }

    /// The longest that a call waited for one.
    pub(super) fn within(&self, is_datagram: bool, from_ns: i64, response_ns: i64) -> i64 {
        if !is_datagram || self.0.is_empty() {
            return 0;
        }
        let (from, to) = (Time(from_ns), Time(from_ns) + response_ns);
        let near = self
            .0
            .iter()
            .filter(|(first, last)| *first < to && *last > from);
        let waited = near.map(|(first, last)| (*last).min(to) - (*first).max(from));
        waited.max().unwrap_or(0)
    }
}
