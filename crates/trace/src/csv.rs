//! CSV with a header into operations. Columns may stand in any order, unknown ones are ignored:
//!
//! - start: `t_enq_ns` (handed to the application's own queue), else `t_issue_ns`, else `start_ns`
//!   (or `t_start_ns`): the earliest stage, as time in the client's own queues is what the wire
//!   cannot show;
//! - end: `t_done_ns` or `end_ns`;
//! - or one of them with `latency_ns`, `latency_us` or `latency_ms`;
//! - or `time` with a latency. `time` is when the operation *started*. Its unit is told from its
//!   size: seconds, milliseconds, microseconds or nanoseconds since 1970, and what is less than
//!   1973 in seconds is seconds since an unknown start. Decimals are welcome;
//! - `op`, `offset` and `size` (or `len`) where they exist, and `client`, the address of the host whose operation
//!   it is.
//!
//! With `count` (or `operations`) and a latency, and without `offset`, a row is the average of so many operations
//! that ended in an interval (`samples.rs`). A latency alone, without any time, is a list of latencies.
//!
//! A row without an end, or whose end is 0, is an operation that never finished. RFC 4180 quoting
//! is understood within a line; commas, semicolons and tabs separate, or blanks, as scripts for DTrace and bpftrace like
//! to print them under a head of such names.

use crate::collector::Collector;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::{Error, Operation, OperationKind, Sample};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};

mod samples;

/// 1973: an earlier time is not one of the epoch but of some clock that started later.
const EPOCH_SECONDS: i64 = 100_000_000;
const EPOCH_NS: i64 = EPOCH_SECONDS * 1_000_000_000;

const STARTS: &[&str] = &["t_enq_ns", "t_issue_ns", "start_ns", "t_start_ns"];
const ENDS: &[&str] = &["t_done_ns", "end_ns", "t_end_ns"];
/// Of BCC's nfsslower and its likes (`-j`), beside `TYPE`, `BYTES`, `OFFSET_b` and `LATENCY_us`.
const END_US: &str = "endtime_us";
/// What stands between columns that no comma, semicolon or tab separates.
const BLANKS: char = ' ';
/// Operations that a row is the average of.
const COUNTS: &[&str] = &["count", "operations"];
/// With the power of ten that makes nanoseconds of them.
const LATENCIES: &[(&str, u32)] = &[("latency_ns", 0), ("latency_us", 3), ("latency_ms", 6)];

/// Whether a line names a column of times.
pub(crate) fn is_header(line: &str) -> bool {
    let header = Header::new(line);
    STARTS.iter().chain(ENDS).any(|n| header.find(n).is_some()) || header.latency().is_some()
}

/// What bpftrace says before a script's own lines.
pub(crate) fn is_preface(line: &str) -> bool {
    line.starts_with("Attaching ") && line.ends_with("...")
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let mut words = None;
    for file in files {
        let mut table: Option<Table> = None;
        let first = into.samples().len();
        file.each(into, |into, at, line| {
            match &mut table {
                None if is_preface(line) => {}
                None => table = Some(Table::new(line, at)?),
                Some(table) => table.row(line, at, into),
            }
            Ok(())
        })?;
        samples::close(into.samples().get_mut(first..).unwrap_or_default());
        words = words.or(table.map(|table| table.words()));
    }
    into.format(words.unwrap_or_default());
    Ok(())
}

