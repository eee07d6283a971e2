//! # What it says
//! A segment was sent again and again for seconds, and nothing at all came back any
//! more: the connection ended there, as far as this capture goes. Where the same
//! server answers others meanwhile, the connection alone is dead.
//!
//! # Why it costs time
//! The sender waits twice as long each time and gives up after minutes (Linux: 15
//! times, some 15 minutes). Whatever was to be answered on that connection is not,
//! and who asked waits until then, or until a limit of his own.
//!
//! # How sure
//! The segment was sent three times or more over a second or more, never
//! acknowledged, and the other side was not heard meanwhile. Where both ends were
//! captured it is known whether it kept arriving there: then the host does not
//! answer, else the network does not deliver, it or its acknowledgement. From one
//! end that cannot be told: what answers others may be another host behind the same
//! address.
//!
//! # What to check next
//! Whether the other host is up and still has that address; whether a firewall, a
//! NAT or a load balancer on the way forgot the connection, which they do after
//! some time of silence. For how long all these connections were quiet at least,
//! where it was a second or more, is said: whatever forgot them does so after that
//! time or less. Keep-alives that come more often keep them, as
//! `tcp_keepalive_time` or `SQLNET.EXPIRE_TIME` send them. Links and routes at that
//! moment.
//!
//! # When it is wrong
//! A capture that ends during an outage which the connection survived.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{Arrived, ConnectionResult, Finding, Side};
use crate::streams::receiver;
use crate::text::{Value, text};
use model::{Close, Direction, Stuck};

pub(super) const ENTRY: Entry = Entry {
    code: "silent-peer",
    title: "nothing comes back any more",
    side: None,
    of: Of::Connects,
    sure: [0.8, 0.8],
    page: page!("silent_peer.rs"),
    check,
};

