//! The wire format all packets share, little-endian, and the values inside them:
//!
//! ```text
//! packet    length:3    of the payload; 0xffffff: it goes on in the next packet
//!           sequence:1  0 for a command, then one more for each packet of either side
//!           payload
//! lenenc    0..=0xfa: itself   0xfb: NULL   0xfc: 2 bytes follow   0xfd: 3   0xfe: 8
//! ```
//!
//! Source: MySQL's internals manual, "MySQL Packets" and "Protocol data types".

/// Bytes of a payload that say that it goes on in the next packet.
pub(super) const CONTINUES: u32 = 0xff_ffff;

/// What stands before every payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    /// Of the payload, bytes.
    pub length: u32,
    pub sequence: u8,
}

impl Header {
    pub(super) const BYTES: usize = 4;

    pub(super) fn parse(bytes: &[u8]) -> Option<Header> {
        let &[a, b, c, sequence] = bytes.first_chunk()?;
        Some(Header {
            length: u32::from_le_bytes([a, b, c, 0]),
            sequence,
        })
    }

    /// Of the whole packet.
    pub(super) fn bytes(self) -> u64 {
        Header::BYTES as u64 + u64::from(self.length)
    }

    /// Whether the payload goes on in the next packet.
    pub(super) fn continues(self) -> bool {
        self.length == CONTINUES
    }
}

/// Values of a payload, one after another; `None` where it ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a>(pub &'a [u8]);

impl<'a> Values<'a> {
    pub(super) fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn skip(&mut self, n: usize) -> Option<()> {
        self.bytes(n).map(|_| ())
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*taken)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A length-encoded integer.
    pub(super) fn lenenc(&mut self) -> Option<u64> {
        match self.u8()? {
            small @ 0..=0xfa => Some(u64::from(small)),
            0xfc => self.u16().map(u64::from),
            0xfd => {
                let [a, b, c] = self.array()?;
                Some(u64::from(u32::from_le_bytes([a, b, c, 0])))
            }
            0xfe => self.array().map(u64::from_le_bytes),
            0xfb | 0xff => None,
        }
    }

    /// A text with its length before it.
    pub(super) fn lenenc_text(&mut self) -> Option<&'a [u8]> {
        let length = self.lenenc()?;
        self.bytes(usize::try_from(length).ok()?)
    }

    /// A text that ends with a zero byte.
    pub(super) fn zero_text(&mut self) -> Option<&'a [u8]> {
        let end = self.0.iter().position(|&b| b == 0)?;
        let text = self.bytes(end)?;
        self.skip(1)?;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_length_and_sequence() {
        let ping = [
            1, 0, 0, // one byte of payload
            0, // the first packet of a command
            0x0e,
        ];
        let header = Header::parse(&ping).unwrap();
        assert_eq!((header.length, header.sequence), (1, 0));
        assert_eq!((header.bytes(), header.continues()), (5, false));
        assert!(Header::parse(&[0xff, 0xff, 0xff, 7]).unwrap().continues());
        assert_eq!(Header::parse(&ping[..3]), None);
    }

    #[test]
    fn integers_have_the_length_that_their_first_byte_says() {
        let lenenc = |bytes: &[u8]| Values(bytes).lenenc();
        assert_eq!(lenenc(&[0xfa]), Some(250));
        assert_eq!(lenenc(&[0xfc, 0x34, 0x12]), Some(0x1234));
        assert_eq!(lenenc(&[0xfd, 0x56, 0x34, 0x12]), Some(0x12_3456));
        assert_eq!(
            lenenc(&[0xfe, 1, 0, 0, 0, 0, 0, 0, 0x80]),
            Some(1 << 63 | 1)
        );
        // NULL and the mark of an error are no integers; nor is half of one.
        assert_eq!(lenenc(&[0xfb]), None);
        assert_eq!(lenenc(&[0xff]), None);
        assert_eq!(lenenc(&[0xfc, 0x34]), None);
    }

    #[test]
    fn texts_end_by_length_or_by_zero() {
        let mut values = Values(b"\x03abcroot\0rest");
        assert_eq!(values.lenenc_text(), Some(&b"abc"[..]));
        assert_eq!(values.zero_text(), Some(&b"root"[..]));
        assert_eq!(values.zero_text(), None);
        assert_eq!(values.0, b"rest");
        // A length beyond the end, also one that no memory holds.
        assert_eq!(Values(b"\x09abc").lenenc_text(), None);
        assert_eq!(Values(&[0xfe; 9]).lenenc_text(), None);
    }
}
