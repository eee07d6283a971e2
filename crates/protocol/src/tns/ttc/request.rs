//! A request into what it asks for: the function behind the piggybacks that ride in front of it, the
//! cursors they close, its own cursor, rows and text.
//!
//! Every message counts one up from the one before (some clients send only zeros), which tells where
//! the next begins behind a piggyback that cannot be read.

use super::execute::{self, option};
use super::reader::{Reader, Text};
use super::{big_endian, function, message, op_of, scan};
use model::{Found, Name, sql::op};

/// How far behind a piggyback that cannot be read the next message is looked for.
const DEEPEST: usize = 600;

/// Cursors closed by one piggyback; more is no list of cursors.
const CURSORS: u64 = 4_096;

/// What a request asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::tns) struct Request<'a> {
    pub op: Name,
    /// The function's number, where the operation does not say it.
    pub function: Option<u8>,
    /// The number of the last message.
    pub sequence: Option<u8>,
    /// The cursor it works on; 0 is one that the server is to open.
    pub cursor: Option<u32>,
    /// Whether a cursor's rows are counted anew.
    pub executes: bool,
    pub rows_asked: Option<u64>,
    pub text: Option<(Text<'a>, Found)>,
    /// Cursors that are closed before.
    pub closes: Vec<u32>,
}

