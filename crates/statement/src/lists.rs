//! Lists of values and rows into their first element, so that their length makes no difference.

use crate::token::Token;
use model::limits::SQL_GROUP_TOKENS;

/// Shrinks the lists behind `in` and `values`, and those in brackets, to their first element.
///
/// It goes from the last token to the first and keeps what follows as a stack, so that lists inside
/// lists are shrunk before they are compared.
pub(super) fn fold_lists(tokens: Vec<Token<'_>>) -> Vec<Token<'_>> {
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
