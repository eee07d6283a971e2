//! # What it says
//! Connections were cut off by a reset (RST) while a request was waiting for its
//! answer, or data for its acknowledgement.
//!
//! # Why it costs time
//! Whatever was under way is lost; the application sees "connection reset by peer"
//! and has to connect and ask again, if it does.
//!
//! # How sure
//! With captures of both ends: a reset that only the receiver's capture holds was
//! made on the way, one that both hold was sent by the host it names. With one
//! capture, a time to live (TTL) unlike that of the host's other packets gives a
//! device away; an IP identification that counts on from theirs shows the host.
//!
//! # What to check next
//! If a host sent it: the log of the process there (abort, crash, a limit, a socket
//! closed with unread data). If a device did: firewall and load balancer time-outs,
//! intrusion prevention.
//!
//! # When it is wrong
//! A reset after everything was answered is a hasty way to close, one by the client
//! its own decision, and one by a host that had closed in order (FIN) its answer to
//! what came too late: none of them is reported.

use super::{Entry, Of, Rule, evidence, numbers};
use crate::facts::Facts;
use crate::results::{ConnectionResult, Finding, Side};
use crate::streams::sender;
use crate::text::text;
use model::{Direction, PacketRef, ResetSeen, Time};

pub(super) const ENTRY: Entry = Entry {
    code: "connection-reset",
    title: "connections cut off by a reset",
    side: None,
    of: Of::Connects,
    sure: [0.95, 0.7],
    page: page!("connection_reset.rs"),
    check,
};

/// The client's, and the server's, as one capture has them.
type LastData = [Option<Time>; 2];

/// A reset that cut something off: whose it is, and where to see it.
struct Cut<'a> {
    connection: &'a ConnectionResult,
    capture: usize,
    reset: ResetSeen,
    side: Side,
    /// Neither end sent it, as both ends' captures show.
    unsent: bool,
}

fn check(facts: &Facts<'_>) -> Option<Finding> {
    let cuts: Vec<Cut<'_>> = facts
        .streams
        .connections
        .iter()
        .filter_map(|c| cut(c, facts.streams.is_forged(c)))
        .collect();
    let first = cuts.first()?;
    // Of several causes the one with more connections is named.
    let count = |side: Side| cuts.iter().filter(|c| c.side == side).count();
    let side = [Side::Network, Side::Server, Side::Client]
        .into_iter()
        .max_by_key(|s| count(*s))
        .unwrap_or(first.side);
    let shown: Vec<&Cut<'_>> = cuts.iter().filter(|c| c.side == side).collect();
    let life = |c: &ConnectionResult| (c.last - c.first).max(0);
    let add = |sum: i64, ns: i64| sum.saturating_add(ns);
    let all = facts.streams.connections.iter().map(life).fold(0, add);
    let lost = shown.iter().map(|c| life(c.connection)).fold(0, add);
    let times: Vec<Time> = shown.iter().map(|c| c.reset.at.time).collect();
    let odd = shown.iter().filter(|c| c.reset.odd_ttl).count();
    Some(Finding {
        title: match side {
            Side::Network => text!("Connections are cut off by a device on the way"),
            side => text!("Connections are cut off by the {side}'s host", side = side),
        },
        side,
        // It ends the work where it ends a good part of what there was.
        fatal: lost >= all / 4,
        first: times.iter().min().copied(),
        last: times.iter().max().copied(),
        facts: numbers([("connections", shown.len() as i64), ("odd_ttl", odd as i64)]),
        evidence: evidence::of_packets(
            facts,
            shown.iter().take(3).flat_map(|c| packets(c)),
            "the reset",
        ),
        why: text!(
            "{n} connection{n||s} ended with a reset while something was under way{proof}.",
            n = shown.len(),
            proof = match side {
                Side::Network if shown.iter().all(|c| c.unsent) =>
                    "; the host it claims to be from did not send it",
                Side::Network =>
                    "; the host it claims to be from has another time to live, or went on as if nothing were",
                _ => "",
            }
        ),
        remedy: vec![match side {
            Side::Network => {
                "look for a firewall, load balancer or intrusion prevention that ends connections, and for another host that took the address over"
                    .into()
            }
            side => text!(
                "read the log of the process on the {side} at that time",
                side = side
            ),
        }],
        ..Rule::ConnectionReset.finding()
    })
}

