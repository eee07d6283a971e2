//! A statement's text into the operation it is: those that begin and end transactions are no work on
//! data, and are told apart.

use model::{Name, sql::op};

/// The operation of a statement that is executed.
#[must_use]
pub fn operation(text: &[u8]) -> Name {
    let text = skip_blank(text);
    // Long before the end of what these can be.
    let mut words = text.get(..64).unwrap_or(text);
    let mut next = || -> &[u8] {
        let start = words.trim_ascii_start();
        let end = start
            .iter()
            .position(|b| !b.is_ascii_alphabetic())
            .unwrap_or(start.len());
        let (word, rest) = start.split_at(end);
        words = rest;
        word
    };
    let first = next();
    let is = |word: &[u8], name: &str| word.eq_ignore_ascii_case(name.as_bytes());
    let begins = is(first, "begin") || is(first, "start") && is(next(), "transaction");
    let found = if begins {
        op::BEGIN
    } else if is(first, "commit") {
        op::COMMIT
    } else if is(first, "rollback") {
        // Back to a savepoint, within the transaction.
        let second = next();
        let to = is(second, "to") || is(second, "work") && is(next(), "to");
        if to { op::EXECUTE } else { op::ROLLBACK }
    } else {
        op::EXECUTE
    };
    // Further statements behind it make it more than that.
    let behind = text.iter().position(|&b| b == b';');
    let alone = behind
        .and_then(|at| text.get(at + 1..))
        .is_none_or(|rest| skip_blank(rest).is_empty());
    if alone { found } else { op::EXECUTE }
}

/// Without white space and comments in front: programs sign their statements with one.
pub(crate) fn skip_blank(mut text: &[u8]) -> &[u8] {
    loop {
        text = text.trim_ascii_start();
        if text.starts_with(b"--") {
            let end = text.iter().position(|&b| b == b'\n');
            text = text.get(end.unwrap_or(text.len())..).unwrap_or_default();
        } else if text.starts_with(b"/*") {
            let end = text.windows(2).position(|w| w == b"*/");
            let end = end.map_or(text.len(), |at| at + 2);
            text = text.get(end..).unwrap_or_default();
        } else {
            return text;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_begin_and_end() {
        assert_eq!(operation(b"BEGIN"), op::BEGIN);
        assert_eq!(operation(b"start transaction read only"), op::BEGIN);
        assert_eq!(operation(b" commit work;\n"), op::COMMIT);
        assert_eq!(operation(b"/* app */ COMMIT; -- done"), op::COMMIT);
        assert_eq!(operation(b"Rollback"), op::ROLLBACK);
        assert_eq!(operation(b"rollback and chain"), op::ROLLBACK);
    }

    #[test]
    fn all_else_is_executed() {
        for text in [
            "select 1",
            "rollback to savepoint a",
            "rollback work to a",
            "start slave",
            "commitment",
            "begin; insert into t values (1)",
            "",
        ] {
            assert_eq!(operation(text.as_bytes()), op::EXECUTE, "{text}");
        }
    }
}
