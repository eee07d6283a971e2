//! Groups of calls for people: a table ordered by total time, with a unit on every number.
//!
//! A quantile is shown where the count carries it ([`Summary`]'s `*_NEEDS`), else `-`. When the table
//! is wider than the page, columns that say nothing go first; what they said stands below it. If that does
//! not do, what groups are by takes a line of its own above their numbers.

use crate::page::{Tone, pad, prose, shortened, width};
use crate::text::{
    Grid, bar, bytes, counted, damage, grouped, harmless, moment, share, tight, wrap,
};
use crate::value;
use analysis::results::{GroupResult, KeyValue, OpsResult};
use analysis::stats::Summary;
use jiff::tz::TimeZone;
use model::{Time, format_duration};
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
            for g in result.groups.iter().take(ROWS) {
                histogram(g, style, out)?;
            }
        }
    }
    for capture in &result.captures {
        out.write_all(damage(capture).as_bytes())?;
    }
    Ok(())
}

/// A column: its heading, its cell for a group, and whether it may go when the page is too narrow.
struct Column<'a> {
    name: &'static str,
    cell: Box<dyn Fn(&GroupResult) -> String + 'a>,
    dispensable: bool,
}

fn columns<'a>(result: &'a OpsResult, style: &'a OpsStyle) -> Vec<Column<'a>> {
    let all = |empty: fn(&GroupResult) -> bool| result.groups.iter().all(empty);
    let column = |name, cell: Box<dyn Fn(&GroupResult) -> String + 'a>, dispensable| Column {
        name,
        cell,
        dispensable,
    };
    let quantile = |get: fn(&Summary) -> i64, needs: u64| {
        Box::new(move |g: &GroupResult| {
            if g.stats.count >= needs {
                tight(get(&g.stats))
            } else {
                "-".to_owned()
            }
        })
    };
    let first = result.groups.first();
    let several = result
        .groups
        .iter()
        .any(|g| Some(g.protocol) != first.map(|f| f.protocol));
    let mut columns = vec![column(
        if first.is_some_and(|g| g.op.is_some()) {
            "op"
        } else {
            "protocol"
        },
        Box::new(move |g| match &g.op {
            Some(op) if several => format!("{} {op}", g.protocol),
            Some(op) => op.clone(),
            None => g.protocol.to_string(),
        }),
        false,
    )];
    for (i, (name, _)) in first.iter().flat_map(|g| &g.keys).enumerate() {
        columns.push(column(
            name,
            Box::new(move |g| g.keys.get(i).map_or_else(String::new, |k| key(k, style))),
            false,
        ));
    }
    if has_paths(result) {
        let path = |g: &GroupResult| g.path.as_deref().map_or_else(|| "-".to_owned(), harmless);
        columns.push(column("path", Box::new(path), false));
    }
    let total = result.total_ns;
    columns.extend([
        column(
            "share",
            Box::new(move |g| share(g.stats.total_ns, total)),
            false,
        ),
        column("calls", Box::new(|g| grouped(g.stats.count)), false),
        column("err", Box::new(|g| noted(g.errors)), all(|g| g.errors == 0)),
        column(
            "rexmit",
            Box::new(|g| noted(g.retransmits)),
            all(|g| g.retransmits == 0),
        ),
        column("mean", quantile(|s| s.mean_ns, 1), false),
        column("p50", quantile(|s| s.p50_ns, 1), false),
        column("p90", quantile(|s| s.p90_ns, Summary::P90_NEEDS), false),
        column("p99", quantile(|s| s.p99_ns, Summary::P99_NEEDS), false),
        column(
            "p99.9",
            quantile(|s| s.p999_ns, Summary::P999_NEEDS),
            all(|g| g.stats.count < Summary::P999_NEEDS),
        ),
        column("max", quantile(|s| s.max_ns, 1), false),
        column(
            "bytes",
            Box::new(|g| bytes(g.request_bytes + g.response_bytes).replace(' ', "")),
            false,
        ),
    ]);
    columns
}

/// Whether any file by which it is grouped has a name.
fn has_paths(result: &OpsResult) -> bool {
    result.groups.iter().any(|g| g.path.is_some())
}

/// How many columns say what a group is.
fn names(result: &OpsResult) -> usize {
    let keys = result.groups.first().map_or(0, |g| g.keys.len());
    1 + keys + usize::from(has_paths(result))
}

