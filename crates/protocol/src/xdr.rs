//! A cursor over XDR (RFC 4506) that may have been cut anywhere: bytes into integers and opaques.
//!
//! Every getter gives `None` where the bytes end too early and then stays where it was, so that
//! readers are chains of `?` that keep what they found before the cut. No length field is trusted
//! beyond the bytes at hand.

/// Reads XDR items one after the other.
#[derive(Clone, Debug)]
pub struct Xdr<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Xdr<'a> {
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Xdr {
            rest: bytes,
            length: bytes.len(),
        }
    }

    /// So many bytes at a position that was not read yet.
    #[must_use]
    pub fn peek(&self, position: u32, length: u32) -> Option<&'a [u8]> {
        let start = (position as usize).checked_sub(self.position())?;
        self.rest.get(start..start.checked_add(length as usize)?)
    }

    /// Bytes read so far.
    #[must_use]
    pub fn position(&self) -> usize {
        self.length - self.rest.len()
    }

    /// An opaque of fixed length that is a multiple of four (section 4.9).
    pub fn fixed<const N: usize>(&mut self) -> Option<&'a [u8; N]> {
        let (head, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(head)
    }

    /// An unsigned integer, enumeration or boolean (sections 4.2 to 4.4).
    pub fn u32(&mut self) -> Option<u32> {
        self.fixed().map(|b| u32::from_be_bytes(*b))
    }

    /// An unsigned hyper (section 4.5).
    pub fn u64(&mut self) -> Option<u64> {
        self.fixed().map(|b| u64::from_be_bytes(*b))
    }

    /// Passes over `n` bytes.
    pub fn skip(&mut self, n: usize) -> Option<()> {
        self.rest = self.rest.get(n..)?;
        Some(())
    }

    /// Passes over `size` bytes that follow only where the boolean before them is true (section 4.19).
    pub(crate) fn optional(&mut self, size: usize) -> Option<()> {
        match self.u32()? {
            0 => Some(()),
            _ => self.skip(size),
        }
    }

    /// An opaque of variable length (section 4.10). Its padding may be cut, its bytes may not.
    pub fn opaque(&mut self) -> Option<&'a [u8]> {
        let (length, rest) = self.rest.split_first_chunk()?;
        let length = u32::from_be_bytes(*length) as usize;
        let bytes = rest.get(..length)?;
        self.rest = rest.get(padded(length)..).unwrap_or_default();
        Some(bytes)
    }

    /// An array of variable length (section 4.13) whose items are `size` bytes each, passed over.
    pub(crate) fn skip_array(&mut self, size: usize) -> Option<()> {
        let mut ahead = self.clone();
        let count = ahead.u32()? as usize;
        ahead.skip(count.checked_mul(size)?)?;
        *self = ahead;
        Some(())
    }

    /// An array of variable length whose items `item` passes over. Every item must take bytes: they
    /// bound the loop, not the count.
    pub fn each(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        let count = self.u32()?;
        for _ in 0..count {
            item(self)?;
        }
        Some(())
    }
}

/// A length rounded up to XDR's unit of four bytes (section 3).
#[must_use]
pub fn padded(length: usize) -> usize {
    length.saturating_add(3) & !3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_follow_each_other_on_four_byte_boundaries() {
        let mut x = Xdr::new(&[
            0, 0, 0, 7, // 7
            0, 0, 0, 5, b'h', b'e', b'l', b'l', b'o', 0, 0, 0, // "hello"
            0, 0, 0, 1, 0, 0, 0, 2, // 2^32 + 2
        ]);
        assert_eq!(x.u32(), Some(7));
        assert_eq!(x.opaque(), Some(&b"hello"[..]));
        assert_eq!(x.position(), 16);
        assert_eq!(x.u64(), Some((1 << 32) + 2));
        assert_eq!(x.u32(), None);
        assert_eq!(x.position(), 24);
    }

    #[test]
    fn an_opaque_is_whole_without_its_padding_and_absent_without_its_last_byte() {
        assert_eq!(Xdr::new(&[0, 0, 0, 2, 8, 9]).opaque(), Some(&[8_u8, 9][..]));
        let mut x = Xdr::new(&[0, 0, 0, 2, 8]);
        assert_eq!(x.opaque(), None);
        assert_eq!(x.position(), 0);
    }

    #[test]
    fn absurd_lengths_are_refused() {
        let mut x = Xdr::new(&[0xff; 12]);
        assert_eq!(x.opaque(), None);
        assert_eq!(x.skip_array(usize::MAX), None);
        assert_eq!(x.each(|x| x.skip(4)), None);
    }
}