/// A path that is down for less is an outage like others.
pub(super) const LONG_NS: i64 = 1_000_000_000;

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let mut silent: Vec<(&ConnectionResult, Direction, Stuck)> = facts.streams.in_vain().collect();
    // Who was never heard may speak past this capture, but is heard by nobody, or nothing were sent again.
    silent.retain(|(c, _, s)| s.lasted_ns() >= LONG_NS && !is_closing(c));
    // Of a connection on which both sides send in vain what the client asks for: it is what somebody waits for.
    silent.sort_by_key(|(c, d, _)| (c.number, *d != Direction::ToServer));
    silent.dedup_by_key(|(c, ..)| c.number);
    silent.sort_by_key(|(c, _, s)| (std::cmp::Reverse(s.lasted_ns()), c.number));
    let (connection, d, worst) = *silent.first()?;
    let first = silent.iter().map(|(.., s)| s.first.time).min()?;
    // Whether anybody was answered after that.
    let mut lasts = facts.captures.iter().filter_map(|c| c.last);
    let goes_on = lasts.any(|last| last > first);
    let peer = match d {
        Direction::ToServer => connection.server,
        Direction::ToClient => connection.client,
    };
    let side = match connection.direction(d).stuck_arrived {
        Some(arrived) if is_looked_for(facts, connection, d, worst) => match arrived {
            Arrived::Again => receiver(d),
            Arrived::Never | Arrived::Once => Side::Network,
        },
        _ => Side::Undetermined,
    };
    // Nobody may wait for what a server sends to a client that is gone, or has it.
    let waits = |(c, d, _): &&(&ConnectionResult, Direction, Stuck)| {
        *d == Direction::ToServer || c.direction(*d).stuck_arrived == Some(Arrived::Never)
    };
    let asked = silent.iter().filter(waits);
    let cost: i64 = asked
        .map(|(.., s)| s.lasted_ns())
        .fold(0, i64::saturating_add);
    let mut known = numbers([
        ("connections", silent.len() as i64),
        ("times", worst.times as i64),
        ("silent_ns", worst.lasted_ns()),
    ]);
    let heard = heard_before_ns(connection, d, worst);
    let quiet = silent
        .iter()
        .map(|(c, d, s)| heard_before_ns(c, *d, *s).unwrap_or(0))
        .min();
    let quiet = quiet.filter(|ns| *ns >= LONG_NS);
    known.extend(
        quiet
            .map(|ns| numbers([("quiet_ns", ns)]))
            .unwrap_or_default(),
    );
    Some(Finding {
        title: match quiet {
            Some(ns) => text!(
                "Nothing comes back from {peer} any more on connections that were quiet for {time}",
                peer = peer,
                time = Value::Duration(ns),
            ),
            None => text!("Nothing comes back from {peer} any more", peer = peer),
        },
        side,
        cost_ns: (cost > 0).then_some(cost),
        elapsed_cost_ns: (cost > 0).then_some(worst.lasted_ns()),
        fatal: !goes_on,
        first: Some(first),
        last: silent.iter().map(|(.., s)| s.last.time).max(),
        facts: known,
        evidence: evidence::of_stuck(facts, &silent, "the segment that nobody acknowledged, sent again for the first and the last time"),
        why: text!(
            "A segment of {bytes} was sent again {times} time{times||s} over {time}, and {peer} was not heard {heard}.{others}",
            bytes = Value::Bytes(worst.bytes),
            times = worst.times,
            time = Value::Duration(worst.lasted_ns()),
            peer = peer,
            heard = match heard {
                None => "at all".into(),
                // Its own capture has what it went on to say.
                Some(ns) if ns < 0 => "any more here, though it went on sending".into(),
                Some(ns) => text!("any more: for the last time {time} before that", time = Value::Duration(ns)),
            },
            others = match goes_on {
                true => " Others are answered meanwhile: it is this connection that nothing comes through on.",
                false => "",
            },
        ),
        remedy: vec![match quiet {
            Some(ns) => text!(
                "see whether that host is up, and whether a firewall, NAT or load balancer on the way forgets connections that are quiet, for {time} or less: let keep-alives come more often than it does (tcp_keepalive_time, SQLNET.EXPIRE_TIME), or raise its limit",
                time = Value::Duration(ns),
            ),
            None => "see whether that host is up, and whether a firewall or NAT on the way forgot the connection".into(),
        }],
        ..Rule::SilentPeer.finding()
    })
}

/// How long before a segment was first sent its receiver was heard for the last time; `None`: never.
fn heard_before_ns(c: &ConnectionResult, d: Direction, stuck: Stuck) -> Option<i64> {
    let heard = &c.direction(d.reverse()).counts;
    (heard.packets > 0).then(|| stuck.first.time - heard.last.time - later_ns(c, d.reverse()))
}

/// How much later the clock of this direction's receiver is than that of its sender, as the connection's first packet
/// shows.
fn later_ns(c: &ConnectionResult, d: Direction) -> i64 {
    let [Some((_, client, _)), Some((_, server, _))] = [c.ends.first(), c.ends.last()] else {
        return 0;
    };
    let ahead = server.time - client.time;
    match d {
        Direction::ToServer => ahead,
        Direction::ToClient => -ahead,
    }
}

