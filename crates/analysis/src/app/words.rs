//! What is said of an application's times: how they were compared, or why they were not.

use super::means::Means;
use super::{AppFacts, ComparedBy};
use model::{format_duration, grouped};
use std::net::IpAddr;
use trace::OperationKind;

/// Why an application's times say nothing of the capture.
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
    /// They are shorter than what they would have waited for.
    Contradicts {
        operations: u64,
        application_ns: i64,
        calls: u64,
        calls_ns: i64,
    },
    NoOperations,
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

    pub(super) fn sentence(&self) -> String {
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
            Refusal::TooFew { joined, of, calls } => format!(
                "only {} of {} rows have one of the {} calls within their time. Is the clock that of the client's host, and is a row one operation?",
                grouped(*joined),
                grouped(*of),
                grouped(*calls)
            ),
            Refusal::Contradicts {
                operations,
                application_ns,
                calls,
                calls_ns,
            } => format!(
                "they contradict the capture. Its {} calls take {} on average, and the {} operations, which would have waited for them, only {}: are they of other work, or served from a cache?",
                grouped(*calls),
                format_duration(*calls_ns),
                grouped(*operations),
                format_duration(*application_ns)
            ),
            Refusal::NoOperations => "they count no operation".to_owned(),
        };
        let stop = if why.ends_with('?') { "" } else { "." };
        format!("The application's times were left out: {why}{stop}")
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
pub(super) fn used(facts: &AppFacts) -> String {
    let above = match facts.host_mean_ns {
        0 => "nothing is".to_owned(),
        ns => format!("{} are", format_duration(ns)),
    };
    format!(
        "The application's operations take {}, of which {above} above the wire, on average ({}).",
        format_duration(facts.application_mean_ns),
        facts.basis
    )
}

/// The basis of a join, operation by operation.
pub(super) fn joined(format: &str, by: ComparedBy, n: u64, of: u64, ahead_ns: i64) -> String {
    let by = match by {
        ComparedBy::Offset => "offset and time",
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
pub(super) fn by_mean(format: &str, means: &Means) -> String {
    let when = match means.timed {
        true => " in the same time",
        false => "",
    };
    let calls = match means.held_against == means.calls {
        true => format!("the {} calls{when}", grouped(means.calls)),
        false => format!(
            "the {} longest of {} calls{when} (others made some), at least so much and",
            grouped(means.held_against),
            grouped(means.calls)
        ),
    };
    format!(
        "{format}: mean of its {} operations against mean of {calls}, not call by call",
        grouped(means.operations)
    )
}

/// The basis of what a client's system counted.
pub(super) fn queue(format: &str) -> String {
    format!("{format}: the client's own queue time before sending")
}

/// That some lie beyond the capture.
pub(super) fn partly(what: &str, outside: u64, all: u64) -> String {
    format!(
        "{} of {} {what} of the application lie outside of the capture and were left out.",
        grouped(outside),
        grouped(all)
    )
}

/// That there were too many calls to keep.
pub(super) fn beyond_limit(calls: u64) -> String {
    format!(
        "{} calls are more than are held against the application's times and were left out of that.",
        grouped(calls)
    )
}