impl<'a> Request<'a> {
    fn of(op: Name) -> Request<'a> {
        Request {
            op,
            function: None,
            sequence: None,
            cursor: None,
            executes: false,
            rows_asked: None,
            text: None,
            closes: Vec::new(),
        }
    }

    /// Reads the payload of a request from its first byte on. `None`: it begins with no message that
    /// a client sends.
    pub(in crate::tns) fn parse(payload: &'a [u8]) -> Option<Request<'a>> {
        match *payload.first()? {
            message::PROTOCOL | message::DATA_TYPES => Some(Request::of(op::NEGOTIATE)),
            message::FAST_AUTHENTICATION => Some(Request::of(op::LOGON)),
            message::FUNCTION | message::PIGGYBACK => Request::functions(payload),
            _ => None,
        }
    }

    fn functions(payload: &'a [u8]) -> Option<Request<'a>> {
        let mut closes = Vec::new();
        let mut rest = payload;
        loop {
            let [kind, function, sequence, body @ ..] = rest else {
                // Cut behind the piggybacks.
                let mut request = Request::of(op::OTHER);
                request.closes = closes;
                return Some(request);
            };
            if !function::is_known(*function) {
                return None;
            }
            if *kind == message::FUNCTION {
                let mut request = Request::function(*function, body);
                request.sequence = Some(*sequence);
                request.closes = closes;
                return Some(request);
            }
            match piggyback(*function, body, *sequence, &mut closes) {
                Some(next) => rest = next,
                None => {
                    let only_closes = !closes.is_empty() && body.len() < DEEPEST;
                    let mut request = Request::of(match only_closes {
                        true => op::CLOSE,
                        false => op::OTHER,
                    });
                    request.function = Some(*function);
                    request.sequence = Some(*sequence);
                    request.closes = closes;
                    return Some(request);
                }
            }
        }
    }

    fn function(function: u8, body: &'a [u8]) -> Request<'a> {
        let mut request = Request::of(op_of(function));
        match function {
            function::OALL8 => request.oall8(body),
            function::FETCH => {
                if let Some((cursor, rows)) = pair(body) {
                    request.cursor = Some(cursor);
                    request.rows_asked = Some(rows.into());
                }
            }
            function::EXECUTE | function::EXECUTE_FETCH => {
                request.executes = true;
                if let Some((cursor, count)) = two(body) {
                    request.cursor = Some(cursor);
                    if function == function::EXECUTE_FETCH {
                        request.rows_asked = Some(count.into());
                    }
                }
            }
            function::CLOSE => {
                request.cursor = one(body);
                request.closes.extend(request.cursor);
            }
            function::OALL | function::OALL7 | function::OSQL7 => request.older(function, body),
            function::PARSE => request.parse_only(body),
            _ => {}
        }
        if request.op == op::OTHER {
            request.function = Some(function);
        }
        request
    }

    fn oall8(&mut self, body: &'a [u8]) {
        let Some(execute) = execute::parse(body) else {
            // Not as any version has it, but perhaps the other way round.
            self.op = match big_endian::options(body) {
                Some(options) => done_by(options.into()).unwrap_or(op::OTHER),
                None => op::EXECUTE,
            };
            self.text = scan::find(body, None).map(|text| (text, Found::Scanned));
            self.executes = self.op == op::EXECUTE;
            return;
        };
        self.executes = execute.options & option::EXECUTE != 0;
        self.op = done_by(execute.options).unwrap_or(op::OTHER);
        self.cursor = Some(execute.cursor);
        self.rows_asked = execute.rows_asked;
        self.text = execute.text;
    }

    /// The bundled calls of Oracle 7 to 9: options, cursor, a pointer, the text's length.
    fn older(&mut self, function: u8, body: &'a [u8]) {
        let mut r = Reader::new(body);
        if let (Some(options), Some(cursor)) = (r.u32_le(), r.u32_le()) {
            let does = |what| u64::from(options) & what != 0;
            self.executes = does(option::EXECUTE);
            self.op = if self.executes {
                op::EXECUTE
            } else if does(option::FETCH) {
                op::FETCH
            } else {
                op::PREPARE
            };
            self.cursor = Some(cursor);
        }
        // 32-bit clients say whether they bring a text, and how long it is.
        if r.u64_le() == Some(0) {
            return;
        }
        // Where those of Oracle 9 put it, from behind the sequence number.
        let at = match function {
            function::OALL7 => 60,
            _ => 136,
        };
        self.text = placed(body, at, 12).or_else(|| {
            let text = scan::find(body, None)?;
            Some((text, Found::Scanned))
        });
    }

    /// Parsing alone: cursor, a pointer, the text's length, the text.
    fn parse_only(&mut self, body: &'a [u8]) {
        self.cursor = Reader::new(body).u32_le();
        self.text = [12, 9, 16]
            .iter()
            .find_map(|&at| placed(body, at, at - 4))
            .or_else(|| Some((scan::find(body, None)?, Found::Scanned)));
    }
}

/// What a bundled call does first of all.
fn done_by(options: u64) -> Option<Name> {
    let what = [
        (option::EXECUTE, op::EXECUTE),
        (option::PARSE, op::PREPARE),
        (option::FETCH, op::FETCH),
    ];
    let done = what.into_iter().find(|(option, _)| options & option != 0);
    done.map(|(_, op)| op)
}

/// The text at `at`, when it has the length that stands at `length_at`, as [`execute`] would have it.
fn placed(body: &[u8], at: usize, length_at: usize) -> Option<(Text<'_>, Found)> {
    let length = Reader::new(body.get(length_at..)?).u32_le()?;
    let text = Reader::new(body.get(at..)?).text()?;
    let bytes = text.bytes.len();
    let fits = text.cut || (1..=4).any(|times| bytes * times == length as usize);
    (fits && scan::is_statement(&text.bytes)).then_some((text, Found::Structured))
}

/// Steps over a piggyback, and returns what is behind it. `None`: there is nothing, or it is not known
/// where.
fn piggyback<'a>(
    function: u8,
    body: &'a [u8],
    sequence: u8,
    closes: &mut Vec<u32>,
) -> Option<&'a [u8]> {
    let follows = |rest: &[u8]| match rest {
        [message::FUNCTION | message::PIGGYBACK, next, number, ..] => {
            function::is_known(*next) && (*number == sequence.wrapping_add(1) || *number <= 1)
        }
        _ => false,
    };
    let read = match function {
        function::CLOSE_CURSORS | function::CANCEL_CURSORS => {
            let lists = [
                universal_list,
                universal_list_behind_token,
                list_1,
                list_8,
                list_8_4,
                list_4,
            ];
            lists.into_iter().find_map(|list| {
                let (cursors, rest) = list(body)?;
                (follows(rest) || rest.is_empty()).then_some((cursors, rest))
            })
        }
        function::SESSION_SWITCH => {
            let native = body.get(12..).filter(|rest| follows(rest));
            native.map(|rest| (Vec::new(), rest))
        }
        _ => None,
    };
    if let Some((cursors, rest)) = read {
        if function == function::CLOSE_CURSORS {
            closes.extend(cursors);
        }
        return (!rest.is_empty()).then_some(rest);
    }
    (0..body.len().min(DEEPEST)).find_map(|at| body.get(at..).filter(|rest| follows(rest)))
}

type List<'a> = Option<(Vec<u32>, &'a [u8])>;

/// 23ai puts a token in front, which is 0 without pipelining.
fn universal_list_behind_token(body: &[u8]) -> List<'_> {
    let mut r = Reader::new(body);
    r.universal(8)?;
    universal_list(r.rest())
}

fn universal_list(body: &[u8]) -> List<'_> {
    let mut r = Reader::new(body);
    r.pointer()?.then_some(())?;
    let count = r.universal(4).filter(|&n| n <= CURSORS)?;
    let mut cursors = Vec::new();
    for _ in 0..count {
        cursors.push(u32::try_from(r.universal(4)?).ok()?);
    }
    Some((cursors, r.rest()))
}

