//! The calls of a single capture into what is kept of each, once the episodes that it overlaps are settled.

use super::begun::Begun;
use crate::capture_facts::{CaptureFacts, Trouble, Varied};
use crate::compare::gather::Parts;
use crate::half::number_of;
use crate::locks::{Coincidences, LockWaits};
use crate::lost::recovered;
use crate::matched::SETTLE_NS;
use crate::rounds::Rounds;
use crate::waits::{Times, held_up};
use crate::work::{is_sql, work_of};
use crate::worst::{Exhibit, Worst};
use ledger::{Kept, Lost, One};
use model::limits;
use model::{Call, Direction, EpisodeKind, InnerTrips, Mark, Time};

/// Calls among which a connection's next is looked for.
const NEXT: usize = 4_096;

/// What fits into a frame passes any line in next to no time.
const FRAME_BYTES: u64 = 1_500;

/// What is only needed of a single capture.
#[derive(Default)]
pub(super) struct OneSided {
    unsettled: std::collections::VecDeque<Brief>,
    /// Whether requests of some had been sent before the capture began.
    pub some_began_before: bool,
    /// Each of them, to be divided when all is known that bears on it.
    pub kept: Kept<One>,
    pub loss: Worst,
    pub outage: Worst,
    pub stall: Worst,
    /// How long they waited while their host did not even acknowledge them.
    pub unheard_ns: i64,
    /// Answers that came behind packets of their servers that never did, and how long they were waited for.
    pub behind_skips: (u64, i64),
    pub locked: Worst,
    /// Whose server waited for its client inside them.
    pub asked: Worst,
    pub lock_waits: LockWaits,
    pub coincidence: Coincidences,
    pub rounds: Rounds,
    pub parts: Option<Box<Parts>>,
    /// How late their messages came, and how long they waited beside that.
    pub varied: Varied,
}

/// A call of a single capture that waits for its episodes.
pub(super) struct Brief {
    pub connection: model::ConnectionId,
    pub server: model::Endpoint,
    pub request: Mark,
    pub request_last: Mark,
    pub response_first: Mark,
    pub response: Mark,
    pub request_held_ns: i64,
    pub response_held_ns: i64,
    pub inner: InnerTrips,
    pub bytes: [u64; 2],
    pub row: u64,
    pub work: u64,
    pub attributes: u32,
    pub is_datagram: bool,
    /// Whether its request may wait for others in its sender's own line.
    pub may_queue: bool,
    /// Whether it was sent again, as a message.
    pub asked_again: bool,
    /// Of one whose response is hidden, how much longer it may have waited than until `response`.
    pub hidden_ns: Option<i64>,
    /// Whether it did, as none came.
    pub is_unanswered: bool,
    /// Whether its request had been sent before the capture began, which is when `request` says that it was.
    pub began_before: bool,
}

impl OneSided {
    pub(super) fn call(&mut self, call: &Call, row: u64, attributes: u32) {
        let hidden = call.hidden.map(|h| h.earliest);
        let marks = (
            call.request_first,
            call.request_last,
            call.response_first.or(hidden),
            call.response_last.or(hidden),
        );
        let (Some(request), Some(request_last), Some(response_first), Some(response)) = marks
        else {
            return;
        };
        if call.is_timed() || call.is_nearly_timed() || hidden.is_some() {
            self.unsettled.push_back(Brief {
                connection: call.connection,
                server: call.server,
                request,
                request_last,
                response_first,
                response,
                request_held_ns: call.request_held_ns,
                response_held_ns: call.response_held_ns,
                inner: call.inner(),
                bytes: [call.request_bytes, call.response_bytes],
                row,
                work: work_of(call),
                attributes,
                is_datagram: call.request_sequence == 0,
                may_queue: call.request_sequence == 0
                    && call.outstanding > 1
                    && call.request_bytes > FRAME_BYTES,
                asked_again: call.retransmits > 0,
                hidden_ns: call.hidden.map(|h| h.longer_ns()),
                is_unanswered: call.is_unanswered(),
                began_before: false,
            });
        }
    }

    /// The capture is over, and it is known what had begun before it.
    pub(super) fn finish(&mut self, facts: &CaptureFacts, begun: &mut Begun) {
        self.settle(facts, None);
        for b in begun.take(facts) {
            self.some_began_before = true;
            self.kept.push(&settled(&b, facts));
        }
    }

