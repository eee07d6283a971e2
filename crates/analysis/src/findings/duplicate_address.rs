//! # What it says
//! Two hosts answer for one IP address.
//!
//! # Why it costs time
//! Who asks for the address gets the hardware address of the one or of the other.
//! Packets for the wrong one are answered by resets or not at all, connections
//! hang and come back, and it changes whenever somebody asks anew. Where a quarter
//! of the connections with that address are refused, cut off or not answered while
//! others to the same service are served, that is the answer; else it is listed.
//!
//! # How sure
//! An address that only moves may have been taken over by a cluster's other node,
//! by a new card or with a lease. Here the first holder spoke again after the
//! second had: both are there.
//!
//! # What to check next
//! The first three bytes of a hardware address name its maker; the switch's table
//! of addresses names the port. Look for a device that was thought to be gone, for
//! a static address inside a range that DHCP hands out, for a copied machine.
//!
//! # When it is wrong
//! Bonds that balance by answering with several cards (balance-alb), hosts with
//! several cards in one network that all answer (arp_ignore 0), proxies that
//! answer for others, and captures of several VLANs that use the same addresses.

use super::{Entry, Of, Rule, connection_reset, evidence, numbers, whole};
use crate::facts::{ACCUSED_SHARE, Facts};
use crate::neighbours::Conflict;
use crate::results::{ConnectionResult, Finding, Side};
use crate::text::{Text, text};

pub(super) const ENTRY: Entry = Entry {
    code: "duplicate-address",
    title: "two hosts answer for one IP address",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.85, 0.85],
    page: page!("duplicate_address.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let seen = facts.healths().map(|(i, h)| (i, h.neighbours.conflicts()));
    let (capture, conflicts) = seen.max_by_key(|(c, found)| (found.len(), usize::MAX - c))?;
    let worst = conflicts
        .iter()
        .max_by_key(|c| (c.moves, std::cmp::Reverse(c.address)))?;
    let [first, second] = worst.holders;
    let more = match conflicts.len() {
        1 => Text::default(),
        n => text!(" So it is with {n} addresses.", n = n),
    };
    let (hit, of) = conflicts.iter().fold((0, 0), |(hit, of), c| {
        let victims = victims(facts, c);
        (hit + victims.0, of + victims.1)
    });
    let hit_there = match hit {
        0 => Text::default(),
        _ => text!(
            " Of {of} connections with such an address {hit} {hit|was|were} refused, cut off or not answered meanwhile; \
             others to the same service were served.",
            of = of,
            hit = hit,
        ),
    };
    Some(Finding {
        fatal: hit > 0 && hit >= of / ACCUSED_SHARE as usize,
        title: text!("{address} is held by two hosts", address = worst.address),
        first: conflicts.iter().map(|c| c.packets[0].time).min(),
        last: conflicts.iter().map(|c| c.last).max(),
        facts: numbers([
            ("addresses", conflicts.len() as i64),
            ("moves", whole(worst.moves)),
            ("connections_hit", whole(hit)),
        ]),
        evidence: evidence::of_packets(
            facts,
            worst.packets.iter().map(|m| (capture, m.packet)),
            "the one, the other, and the first again",
        ),
        why: text!(
            "{address} is said to be at {first}, then at {second}, and at {first} again; it went from one to \
             another {moves} times.{more}{hit_there}",
            address = worst.address,
            first = first,
            second = second,
            moves = worst.moves,
            more = more,
            hit_there = hit_there,
        ),
        remedy: vec![
            text!(
                "find both in the switch's table of addresses: {first} and {second}",
                first = first,
                second = second
            ),
            "give one of them another address, or take it off the network".into(),
        ],
        ..Rule::DuplicateAddress.finding()
    })
}

/// Connections with the address, while both held it, that met the wrong host; and all with it. Where nobody was
/// served, the service may not be there at all.
fn victims(facts: &Facts<'_>, conflict: &Conflict) -> (usize, usize) {
    let [first, ..] = conflict.packets;
    let meanwhile = |c: &&ConnectionResult| {
        let with_it = [c.client, c.server]
            .iter()
            .any(|end| end.address == conflict.address);
        with_it && c.last >= first.time && c.first <= conflict.last
    };
    let all = facts.streams.connections.iter().filter(meanwhile);
    let (hit, served): (Vec<_>, Vec<_>) = all.partition(|c| is_hit(c));
    let of_served = |c: &&&ConnectionResult| served.iter().any(|s| s.server == c.server);
    let victims = hit.iter().filter(of_served).count();
    (victims, hit.len() + served.len())
}

/// Whether it was refused, cut off, or never answered.
fn is_hit(c: &ConnectionResult) -> bool {
    let refused = c.resets.iter().flatten().any(|r| r.refuses);
    let asked = c.openings.iter().any(|o| o.syn.is_some());
    let unanswered = asked && c.openings.iter().all(|o| o.syn_ack.is_none());
    refused || unanswered || connection_reset::cuts_off(c)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{arp, connection, found, mark, reset};
    use super::*;
    use model::ResetSeen;

    /// Who answers for one address, packet by packet.
    fn answers(holders: &[u8]) -> Option<Finding> {
        found(Rule::DuplicateAddress, |f| {
            for (n, holder) in (1..).zip(holders) {
                f.health[0].arp(&arp(n, 2, (7, *holder), 9));
            }
        })
    }

    #[test]
    fn two_that_answer_for_one_address_are_both_named() {
        let f = answers(&[1, 2, 1, 2]).unwrap();
        assert_eq!(f.title.to_string(), "10.0.0.7 is held by two hosts");
        let remedy = f.remedy[0].to_string();
        assert!(
            remedy.contains("02:00:00:00:00:01 and 02:00:00:00:00:02"),
            "{remedy}"
        );
    }

    #[test]
    fn it_is_the_answer_where_connections_meet_the_wrong_host() {
        let refused = |refusals: &[bool]| {
            found(Rule::DuplicateAddress, |f| {
                for (n, holder) in (1..).zip([1, 2, 1, 2]) {
                    f.health[0].arp(&arp(n, 2, (9, holder), 8));
                }
                let connections = refusals.iter().map(|refuses| {
                    let mut c = connection();
                    c.server.address = [10, 0, 0, 9].into();
                    (c.first, c.last) = (mark(1).time, mark(4).time);
                    c.resets[0] = refuses.then(|| ResetSeen {
                        refuses: true,
                        ..reset()
                    });
                    c
                });
                f.streams.connections = connections.collect();
            })
        };
        let fatal = |refusals: &[bool]| refused(refusals).unwrap().fatal;
        assert!(fatal(&[true, false, false, false]));
        assert!(!fatal(&[false; 4]));
        // A service that is not there is refused by whoever is asked.
        assert!(!fatal(&[true; 4]));
    }

    #[test]
    fn one_that_answers_for_itself_is_no_conflict() {
        assert!(answers(&[1, 1, 1, 1]).is_none());
    }

    #[test]
    fn an_address_that_moved_once_is_none_until_it_comes_back() {
        assert!(answers(&[1, 1, 2, 2]).is_none());
        assert!(answers(&[1, 1, 2, 1]).is_some());
    }
}
