//! What one capture alone says: response times by operation, outstanding calls, and what its
//! connections went through.

use crate::broken_off::BrokenOff;
use crate::concurrency::{Concurrency, STALL_NS, Scope};
use crate::deferred::Deferred;
use crate::half::number_of;
use crate::hosts::Hosts;
use crate::locks::Locks;
use crate::losses::Losses;
use crate::sent_again::SentAgain;
use crate::stats::Distribution;
use crate::think::Think;
use crate::waits::PerKind;
use crate::ways::Ways;
use crate::work::is_sql;
use crate::worst::{Exhibit, Worst};
use hashbrown::{HashMap, HashSet};
use ledger::{FullLine, Paced};
use model::limits;
use model::{
    Call, Close, ConnectionId, ConnectionSummary, Direction, DirectionSummary, Endpoint, Episode,
    EpisodeKind, Field, Gap, Lacks, Line, Outstanding, PacketRef, Time,
};

mod delays;
mod silence;
mod trouble;

pub use delays::{Delays, Varied, Varies};
pub use trouble::{BURST_NS, Holes, Trouble, Troubles};

/// An operation's response times.
#[derive(Clone, Debug, Default)]
pub struct OpFacts {
    pub response: Distribution,
    pub wait: Distribution,
    pub no_response: u64,
    pub no_request: u64,
    pub incomplete: u64,
    pub errors: u64,
}

/// Counts over all connections of a capture, by direction of the calls.
#[derive(Clone, Debug, Default)]
pub struct TcpFacts {
    pub connections: u64,
    /// Of them, those of a host with itself.
    pub within_host: u64,
    pub retransmitted_packets: [u64; 2],
    pub payload_packets: [u64; 2],
    pub packets: u64,
    pub duplicate_packets: u64,
    pub duplicates_routed: u64,
    pub looped_packets: u64,
    pub first_duplicates: Vec<PacketRef>,
    /// Connections whose client, whose server did not offer to scale windows; and how long, by direction
    /// of the bytes, full windows held those up.
    pub unscaled: [u64; 2],
    pub unscaled_ns: [[i64; 2]; 2],
    pub missing_gaps: u64,
    pub missing_packets: u64,
    /// Connections of which a client sent data.
    pub asked: u64,
    pub missing_bytes: u64,
    pub small_released_by_ack: [u64; 2],
    pub small_while_unacknowledged: [u64; 2],
    pub late_acks_awaited: [u64; 2],
    pub late_acks_ignored: [u64; 2],
    /// The fastest acknowledgements, from each end.
    pub ack_rtt_min_ns: [Option<i64>; 2],
    /// SYN to SYN/ACK, and SYN/ACK to ACK: smallest, over connections opened in the capture.
    pub server_half_ns: Option<i64>,
    pub client_half_ns: Option<i64>,
    pub zero_windows: [u64; 2],
    pub syn_retries: u64,
    pub ttl: [Option<u8>; 2],
}

/// A direction's episodes of one kind: the packets of the longest, and all their time.
#[derive(Clone, Debug, Default)]
pub struct Episodes {
    pub worst: Worst,
    pub ns: i64,
    /// Bytes that the window offered in the longest.
    pub window: u64,
    pub longest_ns: i64,
}

impl Episodes {
    fn add(&mut self, t: &Trouble, capture: usize) {
        let ns = t.ns;
        self.ns = self.ns.saturating_add(ns);
        if ns > self.longest_ns {
            self.longest_ns = ns;
            self.window = t.window;
        }
        let shown = Exhibit::of(ns, capture, t.first_mark, t.last_mark);
        self.worst.add(shown);
    }
}

