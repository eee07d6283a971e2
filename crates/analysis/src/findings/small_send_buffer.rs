//! # What it says
//! A sender never has more than so many bytes in flight, round trip after round
//! trip, though its receiver offers a larger window and nothing was lost: its send
//! buffer holds no more, or the application waits for what it has sent.
//!
//! # Why it costs time
//! What is in flight stays in the buffer until it is acknowledged, so that one
//! buffer per round trip is all that can pass: 16 kB over 20 ms are 6.5 Mbit/s,
//! whatever the line can do.
//!
//! # How sure
//! Told next to the sender only: segments left just after acknowledgements, and
//! what was in flight stayed within two segments for ten round trips in a row. A
//! congestion window would have grown; after a loss or a congestion mark it may not
//! have, and nothing is said. Nor where the sender was silent for little of each
//! round trip: a line may be full. What a larger window would take to grow that far
//! is left out of the cost.
//!
//! # What to check next
//! SO_SNDBUF set by the application (it switches autotuning off), tcp_wmem,
//! Oracle's SEND_BUF_SIZE, the writes of a proxy or a replication's own limit. On
//! Linux the sender's ss -ti says sndbuf_limited.
//!
//! # When it is wrong
//! A congestion window that is held down by a setting (a clamp) looks alike; it is
//! the sender's, too.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::Finding;
use crate::streams::sender;
use crate::text::{Value, text};
use ledger::Cause;
use model::Direction;

pub(super) const ENTRY: Entry = Entry {
    code: "small-send-buffer",
    title: "the send buffer is too small for the path",
    side: None,
    of: Of::Bytes,
    sure: [0.85, 0.85],
    page: page!("small_send_buffer.rs"),
    check,
};

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let cost = |d: &Direction| facts.account.send_buffer_ns[d.index()];
    let d = Direction::BOTH.into_iter().max_by_key(cost)?;
    let cost = cost(&d);
    if !facts.holds_up(cost) {
        return None;
    }
    let sent = facts.at_sender(d).paced.values();
    let kept = sent.filter_map(|paced| paced[d.index()]);
    let kept = kept.filter(|paced| paced.cause() == Some(Cause::SendBuffer));
    let worst = kept.max_by_key(|paced| paced.round_trip_ns)?;
    let (kept, trip) = (u64::from(worst.kept_bytes()?), worst.round_trip_ns);
    let who = sender(d);
    let slowest = facts.worst.network;
    Some(Finding {
        title: text!(
            "The {who}'s send buffer is too small for this path",
            who = who
        ),
        side: who,
        cost_ns: Some(cost),
        first: slowest.first,
        last: slowest.last,
        facts: numbers([
            ("in_flight_bytes", kept as i64),
            ("round_trip_min_ns", trip),
        ]),
        evidence: evidence::of_calls(
            facts,
            slowest,
            "request and reply of calls that crossed slowest",
        ),
        why: text!(
            "The {who} never has more than {kept} in flight, in round trips of {trip}, though the window has room for more and nothing is lost: what waits for acknowledgements fills its buffer.",
            who = who,
            kept = Value::Bytes(kept),
            trip = Value::Duration(trip),
        ),
        remedy: vec![text!(
            "let the {who}'s send buffer grow: no SO_SNDBUF in the application, larger tcp_wmem (Oracle: SEND_BUF_SIZE)",
            who = who,
        )],
        ..Rule::SmallSendBuffer.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, found};
    use super::*;
    use crate::results::Side;
    use ledger::Paced;
    use model::{ConnectionId, Pace};

    fn buffer(cost_ns: [i64; 2]) -> Option<Finding> {
        found(Rule::SmallSendBuffer, |f| {
            f.account.send_buffer_ns = cost_ns;
            let paced = |bytes| Paced::of(Pace::Kept(bytes), 20_000_000, None);
            // Each capture tells both, and is next to one.
            f.captures[0]
                .paced
                .insert(ConnectionId(1), [paced(8_192), paced(1_000)]);
            f.captures[1]
                .paced
                .insert(ConnectionId(1), [paced(1_000), paced(16_384)]);
        })
    }

    #[test]
    fn it_is_its_senders() {
        let f = buffer([0, TOTAL_NS / 2]).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Server, Some(TOTAL_NS / 2)));
        assert!(
            f.why.to_string().starts_with(
                "The server never has more than 16,384 bytes in flight, in round trips of 20.0 ms"
            ),
            "{}",
            f.why.to_string()
        );
        let f = buffer([TOTAL_NS / 2, 0]).unwrap();
        assert_eq!(f.side, Side::Client);
        assert!(
            f.why
                .to_string()
                .starts_with("The client never has more than 8,192 bytes in flight"),
            "{}",
            f.why.to_string()
        );
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(buffer([0, TOTAL_NS / 4]).is_some());
        assert!(buffer([0, TOTAL_NS / 4 - 1]).is_none());
    }

    #[test]
    fn without_such_time_it_is_silent() {
        assert!(buffer([0, 0]).is_none());
    }
}
