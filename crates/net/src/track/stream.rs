//! One direction of a TCP connection: where it stands, and what is measured of it.

use super::copies::Recent;
use super::flight::Flight;
use super::held::{Held, NEAR_NS};
use super::metering::Again;
use super::pace::Paced;
use super::queue::Queue;
use super::reassembly::{Hole, Origin, Reassembly};
use super::recovery::Recovery;
use super::sequence::{ack_position, before, data_position, first_position};
use super::stamps::Stamps;
use super::window::Window;
use super::{MILLISECOND, SECOND};
use crate::Segment;
use model::{DirectionSummary, Mark, Time, limits};
use serde::{Deserialize, Serialize};

/// How long, and for how many packets, data may stand in the file behind its own acknowledgement:
/// several receive queues, or several interfaces, are written in no strict order.
const DISORDER_NS: i64 = 2 * MILLISECOND;
const DISORDER_PACKETS: u64 = 3;
/// Enough of the one without the other, for slow connections and coarse clocks.
const DISORDER_ALONE_NS: i64 = 20 * MILLISECOND;
const DISORDER_ALONE_PACKETS: u64 = 512;
/// Without acknowledgements (one direction captured) a hole is given up after this.
const UNANSWERED_WAIT_NS: i64 = SECOND;
const UNANSWERED_PACKETS: u64 = 64;
/// More than any window in practice; more missing than this needs confirmation.
const PLAUSIBLE_JUMP: u64 = 64 << 20;
/// Reordering by the network or the capture is mended within this.
const REORDERED_WITHIN_NS: i64 = 3 * MILLISECOND;
/// An IP identification this little before another was given out before it; random ones are not.
const EARLIER_IP_IDS: std::ops::Range<i16> = -1_024..0;
const EARLIER_IP_ID_WITHIN_NS: i64 = 200 * MILLISECOND;
/// No timer of a receiver that delays acknowledgements is shorter (Linux: 40 ms; RFC 1122: up to 500).
const PROMPT_NS: i64 = 20 * MILLISECOND;
/// Round trips differ by less without any queue.
const QUEUED_NS: i64 = MILLISECOND / 2;
/// Round trips so many times the shortest are queue for the most part, where so much fills it.
const QUEUEING_TIMES: i64 = 2;
const QUEUEING_SEGMENTS: u64 = 4;
/// RFC 5681 section 3.2.
pub(super) const FAST_RETRANSMIT_ACKS: u32 = 3;

/// What is known of where a direction's bytes begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) enum Start {
    #[default]
    Unknown,
    /// Only the peer's acknowledgements have been seen.
    Acknowledged,
    /// Segments without data have been seen; one of them may have been a keep-alive, which stands
    /// one byte back.
    Provisional,
    Certain,
}

/// How long acknowledgements take now, and at least.
#[derive(Clone, Copy, Debug)]
pub(super) struct RoundTrip {
    usual_ns: i64,
    least_ns: i64,
}

impl RoundTrip {
    /// Whether round trips are worth waiting for, and about as short as they ever were: nothing queues on the way, where a
    /// larger window would only queue for longer.
    pub(super) fn is_unqueued(self) -> bool {
        let queued = self.usual_ns - self.least_ns;
        self.usual_ns >= MILLISECOND && queued <= (self.least_ns / 4).max(QUEUED_NS)
    }

    /// The same for certain: of a short way half a millisecond is much.
    pub(super) fn is_all_way(self) -> bool {
        self.usual_ns >= MILLISECOND && self.usual_ns - self.least_ns <= self.least_ns / 4
    }

    /// Whether so many bytes in flight wait on the way, or for their reader: for longer than the path takes by itself, and not
    /// for a timer of the receiver, which acknowledges every second segment (RFC 5681, section 4.2).
    pub(super) fn is_queueing(self, flight: u64, full_sized: u64) -> bool {
        let long_ns = (self.least_ns.saturating_mul(QUEUEING_TIMES)).max(MILLISECOND);
        self.usual_ns >= long_ns && flight >= full_sized.saturating_mul(QUEUEING_SEGMENTS)
    }
}

/// The highest acknowledgement at a moment.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Seen {
    position: u64,
    at: Time,
    packet: u64,
}

/// Bytes that were given up.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct GivenUp {
    pub start: u64,
    pub end: u64,
    pub at: Time,
    /// Whether they count as missing from the capture.
    pub counted: bool,
}

