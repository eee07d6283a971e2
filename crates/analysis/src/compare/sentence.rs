//! The answer in a sentence or two, and numbers as they stand in sentences.

use super::OTHER_WORK;
use super::effect::excludes_nothing;
use super::result::{Cause, Comparison, Outcome, Run, Shared, Unit};
use super::snapshot::SavedFinding;
use crate::findings::Rule;
use crate::results::Side;
use model::{format_duration, grouped};

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
        s if s >= 99.95 => grouped(s.round() as u64),
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
    let mut said: Vec<String> = c.beside.iter().filter_map(|f| moved(c, f)).collect();
    let has = |which: &str, findings: Vec<&SavedFinding>| {
        let named: Vec<String> = findings.into_iter().map(named).collect();
        (!named.is_empty()).then(|| format!("The {which} alone has {}.", named.join(", ")))
    };
    let other = |rule: Rule, list: &[SavedFinding]| list.iter().all(|f| f.rule != rule);
    let new = c.beside.iter().filter(|f| other(f.rule, &c.gone));
    let gone = c.gone.iter().filter(|f| other(f.rule, &c.beside));
    said.extend(has("problem", new.collect()));
    said.extend(has("baseline", gone.collect()));
    match said.is_empty() {
        true => calls(c),
        false => format!("{} Of its calls: {}", said.join(" "), calls(c)),
    }
}

/// "connection-reset (by the server's host; it ends work)".
pub(super) fn named(f: &SavedFinding) -> String {
    match (f.fatal, f.cost_ns) {
        (true, _) => match who(f.side) {
            Some(who) => format!("{} (by {who}; it ends work)", f.rule),
            None => format!("{} (it ends work)", f.rule),
        },
        (false, Some(ns)) => format!("{} ({})", f.rule, format_duration(ns)),
        (false, None) => f.rule.to_string(),
    }
}

fn who(side: Side) -> Option<&'static str> {
    match side {
        Side::Client => Some("the client's host"),
        Side::Network => Some("something on the way"),
        Side::Server => Some("the server's host"),
        Side::Mixed | Side::None | Side::Undetermined => None,
    }
}

/// What both runs suffer from, each from another side.
fn moved(c: &Comparison, f: &SavedFinding) -> Option<String> {
    let before = c.gone.iter().find(|g| g.rule == f.rule)?;
    let [there, here] = [before, f].map(|f| who(f.side).unwrap_or("nobody knows who"));
    let what = match f.rule {
        Rule::ConnectionReset => "resets connections",
        Rule::ConnectionRefused => "refuses connections",
        Rule::SlowConnect => "makes connections open late",
        _ => "does harm",
    };
    let ends = if f.fatal { "; it ends work" } else { "" };
    Some(format!(
        "In the problem {here} {what}, which in the baseline {there} did ({}{ends}).",
        f.rule
    ))
}

/// What only one run did, where that is part of its time.
fn only(c: &Comparison) -> String {
    let mut said = String::new();
    // What was carried is compared, not calls.
    if c.runs.iter().any(|r| r.calls == 0) {
        return said;
    }
    for (i, name) in ["baseline", "problem"].into_iter().enumerate() {
        let alone = c.only(i);
        let time: i64 = alone
            .iter()
            .filter_map(|o| o.sums.get(i))
            .map(|s| s.time_ns)
            .fold(0, i64::saturating_add);
        let all = c.runs.get(i).map_or(0, |r| r.all_time_ns);
        if time as f64 >= all as f64 * OTHER_WORK && time > 0 {
            let noun = match alone.iter().all(|o| o.statement.is_some()) {
                true => "statement",
                false => "operation",
            };
            let server = c.shared.and_then(|s| s.only_server_ns);
            let server = server.and_then(|ns| ns.get(i).copied());
            let server = server.map_or(String::new(), |ns| {
                format!(", of which the server takes {}", seconds(ns))
            });
            said += &format!(
                " The {name} alone has {} {noun}{}: {} of its {} seconds{server}.",
                alone.len(),
                if alone.len() == 1 { "" } else { "s" },
                seconds(time),
                seconds(all),
            );
        }
    }
    said
}

/// What is said of the work that both runs did, where they did other work as well.
fn of_both(c: &Comparison, shared: &Shared) -> String {
    let [a, b] = shared.shares.map(|s| format!("{:.0} %", s * 100.0));
    let time = &shared.time;
    let [before, after] = [time.baseline, time.problem].map(|ns| each(ns, Unit::Call));
    let how = match time.beyond_chance {
        Some(true) => {
            let word = match shared.added_ns < 0 {
                true => "less",
                false => "more",
            };
            let by = match main_cause(&c.causes, shared.added_ns) {
                Some(cause) => format!(": {}", cause.what),
                None => String::new(),
            };
            format!(
                "takes {after} instead of {before}, {} seconds {word}{by}",
                seconds(shared.added_ns)
            )
        }
        Some(false) => {
            format!("shows no difference beyond chance: {after}, {before} in the baseline")
        }
        None => {
            format!("takes {after} instead of {before}, of too few calls to tell it from chance")
        }
    };
    format!("what both did ({a} of the baseline's time, {b} of the problem's) {how}.")
}

/// What is said of the calls.
fn calls(c: &Comparison) -> String {
    let Some(time) = &c.time else {
        return match c.runs.each_ref().map(|r: &Run| r.calls) {
            [0, 0] => "Not comparable: neither run has calls to time.",
            [0, _] => "Not comparable: the baseline has no calls to time.",
            _ => "Not comparable: the problem has no calls to time.",
        }
        .into();
    };
    let (before, after) = (each(time.baseline, c.unit), each(time.problem, c.unit));
    let left_out = only(c);
    let elsewhere = super::moved(c).map_or(String::new(), |m| format!(" {m}"));
    let of = match c.shared {
        Some(_) => " in what both did",
        None => "",
    };
    match c.outcome {
        Outcome::NotComparable if c.shared.is_some() => {
            let both = c.shared.map(|s| of_both(c, &s)).unwrap_or_default();
            format!("The runs did different things; {both}{left_out}")
        }
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
            format!(
                "No difference beyond chance{of}: {after}, {before} in the baseline{scope}.{elsewhere}{left_out}"
            )
        }
        Outcome::Undetermined => format!(
            "Undetermined{of}: {after} instead of {before}, of too few calls to tell it from chance.{left_out}"
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
                    "{all} seconds {word} for the same work, and the captures do not say by what.{most} {compared}{left_out}"
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
            format!("{share}: {}.{more} {compared}{left_out}", cause.what)
        }
    }
}
