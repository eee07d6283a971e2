//! Text into tokens, each with its column.

use super::{FilterError, Operator};

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
    Word(String),
    /// A value in quotes: never a keyword.
    Quoted(String),
    Operator(Operator),
    And,
    Or,
    Not,
    Open,
    Close,
    End,
}

#[derive(Clone, Debug)]
pub(super) struct Token {
    pub(super) kind: TokenKind,
    /// Counted from 1 in characters.
    pub(super) column: usize,
}

impl Token {
    pub(super) fn error(&self, message: &str) -> FilterError {
        FilterError {
            column: self.column,
            message: match self.kind {
                TokenKind::End => format!("{message}, but the text ends"),
                _ => message.to_owned(),
            },
        }
    }
}

/// Characters that end a bare word.
fn ends_word(c: char) -> bool {
    c.is_whitespace() || "()=!<>~\"'&|".contains(c)
}

/// The tokens of `text`, with [`TokenKind::End`] as the last.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, FilterError> {
    let mut out = Vec::new();
    let mut chars = text.chars().enumerate().peekable();
    while let Some((i, c)) = chars.next() {
        let column = i + 1;
        let mut followed_by = |wanted: char| chars.next_if(|&(_, c)| c == wanted).is_some();
        let unexpected = |message: String| FilterError { column, message };
        let kind = match c {
            c if c.is_whitespace() => continue,
            '(' => TokenKind::Open,
            ')' => TokenKind::Close,
            '~' => TokenKind::Operator(Operator::Like),
            '=' => {
                followed_by('=');
                TokenKind::Operator(Operator::Equal)
            }
            '<' if followed_by('=') => TokenKind::Operator(Operator::LessOrEqual),
            '<' => TokenKind::Operator(Operator::Less),
            '>' if followed_by('=') => TokenKind::Operator(Operator::GreaterOrEqual),
            '>' => TokenKind::Operator(Operator::Greater),
            '!' if followed_by('=') => TokenKind::Operator(Operator::NotEqual),
            '&' if followed_by('&') => TokenKind::And,
            '|' if followed_by('|') => TokenKind::Or,
            '!' => return Err(unexpected("`!` alone means nothing; write `not`".into())),
            '&' | '|' => {
                return Err(unexpected(format!(
                    "`{c}` alone means nothing; write `and` or `or`"
                )));
            }
            '"' | '\'' => {
                let mut value = String::new();
                loop {
                    match chars.next() {
                        Some((_, end)) if end == c => break TokenKind::Quoted(value),
                        Some((_, other)) => value.push(other),
                        None => return Err(unexpected(format!("the quote `{c}` is not closed"))),
                    }
                }
            }
            c => {
                let mut word = String::from(c);
                while let Some((_, c)) = chars.next_if(|&(_, c)| !ends_word(c)) {
                    word.push(c);
                }
                match word.to_ascii_lowercase().as_str() {
                    "and" => TokenKind::And,
                    "or" => TokenKind::Or,
                    "not" => TokenKind::Not,
                    _ => TokenKind::Word(word),
                }
            }
        };
        out.push(Token { kind, column });
    }
    out.push(Token {
        kind: TokenKind::End,
        column: text.chars().count() + 1,
    });
    Ok(out)
}
