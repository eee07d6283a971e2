//! A value into few bytes and back, for what is kept in great numbers and seldom looked at: connections
//! that are quiet, rows of a list. A format of serde's, for our own memory and that of processes of the same
//! version with which a capture is shared: it does not describe itself.
//!
//! Most numbers of such values are zero or small, and of the others most come several times, such as the
//! time of the last packet:
//!
//! ```text
//! 0x00…0x1f       1 to 32 zeros in a row
//! 0x20…0x5f       a number from 2 to 65
//! 0x60…0x77       8 times a number from 0 to 2, and one from 0 to 7: these are how many zeros, then
//!                 that many ones and one more
//! 0x77 + n        n bytes with a number, the lowest first
//! 0x80…0xff       the larger number of the last ones that is in this place now
//! ```
//!
//! A time (a newtype called `Time`) that comes for the first time is its distance from the one before. Signed
//! numbers alternate (0, -1, 1, -2…); sequences and texts have their length before them, options and
//! variants their index. `postcard`, which was here before, has nine bytes for every time: an open
//! connection has some fifty, of ten packets.

mod packer;
mod unpacker;

use packer::Packer;
use serde::Serialize;
use serde::de::{self, DeserializeOwned};
use serde::ser;
use std::fmt;
use unpacker::Unpacker;

const MOST_ZEROS: u8 = 0x20;
const SMALL: u8 = 0x20;
const LARGEST_SMALL: u64 = 65;
const ZEROS_AND_ONES: u8 = 0x60;
const ZEROS_BEFORE_ONES: u8 = 7;
const MOST_ONES: u8 = 3;
const BYTES_FOLLOW: u8 = 0x77;
const PLACES: u8 = 0x80;

/// The larger numbers that came last, in groups by their hash, the newest of a group first: with a
/// single place for each hash, numbers of fifty packets would drive each other out.
struct Before([[u64; GROUP]; 16]);

const GROUP: usize = 8;

impl Before {
    const NONE: Before = Before([[0; GROUP]; 16]);

    /// Its place; if it is not there, it is now, and none is returned.
    #[inline]
    fn place(&mut self, n: u64) -> Option<u8> {
        let hash = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let number = (hash >> (64 - self.0.len().ilog2())) as usize;
        let group = self.0.get_mut(number)?;
        if let Some(place) = group.iter().position(|&there| there == n) {
            return Some((number * GROUP + place) as u8);
        }
        group.copy_within(..GROUP - 1, 1);
        *group.first_mut()? = n;
        None
    }

    #[inline]
    fn get(&self, place: u8) -> Option<u64> {
        self.0.as_flattened().get(usize::from(place)).copied()
    }
}

/// The newtype whose numbers are told by their distance.
const TIME: &str = "Time";

/// Adds what `item` packs to, to `into`; `false` if it holds something that the format has no bytes for
/// (maps, sequences of unknown length), of which `into` then has a part.
#[must_use]
pub fn pack<T: Serialize>(item: &T, into: &mut Vec<u8>) -> bool {
    let mut packer = Packer::new(into);
    let packed = item.serialize(&mut packer).is_ok();
    packer.flush();
    packed
}

/// What `bytes` begins with, which [`pack`] made of a `T`.
#[must_use]
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    T::deserialize(&mut Unpacker::new(bytes)).ok()
}

/// What is no value of this format.
#[derive(Debug)]
struct Unfit;

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not of this format")
    }
}

impl std::error::Error for Unfit {}

impl ser::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Unfit {
        Unfit
    }
}

impl de::Error for Unfit {
    fn custom<T: fmt::Display>(_: T) -> Unfit {
        Unfit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Mark, PacketRef, Time};
    use proptest::prelude::*;
    use serde::{Deserialize, Serialize};

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    enum Shape {
        Unit,
        One(i64),
        Two(u8, Option<Time>),
        Fields { at: Time, numbers: Vec<u32> },
    }

    #[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
    struct Everything {
        shapes: Vec<Shape>,
        number: u64,
        signed: i16,
        text: String,
        fraction: f64,
        yes: bool,
        letter: char,
        boxed: Option<Box<(u16, Time)>>,
    }

    fn shape() -> impl Strategy<Value = Shape> {
        prop_oneof![
            Just(Shape::Unit),
            any::<i64>().prop_map(Shape::One),
            (any::<u8>(), any::<Option<i64>>()).prop_map(|(n, t)| Shape::Two(n, t.map(Time))),
            (any::<i64>(), prop::collection::vec(0u32..300, 0..200)).prop_map(|(at, numbers)| {
                Shape::Fields {
                    at: Time(at),
                    numbers,
                }
            }),
        ]
    }

    fn packed<T: Serialize>(item: &T) -> Vec<u8> {
        let mut bytes = Vec::new();
        assert!(pack(item, &mut bytes));
        bytes
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out_again(
            shapes in prop::collection::vec(shape(), 0..5),
            (number, signed, fraction) in any::<(u64, i16, f64)>(),
            (text, yes, letter) in any::<(String, bool, char)>(),
            boxed in any::<Option<(u16, i64)>>(),
        ) {
            prop_assume!(!fraction.is_nan());
            let boxed = boxed.map(|(n, at)| Box::new((n, Time(at))));
            let all = Everything { shapes, number, signed, text, fraction, yes, letter, boxed };
            let bytes = packed(&all);
            prop_assert_eq!(unpack::<Everything>(&bytes), Some(all));
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = unpack::<Everything>(&bytes);
        }
    }

    #[test]
    fn zeros_small_numbers_and_times_take_little() {
        assert_eq!(packed(&[0u64; 30]), [29]);
        assert_eq!(packed(&vec![0u32; 65]), [0x20 + 63, 31, 31, 0]);
        assert_eq!(packed(&(2u8, 65u16, 66u64)), [0x20, 0x5f, 0x78, 66]);
        assert_eq!(packed(&(0u8, -1i32, None::<u8>)), [0x61, 0]);
        let many_ones = [1u8, 1, 1, 1, 0, 1, 1];
        assert_eq!(packed(&many_ones), [0x70, 0x60, 0x69]);
        assert_eq!(packed(&([0u8; 7], 1u8, [0u8; 8], 1u8)), [0x67, 7, 0x60]);
        let again = packed(&[1_000u16, 1_000, 1_000]);
        assert_eq!(again.len(), 3 + 1 + 1);
        let at = |ns: i64| Mark {
            time: Time(1_700_000_000_000_000_000 + ns),
            packet: PacketRef { file: 0, frame: 7 },
        };
        let marks = [at(0), at(1), at(0), at(300)];
        let bytes = packed(&marks);
        assert_eq!(bytes.len(), (9 + 1) + (2 + 1) + (1 + 1) + (3 + 1));
        assert_eq!(unpack::<[Mark; 4]>(&bytes), Some(marks));
    }
}
