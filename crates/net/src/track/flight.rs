//! What a direction has sent and its peer has not acknowledged: when each segment left first.
//! Gives round trips and the beginning of a loss.
//!
//! A round trip is known where it is certain what was answered: of bytes sent once (Karn's rule, RFC 6298
//! section 3) that did not wait for bytes before them; of bytes sent again where the acknowledgement echoes the
//! second sending's timestamp (RFC 7323 section 4); of bytes behind a hole where they are acknowledged
//! selectively (RFC 2018), which is done at once (RFC 5681 section 4.2).

use model::{Mark, Time};
use prefetch::prefetch;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Segments remembered per direction; more are in flight on long fat paths, before a line with a deep queue, and
/// where no acknowledgements were captured: then every second of them.
const REMEMBERED: usize = 1_024;

#[derive(Debug, Serialize, Deserialize)]
struct Sent {
    end: u64,
    length: u32,
    /// Bytes in flight with it.
    flight: u64,
    mark: Mark,
    ts_value: Option<u32>,
    again: bool,
}

/// The last that was sent again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Resent {
    at: Time,
    ts_value: Option<u32>,
}

/// The newest segment that an acknowledgement covers.
pub(super) struct Newest {
    pub end: u64,
    pub at: Time,
    /// Sent again since: the acknowledgement could be of either.
    pub again: bool,
    /// When what is certainly answered was sent.
    pub answers: Option<Time>,
    /// Its bytes, and those in flight with it.
    pub length: u32,
    pub flight: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Flight {
    /// In sequence order, as only new data comes in here.
    segments: VecDeque<Sent>,
    resent: Option<Resent>,
    /// Everything that was sent again ends before this.
    resent_end: u64,
}

impl Flight {
    /// Asks the processor for the oldest of it, which an acknowledgement covers first.
    pub(super) fn prefetch(&self) {
        prefetch(self.segments.as_slices().0.get(..1).unwrap_or_default());
    }

    /// A segment of `length` bytes up to `end` leaves, with so many others in flight.
    pub(super) fn push(
        &mut self,
        end: u64,
        length: u32,
        others: u64,
        mark: Mark,
        ts_value: Option<u32>,
    ) {
        if self.segments.len() >= REMEMBERED {
            let mut keep = false;
            self.segments.retain(|_| {
                keep = !keep;
                keep
            });
        }
        self.segments.push_back(Sent {
            end,
            length,
            flight: others.saturating_add(length.into()),
            mark,
            ts_value,
            again: false,
        });
    }

    /// Drops what is acknowledged from `before` to `position`; returns the newest of it. `sacked` is the end of
    /// what was acknowledged selectively before, `echo` the timestamp that is echoed.
    pub(super) fn acknowledge(
        &mut self,
        before: u64,
        position: u64,
        sacked: u64,
        echo: Option<u32>,
    ) -> Option<Newest> {
        // What left after bytes were sent again did not wait for them.
        let resent = self.resent.filter(|_| before < self.resent_end);
        let waited = |at: Time| resent.is_some_and(|r| at <= r.at);
        let echoed = resent.filter(|r| self.is_echo(r, echo));
        let mut newest = None;
        while let Some(segment) = self.segments.front()
            && segment.end <= position
        {
            newest = Some(Newest {
                end: segment.end,
                at: segment.mark.time,
                again: segment.again,
                answers: (!waited(segment.mark.time) && (segment.end > sacked || newest.is_none()))
                    .then_some(segment.mark.time),
                length: segment.length,
                flight: segment.flight,
            });
            self.segments.pop_front();
        }
        if let (Some(newest), Some(resent)) = (&mut newest, echoed)
            && waited(newest.at)
        {
            newest.answers = Some(resent.at);
        }
        newest
    }

    /// Whether the timestamp is that of the segment sent again, and of nothing else.
    #[cold]
    fn is_echo(&self, resent: &Resent, echo: Option<u32>) -> bool {
        let others = || self.segments.iter().any(|s| s.ts_value == echo);
        echo.is_some() && resent.ts_value == echo && !others()
    }

    /// When the segment was sent, once, whose arrival a selective acknowledgement up to `end` tells.
    #[cold]
    pub(super) fn selectively(&self, end: u64) -> Option<Time> {
        let at = self.segments.partition_point(|s| s.end < end);
        let segment = self.segments.get(at)?;
        (segment.end == end && !segment.again).then_some(segment.mark.time)
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

    /// Notes when bytes before `end` were sent again.
    pub(super) fn resent(&mut self, end: u64, at: Time, ts_value: Option<u32>) {
        self.resent = Some(Resent { at, ts_value });
        self.resent_end = self.resent_end.max(end);
    }
}
