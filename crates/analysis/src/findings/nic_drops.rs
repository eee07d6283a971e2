//! # What it says
//! What was lost was lost in a host's own interface or sockets: it counts packets
//! that it dropped while calls waited for them to be sent again, and none while
//! they did not.
//!
//! # Why it costs time
//! A packet that arrives and finds no room in the interface's ring, the driver's
//! queue or the socket's buffer is gone, as one that a router dropped: its sender
//! waits for a timer or for what came behind it.
//!
//! # How sure
//! Only said with what tools of that host say over time (--host: ethtool -S, sar -n
//! EDEV, nstat), only where losses cost time by the packets, and only where drops
//! go with them: what is lost costs twice as much of a call while it drops, at
//! least half of it lies there, and of all shifts of the counter against the calls
//! no more than one in twenty fits as well. So at least twenty intervals between
//! samples are needed. It has no cost of its own: network-loss or network-outage
//! has it.
//!
//! # What to check next
//! Ring sizes (ethtool -g, -G), queues and the processors that serve them
//! (/proc/interrupts, /proc/net/softnet_stat), net.core.netdev_max_backlog, socket
//! buffers (ss -m), and whether one processor serves all of it.
//!
//! # When it is wrong
//! When the packets that were dropped were others' (broadcasts, another service),
//! and both have one cause, such as a burst. Some drivers count frames that nobody
//! wants as drops.

use super::{Entry, Of, Rule, pressed};
use crate::facts::Facts;
use crate::results::{Finding, Side};
use trace::host::Counter;

pub(super) const ENTRY: Entry = Entry {
    code: "nic-drops",
    title: "packets were dropped by a host's own interface",
    side: Some(Side::Network),
    of: Of::Calls,
    sure: [0.8, 0.7],
    page: page!("nic_drops.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let told = pressed::loses(facts, &[Counter::NicDrops, Counter::SocketDrops])?;
    let what = match told.series.counter {
        Counter::NicDrops => "packets dropped by an interface",
        _ => "what the system dropped although it had arrived",
    };
    Some(Finding {
        title: "Packets were lost in a host's own interface".into(),
        side: Side::Network,
        why: told.why(what, "Losses took"),
        remedy: vec![
            "larger rings and more queues for the interface (ethtool -G, -L), more room for sockets; see which processor serves it".into(),
        ],
        ..told.finding(Rule::NicDrops, facts)
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found, pressed};
    use super::*;
    use crate::results::Fit;
    use ledger::Cause;

    fn said(lost_ns: i64, counter: Counter, fit: Fit) -> Option<Finding> {
        found(Rule::NicDrops, |f| {
            f.charge(Cause::Loss, lost_ns);
            f.hosts = vec![pressed(Side::Server, counter, fit)];
        })
    }

    #[test]
    fn drops_that_go_with_what_losses_cost_explain_them_and_the_side_stays_the_networks() {
        let f = said(TOTAL_NS / 2, Counter::NicDrops, Fit::Goes).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Network, None));
        assert!(
            f.why.to_string().contains("of the server's host was"),
            "{}",
            f.why
        );
    }

    #[test]
    fn drops_without_losses_or_at_other_times_explain_nothing() {
        assert!(said(0, Counter::NicDrops, Fit::Goes).is_none());
        assert!(said(TOTAL_NS / 2, Counter::CpuBusy, Fit::Goes).is_none());
        assert!(said(TOTAL_NS / 2, Counter::NicDrops, Fit::Chance).is_none());
    }

    #[test]
    fn it_needs_that_losses_may_be_accused() {
        assert!(said(TOTAL_NS / 4, Counter::NicDrops, Fit::Goes).is_some());
        assert!(said(TOTAL_NS / 4 - 1, Counter::NicDrops, Fit::Goes).is_none());
    }
}
