//! The captures that the answer rests on: in short at the top, in full at the end.

use super::anchors;
use super::places::Places;
use crate::diagnosis_text::captures::{self, clocks, facts, name};
use crate::text::{bytes, counted, grouped, problem};
use analysis::results::{CaptureResult, Diagnosis};
use jiff::tz::TimeZone;
use maud::{Markup, html};

/// Where each was taken, the clocks, and what makes the answer less sure.
pub(super) fn quality(d: &Diagnosis, places: &Places<'_>, zone: &TimeZone) -> Markup {
    html! {
        ul.quality {
            @for (i, c) in d.captures.iter().enumerate() {
                li { (places.label(i)) ": " (name(c).1) @for lack in lacks(c) { ", " strong { (lack) } } }
            }
            @for line in clocks(d, zone) { li { "Clocks: " (line) } }
        }
    }
}

/// What a capture lacks, in a few words each.
fn lacks(c: &CaptureResult) -> Vec<String> {
    let dropped = c.dropped.filter(|n| *n > 0);
    let dropped = dropped.map(|n| format!("{} packets dropped by the capturing host", grouped(n)));
    let missing = (c.missing_gaps > 0).then(|| format!("{} missing", bytes(c.missing_bytes)));
    let damaged = c
        .problems
        .iter()
        .filter(|(_, p)| p.damage)
        .map(|(_, p)| p.count)
        .sum::<u64>();
    let damaged = (damaged > 0).then(|| counted(damaged, "damaged place"));
    [dropped, missing, damaged].into_iter().flatten().collect()
}

pub(super) fn section(d: &Diagnosis, places: &Places<'_>, zone: &TimeZone) -> Option<Markup> {
    Some(html! {
        @for (i, c) in d.captures.iter().enumerate() {
            article.capture id=(anchors::capture(places.label(i))) data-side=[c.side.map(|s| s.name())] {
                @let (name, taken) = name(c);
                h3 { (name) }
                p { (taken) }
                p { (facts(c, zone)) }
                @for line in captures::lacks(c) { p { (line) } }
                @if c.problems.iter().next().is_some() {
                    ul.problems {
                        @for (kind, p) in c.problems.iter() {
                            @if p.damage { li.damaged { "damaged: " (problem(kind, p)) } }
                            @else { li.note { "note: " (problem(kind, p)) } }
                        }
                    }
                }
            }
        }
        @for line in clocks(d, zone) { p.clock { "Clocks: " (line) } }
    })
}
