//! What a statement is about to do, from its first words: the operation it is listed under, the rows
//! it asks for, and the cursor it opens or reads.

use super::tag::number;
use crate::sql::skip_blank;
use model::{Name, sql::op};

/// A statement's operation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Verb {
    pub op: Name,
    pub rows_asked: Option<u64>,
    pub cursor: Cursor,
}

/// What it does to a cursor, by the cursor's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Cursor {
    None,
    Declare(Box<[u8]>),
    Fetch(Box<[u8]>),
    Close(Box<[u8]>),
}

impl Verb {
    fn plain(op: Name) -> Verb {
        Verb {
            op,
            rows_asked: None,
            cursor: Cursor::None,
        }
    }
}

/// The verb of a text. One that holds several statements executes.
pub(super) fn parse(text: &[u8]) -> Verb {
    let text = skip_blank(text);
    let (word, rest) = word(text);
    let op = match word.len() {
        3 if is(word, b"END") => op::COMMIT,
        4 if is(word, b"COPY") => op::COPY,
        5 if is(word, b"BEGIN") => op::BEGIN,
        5 if is(word, b"FETCH") => op::FETCH,
        5 if is(word, b"START") => op::BEGIN,
        5 if is(word, b"ABORT") => op::ROLLBACK,
        5 if is(word, b"CLOSE") => op::CLOSE,
        6 if is(word, b"COMMIT") => op::COMMIT,
        7 if is(word, b"PREPARE") => op::PREPARE,
        7 if is(word, b"DECLARE") => op::EXECUTE,
        8 if is(word, b"ROLLBACK") => op::ROLLBACK,
        10 if is(word, b"DEALLOCATE") => op::CLOSE,
        _ => return Verb::plain(op::EXECUTE),
    };
    if op == op::EXECUTE {
        let name = name(rest).0;
        return Verb {
            cursor: Cursor::Declare(name),
            ..Verb::plain(op)
        };
    }
    // A COPY from the client's file comes alone; the others are short.
    if op != op::COPY && !is_alone(rest) {
        return Verb::plain(op::EXECUTE);
    }
    match op {
        // Goes on in the transaction.
        op::ROLLBACK if is(self::word(skip_blank(rest)).0, b"TO") => Verb::plain(op::EXECUTE),
        // Starts the second phase of a transaction, or ends another's.
        op::PREPARE if is(self::word(skip_blank(rest)).0, b"TRANSACTION") => {
            Verb::plain(op::COMMIT)
        }
        op::FETCH => fetch(rest),
        op::CLOSE if word.len() == 5 => Verb {
            cursor: Cursor::Close(name(rest).0),
            ..Verb::plain(op)
        },
        _ => Verb::plain(op),
    }
}

/// `[direction] [count] [FROM | IN] cursor`
fn fetch(mut rest: &[u8]) -> Verb {
    let mut rows_asked = Some(1);
    let mut relative = false;
    loop {
        let text = skip_blank(rest);
        let sign = usize::from(text.starts_with(b"-"));
        let (token, after) = word(text.get(sign..).unwrap_or_default());
        let of = |words: &[&[u8]]| words.iter().any(|w| is(token, w));
        if let Some(n) = number(token) {
            rows_asked = if relative { Some(1) } else { Some(n) };
        } else if of(&[b"ALL"]) {
            rows_asked = None;
        } else if of(&[b"ABSOLUTE", b"RELATIVE"]) {
            relative = true;
        } else if !of(&[
            b"NEXT",
            b"PRIOR",
            b"FIRST",
            b"LAST",
            b"FORWARD",
            b"BACKWARD",
            b"FROM",
            b"IN",
        ]) {
            return Verb {
                op: op::FETCH,
                rows_asked,
                cursor: Cursor::Fetch(name(text).0),
            };
        }
        rest = after;
    }
}

/// The letters, digits and underscores in front, and what follows.
fn word(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|&b| !(b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80));
    text.split_at_checked(end.unwrap_or(text.len()))
        .unwrap_or((text, &[]))
}

fn is(word: &[u8], upper: &[u8]) -> bool {
    word.eq_ignore_ascii_case(upper)
}

/// A name: folded to lower case, or between quotes.
fn name(text: &[u8]) -> (Box<[u8]>, &[u8]) {
    let text = skip_blank(text);
    if let Some(quoted) = text.strip_prefix(b"\"") {
        let end = quoted.iter().position(|&b| b == b'"');
        let (name, rest) = quoted
            .split_at_checked(end.unwrap_or(quoted.len()))
            .unwrap_or((quoted, &[]));
        return (name.into(), rest.get(1..).unwrap_or_default());
    }
    let (name, rest) = word(text);
    (name.to_ascii_lowercase().into(), rest)
}

/// Whether nothing follows the statement's semicolon.
fn is_alone(text: &[u8]) -> bool {
    match text.iter().position(|&b| b == b';') {
        Some(at) => skip_blank(text.get(at + 1..).unwrap_or_default()).is_empty(),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(text: &str) -> Name {
        parse(text.as_bytes()).op
    }

    #[test]
    fn transactions_begin_and_end() {
        for begin in ["BEGIN", "begin;", " start transaction read only ;"] {
            assert_eq!(op(begin), op::BEGIN, "{begin}");
        }
        for commit in [
            "COMMIT",
            "end;",
            "commit and chain",
            "PREPARE TRANSACTION 'x'",
        ] {
            assert_eq!(op(commit), op::COMMIT, "{commit}");
        }
        assert_eq!(op("/* why */ ROLLBACK -- not"), op::ROLLBACK);
        assert_eq!(op("abort"), op::ROLLBACK);
        assert_eq!(op("ROLLBACK TO SAVEPOINT a"), op::EXECUTE);
        // Several statements at once.
        assert_eq!(op("BEGIN; insert into t values (1); COMMIT"), op::EXECUTE);
        assert_eq!(op("ends"), op::EXECUTE);
        assert_eq!(op(""), op::EXECUTE);
    }

    #[test]
    fn a_fetch_asks_for_rows_of_a_cursor() {
        let fetch = |text: &str| {
            let verb = parse(text.as_bytes());
            assert_eq!(verb.op, op::FETCH, "{text}");
            let Cursor::Fetch(name) = verb.cursor else {
                panic!("{text}")
            };
            (verb.rows_asked, String::from_utf8(name.into()).unwrap())
        };
        assert_eq!(
            fetch("FETCH FORWARD 100 FROM _psql_cursor"),
            (Some(100), "_psql_cursor".into())
        );
        assert_eq!(fetch("fetch 5 in \"Cur\";"), (Some(5), "Cur".into()));
        assert_eq!(fetch("FETCH c1"), (Some(1), "c1".into()));
        assert_eq!(fetch("FETCH ALL FROM C1"), (None, "c1".into()));
        assert_eq!(fetch("FETCH BACKWARD ALL c"), (None, "c".into()));
        assert_eq!(fetch("FETCH ABSOLUTE -3 FROM c"), (Some(1), "c".into()));
        assert_eq!(fetch("FETCH"), (Some(1), "".into()));
    }

    #[test]
    fn cursors_have_names() {
        assert_eq!(
            parse(b"DECLARE c1 CURSOR FOR SELECT 1").cursor,
            Cursor::Declare(b"c1"[..].into())
        );
        assert_eq!(parse(b"close C1").cursor, Cursor::Close(b"c1"[..].into()));
        assert_eq!(parse(b"deallocate s").cursor, Cursor::None);
        assert_eq!(op("copy t from stdin"), op::COPY);
        assert_eq!(op("prepare s as select 1"), op::PREPARE);
    }
}
