//! Findings, what costs most first: why, what to do, and the packets that prove it.

use super::command::{editcap, tshark};
use super::{anchors, copy};
use crate::concentrated;
use crate::diagnosis_text::{cost, fact, shown};
use analysis::results::{Diagnosis, Evidence, Finding};
use jiff::tz::TimeZone;
use maud::{Markup, html};

/// Frames that `editcap` is told of; a filter shows all.
const FRAMES: usize = 500;

pub(super) fn section(d: &Diagnosis, zone: &TimeZone) -> Option<Markup> {
    (!d.findings.is_empty()).then(|| {
        html! {
            @for f in &d.findings { (finding(f, d, zone)) }
        }
    })
}

fn finding(f: &Finding, d: &Diagnosis, zone: &TimeZone) -> Markup {
    let class = match (f.fatal, f.cost_ns) {
        (true, _) => "finding fatal",
        (false, None) => "finding costless",
        (false, Some(_)) => "finding",
    };
    let id = anchors::finding(f.rule);
    let facts: Vec<String> = f.facts.iter().map(fact).collect();
    html! {
        article class=(class) id=(id) data-side=(f.side.name()) data-code=(f.rule) aria-labelledby={ (id) "-title" } {
            h3 id={ (id) "-title" } {
                span.code { (f.rule) } " "
                span.side { (f.side.name()) } " "
                span.cost data-ns=[f.cost_ns] { (cost(f)) }
            }
            @if !facts.is_empty() { p.facts { (facts.join(", ")) } }
            @for sentence in concentrated::sentences(f, d, zone) { p.on { (sentence) } }
            p.why { (f.why) }
            @if !f.remedy.is_empty() {
                h4 { "Do" }
                ul.remedy { @for remedy in &f.remedy { li { (remedy) } } }
            }
            @if !f.evidence.is_empty() {
                h4 { "See" }
                @for e in &f.evidence { (evidence(e, d)) }
            }
            p.more { "More: " code { "slowside explain " (f.rule) } }
        }
    }
}

fn evidence(e: &Evidence, d: &Diagnosis) -> Markup {
    let files = d.captures.get(e.capture).map(|c| &c.files);
    let file = files
        .and_then(|f| f.get(e.file))
        .map_or("?", String::as_str);
    // What came from standard input is in no file that could be cut.
    let is_file = file != "-";
    let editcap = editcap(file, e.frames.get(..FRAMES).unwrap_or(&e.frames)).filter(|_| is_file);
    html! {
        div.evidence {
            p { (shown(e, d).0) }
            @if !e.filter.is_empty() {
                (copy("filter", "Wireshark", &e.filter))
                @if is_file { (copy("tshark", "tshark", &tshark(file, &e.filter))) }
            }
            @if let Some(editcap) = editcap { (copy("editcap", "editcap", &editcap)) }
        }
    }
}
