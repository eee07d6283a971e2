//! What a statement consists of, and what may stand beside what.

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TokenKind {
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Token<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
}

impl Token<'_> {
    pub(super) fn is_sign(&self, text: &str) -> bool {
        self.kind == TokenKind::Sign && self.text == text
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_value(&self) -> bool {
        matches!(self.kind, TokenKind::Literal | TokenKind::Bind)
    }

    /// Whether a sign behind it stands between two operands.
    pub(super) fn is_operand(&self) -> bool {
        match self.kind {
            TokenKind::Word => !self.opens_expression(),
            TokenKind::Sign => matches!(self.text, ")" | "]"),
            TokenKind::Quoted | TokenKind::Literal | TokenKind::Bind => true,
        }
    }

    /// Whether it is a keyword behind which an expression or a list begins, so that what follows it is
    /// neither its argument list nor what is subtracted from it.
    fn opens_expression(&self) -> bool {
        self.kind == TokenKind::Word && KEYWORDS.iter().any(|k| self.text.eq_ignore_ascii_case(k))
    }

    pub(super) fn like(&self, other: &Token) -> bool {
        self.is_value() && other.is_value()
            || self.kind == other.kind
                && match self.kind {
                    TokenKind::Word => self.text.eq_ignore_ascii_case(other.text),
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
