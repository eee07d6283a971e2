//! Text into tokens, by the rules of a dialect.

use crate::Dialect;
use crate::token::{Token, TokenKind};

/// Operators of more than one character, longest first.
const OPERATORS: [&str; 24] = [
    "->>", "#>>", "<=>", "<=", ">=", "<>", "!=", "^=", "~=", "||", ":=", "=>", "->", "#>", "@>",
    "<@", "::", "**", "&&", "<<", ">>", "~*", "!~", "@@",
];

pub(super) fn tokens(sql: &str, dialect: Dialect) -> Vec<Token<'_>> {
    match dialect {
        Dialect::Oracle | Dialect::PostgreSql => Scanner::run(sql, dialect, false).0,
        Dialect::MySqlPlain => Scanner::run(sql, Dialect::MySql, false).0,
        Dialect::MySql | Dialect::Unknown => {
            let (tokens, closed) = Scanner::run(sql, dialect, true);
            if closed || !sql.contains('\\') {
                return tokens;
            }
            alike(tokens, &Scanner::run(sql, dialect, false).0)
        }
    }
}

/// The tokens up to where another reading of the same text begins to differ, and a literal for the rest.
fn alike<'a>(mut tokens: Vec<Token<'a>>, other: &[Token<'a>]) -> Vec<Token<'a>> {
    let same = tokens.iter().zip(other).take_while(|(a, b)| a == b).count();
    if same < tokens.len() {
        tokens.truncate(same);
        tokens.push(Token {
            kind: TokenKind::Literal,
            text: "?",
        });
    }
    tokens
}

struct Scanner<'a> {
    sql: &'a str,
    at: usize,
    dialect: Dialect,
    /// Whether a backslash in a string makes the next character part of it.
    escapes: bool,
    /// Whether every string was closed so far.
    closed: bool,
    /// Whether nothing but white space and comments stands before, on this line.
    line_start: bool,
    tokens: Vec<Token<'a>>,
}

fn word_starts(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80
}

fn word_goes_on(byte: u8) -> bool {
    word_starts(byte) || byte.is_ascii_digit() || byte == b'$' || byte == b'#'
}

fn blank(byte: u8) -> bool {
    byte == b' ' || byte.is_ascii_control()
}

impl<'a> Scanner<'a> {
    fn run(sql: &'a str, dialect: Dialect, escapes: bool) -> (Vec<Token<'a>>, bool) {
        let mut scanner = Scanner {
            sql,
            at: 0,
            dialect,
            escapes,
            closed: true,
            line_start: true,
            tokens: Vec::with_capacity(sql.len() / 5),
        };
        while let Some(byte) = scanner.byte(0) {
            scanner.next(byte);
        }
        (scanner.tokens, scanner.closed)
    }

    pub(super) fn byte(&self, ahead: usize) -> Option<u8> {
        self.sql.as_bytes().get(self.at + ahead).copied()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.sql.get(self.at..).unwrap_or_default()
    }

    /// How many bytes from `ahead` on are of a kind.
    fn run_of(&self, ahead: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.sql.as_bytes().get(self.at + ahead..);
        rest.map_or(0, |rest| rest.iter().take_while(|&&b| is(b)).count())
    }

    /// Takes the next `length` bytes for a token.
    pub(super) fn take(&mut self, kind: TokenKind, length: usize) {
        let text = self
            .sql
            .get(self.at..self.at + length)
            .unwrap_or(self.rest());
        self.at += text.len().max(1);
        if kind == TokenKind::Literal {
            self.fold_signs();
        }
        self.line_start = false;
        self.tokens.push(Token { kind, text });
    }

    /// Drops signs before a literal that belong to it.
    fn fold_signs(&mut self) {
        while let [before @ .., sign] = self.tokens.as_slice()
            && (sign.is_sign("-") || sign.is_sign("+"))
            && !before.last().is_some_and(Token::is_operand)
        {
            self.tokens.pop();
        }
    }

