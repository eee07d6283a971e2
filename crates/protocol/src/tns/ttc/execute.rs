//! OALL8 (function 5e): parsing, binding, executing and fetching in one call, in any combination.
//!
//! ```text
//! options  cursor  P text  length  P  13  P  P  buffer  rows asked  longest  P binds  binds
//! 5 × P  P defines  defines  …further fields by version…  text  13 numbers (al8i4)  binds…
//! ```
//!
//! The constant 13 (12 from Oracle 9 clients) tells the representation: it stands at another place
//! in each. How many fields come before the text depends on both versions, so the text is looked for
//! where versions put it, and believed when its length is that of the header and numbers follow.

use super::reader::{CHUNKED, Reader, Text};
use super::scan;
use model::Found;
use std::borrow::Cow;

/// What the call is to do.
pub(super) mod option {
    pub(in crate::tns) const PARSE: u64 = 0x01;
    pub(in crate::tns) const EXECUTE: u64 = 0x20;
    pub(in crate::tns) const FETCH: u64 = 0x40;
}

/// Numbers behind the text.
const NUMBERS: usize = 13;

/// The count of numbers behind the text that the header repeats.
fn is_count(n: u64) -> bool {
    matches!(n, 12 | 13)
}

/// What was read of the call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Execute<'a> {
    pub options: u64,
    /// 0 is a new one.
    pub cursor: u32,
    pub text: Option<(Text<'a>, Found)>,
    /// Rows to fetch at once, where it is a query.
    pub rows_asked: Option<u64>,
}

/// Reads the call from behind its function and sequence number. 23ai puts a token there: 0 without pipelining,
/// which options never are; of native clients it should have eight bytes.
pub(super) fn parse(body: &[u8]) -> Option<Execute<'_>> {
    let behind_token = || {
        let mut r = Reader::new(body);
        r.universal(8)?;
        universal(r.rest())
    };
    universal(body)
        .or_else(behind_token)
        .or_else(|| native(body))
        .or_else(|| native(body.strip_prefix(&[0; 8])?))
}

/// Of the numbers behind the text.
#[derive(Clone, Copy, Default)]
struct Numbers {
    /// How often to execute, or rows to fetch.
    count: u64,
    /// 1 for queries.
    kind: u64,
}

/// Rows asked: what is prefetched, and beyond that what there is room for when the client has
/// described the columns itself.
fn rows_asked(
    options: u64,
    prefetched: u64,
    defines: u64,
    numbers: Option<Numbers>,
) -> Option<u64> {
    let Some(numbers) = numbers else {
        return (options & option::FETCH != 0).then_some(prefetched);
    };
    let only_fetches = options & option::FETCH != 0 && options & option::EXECUTE == 0;
    if only_fetches {
        return Some(numbers.count);
    }
    let defined = match defines {
        0 => 0,
        _ => numbers.count,
    };
    (numbers.kind == 1).then_some(prefetched + defined)
}

fn universal(body: &[u8]) -> Option<Execute<'_>> {
    let mut r = Reader::new(body);
    let options = r.universal(4).filter(|&options| options != 0)?;
    let cursor = u32::try_from(r.universal(4)?).ok()?;
    let has_text = r.pointer()?;
    let length = usize::try_from(r.universal(4)?).ok()?;
    r.pointer()?;
    if !r.universal(4).is_some_and(is_count) {
        return None;
    }
    r.pointer()?;
    r.pointer()?;
    // The size of the buffer may be -1.
    r.universal(4)?;
    let prefetched = r.universal(4)?;
    r.universal(4)?;
    r.pointer()?;
    r.universal(4)?;
    for _ in 0..5 {
        r.pointer()?;
    }
    r.pointer()?;
    let defines = r.universal(4)?;
    let length = has_text.then_some(length);
    let found = universal_text(r, length);
    let (text, numbers) = match found {
        Some((text, numbers)) => (text, numbers),
        None => (None, None),
    };
    let text = match (text, length) {
        (Some(text), _) => Some((text, Found::Structured)),
        (None, Some(length)) => {
            scan::find(r.rest(), Some(length)).map(|text| (text, Found::Scanned))
        }
        (None, None) => None,
    };
    Some(Execute {
        options,
        cursor,
        text,
        rows_asked: rows_asked(options, prefetched, defines, numbers),
    })
}

/// Fields between those above and the text, pointers and numbers.
const FURTHER: &[u8] = b"npppnpnnpnppnpnppn";

/// How many of them there are, by version: of 12.1, 11g, 18c and later, 12.2, 10g; then none, as 9i
/// has it.
const BY_VERSION: [usize; 6] = [11, 8, 18, 16, 3, 0];

