//! Times as tools of hosts write them, into nanoseconds since 1970.

use crate::number::scaled;
use crate::oracle::Stamp;
use crate::oracle::days;

pub(super) const SECOND_NS: i64 = 1_000_000_000;
pub(super) const DAY_NS: i64 = 86_400 * SECOND_NS;

/// A moment, and whether the zone of its clock is not said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Moment {
    pub(super) ns: i64,
    pub(super) is_local: bool,
}

/// `# 2026-11-24T16:50:21.123Z ss -tinm`, `# 1795366221.123 ss -tinm`: the time and the command.
pub(super) fn header(line: &str) -> Option<(i64, &str)> {
    let text = line.strip_prefix('#')?.trim_start();
    let (time, command) = text.split_once(' ').unwrap_or((text, ""));
    let ns = match iso(time) {
        Some(Moment {
            ns,
            is_local: false,
        }) => ns,
        Some(_) => return None,
        None => scaled(time, 9).filter(|_| is_epoch(time))?,
    };
    Some((ns, command.trim()))
}

fn is_epoch(text: &str) -> bool {
    let whole = text.split('.').next().unwrap_or_default();
    (9..=11).contains(&whole.len()) && whole.bytes().all(|b| b.is_ascii_digit())
}

/// `2026-11-24T16:55:37Z`, `2026-11-24T16:55:37+0100`, `2026-11-24 16:55:37`.
pub(super) fn iso(text: &str) -> Option<Moment> {
    let (stamp, length) = Stamp::iso(text)?;
    let rest = text.get(length..)?;
    let offset_s = match (stamp.offset_s, rest.as_bytes()) {
        (Some(s), _) => Some(i64::from(s)),
        (None, [b'Z', ..]) => Some(0),
        (None, [sign @ (b'+' | b'-'), h0, h1, m0, m1, ..]) => {
            let two = |a: u8, b: u8| scaled(std::str::from_utf8(&[a, b]).ok()?, 0);
            let s = two(*h0, *h1)? * 3_600 + two(*m0, *m1)? * 60;
            Some(if *sign == b'-' { -s } else { s })
        }
        _ => None,
    };
    let ns = stamp
        .local_ns
        .checked_sub(offset_s.unwrap_or(0) * SECOND_NS)?;
    Some(Moment {
        ns,
        is_local: offset_s.is_none(),
    })
}

/// `11/24/26`, `11/24/2026`, `24/11/2026` where that can be no month, `2026-11-24`, into the midnight that begins it.
pub(super) fn date(text: &str) -> Option<i64> {
    let part =
        |t: &str| scaled(t, 0).filter(|_| t.len() <= 4 && t.bytes().all(|b| b.is_ascii_digit()));
    let split = |by: char| {
        let mut parts = text.split(by).map(part);
        let found = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(found)
    };
    let (year, month, day) = match (split('-'), split('/')) {
        (Some([y, m, d]), _) => (y, m, d),
        (None, Some([a, b, year])) if a > 12 => (year, b, a),
        (None, Some([a, b, year])) => (year, a, b),
        (None, None) => return None,
    };
    let year = if year < 100 { year + 2_000 } else { year };
    days(year, month, day)?.checked_mul(DAY_NS)
}

/// `16:55:37`, `04:55:37 PM`: since midnight, and what stands behind it.
pub(super) fn clock(line: &str) -> Option<(i64, &str)> {
    let text = line.trim_start();
    let (word, mut rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let &[h0, h1, b':', m0, m1, b':', s0, s1] = word.as_bytes() else {
        return None;
    };
    let two = |a: u8, b: u8| {
        (a.is_ascii_digit() && b.is_ascii_digit())
            .then(|| i64::from(a - b'0') * 10 + i64::from(b - b'0'))
    };
    let (mut hours, minutes, seconds) = (two(h0, h1)?, two(m0, m1)?, two(s0, s1)?);
    rest = rest.trim_start();
    for (half, add) in [("AM", 0), ("PM", 12)] {
        if let Some(behind) = rest.strip_prefix(half) {
            (hours, rest) = (hours % 12 + add, behind.trim_start());
        }
    }
    let fits = hours < 24 && minutes < 60 && seconds < 61;
    fits.then_some(((hours * 3_600 + minutes * 60 + seconds) * SECOND_NS, rest))
}

/// Whether a line is a date and a time of day and no more, as iostat begins its reports.
pub(super) fn is_alone(line: &str) -> bool {
    let local = |(day, clock_text): (&str, &str)| {
        date(day).is_some() && clock(clock_text).is_some_and(|(_, rest)| rest.is_empty())
    };
    line.split_once(' ').is_some_and(local) || !line.contains(' ') && iso(line).is_some()
}

/// `Linux 6.1.0 (db1) 11/24/26 _x86_64_ (2 CPU)`, above what sysstat's tools write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Banner {
    pub(super) name: String,
    pub(super) midnight_ns: Option<i64>,
    pub(super) processors: Option<u32>,
}

pub(super) fn banner(line: &str) -> Option<Banner> {
    let rest = line.strip_prefix("Linux ")?;
    let (_, rest) = rest.split_once('(')?;
    let (name, rest) = rest.split_once(')')?;
    let processors = rest.rsplit_once('(').and_then(|(_, n)| {
        let n = n.strip_suffix(" CPU)")?;
        n.trim().parse().ok()
    });
    Some(Banner {
        name: name.chars().take(255).collect(),
        midnight_ns: rest.split_whitespace().find_map(date),
        processors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_have_a_zone_or_are_seconds_since_1970() {
        let at = 1_795_539_021_123_000_000;
        for (line, want) in [
            (
                "# 2026-11-24T16:50:21.123Z ss -tinm",
                Some((at, "ss -tinm")),
            ),
            ("# 2026-11-24T17:50:21.123+01:00 ss", Some((at, "ss"))),
            ("# 2026-11-24T17:50:21.123+0100 ss", Some((at, "ss"))),
            (
                "# 1795539021.123 cat /proc/pressure/io",
                Some((at, "cat /proc/pressure/io")),
            ),
            ("# 2026-11-24T16:50:21.123 ss", None),
            ("# pool packets-arrived", None),
            ("#kernel", None),
            ("# 12", None),
        ] {
            assert_eq!(header(line), want, "{line}");
        }
    }

    #[test]
    fn clocks_have_halves_of_days_where_locales_do() {
        for (text, want) in [
            ("16:55:37  all", Some((60_937 * SECOND_NS, "all"))),
            ("04:55:37 PM  all", Some((60_937 * SECOND_NS, "all"))),
            ("12:00:01 AM", Some((SECOND_NS, ""))),
            ("25:00:00", None),
            ("Average:", None),
        ] {
            assert_eq!(clock(text), want, "{text}");
        }
        let day = 20_781 * DAY_NS;
        for text in ["11/24/26", "11/24/2026", "24/11/2026", "2026-11-24"] {
            assert_eq!(date(text), Some(day), "{text}");
        }
    }
}
