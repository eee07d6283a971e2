//! The time before a transmission, into the class of what ended it.

use super::{IDLE_NS, Kind, Last, MICROSECOND, MILLISECOND, PAUSE_NS, Sender, Transmission};
use crate::account::span;
use crate::track::LONGEST_DELAY_NS;
use model::{Answered, Mark, TimeClass};

/// Segments this close left in one go.
const BURST_NS: i64 = 50 * MICROSECOND;
/// What is sent this soon after something came was released by it: a share of the round trip, as
/// hosts and captures on long paths are no busier, within bounds.
const RELEASED_SHARE: i64 = 8;
const RELEASED_MIN_NS: i64 = 500 * MICROSECOND;
const RELEASED_MAX_NS: i64 = 2 * MILLISECOND;
/// Silence with nothing in flight is the sender's own from this on: what the path varies is less.
const SILENT_NS: i64 = 20 * MILLISECOND;
/// A round trip this much above the shortest has a queue in it.
pub(crate) const QUEUED_PERCENT: i64 = 125;
pub(crate) const QUEUED_NS: i64 = 2 * MILLISECOND;
/// So many bytes every sender may have in flight from its first round trip on (RFC 3390).
pub(crate) const INITIAL_WINDOW: u64 = 4_380;
/// The largest window that needs no scaling (RFC 7323 section 2).
const UNSCALED_WINDOW: u64 = 65_535;
/// Answers that take so small a part of the way to the receiver and back show that the sender is near.
pub(crate) const NEAR_SHARE: i64 = 8;
/// What is acknowledged sooner has been at the receiver.
const AT_RECEIVER_NS: i64 = 100 * MICROSECOND;
/// An acknowledgement of one segment this much later than the shortest waited for a timer.
const DELAYED_NS: i64 = 8 * MILLISECOND;

