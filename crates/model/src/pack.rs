//! A value into few bytes and back, for what is kept in great numbers and seldom looked at: connections
//! that are quiet, rows of a list. A format of serde's, for our own memory and nobody else's: it does
//! not describe itself and never leaves the process.
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
//! A [`Time`](crate::Time) that comes for the first time is its distance from the one before. Signed
//! numbers alternate (0, -1, 1, -2…); sequences and texts have their length before them, options and
//! variants their index. `postcard`, which was here before, has nine bytes for every time: an open
//! connection has some fifty, of ten packets.

use serde::de::{self, DeserializeOwned, DeserializeSeed, IntoDeserializer, Visitor};
use serde::ser::{self, Serialize};
use std::fmt;

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
    let mut packer = Packer {
        bytes: into,
        zeros: 0,
        ones: 0,
        before: Before::NONE,
        time: 0,
        is_time: false,
    };
    let packed = item.serialize(&mut packer).is_ok();
    packer.flush();
    packed
}

/// What `bytes` begins with, which [`pack`] made of a `T`.
#[must_use]
pub fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    T::deserialize(&mut Unpacker {
        bytes,
        zeros: 0,
        ones: 0,
        before: Before::NONE,
        time: 0,
        is_time: false,
    })
    .ok()
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

struct Packer<'a> {
    bytes: &'a mut Vec<u8>,
    /// Zeros, and ones behind them, that are not written yet.
    zeros: u8,
    ones: u8,
    before: Before,
    /// The last time, and whether the next number is one.
    time: i64,
    is_time: bool,
}

impl Packer<'_> {
    fn flush(&mut self) {
        if self.zeros > ZEROS_BEFORE_ONES || (self.zeros > 0 && self.ones == 0) {
            self.bytes.push(self.zeros - 1);
            self.zeros = 0;
        }
        if self.ones > 0 {
            let ones = (self.ones - 1) * (ZEROS_BEFORE_ONES + 1);
            self.bytes.push(ZEROS_AND_ONES + ones + self.zeros);
            (self.zeros, self.ones) = (0, 0);
        }
    }

    #[inline]
    fn number(&mut self, n: u64) -> Result<(), Unfit> {
        if n == 0 {
            if self.ones > 0 {
                self.flush();
            }
            self.zeros += 1;
            if self.zeros == MOST_ZEROS {
                self.flush();
            }
            return Ok(());
        }
        if n == 1 {
            self.ones += 1;
            if self.ones == MOST_ONES {
                self.flush();
            }
            return Ok(());
        }
        self.flush();
        if n <= LARGEST_SMALL {
            self.bytes.push(SMALL + (n - 2) as u8);
        } else if let Some(place) = self.before.place(n) {
            self.bytes.push(PLACES + place);
        } else {
            self.long_number(n);
        }
        Ok(())
    }

    #[inline]
    fn long_number(&mut self, n: u64) {
        // All eight and then none of those too many: one store instead of a loop.
        let spare = n.leading_zeros() as usize / 8;
        self.bytes.push(BYTES_FOLLOW + 8 - spare as u8);
        self.bytes.extend_from_slice(&n.to_le_bytes());
        self.bytes.truncate(self.bytes.len() - spare);
    }

    /// By its distance from the time before, unless it is one of those before.
    #[inline]
    fn moment(&mut self, time: i64) -> Result<(), Unfit> {
        let ns = time.wrapping_sub(std::mem::replace(&mut self.time, time));
        if ns == 0 {
            return self.number(0);
        }
        self.flush();
        match self.before.place(time as u64) {
            Some(place) => self.bytes.push(PLACES + place),
            None => self.long_number(alternating(ns)),
        }
        Ok(())
    }
}

#[inline]
fn alternating(n: i64) -> u64 {
    (n << 1 ^ n >> 63) as u64
}

macro_rules! packs {
    ($($method:ident $type:ty),*) => {$(
        #[inline]
        fn $method(self, n: $type) -> Result<(), Unfit> {
            self.number(n.into())
        }
    )*};
}

macro_rules! packs_signed {
    ($($method:ident $type:ty),*) => {$(
        #[inline]
        fn $method(self, n: $type) -> Result<(), Unfit> {
            self.serialize_i64(n.into())
        }
    )*};
}

