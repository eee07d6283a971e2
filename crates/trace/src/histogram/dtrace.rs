//! A line of what DTrace prints of `quantize()`, `lquantize()` and `llquantize()` (illumos, Oracle Solaris 11, FreeBSD;
//! `dt_print_quantize` of libdtrace):
//!
//! ```text
//!   read
//!            value  ------------- Distribution ------------- count
//!               64 |                                         0
//!              128 |@@@@@@@@@@@@@@@@@@@@@@@@                 969
//! ```
//!
//! A row holds what is not less than its value and less than the next one's. `lquantize` has `< 0` and `>= 100` at its
//! ends. What is counted is what the script took: its title has to say the unit.

use super::{Part, Row, Until};

pub(super) fn is_head(line: &str) -> bool {
    line.starts_with("value ") && line.contains("- Distribution -") && line.ends_with("count")
}

pub(super) fn part(line: &str) -> Part<'_> {
    if is_head(line) {
        return Part::Head {
            title: None,
            unit: None,
        };
    }
    row(line).map_or(Part::Other, Part::Row)
}

fn row(line: &str) -> Option<Row> {
    let (value, bar) = line.split_once('|')?;
    let count = bar.trim_start_matches(['@', ' ']).trim().parse().ok()?;
    let value = value.trim();
    let number = |text: &str| text.trim().parse::<i64>().ok();
    Some(if let Some(below) = value.strip_prefix('<') {
        let until = number(below)?;
        Row {
            from: until.min(0),
            until: Until::At(until),
            count,
        }
    } else if let Some(least) = value.strip_prefix(">=") {
        Row {
            from: number(least)?,
            until: Until::Open,
            count,
        }
    } else {
        Row {
            from: number(value)?,
            until: Until::Next,
            count,
        }
    })
}
