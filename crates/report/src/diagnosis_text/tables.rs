//! Operations as tables: what each side's capture saw, and what both saw of the same calls.
//!
//! A table has one unit, that in which the operation with the most time reads best.

use crate::page::{Tone, columns, width};
use crate::text::{Grid, Unit, counted, grouped, wrap};
use analysis::results::{OpResult, Unmatched};
use analysis::stats::Summary;

/// Operations that a table for people shows at most, and those it shows however little time they take.
const OPS: usize = 20;
const ALWAYS: usize = 4;

/// How many operations, most time first, are worth a line: from half a per cent of the time on.
fn shown(ops: &[OpResult]) -> usize {
    let time = |o: &OpResult| o.client.or(o.server).map_or(0, |s| s.total_ns);
    let all = ops.iter().fold(0i64, |sum, o| sum.saturating_add(time(o)));
    let worth = ops.iter().take_while(|o| time(o) >= all / 200).count();
    worth.clamp(ALWAYS, OPS)
}

/// Said where an operation has no 99th percentile.
const TOO_FEW: &str = "p99 is told of 299 calls or more\n";
const _: () = assert!(Summary::P99_NEEDS == 299);

/// The response times of an operation in one side's capture, and that side's name.
type Get = fn(&OpResult) -> Option<Summary>;
type Side = (&'static str, Get);

/// The unit in which the operation with the most time reads best.
fn unit_of(mean_ns: Option<i64>) -> Unit {
    Unit::for_duration(mean_ns.unwrap_or(0))
}

/// The names in the first column; the protocol only where there are several.
pub(crate) fn op_names(ops: &[OpResult]) -> Vec<String> {
    let several = ops
        .iter()
        .any(|o| Some(o.protocol) != ops.first().map(|f| f.protocol));
    ops.iter()
        .map(|o| {
            if several {
                format!("{} {}", o.protocol, o.op)
            } else {
                o.op.clone()
            }
        })
        .collect()
}

fn more(shown: usize, all: usize) -> String {
    if all > shown {
        format!(
            "… and {} with less time\n",
            counted((all - shown) as u64, "further operation")
        )
    } else {
        String::new()
    }
}

/// A table of operations.
pub(crate) struct OpTable {
    pub(crate) title: String,
    /// What stands above the columns behind the first: a name, or nothing, and over how many.
    pub(crate) groups: Vec<(&'static str, usize)>,
    /// The headings, then an operation each.
    pub(crate) rows: Vec<Vec<String>>,
    /// How many operations it leaves out, in words.
    pub(crate) more: String,
}

impl OpTable {
    pub(crate) fn text(self) -> String {
        let grid = Grid::fitting(self.rows);
        let mut text = Tone::Title.paint_lines(&wrap("", 0, &self.title));
        if !self.groups.is_empty() {
            text.push_str(&above(&grid, &self.groups));
        }
        text + &grid.text() + &self.more
    }
}

/// The line above the headings of a grid: what groups of its columns have in common.
fn above(grid: &Grid, groups: &[(&str, usize)]) -> String {
    let mut line = String::new();
    let mut column = 1;
    for (name, each) in groups {
        let at = grid.width_of(column) + grid.gap();
        column += each;
        if name.is_empty() {
            continue;
        }
        line.push_str(&" ".repeat(at.saturating_sub(columns(&line))));
        let dashes = grid
            .width_of(column)
            .saturating_sub(at + name.chars().count() + 5);
        line.push_str(&format!("--- {name} {}", "-".repeat(dashes)));
    }
    let line: String = line.chars().take(width()).collect();
    Tone::Faint.paint(line.trim_end()) + "\n"
}

/// Counts and response times of each operation as each side's capture saw them.
pub(super) fn response_times(ops: &[OpResult]) -> String {
    response_table(ops).map_or_else(String::new, OpTable::text)
}

pub(crate) fn response_table(ops: &[OpResult]) -> Option<OpTable> {
    let timed = |s: Option<Summary>| s.filter(|s| s.count > 0);
    let any_client = ops.iter().any(|o| timed(o.client).is_some());
    let any_server = ops.iter().any(|o| timed(o.server).is_some());
    let sides: Vec<Side> = [
        (any_client, "client", (|o| o.client) as Get),
        (any_server, "server", |o| o.server),
    ]
    .into_iter()
    .filter(|(any, ..)| *any)
    .map(|(_, name, get)| (name, get))
    .collect();
    if sides.is_empty() {
        return None;
    }
    let mean = ops
        .first()
        .and_then(|o| timed(o.client).or(timed(o.server)))
        .map(|s| s.mean_ns);
    let unit = unit_of(mean);
    let mut header = vec!["op".to_owned()];
    for _ in &sides {
        header.extend(["calls", "mean", "p50", "p99"].map(str::to_owned));
    }
    let mut rows = vec![header];
    let mut too_few = "";
    for (o, name) in ops.iter().zip(op_names(ops)).take(shown(ops)) {
        let mut row = vec![name];
        for (_, get) in &sides {
            row.extend(match timed(get(o)) {
                Some(s) => [
                    grouped(s.count),
                    unit.number(s.mean_ns),
                    unit.number(s.p50_ns),
                    if s.count >= Summary::P99_NEEDS {
                        unit.number(s.p99_ns)
                    } else {
                        too_few = TOO_FEW;
                        "-".to_owned()
                    },
                ],
                None => ["0", "-", "-", "-"].map(str::to_owned),
            });
        }
        rows.push(row);
    }
    let groups = match sides.as_slice() {
        // With one capture there is nothing to tell apart.
        [_] => Vec::new(),
        sides => sides.iter().map(|(name, _)| (*name, 4)).collect(),
    };
    Some(OpTable {
        title: format!("Response times in {}", unit.name),
        groups,
        rows,
        more: more(shown(ops), ops.len()) + too_few,
    })
}

/// Which operations failed how often, those first that failed most.
pub(crate) fn errors(ops: &[OpResult]) -> String {
    const NAMED: usize = 4;
    let names = op_names(ops);
    let mut failed: Vec<_> = ops
        .iter()
        .zip(names)
        .filter(|(o, _)| o.errors > 0)
        .collect();
    failed.sort_by_key(|(o, _)| std::cmp::Reverse(o.errors));
    let all = failed.iter().map(|(o, _)| o.errors).sum::<u64>();
    let named = failed.iter().take(NAMED).map(|(o, name)| {
        let errors = grouped(o.errors);
        match o.client.or(o.server) {
            Some(s) => format!("{name} {errors} of {}", grouped(s.count)),
            None => format!("{name} {errors}"),
        }
    });
    let mut named: Vec<String> = named.collect();
    match failed.len() {
        0 => return String::new(),
        n if n > NAMED => named.push("…".to_owned()),
        _ => {}
    }
    let text = format!("{}: {}.", counted(all, "call"), named.join(", "));
    wrap("Answered with an error: ", 3, &text)
}

/// The same calls in both captures: what the client saw, what the server saw, the difference.
pub(super) fn matched(ops: &[OpResult]) -> String {
    matched_table(ops).map_or_else(String::new, OpTable::text)
}

pub(crate) fn matched_table(ops: &[OpResult]) -> Option<OpTable> {
    let with: Vec<_> = ops
        .iter()
        .zip(op_names(ops))
        .filter_map(|(o, name)| Some((o.matched.as_ref().filter(|m| m.count > 0)?, name)))
        .collect();
    let (first, _) = with.first()?;
    let unit = unit_of(Some(first.client_mean_ns));
    let heads = [
        "op", "calls", "client", "server", "diff", "client", "server", "diff",
    ];
    let mut rows = vec![heads.map(str::to_owned).to_vec()];
    for (m, name) in with.iter().take(shown(ops)) {
        let mut row = vec![name.clone(), grouped(m.count)];
        let numbers = [
            m.client_mean_ns,
            m.server_mean_ns,
            m.difference_mean_ns,
            m.client_p50_ns,
            m.server_p50_ns,
            m.difference_p50_ns,
        ];
        row.extend(numbers.map(|ns| unit.number(ns)));
        rows.push(row);
    }
    Some(OpTable {
        title: format!("The same calls in both captures, in {}", unit.name),
        groups: vec![("", 1), ("mean", 3), ("p50", 3)],
        rows,
        more: more(shown(ops), with.len()),
    })
}

/// How many calls found no twin, and why not.
pub(crate) fn unmatched(ops: &[OpResult]) -> String {
    let sum = |get: fn(&Unmatched) -> u64| ops.iter().map(|o| get(&o.unmatched)).sum::<u64>();
    let reasons = [
        (
            sum(|u| u.outside_overlap),
            "outside the time that both captures cover",
        ),
        (
            sum(|u| u.not_in_client_capture),
            "not in the client's capture",
        ),
        (
            sum(|u| u.not_in_server_capture),
            "not in the server's capture",
        ),
        (sum(|u| u.no_response), "without a response"),
        (sum(|u| u.incomplete), "cut by a capture"),
        (sum(|u| u.evicted), "more than are remembered"),
    ];
    let total: u64 = reasons.iter().map(|(n, _)| n).sum();
    // With one capture there is no twin to find; what it lacks stands with the capture.
    if total == 0 || ops.iter().all(|o| o.matched.is_none()) {
        return String::new();
    }
    let reasons: Vec<String> = reasons
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, why)| format!("{} {why}", grouped(*n)))
        .collect();
    let text = format!("{}: {}.", counted(total, "call"), reasons.join(", "));
    wrap("Not matched: ", 3, &text)
}
