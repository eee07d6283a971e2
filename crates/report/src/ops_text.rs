//! Groups of calls for people: a table ordered by total time, with a unit on every number.
//!
//! A quantile is shown where the count carries it ([`Summary`](analysis::stats::Summary)'s `*_NEEDS`), else `-`. When the table
//! is wider than the page, columns that say nothing go first; what they said stands below it. If that does
//! not do, what groups are by takes a line of its own above their numbers.

use crate::ops::{self, GroupRow, Ops};
use crate::page::{Tone, pad, prose, shortened, width};
use crate::table::{Column, people};
use crate::text::{Grid, bar, counted, damage, grouped, lasted, overlap, tight, wrap};
use analysis::results::{GroupResult, OpsResult};
use jiff::tz::TimeZone;
use model::format_duration;
use std::io::{self, Write};

/// What the table is to show.
#[derive(Clone, Debug)]
pub struct OpsStyle {
    /// The zone in which moments are shown.
    pub zone: TimeZone,
    /// Durations by powers of two, below the table.
    pub histogram: bool,
}

/// Groups that a table for people shows; the rest is counted.
const ROWS: usize = 1000;

/// Writes the table.
///
/// # Errors
/// Those of `out`.
pub fn ops_text(result: &OpsResult, style: &OpsStyle, out: &mut dyn Write) -> io::Result<()> {
    if result.groups.is_empty() {
        writeln!(out, "No calls.")?;
    } else {
        table(result, style, out)?;
        if style.histogram {
            for row in listed(result, style) {
                histogram(row.group, style, out)?;
            }
        }
    }
    for capture in &result.captures {
        out.write_all(damage(capture).as_bytes())?;
    }
    Ok(())
}

