//! What an application writes at once, from the segments that push (RFC 9293 section 3.9.1) and are
//! followed by a pause or an answer: senders set the flag on the last segment of a write, but also on
//! others when much is unsent.

/// Different sizes that are counted at the same time.
const SIZES: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Writes {
    /// Bytes since the last push.
    open: u64,
    /// Whether the last one pushed; segments since the write began, and the largest of them.
    pushed: bool,
    pieces: u64,
    last: u64,
    full_sized: u64,
    largest: u64,
    all: u64,
    /// Writes of one segment that offloading made and a small rest.
    split: u64,
    rest: u64,
    sizes: Vec<(u64, u64)>,
}

impl Writes {
    pub(super) fn sent(&mut self, bytes: u64, pushed: bool, full_sized: u64) {
        self.open += bytes;
        self.pieces += 1;
        self.largest = self.largest.max(bytes);
        (self.pushed, self.last, self.full_sized) = (pushed, bytes, full_sized);
    }

    /// Nothing was sent for a while, or the other side answered.
    pub(super) fn paused(&mut self) {
        if !self.pushed || self.open == 0 {
            return;
        }
        if self.pieces == 2 && self.largest > self.full_sized && self.last < self.full_sized {
            self.split += 1;
            self.rest = self.last;
        }
        self.wrote(self.open);
        (self.open, self.pieces, self.largest, self.pushed) = (0, 0, 0, false);
    }

    /// How many were split, and the last rest.
    pub(super) fn split(&self) -> (u64, u64) {
        (self.split, self.rest)
    }

    /// Counts frequent sizes (Misra and Gries): one that makes up more than a sixteenth stays.
    fn wrote(&mut self, size: u64) {
        self.all += 1;
        if let Some((_, n)) = self.sizes.iter_mut().find(|(s, _)| *s == size) {
            *n += 1;
        } else if self.sizes.len() < SIZES {
            self.sizes.push((size, 1));
        } else {
            self.sizes.retain_mut(|(_, n)| {
                *n -= 1;
                *n > 0
            });
        }
    }

    /// The most frequent size and how often at least, and all writes.
    pub(super) fn summary(&self) -> (Option<(u64, u64)>, u64) {
        let most = self.sizes.iter().max_by_key(|(size, n)| (*n, *size));
        (most.copied(), self.all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frequent_size_is_found_among_many() {
        let mut writes = Writes::default();
        for i in 0..1000u64 {
            writes.sent(5000 + i, true, 9000);
            writes.paused();
            writes.sent(1448, false, 1448);
            writes.sent(600, true, 1448);
            writes.paused();
        }
        let (most, all) = writes.summary();
        assert_eq!((most.map(|(size, _)| size), all), (Some(2048), 2000));
    }
}
