//! Literal bodies as they stand on the wire, and what must hold for any bytes.

mod callback;
mod compound;
mod grammar;
mod names;
mod naming;
mod properties;
mod v2_v3;

use crate::rpc::program::Arguments;
use model::Field;

/// Bytes written in hexadecimal, with `#` before what is for the reader.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .lines()
        .filter_map(|line| line.split('#').next())
        .flat_map(str::chars)
        .filter_map(|c| c.to_digit(16))
        .map(|d| d as u8)
        .collect();
    assert_eq!(digits.len() % 2, 0, "half a byte in {text}");
    digits.chunks(2).map(|d| d[0] << 4 | d[1]).collect()
}

fn field(a: &Arguments, field: Field) -> Option<u64> {
    a.detail.get(field)
}
