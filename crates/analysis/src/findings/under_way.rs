//! Findings about what messages waited for under way: what they have in common, which is all but
//! their words.
//!
//! What plain streams waited for is known of their connections, what calls waited for of the episodes
//! that held them up. A finding sees no difference.

use super::{Rule, evidence};
use crate::capture_facts::Episodes;
use crate::diagnose::Kind;
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::streams::{receiver, sender};
use crate::ways::Hosts;
use crate::worst::Exhibit;
use model::{Direction, EpisodeKind, PacketRef, RoundTrips, Time, TimeClass};

/// Waits shown per finding.
const SHOWN: usize = 3;

/// One direction's waits for one cause.
pub(super) struct UnderWay<'a> {
    facts: &'a Facts<'a>,
    pub direction: Direction,
    /// How many there were.
    pub count: u64,
    /// And as how many of the longest: short ones between long ones do not repeat those.
    pub repeats: u64,
    /// And how long together.
    pub ns: i64,
    /// How long the window was closed, of connections that have such waits.
    pub zero_window_ns: i64,
    /// The largest window offered where the longest of them was.
    pub window_bytes: u64,
    /// There, too.
    pub round_trips: RoundTrips,
    /// What is known best of the path there: a number's name and the number.
    pub round_trip: (&'static str, i64),
    pub goodput_bps: u64,
    /// The capture that the longest was seen in.
    capture: usize,
    hosts: Option<Hosts>,
    /// The packets before and after the longest of them.
    packets: Vec<(usize, PacketRef)>,
    first: Option<Time>,
    last: Option<Time>,
}

