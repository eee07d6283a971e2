//! Distributions that tracers print, as text, into [`Histogram`]s: so many operations took from so long to so long.
//!
//! Three grammars have one shape, a title, rows of bounds and counts, and bars that nobody needs: DTrace's quantize and
//! lquantize (`dtrace.rs`), bpftrace's hist and lhist (`bpftrace.rs`), and the tables of BCC's tools (`bcc.rs`). Each
//! turns a line into a [`Part`]; what parts make together is the same for all and stands here.
//!
//! - A title says which operations these are (`read`) and the unit of its bounds (`(us)`). A unit holds until another is
//!   said. A distribution without a unit of time, as of sizes, is counted as not read.
//! - One title several times is a tool that prints at intervals. Where each holds at least what the one before held, in
//!   every row, the tool counts on, and the last is taken; else they are added up.
//! - Bounds stay bounds: nothing in between is made up.

mod bcc;
mod bpftrace;
mod dtrace;
mod title;

use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::number::counted;
use crate::{Error, OperationKind};
use std::collections::BTreeMap;

/// Titles, and rows of one distribution, that are believed.
const TITLES: usize = 1_024;
const ROWS: usize = 4_096;

/// What biolatency says at first, of BCC and of bpftrace.
const OF_DISKS: &str = "block device I/O";

/// What nfsdist says at first, which is for clients.
const OF_CLIENTS: &str = "Tracing NFS operation latency";

/// Lines above a distribution in which its title is looked for.
const ABOVE: usize = 3;

/// How many operations of a kind took how long, in steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    pub kind: OperationKind,
    /// Shortest first, without empty ones.
    pub buckets: Vec<Bucket>,
    /// What they took together, where the tool says that.
    pub total_ns: Option<i64>,
}

/// So many operations of which each took from `from_ns` to `until_ns`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    pub from_ns: i64,
    /// `None` without an upper bound.
    pub until_ns: Option<i64>,
    pub count: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tool {
    DTrace,
    Bpftrace,
    Bcc,
}

impl Tool {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Tool::DTrace => "DTrace output",
            Tool::Bpftrace => "bpftrace output",
            Tool::Bcc => "output of a BCC tool",
        }
    }

    /// Whose distributions these lines hold.
    pub(crate) fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Option<Tool> {
        let mut lines = lines.map(str::trim);
        lines.find_map(|line| {
            if dtrace::is_head(line) {
                Some(Tool::DTrace)
            } else if bcc::is_head(line) {
                Some(Tool::Bcc)
            } else {
                bpftrace::is_row(line).then_some(Tool::Bpftrace)
            }
        })
    }

    /// Whether what a file begins with says that its times are those of disks.
    pub(crate) fn is_of_disks(head: &str) -> bool {
        head.contains(OF_DISKS)
    }

    fn part(self, line: &str) -> Part<'_> {
        match self {
            Tool::DTrace => dtrace::part(line),
            Tool::Bpftrace => bpftrace::part(line),
            Tool::Bcc => bcc::part(line),
        }
    }
}

/// What a line is.
#[derive(Debug)]
enum Part<'a> {
    /// Rows follow, of what this title says, else the lines above; in this unit, else that of a title.
    Head {
        title: Option<&'a str>,
        unit: Option<Unit>,
    },
    Row(Row),
    /// What the operations since the last such line took together: their sum, in this unit, and their number.
    Total(i64, Unit, u64),
    /// A title, or something that belongs to none.
    Other,
}

/// A count between two bounds, in the unit of its distribution.
#[derive(Clone, Copy, Debug)]
struct Row {
    from: i64,
    until: Until,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
enum Until {
    At(i64),
    /// Where the next row begins; of the last one twice its own beginning, as steps are powers of two.
    Next,
    Open,
}

/// Of bounds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Ns(i64),
    /// Bytes, sectors: no time.
    Other,
}

