//! A report as one page of HTML: the answer first, then its contents as the questions that people come with,
//! where the time goes, findings with their evidence, operations, load, connections, slow calls, captures. And the
//! same page about two runs: [`compare`]. What has a name in the page's address has it from [`anchors`].
//!
//! The page is one file that asks nothing of any network, and its policy forbids it. Words, tables and
//! ladders are made here, so that they can be read, sorted and printed without the charts; the charts are
//! drawn by the page's own script (`assets/report.js`, built from `web`) out of [`data`] that lies in the
//! page. Text from captures reaches it through maud's escaping and [`harmless`](crate::harmless::harmless) only.

mod anchors;
mod budget;
mod captures;
mod command;
mod compare;
mod connections;
mod data;
mod files;
mod findings;
mod held;
mod hops;
mod hosts;
mod ladders;
mod layers;
mod load;
mod nested;
mod operations;
mod places;
mod statements;
mod tiers;

pub use compare::compare_html;

use crate::diagnosis_text::confidence;
use crate::harmless::{acts, rewritten};
use crate::text::{moment, shell, unbroken};
use analysis::results::Report;
use analysis::text::Text;
use data::Data;
use jiff::tz::TimeZone;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use model::{Time, format_duration};
use places::Places;
use std::io::{self, Write};

/// The built script and style of the page, and the hashes by which its policy knows them.
const SCRIPT: &str = include_str!("../../assets/report.js");
const STYLE: &str = include_str!("../../assets/report.css");
const HASHES: &str = include_str!("../../assets/csp.txt");

/// How a report was made, for its last line.
#[derive(Clone, Debug)]
pub struct Provenance {
    /// Version of slowside.
    pub version: String,
    /// The command line, quoted for a shell.
    pub command: String,
}

/// A command line as it can be given to a shell again; the program without its folder.
#[must_use]
pub fn command_line(words: impl IntoIterator<Item = String>) -> String {
    let mut words = words.into_iter();
    let program = words.next().unwrap_or_default();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let rest = words.map(|word| match word.strip_prefix('-') {
        // An option is no file that is called like one.
        Some(rest) if !rest.is_empty() => match shell(&format!("_{rest}")) {
            plain if plain.starts_with('_') => word,
            quoted => quoted.replacen('_', "-", 1),
        },
        Some(_) => word,
        None => shell(&word),
    });
    std::iter::once(program)
        .chain(rest)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes the page; `zone` is where moments are shown.
///
/// # Errors
/// Those of `out`.
pub fn report_html(
    report: &Report,
    made: &Provenance,
    zone: &TimeZone,
    out: &mut dyn Write,
) -> io::Result<()> {
    let places = Places::new(report);
    let data = Data::of(report, &places).in_script()?;
    let page = page(report, &places, made, zone, &data).into_string();
    out.write_all(harmless_page(&page).as_bytes())
}

/// The page without characters that steer how others are shown. Its own layout has line ends only, as its
/// script and style have.
fn harmless_page(page: &str) -> String {
    let needs_no_look = |b| matches!(b, b' '..=b'~' | b'\n');
    rewritten(page, needs_no_look, |out, c| {
        out.push(if acts(c) { ' ' } else { c })
    })
}

/// Nothing may be fetched, and only this page's own script and style may run.
fn policy() -> String {
    let hash = |file: &str| {
        let line = HASHES.lines().find_map(|l| l.strip_prefix(file));
        line.unwrap_or_default().trim()
    };
    format!(
        "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; base-uri 'none'; form-action 'none'",
        hash("report.js"),
        hash("report.css")
    )
}

fn page(
    report: &Report,
    places: &Places<'_>,
    made: &Provenance,
    zone: &TimeZone,
    data: &str,
) -> Markup {
    let d = &report.diagnosis;
    let labels: Vec<&str> = places.labels.iter().map(String::as_str).collect();
    let sections = [
        Section::of("ledger", "Time", "Where did the time go?", held::section(d)),
        Section::of(
            "budget",
            "Parts",
            "Which part of a call took it?",
            budget::section(d),
        ),
        Section::of(
            "peers",
            "Hosts",
            "Who is held up, and by what?",
            hops::of_peers(d),
        ),
        Section::of(
            "hops",
            "Path",
            "Between which points of the path?",
            hops::section(d),
        ),
        Section::of(
            "tiers",
            "Beneath",
            "What did the server itself wait for?",
            tiers::section(d),
        ),
        Section::of(
            "layers",
            "Layers",
            "What did each layer add?",
            layers::section(d),
        ),
        Section::of(
            "findings",
            "Findings",
            "Which side, why, and what to do?",
            findings::section(d, zone),
        ),
        Section::of("hosts", "Hosts", "Were the hosts busy?", hosts::section(d)),
        Section::of(
            "operations",
            "Operations",
            "Which operations were slow, and when?",
            operations::section(report, places),
        ),
        Section::of(
            "files",
            "Files",
            "Which files took the time?",
            files::section(d),
        ),
        Section::of(
            "statements",
            "Statements",
            "Which statements took the time?",
            statements::section(report, places),
        ),
        Section::of(
            "load",
            "Load",
            "How was it over time, and under load?",
            load::section(report, places),
        ),
        Section::of(
            "connections",
            "Connections",
            "Was it loss, a window, the path?",
            connections::section(report, places, zone),
        ),
        Section::of(
            "ladders",
            "Slowest calls",
            "Which calls were slow?",
            ladders::section(report, places),
        ),
        Section::of(
            "captures",
            "Captures",
            "What did the captures lack?",
            captures::section(d, places, zone),
        ),
        Section::of(
            "notes",
            "Notes",
            "What else is to be known?",
            notes(&d.notes),
        ),
    ];
    let side = d.verdict.side.name();
    frame(&Frame {
        title: format!("slowside: {side}, {}", labels.join(", ")),
        what: html! {
            (labels.join(", "))
            " · " (moment(second(places.start), zone)) " · " (format_duration(places.duration_ns))
        },
        verdict: html! {
            section #verdict data-side=(side) aria-labelledby="verdict-title" {
                h1 #verdict-title { (unbroken(&d.verdict.sentence.to_string())) }
                p.confidence { (confidence(d, zone)) }
                (captures::quality(d, places, zone))
            }
        },
        sections: sections.into_iter().flatten().collect(),
        about: html! {
            "Times in charts count from " (moment(places.start, zone))
            @if places.aligned() { ", on the clock of the client's capture" }
            "."
        },
        made,
        data,
    })
}

