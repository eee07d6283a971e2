//! What one connection did last: how long its client thought before it asked again.
//!
//! Think time is the time between the end of a response and the next request, with nothing
//! outstanding. It is counted for a statement where the client comes back for more of the same (the
//! next fetch, the next execution); what lies between different statements belongs to none.

use model::{Call, Time};

/// Where a connection stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    ended: Time,
    /// The group of its last call.
    group: usize,
}

/// The client's think time before a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Think {
    /// It came back for the same statement.
    Within(i64),
    /// It went on to another.
    Between(i64),
    /// Other calls were outstanding, or what came before was not seen.
    Unknown,
}

impl Lane {
    /// `call` of the group number `group` is over. Returns what the client thought before it.
    pub(super) fn next(before: &mut Option<Lane>, call: &Call, group: usize) -> Think {
        let think = match (&before, call.request_first) {
            (Some(lane), Some(asked)) if call.outstanding == 1 && asked.time >= lane.ended => {
                let ns = asked.time - lane.ended;
                match lane.group == group {
                    true => Think::Within(ns),
                    false => Think::Between(ns),
                }
            }
            _ => Think::Unknown,
        };
        // Without its end nobody knows when the client began to think.
        *before = call.response_last.map(|last| Lane {
            ended: last.time,
            group,
        });
        think
    }
}
