//! # What it says
//! Each write of an application leaves as one large segment and one small one: it
//! is a little larger than what the network card takes at once (64 KiB less
//! headers, cut down to whole segments).
//!
//! # Why it costs time
//! The small rest costs as much processing at both ends as the large part, may be
//! held back for an acknowledgement (nagle-delayed-ack), and makes receivers
//! acknowledge twice. Where the sender waits for an answer to each write, each of
//! these delays counts.
//!
//! # How sure
//! Seen where segments are larger than the wire's, so that the card cuts them, and
//! the sender rests between its writes.
//!
//! # What to check next
//! The buffer or SDU size of the application: a little less (64,000 bytes) leaves
//! as one segment.
//!
//! # When it is wrong
//! It is a waste, not a fault: without other findings nobody waits for it.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::Finding;
use crate::streams::sender;
use crate::text::{Value, text};
use model::{Direction, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "split-writes",
    title: "each write leaves as a large and a small segment",
    side: None,
    of: Of::Bytes,
    sure: [0.8, 0.8],
    page: page!("split_writes.rs"),
    check,
};

const WRITES: u64 = 20;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let mut worst = None;
    for c in &facts.streams.connections {
        for d in Direction::BOTH {
            let a = &c.directions[d.index()].account;
            let usual = a.split_writes >= WRITES && a.split_writes * 2 >= a.writes;
            // Who waits for an answer to each write, or has nothing more to write, rests between them.
            let rested = a.time_ns[TimeClass::Idle] + a.time_ns[TimeClass::SenderApplication];
            let rests = rested >= (c.last - c.first) / 10;
            if usual && rests && worst.is_none_or(|(_, _, n)| a.split_writes > n) {
                worst = Some((c, d, a.split_writes));
            }
        }
    }
    let (c, d, split) = worst?;
    let a = &c.directions[d.index()].account;
    let size = a.write_size_bytes.unwrap_or(0);
    let who = sender(d);
    Some(Finding {
        title: text!("The {who}'s writes leave in two pieces", who = who),
        side: who,
        first: a.first_data,
        last: a.last_data,
        facts: numbers([
            ("writes", split as i64),
            ("write_bytes", size as i64),
            ("rest_bytes", a.split_rest_bytes as i64),
        ]),
        evidence: evidence::of_connection(facts, c),
        why: text!(
            "{split} of {writes} writes, mostly of {size}, left as {first,} and {rest}.",
            split = split,
            writes = a.writes,
            size = Value::Bytes(size),
            first = size.saturating_sub(a.split_rest_bytes),
            rest = Value::Bytes(a.split_rest_bytes),
        ),
        remedy: vec![text!(
            "let the application on the {who} write a little less at once, such as 64,000 bytes",
            who = who,
        )],
        ..Rule::SplitWrites.finding()
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, connection, found};
    use super::*;
    use crate::results::Side;

    fn split(split: u64, writes: u64, idle_ns: i64) -> Option<Finding> {
        found(Rule::SplitWrites, |f| {
            let mut c = connection();
            let a = &mut c.directions[0].account;
            (a.split_writes, a.writes, a.split_rest_bytes) = (split, writes, 328);
            a.write_size_bytes = Some(65_488);
            a.time_ns[TimeClass::Idle] = idle_ns;
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn writes_in_two_pieces_are_told_with_their_size() {
        let f = split(90, 100, 2_000 * MS).unwrap();
        assert_eq!((f.side, f.cost_ns), (Side::Client, None));
        assert_eq!(
            f.why.to_string(),
            "90 of 100 writes, mostly of 65,488 bytes, left as 65,160 and 328 bytes."
        );
    }

    #[test]
    fn who_does_not_rest_between_them_is_not_held_up() {
        assert!(split(90, 100, 0).is_none());
    }

    #[test]
    fn twenty_that_are_half_of_all_are_enough() {
        assert!(split(20, 40, 1_000 * MS).is_some());
        assert!(split(19, 19, 1_000 * MS).is_none());
        assert!(split(20, 41, 1_000 * MS).is_none());
        assert!(split(20, 40, 1_000 * MS - 1).is_none());
    }
}
