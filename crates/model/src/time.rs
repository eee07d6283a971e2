//! Time is an integer: nanoseconds since the Unix epoch, as the capture's clock gave it.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// A moment on a capture's clock, in nanoseconds since 1970-01-01T00:00:00Z.
///
/// Differences are plain `i64` nanoseconds; names of such numbers end in `_ns`.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub struct Time(pub i64);

impl Time {
    /// Before every packet.
    pub const MIN: Time = Time(i64::MIN);
    /// After every packet.
    pub const MAX: Time = Time(i64::MAX);
}

impl Sub for Time {
    type Output = i64;
    /// Nanoseconds from `earlier` to `self`; saturates for times a capture cannot hold.
    fn sub(self, earlier: Time) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<i64> for Time {
    type Output = Time;
    fn add(self, ns: i64) -> Time {
        Time(self.0.saturating_add(ns))
    }
}

/// A duration for people: three significant digits and a unit, such as `33.2 ms` or `1.20 s`.
#[must_use]
pub fn format_duration(ns: i64) -> String {
    let magnitude = ns.unsigned_abs() as f64;
    let sign = if ns < 0 { "-" } else { "" };
    let (value, unit) = if magnitude < 1e3 {
        return format!("{sign}{} ns", ns.unsigned_abs());
    } else if magnitude < 999.5e3 {
        (magnitude / 1e3, "µs")
    } else if magnitude < 999.5e6 {
        (magnitude / 1e6, "ms")
    } else {
        (magnitude / 1e9, "s")
    };
    let digits = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    format!("{sign}{value:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_three_digits_and_a_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (33_200_000, "33.2 ms"),
            (1_200_000_000, "1.20 s"),
            (-512_400, "-512 µs"),
            (999_600, "1.00 ms"),
            (185_000_000_000, "185 s"),
        ] {
            assert_eq!(format_duration(ns), text);
        }
    }
}
