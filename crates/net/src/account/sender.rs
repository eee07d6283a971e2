//! One direction: its sender's transmissions, and what it heard between them, into classes of time.

use super::habits::{Habits, Trigger};
use super::identifications::Identifications;
use super::ledger::Ledger;
use super::plot::Band;
use super::round_trips::Distribution;
use super::trouble::Trouble;
use super::writes::Writes;
use super::{segments, span};
use model::{Answered, DirectionAccount, Mark, PerClass, Time, TimeClass, Vanished};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

const MICROSECOND: i64 = 1_000;
const MILLISECOND: i64 = 1_000 * MICROSECOND;
const SECOND: i64 = 1_000 * MILLISECOND;

/// Segments this close left in one go.
const BURST_NS: i64 = 50 * MICROSECOND;
/// Between two writes of an application, if nothing held it up.
const PAUSE_NS: i64 = 200 * MICROSECOND;
/// What is sent this soon after something came was released by it: a share of the round trip, as
/// hosts and captures on long paths are no busier, within bounds.
const RELEASED_SHARE: i64 = 8;
const RELEASED_MIN_NS: i64 = 500 * MICROSECOND;
const RELEASED_MAX_NS: i64 = 2 * MILLISECOND;
/// Silence with nothing in flight is the sender's own from this on: what the path varies is less.
const SILENT_NS: i64 = 20 * MILLISECOND;
/// Silence that nothing broke is idleness and not a slow application from this on, or from ten round
/// trips on, unless a message goes on behind it.
const IDLE_NS: i64 = SECOND;
/// A round trip this much above the shortest has a queue in it.
const QUEUED_PERCENT: i64 = 125;
const QUEUED_NS: i64 = 2 * MILLISECOND;
/// An acknowledgement of one segment this much later than the shortest waited for a timer.
const DELAYED_NS: i64 = 8 * MILLISECOND;
/// What a host may save on the fastest turn that was seen.
const AWAY_SPARE_NS: i64 = 100 * MICROSECOND;
/// An acknowledgement of more segments is a stretch acknowledgement (RFC 5681 section 4.2).
const STRETCH: u64 = 2;
/// Acknowledgements on their way to a sender that is far from the capture; beyond, the oldest count
/// at once.
const ON_THE_WAY: usize = 1_024;

/// The receiver acknowledged, or changed its window.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acknowledgement {
    pub mark: Mark,
    /// Everything before is acknowledged.
    pub position: u64,
    /// Bytes offered from there on; `None` where the scale is not known. 0 is certain in any case.
    pub window: Option<u32>,
    /// Whether it carries no data.
    pub alone: bool,
    pub full_sized: u64,
}

/// What a segment with data was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    New,
    /// Sent again: whether the capture holds the bytes already, and whether the receiver had said
    /// that it did.
    Again {
        held: bool,
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
}

/// What a sender hears, on its way there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
enum News {
    Acknowledgement {
        mark: Mark,
        position: u64,
        window: Option<u32>,
        alone: bool,
    },
    Data(Mark),
}

impl News {
    fn time(&self) -> Time {
        match self {
            News::Acknowledgement { mark, .. } | News::Data(mark) => mark.time,
        }
    }
}

/// A sender that is far from the capture.
#[derive(Debug, Serialize, Deserialize)]
struct Away {
    ns: i64,
    on_the_way: VecDeque<News>,
}

/// What the sender heard since its last transmission. The marks count where `heard` says so: that way
/// a gap ends with a single store.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Gap {
    heard: Heard,
    /// The last acknowledgement of something new.
    progress: Mark,
    /// When everything was acknowledged.
    drained: Mark,
    /// When the window last grew, and what was left of it until then.
    opened: Mark,
    usable: u64,
    /// The peer's last data.
    peer: Mark,
}

#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
struct Heard {
    progress: bool,
    drained: bool,
    /// Everything was acknowledged by an acknowledgement alone.
    drained_alone: bool,
    opened: bool,
    /// The window was shut, or did not move on with what was acknowledged.
    shut: bool,
    /// The sender probed the shut window: it had more to send.
    probed: bool,
    peer: bool,
}

impl Gap {
    fn progress(&self) -> Option<Mark> {
        self.heard.progress.then_some(self.progress)
    }

    fn drained(&self) -> Option<Mark> {
        self.heard.drained.then_some(self.drained)
    }

    fn opened(&self) -> Option<Mark> {
        self.heard.opened.then_some(self.opened)
    }

    fn peer(&self) -> Option<Mark> {
        self.heard.peer.then_some(self.peer)
    }

    fn opens(&mut self, mark: Mark, usable: u64) {
        (self.opened, self.usable, self.heard.opened) = (mark, usable, true);
    }