pub(crate) fn read(tool: Tool, files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut titles = Titles::default();
    for file in files {
        let name = file.name();
        let mut reader = Reader::default();
        file.each(into, |into, at, line| {
            match tool.part(line.trim()) {
                Part::Head { title, unit } => {
                    reader.close(&mut titles, into, at.file);
                    reader.open(title, unit, at);
                }
                Part::Row(row) => reader.row(row, into, at),
                Part::Total(sum, unit, count) => {
                    reader.close(&mut titles, into, at.file);
                    titles.total(sum, unit, count);
                }
                Part::Other => {
                    reader.close(&mut titles, into, at.file);
                    if line.contains(OF_DISKS) {
                        into.of_disks();
                    } else if line.contains(OF_CLIENTS) {
                        into.of_clients();
                    }
                    reader.above(line);
                }
            }
            Ok(())
        })?;
        reader.close(&mut titles, into, &name);
    }
    let found = titles.histograms();
    let of = counted(found.len(), "distribution");
    let again = match (titles.prints, titles.count_on()) {
        (0, _) => String::new(),
        (n, true) => format!(", the last of {} prints that count on", n + 1),
        (n, false) => format!(", of {} prints", n + 1),
    };
    into.histograms(found);
    into.format(format!("{}, {of}{again}", tool.name()));
    Ok(())
}

/// What was read of a file so far.
#[derive(Default)]
struct Reader {
    /// Lines since the last distribution.
    above: Vec<String>,
    unit: Option<Unit>,
    open: Option<Open>,
}

/// A distribution whose rows are coming.
struct Open {
    line: u64,
    title: String,
    kind: OperationKind,
    unit: Option<Unit>,
    rows: Vec<Row>,
}

impl Reader {
    fn above(&mut self, line: &str) {
        if let Some(unit) = title::unit(line) {
            self.unit = Some(unit);
        }
        if self.above.len() >= ABOVE {
            self.above.remove(0);
        }
        self.above.push(line.trim().chars().take(200).collect());
    }

    fn open(&mut self, title: Option<&str>, unit: Option<Unit>, at: At<'_>) {
        let above = std::mem::take(&mut self.above);
        let mut named = above.iter().rev().filter(|l| title::is_title(l));
        let own = title.map(str::to_owned).or_else(|| named.next().cloned());
        // The nearest title that names an operation.
        let titles = title
            .into_iter()
            .chain(above.iter().rev().map(String::as_str));
        let mut kinds = titles.map(title::kind);
        let kind = kinds.find(|k| *k != OperationKind::Unsaid);
        self.open = Some(Open {
            line: at.line,
            title: own.unwrap_or_default(),
            kind: kind.unwrap_or(OperationKind::Unsaid),
            unit: unit.or_else(|| title.and_then(title::unit)).or(self.unit),
            rows: Vec::new(),
        });
    }

    fn row(&mut self, row: Row, into: &mut Collector, at: At<'_>) {
        match &mut self.open {
            None => into.skip(at, "a count without the head of a distribution"),
            Some(open) if open.rows.len() >= ROWS => {
                into.skip(
                    at,
                    format_args!("more than {ROWS} rows of one distribution"),
                );
            }
            Some(open) => open.rows.push(row),
        }
    }

    fn close(&mut self, titles: &mut Titles, into: &mut Collector, file: &str) {
        let Some(open) = self.open.take() else {
            return;
        };
        let at = At {
            file,
            line: open.line,
        };
        match open.unit {
            Some(Unit::Ns(unit_ns)) => {
                let Some(buckets) = buckets(&open.rows, unit_ns) else {
                    return into.skip(at, "the rows of this distribution are not in order");
                };
                if !titles.add(&open.title, open.kind, buckets) {
                    into.skip(at, format_args!("more than {TITLES} distributions, or {ROWS} steps of one"));
                }
            }
            Some(Unit::Other) => into.skip(at, "a distribution of something else than time"),
            None => into.skip(
                at,
                "a distribution whose unit is not said; name it in the title above, as (us), or in the map's name, as @usecs",
            ),
        }
    }
}