/// The reset; where a device made it, the one that the other end got, too: no host has it on its way out.
fn packets<'a>(cut: &'a Cut<'_>) -> impl Iterator<Item = (usize, PacketRef)> + 'a {
    let (resets, ends) = (&cut.connection.resets, &cut.connection.ends);
    let all = resets
        .iter()
        .zip(ends)
        .filter_map(|(r, (capture, ..))| Some((*capture, (*r)?)));
    let shown = all.filter(|(capture, _)| *capture == cut.capture || cut.side == Side::Network);
    shown.map(|(capture, r)| (capture, r.at.packet))
}

/// Whether a reset cut something off, whoever sent it.
pub(super) fn cuts_off(c: &ConnectionResult) -> bool {
    cut(c, false).is_some()
}

/// `forged`: somebody is known to send in the server's name.
fn cut(c: &ConnectionResult, forged: bool) -> Option<Cut<'_>> {
    // What came before what is asked of one capture: two have two clocks.
    let seen = c.resets.iter().zip(&c.ends).zip(&c.last_data);
    let seen = seen.filter_map(|((r, (capture, ..)), last)| Some(((*r)?, *capture, last)));
    let cuts_off = |r: &ResetSeen, last: &LastData| {
        let is_over = r.refuses || r.after_fin || r.after_peers_fin || r.sender_unheard;
        // Not all that a client says asks for something, where it is known what it says.
        !is_over && c.left_open != Some(0) && is_under_way(last, r.direction)
    };
    // Of two that crossed the one that cut something off counts.
    let (reset, capture, last) = seen.min_by_key(|(r, _, last)| !cuts_off(r, last))?;
    // Who sends a reset has it in its own capture: where each end has only the other's, neither sent any.
    let in_both = match c.resets.as_slice() {
        [Some(at_client), Some(at_server)] => Some([at_client.direction, at_server.direction]),
        _ => None,
    };
    let unsent = in_both == Some([Direction::ToClient, Direction::ToServer]) || server_went_on(c);
    // Who looks for open ports makes his first packet himself, and his host resets what is answered.
    let has_spoken = last.iter().any(Option::is_some);
    let is_odd = (reset.odd_ttl && has_spoken) || (forged && !reset.counts_on);
    let forged = unsent || (in_both.is_none() && is_odd);
    if !forged && !cuts_off(&reset, last) {
        return None;
    }
    // Who goes on as if nothing were did not believe it.
    let receivers = last[reset.direction.reverse().index()];
    if forged && receivers.is_some_and(|last| last > reset.at.time) {
        return None;
    }
    let side = if forged {
        Side::Network
    } else {
        sender(reset.direction)
    };
    Some(Cut {
        connection: c,
        capture,
        reset,
        side,
        unsent,
    })
}

/// Whether the client's capture has a reset of the server that the server's own lacks, though it goes on behind that: as both
/// have the connection's beginning, its first packet holds their clocks against each other.
fn server_went_on(c: &ConnectionResult) -> bool {
    let [Some(reset), None] = c.resets.as_slice() else {
        return false;
    };
    let [(_, at_client, _), (_, at_server, last)] = c.ends.as_slice() else {
        return false;
    };
    let has_beginning = c.openings.iter().all(|opening| opening.syn.is_some());
    let ahead_ns = at_server.time - at_client.time;
    reset.direction == Direction::ToClient && has_beginning && last.time > reset.at.time + ahead_ns
}

