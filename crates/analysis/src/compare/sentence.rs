//! The answer in a sentence or two, and parts of sentences that several lines need.

use super::OTHER_WORK;
use super::effect::excludes_nothing;
use super::result::{Cause, Change, Comparison, Outcome, Run, Shared, Unit};
use super::snapshot::SavedFinding;
use crate::findings::Rule;
use crate::results::Side;
use crate::text::{Text, Value, text};

/// Less than this share of the difference is not what it comes from.
const MAIN_SHARE: f64 = 0.25;

/// The cause that explains most of the difference, if one explains enough of it.
pub(super) fn main_cause(causes: &[Cause], added_ns: i64) -> Option<&Cause> {
    let share = |c: &Cause| c.added_ns as f64 / added_ns as f64;
    let explains =
        |c: &&Cause| c.explains && share(c) >= MAIN_SHARE && c.beyond_chance != Some(false);
    causes.iter().filter(|_| added_ns != 0).find(explains)
}

/// The time of a unit of work: "10.3 ms per call", "190 ms per MB".
fn each(ns: f64, unit: Unit) -> Text {
    let time = |ns: f64| Value::Duration(ns as i64);
    match unit {
        Unit::Call => text!("{time} per call", time = time(ns)),
        Unit::Byte => text!("{time} per MB", time = time(ns * 1e6)),
        Unit::Row => text!("{time} per row", time = time(ns)),
    }
}

/// "8.20 ms instead of 0.10 ms".
pub(super) fn instead(change: Change) -> Text {
    text!(
        "{now} instead of {before}",
        now = Value::Duration(change.problem as i64),
        before = Value::Duration(change.baseline as i64),
    )
}

/// The sentence on top: what ends the work or hinders it beside the calls comes first.
pub(super) fn sentence(c: &Comparison) -> Text {
    let mut said: Vec<Text> = c.beside.iter().filter_map(|f| moved(c, f)).collect();
    let has = |which: &'static str, findings: Vec<&SavedFinding>| {
        let named: Vec<Text> = findings.into_iter().map(named).collect();
        (!named.is_empty()).then(|| {
            text!(
                "The {which} alone has {findings}.",
                which = which,
                findings = Value::List(named, ", ")
            )
        })
    };
    let other = |rule: Rule, list: &[SavedFinding]| list.iter().all(|f| f.rule != rule);
    let new = c.beside.iter().filter(|f| other(f.rule, &c.gone));
    let gone = c.gone.iter().filter(|f| other(f.rule, &c.beside));
    said.extend(has("problem", new.collect()));
    said.extend(has("baseline", gone.collect()));
    match said.is_empty() {
        true => calls(c),
        false => text!(
            "{said} Of its calls: {calls}",
            said = Value::List(said, " "),
            calls = calls(c)
        ),
    }
}

