//! TNS packets: the eight bytes before each, in their two forms, and what makes them believable.
//!
//! ```text
//! short   length:2  checksum:2  kind:1  flags:1  checksum:2
//! long    length:4              kind:1  flags:1  checksum:2
//! ```
//!
//! Big-endian; the length is of the whole packet. The long form is used by both sides from the packet
//! behind an ACCEPT of version 315 (Oracle 12.1) on. A DATA packet goes on with two bytes of flags.
//! Nothing but the first bytes is held against the flags: servers set them as they like.

/// How packets begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    Short,
    Long,
}

/// The version from which on an ACCEPT begins the long form.
pub(super) const LONG_FROM: u16 = 315;

/// The types of packets that have a meaning here, by the names of Wireshark's `tns.type`.
pub(super) mod kind {
    pub(in crate::tns) const CONNECT: u8 = 1;
    pub(in crate::tns) const ACCEPT: u8 = 2;
    pub(in crate::tns) const REFUSE: u8 = 4;
    pub(in crate::tns) const REDIRECT: u8 = 5;
    pub(in crate::tns) const DATA: u8 = 6;
    pub(in crate::tns) const ABORT: u8 = 9;
    pub(in crate::tns) const RESEND: u8 = 11;
    pub(in crate::tns) const MARKER: u8 = 12;
    pub(in crate::tns) const DATA_DESCRIPTOR: u8 = 15;

    /// ACK, NULL, ATTENTION, CONTROL and the highest one known are accepted and mean nothing here.
    pub(super) fn is_known(kind: u8) -> bool {
        matches!(kind, 1..=7 | 9 | 11..=15 | 19)
    }
}

/// Flags of a DATA packet.
pub(super) mod data {
    /// The sender closes the session.
    pub(in crate::tns) const EOF: u16 = 0x0040;
    pub(in crate::tns) const COMPRESSED: u16 = 0x0400;
    pub(in crate::tns) const END_OF_REQUEST: u16 = 0x0800;
    pub(in crate::tns) const BEGIN_PIPELINE: u16 = 0x1000;
    pub(in crate::tns) const END_OF_RESPONSE: u16 = 0x2000;
    /// All that any source names.
    pub(super) const KNOWN: u16 = 0x0001
        | 0x0002
        | 0x0004
        | 0x0020
        | EOF
        | 0x0080
        | 0x0100
        | 0x0200
        | COMPRESSED
        | END_OF_REQUEST
        | BEGIN_PIPELINE
        | END_OF_RESPONSE
        | 0x8000;
}

/// Flag of a RESEND: the client is to begin TLS anew before it repeats its CONNECT.
pub(super) const REDO_TLS: u8 = 0x08;

/// The largest session data unit, and what a packet may be longer than that.
const LONGEST: u64 = (2 << 20) + 4_096;

/// The start of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub form: Form,
    /// Of the whole packet.
    pub length: u64,
    pub kind: u8,
    pub flags: u8,
}

impl Header {
    pub(super) const BYTES: usize = 8;
    /// With the flags of a DATA packet.
    pub(super) const DATA_BYTES: usize = 10;

    /// Reads the header that starts here, of the form `form` or whichever it can be of. `None`: none
    /// does, or too few bytes are there to say.
    pub(super) fn parse(bytes: &[u8], form: Option<Form>) -> Option<Header> {
        let &[a, b, c, d, kind, flags, e, f] = bytes.first_chunk()?;
        let short = u64::from(u16::from_be_bytes([a, b]));
        let checksum = u16::from_be_bytes([c, d]);
        let long = u64::from(u32::from_be_bytes([a, b, c, d]));
        let form = form.unwrap_or(match short {
            0..8 => Form::Long,
            _ if matches!(checksum, 0 | 4) => Form::Short,
            _ => Form::Long,
        });
        let length = match form {
            Form::Short if !matches!(checksum, 0 | 4) => return None,
            Form::Short => short,
            Form::Long => long,
        };
        let least = match kind {
            kind::DATA => Header::DATA_BYTES,
            _ => Header::BYTES,
        };
        let is =
            kind::is_known(kind) && [e, f] == [0, 0] && (least as u64..=LONGEST).contains(&length);
        is.then_some(Header {
            form,
            length,
            kind,
            flags,
        })
    }

    /// Whether what follows the header can belong to it, as far as it is there.
    fn is_believable(&self, bytes: &[u8]) -> bool {
        let two = |at: usize| {
            let two = bytes.get(at..at + 2)?.first_chunk().copied()?;
            Some(u16::from_be_bytes(two))
        };
        match self.kind {
            kind::DATA => two(8).is_none_or(|flags| flags & !data::KNOWN == 0),
            kind::MARKER => {
                self.length == 11
                    && bytes.get(8).is_none_or(|&b| b <= 2)
                    && bytes.get(9).is_none_or(|&b| b == 0)
            }
            kind::CONNECT | kind::ACCEPT => {
                self.form == Form::Short && two(8).is_none_or(is_version)
            }
            kind::RESEND => self.length == 8,
            kind::REFUSE | kind::ABORT => self.length >= 12,
            kind::REDIRECT => self.length >= 10,
            kind::DATA_DESCRIPTOR => self.length >= 20,
            _ => self.length < 512,
        }
    }
}

