//! Loss recovery of one direction: from the first segment that is sent again until everything sent
//! by then is acknowledged (methods 2.1: episodes, not packets, state the impact).
//!
//! An episode was spurious when the receiver demonstrably had the bytes: they were acknowledged
//! before they were sent again, the acknowledgement echoes a timestamp from before (Eifel,
//! RFC 3522), or duplicate SACKs cover them (RFC 3708). As a duplicate SACK comes one round trip
//! after the acknowledgement that ends the episode, an ended episode is kept for that long.

use super::MILLISECOND;
use super::held::RELEASED_WITHIN_NS;
use super::sequence::before;
use crate::segment::Segment;
use model::{Mark, Stuck, Time, limits};
use serde::{Deserialize, Serialize};

/// Bounds of the wait for a duplicate SACK; else two round trips.
const DUPLICATE_SACK_WAIT_NS: std::ops::RangeInclusive<i64> =
    10 * MILLISECOND..=1_000 * MILLISECOND;
/// How long after recovery its slow growth may hold segments.
const REBUILDING_ROUND_TRIPS: i64 = 8;

/// A segment sent again so often without getting through is stuck.
const STUCK_TIMES: u64 = 3;

/// A stretch of time that is ready to be reported.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stretch {
    pub order: u64,
    pub first: Mark,
    pub last: Mark,
    pub heard: Option<Time>,
    pub retransmissions: u32,
    pub timeouts: u32,
    pub spurious: bool,
    pub duplicates_cut_off: bool,
    pub window: u64,
    /// The first of the segments sent again.
    pub resent: Vec<model::Resent>,
}

impl Stretch {
    /// From one packet to another.
    pub(super) fn of(first: Mark, last: Mark, order: u64) -> Stretch {
        Stretch {
            order,
            first,
            last,
            heard: None,
            retransmissions: 0,
            timeouts: 0,
            spurious: false,
            duplicates_cut_off: false,
            window: 0,
            resent: Vec::new(),
        }
    }
}

/// A segment that was sent again.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Resent {
    /// When its bytes were sent first, or their absence showed.
    pub first: Mark,
    pub start: u64,
    pub end: u64,
    /// It was acknowledged already.
    pub needless: bool,
    pub timeout: bool,
    pub ts_value: Option<u32>,
    /// The same as it is told.
    pub told: model::Resent,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct Open {
    first: Mark,
    /// When any of what it began with was acknowledged.
    heard: Option<Time>,
    /// Everything sent when it began.
    point: u64,
    /// Bytes in flight when it began.
    flight: u64,
    oldest: Resent,
    low: u64,
    high: u64,
    retransmissions: u32,
    timeouts: u32,
    bytes: u64,
    acknowledged_before: u64,
    duplicate_sacked: u64,
    echo_checked: bool,
    original_arrived: bool,
    /// An acknowledgement's options were cut off, among them what it may have said of duplicates.
    duplicates_cut_off: bool,
    told: Vec<model::Resent>,
    /// The segment that was sent again last, up to where it goes and how often it was.
    stuck: Option<(u64, Stuck)>,
}

impl Open {
    fn spurious(&self) -> bool {
        self.original_arrived || self.acknowledged_before.max(self.duplicate_sacked) >= self.bytes
    }

    /// A segment of so many bytes was sent again.
    fn stick(&mut self, resent: &Resent, bytes: u64) {
        let again = resent.told.again;
        match &mut self.stuck {
            Some((end, stuck)) if *end == resent.end => {
                stuck.times += 1;
                stuck.last = again;
            }
            stuck => {
                let first = Stuck {
                    bytes,
                    times: 1,
                    first: again,
                    last: again,
                    receiver_heard: false,
                    others_arrived: false,
                };
                *stuck = Some((resent.end, first));
            }
        }
    }

