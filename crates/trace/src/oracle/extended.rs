//! One line of the extended SQL trace (event 10046) into the numbers in it.
//!
//! The grammar is that of Oracle's note 39817.1 and of traces from 9.2 to 19c. A number only counts if it
//! has an end: at the end of a line that was cut off it may be the beginning of a longer one.

use super::record::{Call, CallKind, NetBytes, Record, TransactionEnd, Wait};

/// Why a line that begins like a record is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Broken {
    /// What was being read: `WAIT`.
    pub(super) record: &'static str,
    /// What it lacks: `tim`.
    pub(super) lacks: &'static str,
}

/// What a line says by itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Line<'a> {
    Record(Record<'a>),
    /// `PARSING IN CURSOR` or `PARSE ERROR`: the statement follows.
    Statement(StatementHead<'a>),
    Broken(Broken),
    Other,
}

/// The line above a statement.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct StatementHead<'a> {
    pub(super) cursor: u64,
    pub(super) length: usize,
    pub(super) depth: u32,
    pub(super) sql_id: Option<&'a str>,
    pub(super) error: Option<u32>,
    pub(super) tim: Option<i64>,
    /// Something of it is missing.
    pub(super) cut: bool,
    pub(super) is_error: bool,
}

/// How records begin; digits of a cursor follow most.
const STARTS: [&str; 13] = [
    "WAIT #",
    "FETCH #",
    "EXEC #",
    "PARSE #",
    "CLOSE #",
    "STAT #",
    "BINDS #",
    "ERROR #",
    "PARSING IN CURSOR #",
    "PARSE ERROR #",
    "UNMAP #",
    "SORT UNMAP #",
    "XCTEND ",
];

/// Whether a line begins like a record.
pub(super) fn is_start(line: &str) -> bool {
    STARTS.iter().any(|s| line.starts_with(s)) || line == SEPARATOR || lob(line).is_some()
}

pub(super) const SEPARATOR: &str = "=====================";

/// Where a second record begins within a line: the process was stopped between writing a line and its
/// end.
pub(super) fn second_record(line: &str) -> Option<usize> {
    let start = STARTS.iter().find(|s| line.starts_with(**s))?;
    // Operations of plans may be called anything.
    if line.starts_with("STAT #") {
        return None;
    }
    // The name of an event is not looked into, nor the start of this record.
    let from = match line.starts_with("WAIT #") {
        true => line.find("' ela=").unwrap_or(start.len()),
        false => start.len(),
    };
    let rest = line.get(from..)?;
    let found = STARTS.iter().filter_map(|s| rest.find(s)).min()?;
    Some(from + found)
}

/// Numbers in `unit`s of time are multiplied by it.
pub(super) fn line<'a>(text: &'a str, unit_ns: i64, waits_have_tim: bool) -> Line<'a> {
    let Some(first) = text.bytes().next() else {
        return Line::Other;
    };
    match first {
        b'W' => wait(text, unit_ns, waits_have_tim),
        b'P' | b'E' | b'F' | b'C' | b'U' | b'S' | b'L' | b'R' => call(text, unit_ns),
        b'X' => transaction(text, unit_ns),
        b'B' => match cursor(text, "BINDS #") {
            Some((cursor, _)) => Line::Record(Record::Binds { cursor }),
            None => Line::Other,
        },
        b'N' => decision(text),
        b' ' => net_bytes(text),
        _ => Line::Other,
    }
}

/// The number of a cursor, and what stands behind it.
fn cursor<'a>(text: &'a str, start: &str) -> Option<(u64, &'a str)> {
    let rest = text.strip_prefix(start)?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = rest.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

/// A number with a sign, which has ended before the text did, or with it if that is allowed.
fn integer(text: &str, may_end: bool) -> Option<(i64, &str)> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let sign = text.len() - digits.len();
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at_checked(sign + count)?;
    let ended = rest.starts_with([',', ' ', '\'']) || rest.is_empty() && may_end;
    Some((number.parse().ok().filter(|_| ended)?, rest))
}

/// The named numbers of a line, `c=73,e=73,…,tim=5793511830834`; the last may end with the line.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn get(&self, name: &str) -> Option<i64> {
        let mut rest = self.0;
        loop {
            let (key, value) = rest.split_once('=')?;
            let key = key.trim_start_matches([',', ' ']);
            if key == name {
                return integer(value.trim_start(), name == "tim" || name == "err").map(|(n, _)| n);
            }
            let end = value.find([',', ' ']).unwrap_or(value.len());
            rest = value.get(end..)?;
        }
    }

    fn count(&self, name: &str) -> u64 {
        self.get(name)
            .and_then(|n| u64::try_from(n).ok())
            .unwrap_or(0)
    }

    /// A text in single quotes.
    fn quoted(&self, name: &str) -> Option<&'a str> {
        let at = self.0.find(name)?;
        let rest = self.0.get(at + name.len()..)?.strip_prefix("='")?;
        Some(rest.split_once('\'')?.0)
    }
}

