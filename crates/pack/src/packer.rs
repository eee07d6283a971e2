//! A value into bytes, as serde walks through it.

use crate::{
    BYTES_FOLLOW, Before, LARGEST_SMALL, MOST_ONES, MOST_ZEROS, PLACES, SMALL, TIME, Unfit,
    ZEROS_AND_ONES, ZEROS_BEFORE_ONES,
};
use serde::ser::{self, Serialize};

pub(crate) struct Packer<'a> {
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
    pub(crate) fn new(into: &mut Vec<u8>) -> Packer<'_> {
        Packer {
            bytes: into,
            zeros: 0,
            ones: 0,
            before: Before::NONE,
            time: 0,
            is_time: false,
        }
    }

    pub(crate) fn flush(&mut self) {
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
