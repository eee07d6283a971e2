//! Hosts that work for others with calls of their own: what lies beneath a server, for people and for programs.

use crate::diagnosis_json;
use crate::diagnosis_text::held;
use crate::page::Tone;
use crate::text::{counted, wrap};
use analysis::results::{Diagnosis, TierResult};
use analysis::tiers::{Asks, Beneath};
use model::{format_duration, grouped};
use serde_json::{Value, json};

pub(crate) const TITLE: &str = "Beneath the server";

/// The section of the page; nothing where no host works so.
pub(crate) fn text(d: &Diagnosis) -> String {
    let each = d.tiers.iter().map(|t| {
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
    let each = |ns: i64| format_duration(ns / t.asked.max(1) as i64);
    let between = match t.is_bounds() {
        true if t.least_ns == 0 => format!("up to {}", each(t.most_ns)),
        true => format!("{} to {}", each(t.least_ns), each(t.most_ns)),
        false => each(t.least_ns),
    };
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
        "{} works on each of {} for {}; for {between} of it, {what}, {} {at} {}{others}{unanswered}.",
        t.host,
        counted(t.asked, "request"),
        each(t.work_ns),
        counted(t.asks, of),
        t.below,
    );
    let below = result
        .below
        .as_ref()
        .map(|d| format!("Of these alone: {}", d.verdict.sentence));
    std::iter::once(measured).chain(below).collect()
}

fn asks_for(what: Asks) -> &'static str {
    match what {
        Asks::Calls => "calls",
        Asks::Names => "names",
        Asks::Copies => "copies",
    }
}

pub(crate) fn value(result: &TierResult) -> Value {
    let t = &result.tier;
    json!({
        "capture": result.capture,
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
        "diagnosis": result.below.as_ref().map(|d| diagnosis_json::whole(d)),
    })
}
