//! What a host's own capture has, and what had to be sent again to it all the same, into what a call waited for that.

use crate::one::Lost;
use crate::{Bounds, Cause, Ledger};
use model::Direction;

/// Why a host did not take it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Untaken {
    /// Its checksum held: the host threw it away.
    Dropped,
    /// It had been damaged on the way, or was lost behind the capture, as routers lie between that and the host.
    Lost,
    /// Nothing tells: checksums were not captured, or the capture may have been taken beside the host.
    #[default]
    Either,
}

impl Untaken {
    /// For bytes of this direction, of which so many were lost if they were.
    pub(crate) fn charge(self, lost: Lost, d: Direction, ns: Bounds, ledger: &mut Ledger) {
        match self {
            Untaken::Dropped => ledger.charge(Cause::Dropped, d, ns),
            Untaken::Lost => ledger.charge(lost.cause(), d, ns),
            Untaken::Either => {
                for cause in [Cause::Dropped, lost.cause()] {
                    ledger.charge(cause, d, Bounds { lo_ns: 0, ..ns });
                }
            }
        }
    }
}
