//! # What it says
//! Packets were lost between the two ends and sent again, and calls waited for it.
//!
//! # Why it costs time
//! A lost segment is only sent again after duplicate acknowledgements or a timer of
//! 200 ms or more; everything behind it on the connection waits too. The cost is
//! the network time of calls that overlap such a recovery, beyond what the path
//! takes without loss.
//!
//! # How sure
//! A retransmission alone is not loss: segments that the receiver acknowledged
//! already (spurious ones), copies made by the capture and packets missing only
//! from a capture do not count. Nor does what is less than a fiftieth of the time.
//!
//! The evidence names packets: those that were lost, from the capture nearest to
//! their sender, and those sent again. Taken behind the loss, a capture holds only
//! the latter.
//!
//! # What to check next
//! Interface error and drop counters on both hosts and every device between, duplex
//! and cabling, queue drops of a full link, policers.
//!
//! # When it is wrong
//! Loss behind the captures (in a host's own receive queue) looks like loss on the
//! network.

use super::under_way::UnderWay;
use super::{Entry, Of, Rule, evidence, network_reordering, numbers, whole};
use crate::facts::{Basis, Facts};
use crate::losses;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use model::TimeClass;

pub(super) const ENTRY: Entry = Entry {
    code: "network-loss",
    title: "packets lost between the two ends",
    side: Some(Side::Network),
    of: Of::Calls,
    sure: [0.9, 0.6],
    page: page!("network_loss.rs"),
    check,
};

const REMEDY: &str = "read error and drop counters of both hosts' interfaces and of every device between; check duplex, cabling, full queues and policers";

/// Of streams that nobody answers, which go on meanwhile: a little loss holds nobody up.
fn of_streams(facts: &Facts<'_>) -> Option<Finding> {
    // What never arrives, however often it is sent, is no loss but a path that does not carry it.
    let stuck = facts.streams.stuck().map(|(.., s)| s.lasted_ns());
    let cost = facts.account.loss_ns - stuck.fold(0, i64::saturating_add);
    let class = TimeClass::LossRecovery;
    let waits = UnderWay::most(facts, class, |d| facts.under_way(d, class))?;
    if !facts.holds_up(cost) {
        return None;
    }
    let d = waits.direction.index();
    let resent = facts
        .captures
        .iter()
        .map(|c| c.tcp.retransmitted_packets[d]);
    let resent = resent.max().unwrap_or(0);
    let mut finding = Finding {
        title: "Packets are lost on the way".into(),
        cost_ns: Some(cost),
        facts: numbers([("retransmitted_packets", whole(resent))]),
        why: text!(
            "{resent,} packet{resent||s} {resent|was|were} sent again, and until they had arrived the stream waited, or went on slowly.{lost}",
            resent = resent,
            lost = losses::said(facts),
        ),
        remedy: vec![REMEDY.into()],
        ..waits.finding(
            Rule::NetworkLoss,
            "the segments before and after the longest recoveries",
        )
    };
    finding.facts.extend(numbers(losses::numbers(facts)));
    finding.evidence.splice(0..0, losses::shown(facts));
    Some(finding)
}

