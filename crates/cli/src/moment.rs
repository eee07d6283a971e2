//! Moments and durations as people write them.

use jiff::civil::{self, DateTime};
use jiff::{Timestamp, Zoned, tz::TimeZone};
use model::Time;
use slowside::{Captures, Moment};

const MINUTE_NS: i64 = 60_000_000_000;

/// A moment as it is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum When {
    At(Moment),
    /// On a day that the capture knows.
    OfDay(civil::Time),
}

impl When {
    /// When that is in these captures.
    pub(crate) fn of(self, captures: &Captures, zone: &TimeZone) -> anyhow::Result<Moment> {
        let time = match self {
            When::At(moment) => return Ok(moment),
            When::OfDay(time) => time,
        };
        anyhow::ensure!(
            !captures.are_piped() && captures.lists().iter().any(|l| !l.is_empty()),
            "{time} needs its date here, such as '2026-03-01 {time}': no file says which day it is of"
        );
        // Without a packet any day is as good.
        let span = captures.span()?.unwrap_or_default();
        match on_its_day(time, span, zone) {
            Ok(moment) => Ok(Moment::Absolute(moment)),
            Err([one, other]) => anyhow::bail!(
                "the capture has {time} on several days; say which: '{}' or '{}'",
                one.datetime().strftime("%F %T"),
                other.datetime().strftime("%F %T")
            ),
        }
    }
}

/// A [`moment`], or local `14:00` or `14:00:00.5`.
pub(crate) fn when(text: &str) -> Result<When, String> {
    // A date has hyphens; a time of day and a zone are a time in Temporal's grammar, of which the zone would be lost.
    let digits = |c: char| c.is_ascii_digit() || c == ':' || c == '.';
    match text.parse() {
        Ok(time) if text.contains(':') && text.chars().all(digits) => Ok(When::OfDay(time)),
        _ => moment(text).map(When::At),
    }
}

/// `2026-03-01T14:00:00Z`, local `2026-03-01 14:00:00.5`, `@1772373600.5`, `+1.5s`, `90s`.
fn moment(text: &str) -> Result<Moment, String> {
    moment_in(text, &TimeZone::system())
}

/// When a time of day is in a capture that lasts from `first` to `last`: on the day on which it lies within, else on
/// that on which it is nearest. Where it lies within on several days, two of them.
pub(crate) fn on_its_day(
    time: civil::Time,
    (first, last): (Time, Time),
    zone: &TimeZone,
) -> Result<Time, [Zoned; 2]> {
    let local = |t: Time| {
        let stamp = Timestamp::from_nanosecond(i128::from(t.0)).unwrap_or_default();
        stamp.to_zoned(zone.clone())
    };
    let nanoseconds = |z: &Zoned| i64::try_from(z.timestamp().as_nanosecond()).unwrap_or(i64::MAX);
    // Who gives no seconds means that minute, in which a capture may begin.
    let whole_minute = time.second() == 0 && time.subsec_nanosecond() == 0;
    let width = if whole_minute { MINUTE_NS - 1 } else { 0 };
    // How far outside.
    let beyond = |t: i64| {
        (first.0.saturating_sub(t.saturating_add(width)))
            .max(t.saturating_sub(last.0))
            .max(0)
    };
    let days = local(first).date().series(jiff::Span::new().days(1));
    let moments = days
        .take_while(|day| *day <= local(last).date())
        .filter_map(|day| day.to_datetime(time).to_zoned(zone.clone()).ok());
    let mut found: Option<Zoned> = None;
    for moment in moments {
        let far = beyond(nanoseconds(&moment));
        match &found {
            Some(before) if far == 0 && beyond(nanoseconds(before)) == 0 => {
                return Err([before.clone(), moment]);
            }
            Some(before) if far >= beyond(nanoseconds(before)) => {}
            _ => found = Some(moment),
        }
    }
    Ok(Time(found.map_or(first.0, |z| nanoseconds(&z))))
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
            "a time is 14:00 or '2026-03-01 14:00:00' (local), 2026-03-01T14:00:00Z, @1772373600.5 (epoch) \
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
        "m" | "min" => MINUTE_NS,
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
    fn a_time_of_day_is_on_the_capture_s_day() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let at = |text: &str| match moment_in(text, &zone) {
            Ok(Moment::Absolute(time)) => time,
            other => panic!("{text}: {other:?}"),
        };
        for (from, to, time, is) in [
            ("03-01 13:00", "03-01 15:00", "14:00", Some("03-01 14:00")),
            // Outside it is on the same day, before or behind.
            ("03-01 14:05", "03-01 14:30", "14:00", Some("03-01 14:00")),
            ("03-01 09:00", "03-01 10:00", "14:00", Some("03-01 14:00")),
            // Over midnight.
            ("03-01 23:00", "03-02 01:00", "23:30", Some("03-01 23:30")),
            ("03-01 23:00", "03-02 01:00", "00:30", Some("03-02 00:30")),
            ("03-01 23:00", "03-02 01:00", "22:00", Some("03-01 22:00")),
            ("03-01 23:00", "03-02 01:00", "02:00", Some("03-02 02:00")),
            ("03-01 13:00", "03-02 15:00", "14:00", None),
            ("03-01 15:00", "03-03 13:00", "14:00", Some("03-02 14:00")),
            // The capture begins in that minute.
            ("03-01 11:47:06", "03-03 09:00", "11:47", None),
            (
                "03-01 11:48:00",
                "03-03 09:00",
                "11:47",
                Some("03-02 11:47"),
            ),
        ] {
            let [from_at, to_at] = [from, to].map(|t| at(&format!("2026-{t}")));
            let Ok(When::OfDay(given)) = when(time) else {
                panic!("{time} is a time of day");
            };
            let found = on_its_day(given, (from_at, to_at), &zone);
            let expected = is.map(|t| at(&format!("2026-{t}")));
            assert_eq!(found.ok(), expected, "{time} in {from} to {to}");
        }
        for text in ["14:00Z", "25:00", "14", "T14:00", "14:00+02:00"] {
            assert!(when(text).is_err(), "{text}");
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
            let _ = when(&text);
            let _ = duration(&text);
        }
    }
}
