//! # What it says
//! A segment was sent again and again for seconds, and nothing at all came back any
//! more: the connection ended there, as far as this capture goes.
//!
//! # Why it costs time
//! The sender waits twice as long each time and gives up after minutes (Linux: 15
//! times, some 15 minutes). Whatever was to be answered on that connection is not.
//!
//! # How sure
//! The segment was sent three times or more over a second or more, never
//! acknowledged, and the other side was not heard meanwhile. Where both ends were
//! captured it is known whether it arrived there: then the host does not answer,
//! else the network does not deliver. From one end that cannot be told.
//!
//! # What to check next
//! Whether the other host is up and still has that address; whether a firewall or a
//! NAT on the way forgot the connection (often after an hour of silence);
//! links and routes at that moment.
//!
//! # When it is wrong
//! A capture that ends during an outage which the connection survived.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Finding, Side};
use crate::streams::receiver;
use crate::text::{Value, text};
use model::{Close, Direction, Stuck};

pub(super) const ENTRY: Entry = Entry {
    code: "silent-peer",
    title: "nothing comes back any more",
    side: None,
    of: Of::Connects,
    sure: [0.8, 0.8],
    source: include_str!("silent_peer.rs"),
    check,
};

/// A path that is down for less is an outage like others.
const LONG_NS: i64 = 1_000_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let mut silent: Vec<(&ConnectionResult, Direction, Stuck)> = facts.streams.in_vain().collect();
    // Who was never heard may speak past this capture, but is heard by nobody, or nothing were sent again.
    silent.retain(|(c, _, s)| s.lasted_ns() >= LONG_NS && !is_closing(c));
    silent.sort_by_key(|(c, _, s)| (std::cmp::Reverse(s.lasted_ns()), c.number));
    let (connection, d, worst) = *silent.first()?;
    let first = silent.iter().map(|(.., s)| s.first.time).min()?;
    // Whether anybody was answered after that.
    let mut lasts = facts.captures.iter().filter_map(|c| c.last);
    let goes_on = lasts.any(|last| last > first);
    let lost = connection.direction(d).lost_on_network_packets;
    let peer = match d {
        Direction::ToServer => connection.server,
        Direction::ToClient => connection.client,
    };
    Some(Finding {
        title: text!("Nothing comes back from {peer} any more", peer = peer),
        side: match lost {
            _ if connection.ends.len() < 2 => Side::Undetermined,
            Some(lost) if lost >= worst.times => Side::Network,
            Some(0) => receiver(d),
            _ => Side::Undetermined,
        },
        fatal: !goes_on,
        first: Some(first),
        last: silent.iter().map(|(.., s)| s.last.time).max(),
        facts: numbers([
            ("connections", silent.len() as i64),
            ("times", worst.times as i64),
            ("silent_ns", worst.lasted_ns()),
        ]),
        evidence: evidence::of_stuck(facts, &silent, "the segment that nobody acknowledged, sent again for the first and the last time"),
        why: text!(
            "A segment of {bytes} was sent again {times} times over {time}, and {peer} was not heard any more.",
            bytes = Value::Bytes(worst.bytes),
            times = worst.times,
            time = Value::Duration(worst.lasted_ns()),
            peer = peer,
        ),
        remedy: vec![
            "see whether that host is up, and whether a firewall or NAT on the way forgot the connection".into(),
        ],
        ..Rule::SilentPeer.finding()
    })
}

/// What ends a connection may be lost: who closed it waits for nothing.
fn is_closing(c: &ConnectionResult) -> bool {
    matches!(c.close, Close::Finished | Close::Reset | Close::Expired)
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, connection, found, mark};
    use super::*;

    fn silent(change: impl FnOnce(&mut ConnectionResult, &mut Stuck)) -> Option<Finding> {
        found(Rule::SilentPeer, |f| {
            let mut c = connection();
            c.close = Close::EndOfCapture;
            let mut stuck = Stuck {
                bytes: 440,
                times: 5,
                first: mark(100),
                last: mark(1_100),
                receiver_heard: false,
            };
            change(&mut c, &mut stuck);
            c.directions[1].account.stuck = Some(stuck);
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn a_segment_that_is_sent_in_vain_ends_the_work() {
        let f = silent(|_, _| {}).unwrap();
        assert!(f.fatal && f.cost_ns.is_none());
        assert_eq!(f.facts[2].value, 1_000 * MS);
        assert!(f.why.to_string().starts_with("A segment of 440 bytes"));
    }

    #[test]
    fn both_ends_say_whether_it_arrived() {
        let side = |lost| {
            let both = |c: &mut ConnectionResult, _: &mut Stuck| {
                c.ends = vec![(0, mark(1), mark(2)), (1, mark(1), mark(2))];
                c.directions[1].lost_on_network_packets = lost;
            };
            silent(both).unwrap().side
        };
        assert_eq!(side(Some(5)), Side::Network);
        assert_eq!(side(Some(0)), Side::Client);
        assert_eq!(side(Some(2)), Side::Undetermined);
        assert_eq!(side(None), Side::Undetermined);
    }

    #[test]
    fn who_was_heard_or_has_closed_or_for_less_than_a_second_is_not_silent() {
        assert!(silent(|_, s| s.receiver_heard = true).is_none());
        assert!(silent(|c, _| c.close = Close::Expired).is_none());
        assert!(silent(|_, s| s.last = mark(1_099)).is_none());
    }
}