/// Everything gathered from one capture.
#[derive(Default)]
pub struct CaptureFacts {
    pub index: usize,
    /// When the first packet of any connection passed, known when it is over.
    pub begins: Option<Time>,
    pub ops: Vec<OpFacts>,
    pub response: Distribution,
    pub wait: Distribution,
    /// Answered calls over TCP that clients had sent again by then (the same XID), and how long they took in all.
    pub asked_again: (u64, i64),
    /// The same of those over UDP, any of whose datagrams may have been lost.
    pub datagrams_again: (u64, i64),
    /// Calls whose response was not seen whole, and of which it is known to a tenth how long they took.
    pub nearly_whole: u64,
    /// Time in which replies were passing.
    pub response_transfer_ns: i64,
    pub concurrency: Concurrency,
    pub locks: Locks,
    /// Connections of which clients closed windows whose size is not known: the capture lacks what they scale by.
    unknown_windows: HashSet<ConnectionId, foldhash::fast::FixedState>,
    /// Those that were seen from their first packet to their last.
    whole: HashSet<ConnectionId, foldhash::fast::FixedState>,
    /// How many calls of each are not judged, as nobody asked for them.
    beside: HashMap<ConnectionId, u64, foldhash::fast::FixedState>,
    pub tcp: TcpFacts,
    pub ways: Ways,
    pub hosts: Hosts,
    pub troubles: Troubles,
    /// By direction of the bytes that waited and by kind.
    pub episodes: [PerKind<Episodes>; 2],
    /// Lines before which clients' bytes queue, by connection.
    pub lines: HashMap<ConnectionId, Line, foldhash::fast::FixedState>,
    /// How connections' directions were sent next to their senders, where that tells, by connection.
    pub paced: HashMap<ConnectionId, [Option<Paced>; 2], foldhash::fast::FixedState>,
    /// Directions of which half of what passed here was acknowledged late here, by connection.
    late: HashMap<ConnectionId, [bool; 2], foldhash::fast::FixedState>,
    /// Segments that were lost and sent again.
    pub losses: Losses,
    /// What of answers was lost behind the capture.
    pub sent_again: SentAgain,
    /// Longest recoveries of all connections.
    pub longest: Vec<Trouble>,
    pub slowest: Worst,
    /// Those whose request, and whose response, took longest from first byte to last.
    pub longest_passing: [Worst; 2],
    pub think: Think,
    pub deferred: Deferred,
    pub broken_off: BrokenOff,
    pub highest_slot: Option<u64>,
    pub slots: u64,
    /// Median wait, refreshed now and then.
    pub usual_wait_ns: i64,
    /// The first packets at which a gap showed.
    pub gaps: Vec<PacketRef>,
    /// When gaps showed, by connection; in the order of time.
    pub holes: Holes,
    pub delays: Delays,
    /// Likewise, when servers had sent packets that never came past.
    pub skips: Holes,
    pub first: Option<Time>,
    pub last: Option<Time>,
    /// Calls that still waited at the end, and the longest of these waits in nanoseconds.
    pub unanswered: (u64, i64),
    /// Calls that are paired by their order alone.
    pub in_order: u64,
    /// Calls of which a part is missing, and how long they took at least, in all.
    pub partly: (u64, i64),
    /// When each server was heard last, by its number.
    heard: HashMap<u64, Time, foldhash::fast::FixedState>,
    pub calls: u64,
}

/// A silence is a stall when it is this many times the usual wait.
pub(crate) const STALL_WAITS: i64 = 10;

/// Over a path that is as short nobody waits for windows.
const ROUND_TRIP_NS: i64 = 1_000_000;

/// Who acknowledges so many of a hundred late keeps acknowledgements back.
const LATE_PERCENT: u8 = 50;

const LONGEST: usize = 64;
/// Packets with copies that are shown as evidence, each with its copy.
const SHOWN: usize = 6;

fn smaller(a: Option<i64>, b: Option<i64>) -> Option<i64> {
    [a, b].into_iter().flatten().min()
}

