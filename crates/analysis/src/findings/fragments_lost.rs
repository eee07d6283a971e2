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

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding, Side};
use model::{LostFragments, Mark, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "fragments-lost",
    title: "datagrams lack fragments",
    source: include_str!("fragments_lost.rs"),
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
    let fact = |name, value: i64| Fact { name, value };
    let waited = facts.account.fragments_ns;
    let cost = facts.is_guilty(waited, facts.response()).then_some(waited);
    let resent = lost.iter().filter_map(|(at, l)| Some(l.resent? - at.time));
    let (resent, after) = resent.fold((0_i64, 0_i64), |(n, sum), ns| {
        (n + 1, sum.saturating_add(ns))
    });
    let again = match resent {
        0 => String::new(),
        n => format!(
            " {n} were sent again, after {} on average.",
            format_duration(after / n)
        ),
    };
    Some(Finding {
        code: RULE.code,
        title: format!("{} of {all} datagrams lack fragments", lost.len()),
        side: Side::Network,
        cost_ns: cost,
        elapsed_cost_ns: None,
        fatal: false,
        confidence: if resent > 0 { 0.85 } else { 0.6 },
        first: lost.iter().map(|(at, _)| at.time).min(),
        last: lost.iter().map(|(_, l)| l.last.time).max(),
        facts: vec![
            fact("datagrams", lost.len() as i64),
            fact("of_datagrams", i64::try_from(all).unwrap_or(i64::MAX)),
            fact("resent", resent),
        ],
        evidence: evidence::of_packets(
            facts,
            lost.iter()
                .take(3)
                .flat_map(|(at, l)| [at.packet, l.last.packet])
                .map(|p| (capture, p)),
            "first and last fragment that came",
        ),
        why: format!(
            "Of one from {} to {} {}{} came. The whole datagram is lost with any of its fragments.{again}",
            example.source,
            example.destination,
            example.held_bytes,
            match example.bytes {
                Some(bytes) => format!(" of {bytes} bytes"),
                None => " bytes, and not the last fragment,".to_owned(),
            }
        ),
        remedy: vec![
            "use TCP in place of UDP (NFS: mount with proto=tcp), which sends again what is missing alone"
                .into(),
            "or make messages fit into one packet (NFS: rsize, wsize), or use jumbo frames on all links"
                .into(),
        ],
    })
}
