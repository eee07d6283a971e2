//! What a direction has sent and its peer has not acknowledged: when each segment left first.
//! Gives acknowledgement round trips (RFC 6298 section 3 with Karn's rule) and the beginning of a
//! loss.

use model::{Mark, Time};
use std::collections::VecDeque;

/// Segments remembered per direction; more are in flight only on very long fat paths, and where no
/// acknowledgements were captured.
const REMEMBERED: usize = 1_024;

#[derive(Debug)]
struct Sent {
    end: u64,
    length: u32,
    mark: Mark,
    again: bool,
}

/// The newest segment that an acknowledgement covers.
pub(super) struct Newest {
    pub end: u64,
    pub at: Time,
    /// Sent again since: the acknowledgement could be of either.
    pub again: bool,
}

#[derive(Debug, Default)]
pub(super) struct Flight {
    /// In sequence order, as only new data comes in here.
    segments: VecDeque<Sent>,
}

impl Flight {
    pub(super) fn push(&mut self, end: u64, length: u32, mark: Mark) {
        if self.segments.len() >= REMEMBERED {
            self.segments.pop_front();
        }
        self.segments.push_back(Sent {
            end,
            length,
            mark,
            again: false,
        });
    }

    /// Drops what `position` acknowledges; returns the newest of it.
    pub(super) fn acknowledge(&mut self, position: u64) -> Option<Newest> {
        let mut newest = None;
        while let Some(segment) = self.segments.front()
            && segment.end <= position
        {
            newest = Some(Newest {
                end: segment.end,
                at: segment.mark.time,
                again: segment.again,
            });
            self.segments.pop_front();
        }
        newest
    }

    /// Notes that `start..end` was sent again; returns the first packet that brought any of it.
    pub(super) fn sent_again(&mut self, start: u64, end: u64) -> Option<Mark> {
        let from = self.segments.partition_point(|s| s.end <= start);
        let mut first = None;
        for segment in self.segments.iter_mut().skip(from) {
            if segment.end.saturating_sub(u64::from(segment.length)) >= end {
                break;
            }
            segment.again = true;
            first.get_or_insert(segment.mark);
        }
        first
    }
}
