//! # What it says
//! Attempts to connect were refused at once: the answer to the SYN was a reset.
//!
//! # Why it costs time
//! Nothing listens at that port (or a firewall rejects it); clients try again,
//! often after a pause, or try another address. Where the service is one that
//! answered before or afterwards, it costs each client the time from the first
//! refusal to the last in a row: whether it would have been served between is not
//! known, but it was not at either end. One refusal alone costs nothing.
//!
//! # How sure
//! Certain that it was refused; that the host itself did it, unless its time to
//! live differs from that of the host's other packets.
//!
//! # What to check next
//! Whether the service runs, on that address and port; firewall rules that reject.
//!
//! # When it is wrong
//! Clients that probe several ports on purpose, such as for another protocol
//! version.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Finding, Side};
use crate::text::{Text, Value, text};
use model::{Direction, Endpoint, ResetSeen, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) const ENTRY: Entry = Entry {
    code: "connection-refused",
    title: "attempts to connect that were refused",
    side: Some(Side::Server),
    of: Of::Connects,
    sure: [0.9, 0.9],
    page: page!("connection_refused.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let mut refused: Vec<Refusal<'_>> = facts
        .streams
        .connections
        .iter()
        .filter_map(|c| refusal(facts, c))
        .collect();
    let down = down(facts, &refused);
    // Of the service that was down for longest, where one was.
    let longest = down.iter().max_by_key(|d| (d.elapsed_ns, d.server));
    let server = longest.map_or(refused.first()?.connection.server, |d| d.server);
    let total = |ns: fn(&Down) -> i64| {
        let all = down.iter().map(ns);
        Some(all.fold(0, i64::saturating_add)).filter(|ns| *ns > 0)
    };
    refused.sort_by_key(|r| {
        (
            r.connection.server != server,
            r.connection.first,
            r.connection.number,
        )
    });
    let first = refused.iter().map(|r| r.connection.first).min();
    let is_held_twice = |c: &ConnectionResult| {
        let mut conflicts = facts.healths().flat_map(|(_, h)| h.neighbours.conflicts());
        conflicts.any(|conflict| conflict.address == c.server.address)
    };
    // Whoever refuses may be the other of two hosts with that address.
    let held_twice = refused.iter().all(|r| is_held_twice(r.connection));
    let side = match held_twice {
        true => Side::Network,
        false => Side::Server,
    };
    Some(Finding {
        side,
        title: text!("{server} refuses connections", server = server),
        cost_ns: total(|d| d.cost_ns),
        elapsed_cost_ns: total(|d| d.elapsed_ns),
        fatal: refused.len() == facts.streams.connections.len(),
        first,
        last: refused.iter().map(|r| r.connection.first).max(),
        facts: numbers([("attempts", refused.len() as i64)]),
        evidence: evidence::of_packets(
            facts,
            refused.iter().take(3).map(|r| (r.capture, r.reset.at.packet)),
            "the refusal",
        ),
        why: text!(
            "{n} attempt{n||s} to connect {n|was|were} answered by a reset{whose}.{down}",
            n = refused.len(),
            whose = match held_twice {
                true => " of one of the two hosts that hold the server's address",
                false => "",
            },
            down = longest.map_or_else(Text::default, |d| text!(
                " {server} refused all who came for {time}, and answers at other times.",
                server = d.server,
                time = Value::Duration(d.elapsed_ns),
            )),
        ),
        remedy: vec![match longest {
            _ if held_twice => "see who holds the address (duplicate-address): the other host has no such service".into(),
            Some(_) => "look at that moment in the server's log: what ended it, and how long it took to start".into(),
            None => "check that the service listens on that address and port, and what firewalls reject".into(),
        }],
        ..Rule::ConnectionRefused.finding()
    })
}

/// An attempt to connect, and the reset that answered it.
struct Refusal<'a> {
    connection: &'a ConnectionResult,
    /// Which capture has the reset.
    capture: usize,
    reset: ResetSeen,
}

fn refusal<'a>(facts: &Facts<'_>, connection: &'a ConnectionResult) -> Option<Refusal<'a>> {
    if facts.streams.is_forged(connection) {
        return None;
    }
    let mut seen = connection.resets.iter().zip(&connection.ends);
    seen.find_map(|(reset, (capture, ..))| {
        Some(Refusal {
            connection,
            capture: *capture,
            reset: reset.filter(|r| r.refuses)?,
        })
    })
}

/// How long a service that is answered at other times refused all who came.
struct Down {
    server: Endpoint,
    /// From the first refusal to the last, where no connection was accepted between.
    elapsed_ns: i64,
    /// The same for each client, summed.
    cost_ns: i64,
}