/// A segment without data that stands behind bytes which were sent and have not come, or were before the capture began.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Ahead {
    start: u64,
    end: u64,
    mark: Mark,
    ip_id: Option<u16>,
    ts_value: Option<u32>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Stream {
    pub summary: DirectionSummary,
    pub start: Start,
    pub isn: Option<u32>,
    /// The position at which it began for this capture.
    pub first: u64,
    /// Everything before this was sent.
    pub sent: u64,
    /// Everything before this was acknowledged by the peer.
    pub acknowledged: Option<u64>,
    pub acknowledged_at: Time,
    /// Acknowledgements of the same position in a row.
    pub duplicate_acks: u32,
    /// The end of the highest selective acknowledgement.
    pub sacked: u64,
    /// Position of the FIN: the end of the data.
    pub fin: Option<u64>,
    pub fin_at: Option<Time>,
    /// When the other side first acknowledged it.
    pub fin_heard_at: Option<Time>,
    pub reassembly: Reassembly,
    /// When the front of the reassembly last moved by a packet that came in order.
    progressed: Option<Seen>,
    /// An acknowledgement of bytes that were not seen, and up to where such are not waited for.
    unseen: Option<Seen>,
    settled: u64,
    /// Up to where bytes were acknowledged that had not been seen, and by which packet.
    pub heard_of: Option<Box<(u64, Mark)>>,
    pub given_up: Option<GivenUp>,
    ahead: Option<Box<Ahead>>,
    pub recent: Recent,
    pub flight: Flight,
    pub recovery: Recovery,
    /// Where anything was let go.
    pub paced: Option<Box<Paced>>,
    pub window: Window,
    pub held: Held,
    /// Whether nobody asks what held its bytes up: TCP's own rules, and windows that were full.
    pub goes_unasked: bool,
    pub mss: Option<u16>,
    pub largest: u32,
    pub last_data_at: Time,
    /// The window in the last packet of this direction (which its peer may send into).
    pub last_window: u16,
    /// A byte sent into a closed window, which will be sent again.
    pub probe: Option<(u64, u64)>,
    pub round_trip_ns: i64,
    /// What the account is to be told: the last sample of which that is the mean, with
    /// the bytes in flight when it began, whether the receiver
    /// said that it got something twice (RFC 2883), and a segment that was sent again.
    pub latest_round_trip: Option<(i64, u64)>,
    /// And of one that may have waited for what it carries.
    pub at_most_ns: Option<i64>,
    pub received_twice: bool,
    pub again: Option<Again>,
    /// How long bytes queued when, where that is asked for.
    pub queue: Option<Box<Queue>>,
    /// What came later than usual by its sender's clock, where that is asked for.
    pub stamps: Option<Box<Stamps>>,
}

impl Stream {
    /// Begins with the byte at `raw`, for sure.
    pub(super) fn begin(&mut self, raw: u32) {
        let position = match self.start {
            Start::Unknown => first_position(raw),
            _ => data_position(self.sent, raw),
        };
        self.begin_at(position, Start::Certain);
    }

    fn begin_at(&mut self, position: u64, start: Start) {
        self.start = start;
        self.first = position;
        self.sent = position;
        self.reassembly.next = position;
    }

    /// Where a segment stands; the first one of a direction seen in mid-connection sets where it
    /// begins. What had been sent before and comes later, because the file holds it out of order, is
    /// then old data.
    pub(super) fn place(&mut self, s: &Segment, raw: u32) -> u64 {
        let position = match self.start {
            Start::Unknown => first_position(raw),
            Start::Certain => return data_position(self.sent, raw),
            Start::Acknowledged | Start::Provisional => data_position(self.sent, raw),
        };
        let end = position + u64::from(s.payload_length);
        // One byte may be a keep-alive's, which is none.
        let has_data = s.payload_length > 1 || (s.payload_length == 1 && s.tcp.flags.psh());
        let acknowledged = self.acknowledged.unwrap_or(0);
        match self.start {
            Start::Provisional => {
                self.mend_start(position);
                if has_data && self.is_before_start(position) {
                    self.start = Start::Certain;
                    self.first = position;
                    self.reassembly.next = position;
                } else if has_data && (position >= self.reassembly.next || self.ahead.is_some()) {
                    self.start = Start::Certain;
                }
            }
            _ if !has_data => self.begin_at(end.max(acknowledged), Start::Provisional),
            _ if end <= acknowledged && s.mark.time - self.acknowledged_at > DISORDER_NS => {
                self.begin_at(acknowledged, Start::Certain);
            }
            _ => self.begin_at(position, Start::Certain),
        }
        if self.acknowledged.is_some_and(|a| a < self.first) {
            self.begins_in_flight(s);
        }
        position
    }

