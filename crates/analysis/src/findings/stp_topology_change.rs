//! # What it says
//! Bridges rebuilt their spanning tree while the capture ran: another bridge became
//! the root, or ports began or ceased to forward.
//!
//! # Why it costs time
//! While a tree is rebuilt, ports do not forward: with 802.1D up to 50 s, with its
//! rapid successor less than a second as a rule. Then bridges forget where hosts
//! are and send every frame everywhere until they have learned it anew. What calls
//! waited meanwhile is under network-outage and network-loss.
//!
//! # How sure
//! That it changed is what bridges say. That it held anybody up is not: a port to
//! a host that is switched on counts as a change where it is not marked as one of
//! a host. Packets that were sent again at that time are named, if there are any.
//!
//! # What to check next
//! On the switches: which port changed, and when (show spanning-tree detail).
//! Mark ports of hosts (portfast, edge), give the root you want the lowest priority
//! (4096), and keep others from taking it (root guard).
//!
//! # When it is wrong
//! A capture that joins several links holds several trees. They are told apart by
//! bridge and port; where the capture moved from one link to another, the root
//! seems to change.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::health::{Health, RootChange, TopologyChange};
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};
use model::{Bridge, Mark, Time};

pub(super) const ENTRY: Entry = Entry {
    code: "stp-topology-change",
    title: "bridges rebuilt the spanning tree",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.8, 0.8],
    page: page!("stp_topology_change.rs"),
    check,
};

/// How long bridges of 802.1D wait without a word of the root (max age), by default.
const MAX_AGE_NS: i64 = 20_000_000_000;
/// And how long a port listens and then learns before it forwards, where nobody says.
const FORWARD_DELAY_NS: i64 = 15_000_000_000;
/// A recovery that is shorter is no sign of a port that does not forward.
const WAITED_NS: i64 = 500_000_000;
const SHOWN: usize = 3;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let seen = facts.healths().map(|(i, h)| {
        let roots = h.bridges.root_changes();
        (i, h, roots)
    });
    let changed = |(i, h, roots): &(usize, &Health, Vec<RootChange>)| {
        (
            roots.len(),
            h.bridges.topology_changes().len(),
            usize::MAX - i,
        )
    };
    let (capture, health, roots) = seen.max_by_key(changed)?;
    let changes = health.bridges.topology_changes();
    let first = roots.iter().map(|r| r.packets[1].time);
    let first = first.chain(changes.iter().map(|c| c.first.time)).min()?;
    let last = roots.iter().map(|r| r.packets[1].time);
    let last = last.chain(changes.iter().map(|c| c.last.time)).max()?;
    let waits = waits(facts, capture, &roots, changes);
    let longest = waits.iter().map(|(ns, _)| *ns).max();
    let calls = facts.results.get(capture).is_some_and(|r| r.calls > 0);
    if roots.is_empty() && waits.is_empty() && calls {
        return None;
    }
    let (title, what) = match roots.first() {
        Some(r) => (
            text!("Another bridge became the root of the spanning tree"),
            text!(
                "The root was {old} and became {new}{vlan}.{all}",
                old = bridge(r.old),
                new = bridge(r.new),
                vlan = in_vlan(r.vlan),
                all = match roots.len() {
                    1 => Text::default(),
                    n => text!(" Roots changed {n} times in all.", n = n),
                },
            ),
        ),
        None => (
            text!("The topology of the spanning tree changed"),
            text!(
                "Bridges say {times} that ports began or ceased to forward{vlan}.",
                times = match changes.len() {
                    1 => text!("once"),
                    n => text!("{n} times", n = n),
                },
                vlan = changes.first().map_or(Text::default(), |c| in_vlan(c.vlan)),
            ),
        ),
    };
    let waited = match longest {
        Some(ns) => text!(
            " Packets were sent again around it, the longest over {time}.",
            time = Value::Duration(ns),
        ),
        None => text!(" No call waited for packets to be sent again around it."),
    };
    let packets = roots.iter().flat_map(|r| r.packets);
    let packets = packets.chain(changes.iter().flat_map(|c| c.shown.iter().copied().take(1)));
    let packets: Vec<Mark> = packets.take(2 * SHOWN).collect();
    Some(Finding {
        title,
        first: Some(first),
        last: Some(last),
        facts: numbers([
            ("root_changes", roots.len() as i64),
            ("topology_changes", changes.len() as i64),
            ("resent_around_it", waits.len() as i64),
            ("longest_resent_ns", longest.unwrap_or(0)),
        ]),
        evidence: evidence::of_packets(
            facts,
            packets.iter().map(|m| (capture, m.packet)),
            "what bridges said before and after",
        ),
        why: text!("{what}{waited}", what = what, waited = waited),
        remedy: vec![
            "look in the switches' logs for the port that went up or down at that time".into(),
            "mark ports of hosts as such (portfast, edge), and set the root's priority (4096)"
                .into(),
        ],
        ..Rule::StpTopologyChange.finding()
    })
}

