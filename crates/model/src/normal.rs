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
//! - Whether `\'` ends a string is not the same in all databases. Where the dialect is not known, a
//!   backslash escapes, unless that leaves a string open which is closed otherwise.

use crate::limits::SQL_GROUP_TOKENS;

/// Whose rules of quoting and comments a statement follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SqlDialect {
    /// What is common to all; where they differ, what masks more.
    #[default]
    Unknown,
    Oracle,
    PostgreSql,
    /// Also MariaDB: `"x"` is a string, and `#` begins a comment anywhere.
    MySql,
}

/// The normal form of a statement whose dialect is not known.
#[must_use]
pub fn normalise(sql: &str) -> String {
    normalise_as(sql, SqlDialect::Unknown)
}

/// The normal form of a statement.
#[must_use]
pub fn normalise_as(sql: &str, dialect: SqlDialect) -> String {
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
        password.kind = Kind::Literal;
        if let [replace, former, ..] = rest
            && replace.is_word("replace")
        {
            former.kind = Kind::Literal;
        }
    }
}

/// A normal form in which `new` has named what has a name: words, quoted identifiers and bind variables,
/// each given without quotes or colon. Numbers of bind variables stay.
pub(crate) fn rename(normal: &str, new: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(normal.len());
    let mut rest = normal;
    for token in tokens(normal, SqlDialect::Unknown) {
        // Between tokens stands white space alone.
        let Some((_, behind)) = rest.split_once(token.text) else {
            continue;
        };
        let blanks = rest.len() - behind.len() - token.text.len();
        out.extend(std::iter::repeat_n(' ', blanks));
        rest = behind;
        match token.kind {
            Kind::Literal => out.push('?'),
            Kind::Sign => out.push_str(token.text),
            Kind::Word | Kind::Quoted | Kind::Bind => {
                let name = token.text.trim_start_matches([':', '@', '$']);
                let signs = token.text.len() - name.len();
                out.push_str(token.text.get(..signs).unwrap_or_default());
                let numbered = token.kind == Kind::Bind && name.bytes().all(|b| b.is_ascii_digit());
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
pub fn statement_id(normal: &str) -> u64 {
    normal.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A keyword or an identifier without quotes.
    Word,
    /// An identifier in quotes of any kind.
    Quoted,
    /// A literal, or the bind marker `?`.
    Literal,
    /// A bind marker that has a name or a number.
    Bind,
    /// Anything else, in the longest piece that has a meaning.
    Sign,
}

#[derive(Clone, Copy, Debug)]
struct Token<'a> {
    kind: Kind,
    text: &'a str,
}

impl Token<'_> {
    fn is_sign(&self, text: &str) -> bool {
        self.kind == Kind::Sign && self.text == text
    }

    fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    fn is_value(&self) -> bool {
        matches!(self.kind, Kind::Literal | Kind::Bind)
    }

    /// Whether a sign behind it stands between two operands.
    fn is_operand(&self) -> bool {
        match self.kind {
            Kind::Word => !self.opens_expression(),
            Kind::Sign => matches!(self.text, ")" | "]"),
            Kind::Quoted | Kind::Literal | Kind::Bind => true,
        }
    }

    /// Whether it is a keyword behind which an expression or a list begins, so that what follows it is
    /// neither its argument list nor what is subtracted from it.
    fn opens_expression(&self) -> bool {
        self.kind == Kind::Word && KEYWORDS.iter().any(|k| self.text.eq_ignore_ascii_case(k))
    }

    fn like(&self, other: &Token) -> bool {
        self.is_value() && other.is_value()
            || self.kind == other.kind
                && match self.kind {
                    Kind::Word => self.text.eq_ignore_ascii_case(other.text),
                    _ => self.text == other.text,
                }
    }
}

const KEYWORDS: [&str; 46] = [
    "all",
    "and",
    "any",
    "as",
    "between",
    "by",
    "call",
    "case",
    "default",
    "distinct",
    "else",
    "elsif",
    "except",
    "exists",
    "fetch",
    "from",
    "having",
    "if",
    "in",
    "intersect",
    "into",
    "is",
    "join",
    "like",
    "limit",
    "minus",
    "not",
    "offset",
    "on",
    "or",
    "over",
    "return",
    "returning",
    "select",
    "set",
    "some",
    "table",
    "then",
    "union",
    "update",
    "using",
    "values",
    "when",
    "where",
    "while",
    "with",
];

/// Operators of more than one character, longest first.
const OPERATORS: [&str; 24] = [
    "->>", "#>>", "<=>", "<=", ">=", "<>", "!=", "^=", "~=", "||", ":=", "=>", "->", "#>", "@>",
    "<@", "::", "**", "&&", "<<", ">>", "~*", "!~", "@@",
];

fn tokens(sql: &str, dialect: SqlDialect) -> Vec<Token<'_>> {
    match dialect {
        SqlDialect::MySql => Scanner::run(sql, dialect, true).0,
        SqlDialect::Oracle | SqlDialect::PostgreSql => Scanner::run(sql, dialect, false).0,
        SqlDialect::Unknown => {
            let (tokens, closed) = Scanner::run(sql, dialect, true);
            if closed || !sql.contains("\\'") {
                return tokens;
            }
            let (plain, plain_closed) = Scanner::run(sql, dialect, false);
            if plain_closed { plain } else { tokens }
        }
    }
}

struct Scanner<'a> {
    sql: &'a str,
    at: usize,
    dialect: SqlDialect,
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
    fn run(sql: &'a str, dialect: SqlDialect, escapes: bool) -> (Vec<Token<'a>>, bool) {
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

    fn byte(&self, ahead: usize) -> Option<u8> {
        self.sql.as_bytes().get(self.at + ahead).copied()
    }

    fn rest(&self) -> &'a str {
        self.sql.get(self.at..).unwrap_or_default()
    }

    /// How many bytes from `ahead` on are of a kind.
    fn run_of(&self, ahead: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.sql.as_bytes().get(self.at + ahead..);
        rest.map_or(0, |rest| rest.iter().take_while(|&&b| is(b)).count())
    }

    /// Takes the next `length` bytes for a token.
    fn take(&mut self, kind: Kind, length: usize) {
        let text = self
            .sql
            .get(self.at..self.at + length)
            .unwrap_or(self.rest());
        self.at += text.len().max(1);
        if kind == Kind::Literal {
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

    fn next(&mut self, byte: u8) {
        match byte {
            b if blank(b) => {
                self.line_start |= b == b'\n' || b == b'\r';
                self.at += 1;
            }
            b'-' if self.byte(1) == Some(b'-') && self.dashes_comment() => self.skip_line(),
            b'/' if self.byte(1) == Some(b'*') => self.skip_comment(),
            b'#' if self.hash_comments() => self.skip_line(),
            b'\'' => self.string(0, self.escapes),
            b'"' if self.dialect == SqlDialect::MySql => self.string(0, true),
            b'"' | b'`' => self.quoted(),
            b'[' => self.bracket(),
            b'$' => self.dollar(),
            b':' => self.colon(),
            b'@' => self.at_sign(),
            b'?' => self.take(Kind::Literal, 1),
            b'.' if self.begins_fraction() => self.number(),
            b if b.is_ascii_digit() => self.number(),
            b if word_starts(b) => self.word(),
            _ => self.operator(),
        }
    }

    /// MySQL wants white space behind the dashes: there `5--1` is a subtraction.
    fn dashes_comment(&self) -> bool {
        self.dialect != SqlDialect::MySql || self.byte(2).is_none_or(blank)
    }

    /// `#` is an operator in PostgreSQL, and where nothing is known of the dialect it only begins a
    /// comment that has its line to itself.
    fn hash_comments(&self) -> bool {
        match self.dialect {
            SqlDialect::MySql => true,
            SqlDialect::Unknown => self.line_start,
            SqlDialect::Oracle | SqlDialect::PostgreSql => false,
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
                (b'/', Some(b'*')) if depth == 0 || self.dialect == SqlDialect::PostgreSql => {
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
        self.take(Kind::Literal, length.unwrap_or(self.rest().len()));
    }

    fn quoted(&mut self) {
        match self.closing(0, false) {
            Some(length) => self.take(Kind::Quoted, length),
            None => self.take(Kind::Literal, self.rest().len()),
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
    fn before(&self) -> Option<u8> {
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
            self.take(Kind::Quoted, name + 2);
        } else {
            self.take(Kind::Sign, 1);
        }
    }

    /// `$1`, or PostgreSQL's `$tag$ … $tag$`.
    fn dollar(&mut self) {
        let digits = self.run_of(1, |b| b.is_ascii_digit());
        if digits > 0 {
            return self.take(Kind::Bind, 1 + digits);
        }
        let tag = self.run_of(1, |b| word_starts(b) || b.is_ascii_digit());
        if self.byte(1 + tag) != Some(b'$') {
            return self.take(Kind::Sign, 1);
        }
        let (tag, body) = self.rest().split_at_checked(tag + 2).unwrap_or_default();
        let length = body.find(tag).map(|at| at + 2 * tag.len());
        self.take(Kind::Literal, length.unwrap_or(self.rest().len()));
    }

    /// `:1`, `:name`, `:"SYS_B_0"`; not the second half of `1:2`.
    fn colon(&mut self) {
        let name = self.run_of(1, |b| word_starts(b) || b.is_ascii_digit());
        let literal = self.tokens.last().is_some_and(|t| t.kind == Kind::Literal);
        if literal && !self.before().is_some_and(blank) {
            self.operator();
        } else if name > 0 {
            self.take(Kind::Bind, 1 + self.run_of(1, word_goes_on));
        } else if self.byte(1) == Some(b'"')
            && let Some(length) = self.closing(1, false)
        {
            self.take(Kind::Bind, length);
        } else {
            self.operator();
        }
    }

    /// `@variable` and `@@variable`.
    fn at_sign(&mut self) {
        let signs = self.run_of(0, |b| b == b'@').min(2);
        if self.byte(signs).is_some_and(word_starts) {
            self.take(Kind::Word, signs + self.run_of(signs, word_goes_on));
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
        self.take(Kind::Literal, length);
    }

    fn word(&mut self) {
        let length = self.run_of(0, word_goes_on);
        let word = self.rest().get(..length).unwrap_or_default();
        let is = |prefix: &str| word.eq_ignore_ascii_case(prefix);
        let quote = self.byte(length) == Some(b'\'');
        if quote && (is("q") || is("nq")) && self.dialect != SqlDialect::MySql {
            self.alternative_quoting(length);
        } else if quote && is("e") {
            self.string(length, true);
        } else if quote && (is("n") || is("x") || is("b")) {
            self.string(length, self.escapes);
        } else if is("u") && self.byte(length) == Some(b'&') && self.byte(length + 1) == Some(b'\'')
        {
            self.string(length + 1, false);
        } else {
            self.take(Kind::Word, length);
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
        self.take(Kind::Literal, length.unwrap_or(self.rest().len()));
    }

    fn operator(&mut self) {
        let rest = self.rest();
        let operator = OPERATORS.iter().find(|o| rest.starts_with(**o));
        self.take(Kind::Sign, operator.map_or(1, |o| o.len()));
    }
}

/// Shrinks the lists behind `in` and `values`, and those in brackets, to their first element.
///
/// It goes from the last token to the first and keeps what follows as a stack, so that lists inside
/// lists are shrunk before they are compared.
fn fold_lists(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
    let mut stack: Vec<Token> = Vec::with_capacity(tokens.len());
    for token in tokens.into_iter().rev() {
        if token.is_word("in") && stack.last().is_some_and(|t| t.is_sign("(")) {
            let open = stack.pop();
            fold_values(&mut stack);
            fold_rows(&mut stack);
            stack.extend(open);
        } else if token.is_word("values") {
            fold_rows(&mut stack);
        } else if token.is_sign("[") {
            fold_values(&mut stack);
        }
        stack.push(token);
    }
    stack.reverse();
    stack
}

/// `?, ?, ?` on top of the stack to `?`.
fn fold_values(stack: &mut Vec<Token>) {
    let Some(first) = stack.pop_if(|t| t.is_value()) else {
        return;
    };
    while let [.., value, comma] = stack.as_slice()
        && comma.is_sign(",")
        && value.is_value()
    {
        stack.truncate(stack.len() - 2);
    }
    stack.push(first);
}

/// `(?, ?), (?, ?)` on top of the stack to `(?, ?)`, also where the last is cut off.
fn fold_rows(stack: &mut Vec<Token>) {
    let length = group_length(stack, 0);
    if length == 0 {
        return;
    }
    let row: Vec<Token> = stack.drain(stack.len() - length..).collect();
    let closed = row.first().is_some_and(|t| t.is_sign(")"));
    while closed && stack.last().is_some_and(|t| t.is_sign(",")) {
        let length = group_length(stack, 1);
        let next = stack.iter().rev().skip(1).take(length);
        let whole = length == row.len() || length + 1 == stack.len() && length < row.len();
        if length == 0 || !whole || !row.iter().rev().zip(next).all(|(a, b)| a.like(b)) {
            break;
        }
        stack.truncate(stack.len() - 1 - length);
    }
    stack.extend(row);
}

/// How many tokens the parentheses have that open `ahead` of the top of the stack; 0 where none do, or
/// more than are looked at.
fn group_length(stack: &[Token], ahead: usize) -> usize {
    let mut depth = 0_usize;
    for (i, token) in stack.iter().rev().skip(ahead).enumerate() {
        if token.is_sign("(") {
            depth += 1;
        } else if token.is_sign(")") {
            depth = depth.saturating_sub(1);
        }
        if depth == 0 {
            return if i == 0 { 0 } else { i + 1 };
        }
        if i >= SQL_GROUP_TOKENS {
            return 0;
        }
    }
    stack.len().saturating_sub(ahead)
}

fn write(tokens: &[Token], room: usize) -> String {
    let mut out = String::with_capacity(room);
    let mut before: Option<&Token> = None;
    for token in tokens {
        if before.is_some_and(|before| !tight(before, token)) {
            out.push(' ');
        }
        let folded = token.kind != Kind::Quoted && !token.text.contains('"');
        match token.kind {
            Kind::Literal => out.push('?'),
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
    let sign = |t: &Token, signs: &[&str]| t.kind == Kind::Sign && signs.contains(&t.text);
    sign(left, &["(", "[", "."])
        || sign(right, &[")", "]", ".", ",", ";"])
        || sign(right, &["["]) && left.is_operand()
        || sign(right, &["("]) && left.is_operand() && !left.is_value()
        || sign(right, &["::"]) && left.is_operand()
        || sign(left, &["::"]) && right.kind == Kind::Word
}

#[cfg(test)]
mod tests;
