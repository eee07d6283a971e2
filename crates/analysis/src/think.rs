//! The client's think time: between the end of one answer and the next request, where a connection has
//! one call at a time. A connection with several has no time that is plainly the client's.

use crate::deferred;
use crate::stats::Distribution;
use crate::worst::{Exhibit, Worst};
use hashbrown::HashMap;
use model::{Call, ConnectionId, Mark};

/// Who pauses longer has nothing to do.
const IDLE_NS: i64 = 10_000_000_000;

/// Think time over all connections.
#[derive(Default)]
pub struct Think {
    /// The end of each connection's last answer, as long as one call follows another.
    answered: HashMap<ConnectionId, Mark, foldhash::fast::FixedState>,
    /// The connection whose call overlapped another last.
    busy: Option<ConnectionId>,
    pub pauses: Distribution,
    /// Response time of the calls that follow such pauses.
    pub calls_ns: i64,
    /// Calls that were sent while others were outstanding.
    pub overlapping: u64,
    pub longest: Worst,
}

impl Think {
    /// Takes a call of this capture.
    pub fn call(&mut self, call: &Call, capture: usize) {
        if !call.is_complete() {
            return;
        }
        let (Some(request), Some(answer)) = (call.request_first, call.response_last) else {
            return;
        };
        if call.outstanding != 1 {
            self.overlapping += 1;
            // Mostly the same connection again, which is out already.
            if self.busy.replace(call.connection) != Some(call.connection) {
                self.answered.remove(&call.connection);
            }
            return;
        }
        self.busy = None;
        // Who is told to ask again later does not think until then.
        let before = match deferred::answer(call) {
            Some(_) => self.answered.remove(&call.connection),
            None => self.answered.insert(call.connection, answer),
        };
        let Some(before) = before else {
            return;
        };
        let pause = request.time - before.time;
        if (0..IDLE_NS).contains(&pause) {
            self.pauses.add(pause);
            let took = answer.time - request.time;
            self.calls_ns = self.calls_ns.saturating_add(took);
            self.longest
                .add(Exhibit::of(pause, capture, before, request));
        }
    }

    pub fn closed(&mut self, connection: ConnectionId) {
        self.answered.remove(&connection);
    }
}