/// Services that were down, by the connections that were refused and those that were accepted meanwhile. Who
/// was never accepted may have been asked in vain on purpose.
fn down(facts: &Facts<'_>, refused: &[Refusal<'_>]) -> Vec<Down> {
    let mut services: BTreeMap<Endpoint, BTreeSet<(Time, IpAddr)>> = BTreeMap::new();
    for Refusal { connection: c, .. } in refused {
        services
            .entry(c.server)
            .or_default()
            .insert((c.first, c.client.address));
    }
    let served = |c: &&ConnectionResult| c.direction(Direction::ToClient).counts.payload_bytes > 0;
    let mut accepted: BTreeMap<Endpoint, BTreeSet<Time>> = BTreeMap::new();
    for c in facts.streams.connections.iter().filter(served) {
        accepted.entry(c.server).or_default().insert(c.first);
    }
    services
        .into_iter()
        .filter_map(|(server, refusals)| {
            let accepted = accepted.get(&server)?;
            let mut down = Down {
                server,
                elapsed_ns: 0,
                cost_ns: 0,
            };
            // Who was refused in this row: for the first time, and each for the last.
            let mut row: BTreeMap<IpAddr, [Time; 2]> = BTreeMap::new();
            let mut before: Option<Time> = None;
            for (at, client) in refusals {
                if before.is_some_and(|before| accepted.range(before..at).next().is_some()) {
                    down.add(&std::mem::take(&mut row));
                }
                row.entry(client).or_insert([at; 2])[1] = at;
                before = Some(at);
            }
            down.add(&row);
            (down.cost_ns > 0).then_some(down)
        })
        .collect()
}

impl Down {
    fn add(&mut self, row: &BTreeMap<IpAddr, [Time; 2]>) {
        let first = row.values().map(|[first, _]| *first).min();
        let last = row.values().map(|[_, last]| *last).max();
        let lasted_ns = first.zip(last).map_or(0, |(first, last)| last - first);
        self.elapsed_ns = self.elapsed_ns.saturating_add(lasted_ns);
        let each = row.values().map(|[first, last]| *last - *first);
        self.cost_ns = each.fold(self.cost_ns, i64::saturating_add);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, arp, connection, end, found, reset};
    use super::*;

    /// A connection whose SYN was answered by a reset, or that was reset later.
    fn ended(refuses: bool) -> ConnectionResult {
        let mut c = connection();
        c.resets[0] = Some(ResetSeen { refuses, ..reset() });
        c
    }

    fn resets(refusals: &[bool]) -> Option<Finding> {
        found(Rule::ConnectionRefused, |f| {
            f.streams.connections = refusals.iter().map(|refuses| ended(*refuses)).collect();
        })
    }

    #[test]
    fn a_reset_in_answer_to_a_syn_refuses() {
        let f = resets(&[true, true]).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Server, true));
        assert_eq!(f.title.to_string(), "10.0.0.2:2049 refuses connections");
        assert_eq!(
            f.why.to_string(),
            "2 attempts to connect were answered by a reset."
        );
    }

    #[test]
    fn of_an_address_that_two_hosts_hold_the_server_is_not_accused() {
        let f = found(Rule::ConnectionRefused, |f| {
            f.streams.connections = vec![ended(true)];
            for (n, holder) in (1..).zip([1, 2, 1, 2]) {
                f.health[0].arp(&arp(n, 1, (2, holder), 9));
            }
        });
        let f = f.unwrap();
        assert_eq!(f.side, Side::Network);
        assert_eq!(
            f.why.to_string(),
            "1 attempt to connect was answered by a reset of one of the two hosts that hold the server's address."
        );
        assert!(f.remedy[0].to_string().contains("duplicate-address"));
    }

    #[test]
    fn a_reset_of_an_open_connection_does_not() {
        assert!(resets(&[false]).is_none());
        assert!(resets(&[]).is_none());
    }

    #[test]
    fn where_another_was_accepted_the_work_did_not_end() {
        assert!(!resets(&[true, false]).unwrap().fatal);
    }

    /// Connections that begin so many seconds after another, of client 1 or 3, refused or not.
    fn service(attempts: &[(i64, u8, bool)]) -> Option<Finding> {
        found(Rule::ConnectionRefused, |f| {
            let connections = attempts.iter().map(|(at, client, refuses)| {
                let mut c = ended(*refuses);
                c.client = end(*client, 40_000);
                c.first = Time(at * 1_000 * MS);
                c.directions[1].counts.payload_bytes = if *refuses { 0 } else { 100 };
                c
            });
            f.streams.connections = connections.collect();
        })
    }

    #[test]
    fn a_service_that_is_answered_at_other_times_was_down_from_the_first_refusal_to_the_last() {
        let f = service(&[
            (0, 1, false),
            (5, 1, true),
            (6, 3, true),
            (8, 1, true),
            (9, 3, true),
            (10, 1, false),
        ])
        .unwrap();
        assert_eq!(
            (f.cost_ns, f.elapsed_cost_ns),
            (Some(6_000 * MS), Some(4_000 * MS))
        );
        assert!(
            f.why
                .to_string()
                .contains("refused all who came for 4.00 s")
        );
    }

    #[test]
    fn who_was_accepted_between_shows_that_it_was_up() {
        let f = service(&[
            (5, 1, true),
            (6, 1, true),
            (7, 3, false),
            (60, 1, true),
            (62, 1, true),
        ])
        .unwrap();
        assert_eq!(f.cost_ns, Some(3_000 * MS));
    }

    #[test]
    fn one_refusal_or_a_service_that_nobody_is_served_by_costs_nothing() {
        assert_eq!(
            service(&[(0, 1, false), (5, 1, true)]).unwrap().cost_ns,
            None
        );
        assert_eq!(
            service(&[(0, 1, true), (5, 1, true)]).unwrap().cost_ns,
            None
        );
    }
}
