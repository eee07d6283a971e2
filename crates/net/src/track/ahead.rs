//! Segments that come soon: what is known of their connections is asked of memory ahead of time.
//!
//! Of a thousand connections, the caches do not hold all that is known. A connection is some forty lines in five
//! places, each found by way of the one before it; waited for one after another they take several times as long as
//! all else that is done for a packet. Looked up a few segments before they are needed, place by place, they are there.

use super::Tracker;
use super::entry::Entry;
use crate::{Handler, Segment};
use prefetch::prefetch;

/// So many open connections the caches hold. Of tests, none.
const FEW: usize = if cfg!(test) { 0 } else { 256 };

/// How many segments ahead a connection is looked for; its body; and what that points to.
const FAR: usize = 12;
const MIDDLE: usize = 8;
const NEAR: usize = 4;

impl<H: Handler> Tracker<H> {
    /// Takes in the segments of a batch, in capture order, and tells of each before and after.
    pub fn segments<'s>(
        &mut self,
        segments: &[&'s Segment],
        bytes: &[u8],
        mut before: impl FnMut(&mut Self, &'s Segment),
        mut after: impl FnMut(&mut Self, &'s Segment),
    ) {
        for (i, s) in segments.iter().enumerate() {
            if self.connections.len() > FEW {
                self.look_ahead(segments, i);
            }
            before(self, s);
            self.segment(s, bytes);
            after(self, s);
        }
    }

    fn look_ahead(&self, segments: &[&Segment], at: usize) {
        self.expect(segments, at + FAR, |entry, _| prefetch(entry));
        self.expect(segments, at + MIDDLE, |entry, handler| {
            entry.prefetch(handler, false);
        });
        self.expect(segments, at + NEAR, |entry, handler| {
            entry.prefetch(handler, true);
        });
    }

    /// What is to be asked for the connection of a segment that comes, unless the one before it is of the same.
    fn expect(&self, segments: &[&Segment], at: usize, ask: impl Fn(&Entry<H::State>, &H)) {
        let before = at.checked_sub(1).and_then(|before| segments.get(before));
        let Some(s) = segments.get(at) else { return };
        if before.is_some_and(|before| before.flow_hash == s.flow_hash) {
            return;
        }
        // Not compared: to look at what was found would be to wait for it.
        let found = self.connections.find(s.flow_hash, |entry| {
            ask(entry, &self.handler);
            false
        });
        debug_assert!(found.is_none());
    }
}
