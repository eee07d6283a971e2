//! What an application writes at once, from the segments that push (RFC 9293 section 3.9.1) and are
//! followed by a pause or an answer: senders set the flag on the last segment of a write, but also on
//! others when much is unsent.

use model::DirectionAccount;
use serde::{Deserialize, Serialize};

/// Different sizes that are counted at the same time.
const SIZES: usize = 16;

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Writes {
    /// Bytes since the last push.
    open: u32,
    /// Whether the last one pushed; segments since the write began, and the largest of them.
    pushed: bool,
    pieces: u32,
    last: u32,
    full_sized: u32,
    largest: u32,
    all: u32,
    /// Writes of one segment that offloading made and a small rest.
    split: u32,
    rest: u32,
    /// Bytes and how often, in no order: what is frequent moves to the front.
    sizes: Vec<(u32, u32)>,
}

impl Writes {
    pub(super) fn sent(&mut self, bytes: u32, pushed: bool, full_sized: u32) {
        self.open = self.open.saturating_add(bytes);
        self.pieces = self.pieces.saturating_add(1);
        self.largest = self.largest.max(bytes);
        (self.pushed, self.last, self.full_sized) = (pushed, bytes, full_sized);
    }

    /// Nothing was sent for a while, or the other side answered.
    #[inline]
    pub(super) fn paused(&mut self) {
        if self.pushed && self.open > 0 {
            self.end();
        }
    }

    fn end(&mut self) {
        if self.pieces == 2 && self.largest > self.full_sized && self.last < self.full_sized {
            self.split = self.split.saturating_add(1);
            self.rest = self.last;
        }
        self.wrote(self.open);
        (self.open, self.pieces, self.largest, self.pushed) = (0, 0, 0, false);
    }

    /// Counts frequent sizes (Misra and Gries): one that makes up more than a sixteenth stays.
    fn wrote(&mut self, size: u32) {
        self.all = self.all.saturating_add(1);
        if let Some(i) = self.sizes.iter().position(|(s, _)| *s == size) {
            if let Some((_, n)) = self.sizes.get_mut(i) {
                *n = n.saturating_add(1);
            }
            if i > 0 {
                self.sizes.swap(i, i - 1);
            }
        } else if self.sizes.len() < SIZES {
            self.sizes.push((size, 1));
        } else {
            self.sizes.retain_mut(|(_, n)| {
                *n -= 1;
                *n > 0
            });
        }
    }

    /// Ends the last one and writes the most frequent size, how often at least, and all writes into the
    /// account.
    pub(super) fn finish(mut self, account: &mut DirectionAccount) {
        self.paused();
        let most = self.sizes.iter().max_by_key(|(size, n)| (*n, *size));
        account.write_size_bytes = most.map(|(size, _)| u64::from(*size));
        account.writes_of_that_size = most.map_or(0, |(_, n)| u64::from(*n));
        account.writes = self.all.into();
        account.split_writes = self.split.into();
        account.split_rest_bytes = self.rest.into();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequent_size_is_found_among_many() {
        let mut writes = Writes::default();
        for i in 0..1000u32 {
            writes.sent(5000 + i, true, 9000);
            writes.paused();
            writes.sent(1448, false, 1448);
            writes.sent(600, true, 1448);
            writes.paused();
        }
        let mut account = DirectionAccount::default();
        writes.finish(&mut account);
        assert_eq!(
            (account.write_size_bytes, account.writes),
            (Some(2048), 2000)
        );
    }
}
