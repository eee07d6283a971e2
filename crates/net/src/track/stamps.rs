//! A sender's own time stamps (RFC 7323 section 3.2) into how much later than usual its segments came: what the path
//! kept, whatever the sender did.
//!
//! A stamp is the sender's clock when the segment left. So when it came, less its stamp, is the path and how far the two
//! clocks are apart; the least of that is the path with nothing on it, and what others have more of was kept on the way.
//! The length of a tick, and by how many the clock goes on at a time, come from the stamps themselves.
//!
//! Clocks drift: the least may grow a little. One that runs slower than that would be later and later, and one that was
//! set, or stood still with its host, late from then on. So what came late is told once another comes in time; or where it
//! became late faster than clocks err, what comes from the other side is in time, and exchanges that begin afterwards take
//! as long as they are late: a path that is longer now.
//!
//! Of late segments each of which had left before the one before it came, all the time until the last is the path's: what
//! its sender did was over. Where they came all along, they stood in a queue, before a line that was full.

use super::echoes::Echoes;
use super::recovery::Stretch;
use super::{MILLISECOND, SECOND};
use model::{EpisodeKind, Mark, Time};
use serde::{Deserialize, Serialize};

/// Ticks that systems are known to have (RFC 7323 section 5.4 asks for 1 ms to 1 s), but for those that tell nothing.
const TICKS_NS: [i64; 4] = [1_000, MILLISECOND, 4 * MILLISECOND, 10 * MILLISECOND];
/// What stamps show of it lies within so many of a hundred.
const ALIKE_PERCENT: i64 = 12;
/// Sooner, and by fewer ticks, that is not known.
const SHOWN_AFTER_NS: i64 = 50 * MILLISECOND;
const SHOWN_BY_TICKS: i64 = 20;

/// No two clocks drift apart faster: one part in so many (NTP slews by 500 ppm).
const DRIFT: i64 = 2_000;
/// Less than that, and than two of its clock's steps, is no delay that is told.
const LEAST_NS: i64 = 2 * MILLISECOND;
/// Within a step and this it came in time.
const IN_TIME_NS: i64 = MILLISECOND / 2;
/// No clock runs slower by more than one part in so many.
const ERRS: i64 = 20;
/// A run that goes on for so long is told in parts.
const PART_NS: i64 = 250 * MILLISECOND;
/// What comes so much sooner than any before is another clock, or one that was set; as is one that is late for so long.
const STEP_NS: i64 = 50 * MILLISECOND;
const STEPPED_NS: i64 = 30 * SECOND;

/// So many late segments, and runs of them, wait for one that comes in time.
const UNTOLD: usize = 32;

/// In a run of which no such part passed without a segment, they came one after another all along.
const QUEUED_GAPS: i64 = 4;

/// What data a segment has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Data {
    /// That may begin a message.
    First,
    /// That goes on.
    More,
}

/// What came later than usual, and waits for something that comes in time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Late {
    kind: EpisodeKind,
    /// From when it would have come.
    since: Time,
    /// The first and the last packet of it.
    first: Mark,
    last: Mark,
    /// What of it may be the clock's, unless another comes in time.
    unsure_ns: i64,
    /// The longest time in it without a packet.
    gap_ns: i64,
    /// Whether its first packet is told by itself.
    is_told: bool,
}

impl Late {
    fn of(kind: EpisodeKind, packet: Mark, ns: i64) -> Late {
        Late {
            kind,
            since: Time(packet.time.0.saturating_sub(ns)),
            first: packet,
            last: packet,
            unsure_ns: 0,
            gap_ns: ns,
            is_told: false,
        }
    }

    /// Whether it is more than one packet that is told by itself.
    fn tells_more(&self) -> bool {
        !self.is_told || self.first.packet != self.last.packet
    }

    /// The next packet came late too: whether it had left before the last one came.
    fn goes_on(&mut self, packet: Mark, ns: i64) -> bool {
        let gap_ns = packet.time - self.last.time;
        let goes_on = (0..=ns).contains(&gap_ns);
        if goes_on {
            self.last = packet;
            self.gap_ns = self.gap_ns.max(gap_ns);
        }
        goes_on
    }

