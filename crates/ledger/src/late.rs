//! How much later than usual a call's messages came, by their senders' own time stamps, into what of its time is the
//! path's for certain.
//!
//! A stamp says when a segment left its host, to a tick. An answer that came late by it was under way while its client
//! waited, whatever its server had done before; a request that came late to a capture had been waited for elsewhere.
//! Delays are told from two steps of its clock on, so that what was true is no more than twice what is told.

use crate::half::Half;
use crate::one::{Lost, One};
use crate::{Bounds, Cause, Ledger};
use model::Direction;

/// What the path kept of a call beyond what it takes as a rule: of its answer's way to the capture, and of its request's.
#[derive(Clone, Copy, Default)]
pub(crate) struct Late {
    pub(crate) answer_ns: i64,
    request_ns: i64,
}

impl Late {
    /// Only what came from another host was on a path; and what was lost came late because it was sent again.
    pub(crate) fn of(call: &One, to_server: Half, to_client: Half) -> Late {
        let [request, answer] = call.late_ns;
        let is_whole = call.lost == Lost::Nothing;
        let far = |half: Half, ns: i64| match is_whole && !half.is_here() {
            true => ns.max(0),
            false => 0,
        };
        Late {
            answer_ns: far(to_server, answer).min(call.wait_ns.max(0)),
            request_ns: far(to_client, request),
        }
    }

    /// What its client waited before the capture saw its request, beyond what the path takes as a rule.
    pub(crate) fn before(self) -> Bounds {
        Bounds::between(self.request_ns, self.request_ns.saturating_mul(2))
    }

    /// Charges what its request was late by, which no wait of the capture holds.
    pub(crate) fn charge_before(self, ledger: &mut Ledger) {
        ledger.charge(Cause::Path, Direction::ToServer, self.before());
    }
}

impl One {
    /// How much longer its client waited than the capture shows, for certain: its request was on its way for so long.
    #[must_use]
    pub fn late_before_ns(&self, to_client: Half) -> i64 {
        Late::of(self, Half::Here, to_client).request_ns
    }
}
