//! # What it says
//! Routers or hosts give packets of connections in this capture back: no way to the
//! host, a filter that rejects them, nobody at the port, or more routers on the way
//! than their time to live allows (ICMP unreachable, time exceeded).
//!
//! # Why it costs time
//! The packets did not arrive. A client that is told so gives up at once or tries
//! again, often after seconds, until its own timeout; what established connections
//! lost meanwhile is under network-loss and network-outage.
//!
//! # How sure
//! The message quotes the packet, whose ports name the connection. It counts where
//! the connection suffered: it was never answered, or sent packets again. The work
//! ended there where they were sent in vain until the end, for a second and more,
//! and nobody was answered any more.
//!
//! # What to check next
//! The router or host that says so (below): its routes, its filters. Time exceeded
//! in transit is a circle of routers, which traceroute repeats.
//!
//! # When it is wrong
//! A client that probes several addresses of one server and needs only one. Tools
//! that find the way by packets that do not arrive (traceroute over TCP) are known
//! by two routers or more that they hear of, and are left out.

use super::silent_peer::LONG_NS;
use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::health::{Concern, Returned};
use crate::results::{Finding, Side};
use crate::text::text;
use model::{IcmpReason, Transport};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

pub(super) const ENTRY: Entry = Entry {
    code: "undeliverable",
    title: "packets of connections are given back by routers",
    side: None,
    of: Of::Network,
    sure: [0.8, 0.8],
    page: page!("undeliverable.rs"),
    check,
};

/// What a reason is, in words.
fn reason_text(reason: IcmpReason) -> &'static str {
    match reason {
        IcmpReason::Unreachable(_) => "there is no way to the host, or nobody answers there",
        IcmpReason::PortUnreachable => "nobody listens at the port",
        IcmpReason::Prohibited => "a filter rejects it",
        IcmpReason::TooBig(_) => "it is too large for the next link",
        IcmpReason::TimeExceeded => "it crossed more routers than its time to live allows",
        IcmpReason::ReassemblyTimeExceeded => "fragments of it did not arrive in time",
    }
}

/// Whether it is about packets that a connection needed.
fn hurts(r: &Returned, c: &Concern) -> bool {
    match (r.reason, c.transport) {
        (IcmpReason::TooBig(_), _) => false,
        (_, Transport::Tcp) => c.harmed,
        // Answers that come when nobody waits any more are given back as a matter of course.
        (_, Transport::Udp) => c.harmed && c.known && c.to_server,
    }
}

