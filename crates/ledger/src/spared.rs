//! What a path takes of a call, into what of it fewer trips would have spared and what is the way's.

use crate::{Bounds, Cause, Ledger};
use model::Direction;

/// So many of so many trips could have been spared, and why; or may have been, where it is not sure that
/// they were too many.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    pub cause: Cause,
    pub trips: u64,
    pub of: u64,
    pub is_sure: bool,
}

/// What the path takes, and what of it could have been spared: who takes fewer trips spares their distance, which is what one
/// takes at least. What it takes beyond that is the way's.
pub(crate) fn path(ns: Bounds, least: Bounds, spared: Option<Share>, ledger: &mut Ledger) {
    let d = Direction::ToServer;
    let Some(spared) = spared else {
        return ledger.charge(Cause::Path, d, ns);
    };
    let share = |ns: i64, least: Option<i64>| {
        let ns = least.map_or(ns, |least| ns.min(least));
        let part = i128::from(ns) * i128::from(spared.trips) / i128::from(spared.of.max(1));
        part as i64
    };
    let mut part = Bounds {
        lo_ns: share(ns.lo_ns, Some(least.lo_ns)),
        hi_ns: ns.hi_ns.map(|ns| share(ns, least.hi_ns)),
    };
    let mut rest = Bounds {
        lo_ns: ns.lo_ns - share(ns.lo_ns, least.hi_ns),
        hi_ns: ns.hi_ns.map(|ns| ns - share(ns, Some(least.lo_ns))),
    };
    if !spared.is_sure {
        part.lo_ns = 0;
        rest.hi_ns = ns.hi_ns;
    }
    ledger.charge(spared.cause, d, part);
    ledger.charge(Cause::Path, d, rest);
}