/// Whether the receiver's capture went on while the segment was sent in vain.
fn is_looked_for(facts: &Facts<'_>, c: &ConnectionResult, d: Direction, stuck: Stuck) -> bool {
    let end = match d {
        Direction::ToServer => c.ends.last(),
        Direction::ToClient => c.ends.first(),
    };
    let last = end.and_then(|(capture, ..)| facts.results.get(*capture)?.last);
    last.is_some_and(|last| last - (stuck.last.time + later_ns(c, d)) >= 0)
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
                others_arrived: false,
            };
            change(&mut c, &mut stuck);
            c.directions[1].counts.stuck = Some(stuck);
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
    fn connections_that_were_quiet_before_it_say_for_how_long() {
        let quiet = |ms: u32| {
            silent(|c, s| {
                c.directions[0].counts.packets = 3;
                c.directions[0].counts.last = mark(100);
                (s.first, s.last) = (mark(100 + ms), mark(2_100 + ms));
            })
            .unwrap()
        };
        let f = quiet(1_000);
        let title = f.title.to_string();
        assert!(
            title.ends_with("on connections that were quiet for 1.00 s"),
            "{title}"
        );
        assert_eq!(f.facts[3].value, 1_000 * MS);
        let short = quiet(999);
        assert!(short.title.to_string().ends_with("any more") && short.facts.len() == 3);
    }

    /// The same of two captures, of what the client sends.
    fn from_both(arrived: Option<Arrived>, server_until: u32) -> Finding {
        let found = found(Rule::SilentPeer, |f| {
            let mut c = connection();
            c.close = Close::EndOfCapture;
            // The server's clock is 50 ms ahead.
            c.ends = vec![(0, mark(1), mark(2)), (1, mark(51), mark(52))];
            c.directions[0].stuck_arrived = arrived;
            c.directions[0].counts.stuck = Some(Stuck {
                bytes: 440,
                times: 5,
                first: mark(100),
                last: mark(1_100),
                receiver_heard: false,
                others_arrived: false,
            });
            f.streams.connections = vec![c];
            for (result, last) in f.results.iter_mut().zip([1_200, server_until]) {
                result.last = Some(mark(last).time);
            }
        });
        found.unwrap()
    }

    #[test]
    fn both_ends_say_whether_it_arrived() {
        let side = |arrived| from_both(arrived, 1_150).side;
        assert_eq!(side(Some(Arrived::Never)), Side::Network);
        // Its acknowledgement was lost, or what came after it.
        assert_eq!(side(Some(Arrived::Once)), Side::Network);
        assert_eq!(side(Some(Arrived::Again)), Side::Server);
        assert_eq!(side(None), Side::Undetermined);
        // The server's capture was over.
        assert_eq!(
            from_both(Some(Arrived::Never), 1_149).side,
            Side::Undetermined
        );
    }

    #[test]
    fn of_both_directions_of_a_connection_the_request_is_told() {
        let f = found(Rule::SilentPeer, |f| {
            let mut c = connection();
            c.close = Close::EndOfCapture;
            for (direction, last) in c.directions.iter_mut().zip([1_200, 1_500]) {
                direction.counts.stuck = Some(Stuck {
                    bytes: 440,
                    times: 5,
                    first: mark(100),
                    last: mark(last),
                    receiver_heard: false,
                    others_arrived: false,
                });
            }
            f.streams.connections = vec![c];
        });
        let f = f.unwrap();
        assert_eq!((f.facts[0].value, f.cost_ns), (1, Some(1_100 * MS)));
    }

    #[test]
    fn who_was_heard_by_the_other_capture_alone_is_said_to_go_on() {
        let why = |heard: u32| {
            let f = silent(|c, _| {
                c.directions[0].counts.packets = u64::from(heard);
                c.directions[0].counts.last = mark(heard);
            });
            let f = f.unwrap();
            f.why.to_string()
        };
        assert!(why(0).contains(" was not heard at all."));
        assert!(why(60).contains("any more: for the last time 40.0 ms before that."));
        assert!(
            why(300).contains("any more here, though it went on sending."),
            "{}",
            why(300)
        );
    }

    #[test]
    fn who_asked_waits_and_who_answers_may_not() {
        assert_eq!(from_both(None, 1_150).cost_ns, Some(1_000 * MS));
        // A client may be gone.
        assert_eq!(silent(|_, _| {}).unwrap().cost_ns, None);
    }

    #[test]
    fn who_was_heard_or_has_closed_or_for_less_than_a_second_is_not_silent() {
        assert!(silent(|_, s| s.receiver_heard = true).is_none());
        assert!(silent(|c, _| c.close = Close::Expired).is_none());
        assert!(silent(|_, s| s.last = mark(1_099)).is_none());
    }
}
