//! What changed between two runs, for people: the answer, what it comes from, operations, connections.

use crate::harmless::harmless;
use crate::page::{Tone, shortened};
use crate::text::{Grid, bytes, counted, grouped, taken, wrap};
use crate::{layers, tiers};
use analysis::compare::Comparison;
use analysis::compare::result::{Cause, Change, Measure, Metric, OpChange, Outcome, Run};
use analysis::compare::snapshot::{CallSums, SavedCapture};
use model::format_duration;
use std::io::{self, Write};

/// Rows that a page shows of a table.
pub(crate) const ROWS: usize = 12;

/// Characters of a statement in the table of operations.
const LABEL: usize = 30;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn compare_text(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut text = wrap("", 0, &c.sentence.to_string());
    for note in notes(c) {
        text += &wrap("", 0, &note);
    }
    text += &causes(c);
    text += &noted(c);
    text += &beneath(c);
    text += &ops(c);
    text += &metrics(c);
    text += &title("Runs");
    for (name, run) in ["baseline", "problem"].into_iter().zip(&c.runs) {
        text += &described(name, run);
        if c.outcome == Outcome::NotComparable && !run.verdict.is_empty() {
            text += &wrap("    Alone: ", 4, &run.verdict.to_string());
        }
    }
    out.write_all(text.as_bytes())
}

fn title(text: &str) -> String {
    format!("\n{}", Tone::Title.paint_lines(&wrap("", 2, text)))
}

/// Seconds, with their sign.
pub(crate) fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    format!("{sign}{:.3}", ns.abs() as f64 / 1e9)
}

/// Whether a change is more than chance, in a word.
pub(crate) fn chance(beyond: Option<bool>) -> &'static str {
    match beyond {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}

/// The causes, where there is a difference that they could be causes of.
pub(crate) fn told(c: &Comparison) -> &[Cause] {
    let shared = c.shared.is_some_and(|s| s.time.beyond_chance == Some(true));
    match c.outcome {
        Outcome::Slower | Outcome::Faster => &c.causes,
        Outcome::NotComparable if shared => &c.causes,
        _ => &[],
    }
}

/// What stands above the causes.
pub(crate) const CAUSES: &str =
    "Where the difference comes from, in seconds at the problem's volume";

/// Between which seconds a cause's share lies, where that says more than its share.
pub(crate) fn range(cause: &Cause) -> Option<String> {
    let (low, high) = cause.interval_ns.filter(|(low, high)| low != high)?;
    Some(format!("{} to {}", signed(low), signed(high)))
}

/// The notes that the sentence does not hold already.
pub(crate) fn notes(c: &Comparison) -> impl Iterator<Item = String> {
    let sentence = c.sentence.to_string();
    let notes = c.notes.iter().map(ToString::to_string);
    notes.filter(move |note| !sentence.contains(note))
}

fn causes(c: &Comparison) -> String {
    let causes = told(c);
    if causes.is_empty() {
        return String::new();
    }
    let mut text = title(CAUSES);
    for (i, cause) in causes.iter().take(ROWS).enumerate() {
        let range = range(cause).map_or(String::new(), |r| format!(" ({r})"));
        let code = cause.rule.map_or(String::new(), |r| format!("{r}: "));
        let head = format!("{:<2} {:>9} s  ", i + 1, signed(cause.added_ns));
        let unsure = match cause.beyond_chance {
            Some(false) => "; may be chance",
            _ => "",
        };
        text += &wrap(&head, 16, &format!("{code}{}{range}{unsure}", cause.what));
    }
    if let Some(code) = c.cause {
        text += &wrap("   More: ", 9, &format!("slowside explain {code}"));
    }
    text
}

/// What hosts timed themselves in both runs.
fn noted(c: &Comparison) -> String {
    layers::compared(c).map_or_else(String::new, |(head, rows)| {
        title(&head) + &Grid::fitting(rows).text()
    })
}

/// What lies beneath a server in both runs.
fn beneath(c: &Comparison) -> String {
    if c.tiers.is_empty() {
        return String::new();
    }
    let each = c.tiers.iter().flat_map(tiers::changed);
    title(tiers::TITLE) + &each.map(|said| wrap("  ", 2, &said)).collect::<String>()
}

/// Milliseconds.
pub(crate) fn ms(ns: Option<f64>) -> String {
    match ns.map(|ns| ns / 1e6) {
        None => "-".into(),
        Some(ms) if ms < 9.995 => format!("{ms:.3}"),
        Some(ms) if ms < 99.95 => format!("{ms:.2}"),
        Some(ms) => format!("{ms:.1}"),
    }
}

fn label(o: &OpChange) -> String {
    let op = format!("{} {}", o.protocol.name(), o.op);
    let text = match &o.statement {
        Some(s) => format!("{} {}", o.op, harmless(s)),
        None => op,
    };
    shortened(&text, LABEL)
}

fn ops(c: &Comparison) -> String {
    let mut text = String::new();
    let common = common(c);
    if !common.is_empty() {
        let heads = ["", "calls", "", "mean", "", "p50", "", "p99", "", "beyond"];
        let mut rows = vec![heads.map(str::to_owned).to_vec()];
        rows.extend(op_rows(&common, label));
        text += &title("Response times in ms");
        text += &Grid::fitting(rows).text();
        text += &more(common.len());
    }
    for (run, name) in ["baseline", "problem"].into_iter().enumerate() {
        let only = c.only(run);
        if !only.is_empty() {
            text += &title(&format!("Only in the {name}, in ms"));
            text += &Grid::fitting(only_rows(&only, run, label)).text();
            text += &more(only.len());
        }
    }
    text
}

