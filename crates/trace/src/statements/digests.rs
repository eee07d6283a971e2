//! Sums by statement into means: `pg_stat_statements` (9.4 to 17; `psql --csv -c 'select * from pg_stat_statements'`) and
//! `performance_schema.events_statements_summary_by_digest` of MySQL and MariaDB (`mysql -B`, whose columns tabs separate,
//! or CSV); and `events_waits_summary_global_by_event_name` of the same schema, of which waits for files (`wait/io/file/…`)
//! are those of disks.
//!
//! Both count since their last reset: two snapshots are subtracted, statement by statement (snapshots.rs).

use crate::collector::Collector;
use crate::csv::fields;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::snapshots::{Counted, KEYS, Snapshots};
use crate::{Error, OperationKind};

/// A quoted statement goes on over lines, this many bytes of them.
const ROW_BYTES: usize = 1 << 20;

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
    let mut snapshots = Snapshots::default();
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
                snapshots.begin();
                return Ok(());
            }
            let Some(columns) = &columns else {
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
            row(&held, columns, &mut snapshots, into, at);
            held.clear();
            Ok(())
        })?;
    }
    let words = snapshots.told(into);
    into.format(format!("{name}, {words}"));
    Ok(())
}

fn row(line: &str, columns: &Columns, snapshots: &mut Snapshots, into: &mut Collector, at: At<'_>) {
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
    let keys: Vec<&str> = columns.keys.iter().map(|i| text(*i)).collect();
    if columns.of == Of::FileWaits && !keys.iter().any(|name| name.starts_with(FILES)) {
        // Locks, sockets, and the server's idling.
        return;
    }
    let counted = Counted {
        count: calls,
        total_ns,
        unsure_ns: 0,
    };
    if !snapshots.add(OperationKind::Other, keys.join("\u{1f}"), counted) {
        into.skip(at, format_args!("more than {KEYS} statements"));
    }
}
