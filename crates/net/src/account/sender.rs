//! One direction: its sender's transmissions, and what it heard between them, into classes of time. What it heard
//! and when it can have known is in [`hearing`], kept until its next transmission in [`gap`]; what it waited for is
//! decided in [`judge`].

mod gap;
mod hearing;
mod judge;

use gap::{Gap, Heard};
use hearing::{Away, News};

pub(crate) use hearing::AWAY_SPARE_NS;
pub(crate) use judge::{INITIAL_WINDOW, NEAR_SHARE, QUEUED_NS, QUEUED_PERCENT};

use super::habits::{Habits, Trigger};
use super::ledger::Ledger;
use super::line::Line;
use super::plot::Band;
use super::round_trips::Distribution;
use super::trouble::Trouble;
use super::writes::Writes;
use super::{may_be_full, may_hold, segments};
use crate::identifications::{Identifications, SILENCE_NS, Silences};
use model::{DirectionAccount, Mark, PerClass, Time, TimeClass, Vanished};
use serde::{Deserialize, Serialize};

const MICROSECOND: i64 = 1_000;
const MILLISECOND: i64 = 1_000 * MICROSECOND;
const SECOND: i64 = 1_000 * MILLISECOND;

/// Between two writes of an application, if nothing held it up.
const PAUSE_NS: i64 = 200 * MICROSECOND;
/// Silence that nothing broke is idleness and not a slow application from this on, or from ten round
/// trips on, unless a message goes on behind it.
const IDLE_NS: i64 = SECOND;
/// An acknowledgement of more segments is a stretch acknowledgement (RFC 5681 section 4.2).
const STRETCH: u64 = 2;

/// The receiver acknowledged, or changed its window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub mark: Mark,
    /// Everything before is acknowledged.
    pub position: u64,
    /// Bytes offered from there on; `None` where the scale is not known. 0 is certain in any case.
    pub window: Option<u32>,
    /// The same as it stands in the packet, and the least that it can mean where the scale is not known but that there is one.
    pub unscaled: u16,
    pub least: u32,
    /// Whether it carries no data.
    pub alone: bool,
    pub full_sized: u64,
    /// Its time stamp.
    pub stamp: Option<u32>,
}

/// What a segment with data was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    New,
    /// Sent again: whether the capture holds the bytes already, and the receiver had said that it has them.
    Again {
        needless: bool,
        trigger: Trigger,
    },
}

/// A segment with data or the end of the data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission {
    pub mark: Mark,
    /// Behind its last byte, and behind the end of the stream if it says so.
    pub data_end: u64,
    pub end: u64,
    pub payload: u32,
    /// Whether it ends with less than a full segment; `None` where nobody knows how large that is.
    pub ends_short: Option<bool>,
    pub pushed: bool,
    pub kind: Kind,
    pub full_sized: u64,
    /// The receiver's time stamp that it echoes.
    pub echo: Option<u32>,
}

/// The last transmission.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Last {
    ends_short: Option<bool>,
    pushed: bool,
}

