//! # What it says
//! A host's own capture has segments that its TCP did not take: nothing
//! acknowledged them, they were sent again, and calls waited for that.
//!
//! # Why it costs time
//! Their sender takes them for lost and waits for its timer, which doubles each
//! time. The cost is what calls waited until the copy came that was taken.
//!
//! # How sure
//! Only said of a capture on the host itself, where packets that leave show sums
//! that its card is to finish, or packets that came were joined by it, and only
//! where no packet of the capture has a wrong one: what was damaged on the way is
//! network-loss, and so is what was lost on hops behind the capture. It costs a
//! fiftieth of the time of calls at least.
//!
//! # What to check next
//! On that host: its firewall's counters (nft list ruleset, iptables -vL; "ct state
//! invalid"), reverse path filtering (rp_filter), and nstat: TcpExtTCPBacklogDrop,
//! TcpExtTCPRcvQDrop, TcpExtPAWSEstab, TcpExtListenDrops, TcpInErrs. Then whether
//! the host stood still as a whole: who takes nothing from its queues acknowledges
//! nothing.
//!
//! # When it is wrong
//! When the capture was not taken on the host but by a device that joins or divides
//! packets for others: then they may have been lost between the two.

use super::{Entry, Of, Rule, numbers};
use crate::facts::Facts;
use crate::losses;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use model::Direction;

pub(super) const ENTRY: Entry = Entry {
    code: "host-drops",
    title: "a host drops packets that its own capture has",
    side: None,
    of: Of::Calls,
    sure: [0.9, 0.85],
    page: page!("host_drops.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let cost = |d: &Direction| a.dropped[d.index()].0;
    let d = Direction::BOTH.into_iter().max_by_key(cost)?;
    let (cost, calls) = a.dropped[d.index()];
    if cost < (a.total_ns / 50).max(1) || !facts.calls_are_slow() {
        return None;
    }
    let (who, what, at) = match d {
        Direction::ToServer => (Side::Server, "requests", facts.at_server()),
        Direction::ToClient => (Side::Client, "answers", facts.at_client()),
    };
    let segments = at?.losses.segments(d);
    Some(Finding {
        title: text!("The {who}'s host drops what comes to it", who = who),
        side: who,
        cost_ns: Some(cost),
        facts: numbers([
            ("segments", i64::try_from(segments).unwrap_or(i64::MAX)),
            ("calls_delayed", calls as i64),
        ]),
        evidence: losses::untaken(at?, facts, d),
        why: text!(
            "{segments,} segment{segments||s} of {what} {segments|was|were} sent again to the {who} though its own capture has {segments|it|them} already, and {calls,} call{calls||s} waited for that, {each} each.",
            segments = segments,
            what = what,
            who = who,
            calls = calls,
            each = Value::Duration(cost / calls.max(1) as i64),
        ),
        remedy: vec![text!(
            "on the {who}'s host read the firewall's counters (nft list ruleset, iptables -vL) and nstat (TcpExtTCPBacklogDrop, TcpExtTCPRcvQDrop, TcpExtPAWSEstab); see whether it stood still as a whole",
            who = who,
        )],
        ..Rule::HostDrops.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::losses::Losses;

    fn dropped(dropped: [(i64, u64); 2]) -> Option<Finding> {
        found(Rule::HostDrops, |f| {
            f.account.dropped = dropped;
            f.captures[0].losses = Losses::of(7);
        })
    }

    #[test]
    fn what_a_client_s_capture_has_and_its_host_did_not_take_is_its_host_s() {
        let f = dropped([(0, 0), (TOTAL_NS / 2, 5)]).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS / 2)));
        assert_eq!(
            f.why.to_string(),
            "7 segments of answers were sent again to the client though its own capture has them already, and 5 calls waited for that, 1.00 s each."
        );
    }

    #[test]
    fn of_two_hosts_the_one_that_costs_more() {
        let f = dropped([(TOTAL_NS / 2, 5), (TOTAL_NS / 4, 9)]).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(TOTAL_NS / 2)));
    }

    #[test]
    fn a_fiftieth_of_the_time_is_enough() {
        assert!(dropped([(0, 0), (TOTAL_NS / 50, 1)]).is_some());
        assert!(dropped([(0, 0), (TOTAL_NS / 50 - 1, 1)]).is_none());
    }

    #[test]
    fn what_was_taken_at_once_is_nobody_s() {
        assert!(dropped([(0, 0); 2]).is_none());
    }
}
