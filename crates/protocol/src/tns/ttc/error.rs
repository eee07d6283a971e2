//! The error block (Wireshark: OER), which ends most responses: what became of the call, its cursor,
//! and how many rows the cursor has given out since it was executed.
//!
//! Rows before it are not walked: a native block has one of few lengths, and is the last so many bytes
//! of the response, before the message's text if there is one; a universal one must end where the
//! response does. The number of the call in it must be that of the request.

use super::message;
use super::reader::Reader;

/// Universal blocks are some 45 bytes; with lists of the errors of an array's rows more.
const LONGEST_UNIVERSAL: usize = 1_200;

/// Rows of an array whose errors one block lists; more do not fit.
const LISTED: u64 = 400;

/// What ends the rows of a query.
const NO_DATA_FOUND: u32 = 1_403;

/// The statement's kind for anonymous PL/SQL blocks, as in V$SQL.
const PLSQL: u8 = 47;
const SELECT: u8 = 3;
/// INSERT, UPDATE, DELETE, MERGE.
const CHANGING: [u8; 4] = [2, 6, 7, 189];

/// An error block.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(in crate::tns) struct Block {
    /// Rows of the cursor since it was executed, or rows changed.
    pub rows: u64,
    /// The number of an ORA- error; 0 is none.
    pub error: u32,
    pub cursor: u32,
    /// As V$SQL's command type.
    pub statement: u8,
}

impl Block {
    /// Whether the query has no further rows.
    pub(in crate::tns) fn is_end_of_rows(&self) -> bool {
        self.error == NO_DATA_FOUND && self.statement != PLSQL
    }

    pub(in crate::tns) fn is_query(&self) -> bool {
        self.statement == SELECT
    }

    pub(in crate::tns) fn changes_rows(&self) -> bool {
        CHANGING.contains(&self.statement)
    }
}

/// A native block: where its fields are.
struct Layout {
    length: usize,
    /// Whether a structure follows the status and number, with a byte that says so before it.
    structure: Option<usize>,
    row: usize,
    error: usize,
    cursor: usize,
    statement: usize,
    /// The request's number.
    call: usize,
}

const fn packed(length: usize, row: usize) -> Layout {
    Layout {
        length,
        structure: None,
        row,
        error: row + 4,
        cursor: row + 10,
        statement: row + 14,
        call: row + 38,
    }
}

const fn structured(length: usize, row: usize) -> Layout {
    Layout {
        length,
        structure: Some(row - 1),
        row,
        error: row + 4,
        cursor: row + 10,
        statement: row + 14,
        call: row + 41,
    }
}

/// The newest first, as the shorter ones could be their ends.
const LAYOUTS: [Layout; 9] = [
    // 64-bit structures: 18c and later by sources, 12.1, 10.2 to 11.2.
    structured(152, 8),
    structured(144, 8),
    structured(136, 8),
    // 32-bit structures: 10.2, and 9.2, which has no number before them.
    structured(96, 8),
    structured(94, 6),
    // Packed: 12.2 and later by sources, 10.2 to 11.2, 9.2.
    packed(86, 7),
    packed(78, 7),
    packed(66, 7),
    packed(64, 5),
];

/// Finds the block that ends `tail`, the end of a response. `call` is the request's number, where it
/// was seen.
pub(in crate::tns) fn find(tail: &[u8], call: Option<u8>) -> Option<Block> {
    // From 23ai on a message of one byte may follow it.
    let marked = tail.strip_suffix(&[message::END_OF_RESPONSE]);
    [Some(tail), marked].into_iter().flatten().find_map(|tail| {
        let text = text_at(tail);
        let end = text.map_or(tail.len(), |(at, _)| at);
        let code = text.map(|(_, code)| code);
        native(tail.get(..end)?, call, code).or_else(|| universal(tail, end, call, code))
    })
}

