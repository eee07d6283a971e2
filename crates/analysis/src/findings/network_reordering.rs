//! # What it says
//! Packets overtake each other on the way.
//!
//! # Why it costs time
//! By itself little. Receivers answer each with a duplicate acknowledgement, three
//! of which look like a loss: senders send again what was never lost, and slow
//! down. What calls waited for that is its cost where captures of both ends show
//! that hardly anything was lost, or receivers say that nearly all of it came twice
//! (RFC 2883); where one capture cannot tell, it says network-loss.
//!
//! # How sure
//! Told from retransmissions by IP identification and TCP timestamp, or, without
//! these, by how soon the gap closed.
//!
//! # What to check next
//! Load balancing by packet instead of by flow on the way (bonding mode balance-rr,
//! routers), several queues or paths with unequal load.
//!
//! # When it is wrong
//! The capture itself may have written packets in the wrong order (several receive
//! queues); captures of both ends that agree rule that out.

use super::{Entry, Of, Rule, evidence, network_loss, numbers};
use crate::facts::{Basis, Facts};
use crate::losses;
use crate::results::{ConnectionResult, Finding, Side};
use crate::text::text;

pub(super) const ENTRY: Entry = Entry {
    code: "network-reordering",
    title: "packets overtake each other",
    side: Some(Side::Network),
    of: Of::Calls,
    sure: [0.85, 0.6],
    page: page!("network_reordering.rs"),
    check,
};

/// Below that it is a curiosity.
const PACKETS: u64 = 10;
const ONE_IN: u64 = 1_000;

/// Packets that came late, of how many; if they are not too few.
fn late(facts: &Facts<'_>) -> Option<(u64, u64)> {
    let sum = |f: fn(&model::DirectionSummary) -> u64| -> u64 {
        let each = facts.streams.connections.iter().flat_map(|c| &c.directions);
        each.map(|r| f(&r.counts)).sum()
    };
    let late = sum(|c| c.out_of_order_packets);
    let packets = sum(|c| c.packets);
    (late >= PACKETS && late.saturating_mul(ONE_IN) >= packets).then_some((late, packets))
}

/// How long calls waited for what was taken for lost and was not.
pub(super) fn costs(facts: &Facts<'_>) -> Option<i64> {
    let is_of_calls = facts.account.basis != Basis::Streams;
    let is_its = is_of_calls && network_loss::is_worth_saying(facts);
    let is_its = is_its && late(facts).is_some() && losses::needless(facts).is_some();
    is_its.then_some(facts.account.loss_ns)
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let (late, packets) = late(facts)?;
    let of = |c: &ConnectionResult| -> u64 {
        c.directions
            .iter()
            .map(|r| r.counts.out_of_order_packets)
            .sum()
    };
    let worst = facts.streams.connections.iter().max_by_key(|c| of(c))?;
    let spurious = facts.streams.connections.iter().flat_map(|c| &c.directions);
    let spurious: u64 = spurious.map(|r| r.account.spurious_retransmissions).sum();
    let spurious = losses::needless(facts).unwrap_or(0).max(spurious);
    Some(Finding {
        title: "Packets overtake each other on the way".into(),
        cost_ns: costs(facts),
        first: Some(worst.first),
        last: Some(worst.last),
        facts: numbers([
            ("packets", late as i64),
            ("spurious_retransmissions", spurious as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            worst
                .ends
                .iter()
                .flat_map(|(i, first, last)| [(*i, first.packet), (*i, last.packet)]),
            "the first and the last packet of the connection with most of them",
        ),
        why: text!(
            "{late,} of {packets,} packets came after later ones, and {spurious,} {spurious|was|were} sent again needlessly.",
            late = late,
            packets = packets,
            spurious = spurious,
        ),
        remedy: vec!["look for load balancing by packet instead of by flow on the way".into()],
        ..Rule::NetworkReordering.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, connection, found};
    use super::*;
    use crate::losses::Losses;

    fn late(late: u64, packets: u64) -> Option<Finding> {
        found(Rule::NetworkReordering, |f| {
            let mut c = connection();
            c.directions[1].counts.out_of_order_packets = late;
            c.directions[1].counts.packets = packets;
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn packets_that_overtake_each_other_are_the_network_s_without_cost() {
        let f = late(50, 1_000).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, None));
        assert!(f.why.to_string().starts_with("50 of 1,000 packets"));
    }

    /// Twenty segments were sent again, of which the client's capture lacks so many, and calls waited so long for them.
    fn sent_again(lost: u64, waited_ns: i64) -> (Option<Finding>, Option<Finding>) {
        told(lost, 0, waited_ns)
    }

    fn told(lost: u64, discarded: u64, waited_ns: i64) -> (Option<Finding>, Option<Finding>) {
        let change = |f: &mut super::super::testing::Fixture| {
            let mut c = connection();
            c.directions[1].counts.out_of_order_packets = 50;
            c.directions[1].counts.packets = 1_000;
            c.directions[1].counts.retransmitted_packets = 20;
            c.directions[1].lost_on_network_packets = Some(lost);
            c.directions[1].discarded_packets = discarded;
            f.streams.connections = vec![c];
            f.account.loss_ns = waited_ns;
            f.worst.count = 5;
            for capture in &mut f.captures {
                capture.losses = Losses::of(20);
                capture.tcp.retransmitted_packets[1] = 20;
            }
        };
        (
            found(Rule::NetworkReordering, change),
            found(Rule::NetworkLoss, change),
        )
    }

    #[test]
    fn what_was_sent_again_and_not_lost_costs_what_calls_waited_for_it() {
        let (overtaken, lost) = sent_again(2, TOTAL_NS / 2);
        let overtaken = overtaken.unwrap();
        assert_eq!(overtaken.cost_ns, Some(TOTAL_NS / 2));
        assert!(
            (overtaken.why.to_string()).ends_with("and 18 were sent again needlessly."),
            "{}",
            overtaken.why
        );
        assert!(lost.is_none());
    }

    #[test]
    fn what_hardly_anybody_waited_for_has_no_cost() {
        let cost = |waited_ns| sent_again(2, waited_ns).0.unwrap().cost_ns;
        assert_eq!(cost(TOTAL_NS / 50), Some(TOTAL_NS / 50));
        assert_eq!(cost(TOTAL_NS / 50 - 1), None);
    }

    #[test]
    fn what_more_than_seldom_was_lost_for_is_the_losses_cost() {
        let (overtaken, lost) = sent_again(3, TOTAL_NS / 2);
        assert_eq!(overtaken.unwrap().cost_ns, None);
        let lost = lost.unwrap();
        assert_eq!(lost.cost_ns, Some(TOTAL_NS / 2));
        assert!((lost.why.to_string()).ends_with(" 3 segments on the way to the client."));
    }

    #[test]
    fn what_came_and_was_thrown_away_is_lost() {
        let (overtaken, lost) = told(2, 17, TOTAL_NS / 2);
        assert_eq!(overtaken.unwrap().cost_ns, None);
        let why = lost.unwrap().why.to_string();
        let end = " 19 segments on the way to the client. 17 of them came to their receivers, whose TCP did not take \
                   them: damaged on the way, or thrown away by that host.";
        assert!(why.ends_with(end), "{why}");
    }

    #[test]
    fn packets_in_order_are_not_told() {
        assert!(late(0, 1_000).is_none());
        assert!(found(Rule::NetworkReordering, |_| ()).is_none());
    }

    #[test]
    fn ten_of_ten_thousand_are_enough() {
        assert!(late(10, 10_000).is_some());
        assert!(late(9, 1_000).is_none());
        assert!(late(10, 10_001).is_none());
    }
}
