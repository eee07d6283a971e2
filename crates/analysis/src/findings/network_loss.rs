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
//! from a capture do not count.
//!
//! # What to check next
//! Interface error and drop counters on both hosts and every device between, duplex
//! and cabling, queue drops of a full link, policers.
//!
//! # When it is wrong
//! Loss behind the captures (in a host's own receive queue) looks like loss on the
//! network.

use super::{Rule, evidence};
use crate::facts::{Basis, Facts};
use crate::results::{Fact, Finding, Side};
use model::{TimeClass, counted, format_duration};

pub(super) const RULE: Rule = Rule {
    code: "network-loss",
    title: "packets lost between the two ends",
    source: include_str!("network_loss.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    // In a long message a few losses are enough.
    let under_way: i64 = a.under_way.iter().map(|l| l[TimeClass::LossRecovery]).sum();
    // A hundredth of the time is worth saying; that calls are slow decides who is to blame.
    if !facts.calls_are_slow()
        || a.loss_ns < (a.total_ns / 50).max(1)
        || (facts.worst.loss.count < 3 && under_way < a.loss_ns / 2)
    {
        return None;
    }
    // A stream goes on meanwhile: a little loss holds nobody up.
    if a.basis == Basis::Streams && !facts.holds_up(a.loss_ns) {
        return None;
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
    Some(Finding {
        code: RULE.code,
        title: "Packets are lost on the way".into(),
        side: Side::Network,
        cost_ns: Some(a.loss_ns),
        elapsed_cost_ns: None,
        fatal: false,
        confidence: if a.basis == Basis::Matched { 0.9 } else { 0.6 },
        first: facts.worst.loss.first,
        last: facts.worst.loss.last,
        facts: vec![
            Fact { name: "retransmitted_packets", value: resent as i64 },
            Fact { name: "calls_delayed", value: calls as i64 },
        ],
        evidence: evidence::of_calls(facts, facts.worst.loss, "request and reply of calls that waited for a retransmission"),
        why: format!(
            "{} {} sent again and {} waited for it, {} each beyond the usual path.",
            counted(resent, "packet"),
            if resent == 1 { "was" } else { "were" },
            counted(calls, "call"),
            format_duration(a.loss_ns / calls.max(1) as i64)
        ),
        remedy: vec!["read error and drop counters of both hosts' interfaces and of every device between; check duplex, cabling, full queues and policers".into()],
    })
}