    /// The same where only that is taken for its time which is no clock's, if anything is left.
    fn less_unsure(self) -> Option<Late> {
        let since = Time(self.since.0.saturating_add(self.unsure_ns));
        (self.last.time - since >= LEAST_NS).then_some(Late { since, ..self })
    }

    /// Where packets came all along, they stood in a queue.
    fn told(self, order: u64) -> (EpisodeKind, Stretch) {
        let whole_ns = self.last.time - self.since;
        let kind = match self.kind {
            EpisodeKind::Kept if self.gap_ns.saturating_mul(QUEUED_GAPS) <= whole_ns => {
                EpisodeKind::Queued
            }
            kind => kind,
        };
        let first = Mark {
            time: self.since,
            ..self.first
        };
        (kind, Stretch::of(first, self.last, order))
    }
}

/// One direction's, as they come.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Stamps {
    /// When the first came, and the last stamp, in ticks since that.
    begun: Option<Time>,
    last: u32,
    ticks: i64,
    tick_ns: i64,
    /// By how many it goes on at least: a clock of milliseconds may be set each fifteen. And by how many it did last.
    step: Option<i64>,
    before: i64,
    /// The least of when one came, less its stamp, and when that was so.
    least_ns: i64,
    least_at: Time,
    /// Since when the clock has not been set, for all that shows.
    set_at: Time,
    /// How late the last one was; whether that grew faster than a clock errs; and since when a round trip is known to take
    /// as long.
    late_ns: i64,
    is_fast: bool,
    shown: Time,
    /// What came late and no other in time since, and the run of late ones that goes on.
    untold: Vec<Late>,
    run: Option<Late>,
    /// Up to where runs were told.
    told_to: Time,
    /// The other side's, as they come back with this direction's data.
    pub echoes: Echoes,
}

impl Stamps {
    /// Takes a segment's stamp. Late data is told by itself where it may be the first of a message.
    pub(super) fn saw(&mut self, packet: Mark, stamp: u32, data: Option<Data>) {
        let at = packet.time;
        let Some(begun) = self.begun else {
            (self.begun, self.last) = (Some(at), stamp);
            return;
        };
        let more = i64::from(stamp.wrapping_sub(self.last) as i32);
        self.ticks = self.ticks.saturating_add(more);
        if more > 0 {
            self.goes_on(more);
        }
        self.last = stamp;
        let passed = at - begun;
        if self.tick_ns == 0 {
            self.tick_ns = tick_of(passed, self.ticks);
            if self.tick_ns == 0 {
                return;
            }
            // The first came when it came, which is what the others are held against.
            (self.least_ns, self.least_at, self.set_at) = (0, begun, begun);
        }
        let came = self.came_ns(passed);
        let since = (at - self.least_at).max(0);
        let grown = self.least_ns.saturating_add(since / DRIFT);
        let beyond = came.saturating_sub(grown);
        if beyond < -STEP_NS || since > STEPPED_NS {
            return self.is_set(came, at);
        }
        self.late_ns = beyond.saturating_sub(self.step_ns());
        if self.late_ns <= IN_TIME_NS {
            (self.least_ns, self.least_at) = (came.min(grown), at);
            self.is_fast = false;
        } else {
            self.is_fast |= self.late_ns > since / ERRS;
        }
        if let Some(data) = data {
            self.data(packet, self.late_ns, data == Data::First);
        }
    }

    /// What goes on in steps does so by one or by several, rounded: two times differ by none or by a step, to one.
    fn goes_on(&mut self, ticks: i64) {
        let differs = ticks.abs_diff(self.before) as i64;
        let least = match differs > 1 && self.before > 0 {
            true => ticks.min(differs),
            false => ticks,
        };
        self.before = ticks;
        self.step = Some(self.step.map_or(least, |step| step.min(least)));
    }

    /// How long its clock may show the same.
    fn step_ns(&self) -> i64 {
        self.tick_ns.saturating_mul(self.step.unwrap_or(1))
    }

