//! A stream that fills a line into the link before which the calls of other connections wait.
//!
//! Packets pass a line in the order in which they came to it, so what one connection queues there all others wait
//! behind, however little they send (methods 5).

use crate::results::ConnectionResult;
use crate::streams::Streams;
use ledger::NarrowLink;
use model::{Direction, Time, TimeClass, Timeline};

/// What one connection sends in one direction, where that filled the line for some of the time.
pub(crate) struct Filled<'a> {
    connection: &'a ConnectionResult,
    timeline: &'a Timeline,
    link: NarrowLink,
}

impl<'a> Filled<'a> {
    /// By the connection that did so for longest.
    pub(crate) fn of(streams: &'a Streams, direction: Direction) -> Option<Filled<'a>> {
        let full_ns =
            |c: &ConnectionResult| c.direction(direction).account.time_ns[TimeClass::Bandwidth];
        let connection = streams.connections.iter().max_by_key(|c| full_ns(c))?;
        let r = connection.direction(direction);
        let rate_bps = i64::try_from(r.goodput_bps?).ok()?;
        (full_ns(connection) > 0).then(|| Filled {
            connection,
            timeline: &r.account.timeline,
            link: NarrowLink {
                direction,
                rate_bps,
                is_busy: true,
                is_never_empty: r.account.line_is_never_empty,
                least_ns: (r.account.rtt.count > 0).then_some(r.account.rtt.min_ns),
            },
        })
    }

    pub(crate) fn direction(&self) -> Direction {
        self.link.direction
    }

    /// The link, to a call of this connection (as this capture knows it), if it was full while the call's message was
    /// sent.
    pub(crate) fn before(
        &self,
        (capture, connection): (usize, u64),
        from: Time,
        to: Time,
    ) -> Option<NarrowLink> {
        let mut own = self.connection.ends.iter().zip(&self.connection.ids);
        // What itself queued, its own account says.
        if own.any(|((of, ..), id)| (*of, id.0) == (capture, connection)) {
            return None;
        }
        let [_, most] = self.timeline.between(from, to + 1);
        let full = match self.link.is_never_empty {
            true => most[TimeClass::Bandwidth] + most[TimeClass::Congestion],
            false => most[TimeClass::Bandwidth],
        };
        (full > 0).then_some(self.link)
    }
}
