//! # What it says
//! Datagrams that were sent in fragments lack some of them, so that all of each
//! was lost.
//!
//! # Why it costs time
//! One lost fragment loses the whole datagram: of a 32 KB write over UDP there are
//! 22. The client sends all of it again after its own timeout, of NFS over UDP a
//! second or more, twice as much each time. That is the cost, where a capture saw
//! both sendings.
//!
//! # How sure
//! The identification says which fragments belong together; that it is sent again
//! says that it did not arrive. A capture that loses packets itself shows the same;
//! where it is known to do so, nothing is said. Datagrams within a second of the
//! capture's ends do not count.
//!
//! # What to check next
//! Counters of reassembly on the receiver (netstat -s: "packets reassembles
//! failed", "fragments dropped after timeout"), filters that drop fragments, and
//! the load of the links on the way.
//!
//! # When it is wrong
//! Where fragments take several links of a bond or paths of a router, and the
//! capture sees only one of them.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};
use model::{LostFragments, Mark};

pub(super) const ENTRY: Entry = Entry {
    code: "fragments-lost",
    title: "datagrams lack fragments",
    side: Some(Side::Network),
    of: Of::Calls,
    sure: [0.85, 0.6],
    page: page!("fragments_lost.rs"),
    check,
};

/// Fewer are not worth a word; nor is a smaller part of all.
const AT_LEAST: usize = 3;
const PER_CENT: u64 = 1;
/// Where this much of all datagrams lacks parts, the capture sees one of several ways.
const OTHER_WAY_PER_CENT: u64 = 50;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    type Lost = Vec<(Mark, LostFragments)>;
    let mut worst: Option<(usize, Lost, u64)> = None;
    for (i, health) in facts.healths() {
        let Some(result) = facts.results.get(i) else {
            continue;
        };
        let loses = result.dropped.is_some_and(|d| d > 0) || result.missing_gaps > 0;
        let lost = health.fragments.lost_within(result.first, result.last);
        let lost: Lost = lost.copied().collect();
        let all = health.fragments.complete + lost.len() as u64;
        let share = lost.len() as u64 * 100;
        let real =
            lost.len() >= AT_LEAST && share >= all * PER_CENT && share < all * OTHER_WAY_PER_CENT;
        if !loses && real && worst.as_ref().is_none_or(|(_, l, _)| lost.len() > l.len()) {
            worst = Some((i, lost, all));
        }
    }
    let (capture, lost, all) = worst?;
    let (_, example) = lost.first()?;
    let waited = facts.account.fragments_ns;
    let cost = facts.is_guilty(waited, facts.response()).then_some(waited);
    let resent = lost.iter().filter_map(|(at, l)| Some(l.resent? - at.time));
    let (resent, after) = resent.fold((0_i64, 0_i64), |(n, sum), ns| {
        (n + 1, sum.saturating_add(ns))
    });
    let again = match resent {
        0 => Text::default(),
        n => text!(
            " {n} were sent again, after {time} on average.",
            n = n.unsigned_abs(),
            time = Value::Duration(after / n),
        ),
    };
    Some(Finding {
        title: text!("{lost} of {all} datagrams lack fragments", lost = lost.len(), all = all),
        cost_ns: cost,
        first: lost.iter().map(|(at, _)| at.time).min(),
        last: lost.iter().map(|(_, l)| l.last.time).max(),
        facts: numbers([
            ("datagrams", lost.len() as i64),
            ("of_datagrams", whole(all)),
            ("resent", resent),
        ]),
        evidence: evidence::of_packets(
            facts,
            lost.iter()
                .take(3)
                .flat_map(|(at, l)| [at.packet, l.last.packet])
                .map(|p| (capture, p)),
            "first and last fragment that came",
        ),
        why: text!(
            "Of one from {source} to {destination} {held}{of} came. The whole datagram is lost with any of its fragments.{again}",
            source = example.source,
            destination = example.destination,
            held = example.held_bytes,
            of = match example.bytes {
                Some(bytes) => text!(" of {bytes}", bytes = Value::Bytes(bytes.into())),
                None => text!(" bytes, and not the last fragment,"),
            },
            again = again,
        ),
        remedy: vec![
            "use TCP in place of UDP (NFS: mount with proto=tcp), which sends again what is missing alone"
                .into(),
            "or make messages fit into one packet (NFS: rsize, wsize), or use jumbo frames on all links"
                .into(),
        ],
        ..Rule::FragmentsLost.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, mark};
    use super::*;
    use model::{Fragments, NoticeKind};

    fn lost(lost: u32, complete: u64, dropped: Option<u64>) -> Option<Finding> {
        found(Rule::FragmentsLost, |f| {
            f.results[0].last = Some(mark(200_000).time);
            f.results[0].dropped = dropped;
            f.notice(
                1,
                NoticeKind::Fragments(Fragments {
                    fragments: 0,
                    complete,
                }),
            );
            for n in 0..lost {
                let datagram = NoticeKind::LostFragments(LostFragments {
                    source: [10, 0, 0, 1].into(),
                    destination: [10, 0, 0, 2].into(),
                    protocol: 17,
                    last: mark(100_001 + n),
                    held_bytes: 1_480,
                    bytes: Some(8_192),
                    resent: None,
                });
                f.notice(100_000 + n, datagram);
            }
        })
    }

    #[test]
    fn datagrams_that_lack_fragments_are_the_network_s() {
        let f = lost(5, 95, None).unwrap();
        assert_eq!(f.side, Side::Network);
        assert_eq!(f.title.to_string(), "5 of 100 datagrams lack fragments");
        assert!(
            f.why
                .to_string()
                .contains("10.0.0.2 1480 of 8,192 bytes came.")
        );
    }

    #[test]
    fn a_capture_that_loses_packets_may_have_lost_them() {
        assert!(lost(5, 95, Some(1)).is_none());
    }

    #[test]
    fn three_and_a_hundredth_are_enough_and_half_is_another_way() {
        assert!(lost(3, 297, None).is_some());
        assert!(lost(2, 0, None).is_none());
        assert!(lost(3, 298, None).is_none());
        assert!(lost(4, 4, None).is_none());
        assert!(lost(4, 5, None).is_some());
    }
}
