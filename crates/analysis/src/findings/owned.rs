//! Which lines of the ledger a finding owns: no line is owned twice.

use super::{Of, Rule};
use crate::results::{CostOf, Diagnosis, Finding, Side};
use ledger::{Cause, Line, Place, Sum, Sums};
use serde::{Deserialize, Serialize};

/// The causes whose lines a finding owns: of those that are somebody's, only that side's.
fn causes(rule: Rule) -> &'static [Cause] {
    match rule {
        // Whatever it waited for meanwhile, where nothing tells for which call.
        Rule::ServerSlow => &[Cause::Service, Cause::DownstreamShared],
        Rule::DownstreamWait => &[Cause::Downstream],
        Rule::ServerConcurrencyCap => &[Cause::Queue],
        Rule::ServerStall => &[Cause::Stall],
        Rule::ServerQueue => &[Cause::Dispatch],
        Rule::NetworkDelay => &[Cause::Path],
        // Of which one has a cost.
        Rule::NetworkLoss | Rule::NetworkReordering => &[Cause::Loss],
        Rule::NetworkOutage => &[Cause::Outage],
        Rule::HostDrops => &[Cause::Dropped],
        Rule::NetworkBandwidth | Rule::NetworkBufferbloat => &[Cause::Bandwidth],
        Rule::FragmentsLost => &[Cause::Fragments],
        Rule::SlowStart => &[Cause::SlowStart],
        Rule::SmallSendBuffer => &[Cause::SendBuffer],
        Rule::Nagle => &[Cause::Nagle],
        Rule::NagleDelayedAck => &[Cause::NagleDelayedAck],
        Rule::AckFrequency => &[Cause::DelayedAck],
        Rule::ReceiveWindowLimited | Rule::SmallWindow | Rule::WindowScalingOff => {
            &[Cause::NotReading, Cause::SmallWindow]
        }
        Rule::SenderApplicationLimited => &[Cause::NotWriting],
        Rule::Chatty => &[Cause::Chatty],
        Rule::SmallFetch => &[Cause::SmallFetch],
        Rule::SmallWrites => &[Cause::SmallWrites],
        Rule::LockWait => &[Cause::Lock],
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
        matches!(self.rule.of(), Of::Calls | Of::Bytes)
    }

    /// What its cost is time of.
    #[must_use]
    pub fn cost_of(&self, d: &Diagnosis) -> CostOf {
        match self.rule.of() {
            Of::Calls | Of::Bytes if d.streams_ledger.is_some() => CostOf::Streams,
            Of::Calls | Of::Bytes => CostOf::Calls,
            Of::Connects => CostOf::Connects,
            Of::Retries => CostOf::Retries,
            Of::Application => CostOf::Application,
            Of::Network => CostOf::Network,
        }
    }

    /// The lines of these sums that it owns.
    #[must_use]
    pub fn lines(&self, sums: &Sums) -> Vec<Sum> {
        let own = causes(self.rule);
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

/// Which finding of a diagnosis owns a line of a call.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Owners(Vec<((Place, Place, Cause), Rule)>);

impl Owners {
    #[must_use]
    pub fn of(d: &Diagnosis) -> Owners {
        let of_calls = |f: &&Finding| f.cost_ns.is_some() && f.cost_of(d) == CostOf::Calls;
        let own = |f: &Finding| {
            let rule = f.rule;
            let lines = f.lines(&d.ledger).into_iter();
            lines.map(move |s| ((s.line.place, s.line.side, s.line.cause), rule))
        };
        Owners(d.findings.iter().filter(of_calls).flat_map(own).collect())
    }

    #[must_use]
    pub fn owner(&self, line: &Line) -> Option<Rule> {
        let key = (line.place, line.side, line.cause);
        let own = self.0.iter().find(|(k, _)| *k == key);
        own.map(|(_, rule)| *rule)
    }
}
