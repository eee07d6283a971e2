//! # What it says
//! Messages that are larger than a few segments leave in round trip after round
//! trip: TCP sends little at first and twice as much in each next round trip, until
//! something is lost or the window is full.
//!
//! # Why it costs time
//! A connection begins with some 14 kB in flight (RFC 6928), and begins again so
//! after it was idle for longer than its retransmission timer. So 300 kB take four
//! or five round trips, whatever the line can do: over 40 ms nearly 200 ms.
//!
//! # How sure
//! Told next to the sender only: segments left just after acknowledgements, with
//! room in the window and nothing lost, and there were more in flight each time. A
//! message that took less than a round trip to leave costs nothing here.
//!
//! # What to check next
//! Whether connections are kept, and busy: Linux forgets its congestion window in a
//! pause (net.ipv4.tcp_slow_start_after_idle=0 keeps it), a new one has none. A
//! larger initial window (ip route … initcwnd) spares round trips on paths that
//! bear it.
//!
//! # When it is wrong
//! An application that writes more and more each time it is answered looks alike.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use ledger::Cause;

pub(super) const ENTRY: Entry = Entry {
    code: "slow-start",
    title: "messages leave in round trip after round trip, as TCP begins",
    side: Some(Side::Network),
    of: Of::Bytes,
    sure: [0.9, 0.85],
    page: page!("slow_start.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let cost = a.slow_start_ns;
    if !facts.holds_up(cost) {
        return None;
    }
    let sent = facts.captures.iter().flat_map(|c| c.paced.values());
    let slow = (sent.flatten().flatten()).filter(|p| p.cause() == Some(Cause::SlowStart));
    let shortest = slow.map(|paced| paced.round_trip_ns).min()?;
    Some(Finding {
        title: "Messages leave in round trip after round trip, as TCP begins".into(),
        cost_ns: Some(cost),
        first: facts.worst.network.first,
        last: facts.worst.network.last,
        facts: numbers([("round_trip_min_ns", shortest)]),
        evidence: evidence::of_calls(
            facts,
            facts.worst.network,
            "request and reply of calls that crossed slowest",
        ),
        why: text!(
            "For {cost} senders had more to send and waited for acknowledgements, with room in the window and nothing lost, and with more in flight after each: TCP's slow start (RFC 5681), in round trips of {trip} at least.",
            cost = Value::Duration(cost),
            trip = Value::Duration(shortest),
        ),
        remedy: vec![
            "keep connections, and keep TCP from beginning again after pauses: net.ipv4.tcp_slow_start_after_idle=0 on the sender".into(),
            "a larger initial window on the sender, where the path bears it: ip route change … initcwnd".into(),
        ],
        ..Rule::SlowStart.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use ledger::Paced;
    use model::{ConnectionId, Pace};

    fn begins(cost_ns: i64) -> Option<Finding> {
        found(Rule::SlowStart, |f| {
            f.account.slow_start_ns = cost_ns;
            let paced = Paced::of(Pace::Grows, 40_000_000, None);
            f.captures[0].paced.insert(ConnectionId(1), [paced, None]);
        })
    }

    #[test]
    fn it_is_the_networks_with_the_round_trip() {
        let f = begins(TOTAL_NS / 2).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, Some(TOTAL_NS / 2)));
        assert!(
            f.why
                .to_string()
                .contains("round trips of 40.0 ms at least")
        );
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(begins(TOTAL_NS / 4).is_some());
        assert!(begins(TOTAL_NS / 4 - 1).is_none());
    }

    #[test]
    fn without_such_time_it_is_silent() {
        assert!(begins(0).is_none());
    }
}