    pub(super) fn next(&mut self, byte: u8) {
        match byte {
            b if blank(b) => {
                self.line_start |= b == b'\n' || b == b'\r';
                self.at += 1;
            }
            b'-' if self.byte(1) == Some(b'-') && self.dashes_comment() => self.skip_line(),
            b'/' if self.byte(1) == Some(b'*') => self.skip_comment(),
            b'#' if self.hash_comments() => self.skip_line(),
            b'\'' => self.string(0, self.escapes),
            b'"' if self.dialect == Dialect::MySql => self.string(0, self.escapes),
            b'"' | b'`' => self.quoted(),
            b'[' => self.bracket(),
            b'$' => self.dollar(),
            b':' => self.colon(),
            b'@' => self.at_sign(),
            b'?' => self.take(TokenKind::Literal, 1),
            b'.' if self.begins_fraction() => self.number(),
            b if b.is_ascii_digit() => self.number(),
            b if word_starts(b) => self.word(),
            _ => self.operator(),
        }
    }

    /// MySQL wants white space behind the dashes: there `5--1` is a subtraction.
    fn dashes_comment(&self) -> bool {
        self.dialect != Dialect::MySql || self.byte(2).is_none_or(blank)
    }

    /// `#` is an operator in PostgreSQL, and where nothing is known of the dialect it only begins a
    /// comment that has its line to itself.
    fn hash_comments(&self) -> bool {
        match self.dialect {
            Dialect::MySql | Dialect::MySqlPlain => true,
            Dialect::Unknown => self.line_start,
            Dialect::Oracle | Dialect::PostgreSql => false,
        }
    }

    fn skip_line(&mut self) {
        self.at += self.run_of(0, |b| b != b'\n' && b != b'\r');
    }

