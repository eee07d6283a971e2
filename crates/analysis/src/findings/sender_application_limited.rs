//! # What it says
//! In the middle of a message the sending application did not write, though TCP
//! could have sent at once: neither window nor path nor loss held it up.
//!
//! # Why it costs time
//! The receiver cannot finish what it has half of. So does a server that asks for
//! more of a request, a password or the rows of a COPY: what its client takes to
//! say that is the client's, and what the server takes to ask for it the server's.
//!
//! # How sure
//! Where everything sent had been acknowledged and the window was open, TCP may
//! always send: such a silence inside a message is the application's, or what that
//! waits for, from whichever end it is captured. Other pauses count that end by
//! themselves: nothing that came released the next segment, and there was room in
//! the window. Where no protocol tells what a message is, a pause lies within one
//! if a full segment came before it, as messages end with a short one; or, where
//! pauses repeat, if the request is of ten segments or more, or as much of a
//! response lies between them: smaller writes may be messages of their own.
//!
//! # What to check next
//! What the sending process does between its writes: reading a disk, computing,
//! waiting for a lock or for its processor.
//!
//! # When it is wrong
//! A congestion window that happens to be full at each end of a write looks the
//! same from outside.

use super::under_way::UnderWay;
use super::{Entry, Of, Rule, numbers};
use crate::facts::{Basis, Facts};
use crate::results::Finding;
use crate::streams::{FEW_SILENCES, MESSAGE_BYTES};
use crate::text::{Value, text};
use model::{Direction, EpisodeKind, TimeClass};

pub(super) const ENTRY: Entry = Entry {
    code: "sender-application-limited",
    title: "the sending application pauses within its messages",
    side: None,
    of: Of::Bytes,
    sure: [0.8, 0.8],
    page: page!("sender_application_limited.rs"),
    check,
};

/// Bytes of this direction for each of so many messages.
fn message_bytes(facts: &Facts<'_>, d: Direction, messages: u64) -> u64 {
    let connections = facts.streams.connections.iter();
    let bytes = connections.map(|c| c.directions[d.index()].counts.payload_bytes);
    bytes.fold(0, u64::saturating_add) / messages.max(1)
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let class = TimeClass::SenderApplication;
    let d = Direction::BOTH
        .into_iter()
        .max_by_key(|d| facts.under_way(*d, class))?;
    let cost = facts.under_way(d, class);
    if !facts.holds_up(cost) {
        return None;
    }
    let is_stream = facts.account.basis == Basis::Streams;
    let kinds = [EpisodeKind::SenderPause, EpisodeKind::SenderSilence];
    // Silences with nothing in flight are certain; of others there may be more, but not for as long.
    let silences = UnderWay::of_episodes(facts, d, &kinds);
    let silences = silences.filter(|s| s.ns >= cost / 2);
    let asked = UnderWay::of_asked(facts, d, cost).filter(|_| silences.is_none());
    let is_asked = asked.is_some();
    let (pauses, messages) = match silences {
        // What a server sends now and then may be events that somebody waits for.
        Some(silences) if d == Direction::ToClient => {
            let count = silences.count;
            (silences, count)
        }
        Some(silences) => (silences, facts.account.calls),
        None if let Some(asked) = asked => {
            let count = asked.count;
            (asked, count)
        }
        None => {
            let waits = UnderWay::most(facts, class, |d| facts.under_way(d, class))?;
            let messages = match is_stream {
                true => waits.count,
                false => facts.account.calls,
            };
            (waits, messages)
        }
    };
    // A pause within a message is plain. In a stream one that does not repeat may be anything.
    if is_stream
        && (pauses.repeats < FEW_SILENCES || message_bytes(facts, d, messages) < MESSAGE_BYTES)
    {
        return None;
    }
    let count = pauses.count;
    let each = cost / count.max(1) as i64;
    let who = pauses.sender();
    Some(Finding {
        title: text!(
            "The {who}'s application pauses between its writes",
            who = who
        ),
        side: pauses.sender(),
        cost_ns: Some(cost),
        facts: numbers([("pauses", count as i64), ("pause_mean_ns", each)]),
        why: match is_asked {
            true => text!(
                "{times} time{times||s} the server asked for more of a call, and the {who} took {each} on average to say it.",
                times = count,
                who = who,
                each = Value::Duration(each),
            ),
            false => text!(
                "{times} time{times||s} the {who} had room to send and did not, for {each} on average.",
                times = count,
                who = who,
                each = Value::Duration(each),
            ),
        },
        remedy: vec![text!(
            "look at what the sending process on the {who} does between writes",
            who = who
        )],
        ..pauses.finding(
            Rule::SenderApplicationLimited,
            "the segments before and after the longest pauses",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TOTAL_NS, connection, found, mark};
    use super::*;
    use crate::diagnose::Kind;
    use crate::results::Side;
    use crate::worst::{Exhibit, Worst};
    use ledger::Cause;

    fn pauses(d: Direction, ns: i64) -> Option<Finding> {
        found(Rule::SenderApplicationLimited, |f| {
            f.held(d, EpisodeKind::SenderPause, 10, ns)
        })
    }

    #[test]
    fn a_silence_inside_a_message_is_its_sender_s() {
        for (d, side) in [
            (Direction::ToServer, Side::Client),
            (Direction::ToClient, Side::Server),
        ] {
            let f = pauses(d, TOTAL_NS / 2).unwrap();
            assert_eq!((f.side, f.cost_ns), (side, Some(TOTAL_NS / 2)));
            assert!(f.why.to_string().ends_with("for 500 ms on average."));
        }
    }

    #[test]
    fn what_a_server_asked_its_client_for_within_calls_counts_them() {
        let asked = |each: i64| {
            found(Rule::SenderApplicationLimited, |f| {
                f.worst = Worst::default();
                let waits = [each, each, each, 1_000];
                let waits = (1..)
                    .zip(waits)
                    .map(|(n, ns)| Exhibit::of(ns, 0, mark(n), mark(n + 1)));
                waits.for_each(|wait| f.worst.add(wait));
                f.charge(Cause::NotWriting, TOTAL_NS / 2);
            })
        };
        let f = asked(TOTAL_NS / 6).unwrap();
        // The short one was the way's.
        assert_eq!((f.side, f.facts[0].value), (Side::Client, 3));
        assert!(f.why.to_string().starts_with("3 times the server asked"));
        assert!(asked(TOTAL_NS / 20).is_none(), "it was something else");
    }

    #[test]
    fn small_writes_of_a_stream_with_pauses_between_are_events() {
        let paused = |bytes: u64| {
            found(Rule::SenderApplicationLimited, |f| {
                let mut c = connection();
                c.directions[1].counts.payload_bytes = bytes;
                f.streams.connections = vec![c];
                f.kind = Kind::Turns;
                f.account.basis = Basis::Streams;
                f.held(
                    Direction::ToClient,
                    EpisodeKind::SenderPause,
                    10,
                    TOTAL_NS / 2,
                );
            })
        };
        assert!(paused(10 * MESSAGE_BYTES).is_some());
        assert!(paused(10 * MESSAGE_BYTES - 1).is_none());
    }

    #[test]
    fn a_quarter_of_the_time_is_enough() {
        assert!(pauses(Direction::ToClient, TOTAL_NS / 4).is_some());
        assert!(pauses(Direction::ToClient, TOTAL_NS / 4 - 1).is_none());
    }
}
