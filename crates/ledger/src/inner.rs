//! Round trips inside a message of a call, as one capture saw them, into whose they are.

use crate::one::{Lost, One, OneFacts};
use crate::{Bounds, Cause, Ledger};
use model::Direction;

/// Takes them out of what the message took to pass. Each of the two waits holds a half of the path there and back, and else who
/// was waited for.
pub(crate) fn inner(call: &One, facts: &OneFacts, passing: &mut i64, ledger: &mut Ledger) {
    if call.inner.is_none() {
        return;
    }
    let d = Direction::ToServer;
    for (ns, half, own) in [
        (call.inner.client_ns, facts.to_client, Cause::NotWriting),
        (call.inner.server_ns, facts.to_server, Cause::Service),
    ] {
        let ns = ns.clamp(0, (*passing).max(0));
        *passing -= ns;
        if call.lost != Lost::Nothing {
            ledger.charge(call.lost.cause(), d, Bounds::between(0, ns));
            ledger.charge(own, d, Bounds::between(0, ns));
            continue;
        }
        let way = half.bounds();
        let hi_ns = way.hi_ns.filter(|_| facts.waits_tell || half.is_here());
        let longer_ns = match half.is_here() {
            true => 0,
            false => facts.varies_ns,
        };
        let hi_ns = hi_ns.map(|hi| hi.saturating_add(longer_ns));
        let least = hi_ns.map_or(0, |hi| (ns - hi).max(0));
        ledger.charge(own, d, Bounds::between(least, (ns - way.lo_ns).max(0)));
        let crossing = Bounds::between(way.lo_ns.min(ns), hi_ns.map_or(ns, |hi| hi.min(ns)));
        ledger.charge(Cause::Path, d, crossing);
    }
}