impl TcpFacts {
    /// Takes a connection that is over.
    pub fn add(&mut self, c: &ConnectionSummary) {
        let t = self;
        t.connections += 1;
        t.within_host += u64::from(c.client.address == c.server.address);
        t.asked += u64::from(c.directions[Direction::ToServer.index()].payload_bytes > 0);
        for (i, d) in c.directions.iter().enumerate() {
            t.retransmitted_packets[i] += d.retransmitted_packets;
            t.payload_packets[i] += d.packets;
            t.packets += d.packets;
            t.duplicate_packets += d.duplicate_packets;
            t.duplicates_routed += d.duplicates_routed;
            t.looped_packets += d.looped_packets;
            if let Some(two) = d.first_duplicate
                && t.first_duplicates.len() < SHOWN
            {
                t.first_duplicates.extend(two);
            }
            t.missing_gaps += d.missing_from_capture_gaps;
            t.missing_packets += d.missing_from_capture_packets;
            t.missing_bytes += d.missing_from_capture_bytes;
            t.small_released_by_ack[i] += d.small_released_by_ack;
            t.small_while_unacknowledged[i] += d.small_while_unacknowledged;
            t.late_acks_awaited[i] += d.late_acks_awaited;
            t.late_acks_ignored[i] += d.late_acks_ignored;
            t.ack_rtt_min_ns[i] = smaller(t.ack_rtt_min_ns[i], d.ack_rtt_min_ns);
            t.zero_windows[i] += d.zero_windows;
            t.ttl[i] = if d.packets > 0 {
                t.ttl[i].max(Some(d.ttl_max))
            } else {
                t.ttl[i]
            };
        }
        let h = &c.handshake;
        t.syn_retries += u64::from(h.syn_retries) + u64::from(h.syn_ack_retries);
        if h.syn_retries == 0 && h.syn_ack_retries == 0 {
            let server = h
                .syn
                .zip(h.syn_ack)
                .map(|(a, b)| b - a)
                .filter(|&ns| ns >= 0);
            let client = h
                .syn_ack
                .zip(h.ack)
                .map(|(a, b)| b - a)
                .filter(|&ns| ns >= 0);
            if server.is_some() && client.is_some() {
                t.server_half_ns = smaller(t.server_half_ns, server);
                t.client_half_ns = smaller(t.client_half_ns, client);
            }
        }
    }
}

impl CaptureFacts {
    /// The path from here to the clients and back, on average.
    pub(crate) fn path_to_client_ns(&self) -> Option<i64> {
        let [_, to_client] = self.ways.near();
        to_client.usual_ns()
    }

    /// From the first call to the last.
    pub(crate) fn captured_ns(&self) -> Option<i64> {
        self.first.zip(self.last).map(|(first, last)| last - first)
    }

    /// The shortest wait for an answer.
    pub(crate) fn soonest_answer_ns(&self) -> Option<i64> {
        (self.wait.count() > 0).then(|| self.wait.quantile(0.0).max(0))
    }

    #[must_use]
    pub fn new(index: usize) -> CaptureFacts {
        CaptureFacts {
            index,
            ..CaptureFacts::default()
        }
    }

