//! Bytes into the value that they were made of, or into none: no bytes hurt.

use crate::{
    BYTES_FOLLOW, Before, MOST_ZEROS, PLACES, SMALL, TIME, Unfit, ZEROS_AND_ONES, ZEROS_BEFORE_ONES,
};
use serde::de::{self, DeserializeSeed, IntoDeserializer, Visitor};

pub(crate) struct Unpacker<'a> {
    bytes: &'a [u8],
    /// Zeros, and ones behind them, that were read and not asked for yet.
    zeros: u8,
    ones: u8,
    before: Before,
    time: i64,
    is_time: bool,
}

impl<'a> Unpacker<'a> {
    pub(crate) fn new(bytes: &[u8]) -> Unpacker<'_> {
        Unpacker {
            bytes,
            zeros: 0,
            ones: 0,
            before: Before::NONE,
            time: 0,
            is_time: false,
        }
    }

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
