//! The calls of one session, each kept as it came: what people use Follow TCP Stream for. Values of bind
//! variables and rows are not in it, as nothing reads them.

use model::{Call, Detail, Name, Outcome, PacketRef, Statement, Time, limits};
use std::sync::Arc;

/// One session alone, by its number, and whether its calls are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OneSession {
    /// As the list of sessions counts them, from 1.
    pub number: usize,
    pub follow: bool,
    /// Whether its packets are listed.
    pub packets: bool,
}

/// A call of it.
#[derive(Clone, Debug)]
pub struct FollowedCall {
    /// When its request began; of a response alone, when that did.
    pub begun: Time,
    /// First packet and last, as far as they were seen.
    pub first: PacketRef,
    pub last: PacketRef,
    pub op: Name,
    pub outcome: Outcome,
    /// Parts of its time, where it could be timed.
    pub response_time_ns: Option<i64>,
    pub wait_ns: Option<i64>,
    /// What the client took before it, where that is known.
    pub think_ns: Option<i64>,
    pub request_bytes: u64,
    pub response_bytes: u64,
    pub detail: Detail,
    /// What was sent with it; a logon may carry one too.
    pub statement: Option<Arc<Statement>>,
}

/// Calls in the order of their requests.
#[derive(Clone, Default, Debug)]
pub struct Followed {
    pub calls: Vec<FollowedCall>,
    /// Calls beyond [`FOLLOWED_CALLS`](limits::FOLLOWED_CALLS).
    pub left_out: u64,
}

impl Followed {
    pub(super) fn add(&mut self, call: &Call, think_ns: Option<i64>) {
        let seen = || {
            let marks = [
                call.request_first,
                call.request_last,
                call.response_first,
                call.response_last,
            ];
            marks.into_iter().flatten()
        };
        let (Some(first), Some(last)) = (seen().next(), seen().last()) else {
            return;
        };
        if self.calls.len() >= limits::FOLLOWED_CALLS {
            self.left_out += 1;
            return;
        }
        let timed = call.is_timed();
        self.calls.push(FollowedCall {
            begun: first.time,
            first: first.packet,
            last: last.packet,
            op: call.op,
            outcome: call.outcome,
            response_time_ns: call.response_time_ns().filter(|_| timed),
            wait_ns: call.wait_ns().filter(|_| timed),
            think_ns,
            request_bytes: call.request_bytes,
            response_bytes: call.response_bytes,
            detail: call.detail,
            statement: call.sql.as_ref().and_then(|sql| sql.statement.clone()),
        });
    }

    pub(super) fn sorted(mut self) -> Followed {
        // Stable: those that begin at once stay in the order of completion.
        self.calls.sort_by_key(|c| c.begun);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{call, end, sql};
    use super::super::{Profiler, SqlKey, of_one};
    use super::*;
    use crate::results::Vantage;
    use model::{ConnectionId, sql::op};

    #[test]
    fn one_session_of_two_is_followed_in_time() {
        let scott = sql("scott", Some("select 1"));
        let mut other = call(op::EXECUTE, &sql("tiger", None), 0, 5, 1);
        (other.connection, other.client) = (ConnectionId(2), end(3, 50_000));
        let only = OneSession {
            number: 2,
            follow: true,
            packets: false,
        };
        let mut profiler = Profiler::new(&[SqlKey::Statement], u64::MAX).only(Some(only));
        profiler.call(&other);
        // 1 ms of request, 10 of wait, 2 of response; 7 ms later the next.
        profiler.call(&call(op::EXECUTE, &scott, 10, 10, 1));
        profiler.call(&call(op::FETCH, &scott, 30, 10, 50));
        let result = of_one(profiler, Vec::new(), Vantage::Client);
        assert_eq!(result.sessions.len(), 1);
        assert_eq!((result.sessions[0].number, result.totals.calls), (2, 2));
        let followed = result.followed.unwrap();
        let told: Vec<_> = followed
            .calls
            .iter()
            .map(|c| (c.op.as_str(), c.response_time_ns, c.think_ns))
            .collect();
        assert_eq!(
            told,
            [
                ("EXECUTE", Some(13_000_000), None),
                ("FETCH", Some(13_000_000), Some(7_000_000)),
            ]
        );
    }
}