    /// Takes a call whose operation has this number.
    pub fn call(&mut self, call: &Call, number: u16) {
        self.calls += 1;
        let op = usize::from(number);
        if op >= self.ops.len() {
            self.ops.resize_with(op + 1, OpFacts::default);
        }
        let facts = &mut self.ops[op];
        match call.outcome {
            model::Outcome::NoResponse(_) => facts.no_response += 1,
            model::Outcome::NoRequest(_) => facts.no_request += 1,
            model::Outcome::Incomplete(_) => facts.incomplete += 1,
            model::Outcome::Error(_) | model::Outcome::Code(_) => facts.errors += 1,
            model::Outcome::Ok => {}
        }
        let begin = call.request_first.or(call.response_first).map(|m| m.time);
        if let Some(begin) = begin {
            self.first = Some(self.first.map_or(begin, |first| first.min(begin)));
        }
        self.last = self
            .last
            .max(call.response_last.or(call.request_last).map(|m| m.time));
        if let Some(slot) = call.detail.get(Field::Slot) {
            self.highest_slot = self.highest_slot.max(Some(slot));
            self.slots = self
                .slots
                .max(call.detail.get(Field::HighestSlot).map_or(0, |h| h + 1));
        }
        if !call.is_timed() {
            if matches!(call.outcome, model::Outcome::NoResponse(_)) {
                self.concurrency.hidden_reply(call);
            }
            self.in_order += u64::from(call.outcome.reason() == Some(model::Reason::Order));
            if let (Some(asked), Some(hidden)) = (call.request_first, call.hidden) {
                let least_ns = (hidden.earliest.time - asked.time).max(0);
                self.partly = (self.partly.0 + 1, self.partly.1.saturating_add(least_ns));
                // Of an answer that is cut off nobody may know its end.
                let is_hidden = matches!(call.outcome, model::Outcome::NoResponse(_));
                let is_known = is_hidden && hidden.longer_ns() <= least_ns / 10;
                self.nearly_whole += u64::from(is_known && !call.is_unanswered());
            }
            if let (true, Some(asked), Some(hidden)) =
                (call.is_unanswered(), call.request_first, call.hidden)
            {
                let waited = hidden.latest - asked.time;
                self.unanswered = (self.unanswered.0 + 1, self.unanswered.1.max(waited));
                let shown = Exhibit::of(waited, self.index, asked, hidden.earliest);
                self.slowest.add(shown);
                self.locks.unanswered(call);
            }
            return;
        }
        self.locks.call(call);
        self.broken_off.call(call, self.index);
        let (Some(response), Some(wait)) = (call.response_time_ns(), call.served_ns()) else {
            return;
        };
        facts.response.add(response);
        facts.wait.add(wait);
        self.response.add(response);
        self.wait.add(wait);
        if call.retransmits > 0 {
            let again = match call.request_sequence {
                0 => &mut self.datagrams_again,
                _ => &mut self.asked_again,
            };
            *again = (again.0 + 1, again.1.saturating_add(response));
        }
        if self.wait.count().is_power_of_two() || self.wait.count().is_multiple_of(4096) {
            self.usual_wait_ns = self.wait.quantile(0.5);
            self.concurrency.usual_response_ns = self.response.quantile(0.5);
        }
        let passing = call.response_transfer_ns().unwrap_or(0).max(0);
        self.response_transfer_ns = self.response_transfer_ns.saturating_add(passing);
        self.concurrency.call(
            call,
            number,
            wait.max(0) - call.response_held_ns.clamp(0, wait.max(0)),
        );
        if let (Some(a), Some(b)) = (call.request_first, call.response_last) {
            self.slowest.add(Exhibit::of(response, self.index, a, b));
        }
        let requests = (call.request_first, call.request_last);
        let responses = (call.response_first, call.response_last);
        for (worst, message) in self.longest_passing.iter_mut().zip([requests, responses]) {
            if let (Some(a), Some(b)) = message
                && b.time > a.time
            {
                worst.add(Exhibit::of(b.time - a.time, self.index, a, b));
            }
        }
    }

    pub fn outstanding(&mut self, o: &Outstanding) {
        self.concurrency.change(o);
    }

    pub fn episode(&mut self, e: &Episode) {
        if e.kind == EpisodeKind::Late {
            return self.delays.add(e);
        }
        self.losses.episode(e);
        self.sent_again.episode(e);
        let held = e.resent.iter().filter(|r| r.original.is_some()).count();
        let trouble = Trouble {
            first: e.first.time,
            last: e.last.time,
            heard: e.heard,
            first_mark: e.first,
            last_mark: e.last,
            direction: e.direction,
            kind: e.kind,
            retransmissions: e.retransmissions,
            timeouts: e.timeouts,
            spurious: e.spurious,
            came_twice: held == e.retransmissions as usize,
            arrived: e.duplicates_cut_off && held == e.retransmissions as usize,
            window: e.window,
            resent: e.resent.last().map_or(e.first.time, |r| r.again.time),
            ns: (e.last.time - e.first.time).max(0),
            since: e.first.time,
            until: e.last.time,
        };
        self.episodes[e.direction.index()][e.kind].add(&trouble, self.index);
        if self.troubles.add(e.connection, trouble) {
            return;
        }
        if e.kind != EpisodeKind::Recovery {
            return;
        }
        let length = |t: &Trouble| t.last - t.first;
        let at = self
            .longest
            .partition_point(|t| length(t) >= length(&trouble));
        if at < LONGEST {
            self.longest.insert(at, trouble);
            self.longest.truncate(LONGEST);
        }
    }

