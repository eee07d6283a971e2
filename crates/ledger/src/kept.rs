//! Calls whose own time is known, kept until the captures are over: what divides a call's time may come
//! long after it (the shortest round trip, what a server takes unloaded, how fast a line is). Packed in
//! variable-length numbers, one behind the other, of which those that are zero take a bit.

use crate::held::{Held, HeldUp};
use model::{Direction, EpisodeKind};
use std::marker::PhantomData;

/// Bytes of one piece.
const PIECE: usize = 1 << 20;

/// Numbers that are packed together at most, and the bytes that say which of them are not zero.
const MOST: usize = 29;
const WHICH: usize = size_of::<u32>();

/// The bits that a number of so many bytes has.
const OWN: [u64; 9] = {
    let mut own = [0; 9];
    let mut length = 1;
    while length < own.len() {
        own[length] = own[length - 1] << 8 | 0xff;
        length += 1;
    }
    own
};

/// What can be kept of a call.
pub trait Pack: Default {
    /// What its client waited as far as it was seen, which is a part of its ledger's least.
    fn waited_ns(&self) -> i64;
    fn pack(&self, into: &mut Packer<'_>);
    /// Becomes what was packed, whatever it was; `None` at the end.
    fn unpack(&mut self, from: &mut Unpacker<'_>) -> Option<()>;

    /// Becomes each of a piece, one after the other.
    fn read(&mut self, piece: &[u8], look: &mut impl FnMut(&mut Self)) {
        let mut rest = Unpacker(piece);
        while self.unpack(&mut rest).is_some() {
            look(self);
        }
    }
}

/// Items of one kind, in the order in which they came.
pub struct Kept<T> {
    pieces: Vec<Vec<u8>>,
    last: Vec<u8>,
    count: u64,
    waited_ns: i64,
    of: PhantomData<fn(T)>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept {
            pieces: Vec::new(),
            last: Vec::new(),
            count: 0,
            waited_ns: 0,
            of: PhantomData,
        }
    }
}

impl<T: Pack> Kept<T> {
    pub fn push(&mut self, item: &T) {
        if self.last.len() >= PIECE {
            let full = std::mem::replace(&mut self.last, Vec::with_capacity(PIECE + PIECE / 16));
            self.pieces.push(full);
        }
        item.pack(&mut Packer(&mut self.last));
        self.count += 1;
        self.waited_ns = self.waited_ns.saturating_add(item.waited_ns());
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What the clients of all of them waited.
    #[must_use]
    pub fn waited_ns(&self) -> i64 {
        self.waited_ns
    }

    /// Shows all of them; each in the same place, as they are large.
    pub fn each(&self, mut look: impl FnMut(&mut T)) {
        let mut item = T::default();
        for piece in self.pieces.iter().chain([&self.last]) {
            item.read(piece, &mut look);
        }
    }

    /// What each of them is worth, together.
    #[must_use]
    pub fn sum(&self, worth_ns: impl Fn(&T) -> i64) -> i64 {
        let mut sum_ns = 0i64;
        self.each(|item| sum_ns = sum_ns.saturating_add(worth_ns(item)));
        sum_ns
    }

    /// The same for the last time: what was shown is freed.
    pub fn drain(&mut self, mut look: impl FnMut(&mut T)) {
        let mut item = T::default();
        let Kept { pieces, last, .. } = std::mem::take(self);
        for piece in pieces.into_iter().chain([last]) {
            item.read(&piece, &mut look);
        }
    }
}

/// Writes numbers, seven bits a byte, the lowest first (LEB128).
pub struct Packer<'a>(&'a mut Vec<u8>);

impl Packer<'_> {
    pub fn new(into: &mut Vec<u8>) -> Packer<'_> {
        Packer(into)
    }

    #[inline]
    pub fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    /// Signed numbers alternate: 0, -1, 1, -2…
    pub fn signed(&mut self, n: i64) {
        self.number(alternating(n));
    }

    /// A byte and numbers, each behind how many bytes it has.
    #[inline]
    pub(crate) fn all_sized<const N: usize, const ROOM: usize>(
        &mut self,
        byte: u8,
        all: &[u64; N],
    ) {
        const { assert!(ROOM > 9 * N) };
        let mut bytes = [byte; ROOM];
        let mut end = 1;
        for n in all {
            end = put(&mut bytes, end, *n);
        }
        self.0.extend_from_slice(&bytes[..end]);
    }

    /// Numbers, each behind a byte and how many bytes it has.
    #[inline]
    pub(crate) fn bytes_and_sized<const ROOM: usize>(&mut self, all: &[(u8, u64)]) {
        let mut bytes = [0; ROOM];
        let mut end = 0;
        for (byte, n) in all.iter().take(ROOM / 10) {
            bytes[end] = *byte;
            end = put(&mut bytes, end + 1, *n);
        }
        self.0.extend_from_slice(&bytes[..end]);
    }

    /// Numbers many of which are zero: which are not, and these, each behind how many bytes it has.
    pub(crate) fn numbers<const N: usize>(&mut self, all: &[u64; N]) {
        const { assert!(N <= MOST) };
        let mut bytes = [0; WHICH + 9 * MOST];
        let (mut which, mut end) = (0u32, WHICH);
        for (i, n) in all.iter().enumerate().filter(|(_, n)| **n != 0) {
            which |= 1 << i;
            end = put(&mut bytes, end, *n);
        }
        bytes[..WHICH].copy_from_slice(&which.to_le_bytes());
        self.0.extend_from_slice(&bytes[..end]);
    }

    /// Only what is not zero.
    pub fn held(&mut self, held: &Held) {
        let both = [Direction::ToServer, Direction::ToClient];
        let each = || {
            both.into_iter()
                .flat_map(|d| held.each(d).map(move |(kind, ns)| (d, kind, ns)))
        };
        self.number(each().count() as u64);
        for (d, kind, ns) in each() {
            self.number((kind as usize * 2 + d.index()) as u64);
            self.signed(ns);
        }
    }

    pub fn held_up(&mut self, held: &HeldUp) {
        self.held(&held.passing);
        self.held(&held.waiting);
    }
}