impl ser::Serializer for &mut Packer<'_> {
    type Ok = ();
    type Error = Unfit;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = ser::Impossible<(), Unfit>;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    packs!(serialize_bool bool, serialize_u8 u8, serialize_u16 u16, serialize_u32 u32, serialize_u64 u64, serialize_char char);
    packs_signed!(serialize_i8 i8, serialize_i16 i16, serialize_i32 i32);

    #[inline]
    fn serialize_i64(self, n: i64) -> Result<(), Unfit> {
        if std::mem::take(&mut self.is_time) {
            self.moment(n)
        } else {
            self.number(alternating(n))
        }
    }

    /// The bits in reverse: simple fractions have few.
    fn serialize_f64(self, n: f64) -> Result<(), Unfit> {
        self.number(n.to_bits().swap_bytes())
    }

    fn serialize_f32(self, n: f32) -> Result<(), Unfit> {
        self.serialize_f64(n.into())
    }

    fn serialize_str(self, text: &str) -> Result<(), Unfit> {
        self.serialize_bytes(text.as_bytes())
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<(), Unfit> {
        self.number(bytes.len() as u64)?;
        self.flush();
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Unfit> {
        self.number(0)
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Unfit> {
        self.number(1)?;
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<(), Unfit> {
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Unfit> {
        Ok(())
    }

    #[inline]
    fn serialize_unit_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
    ) -> Result<(), Unfit> {
        self.number(index.into())
    }

    #[inline]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Unfit> {
        self.is_time = name == TIME;
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        value: &T,
    ) -> Result<(), Unfit> {
        self.number(index.into())?;
        value.serialize(self)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Self, Unfit> {
        self.number(length.ok_or(Unfit)? as u64)?;
        Ok(self)
    }

    fn serialize_tuple(self, _: usize) -> Result<Self, Unfit> {
        Ok(self)
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self, Unfit> {
        Ok(self)
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unfit> {
        self.number(index.into())?;
        Ok(self)
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Unfit> {
        Err(Unfit)
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self, Unfit> {
        Ok(self)
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        index: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self, Unfit> {
        self.number(index.into())?;
        Ok(self)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// What all of serde's compound values do here: one part after the other.
macro_rules! packs_parts {
    ($($part:ident $method:ident $($key:ident)?),*) => {$(
        impl ser::$part for &mut Packer<'_> {
            type Ok = ();
            type Error = Unfit;

            #[inline]
            fn $method<T: Serialize + ?Sized>(
                &mut self,
                $($key: &'static str,)?
                value: &T,
            ) -> Result<(), Unfit> {
                $(let _ = $key;)?
                value.serialize(&mut **self)
            }

            fn end(self) -> Result<(), Unfit> {
                Ok(())
            }
        }
    )*};
}

packs_parts!(
    SerializeSeq serialize_element,
    SerializeTuple serialize_element,
    SerializeTupleStruct serialize_field,
    SerializeTupleVariant serialize_field,
    SerializeStruct serialize_field key,
    SerializeStructVariant serialize_field key
);

struct Unpacker<'a> {
    bytes: &'a [u8],
    /// Zeros, and ones behind them, that were read and not asked for yet.
    zeros: u8,
    ones: u8,
    before: Before,
    time: i64,
    is_time: bool,
}

impl<'a> Unpacker<'a> {
    #[inline]
    fn number(&mut self) -> Result<u64, Unfit> {
        if self.zeros == 0 && self.ones == 0 {
            let first = self.first()?;
            if !self.begins_run(first) {
                return self.larger(first);
            }
        }
        if self.zeros > 0 {
            self.zeros -= 1;
            Ok(0)
        } else {
            self.ones -= 1;
            Ok(1)
        }
    }

    /// Whether `first` stands for zeros and ones, which are there to be asked for then.
    #[inline]
    fn begins_run(&mut self, first: u8) -> bool {
        if first < MOST_ZEROS {
            self.zeros = first + 1;
            true
        } else if (ZEROS_AND_ONES..=BYTES_FOLLOW).contains(&first) {
            let mixed = first - ZEROS_AND_ONES;
            self.zeros = mixed % (ZEROS_BEFORE_ONES + 1);
            self.ones = mixed / (ZEROS_BEFORE_ONES + 1) + 1;
            true
        } else {
            false
        }
    }

    #[inline]
    fn larger(&mut self, first: u8) -> Result<u64, Unfit> {
        if first < ZEROS_AND_ONES {
            Ok(u64::from(first.saturating_sub(SMALL)) + 2)
        } else if first >= PLACES {
            self.before(first)
        } else {
            let n = self.long_number(usize::from(first.saturating_sub(BYTES_FOLLOW)))?;
            self.before.place(n);
            Ok(n)
        }
    }

    #[inline]
    fn first(&mut self) -> Result<u8, Unfit> {
        let (&first, rest) = self.bytes.split_first().ok_or(Unfit)?;
        self.bytes = rest;
        Ok(first)
    }

    #[inline]
    fn before(&self, first: u8) -> Result<u64, Unfit> {
        self.before.get(first - PLACES).ok_or(Unfit)
    }

    #[inline]
    fn moment(&mut self) -> Result<i64, Unfit> {
        if self.zeros == 0 {
            let first = self.first()?;
            if first >= PLACES {
                self.time = self.before(first)? as i64;
                return Ok(self.time);
            }
            if !self.begins_run(first) {
                let n = self.long_number(usize::from(first.saturating_sub(BYTES_FOLLOW)))?;
                self.time = self.time.wrapping_add(signed(n));
                self.before.place(self.time as u64);
                return Ok(self.time);
            }
        }
        self.zeros = self.zeros.checked_sub(1).ok_or(Unfit)?;
        Ok(self.time)
    }

    #[inline]
    fn long_number(&mut self, length: usize) -> Result<u64, Unfit> {
        let Some((&eight, _)) = self.bytes.split_first_chunk() else {
            let bytes = self.take(length)?.iter().rev();
            return Ok(bytes.fold(0, |n, &b| n << 8 | u64::from(b)));
        };
        self.take(length)?;
        let unused = 64_u32.saturating_sub(8 * length as u32);
        let mask = u64::MAX.checked_shr(unused).unwrap_or(0);
        Ok(u64::from_le_bytes(eight) & mask)
    }

    #[inline]
    fn take(&mut self, length: usize) -> Result<&'a [u8], Unfit> {
        let (taken, rest) = self.bytes.split_at_checked(length).ok_or(Unfit)?;
        self.bytes = rest;
        Ok(taken)
    }

    #[inline]
    fn signed(&mut self) -> Result<i64, Unfit> {
        if std::mem::take(&mut self.is_time) {
            self.moment()
        } else {
            Ok(signed(self.number()?))
        }
    }

    fn length(&mut self) -> Result<usize, Unfit> {
        usize::try_from(self.number()?).map_err(|_| Unfit)
    }
}

#[inline]
fn signed(n: u64) -> i64 {
    (n >> 1) as i64 ^ -((n & 1) as i64)
}

macro_rules! unpacks {
    ($($method:ident $visit:ident $read:ident $type:ty),*) => {$(
        #[inline]
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
            visitor.$visit(<$type>::try_from(self.$read()?).map_err(|_| Unfit)?)
        }
    )*};
}

impl<'de> de::Deserializer<'de> for &mut Unpacker<'de> {
    type Error = Unfit;

    unpacks!(
        deserialize_u8 visit_u8 number u8, deserialize_u16 visit_u16 number u16,
        deserialize_u32 visit_u32 number u32, deserialize_u64 visit_u64 number u64,
        deserialize_i8 visit_i8 signed i8, deserialize_i16 visit_i16 signed i16,
        deserialize_i32 visit_i32 signed i32, deserialize_i64 visit_i64 signed i64
    );

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unfit> {
        Err(Unfit)
    }

    #[inline]
    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_bool(self.number()? != 0)
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_f64(f64::from_bits(self.number()?.swap_bytes()))
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let number = u32::try_from(self.number()?).map_err(|_| Unfit)?;
        visitor.visit_char(char::from_u32(number).ok_or(Unfit)?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let length = self.length()?;
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| Unfit)?;
        visitor.visit_borrowed_str(text)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let length = self.length()?;
        visitor.visit_borrowed_bytes(self.take(length)?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        self.deserialize_bytes(visitor)
    }

    #[inline]
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        match self.number()? {
            0 => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        visitor.visit_unit()
    }

    #[inline]
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        self.is_time = name == TIME;
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Unfit> {
        let left = self.length()?;
        visitor.visit_seq(Parts { of: self, left })
    }

    #[inline]
    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        visitor.visit_seq(Parts { of: self, left })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        left: usize,
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        visitor.visit_seq(Parts { of: self, left })
    }

    fn deserialize_map<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unfit> {
        Err(Unfit)
    }

    #[inline]
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let left = fields.len();
        visitor.visit_seq(Parts { of: self, left })
    }

    #[inline]
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        visitor.visit_enum(self)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unfit> {
        Err(Unfit)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Unfit> {
        Err(Unfit)
    }

    fn is_human_readable(&self) -> bool {
        false
    }
}

/// The parts of a compound value. That there are as many as was said is not believed: reading beyond
/// the end fails.
struct Parts<'a, 'de> {
    of: &'a mut Unpacker<'de>,
    left: usize,
}

impl<'de> de::SeqAccess<'de> for Parts<'_, 'de> {
    type Error = Unfit;

    #[inline]
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Unfit> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.of).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> de::EnumAccess<'de> for &mut Unpacker<'de> {
    type Error = Unfit;
    type Variant = Self;

    #[inline]
    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Unfit> {
        let index = u32::try_from(self.number()?).map_err(|_| Unfit)?;
        Ok((seed.deserialize(index.into_deserializer())?, self))
    }
}

impl<'de> de::VariantAccess<'de> for &mut Unpacker<'de> {
    type Error = Unfit;

    #[inline]
    fn unit_variant(self) -> Result<(), Unfit> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Unfit> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, left: usize, visitor: V) -> Result<V::Value, Unfit> {
        visitor.visit_seq(Parts { of: self, left })
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Unfit> {
        let left = fields.len();
        visitor.visit_seq(Parts { of: self, left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mark, PacketRef, Time};
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
