//! What a finding's cost is time of, and which lines of the ledger it owns: no line is owned twice.

use crate::results::{CostOf, Finding, Side};
use ledger::{Cause, Place, Sum, Sums};

/// What the cost of a finding is time of.
#[must_use]
pub fn cost_of(code: &str) -> CostOf {
    match code {
        "slow-connect" => CostOf::Connects,
        "client-host-slow"
        | "client-concurrency-cap"
        | "client-think"
        | "large-fetch-client-think" => CostOf::Application,
        "mtu-black-hole" => CostOf::Network,
        _ => CostOf::Calls,
    }
}

/// The causes whose lines a finding owns: of those that are somebody's, only that side's.
fn causes(code: &str) -> &'static [Cause] {
    match code {
        "server-slow" => &[Cause::Service],
        "server-concurrency-cap" => &[Cause::Queue],
        "server-stall" => &[Cause::Stall],
        "network-delay" => &[Cause::Path],
        "network-loss" => &[Cause::Loss],
        "network-outage" => &[Cause::Outage],
        "network-bandwidth" | "network-bufferbloat" => &[Cause::Bandwidth],
        "fragments-lost" => &[Cause::Fragments],
        "nagle" => &[Cause::Nagle],
        "nagle-delayed-ack" => &[Cause::NagleDelayedAck],
        "ack-frequency" => &[Cause::DelayedAck],
        "receive-window-limited" | "small-window" | "window-scaling-off" => {
            &[Cause::NotReading, Cause::SmallWindow, Cause::WindowScalingOff]
        }
        "sender-application-limited" => &[Cause::NotWriting],
        "chatty" => &[Cause::Chatty],
        "small-fetch" => &[Cause::SmallFetch],
        "small-writes" => &[Cause::SmallWrites],
        _ => &[],
    }
}

fn place(side: Side) -> Option<Place> {
    match side {
        Side::Client => Some(Place::Client),
        Side::Network => Some(Place::Network),
        Side::Server => Some(Place::Server),
        _ => None,
    }
}

impl Finding {
    /// Whether its cost is time of calls, or of streams where those are judged.
    #[must_use]
    pub fn is_of_calls(&self) -> bool {
        cost_of(self.code) == CostOf::Calls
    }

    /// The lines of these sums that it owns.
    #[must_use]
    pub fn lines(&self, sums: &Sums) -> Vec<Sum> {
        let own = causes(self.code);
        let mut lines = sums.lines();
        lines.retain(|s| own.contains(&s.line.cause));
        let several = lines.iter().any(|s| place(self.side) != Some(s.line.side));
        // A device may take window scaling out in the receiver's name.
        if several && lines.iter().any(|s| place(self.side) == Some(s.line.side)) {
            lines.retain(|s| place(self.side) == Some(s.line.side));
        }
        lines
    }
}