    /// Comments nest in PostgreSQL alone.
    fn skip_comment(&mut self) {
        let mut depth = 0_u32;
        while let Some(byte) = self.byte(0) {
            match (byte, self.byte(1)) {
                (b'/', Some(b'*')) if depth == 0 || self.dialect == Dialect::PostgreSql => {
                    depth += 1;
                    self.at += 2;
                }
                (b'*', Some(b'/')) => {
                    depth -= 1;
                    self.at += 2;
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.at += 1,
            }
        }
    }

    /// A string whose opening quote is `ahead` of here.
    fn string(&mut self, ahead: usize, escapes: bool) {
        let length = self.closing(ahead, escapes);
        self.closed &= length.is_some();
        self.take(TokenKind::Literal, length.unwrap_or(self.rest().len()));
    }

    fn quoted(&mut self) {
        match self.closing(0, false) {
            Some(length) => self.take(TokenKind::Quoted, length),
            None => self.take(TokenKind::Literal, self.rest().len()),
        }
    }

    /// The length up to and with the quote that closes the one `ahead` of here; a doubled one does not.
    fn closing(&self, ahead: usize, escapes: bool) -> Option<usize> {
        let quote = self.byte(ahead)?;
        let mut at = ahead + 1;
        loop {
            let byte = self.byte(at)?;
            at += 1;
            if byte == b'\\' && escapes {
                at += 1;
            } else if byte == quote {
                if self.byte(at) != Some(quote) {
                    return Some(at);
                }
                at += 1;
            }
        }
    }

    /// The byte before this one.
    pub(super) fn before(&self) -> Option<u8> {
        self.at
            .checked_sub(1)
            .and_then(|at| self.sql.as_bytes().get(at))
            .copied()
    }

    /// Whether the byte before this one ends a name.
    fn behind_name(&self) -> bool {
        self.before()
            .is_some_and(|b| word_goes_on(b) || matches!(b, b'"' | b'`' | b']'))
    }

    /// Whether the point here begins a number: neither that of `a.1` nor the second of `1..9`.
    fn begins_fraction(&self) -> bool {
        self.byte(1).is_some_and(|b| b.is_ascii_digit())
            && !self.behind_name()
            && self.before() != Some(b'.')
    }

    /// `[x]` is an identifier of SQL Server where no subscript can stand, and looks like one.
    fn bracket(&mut self) {
        let name = self.run_of(1, |b| {
            b.is_ascii_alphanumeric() || matches!(b, b'_' | b' ' | b'$' | b'#')
        });
        let subscript = self.behind_name() || matches!(self.before(), Some(b')' | b'?' | b'\''));
        let named = self.byte(1).is_some_and(word_starts) && self.byte(name + 1) == Some(b']');
        if named && !subscript {
            self.take(TokenKind::Quoted, name + 2);
        } else {
            self.take(TokenKind::Sign, 1);
        }
    }

    /// `$1`, or PostgreSQL's `$tag$ … $tag$`.
    fn dollar(&mut self) {
        let digits = self.run_of(1, |b| b.is_ascii_digit());
        if digits > 0 {
            return self.take(TokenKind::Bind, 1 + digits);
        }
        let tag = self.run_of(1, |b| word_starts(b) || b.is_ascii_digit());
        if self.byte(1 + tag) != Some(b'$') {
            return self.take(TokenKind::Sign, 1);
        }
        let (tag, body) = self.rest().split_at_checked(tag + 2).unwrap_or_default();
        let length = body.find(tag).map(|at| at + 2 * tag.len());
        self.take(TokenKind::Literal, length.unwrap_or(self.rest().len()));
    }

    /// `:1`, `:name`, `:"SYS_B_0"`; not the second half of `1:2`.
    fn colon(&mut self) {
        let name = self.run_of(1, |b| word_starts(b) || b.is_ascii_digit());
        let literal = self
            .tokens
            .last()
            .is_some_and(|t| t.kind == TokenKind::Literal);
        if literal && !self.before().is_some_and(blank) {
            self.operator();
        } else if name > 0 {
            self.take(TokenKind::Bind, 1 + self.run_of(1, word_goes_on));
        } else if self.byte(1) == Some(b'"')
            && let Some(length) = self.closing(1, false)
        {
            self.take(TokenKind::Bind, length);
        } else {
            self.operator();
        }
    }

    /// `@variable` and `@@variable`.
    fn at_sign(&mut self) {
        let signs = self.run_of(0, |b| b == b'@').min(2);
        if self.byte(signs).is_some_and(word_starts) {
            self.take(TokenKind::Word, signs + self.run_of(signs, word_goes_on));
        } else {
            self.operator();
        }
    }

    /// Digits and what clings to them: `1`, `.5`, `1.5e-3`, `0xff`, `10f`; of `1..9` the first number.
    fn number(&mut self) {
        let mut length = 0;
        loop {
            length += self.run_of(length, word_goes_on);
            let text = self.rest().get(..length).unwrap_or_default();
            let exponent = text.ends_with(['e', 'E'])
                && !text.starts_with("0x")
                && self.byte(length + 1).is_some_and(|b| b.is_ascii_digit());
            match self.byte(length) {
                Some(b'.') if self.byte(length + 1) != Some(b'.') => length += 1,
                Some(b'+' | b'-') if exponent => length += 1,
                _ => break,
            }
        }
        self.take(TokenKind::Literal, length);
    }

    pub(super) fn word(&mut self) {
        let length = self.run_of(0, word_goes_on);
        let word = self.rest().get(..length).unwrap_or_default();
        let is = |prefix: &str| word.eq_ignore_ascii_case(prefix);
        let quote = self.byte(length) == Some(b'\'');
        if quote && (is("q") || is("nq")) && self.dialect != Dialect::MySql {
            self.alternative_quoting(length);
        } else if quote && is("e") {
            self.string(length, true);
        } else if quote && (is("n") || is("x") || is("b")) {
            self.string(length, self.escapes);
        } else if is("u") && self.byte(length) == Some(b'&') && self.byte(length + 1) == Some(b'\'')
        {
            self.string(length + 1, false);
        } else {
            self.take(TokenKind::Word, length);
        }
    }

    /// Oracle's `q'[it's]'`, whose quote is `ahead` of here.
    fn alternative_quoting(&mut self, ahead: usize) {
        let body = self.rest().get(ahead + 1..).unwrap_or_default();
        let mut characters = body.chars();
        let close = match characters.next() {
            Some('[') => ']',
            Some('(') => ')',
            Some('{') => '}',
            Some('<') => '>',
            Some(other) => other,
            None => '\'',
        };
        let open = body.len() - characters.as_str().len();
        let mut closing = [0; 5];
        let length = close.encode_utf8(&mut closing).len();
        if let Some(quote) = closing.get_mut(length) {
            *quote = b'\'';
        }
        let closing = closing.get(..=length).unwrap_or_default();
        let closing = std::str::from_utf8(closing).unwrap_or_default();
        let end = characters.as_str().find(closing);
        self.closed &= end.is_some();
        let length = end.map(|at| ahead + 1 + open + at + closing.len());
        self.take(TokenKind::Literal, length.unwrap_or(self.rest().len()));
    }

    fn operator(&mut self) {
        let rest = self.rest();
        let operator = OPERATORS.iter().find(|o| rest.starts_with(**o));
        self.take(TokenKind::Sign, operator.map_or(1, |o| o.len()));
    }
}