/// Whether somebody waited: the client for an answer, or the receiver of the reset for more.
fn is_under_way([asked, answered]: &LastData, reset: Direction) -> bool {
    match reset {
        Direction::ToClient => asked > answered,
        // A client that goes away does so of its own accord.
        Direction::ToServer => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{MS, connection, found, mark, reset as reset_seen};
    use super::*;
    use model::{Handshake, Mark};

    /// The client's last data, and the server's, at these times.
    fn reset(asked: i64, answered: i64, direction: Direction) -> Option<Finding> {
        found(Rule::ConnectionReset, |f| {
            let mut c = connection();
            c.resets = [1, 0]
                .map(|_| ResetSeen {
                    direction,
                    ..reset_seen()
                })
                .map(Some)
                .into();
            // The other end's clock is behind.
            c.last_data = [0, 1_000]
                .map(|behind| [asked, answered].map(|at| Some(Time(at - behind))))
                .into();
            f.streams.connections = vec![c];
        })
    }

    #[test]
    fn a_reset_in_place_of_an_answer_cuts_off() {
        let f = reset(5, 3, Direction::ToClient).unwrap();
        assert_eq!((f.side, f.fatal), (Side::Server, true));
        assert_eq!(
            f.title.to_string(),
            "Connections are cut off by the server's host"
        );
    }

    #[test]
    fn what_was_over_or_never_seen_alive_is_not_cut_off() {
        let over = |change: fn(&mut ResetSeen)| {
            let mut c = connection();
            let mut seen = reset_seen();
            change(&mut seen);
            c.resets = vec![Some(seen), Some(seen)];
            c.last_data = vec![[Some(Time(5)), None]; 2];
            found(Rule::ConnectionReset, |f| f.streams.connections = vec![c]).is_none()
        };
        assert!(!over(|_| {}));
        assert!(over(|r| r.after_fin = true));
        assert!(over(|r| r.after_peers_fin = true));
        assert!(over(|r| r.sender_unheard = true));
    }

    /// The client's capture has it at 10 ms; the server's, whose clock is 5 ms ahead, has the connection until so many.
    #[test]
    fn a_reset_that_its_host_s_own_capture_lacks_was_made_on_the_way() {
        let side = |until_ms: i64, has_syn: bool| {
            let found = found(Rule::ConnectionReset, |f| {
                let at = |ms: i64| Mark {
                    time: Time(ms * MS),
                    ..mark(1)
                };
                let mut c = connection();
                c.resets = vec![
                    Some(ResetSeen {
                        at: at(10),
                        ..reset_seen()
                    }),
                    None,
                ];
                c.last_data = vec![[Some(Time(9 * MS)), None]; 2];
                c.ends = vec![(0, at(0), at(10)), (1, at(5), at(until_ms))];
                let opening = Handshake {
                    syn: has_syn.then_some(Time(0)),
                    ..Handshake::default()
                };
                c.openings = vec![opening; 2];
                f.streams.connections = vec![c];
            });
            found.map(|f| f.side)
        };
        assert_eq!(side(16, true), Some(Side::Network));
        assert_eq!(side(15, true), Some(Side::Server));
        assert_eq!(side(16, false), Some(Side::Server));
    }

    #[test]
    fn a_farewell_of_a_known_protocol_is_no_request() {
        let cut = |left_open| {
            let mut c = connection();
            c.resets = vec![Some(reset_seen())];
            c.last_data = vec![[Some(Time(5)), Some(Time(3))]];
            c.left_open = left_open;
            found(Rule::ConnectionReset, |f| f.streams.connections = vec![c]).is_some()
        };
        assert!(!cut(Some(0)) && cut(Some(1)) && cut(None));
    }

    #[test]
    fn a_forged_reset_that_nobody_believes_cuts_nothing_off() {
        let forged = |answered, asked| {
            found(Rule::ConnectionReset, |f| {
                let mut c = connection();
                c.resets = vec![Some(ResetSeen {
                    odd_ttl: true,
                    ..reset_seen()
                })];
                c.last_data = vec![[asked, answered].map(|frame| Some(mark(frame).time))];
                f.streams.connections = vec![c];
            })
        };
        assert_eq!(forged(20, 9).unwrap().side, Side::Network);
        assert!(forged(20, 10).is_none());
    }

    #[test]
    fn who_looks_for_open_ports_resets_them_himself() {
        let odd = |asked: Option<Time>| {
            let mut c = connection();
            c.resets = vec![Some(ResetSeen {
                direction: Direction::ToServer,
                odd_ttl: true,
                ..reset_seen()
            })];
            c.last_data = vec![[asked, None]];
            found(Rule::ConnectionReset, |f| f.streams.connections = vec![c])
        };
        assert!(odd(None).is_none());
        let why = odd(Some(Time(5))).unwrap().why.to_string();
        assert!(why.contains("has another time to live"), "{why}");
    }

    #[test]
    fn a_client_that_goes_away_cuts_nothing_off() {
        assert!(reset(5, 3, Direction::ToServer).is_none());
    }

    #[test]
    fn once_it_is_answered_nothing_is_under_way() {
        assert!(reset(4, 3, Direction::ToClient).is_some());
        assert!(reset(3, 3, Direction::ToClient).is_none());
    }
}
