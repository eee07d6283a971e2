//! What is said of an application's or a server's times: how they were compared, or why they were not.

use super::means::Means;
use super::spread::Range;
use super::whose::Whose;
use super::{AppFacts, ComparedBy};
use crate::text::{Text, Value, text};
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
    /// A trace without waits for blocks, which are what a database itself asks for.
    NoBlocks,
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

    pub(super) fn sentence(&self, whose: Whose) -> Text {
        let why = match self {
            Refusal::Elsewhere {
                what,
                all,
                later_ns,
            } => {
                let later = later_ns.map_or_else(Text::default, |ns| {
                    text!(
                        ": they begin {by} {word} than it does",
                        by = Value::Duration(ns.saturating_abs()),
                        word = if ns < 0 { "earlier" } else { "later" },
                    )
                });
                text!(
                    "none of {all,} {what} lies within the capture{later}",
                    all = *all,
                    what = *what,
                    later = later,
                )
            }
            Refusal::OtherHost { rows, more, calls } => {
                let others = match more {
                    0 => Text::default(),
                    n => text!(" and {n,} others", n = *n),
                };
                text!(
                    "the rows are of {rows}{others}, and the calls of the capture are of {calls}",
                    rows = list(rows),
                    others = others,
                    calls = list(calls),
                )
            }
            Refusal::NoCalls { kinds } => {
                text!(
                    "the capture holds no {operations} at that time",
                    operations = operations(kinds)
                )
            }
            Refusal::TooFew { joined, of, calls } => {
                let (found, host) = match whose {
                    Whose::Application => (
                        text!(
                            "have one of the {calls,} calls within their time",
                            calls = *calls
                        ),
                        "client",
                    ),
                    Whose::Server => (
                        text!(
                            "lie within the time of one of the {calls,} calls",
                            calls = *calls
                        ),
                        "server",
                    ),
                };
                text!(
                    "only {joined,} of {of,} rows {found}. Is the clock that of the {host}'s host, and is a row one operation?",
                    joined = *joined,
                    of = *of,
                    found = found,
                    host = host,
                )
            }
            Refusal::Contradicts {
                operations,
                own_ns,
                calls,
                calls_ns,
            } => {
                let (calls, operations) = (*calls, *operations);
                let (took, own) = (Value::Duration(*calls_ns), Value::Duration(*own_ns));
                match whose {
                    Whose::Application => text!(
                        "they contradict the capture. Its {calls,} calls take {took} on average, and the {operations,} operations, which would have waited for them, only {own}: are they of other work, or served from a cache?",
                        calls = calls,
                        took = took,
                        operations = operations,
                        own = own,
                    ),
                    Whose::Server => text!(
                        "they contradict the capture. Its {calls,} calls take {took} on average, and the {operations,} operations, for which they would have waited, {own}: are they of other work, not of this server, or only the slow ones of many?",
                        calls = calls,
                        took = took,
                        operations = operations,
                        own = own,
                    ),
                }
            }
            Refusal::NoBlocks => {
                "the trace waits for no blocks of data files; if this is a capture of the database's own clients, give it to --server-app".into()
            }
            Refusal::NotOfServers(format) => text!(
                "{format} is what a client notes; give the server's own operations, with a start and an end or a latency",
                format = format.clone()
            ),
            Refusal::OfDisks(format) => text!(
                "{format} is what disks took; give it to --server-app, if they are the server's",
                format = format.clone()
            ),
            Refusal::SlowOnes { least_ns } => text!(
                "they are only those that took {least} or longer, and do not name the offsets of most calls. Take them again with 0 as the tool's least, so that it prints all",
                least = Value::Duration(*least_ns)
            ),
            Refusal::NoOperations => "they count no operation".into(),
        };
        text!(
            "The {whose}'s times were left out: {why}{stop}",
            whose = whose.name(),
            stop = if why.template.ends_with('?') { "" } else { "." },
            why = why,
        )
    }
}

