//! `--where`: a text such as `op = READ and response_time > 20ms` into a test of a call.
//!
//! Comparisons `name operator value` with `= != < <= > >= ~` (`~` is a glob with `*` and `?`), joined
//! by `not`, `and`, `or` (in that order of binding, as in SQL) and parentheses; `==`, `&&` and `||`
//! are taken too, as Wireshark's users type them. Values are bare or quoted. The names are those of
//! the columns of `slowside calls` and of the protocol fields in its `detail`.
//!
//! Parsing is precedence climbing, and its depth is bounded, so that no text exhausts the stack.
//! A comparison with something that a call does not have is false, and its `not` true.

mod compared;
mod glob;
mod lexer;
mod live;
mod nearest;
mod packet;
mod subject;

pub use compared::{Compared, Kind, Unit};
pub use live::LiveFilter;
pub use nearest::nearest;

use lexer::{Token, TokenKind};
use model::{Call, Sight};
use packet::PacketTest;
use std::fmt;
use std::marker::PhantomData;
use subject::Test;

/// How deep parentheses and `not` may nest.
const DEPTH: usize = 64;

/// A parsed filter expression for calls.
#[derive(Clone, Debug)]
pub struct Filter {
    expression: Expression<Test>,
    text: String,
}

/// The same for packets, in words of their own: `host = 10.0.0.1 and port = 2049`.
#[derive(Clone, Debug)]
pub struct PacketFilter(Expression<PacketTest>);

/// Why a text is not a filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilterError {
    /// The column of the offending word, counted from 1 in characters.
    pub column: usize,
    pub message: String,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FilterError {}

/// Comparisons, joined.
#[derive(Clone, Debug)]
pub enum Expression<T> {
    All(Vec<Expression<T>>),
    Any(Vec<Expression<T>>),
    Not(Box<Expression<T>>),
    Test(T),
}

/// A comparison of something that calls, packets or rows have.
pub trait Comparison: Sized {
    type Of<'a>;
    /// Names that somebody may begin with.
    const SUCH_AS: &'static str;

    /// Whether something has that name.
    ///
    /// # Errors
    /// A message that lists close names.
    fn known(name: &str) -> Result<(), String>;

    /// # Errors
    /// When the operator or the value is none that the name can have.
    fn new(name: &str, operator: Operator, value: &str) -> Result<Self, Fault>;

    fn matches(&self, of: &Self::Of<'_>) -> bool;
}

/// Which word of a comparison is wrong, and why.
#[derive(Debug)]
pub enum Fault {
    Name(String),
    Operator(String),
    Value(String),
}

/// What stands between a name and a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Like,
}

impl Filter {
    /// Reads an expression.
    ///
    /// # Errors
    /// When the text is not one; the error names the column and, for a name, close ones.
    pub fn parse(text: &str) -> Result<Filter, FilterError> {
        Ok(Filter {
            expression: Expression::parse(text)?,
            text: text.to_owned(),
        })
    }

    /// Whether the call passes.
    #[must_use]
    pub fn matches(&self, call: &Call) -> bool {
        self.expression.matches(call)
    }

    /// The expression as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl PacketFilter {
    /// Reads an expression.
    ///
    /// # Errors
    /// When the text is not one; the error names the column and, for a name, close ones.
    pub fn parse(text: &str) -> Result<PacketFilter, FilterError> {
        Expression::parse(text).map(PacketFilter)
    }

    /// Whether the packet passes.
    #[must_use]
    pub fn matches(&self, packet: &Sight) -> bool {
        self.0.matches(packet)
    }
}

impl<T: Comparison> Expression<T> {
    /// Reads an expression.
    ///
    /// # Errors
    /// When the text is not one; the error names the column and, for a name, close ones.
    pub fn parse(text: &str) -> Result<Expression<T>, FilterError> {
        let mut parser = Parser {
            tokens: lexer::tokens(text)?,
            next: 0,
            of: PhantomData,
        };
        let expression = parser.expression(0, 0)?;
        match parser.peek() {
            Token {
                kind: TokenKind::End,
                ..
            } => Ok(expression),
            token => {
                Err(token.error("expected `and`, `or` or the end; quote a value that has spaces"))
            }
        }
    }

