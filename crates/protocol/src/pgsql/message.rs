//! Where messages end, and the primitives they are made of (section 55.7), big-endian:
//!
//! ```text
//! message  tag:1      what it is; the same letter means different things in the two directions
//!          length:4   of all that follows the tag, itself included
//!          body
//! ```

use model::Direction;

/// What PostgreSQL itself allows (PQ_LARGE_MESSAGE_LIMIT, MaxAllocSize).
const LARGE: u32 = 0x3fff_ffff;

/// What messages that carry no data may have: an error repeats the statement.
const SMALL: u32 = 1 << 20;

/// The tag and size of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub tag: u8,
    /// Of the whole message, the tag included.
    pub bytes: u64,
}

impl Header {
    pub(super) const BYTES: usize = 5;

    /// The header of a message in this direction. `None`: none starts here, or too few bytes are
    /// there to say.
    #[inline]
    pub(super) fn parse(d: Direction, bytes: &[u8]) -> Option<Header> {
        let &[tag, a, b, c, e] = bytes.first_chunk()?;
        let length = u32::from_be_bytes([a, b, c, e]);
        let (least, most) = match d {
            Direction::ToServer => lengths_of_request(tag)?,
            Direction::ToClient => lengths_of_reply(tag)?,
        };
        (least..=most).contains(&length).then_some(Header {
            tag,
            bytes: 1 + u64::from(length),
        })
    }
}

/// How long messages of the client may be, by their tag.
fn lengths_of_request(tag: u8) -> Option<(u32, u32)> {
    Some(match tag {
        b'B' => (12, LARGE),
        b'C' | b'D' => (6, SMALL),
        b'E' => (9, SMALL),
        b'F' => (14, LARGE),
        b'P' => (8, LARGE),
        b'Q' => (5, LARGE),
        b'c' | b'H' | b'S' | b'X' => (4, 4),
        b'd' => (4, LARGE),
        b'f' => (5, SMALL),
        b'p' => (4, 65_535),
        _ => return None,
    })
}

/// How long messages of the server may be.
#[inline]
fn lengths_of_reply(tag: u8) -> Option<(u32, u32)> {
    Some(match tag {
        b'D' => (6, LARGE),
        b'd' => (4, LARGE),
        b'1' | b'2' | b'3' | b'c' | b'I' | b'n' | b's' => (4, 4),
        b'Z' => (5, 5),
        // A command tag has 64 bytes at most (COMPLETION_TAG_BUFSIZE).
        b'C' => (6, 68),
        b'E' | b'N' => (5, SMALL),
        b'A' => (10, SMALL),
        b'G' | b'H' | b'W' => (7, 4 + 3 + 2 * 1_664),
        // The key has 4 bytes in protocol 3.0 and up to 256 in 3.2.
        b'K' => (12, 264),
        b'R' => (8, 65_535),
        b'S' => (6, SMALL),
        b'T' => (6, SMALL),
        b't' => (6, 6 + 4 * 65_535),
        b'V' => (8, LARGE),
        b'v' => (12, SMALL),
        _ => return None,
    })
}

/// The bytes of a body end where more should follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Short;

/// Reads a body from front to back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, n: usize) -> Result<&'a [u8], Short> {
        let (head, tail) = self.0.split_at_checked(n).ok_or(Short)?;
        self.0 = tail;
        Ok(head)
    }

    pub(super) fn byte(&mut self) -> Result<u8, Short> {
        let (&byte, tail) = self.0.split_first().ok_or(Short)?;
        self.0 = tail;
        Ok(byte)
    }

    pub(super) fn int16(&mut self) -> Result<i16, Short> {
        let (&bytes, tail) = self.0.split_first_chunk().ok_or(Short)?;
        self.0 = tail;
        Ok(i16::from_be_bytes(bytes))
    }

    pub(super) fn int32(&mut self) -> Result<i32, Short> {
        let (&bytes, tail) = self.0.split_first_chunk().ok_or(Short)?;
        self.0 = tail;
        Ok(i32::from_be_bytes(bytes))
    }

    /// A string, without the NUL that ends it.
    pub(super) fn string(&mut self) -> Result<&'a [u8], Short> {
        let end = self.0.iter().position(|&b| b == 0).ok_or(Short)?;
        let string = self.take(end)?;
        self.take(1)?;
        Ok(string)
    }

    /// A string, or as much of it as is there.
    pub(super) fn string_or_rest(&mut self) -> &'a [u8] {
        match self.string() {
            Ok(string) => string,
            Err(Short) => std::mem::take(&mut self.0),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ToClient, ToServer};

    #[test]
    fn a_header_is_a_tag_and_a_length_that_counts_itself() {
        let header = |d, bytes: &[u8]| Header::parse(d, bytes).map(|h| (h.tag, h.bytes));
        assert_eq!(header(ToClient, b"Z\0\0\0\x05I"), Some((b'Z', 6)));
        assert_eq!(header(ToServer, b"Q\0\0\0\x0dselect 1"), Some((b'Q', 14)));
        assert_eq!(header(ToServer, b"S\0\0\0\x04"), Some((b'S', 5)));
        assert_eq!(header(ToServer, b"S\0\0\0"), None);
    }

    #[test]
    fn lengths_that_cannot_be_are_not_believed() {
        assert_eq!(Header::parse(ToClient, b"Z\0\0\0\x06I"), None);
        assert_eq!(Header::parse(ToServer, b"S\0\0\0\x05"), None);
        assert_eq!(Header::parse(ToServer, b"Q\xff\0\0\x05"), None);
        assert_eq!(Header::parse(ToClient, b"C\0\0\x01\0"), None);
        // Only the other side says so.
        assert_eq!(Header::parse(ToServer, b"Z\0\0\0\x05I"), None);
        assert_eq!(Header::parse(ToClient, b"Q\0\0\0\x0dselect 1"), None);
    }

    #[test]
    fn a_reader_takes_what_is_there() {
        let mut r = Reader(b"name\0\x00\x02\xff\xff\xff\xfetail");
        assert_eq!(r.string(), Ok(&b"name"[..]));
        assert_eq!(r.int16(), Ok(2));
        assert_eq!(r.int32(), Ok(-2));
        assert_eq!(r.string(), Err(Short));
        assert_eq!(r.string_or_rest(), b"tail");
        assert_eq!((r.byte(), r.is_empty()), (Err(Short), true));
    }
}