/// Whether it is worth saying how long was waited for what was sent again.
pub(super) fn is_worth_saying(facts: &Facts<'_>) -> bool {
    let a = &facts.account;
    // In a long message a few losses are enough.
    let under_way: i64 = a.under_way.iter().map(|l| l[TimeClass::LossRecovery]).sum();
    let waited = facts.worst.loss.count >= 3 || under_way >= a.loss_ns / 2;
    // A fiftieth of the time is worth saying; that calls are slow decides who is to blame.
    facts.calls_are_slow() && a.loss_ns >= (a.total_ns / 50).max(1) && waited
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    if !is_worth_saying(facts) || network_reordering::costs(facts).is_some() {
        return None;
    }
    if a.basis == Basis::Streams {
        return of_streams(facts);
    }
    let resent: u64 = facts
        .captures
        .iter()
        .map(|c| c.tcp.retransmitted_packets.iter().sum::<u64>())
        .max()
        .unwrap_or(0);
    if resent == 0 {
        return None;
    }
    let calls = facts.worst.loss.count;
    let mut evidence = losses::shown(facts);
    evidence.extend(evidence::of_calls(
        facts,
        facts.worst.loss,
        "request and reply of calls that waited for a retransmission",
    ));
    let [to_server, to_client] = losses::numbers(facts);
    Some(Finding {
        title: "Packets are lost on the way".into(),
        cost_ns: Some(a.loss_ns),
        first: facts.worst.loss.first,
        last: facts.worst.loss.last,
        facts: numbers([
            ("retransmitted_packets", resent as i64),
            ("calls_delayed", calls as i64),
            to_server,
            to_client,
        ]),
        evidence,
        why: text!(
            "{resent,} packet{resent||s} {resent|was|were} sent again and {calls,} call{calls||s} waited for it, {each} each beyond the usual path.{lost}",
            resent = resent,
            calls = calls,
            each = Value::Duration(a.loss_ns / calls.max(1) as i64),
            lost = losses::said(facts),
        ),
        remedy: vec![REMEDY.into()],
        ..Rule::NetworkLoss.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, TOTAL_NS, alike, found};
    use super::*;

    fn lost(ns: i64, resent: u64, calls: u64) -> Option<Finding> {
        found(Rule::NetworkLoss, |f| {
            f.account.loss_ns = ns;
            f.captures[0].tcp.retransmitted_packets = [resent, 0];
            f.worst.count = calls;
        })
    }

    #[test]
    fn calls_that_waited_for_a_retransmission_are_the_network_s() {
        let f = lost(TOTAL_NS / 2, 1, 5).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.why.to_string(),
            "1 packet was sent again and 5 calls waited for it, 1.00 s each beyond the usual path."
        );
    }

    /// A hundred were seen whole, and take 5 ms each.
    #[test]
    fn calls_that_are_known_to_be_fast_are_not_slow_as_a_few_that_were_seen_whole_are() {
        let of = |calls: u64, each_ms: i64| {
            found(Rule::NetworkLoss, |f| {
                f.matched.as_mut().unwrap().client = alike(5 * MS);
                f.account.calls = calls;
                f.account.total_ns = calls as i64 * each_ms * MS;
                f.account.loss_ns = f.account.total_ns / 2;
                f.captures[0].tcp.retransmitted_packets = [1, 0];
                f.worst.count = 5;
            })
        };
        assert!(of(1_001, 1).is_none());
        assert!(of(1_000, 1).is_some());
        assert!(of(1_001, 2).is_some());
    }

    /// A hundred of two hundred were seen whole, and take 1 ms each.
    #[test]
    fn calls_that_were_seen_in_part_and_waited_for_long_are_slow() {
        let of = |partly: u64| {
            found(Rule::NetworkLoss, |f| {
                f.matched.as_mut().unwrap().client = alike(MS);
                f.account.calls = 200;
                f.account.total_ns = 200 * 5 * MS;
                f.account.loss_ns = f.account.total_ns / 2;
                f.captures[0].response = alike(MS);
                f.captures[0].partly = (partly, 0);
                f.captures[0].tcp.retransmitted_packets = [1, 0];
                f.worst.count = 5;
            })
        };
        assert!(of(20).is_some());
        assert!(of(19).is_none());
    }

    #[test]
    fn without_retransmissions_nothing_was_lost() {
        assert!(lost(TOTAL_NS / 2, 0, 5).is_none());
    }

    #[test]
    fn three_calls_and_a_fiftieth_of_the_time_are_enough() {
        assert!(lost(TOTAL_NS / 50, 3, 3).is_some());
        assert!(lost(TOTAL_NS / 50 - 1, 3, 3).is_none());
        assert!(lost(TOTAL_NS / 50, 3, 2).is_none());
    }
}
