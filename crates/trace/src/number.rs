//! Numbers from text and into text: decimals into integers without a detour through floating point: an epoch in nanoseconds has
//! more digits than a double holds.

/// `counted(2, "mount")` is `2 mounts`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// `text` × 10^`digits`, further digits cut off: `scaled("1.5", 3)` is 1500. `None` for what is no
/// number or does not fit.
pub(crate) fn scaled(text: &str, digits: u32) -> Option<i64> {
    let (negative, magnitude) = match text.as_bytes() {
        [b'-', ..] => (true, text.get(1..)?),
        [b'+', ..] => (false, text.get(1..)?),
        _ => (false, text),
    };
    let (whole, fraction) = magnitude.split_once('.').unwrap_or((magnitude, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let is_decimal = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if !is_decimal(whole) || !is_decimal(fraction) {
        return exponential(text, digits);
    }
    let shifted = fraction
        .bytes()
        .chain(std::iter::repeat(b'0'))
        .take(digits as usize);
    let mut value: i64 = 0;
    for digit in whole.bytes().chain(shifted) {
        value = value
            .checked_mul(10)?
            .checked_add(i64::from(digit - b'0'))?;
    }
    Some(if negative { -value } else { value })
}

/// Scientific notation as spreadsheets and data frames write it (`1.5e-3`). Its digits beyond the
/// sixteenth are lost, in the file already.
fn exponential(text: &str, digits: u32) -> Option<i64> {
    let is_plain = |b: u8| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-');
    if !text.bytes().all(is_plain) {
        return None;
    }
    let value = text.parse::<f64>().ok()? * 10f64.powi(i32::try_from(digits).ok()?);
    // The largest double below i64::MAX.
    (value.abs() < 9.223_372_036_854_774e18).then_some(value as i64)
}

#[cfg(test)]
mod tests {
    use super::scaled;

    #[test]
    fn decimal_text_is_scaled_exactly() {
        for (text, digits, value) in [
            ("1795166662233654921", 0, Some(1_795_166_662_233_654_921)),
            ("1795166662.233654921", 9, Some(1_795_166_662_233_654_921)),
            ("0.0000000019", 9, Some(1)),
            (".5", 3, Some(500)),
            ("7.", 3, Some(7000)),
            ("-1.25", 2, Some(-125)),
            ("+4", 0, Some(4)),
            ("1.5e-3", 6, Some(1500)),
            ("9223372036854775807", 0, Some(i64::MAX)),
        ] {
            assert_eq!(scaled(text, digits), value, "{text}");
        }
    }

    #[test]
    fn what_is_no_number_or_does_not_fit_is_none() {
        for text in [
            "",
            "-",
            ".",
            "+.",
            "inf",
            "NaN",
            "1 2",
            "0x10",
            "1,5",
            "--1",
            "e",
            "1e99",
            "9223372036854775808",
            "2026-11-20T10:00:00Z",
        ] {
            assert_eq!(scaled(text, 0), None, "{text}");
        }
        assert_eq!(scaled("9223372036854775807", 3), None);
    }
}
