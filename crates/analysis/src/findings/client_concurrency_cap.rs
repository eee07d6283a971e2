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

use super::{Rule, evidence};
use crate::capture_facts::CaptureFacts;
use crate::concurrency::{ClientCap, Scope};
use crate::facts::{Basis, Facts};
use crate::results::{Fact, Finding, Side};
use model::{Endpoint, format_duration};
use std::net::IpAddr;

pub(super) const RULE: Rule = Rule {
    code: "client-concurrency-cap",
    title: "the client keeps a limited number of calls outstanding",
    source: include_str!("client_concurrency_cap.rs"),
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
    let flat = (found.share * 100.0) as i64;
    let mut why = format!(
        "{client} has {cap} calls outstanding on {server} for {flat} % of the time and never more; {} of {sent} requests that filled the last place left just after a reply.",
        released
    );
    match queue {
        Some(app) => why.push_str(&format!(
            " The application waits {} per operation above the wire ({}).",
            format_duration(app.host_mean_ns),
            app.basis
        )),
        None => why.push_str(" Whether anything queues above the wire no capture can show: give the application's own latencies with --app."),
    }
    let mut numbers = vec![
        Fact {
            name: "cap",
            value: cap as i64,
        },
        Fact {
            name: "released_by_reply",
            value: released as i64,
        },
    ];
    if capture.slots > 0 {
        numbers.push(Fact {
            name: "session_slots",
            value: capture.slots as i64,
        });
    }
    Some(Finding {
        code: RULE.code,
        title: format!("The client keeps {cap} calls outstanding and no more"),
        side: Side::Client,
        cost_ns: queue.map(|app| app.host_total_ns),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: if queue.is_some() { 0.9 } else { 0.5 },
        first: capture.first,
        last: capture.last,
        facts: numbers,
        evidence: evidence::of_calls(facts, &capture.slowest, "the longest calls"),
        why,
        remedy: remedy(server.port),
    })
}

/// What raises the limit, by whom is asked.
fn remedy(port: u16) -> Vec<String> {
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
