//! # What it says
//! The path between client and server takes the time: distance, queues in devices,
//! or a detour, with nothing lost.
//!
//! # Why it costs time
//! Every call crosses the path twice. The cost is the client's response time minus
//! the server's, summed over calls, without what loss, outages and the sender's TCP
//! explain.
//!
//! # How sure
//! With captures of both ends the sum of both directions is exact and needs no
//! clock. How it divides between them depends on the clocks, and is only as good as
//! the bound that is printed. From the client alone the path's round trip is
//! measured on acknowledgements, an estimate. From the server alone handshakes show
//! what the path to the client takes at least, if it did not become shorter.
//!
//! # What to check next
//! The round trip of an idle moment (ping, TCP connect time) against this figure:
//! equal means distance, much more means a queue or a device in between. Whether it
//! changed at some time (slowside ops --by time=10s).
//!
//! # When it is wrong
//! The captures' own hosts belong to the path as far as their capture points leave
//! them out: packets that wait in a host's receive queue or virtual switch count as
//! network.

use super::{Rule, evidence};
use crate::facts::{Basis, Facts};
use crate::results::{Fact, Finding, Side};
use model::format_duration;

pub(super) const RULE: Rule = Rule {
    code: "network-delay",
    title: "the path between client and server",
    source: include_str!("network_delay.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    if !facts.is_guilty(a.path_ns, facts.network_part()) {
        return None;
    }
    let mean = a.path_ns / a.calls.max(1) as i64;
    let share = a.path_ns.saturating_mul(100) / a.total_ns.max(1);
    let mut numbers = vec![Fact {
        name: "network_mean_ns",
        value: mean,
    }];
    let why = match (a.basis, facts.path) {
        (Basis::Matched, _) => format!(
            "A call takes {} longer at the client than at the server, {share} % of its response time{}.",
            format_duration(mean),
            if a.loss_ns + a.outage_ns > 0 {
                ", beyond what losses explain"
            } else {
                "; nothing was lost on the way"
            }
        ),
        (Basis::Server, Some(path)) => {
            numbers.push(Fact {
                name: "round_trip_min_ns",
                value: path.min_ns,
            });
            format!(
                "The path to the client and back takes {} at least, as handshakes show: {share} % of what a client waits for a call. This capture was taken at the server, whose calls do not show it.",
                format_duration(path.min_ns),
            )
        }
        (_, Some(path)) => {
            numbers.push(Fact {
                name: "round_trip_min_ns",
                value: path.min_ns,
            });
            format!(
                "The path to the server and back takes {}. That is {} of each call, {share} % of its time: an estimate.",
                path.words(),
                format_duration(mean),
            )
        }
        (_, None) => return None,
    };
    // Of one capture's slowest calls nobody knows whether it was the path that made them so.
    let shows = match a.basis {
        Basis::Matched => "request and reply of the calls that crossed slowest",
        _ => "request and reply of the slowest calls, each with the path in it",
    };
    Some(Finding {
        code: RULE.code,
        title: "The network takes the time".into(),
        side: Side::Network,
        cost_ns: Some(a.path_ns),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: if a.basis == Basis::Matched { 0.95 } else { 0.6 },
        first: facts.worst.network.first,
        last: facts.worst.network.last,
        facts: numbers,
        evidence: evidence::of_calls(facts, facts.worst.network, shows),
        why,
        remedy: vec![
            "compare with the round trip of an idle moment: the same is distance, more is a queue or device on the way".into(),
            "fewer, larger or more parallel calls hide distance; they do not hide a queue".into(),
        ],
    })
}
