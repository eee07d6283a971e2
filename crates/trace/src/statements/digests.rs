//! Sums by statement into means: `pg_stat_statements` (9.4 to 17; `psql --csv -c 'select * from pg_stat_statements'`) and
//! `performance_schema.events_statements_summary_by_digest` of MySQL and MariaDB (`mysql -B`, whose columns tabs separate,
//! or CSV); and `events_waits_summary_global_by_event_name` of the same schema, of which waits for files (`wait/io/file/…`)
//! are those of disks.
//!
//! Both count since their last reset. Two snapshots, in one file or several, are subtracted, statement by statement; the
//! later one has counted more calls. One alone says what was so since the reset, and the words say that. A statement that
//! counted less in the later one was forgotten in between, and counts whole.

use crate::collector::Collector;
use crate::csv::fields;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::{Error, OperationKind, Sample};
use std::collections::BTreeMap;

/// Snapshots, and statements of one, that are believed.
const SNAPSHOTS: usize = 64;
const STATEMENTS: usize = 100_000;

/// A quoted statement goes on over lines, this many bytes of them.
const ROW_BYTES: usize = 1 << 20;

/// Number and total of each statement.
type Snapshot = BTreeMap<String, (u64, i64)>;

/// Where the columns stand.
#[derive(Clone)]
struct Columns {
    names: Vec<String>,
    separator: char,
    keys: Vec<usize>,
    calls: usize,
    total: usize,
    of: Of,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    PgStatStatements,
    PerformanceSchema,
    /// Its waits, of which those for files are told.
    FileWaits,
}

/// What waits for files are called.
const FILES: &str = "wait/io/file/";

impl Of {
    fn name(self) -> &'static str {
        match self {
            Of::PgStatStatements => "pg_stat_statements",
            Of::PerformanceSchema => "performance_schema's digests",
            Of::FileWaits => "performance_schema's waits for files",
        }
    }

    /// Nanoseconds from milliseconds or picoseconds.
    fn total_ns(self, text: &str) -> Option<i64> {
        match self {
            Of::PgStatStatements => scaled(text, 6),
            Of::PerformanceSchema | Of::FileWaits => {
                let ps = text.parse::<u64>().ok()?;
                i64::try_from(ps / 1_000).ok()
            }
        }
    }
}

impl Columns {
    fn of(line: &str) -> Option<Columns> {
        let separator = if line.contains('\t') { '\t' } else { ',' };
        let names: Vec<String> = fields(line, separator)?
            .iter()
            .map(|n| n.to_ascii_lowercase())
            .collect();
        let find = |name: &str| names.iter().position(|n| n == name);
        let pg = || {
            let total = find("total_exec_time").or_else(|| find("total_time"))?;
            find("query").or_else(|| find("queryid"))?;
            Some((Of::PgStatStatements, find("calls")?, total))
        };
        let schema = || {
            let count = find("count_star")?;
            let total = find("sum_timer_wait")?;
            let of = match find("event_name") {
                Some(_) => Of::FileWaits,
                None => {
                    find("digest").or_else(|| find("digest_text"))?;
                    Of::PerformanceSchema
                }
            };
            Some((of, count, total))
        };
        let (of, calls, total) = pg().or_else(schema)?;
        let ids = [
            "userid",
            "dbid",
            "toplevel",
            "queryid",
            "schema_name",
            "digest",
        ];
        let mut keys: Vec<usize> = ids.iter().filter_map(|n| find(n)).collect();
        if let Some(event) = find("event_name") {
            keys = vec![event];
        } else if find("queryid").or_else(|| find("digest")).is_none() {
            keys.extend(find("query").or_else(|| find("digest_text")));
        }
        Some(Columns {
            keys,
            calls,
            total,
            of,
            names,
            separator,
        })
    }
}

pub(crate) fn is_header(line: &str) -> bool {
    Columns::of(line).is_some()
}