impl Last {
    /// Whether it may have been all that TCP had to send: it pushes, and does not show to be full.
    fn may_be_all(self) -> bool {
        self.pushed && self.ends_short.is_none()
    }
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sender {
    ledger: Ledger,
    gap: Gap,
    sent: u64,
    /// As the sender knows it, and as the capture does.
    acknowledged: u64,
    acknowledged_here: u64,
    /// Up to where the window allows to send; 0 where that is not known.
    edge: u64,
    shut: bool,
    last: Option<Last>,
    /// What it had in flight, as it knew, when it had sent last.
    flight: u64,
    flight_max: u64,
    /// The most that was in flight and was all acknowledged, since something was sent again.
    carried: u64,
    /// Windows above zero; the smallest is above the largest where there was none.
    window_min: u32,
    window_max: u32,
    /// The last one, where its scale is not known, as it stood in the packet; else 0.
    unscaled: u16,
    /// The least that the last one of which the sender heard can mean, where it would end, and whether it was filled then.
    least: u32,
    least_edge: u64,
    fills_least: bool,
    /// Whether what was in flight then may have filled it, and may have waited for that.
    may_be_full: bool,
    may_hold: bool,
    acknowledgements: u32,
    stretch_acks: u32,
    segments_acknowledged: u64,
    first_data: Option<Time>,
    last_data: Time,
    /// The fastest turn at the sender that was seen; `i64::MAX` before.
    fastest_ns: i64,
    away: Option<Box<Away>>,
    round_trips: Distribution,
    smoothed_ns: i64,
    /// Whether the last acknowledgement was of one segment, and how long the last of several took; `i64::MAX` before.
    of_one: bool,
    of_several_ns: i64,
    line: Line,
    /// The way to the receiver and back takes no longer; `i64::MAX` where nothing tells.
    shortest_ns: i64,
    writes: Writes,
    identifications: Identifications,
    /// Whether the last packet shows that others before it never came past the capture.
    skipped: bool,
    silences: Silences,
    /// Whether the receiver's window had room for half as much again: Linux sends no less than a third
    /// of the window at once, and waits for that.
    had_room: bool,
    habits: Option<Box<Habits>>,
    trouble: Option<Box<Trouble>>,
}

impl Sender {
    pub(super) fn new(first: Mark) -> Sender {
        Sender {
            ledger: Ledger::new(first),
            gap: Gap::default(),
            sent: 0,
            acknowledged: 0,
            acknowledged_here: 0,
            edge: 0,
            shut: false,
            last: None,
            flight: 0,
            carried: 0,
            flight_max: 0,
            window_min: u32::MAX,
            window_max: 0,
            unscaled: 0,
            least: 0,
            least_edge: 0,
            fills_least: false,
            may_be_full: false,
            may_hold: false,
            acknowledgements: 0,
            stretch_acks: 0,
            segments_acknowledged: 0,
            first_data: None,
            last_data: Time::default(),
            fastest_ns: i64::MAX,
            away: None,
            round_trips: Distribution::default(),
            smoothed_ns: 0,
            of_one: false,
            of_several_ns: i64::MAX,
            line: Line::default(),
            shortest_ns: i64::MAX,
            writes: Writes::default(),
            identifications: Identifications::default(),
            skipped: false,
            silences: Silences::default(),
            had_room: false,
            habits: None,
            trouble: None,
        }
    }

    /// Keeps what time went to by when.
    pub(super) fn keep_timeline(&mut self) {
        self.ledger.keep_timeline();
    }

    pub(super) fn drop_timeline(&mut self) {
        self.ledger.drop_timeline();
    }

    /// Keeps each stretch of time.
    pub(super) fn keep(&mut self, band: Band) {
        self.ledger.keep(band);
    }

    /// Charges everything up to `until` that is not charged yet.
    pub(super) fn charge(&mut self, class: TimeClass, until: Mark) {
        self.ledger.charge(class, until);
    }

    /// What each class had so far.
    pub(super) fn spent(&self) -> PerClass<i64> {
        self.ledger.spent()
    }

    /// A segment with so much data was seen.
    pub(super) fn sized(&mut self, bytes: u32) {
        self.habits().sized(bytes);
    }

    fn habits(&mut self) -> &mut Habits {
        self.habits.get_or_insert_default()
    }

    fn trouble(&mut self) -> &mut Trouble {
        self.trouble.get_or_insert_default()
    }

    /// Everything before is acknowledged, as the capture knows.
    pub(super) fn acknowledged_here(&self) -> u64 {
        self.acknowledged_here
    }

    pub(super) fn identified(&mut self, id: u16, payload: u64, full_sized: u64, now: Time) {
        self.skipped = self.identifications.saw(id, payload, full_sized);
        if payload > 0 && now - self.last_data >= SILENCE_NS {
            self.skipped = self.silences.lost(self.skipped);
        }
    }

    /// An acknowledgement came after so long, whatever it may have waited for besides.
    pub(super) fn took_at_most(&mut self, ns: i64) {
        self.shortest_ns = self.shortest_ns.min(ns);
    }

