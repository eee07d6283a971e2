//! The profile of statements for people: where the time went, then the statements that took it, each
//! with its numbers above its text.

mod logons;
mod sessions;

pub(crate) use logons::{codes, failed};
pub(crate) use sessions::{of_session, purpose, unit};

use crate::harmless::harmless;
use crate::ops::key_text;
use crate::page::{Tone, columns, prose};
use crate::sql::{self, filter, id};
use crate::table::{order, people};
use crate::text::{Grid, counted, damage, grouped, lasted, overlap, share, shell, wrap};
use analysis::results::KeyValue;
use analysis::sql::{SqlResult, StatementResult};
use jiff::tz::TimeZone;
use model::{Found, Hidden, format_duration};
use std::io::{self, Write};

/// What the page is to show.
#[derive(Clone, Copy, Debug)]
pub struct SqlStyle {
    /// All statements, not only those that took most.
    pub all: bool,
    /// Statements as they were sent, with their literals.
    pub literals: bool,
}

/// Statements and sessions that a page shows unless all are asked for.
const ROWS: usize = 20;
pub(crate) const SESSIONS: usize = 10;

/// Lines of a statement's text.
const TEXT_LINES: usize = 4;

/// Of a capture in which no database speaks.
pub(crate) const NOTHING: &str =
    "No calls of a database (Oracle, PostgreSQL, MySQL) in this capture.
slowside CAPTURE looks at all that is in it.\n";

/// Writes the page.
///
/// # Errors
/// Those of `out`.
pub fn sql_text(result: &SqlResult, style: SqlStyle, out: &mut dyn Write) -> io::Result<()> {
    if result.statements.is_empty() {
        out.write_all(NOTHING.as_bytes())?;
    } else {
        out.write_all(wrap("", 0, &answer(result)).as_bytes())?;
        out.write_all(statements(result, style).as_bytes())?;
        out.write_all(logons::section(result, style).as_bytes())?;
        out.write_all(sessions::section(result, style).as_bytes())?;
    }
    let mut end: String = notes(result).iter().map(|n| wrap("", 0, n)).collect();
    end.extend(result.captures.iter().map(damage));
    if !end.is_empty() && !result.statements.is_empty() {
        end.insert(0, '\n');
    }
    out.write_all(end.as_bytes())
}

/// What else is to be known: sessions that show nothing, and notes.
pub(crate) fn notes(result: &SqlResult) -> Vec<String> {
    let hidden = result.hidden.iter().map(|(why, n)| {
        let why = match why {
            Hidden::Tls => "encrypted with TLS",
            Hidden::Gss => "encrypted with GSSAPI",
            Hidden::NativeEncryption => "encrypted by Oracle's native encryption",
            Hidden::Compression => "compressed",
            Hidden::Unreadable => "joined too late, or too little of them was captured",
        };
        format!("{} show no statements: {why}.", counted(*n, "session"))
    });
    let notes = result
        .notes
        .iter()
        .filter(|_| !result.statements.is_empty());
    hidden.chain(notes.map(ToString::to_string)).collect()
}

