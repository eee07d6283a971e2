//! # What it says
//! A router gives packets back as too large for its next link (ICMP "fragmentation
//! needed", ICMPv6 "packet too big"): the path takes less than its ends believe.
//!
//! # Why it costs time
//! The packet did not arrive and is sent again in smaller pieces, at least a round
//! trip later, on each connection anew until the sender remembers. What that takes
//! is under network-loss. Where the message is filtered on its way to the sender,
//! large packets vanish for good: mtu-black-hole.
//!
//! # How sure
//! The message quotes the packet, which belongs to a connection of the capture. It
//! names the link's size, but for very old routers.
//!
//! # What to check next
//! The router that says so, and which of its links is smaller (tunnels, VPNs,
//! PPPoE, jumbo frames on one side only). Whether the sender believes it: the
//! segments behind the message are smaller (RFC 1191, RFC 8201).
//!
//! # When it is wrong
//! Somebody may forge the message. Path MTU discovery that works looks like this
//! once for each new path, and costs little.

use super::{Entry, Of, Rule, evidence, numbers, whole};
use crate::facts::Facts;
use crate::health::Returned;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use model::IcmpReason;
use std::collections::BTreeSet;

pub(super) const ENTRY: Entry = Entry {
    code: "mtu-mismatch",
    title: "routers give packets back as too large",
    side: Some(Side::Network),
    of: Of::Network,
    sure: [0.9, 0.9],
    page: page!("mtu_mismatch.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let too_big = |i: usize| -> Vec<(&Returned, u32)> {
        let all = facts.health.get(i).map(|h| h.undelivered.all());
        let all = all.into_iter().flatten();
        all.filter(|r| r.concerns.is_some())
            .filter_map(|r| match r.reason {
                IcmpReason::TooBig(mtu) => Some((r, mtu)),
                _ => None,
            })
            .collect()
    };
    let seen = facts.healths().map(|(i, _)| (i, too_big(i)));
    let (capture, returned) = seen.max_by_key(|(i, r)| (r.len(), usize::MAX - i))?;
    let (worst, mtu) = *returned
        .iter()
        .max_by_key(|(r, mtu)| (r.count, std::cmp::Reverse(*mtu), std::cmp::Reverse(r.first)))?;
    let packets: u64 = returned.iter().map(|(r, _)| r.count).sum();
    let flows: BTreeSet<_> = returned.iter().map(|(r, _)| r.flow).collect();
    let [source, destination] = worst.hosts;
    let size = match mtu {
        0 => text!("of a size that it does not name"),
        mtu => text!("of {mtu}", mtu = Value::Bytes(mtu.into())),
    };
    Some(Finding {
        title: match mtu {
            0 => text!(
                "{router} has a link too small for these packets",
                router = worst.from
            ),
            mtu => text!(
                "{router} has a link that takes {mtu} only",
                router = worst.from,
                mtu = Value::Bytes(mtu.into())
            ),
        },
        first: returned.iter().map(|(r, _)| r.first.time).min(),
        last: returned.iter().map(|(r, _)| r.last.time).max(),
        facts: numbers([
            ("mtu_bytes", mtu.into()),
            ("packet_bytes", worst.length.into()),
            ("packets", whole(packets)),
            ("connections", flows.len() as i64),
        ]),
        evidence: evidence::of_packets(
            facts,
            returned
                .iter()
                .take(3)
                .flat_map(|(r, _)| r.shown.iter().take(2))
                .map(|m| (capture, m.packet)),
            "the router's messages",
        ),
        why: text!(
            "{router} gives back packets of {length} that {source} sends to {destination}, for a link {size}: {packets} \
             packet{packets||s} of {flows} connection{flows||s}. They have to be sent again, smaller.",
            router = worst.from,
            length = Value::Bytes(worst.length.into()),
            source = source,
            destination = destination,
            size = size,
            packets = packets,
            flows = flows.len(),
        ),
        remedy: vec![
            "give all links of the path one MTU, or clamp the MSS at the router with the small one"
                .into(),
            "or lower the MTU of the sender's interface or route to that size".into(),
        ],
        ..Rule::MtuMismatch.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{end, found, summary};
    use super::*;
    use model::{IcmpError, NoticeKind, Transport};

    fn returned(reason: IcmpReason, client_port: u16) -> Option<Finding> {
        found(Rule::MtuMismatch, |f| {
            let ends = [end(1, client_port), end(2, 2_049)];
            let error = NoticeKind::Icmp(IcmpError {
                from: [10, 0, 0, 9].into(),
                reason,
                flow: Some((Transport::Tcp, ends)),
                hosts: ends.map(|e| e.address),
                length: 1_500,
            });
            f.notice(2, error);
            f.health[0].connection(&summary(0));
        })
    }

    #[test]
    fn a_router_that_gives_packets_back_is_named_with_its_link() {
        let f = returned(IcmpReason::TooBig(1_400), 1_000).unwrap();
        assert_eq!(
            f.title.to_string(),
            "10.0.0.9 has a link that takes 1,400 bytes only"
        );
        let why = f.why.to_string();
        assert!(
            why.contains("for a link of 1,400 bytes: 1 packet of 1 connection."),
            "{why}"
        );
    }

    #[test]
    fn other_reasons_and_others_packets_are_not_its_business() {
        assert!(returned(IcmpReason::TimeExceeded, 1_000).is_none());
        assert!(returned(IcmpReason::TooBig(1_400), 1_001).is_none());
    }

    #[test]
    fn a_router_that_names_no_size_is_told_all_the_same() {
        let f = returned(IcmpReason::TooBig(0), 1_000).unwrap();
        assert_eq!(
            f.title.to_string(),
            "10.0.0.9 has a link too small for these packets"
        );
    }
}