    /// Whether it counts: it was not an acknowledgement that waited for a timer.
    pub(super) fn round_trip(&mut self, ns: i64, one_segment: bool, flight: u64) -> bool {
        self.of_one = one_segment;
        if !one_segment {
            self.of_several_ns = ns;
        }
        if one_segment && self.is_late(ns) {
            let delay = ns.saturating_sub(self.shortest_ns);
            self.trouble().delays.add(delay);
            return false;
        }
        self.took_at_most(ns);
        self.smoothed_ns = match self.round_trips.count() {
            0 => ns,
            _ => self.smoothed_ns + ns.saturating_sub(self.smoothed_ns) / 8,
        };
        self.round_trips.add(ns);
        self.line.passed(flight, ns);
        true
    }

    /// A packet tells of bytes up to `end` that did not come by.
    pub(super) fn vanished(&mut self, vanished: Vanished, end: u64) {
        self.trouble().vanished(vanished, end);
    }

    /// Data comes by: nothing ended with what did not.
    pub(super) fn came_by(&mut self) {
        if let Some(trouble) = &mut self.trouble {
            trouble.found(u64::MAX);
        }
    }

    pub(super) fn received_twice(&mut self) {
        self.trouble().received_twice += 1;
    }

    /// The sender asked whether the window is still shut.
    pub(super) fn probed(&mut self) {
        self.gap.heard.probed = true;
    }

    /// The peer sent data.
    pub(super) fn peer_sent(&mut self, mark: Mark) {
        self.hear(News::Data(mark));
    }

    /// It shows to have data of the peer that the capture lacks.
    pub(super) fn missed_peer(&mut self, mark: Mark) {
        (self.gap.missed, self.gap.heard.missed) = (mark, true);
    }

    pub(super) fn acknowledged(&mut self, ack: &Acknowledgement) {
        if ack.position > self.acknowledged_here {
            if ack.alone && self.acknowledged_here > 0 {
                let bytes = ack.position - self.acknowledged_here;
                let segments = segments(bytes, ack.full_sized);
                self.acknowledgements = self.acknowledgements.saturating_add(1);
                self.segments_acknowledged += segments;
                self.stretch_acks += u32::from(segments > STRETCH);
            }
            self.acknowledged_here = ack.position;
            if let Some(trouble) = &mut self.trouble {
                trouble.found(ack.position);
            }
        }
        self.unscaled = match ack.window {
            Some(_) => 0,
            None => ack.unscaled,
        };
        match ack.window {
            Some(0) => self.trouble().shut(ack.mark.time),
            offered => {
                if let Some(trouble) = &mut self.trouble {
                    trouble.opened(ack.mark.time);
                }
                if let Some(bytes) = offered {
                    self.window_min = self.window_min.min(bytes);
                    self.window_max = self.window_max.max(bytes);
                }
            }
        }
        self.hear(News::Acknowledgement {
            mark: ack.mark,
            position: ack.position,
            window: ack.window,
            least: ack.least,
            alone: ack.alone,
            stamp: ack.stamp,
        });
    }

