//! Words that the program itself has (names of errors, of ciphers), written as text and read back: what they are read into
//! is kept once for each word, as long as the process lives.
//!
//! For fields, as `#[serde(with = "crate::word")]`; in an option as `#[serde(with = "crate::word::maybe")]`.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// Of a field that is written so: by this name, as serde takes what it sees to be a `&str` for a part of what is read.
pub type Word = &'static str;

/// More than there are, and few enough to be kept whatever is read.
const WORDS: usize = 4_096;

static KNOWN: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// The word that says this; `None` where there are too many.
#[must_use]
pub fn known(text: &str) -> Option<&'static str> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(word) = known.get(text) {
        return Some(word);
    }
    if known.len() >= WORDS {
        return None;
    }
    let word: &'static str = Box::leak(text.into());
    known.insert(word);
    Some(word)
}

/// # Errors
/// Those of the format.
pub fn serialize<S: Serializer>(word: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(word)
}

/// # Errors
/// Where it is no text.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    let text = String::deserialize(from)?;
    known(&text).ok_or_else(|| D::Error::custom("too many words"))
}

/// The same of a word that may be none.
pub mod maybe {
    use super::{Deserialize, Deserializer, Error, Serialize, Serializer, known};

    /// # Errors
    /// Those of the format.
    pub fn serialize<S: Serializer>(word: &Option<&'static str>, to: S) -> Result<S::Ok, S::Error> {
        word.serialize(to)
    }

    /// # Errors
    /// Where it is no text.
    pub fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<&'static str>, D::Error> {
        let text = Option::<String>::deserialize(from)?;
        text.map(|text| known(&text).ok_or_else(|| D::Error::custom("too many words")))
            .transpose()
    }
}
