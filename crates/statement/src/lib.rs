//! The text of a SQL statement into its normal form: what is the same statement, whatever its values.
//!
//! `SELECT a FROM t WHERE x=17 -- why` and `select a from t where x = 4` are both
//! `select a from t where x = ?`. Literals become `?`; comments, hints, superfluous white space and the
//! closing semicolon go; case is folded outside quoted identifiers; lists of values after `in` and rows
//! after `values` shrink to one; bind markers stay as they are written (`?`, `:1`, `:name`, `$1`).
//!
//! Choices:
//! - It never fails: half a statement has half a normal form, and a string that is not closed is a
//!   literal up to the end of the text, as are unclosed quoted identifiers: better too much is masked.
//! - The normal form of a normal form is itself, and it is at most twice as long as the statement.
//! - Whether `\'` ends a string is not the same in all databases. Where nobody says that
//!   it is none, a backslash escapes; if that leaves a string open, all is masked from where the other
//!   reading differs.

mod lists;
mod scanner;
mod token;

use lists::fold_lists;
use scanner::tokens;
use token::{Token, TokenKind};

/// Whose rules of quoting and comments a statement follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Dialect {
    /// What is common to all; where they differ, what masks more.
    #[default]
    Unknown,
    Oracle,
    PostgreSql,
    /// Also MariaDB: `"x"` is a string, and `#` begins a comment anywhere.
    MySql,
    /// With NO_BACKSLASH_ESCAPES: a backslash is a letter.
    MySqlPlain,
}

/// The normal form of a statement whose dialect is not known.
#[must_use]
pub fn normalise(sql: &str) -> String {
    normalise_as(sql, Dialect::Unknown)
}

/// The normal form of a statement.
#[must_use]
pub fn normalise_as(sql: &str, dialect: Dialect) -> String {
    let mut tokens = tokens(sql, dialect);
    while tokens.last().is_some_and(|t| matches!(t.text, ";" | ",")) {
        tokens.pop();
    }
    mask_passwords(&mut tokens);
    write(&fold_lists(tokens), sql.len())
}

/// A password of Oracle's may stand without quotes: `identified by tiger replace lion`.
fn mask_passwords(tokens: &mut [Token<'_>]) {
    for at in 0..tokens.len() {
        let behind = tokens.get_mut(at..).unwrap_or_default();
        let [identified, by, password, rest @ ..] = behind else {
            return;
        };
        let here = identified.is_word("identified") && by.is_word("by");
        if !here || password.is_word("values") {
            continue;
        }
        password.kind = TokenKind::Literal;
        if let [replace, former, ..] = rest
            && replace.is_word("replace")
        {
            former.kind = TokenKind::Literal;
        }
    }
}

/// A normal form in which `new` has named what has a name: words, quoted identifiers and bind variables,
/// each given without quotes or colon. Numbers of bind variables stay.
#[must_use]
pub fn rename(normal: &str, new: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(normal.len());
    let mut rest = normal;
    for token in tokens(normal, Dialect::Unknown) {
        // Between tokens stands white space alone.
        let Some((_, behind)) = rest.split_once(token.text) else {
            continue;
        };
        let blanks = rest.len() - behind.len() - token.text.len();
        out.extend(std::iter::repeat_n(' ', blanks));
        rest = behind;
        match token.kind {
            TokenKind::Literal => out.push('?'),
            TokenKind::Sign => out.push_str(token.text),
            TokenKind::Word | TokenKind::Quoted | TokenKind::Bind => {
                let name = token.text.trim_start_matches([':', '@', '$']);
                let signs = token.text.len() - name.len();
                out.push_str(token.text.get(..signs).unwrap_or_default());
                let numbered =
                    token.kind == TokenKind::Bind && name.bytes().all(|b| b.is_ascii_digit());
                match (numbered, name.chars().next()) {
                    (true, _) | (_, None) => out.push_str(name),
                    (_, Some(open @ ('"' | '`' | '['))) => {
                        let close = if open == '[' { ']' } else { open };
                        let inner = name.strip_prefix(open).unwrap_or(name);
                        let inner = inner.strip_suffix(close).unwrap_or(inner);
                        out.push(open);
                        out.push_str(&new(&format!("\"{inner}\"")));
                        out.push(close);
                    }
                    _ => out.push_str(&new(name)),
                }
            }
        }
    }
    out
}

/// The identity of a statement: FNV-1a of 64 bits over its normal form, the same in every run and on
/// every machine.
#[must_use]
pub fn id(normal: &str) -> u64 {
    normal.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn write(tokens: &[Token], room: usize) -> String {
    let mut out = String::with_capacity(room);
    let mut before: Option<&Token> = None;
    for token in tokens {
        if before.is_some_and(|before| !tight(before, token)) {
            out.push(' ');
        }
        let folded = token.kind != TokenKind::Quoted && !token.text.contains('"');
        match token.kind {
            TokenKind::Literal => out.push('?'),
            // Beyond ASCII a control character is part of a word; a space would make it two.
            _ if folded => out.extend(token.text.chars().map(|c| match c.is_control() {
                true => char::REPLACEMENT_CHARACTER,
                false => c.to_ascii_lowercase(),
            })),
            _ => out.extend(token.text.chars().map(|c| match c.is_control() {
                true => ' ',
                false => c,
            })),
        }
        before = Some(token);
    }
    out
}

/// Whether no space stands between two tokens.
fn tight(left: &Token, right: &Token) -> bool {
    let sign = |t: &Token, signs: &[&str]| t.kind == TokenKind::Sign && signs.contains(&t.text);
    sign(left, &["(", "[", "."])
        || sign(right, &[")", "]", ".", ",", ";"])
        || sign(right, &["["]) && left.is_operand()
        || sign(right, &["("]) && left.is_operand() && !left.is_value()
        || sign(right, &["::"]) && left.is_operand()
        || sign(left, &["::"]) && right.kind == TokenKind::Word
}

#[cfg(test)]
mod tests;