/// A count of what should not be.
fn noted(n: u64) -> String {
    let text = grouped(n);
    if n == 0 {
        return text;
    }
    Tone::Notable.paint(&text)
}

fn key((name, value): &(&'static str, KeyValue), style: &OpsStyle) -> String {
    match value {
        KeyValue::Text(text) => text.to_string(),
        KeyValue::Number(n) if *name == "time" => moment(Time(*n), &style.zone),
        KeyValue::Number(n) if *name == "size" => match u64::try_from(*n) {
            Ok(n) if n >= 1 << 20 => format!("{}MiB", n >> 20),
            Ok(n) if n >= 1 << 10 => format!("{}KiB", n >> 10),
            _ => format!("{n}B"),
        },
        KeyValue::Number(n) => n.to_string(),
        KeyValue::File(handle) => value::file(*handle),
        KeyValue::Unknown => "-".to_owned(),
    }
}

/// All columns of the table, and how many of them are text.
pub(crate) fn rows(result: &OpsResult, style: &OpsStyle) -> (Vec<Vec<String>>, usize) {
    (cells(result, &columns(result, style)), names(result))
}

fn cells(result: &OpsResult, columns: &[Column<'_>]) -> Vec<Vec<String>> {
    let heads = columns.iter().map(|c| c.name.to_owned()).collect();
    let groups = result.groups.iter().take(ROWS);
    let rows = groups.map(|g| columns.iter().map(|c| (c.cell)(g)).collect());
    std::iter::once(heads).chain(rows).collect()
}

fn table(result: &OpsResult, style: &OpsStyle, out: &mut dyn Write) -> io::Result<()> {
    let mut columns = columns(result, style);
    let grid = |columns: &[Column<'_>]| Grid::new(cells(result, columns), 1);
    let mut page = grid(&columns);
    while page.width() > width()
        && let Some(last) = columns.iter().rposition(|c| c.dispensable)
    {
        columns.remove(last);
        page = grid(&columns);
    }
    if page.width() <= width() {
        out.write_all(page.text().as_bytes())?;
    } else {
        out.write_all(below(result, columns).as_bytes())?;
    }
    if let Some(more) = more(result) {
        writeln!(out, "{more}")?;
    }
    writeln!(out)?;
    out.write_all(wrap("", 0, &summary(result)).as_bytes())
}

/// How many groups the table leaves out.
pub(crate) fn more(result: &OpsResult) -> Option<String> {
    let beyond = result.groups.len().checked_sub(ROWS).filter(|&n| n > 0)?;
    let groups = counted(beyond as u64, "further group");
    Some(format!("… and {groups} (all with --format csv or json)"))
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

/// The table with each group above its numbers.
fn below(result: &OpsResult, mut columns: Vec<Column<'_>>) -> String {
    let numbers = columns.split_off(columns.len().min(names(result)));
    let row = |cell: &dyn Fn(&Column<'_>) -> String| {
        let indent = std::iter::once("  ".to_owned());
        indent.chain(numbers.iter().map(cell)).collect()
    };
    let mut rows = vec![row(&|c| c.name.to_owned())];
    let groups = || result.groups.iter().take(ROWS);
    rows.extend(groups().map(|g| row(&|c| (c.cell)(g))));
    let named = |cell: &dyn Fn(&Column<'_>) -> String| {
        let cells: Vec<String> = columns.iter().map(cell).collect();
        let line = wrap("", 2, &cells.join(" "));
        let lines = line.lines().map(|l| shortened(l, width()) + "\n");
        lines.collect::<String>()
    };
    let mut lines = Grid::new(rows, 1).lines().into_iter();
    let mut text = Tone::Faint.paint_lines(&named(&|c| c.name.to_owned()));
    text.push_str(&format!("{}\n", lines.next().unwrap_or_default()));
    for (line, g) in lines.zip(groups()) {
        text.push_str(&named(&|c| (c.cell)(g)));
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// ` client=10.0.0.1 size=4KiB`.
fn keys_of(g: &GroupResult, style: &OpsStyle) -> String {
    let keys = g.keys.iter();
    keys.map(|k| format!(" {}={}", k.0, key(k, style)))
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
        let mut out = Vec::new();
        ops_text(result, &style, &mut out).expect("memory");
        String::from_utf8(out).expect("UTF-8")
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
            captures: Vec::new(),
            groups: Vec::new(),
            total_ns: 0,
        };
        assert_eq!(page(&nothing, true), "No calls.\n");
    }
}
