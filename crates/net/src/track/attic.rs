//! Memory for what is [packed](mod@pack), in blocks of one size: what is given back fits whatever
//! comes next, where pieces of any size would leave holes between those that stay.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::rc::Rc;

/// Bytes of a block; the first ones name the next block.
const BLOCK: usize = 64;
const LINK: usize = size_of::<u32>();
/// Blocks of a chunk: 4 MB, which the system gives page by page and takes back in one. Tests have many.
const CHUNK: usize = if cfg!(test) { 8 } else { 1 << 16 };
const NONE: u32 = u32::MAX;

type Block = [u8; BLOCK];

/// Where a value is kept.
#[derive(Debug)]
pub(super) struct Place {
    first: u32,
    length: u32,
}

impl Place {
    fn blocks(&self) -> usize {
        (self.length as usize).div_ceil(BLOCK - LINK)
    }
}

#[derive(Debug)]
struct Chunk {
    blocks: Vec<Block>,
    used: usize,
    /// The first of its free blocks, each of which names the next.
    free: u32,
    /// Whether it is listed as having room.
    listed: bool,
}

#[derive(Default, Debug)]
pub(super) struct Attic {
    /// A block's name has the chunk in its upper half, and its place in there in the lower.
    chunks: Vec<Chunk>,
    /// Chunks that may have room.
    room: Vec<usize>,
    buffer: Vec<u8>,
}

fn link(block: &Block) -> u32 {
    block
        .first_chunk()
        .map_or(NONE, |next| u32::from_le_bytes(*next))
}

fn set_link(block: &mut Block, next: u32) {
    if let Some(link) = block.first_chunk_mut() {
        *link = next.to_le_bytes();
    }
}

impl Chunk {
    /// A block of it to use, if there is one.
    fn take(&mut self) -> Option<usize> {
        let index = if self.free == NONE {
            if self.blocks.len() == CHUNK {
                return None;
            }
            if self.blocks.is_empty() {
                self.blocks.reserve_exact(CHUNK);
            }
            self.blocks.push([0; BLOCK]);
            self.blocks.len() - 1
        } else {
            let index = self.free as usize;
            self.free = link(self.blocks.get(index)?);
            index
        };
        self.used += 1;
        Some(index)
    }

    fn give_back(&mut self, index: usize) {
        self.used -= 1;
        if self.used == 0 {
            (self.blocks, self.free) = (Vec::new(), NONE);
        } else if let Some(block) = self.blocks.get_mut(index) {
            set_link(block, self.free);
            self.free = index as u32;
        }
    }
}