/// A pointer of `pointer` bytes, a count, what a structure's slot leaves empty, and the cursors.
fn native_list(body: &[u8], pointer: usize, empty: usize) -> List<'_> {
    let mut r = Reader::new(body.get(pointer..)?);
    let count = u64::from(r.u32_le()?);
    if count == 0 || count > CURSORS {
        return None;
    }
    r.take(empty)?;
    let mut cursors = Vec::new();
    for _ in 0..count {
        cursors.push(r.u32_le()?);
    }
    Some((cursors, r.rest()))
}

fn list_1(body: &[u8]) -> List<'_> {
    native_list(body, 1, 0)
}

fn list_4(body: &[u8]) -> List<'_> {
    native_list(body, 4, 0)
}

fn list_8(body: &[u8]) -> List<'_> {
    native_list(body, 8, 0)
}

fn list_8_4(body: &[u8]) -> List<'_> {
    native_list(body, 8, 4)
}

/// Two numbers that are all there is: eight bytes of them are native ones.
fn pair(body: &[u8]) -> Option<(u32, u32)> {
    let native = (body.len() == 8).then(|| two_native(body)).flatten();
    let token = (body.len() == 16 && body.starts_with(&[0; 8])).then(|| body.get(8..));
    native
        .or_else(|| two_native(token??))
        .or_else(|| two_universal(body))
        .or_else(|| two_native(body))
}

/// Two numbers, and more behind them.
fn two(body: &[u8]) -> Option<(u32, u32)> {
    two_universal(body).or_else(|| two_native(body))
}

fn two_native(body: &[u8]) -> Option<(u32, u32)> {
    let mut r = Reader::new(body);
    Some((r.u32_le()?, r.u32_le()?))
}

/// A token, which 23ai puts in front, is 0 without pipelining, which no cursor is. One that is not shows by the
/// number of numbers: two of a fetch, and four of an execution, up to its bound values.
fn two_universal(body: &[u8]) -> Option<(u32, u32)> {
    let number = |r: &mut Reader<'_>| r.universal(8);
    let mut r = Reader::new(body);
    if body.first() == Some(&0) {
        r.u8()?;
    }
    let behind_zero = r;
    let mut count = 0;
    while !matches!(r.rest(), [] | [message::ROW, ..]) && number(&mut r).is_some() {
        count += 1;
    }
    let ends = matches!(r.rest(), [] | [message::ROW, ..]);
    let mut r = behind_zero;
    if ends && matches!(count, 3 | 5) {
        number(&mut r)?;
    }
    // A native cursor of 1 to 4 looks like the length of a number that begins with zeros, which none
    // does.
    let mut number = || u32::try_from(r.universal(4)?).ok();
    Some((number()?, number()?))
}

fn one(body: &[u8]) -> Option<u32> {
    match body.len() {
        4 => Reader::new(body).u32_le(),
        _ => {
            let mut r = Reader::new(body);
            u32::try_from(r.universal(4)?).ok()
        }
    }
}

/// Whether a payload begins like a request: for certain enough to join a connection in its middle.
pub(in crate::tns) fn is_start(payload: &[u8]) -> bool {
    let mut payload = payload;
    // One after the other, not one within the other: there may be thousands where somebody means harm.
    for _ in 0..PIGGYBACKS {
        let [message::PIGGYBACK, function, sequence, rest @ ..] = payload else {
            return is_call(payload);
        };
        if !function::is_known(*function) {
            return false;
        }
        match piggyback(*function, rest, *sequence, &mut Vec::new()) {
            Some(behind) => payload = behind,
            None => return false,
        }
    }
    false
}

/// More calls than any client lets ride on one.
const PIGGYBACKS: usize = 64;

/// Whether a payload begins like a call, for as certain.
fn is_call(payload: &[u8]) -> bool {
    match payload {
        [message::FUNCTION, function, _, rest @ ..] => match *function {
            function::COMMIT | function::ROLLBACK | function::LOGOFF | function::PING => {
                rest.len() <= 8 && rest.iter().all(|&b| b == 0)
            }
            function::FETCH => {
                (2..=16).contains(&rest.len())
                    && pair(rest).is_some_and(|(cursor, _)| (1..100_000).contains(&cursor))
            }
            function::OALL8 => {
                execute::parse(rest).is_some() || big_endian::options(rest).is_some()
            }
            known => function::is_known(known) && !rest.is_empty(),
        },
        _ => false,
    }
}

/// The sequence number of the first message, where there is one.
pub(in crate::tns) fn sequence(payload: &[u8]) -> Option<u8> {
    match payload {
        [
            message::FUNCTION | message::PIGGYBACK,
            function,
            sequence,
            ..,
        ] if function::is_known(*function) => Some(*sequence),
        _ => None,
    }
}

/// Whether nobody answers this request.
pub(in crate::tns) fn is_one_way(payload: &[u8]) -> bool {
    matches!(
        payload,
        [message::ONE_WAY, ..] | [message::FUNCTION, function::SESSION_RELEASE, ..]
    )
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
