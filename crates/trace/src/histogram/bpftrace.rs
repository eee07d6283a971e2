//! A line of what bpftrace prints of `hist()` and `lhist()` (`text.cpp` of its output, 0.9 to 0.21):
//!
//! ```text
//! @usecs[nfsd_read]:
//! [0]                    3 |@                                                   |
//! [512, 1K)             10 |@@                                                  |
//! (..., 0)               1 |                                                    |
//! [1M, ...)              2 |@                                                   |
//! ```
//!
//! A row holds what is not less than its first bound and less than the second; `[0]` is one value. K, M, G and T are powers
//! of 1,024. The unit is what the map is called for: `@usecs`, `@read_us`, `@ns`.

use super::{Part, Row, Until};

pub(super) fn is_row(line: &str) -> bool {
    row(line).is_some()
}

pub(super) fn part(line: &str) -> Part<'_> {
    if let Some(title) = line.strip_prefix('@').and(line.strip_suffix(':')) {
        return Part::Head {
            title: Some(title),
            unit: None,
        };
    }
    row(line).map_or(Part::Other, Part::Row)
}

fn row(line: &str) -> Option<Row> {
    let (bounds, rest) = line.split_at_checked(line.find([')', ']'])? + 1)?;
    let (count, bar) = rest.split_once('|')?;
    if !bar.ends_with('|') {
        return None;
    }
    let count = count.trim().parse().ok()?;
    if let Some(until) = bounds.strip_prefix("(...,") {
        let until = number(until.strip_suffix(')')?)?;
        return Some(Row {
            from: until.min(0),
            until: Until::At(until),
            count,
        });
    }
    let inner = bounds.strip_prefix('[')?;
    if let Some(value) = inner.strip_suffix(']') {
        let from = number(value)?;
        return Some(Row {
            from,
            until: Until::At(from.checked_add(1)?),
            count,
        });
    }
    let (from, until) = inner.strip_suffix(')')?.split_once(',')?;
    Some(Row {
        from: number(from)?,
        until: match until.trim() {
            "..." => Until::Open,
            until => Until::At(number(until)?),
        },
        count,
    })
}

fn number(text: &str) -> Option<i64> {
    let text = text.trim();
    let ends = text.find(|c: char| c.is_ascii_alphabetic());
    let (digits, suffix) = text.split_at_checked(ends.unwrap_or(text.len()))?;
    let shift = match suffix {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        "P" => 50,
        "E" => 60,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(1 << shift)
}