const CALLS: [(&str, CallKind); 6] = [
    ("EXEC #", CallKind::Exec),
    ("FETCH #", CallKind::Fetch),
    ("PARSE #", CallKind::Parse),
    ("CLOSE #", CallKind::Close),
    ("UNMAP #", CallKind::Unmap),
    ("SORT UNMAP #", CallKind::SortUnmap),
];

fn call(text: &str, unit_ns: i64) -> Line<'_> {
    for (start, kind) in CALLS {
        if let Some((cursor, rest)) = cursor(text, start)
            && let Some(fields) = rest.strip_prefix(':')
        {
            return numbers(kind, cursor, &Fields(fields), unit_ns);
        }
    }
    if let Some((kind, fields)) = lob(text) {
        return numbers(kind, 0, &Fields(fields), unit_ns);
    }
    if let Some((cursor, rest)) = cursor(text, "PARSING IN CURSOR #") {
        return statement(cursor, &Fields(rest), false, unit_ns);
    }
    if let Some((cursor, rest)) = cursor(text, "PARSE ERROR #") {
        return statement(cursor, &Fields(rest.trim_start_matches(':')), true, unit_ns);
    }
    if let Some((cursor, rest)) = cursor(text, "ERROR #") {
        let code = Fields(rest.trim_start_matches(':')).get("err");
        return match code.and_then(|c| u32::try_from(c).ok()) {
            Some(code) => Line::Record(Record::Error { cursor, code }),
            None => broken("ERROR", "err"),
        };
    }
    if let Some((cursor, rest)) = cursor(text, "STAT #") {
        let whole = Fields(rest).get("id").is_some() && rest.ends_with('\'');
        return if whole {
            Line::Record(Record::PlanLine { cursor })
        } else {
            broken("STAT", "its beginning or end")
        };
    }
    for (start, name) in [
        ("PARSE #", "PARSE"),
        ("EXEC #", "EXEC"),
        ("FETCH #", "FETCH"),
        ("CLOSE #", "CLOSE"),
    ] {
        if text.starts_with(start) {
            return broken(name, "everything but its beginning");
        }
    }
    Line::Other
}

fn broken<'a>(record: &'static str, lacks: &'static str) -> Line<'a> {
    Line::Broken(Broken { record, lacks })
}

/// `LOBREAD: type=PERSISTENT LOB,bytes=100,c=0,…`.
fn lob(text: &str) -> Option<(CallKind, &str)> {
    const NAMES: [&str; 16] = [
        "LOBREAD",
        "LOBWRITE",
        "LOBPGSIZE",
        "LOBGETLEN",
        "LOBTMPCREATE",
        "LOBARRTMPFRE",
        "LOBTMPFRE",
        "LOBAPPEND",
        "LOBTRIM",
        "LOBCOPY",
        "LOBERASE",
        "LOBOPEN",
        "LOBCLOSE",
        "LOBISOPEN",
        "LOBFILOPN",
        "RPC EXEC",
    ];
    let (name, fields) = text.split_once(':')?;
    let known = NAMES.iter().find(|n| **n == name);
    let lob = name.starts_with("LOB") && name.bytes().all(|b| b.is_ascii_uppercase());
    let kind = match known {
        Some(name) => CallKind::Other(name),
        None if lob => CallKind::Other("LOB"),
        None => return None,
    };
    Some((kind, fields.trim_start()))
}

fn numbers<'a>(kind: CallKind, cursor: u64, fields: &Fields, unit_ns: i64) -> Line<'a> {
    let time = |name: &'static str| match fields.get(name) {
        Some(n) => Ok(n.saturating_mul(unit_ns)),
        None => Err(Broken {
            record: kind.name(),
            lacks: name,
        }),
    };
    let call = || {
        Ok(Call {
            kind,
            cursor,
            cpu_ns: time("c")?.max(0),
            elapsed_ns: time("e")?.max(0),
            tim_ns: time("tim")?,
            physical_reads: fields.count("p"),
            consistent_reads: fields.count("cr"),
            current_reads: fields.count("cu"),
            missed: fields.count("mis") > 0,
            rows: fields.count("r"),
            depth: fields.get("dep").and_then(|d| u32::try_from(d).ok()),
            ends_cursor: kind == CallKind::Close && fields.get("type") == Some(0),
            plan: fields.get("plh").and_then(|p| u64::try_from(p).ok()),
        })
    };
    match call() {
        Ok(call) => Line::Record(Record::Call(call)),
        Err(what) => Line::Broken(what),
    }
}

