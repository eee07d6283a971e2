//! What changed between two runs as Markdown: the answer, what it comes from, operations, connections.

use super::{code, escaped, sections, table, write};
use crate::compare_text::{
    CAUSES, ROWS, common, metric_rows, notes, only_rows, op_rows, range, signed, told, told_of,
};
use crate::{layers, tiers};
use analysis::compare::Comparison;
use analysis::compare::result::OpChange;
use std::io::{self, Write};

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn compare_markdown(c: &Comparison, out: &mut dyn Write) -> io::Result<()> {
    write(out, || {
        let notes: String = notes(c).map(|n| format!("- {}\n", escaped(&n))).collect();
        let runs = ["baseline", "problem"].into_iter().zip(&c.runs);
        let runs: String = runs
            .map(|(name, run)| format!("- {name}: {}\n", escaped(&told_of(run))))
            .collect();
        let mut parts = vec![
            format!("**{}**", escaped(&c.sentence.to_string())),
            notes,
            causes(c),
            noted(c),
            beneath(c),
        ];
        parts.extend(ops(c));
        let metrics = metric_rows(c);
        if metrics.len() > 1 {
            parts.push(titled("Connections", &table(&metrics, 1, |_| false)));
        }
        parts.push(titled("Runs", &runs));
        sections(parts)
    })
}

fn titled(title: &str, text: &str) -> String {
    format!("### {}\n\n{text}", escaped(title))
}

/// What hosts timed themselves in both runs.
fn noted(c: &Comparison) -> String {
    layers::compared(c).map_or_else(String::new, |(head, rows)| {
        titled(&head, &table(&rows, 1, |_| false))
    })
}

fn causes(c: &Comparison) -> String {
    let causes = told(c);
    if causes.is_empty() {
        return String::new();
    }
    let mut rows = vec![
        ["cause", "what", "seconds", "between"]
            .map(str::to_owned)
            .to_vec(),
    ];
    for cause in causes.iter().take(ROWS) {
        let unsure = match cause.beyond_chance {
            Some(false) => "; may be chance",
            _ => "",
        };
        rows.push(vec![
            cause.rule.map_or(String::new(), |r| code(r.code(), true)),
            escaped(&format!("{}{unsure}", cause.what)),
            signed(cause.added_ns),
            range(cause).unwrap_or_default(),
        ]);
    }
    let more = c.cause.map_or(String::new(), |cause| {
        let command = code(&format!("slowside explain {cause}"), false);
        format!("\nMore: {command}\n")
    });
    titled(CAUSES, &table(&rows, 2, |i| i < 2)) + &more
}

fn beneath(c: &Comparison) -> String {
    if c.tiers.is_empty() {
        return String::new();
    }
    let said: Vec<String> = c.tiers.iter().flat_map(tiers::changed).collect();
    titled(tiers::TITLE, &escaped(&said.join("\n\n")))
}

/// An operation as it stands in a cell: a statement in full.
fn label(o: &OpChange) -> String {
    match &o.statement {
        Some(statement) => format!("{} {}", escaped(&o.op), code(statement, true)),
        None => escaped(&format!("{} {}", o.protocol.name(), o.op)),
    }
}

fn ops(c: &Comparison) -> Vec<String> {
    let mut parts = Vec::new();
    let common = common(c);
    if !common.is_empty() {
        let mut rows = op_rows(&common, label);
        let groups = [
            "", "calls", "calls", "mean", "mean", "p50", "p50", "p99", "p99", "beyond",
        ];
        for (head, group) in rows.iter_mut().take(1).flatten().zip(groups) {
            *head = format!("{group} {head}").trim().to_owned();
        }
        let rows = table(&rows, 1, |i| i == 0);
        parts.push(titled("Response times in ms", &rows));
    }
    for (run, name) in ["baseline", "problem"].into_iter().enumerate() {
        let only = c.only(run);
        if !only.is_empty() {
            let rows = table(&only_rows(&only, run, label), 1, |i| i == 0);
            parts.push(titled(&format!("Only in the {name}, in ms"), &rows));
        }
    }
    parts
}