    fn stretch(&self, last: Mark, order: u64) -> Stretch {
        Stretch {
            heard: self.heard,
            retransmissions: self.retransmissions,
            timeouts: self.timeouts,
            spurious: self.spurious(),
            duplicates_cut_off: self.duplicates_cut_off,
            resent: self.told.clone(),
            ..Stretch::of(self.first, last, order)
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
struct Ended {
    open: Box<Open>,
    last: Mark,
    order: u64,
    report_at: Time,
}

/// The time after a loss in which a congestion window grows back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Rebuilding {
    until: Time,
    flight: u64,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Recovery {
    /// Apart, as most directions never have any.
    open: Option<Box<Open>>,
    ended: Option<Ended>,
    rebuilding: Option<Rebuilding>,
    /// The largest segment that was sent again and acknowledged then.
    arrived_again: u32,
}

impl Recovery {
    /// Since when segments are being sent again.
    pub(super) fn since(&self) -> Option<Time> {
        self.open.as_ref().map(|open| open.first.time)
    }

    /// Since when they were, if what ended that lets go what leaves `now`.
    pub(super) fn releases(&self, now: Time) -> Option<Time> {
        let ended = self.ended.as_ref()?;
        let follows = (0..=RELEASED_WITHIN_NS).contains(&(now - ended.last.time));
        (follows && !ended.open.spurious()).then_some(ended.open.first.time)
    }

    pub(super) fn is_rebuilding(&self) -> bool {
        self.rebuilding.is_some()
    }

    /// `sent` and `flight` are the direction's position and bytes in flight before this segment, which carries
    /// `full_sized` at most. Returns an earlier episode that can wait no longer.
    pub(super) fn resent(
        &mut self,
        resent: Resent,
        sent: u64,
        flight: u64,
        full_sized: u64,
    ) -> Option<Stretch> {
        let earlier = if self.open.is_none() {
            self.take_ended()
        } else {
            None
        };
        let open = self.open.get_or_insert_with(|| {
            Box::new(Open {
                first: resent.first,
                heard: None,
                point: sent,
                flight,
                oldest: resent,
                low: resent.start,
                high: resent.end,
                retransmissions: 0,
                timeouts: 0,
                bytes: 0,
                acknowledged_before: 0,
                duplicate_sacked: 0,
                echo_checked: false,
                original_arrived: false,
                duplicates_cut_off: false,
                told: Vec::new(),
                stuck: None,
            })
        });
        let bytes = resent.end - resent.start;
        open.stick(&resent, bytes.min(full_sized));
        open.low = open.low.min(resent.start);
        open.high = open.high.max(resent.end);
        open.retransmissions += 1;
        open.timeouts += u32::from(resent.timeout);
        open.bytes += bytes;
        if open.told.len() < limits::RESENT {
            open.told.push(resent.told);
        }
        if resent.needless {
            open.acknowledged_before += bytes;
        }
        earlier
    }

    /// The peer acknowledged everything before `position`; `echo` is the timestamp it returned.
    pub(super) fn acknowledged(
        &mut self,
        position: u64,
        echo: Option<u32>,
        s: &Segment,
        round_trip_ns: i64,
    ) {
        let Some(open) = &mut self.open else { return };
        if let Some((end, stuck)) = open.stuck.take()
            && position >= end
        {
            self.arrived_again = self.arrived_again.max(stuck.bytes as u32);
        }
        if position > open.oldest.start {
            open.heard.get_or_insert(s.mark.time);
        }
        open.duplicates_cut_off |= s.tcp.options_cut;
        if position >= open.oldest.end && !open.echo_checked {
            open.echo_checked = true;
            open.original_arrived = match (echo, open.oldest.ts_value) {
                (Some(echo), Some(resent)) => before(echo, resent),
                _ => false,
            };
        }
        if position >= open.point {
            self.end(s.mark, s.order, round_trip_ns);
        }
    }

    /// The receiver acknowledged nothing new.
    pub(super) fn receiver_heard(&mut self) {
        if let Some((_, stuck)) = self.open.as_mut().and_then(|open| open.stuck.as_mut()) {
            stuck.receiver_heard = true;
        }
    }

    /// What is being sent in vain.
    pub(super) fn stuck(&self) -> Option<Stuck> {
        let (_, mut stuck) = self.open.as_ref()?.stuck?;
        stuck.others_arrived = u64::from(self.arrived_again) >= stuck.bytes;
        (stuck.times >= STUCK_TIMES).then_some(stuck)
    }

    /// Whether the last one is over, and everything that was sent again in it had arrived before.
    pub(super) fn was_needless(&self) -> bool {
        let ended = self.ended.as_ref().filter(|_| self.open.is_none());
        ended.is_some_and(|e| e.open.spurious())
    }

    /// Where no acknowledgements were captured, new data shows that recovery is over.
    pub(super) fn new_data(&mut self, start: u64, at: Mark, order: u64) {
        if self.open.as_ref().is_some_and(|open| start >= open.point) {
            self.end(at, order, 0);
        }
    }

    fn end(&mut self, last: Mark, order: u64, round_trip_ns: i64) {
        let Some(open) = self.open.take() else { return };
        let wait = (2 * round_trip_ns).clamp(
            *DUPLICATE_SACK_WAIT_NS.start(),
            *DUPLICATE_SACK_WAIT_NS.end(),
        );
        self.rebuilding = Some(Rebuilding {
            until: last.time + REBUILDING_ROUND_TRIPS * round_trip_ns.max(MILLISECOND),
            flight: open.flight,
        });
        self.ended = Some(Ended {
            report_at: last.time + if open.spurious() { 0 } else { wait },
            open,
            last,
            order,
        });
    }

    /// The receiver reported that it got `start..end` twice.
    pub(super) fn duplicate_sack(&mut self, start: u64, end: u64) {
        let Some(open) = self
            .open
            .as_mut()
            .or(self.ended.as_mut().map(|ended| &mut ended.open))
        else {
            return;
        };
        let (start, end) = (start.max(open.low), end.min(open.high));
        open.duplicate_sacked += end.saturating_sub(start);
    }

    /// An ended episode whose wait for duplicate SACKs is over.
    pub(super) fn due(&mut self, now: Time) -> Option<Stretch> {
        if now >= self.ended.as_ref()?.report_at {
            self.take_ended()
        } else {
            None
        }
    }

    fn take_ended(&mut self) -> Option<Stretch> {
        self.ended
            .take()
            .map(|ended| ended.open.stretch(ended.last, ended.order))
    }

    /// Whether [`due`](Recovery::due) or [`flight_is`](Recovery::flight_is) may have to do something.
    pub(super) fn is_quiet(&self) -> bool {
        self.ended.is_none() && self.rebuilding.is_none()
    }

    /// Ends the rebuilding once it took long enough or the flight is what it was.
    pub(super) fn flight_is(&mut self, flight: u64, now: Time) {
        if self
            .rebuilding
            .is_some_and(|r| now > r.until || flight >= r.flight)
        {
            self.rebuilding = None;
        }
    }

    /// What is left to report when the connection is over.
    pub(super) fn finish(&mut self, last: Mark, order: u64) -> [Option<Stretch>; 2] {
        let ended = self.take_ended();
        [
            ended,
            self.open.take().map(|open| open.stretch(last, order)),
        ]
    }
}
