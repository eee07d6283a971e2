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

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Text, Value, text};

pub(super) const ENTRY: Entry = Entry {
    code: "capture-incomplete",
    title: "packets lost by the capture",
    side: Some(Side::Undetermined),
    of: Of::Network,
    sure: [0.95, 0.95],
    page: page!("capture_incomplete.rs"),
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
    let most = match Some(worst.index) {
        _ if facts.captures.len() < 2 => "",
        at if at == facts.client => ", most of them at the client",
        at if at == facts.server => ", most of them at the server",
        _ => "",
    };
    let lacks = text!(
        "{gaps,} gap{gaps||s} ({bytes}) {gaps|was|were} acknowledged by the receiver but {gaps|is|are} not in the capture{most}.",
        gaps = gaps,
        bytes = Value::Bytes(bytes),
        most = most,
    );
    let counted = text!(
        "The capturing host counted {n,} dropped packet{n||s}.",
        n = dropped
    );
    let said = [(gaps, lacks), (dropped, counted)];
    let said = said.into_iter().filter(|(n, _)| *n > 0);
    Some(Finding {
        title: "The capture lacks packets".into(),
        first: worst.first,
        last: worst.last,
        facts: numbers([("gaps", gaps as i64), ("missing_bytes", bytes as i64), ("dropped_packets", dropped as i64)]),
        evidence: evidence::of_packets(facts, worst.gaps.iter().map(|&p| (worst.index, p)), "packets at which a gap showed"),
        why: Text::list(said.map(|(_, text)| text).collect(), " "),
        remedy: vec!["capture with a larger buffer (tcpdump -B 65536), a smaller snap length (-s 256) or fewer hosts".into()],
        ..Rule::CaptureIncomplete.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::found;
    use super::*;

    fn lacks(gaps: u64, dropped: Option<u64>) -> Option<Finding> {
        found(Rule::CaptureIncomplete, |f| {
            f.captures[1].tcp.missing_gaps = gaps;
            f.captures[1].tcp.missing_bytes = gaps * 1_448;
            f.results[0].dropped = dropped;
        })
    }

    #[test]
    fn gaps_are_counted_and_said_where() {
        let why = lacks(7, None).unwrap().why.to_string();
        assert!(
            why.starts_with("7 gaps (10,136 bytes)") && why.contains("at the server"),
            "{why}"
        );
    }

    #[test]
    fn a_whole_capture_lacks_nothing() {
        assert!(lacks(0, None).is_none() && lacks(0, Some(0)).is_none());
    }

    #[test]
    fn one_dropped_packet_is_enough() {
        let why = lacks(0, Some(1)).unwrap().why.to_string();
        assert!(
            why == "The capturing host counted 1 dropped packet.",
            "{why}"
        );
    }
}