impl Attic {
    /// Keeps a value until it is [taken](Attic::take); `None` if it cannot be packed.
    pub(super) fn put<T: Serialize>(&mut self, value: &T) -> Option<Place> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let packed = pack::pack(value, &mut buffer);
        let place = packed.then(|| self.store(&buffer));
        self.buffer = buffer;
        place.flatten()
    }

    fn store(&mut self, bytes: &[u8]) -> Option<Place> {
        let mut first = NONE;
        // From the end, as each block names the next.
        for part in bytes.chunks(BLOCK - LINK).rev() {
            let name = self.free_block()?;
            let block = self.block(name)?;
            set_link(block, first);
            if let Some(to) = block.get_mut(LINK..LINK + part.len()) {
                to.copy_from_slice(part);
            }
            first = name;
        }
        let length = bytes.len() as u32;
        Some(Place { first, length })
    }

    /// Gives a value back; `None` where it is not a `T`.
    pub(super) fn take<T: DeserializeOwned>(&mut self, place: &Place) -> Option<T> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        let mut name = place.first;
        while name != NONE {
            let Some(block) = self.block(name) else { break };
            let next = link(block);
            buffer.extend_from_slice(block.get(LINK..).unwrap_or_default());
            self.free(name);
            name = next;
        }
        let value = pack::unpack(buffer.get(..place.length as usize).unwrap_or_default());
        self.buffer = buffer;
        value
    }

    /// Moves values into the order in which they are going to be taken, so that chunks are given back
    /// one after the other: the blocks of one value lie scattered, as it was put and taken many times.
    /// `values` are all that have a place.
    pub(super) fn sort<T>(
        &mut self,
        values: &mut [T],
        place: impl Fn(&mut T) -> Option<&mut Place>,
    ) {
        // First each block's link says where it goes, so that this needs no memory.
        let names = self.names();
        let mut to = names.clone();
        let mut used = 0;
        for place in values.iter_mut().filter_map(&place) {
            let first = to.clone().next().unwrap_or(NONE);
            let mut name = std::mem::replace(&mut place.first, first);
            while let Some(block) = self.block(name) {
                name = link(block);
                set_link(block, to.next().unwrap_or(NONE));
                used += 1;
            }
        }
        for chunk in &mut self.chunks {
            while let Some(block) = chunk.blocks.get_mut(chunk.free as usize) {
                chunk.free = link(block);
                set_link(block, to.next().unwrap_or(NONE));
            }
        }
        for name in names.clone() {
            while self.send(name) {}
        }
        let mut names = names;
        for place in values.iter_mut().filter_map(&place) {
            for left in (0..place.blocks()).rev() {
                let name = names.next().unwrap_or(NONE);
                let next = names.clone().next().filter(|_| left > 0);
                if let Some(block) = self.block(name) {
                    set_link(block, next.unwrap_or(NONE));
                }
            }
        }
        self.room.clear();
        for (number, chunk) in self.chunks.iter_mut().enumerate() {
            chunk.used = used.min(chunk.blocks.len());
            used -= chunk.used;
            chunk.blocks.truncate(chunk.used);
            if chunk.used == 0 {
                chunk.blocks = Vec::new();
            }
            chunk.listed = true;
            self.room.push(number);
        }
    }

    /// The names of all blocks, used or free.
    fn names(&self) -> impl Iterator<Item = u32> + Clone + use<> {
        let sizes: Rc<[usize]> = self.chunks.iter().map(|chunk| chunk.blocks.len()).collect();
        (0..sizes.len()).flat_map(move |number| {
            let first = number * CHUNK;
            let size = sizes.get(number).copied().unwrap_or(0);
            (first..first + size).map(|name| name as u32)
        })
    }

    /// Sends this block to where its link says, and has the one from there instead; `false` if either is
    /// where it belongs.
    fn send(&mut self, name: u32) -> bool {
        let Some(block) = self.block(name).copied() else {
            return false;
        };
        let to = link(&block);
        if to == name {
            return false;
        }
        let Some(there) = self.block(to).filter(|there| link(there) != to) else {
            return false;
        };
        let there = std::mem::replace(there, block);
        if let Some(here) = self.block(name) {
            *here = there;
        }
        true
    }

    fn block(&mut self, name: u32) -> Option<&mut Block> {
        let (chunk, index) = split(name);
        self.chunks.get_mut(chunk)?.blocks.get_mut(index)
    }

    fn free_block(&mut self) -> Option<u32> {
        loop {
            let Some(&number) = self.room.last() else {
                self.room.push(self.chunks.len());
                self.chunks.push(Chunk {
                    blocks: Vec::new(),
                    used: 0,
                    free: NONE,
                    listed: true,
                });
                continue;
            };
            let chunk = self.chunks.get_mut(number)?;
            if let Some(index) = chunk.take() {
                return Some((number * CHUNK + index) as u32);
            }
            chunk.listed = false;
            self.room.pop();
        }
    }

    fn free(&mut self, name: u32) {
        let (number, index) = split(name);
        if let Some(chunk) = self.chunks.get_mut(number) {
            chunk.give_back(index);
            if !std::mem::replace(&mut chunk.listed, true) {
                self.room.push(number);
            }
        }
    }
}

fn split(name: u32) -> (usize, usize) {
    (name as usize / CHUNK, name as usize % CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_put_is_taken_and_its_blocks_are_used_again(
            rounds in prop::collection::vec(prop::collection::vec(any::<Vec<u16>>(), 0..20), 1..8),
        ) {
            let mut attic = Attic::default();
            let mut most = 0;
            for values in rounds {
                let places: Vec<_> = values.iter().map(|v| attic.put(v).expect("a value")).collect();
                most = most.max(attic.chunks.iter().map(|c| c.used).sum());
                for (value, place) in values.iter().zip(&places) {
                    prop_assert_eq!(attic.take::<Vec<u16>>(place), Some(value.clone()));
                }
                prop_assert!(attic.chunks.iter().all(|c| c.used == 0 && c.blocks.is_empty()));
            }
            prop_assert!(most <= 20 * (100 * 3 / 60 + 2));
        }

        #[test]
        fn sorted_values_are_taken_chunk_by_chunk(
            values in prop::collection::vec((any::<Vec<u16>>(), any::<u8>(), any::<bool>()), 0..60),
        ) {
            let mut attic = Attic::default();
            let put = |attic: &mut Attic, v: &Vec<u16>| attic.put(v).expect("a value");
            let mut kept: Vec<_> = values.into_iter().map(|v| (put(&mut attic, &v.0), v)).collect();
            for (place, (value, _, longer)) in &mut kept {
                if *longer {
                    prop_assert_eq!(attic.take(place), Some(value.clone()));
                    value.extend(0..50);
                    *place = put(&mut attic, value);
                }
            }
            kept.retain(|(place, (_, rank, _))| *rank >= 64 || attic.take::<Vec<u16>>(place).is_none());
            kept.sort_by_key(|(_, (_, rank, _))| *rank);
            attic.sort(&mut kept, |(place, _)| Some(place));
            let mut left: usize = kept.iter().map(|(place, _)| place.blocks()).sum();
            for (place, (value, ..)) in &kept {
                let held: usize = attic.chunks.iter().map(|c| c.blocks.len()).sum();
                prop_assert!(held < left + CHUNK);
                left -= place.blocks();
                prop_assert_eq!(attic.take(place), Some(value.clone()));
            }
            prop_assert!(attic.chunks.iter().all(|c| c.used == 0 && c.blocks.is_empty()));
            let again = put(&mut attic, &vec![7; 100]);
            prop_assert_eq!(attic.take::<Vec<u16>>(&again), Some(vec![7; 100]));
        }
    }
}
