//! Answers for tickets and wikis: Markdown as GitHub reads it, of the same tables and sentences as the
//! text for people.
//!
//! Nothing is wrapped, as some readers take a line's end for a line break; what comes from captures is
//! escaped, so that it formats nothing.

mod answers;
mod compare;
mod diagnosis;

pub use answers::{as_markdown, conns_markdown, ops_markdown, sql_markdown};
pub use compare::compare_markdown;
pub use diagnosis::diagnosis_markdown;

use crate::harmless::harmless;
use crate::page::{Page, on_page};
use crate::text::problem;
use analysis::results::CaptureResult;
use std::io::{self, Write};

/// Writes what `make` makes, without colors.
pub(crate) fn write(out: &mut dyn Write, make: impl FnOnce() -> String) -> io::Result<()> {
    out.write_all(on_page(Page::PLAIN, make).as_bytes())
}

/// Text that formats nothing (GFM 0.29, sections 2.4, 4.10 and 6).
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in harmless(text).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '#' => out.extend(['\\', c]),
            // Mentions people and issues, and makes links, elsewhere too.
            '@' => out.push_str("&#64;"),
            c => out.push(c),
        }
    }
    out.trim().to_owned()
}

/// Text as it is, in a code span, for a paragraph or (`|` escaped) a cell.
pub(crate) fn code(text: &str, in_table: bool) -> String {
    let text = harmless(text);
    let text = text.trim();
    if text.is_empty() {
        return String::new();
    }
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A backtick beside the fence needs a space between, which is not shown.
    let space = if longest > 0 { " " } else { "" };
    let span = format!("{fence}{space}{text}{space}{fence}");
    if in_table {
        span.replace('|', "\\|")
    } else {
        span
    }
}

/// Lines as they are.
fn block(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// A table of rows under their headings, the first `text` columns flush left, the others right. Cells
/// are Markdown already where `raw` says so of their column.
pub(crate) fn table(rows: &[Vec<String>], text: usize, raw: impl Fn(usize) -> bool) -> String {
    let line = |row: &[String], heads: bool| {
        let cells = row.iter().enumerate().map(|(i, cell)| match cell {
            cell if raw(i) && !heads => cell.clone(),
            cell => escaped(cell),
        });
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let Some((heads, rows)) = rows.split_first() else {
        return String::new();
    };
    let rule = |i| if i < text || raw(i) { ":--" } else { "--:" };
    let rules: Vec<&str> = (0..heads.len()).map(rule).collect();
    let mut out = line(heads, true);
    out.push_str(&format!("| {} |\n", rules.join(" | ")));
    out.extend(rows.iter().map(|row| line(row, false)));
    out
}

/// What of captures could not be read, as a list.
pub(crate) fn problems(captures: &[CaptureResult]) -> String {
    let mut out = String::new();
    for (kind, p) in captures.iter().flat_map(|c| c.problems.iter()) {
        let head = if p.damage { "**Damaged**" } else { "Note" };
        out.push_str(&format!("- {head}: {}\n", escaped(&problem(kind, p))));
    }
    out
}

/// Sections, with an empty line between those that say something.
pub(crate) fn sections(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter().filter(|part| !part.is_empty());
    let parts: Vec<String> = parts
        .map(|part| part.trim_end().to_owned() + "\n")
        .collect();
    parts.join("\n")
}

#[cfg(test)]
mod tests;