    /// What was sent before the capture began and is not acknowledged, `s` shows.
    #[cold]
    pub(super) fn begins_in_flight(&mut self, s: &Segment) {
        let acknowledged = self.acknowledged.unwrap_or(self.first);
        if self.ahead.is_none() && self.first - acknowledged <= PLAUSIBLE_JUMP {
            self.ahead = Some(Box::new(Ahead {
                start: acknowledged,
                end: self.first,
                mark: s.mark,
                ip_id: None,
                ts_value: None,
            }));
        }
    }

    /// What stands, or is acknowledged, one byte after the start shows that it was a keep-alive's.
    pub(super) fn mend_start(&mut self, position: u64) {
        if self.start == Start::Provisional && self.sent == self.first && position == self.first + 1
        {
            self.begin_at(position, Start::Provisional);
        }
    }

    /// Whether it had been sent before the capture's first packet of this direction, which carried nothing, and waits for being
    /// acknowledged: whoever waits for it has not had it.
    fn is_before_start(&self, position: u64) -> bool {
        let is_waited_for = self.acknowledged.is_some_and(|a| position >= a);
        self.sent == self.first && position < self.first && is_waited_for
    }

    /// Whether a segment at `start` is no farther ahead than windows are in practice, or acknowledged.
    pub(super) fn is_plausible(&self, start: u64) -> bool {
        start.saturating_sub(self.sent) <= PLAUSIBLE_JUMP
            || self.acknowledged.is_some_and(|a| a >= start)
    }

    /// Moves the end of what was sent, unless `start` is so far ahead that it needs confirmation: that
    /// comes with an acknowledgement, or when the reassembly arrives there.
    pub(super) fn sent_to(&mut self, start: u64, end: u64) {
        if self.is_plausible(start) {
            self.sent = self.sent.max(end);
        }
    }

    /// `s`, without data, is at a position behind all that was seen: what lies between had been sent by then.
    #[cold]
    pub(super) fn is_ahead(&mut self, s: &Segment, position: u64) {
        if self.is_plausible(position) {
            self.ahead = Some(Box::new(Ahead {
                start: self.sent,
                end: position,
                mark: s.mark,
                ip_id: s.ip_id,
                ts_value: s.tcp.timestamps.map(|(value, _)| value),
            }));
        }
    }

    /// The same, where it showed that bytes at this position are missing.
    pub(super) fn ahead_of(&self, position: u64) -> Option<Origin> {
        let ahead = self.ahead.as_ref()?;
        let origin = Origin {
            mark: ahead.mark,
            held_since: None,
            heard_all: false,
            heard_to: 0,
            peer_ended: None,
            ip_id: ahead.ip_id,
            ts_value: ahead.ts_value,
            packet: 0,
        };
        (ahead.start..ahead.end)
            .contains(&position)
            .then_some(origin)
    }

    pub(super) fn in_flight(&self) -> u64 {
        self.acknowledged
            .map_or(0, |acknowledged| self.sent.saturating_sub(acknowledged))
    }

    /// Bytes of data that the receiver has not acknowledged.
    pub(super) fn unacknowledged(&self) -> u64 {
        let sent = self.fin.map_or(self.sent, |fin| fin.min(self.sent));
        self.acknowledged
            .map_or(0, |acknowledged| sent.saturating_sub(acknowledged))
    }

    /// Whether `s`, a packet of the other direction, acknowledges all the data that was sent.
    pub(super) fn is_heard_by(&self, s: &Segment) -> bool {
        let sent = self.fin.map_or(self.sent, |fin| fin.min(self.sent));
        self.start == Start::Unknown
            || !s.tcp.flags.ack()
            || ack_position(sent, s.tcp.acknowledgement) >= sent
    }

