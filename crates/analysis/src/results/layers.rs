//! What each layer takes of the same operations, from the application down.

use crate::app::Range;
use serde::{Deserialize, Serialize};

/// Where a layer's times were taken, outermost first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub enum LayerOf {
    /// What the application noted.
    Application,
    /// What the client's system counted, its own queue included.
    ClientKernel,
    /// Calls as the capture at the client has them: request's first byte to reply's last.
    ClientWire,
    /// The same at the server.
    ServerWire,
    /// What the server noted of its own operations.
    ServerOperation,
    /// What its disks took.
    Disk,
}

impl LayerOf {
    /// The word in machine output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            LayerOf::Application => "application",
            LayerOf::ClientKernel => "client-kernel",
            LayerOf::ClientWire => "client-wire",
            LayerOf::ServerWire => "server-wire",
            LayerOf::ServerOperation => "server-operation",
            LayerOf::Disk => "disk",
        }
    }
}

/// What a layer was read from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum LayerSource {
    /// An index into [`Diagnosis::captures`](super::Diagnosis::captures).
    Capture(usize),
    /// What was read and how it was understood, in words.
    Rows(String),
}

/// One layer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Layer {
    pub layer: LayerOf,
    pub source: LayerSource,
    /// Operations or calls that it tells of.
    pub calls: u64,
    /// Rows that were joined with their call, or calls that both captures hold; `None` where nothing was joined one by
    /// one.
    pub joined: Option<u64>,
    /// The middle where only bounds are known.
    pub mean_ns: i64,
    /// What is certain of the mean, the median and the 99th percentile where only the steps are known into which
    /// operations fall.
    pub bounds: Option<LayerBounds>,
    /// Where single ones are known.
    pub p50_ns: Option<i64>,
    pub p99_ns: Option<i64>,
    /// What it takes beyond the next layer, on average: of those that were joined, else mean against mean.
    pub beyond_next_ns: Option<i64>,
    /// The same where only its bounds are known.
    pub beyond_next: Option<Range>,
}

impl Layer {
    #[must_use]
    pub fn mean(&self) -> Range {
        let bounds = self.bounds.map(|b| b.mean);
        bounds.unwrap_or(Range::exact(self.mean_ns))
    }

    #[must_use]
    pub fn p50(&self) -> Option<Range> {
        let exact = self.p50_ns.map(Range::exact);
        exact.or(self.bounds.map(|b| b.p50))
    }

    #[must_use]
    pub fn p99(&self) -> Option<Range> {
        let exact = self.p99_ns.map(Range::exact);
        exact.or(self.bounds.map(|b| b.p99))
    }

    /// What it takes beyond the next.
    #[must_use]
    pub fn beyond_next(&self) -> Option<Range> {
        let exact = self.beyond_next_ns.map(Range::exact);
        exact.or(self.beyond_next)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LayerBounds {
    pub mean: Range,
    pub p50: Range,
    pub p99: Range,
}
