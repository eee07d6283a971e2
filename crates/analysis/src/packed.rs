//! Many results of one kind in little memory: each is packed into the bytes that its numbers need, most
//! of which are zero or small, and unpacked when it is looked at.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::marker::PhantomData;

/// A list of `T`, packed.
#[derive(Clone, Debug)]
pub struct Packed<T> {
    bytes: Vec<u8>,
    /// Where each begins in `bytes`.
    starts: Vec<usize>,
    of: PhantomData<T>,
}

impl<T> Default for Packed<T> {
    fn default() -> Packed<T> {
        Packed {
            bytes: Vec::new(),
            starts: Vec::new(),
            of: PhantomData,
        }
    }
}

impl<T: Serialize + DeserializeOwned> Packed<T> {
    pub fn push(&mut self, item: &T) {
        self.starts.push(self.bytes.len());
        // It fails for what has no bytes, such as sequences of unknown length; results have none.
        if let Ok(bytes) = postcard::to_allocvec(item) {
            self.bytes.extend_from_slice(&bytes);
        }
    }

    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.starts.is_empty()
    }

    #[must_use]
    pub fn get(&self, index: usize) -> Option<T> {
        let bytes = self.bytes.get(*self.starts.get(index)?..)?;
        let (item, _) = postcard::take_from_bytes(bytes).ok()?;
        Some(item)
    }

    pub fn iter(&self) -> impl Iterator<Item = T> {
        (0..self.len()).filter_map(|i| self.get(i))
    }
}

impl<T: Serialize + DeserializeOwned> FromIterator<T> for Packed<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Packed<T> {
        let mut packed = Packed::default();
        items.into_iter().for_each(|item| packed.push(&item));
        packed
    }
}
