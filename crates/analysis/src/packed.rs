//! Many results of one kind in little memory: each is [packed](mod@pack), and unpacked when it is
//! looked at.

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
        // It fails for what has no bytes, such as maps; results have none.
        let _ = pack::pack(item, &mut self.bytes);
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
        pack::unpack(bytes)
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

#[cfg(test)]
mod tests {
    use super::*;
    use model::{DirectionAccount, Mark, PacketRef, Time, TimeClass, Wait};

    #[test]
    fn what_is_packed_comes_out_again_and_takes_what_its_numbers_need() {
        let wait = |ns: i64| {
            let mark = |ns| Mark {
                time: Time(1_700_000_000_000_000_000 + ns),
                packet: PacketRef { file: 1, frame: 9 },
            };
            Wait {
                first: mark(0),
                last: mark(ns),
                ns,
            }
        };
        let mut account = DirectionAccount {
            flight_max_bytes: u64::MAX,
            window_min_bytes: Some(0),
            first_data: Some(Time(i64::MIN)),
            ..DirectionAccount::default()
        };
        account.time_ns[TimeClass::Idle] = -1;
        account.longest[TimeClass::Idle] = Some(wait(1_000));
        let all = [DirectionAccount::default(), account];
        let packed: Packed<_> = all.iter().cloned().collect();
        assert_eq!(packed.iter().collect::<Vec<_>>(), all);
        assert_eq!(packed.get(2), None);
        let largest = size_of::<DirectionAccount>() / 5;
        assert!(packed.bytes.len() < all.len() * largest);
    }
}
