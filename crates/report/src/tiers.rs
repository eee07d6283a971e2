//! Hosts that work for others with calls of their own: what lies beneath a server, for people and for programs.

use crate::diagnosis_text::held;
use crate::page::Tone;
use crate::text::{counted, wrap};
use crate::{compare, diagnosis_json};
use analysis::compare::result::TierChange;
use analysis::results::{CaptureResult, Diagnosis, TierResult, Vantage};
use analysis::tiers::{Asks, Beneath, Tier};
use model::{format_duration, grouped};
use serde_json::{Value, json};

pub(crate) const TITLE: &str = "Beneath the server";

/// Those of a diagnosis, and behind each what lies beneath that, tier by tier.
pub(crate) fn all(d: &Diagnosis) -> Vec<&TierResult> {
    fn deeper<'a>(t: &'a TierResult, into: &mut Vec<&'a TierResult>) {
        into.push(t);
        let below = t.below.iter().flat_map(|d| &d.tiers);
        below
            .filter(|t| t.below.is_some())
            .for_each(|t| deeper(t, into));
    }
    let mut all = Vec::new();
    d.tiers.iter().for_each(|t| deeper(t, &mut all));
    all
}

/// The section of the page; nothing where no host works so.
pub(crate) fn text(d: &Diagnosis) -> String {
    let each = all(d).into_iter().map(|t| {
        let table = t.below.as_ref().and_then(|d| held::held_up(d));
        let said: String = said(t).iter().map(|s| wrap("  ", 2, s)).collect();
        said + &table.map_or_else(String::new, |t| format!("\n{}", t.text()))
    });
    match d.tiers.is_empty() {
        true => String::new(),
        false => Tone::Title.paint(TITLE) + "\n" + &each.collect::<String>(),
    }
}

/// For how long calls of a server's own were under way, between which bounds; nothing where none were.
pub(crate) fn how_long(b: Beneath) -> Option<String> {
    let (lo, hi) = (format_duration(b.lo_ns), format_duration(b.hi_ns));
    Some(match (b.lo_ns, b.hi_ns) {
        (_, 0) => return None,
        (least, most) if most - least <= least / 20 => hi,
        (0, _) => format!("up to {hi}"),
        _ => format!("{lo} to {hi}"),
    })
}

/// What it does for its clients and asks of others meanwhile, and what is said of that by itself.
pub(crate) fn said(result: &TierResult) -> Vec<String> {
    let t = &result.tier;
    let others = match t.others {
        0 => String::new(),
        n => format!(" and {}", counted(n as u64, "other server")),
    };
    let [what, of, at] = t.what.words();
    let unanswered = match t.unanswered {
        0 => String::new(),
        n => format!(", {} without an answer", grouped(n)),
    };
    let measured = format!(
        "{} works on each of {} for {}; for {} of it, {what}, {} {at} {}{others}{unanswered}.",
        t.host,
        counted(t.asked, "request"),
        work(t),
        between(t),
        counted(t.asks, of),
        t.below,
    );
    let below = result.below.as_ref().map(|d| {
        format!(
            "Of these alone{}: {}",
            from_both_ends(d),
            d.verdict.sentence
        )
    });
    std::iter::once(measured).chain(below).collect()
}

/// Which capture of the server below says it as well, where there is one.
fn from_both_ends(below: &Diagnosis) -> String {
    let are_two = below.captures.len() == 2;
    let is_server = |c: &&CaptureResult| are_two && c.side == Some(Vantage::Server);
    let server = below.captures.iter().find(is_server);
    let file = server.and_then(|c| c.files.first());
    file.map_or_else(String::new, |file| format!(", as {file} has them too"))
}

/// What of a host's work lies beneath its own calls in two runs, and what these say, held against each other.
pub(crate) fn changed(change: &TierChange) -> Vec<String> {
    let each = |t: &Tier| format!("{} of {}", between(t), work(t));
    let (shown, how_long) = match &change.tiers {
        [Some(a), Some(b)] => (b, format!("{} now, {} in the baseline", each(b), each(a))),
        [None, Some(b)] => (b, format!("{} in the problem alone", each(b))),
        [Some(a), None] => (a, format!("{} in the baseline alone", each(a))),
        [None, None] => return Vec::new(),
    };
    let [what, _, at] = shown.what.words();
    let in_all = match change.added_ns() {
        0 => String::new(),
        ns if ns < 0 => format!(", {} less in all at least", format_duration(-ns)),
        ns => format!(", {} more in all at least", format_duration(ns)),
    };
    let measured = format!(
        "While {} works on a request, {what}, {at} {}: for {how_long}{in_all}.",
        shown.host, shown.below
    );
    let own = change
        .own
        .as_ref()
        .map(|c| format!("Of these alone: {}", c.sentence));
    std::iter::once(measured).chain(own).collect()
}

/// How long it works on each request.
fn work(t: &Tier) -> String {
    format_duration(t.work_ns / t.asked.max(1) as i64)
}

/// For how long of each request its own calls are under way, between which bounds.
fn between(t: &Tier) -> String {
    let [least, most] = t.beneath_each_ns();
    match t.is_bounds() {
        true if t.least_ns == 0 => format!("up to {}", format_duration(most)),
        true => format!("{} to {}", format_duration(least), format_duration(most)),
        false => format_duration(least),
    }
}

pub(crate) fn changed_value(change: &TierChange) -> Value {
    let each = |of: &Option<Tier>| of.as_ref().map(measured);
    let [baseline, problem] = &change.tiers;
    json!({
        "baseline": each(baseline),
        "problem": each(problem),
        "added_each_ns": change.added_each_ns(),
        "comparison": change.own.as_ref().map(|own| compare::whole(own)),
    })
}

fn asks_for(what: Asks) -> &'static str {
    match what {
        Asks::Calls => "calls",
        Asks::Names => "names",
        Asks::Copies => "copies",
    }
}

pub(crate) fn value(result: &TierResult) -> Value {
    let mut value = measured(&result.tier);
    if let Some(value) = value.as_object_mut() {
        value.insert("capture".into(), json!(result.capture));
        let diagnosis = result.below.as_ref().map(|d| diagnosis_json::whole(d));
        value.insert("diagnosis".into(), json!(diagnosis));
    }
    value
}

fn measured(t: &Tier) -> Value {
    json!({
        "host": t.host.to_string(),
        "below": t.below.to_string(),
        "others": t.others,
        "requests": t.asked,
        "own_calls": t.asks,
        "asks_for": asks_for(t.what),
        "names": t.names,
        "names_unanswered": t.unanswered,
        "work_ns": t.work_ns,
        "least_ns": t.least_ns,
        "most_ns": t.most_ns,
    })
}
