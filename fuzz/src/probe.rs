//! Messages between the probe's two ends.

/// The first four bytes are the limit of sizes, the others a message of each kind.
pub fn probe_wire(data: &[u8]) {
    if let Some((limit, message)) = data.split_first_chunk() {
        ::probe::read_as_each(message, u32::from_le_bytes(*limit));
    }
}
