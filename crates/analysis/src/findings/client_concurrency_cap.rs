//! # What it says
//! The client keeps at most N calls outstanding: their number has a flat top at N,
//! and each new call leaves just after a reply came.
//!
//! # Why it costs time
//! What waits for a free place waits in the client, above the wire, where no
//! capture sees it. Without the application's own times there is no cost, and N may
//! as well be N threads that each wait for their own call.
//!
//! # How sure
//! The top itself is counted, not estimated. That it costs anything is only said
//! with --app (the application's latencies), or when mountstats shows queue time.
//!
//! # What to check next
//! Linux: sunrpc.tcp_slot_table_entries and tcp_max_slot_table_entries, mount
//! option nconnect, NFSv4.1 session slots (max_session_slots). The client's queue
//! time: mountstats, nfsiostat "avg queue".
//!
//! # When it is wrong
//! N synchronous application threads give the same picture, and then nothing
//! queues.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::capture_facts::CaptureFacts;
use crate::concurrency::{ClientCap, Scope};
use crate::facts::{Basis, Facts};
use crate::results::{Fact, Finding, Side};
use crate::text::{Text, Value, text};
use model::Endpoint;
use std::net::IpAddr;

pub(super) const ENTRY: Entry = Entry {
    code: "client-concurrency-cap",
    title: "the client keeps a limited number of calls outstanding",
    side: Some(Side::Client),
    of: Of::Application,
    sure: [0.9, 0.9],
    page: page!("client_concurrency_cap.rs"),
    check,
};

/// Where they listen (IANA).
const NFS: u16 = 2_049;
const SMB: u16 = 445;

/// A client that keeps a limited number of calls outstanding at a server.
pub(crate) struct Capped {
    pub(crate) found: ClientCap,
    pub(crate) client: IpAddr,
    pub(crate) server: Endpoint,
}

/// The one that was busiest.
pub(crate) fn client_cap(capture: &CaptureFacts) -> Option<Capped> {
    let slots = capture.highest_slot.map(|s| s as usize + 1);
    let mut caps: Vec<_> = capture
        .concurrency
        .levels()
        .filter_map(|(scope, level)| match scope {
            Scope::Pair(client, server) => {
                Some((level.client_cap(slots)?, *client, *server, level))
            }
            Scope::Server(_) => None,
        })
        .collect();
    caps.sort_by_key(|(_, client, server, level)| {
        (std::cmp::Reverse(level.busy_ns()), *client, *server)
    });
    let (found, client, server, _) = *caps.first()?;
    Some(Capped {
        found,
        client,
        server,
    })
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    if facts.client.is_none() && facts.account.basis != Basis::Client {
        return None;
    }
    let capture = facts.at_client().unwrap_or(&facts.captures[0]);
    let Capped {
        found,
        client,
        server,
    } = client_cap(capture)?;
    let (cap, sent, released) = (found.cap, found.sent, found.released);
    let queue = facts
        .app
        .filter(|app| app.host_mean_ns >= facts.thresholds.fast_enough_ns);
    let above = match queue.or(facts.app) {
        Some(app) if queue.is_none() => text!(
            "The application waits no more than {each} per operation above the wire ({basis}): little queues there.",
            each = app.above(),
            basis = app.basis.clone(),
        ),
        Some(app) => text!(
            "The application waits {each} per operation above the wire ({basis}).",
            each = app.above(),
            basis = app.basis.clone(),
        ),
        None => text!(
            "Whether anything queues above the wire no capture can show: give the application's own latencies with --app."
        ),
    };
    let mut numbers = numbers([("cap", cap as i64), ("released_by_reply", released as i64)]);
    if capture.slots > 0 {
        numbers.push(Fact {
            name: "session_slots",
            value: whole(capture.slots),
        });
    }
    Some(Finding {
        title: text!(
            "The client keeps {cap} calls outstanding and no more",
            cap = cap
        ),
        cost_ns: queue.map(|app| app.host_total_ns),
        first: capture.first,
        last: capture.last,
        facts: numbers,
        evidence: evidence::of_calls(facts, &capture.slowest, "the longest calls"),
        why: text!(
            "{client} has {cap} calls outstanding on {server} for {flat} of the time and never more; {released} of {sent} requests that filled the last place left just after a reply. {above}",
            client = client,
            cap = cap,
            server = server,
            flat = Value::Percent((found.share * 100.0) as i64),
            released = released,
            sent = sent,
            above = above,
        ),
        remedy: remedy(server.port),
        ..Rule::ClientConcurrencyCap.finding()
    })
}

