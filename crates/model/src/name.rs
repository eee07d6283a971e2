//! Short texts into names that are copied, not allocated: an operation such as `READ`, or `100300.5`.
//!
//! A name has the same length whatever it says, so that tables hold them ready-made and comparing or
//! hashing one is a few instructions without a call: it is done several times a call.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;

/// A short text. Of a longer one the beginning is kept.
///
/// The last byte is the length; what is not used is 0.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Name([u8; Name::BYTES + 1]);

impl Name {
    const BYTES: usize = 23;

    #[must_use]
    pub const fn of(text: &str) -> Name {
        let mut length = text.len();
        if length > Name::BYTES {
            length = Name::BYTES;
            while !text.is_char_boundary(length) {
                length -= 1;
            }
        }
        let mut bytes = [0; Name::BYTES + 1];
        let (head, _) = text.as_bytes().split_at(length);
        bytes.split_at_mut(length).0.copy_from_slice(head);
        bytes[Name::BYTES] = length as u8;
        Name(bytes)
    }

    /// A table of names.
    #[must_use]
    pub const fn all<const N: usize>(texts: [&str; N]) -> [Name; N] {
        let mut names = [Name::of(""); N];
        let mut i = 0;
        while i < N {
            names[i] = Name::of(texts[i]);
            i += 1;
        }
        names
    }

    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0[Name::BYTES] == 0
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        let [text @ .., length] = &self.0;
        let text = text.get(..usize::from(*length)).unwrap_or_default();
        std::str::from_utf8(text).unwrap_or_default()
    }
}

impl Serialize for Name {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Name {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name, D::Error> {
        String::deserialize(from).map(|text| Name::of(&text))
    }
}

impl Hash for Name {
    /// By words: of a name's bytes the hash takes 40 instructions more.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        for word in self.0.as_chunks::<8>().0 {
            state.write_u64(u64::from_ne_bytes(*word));
        }
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_keeps_its_beginning() {
        assert_eq!(Name::of("").as_str(), "");
        assert_eq!(
            Name::of("4294967295.4294967295").as_str(),
            "4294967295.4294967295"
        );
        assert_eq!(
            Name::of("12345678901234567890123456").as_str(),
            "12345678901234567890123"
        );
        assert_eq!(
            Name::of("1234567890123456789012é").as_str(),
            "1234567890123456789012"
        );
        assert_eq!(
            Name::all(["READ", "WRITE"]).map(|n| n.to_string()),
            ["READ", "WRITE"]
        );
    }
}