/// A part of a page that has anything in it.
struct Section {
    id: &'static str,
    name: &'static str,
    /// What people ask that it answers.
    question: &'static str,
    markup: Markup,
}

impl Section {
    fn of(
        id: &'static str,
        name: &'static str,
        question: &'static str,
        markup: Option<Markup>,
    ) -> Option<Section> {
        Some(Section {
            id,
            name,
            question,
            markup: markup?,
        })
    }
}

/// What is different from page to page.
struct Frame<'a> {
    title: String,
    /// What the page is about, in a line.
    what: Markup,
    verdict: Markup,
    sections: Vec<Section>,
    /// What has to be known of the numbers, for the last line.
    about: Markup,
    made: &'a Provenance,
    /// For the charts, as [`data`] writes it.
    data: &'a str,
}

/// A page with its policy, script and style.
fn frame(f: &Frame<'_>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy());
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                meta name="referrer" content="no-referrer";
                meta name="generator" content={ "slowside " (f.made.version) };
                link rel="icon" href="data:,";
                title { (f.title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the answer" }
                header {
                    p.what { span.product { "slowside" } " " (f.what) }
                    nav aria-label="Sections" {
                        ul {
                            @for s in &f.sections {
                                li { a href={ "#" (s.id) } { (s.name) } }
                            }
                        }
                    }
                }
                main #main {
                    (f.verdict)
                    nav.questions aria-label="Questions" {
                        ul {
                            @for s in &f.sections {
                                li { a href={ "#" (s.id) } { (s.question) } }
                            }
                        }
                    }
                    @for s in &f.sections {
                        section id=(s.id) aria-labelledby={ (s.id) "-title" } {
                            @if !matches!(s.id, "ledger" | "budget") { h2 id={ (s.id) "-title" } { (s.name) } }
                            (s.markup)
                        }
                    }
                }
                footer #about {
                    p { "Made by slowside " (f.made.version) " with " code { (f.made.command) } }
                    p { "This page is one file and fetches nothing. " (f.about) }
                }
                noscript {
                    p.noscript {
                        "The charts are drawn by this page's own script, which is switched off here. All \
                         numbers are in the text and the tables."
                    }
                }
                script #data type="application/json" { (PreEscaped(f.data)) }
                script { (PreEscaped(SCRIPT)) }
            }
        }
    }
}

/// Without its fraction.
fn second(t: Time) -> Time {
    const SECOND: i64 = 1_000_000_000;
    Time(t.0.div_euclid(SECOND).saturating_mul(SECOND))
}

fn notes(notes: &[Text]) -> Option<Markup> {
    (!notes.is_empty()).then(|| {
        html! {
            ul { @for note in notes { li { (note) } } }
        }
    })
}

/// A heading of a table's column, by which the page sorts.
fn head(name: &str, number: bool) -> Markup {
    html! {
        @if number {
            th.number scope="col" data-sort="number" { (name) }
        } @else {
            th scope="col" data-sort="text" { (name) }
        }
    }
}

/// A number as it is shown, and as it is sorted by; empty where it is not known.
fn cell(shown: &str, value: Option<i64>) -> Markup {
    html! {
        td.number data-value=(value.map(|v| v.to_string()).unwrap_or_default()) { (shown) }
    }
}

/// A table that the page makes sortable.
fn table(caption: &str, heads: &Markup, rows: &Markup) -> Markup {
    scroll(
        caption,
        &html! {
            table.numbers data-sortable data-filter {
                caption { (caption) }
                thead { (heads) }
                tbody { (rows) }
            }
        },
    )
}

/// A table that may be wider than a screen, and what it is called.
fn scroll(label: &str, table: &Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(label) { (table) }
    }
}

/// Something to copy: what it is for, and its text.
fn copy(what: &str, label: &str, text: &str) -> Markup {
    html! {
        div.copy data-what=(what) { span.label { (label) } code { (text) } }
    }
}

/// The place of a chart, with the sentence that stands for it.
fn figure(chart: &str, index: usize, title: &str, text: &str) -> Markup {
    html! {
        figure.chart data-chart=(chart) data-index=(index) {
            figcaption { span.title { (title) } " " span.text { (unbroken(text)) } }
        }
    }
}
