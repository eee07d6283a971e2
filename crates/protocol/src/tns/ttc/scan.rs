//! Looking for SQL in a request that could not be read: the first word that begins a statement, and
//! from what stands before it, how long the text is.

use super::reader::{CHUNKED, Reader, Text};
use std::borrow::Cow;

/// How far into a request a text may begin: headers of 64-bit clients are some 300 bytes.
pub(super) const DEEPEST: usize = 420;

/// Words that begin a statement.
const VERBS: [&str; 29] = [
    "SELECT",
    "WITH",
    "INSERT",
    "UPDATE",
    "DELETE",
    "MERGE",
    "BEGIN",
    "DECLARE",
    "CALL",
    "ALTER",
    "CREATE",
    "DROP",
    "GRANT",
    "REVOKE",
    "TRUNCATE",
    "COMMIT",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "LOCK",
    "EXPLAIN",
    "COMMENT",
    "ANALYZE",
    "RENAME",
    "PURGE",
    "AUDIT",
    "NOAUDIT",
    "FLASHBACK",
    "ADMINISTER",
];

/// Whether these bytes begin with a statement, behind white space, comments, brackets and labels.
pub(super) fn is_statement(text: &[u8]) -> bool {
    let mut rest = text;
    loop {
        rest = rest.trim_ascii_start();
        rest = match rest {
            [b'(' | b'{' | b';', behind @ ..] => behind,
            [b'-', b'-', behind @ ..] => past(behind, b"\n"),
            [b'/', b'*', behind @ ..] => past(behind, b"*/"),
            [b'<', b'<', behind @ ..] => past(behind, b">>"),
            [b':', ..] | [b'?', ..] => return true,
            _ => return verb(rest),
        };
    }
}

/// What stands behind the first `end`; all, where it does not come.
fn past<'a>(bytes: &'a [u8], end: &[u8]) -> &'a [u8] {
    let at = bytes.windows(end.len()).position(|w| w == end);
    at.and_then(|at| bytes.get(at + end.len()..))
        .unwrap_or_default()
}

fn verb(text: &[u8]) -> bool {
    if !text.first().is_some_and(u8::is_ascii_alphabetic) {
        return false;
    }
    let length = text.iter().take_while(|b| b.is_ascii_alphabetic()).count();
    let (word, behind) = text.split_at_checked(length).unwrap_or_default();
    let ends = !behind
        .first()
        .is_some_and(|&b| b.is_ascii_digit() || b"_$#".contains(&b));
    ends && VERBS
        .iter()
        .any(|verb| word.eq_ignore_ascii_case(verb.as_bytes()))
}

fn is_text(b: u8) -> bool {
    b >= b' ' && b != 0x7f || b"\t\n\r".contains(&b)
}

/// The first statement in `request`. `length` is what its header says of it, where that could be
/// read.
pub(super) fn find(request: &[u8], length: Option<usize>) -> Option<Text<'_>> {
    let at = (0..request.len().min(DEEPEST)).find(|&at| {
        let before = at.checked_sub(1).and_then(|i| request.get(i));
        !before.is_some_and(u8::is_ascii_alphabetic) && request.get(at..).is_some_and(verb)
    })?;
    // White space in front belongs to it, unless it is a length.
    let spaces = request
        .get(..at)?
        .iter()
        .rev()
        .take_while(|b| b.is_ascii_whitespace() || **b == b'(')
        .count();
    for from in (at - spaces..=at).rev() {
        let counted = counted(request, from);
        if let Some(text) = counted.filter(|t| t.cut || length.is_none_or(|n| n == t.bytes.len())) {
            return Some(text);
        }
    }
    let text = request.get(at..)?;
    let run = text.iter().take_while(|&&b| is_text(b)).count();
    let cut = run == text.len() && length.is_none_or(|n| n > run);
    let run = run.min(length.unwrap_or(run));
    Some(Text {
        bytes: Cow::Borrowed(text.get(..run)?),
        cut,
    })
}

/// The text at `from`, when the byte before is its length, or those before say that it is in chunks.
fn counted(request: &[u8], from: usize) -> Option<Text<'_>> {
    let length = *request.get(from.checked_sub(1)?)?;
    if from >= 2 && request.get(from - 2) == Some(&CHUNKED) {
        let text = Reader::new(request.get(from - 2..)?).text()?;
        return text.bytes.iter().all(|&b| is_text(b)).then_some(text);
    }
    // sqlplus ends its own with a zero.
    let text = request.get(from..from + usize::from(length))?;
    let body = text.strip_suffix(&[0]).unwrap_or(text);
    let next = request.get(from + text.len());
    let fits = !body.is_empty() && body.iter().all(|&b| is_text(b));
    (fits && next.is_none_or(|&b| !is_text(b))).then_some(Text::of(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_begin_with_a_verb_behind_whatever() {
        for text in [
            "select 1",
            "\n\t  SELECT 1",
            "/* hint */ -- more\n(with x as (select 1) select * from x)",
            "<<label>> begin null; end;",
            "{call p(?)}",
            ":1 := f(2)",
        ] {
            assert!(is_statement(text.as_bytes()), "{text}");
        }
        for text in ["", "selects", "SELECT_CATALOG_ROLE", "x select", "/* open"] {
            assert!(!is_statement(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_length_before_the_text_decides_where_it_ends() {
        // 0x24 is a printable `$`.
        let request = b"\x03\x99\x07\x24select name, password from sys.user$\x01\x00\x00\x00";
        let text = find(request, None).unwrap();
        assert_eq!(&*text.bytes, b"select name, password from sys.user$");
        let chunks = [
            b"\x03\x99\xfe\x40select ",
            &[b'x'; 57][..],
            b"\x06 from t"[..7].as_ref(),
            b"\x00\x01",
        ]
        .concat();
        assert_eq!(find(&chunks, None).unwrap().bytes.len(), 70);
    }

    #[test]
    fn without_a_length_the_text_ends_with_what_is_printable() {
        let request = b"\x03\x5e\x01\x00\x00select 1 from dual\x01\x01\x00";
        assert_eq!(&*find(request, None).unwrap().bytes, b"select 1 from dual");
        assert_eq!(&*find(request, Some(8)).unwrap().bytes, b"select 1");
        let cut = find(&request[..12], None).unwrap();
        assert!(cut.cut);
        assert_eq!(find(b"\x03\x0e\x06", None), None);
    }
}