/// Where the time went, in a sentence.
pub(crate) fn answer(result: &SqlResult) -> String {
    let t = &result.totals;
    let passing = t.transfer_ns.saturating_add(t.client_ns);
    let waits = t.response_time_ns.saturating_sub(passing);
    let confirming = is_told(t.client_ns, t.response_time_ns);
    let undivided = t.server_ns.is_none() && t.network_ns.is_none();
    let both = t.server_ns.is_some() && t.network_ns.is_some();
    let told = both && is_told(t.unknown_ns, t.response_time_ns);
    let parts = [
        ("server and network together", undivided.then_some(waits)),
        ("the server", t.server_ns),
        ("the network", t.network_ns),
        ("one of the two", told.then_some(t.unknown_ns)),
        ("bytes passing", Some(t.transfer_ns)),
        ("the client inside calls", confirming.then_some(t.client_ns)),
    ];
    let known: Vec<String> = parts
        .iter()
        .filter_map(|(name, ns)| Some((name, (*ns)?)))
        .map(|(name, ns)| format!("{name} {}", share(ns, t.response_time_ns)))
        .collect();
    let kinds = result.statements.iter().filter(|s| s.statement.is_some());
    let mut text = format!(
        "{} of call time in {} ({}), {}: {}.",
        format_duration(t.response_time_ns),
        counted(t.calls, "call"),
        counted(t.round_trips, "round trip"),
        counted(kinds.count() as u64, "statement"),
        known.join(", ")
    );
    let overlap = overlap(t.response_time_ns, lasted(result.captures.first()));
    if !overlap.is_empty() {
        text.push_str(&format!(" {overlap}"));
    }
    if t.think_ns > 0 {
        text.push_str(&format!(
            " Between calls the client took {}.",
            format_duration(t.think_ns)
        ));
    }
    if t.errors > 0 {
        text.push_str(&format!(" {} failed.", counted(t.errors, "call")));
    }
    text
}

/// What the numbers of a statement are of.
pub(crate) const NUMBERS: &str = "mean and p99: of one call; each: rows of a call that brings rows; all else: of all calls together";

/// Whether a part of the time is worth a word.
fn is_told(part_ns: i64, total_ns: i64) -> bool {
    part_ns > 0 && part_ns >= total_ns / 100
}

/// Those shown in full, and how many more there are.
pub(crate) fn shown<T>(all: &[T], style: SqlStyle, rows: usize) -> (&[T], usize) {
    let n = if style.all { all.len() } else { rows };
    let shown = all.get(..n).unwrap_or(all);
    (shown, all.len() - shown.len())
}

/// The numbers of those shown, under their headings, and how many there are beyond them.
pub(crate) fn numbers(
    result: &SqlResult,
    style: SqlStyle,
) -> (Vec<Vec<String>>, Vec<&StatementResult>, usize) {
    let rows = sql::rows(result);
    let all = style.all || result.order.top.is_some();
    let (rows, _) = shown(&rows, SqlStyle { all, ..style }, ROWS);
    let columns = people::shown(&sql::columns(&[], style.literals), rows);
    let statements: Vec<_> = rows.iter().map(|row| row.s).collect();
    let more = result.statements.len() - statements.len();
    (people::table(&columns, rows), statements, more)
}

/// How many lines there are beyond those shown.
pub(crate) fn further(result: &SqlResult, more: usize) -> String {
    let more = counted(more as u64, "further line");
    order::further(&result.order, &more, " with less time")
}

fn statements(result: &SqlResult, style: SqlStyle) -> String {
    let (cells, rows, more) = numbers(result, style);
    let mut lines = Grid::fitting(cells).lines().into_iter();
    let mut text = format!("\n{}\n", lines.next().unwrap_or_default());
    for (line, s) in lines.zip(rows) {
        text.push_str(&line);
        text.push('\n');
        text.push_str(&subject(s, style));
    }
    if more > 0 {
        text.push_str(&further(result, more));
        text.push('\n');
    }
    text.push_str(&Tone::Faint.paint_lines(&wrap("", 0, NUMBERS)));
    if let Some((slowest, command)) = slowest(result) {
        text.push_str(&format!(
            "\n{}: {slowest}\n   {}\n",
            Tone::Title.paint("Slowest call"),
            Tone::Faint.paint(&command),
        ));
    }
    text
}

/// The slowest call of all, and a command that shows it.
pub(crate) fn slowest(result: &SqlResult) -> Option<(String, String)> {
    let timed = result.statements.iter().filter(|s| s.worst.is_some());
    let s = timed.max_by_key(|s| s.worst.map(|w| w.response_time_ns))?;
    let (worst, filter) = (s.worst?, filter(s)?);
    let files = result.captures.first().map(|c| &c.files);
    let file = files.and_then(|f| f.get(usize::from(worst.request.file)));
    let file = file.map_or("", String::as_str);
    let text = format!(
        "{}, frames {} and {}",
        format_duration(worst.response_time_ns),
        worst.request.frame,
        worst.response.frame,
    );
    Some((text, format!("tshark -r {} -Y '{filter}'", shell(file))))
}