fn in_vlan(vlan: Option<u16>) -> Text {
    vlan.map_or(Text::default(), |v| text!(" in VLAN {vlan}", vlan = v))
}

/// As switches write it: the priority without the number of its VLAN.
fn bridge(b: Bridge) -> Text {
    let priority = b.priority & 0xf000;
    text!(
        "{address} (priority {priority})",
        address = b.hardware,
        priority = priority
    )
}

/// Long recoveries while ports may not have forwarded.
fn waits(
    facts: &Facts<'_>,
    capture: usize,
    roots: &[RootChange],
    changes: &[TopologyChange],
) -> Vec<(i64, Time)> {
    let of_root = |r: &RootChange| (r.packets[0].time, r.packets[1].time, FORWARD_DELAY_NS);
    let of_change = |c: &TopologyChange| {
        let delay = c.forward_delay_ns.unwrap_or(FORWARD_DELAY_NS);
        (c.first.time, c.first.time, delay)
    };
    let spans = roots.iter().map(of_root);
    let spans: Vec<_> = spans.chain(changes.iter().map(of_change)).collect();
    let around = |from: Time, to: Time| {
        spans.iter().any(|(first, last, delay)| {
            from <= *last + delay.saturating_mul(2) && to >= *first + -MAX_AGE_NS
        })
    };
    let Some(facts) = facts.captures.get(capture) else {
        return Vec::new();
    };
    let long = facts
        .longest
        .iter()
        .filter(|t| t.last - t.first >= WAITED_NS);
    long.filter(|t| around(t.first, t.last))
        .map(|t| (t.last - t.first, t.first))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;
    use model::{Bpdu, NoticeKind, Tree};

    fn bridge_of(n: u8) -> Bridge {
        Bridge {
            priority: 0x1000 * u16::from(n),
            hardware: [2, 0, 0, 0, 0, n],
        }
    }

    /// One bridge says, again and again, who is the root and whether the topology changed.
    fn says(roots: &[u8], changing: bool, calls: u64) -> Option<Finding> {
        found(Rule::StpTopologyChange, |f| {
            f.results[0].calls = calls;
            for (n, root) in (1..).zip(roots) {
                let packet = NoticeKind::Bridge(Bpdu {
                    vlan: Some(7),
                    version: 2,
                    tree: Some(Tree {
                        root: bridge_of(*root),
                        bridge: bridge_of(3),
                        port: 1,
                        changing,
                        max_age_ns: MAX_AGE_NS,
                        hello_ns: 1_000_000_000,
                        forward_delay_ns: FORWARD_DELAY_NS,
                    }),
                });
                f.notice(n * 1_000, packet);
            }
        })
    }

    #[test]
    fn another_root_is_told_with_both() {
        let why = says(&[1, 2], false, 100).unwrap().why.to_string();
        assert!(
            why.starts_with(
                "The root was 02:00:00:00:00:01 (priority 4096) and became 02:00:00:00:00:02 \
                 (priority 8192) in VLAN 7."
            ),
            "{why}"
        );
    }

    #[test]
    fn a_tree_that_stays_is_not_told() {
        assert!(says(&[1, 1, 1], false, 0).is_none());
    }

    #[test]
    fn a_change_that_no_call_waited_for_is_told_only_where_there_are_none() {
        assert!(says(&[1, 1], true, 0).is_some());
        assert!(says(&[1, 1], true, 1).is_none());
    }
}
