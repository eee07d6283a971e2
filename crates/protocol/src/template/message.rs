//! The wire format, big-endian:
//!
//! ```text
//! greeting  8 bytes   once, from the client
//! message   length:4  of all that follows
//!           kind:1    1 request, 2 response
//!           id:4
//!           body      length - 5 bytes
//! ```

/// What a client says first.
pub(super) const GREETING: [u8; 8] = *b"SLOWtpl\x01";

/// Bytes of a message that are believed; more is a damaged length, or no message at all.
const LONGEST: u32 = 1 << 24;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Request,
    Response,
}

/// The part of a message that is looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub kind: Kind,
    pub id: u32,
    /// Of the whole message.
    pub bytes: u64,
}

impl Header {
    /// Length, kind and id.
    pub(super) const BYTES: usize = 9;

    /// Reads the header of the message that starts here. `None`: none does, or too few bytes are
    /// there to say.
    pub(super) fn parse(bytes: &[u8]) -> Option<Header> {
        let (length, rest) = bytes.split_first_chunk()?;
        let (kind, rest) = rest.split_first()?;
        let id = u32::from_be_bytes(*rest.first_chunk()?);
        let length = u32::from_be_bytes(*length);
        let kind = match kind {
            1 => Kind::Request,
            2 => Kind::Response,
            _ => return None,
        };
        // Kind and id are part of the length.
        (5..=LONGEST).contains(&length).then_some(Header {
            kind,
            id,
            bytes: 4 + u64::from(length),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_nine_bytes() {
        let request = [
            0, 0, 0, 7, // length
            1, // request
            0, 0, 1, 2, // id
            0xaa, 0xbb, // body
        ];
        let header = Header {
            kind: Kind::Request,
            id: 0x102,
            bytes: 11,
        };
        assert_eq!(Header::parse(&request), Some(header));
        assert_eq!(Header::parse(&request[..Header::BYTES]), Some(header));
        for end in 0..Header::BYTES {
            assert_eq!(Header::parse(&request[..end]), None, "{end} bytes");
        }
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        assert!(Header::parse(&[0, 0, 0, 5, 2, 0, 0, 0, 1]).is_some());
        // Shorter than its own header, longer than anything, and of a kind that does not exist.
        assert_eq!(Header::parse(&[0, 0, 0, 4, 2, 0, 0, 0, 1]), None);
        assert_eq!(Header::parse(&[0xff, 0, 0, 5, 2, 0, 0, 0, 1]), None);
        assert_eq!(Header::parse(&[0, 0, 0, 5, 3, 0, 0, 0, 1]), None);
    }
}
