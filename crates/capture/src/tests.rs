//! Tests of the whole crate: bytes in, packets and problems out.

mod build;
mod damage;
mod formats;
mod properties;
mod several;