/// Whether what stands below it are waits of disks.
pub(crate) fn is_of_disks(line: &str) -> bool {
    Columns::of(line).is_some_and(|columns| columns.of == Of::FileWaits)
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut snapshots: Vec<Snapshot> = Vec::new();
    let mut name = "";
    for file in files {
        let mut columns: Option<Columns> = None;
        let mut held = String::new();
        file.each(into, |into, at, line| {
            if held.is_empty()
                && let Some(found) = Columns::of(line)
            {
                name = found.of.name();
                columns = Some(found);
                if snapshots.len() < SNAPSHOTS {
                    snapshots.push(Snapshot::new());
                }
                return Ok(());
            }
            let (Some(columns), Some(snapshot)) = (&columns, snapshots.last_mut()) else {
                return Ok(());
            };
            if !held.is_empty() {
                held.push('\n');
            }
            held.push_str(line);
            // mysql -B escapes and quotes nothing.
            let quoted = columns.separator == ',';
            let open = quoted && held.matches('"').count() % 2 == 1;
            if open && held.len() < ROW_BYTES {
                return Ok(());
            }
            row(&held, columns, snapshot, into, at);
            held.clear();
            Ok(())
        })?;
    }
    let calls = |s: &Snapshot| {
        s.values()
            .fold(0u64, |n, (calls, _)| n.saturating_add(*calls))
    };
    snapshots.sort_by_key(calls);
    let none = Snapshot::new();
    let last = snapshots.last().unwrap_or(&none);
    let (first, words) = match snapshots.as_slice() {
        [first, _, ..] => (
            first,
            format!("difference of {} snapshots", snapshots.len()),
        ),
        _ => (
            &none,
            "one snapshot: totals since the last reset; take one before and one after the problem"
                .to_owned(),
        ),
    };
    for (key, &(calls, total_ns)) in last {
        let (before, before_ns) = first.get(key).copied().unwrap_or_default();
        let change = calls
            .checked_sub(before)
            .zip(total_ns.checked_sub(before_ns));
        let (count, ns) = change
            .filter(|(_, ns)| *ns >= 0)
            .unwrap_or((calls, total_ns));
        if let Some(latency_ns) = ns.checked_div(i64::try_from(count).unwrap_or(i64::MAX)) {
            into.sample(Sample {
                from_ns: None,
                until_ns: None,
                kind: OperationKind::Other,
                count,
                latency_ns,
                client: None,
            });
        }
    }
    into.format(format!("{name}, {words}"));
    Ok(())
}

fn row(line: &str, columns: &Columns, snapshot: &mut Snapshot, into: &mut Collector, at: At<'_>) {
    let Some(found) = (match columns.separator {
        '\t' => Some(line.split('\t').map(Into::into).collect()),
        separator => fields(line, separator),
    }) else {
        return into.skip(at, "a quoted field does not end");
    };
    let text = |i: usize| found.get(i).map(AsRef::as_ref).unwrap_or_default();
    let calls = text(columns.calls).parse::<u64>().ok();
    let total = columns
        .of
        .total_ns(text(columns.total))
        .filter(|ns| *ns >= 0);
    let Some((calls, total_ns)) = calls.zip(total) else {
        let [calls, total] = [columns.calls, columns.total]
            .map(|i| columns.names.get(i).map(String::as_str).unwrap_or_default());
        return into.skip(at, format_args!("{calls} or {total} is no number"));
    };
    if snapshot.len() >= STATEMENTS {
        return into.skip(at, format_args!("more than {STATEMENTS} statements"));
    }
    let keys: Vec<&str> = columns.keys.iter().map(|i| text(*i)).collect();
    if columns.of == Of::FileWaits && !keys.iter().any(|name| name.starts_with(FILES)) {
        // Locks, sockets, and the server's idling.
        return;
    }
    let sum = snapshot.entry(keys.join("\u{1f}")).or_default();
    *sum = (sum.0.saturating_add(calls), sum.1.saturating_add(total_ns));
}
