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

/// A duration for people: three significant digits and a unit, such as `33.2 ms` or `1.20 s`; from two minutes on as
/// they say it, such as `4 min 12 s`, `3 h 5 min` or `2 d 7 h`.
#[must_use]
pub fn format_duration(ns: i64) -> String {
    let magnitude = ns.unsigned_abs() as f64;
    if magnitude >= 119.5e9 {
        return format_long(ns);
    }
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

fn format_long(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "" };
    let seconds = (ns.unsigned_abs() + 500_000_000) / 1_000_000_000;
    let (minutes, hours) = ((seconds + 30) / 60, (seconds + 1_800) / 3_600);
    match seconds {
        ..3_600 => format!("{sign}{} min {} s", seconds / 60, seconds % 60),
        3_600..86_370 => format!("{sign}{} h {} min", minutes / 60, minutes % 60),
        _ => format!("{sign}{} d {} h", hours / 24, hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_three_digits_and_a_unit_or_two_units() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (33_200_000, "33.2 ms"),
            (1_200_000_000, "1.20 s"),
            (-512_400, "-512 µs"),
            (999_600, "1.00 ms"),
            (119_400_000_000, "119 s"),
            (119_600_000_000, "2 min 0 s"),
            (252_000_000_000, "4 min 12 s"),
            (-3_599_600_000_000, "-1 h 0 min"),
            (11_100_000_000_000, "3 h 5 min"),
            (86_399_000_000_000, "1 d 0 h"),
            (198_000_000_000_000, "2 d 7 h"),
            (i64::MIN, "-106752 d 0 h"),
        ] {
            assert_eq!(format_duration(ns), text);
        }
    }
}