/// "connection-reset (by the server's host; it ends work)".
pub(super) fn named(f: &SavedFinding) -> Text {
    let code = f.rule.code();
    match (f.fatal, f.cost_ns) {
        (true, _) => match who(f.side) {
            Some(who) => text!("{code} (by {who}; it ends work)", code = code, who = who),
            None => text!("{code} (it ends work)", code = code),
        },
        (false, Some(ns)) => text!("{code} ({cost})", code = code, cost = Value::Duration(ns)),
        (false, None) => code.into(),
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
fn moved(c: &Comparison, f: &SavedFinding) -> Option<Text> {
    let before = c.gone.iter().find(|g| g.rule == f.rule)?;
    let [there, here] = [before, f].map(|f| who(f.side).unwrap_or("nobody knows who"));
    let what = match f.rule {
        Rule::ConnectionReset => "resets connections",
        Rule::ConnectionRefused => "refuses connections",
        Rule::SlowConnect => "makes connections open late",
        _ => "does harm",
    };
    Some(text!(
        "In the problem {here} {what}, which in the baseline {there} did ({code}{ends}).",
        here = here,
        what = what,
        there = there,
        code = f.rule.code(),
        ends = if f.fatal { "; it ends work" } else { "" },
    ))
}

/// What only one run did, where that is part of its time.
fn only(c: &Comparison) -> Text {
    let mut said = Vec::new();
    // What was carried is compared, not calls.
    if c.runs.iter().any(|r| r.calls == 0) {
        return Text::default();
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
            let server = c.shared.and_then(|s| s.only_server_ns);
            let server = server.and_then(|ns| ns.get(i).copied());
            said.push(text!(
                " The {name} alone has {n} {noun}{n||s}: {time} of its {all} seconds{server}.",
                name = name,
                n = alone.len(),
                noun = match alone.iter().all(|o| o.statement.is_some()) {
                    true => "statement",
                    false => "operation",
                },
                time = Value::Seconds(time),
                all = Value::Seconds(all),
                server = server.map_or_else(Text::default, |ns| {
                    text!(", of which the server takes {ns}", ns = Value::Seconds(ns))
                }),
            ));
        }
    }
    Text::list(said, "")
}

/// What is said of the work that both runs did, where they did other work as well.
fn of_both(c: &Comparison, shared: &Shared) -> Text {
    let [a, b] = shared.shares.map(|s| Value::Share(s * 100.0, 0));
    let time = &shared.time;
    let [before, after] = [time.baseline, time.problem].map(|ns| each(ns, Unit::Call));
    let how = match time.beyond_chance {
        Some(true) => text!(
            "takes {after} instead of {before}, {seconds} seconds {word}{by}",
            after = after,
            before = before,
            seconds = Value::Seconds(shared.added_ns),
            word = if shared.added_ns < 0 { "less" } else { "more" },
            by = main_cause(&c.causes, shared.added_ns)
                .map_or_else(Text::default, |c| text!(": {what}", what = c.what.clone())),
        ),
        Some(false) => text!(
            "shows no difference beyond chance: {after}, {before} in the baseline",
            after = after,
            before = before,
        ),
        None => text!(
            "takes {after} instead of {before}, of too few calls to tell it from chance",
            after = after,
            before = before,
        ),
    };
    text!(
        "what both did ({a} of the baseline's time, {b} of the problem's) {how}.",
        a = a,
        b = b,
        how = how,
    )
}

/// What is said of the calls.
fn calls(c: &Comparison) -> Text {
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
    let of = match c.shared {
        Some(_) => " in what both did",
        None => "",
    };
    match (c.outcome, c.shared) {
        (Outcome::NotComparable, Some(shared)) => text!(
            "The runs did different things; {both}{left_out}",
            both = of_both(c, &shared),
            left_out = left_out,
        ),
        (Outcome::NotComparable, None) => text!(
            "Not comparable: {why}",
            why = (c.notes.first().cloned()).unwrap_or("the runs differ in kind.".into())
        ),
        (Outcome::NoDifference, _) => text!(
            "No difference beyond chance{of}: {after}, {before} in the baseline{scope}.{elsewhere}{left_out}",
            of = of,
            after = after,
            before = before,
            scope = scope(time, c.unit),
            elsewhere =
                super::moved(c).map_or_else(Text::default, |m| text!(" {moved}", moved = m)),
            left_out = left_out,
        ),
        (Outcome::Undetermined, _) => text!(
            "Undetermined{of}: {after} instead of {before}, of too few calls to tell it from chance.{left_out}",
            of = of,
            after = after,
            before = before,
            left_out = left_out,
        ),
        (Outcome::Slower | Outcome::Faster, _) => text!(
            "{why} It takes {after} instead of {before}.{beneath}{left_out}",
            why = why(c),
            after = after,
            before = before,
            beneath = beneath(c),
            left_out = left_out,
        ),
    }
}

/// What of the difference lies beneath a server's own calls for certain, where that is most of it.
fn beneath(c: &Comparison) -> Text {
    let sign = c.added_ns.signum();
    let most = c
        .tiers
        .iter()
        .max_by_key(|t| t.added_ns().saturating_mul(sign));
    let Some((ns, tier)) = most.and_then(|t| Some((t.added_ns(), t.tiers[1].as_ref()?))) else {
        return Text::default();
    };
    let all_ns = c.added_ns.abs();
    if ns.signum() != sign || ns.abs() < all_ns / 2 {
        return Text::default();
    }
    let [what, _, at] = tier.what.words();
    text!(
        " Of that, {least} seconds or more lie beneath {host}, while {what}, {at} {below}.",
        least = Value::Seconds(ns.abs().min(all_ns)),
        host = tier.host,
        what = what,
        at = at,
        below = tier.below,
    )
}

/// By how much runs may differ that show no difference.
fn scope(time: &Change, unit: Unit) -> Text {
    let of = |ns: f64| {
        text!(
            "{sign}{time}",
            sign = if ns < 0.0 { "-" } else { "+" },
            time = each(ns.abs(), unit)
        )
    };
    match time.interval {
        Some(i) if excludes_nothing(i) => {
            "; runs of the same thing differ by as much from one moment to the next".into()
        }
        Some((low, high)) => text!(
            "; by chance it may differ by {low} to {high}",
            low = of(low),
            high = of(high)
        ),
        None => Text::default(),
    }
}

/// How much more time passed, or less, and what for.
fn why(c: &Comparison) -> Text {
    let word = match c.outcome {
        Outcome::Slower => "added",
        _ => "saved",
    };
    let all = Value::Seconds(c.added_ns);
    let first = |said: fn(Text) -> Text, of: Option<&Cause>| {
        of.map_or_else(Text::default, |first| said(first.what.clone()))
    };
    let Some(cause) = main_cause(&c.causes, c.added_ns) else {
        return text!(
            "{all} seconds {word} for the same work, and the captures do not say by what.{most}",
            all = all,
            word = word,
            most = first(
                |what| text!(" Most: {what}.", what = what),
                c.causes.first()
            ),
        );
    };
    let share = match cause.added_ns.abs() >= c.added_ns.abs() {
        true => text!("All of the {all} {word} seconds", all = all, word = word),
        false => text!(
            "{part} of the {all} {word} seconds",
            part = Value::Seconds(cause.added_ns),
            all = all,
            word = word,
        ),
    };
    text!(
        "{share}: {what}.{more}",
        share = share,
        what = cause.what.clone(),
        more = first(
            |what| text!(" Of more the captures do not say why: {what}.", what = what),
            c.causes.first().filter(|first| !first.explains)
        ),
    )
}