fn list(hosts: &[IpAddr]) -> Text {
    let name = |host: &IpAddr| text!("{host}", host = *host);
    Text::list(hosts.iter().map(name).collect(), ", ")
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
pub(super) fn used(facts: &AppFacts, whose: Whose) -> Text {
    let own = match &facts.bounds {
        Some(bounds) => range(bounds.own),
        None => time(facts.application_mean_ns),
    };
    let between = match (&facts.bounds, facts.host_mean_ns) {
        (Some(bounds), _) => range(bounds.between),
        (None, 0) => "nothing".into(),
        (None, ns) => time(ns),
    };
    let basis = facts.basis.clone();
    match whose {
        Whose::Application => text!(
            "The application's operations take {own}, of which {between} {are} above the wire, on average ({basis}).",
            own = own,
            between = between,
            are = if facts.host_mean_ns == 0 { "is" } else { "are" },
            basis = basis,
        ),
        Whose::Server => text!(
            "The server's own operations take {own}, and their calls {between} beyond that, on average ({basis}).",
            own = own,
            between = between,
            basis = basis,
        ),
    }
}

fn time(ns: i64) -> Text {
    text!("{time}", time = Value::Duration(ns))
}

/// `2.1 ms to 4.2 ms`.
fn range(range: Range) -> Text {
    match (time(range.least_ns), range.most_ns.map(time)) {
        (_, Some(_)) if range.most_ns == Some(0) => "nothing".into(),
        (_, Some(most)) if range.least_ns == 0 => text!("up to {most}", most = most),
        (least, Some(most)) if least == most => most,
        (least, Some(most)) => text!("{least} to {most}", least = least, most = most),
        (least, None) => text!("{least} or more", least = least),
    }
}

/// The basis of a join, operation by operation.
pub(super) fn joined(format: &str, by: ComparedBy, n: u64, of: u64, ahead_ns: i64) -> Text {
    let by = match by {
        ComparedBy::Offset => "offset and time",
        ComparedBy::Connection => "connection and time",
        _ => "time, as intervals nest",
    };
    let clock = match ahead_ns {
        0 => Text::default(),
        ns => text!(
            "; its clock is {by} {way}",
            by = Value::Duration(ns.saturating_abs()),
            way = if ns < 0 { "behind" } else { "ahead" },
        ),
    };
    text!(
        "{format}: {n,} of {of,} operations found on the wire by {by}{clock}",
        format = format.to_owned(),
        n = n,
        of = of,
        by = by,
        clock = clock,
    )
}

/// The basis of a comparison of means.
pub(super) fn by_mean(format: &str, means: &Means, whose: Whose) -> Text {
    text!(
        "{format}: mean of its {operations,} operations against mean of {against}, not call by call",
        format = format.to_owned(),
        operations = means.operations,
        against = against(means, whose),
    )
}

/// The basis of a comparison of steps with means.
pub(super) fn by_distribution(format: &str, means: &Means, whose: Whose) -> Text {
    text!(
        "{format}: bounds of its {operations,} operations against mean of {against}, not call by call",
        format = format.to_owned(),
        operations = means.operations,
        against = against(means, whose),
    )
}

/// What operations were held against.
fn against(means: &Means, whose: Whose) -> Text {
    let when = match means.timed {
        true => " in the same time",
        false => "",
    };
    match means.held_against == means.calls {
        true => text!("the {calls,} calls{when}", calls = means.calls, when = when),
        false => {
            let (which, others) = match whose {
                Whose::Application => ("longest", "made"),
                Whose::Server => ("shortest", "served"),
            };
            text!(
                "the {held,} {which} of {calls,} calls{when} (others {others} some), at least so much and",
                held = means.held_against,
                which = which,
                calls = means.calls,
                when = when,
                others = others,
            )
        }
    }
}

/// The basis of what a client's system counted.
pub(super) fn queue(format: &str) -> Text {
    text!(
        "{format}: the client's own queue time before sending",
        format = format.to_owned()
    )
}

/// That disks are none of the application's.
pub(super) fn disks(format: &str) -> Text {
    text!(
        "What disks took, given beside {format}, was left out: give it to --server-app, if they are the server's.",
        format = format.to_owned()
    )
}

/// That some lie beyond the capture.
pub(super) fn partly(what: &'static str, whose: Whose, outside: u64, all: u64) -> Text {
    text!(
        "{outside,} of {all,} {what} of the {whose} lie outside of the capture and were left out.",
        outside = outside,
        all = all,
        what = what,
        whose = whose.name(),
    )
}

/// That there were too many calls to keep.
pub(super) fn beyond_limit(calls: u64, whose: Whose) -> Text {
    text!(
        "{calls,} calls are more than are held against the {whose}'s times and were left out of that.",
        calls = calls,
        whose = whose.name(),
    )
}