    /// When this direction ended, if `s`, a packet of the other, acknowledges that; with the way there and back, as
    /// acknowledgements took it.
    pub(super) fn ended_before(&self, s: &Segment) -> Option<Time> {
        let fin = self.fin?;
        let acknowledged = ack_position(self.sent, s.tcp.acknowledgement) > fin;
        let at = self.fin_at.filter(|_| s.tcp.flags.ack() && acknowledged)?;
        let way_ns = self.summary.ack_rtt_min_ns.unwrap_or(0);
        // The end that comes with the last bytes, or soon behind them, is not told from them.
        let is_apart = at - self.last_data_at > way_ns;
        is_apart.then(|| (at + way_ns).min(s.mark.time.max(at)))
    }

    /// Whether the capture is next to its receiver, as far as acknowledgements tell.
    pub(super) fn is_at_receiver(&self) -> bool {
        self.summary.ack_rtt_min_ns.is_some_and(|ns| ns <= NEAR_NS)
    }

    pub(super) fn full_sized(&self) -> u64 {
        self.mss
            .map_or(u64::from(self.largest).min(1_460), u64::from)
    }

    /// An acknowledgement came so long after what it covers, which was sent with so many bytes in flight (0 where that is
    /// not known); `at_once` if no timer held it back.
    pub(super) fn sample(&mut self, ns: i64, flight: u64, at_once: bool) {
        self.latest_round_trip = Some((ns, flight));
        let summary = &mut self.summary;
        summary.ack_rtt_count += 1;
        summary.ack_rtt_sum_ns = summary.ack_rtt_sum_ns.saturating_add(ns);
        let min = summary.ack_rtt_min_ns.map_or(ns, |min| min.min(ns));
        summary.ack_rtt_min_ns = Some(min);
        if at_once {
            summary.ack_at_once_max_ns = summary.ack_at_once_max_ns.max(ns);
        }
        let prompt = (min + PROMPT_NS).max(min.saturating_mul(2));
        if summary.ack_prompt_max_ns > prompt {
            // Those before were not.
            (summary.ack_prompt_count, summary.ack_prompt_max_ns) = (0, 0);
        }
        if ns <= prompt {
            summary.ack_prompt_count += 1;
            summary.ack_prompt_max_ns = summary.ack_prompt_max_ns.max(ns);
        }
        // RFC 6298 section 2.
        self.round_trip_ns = if summary.ack_rtt_count == 1 {
            ns
        } else {
            self.round_trip_ns + (ns - self.round_trip_ns) / 8
        };
    }

    /// The acknowledgement that was sampled last, after so long, was not prompt: whose buffer is full waits with it, whatever came
    /// (Linux: where it offers no more).
    #[cold]
    pub(super) fn waited(&mut self, ns: i64) {
        let summary = &mut self.summary;
        if ns <= summary.ack_prompt_max_ns {
            summary.ack_prompt_count = summary.ack_prompt_count.saturating_sub(1);
        }
    }

    pub(super) fn round_trip(&self) -> RoundTrip {
        RoundTrip {
            usual_ns: self.round_trip_ns,
            least_ns: self.summary.ack_rtt_min_ns.unwrap_or(0),
        }
    }

    /// Whether a segment that fills part of a hole was only overtaken, not sent again (methods 2.1,
    /// rule 4).
    pub(super) fn is_reordered(&self, s: &Segment, exposed: Option<Origin>) -> bool {
        let few_acks = self.duplicate_acks < FAST_RETRANSMIT_ACKS;
        let Some(exposed) = exposed else {
            return few_acks;
        };
        let age = s.mark.time - exposed.mark.time;
        if let (Some((value, _)), Some(other)) = (s.tcp.timestamps, exposed.ts_value)
            && value != other
        {
            return before(value, other);
        }
        if let (Some(id), Some(other)) = (s.ip_id, exposed.ip_id)
            && EARLIER_IP_IDS.contains(&(id.wrapping_sub(other) as i16))
            && age <= EARLIER_IP_ID_WITHIN_NS
        {
            return true;
        }
        let within = if self.round_trip_ns > 0 {
            (self.round_trip_ns / 2).min(REORDERED_WITHIN_NS)
        } else {
            REORDERED_WITHIN_NS
        };
        few_acks && age < within
    }

    pub(super) fn delivered_in_order(&mut self, now: Time, packet: u64) {
        self.progressed = Some(Seen {
            position: self.reassembly.next,
            at: now,
            packet,
        });
    }

