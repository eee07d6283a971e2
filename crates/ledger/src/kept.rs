//! Calls whose own time is known, kept until the captures are over: what divides a call's time may come
//! long after it (the shortest round trip, what a server takes unloaded, how fast a line is). Packed in
//! variable-length numbers, some thirty bytes each, one behind the other.

use crate::held::{Held, HeldUp};
use crate::one::Lost;
use model::{Direction, EpisodeKind};
use std::marker::PhantomData;

/// Bytes of one piece.
const PIECE: usize = 1 << 20;

/// What can be packed.
pub trait Pack: Sized {
    fn pack(&self, into: &mut Packer<'_>);
    fn unpack(from: &mut Unpacker<'_>) -> Option<Self>;
}

/// Items of one kind, in the order in which they came.
pub struct Kept<T> {
    pieces: Vec<Vec<u8>>,
    last: Vec<u8>,
    count: u64,
    of: PhantomData<fn(T)>,
}

impl<T> Default for Kept<T> {
    fn default() -> Kept<T> {
        Kept {
            pieces: Vec::new(),
            last: Vec::new(),
            count: 0,
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
    }

    #[must_use]
    pub fn len(&self) -> u64 {
        self.count
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Shows all of them.
    pub fn each(&self, mut look: impl FnMut(T)) {
        for piece in self.pieces.iter().chain([&self.last]) {
            let mut rest = Unpacker(piece);
            while let Some(item) = T::unpack(&mut rest) {
                look(item);
            }
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
        self.number(((n << 1) ^ (n >> 63)) as u64);
    }

    /// Only what is not zero.
    pub fn held(&mut self, held: &Held) {
        let both = [Direction::ToServer, Direction::ToClient];
        if both.into_iter().all(|d| held.is_free(d)) {
            return self.number(0);
        }
        let each = || {
            both.into_iter().flat_map(|d| {
                let kinds = held.of(d).iter().filter(|(_, ns)| **ns != 0);
                kinds.map(move |(kind, ns)| (d, kind, *ns))
            })
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
        let n = self.number()?;
        Some((n >> 1) as i64 ^ -((n & 1) as i64))
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

    /// Whether something was lost, and whether it went in datagrams.
    pub(crate) fn lost(&mut self) -> Option<(Lost, bool)> {
        let n = self.number()?;
        Some((Lost::of(n / 2), n % 2 == 1))
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

    #[derive(Clone, PartialEq, Debug)]
    struct Item(u64, i64, Held);

    impl Pack for Item {
        fn pack(&self, p: &mut Packer<'_>) {
            p.number(self.0);
            p.signed(self.1);
            p.held(&self.2);
        }

        fn unpack(u: &mut Unpacker<'_>) -> Option<Item> {
            Some(Item(u.number()?, u.signed()?, u.held()?))
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
            kept.each(|i| back.push(i));
            prop_assert_eq!(back, items);
        }
    }
}