/// Where the message's text begins that ends `tail`, its length included, and its number.
fn text_at(tail: &[u8]) -> Option<(usize, u32)> {
    // It ends with a line feed, and in chunks with the empty one.
    if !matches!(tail, [.., b'\n'] | [.., b'\n', 0]) {
        return None;
    }
    let mut at = tail.len();
    let mut found = None;
    // A stack of errors has several; the first is the error. Its text has at most some kilobytes.
    while let Some(next) = tail
        .get(..at)
        .and_then(|t| t.windows(4).rposition(|w| w == b"ORA-"))
    {
        at = next;
        let Some(code) = code(tail, at) else { continue };
        let behind = tail.len() - at;
        let length = at.checked_sub(1).and_then(|i| tail.get(i)).copied();
        if length.is_some_and(|n| n < 253 && usize::from(n) == behind) {
            return Some((at - 1, code));
        }
        let chunked = |from: usize| {
            let mut r = Reader::new(tail.get(from..)?);
            let text = r.text()?;
            (!text.cut && r.is_empty()).then_some((from, code))
        };
        // The length of a chunk has one byte, or a universal number's two or three.
        let chunks = (2..=4).find_map(|n| {
            let from = at.checked_sub(n)?;
            (tail.get(from) == Some(&super::reader::CHUNKED)).then(|| chunked(from))?
        });
        found = found.or(chunks);
        if found.is_some() {
            return found;
        }
    }
    None
}

fn code(tail: &[u8], at: usize) -> Option<u32> {
    let digits = tail.get(at + 4..at + 9)?;
    digits.iter().try_fold(0, |n, b| {
        b.is_ascii_digit().then(|| n * 10 + u32::from(b - b'0'))
    })
}

/// The number of the error whose text ends `tail`, when no block could be read.
pub(in crate::tns) fn text_error(tail: &[u8]) -> Option<u32> {
    let tail = tail
        .strip_suffix(&[message::END_OF_RESPONSE])
        .filter(|t| t.ends_with(b"\n"))
        .unwrap_or(tail);
    text_at(tail).map(|(_, code)| code)
}

fn native(tail: &[u8], call: Option<u8>, code: Option<u32>) -> Option<Block> {
    LAYOUTS.iter().find_map(|layout| {
        let at = tail.len().checked_sub(layout.length)?;
        let block = tail.get(at..)?;
        let u16_at = |at| Reader::new(block.get(at..)?).u16_le();
        let u32_at = |at| Reader::new(block.get(at..)?).u32_le();
        let first = *block.first()? == message::ERROR;
        let present = layout.structure.is_none_or(|at| block.get(at) == Some(&1));
        let status = u32_at(1)?;
        let numbered = call.is_none_or(|call| block.get(layout.call) == Some(&call));
        let found = Block {
            rows: u32_at(layout.row)?.into(),
            error: u16_at(layout.error)?.into(),
            cursor: u16_at(layout.cursor)?.into(),
            statement: *block.get(layout.statement)?,
        };
        let same = code.is_none_or(|code| code == found.error);
        // A packed block that is all of a response has nothing else that speaks for it.
        let sure = call.is_some() || code.is_some() || layout.structure.is_some() || at == 0;
        let believable = first && present && status < 0x1_0000 && numbered && same && sure;
        believable.then_some(found)
    })
}

/// Finds the universal block whose message's text begins at `end`.
fn universal(tail: &[u8], end: usize, call: Option<u8>, code: Option<u32>) -> Option<Block> {
    let from = end.saturating_sub(LONGEST_UNIVERSAL);
    (from..end).rev().find_map(|at| {
        let block = tail.get(at..end)?;
        let body = block.strip_prefix(&[message::ERROR])?;
        // A status and a number before the fields, from 11.2 on; from 10g a number; nothing before.
        [2, 1, 0].into_iter().find_map(|before| {
            let read = |flags| fields(Reader::new(body), before, flags, call);
            let found = read(Flags::Numbers).or_else(|| read(Flags::Bytes))?;
            let same = code.map_or(found.error == 0, |code| code == found.error);
            same.then_some(found)
        })
    })
}

/// How flags and the cursor's options are written: as numbers, which JDBC 12.1 shows, or as bytes, which sources of
/// other thin clients have.
#[derive(Clone, Copy, PartialEq)]
enum Flags {
    Numbers,
    Bytes,
}

