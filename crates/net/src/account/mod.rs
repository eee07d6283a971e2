//! A connection's segments into an account of its time: for each direction, every nanosecond from the
//! first packet to the last in one class ([`TimeClass`]).
//!
//! The rule is causal: a wait belongs to what ended it. A sender that sends the moment its window
//! opens had waited for the window; one that sends when nothing changed had waited for its
//! application. So time is looked at in gaps between transmissions, and a gap is judged when the next
//! transmission ends it ([`sender`]).
//!
//! What a sender does is judged by what *it* knew: an acknowledgement counts from the moment at which
//! its effects can be seen at the point of capture, one round trip from there to the sender later.
//! Where the capture stands at the sender that is at once; where it stands at the receiver, spacing
//! by the path hides some causes, and a capture of the other end knows more.

mod habits;
mod intervals;
mod ledger;
mod line;
mod plot;
mod round_trips;
mod sender;
mod trouble;
mod writes;

pub(crate) use habits::Trigger;
pub(crate) use round_trips::Distribution;
pub(crate) use sender::{
    AWAY_SPARE_NS, Acknowledgement, INITIAL_WINDOW, Kind, NEAR_SHARE, QUEUED_NS, QUEUED_PERCENT,
    Transmission,
};

use crate::Segment;
use habits::Marks;
use intervals::Intervals;
use model::{
    ConnectionId, Direction, DirectionAccount, Interval, Mark, PerClass, Plot, PlotRequest,
    SegmentKind, Time, TimeClass, Vanished,
};
use plot::{Band, Plotter};
use sender::Sender;
use serde::{Deserialize, Serialize};

/// Both directions of a connection.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Meter {
    /// Whether a SYN was seen, and nothing yet after the handshake.
    opening: bool,
    senders: [Sender; 2],
    marks: Option<Box<[Marks; 2]>>,
    intervals: Option<Box<Intervals>>,
    /// Never of a connection that rests.
    #[serde(skip)]
    plot: Option<Box<Plotter>>,
}

impl Meter {
    /// Of a connection whose first packet is `first`.
    pub(crate) fn new(first: Mark, opening: bool) -> Meter {
        Meter {
            opening,
            senders: [Sender::new(first), Sender::new(first)],
            marks: None,
            intervals: None,
            plot: None,
        }
    }

    /// The same, with a row for each interval of so many nanoseconds.
    pub(crate) fn with_intervals(self, c: ConnectionId, first: Time, width_ns: i64) -> Meter {
        Meter {
            intervals: Some(Box::new(Intervals::new(c, first, width_ns))),
            ..self
        }
    }

    /// The same, with what time went to by when.
    pub(crate) fn with_timelines(mut self) -> Meter {
        self.senders.iter_mut().for_each(Sender::keep_timeline);
        self
    }

    /// Nobody asks for that any more.
    pub(crate) fn drop_timelines(&mut self) {
        self.senders.iter_mut().for_each(Sender::drop_timeline);
    }

    /// The same, with a picture of it.
    pub(crate) fn with_plot(mut self, request: PlotRequest) -> Meter {
        let PlotRequest {
            first,
            last,
            points,
            ..
        } = request;
        for sender in &mut self.senders {
            sender.keep(Band::new(points, first, last));
        }
        Meter {
            plot: Some(Box::new(Plotter::new(request))),
            ..self
        }
    }

    /// The interval that goes on.
    pub(crate) fn last_interval(&self) -> Option<Interval> {
        Some(self.intervals.as_ref()?.last())
    }

    /// A packet of direction `d` counts.
    pub(crate) fn counted(&mut self, d: Direction, s: &Segment) {
        if s.payload_length > 0 {
            self.sender(d).sized(s.payload_length);
        }
        if s.ecn.is_capable() || s.tcp.flags.is_about_congestion() {
            self.marked(d, s);
        }
        if let Some(plot) = &mut self.plot {
            plot.counted(d, s);
        }
    }

    /// A segment of direction `d` with bytes `from..to`, or one that asks for an answer.
    pub(crate) fn shown(
        &mut self,
        d: Direction,
        mark: Mark,
        from: u64,
        to: u64,
        kind: SegmentKind,
    ) {
        if let Some(plot) = &mut self.plot {
            plot.segment(d, mark, from, to, kind);
        }
    }

    pub(crate) fn has_plot(&self) -> bool {
        self.plot.is_some()
    }

    /// The same for the interval; gives the one before, if this packet is the first of another.
    #[cold]
    pub(crate) fn counted_in_interval(&mut self, d: Direction, s: &Segment) -> Option<Interval> {
        let intervals = self.intervals.as_mut()?;
        let before = intervals.reach(s.mark.time);
        intervals.counted(d, s.payload_length);
        before
    }