    /// By how much its clock may have erred since one came in time: by as much as it may have all along, to two steps.
    fn unsure_ns(&self, at: Time) -> i64 {
        let (since, known) = ((at - self.least_at).max(0), self.least_at - self.set_at);
        let errs = i128::from(since) * i128::from(self.step_ns().saturating_mul(2) + IN_TIME_NS);
        let errs = errs / i128::from(known.max(1));
        (since / ERRS).min(i64::try_from(errs).unwrap_or(i64::MAX))
    }

    /// Another clock, or one that was set.
    fn is_set(&mut self, came: i64, at: Time) {
        self.untold.clear();
        (self.run, self.is_fast) = (None, false);
        (self.least_ns, self.least_at, self.late_ns) = (came, at, 0);
        self.set_at = at;
    }

    /// The segment that was seen last, at `now`, acknowledges what was sent after `sent`: it was on its way for no longer.
    pub(super) fn acknowledges(&mut self, sent: Time, now: Time) {
        if self.late_ns > now - sent {
            let came = self.late_ns.saturating_add(self.step_ns());
            let grown = (now - self.least_at).max(0) / DRIFT;
            let came = self.least_ns.saturating_add(grown).saturating_add(came);
            self.is_set(came, now);
        } else if self.late_ns > 0 {
            self.shown = self.shown.max(sent);
        }
    }

    /// When one came in time for the last time.
    pub(super) fn in_time(&self) -> Time {
        self.least_at
    }

    fn data(&mut self, packet: Mark, late_ns: i64, may_be_first: bool) {
        if late_ns < LEAST_NS || late_ns < self.step_ns().saturating_mul(2) {
            // Most have none: nothing is copied.
            if self.run.is_some() {
                let over = self.run.take();
                self.keep(over.filter(Late::tells_more));
            }
            return;
        }
        self.late(packet, late_ns, may_be_first);
    }

    /// Data that came late enough to be told of.
    #[inline(never)]
    fn late(&mut self, packet: Mark, late_ns: i64, may_be_first: bool) {
        let unsure_ns = self.unsure_ns(packet.time);
        let late = |kind| Late {
            unsure_ns,
            ..Late::of(kind, packet, late_ns)
        };
        let goes_on = |run: &mut Late| run.goes_on(packet, late_ns);
        if !self.run.as_mut().is_some_and(goes_on) {
            let next = late(EpisodeKind::Kept);
            let over = self.run.replace(Late {
                is_told: may_be_first,
                since: next.since.max(self.told_to),
                ..next
            });
            self.keep(over.filter(Late::tells_more));
        }
        if may_be_first {
            self.keep(Some(late(EpisodeKind::Late)));
        }
    }

    fn keep(&mut self, late: Option<Late>) {
        if self.untold.len() < UNTOLD {
            self.untold.extend(late);
        }
    }

    /// When a segment came, so long after the first, less its stamp.
    fn came_ns(&self, passed: i64) -> i64 {
        passed.saturating_sub(self.ticks.saturating_mul(self.tick_ns))
    }

    /// What is sure now: from when it would have come to when it did. `order` is of the packet that came last, `now` its time,
    /// and the other side's packets came in time until `others`.
    pub(super) fn take_told(
        &mut self,
        now: Time,
        order: u64,
        others: Time,
    ) -> impl Iterator<Item = (EpisodeKind, Stretch)> + use<> {
        let until = match (self.least_at == now, self.is_fast) {
            (true, _) => now,
            (false, true) => others.min(self.shown),
            (false, false) => Time::MIN,
        };
        let is_over = |run: &mut Late| {
            let lasted = run.last.time - run.since;
            run.last.time <= until && (until == now || lasted >= PART_NS)
        };
        if let Some(run) = self.run.take_if(is_over) {
            self.told_to = run.last.time;
            self.keep(Some(run).filter(Late::tells_more));
        }
        let sure = self.untold.extract_if(.., |late| late.last.time <= until);
        let told: Vec<Late> = sure.collect();
        let is_sure = until == now;
        let told = told.into_iter().filter_map(move |late| match is_sure {
            true => Some(late),
            false => late.less_unsure(),
        });
        told.map(move |late| late.told(order))
    }

