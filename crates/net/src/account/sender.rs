//! One direction: its sender's transmissions, and what it heard between them, into classes of time.

use super::identifications::Identifications;
use super::ledger::Ledger;
use super::round_trips::Distribution;
use super::writes::Writes;
use super::{segments, span};
use model::{DirectionAccount, Mark, Stuck, Time, TimeClass};
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
/// Silence that nothing broke is idleness and not a slow application from this on, or from ten round
/// trips on.
const IDLE_NS: i64 = SECOND;
/// A round trip this much above the shortest has a queue in it.
const QUEUED_PERCENT: i64 = 125;
const QUEUED_NS: i64 = 2 * MILLISECOND;
/// An acknowledgement of one segment this much later than the shortest waited for a timer.
const DELAYED_NS: i64 = 8 * MILLISECOND;
/// A segment sent again so often without getting through is stuck.
const STUCK_TIMES: u64 = 3;
/// What a host may save on the fastest turn that was seen.
const AWAY_SPARE_NS: i64 = 100 * MICROSECOND;
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
    pub window: Option<u64>,
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
    pub pushed: bool,
    pub kind: Kind,
    pub full_sized: u64,
}

/// What the sender hears.
#[derive(Clone, Copy, Debug)]
enum News {
    Acknowledgement(Acknowledgement),
    Data(Mark),
}

impl News {
    fn time(&self) -> Time {
        match self {
            News::Acknowledgement(a) => a.mark.time,
            News::Data(mark) => mark.time,
        }
    }
}

/// What the sender heard since its last transmission.
#[derive(Clone, Copy, Default, Debug)]
struct Gap {
    /// The last acknowledgement of something new.
    progress: Option<Mark>,
    /// When everything was acknowledged, and whether by an acknowledgement alone.
    drained: Option<Mark>,
    drained_alone: bool,
    /// When the window last grew, and what was left of it until then.
    opened: Option<(Mark, u64)>,
    /// Whether the window was shut, or did not move on with what was acknowledged.
    shut: bool,
    /// Whether the sender probed the shut window: it had more to send.
    probed: bool,
    /// The peer's last data.
    peer: Option<Mark>,
    /// When what was lost had arrived.
    recovered: Option<Mark>,
}

/// The last transmission.
#[derive(Clone, Copy, Debug)]
struct Last {
    payload: u32,
    pushed: bool,
}

#[derive(Debug)]
pub(super) struct Sender {
    account: DirectionAccount,
    ledger: Ledger,
    fastest_ns: Option<i64>,
    away_ns: i64,
    on_the_way: VecDeque<News>,
    sent: u64,
    /// As the sender knows it, and as the capture does.
    acknowledged: u64,
    acknowledged_here: u64,
    edge: Option<u64>,
    shut: bool,
    shut_since: Option<Time>,
    recovering: Option<u64>,
    /// Segments sent again; those of which the receiver had said before that it had them, and how
    /// often it said so afterwards.
    again: u64,
    needless: u64,
    received_twice: u64,
    stuck: Option<Stuck>,
    stuck_end: u64,
    gap: Gap,
    last: Option<Last>,
    round_trips: Distribution,
    delays: Distribution,
    smoothed_ns: i64,
    writes: Writes,
    identifications: Identifications,
}

impl Sender {
    pub(super) fn new(first: Mark) -> Sender {
        Sender {
            account: DirectionAccount::default(),
            ledger: Ledger::new(first),
            fastest_ns: None,
            away_ns: 0,
            on_the_way: VecDeque::new(),
            sent: 0,
            acknowledged: 0,
            acknowledged_here: 0,
            edge: None,
            shut: false,
            shut_since: None,
            recovering: None,
            again: 0,
            needless: 0,
            received_twice: 0,
            stuck: None,
            stuck_end: 0,
            gap: Gap::default(),
            last: None,
            round_trips: Distribution::default(),
            delays: Distribution::default(),
            smoothed_ns: 0,
            writes: Writes::default(),
            identifications: Identifications::default(),
        }
    }

    /// Charges everything up to `until` that is not charged yet.
    pub(super) fn charge(&mut self, class: TimeClass, until: Mark) {
        self.ledger.charge(class, until);
    }

    pub(super) fn identified(&mut self, id: u16, payload: u64, full_sized: u64) {
        self.identifications.saw(id, payload, full_sized);
    }

