//! How far a capture is from a host, in bounds.

use crate::Bounds;

/// What is known of the half of the path between a capture and a host, there and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Half {
    /// The capture was taken at the host.
    Here,
    Away(Bounds),
}

impl Half {
    /// Nothing is known.
    pub const ANY: Half = Half::Away(Bounds {
        lo_ns: 0,
        hi_ns: None,
    });

    #[must_use]
    pub fn is_here(self) -> bool {
        self == Half::Here
    }

    #[must_use]
    pub fn bounds(self) -> Bounds {
        match self {
            Half::Here => Bounds::exactly(0),
            Half::Away(bounds) => bounds,
        }
    }

    /// For what may have been there already.
    pub(crate) fn perhaps_crossed(self) -> Half {
        match self {
            Half::Here => Half::Here,
            Half::Away(bounds) => Half::Away(Bounds { lo_ns: 0, ..bounds }),
        }
    }
}