/// Writes a number behind how many bytes it has, however large in one piece: the next begins where it ends.
#[inline]
fn put(bytes: &mut [u8], at: usize, n: u64) -> usize {
    let length = 8 - n.leading_zeros() as usize / 8;
    if let Some(place) = bytes.get_mut(at..).and_then(|rest| rest.first_chunk_mut()) {
        *place = sized(length, n);
    }
    at + 1 + length
}

/// A number behind how many bytes it has; those that it has not are to be left out.
#[inline]
fn sized(length: usize, n: u64) -> [u8; 9] {
    let mut bytes = [length as u8; 9];
    bytes[1..].copy_from_slice(&n.to_le_bytes());
    bytes
}

/// A signed number as one that is small where it is near zero.
pub(crate) fn alternating(n: i64) -> u64 {
    ((n << 1) ^ (n >> 63)) as u64
}

/// What was [`alternating`].
pub(crate) fn straight(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

/// Reads what a [`Packer`] wrote.
pub struct Unpacker<'a>(&'a [u8]);

impl Unpacker<'_> {
    #[must_use]
    pub fn new(from: &[u8]) -> Unpacker<'_> {
        Unpacker(from)
    }

    #[inline]
    pub fn number(&mut self) -> Option<u64> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        // Nearly all are zero.
        match first {
            0..0x80 => Some(first.into()),
            _ => self.longer(first & 0x7f),
        }
    }

    /// A number of more than one byte.
    fn longer(&mut self, lowest: u8) -> Option<u64> {
        let mut n = u64::from(lowest);
        for shift in (7..64).step_by(7) {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            n |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        Some(n)
    }

    #[inline]
    pub fn signed(&mut self) -> Option<i64> {
        self.number().map(straight)
    }

    #[inline]
    pub(crate) fn numbers<const N: usize>(&mut self) -> Option<[u64; N]> {
        let (which, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        let mut which = u32::from_le_bytes(*which);
        let mut all = [0; N];
        while which != 0 {
            *all.get_mut(which.trailing_zeros() as usize)? = self.sized()?;
            which &= which - 1;
        }
        Some(all)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    #[inline]
    pub(crate) fn sized(&mut self) -> Option<u64> {
        let Some([length, bytes @ ..]) = self.0.first_chunk::<9>() else {
            return self.last();
        };
        // What follows is cut off again.
        let own = OWN.get(usize::from(*length))?;
        self.0 = self.0.get(1 + usize::from(*length)..)?;
        Some(u64::from_le_bytes(*bytes) & own)
    }

    /// A number near the end.
    fn last(&mut self) -> Option<u64> {
        let (length, rest) = self.0.split_first()?;
        let (own, behind) = rest.split_at_checked(usize::from(*length))?;
        self.0 = behind;
        Some(own.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b)))
    }

    pub fn held(&mut self) -> Option<Held> {
        let mut held = Held::default();
        for _ in 0..self.number()? {
            let which = usize::try_from(self.number()?).ok()?;
            let kind = *EpisodeKind::ALL.get(which / 2)?;
            let d = match which % 2 {
                0 => Direction::ToServer,
                _ => Direction::ToClient,
            };
            held.add(d, kind, self.signed()?);
        }
        Some(held)
    }

    pub fn held_up(&mut self) -> Option<HeldUp> {
        Some(HeldUp {
            passing: self.held()?,
            waiting: self.held()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, PartialEq, Debug, Default)]
    struct Item(u64, i64, Held);

    impl Pack for Item {
        fn waited_ns(&self) -> i64 {
            self.1
        }

        fn pack(&self, p: &mut Packer<'_>) {
            p.number(self.0);
            p.signed(self.1);
            p.held(&self.2);
        }

        fn unpack(&mut self, u: &mut Unpacker<'_>) -> Option<()> {
            *self = Item(u.number()?, u.signed()?, u.held()?);
            Some(())
        }
    }

    proptest! {
        #[test]
        fn what_is_kept_comes_back(list in proptest::collection::vec((any::<u64>(), any::<i64>(), 0..i64::MAX), 0..50)) {
            let mut kept = Kept::default();
            let items: Vec<Item> = list.into_iter().map(|(a, b, ns)| {
                let mut held = Held::default();
                if a % 3 == 0 {
                    held.add(Direction::ToClient, EpisodeKind::SmallWindow, ns);
                }
                Item(a, b, held)
            }).collect();
            items.iter().for_each(|i| kept.push(i));
            let mut back = Vec::new();
            kept.each(|i| back.push(i.clone()));
            prop_assert_eq!(back, items);
        }
    }
}
