//! What changed between two runs, for people: the answer, what it comes from, operations, connections.

use crate::page::{Tone, shortened};
use crate::text::{Grid, bytes, counted, harmless, spoken, taken, wrap};
use analysis::compare::Comparison;
use analysis::compare::result::{Change, Measure, Metric, OpChange, Outcome, Run};
use analysis::compare::snapshot::{CallSums, SavedCapture};
use model::format_duration;
use std::io::{self, Write};

/// Rows that a page shows of a table.
const ROWS: usize = 12;

/// Characters of a statement in the table of operations.
const LABEL: usize = 30;

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn compare_text(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    let mut text = wrap("", 0, &c.sentence);
    for note in &c.notes {
        if !c.sentence.contains(note.as_str()) {
            text += &wrap("", 0, note);
        }
    }
    text += &causes(c);
    text += &ops(c);
    text += &metrics(c);
    text += &title("Runs");
    for (name, run) in ["baseline", "problem"].into_iter().zip(&c.runs) {
        text += &described(name, run);
    }
    out.write_all(text.as_bytes())
}

fn title(text: &str) -> String {
    format!("\n{}", Tone::Title.paint_lines(&wrap("", 2, text)))
}

fn signed(ns: i64) -> String {
    let sign = if ns < 0 { "-" } else { "+" };
    format!("{sign}{:.3}", ns.abs() as f64 / 1e9)
}

/// Whether a change is more than chance, in a word.
fn chance(beyond: Option<bool>) -> &'static str {
    match beyond {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}

fn causes(c: &Comparison) -> String {
    let told = matches!(c.outcome, Outcome::Slower | Outcome::Faster);
    if !told || c.causes.is_empty() {
        return String::new();
    }
    let mut text = title("Where the difference comes from, in seconds at the problem's volume");
    for (i, cause) in c.causes.iter().take(ROWS).enumerate() {
        let range = match cause.interval_ns {
            Some((low, high)) if low != high => {
                format!(" ({} to {})", signed(low), signed(high))
            }
            _ => String::new(),
        };
        let code = cause.code.map_or(String::new(), |c| format!("{c}: "));
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

fn ms(ns: Option<f64>) -> String {
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
    if c.ops.is_empty() {
        return String::new();
    }
    let grid = Grid::fitting(op_rows(c)).text();
    let mut text = title("Response times in ms") + &grid;
    if c.ops.len() > ROWS {
        let more = counted((c.ops.len() - ROWS) as u64, "operation");
        text += &format!("… and {more} with less time\n");
    }
    text
}

fn op_rows(c: &Comparison) -> Vec<Vec<String>> {
    let words = |w: [&str; 10]| w.map(str::to_owned).to_vec();
    let mut rows = vec![
        words(["", "calls", "", "mean", "", "p50", "", "p99", "", "beyond"]),
        words([
            "op", "before", "now", "before", "now", "before", "now", "before", "now", "chance",
        ]),
    ];
    for o in c.ops.iter().take(ROWS) {
        let [a, b] = o.sums;
        let mean = |s: CallSums| (s.calls > 0).then(|| s.time_ns as f64 / s.calls as f64);
        let [p50a, p50b] = o.p50_ns.map(|ns| ms(ns.map(|ns| ns as f64)));
        let [p99a, p99b] = o.p99_ns.map(|ns| ms(ns.map(|ns| ns as f64)));
        let beyond = o.mean.as_ref().map_or("-", |m| chance(m.beyond_chance));
        rows.push(vec![
            label(o),
            a.calls.to_string(),
            b.calls.to_string(),
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

fn shown(measure: Measure, value: f64) -> String {
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

fn metrics(c: &Comparison) -> String {
    let changed: Vec<&Metric> = c
        .metrics
        .iter()
        .filter(|m| m.change.beyond_chance == Some(true))
        .collect();
    if changed.is_empty() {
        return String::new();
    }
    let mut rows = vec![
        ["what changed", "before", "now", "factor"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for m in changed.iter().take(ROWS + ROWS / 2) {
        let Change {
            baseline, problem, ..
        } = m.change;
        let port = m.port.map_or(String::new(), |p| format!(" (port {p})"));
        rows.push(vec![
            format!("{}{port}", m.words),
            shown(m.measure, baseline),
            shown(m.measure, problem),
            m.change.ratio().map_or("-".into(), |r| format!("{r:.2}")),
        ]);
    }
    title("Connections") + &Grid::fitting(rows).text()
}

fn described(name: &str, run: &Run) -> String {
    let captures = run.captures.iter().map(|c: &SavedCapture| {
        let files: Vec<String> = c.files.iter().map(|f| harmless(f)).collect();
        format!("{} ({})", files.join(", "), taken(c.side))
    });
    let captures: Vec<String> = captures.collect();
    wrap(
        &format!("  {name}: "),
        4,
        &format!(
            "{}: {} with {} in {}, {} of response time",
            captures.join(" and "),
            counted(run.calls, "call"),
            bytes(run.bytes),
            spoken(run.elapsed_ns),
            format_duration(run.time_ns),
        ),
    )
}
