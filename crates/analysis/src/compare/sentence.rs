//! The answer in a sentence or two, and numbers as they stand in sentences.

use super::effect::excludes_nothing;
use super::result::{Cause, Comparison, Outcome, Run, Unit};
use model::format_duration;

/// Less than this share of the difference is not what it comes from.
const MAIN_SHARE: f64 = 0.25;

/// "64.0 kB".
pub(super) fn amount(bytes: f64) -> String {
    match bytes {
        b if b < 999.5 => format!("{b:.0} B"),
        b if b < 999.5e3 => format!("{} kB", digits(b / 1e3)),
        b if b < 999.5e6 => format!("{} MB", digits(b / 1e6)),
        b => format!("{} GB", digits(b / 1e9)),
    }
}

/// Three of them.
fn digits(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// "1 row", "2.5 rows".
pub(super) fn rows(count: f64) -> String {
    match count {
        n if (n - 1.0).abs() < 0.05 => "1 row".into(),
        n if (n - n.round()).abs() < 0.05 => format!("{n:.0} rows"),
        n => format!("{n:.1} rows"),
    }
}

/// Seconds as a pair shares its unit: "52 of the 61".
fn seconds(ns: i64) -> String {
    let s = ns.abs() as f64 / 1e9;
    match s {
        s if s >= 99.95 => format!("{s:.0}"),
        s if s >= 9.995 => format!("{s:.1}"),
        s if s >= 0.9995 => format!("{s:.2}"),
        s => format!("{s:.3}"),
    }
}

/// The cause that explains most of the difference, if one explains enough of it.
pub(super) fn main_cause(causes: &[Cause], added_ns: i64) -> Option<&Cause> {
    let share = |c: &Cause| c.added_ns as f64 / added_ns as f64;
    let explains =
        |c: &&Cause| c.explains && share(c) >= MAIN_SHARE && c.beyond_chance != Some(false);
    causes.iter().filter(|_| added_ns != 0).find(explains)
}

/// The time of a unit of work, in words: "10.3 ms per call", "190 ms per MB".
fn each(ns: f64, unit: Unit) -> String {
    match unit {
        Unit::Call => format!("{} per call", format_duration(ns as i64)),
        Unit::Byte => format!("{} per MB", format_duration((ns * 1e6) as i64)),
        Unit::Row => format!("{} per row", format_duration(ns as i64)),
    }
}

/// The sentence on top: what ends the work or hinders it beside the calls comes first.
pub(super) fn sentence(c: &Comparison) -> String {
    let beside: Vec<String> = c
        .beside
        .iter()
        .map(|f| match (f.fatal, f.cost_ns) {
            (false, Some(ns)) => format!("{} ({})", f.code, format_duration(ns)),
            (false, None) => f.code.clone(),
            (true, _) => format!("{} (it ends work)", f.code),
        })
        .collect();
    match beside.is_empty() {
        true => calls(c),
        false => format!(
            "The problem alone has {}. Of its calls: {}",
            beside.join(", "),
            calls(c)
        ),
    }
}

/// What is said of the calls.
fn calls(c: &Comparison) -> String {
    let Some(time) = &c.time else {
        return match c.runs.each_ref().map(|r: &Run| r.calls) {
            [0, _] => "Not comparable: the baseline has no calls to time.",
            _ => "Not comparable: the problem has no calls to time.",
        }
        .into();
    };
    let (before, after) = (each(time.baseline, c.unit), each(time.problem, c.unit));
    match c.outcome {
        Outcome::NotComparable => format!(
            "Not comparable: {}",
            c.notes
                .first()
                .map_or("the runs differ in kind.", |n| n.as_str())
        ),
        Outcome::NoDifference => {
            let scope = match time.interval {
                Some(i) if excludes_nothing(i) => {
                    "; runs of the same thing differ by as much from one moment to the next".into()
                }
                Some((low, high)) => {
                    let of = |ns: f64| {
                        let sign = if ns < 0.0 { "-" } else { "+" };
                        format!("{sign}{}", each(ns.abs(), c.unit))
                    };
                    format!("; by chance it may differ by {} to {}", of(low), of(high))
                }
                None => String::new(),
            };
            format!("No difference beyond chance: {after}, {before} in the baseline{scope}.")
        }
        Outcome::Undetermined => format!(
            "Undetermined: {after} instead of {before}, of too few calls to tell it from chance."
        ),
        Outcome::Slower | Outcome::Faster => {
            let word = match c.outcome {
                Outcome::Slower => "added",
                _ => "saved",
            };
            let all = seconds(c.added_ns);
            let compared = format!("It takes {after} instead of {before}.");
            let Some(cause) = main_cause(&c.causes, c.added_ns) else {
                let most = match c.causes.first() {
                    Some(first) => format!(" Most: {}.", first.what),
                    None => String::new(),
                };
                return format!(
                    "{all} seconds {word} for the same work, and the captures do not say by what.{most} {compared}"
                );
            };
            let share = match cause.added_ns.abs() >= c.added_ns.abs() {
                true => format!("All of the {all} {word} seconds"),
                false => format!("{} of the {all} {word} seconds", seconds(cause.added_ns)),
            };
            let more = match c.causes.first() {
                Some(first) if !first.explains => {
                    format!(" Of more the captures do not say why: {}.", first.what)
                }
                _ => String::new(),
            };
            format!("{share}: {}.{more} {compared}", cause.what)
        }
    }
}