    /// Looks at calls that the capture has left behind: did they overlap a recovery or a stall?
    pub(super) fn settle(&mut self, facts: &CaptureFacts, reached: Option<Time>) {
        while let Some(next) = self.unsettled.front() {
            if reached.is_some_and(|now| now - next.response.time <= SETTLE_NS)
                && self.unsettled.len() <= limits::UNSETTLED
            {
                return;
            }
            let Some(b) = self.unsettled.pop_front() else {
                return;
            };
            let mut one = settled(&b, facts);
            if one.lost != Lost::Nothing && is_sql(b.work) {
                self.went_on(&b, &mut one, reached.is_none());
            }
            // What follows asks for times that it has not.
            if let Some(longer_ns) = b.hidden_ns {
                if b.is_unanswered {
                    let asked = b.request_last.time;
                    let until = Time(b.response.time.0.saturating_add(longer_ns));
                    let life = (asked, until);
                    one.locked_ns =
                        (facts.locks).still_held_ns(b.server, b.connection, b.work, life);
                    self.lock_waits.add_still(one.locked_ns);
                }
                self.kept.push(&one);
                continue;
            }
            let took = b.response.time - b.request.time;
            let life = (b.request.time, b.response.time);
            let of = (b.connection, one.attributes);
            self.rounds.add(of, life, b.bytes, 0);
            if let Some(parts) = &mut self.parts {
                let wait = b.response_first.time - b.request_last.time;
                parts.call(life, wait.clamp(0, took.max(0)), 0, b.bytes);
            }
            let lock = (facts.locks).waited(
                b.server,
                b.connection,
                b.work,
                (b.request_last.time, b.response_first.time),
                &mut self.coincidence,
            );
            if let Some(lock) = lock {
                if let Some(shown) = lock.exhibit(facts.index, b.response) {
                    self.locked.add(shown);
                }
                let waited = b.response_first.time - b.request_last.time;
                self.lock_waits.add(b.work, waited, &lock);
            }
            one.locked_ns = lock.map_or(0, |lock| lock.ns);
            one.lock_ns = lock.map_or(0, |lock| lock.chain_ns);
            let exhibit = |value| Exhibit::of(value, facts.index, b.request, b.response);
            if b.inner.client_ns > 0 && one.lost == Lost::Nothing {
                self.asked.add(exhibit(b.inner.client_ns));
            }
            match one.lost {
                Lost::Outage => self.outage.add(exhibit(took)),
                Lost::Segments => self.loss.add(exhibit(took)),
                Lost::Nothing if one.stall_ns > 0 => self.stall.add(exhibit(one.stall_ns)),
                Lost::Perhaps if !one.is_datagram => {
                    let (calls, ns) = self.behind_skips;
                    self.behind_skips = (calls + 1, ns.saturating_add(one.wait_ns));
                }
                Lost::Nothing | Lost::Perhaps | Lost::Hidden => {}
            }
            self.unheard_ns = self.unheard_ns.saturating_add(one.unheard_ns);
            self.varied.call(&one);
            self.kept.push(&one);
        }
    }

    /// Notes of a call during which something was lost when its client asked for the next thing on this connection: whoever
    /// waits for each answer had it by then.
    #[cold]
    fn went_on(&self, b: &Brief, one: &mut One, is_over: bool) {
        let next = |n: &&Brief| n.connection == b.connection && n.request.time >= b.response.time;
        let next = self.unsettled.iter().take(NEXT).find(next);
        one.went_on_ns = next.map(|next| next.request.time - b.response.time);
        one.was_last = is_over && next.is_none();
    }
}