    /// How long after it passed here something can have an effect that is seen here: a little less
    /// than the fastest seen so far, as hosts may be faster yet.
    pub(super) fn is_away(&mut self, ns: i64) {
        if self.fastest_ns.is_none_or(|known| ns < known) {
            self.fastest_ns = Some(ns);
            self.away_ns = (ns - ns / 10 - AWAY_SPARE_NS).max(0);
        }
    }

    pub(super) fn round_trip(&mut self, ns: i64, one_segment: bool) {
        if one_segment && self.is_late(ns) {
            let min = self.round_trips.min().unwrap_or(0);
            self.delays.add(ns.saturating_sub(min));
            return;
        }
        self.smoothed_ns = match self.round_trips.count() {
            0 => ns,
            _ => self.smoothed_ns + ns.saturating_sub(self.smoothed_ns) / 8,
        };
        self.round_trips.add(ns);
    }

    pub(super) fn received_twice(&mut self) {
        self.received_twice += 1;
    }

    /// The sender asked whether the window is still shut.
    pub(super) fn probed(&mut self) {
        self.gap.probed = true;
    }

    /// The peer sent data.
    pub(super) fn peer_sent(&mut self, mark: Mark) {
        if self.is_near() {
            self.gap.peer = Some(mark);
        } else {
            self.hear(News::Data(mark));
        }
    }

    pub(super) fn acknowledged(&mut self, ack: Acknowledgement) {
        let account = &mut self.account;
        if ack.alone && ack.position > self.acknowledged_here && self.acknowledged_here > 0 {
            let bytes = ack.position - self.acknowledged_here;
            account.acknowledgements += 1;
            account.segments_acknowledged += segments(bytes, ack.full_sized);
        }
        if ack.position > self.acknowledged_here {
            self.stuck = None;
        } else if let Some(stuck) = &mut self.stuck {
            stuck.receiver_heard = true;
        }
        self.acknowledged_here = self.acknowledged_here.max(ack.position);
        match ack.window {
            Some(0) => {
                self.shut_since.get_or_insert(ack.mark.time);
            }
            offered => {
                if let Some(since) = self.shut_since.take() {
                    account.zero_window_ns = account
                        .zero_window_ns
                        .saturating_add(span(since, ack.mark.time));
                }
                if let Some(bytes) = offered {
                    let (min, max) = (&mut account.window_min_bytes, &mut account.window_max_bytes);
                    *min = Some(min.map_or(bytes, |m| m.min(bytes)));
                    *max = Some(max.map_or(bytes, |m| m.max(bytes)));
                }
            }
        }
        if self.is_near() {
            self.learned(&ack, ack.mark);
        } else {
            self.hear(News::Acknowledgement(ack));
        }
    }

    /// Whether what passes here is at the sender at once.
    fn is_near(&self) -> bool {
        self.away_ns == 0 && self.on_the_way.is_empty()
    }

    /// Keeps what is on its way to the sender.
    fn hear(&mut self, news: News) {
        if self.on_the_way.len() >= ON_THE_WAY
            && let Some(oldest) = self.on_the_way.pop_front()
        {
            self.arrived(oldest, self.away_ns);
        }
        self.on_the_way.push_back(news);
    }

    /// Lets arrive what can have had an effect until `now`.
    fn listen(&mut self, now: Time) {
        let away = self.away_ns;
        while let Some(news) = self.on_the_way.front().copied()
            && news.time() + away <= now
        {
            self.on_the_way.pop_front();
            self.arrived(news, away);
        }
    }

    fn arrived(&mut self, news: News, away: i64) {
        let later = |mark: Mark| Mark {
            time: mark.time + away,
            ..mark
        };
        match news {
            News::Data(mark) => self.gap.peer = Some(later(mark)),
            News::Acknowledgement(ack) => self.learned(&ack, later(ack.mark)),
        }
    }

    /// The sender has learned of an acknowledgement.
    fn learned(&mut self, ack: &Acknowledgement, mark: Mark) {
        let progress = ack.position > self.acknowledged;
        if progress {
            let outstanding = self.sent > self.acknowledged;
            self.acknowledged = ack.position;
            self.gap.progress = Some(mark);
            if self.recovering.is_some_and(|until| ack.position >= until) {
                self.recovering = None;
                self.gap.recovered = Some(mark);
            }
            if outstanding && ack.position >= self.sent {
                self.gap.drained = Some(mark);
                self.gap.drained_alone = ack.alone;
            }
        }
        let shut = ack.window == Some(0);
        let left = |edge: u64| edge.saturating_sub(self.sent);
        match (ack.window, self.edge) {
            (Some(bytes), before) => {
                let edge = ack.position + bytes;
                if before.is_none_or(|before| edge > before) {
                    let usable = if self.shut {
                        0
                    } else {
                        before.map_or(u64::MAX, left)
                    };
                    self.gap.opened = Some((mark, usable));
                    self.edge = Some(edge);
                } else if progress {
                    self.gap.shut = true;
                }
            }
            (None, _) if self.shut => self.gap.opened = Some((mark, 0)),
            (None, _) => {}
        }
        self.gap.shut |= shut;
        self.shut = shut;
    }

