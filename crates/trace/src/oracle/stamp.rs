//! Dates as traces write them, into nanoseconds of local time and the zone where one is given.
//!
//! `2023-05-19T05:28:00.339263+02:00` (12c and later), `2014-02-03 10:56:28.051`, and SQL*Net's
//! `03-FEB-2014 10:56:17:929`, whose month follows the language of the process.

/// A moment by the clock on the wall.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Nanoseconds since 1970-01-01 00:00:00 of the same zone.
    pub local_ns: i64,
    /// The zone's distance from UTC in seconds, where it is written.
    pub offset_s: Option<i32>,
}

impl Stamp {
    /// Nanoseconds since 1970, where its zone is written.
    #[must_use]
    pub fn utc_ns(&self) -> Option<i64> {
        let offset_s = i64::from(self.offset_s?);
        self.local_ns.checked_sub(offset_s * 1_000_000_000)
    }

    /// `2023-05-19T05:28:00.339263+02:00` or with a space and without a zone; also how long the text is.
    pub(crate) fn iso(text: &str) -> Option<(Stamp, usize)> {
        let bytes = text.as_bytes();
        let date = bytes.get(..10)?;
        let &[.., b'-', _, _, b'-', _, _] = date else {
            return None;
        };
        let year = number(bytes.get(..4)?)?;
        let month = number(bytes.get(5..7)?)?;
        let day = number(bytes.get(8..10)?)?;
        if !matches!(bytes.get(10), Some(b' ' | b'T')) {
            return None;
        }
        let (clock_ns, mut length) = clock(bytes.get(11..)?)?;
        length += 11;
        let mut offset_s = None;
        if let Some([sign @ (b'+' | b'-'), h0, h1, b':', m0, m1]) = bytes.get(length..length + 6) {
            let seconds = number(&[*h0, *h1])? * 3_600 + number(&[*m0, *m1])? * 60;
            let seconds = i32::try_from(seconds).ok()?;
            offset_s = Some(if *sign == b'-' { -seconds } else { seconds });
            length += 6;
        }
        let local_ns = days(year, month, day)?
            .checked_mul(DAY_NS)?
            .checked_add(clock_ns)?;
        Some((Stamp { local_ns, offset_s }, length))
    }

    /// `03-FEB-2014 10:56:17:929`.
    pub(crate) fn oracle(text: &str) -> Option<Stamp> {
        let (date, time) = text.trim().rsplit_once(' ')?;
        // A number of the thread may stand before it.
        let date = date.rsplit(' ').next()?;
        let mut parts = date.split('-');
        let day = number(parts.next()?.as_bytes())?;
        let month = month(parts.next()?)?;
        let year = number(parts.next()?.as_bytes())?;
        let (clock_ns, length) = clock(time.as_bytes())?;
        let local_ns = days(year, month, day)?
            .checked_mul(DAY_NS)?
            .checked_add(clock_ns)?;
        (length == time.len() && parts.next().is_none()).then_some(Stamp {
            local_ns,
            offset_s: None,
        })
    }
}

const DAY_NS: i64 = 86_400_000_000_000;

fn number(digits: &[u8]) -> Option<i64> {
    let plain = !digits.is_empty() && digits.len() <= 9;
    digits.iter().try_fold(0, |sum: i64, d| {
        (plain && d.is_ascii_digit()).then(|| sum * 10 + i64::from(d - b'0'))
    })
}

/// `10:56:17.929` or `10:56:17:929`, with up to nine digits behind the seconds; also its length.
fn clock(text: &[u8]) -> Option<(i64, usize)> {
    let &[h0, h1, b':', m0, m1, b':', s0, s1, ..] = text else {
        return None;
    };
    let (hours, minutes, seconds) = (number(&[h0, h1])?, number(&[m0, m1])?, number(&[s0, s1])?);
    let whole = (hours * 3_600 + minutes * 60 + seconds) * 1_000_000_000;
    let Some(b'.' | b':') = text.get(8) else {
        return Some((whole, 8));
    };
    let fraction = text.get(9..).unwrap_or_default();
    let digits = fraction.iter().take(9).take_while(|d| d.is_ascii_digit());
    let count = digits.count();
    let part = number(fraction.get(..count)?)?;
    let scale = 10_i64.pow(9 - u32::try_from(count).ok()?);
    Some((whole + part * scale, 9 + count))
}

/// Days since 1970 of a date of the Gregorian calendar (Howard Hinnant's `days_from_civil`).
pub(crate) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1970..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year / 400;
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// The month from its abbreviation in English, German, French, Spanish, Italian, Portuguese or Dutch.
fn month(text: &str) -> Option<i64> {
    const MONTHS: [&[&str]; 12] = [
        &["JAN", "ENE", "GEN"],
        &["FEB", "FEV", "FÉV"],
        &["MAR", "MÄR", "MRZ", "MRT"],
        &["APR", "AVR", "ABR"],
        &["MAY", "MAI", "MAG", "MEI"],
        &["JUN", "JUI", "GIU"],
        &["JUL", "LUG"],
        &["AUG", "AOU", "AOÛ", "AGO"],
        &["SEP", "SET"],
        &["OCT", "OKT", "OTT", "OUT"],
        &["NOV"],
        &["DEC", "DÉC", "DEZ", "DIC"],
    ];
    let upper = text.trim_end_matches('.').to_uppercase();
    // French: JUIN and JUIL begin alike.
    if upper.starts_with("JUIL") {
        return Some(7);
    }
    let found = MONTHS
        .iter()
        .position(|names| names.iter().any(|n| upper.starts_with(n)));
    found.and_then(|i| i64::try_from(i + 1).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_all_forms_are_read() {
        // date -u -d '2014-02-03 10:56:17' +%s
        let second = 1_391_424_977_000_000_000;
        let stamp = Stamp::oracle("03-FEB-2014 10:56:17:929");
        assert_eq!(stamp.map(|s| s.local_ns), Some(second + 929_000_000));
        assert_eq!(Stamp::oracle("000001 03-FEB-2014 10:56:17:929"), stamp);
        assert_eq!(Stamp::oracle("03-FÉV-2014 10:56:17:929"), stamp);
        let (stamp, length) = Stamp::iso("2014-02-03 10:56:17.051 : nsopen").unwrap();
        assert_eq!(
            (stamp.local_ns, stamp.offset_s, length),
            (second + 51_000_000, None, 23)
        );
        let (stamp, length) = Stamp::iso("2014-02-03T10:56:17.000001-07:30 (PDB1(3))").unwrap();
        assert_eq!(
            (stamp.local_ns, stamp.offset_s, length),
            (second + 1_000, Some(-27_000), 32)
        );
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "2014-02-03",
            "2014-13-03 10:56:17",
            "2014-02-03 10:56",
            "03-XXX-2014 10:56:17:929",
        ] {
            assert_eq!(Stamp::iso(text), None, "{text}");
            assert_eq!(Stamp::oracle(text), None, "{text}");
        }
    }
}