/// The text of `length` bytes behind further fields, and the numbers behind it.
fn universal_text<'a>(
    r: Reader<'a>,
    length: Option<usize>,
) -> Option<(Option<Text<'a>>, Option<Numbers>)> {
    BY_VERSION.into_iter().find_map(|further| {
        let mut r = r;
        for &field in FURTHER.get(..further)? {
            match field {
                b'p' => drop(r.pointer()?),
                _ => drop(r.universal(8)?),
            }
        }
        let Some(length) = length else {
            return Some((None, Some(universal_numbers(&mut r)?)));
        };
        // With its length, as most clients send it, or bare, as JDBC does.
        let mut counted = r;
        let at = r.rest().first().copied();
        if (at == Some(CHUNKED) || at.map(usize::from) == Some(length))
            && let Some(text) = counted.text()
            && (text.cut || text.bytes.len() == length)
        {
            if text.cut {
                return scan::is_statement(&text.bytes).then_some((Some(text), None));
            }
            if let Some(numbers) = universal_numbers(&mut counted) {
                return Some((Some(text), Some(numbers)));
            }
        }
        let Some(bytes) = r.take(length) else {
            let text = Text {
                bytes: Cow::Borrowed(r.rest()),
                cut: true,
            };
            return scan::is_statement(&text.bytes).then_some((Some(text), None));
        };
        let whole = !r.is_empty();
        match universal_numbers(&mut r) {
            Some(numbers) => Some((Some(Text::of(bytes)), Some(numbers))),
            // What is behind the text may not be there.
            None if !whole => scan::is_statement(bytes).then_some((Some(Text::of(bytes)), None)),
            None => None,
        }
    })
}

fn universal_numbers(r: &mut Reader<'_>) -> Option<Numbers> {
    let mut numbers = [0; NUMBERS];
    for number in &mut numbers {
        *number = r.universal(8)?;
    }
    let &[parses, count, _, _, _, _, _, kind, ..] = &numbers;
    (parses <= 1).then_some(Numbers { count, kind })
}

/// Where things stand in a native call, from behind its sequence number on.
struct Layout {
    /// The constant.
    constant: usize,
    /// The text's length.
    length: usize,
    /// Rows asked.
    rows: usize,
    /// The number of defines.
    defines: usize,
    /// Where servers of 10g, 11g and 12.1 have the text put, and where later ones should.
    texts: &'static [usize],
}

const LAYOUTS: [Layout; 4] = [
    // Pointers of eight bytes, client up to 11.2.
    Layout {
        constant: 28,
        length: 16,
        rows: 52,
        defines: 120,
        texts: &[144, 172, 192, 224, 236, 244],
    },
    // Client 12.1 and later: lengths in slots of eight bytes.
    Layout {
        constant: 32,
        length: 16,
        rows: 60,
        defines: 136,
        texts: &[192, 216, 256, 272, 280],
    },
    // Pointers of one byte.
    Layout {
        constant: 14,
        length: 9,
        rows: 24,
        defines: 43,
        texts: &[53, 67],
    },
    // Pointers of four bytes.
    Layout {
        constant: 20,
        length: 12,
        rows: 36,
        defines: 76,
        texts: &[92],
    },
];

fn u32_at(body: &[u8], at: usize) -> Option<u32> {
    let bytes = body.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn native(body: &[u8]) -> Option<Execute<'_>> {
    let layout = LAYOUTS.iter().find(|layout| {
        u32_at(body, layout.constant).is_some_and(|n| is_count(n.into()))
            && u32_at(body, 0).is_some_and(|options| options != 0 && options < 0x0100_0000)
    })?;
    let options = u64::from(u32_at(body, 0)?);
    let cursor = u32_at(body, 4)?;
    let length = usize::try_from(u32_at(body, layout.length)?).ok()?;
    let has_text = body.get(8).is_some_and(|&b| b != 0) && length > 0;
    let mut text = None;
    let mut numbers = None;
    if has_text {
        let structured = layout
            .texts
            .iter()
            .find_map(|&at| native_text(body, at, length, false))
            .or_else(|| {
                let mut places = layout.constant + 30..body.len().min(scan::DEEPEST);
                places.find_map(|at| native_text(body, at, length, true))
            });
        text = match structured {
            Some((text, behind)) => {
                numbers = behind;
                Some((text, Found::Structured))
            }
            None => scan::find(body, None).map(|text| (text, Found::Scanned)),
        };
    }
    let prefetched = u32_at(body, layout.rows).unwrap_or(0).into();
    let defines = u32_at(body, layout.defines).unwrap_or(0).into();
    Some(Execute {
        options,
        cursor,
        text,
        rows_asked: rows_asked(options, prefetched, defines, numbers),
    })
}

/// The text at `at`, when its length agrees with the one in the header, which clients may have
/// multiplied for the largest characters (and counted before they converted it), and the numbers
/// behind it. Where no version is known to have it put, it must look like a statement too.
fn native_text(
    body: &[u8],
    at: usize,
    length: usize,
    anywhere: bool,
) -> Option<(Text<'_>, Option<Numbers>)> {
    let mut r = Reader::new(body.get(at..)?);
    let text = r.text()?;
    let bytes = text.bytes.len();
    if bytes == 0 {
        return None;
    }
    if text.cut {
        let fits = bytes <= length && scan::is_statement(&text.bytes);
        return fits.then_some((text, None));
    }
    let exact = [1, 2, 3, 4].iter().any(|times| bytes * times == length);
    let near = bytes <= length + 1 && length <= bytes * 4;
    if !near || (anywhere || !exact) && !scan::is_statement(&text.bytes) {
        return None;
    }
    let rest = r.rest();
    let number = |i: usize| u32_at(rest, i * 4);
    let numbers = match (number(0), number(1), number(7)) {
        (Some(parses), Some(count), Some(kind)) if parses <= 1 && kind < 0x100 => Numbers {
            count: count.into(),
            kind: kind.into(),
        },
        // Cut behind the text.
        (None, ..) | (Some(0 | 1), None, _) | (Some(0 | 1), _, None) => return Some((text, None)),
        _ => return None,
    };
    Some((text, Some(numbers)))
}