/// Rows as far as they were captured.
pub(crate) fn rows_of(s: &StatementResult) -> String {
    match s.rows_hidden {
        0 => grouped(s.rows),
        hidden => format!("≤{}", grouped(s.rows.saturating_add(hidden))),
    }
}

pub(crate) fn rows_each(rows: f64) -> String {
    match rows {
        r if r >= 99.95 || r.fract() == 0.0 => format!("{r:.0}"),
        r => format!("{r:.1}"),
    }
}

/// A line that ends where the page does.
fn cut(line: &str) -> String {
    if columns(line) <= prose() {
        return line.to_owned();
    }
    let short: String = line.chars().take(prose().saturating_sub(1)).collect();
    format!("{short}…")
}

/// What the calls of a line have in common, in a few lines of text.
fn subject(s: &StatementResult, style: SqlStyle) -> String {
    let wrapped = wrap("   ", 3, &what(s, style));
    let mut text: String = wrapped
        .lines()
        .take(TEXT_LINES)
        .map(|line| format!("{}\n", cut(line)))
        .collect();
    let mut facts = facts(s);
    if wrapped.lines().count() > TEXT_LINES {
        facts.insert(0, "…".to_owned());
    }
    if !facts.is_empty() {
        text.push_str(&Tone::Faint.paint_lines(&wrap("   ", 3, &facts.join(" · "))));
    }
    text
}

/// The statement, or what the calls are, and what else they have in common.
pub(crate) fn what(s: &StatementResult, style: SqlStyle) -> String {
    let mut what = match (&s.statement, &s.op) {
        (Some(statement), _) => {
            let text = match style.literals {
                true => &statement.text,
                false => &statement.normal,
            };
            let mark = match (statement.truncated, statement.found) {
                (_, Found::Scanned) => " … (found by looking for SQL)",
                (true, Found::Structured) => " …",
                _ => "",
            };
            format!("{text}{mark}")
        }
        (None, Some(op)) => format!("({op}, no statement)"),
        (None, None) => String::new(),
    };
    for (name, value) in &s.keys {
        let value = match value {
            KeyValue::Unknown => "unknown".to_owned(),
            value => key_text(name, value, &TimeZone::UTC),
        };
        if !what.is_empty() {
            what.push(' ');
        }
        what.push_str(&format!("[{name} {value}]"));
    }
    harmless(&what)
}

/// What is counted of them beside the columns.
pub(crate) fn facts(s: &StatementResult) -> Vec<String> {
    let mut facts: Vec<String> = id(s).map(|id| format!("id {id}")).into_iter().collect();
    if s.errors > 0 {
        let (errors, named) = (counted(s.errors, "error"), codes(&s.codes));
        facts.push(match named.as_str() {
            "" => errors,
            named => format!("{errors}: {named}"),
        });
    }
    if s.incomplete > 0 {
        facts.push(format!("{} not timed", counted(s.incomplete, "call")));
    }
    if s.fetches > 0 {
        facts.push(format!(
            "{}, {}",
            counted(s.executions, "execution"),
            match s.fetches {
                1 => "1 fetch".to_owned(),
                n => format!("{} fetches", grouped(n)),
            }
        ));
    }
    let divided = s.server_ns.is_some() && s.network_ns.is_some();
    if divided && is_told(s.unknown_ns, s.times.total_ns) {
        facts.push(format!(
            "server or network {}",
            format_duration(s.unknown_ns)
        ));
    }
    if s.rows_asked > 0 {
        facts.push(format!("asks for {}", counted(s.rows_asked, "row")));
    }
    facts
}