    /// The interval that goes on, if one that holds `now` comes behind it.
    pub(crate) fn interval_before(&mut self, now: Time) -> Option<Interval> {
        self.intervals.as_mut()?.reach(now)
    }

    /// What each class of each direction's time had so far.
    pub(crate) fn spent(&self) -> [PerClass<i64>; 2] {
        self.senders.each_ref().map(Sender::spent)
    }

    pub(crate) fn has_intervals(&self) -> bool {
        self.intervals.is_some()
    }

    #[cold]
    fn marked(&mut self, d: Direction, s: &Segment) {
        let says = !s.tcp.flags.syn();
        let [to_server, to_client] = &mut **self.marks.get_or_insert_default();
        let marks = match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        };
        marks.capable += u32::from(s.ecn.is_capable());
        marks.experienced += u32::from(s.ecn.experienced());
        marks.echoed += u32::from(says && s.tcp.flags.ece());
        marks.reduced += u32::from(says && s.tcp.flags.cwr());
    }

    /// The handshake is over, as this packet shows.
    pub(crate) fn opened(&mut self, at: Mark) {
        if self.opening {
            self.opening = false;
            for sender in &mut self.senders {
                sender.charge(TimeClass::Handshake, at);
            }
        }
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.opening
    }

    /// How long it takes from the point of capture to this direction's sender and back.
    pub(crate) fn sender_is_away(&mut self, d: Direction, ns: i64) {
        self.sender(d).is_away(ns);
    }

    /// A packet of direction `d` tells of bytes up to `end` that did not come by.
    #[cold]
    pub(crate) fn vanished(&mut self, d: Direction, vanished: Vanished, end: u64) {
        self.sender(d).vanished(vanished, end);
    }

    /// Data of direction `d` comes by.
    pub(crate) fn came_by(&mut self, d: Direction) {
        self.sender(d).came_by();
    }

    /// A packet of direction `d`.
    pub(crate) fn identified(
        &mut self,
        d: Direction,
        id: u16,
        payload: u64,
        full_sized: u64,
        now: Time,
    ) {
        self.sender(d).identified(id, payload, full_sized, now);
    }

    /// Direction `d` acknowledged what the capture lacks of the other one.
    #[cold]
    pub(crate) fn missed_peer(&mut self, d: Direction, mark: Mark) {
        self.sender(d).missed_peer(mark);
    }

    /// Data of direction `d` was acknowledged, or its window changed.
    pub(crate) fn acknowledged(&mut self, d: Direction, ack: Acknowledgement) {
        self.sender(d).acknowledged(&ack);
        if let Some(intervals) = &mut self.intervals {
            intervals.acknowledged(d, ack.position, ack.window.map(u64::from));
        }
        if let Some(plot) = &mut self.plot {
            plot.acknowledged(d, &ack);
        }
    }

    /// Direction `d` sent data, or its end.
    pub(crate) fn sent(&mut self, d: Direction, s: Transmission) {
        let window = self.sender(d).sent(&s);
        self.sender(d.reverse()).peer_sent(s.mark);
        if self.intervals.is_some() {
            self.sent_in_interval(d, &s, window);
        }
        if self.plot.is_some() {
            let acknowledged = self.sender(d).acknowledged_here();
            if let Some(plot) = &mut self.plot {
                plot.sent(d, &s, acknowledged);
            }
        }
    }

    #[cold]
    fn sent_in_interval(&mut self, d: Direction, s: &Transmission, window: Option<u64>) {
        let acknowledged = self.sender(d).acknowledged_here();
        let Some(intervals) = &mut self.intervals else {
            return;
        };
        let again = matches!(s.kind, Kind::Again { .. });
        intervals.sent(d, s.data_end, acknowledged, again);
        if let Some(bytes) = window {
            intervals.window_was(d, bytes);
        }
    }

    /// Direction `d`'s sender probed a window that is shut.
    pub(crate) fn probed(&mut self, d: Direction) {
        self.sender(d).probed();
    }

    /// A round trip of direction `d`'s data, which ended with the acknowledgement at `mark`, whether
    /// that told of one segment only, and the bytes in flight when it began.
    pub(crate) fn round_trip(
        &mut self,
        d: Direction,
        mark: Mark,
        ns: i64,
        one_segment: bool,
        flight: u64,
    ) {
        let counts = self.sender(d).round_trip(ns, one_segment, flight);
        if counts && let Some(intervals) = &mut self.intervals {
            intervals.round_trip(d, ns);
        }
        if counts && let Some(plot) = &mut self.plot {
            plot.round_trip(d, mark, ns);
        }
    }

    /// Direction `d`'s data was acknowledged after so long at most, had its receiver not waited.
    pub(crate) fn took_at_most(&mut self, d: Direction, ns: i64) {
        self.sender(d).took_at_most(ns);
    }

    /// Direction `d`'s receiver said that it had these bytes already.
    pub(crate) fn received_twice(&mut self, d: Direction) {
        self.sender(d).received_twice();
    }

    fn sender(&mut self, d: Direction) -> &mut Sender {
        let [to_server, to_client] = &mut self.senders;
        match d {
            Direction::ToServer => to_server,
            Direction::ToClient => to_client,
        }
    }

    /// The account, with the connection's last packet, and the picture, if one was wanted. `begins` is
    /// where each direction begins, where its SYN was seen.
    pub(crate) fn finish(self, last: Mark, begins: [Option<u64>; 2]) -> Measured {
        let opening = self.opening;
        let [(there, there_band), (back, back_band)] = self.senders.map(|mut sender| {
            if opening {
                sender.charge(TimeClass::Handshake, last);
            }
            sender.finish(last)
        });
        let mut accounts = Box::new([there, back]);
        if let Some(marks) = self.marks {
            for (account, marks) in accounts.iter_mut().zip(*marks) {
                account.ecn = marks.counts();
            }
        }
        let bands = [there_band, back_band];
        Measured {
            accounts,
            plot: self.plot.map(|plot| plot.finish(begins, bands)),
        }
    }
}

