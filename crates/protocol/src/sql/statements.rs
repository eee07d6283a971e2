//! Texts of statements into [`Statement`]s. Programs send the same text again and again, so what was
//! sent lately is remembered: bringing a text into its normal form takes longer than hashing it.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Found, Statement, limits};
use statement::Dialect;
use std::sync::Arc;

/// What is remembered makes a difference in time only, so a bound may differ between threads.
const REMEMBERED: usize = 4_096;

/// The statements that one thread has seen lately.
#[derive(Default)]
pub struct Statements {
    known: HashMap<Box<[u8]>, (Dialect, Arc<Statement>), FixedState>,
}

impl Statements {
    /// The statement with this text, of a database with this dialect. Bytes that are no UTF-8 are taken for Latin-1, so that nothing is
    /// lost. Of one longer than [`SQL_BYTES`](limits::SQL_BYTES) the beginning is kept.
    pub fn of(
        &mut self,
        dialect: Dialect,
        text: &[u8],
        truncated: bool,
        found: Found,
    ) -> Arc<Statement> {
        let kept = text.get(..limits::SQL_BYTES).unwrap_or(text);
        let truncated = truncated || kept.len() < text.len();
        if let Some((spoken, known)) = self.known.get(kept)
            && *spoken == dialect
            && known.truncated == truncated
            && known.found == found
        {
            return Arc::clone(known);
        }
        let text = decode(kept);
        let normal = statement::normalise_as(&text, dialect);
        let statement = Arc::new(Statement {
            id: statement::id(&normal),
            normal: normal.into(),
            text: text.into(),
            truncated,
            found,
        });
        if self.known.len() >= REMEMBERED {
            self.known.clear();
        }
        let known = (dialect, Arc::clone(&statement));
        self.known.insert(kept.into(), known);
        statement
    }
}

fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        // Cut inside a character.
        Err(e) if e.error_len().is_none() => {
            let valid = bytes.get(..e.valid_up_to()).unwrap_or_default();
            String::from_utf8_lossy(valid).into_owned()
        }
        Err(_) => bytes.iter().map(|&b| char::from(b)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY: Dialect = Dialect::Unknown;

    #[test]
    fn the_same_text_is_one_statement() {
        let mut statements = Statements::default();
        let one = statements.of(ANY, b"select 1", false, Found::Structured);
        let same = statements.of(ANY, b"select 1", false, Found::Structured);
        assert!(Arc::ptr_eq(&one, &same));
        // Another literal is another text of the same statement.
        let other = statements.of(ANY, b"select 2", false, Found::Structured);
        assert_eq!((one.id, &one.normal), (other.id, &other.normal));
        assert_ne!(one.text, other.text);
        let cut = statements.of(ANY, b"select 1", true, Found::Structured);
        assert!(cut.truncated);
    }

    #[test]
    fn no_byte_is_lost_whatever_the_character_set() {
        let mut statements = Statements::default();
        let latin = statements.of(ANY, b"select 'caf\xe9' from t", false, Found::Structured);
        assert_eq!(&*latin.text, "select 'caf\u{e9}' from t");
        // Cut inside a character of two bytes.
        let cut = statements.of(ANY, b"select x\xc3", true, Found::Structured);
        assert_eq!(&*cut.text, "select x");
    }

    #[test]
    fn of_a_long_text_the_beginning_is_kept() {
        let mut statements = Statements::default();
        let long = vec![b'x'; limits::SQL_BYTES + 1];
        let statement = statements.of(ANY, &long, false, Found::Structured);
        assert!(statement.truncated);
        assert_eq!(statement.text.len(), limits::SQL_BYTES);
    }
}
