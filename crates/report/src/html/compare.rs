//! Two runs as one page of HTML: the answer first, then what the difference comes from, operations with
//! the curves of both runs over each other, connections, the runs themselves.
//!
//! The words and numbers are those of the terminal and of `slowside.compare/1`; frame, script and style
//! are those of a report.

mod tables;

use super::data::{Data, latency};
use super::operations::{CALLS, CHARTED, OPEN, SHORT, percentiles_of, short, spread_of};
use super::{Frame, Provenance, Section, anchors, figure, frame, harmless_page};
use crate::compare_text::{notes, volume};
use crate::text::{bytes, counted, moment, taken};
use crate::tiers;
use analysis::compare::Comparison;
use analysis::compare::result::{OpChange, Run};
use analysis::compare::snapshot::{SavedCapture, SavedFinding};
use analysis::stats::Distribution;
use jiff::tz::TimeZone;
use maud::{Markup, html};
use model::format_duration;
use serde_json::json;
use std::io::{self, Write};

const NAMES: [&str; 2] = ["baseline", "problem"];

/// Writes the page; `zone` is where moments are shown.
///
/// # Errors
/// Those of `out`.
pub fn compare_html(
    c: &Comparison,
    made: &Provenance,
    zone: &TimeZone,
    out: &mut dyn Write,
) -> io::Result<()> {
    let labels = labels(&c.runs);
    let charted = charted(c);
    let data = data(c, &labels, &charted)?;
    let page = page(c, &labels, &charted, made, zone, &data).into_string();
    out.write_all(harmless_page(&page).as_bytes())
}

fn page(
    c: &Comparison,
    labels: &[String; 2],
    charted: &[Charted<'_>],
    made: &Provenance,
    zone: &TimeZone,
    data: &str,
) -> Markup {
    let operations = tables::operations(c, charted).map(|table| {
        html! { (table) (details(charted)) }
    });
    let sections = [
        Section::of(
            "causes",
            "Causes",
            "What does the difference come from?",
            tables::causes(c),
        ),
        Section::of(
            "layers",
            "Layers",
            "What does each layer take?",
            tables::layers(c),
        ),
        Section::of(
            "tiers",
            "Beneath",
            "What did the server itself wait for?",
            beneath(c),
        ),
        Section::of(
            "operations",
            "Operations",
            "Which operations changed?",
            operations,
        ),
        Section::of(
            "connections",
            "Connections",
            "What changed beneath them?",
            tables::metrics(c),
        ),
        Section::of(
            "runs",
            "Runs",
            "What was compared?",
            Some(runs(c, labels, zone)),
        ),
    ];
    frame(&Frame {
        title: format!(
            "slowside compare: {}, {}",
            c.outcome.name(),
            labels.join(", ")
        ),
        what: html! { (labels.join(" · ")) },
        verdict: html! {
            section #verdict data-outcome=(c.outcome.name()) aria-labelledby="verdict-title" {
                h1 #verdict-title { (c.sentence) }
                @for note in notes(c) { p.confidence { (note) } }
            }
        },
        sections: sections.into_iter().flatten().collect(),
        about: html! {
            "Differences are the problem's number less the baseline's; intervals hold them with 99 % \
             confidence."
        },
        made,
        data,
    })
}

fn beneath(c: &Comparison) -> Option<Markup> {
    let said: Vec<String> = c.tiers.iter().flat_map(tiers::changed).collect();
    (!said.is_empty()).then(|| html! { @for sentence in said { p { (sentence) } } })
}

/// What each run is called: its captures, without the folders that all of them are in.
fn labels(runs: &[Run; 2]) -> [String; 2] {
    let files = || runs.iter().flat_map(|r| &r.captures).flat_map(|c| &c.files);
    let folders = |file: &String| file.rfind('/').map_or(0, |at| at + 1);
    let mut common = files()
        .next()
        .map_or("", |f| f.get(..folders(f)).unwrap_or(""));
    while !files().all(|f| f.starts_with(common)) {
        let shorter = common
            .trim_end_matches('/')
            .rfind('/')
            .map_or(0, |at| at + 1);
        common = common.get(..shorter).unwrap_or("");
    }
    let short = |file: &String| file.strip_prefix(common).unwrap_or(file).to_owned();
    let capture = |c: &SavedCapture| match c.files.as_slice() {
        [] => "no file".to_owned(),
        [one] => short(one),
        [first, ..] => format!("{} … ({} files)", short(first), c.files.len()),
    };
    let mut names = NAMES.into_iter();
    runs.each_ref().map(|run| {
        let captures: Vec<String> = run.captures.iter().map(capture).collect();
        format!(
            "{}: {}",
            names.next().unwrap_or_default(),
            captures.join(", ")
        )
    })
}

/// An operation with the response times of each run that has any.
struct Charted<'a> {
    /// Its row in the table.
    row: usize,
    op: &'a OpChange,
    seen: Vec<(usize, Distribution)>,
}

