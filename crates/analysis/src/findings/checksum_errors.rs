//! # What it says
//! Packets reached the place of capture with a checksum that does not hold, while
//! others of the same sender do: they were changed on the way.
//!
//! # Why it costs time
//! The receiver drops such a packet and says nothing. TCP sends it again after a
//! round trip or a timeout, UDP's application after its own. What that takes is
//! under network-loss.
//!
//! # How sure
//! Checksums of packets that were captured whole are computed anew. On the host
//! that sends them they are not there yet, as its card adds them: those have a form
//! of their own, are counted by info, and are no errors. Nor is it an error where
//! most of a sender's packets do not hold, or where TCP sent nothing again: then
//! they were changed after the capture.
//!
//! # What to check next
//! Error counters of the ports on the way (CRC errors on a port: cable, connector,
//! transceiver). Without CRC errors something in between changed the packet and
//! computed the frame's own check anew: a router's or firewall's memory, a proxy.
//!
//! # When it is wrong
//! Cards that join received packets leave a wrong checksum; where the joined one
//! is no larger than a frame it looks like an error. Captures whose bytes were
//! changed afterwards, a little.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::health::{Meaning, Verified};
use crate::results::{Finding, Side};
use crate::text::{Text, text};
use model::ChecksumOf;
use std::net::IpAddr;

pub(super) const ENTRY: Entry = Entry {
    code: "checksum-errors",
    title: "packets were damaged on the way",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.75, 0.75],
    page: page!("checksum_errors.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    type Seen = (ChecksumOf, IpAddr, Verified);
    let damaged = |i: usize| -> Vec<Seen> {
        let all = facts
            .health
            .get(i)
            .into_iter()
            .flat_map(|h| h.checksums.iter());
        all.filter(|(.., v)| v.meaning() == Meaning::Damaged)
            .collect()
    };
    let count = |seen: &[Seen]| seen.iter().map(|(.., v)| v.wrong).sum::<u64>();
    let captures = facts.healths().map(|(i, _)| (i, damaged(i)));
    let (capture, senders) = captures.max_by_key(|(i, seen)| (count(seen), usize::MAX - i))?;
    let (of, source, worst) = senders
        .iter()
        .max_by_key(|(of, s, v)| (v.wrong, std::cmp::Reverse((*of, *s))))?;
    let total = count(&senders);
    let shown = senders.iter().flat_map(|(.., v)| &v.shown);
    let shown: Vec<_> = shown.copied().take(6).collect();
    let more = match senders.len() {
        1 => Text::default(),
        n => text!(
            " So it is with {n} senders and kinds of checksum, {total} packets in all.",
            n = n,
            total = total
        ),
    };
    Some(Finding {
        title: match total {
            1 => "A packet was damaged on the way".into(),
            n => text!("{n} packets were damaged on the way", n = n),
        },
        first: senders.iter().filter_map(|(.., v)| v.first_wrong).map(|m| m.time).min(),
        last: senders.iter().filter_map(|(.., v)| v.last_wrong).map(|m| m.time).max(),
        facts: numbers([
            ("packets", whole(total)),
            ("senders", whole(senders.len() as u64)),
            ("right", whole(worst.right)),
        ]),
        evidence: evidence::of_packets(
            facts,
            shown.iter().map(|m| (capture, m.packet)),
            "packets whose checksum does not hold",
        ),
        why: text!(
            "Of {packets,} packets of {source} {wrong,} have a wrong checksum of {of}, the others hold. Their \
             receiver drops them; what sending them again cost is under {loss}.{more}",
            packets = worst.right + worst.wrong,
            source = *source,
            wrong = worst.wrong,
            of = of.name().to_uppercase(),
            loss = Rule::NetworkLoss.code(),
            more = more,
        ),
        remedy: vec![
            "look at the error counters of the ports on the way (ethtool -S, show interface)".into(),
            "change the cable or transceiver where they count; suspect a device in between where not"
                .into(),
        ],
        ..Rule::ChecksumErrors.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{found, mark};
    use super::*;
    use model::{Checksums, NoticeKind, SHOWN_CHECKSUMS};

    fn sums(right: u64, unfinished: u64, wrong: u64) -> Option<Finding> {
        found(Rule::ChecksumErrors, |f| {
            let checksums = NoticeKind::Checksums(Checksums {
                of: ChecksumOf::Udp,
                source: [10, 0, 0, 1].into(),
                right,
                unfinished,
                joined: 0,
                wrong,
                shown: [Some(mark(3)); SHOWN_CHECKSUMS],
            });
            f.notice(1, checksums);
        })
    }

    #[test]
    fn wrong_sums_among_many_that_hold_are_damage() {
        let f = sums(998, 0, 2).unwrap();
        assert_eq!(f.title.to_string(), "2 packets were damaged on the way");
        let why = f.why.to_string();
        assert!(
            why.starts_with("Of 1,000 packets of 10.0.0.1 2 have a wrong checksum of UDP"),
            "{why}"
        );
    }

    #[test]
    fn what_the_sender_s_card_completes_is_none() {
        assert!(sums(500, 500, 0).is_none());
        assert!(sums(1_000, 0, 0).is_none());
    }

    #[test]
    fn ten_that_hold_for_one_that_does_not_are_enough() {
        assert!(sums(10, 0, 1).is_some());
        assert!(sums(9, 0, 1).is_none());
    }
}