/// A column: where it stands, and what it is called.
type Column = (usize, &'static str);

struct Header {
    names: Vec<String>,
    separator: char,
}

impl Header {
    fn new(line: &str) -> Header {
        // A byte order mark, or a comment sign as gnuplot likes it.
        let line = line.trim_start_matches(['\u{feff}', '#', ' ']);
        let count = |separator: &char| line.matches(*separator).count();
        let separator = [';', '\t', ',']
            .into_iter()
            .max_by_key(count)
            .filter(|separator| count(separator) > 0)
            .unwrap_or(BLANKS);
        let names = fields(line, separator)
            .unwrap_or_default()
            .iter()
            .map(|name| name.to_ascii_lowercase())
            .collect();
        Header { names, separator }
    }

    fn find(&self, name: &'static str) -> Option<Column> {
        let index = self.names.iter().position(|n| n == name)?;
        Some((index, name))
    }

    fn first_of(&self, names: &[&'static str]) -> Option<Column> {
        names.iter().find_map(|name| self.find(name))
    }

    fn latency(&self) -> Option<(Column, u32)> {
        LATENCIES
            .iter()
            .find_map(|&(name, digits)| Some((self.find(name)?, digits)))
    }
}

/// The two columns an operation's times come from, with the latency's power of ten.
#[derive(Clone, Copy)]
enum Times {
    StartEnd(Column, Column),
    StartLatency(Column, Column, u32),
    /// The end, its power of ten, the latency and its.
    EndLatency((Column, u32), (Column, u32)),
    TimeLatency(Column, Column, u32),
    /// No time at all.
    Latency(Column, u32),
}

impl Times {
    fn of(header: &Header, at: At<'_>) -> Result<Times, Error> {
        let start = header.first_of(STARTS);
        let end = header.first_of(ENDS);
        let time = header.find("time");
        match (start, end, time, header.latency()) {
            (Some(start), Some(end), _, _) => Ok(Times::StartEnd(start, end)),
            (Some(start), None, _, Some((latency, d))) => {
                Ok(Times::StartLatency(start, latency, d))
            }
            (None, _, Some(time), Some((latency, d))) => Ok(Times::TimeLatency(time, latency, d)),
            (None, Some(end), None, Some(latency)) => Ok(Times::EndLatency((end, 0), latency)),
            (None, None, None, Some(latency)) if header.find(END_US).is_some() => {
                let end = header.find(END_US).unwrap_or_default();
                Ok(Times::EndLatency((end, 3), latency))
            }
            (None, None, None, Some((latency, d))) => Ok(Times::Latency(latency, d)),
            (start, ..) => {
                let (missing, cure) = if start.is_some() {
                    ("a start but no end", "add end_ns or latency_us")
                } else {
                    ("no start", "add start_ns, or time in seconds since 1970")
                };
                Err(Error::Columns {
                    file: at.file.to_string(),
                    line: at.line,
                    missing,
                    cure,
                })
            }
        }
    }
}

/// What a row came to.
enum Row {
    Operation(Operation),
    Sample(Sample),
    Unfinished,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Clock {
    /// Whether times count from 1970.
    absolute: bool,
    /// The power of ten that makes nanoseconds of `time`.
    power: u32,
}

struct Table {
    header: Header,
    times: Times,
    op: Option<usize>,
    offset: Option<usize>,
    size: Option<usize>,
    client: Option<usize>,
    /// How many operations a row is the average of, and where their latency stands.
    average: Option<(Column, (Column, u32))>,
    /// One file has one clock; its first operation tells which.
    clock: Option<Clock>,
}

impl Table {
    fn new(line: &str, at: At<'_>) -> Result<Table, Error> {
        let header = Header::new(line);
        let times = Times::of(&header, at)?;
        let index = |names: &[&'static str]| header.first_of(names).map(|(index, _)| index);
        // A row of one operation may tell the bytes that it asked for as its count.
        let count = header
            .first_of(COUNTS)
            .filter(|_| index(&["offset", "offset_b"]).is_none());
        Ok(Table {
            average: count.zip(header.latency()),
            client: index(&["client"]),
            op: index(&["op", "operation", "type"]),
            offset: index(&["offset", "offset_b"]),
            size: index(&["size", "len", "bytes"]),
            times,
            header,
            clock: None,
        })
    }

    fn row(&mut self, line: &str, at: At<'_>, into: &mut Collector) {
        let row = match fields(line, self.header.separator) {
            Some(fields) => self.fields(&fields, into),
            None => Err("a quoted field does not end on this line".into()),
        };
        match row {
            Ok(Row::Operation(operation)) => into.operation(operation),
            Ok(Row::Sample(sample)) => into.sample(sample),
            Ok(Row::Unfinished) => into.unfinished(),
            // Files put together with cat repeat their header.
            Err(_) if Header::new(line).names == self.header.names => {}
            Err(reason) => into.skip(at, reason),
        }
    }

    fn fields(
        &mut self,
        fields: &[Cow<'_, str>],
        into: &mut Collector,
    ) -> Result<Row, Cow<'static, str>> {
        let text = |index: Option<usize>| fields.get(index?).filter(|field| !field.is_empty());
        let mut row = match (self.average, self.times) {
            (Some((count, latency)), _) => self.average(fields, count, latency)?,
            (None, Times::Latency(latency, digits)) => samples::alone(fields, latency, digits)?,
            _ => self.operation(fields)?,
        };
        let kind = text(self.op).map_or(OperationKind::Unsaid, |name| OperationKind::of(name));
        // A number or a name is no address, and says nothing of whose packets these are.
        let address = text(self.client).and_then(|field| address(field));
        let client = address.and_then(|address| into.client(address));
        match &mut row {
            Row::Operation(o) => (o.kind, o.client) = (kind, client),
            Row::Sample(s) => (s.kind, s.client) = (kind, client),
            Row::Unfinished => {}
        }
        Ok(row)
    }

    fn operation(&mut self, fields: &[Cow<'_, str>]) -> Result<Row, Cow<'static, str>> {
        let mut power = self.clock.map(|clock| clock.power);
        let (start_ns, end_ns) = match self.times {
            Times::StartEnd(start, end) => match optional(fields, end, 0)? {
                None | Some(0) => return Ok(Row::Unfinished),
                Some(end) => (required(fields, start, 0)?, end),
            },
            Times::StartLatency(start, latency, digits) => {
                let start = required(fields, start, 0)?;
                match optional(fields, latency, digits)? {
                    None => return Ok(Row::Unfinished),
                    Some(latency) => (start, start.saturating_add(latency)),
                }
            }
            Times::EndLatency((end, power), (latency, digits)) => {
                match optional(fields, end, power)? {
                    None | Some(0) => return Ok(Row::Unfinished),
                    Some(end) => {
                        let latency = required(fields, latency, digits)?;
                        (end.saturating_sub(latency), end)
                    }
                }
            }
            Times::TimeLatency(time, latency, digits) => {
                let known = match power {
                    Some(power) => power,
                    None => *power.insert(unit_of(required(fields, time, 0)?)),
                };
                let start = required(fields, time, known)?;
                match optional(fields, latency, digits)? {
                    None => return Ok(Row::Unfinished),
                    Some(latency) => (start, start.saturating_add(latency)),
                }
            }
            Times::Latency(..) => return Ok(Row::Unfinished),
        };
        if end_ns < start_ns {
            return Err("the operation ends before it starts".into());
        }
        let absolute = start_ns >= EPOCH_NS;
        if absolute != (end_ns >= EPOCH_NS) {
            return Err("start and end are not on one clock".into());
        }
        self.one_clock(absolute, power)?;
        let text = |index: Option<usize>| fields.get(index?).filter(|field| !field.is_empty());
        let number = |index| text(index).and_then(|field| field.parse().ok());
        Ok(Row::Operation(Operation {
            start_ns,
            end_ns,
            absolute,
            kind: OperationKind::Unsaid,
            offset: number(self.offset),
            size: number(self.size),
            client: None,
            session: None,
        }))
    }

    /// All rows of a file are on the clock of its first.
    fn one_clock(&mut self, absolute: bool, power: Option<u32>) -> Result<(), Cow<'static, str>> {
        let power = power.unwrap_or(0);
        let clock = Clock { absolute, power };
        match *self.clock.get_or_insert(clock) == clock {
            true => Ok(()),
            false => Err("the times are on another clock than those of the rows before".into()),
        }
    }

    fn words(&self) -> String {
        let clock = match self.clock {
            Some(clock) if clock.absolute => "since 1970",
            Some(_) => "since an unknown start",
            None => "without a finished row",
        };
        if let Some(((_, count), ((_, latency), _))) = self.average {
            return format!("CSV, averages of intervals ({count}, {latency}), {clock}");
        }
        match self.times {
            Times::Latency((_, latency), _) => format!("CSV, {latency} without times"),
            Times::StartEnd((_, start), (_, end)) => format!("CSV, {start} to {end}, {clock}"),
            Times::StartLatency((_, start), (_, latency), _) => {
                format!("CSV, {start} and {latency}, {clock}")
            }
            Times::EndLatency(((_, end), _), ((_, latency), _)) => {
                format!("CSV, {end} and {latency}, {clock}")
            }
            Times::TimeLatency((_, time), (_, latency), _) => {
                let unit = match self.clock.map(|clock| clock.power) {
                    Some(0) => "nanoseconds",
                    Some(3) => "microseconds",
                    Some(6) => "milliseconds",
                    _ => "seconds",
                };
                format!("CSV, {time} ({unit} {clock}, taken as the start) and {latency}")
            }
        }
    }
}

/// `10.0.0.1`, `10.0.0.1:700`, `2001:db8::1`, `[2001:db8::1]:700`.
fn address(field: &str) -> Option<IpAddr> {
    let host = field.trim_matches(['[', ']']);
    let with_port = || field.parse().ok().map(|a: SocketAddr| a.ip());
    host.parse().ok().or_else(with_port)
}

/// The power of ten that makes nanoseconds of a time of this size.
fn unit_of(time: i64) -> u32 {
    match time {
        EPOCH_NS.. => 0,
        100_000_000_000_000.. => 3,
        100_000_000_000.. => 6,
        _ => 9,
    }
}

fn required(
    fields: &[Cow<'_, str>],
    column: Column,
    digits: u32,
) -> Result<i64, Cow<'static, str>> {
    match optional(fields, column, digits)? {
        Some(value) => Ok(value),
        None => Err(format!("{} is empty", column.1).into()),
    }
}

/// A number, or `None` for a field that is empty or not there.
fn optional(
    fields: &[Cow<'_, str>],
    (index, name): Column,
    digits: u32,
) -> Result<Option<i64>, Cow<'static, str>> {
    match fields.get(index).filter(|field| !field.is_empty()) {
        None => Ok(None),
        Some(field) => match scaled(field, digits) {
            Some(value) => Ok(Some(value)),
            None => {
                let text: String = field.chars().take(40).collect();
                Err(format!("{name} is \"{text}\", which is no number or too large").into())
            }
        },
    }
}

/// The fields of a line; `None` when a quote is left open.
pub(crate) fn fields(line: &str, separator: char) -> Option<Vec<Cow<'_, str>>> {
    if separator == BLANKS {
        return Some(line.split_whitespace().map(Into::into).collect());
    }
    if !line.contains('"') {
        return Some(line.split(separator).map(|f| f.trim().into()).collect());
    }
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(c) = characters.next() {
        match c {
            // A doubled quote is one that belongs to the text (RFC 4180, 2.7).
            '"' if quoted && characters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            c if c == separator && !quoted => {
                fields.push(field.trim().to_string().into());
                field.clear();
            }
            c => field.push(c),
        }
    }
    fields.push(field.trim().to_string().into());
    (!quoted).then_some(fields)
}