    pub(super) fn has_untold(&self) -> bool {
        self.run.is_some() || !self.untold.is_empty()
    }
}

/// The length of a tick, of which so many passed in a time; 0 where that does not tell.
fn tick_of(passed_ns: i64, ticks: i64) -> i64 {
    if passed_ns < SHOWN_AFTER_NS || ticks < SHOWN_BY_TICKS {
        return 0;
    }
    let shown = passed_ns / ticks;
    let is_alike = |tick: &i64| (shown - tick).abs() <= (tick * ALIKE_PERCENT / 100).max(1);
    TICKS_NS.into_iter().find(is_alike).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::PacketRef;

    /// Segments by their sender's clock and when they came, in milliseconds; what is told of each, likewise: when it
    /// came, and how late.
    fn all_told(
        tick_ms: i64,
        segments: impl IntoIterator<Item = (i64, i64)>,
    ) -> Vec<(EpisodeKind, i64, i64)> {
        let (mut stamps, mut told) = (Stamps::default(), Vec::new());
        let mut before = i64::MIN / 2;
        for (order, (sent, came)) in (1..).zip(segments) {
            let mark = Mark {
                time: Time(came * MILLISECOND),
                packet: PacketRef {
                    file: 0,
                    frame: order as u32,
                },
            };
            // It counts on through the end of what the option holds.
            let stamp = (u32::MAX - 100).wrapping_add((sent / tick_ms) as u32);
            // What leaves at once is one message.
            let data = match sent - std::mem::replace(&mut before, sent) {
                0 => Data::More,
                _ => Data::First,
            };
            stamps.saw(mark, stamp, Some(data));
            for (kind, s) in stamps.take_told(mark.time, order, Time::MIN) {
                let ns = s.last.time - s.first.time;
                told.push((kind, s.last.time.0 / MILLISECOND, ns / MILLISECOND));
            }
        }
        told
    }

    /// The same of what may be the first of a message.
    fn told(tick_ms: i64, segments: impl IntoIterator<Item = (i64, i64)>) -> Vec<(i64, i64)> {
        let all = all_told(tick_ms, segments).into_iter();
        let firsts = all.filter(|(kind, ..)| *kind == EpisodeKind::Late);
        firsts.map(|(_, at, ns)| (at, ns)).collect()
    }

    fn runs(segments: impl IntoIterator<Item = (i64, i64)>) -> Vec<(EpisodeKind, i64, i64)> {
        let all = all_told(1, segments).into_iter();
        all.filter(|(kind, ..)| *kind != EpisodeKind::Late)
            .collect()
    }

    /// As they leave, 5 ms under way, but for what those between `kept` wait for the end of that.
    fn kept_of(
        sent: impl Iterator<Item = i64>,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = (i64, i64)> {
        sent.map(move |sent| {
            let came = sent + 5;
            (sent, if (from..to).contains(&came) { to } else { came })
        })
    }

    /// Two each 20 ms, one a millisecond behind the other.
    fn kept(from: i64, to: i64) -> impl Iterator<Item = (i64, i64)> {
        kept_of((0..100).map(|i| i / 2 * 20 + i % 2), from, to)
    }

    #[test]
    fn what_the_path_kept_came_later_than_its_stamp_says() {
        // To a tick; the clock may have drifted by nothing that shows here.
        assert_eq!(
            told(1, kept(500, 530)),
            [(530, 23), (530, 22), (530, 3), (530, 2)],
            "25, 24, 5 and 4 ms, told as they are once one is in time"
        );
    }

    #[test]
    fn what_came_together_had_been_kept_and_what_came_one_by_one_had_queued() {
        assert_eq!(runs(kept(500, 530)), [(EpisodeKind::Kept, 530, 23)]);
        // Fifty leave at once each second, and pass a line that takes 2 ms for each.
        let line = (0..10).flat_map(|turn| {
            let one = move |i: i64| (turn * 1_000, turn * 1_000 + 5 + i * 2);
            let before = (turn * 1_000 - 1, turn * 1_000 + 4);
            std::iter::once(before).chain((0..50).map(one))
        });
        let second = runs(line).get(1).copied();
        assert_eq!(second, Some((EpisodeKind::Queued, 2_103, 96)));
        // As many that leave as they come are their sender's own pace.
        let paced = (0..500).map(|i| (i * 2, i * 2 + 5));
        assert_eq!(runs(paced), []);
    }

    #[test]
    fn a_sender_that_is_silent_keeps_nobody_waiting_on_the_path() {
        let paused = (0..100).map(|i| (i * 10 + i / 50 * 500, i * 10 + i / 50 * 500 + 5));
        assert_eq!(told(1, paused), []);
    }

    /// Two steps are no delay.
    #[test]
    fn a_clock_of_coarse_ticks_tells_what_is_longer_than_they_are() {
        let kept = |to| kept_of((0..100).map(|i| i * 10), 500, to);
        assert_eq!(told(10, kept(530)), []);
        assert_eq!(told(10, kept(560)), [(560, 44), (560, 34), (560, 24)]);
        assert_eq!(told(100, kept(900)), [], "no ticks that are known");
    }

    /// How late answers are told to be whose requests left each 10 ms, as they left and came; the other side is in time.
    fn answers(all: impl Iterator<Item = [i64; 3]>) -> Vec<i64> {
        let (mut stamps, mut told) = (Stamps::default(), Vec::new());
        for (order, [asked, sent, came]) in (1..).zip(all) {
            let [asked, came] = [asked, came].map(|ms| Time(ms * MILLISECOND));
            let mark = Mark {
                time: came,
                ..Mark::default()
            };
            let soon = Mark {
                time: Time(came.0 - MILLISECOND),
                ..mark
            };
            stamps.saw(soon, sent as u32 - 1, None);
            stamps.saw(mark, sent as u32, Some(Data::First));
            told.extend(stamps.take_told(came, order, asked));
            stamps.acknowledges(asked, came);
        }
        let ns = told
            .iter()
            .map(|(_, s)| (s.last.time - s.first.time) / MILLISECOND);
        ns.collect()
    }

    #[test]
    fn a_path_that_becomes_longer_makes_late_what_could_not_have_come_sooner() {
        let longer = |i: i64| [i * 30, i * 30 + 2, i * 30 + 4 + i / 50 * 15];
        let told = answers((0..100).map(longer));
        assert!((45..50).contains(&told.len()), "{told:?}");
        assert!(told.iter().all(|ms| (10..=14).contains(ms)), "{told:?}");
    }

    /// A host stood still, and its clock with it: what it answers in 4 ms was not under way for 2 s.
    #[test]
    fn a_clock_that_stood_still_is_no_path() {
        let paused = |i: i64| {
            let [before, behind] = [i > 50, i >= 50].map(|is| i64::from(is) * 2_000);
            [i * 30 + before, i * 30 + 2, i * 30 + 4 + behind]
        };
        assert_eq!(answers((0..100).map(paused)), []);
    }

    /// Windows counts milliseconds, and looks at its clock each fifteen or sixteen.
    #[test]
    fn a_clock_that_goes_on_in_steps_tells_what_is_longer_than_they_are() {
        let steps = |until: i64| {
            (0..200).map(move |i: i64| {
                let (sent, came) = (i * 7, i * 7 + 5);
                let kept = (500..until).contains(&came);
                (sent * 10 / 156 * 156 / 10, if kept { until } else { came })
            })
        };
        assert_eq!(told(1, steps(500)), []);
        assert_eq!(told(1, steps(520)), []);
        let late = told(1, steps(600));
        assert!(
            late.iter()
                .all(|(at, ms)| *at == 600 && (30..=95).contains(ms)),
            "{late:?}"
        );
        assert!(!late.is_empty());
    }

    #[test]
    fn what_never_comes_in_time_again_is_another_clock() {
        let slower = (0..9_000).map(|i| (i * 10, i * 10 + i * 10 / 50));
        assert_eq!(told(1, slower), [], "one that runs by a fiftieth slower");
        let set = (0..9_000).map(|i| (i * 10, i * 10 + i / 100 * 300));
        assert_eq!(told(1, set), [], "one that was set");
    }
}