/// In nanoseconds; `None` where bounds go back.
fn buckets(rows: &[Row], unit_ns: i64) -> Option<Vec<Bucket>> {
    let next = rows.iter().skip(1).map(Some).chain([None]);
    let ns = |n: i64| n.max(0).saturating_mul(unit_ns);
    let mut before = 0;
    let mut found = Vec::new();
    for (row, next) in rows.iter().zip(next) {
        let until = match (row.until, next) {
            (Until::At(until), _) => Some(until),
            (Until::Next, Some(next)) => Some(next.from),
            (Until::Next, None) => Some(row.from.saturating_mul(2).max(1)),
            (Until::Open, _) => None,
        };
        let (from_ns, until_ns) = (ns(row.from), until.map(ns));
        if from_ns < before || until.is_some_and(|until| until < row.from) {
            return None;
        }
        before = until_ns.unwrap_or(i64::MAX);
        if row.count > 0 {
            found.push(Bucket {
                from_ns,
                until_ns,
                count: row.count,
            });
        }
    }
    Some(found)
}

type Bounds = (i64, Option<i64>);

/// What was printed under one title.
struct Printed {
    kind: OperationKind,
    sum: BTreeMap<Bounds, u64>,
    last: BTreeMap<Bounds, u64>,
    counts_on: bool,
    prints: u64,
    total_ns: Option<i64>,
}

#[derive(Default)]
struct Titles {
    printed: BTreeMap<String, Printed>,
    /// Most prints of one title behind its first.
    prints: u64,
    /// Titles since the last total.
    untotalled: Vec<String>,
}

impl Titles {
    /// False where there are too many.
    fn add(&mut self, title: &str, kind: OperationKind, buckets: Vec<Bucket>) -> bool {
        if self.printed.len() >= TITLES && !self.printed.contains_key(title) {
            return false;
        }
        let mut now: BTreeMap<Bounds, u64> = BTreeMap::new();
        for b in buckets {
            let n = now.entry((b.from_ns, b.until_ns)).or_default();
            *n = n.saturating_add(b.count);
        }
        let printed = self.printed.entry(title.to_owned()).or_insert(Printed {
            kind,
            sum: BTreeMap::new(),
            last: BTreeMap::new(),
            counts_on: true,
            prints: 0,
            total_ns: None,
        });
        let holds = |(bounds, n): (&Bounds, &u64)| now.get(bounds).is_some_and(|now| now >= n);
        printed.counts_on &= printed.last.iter().all(holds);
        let new = now.keys().filter(|b| !printed.sum.contains_key(*b));
        if printed.sum.len() + new.count() > ROWS {
            return false;
        }
        for (bounds, n) in &now {
            let sum = printed.sum.entry(*bounds).or_default();
            *sum = sum.saturating_add(*n);
        }
        printed.last = now;
        self.prints = self.prints.max(printed.prints);
        printed.prints += 1;
        // Of two no total is one's own.
        if self.untotalled.len() < 2 {
            self.untotalled.push(title.to_owned());
        }
        true
    }

    /// A sum that is of one distribution alone, and of as many operations, is its own.
    fn total(&mut self, sum: i64, unit: Unit, count: u64) {
        let since = std::mem::take(&mut self.untotalled);
        let (Unit::Ns(unit_ns), [title]) = (unit, since.as_slice()) else {
            return;
        };
        if let Some(printed) = self.printed.get_mut(title)
            && printed.prints == 1
            && printed
                .sum
                .values()
                .fold(0, |n: u64, c| n.saturating_add(*c))
                == count
        {
            printed.total_ns = sum.checked_mul(unit_ns);
        }
    }

    fn count_on(&self) -> bool {
        let mut several = self.printed.values().filter(|p| p.prints > 1);
        several.all(|p| p.counts_on)
    }

    fn histograms(&self) -> Vec<Histogram> {
        let of = |p: &Printed| {
            let counts = match p.counts_on {
                true => &p.last,
                false => &p.sum,
            };
            let bucket = |(&(from_ns, until_ns), &count): (&Bounds, &u64)| Bucket {
                from_ns,
                until_ns,
                count,
            };
            Histogram {
                kind: p.kind,
                buckets: counts.iter().map(bucket).collect(),
                total_ns: p.total_ns.filter(|_| p.prints == 1),
            }
        };
        let all = self.printed.values().map(of);
        all.filter(|h| !h.buckets.is_empty()).collect()
    }
}