    pub fn connection(&mut self, c: &ConnectionSummary) {
        self.begins = Some(self.begins.map_or(c.first.time, |at| at.min(c.first.time)));
        self.tcp.add(c);
        self.ways.add(c);
        self.hosts.add(c.client.address);
        self.hosts.add(c.server.address);
        self.think.closed(c.id);
        self.locks.closed(c);
        self.sent_again.closed(c);
        let [_, answered] = &c.directions;
        let server = number_of(c.server);
        if answered.packets > 0
            && (self.heard.len() < limits::SERVERS_HEARD || self.heard.contains_key(&server))
        {
            let last = self.heard.entry(server).or_insert(Time::MIN);
            *last = answered.last.time.max(*last);
        }
        let [line, _] = &c.lines;
        if let Some(line) = line
            && !line.is_shared
            && self.lines.len() < limits::TROUBLED_CONNECTIONS
        {
            self.lines.insert(c.id, Line::clone(line));
        }
        let is_blind = c.handshake.scaling == [None, None];
        let paced = Direction::BOTH.map(|d| {
            let line = c.lines[d.index()]
                .as_ref()
                .map(|line| match line.is_shared {
                    true => FullLine::Shared(line.bps),
                    false => FullLine::Alone(line.bps),
                });
            let d = &c.directions[d.index()];
            let trip_ns = d.ack_rtt_min_ns?;
            let blind = is_blind && trip_ns >= ROUND_TRIP_NS;
            Paced::of(d.pace, trip_ns, line).or(blind.then(|| Paced::blind(trip_ns)))
        });
        let late = Direction::BOTH.map(|d| {
            let percent = c.directions[d.index()].queued_percent;
            percent.is_some_and(|percent| percent >= LATE_PERCENT)
        });
        if late != [false; 2] && self.late.len() < limits::TROUBLED_CONNECTIONS {
            self.late.insert(c.id, late);
        }
        if paced != [None; 2] && self.paced.len() < limits::TROUBLED_CONNECTIONS {
            self.paced.insert(c.id, paced);
        }
        let asked = &c.directions[Direction::ToServer.index()];
        if is_blind
            && asked.zero_windows > 0
            && self.unknown_windows.len() < limits::TROUBLED_CONNECTIONS
        {
            self.unknown_windows.insert(c.id);
        }
        let is_over = matches!(c.close, Close::Finished | Close::Reset | Close::Replaced);
        let lacks = |d: &DirectionSummary| d.missing_from_capture_gaps > 0;
        let is_whole = c.handshake.syn.is_some() && is_over && !c.directions.iter().any(lacks);
        if is_whole && self.whole.len() < limits::ROUNDS_CONNECTIONS {
            self.whole.insert(c.id);
        }
        // An answer may only offer what was offered.
        let refuser = match c.handshake.scaling {
            [Some(false), _] => 0,
            [Some(true), Some(false)] => 1,
            _ => return,
        };
        self.tcp.unscaled[refuser] += 1;
        for d in Direction::BOTH {
            let all = self.troubles.of(c.id);
            let own = all.filter(|e| e.kind == EpisodeKind::SmallWindow && e.direction == d);
            let sum = &mut self.tcp.unscaled_ns[d.index()][refuser];
            *sum = own.fold(*sum, |sum, e| sum.saturating_add(e.ns));
        }
    }

