//! What a sender heard between two of its transmissions: what it can have waited for.

use model::Mark;
use serde::{Deserialize, Serialize};

/// What the sender heard since its last transmission. The marks count where `heard` says so: that way
/// a gap ends with a single store.
#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub(super) struct Gap {
    pub heard: Heard,
    /// The first acknowledgement of something new, and the last.
    pub begun: Mark,
    pub progress: Mark,
    /// When everything was acknowledged.
    pub drained: Mark,
    /// When the window last grew, and what was left of it until then.
    pub opened: Mark,
    pub usable: u64,
    /// The peer's last data.
    pub peer: Mark,
    /// When the sender showed last to have data of the peer that the capture lacks.
    pub missed: Mark,
}

#[derive(Clone, Copy, Default, Debug, Serialize, Deserialize)]
pub(super) struct Heard {
    pub progress: bool,
    pub drained: bool,
    /// Everything was acknowledged by an acknowledgement alone.
    pub drained_alone: bool,
    pub opened: bool,
    /// The window was shut, or did not move on with what was acknowledged.
    pub shut: bool,
    /// The sender probed the shut window: it had more to send.
    pub probed: bool,
    pub peer: bool,
    pub missed: bool,
}

impl Gap {
    pub(super) fn progress(&self) -> Option<Mark> {
        self.heard.progress.then_some(self.progress)
    }

    pub(super) fn drained(&self) -> Option<Mark> {
        self.heard.drained.then_some(self.drained)
    }

    pub(super) fn opened(&self) -> Option<Mark> {
        self.heard.opened.then_some(self.opened)
    }

    pub(super) fn peer(&self) -> Option<Mark> {
        self.heard.peer.then_some(self.peer)
    }

    pub(super) fn missed(&self) -> Option<Mark> {
        self.heard.missed.then_some(self.missed)
    }

    pub(super) fn opens(&mut self, mark: Mark, usable: u64) {
        (self.opened, self.usable, self.heard.opened) = (mark, usable, true);
    }

    pub(super) fn hears_peer(&mut self, mark: Mark) {
        (self.peer, self.heard.peer) = (mark, true);
    }
}
