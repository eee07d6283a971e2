//! What is said of an application's or a server's times: how they were compared, or why they were not.

use super::means::Means;
use super::spread::Range;
use super::whose::Whose;
use super::{AppFacts, ComparedBy};
use model::{format_duration, grouped};
use std::net::IpAddr;
use trace::OperationKind;

/// Why rows say nothing of the capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Refusal {
    /// They are of another time.
    Elsewhere {
        what: &'static str,
        all: u64,
        later_ns: Option<i64>,
    },
    /// They name hosts that made none of the calls.
    OtherHost {
        rows: Vec<IpAddr>,
        more: usize,
        calls: Vec<IpAddr>,
    },
    NoCalls {
        kinds: Vec<OperationKind>,
    },
    TooFew {
        joined: u64,
        of: u64,
        calls: u64,
    },
    /// They are shorter than what they would have waited for, or longer than what would have waited for them.
    Contradicts {
        operations: u64,
        own_ns: i64,
        calls: u64,
        calls_ns: i64,
    },
    NoOperations,
    /// Disks lie below the server, not above the wire.
    OfDisks(String),
    /// They are the slow ones alone, of which a mean says nothing.
    SlowOnes {
        least_ns: i64,
    },
    /// What only clients note: no operations of a server.
    NotOfServers(String),
}

impl Refusal {
    /// `begin`: of the first of them.
    pub(super) fn elsewhere(
        what: &'static str,
        all: u64,
        begin: Option<i64>,
        ran: Option<(i64, i64)>,
    ) -> Refusal {
        Refusal::Elsewhere {
            what,
            all,
            later_ns: begin
                .zip(ran)
                .map(|(begin, (first, _))| begin.saturating_sub(first)),
        }
    }

    pub(super) fn sentence(&self, whose: Whose) -> String {
        let why = match self {
            Refusal::Elsewhere {
                what,
                all,
                later_ns,
            } => {
                let later = later_ns.map_or_else(String::new, |ns| {
                    let word = if ns < 0 { "earlier" } else { "later" };
                    format!(
                        ": they begin {} {word} than it does",
                        format_duration(ns.saturating_abs())
                    )
                });
                format!(
                    "none of {} {what} lies within the capture{later}",
                    grouped(*all)
                )
            }
            Refusal::OtherHost { rows, more, calls } => {
                let others = match more {
                    0 => String::new(),
                    n => format!(" and {} others", grouped(*n as u64)),
                };
                format!(
                    "the rows are of {}{others}, and the calls of the capture are of {}",
                    list(rows),
                    list(calls)
                )
            }
            Refusal::NoCalls { kinds } => {
                format!("the capture holds no {} at that time", operations(kinds))
            }
            Refusal::TooFew { joined, of, calls } => {
                let found = match whose {
                    Whose::Application => "have one of the {calls} calls within their time",
                    Whose::Server => "lie within the time of one of the {calls} calls",
                };
                let host = match whose {
                    Whose::Application => "client",
                    Whose::Server => "server",
                };
                format!(
                    "only {} of {} rows {}. Is the clock that of the {host}'s host, and is a row one operation?",
                    grouped(*joined),
                    grouped(*of),
                    found.replace("{calls}", &grouped(*calls))
                )
            }
            Refusal::Contradicts {
                operations,
                own_ns,
                calls,
                calls_ns,
            } => {
                let (calls, operations) = (grouped(*calls), grouped(*operations));
                let (took, own) = (format_duration(*calls_ns), format_duration(*own_ns));
                match whose {
                    Whose::Application => format!(
                        "they contradict the capture. Its {calls} calls take {took} on average, and the {operations} operations, which would have waited for them, only {own}: are they of other work, or served from a cache?"
                    ),
                    Whose::Server => format!(
                        "they contradict the capture. Its {calls} calls take {took} on average, and the {operations} operations, for which they would have waited, {own}: are they of other work, not of this server, or only the slow ones of many?"
                    ),
                }
            }
            Refusal::NotOfServers(format) => format!(
                "{format} is what a client notes; give the server's own operations, with a start and an end or a latency"
            ),
            Refusal::OfDisks(format) => {
                format!(
                    "{format} is what disks took; give it to --server-app, if they are the server's"
                )
            }
            Refusal::SlowOnes { least_ns } => format!(
                "they are only those that took {} or longer, and do not name the offsets of most calls. Take them again with 0 as the tool's least, so that it prints all",
                format_duration(*least_ns)
            ),
            Refusal::NoOperations => "they count no operation".to_owned(),
        };
        let stop = if why.ends_with('?') { "" } else { "." };
        format!("The {}'s times were left out: {why}{stop}", whose.name())
    }
}

