//! Two words into one that depends on every bit of both: their product of 128 bits, folded (what foldhash does).

/// Digits of pi, to be joined to words before they are folded: what is 0 would make everything 0.
pub(crate) const K: [u64; 3] = [
    0x243f_6a88_85a3_08d3,
    0x1319_8a2e_0370_7344,
    0xa409_3822_299f_31d0,
];

#[inline]
pub(crate) fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}
