//! Bytes of TTC into numbers and texts: little-endian as native clients send them, and *universal*,
//! a count of bytes before big-endian ones, as thin ones do.

use std::borrow::Cow;

/// Reads from the front. `None` means that what is asked for is not there, or is none.
#[derive(Clone, Copy, Debug)]
pub(in crate::tns) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(in crate::tns) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { bytes }
    }

    pub(in crate::tns) fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    pub(in crate::tns) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(in crate::tns) fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(n)?;
        self.bytes = rest;
        Some(head)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.bytes.split_first_chunk()?;
        self.bytes = rest;
        Some(*head)
    }

    pub(in crate::tns) fn u8(&mut self) -> Option<u8> {
        self.array::<1>().map(|[b]| b)
    }

    pub(in crate::tns) fn u16_be(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(in crate::tns) fn u32_be(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(in crate::tns) fn u16_le(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(in crate::tns) fn u32_le(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(in crate::tns) fn u64_le(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A universal number of at most `most` bytes; negative ones are none of those looked for.
    pub(in crate::tns) fn universal(&mut self, most: u8) -> Option<u64> {
        let length = self.u8()?;
        if length > most.min(8) {
            return None;
        }
        let bytes = self.take(length.into())?;
        // The shortest form is the only one.
        if bytes.first() == Some(&0) {
            return None;
        }
        let value = bytes.iter().fold(0, |n, &b| n << 8 | u64::from(b));
        Some(value)
    }

    /// Steps over a universal number that may be negative.
    pub(in crate::tns) fn signed(&mut self, most: u8) -> Option<()> {
        const NEGATIVE: u8 = 0x80;
        let length = self.u8()? & !NEGATIVE;
        (length <= most).then_some(())?;
        self.take(length.into()).map(drop)
    }

    /// A pointer of the universal representation: whether anything follows.
    pub(in crate::tns) fn pointer(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// A text with its length (CLR).
    pub(in crate::tns) fn text(&mut self) -> Option<Text<'a>> {
        match self.u8()? {
            0 | 0xff => Some(Text::of(&[])),
            CHUNKED => self.chunks(),
            length @ 1..=252 => match self.take(length.into()) {
                Some(bytes) => Some(Text::of(bytes)),
                // Cut in the middle of the text.
                None => {
                    let bytes = std::mem::take(&mut self.bytes);
                    let bytes = Cow::Borrowed(bytes);
                    Some(Text { bytes, cut: true })
                }
            },
            _ => None,
        }
    }

    /// The chunks of a text, up to the empty one. Their lengths are single bytes, or from some 12.1
    /// servers on universal; a length of 1 to 4 can only be the length of a universal number, as no
    /// sender makes chunks that small.
    fn chunks(&mut self) -> Option<Text<'a>> {
        let universal = matches!(self.bytes.first()?, 1..=4);
        let mut text = Vec::new();
        loop {
            let length = match universal {
                true => self.universal(4),
                false => self.u8().map(u64::from),
            };
            let Some(length) = length.and_then(|n| usize::try_from(n).ok()) else {
                return Some(Text {
                    bytes: text.into(),
                    cut: true,
                });
            };
            if length == 0 {
                return Some(Text {
                    bytes: text.into(),
                    cut: false,
                });
            }
            match self.take(length) {
                Some(bytes) => text.extend_from_slice(bytes),
                None => {
                    text.extend_from_slice(std::mem::take(&mut self.bytes));
                    return Some(Text {
                        bytes: text.into(),
                        cut: true,
                    });
                }
            }
        }
    }
}

/// What stands in place of a length before chunks.
pub(super) const CHUNKED: u8 = 0xfe;

/// A text, and whether its end is not there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::tns) struct Text<'a> {
    pub bytes: Cow<'a, [u8]>,
    pub cut: bool,
}

impl<'a> Text<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Text<'a> {
        Text {
            bytes: Cow::Borrowed(bytes),
            cut: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn universal_numbers_count_their_bytes() {
        let mut r = Reader::new(&[0, 1, 0x0a, 2, 0x80, 0x61, 4, 0x7f, 0xff, 0xff, 0xff]);
        assert_eq!(r.universal(4), Some(0));
        assert_eq!(r.universal(4), Some(10));
        assert_eq!(r.universal(4), Some(0x8061));
        assert_eq!(r.universal(4), Some(0x7fff_ffff));
        assert!(r.is_empty());
        assert_eq!(Reader::new(&[3, 1, 1, 1]).universal(2), None, "too long");
        assert_eq!(Reader::new(&[2, 0, 1]).universal(4), None, "not shortest");
        assert_eq!(Reader::new(&[2, 1]).universal(4), None, "cut");
    }

    #[test]
    fn texts_come_in_one_piece_or_in_chunks() {
        let mut r = Reader::new(b"\x05hello\x00rest");
        assert_eq!(r.text().unwrap(), Text::of(b"hello"));
        assert_eq!(r.text().unwrap(), Text::of(b""));
        assert_eq!(r.rest(), b"rest");
        let old = [&[0xfe, 0x40][..], &[b'a'; 64], b"\x02bc\x00!"].concat();
        let mut r = Reader::new(&old);
        let text = r.text().unwrap();
        assert_eq!((text.bytes.len(), text.cut), (66, false));
        assert_eq!(r.rest(), b"!");
        // 326 bytes behind a universal length.
        let new = [&[0xfe, 2, 1, 0x46][..], &[b'x'; 326], &[0]].concat();
        assert_eq!(Reader::new(&new).text().unwrap().bytes.len(), 326);
        // Cut.
        let text = Reader::new(&old[..40]).text().unwrap();
        assert_eq!((text.bytes.len(), text.cut), (38, true));
        let text = Reader::new(b"\x09half").text().unwrap();
        assert_eq!((&*text.bytes, text.cut), (&b"half"[..], true));
    }
}
