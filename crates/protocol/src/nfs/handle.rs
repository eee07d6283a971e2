//! File handles into 64-bit identities.
//!
//! A handle's bytes are opaque to clients and the same wherever the call is captured, so a fixed
//! hash of them names the file in both captures, in every run and in every release: it appears in
//! output and must not change. Own mixing, not FNV-1a, because that takes a multiplication per byte,
//! 40 ns for a usual handle; this takes one per eight bytes.

/// Odd, from the golden ratio: a multiplication by it carries every bit upwards.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The hash of a handle: from 0, for every eight bytes (big-endian, the last padded with zeros) and
/// then for the length, `h = (h ^ word) * MULTIPLIER; h ^= h >> 32`.
pub(crate) fn hash(handle: &[u8]) -> u64 {
    let mut h = 0;
    let (words, tail) = handle.as_chunks::<8>();
    for word in words {
        h = mix(h, u64::from_be_bytes(*word));
    }
    if !tail.is_empty() {
        let word = tail.iter().fold(0, |word, b| word << 8 | u64::from(*b));
        h = mix(h, word << (64 - 8 * tail.len()));
    }
    mix(h, handle.len() as u64)
}

fn mix(h: u64, word: u64) -> u64 {
    let h = (h ^ word).wrapping_mul(MULTIPLIER);
    h ^ h >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(hash(b""), 0);
        assert_eq!(hash(b"slowside"), 0x04a0_1d4f_1032_8c8b);
        assert_eq!(hash(b"twelve bytes"), 0x12a9_d405_d83b_b967);
    }

    #[test]
    fn handles_that_differ_in_one_byte_or_in_length_differ() {
        let mut seen = HashSet::new();
        for length in 0..=64 {
            assert!(seen.insert(hash(&vec![0; length])), "length {length}");
            for at in 0..length {
                for value in [1, 2, 0x80, 0xff] {
                    let mut handle = vec![0; length];
                    handle[at] = value;
                    assert!(seen.insert(hash(&handle)), "{length} {at} {value}");
                }
            }
        }
    }
}