/// What raises the limit, by whom is asked.
fn remedy(port: u16) -> Vec<Text> {
    let (raise, see) = match port {
        NFS => (
            "Linux: raise sunrpc.tcp_slot_table_entries, mount with nconnect=4, or raise max_session_slots for NFSv4.1",
            "see the queue: nfsiostat (avg queue), mountstats, or --app with the application's latencies",
        ),
        SMB => (
            "more files or blocks at a time in the application; Linux: mount with multichannel or a larger max_credits; the server grants credits too (Windows: Set-SmbServerConfiguration -Smb2CreditsMax)",
            "see the queue: --app with the application's latencies",
        ),
        _ => (
            "if calls wait for their turn, let the client send more of them at a time: more threads, connections or sessions, a larger pool",
            "see the queue: --app with the application's latencies",
        ),
    };
    vec![raise.into(), see.into()]
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CALLS, MS};
    use super::super::testing::{Fixture, end, found};
    use super::*;
    use crate::app::{AppFacts, ComparedBy};
    use model::{Change, ConnectionId, Outstanding, Time};

    /// A client that keeps so many calls outstanding, each new one sent just after a reply.
    fn outstanding(f: &mut Fixture, limit: u32, calls: u32) {
        let mut change = |id: u32, at: i64, change| {
            f.captures[0].outstanding(&Outstanding {
                order: 0,
                time: Time(at),
                connection: ConnectionId(1),
                client: end(1, 800),
                server: end(2, NFS),
                id,
                change,
            });
        };
        for id in 0..limit {
            change(id, 0, Change::Sent);
        }
        for id in limit..calls {
            let at = i64::from(id) * MS;
            change(id - limit, at, Change::Settled);
            change(id, at + 1_000, Change::Sent);
        }
    }

    fn capped(limit: u32, calls: u32) -> Option<Finding> {
        found(Rule::ClientConcurrencyCap, |f| outstanding(f, limit, calls))
    }

    #[test]
    fn a_flat_top_is_a_fact_without_cost() {
        let f = capped(16, 1_000).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, None));
        assert_eq!(
            f.title.to_string(),
            "The client keeps 16 calls outstanding and no more"
        );
        let why = f.why.to_string();
        assert!(
            why.starts_with("10.0.0.1 has 16 calls outstanding on 10.0.0.2:2049"),
            "{why}"
        );
    }

    #[test]
    fn what_the_application_waits_above_the_wire_is_its_cost() {
        let f = found(Rule::ClientConcurrencyCap, |f| {
            outstanding(f, 16, 1_000);
            f.app = Some(above(50 * MS));
        });
        let f = f.unwrap();
        assert_eq!(f.cost_ns, Some(5_000 * MS));
        assert!(
            f.why
                .to_string()
                .ends_with("waits 50.0 ms per operation above the wire (a log).")
        );
    }

    /// What an application noted that waits so long above the wire of each operation.
    fn above(ns: i64) -> AppFacts {
        AppFacts {
            operations: CALLS,
            matched: CALLS,
            application_mean_ns: 100 * MS + ns,
            host_mean_ns: ns,
            host_total_ns: 100 * ns,
            bounds: None,
            by: ComparedBy::Mean,
            basis: "a log".into(),
            join: None,
        }
    }

    #[test]
    fn an_application_that_waits_for_nothing_above_the_wire_is_not_asked_for_again() {
        let f = found(Rule::ClientConcurrencyCap, |f| {
            outstanding(f, 16, 1_000);
            f.app = Some(above(MS / 10));
        });
        let f = f.unwrap();
        assert_eq!(f.cost_ns, None);
        let why = f.why.to_string();
        assert!(
            why.ends_with("waits no more than 100 µs per operation above the wire (a log): little queues there."),
            "{why}"
        );
    }

    #[test]
    fn one_call_at_a_time_and_few_calls_are_no_cap() {
        assert!(capped(1, 1_000).is_none());
        assert!(capped(16, 115).is_some());
        assert!(capped(16, 114).is_none());
    }
}
