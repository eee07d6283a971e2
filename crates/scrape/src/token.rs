//! The secret that those who ask bring along (RFC 6750).

use crate::ScrapeError;
use hmac_sha256::Hash;
use std::fmt;

/// As hard to guess as a password may be.
pub(crate) const LEAST_BYTES: usize = 16;

/// What is kept of it: its hash, which is compared in a time that tells nothing of the token.
#[derive(Clone, PartialEq, Eq)]
pub struct Token([u8; 32]);

impl Token {
    /// A token of a file's bytes, without the white space around it.
    ///
    /// # Errors
    /// When it is too short, or cannot stand in a header.
    pub fn new(bytes: &[u8]) -> Result<Token, ScrapeError> {
        let bytes = bytes.trim_ascii();
        match bytes.len() >= LEAST_BYTES && bytes.iter().all(u8::is_ascii_graphic) {
            true => Ok(Token(Hash::hash(bytes))),
            false => Err(ScrapeError::Token),
        }
    }

    pub(crate) fn is(&self, said: &[u8]) -> bool {
        self.0 == Hash::hash(said)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