fn statement<'a>(cursor: u64, fields: &Fields<'a>, is_error: bool, unit_ns: i64) -> Line<'a> {
    let error = fields.get("err").and_then(|e| u32::try_from(e).ok());
    let tim = fields.get("tim").map(|t| t.saturating_mul(unit_ns));
    // Until 7.3 there was neither.
    let ends = if is_error {
        error.is_some()
    } else {
        fields.quoted("ad").is_some()
    };
    Line::Statement(StatementHead {
        cursor,
        length: usize::try_from(fields.count("len")).unwrap_or(usize::MAX),
        depth: u32::try_from(fields.count("dep")).unwrap_or(0),
        sql_id: fields.quoted("sqlid"),
        error,
        tim,
        cut: tim.is_none() || !ends,
        is_error,
    })
}

fn transaction<'a>(text: &str, unit_ns: i64) -> Line<'a> {
    let Some(fields) = text.strip_prefix("XCTEND ").map(Fields) else {
        return Line::Other;
    };
    let read_only = fields
        .0
        .split_once("rd_only=")
        .map(|(_, v)| v.starts_with('1'));
    let (Some(rollback), Some(read_only)) = (fields.get("rlbk"), read_only) else {
        return broken("XCTEND", "rlbk or rd_only");
    };
    if fields.0.trim_end().ends_with(',') {
        return broken("XCTEND", "tim");
    }
    Line::Record(Record::Transaction(TransactionEnd {
        rollback: rollback != 0,
        read_only,
        tim_ns: fields.get("tim").map(|t| t.saturating_mul(unit_ns)),
    }))
}

/// `WAIT #1: nam='db file sequential read' ela= 343 file#=414 block#=2090520 blocks=1 obj#=1 tim=5793`.
fn wait(text: &str, unit_ns: i64, waits_have_tim: bool) -> Line<'_> {
    let Some((cursor, rest)) = cursor(text, "WAIT #") else {
        return match text.starts_with("WAIT #") {
            true => broken("WAIT", "everything but its beginning"),
            false => Line::Other,
        };
    };
    let named = rest
        .strip_prefix(": nam='")
        .and_then(|rest| rest.split_once("' ela="));
    let Some((event, rest)) = named else {
        return broken("WAIT", "nam or ela");
    };
    let Some((elapsed, mut rest)) = integer(rest.trim_start(), false) else {
        return broken("WAIT", "ela");
    };
    let mut wait = Wait {
        cursor,
        event,
        elapsed_ns: elapsed.saturating_mul(unit_ns).max(0),
        parameters: [("", None); 3],
        object: None,
        tim_ns: None,
    };
    let mut free = wait.parameters.iter_mut();
    // Names hold blanks, and some an equals sign more than one would think: `name|mode=1 usn<<16 | slot=2`.
    while let Some((name, value)) = rest.split_once('=') {
        let name = name.trim();
        let end = value.find(' ').unwrap_or(value.len());
        let (digits, behind) = value.split_at_checked(end).unwrap_or((value, ""));
        let number = digits.parse::<i64>().ok();
        match name {
            "tim" => wait.tim_ns = number.map(|t| t.saturating_mul(unit_ns)),
            "obj#" => wait.object = number,
            _ => {
                if let Some(parameter) = free.next() {
                    *parameter = (name, number);
                }
            }
        }
        rest = behind;
    }
    if wait.tim_ns.is_none() && waits_have_tim {
        return broken("WAIT", "tim");
    }
    Line::Record(Record::Wait(wait))
}

/// `NSMTIO: qertbFetch:NoDirectRead:[- STT < OBJECT_SIZE < MTT]:…`; other lines of it hold the numbers
/// that led there.
fn decision(text: &str) -> Line<'_> {
    let Some(rest) = text.strip_prefix("NSMTIO: ") else {
        return Line::Other;
    };
    let mut parts = rest.splitn(3, ':');
    let (function, word) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    let direct = match word.trim() {
        "DirectRead" => true,
        "NoDirectRead" => false,
        _ => return Line::Other,
    };
    let reason = parts.next().unwrap_or_default().trim();
    let reason = match reason.strip_prefix('[').and_then(|r| r.split_once(']')) {
        Some((inside, _)) => inside.trim(),
        // Object numbers, which differ each time.
        None => "",
    };
    Line::Record(Record::Decision {
        function,
        direct,
        reason,
    })
}

/// ` 152 bytes received via SQL*Net`, ` (overflow) 8057 bytes sent via fast-path`.
fn net_bytes(text: &str) -> Line<'_> {
    let text = text.trim_start();
    let (overflow, rest) = match text.strip_prefix("(overflow) ") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let found = rest.split_once(' ').and_then(|(digits, rest)| {
        let sent = if rest.starts_with("bytes sent via ") {
            true
        } else if rest.starts_with("bytes received via ") {
            false
        } else {
            return None;
        };
        Some(NetBytes {
            sent,
            overflow,
            bytes: digits.parse().ok()?,
        })
    });
    found.map_or(Line::Other, |bytes| Line::Record(Record::Bytes(bytes)))
}

#[cfg(test)]
mod tests;