/// All that is known when a connection is over.
pub(crate) struct Measured {
    pub accounts: Box<[DirectionAccount; 2]>,
    pub plot: Option<Plot>,
}

/// No window is scaled by more bits (RFC 7323 section 2.3).
pub(crate) const LARGEST_SCALE: u8 = 14;

/// Whether a window of so many bytes has no room for a segment more where so much is in flight.
pub(crate) fn is_full(window: u64, flight: u64, full_sized: u64) -> bool {
    flight <= window && window - flight < full_sized
}

/// Whether a window of which the scale is not known has no room for a segment more, for any scale, where so much is in
/// flight: a reader that is slow acknowledges as late, and as steadily, as a line that is full.
pub(crate) fn may_be_full(unscaled: u16, flight: u64, full_sized: u64) -> bool {
    let filled = |scale| is_full(u64::from(unscaled) << scale, flight, full_sized);
    unscaled > 0 && (0..=LARGEST_SCALE).any(filled)
}

/// Whether such a window may be what a sender waited for that had no more in flight. One or two segments are within one of
/// nearly any window: they have to fill it to the byte.
pub(crate) fn may_hold(unscaled: u16, flight: u64, full_sized: u64) -> bool {
    let fills = |scale| flight == u64::from(unscaled) << scale;
    match flight > 2 * full_sized {
        true => may_be_full(unscaled, flight, full_sized),
        false => unscaled > 0 && (0..=LARGEST_SCALE).any(fills),
    }
}

/// How many segments so many bytes take. Most take one, and a division costs as much as twenty other
/// instructions.
pub(crate) fn segments(bytes: u64, full_sized: u64) -> u64 {
    if bytes <= full_sized {
        1
    } else {
        bytes.div_ceil(full_sized.max(1))
    }
}

/// Time does not run backwards in an account; clocks of captures do.
fn span(from: Time, to: Time) -> i64 {
    let ns = to.0.max(from.0).wrapping_sub(from.0) as u64;
    ns.min(i64::MAX as u64) as i64
}

#[cfg(test)]
mod tests {
    use super::{may_be_full, may_hold};

    const SEGMENT: u64 = 1_448;

    #[test]
    fn a_segment_or_two_wait_for_a_window_that_they_fill_to_the_byte() {
        let holds = |flight| may_hold(181, flight, SEGMENT);
        assert!(holds(1_448) && holds(2_896));
        assert!(!holds(1_447) && !holds(1_449));
        // Of more it is enough that no further one fits.
        assert!(holds(181 << 6) && holds((181 << 6) - SEGMENT + 1));
        assert!(!may_hold(0, 0, SEGMENT));
    }

    #[test]
    fn a_window_of_any_scale_may_be_full_to_a_segment() {
        let full = |flight| may_be_full(44_888, flight, SEGMENT);
        assert!(full(44_888) && full(44_888 - SEGMENT + 1) && full(44_888 << 14));
        assert!(!full(44_888 - SEGMENT) && !full(44_889) && !full(44_888 << 15));
        assert!(!may_be_full(0, 0, SEGMENT), "one that is closed is certain");
    }
}
