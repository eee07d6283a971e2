//! Operations, connections and statements as Markdown.

use super::{block, code, escaped, problems, sections, table, write};
use crate::conns_text;
use crate::ops_text::{self, OpsStyle};
use crate::page::{Page, on_page};
use crate::sql_text::{self, SqlStyle};
use analysis::results::{ConnsResult, OpsResult};
use analysis::sql::SqlResult;
use std::io::{self, Write};

/// Writes the table of operations.
///
/// # Errors
/// Those of `out`.
pub fn ops_markdown(result: &OpsResult, style: &OpsStyle, out: &mut dyn Write) -> io::Result<()> {
    write(out, || {
        let problems = problems(&result.captures);
        if result.groups.is_empty() {
            return sections(["No calls.".to_owned(), problems]);
        }
        let (rows, text) = ops_text::rows(result, style);
        sections([
            table(&rows, text, |_| false),
            ops_text::more(result).map_or_else(String::new, |m| escaped(&m)),
            escaped(&ops_text::summary(result)),
            problems,
        ])
    })
}

/// Writes the table of connections, of all or of those that waited most.
///
/// # Errors
/// Those of `out`.
pub fn conns_markdown(result: &ConnsResult, all: bool, out: &mut dyn Write) -> io::Result<()> {
    write(out, || {
        let (rows, text) = conns_text::wide_rows(result, all);
        let connections = match rows.len() {
            ..2 => String::new(),
            _ => table(&rows, text, |_| false),
        };
        let left_out = match result.left_out {
            0 => String::new(),
            n => format!("{n} connections beyond what is remembered are not listed."),
        };
        sections([
            escaped(&conns_text::answer(&result.connections)),
            connections,
            conns_text::beyond(result, all).map_or_else(String::new, |b| escaped(&b)),
            left_out,
            problems(&result.captures),
        ])
    })
}

/// Writes an answer whose columns stand side by side best as they are: a connection in full, a trace.
///
/// # Errors
/// Those of `text`, which writes it for people, and of `out`.
pub fn as_markdown(
    text: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Vec::new();
    on_page(Page::PLAIN, || text(&mut page))?;
    out.write_all(block(&String::from_utf8_lossy(&page)).as_bytes())
}

/// Writes the profile of statements, each with its text in the last column.
///
/// # Errors
/// Those of `out`.
pub fn sql_markdown(result: &SqlResult, style: SqlStyle, out: &mut dyn Write) -> io::Result<()> {
    write(out, || {
        let notes: String = sql_text::notes(result)
            .iter()
            .map(|n| format!("- {}\n", escaped(n)))
            .collect();
        let end = notes + &problems(&result.captures);
        if result.statements.is_empty() {
            return sections([sql_text::NOTHING.replace('\n', " "), end]);
        }
        let (mut rows, shown, more) = sql_text::numbers(result, style);
        let last = rows.first().map_or(0, Vec::len);
        if let Some(heads) = rows.first_mut() {
            heads.push("statement".to_owned());
        }
        for (row, s) in rows.iter_mut().skip(1).zip(shown) {
            let facts = escaped(&sql_text::facts(s).join(" · "));
            let what = code(&sql_text::what(s, style), true);
            row.push(format!("{what} {facts}").trim().to_owned());
        }
        let more = match more {
            0 => String::new(),
            n => sql_text::further(result, n),
        };
        let slowest = sql_text::slowest(result).map_or_else(String::new, |(text, command)| {
            format!(
                "**Slowest call**: {}: {}",
                escaped(&text),
                code(&command, false)
            )
        });
        sections([
            escaped(&sql_text::answer(result)),
            table(&rows, 0, |i| i == last),
            more,
            sql_text::NUMBERS.to_owned(),
            slowest,
            failed_logons(result, style),
            sessions(result, style),
            end,
        ])
    })
}

fn failed_logons(result: &SqlResult, style: SqlStyle) -> String {
    let (lines, more) = sql_text::failed(result, style);
    if lines.is_empty() {
        return String::new();
    }
    let lines = lines
        .iter()
        .map(|(numbers, kinds)| format!("- {} ({})\n", escaped(numbers), escaped(kinds)));
    let lines: String = lines.collect();
    let more = match more.as_str() {
        "" => String::new(),
        more => format!("- {more}\n"),
    };
    format!("**Failed logons**\n\n{lines}{more}")
}

fn sessions(result: &SqlResult, style: SqlStyle) -> String {
    let (shown, more) = sql_text::shown(&result.sessions, style, sql_text::SESSIONS);
    let lines = shown.iter().map(|s| {
        let (numbers, who) = sql_text::of_session(s);
        let who = match who.as_str() {
            "" => String::new(),
            who => format!(" ({})", escaped(who)),
        };
        format!("- {}{who}\n", escaped(&numbers))
    });
    let lines: String = lines.collect();
    let more = match more {
        0 => String::new(),
        n => format!("- … and {n} further sessions with less time\n"),
    };
    format!("**Sessions**\n\n{lines}{more}")
}