    pub(super) fn sent(&mut self, s: &Transmission) {
        self.listen(s.mark.time);
        if self.acknowledged == 0 {
            // The first one of a connection that was seen in its middle.
            let before = s.end - u64::from(s.payload).min(s.end);
            self.acknowledged = before.max(self.acknowledged);
            self.acknowledged_here = self.acknowledged_here.max(before);
            self.sent = self.sent.max(before);
        }
        if self.gap.peer.is_some() || self.ledger.open_ns(s.mark) > PAUSE_NS {
            self.writes.paused();
        }
        self.judge(s);
        self.gap = Gap::default();
        let account = &mut self.account;
        if s.payload > 0 {
            account.first_data.get_or_insert(s.mark.time);
            account.last_data = Some(s.mark.time);
        }
        match s.kind {
            Kind::New => {
                self.writes
                    .sent(u64::from(s.payload), s.pushed, s.full_sized);
                self.last = Some(Last {
                    payload: s.payload,
                    pushed: s.pushed,
                });
            }
            Kind::Again { held, needless } => {
                if held {
                    account.repeated_bytes += u64::from(s.payload);
                    account.repeated_packets += 1;
                }
                self.again += 1;
                self.needless += u64::from(needless);
                let until = self.sent.max(s.end);
                self.recovering.get_or_insert(until);
                match &mut self.stuck {
                    Some(stuck) if self.stuck_end == s.end => {
                        stuck.times += 1;
                        stuck.last = s.mark;
                    }
                    _ => {
                        self.stuck_end = s.end;
                        self.stuck = Some(Stuck {
                            bytes: u64::from(s.payload).min(s.full_sized),
                            times: 1,
                            first: s.mark,
                            last: s.mark,
                            receiver_heard: false,
                        });
                    }
                }
            }
        }
        self.sent = self.sent.max(s.end);
        let flight = s.data_end.saturating_sub(self.acknowledged_here);
        account.flight_max_bytes = account.flight_max_bytes.max(flight);
    }