/// The operations that have charts: of those with calls enough the first.
fn charted(c: &Comparison) -> Vec<Charted<'_>> {
    let ops = c.ops.iter().enumerate().take(tables::ROWS);
    let enough = ops.filter(|(_, op)| op.sums.iter().any(|s| s.calls >= CALLS));
    let charted = enough.take(CHARTED).map(|(row, op)| {
        let runs = op.curves.iter().zip(op.max_ns).enumerate();
        let seen = runs.filter_map(|(run, (curve, max_ns))| {
            let times = Distribution::of_buckets(curve, max_ns?);
            (times.count() > 0).then_some((run, times))
        });
        Charted {
            row,
            op,
            seen: seen.collect(),
        }
    });
    charted.collect()
}

/// What it is called in the page's address: a statement by its text, which runs share.
fn anchor(op: &OpChange) -> String {
    anchors::operation(op.protocol.name(), &name(op))
}

/// What an operation is called where there is room: a statement in full.
fn name(op: &OpChange) -> String {
    let statement = op.statement.as_ref().map(|s| format!(" {s}"));
    format!("{}{}", op.op, statement.unwrap_or_default())
}

fn details(charted: &[Charted<'_>]) -> Markup {
    let each = |o: &Charted<'_>, say: &dyn Fn(&Distribution) -> String| {
        let sentence = |(run, times): &(usize, Distribution)| {
            let name = NAMES.get(*run).unwrap_or(&"");
            format!("In the {name} {}", say(times))
        };
        o.seen.iter().map(sentence).collect::<Vec<_>>().join(" ")
    };
    html! {
        @for (i, o) in charted.iter().enumerate() {
            @let name = name(o.op);
            details.operation id=(anchor(o.op)) data-operation=(i) open[i < OPEN] {
                summary {
                    h3 { (o.op.protocol.name()) " " (short(&name)) } " "
                    span.numbers {
                        (counted(o.op.sums[1].calls, "call")) ", " (counted(o.op.sums[0].calls, "call"))
                        " in the baseline"
                    }
                }
                @if name.chars().count() > SHORT { p.sql { code { (name) } } }
                div.charts {
                    (figure("histogram", i, "Response times", &each(o, &|t| spread_of(&t.summary()))))
                    (figure("percentiles", i, "Percentiles", &each(o, &|t| percentiles_of(&t.summary()))))
                }
            }
        }
    }
}

fn runs(c: &Comparison, labels: &[String; 2], zone: &TimeZone) -> Markup {
    html! {
        @for (run, label) in c.runs.iter().zip(labels) {
            article.capture {
                h3 { (label) }
                p { (volume(run)) "." }
                ul {
                    @for capture in &run.captures { li { (described(capture, zone)) } }
                }
                @if !run.verdict.is_empty() { p { "Alone: " (run.verdict) } }
                @if !run.findings.is_empty() {
                    p {
                        "Findings: "
                        @for (i, f) in run.findings.iter().enumerate() {
                            @if i > 0 { ", " }
                            span.code { (f.rule) } (cost(f))
                        }
                        "."
                    }
                }
            }
        }
    }
}

fn cost(f: &SavedFinding) -> String {
    match (f.fatal, f.cost_ns) {
        (true, _) => " (it ends work)".into(),
        (false, Some(ns)) => format!(" {}", format_duration(ns)),
        (false, None) => String::new(),
    }
}

/// Where a capture was taken and what it holds.
fn described(c: &SavedCapture, zone: &TimeZone) -> String {
    let mut facts = vec![
        format!("{}: {}", c.files.join(", "), taken(c.side)),
        counted(c.packets, "packet"),
        bytes(c.bytes),
    ];
    if let (Some(first), Some(last)) = (c.first, c.last) {
        let length = format_duration(last - first);
        facts.push(format!("{length} from {}", moment(first, zone)));
    }
    if c.incomplete {
        facts.push("packets are missing".into());
    }
    if c.damaged {
        facts.push("some of it could not be read".into());
    }
    facts.join(", ")
}

/// What the charts are drawn from, in the shape of a report's: the runs stand for captures, what is not
/// here is empty.
fn data(c: &Comparison, labels: &[String; 2], charted: &[Charted<'_>]) -> io::Result<String> {
    let captures = c.runs.iter().zip(labels).map(|(run, label)| {
        let files = run.captures.iter().flat_map(|c| &c.files);
        json!({
            "label": label,
            "side": "unknown",
            "files": files.collect::<Vec<_>>(),
        })
    });
    let operations = charted.iter().map(|o| {
        let seen = o
            .seen
            .iter()
            .map(|(run, times)| json!({ "capture": run, "latency": latency(times) }));
        json!({
            "protocol": o.op.protocol.name(),
            "name": name(o.op),
            "seen": seen.collect::<Vec<_>>(),
        })
    });
    let [_, problem] = &c.runs;
    let firsts = problem.captures.iter().filter_map(|c| c.first);
    let start = firsts.min().unwrap_or_default();
    let (captures, operations) = (captures.collect(), operations.collect());
    Data::new(start, problem.elapsed_ns, captures, operations).in_script()
}