/// A call with what its connection and its server went through meanwhile.
fn settled(b: &Brief, facts: &CaptureFacts) -> One {
    let times = Times {
        request_first: b.request.time,
        request_last: b.request_last.time,
        response_first: b.response_first.time,
        response_last: b.response.time,
    };
    let (from, to) = (times.request_first, times.response_last);
    let mut one = One {
        row: b.row,
        connection: b.connection.0,
        work: b.work,
        attributes: b.attributes.into(),
        server: number_of(b.server),
        at_ns: from.0,
        request_bytes: b.bytes[Direction::ToServer.index()],
        request_passing_ns: times.request_last - from,
        wait_ns: times.response_first - times.request_last,
        response_passing_ns: to - times.response_first,
        request_held_ns: b.request_held_ns,
        response_held_ns: b.response_held_ns,
        inner: b.inner,
        is_datagram: b.is_datagram,
        may_queue: b.may_queue,
        began_before: b.began_before,
        ..One::default()
    };
    let (asked, answered) = (times.request_last, times.response_first);
    one.late_ns = [(Direction::ToServer, from), (Direction::ToClient, answered)]
        .map(|(d, at)| facts.delays.at(b.connection, d, at));
    let mut resent = false;
    let near = facts.troubles.overlapping(b.connection, from, to);
    if near.clone().next().is_some() {
        (one.lost, one.recovery_ns) = recovered(near.clone(), asked, answered);
        let mut lost = near.clone().filter(|t| t.is_loss());
        one.came_twice = lost.all(|t| t.direction == Direction::ToServer && t.came_twice);
        for t in near.clone().filter(|t| t.is_loss()) {
            if t.direction == Direction::ToClient {
                one.response_recovery_ns += t.overlap_ns(answered, to);
            }
            let during = t.last >= asked && t.first <= answered;
            resent |= t.direction == Direction::ToClient && during;
            if t.direction == Direction::ToServer && t.first <= asked {
                // What recovery held back is loss.
                one.request_held_ns = 0;
            }
            // A server cannot read a request behind bytes that were lost on their way to it.
            if t.direction == Direction::ToServer && t.first <= asked {
                one.behind_ns = one.behind_ns.max(t.overlap_ns(asked, answered));
            }
        }
        one.unheard_ns = unheard_ns(near.clone(), asked, answered);
        one.held = held_up(near, &times);
    }
    let may_be_lost = match b.is_datagram {
        true => b.asked_again,
        // It may have been answered before the capture, too.
        false if b.began_before => one.wait_ns >= SENT_AGAIN_NS,
        // TCP tells what is sent again, but for an answer that is all there was to send, and was lost before the capture.
        false => {
            one.wait_ns >= SENT_AGAIN_NS && facts.skips.lie_within(b.connection, asked, answered)
        }
    };
    if may_be_lost && one.lost == Lost::Nothing {
        one.lost = Lost::Perhaps;
    }
    // Databases' calls are told apart by their order alone.
    if is_sql(b.work) && facts.holes.may_hide_another(b.connection, &times) {
        one.lost = Lost::Hidden;
    }
    let is_cut_off = b.hidden_ns.is_some() && b.response_first != b.response;
    // Behind what is missing nobody knows since when an answer had waited that was held when it left.
    let is_held = !one.held.waiting.is_free(Direction::ToClient);
    one.has_holes = facts.lacks_bytes(b.work, b.connection, (from, to), is_cut_off)
        || is_held && facts.holes.lie_within(b.connection, asked, answered);
    if !resent {
        one.stall_ns = facts.stalled(b.server, asked, answered);
    }
    // A process that stands still is no host that does: that acknowledges what comes.
    if one.stall_ns > 0 && one.unheard_ns == 0 {
        let near = facts.troubles.overlapping(b.connection, asked, answered);
        let unheard = near.filter(|t| t.kind == EpisodeKind::Unheard);
        one.unheard_ns = unheard.fold(0, |sum, t| sum + t.overlap_ns(asked, answered));
    }
    // Behind losses a server that has answered may not send as fast as it answers.
    let is_hidden = b.hidden_ns.is_some() && b.response_first == b.response;
    let longer_ns = b.hidden_ns.unwrap_or(0);
    match b.is_unanswered {
        true => one.silent_ns = longer_ns,
        false => one.hidden_ns = longer_ns,
    }
    if one.hidden_ns > 0 {
        one.hidden_unread_ns = (facts.troubles).unread_ns(b.connection, to, one.hidden_ns);
    }
    one.may_be_held = is_hidden && !b.is_unanswered && !facts.troubles.is_quiet(b.connection);
    one
}

/// No sender's timer is shorter (RFC 6298 asks for a second; Linux has 200 ms, and may be told 5).
const SENT_AGAIN_NS: i64 = 5_000_000;

/// No usual timer holds an acknowledgement back for longer: who has not said a word by then may not have been asked.
const HEARD_NS: i64 = 200_000_000;

/// How long of a wait requests were sent again and the server's host acknowledged none of them, though it turned out to have
/// them all: a host whose process stands still acknowledges what comes.
fn unheard_ns<'a>(near: impl Iterator<Item = &'a Trouble>, asked: Time, answered: Time) -> i64 {
    let in_vain = near.filter(|t| {
        let is_spurious = t.kind == EpisodeKind::Recovery && t.spurious;
        is_spurious && t.direction == Direction::ToServer && t.heard - t.first >= HEARD_NS
    });
    let (mut sum, mut reached) = (0, asked);
    for t in in_vain {
        let (from, to) = (t.first.max(reached), t.heard.min(answered));
        sum += (to - from).max(0);
        reached = reached.max(to);
    }
    sum
}
