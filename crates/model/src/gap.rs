//! What a packet shows to be missing before it.

use crate::{ConnectionId, Direction, Mark};
use serde::{Deserialize, Serialize};

/// Something of a connection never came past the capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Gap {
    /// The packet that showed it, and its order.
    pub order: u64,
    pub at: Mark,
    pub connection: ConnectionId,
    pub lacks: Lacks,
}

/// What it was.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Lacks {
    /// Bytes that were acknowledged, and so are missing from the capture.
    Bytes(Direction),
    /// Packets of the server whose identifications were skipped (RFC 791), all of whose bytes came, if they had any: an
    /// answer may have been among them that came when it was sent again.
    Packets,
}
