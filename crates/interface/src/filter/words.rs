//! Text into words, each with its column.

use super::{Refused, SUPPORTED};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    /// In characters, from 1.
    pub(super) column: usize,
    pub(super) text: &'a str,
}

/// Splits at blanks; parentheses, `!`, `&&` and `||` are words of their own.
pub(super) fn words(text: &str) -> Result<Vec<Word<'_>>, Refused> {
    let mut words = Vec::new();
    let mut rest = text;
    let mut column = 1;
    while let Some(first) = rest.chars().next() {
        let bytes = if first.is_ascii_whitespace() {
            1
        } else if rest.starts_with("&&") || rest.starts_with("||") {
            2
        } else if matches!(first, '(' | ')' | '!') {
            1
        } else {
            let end = rest.find(|c| !is_of_word(c)).unwrap_or(rest.len());
            if end == 0 {
                return Err(refuse(column, first));
            }
            end
        };
        let (word, behind) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
        if !first.is_ascii_whitespace() {
            words.push(Word { column, text: word });
        }
        // Words are ASCII.
        column += bytes;
        rest = behind;
    }
    Ok(words)
}

fn is_of_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | ':' | '/' | '-' | '_' | '%')
}

fn refuse(column: usize, c: char) -> Refused {
    let what = if "[]=<>&|+*^\\".contains(c) {
        format!("{c:?}: comparisons of bytes are not supported; supported are {SUPPORTED}")
    } else {
        format!("{c:?} is not of a filter; supported are {SUPPORTED}")
    };
    Refused { column, what }
}