fn list(hosts: &[IpAddr]) -> String {
    let names: Vec<String> = hosts.iter().map(ToString::to_string).collect();
    names.join(", ")
}

fn operations(kinds: &[OperationKind]) -> &'static str {
    match kinds {
        [OperationKind::Read] => "READ",
        [OperationKind::Write] => "WRITE",
        [OperationKind::Other] => "call that neither reads nor writes",
        kinds
            if kinds.contains(&OperationKind::Unsaid) || kinds.contains(&OperationKind::Other) =>
        {
            "call"
        }
        _ => "READ or WRITE",
    }
}

/// That they were used, and how.
pub(super) fn used(facts: &AppFacts, whose: Whose) -> String {
    let own = match &facts.bounds {
        Some(bounds) => range(bounds.own),
        None => format_duration(facts.application_mean_ns),
    };
    let between = match (&facts.bounds, facts.host_mean_ns) {
        (Some(bounds), _) => range(bounds.between),
        (None, 0) => "nothing".to_owned(),
        (None, ns) => format_duration(ns),
    };
    let basis = &facts.basis;
    match whose {
        Whose::Application => {
            let are = if facts.host_mean_ns == 0 { "is" } else { "are" };
            format!(
                "The application's operations take {own}, of which {between} {are} above the wire, on average ({basis})."
            )
        }
        Whose::Server => format!(
            "The server's own operations take {own}, and their calls {between} beyond that, on average ({basis})."
        ),
    }
}

/// `2.1 ms to 4.2 ms`.
fn range(range: Range) -> String {
    match (range.least_ns, range.most_ns) {
        (0, Some(0)) => "nothing".to_owned(),
        (0, Some(most)) => format!("up to {}", format_duration(most)),
        (least, Some(most)) if least == most => format_duration(most),
        (least, Some(most)) => format!("{} to {}", format_duration(least), format_duration(most)),
        (least, None) => format!("{} or more", format_duration(least)),
    }
}

/// The basis of a join, operation by operation.
pub(super) fn joined(format: &str, by: ComparedBy, n: u64, of: u64, ahead_ns: i64) -> String {
    let by = match by {
        ComparedBy::Offset => "offset and time",
        ComparedBy::Connection => "connection and time",
        _ => "time, as intervals nest",
    };
    let clock = match ahead_ns {
        0 => String::new(),
        ns => format!(
            "; its clock is {} {}",
            format_duration(ns.saturating_abs()),
            if ns < 0 { "behind" } else { "ahead" }
        ),
    };
    format!(
        "{format}: {} of {} operations found on the wire by {by}{clock}",
        grouped(n),
        grouped(of)
    )
}

/// The basis of a comparison of means.
pub(super) fn by_mean(format: &str, means: &Means, whose: Whose) -> String {
    let against = against(means, whose);
    format!(
        "{format}: mean of its {} operations against mean of {against}, not call by call",
        grouped(means.operations)
    )
}

/// The basis of a comparison of steps with means.
pub(super) fn by_distribution(format: &str, means: &Means, whose: Whose) -> String {
    let against = against(means, whose);
    format!(
        "{format}: bounds of its {} operations against mean of {against}, not call by call",
        grouped(means.operations)
    )
}

/// What operations were held against.
fn against(means: &Means, whose: Whose) -> String {
    let when = match means.timed {
        true => " in the same time",
        false => "",
    };
    match means.held_against == means.calls {
        true => format!("the {} calls{when}", grouped(means.calls)),
        false => {
            let (which, others) = match whose {
                Whose::Application => ("longest", "made"),
                Whose::Server => ("shortest", "served"),
            };
            format!(
                "the {} {which} of {} calls{when} (others {others} some), at least so much and",
                grouped(means.held_against),
                grouped(means.calls)
            )
        }
    }
}

/// The basis of what a client's system counted.
pub(super) fn queue(format: &str) -> String {
    format!("{format}: the client's own queue time before sending")
}

/// That disks are none of the application's.
pub(super) fn disks(format: &str) -> String {
    format!(
        "What disks took, given beside {format}, was left out: give it to --server-app, if they are the server's."
    )
}

/// That some lie beyond the capture.
pub(super) fn partly(what: &str, whose: Whose, outside: u64, all: u64) -> String {
    format!(
        "{} of {} {what} of the {} lie outside of the capture and were left out.",
        grouped(outside),
        grouped(all),
        whose.name()
    )
}

/// That there were too many calls to keep.
pub(super) fn beyond_limit(calls: u64, whose: Whose) -> String {
    format!(
        "{} calls are more than are held against the {}'s times and were left out of that.",
        grouped(calls),
        whose.name()
    )
}