/// Reads the fields of a universal block behind `before` numbers; they must end where `r` does.
fn fields(mut r: Reader<'_>, before: usize, flags: Flags, call: Option<u8>) -> Option<Block> {
    if before == 2 {
        let status = r.universal(4)?;
        if status & 8 != 0 {
            r.universal(8)?;
        }
    }
    if before >= 1 {
        r.universal(2)?;
    }
    let rows = r.universal(4)?;
    let error = u32::try_from(r.universal(2)?).ok()?;
    r.universal(2)?;
    r.universal(2)?;
    let cursor = u32::try_from(r.universal(2)?).ok()?;
    // The error's place in the text: negative where there is none.
    r.signed(2)?;
    let statement = r.u8()?;
    r.u8()?;
    match flags {
        Flags::Numbers => {
            r.universal(2)?;
            r.universal(2)?;
        }
        Flags::Bytes => drop(r.take(2)?),
    }
    // What called for it, and warnings.
    r.take(2)?;
    // The row's address.
    r.universal(4)?;
    r.universal(2)?;
    r.u8()?;
    r.universal(4)?;
    r.universal(2)?;
    // The operating system's error, the statement's number, the call's.
    r.universal(4)?;
    r.u8()?;
    let number = r.u8()?;
    if call.is_some_and(|call| call != number) {
        return None;
    }
    r.universal(2)?;
    r.universal(4)?;
    let block = Block {
        rows,
        error,
        cursor,
        statement,
    };
    if r.universal(4)? > 0 {
        // The address of a row that has no place of its own.
        r.text()?;
    }
    rows_that_failed(&mut r)?;
    // Before 12.1 that is all; then error and rows again; from 20c on two more.
    let mut more = [None; 4];
    for number in &mut more {
        if r.is_empty() {
            break;
        }
        *number = Some(r.universal(8)?);
    }
    let repeated = match more {
        [None, ..] => true,
        [Some(again), Some(count), None, None] | [Some(again), Some(count), Some(_), Some(_)] => {
            again == u64::from(error) && count >= rows
        }
        _ => false,
    };
    let [_, repeats_rows, kind, _] = more;
    // Sources of thin clients say that the first place of the kind is one of servers up to 19c.
    let kind = kind.and_then(|kind| u8::try_from(kind).ok());
    (repeated && r.is_empty()).then_some(Block {
        rows: repeats_rows.unwrap_or(rows),
        statement: kind.filter(|_| statement == 0).unwrap_or(statement),
        ..block
    })
}

/// Steps over three lists, which are empty unless rows of an array failed: their errors, their places, and texts.
fn rows_that_failed(r: &mut Reader<'_>) -> Option<()> {
    for _ in 0..2 {
        let count = r.universal(4)?;
        if count == 0 {
            continue;
        }
        let chunked = r.u8()? == super::reader::CHUNKED;
        for _ in 0..Some(count).filter(|&n| n <= LISTED)? {
            if chunked {
                r.universal(4)?;
            }
            r.universal(4)?;
        }
        if chunked {
            r.u8()?;
        }
    }
    let texts = r.universal(2)?;
    if texts > 0 {
        r.u8()?;
        for _ in 0..Some(texts).filter(|&n| n <= LISTED)? {
            r.universal(2)?;
            r.text()?;
            r.take(2)?;
        }
    }
    Some(())
}

/// Whether a response that ends so is over: with a status, or with the mark of its end.
pub(in crate::tns) fn is_over(tail: &[u8]) -> bool {
    let last = |n: usize| tail.len().checked_sub(n).and_then(|at| tail.get(at..));
    // A status of four bytes and a number of two, which Oracle 9 leaves out.
    let native = matches!(last(7), Some([message::STATUS, _, _, 0, 0, _, _]))
        || matches!(last(5), Some([message::STATUS, _, _, 0, 0]));
    let universal = |n: usize| {
        let mut r = Reader::new(last(n)?);
        (r.u8()? == message::STATUS).then_some(())?;
        r.universal(4)?;
        r.universal(2)?;
        r.is_empty().then_some(())
    };
    tail.ends_with(&[message::END_OF_RESPONSE]) || native || (2..=8).any(|n| universal(n).is_some())
}

#[cfg(test)]
#[path = "error_tests.rs"]
mod tests;
