//! A text into whether it begins like a statement: what bytes in an unknown place are told by.

use super::verb::skip_blank;

/// Whether a text begins like SQL: with a verb that statements begin with. What begins otherwise is
/// only believed where a command is known to stand.
pub(crate) fn begins_like_sql(text: &[u8]) -> bool {
    const VERBS: [&[u8]; 36] = [
        b"select",
        b"insert",
        b"update",
        b"delete",
        b"replace",
        b"set",
        b"show",
        b"create",
        b"alter",
        b"drop",
        b"begin",
        b"commit",
        b"rollback",
        b"start",
        b"use",
        b"call",
        b"truncate",
        b"explain",
        b"describe",
        b"lock",
        b"unlock",
        b"with",
        b"load",
        b"grant",
        b"analyze",
        b"flush",
        b"kill",
        b"savepoint",
        b"copy",
        b"declare",
        b"fetch",
        b"close",
        b"listen",
        b"notify",
        b"values",
        b"vacuum",
    ];
    let mut text = skip_blank(text);
    while let [b'(', rest @ ..] = text {
        text = skip_blank(rest);
    }
    let word = text
        .split(|b| !b.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    // A text that was cut off may end within the verb.
    let ends = word.len() == text.len() && word.len() >= 4;
    VERBS.iter().any(|verb| {
        word.eq_ignore_ascii_case(verb)
            || ends
                && verb
                    .get(..word.len())
                    .is_some_and(|v| v.eq_ignore_ascii_case(word))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sql_begins_with_a_verb() {
        assert!(begins_like_sql(b"SELECT 1"));
        assert!(begins_like_sql(b" /* hint */ (select 1) union (select 2)"));
        assert!(begins_like_sql(b"commit"));
        assert!(begins_like_sql(b"inse"));
        assert!(!begins_like_sql(b"ins"));
        assert!(!begins_like_sql(b"selected"));
        assert!(!begins_like_sql(b"\x17\0\0\0"));
        assert!(!begins_like_sql(b""));
    }
}