    /// Keeps up to where acknowledged bytes that were not seen are waited for no more: the highest
    /// acknowledgement of two to four milliseconds ago.
    #[inline]
    pub(super) fn settle(&mut self, now: Time, packet: u64) {
        match self.acknowledged.filter(|&a| a > self.reassembly.next) {
            Some(position) => self.settle_unseen(position, now, packet),
            None => self.unseen = None,
        }
    }

    fn settle_unseen(&mut self, position: u64, now: Time, packet: u64) {
        let current = Seen {
            position,
            at: now,
            packet,
        };
        let Some(unseen) = self.unseen else {
            self.unseen = Some(current);
            return;
        };
        let (age, packets) = (now - unseen.at, packet - unseen.packet);
        if (age > DISORDER_NS && packets >= DISORDER_PACKETS)
            || age > DISORDER_ALONE_NS
            || packets >= DISORDER_ALONE_PACKETS
        {
            self.settled = unseen.position;
            self.unseen = Some(current);
        }
    }

    /// Whether bytes were acknowledged that have not come: the capture has lost them, or has them later, which
    /// comes out within milliseconds.
    pub(super) fn lacks_acknowledged(&self) -> bool {
        self.acknowledged.is_some_and(|a| a > self.reassembly.next)
            && self.start == Start::Certain
            && self.missing() > 0
    }

    /// Up to where acknowledged bytes are waited for no more, if some are missing that no hole shows.
    pub(super) fn settled_without_hole(&self) -> Option<u64> {
        let end = self.settled.min(self.reassembly.next + self.missing());
        (self.reassembly.hole().is_none() && end > self.reassembly.next).then_some(end)
    }

    /// Whether the hole at the front is to be given up, and if so whether its bytes are taken to be
    /// missing from the capture: acknowledged, or not sent again by one who hears no one.
    pub(super) fn gives_up(&self, now: Time, packet: u64, peer_seen: bool) -> Option<bool> {
        let hole = self.reassembly.hole()?;
        if self.settled >= hole.end {
            return Some(true);
        }
        let (mut since, mut since_packet) = (hole.exposed.mark.time, hole.exposed.packet);
        if let Some(progressed) = self.progressed {
            since = since.max(progressed.at);
            since_packet = since_packet.max(progressed.packet);
        }
        let waited = now - since;
        let unanswered = !peer_seen
            && (waited > UNANSWERED_WAIT_NS || packet - since_packet >= UNANSWERED_PACKETS);
        if unanswered {
            return Some(true);
        }
        let acknowledged = self.acknowledged.is_some_and(|a| a >= hole.end);
        (waited > limits::REORDER_WAIT_NS || self.reassembly.is_over_full()).then_some(acknowledged)
    }

    /// The packet that showed a hole: the other side's, if that acknowledged it before a later one of this side came.
    pub(super) fn shown_by(&self, hole: &Hole) -> Mark {
        let shown = hole.exposed.mark;
        match self.heard_of.as_deref() {
            Some((position, mark)) if *position >= hole.end && mark.time <= shown.time => *mark,
            _ => shown,
        }
    }

    /// Some bytes of a gap that was given up came after all.
    pub(super) fn found_again(&mut self, gap: GivenUp, bytes: u64) {
        if gap.counted {
            let summary = &mut self.summary;
            summary.missing_from_capture_bytes =
                summary.missing_from_capture_bytes.saturating_sub(bytes);
            if bytes == gap.end - gap.start {
                summary.missing_from_capture_gaps =
                    summary.missing_from_capture_gaps.saturating_sub(1);
            }
        }
        self.given_up = None;
    }

    /// Acknowledged bytes beyond everything that came: what a connection is known to lack. One more than was
    /// seen, without a FIN, is the FIN.
    pub(super) fn missing(&self) -> u64 {
        let (true, Some(acknowledged)) = (
            matches!(self.start, Start::Provisional | Start::Certain),
            self.acknowledged,
        ) else {
            return 0;
        };
        if self.reassembly.front().is_some() {
            return 0;
        }
        let end = self.fin.map_or(acknowledged, |fin| acknowledged.min(fin));
        match (end.saturating_sub(self.reassembly.next), self.fin) {
            (1, None) => 0,
            (missing, _) => missing,
        }
    }

    /// Whether its FIN was acknowledged and everything before it delivered.
    pub(super) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| {
            self.reassembly.next >= fin && self.acknowledged.is_some_and(|a| a > fin)
        })
    }
}
