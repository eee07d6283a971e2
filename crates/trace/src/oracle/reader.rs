//! A trace file, line by line, into records: which lines belong together, and what is wrong with them.

use super::extended::{self, Broken, Line, SEPARATOR, StatementHead};
use super::header::{TraceFile, UnitFinder, process_mark};
use super::record::{Record, Statement};
use super::sqlnet::{self, SqlNet};
use super::stamp::Stamp;
use super::text::{Next, Text};
use crate::Error;
use crate::unpack::{is_damage, unpacked};
use model::Where;
use model::limits::TRACE_SQL_BYTES;
use std::cell::Cell;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

/// Text behind a statement's announced length after which its end is no longer waited for.
const SLACK_BYTES: usize = 4_096;

/// Reads a trace, `-` from standard input, handing on each record as it is complete.
///
/// # Errors
/// If the file cannot be read, or is no trace.
pub fn read(path: &Path, take: &mut dyn FnMut(Record<'_>)) -> Result<TraceFile, Error> {
    read_counted(path, &Rc::default(), take)
}

/// The same, adding to `count` how many bytes of the file, packed or not, were read so far.
///
/// # Errors
/// If the file cannot be read, or is no trace.
pub fn read_counted(
    path: &Path,
    count: &Rc<Cell<u64>>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<TraceFile, Error> {
    let counted = |inner| Counted {
        inner,
        count: Rc::clone(count),
    };
    let name = path.display().to_string();
    if name == "-" {
        let input = counted(Box::new(io::stdin()) as Box<dyn Read>);
        return read_from("standard input".to_owned(), input, None, take);
    }
    let open = || {
        File::open(path).map_err(|error| Error::Open {
            file: name.clone(),
            error,
        })
    };
    let file = open()?;
    // Only what can be read twice is asked for the unit of its clock before.
    let plain = file.metadata().is_ok_and(|m| m.is_file());
    let unit_ns = if plain {
        find_unit(&name, open()?)?
    } else {
        None
    };
    read_from(name, counted(Box::new(file)), unit_ns, take)
}

/// Counts the bytes that are read through it.
struct Counted {
    inner: Box<dyn Read>,
    count: Rc<Cell<u64>>,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(into)?;
        self.count.set(self.count.get().saturating_add(n as u64));
        Ok(n)
    }
}

/// Reads a trace from anything. `unit_ns` is what a unit of time stands for, where that is known better
/// than from the release that the trace names.
///
/// # Errors
/// If it cannot be read, or is no trace.
pub fn read_from(
    name: String,
    file: impl Read + 'static,
    unit_ns: Option<i64>,
    take: &mut dyn FnMut(Record<'_>),
) -> Result<TraceFile, Error> {
    let mut text = match unpacked(file) {
        Ok(reader) => Text::new(name.clone(), reader),
        Err(error) => return Err(Error::Read { file: name, error }),
    };
    let mut reader = Reader {
        file: TraceFile {
            name: name.clone(),
            ..TraceFile::default()
        },
        given_unit_ns: unit_ns,
        ..Reader::default()
    };
    reader.file.unit_ns = unit_ns.unwrap_or(1_000);
    loop {
        let next = text.next().map_err(|error| Error::Read {
            file: name.clone(),
            error,
        })?;
        match next {
            Next::End => break,
            Next::Damaged(error) if text.read().0 == 0 && reader.file.lines == 0 => {
                return Err(Error::Read { file: name, error });
            }
            Next::Damaged(error) => {
                let what = format!("the packed file is damaged here: {error}");
                reader
                    .file
                    .problems
                    .damage("packed-file-damaged", || (what, text.place()));
                break;
            }
            Next::Cut => reader.file.problems.damage("line-cut", || {
                (
                    "a line is longer than 64 KiB; its beginning was read".to_owned(),
                    text.place(),
                )
            }),
            Next::Line => {}
        }
        let ended = text.ended();
        reader.line(&text.line(), ended, &|| text.place(), take);
        if reader.file.lines == 64
            && let Some(error) = reader.foreign(&text)
        {
            return Err(error);
        }
    }
    reader.end(&|| text.place(), take);
    (_, reader.file.bytes) = text.read();
    if !reader.is_trace() {
        return Err(match reader.foreign(&text) {
            Some(error) => error,
            None => Error::NoTrace { file: name },
        });
    }
    Ok(reader.file)
}

/// The unit of the trace's clock by the dates in it, where the release leaves it open.
fn find_unit(name: &str, file: File) -> Result<Option<i64>, Error> {
    let fail = |error| Error::Read {
        file: name.to_owned(),
        error,
    };
    let mut text = match unpacked(file) {
        Ok(reader) => Text::new(name.to_owned(), reader),
        Err(error) => return Err(fail(error)),
    };
    let mut header = TraceFile::default();
    let mut finder = UnitFinder::default();
    loop {
        match text.next() {
            Ok(Next::Line | Next::Cut) => {}
            Ok(Next::End | Next::Damaged(_)) => break,
            Err(error) if is_damage(&error) => break,
            Err(error) => return Err(fail(error)),
        }
        let line = text.line();
        let (lines, _) = text.read();
        if lines > 64 && !header.unit_of_release().1 {
            return Ok(None);
        }
        if let Some(stamp) = date_of(&line) {
            finder.date(stamp);
        } else if lines <= 64 {
            header.header_line(&line);
        }
        let tim = line.rsplit_once("tim=").map(|(_, digits)| digits);
        let digits = tim.and_then(|t| t.split([',', ' ']).next());
        if let Some(tim) = digits.and_then(|t| t.parse().ok())
            && extended::is_start(&line)
        {
            finder.tim(tim);
        }
    }
    Ok(finder.unit_ns().filter(|_| header.unit_of_release().1))
}

#[derive(Default)]
struct Reader {
    file: TraceFile,
    given_unit_ns: Option<i64>,
    /// Records that were whole.
    records: u64,
    /// A statement whose text is being collected.
    statement: Option<Head>,
    sql: String,
    /// Bytes of it, kept or not.
    sql_bytes: usize,
    net: SqlNet,
    /// Whether waits had a `tim` so far, so that one without is cut off.
    waits_have_tim: bool,
    last_tim: Option<i64>,
}

/// A [`StatementHead`] that outlives its line.
struct Head {
    cursor: u64,
    length: usize,
    depth: u32,
    sql_id: Option<String>,
    error: Option<u32>,
    tim: Option<i64>,
    is_error: bool,
}

type Place<'a> = &'a dyn Fn() -> Where;

/// `*** 2023-05-19T05:28:00.339263+02:00`, alone in its line.
fn date_of(line: &str) -> Option<Stamp> {
    Some(Stamp::iso(line.strip_prefix("*** ")?)?.0)
}

impl Reader {
    /// `ended`: with the end of a line, not of the file.
    fn line(
        &mut self,
        line: &str,
        ended: bool,
        place: Place<'_>,
        take: &mut dyn FnMut(Record<'_>),
    ) {
        self.file.lines += 1;
        if self.statement.is_some() && self.statement_line(line, place, take) {
            return;
        }
        let mut rest = line;
        // A number that the file's end cut off would count for less than it is.
        let whole = ended || !extended::is_start(line) || line.ends_with(['\'', ')', ':', '=']);
        while let Some(at) = extended::second_record(rest) {
            self.file.problems.damage("lines-run-together", || {
                (
                    "two records stand in one line; both were read".to_owned(),
                    place(),
                )
            });
            let (first, second) = rest.split_at_checked(at).unwrap_or((rest, ""));
            self.one(first, place, take);
            rest = second;
        }
        if whole {
            self.one(rest, place, take);
        } else {
            self.file.extended_lines += 1;
            self.damaged("cut-record", "the file ends within a record", place);
        }
    }

    /// A line that is part of a statement's text, or ends it; false if it is none.
    fn statement_line(
        &mut self,
        line: &str,
        place: Place<'_>,
        take: &mut dyn FnMut(Record<'_>),
    ) -> bool {
        if line == "END OF STMT" {
            self.end_statement(take);
            return true;
        }
        let Some(head) = &self.statement else {
            return false;
        };
        // Its text may hold lines that look like records; when all of it was seen, they are some.
        let complete = self.sql_bytes.saturating_add(1) >= head.length;
        let stops = extended::is_start(line) && (complete || head.is_error)
            || head.is_error && (complete || line.starts_with("*** "));
        let endless = self.sql_bytes > head.length.saturating_add(SLACK_BYTES);
        if stops || endless {
            if !head.is_error {
                self.damaged("statement-without-end", "END OF STMT is missing", place);
            }
            self.end_statement(take);
            return false;
        }
        if self.sql_bytes > 0 {
            self.keep("\n", place);
        }
        self.keep(line, place);
        // Bytes of the database's character set, which need not be those of UTF-8.
        self.sql_bytes += line.len() + usize::from(self.sql_bytes > 0);
        true
    }

    fn keep(&mut self, text: &str, place: Place<'_>) {
        let room = TRACE_SQL_BYTES.saturating_sub(self.sql.len());
        let mut end = text.len().min(room);
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        self.sql.push_str(text.get(..end).unwrap_or_default());
        if end < text.len() {
            self.file.problems.note("statement-cut", || {
                (
                    "a statement is longer than 64 KiB; its beginning was kept".to_owned(),
                    place(),
                )
            });
        }
    }

    fn end_statement(&mut self, take: &mut dyn FnMut(Record<'_>)) {
        if let Some(head) = self.statement.take() {
            take(Record::Statement(Statement {
                cursor: head.cursor,
                depth: head.depth,
                sql_id: head.sql_id.as_deref(),
                text: &self.sql,
                error: head.error,
                tim_ns: head.tim,
            }));
        }
        self.sql.clear();
        self.sql_bytes = 0;
    }

    fn one(&mut self, line: &str, place: Place<'_>, take: &mut dyn FnMut(Record<'_>)) {
        match extended::line(line, self.file.unit_ns, self.waits_have_tim) {
            Line::Record(record) => {
                self.file.extended_lines += 1;
                self.records += 1;
                self.follow(&record, place);
                take(record);
            }
            Line::Statement(head) => {
                self.file.extended_lines += 1;
                if head.cut {
                    self.damaged(
                        "cut-record",
                        "a statement lacks part of the line above it",
                        place,
                    );
                }
                self.records += u64::from(!head.cut);
                self.begin(&head);
            }
            Line::Broken(Broken { record, lacks }) => {
                self.file.extended_lines += 1;
                self.damaged("cut-record", &format!("{record} lacks {lacks}"), place);
            }
            Line::Other => self.other(line, take),
        }
    }

    fn begin(&mut self, head: &StatementHead<'_>) {
        self.statement = Some(Head {
            cursor: head.cursor,
            length: head.length,
            depth: head.depth,
            sql_id: head.sql_id.map(str::to_owned),
            error: head.error,
            tim: head.tim,
            is_error: head.is_error,
        });
    }

    /// Watches the clock.
    fn follow(&mut self, record: &Record<'_>, place: Place<'_>) {
        let tim = match record {
            Record::Wait(wait) => {
                self.waits_have_tim |= wait.tim_ns.is_some();
                wait.tim_ns
            }
            Record::Call(call) => Some(call.tim_ns),
            _ => None,
        };
        const STEP_NS: i64 = 1_000_000_000;
        if let (Some(last), Some(tim)) = (self.last_tim, tim)
            && tim < last.saturating_sub(STEP_NS)
        {
            self.file.problems.note("time-steps-back", || {
                let seconds = last.saturating_sub(tim) / STEP_NS;
                (
                    format!("a record is {seconds} s earlier than the one before it"),
                    place(),
                )
            });
        }
        self.last_tim = tim.or(self.last_tim);
    }

    fn other(&mut self, line: &str, take: &mut dyn FnMut(Record<'_>)) {
        if line == SEPARATOR {
            self.file.extended_lines += 1;
            return;
        }
        if let Some(net) = sqlnet::split(line) {
            self.file.net_lines += 1;
            if let Some(stamp) = net.stamp {
                self.file.first.get_or_insert(stamp);
                self.file.last = Some(stamp);
            }
            self.net.at = self.file.lines;
            self.net.line(&net, &mut self.file.net, take);
            return;
        }
        if let Some(process) = process_mark(line) {
            take(Record::Process(process));
            return;
        }
        let process = self.file.process;
        if self.file.header_line(line) {
            if let Some(stamp) = date_of(line) {
                take(Record::Date(stamp));
            }
            self.file.unit_ns = self.given_unit_ns.unwrap_or(self.file.unit_of_release().0);
            if let Some(own) = self.file.process.filter(|_| process.is_none()) {
                take(Record::Process(own));
            }
        } else {
            self.file.other_lines += 1;
        }
    }

    fn damaged(&mut self, kind: &'static str, what: &str, place: Place<'_>) {
        self.file
            .problems
            .damage(kind, || (what.to_owned(), place()));
    }

    fn end(&mut self, place: Place<'_>, take: &mut dyn FnMut(Record<'_>)) {
        if self.statement.is_some() {
            self.damaged(
                "statement-without-end",
                "the file ends within a statement",
                place,
            );
            self.end_statement(take);
        }
        self.net.flush(&mut self.file.net, take);
        if self.given_unit_ns.is_none()
            && self.file.unit_of_release().1
            && self.file.extended_lines > 0
        {
            let what = "its clock may count units of 1,024 ns, as 9.2 and 10.2 do on Linux and Solaris: \
                        then times are 2.4 % longer than shown";
            self.file
                .problems
                .note("unit-uncertain", || (what.to_owned(), place()));
        }
    }

    /// Whether something was there that only a trace has.
    fn is_trace(&self) -> bool {
        self.records > 0 || self.file.net_lines > 0 || self.file.product.is_some()
    }

    /// What a file is that looks like no trace.
    fn foreign(&self, text: &Text) -> Option<Error> {
        let file = || text.name.clone();
        let line = text.line();
        let (what, cure) = match text.head() {
            _ if self.is_trace() => return None,
            [] => return Some(Error::Empty { file: file() }),
            [b'B', b'Z', b'h', ..] => ("packed with bzip2", "unpack it with bunzip2"),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => (
                "packed with zstd",
                "unpack it with unzstd, or if it is a capture, slowside FILE reads it as it is",
            ),
            head if is_capture(head) => (
                "a packet capture",
                "slowside FILE says which side is slow in it, slowside sql FILE which statements",
            ),
            [0x5d, 0, 0, ..] => ("packed with lzma", "unpack it with unlzma"),
            head if head.contains(&0) || line.contains('\0') => {
                ("binary", "give the .trc file that the process wrote")
            }
            head if is_strace(&line) || is_strace(&String::from_utf8_lossy(head)) => (
                "the output of strace",
                "give the trace file that the process wrote",
            ),
            _ => return None,
        };
        Some(Error::NotText {
            file: file(),
            what,
            cure,
        })
    }
}

/// Whether a file opens like pcap, pcapng or snoop.
pub(crate) fn is_capture(head: &[u8]) -> bool {
    let magic: [&[u8]; 6] = [
        &[0xd4, 0xc3, 0xb2, 0xa1],
        &[0xa1, 0xb2, 0xc3, 0xd4],
        &[0x4d, 0x3c, 0xb2, 0xa1],
        &[0xa1, 0xb2, 0x3c, 0x4d],
        &[0x0a, 0x0d, 0x0d, 0x0a],
        b"snoop\0",
    ];
    magic.iter().any(|m| head.starts_with(m))
}

/// `15440 17:39:44.632302 write(14, …) = 18 <0.000015>`.
fn is_strace(line: &str) -> bool {
    let call = line.split_once('(').map(|(head, _)| head);
    let name = call.and_then(|c| c.rsplit(' ').next());
    name.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'))
        && (line.contains(") = ") || line.contains("<unfinished"))
}
