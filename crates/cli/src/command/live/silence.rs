//! Intervals in a row in which nothing came into few lines: one when it begins, one whenever it has lasted twice as
//! long, and one when it is over. So hours of silence are told while they last, and fill no disk. What is read from a
//! file is told when it is over, in one line.

use analysis::live::Moment;
use slowside::RingFill;

#[derive(Default)]
pub(super) struct Silence {
    /// Intervals that were told.
    told: u64,
    /// Those that were not, as one.
    untold: Option<(Moment, RingFill)>,
}

impl Silence {
    /// Nothing came in `moment` either: what is to be told of that now.
    pub(super) fn goes_on(
        &mut self,
        moment: &Moment,
        held: RingFill,
    ) -> Option<(Moment, RingFill)> {
        let mut all = moment.clone();
        if let Some((before, _)) = &self.untold {
            all.start = before.start;
            all.width_ns = all.width_ns.saturating_add(before.width_ns);
            all.intervals += before.intervals;
        }
        self.untold = Some((all, held));
        let told = self.told;
        let due = self.untold.take_if(|(all, _)| all.intervals >= told)?;
        self.told += due.0.intervals;
        Some(due)
    }

    /// What was not told of it, before something else is.
    pub(super) fn rest(&mut self) -> Option<(Moment, RingFill)> {
        let rest = self.untold.take()?;
        self.told += rest.0.intervals;
        Some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::live::{Live, Traffic};
    use model::Time;

    const SECOND: i64 = 1_000_000_000;

    /// What is told of so many seconds of silence, each as its second and how many it stands for, and the rest.
    fn told(seconds: u64, at_once: bool) -> Vec<(i64, u64)> {
        let mut live = Live::new(SECOND, SECOND);
        live.traffic(Time(0), Traffic::default());
        let ends = match at_once {
            true => seconds..=seconds,
            false => 1..=seconds,
        };
        let mut silence = Silence::default();
        let mut lines = Vec::new();
        for end in ends {
            while let Some(moment) = live.over(Time(end as i64 * SECOND)) {
                lines.extend(silence.goes_on(&moment, RingFill::default()));
            }
        }
        lines.extend(silence.rest());
        let line = |(m, _): (Moment, RingFill)| (m.start.0 / SECOND, m.intervals);
        lines.into_iter().map(line).collect()
    }

    #[test]
    fn a_silence_is_told_whenever_it_has_lasted_twice_as_long() {
        assert_eq!(told(8, false), [(0, 1), (1, 1), (2, 2), (4, 4)]);
        assert_eq!(told(10, false), [(0, 1), (1, 1), (2, 2), (4, 4), (8, 2)]);
        let day = told(86_400, false);
        assert_eq!(day.len(), 18);
        assert_eq!(day.iter().map(|(_, n)| n).sum::<u64>(), 86_400);
        // The first second has its own line, as a packet may have begun it.
        assert_eq!(told(86_400, true), [(0, 1), (1, 86_399)]);
    }
}
