//! 32-bit sequence numbers into 64-bit stream positions (RFC 9293 section 3.4) that neither wrap nor
//! go below zero. The low 32 bits of a position are the sequence number itself.

/// The largest window a receiver can offer (RFC 7323 section 2.3): nothing older than this is sent
/// again, so what seems further back is far ahead, after a long loss by the capture.
pub(super) const LARGEST_WINDOW: u64 = 1 << 30;

/// The position of the first sequence number seen in a direction: one wrap up, so that positions
/// before it exist.
pub(super) fn first_position(raw: u32) -> u64 {
    (1 << 32) + u64::from(raw)
}

/// The position of data: up to [`LARGEST_WINDOW`] before `near`, else after it.
pub(super) fn data_position(near: u64, raw: u32) -> u64 {
    position(near, raw, LARGEST_WINDOW as u32)
}

/// The position of an acknowledgement, the closest to `near`.
pub(super) fn ack_position(near: u64, raw: u32) -> u64 {
    position(near, raw, 1 << 31)
}

fn position(near: u64, raw: u32, back: u32) -> u64 {
    let ahead = raw.wrapping_sub(near as u32).wrapping_add(back);
    near.saturating_add(u64::from(ahead))
        .saturating_sub(u64::from(back))
}

/// Whether timestamp or sequence number `a` is before `b`.
pub(super) fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_run_on_where_sequence_numbers_wrap() {
        let near = first_position(0xffff_fff0);
        assert_eq!(data_position(near, 0x10), near + 0x20);
        assert_eq!(data_position(near, 0xffff_ff00), near - 0xf0);
        assert_eq!(ack_position(near, 0x10), near + 0x20);
        assert_eq!(data_position(near, 0x10) as u32, 0x10);
    }

    #[test]
    fn what_is_older_than_the_largest_window_is_taken_as_far_ahead() {
        let near = first_position(7);
        assert_eq!(
            data_position(near, 7u32.wrapping_sub(3 << 29)),
            near + (1 << 32) - (3 << 29)
        );
        assert_eq!(
            data_position(near, 7u32.wrapping_sub(1 << 29)),
            near - (1 << 29)
        );
    }
}