    fn hears_peer(&mut self, mark: Mark) {
        (self.peer, self.heard.peer) = (mark, true);
    }
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
    /// Windows above zero; the smallest is above the largest where there was none.
    window_min: u32,
    window_max: u32,
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
    /// The way to the receiver and back takes no longer; `i64::MAX` where nothing tells.
    shortest_ns: i64,
    writes: Writes,
    identifications: Identifications,
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
            flight_max: 0,
            window_min: u32::MAX,
            window_max: 0,
            acknowledgements: 0,
            stretch_acks: 0,
            segments_acknowledged: 0,
            first_data: None,
            last_data: Time::default(),
            fastest_ns: i64::MAX,
            away: None,
            round_trips: Distribution::default(),
            smoothed_ns: 0,
            shortest_ns: i64::MAX,
            writes: Writes::default(),
            identifications: Identifications::default(),
            had_room: false,
            habits: None,
            trouble: None,
        }
    }

    /// Keeps what time went to by when.
    pub(super) fn keep_timeline(&mut self) {
        self.ledger.keep_timeline();
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

    pub(super) fn identified(&mut self, id: u16, payload: u64, full_sized: u64) {
        self.identifications.saw(id, payload, full_sized);
    }

    /// How long after it passed here something can have an effect that is seen here: a little less
    /// than the fastest seen so far, as hosts may be faster yet.
    pub(super) fn is_away(&mut self, ns: i64) {
        if ns >= self.fastest_ns {
            return;
        }
        self.fastest_ns = ns;
        let away_ns = (ns - ns / 10 - AWAY_SPARE_NS).max(0);
        match &mut self.away {
            Some(away) => away.ns = away_ns,
            None if away_ns > 0 => {
                self.away = Some(Box::new(Away {
                    ns: away_ns,
                    on_the_way: VecDeque::new(),
                }));
            }
            None => {}
        }
    }

    fn away_ns(&self) -> i64 {
        self.away.as_ref().map_or(0, |away| away.ns)
    }

    /// An acknowledgement came after so long, whatever it may have waited for besides.
    pub(super) fn took_at_most(&mut self, ns: i64) {
        self.shortest_ns = self.shortest_ns.min(ns);
    }

    /// Whether it counts: it was not an acknowledgement that waited for a timer.
    pub(super) fn round_trip(&mut self, ns: i64, one_segment: bool) -> bool {
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
        if self.is_near() {
            self.gap.hears_peer(mark);
        } else {
            self.hear(News::Data(mark));
        }
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
                trouble.stuck = None;
                trouble.found(ack.position);
            }
        } else if let Some(trouble) = &mut self.trouble {
            trouble.receiver_heard();
        }
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
        if self.is_near() {
            self.learned(ack.position, ack.window, ack.alone, ack.mark);
        } else {
            self.hear(News::Acknowledgement {
                mark: ack.mark,
                position: ack.position,
                window: ack.window,
                alone: ack.alone,
            });
        }
    }

    /// Whether what passes here is at the sender at once.
    fn is_near(&self) -> bool {
        self.away
            .as_ref()
            .is_none_or(|away| away.ns == 0 && away.on_the_way.is_empty())
    }

    /// Keeps what is on its way to the sender.
    fn hear(&mut self, news: News) {
        let Some(away) = &mut self.away else { return };
        away.on_the_way.push_back(news);
        if away.on_the_way.len() > ON_THE_WAY
            && let Some(oldest) = away.on_the_way.pop_front()
        {
            let ns = away.ns;
            self.arrived(oldest, ns);
        }
    }

    /// Lets arrive what can have had an effect until `now`.
    fn listen(&mut self, now: Time) {
        while let Some(away) = &mut self.away
            && let Some(news) = away.on_the_way.front().copied()
            && news.time() + away.ns <= now
        {
            away.on_the_way.pop_front();
            let ns = away.ns;
            self.arrived(news, ns);
        }
    }

    fn arrived(&mut self, news: News, away: i64) {
        let later = |mark: Mark| Mark {
            time: mark.time + away,
            ..mark
        };
        match news {
            News::Data(mark) => self.gap.hears_peer(later(mark)),
            News::Acknowledgement {
                mark,
                position,
                window,
                alone,
            } => self.learned(position, window, alone, later(mark)),
        }
    }

    /// The sender has learned of an acknowledgement.
    fn learned(&mut self, position: u64, window: Option<u32>, alone: bool, mark: Mark) {
        let gap = &mut self.gap;
        let progress = position > self.acknowledged;
        if progress {
            let outstanding = self.sent > self.acknowledged;
            self.acknowledged = position;
            (gap.progress, gap.heard.progress) = (mark, true);
            if let Some(trouble) = &mut self.trouble {
                trouble.acknowledged(position, mark);
            }
            if outstanding && position >= self.sent {
                (gap.drained, gap.heard.drained) = (mark, true);
                gap.heard.drained_alone = alone;
            }
        }
        let shut = window == Some(0);
        if let Some(bytes) = window {
            let edge = position + u64::from(bytes);
            if edge > self.edge {
                let usable = match self.edge {
                    _ if self.shut => 0,
                    0 => u64::MAX,
                    before => before.saturating_sub(self.sent),
                };
                gap.opens(mark, usable);
                self.edge = edge;
            } else if progress {
                gap.heard.shut = true;
            }
        } else {
            if self.shut {
                gap.opens(mark, 0);
            }
            // What a SYN offered says nothing of the windows after it.
            self.edge = 0;
        }
        gap.heard.shut |= shut;
        self.shut = shut;
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
            Kind::Again {
                held,
                needless,
                trigger,
            } => {
                let until = self.sent.max(s.end);
                let first = self.trouble().sent_again(s, held, needless, until);
                self.habits().sent_again(trigger, first);
            }
        }
        self.sent = self.sent.max(s.end);
        self.flight = self.sent.saturating_sub(self.acknowledged);
        let room = self.edge.checked_sub(self.sent).filter(|_| self.edge > 0);
        self.had_room = room.is_some_and(|room| room >= self.flight / 2);
        let flight = s.data_end.saturating_sub(self.acknowledged_here);
        self.flight_max = self.flight_max.max(flight);
        window
    }

    /// Charges the time before a transmission to what it waited for; whether that was the congestion
    /// window, and something was in flight.
    fn judge(&mut self, s: &Transmission) -> bool {
        let now = s.mark;
        let gap = &self.gap;
        let outstanding = self.sent > self.acknowledged || gap.heard.drained;
        if let Some(trouble) = &self.trouble {
            if let Some(arrived) = trouble.recovered {
                self.ledger.charge(TimeClass::LossRecovery, arrived);
            } else if trouble.recovering.is_some() {
                self.ledger.charge(TimeClass::LossRecovery, now);
            }
        }
        if let Kind::Again { .. } = s.kind {
            if let Some(progress) = gap.progress() {
                self.ledger.charge(TimeClass::Transfer, progress);
            }
            self.ledger.charge(TimeClass::LossRecovery, now);
            return false;
        }
        if self.ledger.open_ns(now) <= BURST_NS {
            self.ledger.charge(TimeClass::Transfer, now);
            return false;
        }
        if gap.heard.probed
            && let Some(opened) = gap.opened()
        {
            self.ledger.charge(TimeClass::ReceiverApplication, opened);
        }
        let payload = u64::from(s.payload);
        // What overtook others was not what left first: that was as large as can be.
        let overtook = s.data_end.saturating_sub(payload) > self.sent;
        let first = if overtook { s.full_sized } else { payload };
        let release_ns = self.release_ns();
        let released = |by: Mark| span(by.time, now.time) <= release_ns;
        if let Some(opened) = gap.opened()
            // All of it: a sender with segmentation offload waits until a large one fits.
            && gap.usable < first
            && released(opened)
        {
            let class = if gap.heard.shut {
                TimeClass::ReceiverApplication
            } else {
                TimeClass::SmallWindow
            };
            self.ledger.charge(class, now);
            return false;
        }
        // Nobody waits for a side that only closes.
        let wait = match payload {
            0 => TimeClass::Idle,
            _ => TimeClass::SenderApplication,
        };
        let last = self.last;
        let was_small = last.is_some_and(|l| l.ends_short == Some(true));
        let had_more = last.is_some_and(|l| !l.pushed);
        let clocked = gap.progress().is_some_and(released);
        let answers = gap.peer().filter(|peer| {
            gap.progress()
                .is_none_or(|p| p.time <= peer.time || !(clocked && had_more))
        });
        if let Some(peer) = answers {
            let acknowledged = gap
                .drained()
                .filter(|d| d.time <= peer.time)
                .unwrap_or(peer);
            let waited_ns = self.ledger.open_ns(peer);
            let follows = self.sent > 0 && payload > 0 && released(peer);
            if self.sent > 0 {
                self.ledger
                    .charge(TimeClass::Transfer, self.arrival(acknowledged));
            }
            let idle_ns = self.ledger.open_ns(peer);
            self.ledger.charge(TimeClass::Idle, peer);
            if follows {
                let (after_ns, away_ns) = (span(peer.time, now.time), self.away_ns());
                self.habits().answered(&Answered {
                    count: 1,
                    waited_ns,
                    idle_ns,
                    unsure_ns: if away_ns > 0 { after_ns } else { 0 },
                    soonest_ns: Some(after_ns.saturating_add(away_ns)),
                });
            }
            self.ledger.charge(wait, now);
            return false;
        }
        // Some hosts hold back what is larger too, or have sent all that they may, until all before is
        // acknowledged: that shows where a timer held the acknowledgement.
        if first > 0
            && gap.heard.drained_alone
            && let Some(drained) = gap.drained()
        {
            let small = was_small && first < s.full_sized;
            // As it passed here.
            let late = self.is_late(self.ledger.open_ns(drained) - self.away_ns());
            // Next to a timer the slowest of hosts is quick.
            let within = if late { RELEASED_MAX_NS } else { release_ns };
            if (small || late) && span(drained.time, now.time) <= within {
                if !small {
                    self.trouble().waited_ns += self.ledger.open_ns(now);
                }
                self.ledger.charge(TimeClass::NagleDelayedAck, now);
                return false;
            }
        }
        // With everything acknowledged TCP may always send, and nothing came that could have released it. Far from
        // the sender more may be on its way, but where the last segment was pushed nothing more was queued. What ends
        // with a segment that is not known to be short goes on: its sender was in the middle of it, however long.
        let stopped = gap
            .drained()
            .filter(|d| span(d.time, now.time) >= SILENT_NS);
        let in_the_middle = last.is_some_and(|l| l.pushed && l.ends_short != Some(true));
        if let Some(drained) = stopped.filter(|_| in_the_middle) {
            self.ledger.charge(TimeClass::Transfer, drained);
            self.ledger.charge(wait, now);
            return false;
        }
        if (clocked && !was_small) || (had_more && outstanding) {
            let at_once = gap
                .progress()
                .is_some_and(|by| span(by.time, now.time) <= PAUSE_NS);
            let class = match self.path_class() {
                // Its application's, or either window.
                TimeClass::Congestion if !at_once && last.is_some_and(Last::may_be_all) => {
                    TimeClass::Unknown
                }
                class => class,
            };
            self.ledger.charge(class, now);
            return clocked && self.flight > 0 && self.had_room;
        }
        if !was_small && self.ledger.open_ns(now) < self.away_ns() {
            // Far from the sender, its acknowledgements may be later than the fastest were.
            self.ledger.charge(TimeClass::Transfer, now);
            return false;
        }
        if !was_small && last.is_some() && self.away_ns() > 0 {
            // What released it cannot be seen from here, and it may have been the path.
            self.ledger.charge(TimeClass::Unknown, now);
            return false;
        }
        if outstanding && !gap.heard.drained {
            // A window that is not known may have been full.
            let class = match self.edge {
                0 => TimeClass::Unknown,
                _ => TimeClass::SenderApplication,
            };
            self.ledger.charge(class, now);
            return false;
        }
        if let Some(drained) = gap.drained() {
            self.ledger.charge(TimeClass::Transfer, drained);
        }
        let silent = self.ledger.open_ns(now);
        let class = if silent > IDLE_NS.max(self.smoothed_ns.saturating_mul(10)) {
            TimeClass::Idle
        } else {
            wait
        };
        self.ledger.charge(class, now);
        false
    }

    /// The way of the last bytes to the receiver and back: until they were acknowledged, but no longer
    /// than a round trip, as the rest is the other side's.
    fn arrival(&self, acknowledged: Mark) -> Mark {
        let round_trip = self.round_trips.min().unwrap_or(i64::MAX);
        let ns = self.ledger.open_ns(acknowledged).min(round_trip);
        Mark {
            time: self.ledger.settled.time + ns,
            ..acknowledged
        }
    }

    fn release_ns(&self) -> i64 {
        (self.smoothed_ns / RELEASED_SHARE).clamp(RELEASED_MIN_NS, RELEASED_MAX_NS)
    }

    /// Whether an acknowledgement that took so long had waited for a timer.
    fn is_late(&self, ns: i64) -> bool {
        let shortest = self.shortest_ns;
        shortest < i64::MAX && ns.saturating_sub(shortest) > DELAYED_NS.max(shortest)
    }

    /// What limits a sender that sends as acknowledgements come.
    fn path_class(&self) -> TimeClass {
        let shortest = self.round_trips.min().unwrap_or(0);
        let queued = self.smoothed_ns > shortest.saturating_mul(QUEUED_PERCENT) / 100
            && self.smoothed_ns > shortest.saturating_add(QUEUED_NS);
        if queued {
            TimeClass::Bandwidth
        } else {
            TimeClass::Congestion
        }
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