fn more(count: usize) -> String {
    match count.saturating_sub(ROWS) {
        0 => String::new(),
        left => format!(
            "… and {} with less time\n",
            counted(left as u64, "operation")
        ),
    }
}

/// The operations of which both runs have calls.
pub(crate) fn common(c: &Comparison) -> Vec<&OpChange> {
    let both = |o: &&OpChange| o.sums.iter().all(|s| s.calls > 0);
    c.ops.iter().filter(both).collect()
}

/// Mean response time, nanoseconds.
pub(crate) fn mean(s: CallSums) -> Option<f64> {
    (s.calls > 0).then(|| s.time_ns as f64 / s.calls as f64)
}

/// The times of operations that both have, with what each column is.
pub(crate) fn op_rows(ops: &[&OpChange], label: impl Fn(&OpChange) -> String) -> Vec<Vec<String>> {
    let heads = [
        "op", "before", "now", "before", "now", "before", "now", "before", "now", "chance",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for o in ops.iter().take(ROWS) {
        let [a, b] = o.sums;
        let [p50a, p50b] = o.p50_ns.map(|ns| ms(ns.map(|ns| ns as f64)));
        let [p99a, p99b] = o.p99_ns.map(|ns| ms(ns.map(|ns| ns as f64)));
        let beyond = o.mean.as_ref().map_or("-", |m| chance(m.beyond_chance));
        rows.push(vec![
            label(o),
            grouped(a.calls),
            grouped(b.calls),
            ms(mean(a)),
            ms(mean(b)),
            p50a,
            p50b,
            p99a,
            p99b,
            beyond.into(),
        ]);
    }
    rows
}

/// The times of operations that one run has, with what each column is.
pub(crate) fn only_rows(
    ops: &[&OpChange],
    run: usize,
    label: impl Fn(&OpChange) -> String,
) -> Vec<Vec<String>> {
    let heads = ["op", "calls", "total", "mean", "p50", "p99", "max"];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for o in ops.iter().take(ROWS) {
        let sums = o.sums.get(run).copied().unwrap_or_default();
        let of = |ns: &[Option<i64>; 2]| ms(ns.get(run).copied().flatten().map(|ns| ns as f64));
        rows.push(vec![
            label(o),
            grouped(sums.calls),
            ms(Some(sums.time_ns as f64)),
            ms(mean(sums)),
            of(&o.p50_ns),
            of(&o.p99_ns),
            of(&o.max_ns),
        ]);
    }
    rows
}

pub(crate) fn shown(measure: Measure, value: f64) -> String {
    match measure {
        Measure::Nanoseconds => format_duration(value as i64),
        Measure::Bytes => bytes(value as u64),
        Measure::Number => format!("{value:.1}"),
        Measure::Share => match value * 100.0 {
            p if p > 0.0 && p < 9.95 => format!("{p:.1} %"),
            p => format!("{p:.0} %"),
        },
    }
}

/// What a metric is of.
pub(crate) fn named(m: &Metric) -> String {
    let port = m.port.map_or(String::new(), |p| format!(" (port {p})"));
    format!("{}{port}", m.words)
}

/// How many times as much there is now.
pub(crate) fn factor(change: &Change) -> String {
    change.ratio().map_or("-".into(), |r| format!("{r:.2}"))
}

fn metrics(c: &Comparison) -> String {
    let rows = metric_rows(c);
    match rows.len() {
        ..2 => String::new(),
        _ => title("Connections") + &Grid::fitting(rows).text(),
    }
}

/// What changed beyond chance, with what each column is.
pub(crate) fn metric_rows(c: &Comparison) -> Vec<Vec<String>> {
    let changed = |m: &&Metric| m.change.beyond_chance == Some(true);
    let mut rows = vec![
        ["what changed", "before", "now", "factor"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for m in c.metrics.iter().filter(changed).take(ROWS + ROWS / 2) {
        let Change {
            baseline, problem, ..
        } = m.change;
        rows.push(vec![
            named(m),
            shown(m.measure, baseline),
            shown(m.measure, problem),
            factor(&m.change),
        ]);
    }
    rows
}

fn described(name: &str, run: &Run) -> String {
    wrap(&format!("  {name}: "), 4, &told_of(run))
}

/// The captures of a run, and how much it did.
pub(crate) fn told_of(run: &Run) -> String {
    let captures = run.captures.iter().map(|c: &SavedCapture| {
        let files: Vec<String> = c.files.iter().map(|f| harmless(f)).collect();
        format!("{} ({})", files.join(", "), taken(c.side))
    });
    let captures: Vec<String> = captures.collect();
    format!("{}: {}", captures.join(" and "), volume(run))
}

/// How much a run did.
pub(crate) fn volume(run: &Run) -> String {
    if run.calls == 0 && run.bytes > 0 {
        return format!(
            "{} in {}, no calls to time",
            bytes(run.bytes),
            format_duration(run.elapsed_ns)
        );
    }
    format!(
        "{} with {} in {}, {} of response time",
        counted(run.calls, "call"),
        bytes(run.bytes),
        format_duration(run.elapsed_ns),
        format_duration(run.time_ns),
    )
}