    /// Whether waits say little of the server: replies were passing for much of the time, so that others
    /// waited behind them, or most calls are only seen by half.
    pub(crate) fn waits_behind_others(&self) -> bool {
        let servers = self
            .concurrency
            .levels()
            .filter(|(s, _)| matches!(s, Scope::Server(_)));
        let busy = match self.concurrency.is_empty() {
            // Turns: one at a time.
            true => self.response.total_ns(),
            false => servers.fold(0i64, |sum, (_, l)| sum.saturating_add(l.busy_ns())),
        };
        let known = self.response.count() + self.nearly_whole;
        self.response_transfer_ns >= busy / 10 * 3 || known * 10 < self.calls * 6
    }

    /// Whether the client of the connection with this number closed a window whose size is not known.
    pub(crate) fn has_unknown_window(&self, connection: u64) -> bool {
        self.unknown_windows.contains(&ConnectionId(connection))
    }

    /// How a direction of the connection with this number was sent, where that tells.
    pub(crate) fn paced(&self, connection: u64, d: Direction) -> Option<Paced> {
        self.paced.get(&ConnectionId(connection))?[d.index()]
    }

    /// Whether half of what passed here in this direction was acknowledged here long after that.
    pub(crate) fn is_acknowledged_late(&self, connection: u64, d: Direction) -> bool {
        let late = self.late.get(&ConnectionId(connection));
        late.is_some_and(|late| late[d.index()])
    }

    /// Whether it was seen from its first packet to its last, and nothing between them is missing.
    pub(crate) fn saw_whole(&self, connection: ConnectionId) -> bool {
        self.whole.contains(&connection)
    }

    /// A call that is not judged. Others may have waited for what its transaction held.
    pub fn beside(&mut self, call: &Call) {
        if call.is_timed() {
            self.locks.call(call);
        }
        let known = self.beside.len() < limits::ROUNDS_CONNECTIONS;
        if known || self.beside.contains_key(&call.connection) {
            *self.beside.entry(call.connection).or_default() += 1;
        }
    }

    /// How many of its calls are not judged.
    pub(crate) fn calls_beside(&self, connection: ConnectionId) -> u64 {
        self.beside.get(&connection).copied().unwrap_or(0)
    }

    /// Something of a connection never came past the capture.
    pub fn gap(&mut self, gap: &Gap) {
        match gap.lacks {
            Lacks::Bytes(d) => {
                if self.gaps.len() < 8 {
                    self.gaps.push(gap.at.packet);
                }
                self.holes.add(gap.connection, (gap.at.time, d));
            }
            Lacks::Packets => {
                // Only servers' are looked at.
                let at = (gap.at.time, Direction::ToClient);
                self.skips.add(gap.connection, at);
            }
        }
    }

    /// Whether what the capture lacks of a connection may be of this call: not of one of RPC, which has no times then. What
    /// cuts a response off shows when it is acknowledged, which may be behind all that was seen of that.
    pub(crate) fn lacks_bytes(
        &self,
        work: u64,
        connection: ConnectionId,
        (from, to): (Time, Time),
        is_cut_off: bool,
    ) -> bool {
        let may = !self.holes.is_empty() && (is_sql(work) || self.concurrency.is_empty());
        let to = if is_cut_off { Time(i64::MAX) } else { to };
        may && self.holes.lie_within(connection, from, to)
    }

    /// How much of a wait for this server lies in silences that were stalls.
    #[must_use]
    pub fn stalled(&self, server: Endpoint, from: Time, to: Time) -> i64 {
        if to - from < STALL_NS / 4 {
            return 0;
        }
        let usual = self.usual_wait_ns.max(1);
        let overlap = |a: Time, b: Time| (to.min(b) - from.max(a)).max(0);
        let silences = self.concurrency.silences(server).iter();
        let stalls = silences.filter(|s| s.last - s.first >= STALL_WAITS.saturating_mul(usual));
        stalls.fold(0, |sum: i64, s| {
            sum.saturating_add(overlap(s.first, s.last))
        })
    }
}

#[cfg(test)]
mod tests;
