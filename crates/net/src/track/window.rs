//! The window that a direction's receiver offers its sender (RFC 9293 section 3.8.6, RFC 7323
//! section 2): when it was closed, and which segments an opening let go.

use super::MILLISECOND;
use super::recovery::Stretch;
use crate::Segment;
use model::{Mark, Time};

/// Data that leaves this soon after a window opened was waiting for it; beyond a round trip.
const RELEASED_WITHIN_NS: i64 = MILLISECOND;
const SHOWS_WITHIN_NS: i64 = 10 * MILLISECOND;

#[derive(Clone, Copy, Debug)]
struct Zero {
    first: Mark,
    /// Whether it is certain that the sender had more to send.
    waited: bool,
}

#[derive(Clone, Copy, Debug)]
struct Opened {
    at: Time,
    since: Time,
    /// Up to where the sender was allowed to send before.
    edge: u64,
}

#[derive(Debug, Default)]
pub(super) struct Window {
    /// The receiver's shift, where the handshake told it.
    pub scale: Option<u8>,
    /// The highest position that the receiver ever allowed, where it can be known.
    pub edge: Option<u64>,
    zero: Option<Zero>,
    /// A zero window that ended: reported if data shows that the sender waited for its end.
    shut: Option<Box<Stretch>>,
    full_since: Option<Time>,
    opened: Option<Opened>,
    /// A stretch of time in which it was closed, to be reported.
    ready: Option<Box<Stretch>>,
}

impl Window {
    /// A stretch of time in which the window was closed and the sender waited. Kept here, not
    /// returned where it ends, because copying an absent one cost every packet 10 ns.
    #[inline]
    pub(super) fn take_ready(&mut self) -> Option<Stretch> {
        if self.ready.is_some() {
            self.ready.take().map(|stretch| *stretch)
        } else {
            None
        }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.zero.is_some()
    }

    /// The sender probed, or sent again, while the window was zero: it has more to send.
    pub(super) fn probed(&mut self) {
        if let Some(zero) = &mut self.zero {
            zero.waited = true;
        }
    }

    /// The receiver advertised a window with an acknowledgement of everything before `ack`. Returns
    /// whether this closed the window.
    pub(super) fn advertised(&mut self, s: &Segment, ack: u64, sent: u64, full_sized: u64) -> bool {
        let raw = u64::from(s.tcp.window);
        let now = s.mark.time;
        if raw == 0 {
            self.full_since.get_or_insert(now);
            self.edge = Some(self.edge.map_or(ack, |edge| edge.max(ack)));
            if let Some(zero) = &mut self.zero {
                zero.waited |= sent > ack;
                return false;
            }
            self.zero = Some(Zero {
                first: s.mark,
                waited: sent > ack,
            });
            return true;
        }
        let before = self.edge;
        self.edge = self.scale.map(|scale| {
            let edge = ack + (raw << scale);
            before.map_or(edge, |before| before.max(edge))
        });
        let was_zero = self.zero.take();
        let room = self.edge.map(|edge| edge.saturating_sub(sent));
        if (was_zero.is_some() || room.is_some_and(|room| room >= full_sized))
            && let Some(since) = self.full_since.take()
        {
            self.opened = before.map(|edge| Opened {
                at: now,
                since,
                edge,
            });
        }
        if let Some(zero) = was_zero {
            self.end_zero(zero, s);
        }
        false
    }

    fn end_zero(&mut self, zero: Zero, s: &Segment) {
        let stretch = Box::new(Stretch {
            order: s.order,
            first: zero.first,
            last: s.mark,
            retransmissions: 0,
            timeouts: 0,
            spurious: false,
        });
        if zero.waited {
            self.ready = Some(stretch);
        } else {
            self.shut = Some(stretch);
        }
    }

    /// New data was sent up to `end`.
    pub(super) fn sent(&mut self, s: &Segment, end: u64, full_sized: u64, round_trip_ns: i64) {
        if let Some(edge) = self.edge
            && self.scale.is_some()
            && edge.saturating_sub(end) < full_sized
        {
            self.full_since.get_or_insert(s.mark.time);
        }
        if let Some(mut zero) = self.zero {
            if s.payload_length <= 1 {
                self.probed();
                return;
            }
            // The advertisement that reopened it was not captured.
            self.zero = None;
            self.full_since = None;
            zero.waited = true;
            self.end_zero(zero, s);
        } else if self.shut.is_some() {
            let shows_within = SHOWS_WITHIN_NS + 2 * round_trip_ns;
            self.ready = self
                .shut
                .take()
                .filter(|stretch| s.mark.time - stretch.last.time <= shows_within);
        }
    }

    /// Since when the window had held a segment that ends at `end` and left at `now`.
    pub(super) fn held_since(&self, end: u64, now: Time) -> Option<Time> {
        let opened = self.opened.as_ref()?;
        let released = end > opened.edge && now - opened.at <= RELEASED_WITHIN_NS;
        released.then_some(opened.since)
    }

    /// A zero window that was not opened again.
    pub(super) fn finish(&mut self, last: Mark, order: u64) -> Option<Stretch> {
        let zero = self.zero.take()?;
        zero.waited.then_some(Stretch {
            order,
            first: zero.first,
            last,
            retransmissions: 0,
            timeouts: 0,
            spurious: false,
        })
    }
}
