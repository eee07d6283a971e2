//! The few worst calls of a kind, as evidence.

use model::{Mark, PacketRef, Time};

/// Kept per kind: enough to show a pattern, few enough to read.
const KEPT: usize = 8;

/// A call that proves something: how badly, and its packets in one capture.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    pub value_ns: i64,
    pub capture: usize,
    pub request: PacketRef,
    pub response: PacketRef,
    pub time: Time,
}

impl Exhibit {
    #[must_use]
    pub fn of(value_ns: i64, capture: usize, request: Mark, response: Mark) -> Exhibit {
        Exhibit {
            value_ns,
            capture,
            request: request.packet,
            response: response.packet,
            time: request.time,
        }
    }
}

/// The worst calls seen, worst first; ties go to the earlier one.
#[derive(Clone, Debug, Default)]
pub struct Worst {
    pub exhibits: Vec<Exhibit>,
    pub first: Option<Time>,
    pub last: Option<Time>,
    pub count: u64,
}

impl Worst {
    pub fn add(&mut self, e: Exhibit) {
        self.count += 1;
        self.first = Some(self.first.map_or(e.time, |t| t.min(e.time)));
        self.last = Some(self.last.map_or(e.time, |t| t.max(e.time)));
        if self.exhibits.len() == KEPT && self.exhibits[KEPT - 1].value_ns >= e.value_ns {
            return;
        }
        let at = self.exhibits.partition_point(|x| x.value_ns >= e.value_ns);
        self.exhibits.insert(at, e);
        self.exhibits.truncate(KEPT);
    }
}
