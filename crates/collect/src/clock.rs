//! Round trips to a host that says what time it is, into how far its clock is ahead of ours, with the error of that.
//!
//! A host that answers *r* to a question asked at *a* and answered at *b* is ahead by at least *r - b* and at most *r - a*;
//! all round trips together leave what lies within all of these. Where its clock says whole seconds only, *r* is up to a
//! second more.

use crate::reach::{Failure, Talk};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Round trips, and how long each may take.
const TRIPS: usize = 8;
const WITHIN: Duration = Duration::from_secs(5);

/// A clock against another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Offset {
    pub ns: i64,
    /// It is within so much of that.
    pub error_ns: i64,
}

impl Offset {
    /// This clock against another that was held against the same one.
    #[must_use]
    pub fn against(self, other: Offset) -> Offset {
        Offset {
            ns: self.ns.saturating_sub(other.ns),
            error_ns: self.error_ns.saturating_add(other.error_ns),
        }
    }
}

pub(crate) fn now_ns() -> i64 {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// How far a host's clock is ahead of ours.
pub(crate) fn measure(talk: &mut Talk) -> Result<Option<Offset>, Failure> {
    let mut trips = Vec::new();
    for _ in 0..TRIPS {
        let asked = now_ns();
        let said = talk.ask("time", WITHIN)?;
        let answered = now_ns();
        if let Some((time, tick)) = time(&said) {
            trips.push((
                time.saturating_sub(answered),
                time.saturating_add(tick).saturating_sub(asked),
            ));
        }
    }
    Ok(within_all(&trips))
}

/// What lies within all bounds, or within the narrowest where a clock was set meanwhile.
fn within_all(trips: &[(i64, i64)]) -> Option<Offset> {
    let lo = trips.iter().map(|t| t.0).max()?;
    let hi = trips.iter().map(|t| t.1).min()?;
    let narrowest = trips.iter().min_by_key(|t| t.1.saturating_sub(t.0))?;
    let (lo, hi) = if lo <= hi { (lo, hi) } else { *narrowest };
    let half = hi.saturating_sub(lo) / 2;
    Some(Offset {
        ns: lo.saturating_add(half),
        error_ns: half.saturating_add(1),
    })
}

/// What `date +%s.%N` says, and the width of its last digit; a `date` that knows no `%N` says the letter.
fn time(said: &str) -> Option<(i64, i64)> {
    const SECOND: i64 = 1_000_000_000;
    let (seconds, fraction) = said.split_once('.').unwrap_or((said, ""));
    let seconds: i64 = seconds.parse().ok()?;
    let ns = seconds.checked_mul(SECOND)?;
    let is_ns = fraction.len() == 9 && fraction.bytes().all(|b| b.is_ascii_digit());
    match fraction.parse::<i64>() {
        Ok(fraction) if is_ns => Some((ns.checked_add(fraction)?, 1)),
        _ => Some((ns, SECOND)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_what_they_leave_open() {
        assert_eq!(
            time("1764000000.000000123"),
            Some((1_764_000_000_000_000_123, 1))
        );
        assert_eq!(
            time("1764000000.N"),
            Some((1_764_000_000_000_000_000, 1_000_000_000))
        );
        assert_eq!(
            time("1764000000"),
            Some((1_764_000_000_000_000_000, 1_000_000_000))
        );
        assert_eq!(time("soon"), None);
        assert_eq!(time("99999999999999.0"), None);
    }

    #[test]
    fn round_trips_narrow_each_other() {
        let offset = within_all(&[(2_900, 3_100), (2_950, 3_300), (2_000, 3_050)]);
        assert_eq!(
            offset,
            Some(Offset {
                ns: 3_000,
                error_ns: 51
            })
        );
        // A clock that was set.
        assert_eq!(
            within_all(&[(0, 10), (100, 104)]),
            Some(Offset {
                ns: 102,
                error_ns: 3
            })
        );
        assert_eq!(within_all(&[]), None);
        let ours = Offset { ns: 3, error_ns: 1 };
        assert_eq!(
            ours.against(Offset {
                ns: -4,
                error_ns: 2
            }),
            Offset { ns: 7, error_ns: 3 }
        );
    }
}
