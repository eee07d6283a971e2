//! A line of what BCC's tools print of a distribution (`_print_log2_hist` of bcc's table.py, 0.3 to 0.31: nfsdist,
//! ext4dist and their likes, biolatency, funclatency; those of libbpf-tools alike):
//!
//! ```text
//! operation = read
//!      usecs               : count     distribution
//!          0 -> 1          : 4        |                                        |
//!          8 -> 15         : 7107     |**************                          |
//!
//! avg = 40 usecs, total: 284440 usecs, count: 7111
//! ```
//!
//! Both bounds belong to a row. funclatency adds the sum, by which the mean is known.

use super::title::unit_of;
use super::{Part, Row, Unit, Until};

pub(super) fn is_head(line: &str) -> bool {
    head(line).is_some()
}

pub(super) fn part(line: &str) -> Part<'_> {
    if let Some(unit) = head(line) {
        return Part::Head {
            title: None,
            // What is not known as a unit of time is none: pages, packets.
            unit: Some(unit_of(unit).unwrap_or(Unit::Other)),
        };
    }
    if let Some(row) = row(line) {
        return Part::Row(row);
    }
    total(line).unwrap_or(Part::Other)
}

/// The unit that stands in a head.
fn head(line: &str) -> Option<&str> {
    let (unit, rest) = line.split_once(':')?;
    let mut words = rest.split_whitespace();
    let is_head = words.next()? == "count" && words.next()? == "distribution";
    is_head.then(|| unit.trim())
}

fn row(line: &str) -> Option<Row> {
    let (bounds, rest) = line.split_once(':')?;
    let (from, until) = bounds.split_once("->")?;
    let count = rest.split('|').next()?.trim().parse().ok()?;
    let number = |text: &str| text.trim().parse::<i64>().ok();
    Some(Row {
        from: number(from)?,
        until: Until::At(number(until)?.checked_add(1)?),
        count,
    })
}

/// `avg = 40 usecs, total: 284440 usecs, count: 7111`
fn total(line: &str) -> Option<Part<'_>> {
    let rest = line.strip_prefix("avg = ")?;
    let (_, rest) = rest.split_once("total: ")?;
    let (sum, count) = rest.split_once(", count: ")?;
    let (sum, unit) = sum.split_once(' ')?;
    let unit = unit_of(unit.trim())?;
    let count = count.trim().parse().ok()?;
    Some(Part::Total(sum.parse().ok()?, unit, count))
}