    /// What the congestion window was seen to be, where it was what this segment waited for.
    pub(super) fn sent(&mut self, s: &Transmission) -> Option<u64> {
        if self.away.is_some() {
            self.listen(s.mark.time);
        }
        if self.acknowledged == 0 {
            // The first one of a connection that was seen in its middle.
            let before = s.end - u64::from(s.payload).min(s.end);
            self.acknowledged = before.max(self.acknowledged);
            self.acknowledged_here = self.acknowledged_here.max(before);
            self.sent = self.sent.max(before);
        }
        if self.gap.heard.peer || self.ledger.open_ns(s.mark) > PAUSE_NS {
            self.writes.paused();
        }
        if self.edge > 0 && s.payload > 1 && s.data_end > self.edge {
            // It knows of a window that the capture does not. A single byte probes one that is shut.
            self.edge = 0;
        }
        let window = self.judge(s).then_some(self.flight);
        if let Some(bytes) = window {
            self.habits().window_was(bytes);
        }
        if let (Some(drained), Kind::New) = (self.gap.drained(), s.kind) {
            self.habits().paused(drained, s.mark);
        }
        self.gap.heard = Heard::default();
        if let Some(trouble) = &mut self.trouble {
            trouble.recovered = None;
        }
        if s.payload > 0 {
            self.first_data.get_or_insert(s.mark.time);
            self.last_data = s.mark.time;
        }
        match s.kind {
            Kind::New => {
                self.writes.sent(s.payload, s.pushed, s.full_sized as u32);
                self.last = Some(Last {
                    ends_short: s.ends_short,
                    pushed: s.pushed,
                });
            }
            Kind::Again { needless, trigger } => {
                let until = self.sent.max(s.end);
                self.carried = 0;
                let first = self.trouble().sent_again(needless, until);
                self.habits().sent_again(trigger, first);
            }
        }
        self.sent = self.sent.max(s.end);
        self.flight = self.sent.saturating_sub(self.acknowledged);
        self.may_be_full = may_be_full(self.unscaled, self.flight, s.full_sized);
        self.may_hold = self.unscaled > 0 && may_hold(self.unscaled, self.flight, s.full_sized);
        self.fills_least = self.least > 0 && self.sent + s.full_sized > self.least_edge;
        let room = self.edge.checked_sub(self.sent).filter(|_| self.edge > 0);
        self.had_room = room.is_some_and(|room| room >= self.flight / 2);
        let flight = s.data_end.saturating_sub(self.acknowledged_here);
        self.flight_max = self.flight_max.max(flight);
        window
    }

    /// The connection is over with this packet. Gives the stretches of time too, where they were kept.
    pub(super) fn finish(mut self, last: Mark) -> (DirectionAccount, Option<Box<Band>>) {
        self.listen(last.time);
        let gap = &self.gap;
        let trouble = self.trouble.as_ref();
        if let Some(arrived) = trouble.and_then(|t| t.recovered) {
            self.ledger.charge(TimeClass::LossRecovery, arrived);
        }
        let outstanding = self.sent > self.acknowledged;
        if let Some(drained) = gap.drained() {
            self.ledger.charge(TimeClass::Transfer, drained);
        }
        let silent = self.ledger.open_ns(last);
        let recovering = trouble.is_some_and(|t| t.recovering.is_some());
        let rest = match (outstanding, recovering) {
            _ if gap.heard.probed && self.shut => TimeClass::ReceiverApplication,
            (true, true) => TimeClass::LossRecovery,
            (true, false) if self.shut => TimeClass::ReceiverApplication,
            (true, false) if silent <= IDLE_NS.max(self.smoothed_ns.saturating_mul(3)) => {
                TimeClass::Transfer
            }
            (true, false) => TimeClass::Unknown,
            (false, _) => TimeClass::Idle,
        };
        self.ledger.charge(rest, last);
        let offered = self.window_min <= self.window_max;
        let mut account = DirectionAccount {
            rtt: self.round_trips.summary(),
            line_is_never_empty: self.line.is_never_empty(),
            flight_max_bytes: self.flight_max,
            window_min_bytes: offered.then_some(self.window_min.into()),
            window_max_bytes: offered.then_some(self.window_max.into()),
            acknowledgements: self.acknowledgements.into(),
            segments_acknowledged: self.segments_acknowledged,
            stretch_acks: self.stretch_acks.into(),
            skipped_identifications: self.identifications.skipped(),
            first_data: self.first_data,
            last_data: self.first_data.map(|_| self.last_data),
            ..DirectionAccount::default()
        };
        let band = self.ledger.finish(&mut account);
        self.writes.finish(&mut account);
        if let Some(habits) = &self.habits {
            habits.write_to(&mut account);
        }
        if let Some(trouble) = self.trouble {
            trouble.finish(last.time, &mut account);
        }
        (account, band)
    }
}