/// Hosts whose way somebody looks for: one router after the other says that it ends there. In a circle
/// packets that began alike end at the same.
fn traced(all: &[&Returned]) -> BTreeSet<[IpAddr; 2]> {
    let mut first = BTreeMap::new();
    let ended = all.iter().filter(|r| r.reason == IcmpReason::TimeExceeded);
    let other = ended.filter(|r| *first.entry(r.hosts).or_insert(r.from) != r.from);
    other.map(|r| r.hosts).collect()
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let hurt = |i: usize| -> Vec<(&Returned, Concern)> {
        let all = facts.health.get(i).map(|h| h.undelivered.all());
        let all = all.unwrap_or_default();
        let traced = traced(&all);
        let all = all
            .into_iter()
            .filter(|r| r.reason != IcmpReason::TimeExceeded || !traced.contains(&r.hosts));
        all.filter_map(|r| Some((r, r.concerns.filter(|c| hurts(r, c))?)))
            .collect()
    };
    let seen = facts.healths().map(|(i, _)| (i, hurt(i)));
    let (capture, returned) = seen.max_by_key(|(i, r)| (r.len(), usize::MAX - i))?;
    let (worst, concern) = *returned
        .iter()
        .max_by_key(|(r, _)| (r.count, std::cmp::Reverse(r.first)))?;
    let packets: u64 = returned.iter().map(|(r, _)| r.count).sum();
    let flows: BTreeSet<_> = returned.iter().map(|(_, c)| (c.client, c.server)).collect();
    let unanswered: BTreeSet<_> = returned
        .iter()
        .filter(|(_, c)| !c.answered)
        .map(|(_, c)| (c.client, c.server))
        .collect();
    let connections = facts.captures.get(capture).map_or(0, |c| c.tcp.connections);
    let end = match concern.to_server {
        true => concern.server,
        false => concern.client,
    };
    // What was given back to the end is what everybody waits for, if nobody was answered since.
    let in_vain = returned.iter().filter(|(_, c)| c.stuck_ns >= LONG_NS);
    let begun = in_vain.map(|(r, _)| r.first.time).min();
    let mut lasts = facts.captures.iter().filter_map(|c| c.last);
    let ended = begun.is_some_and(|begun| !lasts.any(|last| last > begun));
    // Who gives packets to itself back is no router.
    let by_host = worst.from == end.address;
    Some(Finding {
        title: match by_host {
            true => text!(
                "{from} gives back packets to {end}",
                from = worst.from,
                end = end
            ),
            false => text!(
                "{from} cannot deliver packets to {end}",
                from = worst.from,
                end = end
            ),
        },
        side: match (by_host, concern.to_server) {
            (true, true) => Side::Server,
            (true, false) => Side::Client,
            (false, _) => Side::Network,
        },
        fatal: ended
            || facts.response().count() == 0
                && connections > 0
                && unanswered.len() as u64 >= connections,
        first: returned.iter().map(|(r, _)| r.first.time).min(),
        last: returned.iter().map(|(r, _)| r.last.time).max(),
        facts: numbers([
            ("packets", whole(packets)),
            ("connections", flows.len() as i64),
            ("unanswered", unanswered.len() as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            returned
                .iter()
                .take(3)
                .flat_map(|(r, _)| r.shown.iter().take(2))
                .map(|m| (capture, m.packet)),
            "the messages that give them back",
        ),
        why: text!(
            "{from} says that {what} ({reason}): {packets} packet{packets||s} of {flows} connection{flows||s}, of which {unanswered} had no answer.",
            from = worst.from,
            what = reason_text(worst.reason),
            reason = worst.reason.name(),
            packets = packets,
            flows = flows.len(),
            unanswered = unanswered.len(),
        ),
        remedy: vec![match worst.reason {
            IcmpReason::PortUnreachable => {
                "check that the service listens on that address and port".into()
            }
            IcmpReason::Prohibited => {
                text!(
                    "look at the filters of {from}, which rejects it",
                    from = worst.from
                )
            }
            IcmpReason::TimeExceeded => {
                "find the routers that send these addresses to each other (traceroute repeats them)"
                    .into()
            }
            _ => text!(
                "look at the routes of {from}, and whether the host is up",
                from = worst.from
            ),
        }],
        ..Rule::Undeliverable.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{end, found, summary};
    use super::*;
    use model::{ConnectionSummary, IcmpError, Mark, NoticeKind, PacketRef, Stuck, Time};

    fn returned(from: u8, to: u8) -> Returned {
        let address = |n: u8| IpAddr::from([10, 0, 0, n]);
        let at = Mark {
            time: Time(0),
            packet: PacketRef { file: 0, frame: 1 },
        };
        Returned {
            from: address(from),
            reason: IcmpReason::TimeExceeded,
            flow: None,
            hosts: [address(1), address(to)],
            count: 1,
            length: 60,
            first: at,
            last: at,
            shown: vec![at],
            concerns: None,
        }
    }

    #[test]
    fn who_hears_of_one_router_after_the_other_looks_for_the_way() {
        let all = [
            returned(91, 2),
            returned(92, 2),
            // A circle: all end at the same.
            returned(93, 3),
            returned(93, 3),
        ];
        let all: Vec<&Returned> = all.iter().collect();
        let hosts: Vec<_> = traced(&all).into_iter().collect();
        assert_eq!(hosts, [all[0].hosts]);
    }

    /// Host `from` gives back what the client of a connection sent to `port`; `again`: it sent packets twice.
    fn returns(from: u8, reason: IcmpReason, port: u16, again: u64) -> Option<Finding> {
        returns_of((from, reason, port), &summary(again), None)
    }

    /// The same of such a connection, where a call was answered last at that time.
    fn returns_of(
        (from, reason, port): (u8, IcmpReason, u16),
        connection: &ConnectionSummary,
        answered: Option<Time>,
    ) -> Option<Finding> {
        found(Rule::Undeliverable, |f| {
            let ends = [end(1, 1_000), end(2, port)];
            let error = NoticeKind::Icmp(IcmpError {
                from: [10, 0, 0, from].into(),
                reason,
                flow: Some((Transport::Tcp, ends)),
                hosts: ends.map(|e| e.address),
                length: 60,
            });
            f.notice(2, error);
            f.health[0].connection(connection);
            f.captures.iter_mut().for_each(|c| c.last = answered);
        })
    }

    #[test]
    fn what_is_given_back_until_the_end_ends_the_work_if_nobody_is_answered() {
        let fatal = |lasted_ns: i64, answered: Option<i64>| {
            let mut connection = summary(1);
            let at = |ns| Mark {
                time: Time(ns),
                ..Mark::default()
            };
            connection.directions[0].stuck = Some(Stuck {
                bytes: 100,
                times: 3,
                first: at(0),
                last: at(lasted_ns),
                receiver_heard: true,
                others_arrived: false,
            });
            let rejected = (9, IcmpReason::Prohibited, 2_049);
            let f = returns_of(rejected, &connection, answered.map(Time)).unwrap();
            f.fatal
        };
        assert!(fatal(LONG_NS, None));
        assert!(fatal(LONG_NS, Some(0)), "answered before");
        assert!(!fatal(LONG_NS, Some(LONG_NS)));
        assert!(!fatal(LONG_NS - 1, None));
    }

    #[test]
    fn a_router_that_gives_a_connection_s_packets_back_is_named() {
        let f = returns(9, IcmpReason::Prohibited, 2_049, 1).unwrap();
        assert_eq!(f.side, Side::Network);
        assert_eq!(
            f.title.to_string(),
            "10.0.0.9 cannot deliver packets to 10.0.0.2:2049"
        );
        assert_eq!(
            f.remedy[0].to_string(),
            "look at the filters of 10.0.0.9, which rejects it"
        );
    }

    #[test]
    fn packets_of_others_and_too_large_ones_are_not_its_business() {
        assert!(returns(9, IcmpReason::Prohibited, 2_050, 1).is_none());
        assert!(returns(9, IcmpReason::TooBig(1_400), 2_049, 1).is_none());
    }

    #[test]
    fn what_harmed_nothing_is_not_told_and_who_gives_back_its_own_is_no_router() {
        assert!(returns(9, IcmpReason::PortUnreachable, 2_049, 0).is_none());
        let f = returns(2, IcmpReason::PortUnreachable, 2_049, 1).unwrap();
        assert_eq!(f.side, Side::Server);
        assert_eq!(
            f.title.to_string(),
            "10.0.0.2 gives back packets to 10.0.0.2:2049"
        );
    }
}