impl Sender {
    /// Charges the time before a transmission to what it waited for; whether that was the congestion
    /// window, and something was in flight.
    ///
    /// Causes in the order in which they exclude each other: the first that holds has the time, so they stand in
    /// one place.
    pub(super) fn judge(&mut self, s: &Transmission) -> bool {
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
        if let Some(missed) = gap.missed() {
            // It may have waited for that. What came since it had it is another matter, and what did not is its own.
            let later = |by: Option<Mark>| by.is_some_and(|by| by.time > missed.time);
            self.ledger.charge(TimeClass::Unknown, missed);
            if !later(gap.progress()) && !later(gap.peer()) {
                self.ledger.charge(own_time(s.payload), now);
                return false;
            }
        }
        if gap.heard.probed
            && let Some(opened) = gap.opened()
        {
            self.ledger.charge(TimeClass::ReceiverApplication, opened);
        }
        let payload = u64::from(s.payload);
        // What overtook others was not what left first: that was as large as can be.
        let beyond = s.data_end.saturating_sub(payload).saturating_sub(self.sent);
        let overtook = beyond > 0;
        if self.sent > 0 && beyond > self.flight_max.max(UNSCALED_WINDOW) {
            // More than was ever in flight: it was acknowledged meanwhile, and the capture has neither.
            self.ledger.charge(TimeClass::Unknown, now);
            return false;
        }
        let first = if overtook { s.full_sized } else { payload };
        let opened = self.opened(now);
        let gap = &self.gap;
        let release_ns = self.release_ns();
        let released = |by: Mark| span(by.time, now.time) <= release_ns;
        if let Some(opened) = opened
            // All of it: a sender with segmentation offload waits until a large one fits.
            && gap.usable < first
            && span(opened.time, now.time) <= release_ns + self.spared_ns()
        {
            let class = if gap.heard.shut {
                TimeClass::ReceiverApplication
            } else {
                TimeClass::SmallWindow
            };
            self.ledger.charge(class, now);
            return false;
        }
        let wait = own_time(s.payload);
        let last = self.last;
        let was_small = last.is_some_and(|l| l.ends_short == Some(true));
        let stopped = gap
            .drained()
            .filter(|d| span(d.time, now.time) >= SILENT_NS)
            .filter(|_| !self.left_before_drained(s.echo));
        // What never came past the capture had left as well, and was sent again.
        let lost = self.skipped && !overtook && stopped.is_some();
        let had_more = lost || last.is_some_and(|l| !l.pushed);
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
                    ..Answered::default()
                });
            } else if wait == TimeClass::SenderApplication {
                let silent_ns = self.ledger.open_ns(now);
                self.habits().silent_behind(silent_ns);
            }
            self.ledger.charge(wait, now);
            return false;
        }
        // Some hosts hold back what is larger too, or have sent all that they may, until all before is
        // acknowledged: that shows where a timer held the acknowledgement.
        if first > 0
            && gap.heard.drained_alone
            && let Some(drained) = gap.drained()
            && self.ledger.open_ns(drained) <= LONGEST_DELAY_NS.saturating_add(self.smoothed_ns)
        {
            let small = was_small && first < s.full_sized;
            // As it passed here.
            let late = self.is_late(self.ledger.open_ns(drained) - self.away_ns());
            // Next to a timer the slowest of hosts is quick.
            let within = if late { RELEASED_MAX_NS } else { release_ns };
            if (small || late) && span(drained.time, now.time) <= within {
                if self.edge == 0 && self.may_hold {
                    // A slow reader's window, of which the scale is not known, holds up as long as a timer does, and may be
                    // smaller than a segment.
                    self.ledger.charge(TimeClass::Unknown, now);
                } else if small {
                    self.ledger.charge(TimeClass::NagleDelayedAck, now);
                } else {
                    self.trouble().waited_ns += self.ledger.open_ns(now);
                    self.ledger.charge(TimeClass::NagleDelayedAck, now);
                }
                return false;
            }
        }
        // With everything acknowledged TCP may always send, and nothing came that could have released it. Far from
        // the sender more may be on its way, but where the last segment was pushed nothing more was queued. What ends
        // with a segment that is not known to be short goes on: its sender was in the middle of it, however long.
        let in_the_middle = !had_more && last.is_some_and(|l| l.ends_short != Some(true));
        if let Some(drained) = stopped.filter(|_| in_the_middle) {
            self.charge_pause(drained, wait, now);
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
        let is_full = !was_small && last.is_some() && self.away_ns() > 0;
        if is_full || self.left_before_drained(s.echo) {
            // What released it cannot be seen from here, and it may have been the path.
            self.ledger.charge(TimeClass::Unknown, now);
            return false;
        }
        if outstanding && !gap.heard.drained {
            // A window that is not known may have been full.
            let class = match self.edge {
                0 => TimeClass::Unknown,
                // Linux pushes whatever it gives to its card in one: behind full segments more may wait for TCP's pace, by which a
                // window passes in a round trip.
                _ if last.is_some_and(|l| l.ends_short == Some(false))
                    && self.flight >= INITIAL_WINDOW
                    && self.ledger.open_ns(now) <= self.smoothed_ns =>
                {
                    match self.line.is_full() {
                        true => self.path_class(),
                        false => TimeClass::Unknown,
                    }
                }
                _ => TimeClass::SenderApplication,
            };
            self.ledger.charge(class, now);
            return false;
        }
        let drained = gap.drained().unwrap_or(self.ledger.settled);
        let silent = span(drained.time, now.time);
        let class = match silent > IDLE_NS.max(self.smoothed_ns.saturating_mul(10)) {
            true => TimeClass::Idle,
            false => wait,
        };
        self.charge_pause(drained, class, now);
        false
    }

    /// Charges a silence that outlasted the acknowledgement of everything. What had been queued would have left
    /// with that, if the window let it, so nothing was since the last byte left. Where TCP could have sent more
    /// meanwhile, as little was in flight, or no more than before, the whole pause is the application's, and what was
    /// on its way cost nobody anything; else it is certain to be from the first acknowledgement on, or, where a queue
    /// had to empty, from the last, and before that the path may have been waited for. The former takes that the
    /// capture is next to the sender, which shows by how soon it answers, and a window that is known.
    fn charge_pause(&mut self, drained: Mark, class: TimeClass, now: Mark) {
        let shortest_ns = self.round_trips.min().unwrap_or(0);
        let is_here = self.fastest_ns < i64::MAX
            && (self.away_ns() == 0 || self.fastest_ns <= shortest_ns / NEAR_SHARE);
        // A congestion window that was all used grows when that is acknowledged (RFC 5681, section 3.1): as much again
        // is less than there is room for, but before a line that is full it would only have waited longer. What
        // acknowledges one segment may have waited for a timer: then the last of several tells of the line, or what they
        // usually take.
        let took_ns = match self.of_one {
            true if self.of_several_ns < i64::MAX => self.of_several_ns,
            true if self.smoothed_ns > 0 => self.smoothed_ns,
            _ => self.ledger.open_ns(drained),
        };
        let usual = self.round_trips.min();
        let usual_ns = usual.map(|ns| ns / 100 * QUEUED_PERCENT + QUEUED_NS);
        let is_queued = usual_ns.is_none_or(|ns| took_ns > ns);
        let carried = if is_queued { 0 } else { self.carried + 1 };
        // Whatever more had been queued would have left with the first of them.
        let free = match self.gap.progress() {
            Some(_) if !is_queued => self.gap.begun,
            _ => drained,
        };
        let could_send = self.flight < INITIAL_WINDOW.max(carried);
        self.carried = self.carried.max(self.flight);
        match class {
            // Each pause counts, though nothing else lies between them.
            TimeClass::SenderApplication if could_send && is_here && self.edge > 0 => {
                self.ledger.end_stretch();
            }
            // Next to the receiver nothing is on its way any more.
            TimeClass::SenderApplication if self.shortest_ns >= AT_RECEIVER_NS => {
                self.ledger.charge(TimeClass::Unknown, free);
            }
            _ => self.ledger.charge(TimeClass::Transfer, free),
        }
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
    pub(super) fn is_late(&self, ns: i64) -> bool {
        let shortest = self.shortest_ns;
        shortest < i64::MAX && ns.saturating_sub(shortest) > DELAYED_NS.max(shortest)
    }

    /// What limits a sender that sends as acknowledgements come.
    fn path_class(&self) -> TimeClass {
        let shortest = self.round_trips.min().unwrap_or(0);
        let queued = self.smoothed_ns > shortest.saturating_mul(QUEUED_PERCENT) / 100
            && self.smoothed_ns > shortest.saturating_add(QUEUED_NS);
        if queued || (self.smoothed_ns > QUEUED_NS && self.line.is_full()) {
            match self.may_be_full {
                true => TimeClass::Unknown,
                false => TimeClass::Bandwidth,
            }
        } else {
            TimeClass::Congestion
        }
    }
}

/// A sender's own time before so much data: nobody waits for a side that only closes.
fn own_time(payload: u32) -> TimeClass {
    match payload {
        0 => TimeClass::Idle,
        _ => TimeClass::SenderApplication,
    }
}