/// The protocol's version: 300 (Oracle 8) up to 319 (23ai), and a few to come.
pub(super) fn is_version(version: u16) -> bool {
    (300..=330).contains(&version)
}

/// Whether a packet starts here for all that can be seen: its header stands, and another behind it,
/// or it ends where these `wire` bytes of a TCP segment do.
pub(super) fn starts(bytes: &[u8], form: Option<Form>, wire: u64, at_start: bool) -> bool {
    let Some(header) = Header::parse(bytes, form) else {
        return false;
    };
    if !header.is_believable(bytes) {
        return false;
    }
    // A CONNECT says enough itself: some clients put a byte too many behind it.
    let begins = header.kind == kind::CONNECT && at_start && bytes.len() > Header::DATA_BYTES;
    if header.length == wire || begins {
        return true;
    }
    // Where the form is known, so much of a header at the start of a segment is no chance.
    if header.length > wire {
        return at_start && form.is_some() && bytes.len() >= Header::DATA_BYTES;
    }
    // A packet may be behind that was not captured, or of which too little is there.
    let Some(next) = usize::try_from(header.length)
        .ok()
        .and_then(|n| bytes.get(n..))
    else {
        return at_start && form.is_some();
    };
    let form = next_form(&header, bytes);
    match Header::parse(next, form) {
        Some(behind) => behind.is_believable(next),
        None => next.len() < Header::BYTES && at_start,
    }
}

/// The form of the packet behind this one, as far as it says.
fn next_form(header: &Header, bytes: &[u8]) -> Option<Form> {
    if header.kind != kind::ACCEPT {
        return Some(header.form);
    }
    let version = u16::from_be_bytes(bytes.get(8..10)?.first_chunk().copied()?);
    Some(match version {
        LONG_FROM.. => Form::Long,
        _ => Form::Short,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_form_has_two_bytes_of_length() {
        // A fetch: cursor 5, 10 rows.
        let fetch = [
            0x00, 0x15, 0, 0, 6, 0, 0, 0, 0, 0, 3, 5, 0x3b, 5, 0, 0, 0, 10, 0, 0, 0,
        ];
        let header = Header {
            form: Form::Short,
            length: 21,
            kind: kind::DATA,
            flags: 0,
        };
        assert_eq!(Header::parse(&fetch, None), Some(header));
        assert_eq!(Header::parse(&fetch, Some(Form::Short)), Some(header));
        assert!(starts(&fetch, None, 21, true));
        for end in 0..Header::BYTES {
            assert_eq!(Header::parse(&fetch[..end], None), None, "{end} bytes");
        }
    }

    #[test]
    fn the_long_form_has_four() {
        // The first packet behind an ACCEPT of version 315.
        let services = [0, 0, 0, 0xa4, 6, 0x20, 0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef];
        let header = Header::parse(&services, None).unwrap();
        assert_eq!(
            (header.form, header.length, header.kind, header.flags),
            (Form::Long, 164, kind::DATA, 0x20)
        );
        let close = [0, 0, 0, 0x0a, 6, 0x20, 0, 0, 0, 0x40];
        assert!(starts(&close, Some(Form::Long), 10, false));
        // 65,547 bytes: the first two are no short length.
        let large = [0, 1, 0, 11, 6, 0, 0, 0, 0, 0];
        assert_eq!(Header::parse(&large, None).unwrap().length, 65_547);
    }

    #[test]
    fn markers_have_both_forms() {
        let brk = [0, 0x0b, 0, 0, 0x0c, 0, 0, 0, 1, 0, 1];
        let long = [0, 0, 0, 0x0b, 0x0c, 0x20, 0, 0, 1, 0, 1];
        assert!(starts(&brk, None, 11, false));
        assert!(starts(&long, None, 11, false));
        // Break and reset in one segment.
        let both = [brk, [0, 0x0b, 0, 0, 0x0c, 0, 0, 0, 1, 0, 2]].concat();
        assert!(starts(&both, None, 22, false));
    }

    #[test]
    fn behind_an_accept_the_form_changes() {
        let accept = [
            0x00, 0x29, 0, 0, 2, 0, 0, 0, 0x01, 0x3b, 0x0c, 0x41, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0x29,
            0x41, 0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0x20, 0, 0, 0,
        ];
        let close = [0, 0, 0, 0x0a, 6, 0x20, 0, 0, 0, 0x40];
        let both = [&accept[..], &close].concat();
        assert!(starts(&both, None, both.len() as u64, true));
    }

    #[test]
    fn what_cannot_be_is_not_believed() {
        let good = [0, 0x0d, 0, 0, 6, 0, 0, 0, 0, 0, 3, 0x0e, 6];
        assert!(starts(&good, None, 13, true));
        for (at, value) in [(1, 9), (2, 1), (4, 0), (4, 16), (4, 20), (6, 1), (9, 8)] {
            let mut bad = good;
            bad[at] = value;
            assert!(!starts(&bad, None, 13, true), "{value} at {at}");
        }
        // A length that ends nowhere.
        assert!(!starts(&good, None, 14, false));
    }
}