    /// Charges the time before a transmission to what it waited for.
    fn judge(&mut self, s: &Transmission) {
        let now = s.mark;
        let gap = &self.gap;
        let outstanding = self.sent > self.acknowledged || gap.drained.is_some();
        if let Some(arrived) = gap.recovered {
            self.ledger.charge(TimeClass::LossRecovery, arrived);
        } else if self.recovering.is_some() {
            self.ledger.charge(TimeClass::LossRecovery, now);
        }
        if let Kind::Again { .. } = s.kind {
            if let Some(progress) = gap.progress {
                self.ledger.charge(TimeClass::Transfer, progress);
            }
            self.ledger.charge(TimeClass::LossRecovery, now);
            return;
        }
        if self.ledger.open_ns(now) <= BURST_NS {
            self.ledger.charge(TimeClass::Transfer, now);
            return;
        }
        if gap.probed
            && let Some((opened, _)) = gap.opened
        {
            self.ledger.charge(TimeClass::ReceiverApplication, opened);
        }
        let payload = u64::from(s.payload);
        let release_ns = self.release_ns();
        let released = |by: Mark| span(by.time, now.time) <= release_ns;
        if let Some((opened, usable)) = gap.opened
            // All of it: a sender with segmentation offload waits until a large one fits.
            && usable < payload
            && released(opened)
        {
            let class = if gap.shut {
                TimeClass::ReceiverApplication
            } else {
                TimeClass::SmallWindow
            };
            self.ledger.charge(class, now);
            return;
        }
        // Nobody waits for a side that only closes.
        let wait = match payload {
            0 => TimeClass::Idle,
            _ => TimeClass::SenderApplication,
        };
        let last = self.last;
        let was_small = last.is_some_and(|l| u64::from(l.payload) < s.full_sized);
        let had_more = last.is_some_and(|l| !l.pushed);
        let clocked = gap.progress.is_some_and(released);
        let answers = gap.peer.filter(|peer| {
            gap.progress
                .is_none_or(|p| p.time <= peer.time || !(clocked && had_more))
        });
        if let Some(peer) = answers {
            let acknowledged = gap.drained.filter(|d| d.time <= peer.time).unwrap_or(peer);
            if self.sent > 0 {
                self.ledger
                    .charge(TimeClass::Transfer, self.arrival(acknowledged));
            }
            self.ledger.charge(TimeClass::Idle, peer);
            self.ledger.charge(wait, now);
            return;
        }
        if was_small
            && (1..s.full_sized).contains(&payload)
            && gap.drained_alone
            && gap.drained.is_some_and(released)
        {
            self.ledger.charge(TimeClass::NagleDelayedAck, now);
            return;
        }
        if gap.drained_alone
            && let Some(drained) = gap.drained.filter(|d| released(*d))
            && self.is_late(self.ledger.open_ns(drained))
        {
            let waited = &mut self.account.delayed_ack_wait_ns;
            *waited = waited.saturating_add(self.ledger.open_ns(now));
            self.ledger.charge(TimeClass::NagleDelayedAck, now);
            return;
        }
        if (clocked && !was_small) || (had_more && outstanding) {
            let class = self.path_class();
            self.ledger.charge(class, now);
            return;
        }
        if !was_small && self.ledger.open_ns(now) < self.away_ns {
            // Far from the sender, its acknowledgements may be later than the fastest were.
            self.ledger.charge(TimeClass::Transfer, now);
            return;
        }
        if !was_small && last.is_some() && self.away_ns > 0 {
            // What released it cannot be seen from here, and it may have been the path.
            self.ledger.charge(TimeClass::Unknown, now);
            return;
        }
        if outstanding && gap.drained.is_none() {
            self.ledger.charge(TimeClass::SenderApplication, now);
            return;
        }
        if let Some(drained) = gap.drained {
            self.ledger.charge(TimeClass::Transfer, drained);
        }
        let silent = self.ledger.open_ns(now);
        let class = if silent > IDLE_NS.max(self.smoothed_ns.saturating_mul(10)) {
            TimeClass::Idle
        } else {
            wait
        };
        self.ledger.charge(class, now);
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
        let shortest = self.round_trips.min();
        shortest.is_some_and(|min| ns.saturating_sub(min) > DELAYED_NS.max(min))
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

    /// The connection is over with this packet.
    pub(super) fn finish(mut self, last: Mark) -> DirectionAccount {
        self.listen(last.time);
        let gap = &self.gap;
        if let Some(arrived) = gap.recovered {
            self.ledger.charge(TimeClass::LossRecovery, arrived);
        }
        let outstanding = self.sent > self.acknowledged;
        if let Some(drained) = gap.drained {
            self.ledger.charge(TimeClass::Transfer, drained);
        }
        let silent = self.ledger.open_ns(last);
        let rest = match (outstanding, self.recovering) {
            _ if gap.probed && self.shut => TimeClass::ReceiverApplication,
            (true, Some(_)) => TimeClass::LossRecovery,
            (true, None) if self.shut => TimeClass::ReceiverApplication,
            (true, None) if silent <= IDLE_NS.max(self.smoothed_ns.saturating_mul(3)) => {
                TimeClass::Transfer
            }
            (true, None) => TimeClass::Unknown,
            (false, _) => TimeClass::Idle,
        };
        self.ledger.charge(rest, last);
        if let Some(since) = self.shut_since.take() {
            let closed = &mut self.account.zero_window_ns;
            *closed = closed.saturating_add(span(since, last.time));
        }
        self.writes.paused();
        let (most, all) = self.writes.summary();
        let mut account = self.account;
        self.ledger.finish(&mut account);
        // The network may have copied the others.
        account.spurious_retransmissions = self.needless.max(self.received_twice).min(self.again);
        account.rtt = self.round_trips.summary();
        account.delayed_acks = self.delays.count();
        account.delayed_ack_ns = (self.delays.count() > 0).then(|| self.delays.quantile(0.5));
        account.write_size_bytes = most.map(|(size, _)| size);
        account.writes_of_that_size = most.map_or(0, |(_, n)| n);
        account.writes = all;
        (account.split_writes, account.split_rest_bytes) = self.writes.split();
        account.stuck = self.stuck.filter(|s| s.times >= STUCK_TIMES);
        account.skipped_identifications = self.identifications.skipped();
        account
    }
}
