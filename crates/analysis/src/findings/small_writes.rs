//! # What it says
//! A client writes a few kilobytes at a time and waits for a confirmation of each
//! before it writes more.
//!
//! # Why it costs time
//! Each write crosses the path and its confirmation comes back, while the path
//! could carry many times as much. The cost is the path's part of the writes that
//! could be spared if each carried 64,000 bytes.
//!
//! # How sure
//! With captures of both ends the path's part is measured. Said of connections with
//! 50 writes or more, of more than two and up to ten segments, that spend at least
//! half of their life on the path. Calls need not be slow each for the sum to be.
//! Where several writes are under way it is said of clients that wait for answers
//! for half of their life and write just after each; what they have in flight at
//! most is what a round trip carries, and handshakes say how long that takes at
//! least.
//!
//! # What to check next
//! Buffer, block and SDU sizes of the application (replication, backup, file copy);
//! whether it can have several writes under way.
//!
//! # When it is wrong
//! Writes that come one by one by their nature, such as commits of a log.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::{ACCUSED_SHARE, Basis, Facts, worth_of_writes_ns};
use crate::results::{Finding, Side};
use crate::text::{Value, text};
use model::Direction;

pub(super) const ENTRY: Entry = Entry {
    code: "small-writes",
    title: "small writes, each waiting for its confirmation",
    side: Some(Side::Client),
    of: Of::Calls,
    sure: [0.7, 0.7],
    page: page!("small_writes.rs"),
    check,
};

/// Less of each is not worth a change.
const WORTH_EACH_NS: i64 = 500_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let a = &facts.account;
    let [_, writes] = a.chatter;
    let cost = a.small_writes_ns;
    let spared = writes.calls.saturating_sub(writes.needed).max(1) as i64;
    let worth = worth_of_writes_ns(facts.captured_ns());
    let share = match a.basis {
        Basis::Streams => a.total_ns / ACCUSED_SHARE,
        _ => a.total_ns / 2,
    };
    if cost < worth || cost / spared < WORTH_EACH_NS || cost < share {
        return None;
    }
    let mean = writes.sent / writes.writes.max(1);
    // As the application passed them, where segments and pauses show that.
    let each = facts
        .streams
        .write_size(Direction::ToServer)
        .unwrap_or(mean);
    // Where no calls are told apart, the stream is all there is to show.
    let stream = facts
        .streams
        .busiest(Direction::ToServer)
        .filter(|_| a.basis == Basis::Streams);
    let (first, last, evidence) = match stream {
        Some(c) => (
            Some(c.first),
            Some(c.last),
            evidence::of_connection(facts, c),
        ),
        None => (
            facts.worst.network.first,
            facts.worst.network.last,
            evidence::of_calls(
                facts,
                facts.worst.network,
                "writes and their confirmations that crossed slowest",
            ),
        ),
    };
    Some(Finding {
        title: "The client writes little at a time".into(),
        cost_ns: Some(cost),
        first,
        last,
        facts: numbers([
            ("writes", writes.writes as i64),
            ("round_trips", writes.calls as i64),
            ("writes_needed", writes.needed as i64),
            ("bytes_mean", mean as i64),
            ("write_bytes", each as i64),
        ]),
        evidence,
        why: match writes.writes > writes.calls {
            false => text!(
                "{writes} writes, most of them of {each}, waited for the one before, {spared} of each on the path.",
                writes = writes.writes,
                each = Value::Bytes(each),
                spared = Value::Duration(cost / spared),
            ),
            true => text!(
                "{writes} writes, most of them of {each}, took {trips} round trips of {spared}, as many as the client has under way in each.",
                writes = writes.writes,
                each = Value::Bytes(each),
                trips = writes.calls,
                spared = Value::Duration(cost / spared),
            ),
        },
        remedy: vec![
            "write more at once (64,000 bytes), or let more writes be under way at once".into(),
        ],
        ..Rule::SmallWrites.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::rounds::Chatter;

    fn writes(cost_ns: i64, calls: u64) -> Option<Finding> {
        found(Rule::SmallWrites, |f| {
            f.account.small_writes_ns = cost_ns;
            f.account.chatter[1] = Chatter {
                calls,
                writes: calls,
                needed: 0,
                sent: calls * 8_156,
                ..Chatter::default()
            };
        })
    }

    #[test]
    fn writes_that_wait_for_each_other_are_the_client_s() {
        let f = writes(TOTAL_NS, 1_000).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, Some(TOTAL_NS)));
        let why = f.why.to_string();
        assert!(
            why.starts_with("1000 writes, most of them of 8,156 bytes"),
            "{why}"
        );
        assert!(why.contains("10.0 ms of each on the path"), "{why}");
    }

    #[test]
    fn a_path_that_takes_next_to_nothing_is_not_worth_a_change() {
        assert!(writes(TOTAL_NS, 1_000_000).is_none());
    }

    #[test]
    fn half_of_the_time_is_enough() {
        assert!(writes(TOTAL_NS / 2, 1_000).is_some());
        assert!(writes(TOTAL_NS / 2 - 1, 1_000).is_none());
        assert!(writes(TOTAL_NS, (TOTAL_NS / WORTH_EACH_NS) as u64).is_some());
        assert!(writes(TOTAL_NS, (TOTAL_NS / WORTH_EACH_NS) as u64 + 1).is_none());
    }
}
