//! The slowest calls of each operation, with their packets in each capture, their ledgers, and what was sent again
//! while they were under way.

use crate::half::{Half, OpTable};
use hashbrown::HashMap;
use ledger::Ledger;
use model::{Call, Direction, Endpoint, InnerTrips, Mark, Name, Protocol};

/// Calls kept of each operation, and operations of which calls are shown.
const CALLS: usize = 3;
const OPERATIONS: usize = 5;

/// An operation is not worth a look below so small a part of all time: half a per cent.
const WORTH: i64 = 200;

/// A call as one capture saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Rung {
    pub capture: usize,
    pub request_first: Mark,
    pub request_last: Mark,
    pub response_first: Mark,
    pub response_last: Mark,
    pub inner: InnerTrips,
}

impl Rung {
    fn of(capture: usize, half: &Half) -> Rung {
        Rung {
            capture,
            request_first: half.request_first,
            request_last: half.request_last,
            response_first: half.response_first,
            response_last: half.response_last,
            inner: half.inner(),
        }
    }

    /// On this capture's clock.
    #[must_use]
    pub fn response_time_ns(&self) -> i64 {
        self.response_last.time - self.request_first.time
    }
}

/// A segment of a call's connection that was sent again while the call was under way, as a capture has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resent {
    pub capture: usize,
    pub direction: Direction,
    /// When its bytes had last been sent, as far as is known in vain. A capture lacks what was lost before it.
    pub before: Option<Mark>,
    pub again: Mark,
}

/// A slow call. The client's capture comes first where there are two.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// The number of its row among the calls of the first capture.
    pub row: u64,
    pub protocol: Protocol,
    pub op: Name,
    /// The protocol's own identifier.
    pub id: u32,
    pub client: Endpoint,
    pub server: Endpoint,
    pub seen: Vec<Rung>,
    /// What held it up; `None` where nothing divided it.
    pub ledger: Option<Ledger>,
    /// In the order of time. Who makes a report looks it up, in another reading.
    pub resent: Vec<Resent>,
}

impl Ladder {
    /// As the first capture saw it, the client's where there is one.
    #[must_use]
    pub fn response_time_ns(&self) -> i64 {
        self.seen.first().map_or(0, Rung::response_time_ns)
    }
}

struct Slow {
    row: u64,
    id: u32,
    client: Endpoint,
    server: Endpoint,
    seen: Vec<Rung>,
    took: i64,
}

#[derive(Default)]
struct Slowest {
    calls: Vec<Slow>,
    total_ns: i64,
}

impl Slowest {
    /// Ties go to the call that came first.
    fn add(&mut self, took: i64, call: impl FnOnce() -> Slow) {
        self.total_ns = self.total_ns.saturating_add(took);
        let at = self.calls.partition_point(|s| s.took >= took);
        if at < CALLS {
            self.calls.insert(at, call());
            self.calls.truncate(CALLS);
        }
    }
}

/// The slowest calls in the making.
#[derive(Default)]
pub struct Ladders {
    operations: HashMap<u16, Slowest, foldhash::fast::FixedState>,
}

impl Ladders {
    /// Takes a call that both captures hold, as the client's and as the server's saw it.
    pub(crate) fn matched(&mut self, op: u16, client: (usize, &Half), server: (usize, &Half)) {
        let half = client.1;
        let took = half.response_time_ns();
        self.operations.entry(op).or_default().add(took, || Slow {
            row: half.row,
            id: half.id,
            client: half.client,
            server: half.server,
            seen: [client, server].map(|(i, h)| Rung::of(i, h)).to_vec(),
            took,
        });
    }

    /// Takes a call of a single capture.
    pub(crate) fn alone(&mut self, op: u16, call: &Call, row: u64) {
        let marks = (
            call.request_first,
            call.request_last,
            call.response_first,
            call.response_last,
        );
        let (Some(request_first), Some(request_last), Some(response_first), Some(response_last)) =
            marks
        else {
            return;
        };
        if !call.is_timed() {
            return;
        }
        let took = response_last.time - request_first.time;
        self.operations.entry(op).or_default().add(took, || Slow {
            row,
            id: call.id,
            client: call.client,
            server: call.server,
            seen: vec![Rung {
                capture: 0,
                request_first,
                request_last,
                response_first,
                response_last,
                inner: call.inner(),
            }],
            took,
        });
    }

    /// Those of the operations that took most time, the costliest operation first, its slowest call first.
    pub(crate) fn finish(&self, names: &OpTable) -> Vec<Ladder> {
        let mut costliest: Vec<(&u16, &Slowest)> = self.operations.iter().collect();
        costliest.sort_by_key(|(op, slowest)| (std::cmp::Reverse(slowest.total_ns), **op));
        let ladder = |op: u16, slow: &Slow| {
            let (protocol, name) = names.name(op);
            Ladder {
                row: slow.row,
                protocol,
                op: name,
                id: slow.id,
                client: slow.client,
                server: slow.server,
                seen: slow.seen.clone(),
                ledger: None,
                resent: Vec::new(),
            }
        };
        let all = costliest
            .iter()
            .fold(0i64, |sum, (_, s)| sum.saturating_add(s.total_ns));
        costliest
            .into_iter()
            .take(OPERATIONS)
            .filter(|(_, slowest)| slowest.total_ns >= all / WORTH)
            .flat_map(|(op, slowest)| slowest.calls.iter().map(|s| ladder(*op, s)))
            .collect()
    }
}