    /// Whether it is true.
    #[must_use]
    pub fn matches(&self, of: &T::Of<'_>) -> bool {
        match self {
            Expression::All(list) => list.iter().all(|e| e.matches(of)),
            Expression::Any(list) => list.iter().any(|e| e.matches(of)),
            Expression::Not(inner) => !inner.matches(of),
            Expression::Test(test) => test.matches(of),
        }
    }

    /// Every comparison in it.
    fn each(&self, visit: &mut dyn FnMut(&T)) {
        match self {
            Expression::All(list) | Expression::Any(list) => {
                list.iter().for_each(|e| e.each(visit));
            }
            Expression::Not(inner) => inner.each(visit),
            Expression::Test(test) => visit(test),
        }
    }

    /// Joins two; chains become one list, so that their length is no depth.
    fn join(self, and: bool, right: Self) -> Self {
        match (and, self) {
            (true, Expression::All(mut list)) => {
                list.push(right);
                Expression::All(list)
            }
            (false, Expression::Any(mut list)) => {
                list.push(right);
                Expression::Any(list)
            }
            (true, left) => Expression::All(vec![left, right]),
            (false, left) => Expression::Any(vec![left, right]),
        }
    }
}

struct Parser<T> {
    /// Ends with [`TokenKind::End`].
    tokens: Vec<Token>,
    next: usize,
    of: PhantomData<T>,
}

impl<T: Comparison> Parser<T> {
    fn peek(&self) -> Token {
        let last = self.tokens.len().saturating_sub(1);
        self.tokens
            .get(self.next.min(last))
            .cloned()
            .unwrap_or(Token {
                kind: TokenKind::End,
                column: 1,
            })
    }

    fn take(&mut self) -> Token {
        let token = self.peek();
        self.next += 1;
        token
    }

    /// An expression whose operators bind at least as tightly as `least` (`or` 1, `and` 2).
    fn expression(&mut self, least: u8, depth: usize) -> Result<Expression<T>, FilterError> {
        let mut left = self.operand(depth)?;
        loop {
            let token = self.peek();
            let and = match token.kind {
                TokenKind::And => true,
                TokenKind::Or => false,
                _ => return Ok(left),
            };
            let binding = 1 + u8::from(and);
            if binding < least {
                return Ok(left);
            }
            self.take();
            let right = self.expression(binding + 1, depth)?;
            left = left.join(and, right);
        }
    }

    fn operand(&mut self, depth: usize) -> Result<Expression<T>, FilterError> {
        let token = self.take();
        if depth >= DEPTH {
            return Err(token.error("nested too deeply"));
        }
        match &token.kind {
            TokenKind::Not => Ok(Expression::Not(Box::new(self.operand(depth + 1)?))),
            TokenKind::Open => {
                let inner = self.expression(0, depth + 1)?;
                let close = self.take();
                match close.kind {
                    TokenKind::Close => Ok(inner),
                    _ => Err(close.error(&format!(
                        "expected `)` for the `(` in column {}",
                        token.column
                    ))),
                }
            }
            TokenKind::Word(name) => self.comparison(name, &token).map(Expression::Test),
            _ => Err(token.error(&format!("expected a name such as {}", T::SUCH_AS))),
        }
    }

    fn comparison(&mut self, name: &str, at: &Token) -> Result<T, FilterError> {
        T::known(name).map_err(|m| at.error(&m))?;
        let operator = self.take();
        let TokenKind::Operator(op) = operator.kind else {
            return Err(operator.error(&format!(
                "expected one of `= != < <= > >= ~` after `{name}`"
            )));
        };
        let value = self.take();
        let (TokenKind::Word(text) | TokenKind::Quoted(text)) = &value.kind else {
            return Err(value.error("expected a value"));
        };
        T::new(name, op, text).map_err(|fault| match fault {
            Fault::Name(m) => at.error(&m),
            Fault::Operator(m) => operator.error(&m),
            Fault::Value(m) => value.error(&m),
        })
    }
}

#[cfg(test)]
mod tests;