/// The columns of the table.
fn shown(result: &OpsResult, rows: &[GroupRow<'_>]) -> Vec<Column<Ops>> {
    people::shown(&ops::columns(ops::keys(result)), rows)
}

/// Those that are listed are as many as are asked for, or as a page bears.
fn limit(result: &OpsResult) -> usize {
    let rows = result.order.top.unwrap_or(ROWS);
    rows.min(result.groups.len())
}

fn cells(columns: &[Column<Ops>], rows: &[GroupRow<'_>]) -> Vec<Vec<String>> {
    people::table(columns, rows)
}

fn listed<'a>(result: &'a OpsResult, style: &'a OpsStyle) -> Vec<GroupRow<'a>> {
    let mut rows = ops::rows(result, &style.zone);
    rows.truncate(limit(result));
    rows
}

/// All columns of the table, and how many of them are text.
pub(crate) fn rows(result: &OpsResult, style: &OpsStyle) -> (Vec<Vec<String>>, usize) {
    let rows = listed(result, style);
    (cells(&shown(result, &rows), &rows), subject(result))
}

/// How many columns say what a group is.
fn subject(result: &OpsResult) -> usize {
    let named = result.groups.iter().any(|g| g.path.is_some());
    1 + ops::keys(result).count() + usize::from(named)
}

fn table(result: &OpsResult, style: &OpsStyle, out: &mut dyn Write) -> io::Result<()> {
    let rows = listed(result, style);
    let mut columns = shown(result, &rows);
    let mut page = Grid::new(cells(&columns, &rows), 1);
    while page.width() > width() && people::narrow(&mut columns, &rows) {
        page = Grid::new(cells(&columns, &rows), 1);
    }
    if page.width() <= width() {
        out.write_all(page.text().as_bytes())?;
    } else {
        out.write_all(below(cells(&columns, &rows), subject(result)).as_bytes())?;
    }
    if let Some(more) = more(result) {
        writeln!(out, "{more}")?;
    }
    writeln!(out)?;
    out.write_all(wrap("", 0, &summary(result)).as_bytes())
}

/// How many groups the table leaves out.
pub(crate) fn more(result: &OpsResult) -> Option<String> {
    let beyond = result.groups.len().checked_sub(limit(result));
    let groups = counted(beyond.filter(|&n| n > 0)? as u64, "further group");
    Some(match result.order.top {
        Some(_) => format!("… and {groups}"),
        None => format!("… and {groups} (all with --format csv or json)"),
    })
}

/// All groups together, in a sentence.
pub(crate) fn summary(result: &OpsResult) -> String {
    let sum = |get: fn(&GroupResult) -> u64| result.groups.iter().map(get).sum::<u64>();
    let calls = sum(|g| g.stats.count);
    let mut line = format!(
        "{} in all, {} of response time; {}, {}.",
        counted(calls, "call"),
        format_duration(result.total_ns),
        counted(sum(|g| g.errors), "error"),
        counted(sum(|g| g.retransmits), "retransmit"),
    );
    let overlap = overlap(result.total_ns, lasted(result.captures.first()));
    if !overlap.is_empty() {
        line.push_str(&format!(" {overlap}"));
    }
    let halves = [
        (sum(|g| g.no_response), "without a response"),
        (sum(|g| g.no_request), "without a request"),
        (sum(|g| g.incomplete), "cut by the capture"),
    ];
    let halves: Vec<String> = halves
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{} {what}", grouped(*n)))
        .collect();
    if !halves.is_empty() {
        line.push_str(&format!(" Not timed: {}.", halves.join(", ")));
    }
    if result.groups.iter().any(|g| !g.stats.exact) {
        line.push_str(" Percentiles of groups above 4,096 calls are within 1 %.");
    }
    line
}

/// The table with each group, which so many columns tell, above its numbers.
fn below(cells: Vec<Vec<String>>, subject: usize) -> String {
    let named = |cells: &[String]| {
        let line = wrap("", 2, &cells.join(" "));
        let lines = line.lines().map(|l| shortened(l, width()) + "\n");
        lines.collect::<String>()
    };
    let mut names = Vec::new();
    let mut numbers = Vec::new();
    for mut row in cells {
        let rest = row.split_off(row.len().min(subject));
        numbers.push(std::iter::once("  ".to_owned()).chain(rest).collect());
        names.push(named(&row));
    }
    if let Some(heads) = names.first_mut() {
        *heads = Tone::Faint.paint_lines(heads);
    }
    let lines = Grid::new(numbers, 1).lines();
    let pairs = names.iter().zip(&lines);
    pairs
        .map(|(name, line)| format!("{name}{line}\n"))
        .collect()
}

/// ` client=10.0.0.1 size=4KiB`.
fn keys_of(g: &GroupResult, style: &OpsStyle) -> String {
    let keys = g.keys.iter();
    keys.map(|(name, value)| format!(" {name}={}", ops::key_text(name, value, &style.zone)))
        .collect()
}

fn histogram(g: &GroupResult, style: &OpsStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut title = format!("{} {}", g.protocol, g.op.as_deref().unwrap_or_default());
    title.push_str(&keys_of(g, style));
    let title = format!("{}: {}", title.trim_end(), counted(g.stats.count, "call"));
    writeln!(out, "\n{}", Tone::Title.paint(&title))?;
    let most = g.histogram.iter().map(|(_, n)| *n).max().unwrap_or(0);
    let mut rows = vec![vec![
        "".into(),
        "from".into(),
        "below".into(),
        "calls".into(),
    ]];
    rows.extend(
        g.histogram
            .iter()
            .map(|(upper, n)| vec![String::new(), tight(upper / 2), tight(*upper), grouped(*n)]),
    );
    let grid = Grid::new(rows, 2);
    let room = prose().saturating_sub(grid.width() + 2);
    let bars = std::iter::once(String::new()).chain(
        g.histogram
            .iter()
            .map(|(_, n)| bar(*n as f64, most as f64, room)),
    );
    for (line, bar) in grid.lines().iter().zip(bars) {
        let line = format!("{}  {bar}", pad(line, grid.width()));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    fn page(result: &OpsResult, histogram: bool) -> String {
        let style = OpsStyle {
            zone: TimeZone::UTC,
            histogram,
        };
        samples::written(|out| ops_text(result, &style, out))
    }

    #[test]
    fn table_with_histogram() {
        expect![[r#"
            op client
               share calls err rexmit   mean    p50    p90    p99    max  bytes
            READ 10.0.0.1
                100% 1,834   3      1 33.2ms 33.1ms 35.0ms 36.6ms 41.0ms  121MB
            GETATTR -
               <0.1%    20   0      0  200µs  190µs      -      -  320µs 7.20kB

            1,854 calls in all, 60.9 s of response time; 3 errors, 1 retransmit. Not timed:
            2 without a response, 1 without a request.

            nfs3 READ client=10.0.0.1: 1,834 calls
                 from   below  calls
               4.19ms  8.39ms     34  ██
               8.39ms  16.8ms      0
               16.8ms  33.6ms    900  ██████████████████████████████████████████████████████
               33.6ms  67.1ms    900  ██████████████████████████████████████████████████████

            nfs3 GETATTR client=-: 20 calls
                 from  below  calls
               65.5µs  131µs      5  █████████████████████████
                131µs  262µs     11  ███████████████████████████████████████████████████████
                262µs  524µs      4  ████████████████████
        "#]]
        .assert_eq(&page(&samples::ops(), true));
    }

    #[test]
    fn wide_tables_lose_the_columns_that_say_nothing() {
        let mut ops = samples::ops();
        for g in &mut ops.groups {
            g.op = Some("A_LONG_NAME".to_owned());
            g.errors = 0;
            g.retransmits = 0;
        }
        let text = page(&ops, false);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(
            !text.contains("rexmit") && text.contains("0 retransmits"),
            "{text}"
        );
    }

    #[test]
    fn no_calls_say_so() {
        let nothing = OpsResult {
            order: analysis::results::Order::default(),
            captures: Vec::new(),
            groups: Vec::new(),
            total_ns: 0,
        };
        assert_eq!(page(&nothing, true), "No calls.\n");
    }
}
