//! # What it says
//! Packets are missing inside the capture's own window: the receiver acknowledged
//! bytes that the capture does not hold and nobody sent again, or the capturing
//! host counted drops.
//!
//! # Why it costs time
//! It costs none. It limits what can be known: calls whose request or reply is
//! missing are reported as incomplete, and no one is blamed for them.
//!
//! # How sure
//! An acknowledgement of bytes never seen is proof. Drop counters are the capturing
//! host's own word.
//!
//! # What to check next
//! tcpdump's "packets dropped by kernel", a larger buffer (tcpdump -B), a smaller
//! snap length, writing to a faster disk, capturing fewer hosts.
//!
//! # When it is wrong
//! Packets that take another path than the captured one (asymmetric routing, a bond
//! with one port mirrored) are missing for a better reason.

use super::{Rule, evidence};
use crate::facts::Facts;
use crate::results::{Fact, Finding, Side};

pub(super) const RULE: Rule = Rule {
    code: "capture-incomplete",
    title: "packets lost by the capture",
    source: include_str!("capture_incomplete.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let gaps: u64 = facts.captures.iter().map(|c| c.tcp.missing_gaps).sum();
    let bytes: u64 = facts.captures.iter().map(|c| c.tcp.missing_bytes).sum();
    let dropped: u64 = facts.results.iter().filter_map(|r| r.dropped).sum();
    if gaps == 0 && dropped == 0 {
        return None;
    }
    let worst = facts
        .captures
        .iter()
        .max_by_key(|c| (c.tcp.missing_gaps, facts.results[c.index].dropped))?;
    let mut why = format!(
        "{gaps} gaps ({bytes} bytes) were acknowledged by the receiver but are not in the capture{}.",
        match Some(worst.index) {
            _ if facts.captures.len() < 2 => "",
            at if at == facts.client => ", most of them at the client",
            at if at == facts.server => ", most of them at the server",
            _ => "",
        }
    );
    if dropped > 0 {
        why.push_str(&format!(
            " The capturing host counted {dropped} dropped packets."
        ));
    }
    Some(Finding {
        code: RULE.code,
        title: "The capture lacks packets".into(),
        side: Side::Undetermined,
        cost_ns: None,
        elapsed_cost_ns: None,
        fatal: false,
        confidence: 0.95,
        first: worst.first,
        last: worst.last,
        facts: vec![
            Fact { name: "gaps", value: gaps as i64 },
            Fact { name: "missing_bytes", value: bytes as i64 },
            Fact { name: "dropped_packets", value: dropped as i64 },
        ],
        evidence: evidence::of_packets(facts, worst.gaps.iter().map(|&p| (worst.index, p)), "packets at which a gap showed"),
        why,
        remedy: vec!["capture with a larger buffer (tcpdump -B 65536), a smaller snap length (-s 256) or fewer hosts".into()],
    })
}
