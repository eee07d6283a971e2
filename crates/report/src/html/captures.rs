//! The captures that the answer rests on: in short at the top, in full at the end.

use super::places::Places;
use crate::diagnosis_text::captures::{clock, name, problems, said, taken_at};
use crate::text::{bytes, counted, grouped};
use analysis::results::{CaptureResult, Diagnosis};
use jiff::tz::TimeZone;
use maud::{Markup, html};

/// Where each was taken, the clocks, and what makes the answer less sure.
pub(super) fn quality(d: &Diagnosis, places: &Places<'_>) -> Markup {
    html! {
        ul.quality {
            @for (i, c) in d.captures.iter().enumerate() {
                li { (places.label(i)) ": " (taken_at(c)) @for lack in lacks(c) { ", " strong { (lack) } } }
            }
            @if let Some(c) = &d.clock { li { "Clocks: " (clock(c)) } }
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

pub(super) fn section(d: &Diagnosis, zone: &TimeZone) -> Option<Markup> {
    Some(html! {
        @for c in &d.captures {
            article.capture data-side=[c.side.map(|s| s.name())] {
                h3 { (name(c)) }
                p { (taken_at(c)) }
                @for line in said(c, zone) { p { (line) } }
                @let problems = problems(c);
                @if !problems.is_empty() {
                    ul.problems {
                        @for (damage, problem) in problems {
                            @if damage { li.damaged { "damaged: " (problem) } }
                            @else { li.note { "note: " (problem) } }
                        }
                    }
                }
            }
        }
        @if let Some(c) = &d.clock { p.clock { "Clocks: " (clock(c)) } }
    })
}