impl<'a> UnderWay<'a> {
    fn none(facts: &'a Facts<'a>, direction: Direction) -> UnderWay<'a> {
        UnderWay {
            facts,
            direction,
            count: 0,
            repeats: 0,
            ns: 0,
            zero_window_ns: 0,
            window_bytes: 0,
            round_trips: RoundTrips::default(),
            round_trip: ("round_trip_p50_ns", 0),
            goodput_bps: 0,
            capture: 0,
            hosts: None,
            packets: Vec::new(),
            first: None,
            last: None,
        }
    }

    /// Of the direction for which `ns` gives more; none, if nothing is known of its waits.
    pub(super) fn most(
        facts: &'a Facts<'a>,
        class: TimeClass,
        ns: impl Fn(Direction) -> i64,
    ) -> Option<UnderWay<'a>> {
        let d = Direction::BOTH.into_iter().max_by_key(|d| ns(*d))?;
        match facts.kind {
            Kind::Turns => UnderWay::of_connections(facts, d, class, ns(d)),
            Kind::Calls => {
                let kinds = EpisodeKind::ALL.into_iter();
                // What fills a queue is charged to nobody.
                let others = [EpisodeKind::DelayedAck, EpisodeKind::QueuedWindow];
                let own = |kind: &EpisodeKind| kind.class() == class && !others.contains(kind);
                UnderWay::of_episodes(facts, d, &kinds.filter(own).collect::<Vec<_>>())
            }
        }
    }

    /// Of the direction that waited longer, if that may be accused; with how long it was.
    pub(super) fn guilty(facts: &'a Facts<'a>, class: TimeClass) -> Option<(UnderWay<'a>, i64)> {
        let waits = UnderWay::most(facts, class, |d| facts.under_way(d, class))?;
        let ns = facts.under_way(waits.direction, class);
        facts.holds_up(ns).then_some((waits, ns))
    }

    /// Whether what fills the window waits in a queue on the way: with a larger window it only would for
    /// longer. Round trips are queue for the most part: longer by more than what they are where nothing waits.
    pub(super) fn is_queueing(&self) -> bool {
        // What its receiver keeps back is no queue.
        let keeps_ns = self.receiver_takes_ns().unwrap_or(0);
        self.has_long_trips(keeps_ns)
    }

    /// Whether round trips, but for so much of each, are queue for the most part.
    fn has_long_trips(&self, but_for_ns: i64) -> bool {
        const TIMES: i64 = 2;
        // What passes next to its receiver is acknowledged at once, or nearly.
        const WAY_NS: i64 = 1_000_000;
        let trips = &self.round_trips;
        let usual_ns = trips.p50_ns - but_for_ns;
        trips.count > 0 && usual_ns > trips.min_ns.saturating_mul(TIMES) && usual_ns >= WAY_NS
    }

    /// Whether its receiver acknowledges as late, as the capture beside that shows: there is no way on which it waits.
    pub(super) fn is_acknowledged_late(&self) -> bool {
        if !self.has_long_trips(0) {
            return false;
        }
        let is_there = self.at_receiver() == Some(self.capture);
        let late_ns = self.receiver_takes_ns();
        is_there || late_ns.is_some_and(|ns| ns >= self.round_trips.p50_ns / 2)
    }

    /// The capture next to its receiver.
    fn at_receiver(&self) -> Option<usize> {
        match self.direction {
            Direction::ToServer => self.facts.server,
            Direction::ToClient => self.facts.client,
        }
    }

    /// How long its receiver usually takes to acknowledge, as a capture beside that shows that is not the one its round trips are
    /// of.
    fn receiver_takes_ns(&self) -> Option<i64> {
        let there = self.at_receiver().filter(|at| *at != self.capture)?;
        let known = self.facts.captures[there].ways.of(self.hosts?)?;
        known[self.direction.index()].usual_ns()
    }

    /// Of which `cost_ns` is held against somebody.
    fn of_connections(
        facts: &'a Facts<'a>,
        d: Direction,
        class: TimeClass,
        cost_ns: i64,
    ) -> Option<UnderWay<'a>> {
        let longest = facts.streams.longest(d, class);
        let mut waits = UnderWay::none(facts, d);
        for l in &longest {
            let account = &l.connection.directions[d.index()].account;
            waits.count += u64::from(account.stretches[class]);
            waits.ns += account.time_ns[class];
            waits.zero_window_ns += account.zero_window_ns;
        }
        waits.repeats = waits.count;
        let worst = &longest.first()?.connection.directions[d.index()];
        waits.capture = longest.first()?.capture;
        let ends = longest.first()?.connection;
        waits.hosts = Some((ends.client.address, ends.server.address));
        waits.window_bytes = worst.account.window_max_bytes.unwrap_or(0);
        waits.round_trips = worst.account.rtt;
        // From the capture to the receiver and back, and to the sender and back.
        let other = &longest.first()?.connection.directions[d.reverse().index()]
            .account
            .rtt;
        let to_sender_ns = if other.count > 0 { other.min_ns } else { 0 };
        let usual_ns = worst.account.rtt.p50_ns + to_sender_ns;
        waits.round_trip = ("round_trip_p50_ns", usual_ns);
        waits.goodput_bps = worst.goodput_bps.unwrap_or(0);
        let ends = |l: &crate::streams::Longest<'_>| {
            [l.wait.first.packet, l.wait.last.packet].map(|packet| (l.capture, packet))
        };
        // Longer than all that is held against somebody: it lies between turns and proves nothing of them.
        let inside = || longest.iter().filter(|l| l.wait.ns <= cost_ns);
        waits.packets = inside().take(SHOWN).flat_map(ends).collect();
        waits.first = inside().map(|l| l.wait.first.time).min();
        waits.last = inside().map(|l| l.wait.last.time).max();
        if waits.packets.is_empty() {
            let turns = &facts.at_sender(d).longest_passing[d.index()];
            let ends = |e: &Exhibit| [e.request, e.response].map(|packet| (e.capture, packet));
            waits.packets = turns.exhibits.iter().take(SHOWN).flat_map(ends).collect();
            (waits.first, waits.last) = (turns.first, turns.last);
        }
        Some(waits)
    }

    pub(super) fn of_episodes(
        facts: &'a Facts<'a>,
        d: Direction,
        kinds: &[EpisodeKind],
    ) -> Option<UnderWay<'a>> {
        let capture = facts.at_sender(d);
        let all = &capture.episodes[d.index()];
        let mut of: Vec<&Episodes> = kinds.iter().map(|kind| &all[*kind]).collect();
        of.retain(|e| e.worst.count > 0);
        let worst = of.iter().max_by_key(|e| e.ns)?;
        let mut waits = UnderWay::none(facts, d);
        waits.count = of.iter().map(|e| e.worst.count).sum();
        waits.ns = of.iter().map(|e| e.ns).sum();
        let longest_ns = of.iter().map(|e| e.longest_ns).max().unwrap_or(0);
        let repeats = waits
            .ns
            .unsigned_abs()
            .div_ceil(longest_ns.unsigned_abs().max(1));
        waits.repeats = waits.count.min(repeats);
        waits.zero_window_ns = all[EpisodeKind::ZeroWindow].ns;
        waits.window_bytes = worst.window;
        let tcp = &capture.tcp;
        // From the capture to the receiver and back, and to the sender and back.
        let least_ns = tcp.ack_rtt_min_ns.iter().flatten().sum();
        waits.round_trip = ("round_trip_min_ns", least_ns);
        let shown = worst.worst.exhibits.iter().take(SHOWN);
        let ends = shown.flat_map(|e| [e.request, e.response].map(|p| (e.capture, p)));
        waits.packets = ends.collect();
        waits.first = of.iter().filter_map(|e| e.worst.first).min();
        waits.last = of.iter().filter_map(|e| e.worst.last).max();
        Some(waits)
    }

    /// Of calls whose server asked its client for more of them.
    pub(super) fn of_asked(
        facts: &'a Facts<'a>,
        d: Direction,
        cost_ns: i64,
    ) -> Option<UnderWay<'a>> {
        let worst = facts.worst.asked;
        let longest_ns = worst.exhibits.first()?.value_ns.max(1);
        // Short ones are the way's, where the capture stands at the other end.
        let times = (cost_ns + longest_ns / 2) / longest_ns;
        let count = times.max(1).unsigned_abs().min(worst.count);
        let is_long = |e: &&Exhibit| e.value_ns >= longest_ns / 2;
        let shown = worst.exhibits.iter().filter(is_long).take(SHOWN);
        let ends = shown.flat_map(|e| [e.request, e.response].map(|p| (e.capture, p)));
        let mut waits = UnderWay::none(facts, Direction::ToServer);
        (waits.count, waits.repeats, waits.ns) = (count, count, cost_ns);
        (waits.first, waits.last) = (worst.first, worst.last);
        waits.packets = ends.collect();
        let is_most = longest_ns.saturating_mul(worst.count as i64) >= cost_ns / 2;
        (d == Direction::ToServer && is_most).then_some(waits)
    }

    pub(super) fn sender(&self) -> Side {
        sender(self.direction)
    }

    pub(super) fn receiver(&self) -> Side {
        receiver(self.direction)
    }

    /// A finding of when they were and of their packets, which `shows` says what they are.
    pub(super) fn finding(&self, rule: Rule, shows: &'static str) -> Finding {
        Finding {
            first: self.first,
            last: self.last,
            evidence: evidence::of_packets(self.facts, self.packets.iter().copied(), shows),
            ..rule.finding()
        }
    }
}
