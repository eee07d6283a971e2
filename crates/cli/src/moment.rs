//! Moments and durations as people write them.

use jiff::{Timestamp, Zoned, civil::DateTime, tz::TimeZone};
use model::Time;
use slowside::Moment;

/// `2026-03-01T14:00:00Z`, local `2026-03-01 14:00:00.5`, `@1772373600.5`, `+1.5s`, `90s`.
pub(crate) fn moment(text: &str) -> Result<Moment, String> {
    moment_in(text, &TimeZone::system())
}

fn moment_in(text: &str, zone: &TimeZone) -> Result<Moment, String> {
    if let Some(seconds) = text.strip_prefix('@') {
        return decimal(seconds, 1_000_000_000)
            .map(|ns| Moment::Absolute(Time(ns)))
            .ok_or_else(|| "after @ come seconds since 1970, such as @1772373600.5".into());
    }
    if let Ok(ns) = positive(text.strip_prefix('+').unwrap_or(text)) {
        return Ok(Moment::AfterStart(ns));
    }
    let stamp = text
        .parse::<Timestamp>()
        .or_else(|_| text.parse::<Zoned>().map(|z| z.timestamp()))
        .or_else(|_| {
            let local: DateTime = text.parse()?;
            local.to_zoned(zone.clone()).map(|z| z.timestamp())
        });
    stamp
        .ok()
        .and_then(|s| i64::try_from(s.as_nanosecond()).ok())
        .map(|ns| Moment::Absolute(Time(ns)))
        .ok_or_else(|| {
            "a time is 2026-03-01T14:00:00Z, '2026-03-01 14:00:00' (local), @1772373600.5 (epoch) \
             or +1.5s (after the first packet)"
                .into()
        })
}

/// A duration with its unit and perhaps a sign, in nanoseconds.
pub(crate) fn duration(text: &str) -> Result<i64, String> {
    match text.strip_prefix('-') {
        Some(rest) => positive(rest).map(|ns| -ns),
        None => positive(text.strip_prefix('+').unwrap_or(text)),
    }
}

/// A duration with its unit, in nanoseconds. Zero needs no unit.
pub(crate) fn positive(text: &str) -> Result<i64, String> {
    let number_ends = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(number_ends).unwrap_or((text, ""));
    let factor = match unit.trim() {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" | "min" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if number == "0" => 1,
        _ => return Err("a duration has a unit: 300us, 20ms, 1.5s, 2m or 1h".into()),
    };
    decimal(number, factor).ok_or_else(|| "a duration is a number and a unit, such as 1.5s".into())
}

/// `digits[.digits]` times a factor, exactly; `None` for anything else and for what does not fit.
fn decimal(text: &str, factor: i64) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() && fraction.is_empty() || !digits(whole) || !digits(fraction) {
        return None;
    }
    // Digits beyond nanoseconds of the largest unit change nothing.
    let fraction = fraction.get(..fraction.len().min(15)).unwrap_or(fraction);
    let integer = |t: &str| {
        if t.is_empty() {
            Some(0)
        } else {
            t.parse::<i128>().ok()
        }
    };
    let scale = 10i128.pow(u32::try_from(fraction.len()).ok()?);
    let factor = i128::from(factor);
    let total = integer(whole)?
        .checked_mul(factor)?
        .checked_add(integer(fraction)? * factor / scale)?;
    i64::try_from(total).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn moments_are_absolute_local_or_relative() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let at = |ns| Ok(Moment::Absolute(Time(ns)));
        for (text, expected) in [
            ("2023-11-14T22:13:20Z", at(1_700_000_000_000_000_000)),
            ("2023-11-15T00:13:20+02:00", at(1_700_000_000_000_000_000)),
            ("2023-11-15 00:13:20", at(1_700_000_000_000_000_000)),
            (
                "2023-11-15T00:13:20.000000001",
                at(1_700_000_000_000_000_001),
            ),
            ("@1700000000.5", at(1_700_000_000_500_000_000)),
            ("+1.5s", Ok(Moment::AfterStart(1_500_000_000))),
            ("90s", Ok(Moment::AfterStart(90_000_000_000))),
            ("0", Ok(Moment::AfterStart(0))),
        ] {
            assert_eq!(moment_in(text, &zone), expected, "{text}");
        }
        for text in [
            "",
            "@",
            "yesterday",
            "-5s",
            "14:00",
            "@99999999999999999999",
        ] {
            assert!(moment_in(text, &zone).is_err(), "{text}");
        }
    }

    #[test]
    fn durations_need_a_unit() {
        assert_eq!(duration("-1.5ms"), Ok(-1_500_000));
        assert_eq!(duration("2m"), Ok(120_000_000_000));
        assert_eq!(positive("0"), Ok(0));
        for text in ["5", "ms", "1.2.3s", "1e3s", "-", "9999999999h"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_reading_a_time_panic(text in ".{0,40}") {
            let _ = moment_in(&text, &TimeZone::UTC);
            let _ = duration(&text);
        }
    }
}
